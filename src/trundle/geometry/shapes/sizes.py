"""Checks of sizes: real lengths, within the range where squares and their inverses are still numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trundle.checks import array, number
from trundle.errors import InputError
from trundle.parameters import Range

SHORTEST, LONGEST = 1e-7, 1e7
"""Allowed sizes in m."""
ALLOWED = "a length > 0, from 1e-7 to 1e7 (m)"
_LENGTHS = "{} lengths > 0, each from 1e-7 to 1e7 (m)"

Size = Annotated[float, Range(ALLOWED, SHORTEST, LONGEST, unit="m")]
SizeOrZero = Annotated[float, Range(f"0 or {ALLOWED}", SHORTEST, LONGEST, unit="m", or_zero=True)]
Sizes2 = Annotated[Sequence[float], Range(_LENGTHS.format(2), SHORTEST, LONGEST, unit="m", length=2)]
Sizes3 = Annotated[Sequence[float], Range(_LENGTHS.format(3), SHORTEST, LONGEST, unit="m", length=3)]
Coordinate = Annotated[float, Range("a number from -1e7 to 1e7", -LONGEST, LONGEST)]
Point2 = Annotated[Sequence[float], Range("2 numbers, each from -1e7 to 1e7 (m)", -LONGEST, LONGEST, length=2)]


def length(key: str, value: float) -> float:
    """Return `value` as a size in m, 1e-7 to 1e7."""
    try:
        return number(key, value, minimum=SHORTEST, maximum=LONGEST)
    except InputError:
        raise InputError(key, value, ALLOWED) from None


def length_or_zero(key: str, value: float) -> float:
    """Return `value` as a size in m, 0 or 1e-7 to 1e7."""
    try:
        result = number(key, value, minimum=0.0, maximum=LONGEST)
    except InputError:
        result = math.nan
    if result == 0.0 or result >= SHORTEST:
        return result
    raise InputError(key, value, f"0 or {ALLOWED}")


def lengths(key: str, value: ArrayLike, size: int) -> tuple[float, ...]:
    """Return `value` as `size` sizes in m, each 1e-7 to 1e7."""
    try:
        result = array(key, value, (size,), minimum=SHORTEST)
    except InputError:
        result = None
    if result is None or result.max() > LONGEST:
        raise InputError(key, value, _LENGTHS.format(size))
    return tuple(float(a) for a in result)


def coordinate(key: str, value: float, unit: str = "m") -> float:
    """Return `value` as a number of either sign, at most 1e7 in size."""
    return number(key, value, minimum=-LONGEST, maximum=LONGEST, unit=unit)


def coordinates(key: str, value: ArrayLike, shape: Sequence[int | None]) -> NDArray[np.float64]:
    """Return `value` as an array of coordinates in m, each at most 1e7 in size."""
    result = array(key, value, shape, unit="m")
    if result.size and np.abs(result).max() > LONGEST:
        raise InputError(key, value, f"coordinates of at most {LONGEST:g} (m)")
    return result
