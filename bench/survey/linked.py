"""Scenes of closed loops, of joints with springs and drives, and of flat soles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bench.survey.draw import Pen, base, form, moments, rounded
from bench.survey.shapes import shape
from bench.survey.spec import BodySpec, GearSpec, Part, PinSpec, Spec
from bench.survey.trees import tree

Numbers = tuple[float, ...]


def loops(pen: Pen, count: int) -> Spec:
    """A trunk with a four-bar, two cranks and a bar that a pin closes, dropped on the floor; or the bars hung up."""
    spec, d = base(pen, "loops", 8.0), pen.d
    # A four-bar passes its dead points within a millisecond: rarer samples do not tell a turn from a jump.
    spec = replace(spec, output_step=rounded(spec.duration / 2500.0))
    hung = pen.chance(0.3)
    trunk_form = form(pen, "Box" if pen.chance(0.5) else ("Circle" if d == 2 else "Sphere"), 0.5)
    mass = rounded(float(pen.random.uniform(1.0, 5.0)) * (pen.size / 0.1) ** 3)
    trunk = BodySpec("trunk", mass, moments(pen, mass, trunk_form.body().surface), (0.0,) * d,
                     (Part("trunk", trunk_form, (0.0,) * d),))  # fmt: skip
    half = pen.length(0.4, 0.8)
    hubs = [_across(d, -half, -pen.length(0.0, 0.3)), _across(d, half, -pen.length(0.0, 0.3))]
    ends = [_across(d, pen.length(-0.3, 0.3), -pen.length(0.6, 1.2)) for _ in hubs]
    cranks = [
        _crank(pen, name, "trunk", hub, end) for name, hub, end in zip(("left", "right"), hubs, ends, strict=True)
    ]
    between = tuple(
        rounded(h1 + e1 - h0 - e0, 9) for h0, e0, h1, e1 in zip(hubs[0], ends[0], hubs[1], ends[1], strict=True)
    )
    bar = _crank(pen, "bar", "left", ends[0], between)
    pins = (PinSpec("bar", between, "right", ends[1]),)
    bodies = [trunk, *cranks, bar]
    if pen.chance(0.5):
        bodies[1] = replace(bodies[1], input=rounded(mass * 9.81 * pen.size * pen.number(-0.3, 0.3)))
    if hung:
        above = np.array(_across(d, 0.0, 3.0 * pen.size))
        bodies = [_hung(one, above) if one.parent == "trunk" else one for one in bodies[1:]]
        return replace(spec, bodies=tuple(bodies), pins=pins)
    height = rounded(3.2 * pen.size * float(pen.random.uniform(1.0, 1.5)))
    rate = (*pen.spin(float(pen.pick((0.0, 0.3)))), *pen.vector(0.3 * pen.speed * float(pen.pick((0.0, 1.0)))))
    bodies[0] = replace(trunk, position=(*(0.0,) * (d - 1), height, *pen.turned(0.4)), rate=rate)
    return replace(spec, bodies=tuple(bodies), pins=pins)


def _hung(one: BodySpec, above: NDArray[np.float64]) -> BodySpec:
    """Return a body that hangs on the world, so far above the place where it hung on its parent."""
    return replace(one, parent=None, at=tuple(map(float, np.array(one.at) + above)))


def _across(d: int, x: float, z: float) -> Numbers:
    """Return a place (d,) in the plane of x and up."""
    return (rounded(x), *(0.0,) * (d - 2), rounded(z))


def _crank(pen: Pen, name: str, parent: str, at: Numbers, end: Numbers) -> BodySpec:
    """Return a bar from a hinge about y to `end`, often with a ball there."""
    d = pen.d
    mass = rounded(float(pen.random.uniform(0.2, 1.0)) * (pen.size / 0.1) ** 3)
    foot = form(pen, "Circle" if d == 2 else "Sphere", 0.3)
    center = tuple(rounded(0.5 * x) for x in end)
    inertia = moments(pen, mass, np.vstack([foot.body().surface + end, -0.1 * foot.body().surface]))
    parts = (Part(name, foot, end),) if pen.chance(0.6) else ()
    axis = (0.0, 1.0, 0.0) if d == 3 else (1.0, 0.0)
    return BodySpec(name, mass, inertia, center, parts, "revolute", parent, at, axis, position=(0.0,), rate=(0.0,))


def driven(pen: Pen, count: int) -> Spec:
    """Trees whose joints have springs, dampers, dry friction, velocity drives that saturate, and gears."""
    spec = tree(pen, base(pen, "driven", 6.0), count)
    bodies = [one if one.joint == "free" else _resisted(pen, one) for one in spec.bodies]
    jointed = [one for one in bodies if one.joint != "free"]
    gears = []
    if len(jointed) > 1 and pen.chance(0.5):
        leader, follower = (jointed[int(i)] for i in pen.random.choice(len(jointed), 2, replace=False))
        way = [pen.size if one.joint == "prismatic" else 1.0 for one in (follower, leader)]
        gears.append(GearSpec(follower.name, leader.name, rounded(pen.number(-2.0, 2.0) * way[0] / way[1]) or 1.0))
    return replace(spec, bodies=tuple(bodies), gears=tuple(gears), period=rounded(spec.duration / 400.0))


def _resisted(pen: Pen, one: BodySpec) -> BodySpec:
    slides = one.joint == "prismatic"
    length, time = pen.size, pen.size / pen.speed
    push = one.mass * 9.81 * (1.0 if slides else length)
    way = length if slides else 1.0
    if pen.chance(0.4):
        stiff = rounded(push / way * float(10.0 ** pen.random.uniform(-0.5, 1.5)))
        one = replace(one, stiffness=stiff, rest=rounded(way * pen.number(-0.3, 0.3)))
    if pen.chance(0.5):
        one = replace(one, damping=rounded(push / way * time * float(10.0 ** pen.random.uniform(-1.5, 0.5))))
    if pen.chance(0.2):
        one = replace(one, dry=rounded(push * pen.number(0.01, 0.2)))
    if pen.chance(0.4):
        gain = rounded(push / way * time * pen.number(0.1, 1.0))
        one = replace(one, input=0.0, drive=(gain, rounded(way / time * pen.number(-2.0, 2.0)), rounded(push)))
    return one


def soles(pen: Pen, count: int) -> Spec:
    """A trunk with one or two flat soles, fixed to it or on legs with a hip, dropped on the floor nearly upright."""
    spec = replace(base(pen, "soles", 6.0), restitution=0.0, lever=0.0)
    mass = rounded(float(pen.random.uniform(1.0, 5.0)) * (pen.size / 0.1) ** 3)
    surface = form(pen, "Box", 0.7).body().surface
    trunk = BodySpec("trunk", mass, moments(pen, mass, surface), (0.0,) * 3, ())
    pair = min(count, 2)
    sides = [0.0] if pair == 1 else [-pen.length(0.4, 0.7), pen.length(0.4, 0.7)]
    bodies, depth = [], -pen.length(0.8, 1.5)
    legs = pen.chance(0.5)
    parts = []
    for i, side in enumerate(sides):
        sole = shape("Sole", x=pen.length(0.3, 0.8), y=pen.length(0.1, 0.3))
        if legs:
            own = rounded(mass * pen.number(0.1, 0.4))
            reach = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (0.0, 1.0)]) * depth
            bodies.append(
                BodySpec(f"leg{i}", own, moments(pen, own, reach), (0.0, 0.0, rounded(0.5 * depth)),
                         (Part(f"sole{i}", sole, (0.0, 0.0, depth)),), "revolute", "trunk", (0.0, side, 0.0),
                         (0.0, 1.0, 0.0), position=(0.0,), rate=(0.0,))
            )  # fmt: skip
        else:
            parts.append(Part(f"sole{i}", sole, (0.0, side, depth)))
    tilt = [0.5 * pen.number(-0.3, 0.3) if pen.chance(0.6) else 0.0 for _ in range(3)]
    q = np.round(np.array([1.0, *tilt]), 6)
    q = q / np.linalg.norm(q)
    height = rounded(1.6 * pen.size - depth * 1.1)
    rate = (*pen.spin(float(pen.pick((0.0, 0.2)))), *pen.vector(0.5 * pen.speed * float(pen.pick((0.0, 1.0)))))
    trunk = replace(trunk, parts=tuple(parts), position=(0.0, 0.0, height, *map(float, q)), rate=rate)
    return replace(spec, bodies=(trunk, *bodies))
