"""Builder of kind `juggling`, task `throw`: a throw and a catch found by shooting, balance afterwards, trials."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from trundle.checks import FloatArray
from trundle.errors import SimulationError
from trundle.models import RollingPair
from trundle.models.tree.system import Start
from trundle.scenarios.engine.building import Part, PartProgress, error_context, simulate_part
from trundle.scenarios.engine.trials import stream_trials, trial_parts
from trundle.scenarios.scenario import Scenario
from trundle.status import Status
from trundle.systems.juggling.scenario.build import pair_and_start, xz
from trundle.systems.juggling.scenario.goals import goal_pose, resting_pose
from trundle.systems.juggling.scenario.policies import add_sensors, regulator
from trundle.systems.juggling.scenario.schema_control import JugglingThrow

if TYPE_CHECKING:
    from trundle.records import Policy, Trajectory
    from trundle.systems.juggling.throw.throw import ThrowCatch, ThrowPlan

KEYS = {
    "friction_use": "limits.friction_margin",
    "normal_force": "limits.normal_force",
    "pair.base": "hand.extent",
    "hand_limits.rotation": "limits.angular_acceleration",
    "hand_limits.linear": "limits.linear_acceleration",
}
"""Parameters of `ThrowCatch` that are no keys of [throw]: their keys."""
_SETTLE = 5e-3
"""Time (s) after the catch at which the regulator may take over."""


def build(scenario: Scenario) -> ThrowExperiment:
    """Return the experiment of a scenario of task `throw`."""
    from trundle.systems.juggling.throw.throw import ThrowCatch

    tables = scenario.read(JugglingThrow)
    pair, start = pair_and_start(scenario)
    limits, throw, goal = tables.limits, tables.throw, tables.goal
    linear = limits.linear_acceleration
    moved = {"goal_angle": "goal.object_angle", "goal_place": "goal.contact_on_hand", "pair": "contact.on_slip"}
    moved |= KEYS | {"pair.base": "hand"}
    with error_context("throw", scenario, moved):
        task = ThrowCatch(
            pair,
            start,
            goal_angle=goal.object_angle,
            goal_place=0.0 if goal.contact_on_hand is None else xz(goal.contact_on_hand)[0],
            hand_limits=(limits.angular_acceleration, linear, linear),
            friction_use=limits.friction_margin,
            normal_force=limits.normal_force,
            tolerance=(throw.energy_tolerance, throw.place_tolerance),
            **throw.values(ThrowCatch),
        )
    with error_context("goal", scenario, {"contact": "goal.contact_on_hand"}):
        pair.place(**resting_pose(tables, pair.d))
    return ThrowExperiment(scenario, pair, start, task)


@dataclass(frozen=True)
class ThrowExperiment:
    """Plan of a throw, its main run with the regulator after the catch, and trials with errors of the catch."""

    scenario: Scenario
    pair: RollingPair
    start: Start
    task: ThrowCatch

    @property
    def tables(self) -> JugglingThrow:
        """The scenario's tables."""
        return self.scenario.read(JugglingThrow)

    def regulator(self) -> Policy:
        """Return the controller that balances the object after the catch, for export."""
        table = self.tables.throw
        thrown = self.task.plan(None, seed=self.scenario.seed, wanted=table.wanted, time_limit=table.time_limit)
        if thrown.standing is None:
            raise SimulationError("there is no throw whose balance could be written", thrown.status)
        return regulator(self.pair, thrown.standing, self.tables)

    def parts(self) -> Iterator[Part]:
        """Yield plan, main run and trials; if the plan failed, only its best attempt."""
        made: list[ThrowPlan] = []
        errors = list(enumerate(self.errors(), 1))
        yield Part("plan", lambda share: self._plan(made, share), "solve", 1 + len(errors))
        if not made or not made[0].status.label == "success":
            if made:
                yield Part("", lambda share: self._attempt(made[0]))
            return
        yield Part("", lambda share: self._run(made[0], 0.0, 0.0, 0, share), ahead=len(errors))
        yield from trial_parts(stream_trials(partial(self._run_trial, made[0]), errors), len(errors))

    def _attempt(self, plan: ThrowPlan) -> Trajectory:
        """Return the best attempt of a throw that was not found, with what it ran into."""
        run = self._label_run(replace(plan.trajectory, status=plan.status))
        keys = KEYS | {"friction_use": "limits.friction_margin or contact.friction"}
        known = [f"{keys.get(name, f'throw.{name}')} ({how})" for name, how in plan.binding.items()]
        tried = ["throw.time_limit"] if plan.status is Status.TIME_LIMIT else []
        tried = ", ".join([*tried, "throw.energy_tolerance", "throw.place_tolerance", "goal.contact_on_hand"])
        advice = f"it runs into {', '.join(known)}: widen these, or change {tried}" if known else f"change {tried}"
        return replace(run, metadata=dict(run.metadata) | {"message": plan.message, "advice": advice})

    def _run_trial(self, plan: ThrowPlan, error: tuple[int, tuple[float, float]]) -> Trajectory:
        """Run a trial by its number and the errors of its catch."""
        number, (angle, rate) = error
        return self._run(plan, angle, rate, number, None)

    def errors(self) -> list[tuple[float, float]]:
        """Return (angle, rate) of each trial's catch: corners first, then uniform draws."""
        table = self.tables.catch_errors
        corners = [(a * table.angle, r * table.rate) for a, r in product((1.0, -1.0), repeat=2)]
        rng = np.random.default_rng([self.scenario.seed, 1])
        more = rng.uniform(-1.0, 1.0, size=(max(table.count - 4, 0), 2)) * [table.angle, table.rate]
        return [*corners, *((float(a), float(r)) for a, r in more)][: table.count]

    def _plan(self, made: list[ThrowPlan], share: PartProgress | None) -> Trajectory:
        table, report = self.tables.throw, (lambda at: share(at["share"])) if share else None
        found = self.task.plan(report, seed=self.scenario.seed, wanted=table.wanted, time_limit=table.time_limit)
        made.append(found)
        left = dict(found.shot.parameters) | {"rollouts": found.shot.rollouts, "planning_time": found.shot.wall_time}
        run = replace(found.trajectory, status=found.status)
        return replace(self._label_run(run), metadata=dict(self._label_run(run).metadata) | {"plan": left})

    def _run(self, plan: ThrowPlan, angle: float, rate: float, number: int, share: PartProgress | None) -> Trajectory:
        from trundle.systems.juggling.throw.policy import PlayThenHold

        if plan.catch is None or plan.standing is None:
            return self._label_run(plan.trajectory)
        hold = regulator(self.pair, plan.standing, self.tables)
        turn, caught = hold.error.blocks["object_rotation"], plan.catch.time + _SETTLE
        reach = float(self.tables.throw.reach)

        def ready(t: float, x: FloatArray) -> bool:
            return t > caught and abs(float(hold.deviation(t, x)[turn][0])) < reach

        after = add_sensors(hold, self.pair, self.tables, None, self.scenario.seed + number)
        policy = PlayThenHold(plan.profile, after, ready, period=self.tables.controller.period)
        kicks = plan.catch_errors(angle, rate) if angle or rate else None
        duration = plan.catch.time + self.tables.controller.hold
        run = simulate_part(self.pair, self.start, duration, self.tables.simulation, share, policy, kicks)
        known = {"catch_error": [angle, rate], "handed_over": policy.handed_over}
        return replace(self._label_run(run), metadata=dict(self._label_run(run).metadata) | known)

    def _label_run(self, run: Trajectory) -> Trajectory:
        return replace(run, metadata=dict(run.metadata) | {"goal": goal_pose(self.tables, self.pair)})
