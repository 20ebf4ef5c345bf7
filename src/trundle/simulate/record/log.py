"""Log: what a run gathers while it goes through its modes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NotRequired, TypedDict

import numpy as np

from trundle.checks import FloatArray
from trundle.numerics.ode.ode import Integration
from trundle.simulate.compiled_mode import CompiledMode

Columns = dict[str, np.ndarray]
"""Quantities (n, ...) of a run by name."""
Transition = TypedDict(
    "Transition", {"time": float, "from": str, "to": str, "reason": str, "contact": NotRequired[str]}
)
"""A change of the mode: when, between which modes, why, and of which contact where there are several."""


@dataclass
class Segment:
    """Samples of one phase: times (n,), states (n, n_x), parameters (n, n_p)."""

    phase: CompiledMode
    times: FloatArray
    states: FloatArray
    parameters: FloatArray


@dataclass
class Log:
    """What a run gathers.

    ``controlled``: its input came from a policy, called every ``period``; ``calls``: how long each call took (s);
    ``accurate``: the integrator's steps are small enough to judge the energy by.
    """

    controlled: bool = False
    accurate: bool = False
    segments: list[Segment] = field(default_factory=list)
    transitions: list[Transition] = field(default_factory=list)
    margins: dict[str, float] = field(default_factory=dict)
    period: float = np.inf
    calls: list[float] = field(default_factory=list)
    steps: int = 0
    rejected: int = 0
    evaluations: int = 0

    def count(self, phase: CompiledMode, done: Integration, lasted: bool) -> None:
        """Add the statistics of one integration; margins that end a mode at its first instant say nothing."""
        self.steps += done.steps
        self.rejected += done.rejected
        self.evaluations += done.evaluations
        if lasted and not phase.mode.rest:
            for name, value in zip(phase.margins, done.margin_minimum, strict=True):
                self.lower(name, float(value))

    def lower(self, name: str, value: float) -> None:
        """Take the value of a margin into account; one that is not a number stays one."""
        known = self.margins.get(name, np.inf)
        self.margins[name] = value if np.isnan(value) else min(known, value)
