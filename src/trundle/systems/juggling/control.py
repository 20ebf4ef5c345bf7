"""Builders of kind `juggling`, tasks `transfer` and `balance`: plan, controlled runs, trials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from trundle import geometry
from trundle.errors import SimulationError
from trundle.models import Hand, RollingPair
from trundle.models.tree.system import Start
from trundle.problems import Reference
from trundle.scenarios.engine.building import Part, PartProgress, error_context
from trundle.scenarios.engine.log import RUN
from trundle.scenarios.engine.trials import next_of, stream_trials
from trundle.scenarios.scenario import Scenario
from trundle.simulate import simulate
from trundle.status import Status
from trundle.systems.juggling.build import pair_and_start, xz
from trundle.systems.juggling.goals import finite, goal_pose, judged, resting_pose, transfer_goal
from trundle.systems.juggling.plants import Draw, draws, moved_start, with_inputs
from trundle.systems.juggling.policies import follower, noted, regulator, sensed
from trundle.systems.juggling.schema_control import JugglingBalance, JugglingTransfer
from trundle.systems.juggling.schema_goals import CostTable, LimitsTable, OffsetTable
from trundle.threads import cached_property

if TYPE_CHECKING:
    from trundle.plan import Transfer
    from trundle.records import Plan, Policy, Trajectory

_GEOMETRIC_ROLLS, _FEWEST_ROLLS = 5, 3
"""Straight rolls of geometric plans, and the fewest that reach every goal."""


def build_transfer(scenario: Scenario) -> TransferExperiment:
    """Return the experiment of a scenario of task `transfer`."""
    from trundle.plan import ContactLimits, Goal, HandLimits, Transfer, Weights
    from trundle.plan.transfer.formulation import Formulation

    tables = scenario.read(JugglingTransfer)
    pair, start = pair_and_start(scenario)
    limits, plan = tables.limits, tables.plan
    with error_context("goal", scenario, _moved(limits) | {"contact": "goal.contact_on_hand"}):
        task = Transfer(
            pair,
            start,
            Goal(**transfer_goal(tables.goal, pair.d)),
            plan.duration,
            HandLimits(**limits.values(HandLimits)),
            ContactLimits(**limits.values(ContactLimits)),
            Weights(**tables.cost.values()),
            plan.start_velocities,
        )
        goal_pose(tables, pair)  # what cannot be a goal is bad input, not a failed run
        Formulation(task)
    with error_context("trials", scenario):
        trials = draws(pair, tables.trials, scenario.seed)
    work = TransferExperiment(scenario, pair, start, task, tuple(trials))
    if tables.offset is not None:
        with error_context("offset", scenario, {"contact_on_hand": "offset.contact", "contact": "offset.contact"}):
            work.offset_start(tables.offset)
    return work


def build_balance(scenario: Scenario) -> BalanceExperiment:
    """Return the experiment of a scenario of task `balance`."""
    tables = scenario.read(JugglingBalance)
    pair, start = pair_and_start(scenario)
    with error_context("trials", scenario):
        trials = draws(pair, tables.trials, scenario.seed)
    with error_context("goal", scenario):
        goal = pair.place(**resting_pose(tables, pair.d))
    work = BalanceExperiment(scenario, pair, start, goal, tuple(trials))
    with error_context("controller", scenario, {"state": "goal"}):
        work.controller()
    return work


def _moved(limits: LimitsTable) -> dict[str, str]:
    """Return, for the keys in errors of a Transfer, the keys of the scenario file."""
    places = {f"{table}.{name}": f"limits.{name}" for table in _LIMITS for name in type(limits).model_fields}
    weights = {f"weights.{name}": f"cost.{name}" for name in CostTable.model_fields}
    return {"duration": "plan.duration"} | places | weights


_LIMITS = ("hand_limits", "contact_limits")


@dataclass(frozen=True)
class TransferExperiment:
    """Plan, main run, comparison runs and trials of a transfer."""

    scenario: Scenario
    pair: RollingPair
    start: Start
    task: Transfer
    trials: tuple[Draw, ...]

    @property
    def tables(self) -> JugglingTransfer:
        """The scenario's tables."""
        return self.scenario.read(JugglingTransfer)

    def regulator(self) -> Policy:
        """Return the controller that tracks the plan, for export."""
        plan = self._planned(None, nodes=self.tables.plan.nodes, seed=self.scenario.seed)
        if not plan.success:
            raise SimulationError("there is no plan whose controller could be written", plan.status)
        return self._controller(plan.tracked)

    def parts(self) -> Iterator[Part]:
        """Yield plan, main run, open-loop runs and trials; if the plan failed, only its best attempt."""
        made: list[Plan] = []
        yield Part("plan", lambda share: self._plan(made, share), "solve")
        if not made or not made[0].success:
            yield Part("", lambda share: self._attempt(made))
            return
        plan, offset = made[0], self.tables.offset
        if self.tables.catch is not None:
            from trundle.systems.juggling.catching import Catching

            yield from Catching(self.pair, self.start, plan.tracked, self.tables, self.tables.catch).parts(self.trials)
            return
        if offset is not None:
            start = self.offset_start(offset)
            yield Part("", lambda share: self._judged(self._closed(plan.tracked, start, share)))
            yield Part("open-loop", lambda share: self._open(plan.tracked, start, share))
        elif self.trials:
            yield Part("", lambda share: self._judged(self._trial(plan, self.trials[0], closed=True, share=share)))
        else:
            start = self._planned_start(plan)
            yield Part("", lambda share: self._judged(self._closed(plan.tracked, start, share)))
        if self.tables.plan.coarse_nodes:
            yield from self._coarse()
        if self.tables.plan.printed:
            yield Part("printed", lambda share: self._printed(), "solve")
        loops = ("closed", "open") if self.tables.trials.open_loop else ("closed",)
        runs = [(k, loop) for k in range(len(self.trials)) for loop in loops]
        done = stream_trials(partial(self._numbered, plan), runs)
        for k, loop in runs:
            yield Part(f"{loop}-loop-{k + 1}", next_of(done))

    def _numbered(self, plan: Plan, run: tuple[int, str]) -> Trajectory:
        """Run a trial by its number, in closed or open loop."""
        return self._trial(plan, self.trials[run[0]], closed=run[1] == "closed", share=None)

    # the plan -----------------------------------------------------------------------------------------

    def _plan(self, made: list[Plan], share: PartProgress | None) -> Trajectory:
        table = self.tables.plan
        found = self._planned(share, nodes=table.nodes, seed=self.scenario.seed)
        made.append(found)
        for mesh in found.history:
            known = {k: v for k, v in mesh.items() if isinstance(v, int | float | str)}
            RUN.info(
                "mesh: %s", ", ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in known.items())
            )
        left = dict(found.residuals) | {"planning_time": found.wall_time, "message": found.message}
        status = found.status
        if found.success and self._ball_on_plate():
            left["geometric_path_length"] = self._geometric_length(_GEOMETRIC_ROLLS)
            left["geometric_path_length_fewest"] = self._geometric_length(_FEWEST_ROLLS)
        if found.success and table.starts:
            left |= {"start_sigma": table.start_sigma, "starts": table.starts}
            left |= {"start_successes": self._successes(share)}
            status = Status.INTERRUPTED if left["start_successes"] is None else status
        run = found.trajectory or self._standstill()
        return self._labelled(replace(run, status=status), {"plan": left, "history": list(found.history)})

    def _planned(self, share: PartProgress | None, **settings: Any) -> Plan:
        from trundle.plan import plan

        table = self.tables.plan
        given = {
            "method": table.method,
            "position_tolerance": table.position_tolerance,
            "rotation_tolerance": table.rotation_tolerance,
            "max_refinements": table.refinements,
            **settings,
        }
        # The number of iterations is not known beforehand: the share grows towards 1.
        report = None if share is None else lambda p: share(1.0 - 0.98**p.iteration)
        return plan(self.task, progress=report, **given)

    def _successes(self, share: PartProgress | None) -> int | None:
        """Count perturbed first guesses from which the goal is reached; None if interrupted."""
        table, count = self.tables.plan, 0
        try:
            for k in range(table.starts):
                found = self._planned(None, nodes=table.nodes, starts=1, sigma=table.start_sigma, seed=k + 1)
                if found.status is Status.INTERRUPTED:
                    return None
                count += found.success
                if share is not None:
                    share((k + 1) / table.starts)
        except KeyboardInterrupt:
            return None
        return count

    def _ball_on_plate(self) -> bool:
        base, goal = self.pair.base, self.tables.goal
        level = isinstance(base, Hand) and isinstance(base.shape, geometry.Plane) and not np.any(base.rpy)
        posed = goal.contact_on_hand is not None and goal.object_quaternion is not None
        return level and posed and isinstance(self.pair.body.shape, geometry.Sphere)

    def _geometric_length(self, rolls: int) -> float:
        """Return the length on the hand of a purely geometric plan, a few straight rolls (m)."""
        from trundle.plan.transfer.straight_rolls import roll_straight

        goal = goal_pose(self.tables, self.pair)
        both = [self.tables.initial.object_quaternion, goal["object_quaternion"]]
        turns = Rotation.from_quat(both, scalar_first=True)
        ends = (self.tables.initial.contact_on_hand, goal["contact_on_hand"])
        begin, end = (np.asarray(at, np.float64) for at in ends)
        way = (end - begin)[:2]
        radius = float(self.pair.body.shape.reference_length)
        return roll_straight(way, (turns[1] * turns[0].inv()).as_matrix(), radius, rolls=rolls).length

    def _attempt(self, made: list[Plan]) -> Trajectory:
        """Return the best attempt of a plan that failed."""
        found = made[0]
        run = found.trajectory or self._standstill()
        left = {"plan": dict(found.residuals), "message": found.message}
        return self._labelled(replace(run, status=found.status), left)

    def _standstill(self) -> Trajectory:
        """Return one sample interval from the start without input: there is no attempt to show."""
        step = self.tables.simulation.output_step
        return simulate(self.pair, self.start, step, output_step=step)

    # runs ---------------------------------------------------------------------------------------------

    def _coarse(self) -> Iterator[Part]:
        """Yield runs of the coarse plan's inputs without and with feedback, as in figure 10 of paper 2."""
        made: list[Reference] = []

        def opened(share: PartProgress | None) -> Trajectory:
            count = self.tables.plan.coarse_nodes
            found = self._planned(None, nodes=count, method="trapezoid", max_refinements=0, seed=self.scenario.seed)
            if found.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            made.append(Reference(found.times, found.states, found.inputs, found.atlas))
            return self._open(made[0], self.start, share)

        yield Part("coarse-open-loop", opened)
        yield Part("coarse-closed-loop", lambda share: self._closed(made[0], self.start, share))

    def _planned_start(self, plan: Plan) -> Start:
        """Return the start with the velocities that the plan chose for it, where it may."""
        from trundle.plan.transfer.formulation import Formulation
        from trundle.plan.transfer.guess import from_plan
        from trundle.plan.transfer.replay import Replayer

        formulation = Formulation(self.task)
        return Replayer(formulation).start(from_plan(formulation, plan))

    def _printed(self) -> Trajectory:
        """Return the replay of the plan by iterative direct collocation as paper 2 prints it, with its times."""
        from trundle.plan.transfer.printed import PrintedCollocation

        found = PrintedCollocation(self.task).solve()
        return self._labelled(replace(found.trajectory, status=found.status), {"plan": found.figures})

    def offset_start(self, table: OffsetTable) -> Start:
        """Return the start of the table [offset]."""
        contact = xz(table.contact) if self.pair.d == 2 else table.contact
        turn = [table.angle] if self.pair.d == 2 else table.rotation
        return moved_start(self.pair, self.tables, np.asarray(contact), np.asarray(turn))

    def _controller(self, reference: Reference) -> Policy:
        """Return the controller along a reference; cached, as gains and a region of attraction are slow to compute."""
        if id(reference) not in self._controllers:
            goal = self.pair.place(**resting_pose(self.tables, self.pair.d)) if self.tables.controller.switch else None
            self._controllers[id(reference)] = reference, follower(self.pair, reference, goal, self.tables)
        return self._controllers[id(reference)][1]

    @cached_property
    def _controllers(self) -> dict[int, tuple[Reference, Policy]]:
        return {}

    def _closed(self, reference: Reference, start: Start, share: PartProgress | None) -> Trajectory:
        duration = reference.duration + self.tables.controller.hold
        return self._simulated(self.pair, start, duration, share, policy=self._controller(reference))

    def _open(
        self,
        reference: Reference,
        start: Start,
        share: PartProgress | None,
        pair: RollingPair | None = None,
        bias: ArrayLike = 0.0,
    ) -> Trajectory:
        """Run the planned inputs without feedback; afterwards the hand's acceleration is the bias alone."""
        duration = reference.duration + self.tables.controller.hold
        return self._simulated(with_inputs(pair or self.pair, reference, bias), start, duration, share)

    def _trial(self, plan: Plan, draw: Draw, closed: bool, share: PartProgress | None) -> Trajectory:
        start = moved_start(draw.pair, self.tables, draw.contact, draw.turn)
        if not closed:
            return self._open(plan.tracked, start, share, draw.pair, draw.bias)
        policy = sensed(self._controller(plan.tracked), self.pair, self.tables, draw)
        duration = plan.tracked.duration + self.tables.controller.hold
        return self._simulated(draw.pair, start, duration, share, policy=policy)

    def _judged(self, run: Trajectory) -> Trajectory:
        return judged(run, self.tables, self.tables.controller.hold)

    def _simulated(
        self, pair: RollingPair, start: Start, duration: float, share: PartProgress | None, policy: Policy | None = None
    ) -> Trajectory:
        run = simulated(pair, start, duration, self.tables, share, policy=policy)
        return self._labelled(run, {} if policy is None else noted(policy))

    def _labelled(self, run: Trajectory, more: Mapping[str, Any]) -> Trajectory:
        known = dict(run.metadata) | {"goal": goal_pose(self.tables, self.pair)} | finite(more)
        return replace(run, metadata=known)


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
        yield Part("", lambda share: judged(self._run(share, policy=self._policy(None)), self.tables))
        yield Part("uncontrolled", lambda share: self._run(share))
        done = stream_trials(self._tried, self.trials)
        for k in range(1, len(self.trials) + 1):
            yield Part(f"closed-loop-{k}", next_of(done))

    def _tried(self, draw: Draw) -> Trajectory:
        """Run a trial."""
        return self._run(None, draw, policy=self._policy(draw))

    def controller(self) -> Policy:
        """Return the regulator about the goal."""
        return regulator(self.pair, self.goal, self.tables)

    def _policy(self, draw: Draw | None) -> Policy:
        return sensed(self.controller(), self.pair, self.tables, draw, self.scenario.seed)

    def _run(self, share: PartProgress | None, draw: Draw | None = None, policy: Policy | None = None) -> Trajectory:
        pair, start = self.pair, self.start
        if draw is not None:
            pair, start = draw.pair, moved_start(draw.pair, self.tables, draw.contact, draw.turn)
        run = simulated(pair, start, self.tables.simulation.duration, self.tables, share, policy)
        return replace(run, metadata=dict(run.metadata) | {"goal": goal_pose(self.tables, self.pair)})


def simulated(
    pair: RollingPair,
    start: Start,
    duration: float,
    tables: JugglingTransfer | JugglingBalance,
    share: PartProgress | None,
    policy: Policy | None = None,
) -> Trajectory:
    """Simulate with the settings of [simulation] for `duration` (s)."""
    settings = tables.simulation
    progress = (lambda t: share(t / duration)) if share else None
    step, tolerance = min(settings.output_step, duration), settings.relative_tolerance
    return simulate(
        pair, start, duration, output_step=step, relative_tolerance=tolerance, policy=policy, progress=progress
    )
