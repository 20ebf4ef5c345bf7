"""How large the inputs of a hand may be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray
from trundle.errors import InputError

InputBound = ArrayLike | tuple[ArrayLike, ArrayLike] | None
"""None, a bound of |u|, or a pair (low, high); see `InputLimit.of`."""


@dataclass(frozen=True)
class InputLimit:
    """low <= u <= high for each component of the input (n_u,), rad/s2 and m/s2."""

    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, value: InputBound, size: int, key: str = "input_limit") -> InputLimit:
        """Return the limit of an argument: None (none), a number or (n_u,) for |u|, or a pair (low, high) of such.

        Raises
        ------
        InputError
            If a bound is NaN, of another size, or low is not below high.
        """
        if value is None:
            return cls(np.full(size, -np.inf), np.full(size, np.inf))
        allowed = f"a number or {size} numbers > 0, or a pair (low, high) of such with low < high"
        try:
            if isinstance(value, tuple) and len(value) == 2:
                low, high = value
            else:
                low, high = -np.asarray(value, dtype=np.float64), value
            bounds = [np.array(np.broadcast_to(np.asarray(b, dtype=np.float64), (size,))) for b in (low, high)]
        except (TypeError, ValueError):
            raise InputError(key, value, allowed) from None
        if not np.all(bounds[0] < bounds[1]):
            raise InputError(key, value, allowed)
        for bound in bounds:
            bound.setflags(write=False)
        return cls(*bounds)

    def of_components(self, used: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
        """Return the least and the largest input (n_u,), zero but for the components `used`."""
        on = np.isin(np.arange(len(self.low)), used)
        return np.where(on, self.low, 0.0), np.where(on, self.high, 0.0)

    def apply(self, u: FloatArray) -> FloatArray:
        """Return the nearest input within the limits."""
        return np.minimum(np.maximum(u, self.low), self.high)
