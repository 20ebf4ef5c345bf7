"""Checks of sizes: real lengths, within the range where squares and their inverses are still numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trundle.checks import array
from trundle.errors import InputError
from trundle.parameters import Range

SHORTEST, LONGEST = 1e-7, 1e7
"""Allowed sizes in m."""
ALLOWED = "a length > 0, from 1e-7 to 1e7 (m)"
_LENGTHS = "{} lengths > 0, each from 1e-7 to 1e7 (m)"

Size = Annotated[float, Range(ALLOWED, SHORTEST, LONGEST, unit="m", worded=True)]
SizeOrZero = Annotated[float, Range(f"0 or {ALLOWED}", SHORTEST, LONGEST, unit="m", or_zero=True, worded=True)]
Sizes2 = Annotated[Sequence[float], Range(_LENGTHS.format(2), SHORTEST, LONGEST, unit="m", length=2, worded=True)]
Sizes3 = Annotated[Sequence[float], Range(_LENGTHS.format(3), SHORTEST, LONGEST, unit="m", length=3, worded=True)]
Coordinate = Annotated[float, Range("a number from -1e7 to 1e7", -LONGEST, LONGEST)]
Point2 = Annotated[
    Sequence[float], Range("2 numbers, each from -1e7 to 1e7 (m)", -LONGEST, LONGEST, length=2, worded=True)
]


def coordinates(key: str, value: ArrayLike, shape: Sequence[int | None]) -> NDArray[np.float64]:
    """Return `value` as an array of coordinates in m, each at most 1e7 in size."""
    result = array(key, value, shape, unit="m")
    if result.size and np.abs(result).max() > LONGEST:
        raise InputError(key, value, f"coordinates of at most {LONGEST:g} (m)")
    return result
