"""Shapes from their tables: of bodies, hands, feet and ground, in space and in the plane."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from trundle import geometry
from trundle.errors import InputError
from trundle.scenarios.engine.building import data, error_context, name_data_file
from trundle.scenarios.files import grid
from trundle.scenarios.scenario import Scenario
from trundle.scenarios.schema import ParameterTable
from trundle.scenarios.schema_shapes import (
    GroundSplineTable,
    HeightMapTable,
    OutlineSplineTable,
    RegisteredTable,
    SurfaceSamplesTable,
)

GROUP = "trundle.shapes"
"""Entry points: name -> what returns a `Shape` without arguments, such as a class of defaults."""
Measured = OutlineSplineTable | GroundSplineTable | SurfaceSamplesTable | HeightMapTable


def shape_of(scenario: Scenario, table: ParameterTable | RegisteredTable | Measured, key: str) -> geometry.Shape:
    """Return the shape of the table at `key`, measured ones from their data files."""
    if isinstance(table, OutlineSplineTable | GroundSplineTable):
        with name_data_file(f"{key}.file", table.file, scenario):
            points = data(scenario, f"{key}.file", table.file, ("x", "z"))
            return geometry.SampledCurve(points.tolist(), closed=isinstance(table, OutlineSplineTable))
    if isinstance(table, SurfaceSamplesTable | HeightMapTable):
        name: str = table.file
        with name_data_file(f"{key}.file", name, scenario):
            values = data(scenario, f"{key}.file", name, ("x", "y", "z"))
            if isinstance(table, SurfaceSamplesTable):
                return geometry.SampledSurface(values.tolist(), **table.values())
            x, y, z = grid(values, f"{key}.file", name, scenario.file)
            return geometry.HeightMap(x.tolist(), y.tolist(), z.tolist())
    with error_context(key, scenario):
        return find_registered_shape(table.name) if isinstance(table, RegisteredTable) else table.make()


@cache
def find_registered_shape(name: str) -> geometry.Shape:
    """Return the shape that an installed package registers under `name`, its class in lower case.

    Raises
    ------
    InputError
        If none or several do, or what is registered cannot be made or is no such shape.
    """
    points = {point.name: point for point in reversed(tuple(entry_points(group=GROUP)))}
    if name not in points:
        raise InputError("name", name, "one that installed packages register: " + (", ".join(points) or "none do"))
    try:
        made = points[name].load()()
    except Exception as error:  # code of another package may raise anything
        raise InputError("name", name, f"of a shape that can be made, not {points[name].value}: {error}") from error
    if not isinstance(made, geometry.Shape) or type(made).__name__.lower() != name:
        raise InputError("name", name, f"that of a Shape's class in lower case, not of {type(made).__name__}")
    return made
