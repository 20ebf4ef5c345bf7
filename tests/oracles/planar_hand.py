"""A planar body on a moving hand in maximal coordinates (x, z, angle): Newton, Euler and the differentiated slip.

The slip of the material points at the moving contact point P is v + w S rho - v_h - w_h S (P - r_h), S a quarter turn
to the left, rho from the centre of mass to P; its rate along the contact's own motion P' is

    a + w' S rho + w S (P' - v) - a_h - w_h' S (P - r_h) - w_h S (P' - v_h),

a_h = R_h (u_v + w_h S V) the classical acceleration of the hand's origin, u the derivative of its body twist (w_h, V).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.integrate import solve_ivp

from .curves import Curve, cross
from .planar import Rolling, S, turn

Array = np.ndarray


@dataclass(frozen=True)
class OnHand:
    """Outline `body` (counter-clockwise, its frame) on the hand's curve (free side left, hand frame)."""

    body: Curve
    hand: Curve
    mass: float
    inertia: float
    com: Array = field(default_factory=lambda: np.zeros(2))
    gravity: Array = field(default_factory=lambda: np.array([0.0, -9.81]))

    @property
    def shapes(self) -> Rolling:
        """Geometry of the two curves in the hand's frame."""
        return Rolling(self.body, self.hand, self.mass, self.inertia, self.com)

    def accelerations(self, y: Array, u: Array, mu: float | None = None) -> dict:
        """All at one instant of y = (phi, p, x, z, angle, vx, vz, w, hand x, z, angle, hand body twist (w, vx, vz)).

        `mu`: None for rolling, else Coulomb sliding along the present slip.
        """
        phi, p, v, w, r_h = y[0], y[1], y[5:7], y[7], y[8:10]
        R_h, w_h, V = turn(y[10]), y[11], y[12:14]
        v_h, a_h, al_h = R_h @ V, R_h @ (u[1:] + w_h * S @ V), u[0]
        T, size = self.hand.tangent(p)
        k_t, k_b = self.hand.curvature(p)[0], self.body.curvature(phi)[0]
        T = R_h @ T
        N = S @ T
        P = r_h + R_h @ self.hand.at(p)[0]
        rho = turn(y[4]) @ (self.body.at(phi)[0] - self.com)
        slip = v + w * S @ rho - v_h - w_h * S @ (P - r_h)
        v_T = T @ slip if mu is not None else 0.0
        s_t, s_b = (k_b * v_T - (w - w_h)) / (k_b - k_t), (k_t * v_T - (w - w_h)) / (k_b - k_t)
        P_dot = v_h + w_h * S @ (P - r_h) + s_t * T
        rest = w * S @ (P_dot - v) - a_h - al_h * S @ (P - r_h) - w_h * S @ (P_dot - v_h)
        A, right = np.zeros((5, 5)), np.zeros(5)
        A[:2, :2], A[2, 2] = self.mass * np.eye(2), self.inertia
        A[:2, 3:], A[2, 3:] = -np.eye(2), -np.array([cross(rho, [1, 0]), cross(rho, [0, 1])])
        right[:2] = self.mass * self.gravity
        if mu is None:
            A[3:, :2], A[3:, 2], right[3:] = np.eye(2), S @ rho, -rest
        else:
            A[3, :2], A[3, 2] = N, N @ S @ rho
            right[3] = -N @ rest + (w_h + k_t * s_t) * v_T  # N' = -(w_h + k_t s_t) T
            A[4, 3:] = T + mu * np.sign(v_T) * N
        z = np.linalg.solve(A, right)
        rate = np.r_[s_b / self.body.tangent(phi)[1], s_t / size, v, w, z[:3], v_h, w_h, u]
        return {"a": z[:2], "alpha": z[2], "force": z[3:], "rate": rate, "contact": P, "slip": slip,
                "f_N": N @ z[3:], "f_T": T @ z[3:]}  # fmt: skip

    def run(self, y: Array, control: Callable[[float], Array], times: Array, mu: float | None = None) -> Array:
        """States (n, 14) at `times`, without any stabilisation."""
        sol = solve_ivp(
            lambda t, y: self.accelerations(y, control(t), mu)["rate"], (times[0], times[-1]), y,
            method="DOP853", rtol=1e-13, atol=1e-14, t_eval=times,
        )  # fmt: skip
        if sol.status != 0:
            raise RuntimeError(sol.message)
        return sol.y.T
