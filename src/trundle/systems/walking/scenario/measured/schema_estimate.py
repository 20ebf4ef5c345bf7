"""Scenario files of kind `walking`, task `estimate`: ground forces and joint torques of a measured walk."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from trundle.scenarios.problems import Allowed
from trundle.scenarios.schema import DataFile, Mass, ScenarioTable, Table, Text, fault, table_of
from trundle.systems.walking.gait.gait import Gait
from trundle.systems.walking.gait.tracking import SIGMAS, Tracking
from trundle.systems.walking.scenario.schema import Friction, RollingFootTable, SolverTable

_Name = Annotated[str, Field(min_length=1, max_length=100), Allowed("a name of 1 to 100 characters")]
_Axis = Literal["x", "y", "z", "-x", "-y", "-z"]
_Force = Annotated[float, Field(gt=0, le=1e5), Allowed("a force > 0, at most 1e5 (N)")]


class MarkersTable(Table):
    """Names that the markers of the measured leg have in the data."""

    hip: _Name = Field(description="greater trochanter, at the hip joint")
    knee: _Name = Field(description="lateral epicondyle, at the knee joint")
    ankle: _Name = Field(description="lateral malleolus, at the ankle joint")
    heel: _Name = Field(description="fixed to the foot; where, follows from the flat foot")
    toe: _Name = Field(description="fixed to the foot, such as on the fifth metatarsal; likewise")
    shoulder: _Name | None = Field(default=None, description="at the shoulder joint; without it the trunk is free")

    def _check(self) -> None:
        names = [name for name in self.model_dump().values() if name]
        for name in names:
            if names.count(name) > 1:
                raise fault("toe", f"must name another marker than the others do, not {name!r} twice")


class MotionTable(Table):
    """Markers and force plate."""

    file: Annotated[Text, DataFile("motion")] = Field(description="motion: named columns as text, .trc or .c3d")
    forces: Annotated[Text | None, DataFile("forces")] = Field(default=None, description=".mot, if not in file")
    plate: _Name = Field(description="name of the plate under the measured leg")
    forward: _Axis = Field(default="x", description="axis of a .trc, .mot or .c3d file that points forward")
    up: _Axis | None = Field(default=None, description="and up; left out: z of .c3d, y of others")
    threshold: _Force = Field(default=20.0, description="N, above which the foot is on the ground")
    markers: MarkersTable


class SubjectTable(Table):
    """The walker: the avatar of Dumas et al. 2007 with the segments that markers measure."""

    sex: Literal["male", "female"] = Field(default="male", description="table of segments")
    mass: Mass = Field(description="kg")
    height: Annotated[float, Field(gt=0.2, le=4), Allowed("a length above 0.2, at most 4 (m)")] | None = Field(
        default=None, description="m, of segments that are not measured; left out: as the leg"
    )


_GAIT = ("friction", "acceleration", "force")


class TrackingTable(table_of(Gait, _GAIT, narrower={"friction": Friction}, base=table_of(Tracking, SIGMAS))):
    """Standard deviations of measurements, and what is asked of the walk besides."""

    speed: Annotated[float, Field(gt=0, le=5), Allowed("a speed > 0, at most 5 (m/s)")] | None = Field(
        default=None, description="m/s, along the ground; left out: from the flat foot"
    )
    leave_out: bool = Field(default=True, description="whether a part `left-out` predicts the plate from markers")


class WalkingEstimate(ScenarioTable):
    """A scenario of kind `walking`, task `estimate`: a measured walk's ground forces and joint torques."""

    kind: Literal["walking"]
    task: Literal["estimate"]
    data: MotionTable
    subject: SubjectTable
    foot: RollingFootTable | None = None
    tracking: TrackingTable = TrackingTable()
    plan: SolverTable = SolverTable()
