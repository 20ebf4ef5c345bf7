"""Builder of kind `planar`: a body on terrain, in the plane."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trundle import geometry
from trundle.models import Ground, RigidBody, RollingPair
from trundle.scenarios.building import Simulation, data, keys, measured
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


def build(scenario: Scenario) -> Simulation:
    """Return the simulation of a `planar` scenario."""
    tables: Any = scenario.tables
    contact, simulation = tables.contact, tables.simulation
    outline = _curve(scenario, tables.body.curve, "body.curve", closed=True)
    with keys("body", scenario):
        body = RigidBody(
            outline,
            mass=tables.body.mass,
            inertia=tables.body.inertia,
            center_of_mass=tables.body.center_of_mass,
        )
    with keys("terrain", scenario):
        ground = Ground(_curve(scenario, tables.terrain.curve, "terrain.curve", closed=False))
    moved = {"gravity": "simulation.gravity", "body": "body.curve", "base": "terrain.curve"}
    with keys("contact", scenario, moved):
        pair = RollingPair(
            body,
            ground,
            friction=contact.friction,
            gravity=simulation.gravity,
            on_slip=contact.on_slip,
            on_separation=contact.on_separation,
        )
    with keys("initial", scenario, {"contact": "initial.contact_x"}):
        start = pair.place(**{name: getattr(tables.initial, name) for name in type(tables.initial).model_fields})
    names = ("duration", "output_step", "step", "relative_tolerance", "stabilization")
    settings = {name: getattr(simulation, name) for name in names}
    return Simulation(pair, start, {name: value for name, value in settings.items() if value is not None})


def _curve(scenario: Scenario, table: Any, key: str, closed: bool) -> geometry.Shape:
    if table.type in _CURVES:
        with keys(key, scenario):
            return _CURVES[table.type](table)
    with measured(f"{key}.file", table.file, scenario):
        points = data(scenario, f"{key}.file", table.file, ("x", "z"))
        return geometry.SampledCurve(points.tolist(), closed=closed)
