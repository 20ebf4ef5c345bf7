"""Shapes from their tables: of bodies, hands, feet and ground, in space and in the plane."""

from __future__ import annotations

from trundle import geometry
from trundle.scenarios.engine.building import data, error_context, measured
from trundle.scenarios.files import grid
from trundle.scenarios.scenario import Scenario
from trundle.scenarios.schema import ParameterTable
from trundle.scenarios.schema_shapes import GroundSplineTable, HeightMapTable, OutlineSplineTable, SurfaceSamplesTable

Measured = OutlineSplineTable | GroundSplineTable | SurfaceSamplesTable | HeightMapTable


def shape_of(scenario: Scenario, table: ParameterTable | Measured, key: str) -> geometry.Shape:
    """Return the shape of the table at `key`, measured ones from their data files."""
    if isinstance(table, OutlineSplineTable | GroundSplineTable):
        with measured(f"{key}.file", table.file, scenario):
            points = data(scenario, f"{key}.file", table.file, ("x", "z"))
            return geometry.SampledCurve(points.tolist(), closed=isinstance(table, OutlineSplineTable))
    if isinstance(table, SurfaceSamplesTable | HeightMapTable):
        name: str = table.file
        with measured(f"{key}.file", name, scenario):
            values = data(scenario, f"{key}.file", name, ("x", "y", "z"))
            if isinstance(table, SurfaceSamplesTable):
                return geometry.SampledSurface(values.tolist(), **table.values())
            x, y, z = grid(values, f"{key}.file", name, scenario.file)
            return geometry.HeightMap(x.tolist(), y.tolist(), z.tolist())
    with error_context(key, scenario):
        return table.make()
