"""Paper 4's five coordinates q = (x, z, theta, phi, p), as printed and with the corrected tangency row (sheet 4
section 2).

"printed": rows of eq (13), |a_b'| phi' + |a_t'| p' and d/dt (R T_b . T_t), right for curves that run in opposite
directions at the
contact (give the body's outline reversed); the second row vanishes on the constraint, so the system is singular and
is solved by
least squares. "cross": first row |a_b'| phi' - eps |a_t'| p', eps = R T_b . T_t, second row d/dt (R T_b . S T_t).
The body's origin is its centre of mass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from .curves import Curve, cross
from .planar import S, turn

Array = np.ndarray


@dataclass(frozen=True)
class FiveCoordinates:
    """Body outline and terrain, mass, inertia, `rows` "printed" or "cross"."""

    body: Curve
    terrain: Curve
    mass: float
    inertia: float
    rows: str = "cross"
    gravity: float = 9.81

    def constraint(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """A (4, 5) and its rate times q' (4,): A q' = 0, A q'' = -bias."""
        R, w = turn(q[2]), qd[2]
        b, t = self.body.at(q[3]), self.terrain.at(q[4])
        lb, lt = np.hypot(*b[1]), np.hypot(*t[1])
        T_b, T_t = R @ b[1] / lb, t[1] / lt
        A, bias = np.zeros((4, 5)), np.zeros(4)
        sign = 1.0 if self.rows == "printed" else -np.sign(T_b @ T_t)
        A[0, 3], A[0, 4] = lb, sign * lt
        bias[0] = b[1] @ b[2] / lb * qd[3] ** 2 + sign * t[1] @ t[2] / lt * qd[4] ** 2
        cos, sin = T_b @ T_t, cross(T_t, T_b)  # of the angle delta from T_t to R T_b
        turning = np.array([0.0, 0.0, 1.0, cross(b[1], b[2]) / lb**2, -cross(t[1], t[2]) / lt**2])
        second = _bend(b) * qd[3] ** 2 - _bend(t) * qd[4] ** 2
        rate = turning @ qd
        if self.rows == "printed":
            A[1], bias[1] = -sin * turning, -cos * rate**2 - sin * second
        else:
            A[1], bias[1] = cos * turning, -sin * rate**2 + cos * second
        A[2:, :2], A[2:, 2], A[2:, 3], A[2:, 4] = np.eye(2), S @ R @ b[0], R @ b[1], -t[1]
        bias[2:] = -(w**2) * R @ b[0] + 2 * w * qd[3] * S @ R @ b[1] + R @ b[2] * qd[3] ** 2 - t[2] * qd[4] ** 2
        return A, bias

    def matrix(self, q: Array, qd: Array) -> Array:
        """M-hat (9, 9) = [M -A'; A 0]."""
        A = self.constraint(q, qd)[0]
        M = np.diag([self.mass, self.mass, self.inertia, 0.0, 0.0])
        return np.block([[M, -A.T], [A, np.zeros((4, 4))]])

    def acceleration(self, q: Array, qd: Array) -> Array:
        """q'' (5,): least squares for the printed rows, LU for the cross row."""
        bias = self.constraint(q, qd)[1]
        rhs = np.r_[0.0, -self.mass * self.gravity, 0.0, 0.0, 0.0, -bias]
        if self.rows == "printed":
            return np.linalg.lstsq(self.matrix(q, qd), rhs, rcond=None)[0][:5]
        return np.linalg.solve(self.matrix(q, qd), rhs)[:5]

    def start(self, phi: float, p: float, omega: float) -> tuple[Array, Array]:
        """Exact contact state with angular velocity `omega`: (q, q')."""
        b, t = self.body.at(phi), self.terrain.at(p)
        lb, lt = np.hypot(*b[1]), np.hypot(*t[1])
        eps = -1.0 if self.rows == "printed" else 1.0  # direction of the outline against the terrain
        theta = float(np.arctan2(eps * cross(b[1], t[1]), eps * b[1] @ t[1]))
        arm = turn(theta) @ b[0]
        k_b, k_t = cross(b[1], b[2]) / lb**3, cross(t[1], t[2]) / lt**3
        s_dot = -omega / (eps * k_b - k_t)
        v = -omega * S @ arm
        return np.r_[t[0] - arm, theta, phi, p], np.r_[v, omega, eps * s_dot / lb, s_dot / lt]

    def misalignment(self, q: Array) -> float:
        """Sine of the angle between the tangents."""
        T_b, T_t = turn(q[2]) @ self.body.tangent(q[3])[0], self.terrain.tangent(q[4])[0]
        return abs(cross(T_b, T_t))

    def run(
        self, q: Array, qd: Array, times: Array, method: str = "RK45", rtol: float = 1e-9, atol: float = 1e-9
    ) -> dict:
        """Integrate: `t`, `q` (n, 5), `qd` (n, 5), `evaluations`, `status`."""
        sol = solve_ivp(lambda t, y: np.r_[y[5:], self.acceleration(y[:5], y[5:])], (times[0], times[-1]), np.r_[q, qd],
                        method=method, rtol=rtol, atol=atol, t_eval=times)  # fmt: skip
        return {"t": sol.t, "q": sol.y[:5].T, "qd": sol.y[5:].T, "evaluations": sol.nfev, "status": sol.status}


def _bend(a: Array) -> float:
    """d/dt of cross(a', a'')/|a'|^2 for the derivatives a (4, 2)."""
    square = a[1] @ a[1]
    return cross(a[1], a[3]) / square - 2 * cross(a[1], a[2]) * (a[1] @ a[2]) / square**2
