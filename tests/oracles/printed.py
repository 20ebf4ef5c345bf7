"""Formulas printed wrong in the papers beside the right ones, to be evaluated (sheet 2 sections 3, 4, 6, 7; sheet 1
section 2).

`printed=True` gives the paper's own text. Contact-frame quantities come from charts given as numbers (`ChartPoint`),
the paper's
dynamics (eqs 6-9 with K4 of eq 47) from poses and twists, with any contact frame whose z axis is the hand's outward
normal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from .implicit import Level, skew
from .spatial import EARTH, Body, Hand, State, contact_speeds, find_contact

Array = np.ndarray
E1 = np.array([[0.0, -1.0], [1.0, 0.0]])


# Paper 1 ------------------------------------------------------------------------------------------------------------


def multiplier(B: Array, n: Array, printed: bool = False) -> float:
    """Paper 1 (2.9), B = A^-1: printed lambda = 2 sqrt(n' B n); right 2 / sqrt(n' B n)."""
    s = float(np.sqrt(n @ B @ n))
    return 2.0 * s if printed else 2.0 / s


def contact_point(B: Array, n: Array) -> Array:
    """Paper 1 (2.10), right as printed: C -> P = -B n / sqrt(n' B n), all in one set of axes."""
    return -B @ n / np.sqrt(n @ B @ n)


def contact_rate(B: Array, n: Array, w: Array, printed: bool = False) -> Array:
    """Paper 1 (2.12), rate of C -> P in world axes for a fixed plane: printed denominator sqrt(n' B n), right n' B
    n."""
    x = contact_point(B, n)
    rate = skew(w) @ B - B @ skew(w)
    top = (n @ x) * rate @ n - 0.5 * (n @ rate @ n) * x
    return top / (np.sqrt(n @ B @ n) if printed else n @ B @ n)


def contact_bias(B: Array, n: Array, w: Array, form: str = "right") -> Array:
    """Paper 1 (2.5): w x (rate of C -> P), what J qdd lacks in d/dt v(P) for bodies whose C and axes do not
    accelerate.

    `form` "right"; "root": rate by (2.12) as printed; "material": rate w x r of a point that keeps to the body, for
    which (2.2) "v(P) = d OP/dt" holds; "local": rate by (2.11) with the constant B of the body's axes.
    """
    rates = {
        "right": contact_rate(B, n, w),
        "root": contact_rate(B, n, w, printed=True),
        "material": np.cross(w, contact_point(B, n)),
        "local": np.zeros(3),
    }
    return np.cross(w, rates[form])


def mixed_contact_point(B_body: Array, n: Array) -> Array:
    """Paper 1 (2.10) with the `n_2` of (2.11), which is in world axes, beside a B in the body's axes."""
    return contact_point(B_body, n)


def stacked_velocity(r: Array, w: Array, v: Array, printed: bool = False) -> Array:
    """Paper 1 (3.1), velocity of the material point at `r` from C: the matrix [-[r]x, 1] of a twist (w, v), printed
    for the twist (v, w) of (2.2)."""
    twist = np.concatenate([v, w] if printed else [w, v])
    return np.hstack([-skew(r), np.eye(3)]) @ twist


# Paper 2, contact frames --------------------------------------------------------------------------------------------

Chart = Callable[[float, float], tuple[Array, Array, Array, Array, Array, Array]]


@dataclass(frozen=True)
class ChartPoint:
    """Geometry of a chart at a point (sheet 2 section 1): point, R = [e1 e2 n], A, L, H (2, 2), tau (2,)."""

    x: Array
    R: Array
    A: Array
    L: Array
    H: Array
    tau: Array


def chart_point(chart: Chart, u: Array) -> ChartPoint:
    """Geometry from F and its first and second derivatives: `chart(u, v)` -> (F, F_u, F_v, F_uu, F_uv, F_vv)."""
    x, fu, fv, fuu, fuv, fvv = chart(float(u[0]), float(u[1]))
    e1, n = fu / np.linalg.norm(fu), np.cross(fu, fv) / np.linalg.norm(np.cross(fu, fv))
    e2 = np.cross(n, e1)
    A = np.array([[np.linalg.norm(fu), e1 @ fv], [0.0, e2 @ fv]])
    L = np.array([[n @ fuu, n @ fuv], [n @ fuv, n @ fvv]])
    H = np.linalg.solve(A.T, L) @ np.linalg.inv(A)
    return ChartPoint(x, np.column_stack([e1, e2, n]), A, L, H, np.array([e2 @ fuu, e2 @ fuv]) / np.linalg.norm(fu))


def ellipsoid_chart(semi_axes: list[float], side: float = 1.0) -> Chart:
    """(a cos u cos v, b sin u cos v, c sin v), outward; `side` = -1 mirrors u, so that the normal points inwards
    (dish)."""
    scale = np.asarray(semi_axes, float)

    def chart(u: float, v: float) -> tuple[Array, ...]:
        cu, su, cv, sv = np.cos(u), side * np.sin(u), np.cos(v), np.sin(v)
        du, dsu = -np.sin(u), side * np.cos(u)
        rows = ((cu * cv, su * cv, sv), (du * cv, dsu * cv, 0), (-cu * sv, -su * sv, cv), (-cu * cv, -su * cv, 0),
                (-du * sv, -dsu * sv, 0), (-cu * cv, -su * cv, -sv))  # fmt: skip
        return tuple(scale * np.array(row) for row in rows)

    return chart


def plane_chart() -> Chart:
    """(u, v, 0)."""
    z = np.zeros(3)
    return lambda u, v: (np.array([u, v, 0.0]), np.array([1.0, 0, 0]), np.array([0.0, 1, 0]), z, z, z)


def finite_chart(F: Callable[[float, float], Array], h: float = 1e-4) -> Chart:
    """Chart from the point alone, fourth-order central differences (about 1e-11 first, 1e-7 second derivatives)."""

    def chart(u: float, v: float) -> tuple[Array, ...]:
        def d(f: Callable[[float], Array]) -> Array:
            return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)

        def dd(f: Callable[[float], Array]) -> Array:
            return (16 * (f(h) + f(-h)) - (f(2 * h) + f(-2 * h)) - 30 * f(0.0)) / (12 * h * h)

        mixed = d(lambda a: d(lambda b: F(u + a, v + b)))
        return (F(u, v), d(lambda a: F(u + a, v)), d(lambda b: F(u, v + b)), dd(lambda a: F(u + a, v)), mixed,
                dd(lambda b: F(u, v + b)))  # fmt: skip

    return chart


def contact_frame(o: ChartPoint, h: ChartPoint, psi: float, w_rel: Array) -> dict:
    """Contact-frame quantities of a pair of chart points, {c_h} components (sheet 2 sections 2-4).

    `R_ho`, `s`, `u_o_rate`, `u_h_rate`, `psi_rate`, `w_oco` and `w_hch` (angular velocities of the contact frames),
    `a_roll` (42),
    `a_roll_printed` (4) read with the paper's subscript rule, `alpha_z` (46), `alpha_z_printed` (45), `curvature` (2,
    2).
    """
    c, s = np.cos(psi), np.sin(psi)
    R_psi = np.array([[c, -s], [-s, -c]])
    R_chco = np.zeros((3, 3))
    R_chco[:2, :2], R_chco[2, 2] = R_psi, -1.0
    curvature = R_psi @ o.H @ R_psi + h.H
    slide = np.linalg.solve(curvature, E1 @ w_rel[:2])
    u_h, u_o = np.linalg.solve(h.A, slide), np.linalg.solve(o.A, R_psi @ slide)
    w_oco = R_chco @ np.r_[E1.T @ o.H @ o.A @ u_o, o.tau @ u_o]
    v_oco = np.r_[slide, 0.0]  # velocity of {c_o} relative to the object
    row = np.array([w_rel[1], -w_rel[0]]) @ R_psi @ E1
    return {"R_ho": h.R @ R_chco @ o.R.T, "s": slide, "u_o_rate": u_o, "u_h_rate": u_h,
            "psi_rate": float(o.tau @ u_o + h.tau @ u_h - w_rel[2]), "w_oco": w_oco,
            "w_hch": np.r_[E1.T @ h.H @ slide, h.tau @ u_h], "curvature": curvature,
            "a_roll": np.r_[-w_rel[2] * E1 @ slide, w_rel[1] * slide[0] - w_rel[0] * slide[1]],
            "a_roll_printed": -np.cross(w_rel, -v_oco),
            "alpha_z": float(-row @ np.linalg.solve(o.A.T, o.L @ u_o)),
            "alpha_z_printed": float(np.cross(w_rel, w_oco)[2])}  # fmt: skip


# Paper 2, dynamics --------------------------------------------------------------------------------------------------


def adjoint(R: Array, p: Array) -> Array:
    """Ad of a transform for twists (w, v)."""
    return np.block([[R, np.zeros((3, 3))], [skew(p) @ R, R]])


def k4(
    R_oh: Array,
    r_oh: Array,
    R_oc: Array,
    r_op: Array,
    r_hp: Array,
    V_h: Array,
    V_o: Array,
    w_rel: Array,
    printed: bool = False,
) -> Array:
    """Velocity products of eq (6): printed eq (47); right with + Ad_oh [0; w_h x v_h] - [0; w_o x v_o]."""
    zero, w_h, w_o = np.zeros(3), V_h[:3], V_o[:3]
    out = adjoint(R_oh, r_oh) @ np.r_[zero, np.cross(w_h, np.cross(w_h, r_hp))]
    out = out - adjoint(R_oc, r_op) @ np.r_[np.cross(w_rel, R_oc.T @ w_o), zero]
    out = out - np.r_[zero, np.cross(w_o, np.cross(w_o, r_op))]
    if not printed:
        out = out + adjoint(R_oh, r_oh) @ np.r_[zero, np.cross(w_h, V_h[3:])] - np.r_[zero, np.cross(w_o, V_o[3:])]
    return out


def paper_accelerations(
    body: Body, state: State, hand_shape: Level, hand: Hand, twist: Array, control: Array, law: str = "rolling",
    gravity: Array = EARTH, printed: bool = False, printed_spin: bool | None = None, seed=None,
) -> dict:  # fmt: skip
    """The paper's route, eqs (6)-(9): `alpha`, `a` (world), `force` (on the object, world), `moment`, `alpha_rel`
    (world).

    `hand` carries pose and world twist; `twist` and `control` are the body twist and the derivative of its
    components. `printed`
    takes K4 as printed, `printed_spin` (default: the same) takes (45) in place of (46) under pure rolling.
    """
    c = find_contact(body, state, hand_shape, hand, seed)
    n, w_rel = c.normal, state.w - hand.w
    e1 = np.cross(n, [1.0, 0, 0] if abs(n[0]) < 0.9 else [0, 1.0, 0])
    C = np.column_stack([e1 / np.linalg.norm(e1), np.cross(n, e1) / np.linalg.norm(e1), n])
    S_o = contact_speeds(body, state, hand_shape, hand, c)[0]
    a_roll = -np.cross(C.T @ w_rel, C.T @ S_o)
    big_o = state.R @ body.shape.normal_derivative(c.x_object) @ state.R.T
    alpha_z = -np.cross(w_rel, np.cross(-n, big_o @ S_o)) @ n
    if printed if printed_spin is None else printed_spin:
        alpha_z = -alpha_z
    R_oh, R_oc = state.R.T @ hand.R, state.R.T @ C
    r_oh, r_op = state.R.T @ (hand.r - state.p), state.R.T @ (c.point_object - state.p)
    V_o = np.r_[state.R.T @ state.w, state.R.T @ state.v]
    K4 = k4(R_oh, r_oh, R_oc, r_op, c.x_hand, twist, V_o, C.T @ w_rel, printed)
    G = np.zeros((6, 6))
    G[:3, :3], G[3:, 3:] = body.inertia, body.mass * np.eye(3)
    ad = np.block([[skew(V_o[:3]), np.zeros((3, 3))], [skew(V_o[3:]), skew(V_o[:3])]])
    weight = np.r_[np.zeros(3), body.mass * state.R.T @ gravity]
    Ad_oc = adjoint(R_oc, r_op)
    lift = adjoint(R_oc.T, -R_oc.T @ r_op).T  # wrench at the contact -> wrench at the centre of mass
    known = adjoint(R_oh, r_oh) @ control + Ad_oc @ np.r_[np.zeros(3), a_roll] + K4
    rhs = ad.T @ G @ V_o + weight - G @ known
    if law == "pure-rolling":
        rhs = rhs - G @ Ad_oc[:, 2] * alpha_z
        z = np.linalg.solve(np.column_stack([G @ Ad_oc[:, :2], -lift[:, 2:]]), rhs)
        alpha_rel, moment, force = np.r_[z[:2], alpha_z], float(z[2]), z[3:]
    else:
        z = np.linalg.solve(np.column_stack([G @ Ad_oc[:, :3], -lift[:, 3:]]), rhs)
        alpha_rel, moment, force = z[:3], 0.0, z[3:]
    rate = known + Ad_oc[:, :3] @ alpha_rel
    return {"alpha": state.R @ rate[:3], "a": state.R @ (rate[3:] + np.cross(V_o[:3], V_o[3:])), "force": C @ force,
            "moment": moment, "alpha_rel": C @ alpha_rel, "a_roll": C @ a_roll, "contact": c}  # fmt: skip


def ball_on_spinning_plate(
    radius: float,
    mass: float,
    plate_rate: float,
    w_rel: Array,
    duration: float,
    printed: bool,
    times: Array | None = None,
) -> Array:
    """The paper's relative state on its plate test: contact (n, 2) m in the world at `times`, ball from the centre,
    solid.

    Integrates (contact in the hand, w_rel in hand axes, plate angle) with alpha_rel from `paper_accelerations`.
    """
    from .implicit import Plane, sphere

    body = Body(sphere(radius), mass, 0.4 * mass * radius**2 * np.eye(3))
    twist = np.array([0.0, 0, plate_rate, 0, 0, 0])

    def rate(t: float, y: Array) -> Array:
        Q = np.array([[np.cos(y[5]), -np.sin(y[5]), 0], [np.sin(y[5]), np.cos(y[5]), 0], [0, 0, 1.0]])
        hand = Hand(Q, np.zeros(3), Q @ twist[:3])
        w, x = Q @ (y[2:5] + twist[:3]), Q @ np.r_[y[:2], 0.0]
        lever = np.array([0.0, 0.0, -radius])
        state = State(np.eye(3), x - lever, w, np.cross(hand.w, x) - np.cross(w, lever))
        seed = (lever, np.r_[y[:2], 0.0])
        out = paper_accelerations(body, state, Plane(), hand, twist, np.zeros(6), printed=printed, seed=seed)
        return np.r_[radius * np.array([y[3], -y[2]]), Q.T @ out["alpha_rel"], plate_rate]

    times = np.linspace(0.0, duration, 201) if times is None else times
    y = solve_ivp(rate, (0, duration), np.r_[0, 0, w_rel, 0], method="DOP853", rtol=1e-10, atol=1e-12, t_eval=times).y
    c, s = np.cos(y[5]), np.sin(y[5])
    return np.column_stack([c * y[0] - s * y[1], s * y[0] + c * y[1]])
