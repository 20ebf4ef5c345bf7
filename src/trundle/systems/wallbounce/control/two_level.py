"""Contact-implicit and hybrid predictive control over a low level, each plan used only once it is computed."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from trundle.checks import FloatArray, choice, positive
from trundle.contact.soft import Wall
from trundle.errors import InputError
from trundle.parameters import Delay, Period, check_parameters, parameter
from trundle.systems.wallbounce.control.contact_implicit import KeepOutDisc
from trundle.systems.wallbounce.control.low_level import LowLevel
from trundle.systems.wallbounce.control.observer import MomentumObserver, ObserverRules
from trundle.systems.wallbounce.control.plans import BalancerPlan, ImplicitPlanner, TrackingPlanner

_FORGOTTEN = 0.5
"""Seconds in which what the momentum departed from plans is forgotten: each plan begins from what is measured."""
LEVELS = ("two-level", "implicit-only", "drive-only")
_OBSERVER = ObserverRules()


@dataclass(frozen=True)
class Timing:
    """Periods of the three levels, and after what time a plan may be used.

    The first two periods are multiples of the third. `event_time` comes on top at an event and where a warm start falls
    over, when a hybrid plan takes twice its time. With `measured` results differ from run to run.
    """

    implicit: Period = parameter(0.025, "s, period of contact-implicit plans")
    hybrid: Period = parameter(0.01, "s, period of hybrid plans")
    low: Period = parameter(0.001, "s, period of the low level")
    implicit_time: Delay = parameter(0.005, "s, a contact-implicit plan takes")
    event_time: Delay = parameter(0.015, "s, more at an event")
    hybrid_time: Delay = parameter(0.003, "s, a hybrid plan takes")
    measured: bool = parameter(False, "the time really taken instead; runs then differ")

    def __post_init__(self) -> None:
        check_parameters(self)
        for name in ("implicit", "hybrid"):
            ratio = getattr(self, name) / self.low
            if round(ratio) < 1 or abs(ratio - round(ratio)) > 1e-6 * ratio:
                raise InputError(name, getattr(self, name), f"a multiple of low = {self.low} (s)")

    def ticks(self, period: float) -> int:
        """Return a period in ticks of the low level."""
        return round(period / self.low)


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What is known around the robot; `version` changes when something appears."""

    walls: Sequence[Wall] = ()
    discs: Sequence[KeepOutDisc] = ()
    version: int = 0


class PendingPlan(NamedTuple):
    """A plan and when it may be used, s."""

    time: float
    plan: BalancerPlan


Reference = Callable[[float, FloatArray, FloatArray], FloatArray]
"""From the time, the model's state (16,) and the times of the stages to the reference (N + 1, 16)."""


@dataclass
class PlanCounts:
    """What went wrong, and real computing times (s) of all plans by ``implicit, event, hybrid``."""

    late: int = 0
    rejected: int = 0
    bad_measurements: int = 0
    without_plan: int = 0
    seconds: dict[str, list[float]] = field(default_factory=lambda: {"implicit": [], "event": [], "hybrid": []})


class TwoLevel:
    """The policy of a wall-bouncing robot: measurements in, commands of drive, yaw and arms out (final).

    Every `timing.implicit` a contact-implicit plan begins from the measured state, unless one is still being computed;
    every `timing.hybrid` a hybrid plan with the schedule of the newest implicit plan that has arrived. The low level
    follows the newest plan that has arrived, at its own time. At an event - the momentum departs from the plan, or the
    surroundings change - the implicit plan is found by homotopy, and the cheaper of this and the warm start is kept.
    A plan that is not finite or that arrives when its horizon is over is dropped; without a plan the low level holds
    the reference. A measurement that is not finite is replaced by the last that was.

    Parameters
    ----------
    low : LowLevel
    implicit : ImplicitPlanner
    hybrid : TrackingPlanner, optional
        Needed for two levels.
    reference : callable
    surroundings : callable
        From the time to `Surroundings`.
    timing : Timing
    levels : "two-level", "implicit-only" or "drive-only"
        Drive-only: a contact-implicit plan whose hands find no force.
    event_momentum : float, N s
        Departure of l from the plan that is an event.
    observer : ObserverRules
        Of pushes.

    Attributes
    ----------
    plans : dict
        The newest plan of each level that has arrived, None where none is in force.
    received : dict
        All plans of each level that have arrived.
    inputs, state, command : (15,), (16,), (9,)
        What the low level followed last, the state it measured, and its command.
    counts : PlanCounts

    Notes
    -----
    Source: Wall-bouncing paper, VI.
    """

    def __init__(
        self,
        low: LowLevel,
        implicit: ImplicitPlanner,
        hybrid: TrackingPlanner | None,
        reference: Reference,
        surroundings: Callable[[float], Surroundings],
        timing: Timing = Timing(),
        levels: str = "two-level",
        event_momentum: float = 2.0,
        observer: ObserverRules = _OBSERVER,
    ) -> None:
        self.low, self.implicit, self.hybrid, self.timing = low, implicit, hybrid, timing
        self.reference, self.surroundings = reference, surroundings
        self.levels = choice("levels", levels, LEVELS)
        self.observer = MomentumObserver(low.robot, observer, timing.low)
        self.event_momentum = positive("event_momentum", event_momentum, "N s")
        self.reset()

    @property
    def period(self) -> float:
        """Period of the low level, s."""
        return self.timing.low

    def reset(self) -> None:
        """Forget plans, integrals and counts."""
        self.counts = PlanCounts()
        self.observer.reset()
        self.plans: dict[str, BalancerPlan | None] = {"implicit": None, "hybrid": None}
        self.received: dict[str, list[BalancerPlan]] = {"implicit": [], "hybrid": []}
        self._coming: dict[str, PendingPlan | None] = {"implicit": None, "hybrid": None}
        self._integral, self._held = np.zeros(2), np.zeros(28)
        self._since = np.full(2, math.nan)
        self._version, self._fresh = 0, False
        self._event_at, self._departed, self._felt = -math.inf, np.zeros(2), np.zeros(2)
        self.inputs, self.state, self.command = np.zeros(15), np.zeros(16), np.zeros(9)

    def __call__(self, time: float, state: FloatArray) -> FloatArray:
        """Return the command (f_d (2), t_z, joint torques (6)) for a measurement (28,)."""
        measured = self._sane(state)
        tick = round(time / self.timing.low)
        self._feel(time, measured)
        self._receive(time)
        pushed = float(np.linalg.norm(self.observer.push[:2] - self._felt)) > self.observer.rules.threshold
        due = tick % self.timing.ticks(self.timing.implicit) == 0
        if (due or pushed) and self._coming["implicit"] is None:
            self._begin_implicit(time, measured, pushed)
        if tick % self.timing.ticks(self.timing.hybrid) == 0 and self._coming["hybrid"] is None:
            self._begin_hybrid(time, measured)
        self._receive(time)
        planned, inputs = self._follow_plan(time)
        answer = self.low(measured, planned, inputs, self._integral)
        self._integral = np.clip(self._integral + self.timing.low * answer.error, -0.3, 0.3)
        self.inputs, self.state, self.command = inputs, answer.state, answer.command
        self.observer.update(answer.state, answer.command, measured[22:28])
        return answer.command

    @property
    def following(self) -> BalancerPlan | None:
        """The plan the low level follows."""
        return self.plans["hybrid"] or self.plans["implicit"]

    def contacts(self, time: float) -> np.ndarray:
        """Return the flags (2,) of planned contacts now, left hand first."""
        plan = self.following
        return np.zeros(2, dtype=bool) if plan is None else plan.contacts(time)

    # measurements ---------------------------------------------------------------------------------------

    def _sane(self, measured: FloatArray) -> FloatArray:
        if np.all(np.isfinite(measured)):
            self._held = measured
            return measured
        self.counts.bad_measurements += 1
        return np.where(np.isfinite(measured), measured, self._held)

    def _feel(self, time: float, measured: FloatArray) -> None:
        """Update since when each hand has measured a force."""
        pressed = np.linalg.norm(measured[22:28].reshape(2, 3), axis=1) > 1.5
        self._since = np.where(pressed, np.where(np.isnan(self._since), time, self._since), math.nan)

    # plans ----------------------------------------------------------------------------------------------

    def _receive(self, time: float) -> None:
        for level, coming in self._coming.items():
            if coming is None or coming.time > time + 1e-9:
                continue
            self._coming[level] = None
            if time - coming.plan.begin >= coming.plan.horizon:
                self.counts.late += 1
                continue
            self.plans[level] = coming.plan
            self.received[level].append(coming.plan)
            if level == "implicit":
                self._fresh = True

    def _begin_implicit(self, time: float, measured: FloatArray, pushed: bool) -> None:
        x, around = self.low.state(measured), self.surroundings(time)
        event = self._is_event(time, x, around) or pushed
        if pushed:
            self._felt = self.observer.push[:2]
        begin = clock.perf_counter()
        times = time + self.implicit.times
        plan = self.implicit.plan(
            time, x, self.reference(time, x, times), around.walls, around.discs, self.plans["implicit"], event,
            self._since, touching=self.levels == "two-level", push=self.observer.forecast(self.implicit.times),
        )  # fmt: skip
        taken = clock.perf_counter() - begin
        self.counts.seconds["event" if event else "implicit"].append(taken)
        if event:
            self._version, self._event_at, self._departed = around.version, time, np.zeros(2)
        stated = self.timing.implicit_time + (self.timing.event_time if plan.searched else 0.0)
        self._send("implicit", time, taken, stated, plan)

    def _begin_hybrid(self, time: float, measured: FloatArray) -> None:
        source = self.plans["implicit"]
        if self.hybrid is None or self.levels != "two-level" or source is None or time >= source.begin + source.horizon:
            return
        x = self.low.state(measured)
        begin = clock.perf_counter()
        around = self.surroundings(time)
        times = time + self.hybrid.times
        plan = self.hybrid.plan(
            time, x, self.reference(time, x, times), around.walls, around.discs, source, self.plans["hybrid"],
            self._fresh, self.observer.forecast(self.hybrid.times),
        )  # fmt: skip
        taken = clock.perf_counter() - begin
        self._fresh = False
        self.counts.seconds["hybrid"].append(taken)
        self._send("hybrid", time, taken, self.timing.hybrid_time * (2.0 if plan.searched else 1.0), plan)

    def _send(self, level: str, time: float, taken: float, stated: float, plan: BalancerPlan) -> None:
        if not plan.usable:
            self.counts.rejected += 1
            return
        self._coming[level] = PendingPlan(time + (taken if self.timing.measured else stated), plan)

    def _is_event(self, time: float, x: FloatArray, around: Surroundings) -> bool:
        plan = self.plans["implicit"]
        if plan is None or around.version != self._version or time >= plan.begin + plan.horizon:
            return True
        away = x[11:13] - plan.at(time)[0][11:13]
        self._departed = away + (1.0 - self.timing.implicit / _FORGOTTEN) * self._departed
        if time - self._event_at < 2.0 * self.timing.implicit:
            return False
        return bool(np.linalg.norm(self._departed) > self.event_momentum)

    def _follow_plan(self, time: float) -> tuple[FloatArray, FloatArray]:
        """Return what the low level follows now: state (16,) and inputs (15,)."""
        for level in ("hybrid", "implicit"):
            plan = self.plans[level]
            if plan is not None and time < plan.begin + plan.horizon:
                return plan.at(time)
            self.plans[level] = None
        self.counts.without_plan += 1
        x = self.low.state(self._held)
        return self.reference(time, x, np.array([time]))[0], np.zeros(15)
