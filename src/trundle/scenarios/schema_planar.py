"""Scenario files of kind `planar`: one body rolling on terrain, in the plane (x right, z up)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from trundle.scenarios.problems import Allowed
from trundle.scenarios.schema import (
    Angle,
    Duration,
    Mass,
    NonNegative,
    Place,
    Real,
    ScenarioTable,
    Table,
    Tolerance,
    Vector2,
    fault,
)
from trundle.scenarios.schema_juggling import check_samples
from trundle.scenarios.schema_shapes import GroundCurve, OutlineCurve

Inertia = Annotated[float, Field(gt=0, le=1e12), Allowed("a number > 0, up to 1e12 (kg m^2)")]
MAX_STEPS = 100_000_000


class BodyTable(Table):
    """The rigid body that rolls."""

    curve: OutlineCurve = Field(description="outline, in the body's frame")
    mass: Mass = Field(description="kg")
    inertia: Inertia = Field(description="kg m^2, about the centre of mass")
    center_of_mass: Vector2 = Field(default=(0.0, 0.0), description="m, in the outline's frame")


class TerrainTable(Table):
    """The ground."""

    curve: GroundCurve = Field(description="the terrain's profile, world")


class PlanarContactTable(Table):
    """What the touch forbids and what it can push."""

    friction: NonNegative = Field(default=1.0, description="coefficient, tangential over normal force")
    on_slip: Literal["stop", "slide", "ignore"] = Field(default="ignore", description="when the friction cone is left")
    on_separation: Literal["stop", "fly", "ignore"] = Field(default="stop", description="when the force reaches zero")


class PlanarInitialTable(Table):
    """The start; the body's position and velocity follow."""

    contact_x: Place = Field(default=0.0, description="m, of the contact point on the terrain")
    angle: Angle = Field(default=0.0, description="rad, counter-clockwise")
    angular_velocity: Real = Field(default=0.0, description="rad/s, counter-clockwise")


class PlanarSimulationTable(Table):
    """How long and how accurately: a fixed `step`, or a `relative_tolerance` for an adaptive run."""

    gravity: Real = Field(default=9.81, description="m/s^2, downward")
    duration: Duration = Field(default=10.0, description="s")
    output_step: Duration = Field(default=0.01, description="s, between samples of the result")
    step: Annotated[Duration | None, Allowed("a time > 0, from 1e-9 to 1e9 (s)")] = Field(
        default=None, description="s, of the fixed-step integrator; 0.001 unless relative_tolerance is given"
    )
    relative_tolerance: Annotated[Tolerance | None, Allowed("a number from 1e-14 to 1e-2")] = Field(
        default=None, description="of the adaptive integrator; excludes step"
    )
    stabilization: Literal["projection", "baumgarte", "none"] = Field(
        default="projection", description="what keeps slip and gap at zero"
    )

    @model_validator(mode="before")
    @classmethod
    def _default_step(cls, data: Any) -> Any:
        if isinstance(data, dict) and "step" not in data and "relative_tolerance" not in data:
            return {**data, "step": 0.001}
        return data

    @model_validator(mode="after")
    def _consistent(self) -> PlanarSimulationTable:
        check_samples(self.duration, self.output_step)
        if self.step is not None and self.relative_tolerance is not None:
            raise fault("relative_tolerance", "must be left out where step is given (fixed steps), or step left out")
        if self.step is not None and not self.duration / MAX_STEPS <= self.step <= self.duration:
            low = self.duration / MAX_STEPS
            raise fault("step", f"must be a time from {low:g} (1e8 steps) to duration = {self.duration:g} (s)")
        return self


class PlanarSimulate(ScenarioTable):
    """A scenario of kind `planar`, task `simulate`."""

    kind: Literal["planar"]
    task: Literal["simulate"]
    body: BodyTable
    terrain: TerrainTable
    contact: PlanarContactTable = PlanarContactTable()
    initial: PlanarInitialTable = PlanarInitialTable()
    simulation: PlanarSimulationTable = PlanarSimulationTable.model_validate({})
