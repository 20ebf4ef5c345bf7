"""Scenario files of kind `planar`, task `walk`: a passive walker with round feet on a slope."""

from __future__ import annotations

from operator import lt
from typing import Annotated, Literal

from pydantic import Field

from trundle.scenarios.problems import Allowed
from trundle.scenarios.schema import (
    Array,
    Duration,
    ScenarioTable,
    Table,
    Tolerance,
    fault,
    require_order,
    table_of,
)
from trundle.systems.planar.passive_walker import PassiveWalker

Angle = Annotated[float, Field(gt=0, lt=1), Allowed("an angle > 0, below 1 (rad)")]
Error = Annotated[float, Field(ge=0, le=0.5), Allowed("a share from 0 to 0.5")]
Strides = Annotated[int, Field(ge=1, le=10000), Allowed("an integer from 1 to 10000")]
Nodes = Annotated[int, Field(ge=4, le=1000), Allowed("an integer from 4 to 1000")]
_Bound = Annotated[float, Field(gt=0, le=100), Allowed("a number > 0, at most 100")]
Bounds = Annotated[tuple[_Bound, _Bound], Array, require_order(lt), Allowed("two ascending numbers > 0, at most 100")]
Errors = Annotated[tuple[Error, ...], Array, Field(max_length=16), Allowed("at most 16 shares, each from 0 to 0.5")]


WALKER = ("leg", "foot_radius", "hip_mass", "leg_mass", "leg_center", "leg_inertia", "slope")


class WalkerTable(table_of(PassiveWalker, WALKER)):
    """Two straight legs, hinged at the hip, with circular feet."""

    def _check(self) -> None:
        if self.foot_radius >= self.leg:
            raise fault("foot_radius", f"must be below leg = {self.leg:g} (m)")


class WalkerContactTable(table_of(PassiveWalker, ["friction"])):
    """Friction of the feet on the ground."""


class CycleTable(Table):
    """Search for the periodic stride by collocation."""

    durations: Bounds = Field(default=(2.1, 3.0), description="sqrt(leg/gravity), shortest and longest stride")
    twin_durations: Bounds | None = Field(
        default=(1.6, 2.1), description="sqrt(leg/gravity), the same for the unstable twin"
    )
    nodes: Nodes = Field(default=30, description="intervals of the collocation")
    angle: Angle = Field(default=0.27, description="rad, stance angle of the initial guess")


class WalkerInitialTable(Table):
    """Start of the main run: its distance from the cycle."""

    error: Error = Field(default=0.01, description="relative, of angle and rates; its direction drawn with the seed")


class WalkerTrialsTable(Table):
    """Trials of the stride map: starts off the cycle in random directions."""

    count: Annotated[int, Field(ge=0, le=10000), Allowed("an integer from 0 to 10000")] = Field(
        default=24, description="starts of each size"
    )
    errors: Errors = Field(default=(0.01, 0.05, 0.1), description="relative errors of the starts, as initial.error")
    strides: Strides = Field(default=10, description="of each start; returned: less than 1 % of its error is left")


class WalkerSimulationTable(table_of(PassiveWalker, ["gravity"])):
    """Gravity, duration, sampling and accuracy of the simulation."""

    strides: Strides = Field(default=12, description="length of the main run, in strides of the cycle")
    output_step: Duration = Field(default=0.005, description="s, between samples of the result")
    relative_tolerance: Tolerance = Field(default=1e-11, description="of the adaptive integrator")


class PlanarWalk(ScenarioTable):
    """A scenario of kind `planar`, task `walk`: the limit cycle of a passive walker, and runs from starts near it."""

    kind: Literal["planar"]
    task: Literal["walk"]
    walker: WalkerTable = WalkerTable()
    contact: WalkerContactTable = WalkerContactTable()
    cycle: CycleTable = CycleTable()
    initial: WalkerInitialTable = WalkerInitialTable()
    trials: WalkerTrialsTable = WalkerTrialsTable()
    simulation: WalkerSimulationTable = WalkerSimulationTable()
