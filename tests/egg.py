"""A sole of a user's own."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from trundle.geometry import SupportShape


@dataclass(frozen=True)
class Egg(SupportShape):
    """An ellipsoid that is fuller in front, by the expression of its support function."""

    semi_axes: tuple[float, float, float] = (0.14, 0.055, 0.045)
    d = 3

    def support(self, u: ca.SX) -> ca.SX:
        size = ca.norm_2(ca.vertcat(*(a * u[i] for i, a in enumerate(self.semi_axes))))
        return size + 0.02 * u[0] + 0.004 * u[0] ** 2 / ca.norm_2(u)
