"""Runs that broke a law of physics and said ``success``: models, and what they recorded (`data`), made at 0260cf7c.

The engine has been mended since: what it did then is kept as arrays, and the audit has to condemn them for good.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

import trundle as tr
from trundle.audit import BodyFrames, Claims, Evidence, Jumps, Samples, anatomy_of
from trundle.models.tree.system import ContactSystem, Start

DATA = Path(__file__).parent / "data"
FLYING = {"on_slip": "slide", "on_separation": "fly"}


class Case(NamedTuple):
    """A model, its start, how long (s) it ran and how often (s) it was recorded."""

    model: tr.RollingPair | tr.RollingTree
    start: Start
    duration: float
    step: float


def _balls(count: int, radius: float, friction: float | None, between: float | None, e: float = 0.0) -> tr.Robot:
    gravity = (0, 0, -9.81) if friction is not None else (0, 0, 0)
    robot = tr.Robot(gravity=gravity, **FLYING)
    for i in range(count):
        robot.free(1.0, shape=tr.Sphere(radius), name=f"b{i}")
    if friction is not None:
        robot.terrain(tr.Plane(), friction=friction, restitution=e)
    if between is not None:
        for i in range(count):
            for j in range(i):
                robot.contact(f"b{j}", f"b{i}", friction=between, restitution=0.0 if friction is not None else 1.0)
    return robot


def gentle_touch() -> Case:
    """Two balls slide side by side without friction and touch at 5 mm/s: both began to roll."""
    tree = _balls(2, 0.05, 0.0, 0.0).finish()
    rates = {"b0": (0, 0, 0, 0.005, 1.0, 0), "b1": (0, 0, 0, 0, 1.0, 0)}
    start = tree.place(
        b0=(0, 0, 0.05, 1, 0, 0, 0),
        b1=(0.10000001, 0, 0.05, 1, 0, 0, 0),
        rates=rates,
        contacts=["b0", "b1"],
        slips={"b0": (0.005, 1.0, 0), "b1": (0, 1.0, 0)},
    )
    return Case(tree, start, 1e-4, 1e-5)


def landing_stops_dead() -> Case:
    """A stool on four feet comes down on a floor without friction at 1 m/s: it stopped dead."""
    robot = tr.Robot(gravity=(0, 0, -9.81), **FLYING)
    foot = tr.Sphere(0.05)
    body = robot.free(1.0, (0.01, 0.01, 0.01), shape=foot, shape_at=(0.3, 0, 0), name="c0")
    for i, at in enumerate(((0, 0.3, 0), (-0.3, 0, 0), (0, -0.3, 0)), 1):
        robot.attach(body, foot, at=at, name=f"c{i}")
    robot.terrain(tr.Plane(), friction=0.0)
    tree = robot.finish()
    start = tree.place(c0=(0, 0, 0.05 + 1e-4, 1, 0, 0, 0), rates={"c0": (0, 0, 0, 1, 0, 0)}, contacts=[])
    return Case(tree, start, 0.006, 5e-4)


def _two_feet(friction: float, e: float = 0.0) -> tr.RollingTree:
    robot = tr.Robot(gravity=9.81, **FLYING)
    body = robot.free(1.0, 0.1, shape=tr.Circle(0.05), shape_at=(-0.2, 0), name="a")
    robot.attach(body, tr.Circle(0.05), at=(0.2, 0), name="b")
    robot.terrain(tr.Line(), friction=friction, restitution=e)
    return robot.finish()


def landing_2d() -> Case:
    """The same in the plane, on two feet."""
    tree = _two_feet(0.0)
    return Case(tree, tree.place(a=(0, 0.05 + 1e-4, 0), rates={"a": (0, 1, 0)}, contacts=[]), 0.05, 2e-3)


def sinks_2d() -> Case:
    """A plank on two round feet, restitution .5: a foot fell through the floor and was lifted out again."""
    tree = _two_feet(0.8, 0.5)
    tilt = 0.2
    start = tree.place(a=(0, 0.15 + 0.2 * np.sin(tilt), tilt), contacts=[])
    return Case(tree, start, 2.0, 2e-2)


def box_drop() -> Case:
    """A box falls on a floor with little friction while it drifts: it stood still."""
    box = tr.RigidBody(tr.Box([0.1, 0.06, 0.04]), 1.0, "solid")
    pair = tr.RollingPair(box, tr.Hand(tr.Plane()), friction=0.05, **FLYING)
    q = [np.cos(0.15), np.sin(0.15), 0, 0]
    start = pair.place(object_position=[0, 0, 0.2], object_quaternion=q, object_velocity=[1, 0.5, 0])
    return Case(pair, start, 0.5, 1e-2)


def _dumbbell(friction: float, e: float, mass: float = 2.0) -> tr.RollingTree:
    a = 0.1
    robot = tr.Robot(gravity=(0, 0, -9.81), **FLYING)
    inertia = mass / 2 * a * a * np.array([14 / 5, 14 / 5, 4 / 5])
    body = robot.free(mass, inertia, shape=tr.Sphere(a), shape_at=(0, 0, -a), name="low")
    robot.attach(body, tr.Sphere(a), at=(0, 0, a), name="high")
    robot.terrain(tr.Plane(), friction=friction, restitution=e)
    return robot.finish()


def impact_kills_spin() -> Case:
    """Two welded balls put down from 1 um while they spin at 30 rad/s: the second touch stopped the spin at once."""
    tree = _dumbbell(0.2, 0.0)
    rates = {"low": (0, 0, 30.0, 0, 0, 0)}
    start = tree.place(low=(0, 0, 0.1 + 1e-6, np.sqrt(0.5), 0, np.sqrt(0.5), 0), rates=rates, contacts=[])
    return Case(tree, start, 2e-3, 1e-4)


def sinks_through_floor() -> Case:
    """A dumbbell falls from .35 m: one of its balls sank 20 cm deep."""
    tree, q = _dumbbell(0.8, 0.0), np.array([-0.007677, -0.429029, -0.628958, -0.648296])
    rates = {"low": (-1.849807, 18.220004, 2.220323, 0.025517, -0.578415, -0.68244)}
    return Case(tree, tree.place(low=(0, 0, 0.35, *q / np.linalg.norm(q)), rates=rates, contacts=[]), 1.5, 1.5e-2)


def depends_on_duration() -> Case:
    """The same fall with another spin: whether it lay still or swung through the floor depended on the duration."""
    tree, q = _dumbbell(0.1, 0.0), np.array([0.456684, 0.603163, -0.476304, -0.448072])
    rates = {"low": (-9.138232, 10.375323, -2.76538, -0.884256, -0.481927, -1.553168)}
    return Case(tree, tree.place(low=(0, 0, 0.35, *q / np.linalg.norm(q)), rates=rates, contacts=[]), 1.5, 1.5e-2)


def two_balls_bounce() -> Case:
    """Two balls that have nothing to do with each other bounce: one sank while the other did."""
    tree = _balls(2, 0.05, 0.3, None, 0.5).finish()
    start = tree.place(b0=(0, 0, 0.15, 1, 0, 0, 0), b1=(0.3, 0, 0.18, 1, 0, 0, 0), contacts=[])
    return Case(tree, start, 0.7, 1e-2)


def tunnel() -> Case:
    """Two balls fly straight at each other: they passed through each other."""
    tree = _balls(2, 1e-4, None, 0.0).finish()
    start = tree.place(
        b0=(-0.2, 0, 0, 1, 0, 0, 0), b1=(0, 0, 0, 1, 0, 0, 0), rates={"b0": (0, 0, 0, 1, 0, 0)}, contacts=[]
    )
    return Case(tree, start, 0.4, 8e-3 + 1e-5)


def missed_by_duration() -> Case:
    """The same with larger balls: whether they met depended on the duration of the run."""
    tree = _balls(2, 1e-3, None, 0.0).finish()
    pose = {"b0": (-0.2, 0, 0, 1, 0, 0, 0), "b1": (0, 0, 0, 1, 0, 0, 0)}
    return Case(tree, tree.place(**pose, rates={"b0": (0, 0, 0, 1.0, 0, 0)}, contacts=[]), 1.0, 1e-2)


def falls_through_ground() -> Case:
    """A coin falls flat onto a wave: it fell through."""
    ground = tr.Hand(tr.Extrusion(tr.Sinusoid(0.02, 1.0)))
    pair = tr.RollingPair(tr.RigidBody(tr.Disc(0.06), mass=1.0), ground, **FLYING)
    return Case(pair, pair.place(object_position=(0.25, 0, 0.3), object_velocity=(0, 0, 0)), 0.35, 1e-2)


def contact_order() -> Case:
    """A ball falls onto a wide flat ellipsoid, named second in the contact: it fell through."""
    robot = tr.Robot(gravity=(0, 0, 0), **FLYING)
    robot.free(1e4, (1e4, 1e4, 1e4), shape=tr.Ellipsoid([3.0, 3.0, 0.25]), name="base")
    robot.free(1.0, shape=tr.Sphere(0.5), name="ball")
    robot.contact("base", "ball", friction=0.8)
    tree = robot.finish()
    pose = {"base": (0, 0, 0, 1, 0, 0, 0), "ball": (0.01, 0, 0.76, 1, 0, 0, 0)}
    return Case(tree, tree.place(**pose, rates={"ball": (0, 0, 0, 0, 0, -1.0)}, contacts=[]), 0.3, 1e-2)


def extent_rest_plane() -> Case:
    """A box put down with its centre of mass beyond the edge of a plate: it came to rest there."""
    box = tr.RigidBody(tr.Box([0.06, 0.06]), mass=1.0)
    pair = tr.RollingPair(box, tr.Hand(tr.Line(), extent=0.4), friction=0.7, **FLYING)
    return Case(pair, pair.place(object_position=(0.21, 0.1), object_velocity=(0, 0)), 0.6, 2e-2)


FAULTS: dict[str, tuple[Callable[[], Case], str]] = {
    "gentle_touch": (gentle_touch, "cone of impulses"),
    "landing_stops_dead": (landing_stops_dead, "cone of impulses"),
    "landing_2d": (landing_2d, "cone of impulses"),
    "sinks_2d": (sinks_2d, "gap"),
    "box_drop": (box_drop, "cone of impulses"),
    "impact_kills_spin": (impact_kills_spin, "cone of impulses"),
    "sinks_through_floor": (sinks_through_floor, "gap"),
    "depends_on_duration": (depends_on_duration, "gap"),
    "two_balls_bounce": (two_balls_bounce, "gap"),
    "tunnel": (tunnel, "gap between samples"),
    "missed_by_duration": (missed_by_duration, "gap between samples"),
    "falls_through_ground": (falls_through_ground, "gap"),
    "contact_order": (contact_order, "gap"),
    "extent_rest_plane": (extent_rest_plane, "extent"),
}
"""Name -> (model and start, the law that has to be found broken, among others)."""


def save(name: str, system: ContactSystem, evidence: Evidence) -> None:
    """Write what a run said of itself."""
    names = np.array([contact.name for contact in anatomy_of(system).contacts])
    arrays = {"contacts": names, "bodies": np.array(anatomy_of(system).names)}
    for side, one in (("samples", evidence.samples), ("jumps", evidence.jumps)):
        arrays |= _flat(side, one)
    flags = [evidence.accuracy, evidence.stabilized, evidence.slips_ignored, evidence.separations_ignored]
    np.savez_compressed(DATA / f"{name}.npz", declared=np.array(flags, dtype=float), **arrays)


def _flat(key: str, one: object) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    for field in fields(one):  # pyright: ignore[reportArgumentType]
        value = getattr(one, field.name)
        found |= (
            {f"{key}.{field.name}": value} if isinstance(value, np.ndarray) else _flat(f"{key}.{field.name}", value)
        )
    return found


def load(name: str, system: ContactSystem) -> Evidence:
    """Read it for a system whose contacts may be numbered in another way by now."""
    with np.load(DATA / f"{name}.npz") as file:
        known = dict(file)
    anatomy = anatomy_of(system)
    assert tuple(known["bodies"]) == anatomy.names
    old = known["contacts"].tolist()
    order = [old.index(contact.name) if contact.name in old else -1 for contact in anatomy.contacts]

    def of_contacts(values: np.ndarray) -> np.ndarray:
        wider = np.concatenate([values, np.zeros_like(values[:, :1])], axis=1)
        return wider[:, order]

    def frames(key: str) -> BodyFrames:
        return BodyFrames(*(known[f"{key}.{field.name}"] for field in fields(BodyFrames)))

    claims = Claims(**{f.name: of_contacts(known[f"samples.claims.{f.name}"]) for f in fields(Claims)})
    plain = ("time", "stretch", "run", "inputs", "joints", "rates")
    samples = Samples(
        **{key: known[f"samples.{key}"] for key in plain},
        **{key: of_contacts(known[f"samples.{key}"]) for key in ("point", "normal", "force", "moment", "gap")},
        frames=frames("samples.frames"),
        claims=claims,
    )
    rest = {f.name: known[f"jumps.{f.name}"] for f in fields(Jumps) if f"jumps.{f.name}" in known}
    jumps = Jumps(before=frames("jumps.before"), after=frames("jumps.after"), **rest)
    jumps = replace(jumps, contact=np.array([order.index(i) for i in jumps.contact], dtype=np.intp))
    accuracy, *flags = known["declared"]
    return Evidence(samples, jumps, float(accuracy), *map(bool, flags), beginning=0.0)
