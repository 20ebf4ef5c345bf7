"""One rigid body on a moving hand in maximal coordinates (sheet 2 sections 8 and 9): nothing is eliminated.

The object is (R, p of its centre of mass, w, v) in the world, the hand is prescribed (pose, twist, acceleration); the
contact is
searched by Gauss-Newton on the common normal; accelerations and forces come from one dense linear system: 9x9
rolling, 10x10 pure
rolling, 7x7 sliding. Runs over time: `tests.oracles.runs`. Shapes: `tests.oracles.implicit` (any) and
`tests.oracles.supports` (object only).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from scipy.optimize import brentq

from .implicit import Level, cross, norm, point_with_normal, skew
from .supports import Support

Array = np.ndarray
EARTH = np.array([0.0, 0.0, -9.81])


@dataclass(frozen=True)
class Body:
    """Shape, mass (kg), inertia about the centre of mass in body axes (3, 3), centre of mass in the shape's frame
    (3,)."""

    shape: Level | Support
    mass: float
    inertia: Array
    center_of_mass: Array = field(default_factory=lambda: np.zeros(3))


@dataclass(frozen=True)
class State:
    """Object: R world from body (3, 3), p centre of mass, w angular velocity, v its velocity; all world."""

    R: Array
    p: Array
    w: Array
    v: Array


@dataclass(frozen=True)
class Hand:
    """Hand: R world from hand, r origin, w, v, alpha, a (classical acceleration of the origin); all world."""

    R: Array = field(default_factory=lambda: np.eye(3))
    r: Array = field(default_factory=lambda: np.zeros(3))
    w: Array = field(default_factory=lambda: np.zeros(3))
    v: Array = field(default_factory=lambda: np.zeros(3))
    alpha: Array = field(default_factory=lambda: np.zeros(3))
    a: Array = field(default_factory=lambda: np.zeros(3))


@dataclass(frozen=True)
class Contact:
    """Contact found: local points, world points, hand's outward normal (world), gap n.(P_object - P_hand) in m."""

    x_object: Array
    x_hand: Array
    point_object: Array
    point_hand: Array
    normal: Array
    gap: float


def hand_from_body_twist(R: Array, r: Array, twist: Array, control: Array) -> Hand:
    """Hand from its body twist (6,) and the derivative of its components (6,): a = R (u_v + w x v) (sheet 2 section
    0)."""
    w, v = twist[:3], twist[3:]
    return Hand(R, r, R @ w, R @ v, R @ control[:3], R @ (control[3:] + cross(w, v)))


def rotation(q: Array) -> Array:
    """Rotation matrix of a quaternion (w, x, y, z), normalised here."""
    w, x = q[0] / norm(q), np.asarray(q[1:]) / norm(q)
    return (2 * w * w - 1) * np.eye(3) + 2 * np.outer(x, x) + 2 * w * skew(x)


def quaternion(R: Array) -> Array:
    """Quaternion (w, x, y, z) of a rotation matrix: the largest column of 4 q q', normalised."""
    t, d = np.trace(R), np.diag(R)
    sums = np.array([[0, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
                     [0, 0, R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]], [0, 0, 0, R[1, 2] + R[2, 1]], [0] * 4])  # fmt: skip
    four = sums + sums.T + np.diag([1 + t, *(1 - t + 2 * d)])
    q = four[:, np.argmax(four.diagonal())]
    return q / norm(q)


def find_contact(
    body: Body, state: State, hand_shape: Level, hand: Hand, seed: tuple[Array, Array] | None = None
) -> Contact:
    """Common normal of object and hand: f_o = f_h = 0, n_h x n_o = 0, n_h x (p_o - p_h) = 0 (sheet 2 section 8)."""
    support = isinstance(body.shape, Support)
    Q = hand.R.T @ state.R  # hand from body
    origin = hand.R.T @ (state.p - state.R @ body.center_of_mass - hand.r)  # shape's origin, hand frame
    if seed is None:
        x_h = hand_shape.seed(np.array([0.0, 0.0, 1.0])) if hand_shape.sign > 0 else hand_shape.seed(-unit(origin))
        x_o = np.zeros(3) if support else body.shape.seed(-Q.T @ hand_shape.normal(x_h))
    else:
        x_o, x_h = np.array(seed[0], float), np.array(seed[1], float)
    best = np.inf
    for _ in range(60):
        n_h, big_h = hand_shape.normal(x_h), hand_shape.normal_derivative(x_h)
        if support:
            d = -Q.T @ n_h
            x_o = body.shape.point(d)
            apart = origin + Q @ x_o - x_h
            move = -Q @ body.shape.radii(d) @ Q.T @ big_h - np.eye(3)
            residual = np.r_[hand_shape.value(x_h), cross(n_h, apart)]
            jacobian = np.vstack([hand_shape.gradient(x_h), -skew(apart) @ big_h + skew(n_h) @ move])
        else:
            n_o, big_o = Q @ body.shape.normal(x_o), Q @ body.shape.normal_derivative(x_o)
            apart = origin + Q @ x_o - x_h
            residual = np.r_[body.shape.value(x_o), hand_shape.value(x_h), cross(n_h, n_o), cross(n_h, apart)]
            jacobian = np.zeros((8, 6))
            jacobian[0, :3], jacobian[1, 3:] = body.shape.gradient(x_o), hand_shape.gradient(x_h)
            jacobian[2:5, :3], jacobian[2:5, 3:] = skew(n_h) @ big_o, -skew(n_o) @ big_h
            jacobian[5:, :3], jacobian[5:, 3:] = skew(n_h) @ Q, -skew(apart) @ big_h - skew(n_h)
        size = norm(residual)
        if size < 1e-15 or (size < 1e-12 and size >= best):
            break
        best = min(best, size)
        step = np.linalg.lstsq(jacobian, -residual, rcond=1e-12)[0]
        x_h = x_h + step[-3:]
        if not support:
            x_o = x_o + step[:3]
    else:
        if size > 1e-10:
            raise RuntimeError(f"no common normal found, residual {size:.2e}")
    if not support and np.dot(Q @ body.shape.normal(x_o), hand_shape.normal(x_h)) > 0:
        raise RuntimeError("common normal found with parallel normals: wrong side")
    n = hand.R @ hand_shape.normal(x_h)
    p_o = state.p + state.R @ (x_o - body.center_of_mass)
    p_h = hand.r + hand.R @ x_h
    return Contact(x_o, x_h, p_o, p_h, n, float(n @ (p_o - p_h)))


def unit(a: Array) -> Array:
    """The unit vector along `a`."""
    a = np.asarray(a)
    return a / norm(a)


def slip_velocity(state: State, hand: Hand, c: Contact) -> Array:
    """Velocity of the object's material point minus the hand's at the contact, world."""
    v_o = state.v + cross(state.w, c.point_object - state.p)
    return v_o - hand.v - cross(hand.w, c.point_hand - hand.r)


def contact_speeds(
    body: Body, state: State, hand_shape: Level, hand: Hand, c: Contact, slip: Array | None = None
) -> tuple[Array, Array]:
    """World velocity of the contact over the object (S_o) and over the hand (S_h = S_o + slip): 3x3 solve.

    Rolling: (N_o + N_h + n n') S = w_rel x n. Sliding adds -N_h slip on the right. A support uses its radii instead:
    (I + Hess_o N_h) S_o = Hess_o (w_rel x n - N_h slip).
    """
    slide = np.zeros(3) if slip is None else slip - c.normal * (c.normal @ slip)
    big_h = hand.R @ hand_shape.normal_derivative(c.x_hand) @ hand.R.T
    rhs = cross(state.w - hand.w, c.normal) - big_h @ slide
    if isinstance(body.shape, Support):
        radii = state.R @ body.shape.radii(-state.R.T @ c.normal) @ state.R.T
        s_o = np.linalg.solve(np.eye(3) + radii @ big_h, radii @ rhs)
    else:
        big_o = state.R @ body.shape.normal_derivative(c.x_object) @ state.R.T
        s_o = np.linalg.solve(big_o + big_h + np.outer(c.normal, c.normal), rhs)
    return s_o, s_o + slide


@dataclass(frozen=True)
class Touch:
    """What one contact asks for: a + alpha x rho = target keeps the slip (rolling), n.(a + alpha x rho) = n.target -
    n_dot.slip the gap (sliding); all world, `rho` from the centre of mass."""

    normal: Array
    rho: Array
    slip: Array
    n_dot: Array
    target: Array


def touching(
    body: Body, state: State, hand_shape: Level, hand: Hand, c: Contact, law: str
) -> tuple[Touch, Array, Array]:
    """Rows of the contact `c`, and the velocities S_object, S_hand of its point over the bodies."""
    rho = c.point_object - state.p
    slip = slip_velocity(state, hand, c)
    s_o, s_h = contact_speeds(body, state, hand_shape, hand, c, slip if law == "sliding" else None)
    p_dot_o = state.v + cross(state.w, rho) + s_o
    p_dot_h = hand.v + cross(hand.w, c.point_hand - hand.r) + s_h
    n_dot = cross(hand.w, c.normal) + hand.R @ hand_shape.normal_derivative(c.x_hand) @ hand.R.T @ s_h
    bias_o = cross(state.w, p_dot_o - state.v)
    bias_h = hand.a + cross(hand.alpha, c.point_hand - hand.r) + cross(hand.w, p_dot_h - hand.v)
    return Touch(c.normal, rho, slip, n_dot, bias_h - bias_o), s_o, s_h


def accelerations(
    body: Body,
    state: State,
    hand_shape: Level,
    hand: Hand,
    law: str = "rolling",
    mu: float = np.inf,
    gravity: Array = EARTH,
    baumgarte: float = 0.0,
    seed: tuple[Array, Array] | None = None,
    slip_direction: Array | None = None,
) -> dict:
    """Accelerations and contact forces at one instant under `law`: rolling, pure-rolling, sliding or separated.

    Returns a dict, all world: `alpha` (3,), `a` of the centre of mass (3,), `force` on the object (3,), `moment`
    (torsional, on the
    object about the normal out of the hand), `normal_force`, `tangential_force` (3,), `contact` (Contact), `slip`
    (3,), `S_object`,
    `S_hand` (3,). `slip_direction` replaces the direction of the slip where that is zero. Sheet 2 section 9.
    """
    m, g = body.mass, np.asarray(gravity, float)
    J = state.R @ body.inertia @ state.R.T
    gyro = -cross(state.w, J @ state.w)
    if law == "separated":
        zero = np.zeros(3)
        return {"alpha": np.linalg.solve(J, gyro), "a": g.copy(), "force": zero, "moment": 0.0, "normal_force": 0.0,
                "tangential_force": zero, "contact": None, "slip": zero, "S_object": zero, "S_hand": zero}  # fmt: skip
    c = find_contact(body, state, hand_shape, hand, seed)
    touch, s_o, s_h = touching(body, state, hand_shape, hand, c, law)
    n, rho, slip, n_dot = touch.normal, touch.rho, touch.slip, touch.n_dot
    target = touch.target - 2 * baumgarte * slip - baumgarte**2 * c.gap * n  # of a + alpha x rho
    I3, lever = np.eye(3), skew(rho)
    if law == "sliding":
        slide = slip - n * (n @ slip)
        e = slip_direction if slip_direction is not None else unit(slide)
        pull = n - mu * e
        A = np.block([[m * I3, np.zeros((3, 3)), -pull[:, None]], [np.zeros((3, 3)), J, -(lever @ pull)[:, None]],
                      [n[None, :], (-n @ lever)[None, :], np.zeros((1, 1))]])  # fmt: skip
        row = n @ target - n_dot @ slip
        z = np.linalg.solve(A, np.r_[m * g, gyro, row])
        force, moment = z[6] * pull, 0.0
    else:
        A = np.zeros((10, 10))
        A[:3, :3], A[:3, 6:9] = m * I3, -I3
        A[3:6, 3:6], A[3:6, 6:9], A[3:6, 9] = J, -lever, -n
        A[6:9, :3], A[6:9, 3:6] = I3, -lever
        A[9, 3:6] = n
        w_rel = state.w - hand.w
        spin = n @ hand.alpha - w_rel @ n_dot - 2 * baumgarte * (w_rel @ n)
        rhs = np.r_[m * g, gyro, target, spin]
        size = {"rolling": 9, "pure-rolling": 10}[law]
        z = np.linalg.solve(A[:size, :size], rhs[:size])
        force, moment = z[6:9], float(z[9]) if size == 10 else 0.0
    f_n = float(n @ force)
    return {"alpha": z[3:6], "a": z[:3], "force": force, "moment": moment, "normal_force": f_n,
            "tangential_force": force - f_n * n, "contact": c, "slip": slip,
            "S_object": s_o, "S_hand": s_h}  # fmt: skip


def impact(
    body: Body, state: State, hand: Hand, c: Contact, mu: float = np.inf, pure: bool = False, direction: str = "after"
) -> tuple[State, Array, str]:
    """Plastic impact at contact `c`: (state after, impulse on the object (3,), "rolling" or "sliding").

    Rolling impulse first (slip after = 0; `pure` also stops the relative spin); if it is outside the cone, the
    impulse is
    lambda (n - mu e) with normal velocity after = 0 and e the slip direction after ("after", default) or before
    ("before").
    """
    J = state.R @ body.inertia @ state.R.T
    n, lever = c.normal, skew(c.point_object - state.p)
    slip = slip_velocity(state, hand, c)
    spread = np.eye(3) / body.mass - lever @ np.linalg.solve(J, lever)  # slip per impulse
    if pure:
        turn = -lever @ np.linalg.solve(J, n)
        K = np.block([[spread, turn[:, None]], [turn[None, :], np.array([[n @ np.linalg.solve(J, n)]])]])
        solved = np.linalg.solve(K, -np.r_[slip, n @ (state.w - hand.w)])
        impulse, twist = solved[:3], solved[3]
    else:
        impulse, twist = np.linalg.solve(spread, -slip), 0.0
    name = "rolling"
    if np.isfinite(mu) and norm(impulse - n * (n @ impulse)) > mu * (n @ impulse):
        name, twist = "sliding", 0.0
        e = unit(slip - n * (n @ slip)) if direction == "before" else _slip_after(spread, slip, n, mu)
        pull = n - mu * e
        impulse = pull * (-(n @ slip) / (n @ spread @ pull))
    after = replace(state, v=state.v + impulse / body.mass, w=state.w + np.linalg.solve(J, lever @ impulse + twist * n))
    return after, impulse, name


def _slip_after(spread: Array, slip: Array, n: Array, mu: float) -> Array:
    """Direction e for which the slip after the sliding impulse is along +e: a root in one angle."""
    t1 = unit(cross(n, [1.0, 0.0, 0.0] if abs(n[0]) < 0.9 else [0.0, 1.0, 0.0]))
    t2 = cross(n, t1)

    def after(angle: float) -> tuple[float, float]:
        e = np.cos(angle) * t1 + np.sin(angle) * t2
        pull = n - mu * e
        left = slip - spread @ pull * ((n @ slip) / (n @ spread @ pull))
        return float(n @ cross(e, left)), float(e @ left)

    angles = np.linspace(0.0, 2 * np.pi, 181)
    for low, high in pairwise(angles):
        if after(low)[0] * after(high)[0] <= 0.0:
            root = brentq(lambda x: after(x)[0], low, high, xtol=1e-15)
            if after(root)[1] > 0.0:
                return np.cos(root) * t1 + np.sin(root) * t2
    raise RuntimeError("no sliding direction after impact")


def place(
    body: Body, hand_shape: Level, hand: Hand, x_hand: Array, R: Array, w: Array, x_object: Array | None = None
) -> State:
    """State with contact at hand point `x_hand` (hand frame, on its surface), orientation R, angular velocity w, no
    slip.

    `x_object` (shape frame) is the seed of the object's point for shapes where several fit.
    """
    n = hand.R @ hand_shape.normal(np.asarray(x_hand, float))
    d = -R.T @ n
    x_o = body.shape.point(d) if isinstance(body.shape, Support) else point_with_normal(body.shape, d, x_object)
    point = hand.r + hand.R @ x_hand
    p = point - R @ (x_o - body.center_of_mass)
    v = hand.v + cross(hand.w, point - hand.r) - cross(w, point - p)
    return State(R, p, np.asarray(w, float), v)


def energy(body: Body, state: State, gravity: Array = EARTH) -> float:
    """Kinetic plus potential energy of the object (J)."""
    J = state.R @ body.inertia @ state.R.T
    return float(0.5 * body.mass * state.v @ state.v + 0.5 * state.w @ J @ state.w - body.mass * gravity @ state.p)


def solid_ellipsoid_inertia(mass: float, semi_axes: list[float]) -> Array:
    """Inertia of a homogeneous ellipsoid about its centre, (3, 3)."""
    a, b, c = np.square(semi_axes)
    return mass / 5 * np.diag([b + c, a + c, a + b])
