"""Robots from their descriptions: a URDF file of the scenario's folder, or a robot of example-robot-data."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from trundle.errors import InputError
from trundle.models.urdf.checks import CheckedUrdf, load_urdf
from trundle.models.urdf.examples import load_example_robot
from trundle.scenarios.engine.building import error_context
from trundle.scenarios.problems import Allowed
from trundle.scenarios.scenario import Scenario
from trundle.scenarios.schema import DataFile, ParameterTable, Real, Text, fault

_FILE = Allowed("the path of a URDF file inside the scenario's folder")
FileName = Annotated[str, Field(min_length=1, max_length=1000), _FILE, DataFile("URDF")]
Numbers = Annotated[dict[str, Real], Allowed("a table of numbers by the joints' names")]


class DescriptionTable(ParameterTable):
    """A robot's description."""

    urdf: Annotated[FileName | None, _FILE, DataFile("URDF")] = Field(default=None, description="URDF; or give example")
    example: Text | None = Field(default=None, description="name of a robot of example-robot-data, such as 'solo12'")
    repair: bool | None = Field(
        default=None,
        description="replace impossible inertias by the nearest possible ones; true for an example, else false",
    )

    def _check(self) -> None:
        if (self.urdf is None) == (self.example is None):
            raise fault("urdf", "must be given, or example in its place: one of the two")


def description_of(scenario: Scenario, table: ParameterTable, key: str) -> CheckedUrdf:
    """Return the description that the table at `key` names; meshes are not looked for."""
    if table.example is not None:
        with error_context(key, scenario, {"name": f"{key}.example"}):
            return load_example_robot(table.example, repair=table.repair is not False)
    path = scenario.data_path(f"{key}.urdf", table.urdf or "")
    try:
        return load_urdf(path, meshes=False, repair=bool(table.repair))
    except InputError as error:
        where = f"{key}.urdf" if error.key == "file" else f"{table.urdf}: {error.key}"
        raise InputError(where, error.value, error.allowed, scenario.file) from None
