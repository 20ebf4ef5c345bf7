"""Trees: carts with wheels, legged trunks, chains on hinges and slides, with motors and stops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bench.survey.draw import Pen, form, moments, rounded
from bench.survey.spec import BodySpec, Part, Spec


def tree(pen: Pen, spec: Spec, count: int) -> Spec:
    """Return a trunk with one to four links over a floor: wheels, legs, a slide; dropped or standing close above it."""
    links = max(count, 1)
    trunk = _trunk(pen)
    bodies = [trunk]
    for i in range(links):
        parent = trunk if pen.chance(0.75) or len(bodies) == 1 else bodies[int(pen.random.integers(1, len(bodies)))]
        bodies.append(_link(pen, f"l{i}", parent, i, links))
    reach = 3.2 * pen.size if len(bodies) < 4 else 4.0 * pen.size
    height = rounded(reach * float(pen.random.uniform(0.9, 1.4)))
    rate = (*pen.spin(float(pen.pick((0.0, 0.0, 0.3)))), *pen.vector(0.3 * pen.speed * float(pen.pick((0.0, 1.0)))))
    bodies[0] = replace(trunk, position=(*(0.0,) * (pen.d - 1), height, *pen.turned(0.5)), rate=rate)
    return replace(spec, bodies=tuple(bodies))


def _trunk(pen: Pen) -> BodySpec:
    kind = str(pen.pick(("Sphere", "Box", "Capsule") if pen.d == 3 else ("Circle", "Box")))
    made = form(pen, kind, 0.7)
    mass = rounded(float(pen.random.uniform(1.0, 5.0)) * (pen.size / 0.1) ** 3)
    parts = (Part("trunk", made, (0.0,) * pen.d),) if pen.chance(0.7) else ()
    return BodySpec("trunk", mass, moments(pen, mass, made.body().surface), (0.0,) * pen.d, parts)


def _link(pen: Pen, name: str, parent: BodySpec, i: int, count: int) -> BodySpec:
    """Return a wheel at its hub, a leg with a foot at its end, or a slide with a ball."""
    d = pen.d
    kind = str(pen.pick(("wheel", "leg", "slide")))
    angle = 2 * np.pi * (i + 0.25) / count
    out = [0.0] * d
    out[0], out[-1] = (rounded(pen.size * f) for f in (float(np.cos(angle)), -0.5))
    if d == 3:
        out[1] = rounded(pen.size * float(np.sin(angle)))
    mass = rounded(float(pen.random.uniform(0.2, 1.0)) * (pen.size / 0.1) ** 3)
    if kind == "wheel":
        foot = form(pen, "Circle" if d == 2 else str(pen.pick(("Sphere", "Ellipsoid"))), 0.6)
        place, center = (0.0,) * d, (0.0,) * d
    else:
        foot = form(pen, "Circle" if d == 2 else "Sphere", 0.35)
        down = [0.0] * d
        down[-1] = -pen.length(0.6, 1.2)
        place = tuple(down)
        center = tuple(rounded(0.5 * x) for x in down)
    inertia = moments(pen, mass, np.vstack([foot.body().surface + place, -0.1 * foot.body().surface]))
    axis = [0.0] * d
    axis[-1 if kind == "slide" else d - 2] = 1.0
    joint = "prismatic" if kind == "slide" else "revolute"
    low, high, push = None, None, 0.0
    way = pen.size if kind == "slide" else 1.0
    if kind != "wheel" and pen.chance(0.6):
        low, high = rounded(-way * pen.number(0.1, 0.8)), rounded(way * pen.number(0.1, 0.8))
    if pen.chance(0.5):
        weight = mass * 9.81
        push = rounded(weight * pen.number(-1.0, 1.0) * (1.0 if kind == "slide" else 0.5 * pen.size))
    parts = (Part(name, foot, place),)
    return BodySpec(name, mass, inertia, center, parts, joint, parent.name, tuple(out), tuple(axis), push, low, high,
                    (0.0,), (0.0,))  # fmt: skip
