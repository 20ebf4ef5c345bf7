"""Checks of sizes: real lengths, within the range where squares and their inverses are still numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trundle.checks import array, non_negative, number, positive
from trundle.errors import InputError

SHORTEST, LONGEST = 1e-7, 1e7
"""Allowed sizes in m."""
ALLOWED = f"between {SHORTEST:g} and {LONGEST:g} (m)"


def length(key: str, value: Any) -> float:
    """Return `value` as a size in m, 1e-7 to 1e7."""
    result = positive(key, value, unit="m")
    if not SHORTEST <= result <= LONGEST:
        raise InputError(key, value, ALLOWED)
    return result


def length_or_zero(key: str, value: Any) -> float:
    """Return `value` as a size in m, 0 or 1e-7 to 1e7."""
    result = non_negative(key, value, unit="m")
    if result and not SHORTEST <= result <= LONGEST:
        raise InputError(key, value, f"0 or {ALLOWED}")
    return result


def lengths(key: str, value: Any, size: int) -> tuple[float, ...]:
    """Return `value` as `size` sizes in m, each 1e-7 to 1e7."""
    result = array(key, value, (size,), above=0.0, unit="m")
    if result.min() < SHORTEST or result.max() > LONGEST:
        raise InputError(key, value, ALLOWED)
    return tuple(float(a) for a in result)


def coordinate(key: str, value: Any, unit: str = "m") -> float:
    """Return `value` as a number of either sign, at most 1e7 in size."""
    return number(key, value, minimum=-LONGEST, maximum=LONGEST, unit=unit)


def coordinates(key: str, value: Any, shape: Sequence[int | None]) -> NDArray[np.float64]:
    """Return `value` as an array of coordinates in m, each at most 1e7 in size."""
    result = array(key, value, shape, unit="m")
    if result.size and np.abs(result).max() > LONGEST:
        raise InputError(key, value, f"coordinates of at most {LONGEST:g} (m)")
    return result
