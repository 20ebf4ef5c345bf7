"""Builder of a tree of bodies on terrain, in the plane, from the tables [[bodies]]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trundle.models import IMPACT, Robot, RollingTree, Start, surface_of
from trundle.models.tree.tree import Link
from trundle.scenarios.engine.building import error_context
from trundle.scenarios.scenario import Scenario
from trundle.scenarios.shapes import shape_of
from trundle.systems.planar.scenario.schema import LinkTable, PlanarTable


def build_tree(scenario: Scenario) -> tuple[RollingTree, Start]:
    """Return the tree of a `planar` scenario and its start."""
    tables = scenario.read(PlanarTable)
    contact = tables.contact
    with error_context("contact", scenario, {"gravity": "simulation.gravity"}):
        robot = Robot(
            tables.simulation.gravity, contact.law, on_slip=contact.on_slip, on_separation=contact.on_separation
        )
    links: dict[str, Link] = {}
    for i, table in _parents_first(tables.bodies or ()):
        key = f"bodies[{i}]"
        outline = None if table.curve is None else shape_of(scenario, table.curve, f"{key}.curve")
        with error_context(key, scenario):
            shared = {
                "center_of_mass": table.center_of_mass,
                "shape": outline,
                "shape_at": table.curve_at,
                "friction": table.friction,
                "name": table.name,
            }
            if table.parent is None:
                links[table.name] = robot.free(table.mass, table.inertia, actuated=table.driven, **shared)
            elif table.joint == "revolute":
                shared["actuated"] = table.driven
                links[table.name] = robot.revolute(links[table.parent], table.at, table.mass, table.inertia, **shared)
            else:
                shared |= {"actuated": table.driven, "axis": table.axis}
                links[table.name] = robot.prismatic(links[table.parent], table.at, table.mass, table.inertia, **shared)
    with error_context("terrain", scenario):
        ground = shape_of(scenario, tables.terrain.curve, "terrain.curve")
        robot.terrain(ground, surface_of(contact, contact.friction), *(getattr(contact, name) for name in IMPACT))
    with error_context("terrain", scenario, {"contact": "terrain.curve"}):
        tree = robot.finish()
    return tree, start_of(scenario, tree, "initial.positions")


def start_of(scenario: Scenario, tree: RollingTree, key: str) -> Start:
    """Return the start of [initial] for a tree; errors about the place of a body have the key `key`."""
    initial = scenario.read(PlanarTable).initial
    moved = {name: f"initial.{name}" for name in ("rates", "contacts", "hold", "tolerance")}
    with error_context(key, scenario, moved):
        return tree.place(
            rates=initial.rates,
            contacts=initial.contacts,
            hold=initial.hold or (),
            tolerance=initial.tolerance,
            **initial.positions,
        )


def _parents_first(bodies: Sequence[LinkTable]) -> Iterator[tuple[int, LinkTable]]:
    """Yield (number, table) of every body after its parent; the schema has refused loops."""
    left, known = list(enumerate(bodies)), {None}
    while left:
        ready = [(i, table) for i, table in left if table.parent in known]
        left = [(i, table) for i, table in left if table.parent not in known]
        known |= {table.name for _, table in ready}
        yield from ready
