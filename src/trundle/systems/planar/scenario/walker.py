"""Builder of kind `planar`, task `walk`: the limit cycle of a passive walker, and runs from starts near it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trundle.checks import FloatArray
from trundle.errors import SimulationError
from trundle.scenarios.engine.building import Part, PartProgress, error_context, simulate_part
from trundle.scenarios.scenario import Scenario
from trundle.systems.planar.passive_walker import PassiveWalker
from trundle.systems.planar.scenario.schema_walker import PlanarWalk

if TYPE_CHECKING:
    from trundle.records import SceneBody, Trajectory
    from trundle.systems.planar.limit_cycles import LimitCycle, StrideMap

_RETURNED = 0.01  # of the error at the start: what metrics count as returned
_TWIN_ERROR = 1e-4  # of the state at the start
_SOLE = 0.5
"""Half the angle (rad) of the arc that is drawn for a foot."""


def build(scenario: Scenario) -> PassiveWalkExperiment:
    """Return the experiment of a scenario of task `walk`."""
    tables = scenario.read(PlanarWalk)
    with error_context("walker", scenario, {"gravity": "simulation.gravity", "friction": "contact.friction"}):
        given = (tables.walker, tables.simulation, tables.contact)
        walker = PassiveWalker(**{name: value for table in given for name, value in table.values().items()})
        _ = walker.robot
    return PassiveWalkExperiment(scenario, walker)


@dataclass(frozen=True)
class PassiveWalkExperiment:
    """A walker, and its limit cycle once it is found."""

    scenario: Scenario
    walker: PassiveWalker
    _found: dict[str, LimitCycle] = field(default_factory=dict)

    @property
    def tables(self) -> PlanarWalk:
        """The scenario's tables."""
        return self.scenario.read(PlanarWalk)

    def parts(self) -> Iterator[Part]:
        """Yield the motion on the cycle, the main run, off it by `initial.error`, and a run near the unstable cycle."""
        durations = self.tables.cycle.twin_durations
        twin = int(durations is not None)
        yield Part("cycle", self._on_cycle, "solve", 1 + twin)
        if "" not in self._found:
            return
        yield Part("", self._main, ahead=twin)
        if durations is not None:
            yield Part("twin", lambda share: self._twin(durations, share))

    def _cycle(self, durations: tuple[float, float]) -> LimitCycle:
        from trundle.systems.planar.limit_cycles import limit_cycle

        table = self.tables.cycle
        return limit_cycle(self.walker, durations, nodes=table.nodes, angle=table.angle)

    def _on_cycle(self, share: PartProgress | None) -> Trajectory:
        cycle = self._cycle(self.tables.cycle.durations)
        self._found[""] = cycle
        run = self._run(cycle.start, share)
        return self._label_run(run, cycle)

    def _main(self, share: PartProgress | None) -> Trajectory:
        cycle = self._found[""]
        random = np.random.default_rng(self.scenario.seed)
        start = _beside(cycle, random, self.tables.initial.error)
        run = self._run(start, share)
        return self._label_run(run, cycle, error=self.tables.initial.error, trials=self._trials())

    def _twin(self, durations: tuple[float, float], share: PartProgress | None) -> Trajectory:
        twin = self._cycle(durations)
        start = _beside(twin, np.random.default_rng(self.scenario.seed), _TWIN_ERROR)
        run = self._run(start, share)
        return self._label_run(run, twin)

    def _label_run(self, run: Trajectory, cycle: LimitCycle, **further: Any) -> Trajectory:
        """Return the run with the walker and its cycle in the metadata, for metrics, and its feet drawn as sectors."""
        walk = {"walker": self.tables.walker.model_dump(), "cycle": _describe_cycle(cycle, self.walker), **further}
        scene = tuple(_foot(body) if body.role == "body" else body for body in run.scene)
        return replace(run, metadata=dict(run.metadata) | {"walk": walk}, scene=scene)

    def _run(self, start: FloatArray, share: PartProgress | None) -> Trajectory:
        table = self.tables.simulation
        length = (table.strides + 0.5) * self._found[""].duration
        return simulate_part(self.walker.robot, self.walker.start(start), length, table, share)

    def _trials(self) -> list[dict[str, float]]:
        """Return, for each size of error, how many starts return to the cycle, and the largest error left of these."""
        from trundle.systems.planar.limit_cycles import StrideMap

        strides, table, found = StrideMap(self.walker), self.tables.trials, []
        random = np.random.default_rng(self.scenario.seed + 1)
        for size in table.errors:
            left = np.array([self._left(strides, random, size) for _ in range(table.count)])
            back = left[left < _RETURNED]
            worst = float(np.max(back)) if back.size else 0.0
            found.append({"error": size, "count": table.count, "returned": int(back.size), "worst": worst})
        return found

    def _left(self, strides: StrideMap, random: np.random.Generator, size: float) -> float:
        """Return the remaining share of an initial error of this size after the strides; inf if the walker falls."""
        cycle = self._found[""]
        y = self.walker.section(_beside(cycle, random, size))
        home = self.walker.section(cycle.start)
        scale = np.array([1.0, 1.0, self.walker.time_unit, self.walker.time_unit])
        before = float(np.linalg.norm((y - home) * scale))
        if before == 0.0:
            return 0.0
        try:
            for _ in range(self.tables.trials.strides):
                y, _ = strides.step(y)
        except SimulationError:
            return np.inf
        return float(np.linalg.norm((y - home) * scale)) / before


def _foot(body: SceneBody) -> SceneBody:
    """Return a leg's body with the sector of a disc as its outline: the leg ends in an arc, not in a wheel."""
    angle = np.linspace(-_SOLE, _SOLE, 61) - np.pi / 2
    arc = float(body.shape["radius"]) * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return replace(body, vertices=np.vstack([[0.0, 0.0], arc]))


def _beside(cycle: LimitCycle, random: np.random.Generator, size: float) -> FloatArray:
    """Return a start (3,) off the cycle's: each entry changed by at most the share `size`, in a random direction."""
    direction = random.normal(size=3)
    return cycle.start * (1 + size * direction / np.linalg.norm(direction))


def _describe_cycle(cycle: LimitCycle, walker: PassiveWalker) -> dict[str, Any]:
    """Return a cycle without units: angles in rad, times in sqrt(leg/gravity)."""
    unit = walker.time_unit
    return {
        "start": (cycle.start * [1.0, unit, unit]).tolist(),
        "duration": cycle.duration / unit,
        "unit": unit,
        "multipliers": np.abs(cycle.multipliers).tolist(),
        "difference": cycle.difference,
        "iterations": cycle.iterations,
    }
