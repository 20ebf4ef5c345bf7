"""Builder of kind `walking`, task `transfer`: a ball's plan, and its replay by the simulator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trundle.checks import FloatArray
from trundle.scenarios.engine.building import Part, PartProgress, error_context, simulate_part
from trundle.scenarios.scenario import Scenario
from trundle.systems.walking.scenario.schema_ball import WalkingTransfer

if TYPE_CHECKING:
    from trundle.records import Trajectory
    from trundle.systems.walking.plan.rolling_ball import BallPlan, BallTransfer

_MOVED = {
    "start": "initial.position",
    "rotation": "goal.quaternion",
    "goal": "goal.position",
    "gravity": "simulation.gravity",
    "duration": "plan.duration",
    "radius": "object.shape.radius",
    "mass": "object.mass",
    "inertia": "object.inertia",
    "friction": "contact.friction",
}


def build(scenario: Scenario) -> BallExperiment:
    """Return the experiment of a scenario of task `transfer`."""
    from trundle.systems.walking.plan.rolling_ball import BallTransfer

    tables = scenario.read(WalkingTransfer)
    with error_context("plan", scenario, _MOVED):
        task = BallTransfer(
            radius=tables.object.shape.radius,
            mass=tables.object.mass,
            start=np.array(tables.initial.position),
            goal=np.array(tables.goal.position),
            rotation=tables.goal.quaternion,
            **tables.object.values(),
            **tables.plan.values(),
            **tables.contact.values(),
            **tables.simulation.values(BallTransfer),
        )
        task.place()
    return BallExperiment(scenario, task)


@dataclass(frozen=True)
class BallExperiment:
    """One transfer of a ball."""

    scenario: Scenario
    task: BallTransfer

    @property
    def tables(self) -> WalkingTransfer:
        """The scenario's tables."""
        return self.scenario.read(WalkingTransfer)

    def parts(self) -> Iterator[Part]:
        """Yield the replay of the plan as the only part."""
        yield Part("", self._run, "solve")

    def _run(self, share: PartProgress | None) -> Trajectory:
        from trundle.systems.walking.plan.rolling_ball import plan_ball
        from trundle.systems.walking.scenario.record import as_walking

        table, settings = self.tables.plan, self.tables.simulation
        found = plan_ball(self.task, nodes=table.nodes, starts=table.starts, seed=self.scenario.seed)
        torques = found.torques(table.parts)
        start, policy = self.task.place(found.angular_velocity[0]), _Held(torques, table.duration / len(torques))
        run = simulate_part(self.task.robot, start, table.duration, settings, share, policy)
        known = {key: value for key, value in run.metadata.items() if key != "policy"}  # nothing is computed online
        run = replace(run, metadata=known | {"transfer": self._describe_plan(found)})
        return as_walking(run, "ball", "roll")

    def _describe_plan(self, found: BallPlan) -> dict[str, Any]:
        """Return what metrics and figures need to know of the plan."""
        task = self.task
        return {
            "model": task.model,
            "law": task.law,
            "goal": task.goal.tolist(),
            "rotation": task.rotation.tolist(),
            "radius": task.radius,
            "rolling_moment": task.moment + task.mass * task.radius**2,
            "duration": task.duration,
            "times": found.times.tolist(),
            "angular_velocity": found.angular_velocity.tolist(),
            "cost": found.cost,
            "straight_cost": task.straight_cost,
            "straight": bool(np.allclose(task.rotation, task.straight_roll)),
            "optima": list(found.optima),
            "iterations": found.iterations,
            "kkt_residual": found.kkt_residual,
        }


@dataclass(frozen=True)
class _Held:
    """Torques (n, 3), N m, one after the other, each for a period (s)."""

    torques: FloatArray
    period: float

    def reset(self) -> None:
        """Do nothing: the torque depends on the time alone."""

    def __call__(self, time: float, state: FloatArray) -> FloatArray:
        """Return the torque (3,) at the time (s)."""
        return self.torques[min(round(time / self.period), len(self.torques) - 1)]
