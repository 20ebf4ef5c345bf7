"""CasADi functions of a robot with rolling feet in Pinocchio's coordinates, from trundle's own tree of the robot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca

from trundle.contact.laws import SEPARATED, law_named
from trundle.interop.description import floats
from trundle.interop.touch import moving_kinematics
from trundle.models.rolling_tree import RollingTree
from trundle.models.tree.model import TreeModel
from trundle.numerics.space import dot

if TYPE_CHECKING:
    import pinocchio as pin


@dataclass(frozen=True)
class RollingFunctions:
    """CasADi functions of q (nq,), v and a (nv,) in Pinocchio's conventions; derivatives are CasADi's.

    On curved ground each has one more argument, s (n_s,): the contact coordinates, which are unknowns of an
    optimisation beside q, with ``alignment(q, s) = 0``; `RollingFeet.coordinates` gives a guess. On flat ground there
    are none.

    Attributes
    ----------
    J : (q[, s]) -> (m, nv)
    bias : (q, v[, s]) -> (m,)
    gap : (q[, s]) -> (n,) m
    frame : (q[, s]) -> (3, 3 n)
        [t1 t2 n] of the ground at each contact, one beside the other.
    margins : (q, forces[, s]) -> column
        Positive while the feet roll: of each foot its law's margins, in the order of `RollingFeet.margins`.
    inverse_dynamics : (q, v, a, forces[, s]) -> (nv,)
        M a + h - J'forces: joint torques, and zeros (the base's six) where the motion is possible.
    integrate : (q, dq) -> (nq,)
        Pinocchio's: the base moves by the exponential of its body twist.
    alignment : (q, s) -> (n_s,)
        Zero where s are those of the nearest points.
    size : int
        n_s.
    """

    J: ca.Function
    bias: ca.Function
    gap: ca.Function
    frame: ca.Function
    margins: ca.Function
    inverse_dynamics: ca.Function
    integrate: ca.Function
    alignment: ca.Function
    size: int


def rolling_functions(model: pin.Model, robot: RollingTree) -> RollingFunctions:
    """Return the functions of the tree `robot` that was made of Pinocchio's `model`."""
    tree = robot.model()
    q, v, a = ca.SX.sym("q", model.nq), ca.SX.sym("v", model.nv), ca.SX.sym("a", model.nv)
    # The first contact of each foot; shapes that could touch elsewhere, too, have further ones.
    feet = tree.constraints[: len(robot.parts)]
    s = ca.SX.sym("s", sum(one.contact.size for one in feet))
    laws = [law_named(part.law or robot.law) for part in robot.parts]
    x, R = _state(model, tree, q, v, s)
    touches = [moving_kinematics(c.contact, c.A, c.B, c.s) for c in feet]
    rows = [law.rows(k, c.friction) for law, k, c in zip(laws, touches, feet, strict=True)]
    J = ca.vertcat(*(r.LA @ ca.vertcat(c.A.Jw, c.A.Jv) for r, c in zip(rows, feet, strict=True)))
    lam, nudot = ca.SX.sym("forces", J.shape[0]), ca.SX.sym("nudot", model.nv)
    margins, at = [], 0
    for law, k, r, c in zip(laws, touches, rows, feet, strict=True):
        part = lam[at : at + r.LA.shape[0]]
        margins += (law.margins(k, part, c.friction) | c.contact.limits(c.A, c.B, c.s)).values()
        at += r.LA.shape[0]
    outputs = {
        "J": J,
        "bias": ca.vertcat(*(r.b for r in rows)),
        "gap": ca.vertcat(*(dot(k.n, k.gap) for k in touches)),
        "frame": ca.horzcat(*(k.frame for k in touches)),
        "margins": ca.vertcat(*margins),
        "alignment": ca.vertcat(*(c.contact.restore(c.s + k.shift) - c.s for k, c in zip(touches, feet, strict=True))),
        "tau": tree.inverse_dynamics([*laws, *[SEPARATED] * (len(tree.constraints) - len(feet))], nudot, lam),
    }
    names = list(outputs)
    inner = ca.Function("tree", [tree.x, nudot, lam], list(outputs.values()), ["x", "nudot", "lam"], names)
    N, drift = _velocity_map(model, R, v)
    there = dict(zip(names, inner(x, N @ a + drift, lam), strict=True))
    tau = N.T @ there["tau"] + ca.DM(model.armature) * a
    extra = [s] if s.shape[0] else []

    def make_function(name: str, arguments: Sequence[ca.SX], value: ca.SX) -> ca.Function:
        arguments = [*arguments, *extra]
        return ca.Function(name, arguments, [value], [one[0].name().split("_")[0] for one in arguments], [name])

    return RollingFunctions(
        make_function("J", [q], there["J"] @ N),
        make_function("bias", [q, v], there["bias"] + there["J"] @ drift),
        make_function("gap", [q], there["gap"]),
        make_function("frame", [q], there["frame"]),
        make_function("margins", [q, lam], there["margins"]),
        make_function("inverse_dynamics", [q, v, a, lam], tau),
        ca.Function("integrate", [q, v], [_integrate_configuration(model, q, v)], ["q", "dq"], ["moved"]),
        ca.Function("alignment", [q, s], [there["alignment"]], ["q", "s"], ["alignment"]),
        s.shape[0],
    )


def _rotation(xyzw: ca.SX) -> ca.SX:
    x, w = xyzw[:3], xyzw[3]
    return (w * w - dot(x, x)) * ca.SX.eye(3) + 2 * (x @ x.T) + 2 * w * ca.skew(x)


def _state(model: pin.Model, tree: TreeModel, q: ca.SX, v: ca.SX, s: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return the tree's x, and R (3, 3) of the base (the identity where it is fixed)."""
    free = floats(model)
    R = _rotation(q[3:7]) if free else ca.SX.eye(3)
    angles = [_angle(model, i, q) for i in range(1 + free, model.njoints)]
    base = [q[:3], q[6], q[3:6]] if free else []
    moving = [R @ v[3:6], R @ v[:3]] if free else []
    further = sum(one.contact.size for one in tree.constraints) - s.shape[0]
    return ca.vertcat(*base, *angles, s, ca.SX(further, 1), *moving, v[6 if free else 0 :]), R


def _angle(model: pin.Model, i: int, q: ca.SX) -> ca.SX:
    """Return the angle or travel of joint `i`; continuous ones are (cos, sin)."""
    joint = model.joints[i]
    return ca.atan2(q[joint.idx_q + 1], q[joint.idx_q]) if joint.nq == 2 else q[joint.idx_q]


def _velocity_map(model: pin.Model, R: ca.SX, v: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return N (nv, nv) and dN/dt v (nv,) of nu = N v: from the body twist, linear first, to world (w, v)."""
    if not floats(model):
        return ca.SX.eye(model.nv), ca.SX(model.nv, 1)
    N, drift = ca.SX(model.nv, model.nv), ca.SX(model.nv, 1)
    N[6:, 6:] = ca.SX.eye(model.nv - 6)
    N[:3, 3:6] = N[3:6, :3] = R
    drift[3:6] = R @ ca.cross(v[3:6], v[:3])
    return N, drift


def _integrate_configuration(model: pin.Model, q: ca.SX, step: ca.SX) -> ca.SX:
    """Return Pinocchio's ``integrate(q, step)``."""
    parts, free = [], floats(model)
    if free:
        parts += _moved_base(q[:7], step[:6])
    for i in range(1 + free, model.njoints):
        joint, change = model.joints[i], step[model.joints[i].idx_v]
        if joint.nq == 2:
            c, sine = q[joint.idx_q], q[joint.idx_q + 1]
            parts += [c * ca.cos(change) - sine * ca.sin(change), sine * ca.cos(change) + c * ca.sin(change)]
        else:
            parts.append(q[joint.idx_q] + change)
    return ca.vertcat(*parts)


def _moved_base(q: ca.SX, step: ca.SX) -> list[ca.SX]:
    """Return position and quaternion (x, y, z, w) moved by the exponential of a body twist (linear, angular)."""
    t = step[3:6]
    square = ca.sumsqr(t)
    small = square < 1e-8
    angle = ca.sqrt(ca.if_else(small, 1.0, square))
    # Series to the fourth power of the angle where it is small.
    half = ca.if_else(small, 0.5 - square / 48, ca.sin(angle / 2) / angle)
    first = ca.if_else(small, 0.5 - square / 24, (1 - ca.cos(angle)) / angle**2)
    second = ca.if_else(small, 1 / 6 - square / 120, (angle - ca.sin(angle)) / angle**3)
    cosine = ca.if_else(small, 1 - square / 8, ca.cos(angle / 2))
    moved = step[:3] + first * ca.cross(t, step[:3]) + second * ca.cross(t, ca.cross(t, step[:3]))
    turn, (x, w) = half * t, (q[3:6], q[6])
    return [q[:3] + _rotation(q[3:7]) @ moved, w * turn + cosine * x + ca.cross(x, turn), w * cosine - dot(x, turn)]
