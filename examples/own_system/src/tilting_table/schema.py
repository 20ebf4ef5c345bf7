"""Scenario files of kind `tilting-table`."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from trundle.scenarios.problems import Allowed
from trundle.scenarios.schema import Duration, Mass, NonNegative, ScenarioTable, Size, Table, Vector2, fault

Trials = Annotated[int, Field(ge=0, le=1000), Allowed("an integer from 0 to 1000")]
Weight = Annotated[float, Field(ge=1e-9, le=1e9), Allowed("a weight > 0, from 1e-9 to 1e9")]


class BallTable(Table):
    """The ball."""

    radius: Size = Field(default=0.02, description="m")
    mass: Mass = Field(default=0.05, description="kg")


class PlateTable(Table):
    """The table: a square that turns about its centre."""

    side: Size = Field(default=0.6, description="m; leaving it ends the run")
    friction: NonNegative = Field(default=0.5, description="coefficient, tangential over normal force")
    angular_acceleration: Weight = Field(default=30.0, description="rad/s^2, largest, about x and about y")


class ControllerTable(Table):
    """Weights of the linear-quadratic regulator."""

    period: Duration = Field(default=0.01, description="s")
    position: Weight = Field(default=100.0, description="1/m^2, of the ball's distance from the target")
    velocity: Weight = Field(default=1.0, description="s^2/rad^2, of the ball's angular velocity over the table")
    tilt: Weight = Field(default=1.0, description="1/rad^2")
    tilt_rate: Weight = Field(default=0.1, description="s^2/rad^2")
    acceleration: Weight = Field(default=1e-3, description="s^4/rad^2, of the table's angular acceleration")


class TrialsTable(Table):
    """Starts drawn with the scenario's seed, each uniform in its interval."""

    count: Trials = Field(default=0, description="number of trials")
    position: NonNegative = Field(default=0.1, description="m, largest distance from the target along x and along y")
    angular_velocity: NonNegative = Field(default=2.0, description="rad/s, largest, of the ball about x and about y")


class SimulationTable(Table):
    """How long, and what counts as held."""

    duration: Duration = Field(default=4.0, description="s")
    output_step: Duration = Field(default=0.02, description="s, between samples of the result")
    tolerance: Size = Field(default=2e-3, description="m: the target is held where the ball stays this close")


class BallBalance(ScenarioTable):
    """A scenario of kind `tilting-table`, task `balance`."""

    kind: Literal["tilting-table"]
    task: Literal["balance"]
    ball: BallTable = BallTable()
    table: PlateTable = PlateTable()
    start: Vector2 = Field(default=(0.15, -0.1), description="m, x and y on the table, at rest")
    target: Vector2 = Field(default=(0.0, 0.0), description="m, x and y on the table")
    controller: ControllerTable = ControllerTable()
    trials: TrialsTable = TrialsTable()
    simulation: SimulationTable = SimulationTable()

    @model_validator(mode="after")
    def _on_table(self) -> Self:
        for key, place in (("start", self.start), ("target", self.target)):
            if max(map(abs, place)) >= self.table.side / 2:
                raise fault(key, f"must lie on the table, each number within {self.table.side / 2:g} (m) of its centre")
        return self
