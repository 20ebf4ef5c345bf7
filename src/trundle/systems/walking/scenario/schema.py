"""Scenario files of kind `walking`, task `walk`: an optimal walk of the avatar, or of a robot from a URDF."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from trundle.scenarios.faults import ControlledTable
from trundle.scenarios.problems import Allowed
from trundle.scenarios.schema import Array, DataFile, Mass, ScenarioTable, Table, Text, fault, table_of
from trundle.scenarios.schema_shapes import EllipsoidTable, RegisteredTable, SphereTable, SuperellipsoidTable
from trundle.systems.walking.gait.gait import Gait
from trundle.systems.walking.robots.avatar_feet import Toes
from trundle.systems.walking.scenario.legged.schema import GaitTable, LeggedTable
from trundle.systems.walking.scenario.schema_robot import FootName, SurfaceTable
from trundle.systems.walking.scenario.schema_robot import RobotFootTable as RobotFootTable

_Positive = Annotated[float, Field(gt=0, le=1e6), Allowed("a number > 0, at most 1e6")]
_Place = Annotated[float, Field(ge=-1, le=1), Allowed("a length from -1 to 1 (m)")]
_Degrees = Annotated[float, Field(ge=-40, le=40), Allowed("an angle from -40 to 40 (degrees)")]
_Turn = Annotated[float, Field(ge=-4, le=4), Allowed("an angle from -4 to 4 (rad)")]
_Range = Annotated[tuple[_Turn, _Turn], Array, Allowed("two ascending angles from -4 to 4 (rad)")]
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
    "toe",
    "shoulder_pitch",
    "shoulder_roll",
    "shoulder_yaw",
    "elbow",
]
_Sole = Annotated[EllipsoidTable | SuperellipsoidTable | SphereTable | RegisteredTable, Field(discriminator="type")]
_Stand = Literal["rolling", "flat", "toe", "heel", "toe-point"]


class AvatarTable(table_of(Gait, ["sole", "stretch"])):
    """The walker: the avatar of Dumas et al. 2007."""

    sex: Literal["male", "female"] = Field(default="male", description="table of segments")
    mass: Mass | None = Field(default=None, description="kg; the table's mean if left out")
    height: Annotated[float, Field(gt=0.2, le=4), Allowed("a length above 0.2, at most 4 (m)")] | None = Field(
        default=None, description="m; the table's segments if left out"
    )


_Center = Annotated[tuple[_Place, _Place, _Place], Array, Allowed("3 lengths, each from -1 to 1 (m)")]


class RollingFootTable(Table):
    """The rolling sole in place of the avatar's own, as `trundle fit-foot` writes it."""

    shape: _Sole = Field(description="axes along x (forward), y, z (up) of the ankle's frame")
    center: _Center = Field(description="m, of the shape, from the ankle; its lowest point is below the ankle")


_TOES = ["center", "joint", "mass", "stiffness", "damping", "torque"]


class ToeTable(table_of(Toes, _TOES, narrower={"center": _Center, "joint": _Center})):
    """Toes on a hinge across the foot, with a rolling sole of their own; the foot's is then that behind them."""

    shape: _Sole = Field(description="of the toes' sole, axes as the foot's")


class AvatarFootTable(RollingFootTable):
    """The rolling soles of a foot of one segment or two."""

    toe: ToeTable | None = Field(default=None, description="of both feet; left out: a foot of one piece")


WALK = ("speed", "friction", "clearance", "clearance_ends", "landing", "rolling_on")
PHASES = ("periodicity", "single", "double", "double_share", "impacts", "trailing", "leading")
Friction = Annotated[float, Field(gt=0, le=10), Allowed("a number > 0, at most 10")]


class WalkTable(table_of(Gait, WALK, narrower={"friction": Friction})):
    """Properties that the walk must have."""

    slope: _Degrees = Field(default=0.0, description="degrees, > 0 uphill")


class WalkPhasesTable(table_of(Gait, PHASES, narrower={"trailing": _Stand, "leading": _Stand})):
    """Single and double support."""


class WalkCostTable(table_of(Gait, ["acceleration", "force", "arm_swing"])):
    """Cost: time averages of squares of torques over their references, accelerations, ground forces, arm swing."""

    torques: dict[_Joint, _Positive] = Field(default={}, description="N m, references other than the default ones")


class WalkLimitsTable(
    table_of(Gait, {"load": "load", "pelvis": "pelvis", "joints": "ranges"}, narrower={"joints": dict[_Joint, _Range]})
):
    """Bounds in addition to those of the avatar's joints."""

    def _check(self) -> None:
        for name, bounds in self.joints.items():
            if bounds[0] > bounds[1]:
                raise fault(f"joints.{name}", "must be ascending")


class SolverTable(table_of(Gait, ["intervals"])):
    """The transcription and the solver's limit."""

    max_iterations: Annotated[int, Field(ge=1, le=100000), Allowed("an integer from 1 to 100000")] = Field(
        default=400, description="of the solver"
    )
    steps: Annotated[int, Field(ge=2, le=200), Allowed("an integer from 2 to 200")] = Field(
        default=4, description="periods of the plan in the result"
    )


class WalkPlanTable(SolverTable):
    """The transcription, the solver's limit, and the initial guess."""

    warm_from: Annotated[Text | None, DataFile("walk")] = Field(
        default=None, description="trajectory.nc of a walk (another slope or speed) to start from"
    )
    perturbation: Annotated[float, Field(ge=0, le=1), Allowed("an angle from 0 to 1 (rad)")] = Field(
        default=0.0, description="rad, noise on the built-in guess, drawn with the seed"
    )


class WalkReplayTable(Table):
    """Tracking of the plan in the simulator, with lift-offs and with impacts at touch-down; for rolling soles only."""

    steps: Annotated[int, Field(ge=0, le=1000), Allowed("an integer from 0 to 1000")] = Field(
        default=0, description="number of steps in the part `replay`; 0: no such part"
    )
    period: Annotated[float, Field(ge=1e-4, le=0.05), Allowed("a time from 1e-4 to 0.05 (s)")] = Field(
        default=0.004, description="s, between two calls of the policy"
    )
    mujoco: Annotated[int, Field(ge=0, le=1000), Allowed("an integer from 0 to 1000")] = Field(
        default=0, description="number of steps of a robot from a URDF in MuJoCo, with the same policy at 1 kHz"
    )


_OF_AVATAR = ("avatar", "foot", "right_foot", "walk", "phases", "cost", "limits")
_OF_ROBOT = ("feet", "gait", "ground")


class WalkingWalk(ScenarioTable, ControlledTable):
    """A scenario of kind `walking`, task `walk`: the walk of least torques, of the avatar or of a robot with feet."""

    kind: Literal["walking"]
    task: Literal["walk"]
    robot: LeggedTable | None = None
    feet: Annotated[dict[FootName, RobotFootTable], Allowed("2 to 16 [feet.NAME]")] = Field(default={}, max_length=16)
    gait: GaitTable = GaitTable()
    ground: SurfaceTable | None = None
    avatar: AvatarTable = AvatarTable()
    foot: AvatarFootTable | None = None
    right_foot: RollingFootTable | None = None
    walk: WalkTable = WalkTable()
    phases: WalkPhasesTable = WalkPhasesTable()
    cost: WalkCostTable = WalkCostTable()
    limits: WalkLimitsTable = WalkLimitsTable()
    plan: WalkPlanTable = WalkPlanTable()
    replay: WalkReplayTable = WalkReplayTable()

    def _check(self) -> None:
        for key in _OF_ROBOT if self.robot is None else _OF_AVATAR:
            if getattr(self, key) != type(self).model_fields[key].get_default():
                raise fault(key, "must be left out with [robot]" if self.robot else "must be left out without [robot]")
        if self.robot is not None and self.plan.warm_from is not None:
            raise fault("plan.warm_from", "must be left out with [robot]")
        if self.replay.mujoco and (self.robot is None or self.ground is not None):
            raise fault("replay.mujoco", "must be left out without [robot] and with [ground]")
        if self.robot is not None and len(self.feet) < 2:
            raise fault("feet", "must be 2 to 16 tables [feet.NAME]")
        allowed = ("rolling",) if self.avatar.sole == "rolling" else ("flat", "toe", "heel", "toe-point")
        for key in ("trailing", "leading"):
            given = getattr(self.phases, key)
            if given is not None and given not in allowed:
                raise fault(f"phases.{key}", f"must be one of {allowed} for avatar.sole = {self.avatar.sole!r}")
