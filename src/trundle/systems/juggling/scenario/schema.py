"""Scenario files of kind `juggling`: one object rolling on a moving hand, in space or in the x-z plane."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from trundle.contact.laws import StartLaw
from trundle.models import IMPACT, SURFACE, Hand, RigidBody, RollingPair
from trundle.scenarios.motions import BodyMotion, CoastTable, SimulationTable, Turning
from trundle.scenarios.problems import Allowed
from trundle.scenarios.schema import (
    Angle,
    Array,
    Mass,
    Place3,
    ScenarioTable,
    Size,
    Sizes2,
    Table,
    UnitQuaternion,
    Vector3,
    fault,
    table_of,
)
from trundle.scenarios.schema_shapes import HandShape, ObjectShape, is_planar

Moment = Annotated[float, Field(gt=0, le=1e12)]
Moments = Annotated[tuple[Moment, Moment, Moment], Array]
OptionalAngle = Annotated[Angle | None, Allowed("a number from -1e6 to 1e6 (rad)")]


ObjectInertia = Annotated[
    Literal["solid", "shell"] | Moments | Moment,
    Allowed("'solid', 'shell' or [Ixx, Iyy, Izz], three numbers > 0 (kg m^2), or in the plane one, about the normal"),
]


class RolledObjectTable(table_of(RigidBody, ["inertia"], narrower={"inertia": ObjectInertia})):
    """The rigid body that rolls."""

    shape: ObjectShape = Field(description="surface, or outline in the plane, in the body's frame")
    mass: Mass = Field(description="kg")
    center_of_mass: Vector3 = Field(default=(0.0, 0.0, 0.0), description="m, in the shape's frame")

    def _check(self) -> None:
        if isinstance(self.inertia, tuple):
            small, middle, large = sorted(self.inertia)
            if small + middle < large * (1.0 - 1e-12):
                text = f"must be that of a real body: {large:g} <= {small:g} + {middle:g} (kg m^2) does not hold"
                raise fault("inertia", text)


Extent = Annotated[Sizes2 | Size | None, Allowed("2 lengths > 0, each from 1e-7 to 1e7 (m), or in the plane one")]


class MovingHandTable(table_of(Hand, ["rpy", "extent"], narrower={"extent": Extent})):
    """The hand: a surface, or a curve in the plane, whose motion is prescribed."""

    shape: HandShape = Field(description="surface, or curve in the plane, in the hand's frame")
    position: Place3 = Field(default=(0.0, 0.0, 0.0), description="m, world")
    angle: OptionalAngle = Field(default=None, description="rad, counter-clockwise (x right, z up); only in the plane")
    angular_velocity: Turning = Field(
        default=(0.0, 0.0, 0.0), description="rad/s, hand frame; in the plane one number, counter-clockwise"
    )
    velocity: Vector3 = Field(default=(0.0, 0.0, 0.0), description="m/s, hand frame")
    motion: BodyMotion = Field(default=CoastTable(type="coast"), description="time derivative of the hand's twist")


CONTACT = ("law", "friction", "torsional_friction", "on_slip", "on_separation", *SURFACE, *IMPACT)


class ContactTable(table_of(RollingPair, CONTACT, narrower={"law": StartLaw})):
    """Contact of object and hand: its law, friction, and what happens at slip and separation."""


class InitialTable(Table):
    """The start; the object's point of contact, position and velocity follow."""

    contact_on_hand: Place3 = Field(default=(0.0, 0.0, 0.0), description="m, hand frame, projected on the surface")
    object_quaternion: UnitQuaternion = Field(
        default=(1.0, 0.0, 0.0, 0.0), description="(w, x, y, z), world from body; only in space"
    )
    object_angle: OptionalAngle = Field(
        default=None, description="rad, counter-clockwise (x right, z up); only in the plane"
    )
    object_angular_velocity: Turning = Field(
        default=(0.0, 0.0, 0.0), description="rad/s, world; in the plane one number, counter-clockwise"
    )


_NUMBER = "must be one number, counter-clockwise, or [0, -that number, 0]: the shapes lie in the plane"
_LEFT_OUT = "must be left out in the plane, where {} is given"


def check_dimension(scenario: JugglingTable) -> None:
    """Raise the validator's error where a key belongs to space and the shapes to the plane, or the other way round.

    In the plane positions and velocities are (x, 0, z), and angular quantities one number, counter-clockwise.
    """
    body, hand, initial = scenario.object, scenario.hand, scenario.initial
    planar = is_planar(hand.shape)
    if is_planar(body.shape) != planar:
        here, there = ("the plane", "space") if planar else ("space", "the plane")
        text = f"must be in {there}, as object.shape ('{body.shape.type}') is, or that in {here}, as this is"
        raise fault("hand.shape", text)
    motion = hand.motion
    waves = {f"hand.motion.{name}": getattr(motion, name, None) for name in ("amplitude", "frequency", "phase")}
    wanted = "3 numbers in the plane (counter-clockwise, x, z)" if planar else "6 numbers in space (angular first)"
    for key, value in waves.items():
        if value is not None and len(value) != (3 if planar else 6):
            raise fault(key, f"must be {wanted}")
    (_check_plane if planar else _check_space)(body, hand, initial, scenario.simulation)


def _check_plane(
    body: RolledObjectTable, hand: MovingHandTable, initial: InitialTable, simulation: SimulationTable
) -> None:
    if isinstance(body.inertia, tuple):
        raise fault(
            "object.inertia", "must be 'solid', 'shell' or one number > 0 (kg m^2): the shapes lie in the plane"
        )
    if isinstance(hand.extent, tuple):
        raise fault("hand.extent", "must be one length > 0, the width along x (m): the shapes lie in the plane")
    if any(hand.rpy):
        raise fault("hand.rpy", _LEFT_OUT.format("angle"))
    if initial.object_quaternion != (1.0, 0.0, 0.0, 0.0):
        raise fault("initial.object_quaternion", _LEFT_OUT.format("object_angle"))
    for key, value in (
        ("hand.angular_velocity", hand.angular_velocity),
        ("initial.object_angular_velocity", initial.object_angular_velocity),
    ):
        if isinstance(value, tuple) and (value[0] or value[2]):
            raise fault(key, _NUMBER)
    for key, vector in (
        ("object.center_of_mass", body.center_of_mass),
        ("hand.position", hand.position),
        ("hand.velocity", hand.velocity),
        ("initial.contact_on_hand", initial.contact_on_hand),
        ("simulation.gravity", simulation.gravity),
    ):
        if vector[1]:
            raise fault(key, "must have y = 0: the shapes lie in the x-z plane")


def _check_space(
    body: RolledObjectTable, hand: MovingHandTable, initial: InitialTable, simulation: SimulationTable
) -> None:
    for key, value, allowed in (
        ("object.inertia", body.inertia, "'solid', 'shell' or [Ixx, Iyy, Izz], three numbers > 0 (kg m^2)"),
        ("hand.extent", hand.extent, "2 lengths > 0, along x and y (m)"),
        ("hand.angular_velocity", hand.angular_velocity, "3 numbers"),
        ("initial.object_angular_velocity", initial.object_angular_velocity, "3 numbers"),
    ):
        if isinstance(value, float):
            raise fault(key, f"must be {allowed}: the shapes are in space")
    if hand.angle is not None:
        raise fault("hand.angle", "must be left out in space, where rpy is given")
    if initial.object_angle is not None:
        raise fault("initial.object_angle", "must be left out in space, where object_quaternion is given")


class JugglingTable(ScenarioTable):
    """Tables that every scenario of kind `juggling` has."""

    kind: Literal["juggling"]
    object: RolledObjectTable
    hand: MovingHandTable
    contact: ContactTable = ContactTable()
    initial: InitialTable = InitialTable()
    simulation: SimulationTable = SimulationTable()

    @property
    def planar(self) -> bool:
        """Whether the scenario lies in the x-z plane."""
        return is_planar(self.hand.shape)

    def _check(self) -> None:
        check_dimension(self)


class JugglingSimulate(JugglingTable):
    """A scenario of kind `juggling`, task `simulate`."""

    task: Literal["simulate"]
