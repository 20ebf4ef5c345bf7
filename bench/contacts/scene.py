"""What a timed scene is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import trundle as tr
from trundle.models.tree.system import Start


@dataclass(frozen=True)
class Case:
    """A model and a start with how long it runs, s, and options of `simulate`; a policy is made anew for every run."""

    model: tr.RollingPair | tr.RollingTree
    start: Start
    duration: float
    options: Mapping[str, Any] = field(default_factory=dict)
    policy: Callable[[], tr.FunctionPolicy] | None = None

    def run(self) -> str:
        """Simulate with record and audit; return how it ended."""
        policy = {} if self.policy is None else {"policy": self.policy()}
        found = tr.simulate(self.model, self.start, self.duration, **self.options, **policy)
        done = float(found.time[-1])
        short = "" if done >= self.duration else f" at {done:.3g} s"
        wrong = "" if found.feasible else ", infeasible"
        return f"{found.status.label}{short}{wrong}"


@dataclass(frozen=True)
class Replay:
    """Something else that runs: returns how it ended."""

    walk: Callable[[], str]

    def run(self) -> str:
        """Run it."""
        return self.walk()


@dataclass(frozen=True)
class Scene:
    """A row of the table.

    Attributes
    ----------
    what : str
    build : callable
        Makes the case anew: its first run is the first of a new model.
    must, aim : float or None, s
        Most that a run again may take, where the plate's 120 s take `PLATE`.
    first_must : float or None, s
        The same for the first run.
    peers : bool
        Whether `trundle.interop` states it in MuJoCo.
    mjcf : callable, optional
        Returns it as MuJoCo's own XML where that cannot.
    """

    what: str
    build: Callable[[], Case | Replay]
    must: float | None = None
    aim: float | None = None
    first_must: float | None = None
    peers: bool = True
    mjcf: Callable[[], tuple[str, float]] | None = None


PLATE = 0.020
"""s, that the plate's 120 s took again where the limits were set."""
