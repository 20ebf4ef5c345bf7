"""Rest: whether forces inside the friction cones can hold a body on two contacts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from trundle.checks import FloatArray

_REACH = 1e3


@dataclass(frozen=True)
class Hold:
    """One contact of a body at rest: point (d,) m, unit normal out of the base (d,), a force on it (d,) N, and mu."""

    point: FloatArray
    normal: FloatArray
    force: FloatArray
    mu: float

    def margin(self, extra: FloatArray) -> float:
        """Return mu f_n - |f_t| of the force plus `extra` (d,), N; f_n without friction limit."""
        force = self.force + extra
        f_n = float(self.normal @ force)
        if np.isinf(self.mu):
            return f_n
        return self.mu * f_n - float(np.linalg.norm(force - f_n * self.normal))


def can_rest(holds: list[Hold]) -> bool:
    """Return whether some forces with the same resultant lie inside both cones.

    The forces of two contacts are known up to a pair c e, -c e along the line that joins them, e =
    (p_2 - p_1)/|p_2 - p_1|; the smallest margin is a concave function of c, whose largest value is looked for.
    """
    if len(holds) != 2:
        return all(hold.margin(np.zeros_like(hold.force)) >= 0 for hold in holds)
    apart = holds[1].point - holds[0].point
    along = apart / np.linalg.norm(apart)
    size = max(float(np.linalg.norm(hold.force)) for hold in holds)

    def worst(c: float) -> float:
        return -min(holds[0].margin(c * along), holds[1].margin(-c * along))

    best = minimize_scalar(
        worst, bounds=(-_REACH * size, _REACH * size), method="bounded", options={"xatol": 1e-9 * size}
    )
    return bool(-best.fun >= -1e-9 * size)
