"""Tables of task `walk` for a robot from a URDF: description, posture, and gait."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from trundle.scenarios.problems import Allowed
from trundle.scenarios.robots import DescriptionTable, Numbers
from trundle.scenarios.schema import Array, Text, table_of
from trundle.systems.walking.gait.robot_gait import RobotGait
from trundle.systems.walking.scenario.schema_robot import FootName

_Names = Annotated[tuple[Text, ...], Array, Field(max_length=256), Allowed("a list of joints' names")]
_Group = Annotated[tuple[FootName, ...], Array, Field(min_length=1, max_length=15), Allowed("a list of names of feet")]
_Groups = Annotated[
    tuple[_Group, ...], Array, Field(min_length=1, max_length=16), Allowed("1 to 16 lists of names of feet")
]
_Heading = Annotated[float, Field(ge=-4, le=4), Allowed("an angle from -4 to 4 (rad)")]
_Degrees = Annotated[float, Field(ge=-40, le=40), Allowed("an angle from -40 to 40 (degrees)")]
_GAIT = (
    "speed", "pattern", "periodicity", "single", "double", "double_share", "clearance", "clearance_ends", "friction",
    "load", "acceleration", "force", "attitude", "spread", "torque", "steps",
)  # fmt: skip


class LeggedTable(DescriptionTable):
    """A robot that walks on its feet: joints on which no foot hangs are locked."""

    posture: Numbers = Field(
        default={},
        description="rad or m, of joints by name or pattern such as '*_knee', near which it stands",
    )
    free: _Names = Field(default=(), description="further joints that move, by name or pattern")
    heading: _Heading | None = Field(
        default=None, description="rad, about z of the root link, in which it walks; left out: where flat feet point"
    )


class GaitTable(table_of(RobotGait, _GAIT)):
    """Which feet swing in turn, and what the steps must keep."""

    slope: _Degrees = Field(default=0.0, description="degrees, > 0 uphill")
    swings: _Groups | None = Field(
        default=None, description="names of the feet that swing together, one list after the other; in place of pattern"
    )
