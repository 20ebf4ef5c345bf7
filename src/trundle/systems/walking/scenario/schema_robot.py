"""Scenario files of kind `walking`, task `simulate`: a robot from a URDF with feet that roll, slide, leave and land."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from trundle.contact.laws import StartLaw
from trundle.geometry import Point
from trundle.models import IMPACT, SURFACE, Foot, RollingPair
from trundle.scenarios.motions import BodyMotion, CoastTable, SimulationTable
from trundle.scenarios.problems import Allowed
from trundle.scenarios.robots import DescriptionTable, Numbers
from trundle.scenarios.schema import (
    Array,
    Duration,
    NonNegative,
    Place3,
    ScenarioTable,
    Size,
    Sizes2,
    Sizes3,
    Table,
    Text,
    Tolerance,
    Vector3,
    Vector4,
    fault,
    table_of,
)
from trundle.scenarios.schema_shapes import (
    CapsuleTable,
    CylinderTable,
    DiscTable,
    DishTable,
    EllipsoidTable,
    HeightMapTable,
    LineTable,
    ParabolaTable,
    PlaneTable,
    SinusoidTable,
    SphereTable,
    SumTable,
    SuperellipsoidTable,
    TubeTable,
)

FootName = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9_-]{1,60}$"), Allowed("a name of at most 60 letters, digits, '_' and '-'")
]
ByJoint = Annotated[
    NonNegative | dict[str, NonNegative],
    Allowed("a number from 0 to 1e12, or a table of such numbers by the joints' names"),
]
_Margin = Annotated[float, Field(ge=0, le=1e6), Allowed("a length from 0 to 1e6 (m)")]


class WalkingRobotTable(DescriptionTable):
    """The robot: a URDF file, a robot of the package example-robot-data, or the avatar of Dumas et al. 2007."""

    avatar: Literal["male", "female"] | None = Field(default=None, description="the anthropomorphic walker")

    def _check(self) -> None:
        if sum(value is not None for value in (self.urdf, self.example, self.avatar)) != 1:
            raise fault("urdf", "must be given, or example or avatar in its place: one of the three")


class RoundedBoxTable(Table):
    """A box about the origin, rounded by a sphere."""

    type: Literal["box"]
    half_lengths: Sizes3 = Field(description="m, along x, y, z, without the rounding")
    rounding: Size = Field(description="m, radius of edges and corners")


class FlatTable(Table):
    """A flat patch in the plane z = 0 of the foot's axes: it touches with its four corners."""

    type: Literal["flat"]
    half_lengths: Sizes2 = Field(description="m, along x and y")


class PointTable(table_of(Point, keys=(), tag="point")):
    """A single point."""


FootShape = Annotated[
    SphereTable
    | EllipsoidTable
    | SuperellipsoidTable
    | CapsuleTable
    | DiscTable
    | RoundedBoxTable
    | FlatTable
    | PointTable,
    Field(discriminator="type"),
]
GroundShape = Annotated[
    PlaneTable
    | SphereTable
    | EllipsoidTable
    | DishTable
    | CylinderTable
    | TubeTable
    | HeightMapTable
    | LineTable
    | ParabolaTable
    | SinusoidTable
    | SumTable,
    Field(discriminator="type"),
]


FOOT = ("frame", "position", "rpy", "law", "friction")


class RobotFootTable(table_of(Foot, FOOT, narrower={"position": Place3, "frame": Text, "law": StartLaw})):
    """A shape fixed to a link."""

    shape: FootShape = Field(description="what touches the ground, in its own axes")


class SurfaceTable(Table):
    """The ground that the feet touch, at rest."""

    shape: GroundShape = Field(
        default=PlaneTable.model_validate({"type": "plane"}),
        description="surface, in its own frame; curves (x, z) are the same at every y",
    )
    position: Place3 = Field(default=(0.0, 0.0, 0.0), description="m, of its frame at the start, world")
    rpy: Vector3 = Field(default=(0.0, 0.0, 0.0), description="rad, at the start: R = Rz(yaw) Ry(pitch) Rx(roll)")


class GroundTable(SurfaceTable):
    """The ground that the feet touch: at rest, or with a prescribed motion."""

    angular_velocity: Vector3 = Field(default=(0.0, 0.0, 0.0), description="rad/s, ground axes, at the start")
    velocity: Vector3 = Field(default=(0.0, 0.0, 0.0), description="m/s, ground axes, at the start")
    motion: BodyMotion = Field(default=CoastTable(type="coast"), description="time derivative of the ground's twist")
    friction: NonNegative = Field(default=0.8, description="coefficient, tangential over normal force")


class RobotContactTable(table_of(RollingPair, (*SURFACE, *IMPACT))):
    """What contacts do beside Coulomb's law, and what happens when one slips or separates."""

    on_slip: Literal["stop", "slide", "ignore"] = Field(default="slide", description="when the friction cone is left")
    on_separation: Literal["stop", "fly", "ignore"] = Field(default="fly", description="when the force reaches zero")


class JointsTable(Table):
    """Springs and dampers at the joints: torque = stiffness (target - position) - damping rate; and locked joints."""

    locked: Annotated[tuple[Text, ...], Array, Field(max_length=256), Allowed("a list of joints' names")] = Field(
        default=(), description="joints held where they start, by name or a pattern such as 'LFinger*'"
    )

    stiffness: ByJoint = Field(default=0.0, description="N m/rad or N/m, of all joints or by name (others: 0)")
    damping: ByJoint = Field(default=0.0, description="N m s/rad or N s/m, likewise")
    target: Numbers = Field(default={}, description="rad or m, where other than the position at the start")


class RobotInitialTable(Table):
    """The start."""

    position: Place3 = Field(default=(0.0, 0.0, 1.0), description="m, of the base's frame (the root link's), world")
    quaternion: Vector4 = Field(default=(1.0, 0.0, 0.0, 0.0), description="world from base, w first")
    clearance: _Margin | None = Field(
        default=None,
        description="m, gap of the nearest foot to the ground: the base is moved up or down to reach it; left out: "
        "0.05, or, where position is given, the base is not moved",
    )
    velocity: Vector3 = Field(default=(0.0, 0.0, 0.0), description="m/s, of the base's frame, world")
    angular_velocity: Vector3 = Field(default=(0.0, 0.0, 0.0), description="rad/s, world")
    joints: Numbers = Field(default={}, description="rad or m; of others 0, or the end of the range nearest to 0")
    rates: Numbers = Field(default={}, description="rad/s or m/s")
    contacts: Annotated[tuple[FootName, ...], Array, Field(max_length=64), Allowed("a list of names of feet")] = Field(
        default=(), description="feet that touch at the start; the pose is closed onto the ground"
    )

    @model_validator(mode="before")
    @classmethod
    def _height(cls, data: Any) -> Any:
        """Without a position the robot's height is not known: the feet start 5 cm above the ground."""
        if not isinstance(data, dict) or "clearance" in data or "position" in data:
            return data
        return data | {"clearance": 0.05}


class RobotSimulationTable(SimulationTable):
    """Gravity, duration, sampling and accuracy of the simulation."""

    duration: Duration = Field(default=1.0, description="s")
    output_step: Duration = Field(default=0.005, description="s, between samples of the result")
    relative_tolerance: Tolerance = Field(default=1e-8, description="of the adaptive integrator")


class WalkingSimulate(ScenarioTable):
    """A scenario of kind `walking`, task `simulate`: a free robot on its feet, passive or with springs and dampers."""

    kind: Literal["walking"]
    task: Literal["simulate"]
    robot: WalkingRobotTable
    feet: Annotated[dict[FootName, RobotFootTable], Field(min_length=1, max_length=16), Allowed("1 to 16 [feet.NAME]")]
    ground: GroundTable = GroundTable()
    contact: RobotContactTable = RobotContactTable()
    joints: JointsTable = JointsTable()
    initial: RobotInitialTable = RobotInitialTable()
    simulation: RobotSimulationTable = RobotSimulationTable()
