"""Curves in the plane from their tables, for bodies, ground, and hands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trundle import geometry
from trundle.scenarios.engine.building import data, error_context, measured
from trundle.scenarios.scenario import Scenario

_CURVES: Mapping[str, Callable[[Any], geometry.Shape]] = {
    "circle": lambda t: geometry.Circle(t.radius),
    "ellipse": lambda t: geometry.Ellipse(t.semi_axes),
    "fourier": lambda t: geometry.FourierRadius(t.radius, t.cos, t.sin),
    "line": lambda t: geometry.Line(t.slope, t.offset),
    "parabola": lambda t: geometry.Parabola(t.curvature),
    "sinusoid": lambda t: geometry.Sinusoid(t.amplitude, t.wavelength, t.phase),
    "arc": lambda t: geometry.Arc(t.radius, t.center, t.side),
    "sum": lambda t: geometry.CurveSum([_CURVES[term.type](term) for term in t.terms]),
}


def curve(scenario: Scenario, table: Any, key: str, closed: bool) -> geometry.Shape:
    """Return the curve of the table at `key`; ``closed``: whether measured points go round."""
    if table.type in _CURVES:
        with error_context(key, scenario):
            return _CURVES[table.type](table)
    with measured(f"{key}.file", table.file, scenario):
        points = data(scenario, f"{key}.file", table.file, ("x", "z"))
        return geometry.SampledCurve(points.tolist(), closed=closed)
