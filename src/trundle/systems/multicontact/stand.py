"""A humanoid that stands under pushes: the task "stand" of kind `multicontact`."""

from __future__ import annotations

from itertools import groupby
from typing import ClassVar, final

import numpy as np

from trundle.checks import FloatArray
from trundle.control.whole_body.nominal import gross_path
from trundle.control.whole_body.stepping import Footsteps
from trundle.problems.paths import PointPath
from trundle.scenarios.engine.building import error_context
from trundle.systems.multicontact.experiment import OnFeet
from trundle.systems.multicontact.schema import MulticontactStand
from trundle.systems.multicontact.trials import Trial
from trundle.threads import cached_property

_AXES = {"fore-aft": np.array([1.0, 0.0, 0.0]), "lateral": np.array([0.0, 1.0, 0.0])}


@final
class StandExperiment(OnFeet):
    """A humanoid that stands and is pushed, harder along an axis until it falls."""

    path_table: ClassVar[str] = "pushes"

    @property
    def reach_key(self) -> str:
        """The key that brings soles apart."""
        return "pushes.start"

    @property
    def tables(self) -> MulticontactStand:
        """The scenario's tables."""
        return self.scenario.read(MulticontactStand)

    def check(self) -> None:
        """Raise `InputError` where the robot cannot stand as the file says."""
        with error_context("robot", self.scenario, {"loadable": "robot.name"}):
            _ = self.steps
            self.check_reach()

    @cached_property
    def start(self) -> FloatArray:
        """State q (nq,) at the start: over the ground at the origin."""
        return self.standing()

    @cached_property
    def steps(self) -> Footsteps:
        """The places of both soles."""
        return Footsteps(self.soles_below(self.start), pushes=self.known_pushes)

    @cached_property
    def gross(self) -> PointPath:
        """Coarse path of the centre of mass: a point."""
        return gross_path(self.steps, self.com, lowered=self.tables.robot.lowered)

    @cached_property
    def rests(self) -> None:
        """No poses are asked for."""
        return None

    @property
    def duration(self) -> float:
        """Duration of a trial, s."""
        pushes = self.tables.pushes
        return pushes.start + pushes.duration + self.tables.simulation.settle

    @property
    def trials(self) -> list[list[Trial]]:
        """Pushes of one size along one axis, then harder ones."""
        seed, waves = self.scenario.seed, []
        for (axis, impulse), pushes in groupby(enumerate(pushes_of(self.tables)), lambda numbered: numbered[1][:2]):
            push = impulse * _AXES[axis]
            waves.append([Trial(seed + k, mass, tuple(sign * push), axis) for k, (_, _, mass, sign) in pushes])
        return waves


def pushes_of(tables: MulticontactStand) -> list[tuple[str, float, float, float]]:
    """Return axis, impulse (N s), mass factor and sign of all pushes."""
    table = tables.pushes
    impulses = {"fore-aft": table.fore_aft, "lateral": table.lateral}
    return [
        (axis, impulse, mass, sign)
        for axis in table.axes
        for impulse in impulses[axis]
        for mass in tables.mass_factors
        for sign in (1.0, -1.0)
    ]
