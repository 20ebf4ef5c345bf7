"""Scenario files of kind `wallbounce`: a robot that balances on a ball and pushes walls with its hands."""

from __future__ import annotations

from operator import le
from typing import Annotated, Literal

from pydantic import Field

from trundle.contact.soft import SoftLaw
from trundle.parameters import parameters_of
from trundle.scenarios.faults import ControlledTable
from trundle.scenarios.problems import Allowed
from trundle.scenarios.schema import (
    Array,
    Delay,
    Duration,
    Factor,
    Fraction,
    NonNegative,
    Place3,
    Positive,
    Real,
    ScenarioTable,
    Seconds,
    Size,
    Sizes3,
    Table,
    Vector2,
    Vector3,
    check_multiples,
    fault,
    require_order,
    table_of,
)
from trundle.systems.wallbounce.control.costs import BalancerWeights
from trundle.systems.wallbounce.control.level import BalancerLevel
from trundle.systems.wallbounce.control.low_level import LowLevelGains
from trundle.systems.wallbounce.control.observer import ObserverRules
from trundle.systems.wallbounce.control.reference import PathRules
from trundle.systems.wallbounce.control.schedule import ScheduleRules
from trundle.systems.wallbounce.control.two_level import Timing
from trundle.systems.wallbounce.plant import BalancerPlant
from trundle.systems.wallbounce.robot import BallBalancer

Range = Annotated[tuple[Real, Real], Array, require_order(le), Allowed("2 numbers, the smaller first")]
Reach2 = Annotated[tuple[NonNegative, NonNegative], Array, Allowed("2 numbers from 0 to 1e12 (m)")]
Times = Annotated[tuple[Duration, Duration], Array, require_order(le), Allowed("2 times > 0, the smaller first (s)")]
Iterations = Annotated[int, Field(ge=1, le=1000), Allowed("an integer from 1 to 1000")]
Trials = Annotated[int, Field(ge=1, le=1000), Allowed("an integer from 1 to 1000")]


_ROBOT = [one.name for one in parameters_of(BallBalancer) if one.name != "gravity"]
_WEIGHTS = [one.name for one in parameters_of(BalancerWeights) if not one.name.startswith("contact_")]


class BalancerTable(table_of(BallBalancer, _ROBOT)):
    """What the controller believes of the robot."""


class BalancerPlantTable(table_of(BalancerPlant)):
    """What is true of the simulated robot; all that is not here is as in [robot]."""

    drive_limit: Positive = Field(default=60.0, description="N, largest force of the drive, each component")
    yaw_limit: NonNegative = Field(default=5.0, description="N m")
    mass: Factor = Field(default=1.0, description="true mass over that of [robot]")
    inertia: Factor = Field(default=1.0, description="true inertia over that of [robot]")
    com: Vector3 = Field(default=(0.0, 0.0, 0.0), description="m, true centre of mass minus that of [robot]")


class WallTable(Table):
    """A plane that may be touched."""

    point: Place3 = Field(description="m, on the wall")
    normal: Vector3 = Field(description="out of the wall, any length")


class DiscObstacleTable(Table):
    """A box on the way, there from the start or appearing."""

    half_size: Sizes3 = Field(default=(0.12, 0.12, 0.5), description="m")
    appears: NonNegative = Field(default=0.0, description="s")
    position: Vector2 | None = Field(default=None, description="m, of its centre; left out: by ahead and aside")
    ahead: Range = Field(default=(1.25, 1.35), description="m, of its centre from the ball's then, drawn evenly")
    aside: Range = Field(default=(0.0, 0.0), description="m, of its centre to the left of the way, drawn evenly")
    side: Literal["either", "left", "right"] = Field(default="either", description="on which the path passes")
    margin: NonNegative = Field(default=0.12, description="m, added to box and torso for what plans keep out of")
    hand_margin: NonNegative = Field(default=0.03, description="m, added to box and hand for what hands keep out of")


class LawTable(table_of(SoftLaw, defaults={"largest": 100.0, "width": 0.01, "offset": 0.03})):
    """Soft force of plans: largest / (1 + exp((distance + offset) / width))."""


class RulesTable(table_of(ScheduleRules, defaults={"keep_end": True})):
    """When a planned force is a contact of the schedule."""


class WeightsTable(
    table_of(
        BalancerWeights,
        _WEIGHTS,
        defaults={"position": 120.0, "joints": 1.0, "angular": 1.0, "force": 0.045, "torso": 20.0},
    )
):
    """Weights of the plans' costs; see `trundle.systems.wallbounce.control.costs.BalancerWeights`."""


class LowLevelGainsTable(table_of(LowLevelGains)):
    """Gains of the low level; see `trundle.systems.wallbounce.control.low_level.LowLevelGains`."""


class ObserverTable(table_of(ObserverRules)):
    """The observer of pushes."""


class PlanTimingTable(table_of(Timing)):
    """Periods of the levels, and after what time a plan may be used."""


class PathTable(table_of(PathRules)):
    """The reference path."""


class BalancerControllerTable(table_of(BalancerLevel, ["stages", "step"])):
    """Two levels of predictive control over a low level."""

    levels: Literal["two-level", "implicit-only", "drive-only"] = Field(
        default="two-level", description="drive-only: plans whose hands find no force"
    )
    iterations: Iterations = Field(default=15, description="of a contact-implicit update, at most")
    event_iterations: Iterations = Field(default=15, description="for each law of the homotopy at an event")
    hybrid_iterations: Iterations = Field(default=5, description="of a hybrid update")
    event_momentum: Positive = Field(default=2.0, description="N s, departure from the plan that is an event")
    torso_margins: Reach2 = Field(default=(0.20, 0.18), description="m, of ball and torso at 1.05 m from walls")
    torso_range: Size = Field(default=0.12, description="m beyond the margins, where walls and obstacles are not felt")
    ready: NonNegative = Field(
        default=0.07, description="m, of the hands of a robot that stands from walls within reach; 0: arms at rest"
    )
    law: LawTable = Field(default_factory=LawTable)
    rules: RulesTable = Field(default_factory=RulesTable)
    weights: WeightsTable = Field(default_factory=WeightsTable)
    gains: LowLevelGainsTable = Field(default_factory=LowLevelGainsTable)
    observer: ObserverTable = Field(default_factory=ObserverTable)
    timing: PlanTimingTable = Field(default_factory=PlanTimingTable)


class BalancerNoiseTable(Table):
    """Standard deviations of the measurements, their age, and how many are lost."""

    position: NonNegative = Field(default=0.0, description="m")
    angle: NonNegative = Field(default=0.0, description="rad, of the body")
    joint: NonNegative = Field(default=0.0, description="rad, of the arms' joints")
    velocity: NonNegative = Field(default=0.0, description="m/s")
    angular_velocity: NonNegative = Field(default=0.0, description="rad/s, of the body")
    joint_rate: NonNegative = Field(default=0.0, description="rad/s")
    force: NonNegative = Field(default=0.0, description="N, on the hands")
    delay: Delay = Field(default=0.0, description="s")
    lost: Fraction = Field(default=0.0, description="share of measurements that are not a number: the last one counts")


PUSH = ("impulse", "length", "heading", "height", "start")
"""What a push is drawn of, each from a range of `BalancerPushesTable`."""
START = ("start_heading", "start_ahead", "start_aside")
"""What a start is drawn of beside its speed, each from a range of `TripsTable`."""


class BalancerPushesTable(Table):
    """Pushes, one a trial, drawn evenly with the scenario's seed."""

    count: Trials = Field(default=20, description="of trials")
    record: Trials = Field(default=1, description="number of the trial that becomes the trajectory, at most count")
    start: Times = Field(default=(0.5, 0.5), description="s")
    impulse: Range = Field(default=(18.0, 32.0), description="N s")
    length: Times = Field(default=(0.15, 0.35), description="s")
    heading: Range = Field(default=(-0.6109, 0.6109), description="rad, from the x axis")
    height: Range = Field(default=(0.3, 0.7), description="m, above the ball's centre")
    survivable: NonNegative | None = Field(
        default=None, description="most of an impulse over what the drive alone survives; left out: as drawn"
    )


class TripsTable(Table):
    """Trips, one a trial."""

    count: Trials = Field(default=10, description="of trials")
    record: Trials = Field(default=1, description="number of the trial that becomes the trajectory, at most count")
    start_speed: Range = Field(default=(0.0, 0.0), description="m/s, at the start, drawn evenly")
    start_heading: Range = Field(default=(0.0, 0.0), description="rad, of the start's speed to the left of forward")
    start_ahead: Range = Field(default=(0.0, 0.0), description="m, of the start forward of the origin")
    start_aside: Range = Field(default=(0.0, 0.0), description="m, of the start to the left of the origin")


class PlaceGoalTable(Table):
    """Where to go."""

    position: Vector2 = Field(default=(0.0, 0.0), description="m")
    turn_at: Duration | None = Field(default=None, description="s, the goal moves aside then; left out: never")
    turn_ahead: Real = Field(default=0.0, description="m, of the new goal forward of the ball at that time")
    turn_aside: Real = Field(default=0.0, description="m, of the new goal to the left of the old way")


class BalancerSimulationTable(Table):
    """Length of each trial, and what is written."""

    gravity: NonNegative = Field(default=9.81, description="m/s^2, downward")
    duration: Seconds = Field(default=4.0, description="s")
    output_step: Seconds = Field(default=0.01, description="s")


class WallbounceTable(ScenarioTable, ControlledTable):
    """What both tasks share."""

    kind: Literal["wallbounce"]
    robot: BalancerTable = Field(default_factory=BalancerTable)
    plant: BalancerPlantTable = Field(default_factory=BalancerPlantTable)
    walls: Annotated[tuple[WallTable, ...], Array, Field(max_length=4), Allowed("at most 4 tables [[walls]]")] = ()
    controller: BalancerControllerTable = Field(default_factory=BalancerControllerTable)
    noise: BalancerNoiseTable = Field(default_factory=BalancerNoiseTable)
    simulation: BalancerSimulationTable = Field(default_factory=BalancerSimulationTable)

    def _check(self) -> None:
        times = {"simulation.output_step": self.simulation.output_step, "noise.delay": self.noise.delay}
        check_multiples(self.plant.step, {"controller.timing.low": self.controller.timing.low} | times)


class WallbounceRecover(WallbounceTable):
    """The robot stands and is pushed."""

    task: Literal["recover"]
    trials: BalancerPushesTable = Field(default_factory=BalancerPushesTable)


class WallbounceNavigate(WallbounceTable):
    """The robot goes somewhere: round a box that appears, or round a corner."""

    task: Literal["navigate"]
    goal: PlaceGoalTable = Field(default_factory=PlaceGoalTable)
    path: PathTable = Field(default_factory=PathTable)
    obstacles: Annotated[
        tuple[DiscObstacleTable, ...], Array, Field(max_length=8), Allowed("at most 8 tables [[obstacles]]")
    ] = ()
    trials: TripsTable = Field(default_factory=TripsTable)

    def _check(self) -> None:
        super()._check()
        for i, table in enumerate(self.obstacles):
            for key in ("ahead", "aside"):
                if table.position is not None and key in table.model_fields_set:
                    raise fault(f"obstacles[{i}].{key}", "must be left out where position is given")
        if self.goal.position == (0.0, 0.0):
            raise fault("goal.position", "must differ from the start, the origin")


Tables = WallbounceRecover | WallbounceNavigate
