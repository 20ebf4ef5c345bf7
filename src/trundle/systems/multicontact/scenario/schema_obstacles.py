"""Tables of what a humanoid keeps away from: bodies of the surroundings, and which of its own they concern."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from trundle.scenarios.problems import Allowed
from trundle.scenarios.schema import Angle, Array, Place3, Size, Sizes3, Table, Text

Turn3 = Annotated[tuple[Angle, Angle, Angle], Array, Allowed("3 angles (rad)")]
Limbs = Annotated[
    tuple[Text, ...], Array, Field(max_length=100), Allowed("at most 100 names of capsules of the robot's file")
]


class SolidBoxTable(Table):
    """A box."""

    type: Literal["box"]
    size: Sizes3 = Field(description="m, whole sides along its axes")


class SolidCapsuleTable(Table):
    """A cylinder along z with half spheres at its ends."""

    type: Literal["capsule"]
    radius: Size = Field(description="m")
    length: Size = Field(description="m, between the centres of the half spheres")


class SolidSphereTable(Table):
    """A sphere."""

    type: Literal["sphere"]
    radius: Size = Field(description="m")


class HalfSpaceTable(Table):
    """All of z <= 0 in its axes: a wall, a ceiling."""

    type: Literal["half-space"]


Solid = Annotated[
    SolidBoxTable | SolidCapsuleTable | SolidSphereTable | HalfSpaceTable,
    Field(discriminator="type"),
]


class BoxObstacleTable(Table):
    """A body that does not move, on which nothing stands or leans."""

    name: Text = Field(description="for messages and results")
    shape: Solid = Field(description="in its own axes")
    center: Place3 = Field(description="m, world; of a half-space a point of its plane")
    rpy: Turn3 = Field(default=(0.0, 0.0, 0.0), description="rad, R = Rz(yaw) Ry(pitch) Rx(roll)")
    against: Limbs | None = Field(
        default=None, description="capsules of the robot's file that keep away from it; left out: all"
    )


Obstacles = Annotated[tuple[BoxObstacleTable, ...], Array, Field(max_length=100), Allowed("at most 100 tables")]
