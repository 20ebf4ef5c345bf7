"""The verb `simulate`: integrates a system through its modes and records what happened."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trundle.checks import FloatArray, array, choice, positive
from trundle.errors import InputError
from trundle.models.rolling_pair import RollingPair
from trundle.models.system import ContactSystem, Start
from trundle.numerics.ode import Integration
from trundle.records import Policy, Trajectory
from trundle.simulate.phase import Method, Mode, Phase
from trundle.simulate.recorder import record
from trundle.simulate.transitions import Event, Instant, Switchboard
from trundle.simulate.watch import Watch
from trundle.status import Status

WATCH_STEP = 5e-3
"""Longest time (s) between looks at whole shapes."""

WATCH_SPAN = 0.25
"""Time (s) that is integrated in one go before its looks are taken together."""

NO_LOOKS: FloatArray = np.zeros(0)

_STUCK = 30


@dataclass
class Segment:
    """Samples of one phase: times (n,), states (n, n_x), parameters (n, n_p)."""

    phase: Phase
    times: FloatArray
    states: FloatArray
    parameters: FloatArray


@dataclass
class Log:
    """What a run gathers."""

    segments: list[Segment] = field(default_factory=list)
    transitions: list[dict[str, Any]] = field(default_factory=list)
    margins: dict[str, float] = field(default_factory=dict)
    steps: int = 0
    rejected: int = 0
    evaluations: int = 0

    def count(self, phase: Phase, done: Integration) -> None:
        """Add the statistics of one integration."""
        self.steps += done.steps
        self.rejected += done.rejected
        self.evaluations += done.evaluations
        for name, value in zip(phase.margins, done.margin_minimum, strict=True):
            self.margins[name] = min(self.margins.get(name, np.inf), float(value))


def simulate(
    model: RollingPair | ContactSystem,
    initial: Start,
    duration: float,
    *,
    policy: Policy | None = None,
    output_step: float | None = None,
    relative_tolerance: float | None = None,
    step: float | None = None,
    method: str | None = None,
    stabilization: str = "projection",
    progress: Callable[[float], object] | None = None,
) -> Trajectory:
    """Simulate bodies in contact through rolling, sliding, flight, impact and rest.

    Parameters
    ----------
    model : RollingPair or ContactSystem
    initial : Start
        From ``model.place(...)``.
    duration : float, s
    policy : Policy, optional
        Called every ``policy.period`` with (time, state); its input is held until the next call and
        takes the place of the hand's motion.
    output_step : float, s
        Between recorded samples (default: duration / 500). The end is always recorded.
    relative_tolerance : float
        Of the adaptive integrator (default 1e-10).
    step : float, s
        Fixed step; excludes `relative_tolerance`.
    method : str
        ``"dop853"`` (default), ``"dopri5"`` or ``"rk4"`` (default with a fixed step).
    stabilization : str
        ``"projection"`` onto gap and slip after every step, ``"baumgarte"`` or ``"none"``.
    progress : callable
        Called now and then with the simulated time (s).

    Returns
    -------
    Trajectory
        Its status says how the run ended; an interrupt (Ctrl-C) keeps what was computed.

    Raises
    ------
    InputError
        If an argument is out of range.
    """
    system = model if isinstance(model, ContactSystem) else model.system
    duration = positive("duration", duration, "s")
    chosen = _method(relative_tolerance, step, method, stabilization)
    samples = _sample_times(duration, output_step)
    x = array("initial", initial.x, (system.model(initial.atlas).x.shape[0],))
    runner = _Runner(system, chosen, policy, samples, progress)
    begin = clock.perf_counter()
    mode = Mode(tuple(law.name for law in system.start_laws), initial.atlas)
    first = Instant(0.0, x, mode, np.zeros((len(mode.laws), system.d)))
    runner.prepare(mode)
    built = clock.perf_counter()
    status = runner.run(first, duration)
    return record(system, runner.log, status, {"build": built - begin, "simulate": clock.perf_counter() - built})


def _method(
    relative_tolerance: float | None, step: float | None, method: str | None, stabilization: str
) -> Method:
    choice("stabilization", stabilization, ("projection", "baumgarte", "none"))
    if step is not None and relative_tolerance is not None:
        raise InputError("step", step, "left out when relative_tolerance is given")
    name = choice("method", method or ("rk4" if step is not None else "dop853"), ("dop853", "dopri5", "rk4"))
    if name == "rk4" and step is None:
        raise InputError("step", step, "given with the method 'rk4', which has a fixed step (s)")
    fixed = None if step is None else positive("step", step, "s")
    tolerance = 1e-10 if relative_tolerance is None else positive("relative_tolerance", relative_tolerance)
    if not 1e-14 <= tolerance <= 1e-2:
        raise InputError("relative_tolerance", relative_tolerance, "from 1e-14 to 1e-2")
    return Method(name, fixed, tolerance, stabilization)


def _sample_times(duration: float, output_step: float | None) -> FloatArray:
    spacing = duration / 500 if output_step is None else positive("output_step", output_step, "s")
    count = int(np.floor(duration / spacing * (1 + 1e-12)))
    if count > 10_000_000:
        raise InputError("output_step", output_step, f"larger: {count} samples are too many")
    times = np.arange(count + 1) * spacing
    if times[-1] < duration * (1 - 1e-12):
        return np.append(times, duration)
    times[-1] = min(times[-1], duration)
    return times


class _Runner:
    """One run: phases, inputs and the loop over events."""

    def __init__(
        self,
        system: ContactSystem,
        method: Method,
        policy: Policy | None,
        samples: FloatArray,
        progress: Callable[[float], object] | None,
    ) -> None:
        self.system, self.method, self.policy = system, method, policy
        self.samples, self.progress = samples, progress
        self.log = Log()
        self.board = Switchboard(system, self.phase, lambda t: self.inputs(t)[0])
        self._held: FloatArray | None = None

    def phase(self, mode: Mode) -> Phase:
        """Return the compiled phase of a mode; it lives as long as the system."""
        held = self.policy is not None
        key = ("phase", mode, held, self.method.name, self.method.stabilization)
        return self.system.kept(key, lambda: Phase(self.system, mode, held, self.method))

    def prepare(self, mode: Mode) -> None:
        """Compile the first mode before the clock of the simulation starts."""
        self.phase(mode)

    def inputs(self, t: float) -> tuple[FloatArray, float]:
        """Return the input parameters valid at `t` and the time until which they are."""
        if self.policy is not None:
            period = self.policy.period
            held = np.zeros(self.system.model().u.shape[0]) if self._held is None else self._held
            return held, (np.floor(t / period + 1e-9) + 1) * period
        values, until = [np.zeros(0)], np.inf
        for motion in self.system.motions.values():
            numbers, end = motion.parameters(t)
            values.append(numbers)
            until = min(until, end)
        return np.concatenate(values), until

    def run(self, now: Instant, duration: float) -> Status:
        """Integrate from `now` to `duration`; return how it ended."""
        stuck, since = 0, -1.0
        if self.policy is not None:
            self.policy.reset()
        while now.t < duration:
            outcome = self._mode(now, duration)
            if isinstance(outcome, Status):
                return outcome
            after, event, phase = outcome
            following, reason = self.board.next(after, event, phase)
            if isinstance(following, Status):
                self._note(after, following.label, reason)
                return following
            self._note(after, following.mode.label, reason)
            stuck = stuck + 1 if following.t - since < 1e-12 else 0
            since = following.t
            if stuck > _STUCK:
                return Status.STEP_TOO_SMALL
            now = following
        return Status.SUCCESS

    def _mode(self, now: Instant, duration: float) -> Status | tuple[Instant, Event, Phase]:
        """Stay in one mode: to the end (SUCCESS), a failure, or an event."""
        phase = self.phase(now.mode)
        watch = Watch(self.system, now.mode)
        signs = self._signs(phase, now)
        armed = np.array([name not in now.unarmed for name in phase.margins], dtype=bool)
        first_step: float | None = None
        while now.t < duration:
            if self.policy is not None and _due(now.t, self.policy.period):
                self._held = array("policy", self.policy(now.t, now.x), (self.system.model().u.shape[0],))
            inputs, until = self.inputs(now.t)
            p = phase.parameters(inputs, now.onsets, signs)
            stop = min(duration, until, now.t + WATCH_SPAN if watch.needed else np.inf)
            looks = np.arange(now.t, stop, WATCH_STEP)[1:] if watch.needed else np.zeros(0)
            done, seen = self._integrate(phase, now.t, now.x, stop, p, armed, first_step, looks)
            end: Event | None = None
            if done.event is not None:
                contact, margin = phase.margins[done.event].split(".", 1)
                end = Event([m.contact for m in self.system.meetings].index(contact), margin)
            if watch.needed and done.t_end > now.t:
                times = np.concatenate([[now.t], seen[0], [done.t_end]])
                states = np.vstack([now.x[None], seen[1], done.x_end[None]])
                found = watch.touched(times, states, self._state_at(phase, now, p))
                if found is not None:
                    instant, end = found
                    done, _ = self._integrate(phase, now.t, now.x, instant, p, armed, first_step)
            self._keep(phase, done, p, ended=end is not None)
            self.log.count(phase, done)
            if done.status is not Status.SUCCESS:
                return done.status
            now = replace(now, t=done.t_end, x=done.x_end)
            if end is not None:
                return now, end, phase
            armed |= np.array([value > 1e-9 for value in phase.margin_values(now.t, now.x, p).values()], dtype=bool)
            first_step = done.last_step if done.last_step > 0 else None
        return Status.SUCCESS

    def _integrate(
        self,
        phase: Phase,
        t0: float,
        x0: FloatArray,
        t1: float,
        p: FloatArray,
        armed: np.ndarray,
        first_step: float | None,
        looks: FloatArray = NO_LOOKS,
    ) -> tuple[Integration, tuple[FloatArray, FloatArray]]:
        """Integrate with the output samples and extra `looks`; return what falls on samples, and on all."""
        begin = np.searchsorted(self.samples, t0, side="right" if t0 > 0 else "left")
        end = np.searchsorted(self.samples, t1, side="right")
        output = self.samples[begin:end]
        done = phase.integrator.integrate(
            t0,
            x0,
            t1,
            p,
            relative_tolerance=self.method.relative_tolerance,
            absolute_tolerance=self.method.relative_tolerance * 1e-2,
            step=self.method.step,
            sample_times=np.union1d(output, looks) if looks.size else output,
            armed=armed,
            watched=phase.watched,
            first_step=first_step if self.method.step is None else None,
            progress=self.progress,
        )
        if not looks.size:
            return done, (done.times, done.states)
        recorded = np.isin(done.times, output)
        return replace(done, times=done.times[recorded], states=done.states[recorded]), (done.times, done.states)

    def _state_at(self, phase: Phase, now: Instant, p: FloatArray) -> Callable[[float], FloatArray]:
        def state(t: float) -> FloatArray:
            if t <= now.t:
                return now.x
            done = phase.integrator.integrate(
                now.t,
                now.x,
                t,
                p,
                relative_tolerance=self.method.relative_tolerance,
                absolute_tolerance=self.method.relative_tolerance * 1e-2,
                step=self.method.step,
                watched=np.zeros(len(phase.margins), dtype=bool),
            )
            return done.x_end

        return state

    def _signs(self, phase: Phase, now: Instant) -> list[float]:
        """Sign of each contact's roundness at the start of a mode: it may change its sign, not its size."""
        inputs, _ = self.inputs(now.t)
        values = phase.margin_values(now.t, now.x, phase.parameters(inputs, now.onsets))
        names = (f"{meeting.contact}.roundness" for meeting in self.system.meetings)
        return [-1.0 if values.get(name, 1.0) < 0 else 1.0 for name in names]

    def _keep(self, phase: Phase, done: Integration, p: FloatArray, ended: bool) -> None:
        times, states = done.times, done.states
        if ended or done.t_end >= self.samples[-1] or done.status is not Status.SUCCESS:
            if not times.size or times[-1] < done.t_end:
                times, states = np.append(times, done.t_end), np.vstack([states, done.x_end[None]])
        if times.size:
            self.log.segments.append(Segment(phase, times, states, np.repeat(p[None], len(times), axis=0)))

    def _note(self, at: Instant, following: str, reason: str) -> None:
        self.log.transitions.append(
            {"time": at.t, "from": at.mode.label, "to": following, "reason": reason}
        )


def _due(t: float, period: float) -> bool:
    return abs(t / period - round(t / period)) < 1e-9
