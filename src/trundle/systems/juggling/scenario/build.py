"""Builder of kind `juggling`: an object on a moving hand, in space or in the plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from trundle.models import Hand, RigidBody, RollingPair
from trundle.models.tree.system import Start
from trundle.scenarios.engine.building import Simulation, error_context
from trundle.scenarios.motions import motion_of
from trundle.scenarios.scenario import Scenario
from trundle.scenarios.shapes import shape_of
from trundle.systems.juggling.scenario.schema import InitialTable, JugglingTable, MovingHandTable, RolledObjectTable

if TYPE_CHECKING:
    pass


def build(scenario: Scenario) -> Simulation:
    """Return the simulation of a `juggling` scenario."""
    pair, start = pair_and_start(scenario)
    simulation = scenario.read(JugglingTable).simulation
    settings = ("duration", "output_step", "relative_tolerance")
    return Simulation(pair, start, {name: getattr(simulation, name) for name in settings})


def pair_and_start(scenario: Scenario) -> tuple[RollingPair, Start]:
    """Return the object on its hand, and where it starts."""
    tables = scenario.read(JugglingTable)
    body = _object(scenario, tables.object)
    hand = _hand(scenario, tables.hand)
    gravity = tables.simulation.gravity
    moved = {"gravity": "simulation.gravity", "body": "object.shape", "base": "hand.shape"}
    with error_context("contact", scenario, moved):
        pair = RollingPair(body, hand, gravity=xz(gravity) if tables.planar else gravity, **tables.contact.values())
    with error_context("initial", scenario, {"contact": "initial.contact_on_hand"}):
        return pair, pair.place(**initial(tables.initial, tables.planar))


def initial(table: InitialTable, planar: bool) -> dict[str, ArrayLike]:
    """Return the keyword arguments of `RollingPair.place` for a table [initial]."""
    names = ("contact_on_hand", "object_quaternion", "object_angular_velocity")
    if not planar:
        return {name: getattr(table, name) for name in names}
    return {
        "contact_on_hand": xz(table.contact_on_hand),
        "object_angle": table.object_angle or 0.0,
        "object_angular_velocity": counter_clockwise(table.object_angular_velocity),
    }


def xz(vector: tuple[float, float, float]) -> tuple[float, float]:
    """Return the x and z components of a vector, those in the plane."""
    return vector[0], vector[2]


def counter_clockwise(turning: float | tuple[float, float, float]) -> float:
    """Return the rate in the plane (x right, z up) of a number or of an angular velocity (0, -w, 0)."""
    return -turning[1] if isinstance(turning, tuple) else turning


def _object(scenario: Scenario, table: RolledObjectTable) -> RigidBody:
    shape = shape_of(scenario, table.shape, "object.shape")
    center = xz(table.center_of_mass) if shape.d == 2 else table.center_of_mass
    with error_context("object", scenario):
        return RigidBody(shape, mass=table.mass, inertia=table.inertia, center_of_mass=center)


def _hand(scenario: Scenario, table: MovingHandTable) -> Hand:
    shape = shape_of(scenario, table.shape, "hand.shape")
    motion = motion_of(scenario, table.motion, shape.d, "hand.motion")
    with error_context("hand", scenario, {"twist": "hand.angular_velocity"}):
        if shape.d == 2:
            twist = (counter_clockwise(table.angular_velocity), *xz(table.velocity))
            position, angle = xz(table.position), table.angle or 0.0
            return Hand(shape, position, angle=angle, twist=twist, motion=motion, extent=table.extent)
        twist = (*np.atleast_1d(table.angular_velocity), *table.velocity)
        return Hand(shape, position=table.position, rpy=table.rpy, twist=twist, motion=motion, extent=table.extent)
