"""Scenario files of kind `planar`: a body, or a tree of bodies, rolling on terrain, in the plane (x right, z up)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from trundle.contact.laws import StartLaw
from trundle.models import IMPACT, SURFACE, RigidBody, Robot, RollingPair
from trundle.scenarios.motions import check_samples
from trundle.scenarios.problems import Allowed, Toml
from trundle.scenarios.schema import (
    Angle,
    Array,
    Duration,
    Mass,
    NonNegative,
    Place,
    Real,
    ScenarioTable,
    Size,
    Table,
    Tolerance,
    Vector2,
    fault,
    table_of,
)
from trundle.scenarios.schema_shapes import GroundCurve, OutlineCurve
from trundle.simulate.mode import Method

Inertia = Annotated[float, Field(gt=0, le=1e12), Allowed("a number > 0, up to 1e12 (kg m^2)")]
LinkInertia = Annotated[
    Inertia | Literal["solid", "shell"], Allowed("a number > 0, up to 1e12 (kg m^2), or 'solid' or 'shell'")
]
Name = Annotated[
    str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,59}$"), Allowed("a name of letters, digits, '_' and '-'")
]
Named = Annotated[dict[str, Any], Allowed("a table of numbers by the bodies' names")]
MAX_STEPS = 100_000_000  # of a run
_OF_A_BODY = ("contact_x", "angle", "angular_velocity")
_OF_A_TREE = ("positions", "rates", "contacts", "hold", "tolerance")


class BodyTable(Table):
    """The rigid body that rolls."""

    curve: OutlineCurve = Field(description="outline, in the body's frame")
    mass: Mass = Field(description="kg")
    inertia: Inertia = Field(description="kg m^2, about the centre of mass")
    center_of_mass: Vector2 = Field(default=(0.0, 0.0), description="m, in the outline's frame")


class LinkTable(
    table_of(
        RigidBody,
        ["inertia"],
        narrower={"inertia": LinkInertia},
        texts={"inertia": 'kg m^2, about the centre of mass, or "solid" or "shell"'},
    )
):
    """One body of a tree. Its frame has its origin at the joint, or anywhere if the body has no parent."""

    name: Name = Field(description="of the body, of its joint and of its contact")
    mass: Mass = Field(description="kg")
    center_of_mass: Vector2 = Field(default=(0.0, 0.0), description="m, in the body's frame")
    parent: Name | None = Field(default=None, description="the body it is jointed to; left out: a free body")
    joint: Literal["revolute", "prismatic"] = Field(default="revolute", description="a hinge, or a slide along axis")
    at: Vector2 = Field(default=(0.0, 0.0), description="m, where the joint is in the parent's frame")
    axis: Vector2 = Field(default=(1.0, 0.0), description="of a prismatic joint, in the parent's frame")
    actuated: bool | None = Field(
        default=None,
        description="whether the joint has a torque (or force) as input, a body without parent an external torque; "
        "left out: true for joints, false for bodies without parent",
    )
    curve: OutlineCurve | None = Field(default=None, description="outline that rolls on the terrain")
    curve_at: Vector2 = Field(default=(0.0, 0.0), description="m, origin of the outline in the body's frame")
    friction: NonNegative | None = Field(default=None, description="coefficient; that of [contact] if left out")

    @property
    def driven(self) -> bool:
        """Whether a torque (or force) acts on it."""
        return self.parent is not None if self.actuated is None else self.actuated

    def _check(self) -> None:
        if self.curve is None and isinstance(self.inertia, str):
            raise fault("inertia", "must be given as a number (kg m^2) for a body without a curve")


class PlanarTerrainTable(Table):
    """The ground."""

    curve: GroundCurve = Field(description="the terrain's profile, world")


_CONTACT = ("law", "friction", "on_separation", *SURFACE, *IMPACT)


class PlanarContactTable(table_of(RollingPair, _CONTACT, narrower={"law": StartLaw})):
    """Contact with the terrain: friction, and what happens at slip and separation."""

    on_slip: Literal["stop", "slide", "ignore"] = Field(default="ignore", description="when the friction cone is left")


class PlanarInitialTable(Table):
    """The start. Position and velocity of a single body follow from it; a tree's pose is closed onto the terrain."""

    contact_x: Place = Field(default=0.0, description="m, of the contact point on the terrain")
    angle: Angle = Field(default=0.0, description="rad, counter-clockwise")
    angular_velocity: Real = Field(default=0.0, description="rad/s, counter-clockwise")
    positions: Named = Field(
        default={}, description="of a tree: joint angle (rad) or travel (m); of a body without parent [x, z, angle]"
    )
    rates: Named = Field(
        default={}, description="of a tree: joint rates; of a body without parent [angular, x, z] (rad/s, m/s)"
    )
    contacts: Annotated[tuple[Name, ...] | None, Array, Allowed("a list of names of bodies that have a curve")] = Field(
        default=None, description="of a tree: bodies that touch the terrain; left out: all that have a curve"
    )
    hold: Annotated[tuple[Name, ...] | None, Array, Allowed("a list of names of bodies")] = Field(
        default=None, description="of a tree: joints and bodies that may not move when contacts are closed"
    )
    tolerance: Size | None = Field(
        default=None, description="m, of a tree: largest distance, in the given pose, of contacts that are to be closed"
    )

    def _check(self) -> None:
        for table in ("positions", "rates"):
            for name, value in getattr(self, table).items():
                if not all(_finite(one) for one in (value if isinstance(value, list) and value else [value])):
                    raise fault(f"{table}.{name}", "must be a finite number, or a list of finite numbers")


class PlanarSimulationTable(
    table_of(
        Method,
        ["step", "stabilization"],
        narrower={"step": Duration},
        base=table_of(Robot, ["gravity"], narrower={"gravity": Real}),
    )
):
    """Gravity, duration and accuracy: a fixed `step`, or a `relative_tolerance` for adaptive steps."""

    duration: Duration = Field(default=10.0, description="s")
    output_step: Duration = Field(default=0.01, description="s, between samples of the result")
    relative_tolerance: Tolerance | None = Field(default=None, description="of the adaptive integrator; excludes step")

    @model_validator(mode="before")
    @classmethod
    def _default_step(cls, data: Any) -> Any:
        if isinstance(data, dict) and "step" not in data and "relative_tolerance" not in data:
            return {**data, "step": 0.001}
        return data

    def _check(self) -> None:
        check_samples(self.duration, self.output_step)
        if self.step is not None and self.relative_tolerance is not None:
            raise fault("relative_tolerance", "must be left out where step is given (fixed steps), or step left out")
        if self.step is not None and not self.duration / MAX_STEPS <= self.step <= self.duration:
            low = self.duration / MAX_STEPS
            raise fault("step", f"must be a time from {low:g} (1e8 steps) to duration = {self.duration:g} (s)")


class PlanarTable(ScenarioTable):
    """Tables that every scenario of kind `planar` has."""

    kind: Literal["planar"]
    body: BodyTable | None = Field(default=None, description="the body that rolls; or give [[bodies]]")
    bodies: Annotated[
        tuple[LinkTable, ...] | None, Array, Field(max_length=64), Allowed("at most 64 tables [[bodies]]")
    ] = Field(default=None, description="a tree of bodies, instead of [body]")
    terrain: PlanarTerrainTable
    contact: PlanarContactTable = PlanarContactTable()
    initial: PlanarInitialTable = PlanarInitialTable()
    simulation: PlanarSimulationTable = PlanarSimulationTable.model_validate({})

    def _check(self) -> None:
        if (self.body is None) == (not self.bodies):
            key = "body" if self.body is None else "bodies"
            raise fault(key, "must be given: [body] for one body, or [[bodies]] for a tree, not both")
        for key in _OF_A_TREE if self.body else _OF_A_BODY:
            default = PlanarInitialTable.model_fields[key].default
            if key in self.initial.model_fields_set and getattr(self.initial, key) != default:
                other = "a tree of [[bodies]]" if self.body else "one [body]"
                raise fault(f"initial.{key}", f"must be left out: it belongs to {other}")
        _check_tree(self.bodies or ())


class PlanarSimulate(PlanarTable):
    """A scenario of kind `planar`, task `simulate`."""

    task: Literal["simulate"]


def _finite(value: Toml) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 1e12


def _check_tree(bodies: tuple[LinkTable, ...]) -> None:
    """Refuse names given twice, parents that do not exist, loops of parents, and trees without any curve."""
    parents: dict[str, str | None] = {}
    for i, body in enumerate(bodies):
        if body.name in parents:
            raise fault(
                f"bodies[{i}].name",
                f"must be a name no other body has ({body.name!r} has a joint already: no closed loops)",
            )
        parents[body.name] = body.parent
    for i, body in enumerate(bodies):
        if body.parent is not None and body.parent not in parents:
            raise fault(f"bodies[{i}].parent", "must be one of " + ", ".join(repr(name) for name in parents))
        seen, up = {body.name}, body.parent
        while up is not None:
            if up in seen:
                raise fault(f"bodies[{i}].parent", f"must lead to a body without a parent: {up!r} closes a loop")
            seen.add(up)
            up = parents[up]
    if bodies and all(body.curve is None for body in bodies):
        raise fault("bodies", "must have a curve on one of them at least: nothing could touch the terrain")
