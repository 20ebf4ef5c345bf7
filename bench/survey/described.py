"""A scene in the judge's words, and the arrays of its run."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from bench.survey.spec import BodySpec, Part, Spec
from tests.oracles.laws import Contact, Event, Gear, Joint, Link, Motion, Pair, Pin, Scene, Shape, Soft
from trundle.simulate.stepping import STEPPING

Array = NDArray[np.float64]


def scene_of(spec: Spec) -> Scene:
    """Return the judge's scene."""
    links, shapes, joints = [], [], []
    more = spec.lever, spec.touch.drilling, spec.touch.adhesion
    center = {body.name: np.array(body.center) for body in spec.bodies}
    for body in spec.bodies:
        inertia = np.diag(body.inertia) if spec.d == 3 else np.array([[body.inertia[0]]])
        links.append(Link(body.name, body.mass, inertia))
        for part in body.parts:
            at = np.array(part.at) - np.array(body.center)
            mu = spec.friction if part.friction is None else part.friction
            shapes.append(Shape(part.name, body.name, part.shape.body(), at, turn_of(spec.d, part.rpy), mu, *more))
        if body.joint != "free":
            ends = (-np.inf if body.low is None else body.low, np.inf if body.high is None else body.high)
            parent = next((b for b in spec.bodies if b.name == body.parent), None)
            at = np.array(body.at) - (0.0 if parent is None else np.array(parent.center))
            axis = np.array(body.axis) if body.axis else None
            joints.append(
                Joint(body.name, body.parent, body.input, *ends, own=-np.array(body.center), at=at, axis=axis,
                      slides=body.joint == "prismatic", stiffness=body.stiffness, rest=body.rest)
            )  # fmt: skip
    pairs = []
    for pair in spec.pairs:
        mu = spec.friction if pair.friction is None else pair.friction
        pairs.append(Pair(pair.A, pair.B, mu, *more))
    coasts = spec.hand is None or not any(spec.hand.amplitude)
    ground = None if spec.ground is None else spec.ground.ground()
    pins = [
        Pin(p.A, p.B, np.array(p.at_A) - center[p.A], np.array(p.at_B) - (0.0 if p.B is None else center[p.B]))
        for p in spec.pins
    ]
    soft = Soft(spec.touch.stiffness, spec.touch.dissipation) if spec.touch.soft else None
    driven = any(body.drive for body in spec.bodies)
    jointed = [body.name for body in spec.bodies if body.joint != "free"]
    gears = [Gear(jointed.index(g.follower), jointed.index(g.leader), g.ratio) for g in spec.gears]
    return Scene(
        spec.d,
        np.array(spec.gravity),
        links,
        shapes,
        pairs,
        joints,
        ground,
        coasts,
        pins=pins,
        soft=soft,
        driven=driven,
        gears=gears,
    )


def turn_of(d: int, rpy: tuple[float, ...]) -> Array:
    """Return R of roll, pitch, yaw, in the plane of one angle."""
    if d == 2:
        return plane_turn(np.array(rpy[0] if rpy else 0.0))
    return np.asarray(Rotation.from_euler("xyz", rpy or (0.0, 0.0, 0.0)).as_matrix())


def plane_turn(angle: Array) -> Array:
    """Return rotations (..., 2, 2) counter-clockwise."""
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([np.stack([c, -s], axis=-1), np.stack([s, c], axis=-1)], axis=-2)


def pose_of(spec: Spec, body: BodySpec) -> tuple[Array, Array]:
    """Return rotation and centre of mass of a free body at the start."""
    turned = body.position[spec.d :]
    R = plane_turn(np.array(turned[0])) if spec.d == 2 else quaternion_turn(np.array(turned))
    origin = np.array(body.position[: spec.d])
    return R, origin + (R @ np.array(body.center) if spec.hand is None else 0.0)


def quaternion_turn(q: Array) -> Array:
    """Return rotations (..., 3, 3) of quaternions (..., 4), w first."""
    flat = np.asarray(Rotation.from_quat(q.reshape(-1, 4), scalar_first=True).as_matrix())
    return flat.reshape(*q.shape[:-1], 3, 3)


def motion_of(spec: Spec, run: Any) -> Motion:
    """Return what the judge reads of a run."""
    return _pair_motion(spec, run) if spec.hand is not None else _tree_motion(spec, run)


def _tree_motion(spec: Spec, run: Any) -> Motion:
    names = [str(name) for name in run.dataset["body"].values]
    order = [names.index(body.name) for body in spec.bodies]
    if spec.d == 2:
        R = plane_turn(run["body_angle"][:, order])
        omega = run["body_angular_velocity"][:, order, None]
    else:
        R, omega = quaternion_turn(run["body_quaternion"][:, order]), run["body_angular_velocity"][:, order]
    joints = [str(name) for name in run.dataset["joint"].values]
    held = [joints.index(body.name) for body in spec.bodies if body.joint != "free"]
    contacts = []
    labels = [str(name) for name in run.dataset["contact"].values] if "contact" in run.dataset.sizes else []
    for i, label in enumerate(labels):
        sides = _sides(spec, label)
        if sides is not None:
            arrays = [run[f"contact_{what}"][:, i] for what in ("position", "normal", "force")]
            about = run["contact_moment"][:, i] if spec.d == 3 else None
            contacts.append(Contact(label, *sides, *arrays, gap=run["gap"][:, i], moment=about))
    return Motion(
        run.time,
        run["body_position"][:, order],
        R,
        run["body_velocity"][:, order],
        omega,
        contacts,
        events=events_of(run),
        q=run["joint_position"][:, held] if held else None,
        breaks=[float(t["time"]) for t in run.transitions],
        steps=steps_of(run),
        complete=len(contacts) == len(labels)
        and not any(b.low is not None for b in spec.bodies)
        and not spec.touch.soft,
    )


def steps_of(run: Any) -> list[tuple[float, float]]:
    """Return from when to when a run went in time steps."""
    found, begin = [], None
    for t in run.transitions:
        if t["to"] == STEPPING:
            begin = float(t["time"])
        elif t["from"] == STEPPING and begin is not None and t["to"] != STEPPING:
            found.append((begin, float(t["time"])))
            begin = None
    return found if begin is None else [*found, (begin, float(run.time[-1]))]


def events_of(run: Any, planar: bool = False) -> list[Event]:
    """Return what the record says of impacts, nothing if it does not; `planar`: that in the plane y = 0 alone."""
    if "event_time" not in run.dataset:
        return []
    columns = [run.dataset[f"event_{what}"].values for what in ("time", "contact", "impulse")]
    around = [run.dataset[f"event_velocity_{when}"].values for when in ("before", "after")]
    rows = zip(*columns, *around, strict=True)
    seen = [0, 2] if run.dataset["event_impulse"].shape[1] == 3 and planar else slice(None)
    return [Event(float(t), str(name), *(np.array(a)[seen] for a in vectors)) for t, name, *vectors in rows]


def _sides(spec: Spec, label: str) -> tuple[str, str | None] | None:
    """Return the shapes of a contact by its name: a shape's, or two shapes', with a number of a piece."""
    for name in (label, re.sub(r"(-\d+|-second)$", "", label)):
        if name in spec.parts:
            return name, None
        for pair in spec.pairs:
            if name == f"{pair.A}-{pair.B}":
                return pair.A, pair.B
    return None


def _pair_motion(spec: Spec, run: Any) -> Motion:
    n = len(run.time)

    def flat(name: str) -> Array:
        values = run[name]
        return values[..., [0, 2]] if spec.d == 2 else values

    def turns(name: str) -> Array:
        R = quaternion_turn(run[name])
        return R[:, [0, 2]][:, :, [0, 2]] if spec.d == 2 else R

    def rates(name: str) -> Array:
        return -run[name][:, 1:2] if spec.d == 2 else run[name]

    part: Part = spec.bodies[0].parts[0]
    modes = np.array([str(mode).count(" + ") for mode in run["mode"]])
    shared = bool(np.any(modes > 0))
    contact = Contact(
        "contact", part.name, None, flat("contact_position"), flat("contact_normal"), flat("contact_force"),
        gap=run["gap"], shared=shared,
    )  # fmt: skip
    return Motion(
        run.time,
        flat("object_position").reshape(n, 1, -1),
        turns("object_quaternion")[:, None],
        flat("object_velocity").reshape(n, 1, -1),
        rates("object_angular_velocity")[:, None],
        [contact],
        events=events_of(run, planar=spec.d == 2),
        ground_R=turns("hand_quaternion"),
        ground_p=flat("hand_position"),
        ground_v=flat("hand_velocity"),
        ground_omega=rates("hand_angular_velocity"),
        breaks=[float(t["time"]) for t in run.transitions],
        steps=steps_of(run),
        complete=True,
    )
