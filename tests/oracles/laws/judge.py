"""The judge: which laws of physics a recorded run breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from .balance import balances, events
from .energy import energies, stops
from .forces import forces
from .hinges import gears, joints, pins
from .impulses import floors, impulses, untouched
from .overlap import jumps, overlaps, overlaps_between
from .scene import Finding, Motion, Scene
from .state import State

CHECKS: tuple[Callable[[State], Iterator[Finding]], ...] = (
    overlaps,
    overlaps_between,
    jumps,
    energies,
    stops,
    floors,
    untouched,
    impulses,
    forces,
    balances,
    events,
    joints,
    pins,
    gears,
)


def judge(scene: Scene, motion: Motion) -> list[Finding]:
    """Return what is broken, nothing if no law is."""
    for name in ("time", "position", "R", "velocity", "omega"):
        if not np.all(np.isfinite(getattr(motion, name))):
            return [Finding("not finite", 0.0, np.inf, 0.0, "the run", f"{name} is not finite")]
    state = State(scene, motion)
    return [finding for check in CHECKS for finding in check(state)]
