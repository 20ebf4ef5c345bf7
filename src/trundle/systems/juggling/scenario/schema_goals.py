"""Tables of controlled runs: goal, limits, plan, controller, noise, errors of trials. Shared by the kinds."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from trundle.control import BalancingLQR, Camera, Sensed
from trundle.scenarios.motions import Turning
from trundle.scenarios.problems import Allowed
from trundle.scenarios.schema import (
    Angle,
    Array,
    Delay,
    Duration,
    Fraction,
    NonNegative,
    Period,
    Place3,
    Positive,
    Table,
    UnitQuaternion,
    Vector3,
    fault,
    table_of,
)
from trundle.systems.juggling.transfer.transfer import ContactLimits, Goal, HandLimits, Rolled, Transfer, Weights

RelativeError = Annotated[float, Field(ge=0, le=0.5), Allowed("a relative error from 0 to 0.5")]
GoalTolerance = Annotated[float, Field(ge=1e-9, le=1.0), Allowed("a tolerance from 1e-9 to 1")]
Component = Literal["w", "wx", "wy", "wz", "vx", "vy", "vz"]
Freedoms = Annotated[
    Literal["all", "rotations", "translations", "planar"] | tuple[Component, ...],
    Array,
    Allowed("'all', 'rotations', 'translations', 'planar', or a list of 'wx', 'wy', 'wz', 'vx', 'vy', 'vz', 'w'"),
]
Span = Annotated[
    Duration | tuple[Duration, Duration], Array, Allowed("a time > 0 (s), or [shortest, longest] for a free one")
]


GOAL = {"contact_on_hand": Place3, "object_quaternion": UnitQuaternion, "object_angle": Angle}
MOVING = {
    "relative_angular_velocity": Turning,
    "hand_at_rest": bool,
    "release": bool,
    "object_velocity": Vector3,
    "object_angular_velocity": Turning,
    "periodic": bool,
    "rolled": Rolled,
}
FreePlace = Annotated[Place3 | Literal["free"] | None, Allowed("3 numbers (m), or 'free'")]
FreeVector = Annotated[Vector3 | Literal["free"] | None, Allowed("3 numbers (rad), or 'free'")]
FreeAngle = Annotated[Angle | Literal["free"] | None, Allowed("a number (rad), or 'free'")]


class TransferGoalTable(table_of(Goal, list(GOAL | MOVING), narrower=GOAL | MOVING)):
    """Pose of object and hand at the goal, at rest unless it says otherwise; what is left out stays as at the start."""

    hand_position: FreePlace = Field(default=None, description='m, world, or "free"')
    hand_rpy: FreeVector = Field(default=None, description='rad, R = Rz(yaw) Ry(pitch) Rx(roll), or "free"')
    hand_angle: FreeAngle = Field(default=None, description='rad, counter-clockwise, or "free"; planar hands')

    @property
    def moving(self) -> bool:
        """Whether the object does not come to rest relative to a hand at rest."""
        return bool(self.release or self.periodic or self.hand_at_rest is False or self.relative_angular_velocity)

    def _check(self) -> None:
        for key in ("object_velocity", "object_angular_velocity"):
            if getattr(self, key) is not None and not self.release:
                raise fault(key, "must be left out, or with release = true")
        for key in ("release", "hand_at_rest", "relative_angular_velocity"):
            if self.periodic and getattr(self, key):
                raise fault(key, "must be left out where the motion is periodic")


HAND_LIMITS = ("freedoms", "angular_acceleration", "linear_acceleration", "angular_velocity", "velocity", "tilt")


class LimitsTable(
    table_of(
        ContactLimits,
        narrower={"normal_force": Fraction},
        base=table_of(HandLimits, HAND_LIMITS, narrower={"freedoms": Freedoms}),
    )
):
    """Limits of the hand's motion, and margins of the contact's limits in a plan."""


COST = ("acceleration", "contact_speed", "hand_rate", "tilt", "joint_acceleration")


class CostTable(table_of(Weights, COST, narrower={"acceleration": NonNegative})):
    """Cost of a plan: time averages of squares, each divided by its own scale."""


class TransferPlanTable(table_of(Transfer, ["start_velocities"])):
    """Settings of the planner."""

    duration: Span = Field(default=2.0, description="s, or [shortest, longest]")
    nodes: Annotated[int, Field(ge=2, le=10_000), Allowed("an integer from 2 to 10000")] = Field(
        default=50, description="intervals of the first, coarse solution"
    )
    method: Literal["hermite-simpson", "trapezoid", "shooting"] = Field(
        default="hermite-simpson", description="how the dynamics are discretised"
    )
    coarse_nodes: Annotated[int, Field(ge=0, le=10_000), Allowed("an integer from 0 to 10000")] = Field(
        default=0, description="intervals of a coarse trapezoid plan whose inputs are run for comparison; 0: none"
    )
    position_tolerance: GoalTolerance = Field(default=1e-4, description="m, goal error of the replayed plan's contact")
    rotation_tolerance: GoalTolerance = Field(default=1e-3, description="rad, goal error of its orientation")
    refinements: Annotated[int, Field(ge=0, le=20), Allowed("an integer from 0 to 20")] = Field(
        default=5, description="largest number of mesh refinements"
    )
    starts: Annotated[int, Field(ge=0, le=1000), Allowed("an integer from 0 to 1000")] = Field(
        default=0, description="perturbed initial guesses tried in addition; start_successes counts the successes"
    )
    printed: bool = Field(
        default=False, description="whether to plan as paper 2 prints it besides, in space: part `printed`"
    )
    start_sigma: NonNegative = Field(default=0.1, description="sigma of the perturbation of these guesses, see docs")


class StateWeights(Table):
    """Weights of the local error's parts, 1/unit^2."""

    hand_rotation: NonNegative = Field(default=1.0, description="1/rad^2")
    hand_position: NonNegative = Field(default=1.0, description="1/m^2")
    object_rotation: NonNegative = Field(default=1.0, description="1/rad^2, relative to the hand")
    contact: NonNegative = Field(default=1.0, description="1/m^2, on the hand")
    hand_angular_velocity: NonNegative = Field(default=1.0, description="s^2/rad^2")
    hand_velocity: NonNegative = Field(default=1.0, description="s^2/m^2")
    relative_velocity: NonNegative = Field(default=1.0, description="s^2/rad^2, angular, object to hand")


class InputWeights(Table):
    """Weights of the hand's acceleration."""

    hand_angular_acceleration: Positive = Field(default=1e-3, description="s^4/rad^2")
    hand_acceleration: Positive = Field(default=1e-3, description="s^4/m^2")


class IntegralWeights(Table):
    """Weights of integrals of the error about the goal; they remove the offset due to constant disturbances."""

    hand_rotation: NonNegative = Field(default=0.0, description="1/(rad s)^2")
    hand_position: NonNegative = Field(default=0.0, description="1/(m s)^2")
    contact: NonNegative = Field(default=0.0, description="1/(m s)^2, on the hand")


class JugglingControllerTable(
    table_of(
        Sensed,
        ["acceleration_sigma", "drift_sigma"],
        base=table_of(BalancingLQR, ["period", "rolled", "lost"], narrower={"period": Period}),
    )
):
    """Linear-quadratic regulator about the plan, then about the goal."""

    state: StateWeights = StateWeights()
    input: InputWeights = InputWeights()
    integral: IntegralWeights = IntegralWeights()
    switch: bool | Positive = Field(
        default=False,
        description="regulate about the goal as soon as its cost to go is below this level; true: estimated",
    )
    switch_factor: Positive = Field(default=1.0, description="factor of the estimated level, which is conservative")
    final: Positive = Field(default=1.0, description="weight of the error at the plan's end, times the state weights")
    replan: Duration | None = Field(
        default=None, description="s between plans from the measured state to the goal; left out: the first plan stays"
    )
    freedoms: Freedoms | None = Field(default=None, description="freedoms of the feedback; limits.freedoms if left out")
    hold: Annotated[float, Field(ge=0, le=1e3), Allowed("a time from 0 to 1000 (s)")] = Field(
        default=0.0, description="s, how long the goal is held after the plan"
    )


class OffsetTable(Table):
    """Error of the start of the main run."""

    contact: Place3 = Field(default=(0.0, 0.0, 0.0), description="m, of the contact on the hand, hand frame")
    rotation: Vector3 = Field(default=(0.0, 0.0, 0.0), description="rad, rotation vector of the object, world")
    angle: Angle = Field(default=0.0, description="rad, counter-clockwise; planar objects")


CAMERA = {"camera_period": "period", "position_sigma": "position_sigma", "angle_sigma": "angle_sigma"}
CameraPeriod = Annotated[float, Field(ge=1e-4, le=1.0), Allowed("a time from 1e-4 to 1 (s)")]


class CameraNoiseTable(table_of(Camera, CAMERA, narrower={"camera_period": CameraPeriod})):
    """Noise, sampling and delay of the camera through which the controller measures the state."""

    camera_delay: Delay = Field(default=4e-3, description="s, from camera image to controller")


class JugglingTrialsTable(Table):
    """Runs of plants that differ from the model: drawn with the seed, the same for open and closed loop."""

    count: Annotated[int, Field(ge=0, le=1000), Allowed("an integer from 0 to 1000")] = Field(
        default=0, description="runs"
    )
    semi_axes: RelativeError = Field(default=0.0, description="largest relative error of the object's size")
    inertia: RelativeError = Field(default=0.0, description="largest relative error of J/m")
    center_of_mass: NonNegative = Field(default=0.0, description="m, distance of the centre of mass from the model's")
    angle_sigma: NonNegative = Field(default=0.0, description="rad, sigma of the object's angle at the start")
    position_sigma: NonNegative = Field(default=0.0, description="m, sigma of the contact on the hand at the start")
    angular_bias: NonNegative = Field(default=0.0, description="rad/s^2, sigma of the hand's acceleration bias")
    linear_bias: NonNegative = Field(default=0.0, description="m/s^2, the same")
    open_loop: bool = Field(default=True, description="whether each trial is also run without feedback")
