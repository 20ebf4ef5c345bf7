"""Outputs: what the recorder keeps of a phase, from poses and the velocities those poses really have."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import casadi as ca

from trundle.contact.motion import Motion
from trundle.models.tree.multibody import Dynamics, Terms
from trundle.models.tree.tree import TreeModel
from trundle.numerics.space import dot, lever


def output_expressions(
    model: TreeModel,
    motion: Dynamics | Terms,
    forces: Sequence[ca.SX],
    moments: Sequence[ca.SX],
    unseen: Collection[int] = (),
) -> dict[str, ca.SX]:
    """Return what the recorder keeps, in world axes: body poses and twists, contact points, forces, gap, slip, energy.

    Names are ``<body>.position`` (frame origin), ``<body>.rotation``, ``<body>.angular_velocity``,
    ``<body>.velocity``, ``<contact>.point`` (on B), ``.on_A``, ``.on_B`` (body frames),
    ``.normal``, ``.force``, ``.moment``, ``.gap``, ``.slip``, ``energy``, ``input``. The velocities of a body
    in minimal coordinates, which cannot slip by construction, are those of its pose along the motion. The contacts
    `unseen` are left out.
    """
    W = model.to_world
    terms = motion.terms if isinstance(motion, Dynamics) else motion
    xdot = motion.xdot if isinstance(motion, Dynamics) else None
    motions = {name: _differentiate_pose(model, xdot, name, one) for name, one in model.motions.items()}
    seen = {id(model.motions[name]): motion for name, motion in motions.items()}
    out = body_expressions(model, motions)
    of_contacts = zip(model.constraints, forces, moments, strict=True)
    for i, (joined, force, moment) in enumerate(of_contacts):
        if i in unseen:
            continue
        k = terms.kin[i]
        tA, tB = joined.contact.touch(joined.A, joined.B, joined.s)
        A, B, c = seen.get(id(joined.A), joined.A), seen.get(id(joined.B), joined.B), joined.name
        vrel = (A.v + lever(tA.r) @ A.w) - (B.v + lever(tB.r) @ B.w)
        out[f"{c}.point"] = W @ (joined.B.p + tB.r)
        out[f"{c}.on_A"], out[f"{c}.on_B"] = joined.A.R.T @ tA.r, joined.B.R.T @ tB.r
        out[f"{c}.normal"], out[f"{c}.force"], out[f"{c}.moment"] = W @ k.n, W @ force, moment
        out[f"{c}.gap"], out[f"{c}.slip"] = ca.dot(k.n, k.gap), W @ vrel
    stored = [part for part in (model.potential, terms.stored) if part is not None]
    out["energy"] = sum(stored, _energy(model, seen))
    return out


def body_expressions(model: TreeModel, motions: Mapping[str, Motion] | None = None) -> dict[str, ca.SX]:
    """Return poses and twists of all bodies in world axes, the input, and the energy but for what contacts store."""
    W, out = model.to_world, {}
    for name, one in (model.motions if motions is None else motions).items():
        out[f"{name}.position"], out[f"{name}.velocity"] = W @ one.p, W @ one.v
        out[f"{name}.angular_velocity"] = one.w if model.d == 2 else W @ one.w
        out[f"{name}.rotation"] = ca.vec(W @ one.R)
    if motions is None:
        out["energy"] = _energy(model, {}) + (0.0 if model.potential is None else model.potential)
    out["input"] = model.u
    return out


def _differentiate_pose(model: TreeModel, xdot: ca.SX | None, name: str, motion: Motion) -> Motion:
    """Return the motion with the velocities of the pose: p' and the axial vector of R'R', along x'."""
    if xdot is None or f"{name}.relative_velocity" not in model.layout:
        return motion
    v = ca.jtimes(motion.p, model.x, xdot)
    turning = ca.reshape(ca.jtimes(ca.vec(motion.R), model.x, xdot), model.d, model.d) @ motion.R.T
    w = turning[1, 0] if model.d == 2 else ca.vertcat(turning[2, 1], turning[0, 2], turning[1, 0])
    return replace(motion, v=v, w=w)


def _energy(model: TreeModel, seen: dict[int, Motion]) -> ca.SX:
    """Return sum m v.v/2 + w.(R I R' w)/2 - m g.p, J, of all bodies with inertia."""
    total = ca.SX(1, 1)
    for body in model.bodies:
        motion = seen.get(id(body.motion), body.motion)
        r = motion.R @ ca.SX(ca.vertcat(*body.com)) if any(body.com) else ca.SX(model.d, 1)
        v = motion.v + lever(r) @ motion.w
        w_body = motion.w if model.d == 2 else motion.R.T @ motion.w
        inertia = body.inertia * ca.SX.eye(model.k) if isinstance(body.inertia, float) else ca.SX(body.inertia)
        total += body.mass * (dot(v, v) / 2 - dot(model.gravity, motion.p + r)) + dot(w_body, inertia @ w_body) / 2
    return total
