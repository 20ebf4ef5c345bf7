"""What a timed scene is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import trundle as tr
from trundle.interop.scene import PeerScene
from trundle.models.tree.system import Start


@dataclass(frozen=True)
class Drive:
    """Forces of the actuated joints that depend on the time alone: asked for once a period, held until the next.

    Attributes
    ----------
    period : float, s
    forces : callable of the time (s)
        Returns (n_u,), N or N m.
    """

    period: float
    forces: Callable[[float], np.ndarray]

    def policy(self) -> tr.FunctionPolicy:
        """Return it as `simulate` takes it."""
        return tr.FunctionPolicy(self.period, lambda t, x: self.forces(t))


@dataclass(frozen=True)
class Ended:
    """How a run ended, and where its bodies are at the end: (3,) m each, world."""

    words: str
    places: Mapping[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """A model and a start with how long it runs, s, options of `simulate`, and what drives its joints."""

    model: tr.RollingPair | tr.RollingTree
    start: Start
    duration: float
    options: Mapping[str, Any] = field(default_factory=dict)
    drive: Drive | None = None

    def run(self) -> tr.Trajectory:
        """Simulate with record and audit."""
        policy = {} if self.drive is None else {"policy": self.drive.policy()}
        return tr.simulate(self.model, self.start, self.duration, **self.options, **policy)

    def told(self, found: tr.Trajectory) -> Ended:
        """Return how a run ended."""
        done = float(found.time[-1])
        short = "" if done >= self.duration else f" at {done:.3g} s"
        wrong = "" if found.feasible else ", infeasible"
        words = f"{found.status.label}{short}{wrong}"
        if found.dimension == 2:
            return Ended(words)
        if found.layout == "pair":
            return Ended(words, {"object": found["object_position"][-1].tolist()})
        places = zip(found["body"], found["body_position"][-1], strict=True)
        return Ended(words, {str(name): place.tolist() for name, place in places})


@dataclass(frozen=True)
class Replay:
    """Something else that runs: returns how it ended."""

    walk: Callable[[], str]

    def run(self) -> str:
        """Run it."""
        return self.walk()

    def told(self, found: str) -> Ended:
        """Return how a run ended."""
        return Ended(found)


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
    stated : callable, optional
        Returns it as other simulators take it, and its duration (s), where that needs no model of the package.
    mjcf : callable, optional
        Returns it as MuJoCo's own XML where that is quicker there.
    boxes : callable, optional
        Returns it with whole bodies where `trundle.interop` has their corners and faces alone.
    exact : callable, optional
        Of times (n,) and samples (n, bodies, 13) of a run in another simulator: how far that is from what is known.
    unique : bool
        Whether all simulators should end where this one does.
    """

    what: str
    build: Callable[[], Case | Replay]
    must: float | None = None
    aim: float | None = None
    first_must: float | None = None
    stated: Callable[[], tuple[PeerScene, float]] | None = None
    mjcf: Callable[[], str] | None = None
    boxes: Callable[[], PeerScene] | None = None
    exact: Callable[[np.ndarray, np.ndarray], str] | None = None
    unique: bool = True
    closed: bool = True


PLATE = 0.020
"""s, that the plate's 120 s took again where the limits were set."""
