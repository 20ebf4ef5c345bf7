"""A rigid body on a moving hand whose contact resists turning, adheres or is compliant: maximal coordinates, one dense
linear system.

Unknowns are the accelerations, the contact force and the moments that hold a turning. Per load N = f_n + adhesion the
contact takes the moment -rolling w_t/|w_t| - drilling n w_n/|w_n|, and -c w of each part whatever the load.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .curves import cross as cross_plane
from .implicit import Level, cross, skew
from .planar import Rolling, S, turn
from .spatial import EARTH, Array, Body, Hand, State, find_contact, slip_velocity, touching


@dataclass(frozen=True)
class Resistance:
    """Coefficients: lever arms m, N m s, N; rates (rad/s) over which moments turn round, 0: they jump."""

    rolling: float = 0.0
    drilling: float = 0.0
    rolling_viscous: float = 0.0
    drilling_viscous: float = 0.0
    adhesion: float = 0.0
    smooth: float = 0.0


def held_axes(n: Array, law: str) -> Array:
    """Axes (3, k) about which `law` allows no turning."""
    tangents = np.linalg.svd(n[None, :])[2][1:].T
    return {
        "pure-rolling": n[:, None],
        "pivoting": tangents,
        "resting": np.column_stack([tangents, n]),
    }.get(law, np.zeros((3, 0)))


def moments(w: Array, n: Array, law: str, c: Resistance) -> tuple[Array, Array]:
    """Moment per load, and without one, against the relative angular velocity `w`; not about axes that are held."""
    spin = float(n @ w)
    turning = w - n * spin
    size, turned = np.sqrt(turning @ turning + c.smooth**2), np.sqrt(spin**2 + c.smooth**2)
    per_load = np.zeros(3)
    if law not in ("pivoting", "resting"):
        per_load = per_load - c.rolling * turning / size
    if law not in ("pure-rolling", "resting"):
        per_load = per_load - c.drilling * n * spin / turned
    return per_load, -c.rolling_viscous * turning - c.drilling_viscous * spin * n + c.adhesion * per_load


def accelerations(
    body: Body,
    state: State,
    hand_shape: Level,
    hand: Hand,
    law: str,
    mu: float,
    c: Resistance,
    gravity: Array = EARTH,
    seed: tuple[Array, Array] | None = None,
    outer: tuple[Array, Array] = (np.zeros(3), np.zeros(3)),
) -> dict:
    """`alpha`, `a`, `force` and the moment about the normal `moment`, world; `outer`: force at the centre, moment."""
    J = state.R @ body.inertia @ state.R.T
    found = find_contact(body, state, hand_shape, hand, seed)
    touch, _, _ = touching(body, state, hand_shape, hand, found, law if law == "sliding" else "rolling")
    n, rho, slip = touch.normal, touch.rho, touch.slip
    w = state.w - hand.w
    per_load, always = moments(w, n, law, c)
    gyro = outer[1] + always - cross(state.w, J @ state.w)
    weight, none = body.mass * np.asarray(gravity, float) + outer[0], np.zeros((3, 3))
    if law == "sliding":
        slide = slip - n * (n @ slip)
        e = slide / np.linalg.norm(slide)
        push, pull, H = (n - mu * e)[:, None], -mu * c.adhesion * e, np.zeros((3, 0))
        rows = np.r_[n, -n @ skew(rho)][None, :]
        right = np.array([n @ touch.target - touch.n_dot @ slip])
    else:
        push, pull, H = np.eye(3), np.zeros(3), held_axes(n, law)
        rows = np.block([[np.eye(3), -skew(rho)], [np.zeros((H.shape[1], 3)), H.T]])
        # H'w' = s H'n' of what is held across n (w = s n + w_t), and n.w' = -n'.w of what is held along it.
        right = np.r_[touch.target, H.T @ (hand.alpha + (n @ w) * touch.n_dot - n * (touch.n_dot @ w))]
    turned = skew(rho) @ push + np.outer(per_load, n @ push)
    system = np.block(
        [
            [body.mass * np.eye(3), none, -push, np.zeros((3, H.shape[1]))],
            [none, J, -turned, -H],
            [rows, np.zeros((len(rows), push.shape[1] + H.shape[1]))],
        ]
    )
    z = np.linalg.solve(system, np.r_[weight + pull, gyro + cross(rho, pull), right])
    lam, tau = z[6 : 6 + push.shape[1]], z[6 + push.shape[1] :]
    force = push @ lam + pull
    moment = float(n @ (per_load * (n @ push @ lam) + always + H @ tau))
    return {"a": z[:3], "alpha": z[3:6], "force": force, "moment": moment}


def compliant(
    body: Body,
    state: State,
    hand_shape: Level,
    hand: Hand,
    mu: float,
    c: Resistance,
    stiffness: float,
    dissipation: float,
    slip_speed: float,
    gravity: Array = EARTH,
    seed: tuple[Array, Array] | None = None,
) -> dict:
    """The same of a contact that gives way: f_n = stiffness p^1.5 (1 + 1.5 dissipation p'), p the depth; no rows.

    The slip is that of the materials of both bodies in the middle of their two points, where the force acts.
    """
    J = state.R @ body.inertia @ state.R.T
    found = find_contact(body, state, hand_shape, hand, seed)
    n = found.normal
    middle = found.point_object - found.gap / 2 * n
    rho = middle - state.p
    deeper = -float(n @ slip_velocity(state, hand, found))
    f_n = stiffness * max(-found.gap, 0.0) ** 1.5 * max(1.0 + 1.5 * dissipation * deeper, 0.0)
    material = state.v + cross(state.w, rho) - hand.v - cross(hand.w, middle - hand.r)
    slide = material - n * (n @ material)
    force = f_n * (n - mu * slide / np.sqrt(slide @ slide + slip_speed**2))
    per_load, always = moments(state.w - hand.w, n, "sliding", c)
    turning = f_n * per_load + (always if found.gap < 0.0 else 0.0)
    alpha = np.linalg.solve(J, cross(rho, force) + turning - cross(state.w, J @ state.w))
    a = np.asarray(gravity, float) + force / body.mass
    return {"a": a, "alpha": alpha, "force": force, "moment": float(n @ turning)}


def in_plane(
    exact: Rolling, phi: float, p: float, velocity: Array, omega: float, law: str, mu: float, c: Resistance
) -> dict:
    """`alpha`, `a` (2,) and `force` (2,) of a planar body whose contact resists rolling."""
    k_b, k_t = exact.body.curvature(phi)[0], exact.terrain.curvature(p)[0]
    T, rho = exact.terrain.tangent(p)[0], turn(exact.angle(phi, p)) @ (exact.body.at(phi)[0] - exact.com)
    N = S @ T
    v_T = float(T @ (velocity + omega * S @ rho)) if law == "sliding" else 0.0
    s_t = (k_b * v_T - omega) / (k_b - k_t)
    per_load = 0.0 if law == "resting" else -c.rolling * omega / np.hypot(omega, c.smooth)
    always = -c.rolling_viscous * omega + c.adhesion * per_load
    bias = omega * S @ (s_t * T - velocity)
    if law == "sliding":
        push, pull = (N - mu * np.sign(v_T) * T)[:, None], -mu * c.adhesion * np.sign(v_T) * T
        rows, right = np.array([[*N, N @ S @ rho]]), np.array([-N @ bias + k_t * s_t * v_T])
    else:
        push, pull = np.eye(2), np.zeros(2)
        rows, right = np.column_stack([np.eye(2), S @ rho]), -bias
    held = np.array([[0.0, 0.0, 1.0]] * (law == "resting")).reshape(-1, 3)
    rows, right = np.vstack([rows, held]), np.r_[right, np.zeros(len(held))]
    turned = np.array([cross_plane(rho, one) for one in push.T]) + per_load * (N @ push)
    none = np.zeros((2, len(held)))
    system = np.block(
        [
            [exact.mass * np.eye(2), np.zeros((2, 1)), -push, none],
            [np.zeros((1, 2)), np.array([[exact.inertia]]), -turned[None, :], -np.ones((1, len(held)))],
            [rows, np.zeros((len(rows), push.shape[1] + len(held)))],
        ]
    )
    z = np.linalg.solve(system, np.r_[exact.mass * exact.gravity + pull, always + cross_plane(rho, pull), right])
    return {"a": z[:2], "alpha": z[2], "force": push @ z[3 : 3 + push.shape[1]] + pull}


def compliant_in_plane(
    exact: Rolling,
    phi: float,
    p: float,
    velocity: Array,
    omega: float,
    mu: float,
    c: Resistance,
    depth: float,
    stiffness: float,
    dissipation: float,
    slip_speed: float,
) -> dict:
    """The same of a contact that gives way, `depth` (m) inside the terrain below where the body just touches it."""
    T, rho = exact.terrain.tangent(p)[0], turn(exact.angle(phi, p)) @ (exact.body.at(phi)[0] - exact.com)
    N = S @ T
    rho = rho + depth / 2 * N
    material = velocity + omega * S @ rho
    f_n = stiffness * depth**1.5 * max(1.0 - 1.5 * dissipation * float(N @ material), 0.0)
    force = f_n * (N - mu * T * float(T @ material) / np.hypot(float(T @ material), slip_speed))
    moment = -f_n * c.rolling * omega / np.hypot(omega, c.smooth) - c.rolling_viscous * omega
    alpha = (cross_plane(rho, force) + moment) / exact.inertia
    return {"a": exact.gravity + force / exact.mass, "alpha": alpha, "force": force}
