"""Scenario files of kind `tilting-table`."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from trundle.scenarios import Allowed, Duration, Mass, NonNegative, ScenarioTable, Size, Table, Vector2, fault

Trials = Annotated[int, Field(ge=0, le=1000), Allowed("an integer from 0 to 1000")]
Weight = Annotated[float, Field(ge=1e-9, le=1e9), Allowed("a number > 0, from 1e-9 to 1e9")]


class BallTable(Table):
    """The ball, and where it starts, at rest."""

    radius: Size = Field(default=0.02, description="m")
    mass: Mass = Field(default=0.05, description="kg")
    friction: NonNegative = Field(default=0.5, description="coefficient, tangential over normal force")
    position: Vector2 = Field(default=(0.15, -0.1), description="m, x and y on the table")


class ControllerTable(Table):
    """The linear-quadratic regulator: target, limit, and weights."""

    target: Vector2 = Field(default=(0.0, 0.0), description="m, x and y on the table")
    period: Duration = Field(default=0.01, description="s")
    limit: Weight = Field(default=20.0, description="rad/s^2, largest angular acceleration about x and about y")
    position: Weight = Field(default=200.0, description="1/m^2, of the ball's distance from the target")
    velocity: Weight = Field(default=25.0, description="s^2/m^2, of the ball's speed over the table")
    tilt: Weight = Field(default=1.0, description="1/rad^2")
    tilt_rate: Weight = Field(default=0.01, description="s^2/rad^2")
    acceleration: Weight = Field(default=1e-3, description="s^4/rad^2, of the table's angular acceleration")


class TrialsTable(Table):
    """Starts drawn with the scenario's seed, each number uniform in its interval."""

    count: Trials = Field(default=0, description="number of trials")
    distance: NonNegative = Field(default=0.1, description="m, largest from the target, along x and along y")
    angular_velocity: NonNegative = Field(default=2.0, description="rad/s, largest, of the ball about x and about y")


class Balance(ScenarioTable):
    """A scenario of kind `tilting-table`, task `balance`."""

    kind: Literal["tilting-table"]
    task: Literal["balance"]
    side: Size = Field(default=0.6, description="m, of the table, a square; leaving it ends the run")
    duration: Duration = Field(default=3.0, description="s")
    tolerance: Size = Field(default=2e-3, description="m: the target is held where the ball stays this close")
    ball: BallTable = BallTable()
    controller: ControllerTable = ControllerTable()
    trials: TrialsTable = TrialsTable()

    @model_validator(mode="after")
    def _on_table(self) -> Self:
        start, target = (max(map(abs, place)) for place in (self.ball.position, self.controller.target))
        farthest = {
            "ball.position": start,
            "controller.target": target,
            "trials.distance": target + self.trials.distance,
        }
        for key, reach in farthest.items():
            if reach >= self.side / 2:
                raise fault(key, f"must stay on the table, which ends {self.side / 2:g} (m) from its centre")
        return self
