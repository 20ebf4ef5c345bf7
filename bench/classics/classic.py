"""A classic: its answer, what trundle finds, and how the same numbers are read off any engine's samples."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench.classics.scene import Scene


class NotYetError(Exception):
    """What trundle's public API cannot do today; the text says what is missing."""


@dataclass(frozen=True)
class Quantity:
    """A number with a published or closed-form value."""

    name: str
    exact: float
    unit: str
    scale: float | None = None  # what the error is divided by where the value itself is zero or tiny

    def digits(self, value: float) -> float:
        """Return -log10 of the relative error: at most 16; NaN in, NaN out."""
        error = abs(value - self.exact) / (abs(self.exact) if self.scale is None else self.scale)
        return float(-np.log10(np.clip(error, 1e-16, 1e300)))


@dataclass(frozen=True)
class Answer:
    """What an engine found, by names of quantities, in how many seconds."""

    values: Mapping[str, float]
    seconds: float
    note: str = ""


@dataclass(frozen=True)
class Classic:
    """One classic.

    ``quantities()`` are derived without trundle; ``trundle()`` uses its public API alone; ``scene()`` and ``measure``
    (of the scene's times and samples (n, bodies, 13)) give the same numbers in other engines.
    """

    name: str
    title: str
    text: str  # what is asked, for the page
    source: str  # where the answer is from
    quantities: Callable[[], tuple[Quantity, ...]] = field(repr=False)
    trundle: Callable[[], Answer] = field(repr=False)
    scene: Callable[[], Scene] | None = field(default=None, repr=False)
    measure: Callable[[Scene, np.ndarray], Mapping[str, float]] | None = field(default=None, repr=False)
    peers_note: str = ""

    def in_engine(self, name: str, setting: int) -> Answer:
        """Run the scene in an engine of `bench.classics.engines` with one of its settings."""
        from importlib import import_module

        if self.scene is None or self.measure is None:
            raise NotYetError(self.peers_note or "no scene")
        module = import_module(f"bench.classics.engines.{name}")
        scene = self.scene()
        samples, wall = module.run(scene, module.SETTINGS[setting])
        if not np.all(np.isfinite(samples)):
            raise ArithmeticError("the run is not finite")
        return Answer(self.measure(scene, samples), wall)


def timed(run: Any) -> float:
    """Return the seconds a trajectory of trundle took, building and compiling excluded like in other engines."""
    return float(run.metadata["wall_time"]["simulate"])


def clocked(function: Callable[[], Mapping[str, float]]) -> Answer:
    """Return an answer with the wall time of the call."""
    begin = time.perf_counter()
    values = function()
    return Answer(values, time.perf_counter() - begin)


def pair_samples(run: Any) -> np.ndarray:
    """Return a pair's run in space as samples (n, 1, 13)."""
    names = ("object_position", "object_quaternion", "object_angular_velocity", "object_velocity")
    return np.concatenate([np.asarray(run[name]) for name in names], axis=1)[:, None, :]


def tree_samples(run: Any) -> np.ndarray:
    """Return a robot's run in space as samples (n, bodies, 13)."""
    names = ("body_position", "body_quaternion", "body_angular_velocity", "body_velocity")
    return np.concatenate([np.asarray(run[name]) for name in names], axis=2)
