"""Equations of motion that share nothing with trundle: vectors in world axes, scipy's DOP853 at 1e-13."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from bench.classics.scene import GRAVITY, rotation

Z = np.array([0.0, 0.0, 1.0])
TOLERANCE = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-14}


@dataclass(frozen=True)
class Ellipsoid:
    """An ellipsoid (a ball, too) on a level plane; its centre of mass may lie off its centre."""

    semi_axes: tuple[float, float, float]
    mass: float
    inertia: np.ndarray  # (3, 3) about the centre of mass
    center_of_mass: tuple[float, float, float] = (0.0, 0.0, 0.0)  # m from the centre

    def contact(self, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the contact from the centre of mass (3,) for the plane's normal n in body axes, and d/dn (3, 3)."""
        S = np.square(self.semi_axes)
        reach = np.sqrt(S @ (n * n))
        point = -S * n / reach
        return point - self.center_of_mass, -np.diag(S) / reach + np.outer(S * n, S * n) / reach**3


def _turned(q: np.ndarray, w: np.ndarray) -> np.ndarray:
    return 0.5 * np.concatenate([[-w @ q[1:]], q[0] * w + np.cross(w, q[1:])])


def _moving(body: Ellipsoid, q: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return inertia, contact and the contact's rate, all from the centre of mass in world axes."""
    R = rotation(q)
    r, slope = body.contact(R.T @ Z)
    moved = np.cross(w, R @ r) + R @ (slope @ (R.T @ np.cross(Z, w)))
    return R @ body.inertia @ R.T, R @ r, moved


def rolling(body: Ellipsoid, q: Sequence[float], w: Sequence[float], times: np.ndarray) -> np.ndarray:
    """Return (quaternion, angular velocity) (n, 7) of a body that rolls: moments about the contact, v = r x w."""

    def rate(_: float, y: np.ndarray) -> np.ndarray:
        q, w = y[:4] / np.linalg.norm(y[:4]), y[4:]
        inertia, r, moved = _moving(body, q, w)
        about = inertia + body.mass * ((r @ r) * np.eye(3) - np.outer(r, r))
        # m v' = m (moved x w + r x w') = F - m g z and I w' + w x I w = r x F
        moment = body.mass * np.cross(r, np.cross(moved, w) + GRAVITY * Z) - np.cross(w, inertia @ w)
        return np.concatenate([_turned(q, w), np.linalg.solve(about, moment)])

    y0 = np.concatenate([np.asarray(q, float), np.asarray(w, float)])
    return solve_ivp(rate, (times[0], times[-1]), y0, t_eval=times, **TOLERANCE).y.T


def sliding(
    body: Ellipsoid, mu: float, q: Sequence[float], w: Sequence[float], v: Sequence[float], times: np.ndarray
) -> np.ndarray:
    """Return (quaternion, angular velocity, velocity) (n, 10) of a body that slides all the time, Coulomb's law.

    Raises
    ------
    ArithmeticError
        If the slip nearly ends or the body lifts off.
    """

    def rate(_: float, y: np.ndarray) -> np.ndarray:
        q, w, v = y[:4] / np.linalg.norm(y[:4]), y[4:7], y[7:]
        inertia, r, moved = _moving(body, q, w)
        slip = v + np.cross(w, r)
        slip[2] = 0.0
        speed = np.linalg.norm(slip)
        if speed < 1e-6:
            raise ArithmeticError("the slip ends")
        push = Z - mu * slip / speed  # per normal force
        turn, free = np.linalg.solve(inertia, np.stack([np.cross(r, push), -np.cross(w, inertia @ w)], 1)).T
        # Z . (v' + w' x r + w x moved) = 0: the lowest point keeps its height
        held = Z @ (push / body.mass + np.cross(turn, r))
        N = (GRAVITY - Z @ (np.cross(free, r) + np.cross(w, moved))) / held
        if N < 0:
            raise ArithmeticError("the body lifts off")
        return np.concatenate([_turned(q, w), turn * N + free, push * N / body.mass - GRAVITY * Z])

    y0 = np.concatenate([np.asarray(q, float), np.asarray(w, float), np.asarray(v, float)])
    return solve_ivp(rate, (times[0], times[-1]), y0, t_eval=times, **TOLERANCE).y.T


def ball_inside(
    normal: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]],
    radius: float,
    center: Sequence[float],
    w: Sequence[float],
    times: np.ndarray,
    k: float = 0.4,
) -> np.ndarray:
    """Return (centre, angular velocity) (n, 6) of a ball that rolls on a fixed surface.

    `normal(c, v)`: the unit normal towards the ball at the contact and its rate. With v = radius w x n, moments about
    the contact give (1 + k) w' = -n x (w x n' + g z / radius) and no w' along n but by n'.
    """

    def rate(_: float, y: np.ndarray) -> np.ndarray:
        c, w = y[:3], y[3:]
        n, _ = normal(c, np.zeros(3))
        v = radius * np.cross(w, n)
        n, turning = normal(c, v)
        return np.concatenate([v, -np.cross(n, np.cross(w, turning) + GRAVITY / radius * Z) / (1 + k)])

    y0 = np.concatenate([np.asarray(center, float), np.asarray(w, float)])
    return solve_ivp(rate, (times[0], times[-1]), y0, t_eval=times, **TOLERANCE).y.T
