"""Tables of prescribed motions and of simulations, which kinds of scenario share."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from trundle import models
from trundle.scenarios.engine.building import data, error_context, name_data_file
from trundle.scenarios.problems import Allowed
from trundle.scenarios.scenario import Scenario
from trundle.scenarios.schema import (
    DataFile,
    Duration,
    Real,
    Table,
    Vector3,
    Vector6,
    fault,
    table_of,
)
from trundle.scenarios.schema_shapes import FILE, FileName
from trundle.simulate.mode import Method

Turning = Annotated[
    Vector3 | Real, Allowed("3 numbers, each from -1e12 to 1e12, or in the plane one (counter-clockwise)")
]
TwistRates = Annotated[
    Vector6 | Vector3,
    Allowed("6 numbers, each from -1e12 to 1e12 (angular first), or in the plane 3 (counter-clockwise, x, z)"),
]
MAX_SAMPLES = 1_000_000  # of a run: what its record holds in memory


class CoastTable(Table):
    """The twist stays constant, in the body's own axes."""

    type: Literal["coast"]


class SinusoidMotionTable(Table):
    """Time derivative of the twist: amplitude sin(2 pi frequency t + phase), each component."""

    type: Literal["sinusoid"]
    amplitude: TwistRates = Field(
        description="rad/s^2 and m/s^2, angular first, body axes; in the plane 3 numbers: counter-clockwise, x, z"
    )
    frequency: TwistRates = Field(description="Hz")
    phase: TwistRates = Field(default=(0.0, 0.0, 0.0, 0.0, 0.0, 0.0), description="rad")

    @model_validator(mode="before")
    @classmethod
    def _default_phase(cls, data: Any) -> Any:
        if isinstance(data, dict) and "phase" not in data and isinstance(data.get("amplitude"), list | tuple):
            if len(data["amplitude"]) == 3:
                return {**data, "phase": [0.0] * 3}
        return data


class SampledMotionTable(Table):
    """Time derivative of the twist from a CSV file: time, 6 columns (angular first), linear between.

    In the plane there are 3 columns: counter-clockwise, x and z.
    """

    type: Literal["samples"]
    file: Annotated[FileName, FILE, DataFile("t, wx, wy, wz, vx, vy, vz")] = Field(
        description="CSV: time (s), 3 columns rad/s^2, 3 columns m/s^2; in the plane time, w, vx, vz"
    )


MotionTable = CoastTable | SinusoidMotionTable | SampledMotionTable
BodyMotion = Annotated[MotionTable, Field(discriminator="type")]


class SimulationTable(table_of(Method, ["relative_tolerance"])):
    """Gravity, duration, sampling and accuracy of the simulation."""

    gravity: Vector3 = Field(default=(0.0, 0.0, -9.81), description="m/s^2, world")
    duration: Duration = Field(default=10.0, description="s")
    output_step: Duration = Field(default=0.01, description="s, between samples of the result")

    def _check(self) -> None:
        check_samples(self.duration, self.output_step)


def check_samples(duration: float, output_step: float, prefix: str = "", of: str = "duration") -> None:
    """Raise the validator's error if `output_step` gives no sample or more than a million of what `of` names."""
    low = duration / MAX_SAMPLES
    if not low <= output_step <= duration:
        text = f"must be a time from {low:g} (a million samples) to {of} = {duration:g} (s)"
        raise fault(f"{prefix}output_step", text)


def motion_of(scenario: Scenario, table: MotionTable, d: int, key: str) -> models.HandMotion:
    """Return the prescribed motion of the table at `key`, for a body in dimension `d`."""
    if table.type == "coast":
        return models.Coast()
    if table.type == "sinusoid":
        with error_context(key, scenario):
            return models.SinusoidMotion(table.amplitude, table.frequency, table.phase)
    with name_data_file(f"{key}.file", table.file, scenario):
        columns = ("t", "w", "vx", "vz") if d == 2 else ("t", "wx", "wy", "wz", "vx", "vy", "vz")
        values = data(scenario, f"{key}.file", table.file, columns)
        return models.SampledMotion(values[:, 0], values[:, 1:])
