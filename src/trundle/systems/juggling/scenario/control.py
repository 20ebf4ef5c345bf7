"""Builder of kind `juggling`, task `transfer`: plan, controlled runs, trials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from trundle import geometry
from trundle.checks import FloatArray
from trundle.control import LocalError, TrackingLQR
from trundle.errors import SimulationError
from trundle.models import Hand, RollingPair
from trundle.models.tree.system import Start
from trundle.records.reference import Reference
from trundle.scenarios.engine.building import Part, PartProgress, error_context, simulate_part
from trundle.scenarios.engine.log import RUN
from trundle.scenarios.engine.trials import stream_trials, trial_parts
from trundle.scenarios.scenario import Scenario
from trundle.simulate import simulate
from trundle.status import Status
from trundle.systems.juggling.scenario.arm import arm_of, with_joints
from trundle.systems.juggling.scenario.build import pair_and_start, xz
from trundle.systems.juggling.scenario.goals import finite, goal_pose, judge_goal, resting_pose, transfer_goal
from trundle.systems.juggling.scenario.metrics import path_length
from trundle.systems.juggling.scenario.plants import Draw, draws, moved_start, with_inputs
from trundle.systems.juggling.scenario.policies import (
    Replanning,
    add_sensors,
    describe_switching,
    follower,
    guarded_on,
    tracker,
)
from trundle.systems.juggling.scenario.schema_control import JugglingTransfer
from trundle.systems.juggling.scenario.schema_goals import CostTable, LimitsTable, OffsetTable
from trundle.threads import cached_property

if TYPE_CHECKING:
    from trundle.records import Plan, Policy, Trajectory
    from trundle.systems.juggling.transfer.transfer import Transfer

_GEOMETRIC_ROLLS, _FEWEST_ROLLS = 5, 3
"""Straight rolls of geometric plans, and the fewest that reach every goal."""
_FAR = 1.2
"""Times what a few straight rolls need from which on a plan's path is said to be long."""


def build_transfer(scenario: Scenario) -> TransferExperiment:
    """Return the experiment of a scenario of task `transfer`."""
    from trundle.systems.juggling.transfer.formulation import Formulation
    from trundle.systems.juggling.transfer.transfer import ContactLimits, Goal, HandLimits, Transfer, Weights

    tables = scenario.read(JugglingTransfer)
    pair, start = pair_and_start(scenario)
    limits, plan = tables.limits, tables.plan
    with error_context("goal", scenario, _map_limit_keys(limits) | {"contact": "goal.contact_on_hand"}):
        task = Transfer(
            pair,
            start,
            Goal(**transfer_goal(tables.goal, pair.d)),
            plan.duration,
            HandLimits(**limits.values(HandLimits)),
            ContactLimits(**limits.values(ContactLimits)),
            Weights(**tables.cost.values()),
            plan.start_velocities,
            arm_of(scenario),
        )
        goal_pose(tables, pair)  # what cannot be a goal is bad input, not a failed run
        Formulation(task)
    with error_context("trials", scenario):
        trials = draws(pair, tables.trials, tables.limits.freedoms, scenario.seed)
    work = TransferExperiment(scenario, pair, start, task, tuple(trials))
    if tables.offset is not None:
        with error_context("offset", scenario, {"contact_on_hand": "offset.contact", "contact": "offset.contact"}):
            work.offset_start(tables.offset)
    return work


def _map_limit_keys(limits: LimitsTable) -> dict[str, str]:
    """Return, for the keys in errors of a Transfer, the keys of the scenario file."""
    places = {f"{table}.{name}": f"limits.{name}" for table in _LIMITS for name in type(limits).model_fields}
    weights = {f"weights.{name}": f"cost.{name}" for name in CostTable.model_fields}
    arm = {f"arm.{name}": f"arm.{name}" for name in ("position", "posture")}
    return {"duration": "plan.duration", "arm": "arm"} | arm | places | weights


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
        plan = self._make_plan(None, nodes=self.tables.plan.nodes, seed=self.scenario.seed)
        if not plan.success:
            raise SimulationError("there is no plan whose controller could be written", plan.status)
        return self._controller(plan.tracked)

    def parts(self) -> Iterator[Part]:
        """Yield plan, main run, open-loop runs and trials; if the plan failed, only its best attempt."""
        made: list[Plan] = []
        loops = ("closed", "open") if self.tables.trials.open_loop else ("closed",)
        runs = [(k, loop) for k in range(len(self.trials)) for loop in loops]
        others = 2 * bool(self.tables.plan.coarse_nodes) + self.tables.plan.printed
        ahead = len(runs) + others + (self.tables.offset is not None)
        yield Part("plan", lambda share: self._plan(made, share), "solve", 1 + ahead)
        if not made or not made[0].success:
            yield Part("", lambda share: self._attempt(made))
            return
        plan, offset = made[0], self.tables.offset
        if self.tables.catch is not None:
            from trundle.systems.juggling.scenario.catching import PlannedCatch

            yield from PlannedCatch(self.pair, self.start, plan.tracked, self.tables, self.tables.catch).parts(
                self.trials
            )
            return
        if offset is not None:
            start = self.offset_start(offset)
            yield Part(
                "", lambda share: self._judge_run(self._run_closed_loop(plan.tracked, start, share), plan), ahead=ahead
            )
            yield Part("open-loop", lambda share: self._open(plan.tracked, start, share), ahead=ahead - 1)
        elif self.trials:
            first = self.trials[0]
            yield Part("", lambda share: self._judge_run(self._trial(plan, first, True, share), plan), ahead=ahead)
        else:
            start = self._planned_start(plan)
            yield Part(
                "", lambda share: self._judge_run(self._run_closed_loop(plan.tracked, start, share), plan), ahead=ahead
            )
        if self.tables.plan.coarse_nodes:
            yield from self._coarse()
        if self.tables.plan.printed:
            yield Part("printed", lambda share: self._replay_paper2(), "solve", len(runs))
        yield from trial_parts(stream_trials(partial(self._run_trial, plan), runs), len(self.trials), loops)

    def _run_trial(self, plan: Plan, run: tuple[int, str]) -> Trajectory:
        """Run a trial by its number, in closed or open loop."""
        return self._trial(plan, self.trials[run[0]], closed=run[1] == "closed", share=None)

    # the plan -----------------------------------------------------------------------------------------

    def _plan(self, made: list[Plan], share: PartProgress | None) -> Trajectory:
        table = self.tables.plan
        found = self._make_plan(share, nodes=table.nodes, seed=self.scenario.seed)
        made.append(found)
        for mesh in found.history:
            known = {k: v for k, v in mesh.items() if isinstance(v, int | float | str)}
            RUN.info(
                "mesh: %s", ", ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in known.items())
            )
        left = dict(found.residuals) | {"planning_time": found.wall_time, "message": found.message}
        run, status, more = found.trajectory or self._standstill(), found.status, {}
        if found.success and self._ball_on_plate():
            needed, way = self._geometric_length(_GEOMETRIC_ROLLS), path_length(run)
            left["geometric_path_length"] = needed
            left["geometric_path_length_fewest"] = self._geometric_length(_FEWEST_ROLLS)
            if way > _FAR * needed:
                more["message"] = f"the contact goes {way:.3g} m, {needed:.3g} m would do: raise cost.contact_speed"
        if found.success and table.starts:
            left |= {"start_sigma": table.start_sigma, "starts": table.starts}
            left |= {"start_successes": self._successes(share)}
            status = Status.INTERRUPTED if left["start_successes"] is None else status
        return self._label_run(replace(run, status=status), {"plan": left, "history": list(found.history)} | more)

    def _make_plan(self, share: PartProgress | None, task: Transfer | None = None, **settings: Any) -> Plan:
        from trundle.systems.juggling.transfer.refine import plan

        table = self.tables.plan
        given = {
            "method": table.method,
            "position_tolerance": table.position_tolerance,
            "rotation_tolerance": table.rotation_tolerance,
            "max_refinements": table.refinements,
            **settings,
        }
        return plan(task or self.task, progress=(lambda p: share(p.share)) if share else None, **given)

    def _successes(self, share: PartProgress | None) -> int | None:
        """Count perturbed first guesses from which the goal is reached; None if interrupted."""
        table, count = self.tables.plan, 0
        try:
            for k in range(table.starts):
                found = self._make_plan(None, nodes=table.nodes, starts=1, sigma=table.start_sigma, seed=k + 1)
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
        from trundle.systems.juggling.transfer.straight_rolls import roll_straight

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
        return self._label_run(replace(run, status=found.status), left)

    def _standstill(self) -> Trajectory:
        """Return one sample interval from the start without input: there is no attempt to show."""
        step = self.tables.simulation.output_step
        return simulate(self.pair, self.start, step, output_step=step)

    # runs ---------------------------------------------------------------------------------------------

    def _coarse(self) -> Iterator[Part]:
        """Yield runs of the coarse plan's inputs without and with feedback, as in figure 10 of paper 2."""
        made: list[Reference] = []

        def run_open_loop(share: PartProgress | None) -> Trajectory:
            count = self.tables.plan.coarse_nodes
            found = self._make_plan(None, nodes=count, method="trapezoid", max_refinements=0, seed=self.scenario.seed)
            if found.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            made.append(Reference(found.times, found.states, found.inputs, found.atlas))
            return self._open(made[0], self.start, share)

        trials = len(self.trials)
        yield Part("coarse-open-loop", run_open_loop, ahead=1 + trials)
        yield Part("coarse-closed-loop", lambda share: self._run_closed_loop(made[0], self.start, share), ahead=trials)

    def _planned_start(self, plan: Plan) -> Start:
        """Return the start with the velocities that the plan chose for it, where it may."""
        from trundle.systems.juggling.transfer.formulation import Formulation
        from trundle.systems.juggling.transfer.guess import from_plan
        from trundle.systems.juggling.transfer.replay import Replayer

        formulation = Formulation(self.task)
        return Replayer(formulation).start(from_plan(formulation, plan))

    def _replay_paper2(self) -> Trajectory:
        """Return the replay of the plan by iterative direct collocation as paper 2 prints it, with its times."""
        from trundle.systems.juggling.transfer.paper2_collocation import PrintedCollocation

        found = PrintedCollocation(self.task).solve()
        return self._label_run(replace(found.trajectory, status=found.status), {"plan": found.figures})

    def offset_start(self, table: OffsetTable) -> Start:
        """Return the start of the table [offset]."""
        contact = xz(table.contact) if self.pair.d == 2 else table.contact
        turn = [table.angle] if self.pair.d == 2 else table.rotation
        return moved_start(self.pair, self.tables, np.asarray(contact), np.asarray(turn))

    def _controller(self, reference: Reference) -> Policy:
        """Return the controller along a reference; cached, as gains and a region of attraction are slow to compute."""
        if id(reference) not in self._controllers:
            table = self.tables.controller
            with error_context("controller", self.scenario, {"state": "goal"}):
                track = tracker(self.pair, reference, self.tables)
                goal = self.pair.place(**resting_pose(self.tables, self.pair.d)) if table.switch else None
                policy = track if table.replan is None else Replanning(track, self._again, table.replan)
                self._controllers[id(reference)] = reference, follower(self.pair, policy, goal, self.tables)
        return self._controllers[id(reference)][1]

    def _again(self, time: float, state: FloatArray, left: float) -> TrackingLQR | None:
        """Return the controller along a plan from a state at `time` (s) to the goal in the time left, or None."""
        from trundle.systems.juggling.transfer.goal import goal_of_start

        start = LocalError(self.pair).start_of(state)
        task = replace(self.task, start=start, goal=goal_of_start(self.task), duration=left)
        nodes = int(np.ceil(self.tables.plan.nodes * left / (time + left)))
        found = self._make_plan(None, task=task, nodes=max(nodes, 2), seed=self.scenario.seed)
        RUN.info("plan at %.3g s: %s", time, found.status.label)
        if not found.success:
            return None
        return tracker(self.pair, replace(found.tracked, times=found.tracked.times + time), self.tables)

    @cached_property
    def _controllers(self) -> dict[int, tuple[Reference, Policy]]:
        return {}

    def _run_closed_loop(self, reference: Reference, start: Start, share: PartProgress | None) -> Trajectory:
        duration = reference.duration + self.tables.controller.hold
        policy = guarded_on(self._controller(reference), self.pair, self.tables, self.scenario.seed)
        return self._simulate_pair(self.pair, start, duration, share, policy=policy)

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
        return self._simulate_pair(with_inputs(pair or self.pair, reference, bias), start, duration, share)

    def _trial(self, plan: Plan, draw: Draw, closed: bool, share: PartProgress | None) -> Trajectory:
        start = moved_start(draw.pair, self.tables, draw.contact, draw.turn)
        if not closed:
            return self._open(plan.tracked, start, share, draw.pair, draw.bias)
        policy = add_sensors(self._controller(plan.tracked), self.pair, self.tables, draw)
        duration = plan.tracked.duration + self.tables.controller.hold
        return self._simulate_pair(draw.pair, start, duration, share, policy=policy)

    def _judge_run(self, run: Trajectory, plan: Plan) -> Trajectory:
        return judge_goal(with_joints(run, plan, self.task.arm), self.tables, self.tables.controller.hold)

    def _simulate_pair(
        self, pair: RollingPair, start: Start, duration: float, share: PartProgress | None, policy: Policy | None = None
    ) -> Trajectory:
        run = simulate_part(pair, start, duration, self.tables.simulation, share, policy)
        return self._label_run(run, {} if policy is None else describe_switching(policy))

    def _label_run(self, run: Trajectory, more: Mapping[str, Any]) -> Trajectory:
        known = dict(run.metadata) | {"goal": goal_pose(self.tables, self.pair)} | finite(more)
        return replace(run, metadata=known)
