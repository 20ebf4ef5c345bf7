"""Scenario files of kind `juggling`: one object rolling on a moving hand, in space."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field, model_validator

from trundle.scenarios.problems import Allowed
from trundle.scenarios.schema import (
    Array,
    DataFile,
    Duration,
    Mass,
    NonNegative,
    Place3,
    ScenarioTable,
    Sizes2,
    Table,
    Tolerance,
    Vector3,
    Vector4,
    Vector6,
    fault,
)
from trundle.scenarios.schema_shapes import FILE, FileName, HandSurface, ObjectSurface

Moment = Annotated[float, Field(gt=0, le=1e12)]
Moments = Annotated[tuple[Moment, Moment, Moment], Array]
MAX_SAMPLES = 1_000_000


class ObjectTable(Table):
    """The rigid body that rolls."""

    shape: ObjectSurface = Field(description="surface, in the body's frame")
    mass: Mass = Field(description="kg")
    inertia: Annotated[
        Literal["solid", "shell"] | Moments,
        Allowed("'solid', 'shell' or [Ixx, Iyy, Izz], three numbers > 0 (kg m^2)"),
    ] = Field(default="solid", description="'solid', 'shell' or [Ixx, Iyy, Izz] about the centre of mass (kg m^2)")
    center_of_mass: Vector3 = Field(default=(0.0, 0.0, 0.0), description="m, in the shape's frame")

    @model_validator(mode="after")
    def _real_body(self) -> ObjectTable:
        if not isinstance(self.inertia, str):
            small, middle, large = sorted(self.inertia)
            if small + middle < large * (1.0 - 1e-12):
                text = f"must be that of a real body: {large:g} <= {small:g} + {middle:g} (kg m^2) does not hold"
                raise fault("inertia", text)
        return self


class CoastTable(Table):
    """The hand's twist stays constant in the hand frame."""

    type: Literal["coast"]


class SinusoidMotionTable(Table):
    """Time derivative of the hand's twist: amplitude sin(2 pi frequency t + phase), each component."""

    type: Literal["sinusoid"]
    amplitude: Vector6 = Field(description="rad/s^2 and m/s^2, angular first, hand frame")
    frequency: Vector6 = Field(description="Hz")
    phase: Vector6 = Field(default=(0.0, 0.0, 0.0, 0.0, 0.0, 0.0), description="rad")


class SampledMotionTable(Table):
    """Time derivative of the hand's twist from a CSV file: time, 6 columns (angular first), linear between."""

    type: Literal["samples"]
    file: Annotated[FileName, FILE, DataFile("t, wx, wy, wz, vx, vy, vz")] = Field(
        description="CSV: time (s), 3 columns rad/s^2, 3 columns m/s^2"
    )


HandMotion = Annotated[CoastTable | SinusoidMotionTable | SampledMotionTable, Field(discriminator="type")]


class HandTable(Table):
    """The hand: a surface that moves as told."""

    shape: HandSurface = Field(description="surface, in the hand's frame")
    position: Place3 = Field(default=(0.0, 0.0, 0.0), description="m, world")
    rpy: Vector3 = Field(default=(0.0, 0.0, 0.0), description="rad, R = Rz(yaw) Ry(pitch) Rx(roll)")
    angular_velocity: Vector3 = Field(default=(0.0, 0.0, 0.0), description="rad/s, hand frame")
    velocity: Vector3 = Field(default=(0.0, 0.0, 0.0), description="m/s, hand frame")
    extent: Annotated[Sizes2 | None, Allowed("2 lengths > 0, each from 1e-7 to 1e7 (m)")] = Field(
        default=None, description="m, x and y; leaving it ends the run"
    )
    motion: HandMotion = Field(default=CoastTable(type="coast"), description="time derivative of the hand's twist")


class ContactTable(Table):
    """What the touch forbids and what it can push."""

    law: Literal["rolling", "pure-rolling"] = Field(default="rolling", description="pure rolling: no relative spin")
    friction: NonNegative = Field(default=1.0, description="coefficient, tangential over normal force")
    torsional_friction: NonNegative = Field(default=0.0, description="m, moment about the normal over normal force")
    on_slip: Literal["stop", "slide", "ignore"] = Field(default="stop", description="when the friction cone is left")
    on_separation: Literal["stop", "fly", "ignore"] = Field(default="stop", description="when the force reaches zero")


class InitialTable(Table):
    """The start; the object's point of contact, position and velocity follow."""

    contact_on_hand: Place3 = Field(default=(0.0, 0.0, 0.0), description="m, hand frame, projected on the surface")
    object_quaternion: Vector4 = Field(default=(1.0, 0.0, 0.0, 0.0), description="(w, x, y, z), world from body")
    object_angular_velocity: Vector3 = Field(default=(0.0, 0.0, 0.0), description="rad/s, world")

    @model_validator(mode="after")
    def _unit(self) -> InitialTable:
        norm = math.hypot(*self.object_quaternion)
        if abs(norm - 1.0) > 1e-3:
            text = f"must be a unit quaternion (w, x, y, z), norm 1 within 1e-3; its norm is {norm:.6g}"
            raise fault("object_quaternion", text)
        return self


class SimulationTable(Table):
    """How long and how accurately."""

    gravity: Vector3 = Field(default=(0.0, 0.0, -9.81), description="m/s^2, world")
    duration: Duration = Field(default=10.0, description="s")
    output_step: Duration = Field(default=0.01, description="s, between samples of the result")
    relative_tolerance: Tolerance = Field(default=1e-10, description="of the integrator")

    @model_validator(mode="after")
    def _samples(self) -> SimulationTable:
        check_samples(self.duration, self.output_step)
        return self


def check_samples(duration: float, output_step: float) -> None:
    """Raise the validator's error if `output_step` gives no sample or more than a million."""
    if not duration / MAX_SAMPLES <= output_step <= duration:
        low = duration / MAX_SAMPLES
        raise fault("output_step", f"must be a time from {low:g} (a million samples) to duration = {duration:g} (s)")


class JugglingSimulate(ScenarioTable):
    """A scenario of kind `juggling`, task `simulate`."""

    kind: Literal["juggling"]
    task: Literal["simulate"]
    object: ObjectTable
    hand: HandTable
    contact: ContactTable = ContactTable()
    initial: InitialTable = InitialTable()
    simulation: SimulationTable = SimulationTable()
