"""Scenes with known answers: they try the way from a simulator to the judge before random scenes do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.survey.described import motion_of, scene_of
from bench.survey.draw import GRAVITY
from bench.survey.peers.engines import Setting, engine_run, handed, peer_motion
from bench.survey.peers.scenes import OUTPUT
from bench.survey.shapes import ShapeSpec, shape
from bench.survey.spec import Between, BodySpec, Part, Spec
from bench.survey.work import simulated
from tests.oracles.laws import Amounts, Motion, measure

Array = NDArray[np.float64]
RADIUS = 0.05  # m, of balls
LOW = 0.03  # m, half the height of blocks


@dataclass(frozen=True)
class Known:
    """A scene with the places (bodies, 3), m, where its bodies are at its end."""

    said: str
    spec: Spec
    places: Array


def _body(name: str, form: ShapeSpec, inertia: float, at: Sequence[float], velocity: Sequence[float]) -> BodySpec:
    """Return a body of 1 kg with equal moments (kg m2), upright."""
    zero = (0.0, 0.0, 0.0)
    return BodySpec(
        name, 1.0, (inertia,) * 3, zero, (Part(name, form, zero),), position=(*at, 1.0, 0.0, 0.0, 0.0),
        rate=(*zero, *velocity),
    )  # fmt: skip


def _ball(name: str, at: Sequence[float], velocity: Sequence[float]) -> BodySpec:
    return _body(name, shape("Sphere", radius=RADIUS), 0.4 * RADIUS**2, at, velocity)


def _block(at: Sequence[float]) -> BodySpec:
    return _body("block", shape("Box", half=[0.05, 0.05, LOW]), 2e-3, at, (0.0, 0.0, 0.0))


def _scene(duration: float, friction: float, *bodies: BodySpec, tilt: float = 0.0, meet: bool = False) -> Spec:
    gravity = (GRAVITY * np.sin(tilt), 0.0, -GRAVITY * np.cos(tilt))
    pairs = (Between(bodies[0].name, bodies[1].name, friction, 0.0),) if meet else ()
    return Spec(
        "known", 3, tuple(float(g) for g in gravity), duration, bodies, shape("Plane"), friction, pairs=pairs,
        output_step=OUTPUT, size=0.1,
    )  # fmt: skip


def known_scenes() -> list[Known]:
    """Return the scenes."""
    still, g = (0.0, 0.0, 0.0), GRAVITY
    # A block slides down a slope of .5 rad, another one rests on it.
    tilt, mu, time = 0.5, 0.3, 0.4
    slid = 0.5 * g * (np.sin(tilt) - mu * np.cos(tilt)) * time**2
    slope = _scene(time, mu, _block((0.0, 0.0, LOW)), tilt=tilt)
    rests = _scene(time, 0.7, _block((0.0, 0.0, LOW)), tilt=tilt)
    # A ball falls .25 m, goes on at .5 m/s and does not bounce.
    falls = _scene(0.4, 0.0, _ball("ball", (0.0, 0.0, 0.3), (0.5, 0.0, 0.0)))
    # A ball slides at 1 m/s and rolls from 2 v / (7 mu g) on, at 5/7 of it.
    mu, until = 0.2, 2.0 / (7.0 * 0.2 * g)
    path = until - 0.5 * mu * g * until**2 + 5.0 / 7.0 * (0.6 - until)
    rolls = _scene(0.6, mu, _ball("ball", (0.0, 0.0, RADIUS), (1.0, 0.0, 0.0)))
    # A ball meets an equal one at rest after .2 s, at 1 m/s; both go on at half of that.
    first = _ball("first", (0.0, 0.0, RADIUS), (1.0, 0.0, 0.0))
    met = _scene(0.4, 0.0, first, _ball("second", (0.3, 0.0, RADIUS), still), meet=True)
    return [
        Known("block slides", slope, np.array([[slid, 0.0, LOW]])),
        Known("block rests", rests, np.array([[0.0, 0.0, LOW]])),
        Known("ball falls", falls, np.array([[0.2, 0.0, RADIUS]])),
        Known("ball rolls", rolls, np.array([[path, 0.0, RADIUS]])),
        Known("balls meet", met, np.array([[0.3, 0.0, RADIUS], [0.4, 0.0, RADIUS]])),
    ]


def missed(known: Known, motion: Motion) -> tuple[float, Amounts]:
    """Return how far bodies end from their places, m, and what the run misses laws by."""
    off = np.linalg.norm(motion.position[-1] - known.places, axis=1)
    return float(off.max()), measure(scene_of(known.spec), motion)


def known_table(settings: Sequence[Setting]) -> str:
    """Return a line for each setting: how far bodies end from their places, mm, and the worst unexplained momentum."""
    scenes = known_scenes()
    handed_over = [handed(known.spec) for known in scenes]
    runs = {"trundle": [motion_of(known.spec, simulated(known.spec)) for known in scenes]}
    for setting in settings:
        runs[f"{setting.label}, {1e3 * setting.actual_step:g} ms"] = [
            peer_motion(known.spec, scene, engine_run(scene, known.spec, setting), setting.actual_step)
            for known, scene in zip(scenes, handed_over, strict=True)
        ]
    lines = ["| end off by (mm) | " + " | ".join(known.said for known in scenes) + " | momentum | cone |"]
    lines.append("|---" * (len(scenes) + 3) + "|")
    for label, motions in runs.items():
        found = [missed(known, motion) for known, motion in zip(scenes, motions, strict=True)]
        cells = [f"{1e3 * off:.2g}" for off, _ in found]
        worst = (max(amounts.momentum for _, amounts in found), max(amounts.cone for _, amounts in found))
        lines.append("| " + " | ".join([label, *cells, *(f"{value:.1e}" for value in worst)]) + " |")
    return "\n".join(lines)
