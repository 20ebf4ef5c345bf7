"""Scenes whose shapes touch by other laws: with adhesion and drilling friction, giving way, by a law from outside."""

from __future__ import annotations

from dataclasses import replace

from bench.survey.draw import PLANE, SIMPLE, SPACE, Pen, base, body, rounded, started
from bench.survey.spec import GREASED, Between, Spec, TouchSpec

ROUND = {3: ("Sphere", "Sphere", "Ellipsoid"), 2: ("Circle", "Circle", "Ellipse")}
"""Kinds whose contacts with a flat and with each other are one point."""


def falling(pen: Pen, spec: Spec, count: int, kinds: tuple[str, ...], apart: float) -> Spec:
    """Return a scene with bodies of these kinds, `apart` sizes from each other, thrown over its floor."""
    made = (started(pen, body(pen, f"b{i}", kinds), apart * i) for i in range(count))
    return replace(spec, bodies=tuple(made))


def sticky(pen: Pen, count: int) -> Spec:
    """Bodies fall on a floor that holds them with a part of their weight, and resists spin and, often, rolling."""
    spec = falling(pen, base(pen, "sticky", 8.0), count, SIMPLE[pen.d] if pen.chance(0.6) else _any(pen.d), 3.0)
    lightest = min(one.mass for one in spec.bodies) * 9.81
    adhesion = rounded(lightest * pen.number(0.05, 2.0)) if pen.chance(0.8) else 0.0
    drilling = pen.length(0.01, 0.1) if spec.friction and pen.chance(0.6) else 0.0
    lever = pen.length(0.01, 0.1) if spec.friction and pen.chance(0.3) else 0.0
    return replace(spec, touch=TouchSpec(adhesion=adhesion, drilling=drilling), lever=lever)


def soft(pen: Pen, count: int) -> Spec:
    """Round bodies, some of two balls, fall on a floor that gives way, and meet each other."""
    near = pen.chance(0.5)
    spec = falling(pen, base(pen, "soft", 8.0), count, ROUND[pen.d], 2.2 if near else 3.0)
    spec = replace(spec, restitution=0.0, lever=pen.length(0.01, 0.05) if pen.chance(0.2) and spec.friction else 0.0)
    heaviest = max(one.mass for one in spec.bodies)
    depth = 10.0 ** float(pen.random.uniform(-2.5, -1.3)) * pen.size
    stiffness = rounded(1.25 * heaviest * pen.speed**2 / depth**2.5)
    dissipation = rounded(float(pen.random.uniform(0.0, 0.5)) / pen.speed)
    touch = TouchSpec("hunt-crossley", stiffness=stiffness, dissipation=dissipation)
    names = [[part.name for part in one.parts] for one in spec.bodies]
    pairs = [Between(a, b) for i, first in enumerate(names) for rest in names[:i] for a in first for b in rest]
    return replace(spec, touch=touch, pairs=tuple(pairs) if near else ())


def greased(pen: Pen, count: int) -> Spec:
    """Bodies fall on a floor by a law that the script makes known."""
    spec = falling(pen, base(pen, "greased", 8.0), count, SIMPLE[pen.d] if pen.chance(0.6) else _any(pen.d), 3.0)
    return replace(spec, friction=0.0, lever=0.0, touch=TouchSpec(GREASED))


def _any(d: int) -> tuple[str, ...]:
    return PLANE if d == 2 else tuple(kind for kind in SPACE if kind != "Torus")
