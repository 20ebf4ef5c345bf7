"""Scenario files of kind `walking`, task `transfer`: a ball rolls between two poses; int |tau|^2 dt is minimised."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from trundle.contact.laws import PURE_ROLLING
from trundle.scenarios.motions import check_samples
from trundle.scenarios.problems import Allowed
from trundle.scenarios.schema import (
    Array,
    Duration,
    Mass,
    Place,
    ScenarioTable,
    Table,
    UnitQuaternion,
    fault,
    table_of,
)
from trundle.scenarios.schema_shapes import SphereTable
from trundle.simulate.mode import Method
from trundle.systems.walking.plan.rolling_ball import BallTransfer

Point = Annotated[tuple[Place, Place], Array, Allowed("2 numbers, each from -1e6 to 1e6 (m)")]
Moment = Annotated[float, Field(gt=0, le=1e12)]
Nodes = Annotated[int, Field(ge=4, le=2000), Allowed("an integer from 4 to 2000")]
Starts = Annotated[int, Field(ge=1, le=1000), Allowed("an integer from 1 to 1000")]
Parts = Annotated[int, Field(ge=1, le=1000), Allowed("an integer from 1 to 1000")]


BallInertia = Annotated[
    Literal["solid", "shell"] | Moment, Allowed("'solid', 'shell' or a number > 0, at most 1e12 (kg m^2)")
]


class BallTable(table_of(BallTransfer, ["inertia"], narrower={"inertia": BallInertia})):
    """The ball."""

    shape: SphereTable = Field(description="a sphere")
    mass: Mass = Field(description="kg")


class BallContactTable(table_of(BallTransfer, ["law", "friction"])):
    """Contact of the ball with the ground."""


class BallInitialTable(Table):
    """Where the ball starts, at rest, with the orientation (1, 0, 0, 0)."""

    position: Point = Field(default=(0.0, 0.0), description="m, of the contact point")


class BallGoalTable(Table):
    """Where the ball ends, at rest."""

    position: Point = Field(description="m, of the contact point")
    quaternion: UnitQuaternion | None = Field(
        default=None, description="(w, x, y, z), world from body; left out: as after rolling there in a straight line"
    )


class BallPlanTable(table_of(BallTransfer, ["model", "duration"])):
    """How the motion is planned."""

    nodes: Nodes = Field(default=100, description="intervals of the mesh")
    starts: Starts = Field(default=8, description="guesses: the straight roll, and detours drawn with the seed")
    parts: Parts = Field(default=50, description="pieces of an interval over which the replay holds a torque")


class BallSimulationTable(table_of(Method, ["relative_tolerance"], base=table_of(BallTransfer, ["gravity"]))):
    """How the plan is replayed."""

    output_step: Duration = Field(default=0.005, description="s, between samples of the result")


class WalkingTransfer(ScenarioTable):
    """A scenario of kind `walking`, task `transfer`: the optimal control of one rolling ball."""

    kind: Literal["walking"]
    task: Literal["transfer"]
    object: BallTable
    contact: BallContactTable = BallContactTable()
    initial: BallInitialTable = BallInitialTable()
    goal: BallGoalTable
    plan: BallPlanTable = BallPlanTable()
    simulation: BallSimulationTable = BallSimulationTable()

    def _check(self) -> None:
        if self.plan.model == "kinematic" and self.contact.law != PURE_ROLLING.name:
            raise fault("contact.law", "must be 'pure-rolling' where plan.model is 'kinematic': there is no spin")
        if self.goal.position == self.initial.position and self.goal.quaternion is None:
            raise fault("goal.position", "must differ from initial.position, or goal.quaternion be given")
        check_samples(self.plan.duration, self.simulation.output_step, "simulation.", "plan.duration")
