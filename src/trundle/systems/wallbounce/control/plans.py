"""Plans of both levels as the low level reads them, and who makes them from a measured state."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from trundle.checks import FloatArray
from trundle.contact.soft import SoftLaw, Wall
from trundle.numerics.compiled.compile import compile_function
from trundle.numerics.ilqr import ControlSolution, Guess, Limits, cheapest
from trundle.status import Status
from trundle.systems.wallbounce.control.contact_implicit import BalancerWeights, ContactImplicit, KeepOut, KeepOutDisc
from trundle.systems.wallbounce.control.costs import PUSH
from trundle.systems.wallbounce.control.hybrid import HybridControl
from trundle.systems.wallbounce.control.level import BalancerLevel
from trundle.systems.wallbounce.control.schedule import ScheduleRules, contact_schedule, first_end, on_grid
from trundle.threads import cached_property

NO_FORCE = SoftLaw(1e-6, 0.02, 0.02)
"""A law by which hands find nothing to push."""
_LAW, _WEIGHTS, _RULES, _KEEP_OUT = SoftLaw(), BalancerWeights(), ScheduleRules(), KeepOut()
_FALLEN = 1.0  # rad of lean from which no plan comes back
_UNSETTLED = 1e-3
"""Share of the cost that a plan's last step promises to take off and by which the plan has not yet settled."""
_IMPLICIT, _EVENT, _HYBRID = Limits(5), Limits(15), Limits(3)


@dataclass(frozen=True, eq=False)
class BalancerPlan:
    """A plan from `begin` (s) on.

    Attributes
    ----------
    begin, step : float, s
    states : (N + 1, 16)
    inputs : (N, 15)
        f_d (2), t_z, joint rates (6), forces on the hands (6), world axes.
    solution : ControlSolution
    schedule : (N, pairs) of bool
        Planned contacts of left hand with each wall, then of the right one.
    forces, distances : (N, pairs) N, m
        Normal forces and signed distances.
    speeds, slips : (N, pairs) m/s
        Of the hands' centres, and along the wall.
    ends : (pairs,) s
        When contacts that last are over at the latest; infinite where nothing is known.
    searched : bool
        Whether it took more than the warm start.
    """

    begin: float
    step: float
    states: FloatArray
    inputs: FloatArray
    solution: ControlSolution
    schedule: NDArray[np.bool_]
    forces: FloatArray
    distances: FloatArray
    speeds: FloatArray
    slips: FloatArray
    ends: FloatArray
    searched: bool = False

    @property
    def horizon(self) -> float:
        """Length, s."""
        return self.step * len(self.inputs)

    @property
    def usable(self) -> bool:
        """Whether all numbers are finite and the cost is."""
        known = np.isfinite(np.sum(self.states)) and np.isfinite(np.sum(self.inputs))
        return bool(known and math.isfinite(self.solution.cost) and self.solution.status is not Status.NOT_FINITE)

    def at(self, time: float) -> tuple[FloatArray, FloatArray]:
        """Return the state, linear between stages, and the inputs of the stage."""
        place = self._place(time)
        k = int(place)
        share = place - k
        return (1.0 - share) * self.states[k] + share * self.states[k + 1], self.inputs[k]

    def contacts(self, time: float) -> NDArray[np.bool_]:
        """Return the flags (2,) of the hands' contacts at a time."""
        return np.any(self.schedule[self.stage(time)].reshape(2, -1), axis=1)

    def stage(self, time: float) -> int:
        """Return the number of the stage at a time, the first before the plan and the last after it."""
        return int(self._place(time))

    def _place(self, time: float) -> float:
        """Return the time since the plan's begin in stages."""
        return min(max((time - self.begin) / self.step, 0.0), len(self.inputs) - 1e-9)

    def later(self, time: float) -> Guess:
        """Return the warm start for a plan that begins at `time`."""
        return self.solution.guess((time - self.begin) / self.step)


def falls(solution: ControlSolution) -> bool:
    """Whether the body leans more than 1 rad anywhere along a solution (or a number is not finite)."""
    return not float(np.max(np.abs(solution.states[:, 3:5]))) <= _FALLEN


def has_settled(solution: ControlSolution) -> bool:
    """Whether a solution does not fall and its last step promised less than 0.1 % of its cost (at least of 1).

    Where iterations end sooner, the way there is chaotic: from costs of 1e6, inputs that differ by round-off end
    with costs from 1,700 to 1,000,000, for one and the same push whose best plan costs 1,638.
    """
    return not falls(solution) and abs(solution.decrease) <= _UNSETTLED * max(1.0, abs(solution.cost))


def upright(found: Sequence[ControlSolution]) -> ControlSolution:
    """Return the cheapest of the solutions that do not fall; of all, if all do."""
    return cheapest([solution for solution in found if not falls(solution)] or found)


class StageContacts(NamedTuple):
    """Contact quantities along a plan, see `BalancerPlan`; forces on the hands (N, 6), N, world axes."""

    distances: FloatArray
    forces: FloatArray
    on_hands: FloatArray
    speeds: FloatArray
    slips: FloatArray


@dataclass(frozen=True, eq=False)
class _Planner(ABC):
    """What both planners share: the grid of their level, and plans made of its solutions."""

    @property
    @abstractmethod
    def level(self) -> BalancerLevel:
        """The level whose problem is solved."""

    @property
    def times(self) -> FloatArray:
        """Of the stages, s from the plan's begin (N + 1,)."""
        return self.level.step * np.arange(self.level.stages + 1, dtype=np.float64)

    def _measure_contacts(self, solution: ControlSolution, p: FloatArray) -> StageContacts:
        """Return distances, forces and speeds along a solution."""
        n = self.level.stages
        found = [np.array(value) for value in self._observe(solution.states[:n].T, solution.inputs.T, p[:n].T)]
        speeds = np.linalg.norm(found[4].T.reshape(n, -1, 3), axis=2)
        return StageContacts(found[0].T, found[1].T, found[2].T.reshape(n, 6), speeds, found[5].T)

    def _make_plan(
        self,
        begin: float,
        solution: ControlSolution,
        schedule: NDArray[np.bool_],
        seen: StageContacts,
        ends: FloatArray,
        searched: bool,
    ) -> BalancerPlan:
        inputs = np.concatenate([solution.inputs[:, :9], seen.on_hands], axis=1)
        return BalancerPlan(
            begin, self.level.step, solution.states, inputs, solution, schedule,
            seen.forces, seen.distances, seen.speeds, seen.slips, ends,
            searched,
        )  # fmt: skip

    @cached_property
    def _observe(self) -> ca.Function:
        return compile_function(self.level.observe).map(self.level.stages)


@dataclass(frozen=True, eq=False)
class ImplicitPlanner(_Planner):
    """Contact-implicit plans, by homotopy at events, with the schedules they imply (final).

    A warm start whose roll-out falls over is worth nothing, nor is any plan that begins from it: there, too, the
    homotopy is tried, from a robot that balances and, where no plan has settled, from one that stands still.

    Parameters
    ----------
    control : ContactImplicit
    law : SoftLaw
    weights : BalancerWeights
    rules : ScheduleRules
    keep_out : KeepOut
    update, event : Limits
        Iterations of an update, and of each law of the homotopy.
    """

    control: ContactImplicit
    law: SoftLaw = _LAW
    weights: BalancerWeights = _WEIGHTS
    rules: ScheduleRules = _RULES
    keep_out: KeepOut = _KEEP_OUT
    update: Limits = _IMPLICIT
    event: Limits = _EVENT

    @property
    def level(self) -> BalancerLevel:
        """The contact-implicit level."""
        return self.control

    def plan(
        self,
        begin: float,
        x: FloatArray,
        reference: FloatArray,
        walls: Sequence[Wall],
        discs: Sequence[KeepOutDisc],
        last: BalancerPlan | None,
        event: bool,
        since: ArrayLike,
        touching: bool = True,
        push: ArrayLike = (0.0,) * PUSH,
    ) -> BalancerPlan:
        """Return the plan from the state x (16,).

        Parameters
        ----------
        begin : float, s
        x : (16,)
        reference : (N + 1, 16)
        walls : sequence of Wall
        discs : sequence of KeepOutDisc
        last : BalancerPlan or None
            The warm start.
        event : bool
            Try the homotopy as well and keep the cheaper.
        since : (2,) s
            Since when the hands feel a force; NaN: they do not.
        touching : bool
            Whether to read a schedule.
        push : (5,) or (N + 1, 5)
            Forecast at the stages, see `ContactImplicit.parameters`.
        """
        control = self.control
        p = control.parameters(reference, walls, self.law, self.weights, discs, self.keep_out, push)
        found = []
        if last is not None:
            found.append(control.solve(x, p, last.later(begin), self.event if event else self.update))
        searched = last is None or event or falls(found[0])
        if searched:
            found.append(control.discover(x, p, control.balancing(reference, self.weights), self.event))
            if not any(has_settled(solution) for solution in found):
                found.append(control.discover(x, p, control.still(x), self.event))
        best = upright(found)
        seen = self._measure_contacts(best, p)
        schedule, ends = np.zeros(seen.forces.shape, dtype=bool), np.full(control.pairs, np.inf)
        if touching and np.isfinite(np.sum(seen.forces)):
            schedule, ends = self._schedule(begin, seen, since, last)
        return self._make_plan(begin, best, schedule, seen, ends, searched)

    def _schedule(
        self, begin: float, seen: StageContacts, since: ArrayLike, last: BalancerPlan | None
    ) -> tuple[NDArray[np.bool_], FloatArray]:
        """Return the contacts of a plan, and when those that last now are over at the latest (s)."""
        rules, step, distances = self.rules, self.control.step, seen.distances[0]
        near, lasted = self._contacts(begin, distances, since)
        ends = np.full(distances.shape, np.inf)
        if rules.keep_end and last is not None:
            ends = np.where(distances < rules.near, last.ends, np.inf)
        flags = contact_schedule(seen.forces, seen.distances, step, rules, near, lasted, ends - begin)
        if rules.keep_end:
            begun = near & flags[0] & np.isinf(ends)
            ends = np.where(begun, begin + step * first_end(flags), ends)
        return flags, ends

    def _contacts(self, begin: float, distances: FloatArray, since: ArrayLike) -> tuple[NDArray[np.bool_], FloatArray]:
        """Pairs in contact now, by measured force and distance, and for how long (s)."""
        felt = np.repeat(np.asarray(since, dtype=np.float64), self.control.walls)
        near = np.logical_not(np.isnan(felt)) & (distances < 0.02)
        return near, np.where(near, begin - felt, 0.0)


@dataclass(frozen=True, eq=False)
class TrackingPlanner(_Planner):
    """Hybrid plans with the schedule of an implicit plan (final).

    Where all warm starts fall over, the implicit plan's states are tried without gains, their gaps to be closed.

    Parameters
    ----------
    control : HybridControl
    largest : float, N
        f_max.
    weights : BalancerWeights
    keep_out : KeepOut
    update : Limits
    """

    control: HybridControl
    largest: float = _LAW.largest
    weights: BalancerWeights = _WEIGHTS
    keep_out: KeepOut = _KEEP_OUT
    update: Limits = _HYBRID

    @property
    def level(self) -> BalancerLevel:
        """The hybrid level."""
        return self.control

    def plan(
        self,
        begin: float,
        x: FloatArray,
        reference: FloatArray,
        walls: Sequence[Wall],
        discs: Sequence[KeepOutDisc],
        source: BalancerPlan,
        last: BalancerPlan | None,
        fresh: bool,
        push: ArrayLike = (0.0,) * PUSH,
    ) -> BalancerPlan:
        """Return the plan from the state x (16,).

        Parameters
        ----------
        begin : float, s
        x : (16,)
        reference : (N + 1, 16)
        walls : sequence of Wall
        discs : sequence of KeepOutDisc
        source : BalancerPlan
            Of the contact-implicit level: schedule and seed.
        last : BalancerPlan or None
            The own last plan.
        fresh : bool
            Seed from `source`, too: it has just arrived. Always so without a last plan.
        push : (5,) or (N + 1, 5)
            Forecast at the stages.
        """
        control = self.control
        passed = begin - source.begin
        schedule = on_grid(source.schedule, source.step, self.times[:-1] + passed)
        p = control.parameters(reference, schedule, walls, self.largest, self.weights, discs, self.keep_out, push)
        guesses = [] if last is None else [last.later(begin)]
        seed = control.seed(source.solution, source.forces, source.schedule).shifted(passed / source.step)
        if fresh or not guesses:
            guesses.append(seed)
        best = control.solve(x, p, guesses, self.update)
        searched = falls(best)
        if searched:
            best = upright([best, control.solve(x, p, [seed], self.update)])
        return self._make_plan(begin, best, schedule, self._measure_contacts(best, p), source.ends, searched)
