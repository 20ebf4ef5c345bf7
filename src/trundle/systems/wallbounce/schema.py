"""Scenario files of kind `wallbounce`: a robot that balances on a ball and pushes walls with its hands."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from trundle.scenarios.problems import Allowed
from trundle.scenarios.schema import (
    Array,
    Duration,
    Mass,
    NonNegative,
    Place3,
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
)
from trundle.systems.planar.schema_control import Factor, Period, Positive

Moments = Annotated[tuple[Positive, Positive, Positive], Array, Allowed("3 numbers > 0, each at most 1e12 (kg m^2)")]
Masses2 = Annotated[tuple[Mass, Mass], Array, Allowed("2 masses > 0, each from 1e-9 to 1e9 (kg)")]
Range = Annotated[tuple[Real, Real], Array, Allowed("2 numbers, the smaller first")]
Reach2 = Annotated[tuple[NonNegative, NonNegative], Array, Allowed("2 numbers from 0 to 1e12 (m)")]
Iterations = Annotated[int, Field(ge=1, le=1000), Allowed("an integer from 1 to 1000")]
Stages = Annotated[int, Field(ge=2, le=200), Allowed("an integer from 2 to 200")]
Trials = Annotated[int, Field(ge=1, le=1000), Allowed("an integer from 1 to 1000")]
Portion = Annotated[float, Field(ge=0, le=1), Allowed("a number from 0 to 1")]
Delay = Annotated[float, Field(ge=0, le=1.0), Allowed("a time from 0 to 1 (s)")]


class RobotTable(Table):
    """What the controller believes of the robot."""

    mass: Mass = Field(default=25.0, description="kg, without the ball")
    ball_mass: Mass = Field(default=2.4, description="kg")
    ball_radius: Size = Field(default=0.106, description="m")
    ball_inertia: Positive = Field(default=0.0174, description="kg m^2")
    com: Vector3 = Field(default=(0.0, 0.0, 0.45), description="m, centre of mass from the ball's centre, body axes")
    inertia: Moments = Field(default=(2.0, 2.0, 0.3), description="kg m^2, about the centre of mass")
    floor_friction: NonNegative = Field(default=0.6, description="coefficient of friction the plans may use")
    hand_friction: NonNegative = Field(default=0.6, description="coefficient of friction the plans may use")
    drive_limit: Positive = Field(default=40.0, description="N, of the drive on the floor, each component, in plans")
    yaw_limit: NonNegative = Field(default=5.0, description="N m, in plans")
    joint_rate_limit: Positive = Field(default=4.0, description="rad/s, in plans")
    shoulder: Vector3 = Field(default=(0.0, 0.18, 0.8), description="m, of the left arm, body axes")
    upper_arm: Size = Field(default=0.25, description="m")
    forearm: Size = Field(default=0.25, description="m")
    hand_radius: Size = Field(default=0.03, description="m")
    joint_lower: Vector3 = Field(default=(-0.3, -1.0, 0.0), description="rad: abduction, flexion, elbow")
    joint_upper: Vector3 = Field(default=(1.9, 2.2, 2.4), description="rad")
    joint_rest: Vector3 = Field(default=(0.35, 0.15, 1.3), description="rad")
    height: Size = Field(default=1.2, description="m, above the floor")
    form: Literal["exact", "simplified"] = Field(default="exact", description="of the model's dynamics")


class PlantTable(Table):
    """What is true of the simulated robot; all that is not here is as in [robot]."""

    drive_limit: Positive = Field(default=60.0, description="N, largest force of the drive, each component")
    yaw_limit: NonNegative = Field(default=5.0, description="N m")
    torque_limit: Positive = Field(default=40.0, description="N m, of the arms' joints")
    arm_masses: Masses2 = Field(default=(0.8, 0.6), description="kg, upper arm and forearm")
    armature: NonNegative = Field(default=0.01, description="kg m^2, of the joints' drives")
    torso_radius: Size = Field(default=0.14, description="m, of the cylinder that collides")
    hand_friction: NonNegative = Field(default=0.8, description="coefficient of friction")
    floor_friction: NonNegative = Field(default=1.2, description="coefficient of friction")
    torsional_friction: NonNegative = Field(default=0.02, description="m, of the floor")
    mass: Factor = Field(default=1.0, description="true mass over that of [robot]")
    inertia: Factor = Field(default=1.0, description="true inertia over that of [robot]")
    com: Vector3 = Field(default=(0.0, 0.0, 0.0), description="m, true centre of mass minus that of [robot]")
    step: Period = Field(default=0.001, description="s")


class WallTable(Table):
    """A plane that may be touched."""

    point: Place3 = Field(description="m, on the wall")
    normal: Vector3 = Field(description="out of the wall, any length")


class BoxTable(Table):
    """A box that appears on the way."""

    half_size: Sizes3 = Field(default=(0.12, 0.12, 0.5), description="m")
    appears: Duration = Field(default=1.0, description="s")
    ahead: Range = Field(default=(1.25, 1.35), description="m, of its centre from the ball's then, drawn evenly")
    aside: Range = Field(default=(0.0, 0.0), description="m, of its centre to the left of the way, drawn evenly")
    pass_on: Literal["left", "right"] = Field(default="right", description="side on which the reference passes")
    margin: NonNegative = Field(default=0.12, description="m, added to box and torso for the disc plans keep out of")
    hand_margin: NonNegative | None = Field(
        default=None, description="m, added to box and hand for the disc hands keep out of; left out: of none"
    )


class LawTable(Table):
    """Soft force of plans: largest / (1 + exp((distance + offset) / width))."""

    largest: Positive = Field(default=60.0, description="N")
    width: Size = Field(default=0.02, description="m")
    offset: NonNegative = Field(default=0.02, description="m")


class RulesTable(Table):
    """When a planned force is a contact of the schedule."""

    on: NonNegative = Field(default=3.0, description="N, a contact begins above it")
    off: NonNegative = Field(default=1.2, description="N, it ends below")
    near: NonNegative = Field(default=0.02, description="m, it begins only within this distance")
    far: NonNegative = Field(default=0.04, description="m, it ends beyond")
    shortest: NonNegative = Field(default=0.12, description="s, shorter ones are dropped")
    credit: bool = Field(default=True, description="a contact that lasts counts with the time it has lasted")
    horizon: bool = Field(default=True, description="a contact that reaches the plan's end is kept however short")
    keep_end: bool = Field(default=False, description="a contact that lasts ends no later than planned when it began")


class WeightsTable(Table):
    """Weights of the plans' costs; see `trundle.systems.wallbounce.control.costs.BalancerWeights`."""

    position: NonNegative = Field(default=40.0, description="1/m^2")
    yaw: NonNegative = Field(default=20.0, description="1/rad^2")
    lean: NonNegative = Field(default=20.0, description="1/rad^2")
    joints: NonNegative = Field(default=1.0, description="1/rad^2")
    linear: NonNegative = Field(default=0.02, description="1/(N s)^2")
    angular: NonNegative = Field(default=1.0, description="1/(N m s)^2")
    drive: NonNegative = Field(default=0.004, description="1/N^2")
    yaw_torque: NonNegative = Field(default=0.05, description="1/(N m)^2")
    joint_rates: NonNegative = Field(default=0.05, description="1/(rad/s)^2")
    direction: NonNegative = Field(default=1.0, description="of the tangential share of soft forces")
    force: NonNegative = Field(default=0.02, description="1/N^2")
    slip: NonNegative = Field(default=20.0, description="1/(m/s)^2")
    landing: NonNegative = Field(default=6.0, description="1/(m/s)^2")
    limits: NonNegative = Field(default=0.3, description="barriers of inputs, joints and floor")
    outside: NonNegative = Field(default=0.1, description="barrier of the hands' distance from walls")
    torso: NonNegative = Field(default=2.0, description="barrier of the torso's distance from walls")
    disc: NonNegative = Field(default=4.0, description="barrier of the ball's distance from an obstacle")
    disc_top: NonNegative = Field(default=8.0, description="barrier of the torso's top from an obstacle")
    disc_hands: NonNegative = Field(default=2.0, description="barrier of the hands' distance from an obstacle")
    end: NonNegative = Field(default=0.9, description="the last stage's weights over those of a stage")


class GainsTable(Table):
    """Gains of the low level; see `trundle.systems.wallbounce.control.low_level.LowLevelGains`."""

    tilt: NonNegative = Field(default=1000.0, description="N/rad")
    tilt_rate: NonNegative = Field(default=110.0, description="N s/rad")
    position: NonNegative = Field(default=0.15, description="rad/m")
    velocity: NonNegative = Field(default=0.25, description="rad s/m")
    integral: NonNegative = Field(default=0.05, description="rad/(m s)")
    lean: NonNegative = Field(default=0.08, description="rad, most lean asked for by these three")
    yaw: NonNegative = Field(default=60.0, description="N m/rad")
    yaw_rate: NonNegative = Field(default=8.0, description="N m s/rad")
    hand: NonNegative = Field(default=400.0, description="N/m")
    hand_rate: NonNegative = Field(default=40.0, description="N s/m")
    joint: NonNegative = Field(default=2.0, description="N m/rad")
    joint_rate: NonNegative = Field(default=0.3, description="N m s/rad")


class TimingTable(Table):
    """Periods of the levels, and after what time a plan may be used."""

    implicit: Period = Field(default=0.025, description="s, period of contact-implicit plans")
    hybrid: Period = Field(default=0.01, description="s, period of hybrid plans")
    low: Period = Field(default=0.001, description="s, period of the low level")
    implicit_time: Delay = Field(default=0.011, description="s, a contact-implicit plan takes")
    event_time: Delay = Field(default=0.020, description="s, more at an event")
    hybrid_time: Delay = Field(default=0.005, description="s, a hybrid plan takes")
    measured: bool = Field(default=False, description="the time really taken instead; runs then differ")


class BalancerControllerTable(Table):
    """Two levels of predictive control over a low level."""

    levels: Literal["two-level", "implicit-only", "drive-only"] = Field(
        default="two-level", description="drive-only: plans whose hands find no force"
    )
    stages: Stages = Field(default=25, description="of a plan")
    step: Period = Field(default=0.04, description="s, of a stage")
    iterations: Iterations = Field(default=15, description="of a contact-implicit update, at most")
    event_iterations: Iterations = Field(default=15, description="for each law of the homotopy at an event")
    hybrid_iterations: Iterations = Field(default=5, description="of a hybrid update")
    event_momentum: Positive = Field(default=4.0, description="N s, departure from the plan that is an event")
    torso_margins: Reach2 = Field(default=(0.20, 0.18), description="m, of ball and torso at 1.05 m from walls")
    torso_range: Size | None = Field(
        default=None, description="m beyond the margins, where walls and obstacles are not felt; left out: no end"
    )
    law: LawTable = Field(default_factory=LawTable)
    rules: RulesTable = Field(default_factory=RulesTable)
    weights: WeightsTable = Field(default_factory=WeightsTable)
    gains: GainsTable = Field(default_factory=GainsTable)
    timing: TimingTable = Field(default_factory=TimingTable)


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
    lost: Portion = Field(default=0.0, description="share of measurements that are not a number: the last one counts")


class PushesTable(Table):
    """Pushes, one a trial, drawn evenly with the scenario's seed."""

    count: Trials = Field(default=20, description="of trials")
    record: Trials = Field(default=1, description="number of the trial that becomes the trajectory, at most count")
    start: Duration = Field(default=0.5, description="s")
    impulse: Range = Field(default=(18.0, 32.0), description="N s")
    length: Range = Field(default=(0.15, 0.35), description="s")
    heading: Range = Field(default=(-0.6109, 0.6109), description="rad, from the x axis")
    height: Range = Field(default=(0.3, 0.7), description="m, above the ball's centre")


class TripsTable(Table):
    """Trips, one a trial."""

    count: Trials = Field(default=10, description="of trials")
    record: Trials = Field(default=1, description="number of the trial that becomes the trajectory, at most count")
    start_speed: Range = Field(default=(0.0, 0.0), description="m/s, forward at the start, drawn evenly")


class GoalTable(Table):
    """Where to go."""

    position: Vector2 = Field(default=(0.0, 0.0), description="m")
    turn_at: Duration | None = Field(default=None, description="s, the goal moves aside then; left out: never")
    turn_ahead: Real = Field(default=0.0, description="m, of the new goal forward of the ball at that time")
    turn_aside: Real = Field(default=0.0, description="m, of the new goal to the left of the old way")


class PathTable(Table):
    """The reference path."""

    speed: Positive = Field(default=1.0, description="m/s, forward")
    acceleration: Positive = Field(default=1.0, description="m/s^2, forward")
    passing: Positive | None = Field(
        default=None, description="m/s, forward while a seen box lies ahead; left out: speed"
    )
    lateral_time: Positive = Field(default=0.9, description="s, of a move sideways")
    replan: Period = Field(default=0.2, description="s, between two plans of the path")
    settle: NonNegative = Field(
        default=0.0, description="m from the goal, within which the path is no longer replanned"
    )


class BalancerSimulationTable(Table):
    """Length of each trial, and what is written."""

    gravity: NonNegative = Field(default=9.81, description="m/s^2, downward")
    duration: Seconds = Field(default=4.0, description="s")
    output_step: Seconds = Field(default=0.01, description="s")


class WallbounceTable(ScenarioTable):
    """What both tasks share."""

    kind: Literal["wallbounce"]
    robot: RobotTable = Field(default_factory=RobotTable)
    plant: PlantTable = Field(default_factory=PlantTable)
    walls: Annotated[tuple[WallTable, ...], Array, Field(max_length=4), Allowed("at most 4 tables [[walls]]")] = ()
    controller: BalancerControllerTable = Field(default_factory=BalancerControllerTable)
    noise: BalancerNoiseTable = Field(default_factory=BalancerNoiseTable)
    simulation: BalancerSimulationTable = Field(default_factory=BalancerSimulationTable)

    @model_validator(mode="after")
    def _multiples(self) -> Self:
        times = {"simulation.output_step": self.simulation.output_step, "noise.delay": self.noise.delay}
        check_multiples(self.plant.step, {"controller.timing.low": self.controller.timing.low} | times)
        return self


class WallbounceRecover(WallbounceTable):
    """The robot stands and is pushed."""

    task: Literal["recover"]
    trials: PushesTable = Field(default_factory=PushesTable)

    @model_validator(mode="after")
    def _ordered(self) -> WallbounceRecover:
        for key in ("impulse", "length", "heading", "height"):
            _check_range("trials", key, getattr(self.trials, key))
        if self.trials.length[0] <= 0.0:
            raise fault("trials.length", "must be times > 0 (s)")
        return self


class WallbounceNavigate(WallbounceTable):
    """The robot goes somewhere: round a box that appears, or round a corner."""

    task: Literal["navigate"]
    goal: GoalTable = Field(default_factory=GoalTable)
    path: PathTable = Field(default_factory=PathTable)
    box: BoxTable | None = Field(default=None, description="left out: nothing stands in the way")
    trials: TripsTable = Field(default_factory=TripsTable)

    @model_validator(mode="after")
    def _ordered(self) -> WallbounceNavigate:
        _check_range("trials", "start_speed", self.trials.start_speed)
        if self.box is not None:
            _check_range("box", "ahead", self.box.ahead)
            _check_range("box", "aside", self.box.aside)
        if self.goal.position == (0.0, 0.0):
            raise fault("goal.position", "must differ from the start, the origin")
        return self


def _check_range(table: str, key: str, value: tuple[float, float]) -> None:
    if value[0] > value[1]:
        raise fault(f"{table}.{key}", "must be 2 numbers, the smaller first")


__all__ = ["WallbounceNavigate", "WallbounceRecover"]
