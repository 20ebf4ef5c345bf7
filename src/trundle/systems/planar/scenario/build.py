"""Builder of kind `planar`: a body, or a tree of bodies, on terrain, in the plane."""

from __future__ import annotations

from typing import Any

from trundle.models import Ground, RigidBody, RollingPair, Start
from trundle.scenarios.engine.building import Simulation, error_context
from trundle.scenarios.scenario import Scenario
from trundle.scenarios.shapes import shape_of
from trundle.systems.planar.scenario.schema import BodyTable, PlanarTable
from trundle.systems.planar.scenario.tree import build_tree


def build(scenario: Scenario) -> Simulation:
    """Return the simulation of a `planar` scenario."""
    tables = scenario.read(PlanarTable)
    model, start = build_tree(scenario) if tables.body is None else _pair(scenario, tables.body)
    return Simulation(model, start, settings(tables))


def settings(tables: PlanarTable) -> dict[str, Any]:
    """Return the settings of [simulation] as `trundle.simulate` takes them."""
    names = ("duration", "output_step", "step", "relative_tolerance", "stabilization")
    given = {name: getattr(tables.simulation, name) for name in names}
    return {name: value for name, value in given.items() if value is not None}


def _pair(scenario: Scenario, table: BodyTable) -> tuple[RollingPair, Start]:
    """Return the body of the table [body] on terrain and its start."""
    tables = scenario.read(PlanarTable)
    contact = tables.contact
    outline = shape_of(scenario, table.curve, "body.curve")
    with error_context("body", scenario):
        body = RigidBody(
            outline,
            mass=table.mass,
            inertia=table.inertia,
            center_of_mass=table.center_of_mass,
        )
    with error_context("terrain", scenario):
        ground = Ground(shape_of(scenario, tables.terrain.curve, "terrain.curve"))
    moved = {"gravity": "simulation.gravity", "body": "body.curve", "base": "terrain.curve"}
    with error_context("contact", scenario, moved):
        pair = RollingPair(body, ground, gravity=tables.simulation.gravity, on_slip=contact.on_slip, **contact.values())
    with error_context("initial", scenario, {"contact": "initial.contact_x"}):
        names = ("contact_x", "angle", "angular_velocity")
        return pair, pair.place(**{name: getattr(tables.initial, name) for name in names})
