"""Equations of motion that share nothing with trundle: vectors in world axes, scipy's DOP853 at 1e-13.

CasADi only evaluates the formulas written here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

from bench.classics.scene import GRAVITY

Z = np.array([0.0, 0.0, 1.0])
_Z = ca.DM(Z)
SLOW = 1e-3  # m/s


def integrate(
    rate: ca.Function | Callable,
    y0: Sequence[float] | np.ndarray,
    times: np.ndarray,
    held: ca.Function | None = None,
) -> np.ndarray:
    """Return the states (n, size) at the times of y' = rate(y); as few times as `held(y)` stays above zero."""
    if isinstance(rate, ca.Function):
        buffer, call = rate.buffer()
        y, out = np.zeros(len(y0)), np.zeros(len(y0))
        buffer.set_arg(0, memoryview(y))  # pyright: ignore[reportCallIssue, reportArgumentType]
        buffer.set_res(0, memoryview(out))  # pyright: ignore[reportCallIssue, reportArgumentType]

        def f(_: float, state: np.ndarray) -> np.ndarray:
            y[:] = state
            call()
            return out.copy()
    else:

        def f(_: float, state: np.ndarray) -> np.ndarray:
            return rate(state)

    def ends(_: float, state: np.ndarray) -> float:
        return 1.0 if held is None else float(held(state))

    ends.terminal = True  # pyright: ignore[reportFunctionMemberAccess]
    span = (times[0], times[-1])
    return solve_ivp(f, span, y0, t_eval=times, events=ends, method="DOP853", rtol=1e-13, atol=1e-13).y.T


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """An ellipsoid (a ball, too) on a level plane; its centre of mass may lie off its centre."""

    semi_axes: tuple[float, float, float]
    mass: float
    inertia: np.ndarray  # (3, 3) about the centre of mass
    center_of_mass: tuple[float, float, float] = (0.0, 0.0, 0.0)  # m from the centre

    def contact(self, n: ca.SX | ca.DM) -> ca.SX:
        """Return the contact from the centre of mass (3,), body axes, where the plane's normal is n."""
        S = ca.DM(np.square(self.semi_axes))
        return -S * n / ca.sqrt(ca.dot(S, n * n)) - ca.DM(self.center_of_mass)

    def contact_at(self, n: np.ndarray) -> np.ndarray:
        """Return the same as numbers."""
        return np.asarray(ca.DM(self.contact(ca.DM(n)))).ravel()


def _rotation(q: ca.SX) -> ca.SX:
    w, v = q[0], q[1:]
    return (w * w - ca.dot(v, v)) * ca.SX.eye(3) + 2 * v @ v.T + 2 * w * ca.skew(v)


def _moving(body: Ellipsoid, q: ca.SX, w: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """Return q', inertia, contact and the contact's rate, the last three from the centre of mass in world axes."""
    unit = q / ca.norm_2(q)
    R, n = _rotation(unit), ca.SX.sym("n", 3)
    slope = ca.substitute(ca.jacobian(body.contact(n), n), n, R.T @ _Z)
    r = R @ body.contact(R.T @ _Z)
    moved = ca.cross(w, r) + R @ slope @ R.T @ ca.cross(_Z, w)
    turned = 0.5 * ca.vertcat(-ca.dot(w, q[1:]), q[0] * w + ca.cross(w, q[1:]))
    return turned, R @ ca.DM(body.inertia) @ R.T, r, moved


def rolling(body: Ellipsoid, q: Sequence[float], w: Sequence[float], times: np.ndarray) -> np.ndarray:
    """Return (quaternion, angular velocity) (n, 7) of a body that rolls: moments about the contact, v = r x w."""
    y = ca.SX.sym("y", 7)
    spin = y[4:]
    turned, inertia, r, moved = _moving(body, y[:4], spin)
    about = inertia - body.mass * ca.skew(r) @ ca.skew(r)
    # m v' = m (moved x w + r x w') = F - m g z and I w' + w x I w = r x F
    moment = body.mass * ca.cross(r, ca.cross(moved, spin) + GRAVITY * _Z) - ca.cross(spin, inertia @ spin)
    rate = ca.Function("rolling", [y], [ca.vertcat(turned, ca.solve(about, moment))])
    return integrate(rate, np.concatenate([q, w]), times)


def sliding(
    body: Ellipsoid,
    mu: float,
    q: Sequence[float],
    w: Sequence[float],
    v: Sequence[float] | np.ndarray,
    times: np.ndarray,
) -> np.ndarray:
    """Return (quaternion, angular velocity, velocity) (n, 10) of a body as long as it slides, at `SLOW` at least."""
    y = ca.SX.sym("y", 10)
    spin, velocity = y[4:7], y[7:]
    turned, inertia, r, moved = _moving(body, y[:4], spin)
    slip = (velocity + ca.cross(spin, r)) * ca.DM([1, 1, 0])
    push = _Z - mu * slip / ca.norm_2(slip)  # per normal force
    turn = ca.solve(inertia, ca.cross(r, push))
    free = ca.solve(inertia, -ca.cross(spin, inertia @ spin))
    # Z . (v' + w' x r + w x moved) = 0: the lowest point keeps its height
    held = ca.dot(_Z, push / body.mass + ca.cross(turn, r))
    normal = (GRAVITY - ca.dot(_Z, ca.cross(free, r) + ca.cross(spin, moved))) / held
    moving = ca.vertcat(turned, turn * normal + free, push * normal / body.mass - GRAVITY * _Z)
    held_down = ca.Function("held", [y], [ca.fmin(ca.norm_2(slip) - SLOW, normal)])
    return integrate(ca.Function("sliding", [y], [moving]), np.concatenate([q, w, v]), times, held_down)


def ball_inside(
    normal: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]],
    radius: float,
    center: Sequence[float] | np.ndarray,
    w: Sequence[float] | np.ndarray,
    times: np.ndarray,
    k: float = 0.4,
) -> np.ndarray:
    """Return (centre, angular velocity) (n, 6) of a ball that rolls on a fixed surface.

    `normal(c, v)`: the unit normal towards the ball at the contact and its rate. With v = radius w x n, moments about
    the contact give (1 + k) w' = -n x (w x n' + g z / radius) and no w' along n but by n'.
    """

    def rate(y: np.ndarray) -> np.ndarray:
        c, w = y[:3], y[3:]
        n, _ = normal(c, np.zeros(3))
        v = radius * np.cross(w, n)
        n, turning = normal(c, v)
        return np.concatenate([v, -np.cross(n, np.cross(w, turning) + GRAVITY / radius * Z) / (1 + k)])

    return integrate(rate, np.concatenate([center, w]), times)
