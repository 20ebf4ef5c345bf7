"""A planar body on terrain: the no-slip motion has one degree of freedom, the arc length s (sheet 4 sections 1 and 3).

Rolling: T = 1/2 m_eff(s) s'^2, m_eff = (m |rho|^2 + I) k_rel^2, V = -m g.x_com, so m_eff s'' = -1/2 m_eff' s'^2 - V';
the body's
angle follows from the arc length (tangents parallel), and the force from Newton's law for the centre of mass.
Sliding: maximal
coordinates with Coulomb friction. Angles counter-clockwise, x right, z up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from .curves import Curve, cross

Array = np.ndarray
S = np.array([[0.0, -1.0], [1.0, 0.0]])


def turn(angle: float) -> Array:
    """Rotation matrix (2, 2)."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])


@dataclass(frozen=True)
class Rolling:
    """Body outline (body frame) on terrain (world), mass kg, inertia kg m^2 about the centre of mass `com` (body
    frame), gravity."""

    body: Curve
    terrain: Curve
    mass: float
    inertia: float
    com: Array = field(default_factory=lambda: np.zeros(2))
    gravity: Array = field(default_factory=lambda: np.array([0.0, -9.81]))

    def angle(self, phi: float, p: float) -> float:
        """Body angle with the tangents parallel, in (-pi, pi]."""
        t_b, t_t = self.body.tangent(phi)[0], self.terrain.tangent(p)[0]
        return float(np.arctan2(cross(t_b, t_t), t_b @ t_t))

    def find(self, contact_x: float, angle: float, seed: float | None = None) -> tuple[float, float]:
        """(phi, p) for a graph terrain touched at abscissa `contact_x` by a body turned by `angle`.

        Without a seed all outline points with the right tangent are found and the one lowest along the terrain's
        normal is taken.
        """
        t_t = self.terrain.tangent(contact_x)[0]
        R = turn(angle)

        def off(phi: float) -> float:
            return cross(t_t, R @ self.body.tangent(phi)[0])

        grid = np.linspace(0.0, 2 * np.pi, 721) if seed is None else np.linspace(seed - 0.2, seed + 0.2, 41)
        found = []
        for a, b in pairwise(grid):
            if off(a) == 0.0 or off(a) * off(b) < 0.0:
                root = a if off(a) == 0.0 else brentq(off, a, b, xtol=1e-15)
                if t_t @ R @ self.body.tangent(root)[0] > 0.0:
                    found.append(root)
        return min(found, key=lambda f: (S @ t_t) @ R @ self.body.at(f)[0]), contact_x

    def speed(self, phi: float, p: float, omega: float) -> float:
        """s' = -omega / k_rel."""
        return -omega / (self.body.curvature(phi)[0] - self.terrain.curvature(p)[0])

    def instant(self, phi: float, p: float, s_dot: float) -> dict:
        """All at one instant: s_ddot, angle, omega, alpha, com position, velocity, acceleration, force (world, on the
        body), f_N, f_T,
        contact, energy, k_rel, T, N."""
        k_b, dk_b = self.body.curvature(phi)
        k_t, dk_t = self.terrain.curvature(p)
        k, dk = k_b - k_t, dk_b - dk_t
        T, R = self.terrain.tangent(p)[0], turn(self.angle(phi, p))
        rho = R @ (self.body.at(phi)[0] - self.com)  # com -> contact
        r = -rho
        m_eff = (self.mass * rho @ rho + self.inertia) * k**2
        dm_eff = 2 * self.mass * (rho @ T) * k**2 + 2 * (self.mass * rho @ rho + self.inertia) * k * dk
        x1 = -k * S @ r  # d x_com / ds
        x2 = -dk * S @ r - k * S @ (x1 - T)
        s_ddot = (-0.5 * dm_eff * s_dot**2 + self.mass * self.gravity @ x1) / m_eff
        a = x2 * s_dot**2 + x1 * s_ddot
        f, N, point = self.mass * (a - self.gravity), S @ T, self.terrain.at(p)[0]
        return {"s_ddot": s_ddot, "angle": self.angle(phi, p), "omega": -k * s_dot,
            "alpha": -k * s_ddot - dk * s_dot**2,
                "position": point + r, "velocity": x1 * s_dot, "acceleration": a, "force": f, "f_N": float(N @ f),
                "f_T": float(T @ f), "contact": point, "k_rel": k, "T": T, "N": N,
                "energy": 0.5 * m_eff * s_dot**2 - self.mass * self.gravity @ (point + r)}  # fmt: skip

    def run(
        self, phi: float, p: float, s_dot: float, duration: float, times: Array | None = None, stop: str | None = None,
        mu: float = np.inf, rtol: float = 1e-13, atol: float = 1e-14,
    ) -> dict:  # fmt: skip
        """Arc-length run: `t`, `y` (n, 5) = (phi, p, s_dot, angle unwrapped, s), `event` time or None, `looks` (list
        of `instant`).

        `stop`: None, "separation" (f_N = 0) or "slip" (|f_T| = mu f_N).
        """

        def rate(t: float, y: Array) -> list[float]:
            k = self.body.curvature(y[0])[0] - self.terrain.curvature(y[1])[0]
            return [y[2] / self.body.tangent(y[0])[1], y[2] / self.terrain.tangent(y[1])[1],
                    self.instant(y[0], y[1], y[2])["s_ddot"], -k * y[2], y[2]]  # fmt: skip

        def event(t: float, y: Array) -> float:
            now = self.instant(y[0], y[1], y[2])
            return now["f_N"] if stop == "separation" else mu * now["f_N"] - abs(now["f_T"])

        event.terminal, event.direction = True, -1.0
        y0 = [phi, p, s_dot, self.angle(phi, p), 0.0]
        sol = solve_ivp(rate, (0.0, duration), y0, method="DOP853", rtol=rtol, atol=atol, t_eval=times,
                        events=[event] if stop else None)  # fmt: skip
        if sol.status < 0:
            raise RuntimeError(sol.message)
        when = float(sol.t_events[0][0]) if stop and sol.t_events[0].size else None
        y = sol.y.T if when is None else np.vstack([sol.y.T, sol.y_events[0]])
        t = sol.t if when is None else np.r_[sol.t, when]
        return {"t": t, "y": y, "event": when, "looks": [self.instant(*row[:3]) for row in y]}

    def sliding(
        self, phi: float, p: float, velocity: Array, omega: float, mu: float, sense: float | None = None
    ) -> dict:
        """Coulomb sliding at one instant: a (2,), alpha, f_N, f_T = -mu f_N sense, slip v_T, contact speeds s_t, s_b.

        The row is d/dt (N . v_contact) = 0 along the moving contact; s_t = (k_b v_T - omega)/k_rel, s_b = (k_t v_T -
        omega)/k_rel.
        """
        k_b, k_t = self.body.curvature(phi)[0], self.terrain.curvature(p)[0]
        T, R = self.terrain.tangent(p)[0], turn(self.angle(phi, p))
        N, rho = S @ T, R @ (self.body.at(phi)[0] - self.com)
        v_T = float(T @ (velocity + omega * S @ rho))
        s_t, s_b = (k_b * v_T - omega) / (k_b - k_t), (k_t * v_T - omega) / (k_b - k_t)
        sense = np.sign(v_T) if sense is None else sense
        pull = N - mu * sense * T
        A = np.zeros((4, 4))
        A[:2, :2], A[:2, 3] = self.mass * np.eye(2), -pull
        A[2, 2], A[2, 3] = self.inertia, -cross(rho, pull)
        A[3, :2], A[3, 2] = N, N @ S @ rho
        row = -omega * N @ S @ (s_t * T - velocity) + k_t * s_t * v_T
        z = np.linalg.solve(A, np.r_[self.mass * self.gravity, 0.0, row])
        return {"a": z[:2], "alpha": z[2], "f_N": z[3], "f_T": -mu * sense * z[3], "slip": v_T, "s_t": s_t, "s_b": s_b}

    def slide(
        self, phi: float, p: float, velocity: Array, omega: float, mu: float, duration: float, times=None
    ) -> dict:
        """Sliding run until the slip ends or the body lifts: `t`, `y` (n, 8) = (phi, p, x, z, vx, vz, omega, angle),
        `event`, `end`."""
        R = turn(self.angle(phi, p))
        start = self.terrain.at(p)[0] - R @ (self.body.at(phi)[0] - self.com)
        sense = float(np.sign(self.sliding(phi, p, np.asarray(velocity, float), omega, mu)["slip"]))

        def look(y: Array) -> dict:
            return self.sliding(y[0], y[1], y[4:6], y[6], mu, sense)

        def rate(t: float, y: Array) -> Array:
            now = look(y)
            return np.r_[now["s_b"] / self.body.tangent(y[0])[1], now["s_t"] / self.terrain.tangent(y[1])[1],
                         y[4:6], now["a"], now["alpha"], y[6]]  # fmt: skip

        events: list[Callable] = [lambda t, y: sense * look(y)["slip"], lambda t, y: look(y)["f_N"]]
        for event in events:
            event.terminal, event.direction = True, -1.0
        y0 = np.r_[phi, p, start, velocity, omega, self.angle(phi, p)]
        sol = solve_ivp(rate, (0.0, duration), y0, method="DOP853", rtol=1e-13, atol=1e-14, t_eval=times, events=events)
        hit = next((i for i, t in enumerate(sol.t_events) if t.size), None)
        if hit is None:
            return {"t": sol.t, "y": sol.y.T, "event": None, "end": "end"}
        return {"t": np.r_[sol.t, sol.t_events[hit]], "y": np.vstack([sol.y.T, sol.y_events[hit]]),
                "event": float(sol.t_events[hit][0]), "end": ["stick", "separation"][hit]}  # fmt: skip

    def nearest(self, position: Array, angle: float, seed: tuple[float, float]) -> tuple[float, float, float]:
        """Common normal of a free body (com `position`, `angle`): (phi, p, gap), Newton on T_t.(P - Q) = 0, T_t x R
        T_b = 0."""
        phi, p = seed
        R = turn(angle)
        for _ in range(50):
            b, t = self.body.at(phi), self.terrain.at(p)
            apart = position + R @ (b[0] - self.com) - t[0]
            f = np.array([t[1] @ apart, cross(t[1], R @ b[1])])
            J = np.array(
                [[t[1] @ R @ b[1], t[2] @ apart - t[1] @ t[1]], [cross(t[1], R @ b[2]), cross(t[2], R @ b[1])]]
            )
            step = np.linalg.solve(J, -f)
            phi, p = phi + step[0], p + step[1]
            if np.abs(step).max() < 1e-15:
                break
        if np.linalg.norm(f) > 1e-10:
            raise RuntimeError("no common normal found")
        T = self.terrain.tangent(p)[0]
        return phi, p, float((S @ T) @ (position + R @ (self.body.at(phi)[0] - self.com) - self.terrain.at(p)[0]))

    def impact(self, phi: float, p: float, velocity: Array, omega: float, angle: float, mu: float = np.inf) -> dict:
        """Plastic impact at the touching points: velocity, omega after, impulse (2,), law "rolling" or "sliding"."""
        T = self.terrain.tangent(p)[0]
        N, rho = S @ T, turn(angle) @ (self.body.at(phi)[0] - self.com)
        row = np.c_[np.eye(2), S @ rho]  # material velocity of the contact
        inverse = np.diag([1 / self.mass, 1 / self.mass, 1 / self.inertia])
        nu = np.r_[velocity, omega]
        spread, slip = row @ inverse @ row.T, row @ nu
        impulse, law = np.linalg.solve(spread, -slip), "rolling"
        if np.isfinite(mu) and abs(T @ impulse) > mu * (N @ impulse):
            law = "sliding"
            for sense in (1.0, -1.0):
                pull = N - mu * sense * T
                impulse = pull * (-(N @ slip) / (N @ spread @ pull))
                if sense * (T @ (slip + spread @ impulse)) > 0.0:
                    break
        nu = nu + inverse @ row.T @ impulse
        return {"velocity": nu[:2], "omega": float(nu[2]), "impulse": impulse, "law": law}
