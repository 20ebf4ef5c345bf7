"""A humanoid that stands under pushes: the task "stand" of kind `multicontact`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import ClassVar, final

import numpy as np

from trundle.checks import FloatArray
from trundle.control.whole_body.nominal import gross_path
from trundle.control.whole_body.policy import HumanoidPolicy
from trundle.control.whole_body.stepping import Footsteps
from trundle.control.whole_body.whole_body import WholeBodyController
from trundle.problems.paths import PointPath
from trundle.scenarios.engine.building import error_context
from trundle.simulate.mujoco.humanoid import HumanoidPlant
from trundle.systems.multicontact.experiment import MulticontactExperiment
from trundle.systems.multicontact.schema import MulticontactStand
from trundle.systems.multicontact.trials import Outcome, Trial, run_trial
from trundle.threads import cached_property

_AXES = {"fore-aft": np.array([1.0, 0.0, 0.0]), "lateral": np.array([0.0, 1.0, 0.0])}


@final
class StandExperiment(MulticontactExperiment):
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
    def controller(self) -> WholeBodyController:
        """Whole-body controller of the robot that the file names."""
        return self.make_controller()

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
    def trial_count(self) -> int:
        """Number of all pushes: those after a fall are left out."""
        return len(pushes_of(self.tables))

    def waves(self, outcomes: Sequence[Outcome]) -> Iterator[list[Trial]]:
        """Yield batches of pushes that may run in parallel; after a fall no harder push along that axis follows."""
        seed, felled = self.scenario.seed, dict[str, float]()
        for (axis, impulse), pushes in groupby(enumerate(pushes_of(self.tables)), lambda numbered: numbered[1][:2]):
            if impulse > felled.get(axis, np.inf):
                continue
            wave = [
                Trial(seed + k, mass, tuple(sign * impulse * _AXES[axis]), axis) for k, (_, _, mass, sign) in pushes
            ]
            yield wave
            if not all(one.result.survived for one in outcomes[-len(wave) :]):
                felled[axis] = impulse

    def policy(self) -> HumanoidPolicy:
        """Return a fresh policy."""
        return self.make_policy()

    def plant(self, trial: Trial) -> HumanoidPlant:
        """Return the simulated robot of a trial."""
        return self.make_plant(trial)

    def outcome(self, trial: Trial) -> Outcome:
        """Run a trial."""
        return run_trial(self, trial)


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
