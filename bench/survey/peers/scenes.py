"""Scenes that every simulator has: plain bodies of a hand's size on a flat, level or tilted, without restitution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bench.survey.draw import Pen
from bench.survey.kinds import drawn_apart, drops, pairs
from bench.survey.spec import Between, Spec

SIZE = 0.1
"""m, of every scene: what the simulators' own settings are made for."""

OUTPUT = 4e-3
"""s between samples: a multiple of every step, PyBullet's 1/240 s but for 4 %."""

KINDS = ("Sphere", "Box", "Capsule", "Cylinder", "Ellipsoid", "Dumbbell")
"""Bodies that all of them have; PyBullet takes the hull of 4,000 points for an ellipsoid."""

MAKERS = (drops, pairs)
TAG = 1_000
"""Keeps these draws apart from those of the survey's own kinds."""


def shared_scenes(seed: int, count: int, most: int) -> Iterator[tuple[int, Spec]]:
    """Yield the first `count` scenes of a seed that every simulator has, with their numbers."""
    number = 0
    while count:
        spec = shared_scene(seed, number, most)
        if spec is not None:
            yield number, spec
            count -= 1
        number += 1


def shared_scene(seed: int, number: int, most: int) -> Spec | None:
    """Return scene `number` of a seed: falls and meetings in turn; None if a simulator has no such scene."""
    which = number % len(MAKERS)
    make = MAKERS[which]

    def plain(pen: Pen, bodies: int) -> Spec:
        return make(pen, bodies, KINDS)

    spec, _ = drawn_apart(plain, (3,), (seed, number, TAG + which), most, 1, SIZE)
    if spec.ground is None or any(_has_no_array(one.parts) for one in spec.bodies):
        return None
    return common_law(spec)


def _has_no_array(parts: tuple) -> bool:
    """Return whether a body has an ellipsoid among several shapes, which PyBullet refuses."""
    return len(parts) > 1 and any(part.shape.kind == "Ellipsoid" for part in parts)


def common_law(spec: Spec) -> Spec:
    """Return the scene with one coefficient of friction, no restitution and whole intervals of output.

    Coefficients of two surfaces are products of theirs in PyBullet and harmonic means in Drake; Drake has no
    restitution.
    """
    touching = tuple(Between(pair.A, pair.B, spec.friction, 0.0) for pair in spec.pairs)
    duration = OUTPUT * round(spec.duration / OUTPUT)
    return replace(spec, restitution=0.0, lever=0.0, pairs=touching, duration=duration, output_step=OUTPUT)
