"""Builder of kind `juggling`, task `balance`: controlled and uncontrolled runs, trials."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trundle.models import RollingPair
from trundle.models.tree.system import Start
from trundle.scenarios.engine.building import Part, PartProgress, error_context, simulate_part
from trundle.scenarios.engine.trials import stream_trials, trial_parts
from trundle.scenarios.scenario import Scenario
from trundle.systems.juggling.scenario.build import pair_and_start
from trundle.systems.juggling.scenario.goals import goal_pose, judge_goal, resting_pose
from trundle.systems.juggling.scenario.plants import Draw, draws, moved_start
from trundle.systems.juggling.scenario.policies import add_sensors, regulator
from trundle.systems.juggling.scenario.schema_control import JugglingBalance

if TYPE_CHECKING:
    from trundle.records import Policy, Trajectory


def build(scenario: Scenario) -> BalanceExperiment:
    """Return the experiment of a scenario of task `balance`."""
    tables = scenario.read(JugglingBalance)
    pair, start = pair_and_start(scenario)
    with error_context("trials", scenario):
        trials = draws(pair, tables.trials, tables.limits.freedoms, scenario.seed)
    with error_context("goal", scenario):
        goal = pair.place(**resting_pose(tables, pair.d))
    work = BalanceExperiment(scenario, pair, start, goal, tuple(trials))
    with error_context("controller", scenario, {"state": "goal"}):
        work.controller()
    return work


@dataclass(frozen=True)
class BalanceExperiment:
    """A run with a regulator about an equilibrium, a run from the same start without it, and trials."""

    scenario: Scenario
    pair: RollingPair
    start: Start
    goal: Start
    trials: tuple[Draw, ...]

    @property
    def tables(self) -> JugglingBalance:
        """The scenario's tables."""
        return self.scenario.read(JugglingBalance)

    def regulator(self) -> Policy:
        """Return the controller, for export."""
        return self.controller()

    def parts(self) -> Iterator[Part]:
        """Yield the controlled run, the one with the hand at rest, and trials."""
        count = len(self.trials)
        yield Part(
            "", lambda share: judge_goal(self._run(share, policy=self._policy(None)), self.tables), ahead=1 + count
        )
        yield Part("uncontrolled", lambda share: self._run(share), ahead=count)
        yield from trial_parts(stream_trials(self._run_trial, self.trials), count)

    def _run_trial(self, draw: Draw) -> Trajectory:
        """Run a trial."""
        return self._run(None, draw, policy=self._policy(draw))

    def controller(self) -> Policy:
        """Return the regulator about the goal."""
        return regulator(self.pair, self.goal, self.tables)

    def _policy(self, draw: Draw | None) -> Policy:
        return add_sensors(self.controller(), self.pair, self.tables, draw, self.scenario.seed)

    def _run(self, share: PartProgress | None, draw: Draw | None = None, policy: Policy | None = None) -> Trajectory:
        pair, start = self.pair, self.start
        if draw is not None:
            pair, start = draw.pair, moved_start(draw.pair, self.tables, draw.contact, draw.turn)
        run = simulate_part(pair, start, self.tables.simulation.duration, self.tables.simulation, share, policy)
        return replace(run, metadata=dict(run.metadata) | {"goal": goal_pose(self.tables, self.pair)})
