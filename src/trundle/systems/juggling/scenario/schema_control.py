"""Scenario files of kind `juggling` that are planned and controlled: tasks `transfer`, `balance` and `throw`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field

from trundle.scenarios.faults import ControlledTable
from trundle.scenarios.motions import check_samples
from trundle.scenarios.problems import Allowed
from trundle.scenarios.robots import DescriptionTable, Numbers
from trundle.scenarios.schema import Count, Duration, NonNegative, Place3, Positive, Table, Text, fault, table_of
from trundle.scenarios.schema_shapes import is_planar
from trundle.systems.juggling.arm.arm import Arm
from trundle.systems.juggling.scenario.schema import JugglingTable
from trundle.systems.juggling.scenario.schema_goals import (
    MOVING,
    CameraNoiseTable,
    CostTable,
    JugglingControllerTable,
    JugglingTrialsTable,
    LimitsTable,
    OffsetTable,
    TransferGoalTable,
    TransferPlanTable,
)
from trundle.systems.juggling.throw.shooting import Shooting
from trundle.systems.juggling.throw.throw import ThrowCatch

_PLANE = "must have y = 0: the shapes lie in the x-z plane"
_OF_PLANS = (
    *(("limits", key) for key in ("angular_velocity", "velocity", "tilt", "normal_force", "friction_margin")),
    *(("goal", key) for key in ("hand_position", "hand_rpy", "hand_angle", *MOVING)),
)
_OF_TRANSFERS = [pair for pair in _OF_PLANS if pair[0] == "goal" and pair[1] in MOVING]
_DEFAULTS = {"limits": LimitsTable(), "goal": TransferGoalTable()}


class CatchTable(Table):
    """What happens after a release in space: the hand waits level where the object lands and brings it to rest."""

    flight: Duration = Field(description="s, from the release until the object lands")
    contact_on_hand: Place3 = Field(default=(0.0, 0.0, 0.0), description="m, hand frame, where it lands and rests")
    away: Positive = Field(default=10.0, description="m/s^2, of the hand out of the object's way after the release")
    waits: Annotated[float, Field(gt=0, lt=1), Allowed("a share between 0 and 1")] = Field(
        default=0.1, description="share of the flight for which the hand already waits"
    )


class ArmTable(table_of(Arm, base=DescriptionTable)):
    """The arm that carries the hand: the ranges, rates and torques of its joints are limits of the plan."""

    link: Text = Field(description="the link that carries the hand")
    posture: Numbers = Field(
        default={}, description="rad, by joint: near it the start is looked for; left out: the middle of its range"
    )


class JugglingTransfer(JugglingTable, ControlledTable):
    """Kind `juggling`, task `transfer`: a plan from rest to rest, then its motion under a controller, and trials."""

    task: Literal["transfer"]
    goal: TransferGoalTable = TransferGoalTable()
    limits: LimitsTable = LimitsTable()
    cost: CostTable = CostTable()
    plan: TransferPlanTable = TransferPlanTable()
    controller: JugglingControllerTable = JugglingControllerTable()
    offset: OffsetTable | None = Field(
        default=None, description="start of the main run, without noise; left out: the first trial is the main run"
    )
    noise: CameraNoiseTable | None = Field(
        default=None, description="of trials; left out: the controller sees the state"
    )
    trials: JugglingTrialsTable = JugglingTrialsTable()
    catch: CatchTable | None = Field(default=None, description="after a release in space; left out: no catch")
    arm: ArmTable | None = Field(default=None, description="carries the hand, in space; left out: it moves freely")

    def _check(self) -> None:
        super()._check()
        check_goal(self)
        check_offset(self)
        longest = self.plan.duration[1] if isinstance(self.plan.duration, tuple) else self.plan.duration
        check_samples(longest, min(self.simulation.output_step, longest), "simulation.", "plan.duration")
        posed = self.goal.contact_on_hand is not None and self.goal.object_quaternion is not None
        if self.plan.printed and (self.goal.moving or not posed or isinstance(self.plan.duration, tuple)):
            raise fault("plan.printed", "must be false, or in space to a given pose at rest in a fixed time")
        if self.arm is not None:
            given = (("plan.printed", self.plan.printed), ("controller.replan", self.controller.replan))
            for key in (key for key, value in (*given, ("catch", self.catch)) if value):
                raise fault(key, "must be left out where an arm carries the hand")
        if self.goal.moving and self.controller.hold and self.catch is None:
            raise fault("controller.hold", "must be 0: nothing is held where the goal is not at rest")
        if self.catch is not None and (
            self.planar or not self.goal.release or not self.controller.hold or self.offset is not None
        ):
            text = "must be left out, or in space with goal.release = true, controller.hold > 0 and no [offset]"
            raise fault("catch", text)
        if self.catch is not None and self.contact.on_separation != "fly":
            raise fault("contact.on_separation", "must be 'fly', where there is a [catch]")


class JugglingBalance(JugglingTable, ControlledTable):
    """Kind `juggling`, task `balance`: a regulator about an equilibrium, compared with the hand at rest."""

    task: Literal["balance"]
    goal: TransferGoalTable = TransferGoalTable()
    limits: LimitsTable = LimitsTable()
    controller: JugglingControllerTable = JugglingControllerTable()
    noise: CameraNoiseTable | None = Field(default=None, description="left out: the controller sees the state")
    trials: JugglingTrialsTable = JugglingTrialsTable()

    def _check(self) -> None:
        super()._check()
        check_goal(self)
        _check_left_out(self, _OF_PLANS)


THROW = ("carry", "flight", "retreat", "turn", "slip", "ramp")


class ThrowTable(table_of(Shooting, ["time_limit"], base=table_of(ThrowCatch, THROW))):
    """Search for throw and catch: ranges of their durations, tolerances, and time limit."""

    reach: Positive = Field(default=0.45, description="rad from the goal angle at which the regulator takes over")
    energy_tolerance: Positive = Field(default=5e-3, description="of the energy after the catch, relative to the lift")
    place_tolerance: Positive = Field(default=5e-3, description="m, tolerance of the contact's place at the goal angle")
    wanted: Annotated[Count, Field(ge=1, le=100), Allowed("an integer from 1 to 100")] = Field(
        default=1, description="number of motions to find, of which the cheapest is taken"
    )


class CatchErrorsTable(Table):
    """Errors of the catch in trials: the four corners first, then uniform between them, drawn with the seed."""

    angle: NonNegative = Field(default=0.0, description="rad")
    rate: NonNegative = Field(default=0.0, description="rad/s")
    count: Annotated[Count, Field(ge=0, le=1000), Allowed("an integer from 0 to 1000")] = Field(
        default=12, description="trials"
    )


class JugglingThrow(JugglingTable, ControlledTable):
    """Kind `juggling`, task `throw`: a throw and a catch of a planar object, and balance afterwards, with trials."""

    task: Literal["throw"]
    goal: TransferGoalTable
    limits: LimitsTable = LimitsTable()
    throw: ThrowTable = ThrowTable()
    controller: JugglingControllerTable = JugglingControllerTable()
    noise: CameraNoiseTable | None = Field(default=None, description="left out: the controller sees the state")
    catch_errors: CatchErrorsTable = CatchErrorsTable()

    def _check(self) -> None:
        if not (is_planar(self.object.shape) and self.planar):
            text = "must lie in the plane, as hand.shape must: this task plans throws there"
            raise fault("object.shape", f"{text}; in space, task 'transfer' has goal.release and [catch]")
        super()._check()
        check_goal(self)
        _check_left_out(self, _OF_TRANSFERS)
        if self.goal.object_angle is None:
            raise fault("goal.object_angle", "must be given: the angle at which the object is balanced (rad)")


def _check_left_out(scenario: JugglingBalance | JugglingThrow, keys: Iterable[tuple[str, str]]) -> None:
    for table, key in keys:
        given, default = (getattr(each, key) for each in (getattr(scenario, table), _DEFAULTS[table]))
        if given != default:
            raise fault(f"{table}.{key}", "must be left out: only plans of task 'transfer' know it")


Controlled = JugglingTransfer | JugglingBalance | JugglingThrow
"""Scenarios with a goal and a controller."""


def check_goal(scenario: Controlled) -> None:
    """Raise the validator's error where a key of [goal] belongs to the other dimension, or a camera is too fast."""
    noise, period = scenario.noise, scenario.controller.period
    if noise is not None and noise.camera_period < period:
        raise fault("noise.camera_period", f"must be at least controller.period = {period:g} (s)")
    goal, planar = scenario.goal, scenario.planar
    for key in ("object_angular_velocity", "relative_angular_velocity"):
        value = getattr(goal, key)
        if value is not None and isinstance(value, tuple) == planar:
            wanted = "one number, counter-clockwise" if planar else "3 numbers"
            raise fault(f"goal.{key}", f"must be {wanted} (rad/s)")
    if planar and scenario.controller.rolled == "rotation" and scenario.controller.integral.contact:
        raise fault("controller.integral.contact", "must be 0 where controller.rolled = 'rotation': it is tied to that")
    where, other = ("the plane", "an angle") if planar else ("space", "a quaternion or rpy")
    for key in ("object_quaternion", "hand_rpy") if planar else ("object_angle", "hand_angle"):
        if getattr(goal, key) is not None:
            raise fault(f"goal.{key}", f"must be left out in {where}, where {other} is given")
    for key in ("contact_on_hand", "hand_position", "object_velocity"):
        vector = getattr(goal, key)
        if planar and isinstance(vector, tuple) and vector[1]:
            raise fault(f"goal.{key}", _PLANE)


def check_offset(scenario: JugglingTransfer) -> None:
    """Raise the validator's error where a key of [offset] belongs to the other dimension."""
    offset, planar = scenario.offset, scenario.planar
    if offset is None:
        return
    if planar and any(offset.rotation):
        raise fault("offset.rotation", "must be left out in the plane, where angle is given")
    if planar and offset.contact[1]:
        raise fault("offset.contact", _PLANE)
    if not planar and offset.angle:
        raise fault("offset.angle", "must be left out in space, where rotation is given")
