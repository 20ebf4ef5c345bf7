"""Scenario files of kind `walking`, task `walk`: an optimal walk of the avatar."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from trundle.problems.gait import RANGES
from trundle.scenarios.problems import Allowed
from trundle.scenarios.schema import Array, Mass, NonNegative, ScenarioTable, Table, Text, fault

_Positive = Annotated[float, Field(gt=0, le=1e6), Allowed("a number > 0, at most 1e6")]
_Time = Annotated[float, Field(gt=0, le=10), Allowed("a time > 0, at most 10 (s)")]
_Times = Annotated[tuple[_Time, _Time], Array, Allowed("two ascending times > 0, at most 10 (s)")]
_Share = Annotated[float, Field(gt=0, lt=1), Allowed("a share between 0 and 1")]
_Shares = Annotated[tuple[_Share, _Share], Array, Allowed("two ascending shares between 0 and 1")]
_Place = Annotated[float, Field(ge=-1, le=1), Allowed("a length from -1 to 1 (m)")]
_Axis = Annotated[float, Field(ge=0.005, le=1), Allowed("a length from 0.005 to 1 (m)")]
_Degrees = Annotated[float, Field(ge=-40, le=40), Allowed("an angle from -40 to 40 (degrees)")]
_Angle = Annotated[float, Field(gt=0, le=1.5), Allowed("an angle > 0, at most 1.5 (rad)")]
_Angles = Annotated[tuple[_Angle, _Angle, _Angle], Array, Allowed("3 angles > 0, each at most 1.5 (rad)")]
_Turn = Annotated[float, Field(ge=-4, le=4), Allowed("an angle from -4 to 4 (rad)")]
_Range = Annotated[tuple[_Turn, _Turn], Array, Allowed("two ascending angles from -4 to 4 (rad)")]
_Weight = Annotated[float, Field(ge=0, le=1e6), Allowed("a number from 0 to 1e6")]
_Weights = Annotated[tuple[_Weight, _Weight], Array, Allowed("2 numbers from 0 to 1e6")]
_Count = Annotated[int, Field(ge=2, le=500), Allowed("an integer from 2 to 500")]
_Joint = Literal[
    "trunk_yaw",
    "trunk_roll",
    "trunk_pitch",
    "hip_roll",
    "hip_yaw",
    "hip_pitch",
    "knee",
    "ankle_pitch",
    "ankle_roll",
    "shoulder_pitch",
    "shoulder_roll",
    "shoulder_yaw",
    "elbow",
]
_Stand = Literal["rolling", "flat", "toe", "heel", "toe-point"]


class AvatarTable(Table):
    """Who walks: the avatar of Dumas et al. 2007."""

    sex: Literal["male", "female"] = Field(default="male", description="table of segments")
    mass: Mass | None = Field(default=None, description="kg; the table's mean if left out")
    height: Annotated[float, Field(gt=0.2, le=4), Allowed("a length above 0.2, at most 4 (m)")] | None = Field(
        default=None, description="m; the table's segments if left out"
    )
    sole: Literal["rolling", "flat"] = Field(default="rolling", description="an ellipsoid that rolls, or a flat sole")


class RollingFootShapeTable(Table):
    """An ellipsoid, axes along x (forward), y, z (up) of the ankle's frame."""

    type: Literal["ellipsoid"]
    semi_axes: Annotated[tuple[_Axis, _Axis, _Axis], Array, Allowed("3 lengths, each from 0.005 to 1 (m)")] = Field(
        description="m, along x, y, z"
    )


class RollingFootTable(Table):
    """The rolling sole in place of the avatar's own, as `trundle fit-foot` writes it."""

    shape: RollingFootShapeTable
    center: Annotated[tuple[_Place, _Place, _Place], Array, Allowed("3 lengths, each from -1 to 1 (m)")] = Field(
        description="m, of the ellipsoid, from the ankle; its lowest point is below the ankle"
    )


class WalkTable(Table):
    """What is asked of the walk."""

    speed: Annotated[float, Field(gt=0, le=5), Allowed("a speed > 0, at most 5 (m/s)")] = Field(
        default=1.2, description="m/s, mean along the ground"
    )
    slope: _Degrees = Field(default=0.0, description="degrees, > 0 uphill")
    friction: Annotated[float, Field(gt=0, le=10), Allowed("a number > 0, at most 10")] = Field(
        default=0.8, description="coefficient"
    )
    clearance: Annotated[float, Field(ge=0, le=0.5), Allowed("a length from 0 to 0.5 (m)")] = Field(
        default=0.02, description="m, of the foot at mid-swing, at least"
    )
    clearance_ends: Annotated[float, Field(ge=0, le=0.5), Allowed("a share from 0 to 0.5")] = Field(
        default=0.125, description="share of the swing at either end in which the foot need only be above the ground"
    )
    landing: _Place | None = Field(
        default=-0.09, description="m, ahead of the sole's centre, where a foot touches down; of a rolling sole"
    )
    rolling_on: _Place | None = Field(
        default=None, description="m, likewise where it bears when single support begins; free if left out"
    )


class WalkPhasesTable(Table):
    """Single and double support."""

    periodicity: Literal["mirrored", "full"] = Field(
        default="mirrored", description="of one step and its mirror image, or of two steps"
    )
    single: _Times = Field(default=(0.2, 0.8), description="s, least and largest duration of single support")
    double: _Times = Field(default=(0.075, 0.3), description="s, of double support: torques alone shrink it")
    double_share: _Shares | None = Field(default=None, description="double support over the step, least and largest")
    impacts: bool = Field(default=False, description="whether feet land with a plastic impact, otherwise at rest")
    trailing: _Stand | None = Field(default=None, description="how the foot behind stands in double support")
    leading: _Stand | None = Field(default=None, description="how the foot in front stands in double support")

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        for key in ("single", "double", "double_share"):
            bounds = getattr(self, key)
            if bounds is not None and bounds[0] > bounds[1]:
                raise fault(key, "must be ascending")
        return self


class WalkCostTable(Table):
    """Mean over time of squares: torques over their references, accelerations, ground forces, arms."""

    torques: dict[_Joint, _Positive] = Field(default={}, description="N m, references that differ from the default's")
    acceleration: NonNegative = Field(default=2e-4, description="weight of rad/s^2, m/s^2")
    force: NonNegative = Field(default=0.1, description="weight of ground forces over the weight")
    arm_swing: _Weights = Field(
        default=(0.6, 5.0), description="arms swing against legs by this share of the hips' angles: share, weight"
    )


class WalkLimitsTable(Table):
    """Bounds beside those of the avatar's joints."""

    load: Annotated[float, Field(ge=1.05, le=100), Allowed("a number from 1.05 to 100")] = Field(
        default=1.4, description="largest normal force of a foot over the weight"
    )
    pelvis: _Angles = Field(default=(0.09, 0.2, 0.09), description="rad, largest roll, pitch, yaw of the pelvis")
    joints: dict[_Joint, _Range] = Field(
        default=dict(RANGES),  # type: ignore[arg-type]
        description="rad, ranges of joints (left side) that are narrower than the avatar's",
    )

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        for name, bounds in self.joints.items():
            if bounds[0] > bounds[1]:
                raise fault(f"joints.{name}", "must be ascending")
        return self


class WalkPlanTable(Table):
    """The transcription and its start."""

    intervals: Annotated[tuple[_Count, _Count], Array, Allowed("2 integers from 2 to 500")] = Field(
        default=(16, 6), description="of single and of double support"
    )
    max_iterations: Annotated[int, Field(ge=1, le=100000), Allowed("an integer from 1 to 100000")] = Field(
        default=400, description="of the solver"
    )
    warm_from: Text | None = Field(
        default=None, description="trajectory.nc of a walk (another slope or speed) to start from"
    )
    perturbation: Annotated[float, Field(ge=0, le=1), Allowed("an angle from 0 to 1 (rad)")] = Field(
        default=0.0, description="rad, noise on the built-in guess, drawn with the seed"
    )
    steps: Annotated[int, Field(ge=2, le=200), Allowed("an integer from 2 to 200")] = Field(
        default=4, description="periods of the plan in the result"
    )


class WalkReplayTable(Table):
    """The plan tracked in the simulator, through lift-offs and touch-downs with impacts; of rolling soles."""

    steps: Annotated[int, Field(ge=0, le=1000), Allowed("an integer from 0 to 1000")] = Field(
        default=0, description="to walk in the part `replay`; 0: there is none"
    )
    period: Annotated[float, Field(ge=1e-4, le=0.05), Allowed("a time from 1e-4 to 0.05 (s)")] = Field(
        default=0.004, description="s, between two calls of the policy"
    )


class WalkingWalk(ScenarioTable):
    """A scenario of kind `walking`, task `walk`: the walk of least torques."""

    kind: Literal["walking"]
    task: Literal["walk"]
    avatar: AvatarTable = AvatarTable()
    foot: RollingFootTable | None = None
    walk: WalkTable = WalkTable()
    phases: WalkPhasesTable = WalkPhasesTable()
    cost: WalkCostTable = WalkCostTable()
    limits: WalkLimitsTable = WalkLimitsTable()
    plan: WalkPlanTable = WalkPlanTable()
    replay: WalkReplayTable = WalkReplayTable()

    @model_validator(mode="after")
    def _stands(self) -> Self:
        allowed = ("rolling",) if self.avatar.sole == "rolling" else ("flat", "toe", "heel", "toe-point")
        for key in ("trailing", "leading"):
            given = getattr(self.phases, key)
            if given is not None and given not in allowed:
                raise fault(f"phases.{key}", f"must be one of {allowed} for avatar.sole = {self.avatar.sole!r}")
        return self
