"""Runner: one run through phases, inputs and events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from trundle import interrupts
from trundle.checks import FloatArray, array, positive
from trundle.contact.laws import LAWS
from trundle.errors import ControlLostError
from trundle.models.scales import pace
from trundle.models.tree.approach import round_on_both_sides
from trundle.models.tree.system import ContactSystem
from trundle.models.tree.touching import speeds_at
from trundle.numerics.ode.ode import Integration
from trundle.records import Policy, tell_contacts
from trundle.records.policy import TimedPolicy
from trundle.simulate.begin import begun_mode
from trundle.simulate.divergence import DivergenceCheck
from trundle.simulate.events import ContactDetector, Event, EventHandler, HybridState
from trundle.simulate.events.advancement import TOUCHED
from trundle.simulate.events.jumps import with_impulses
from trundle.simulate.events.recontact import recontact, waiting_depths
from trundle.simulate.events.separated import Gaps
from trundle.simulate.events.transitions import INDETERMINATE, Following, Undecided
from trundle.simulate.mode import Method, Mode
from trundle.simulate.phase import MotionPhase
from trundle.simulate.phases import phase_of
from trundle.simulate.record import Log, Segment
from trundle.simulate.record.log import Leg, Transition
from trundle.simulate.stepping import LEAST, STEPPING, Stepping
from trundle.status import Status

_MANY, _RECENT = 12, 1e-5  # so many transitions within so short a time (s, of what is 0.1 m large) are no progress
_ENDLESS = (Status.NOT_FINITE, Status.STEP_TOO_SMALL, Status.TOO_MANY_STEPS)
"""How an integration ends where forces grow without bound or turn at once."""

MAX_STEPS = 1_000_000
"""Most steps of one integration, beyond those of a fixed step, and of each second."""

ACCURATE = 1e-7  # relative tolerance up to which energy made is a finding
_AT_SEAM, _NO_LOAD = 1e-7, 5e-10
_STAYS = 1e-6
"""Part of what counts as zero by which a margin that stays there may change within `_SOON`."""
_INSTANT, _SOON = 1e-14, 1e-9  # s, of what is 0.1 m large
_NO_APPROACH = 1e-9  # m/s
_SHARP, _FEW, _PER_STEP, _INNER, _BRIEFEST, _BESIDE = 2.0, 4, 3, 300, 0.01, 0.25
"""Steps of the integrator to a sample, and at all, from which the audit gets more of these: so many a step and at most
(also of steps), of motions that last so many output steps, and not nearer to a sample than a part of their spacing."""
_NO_PULL = 1e-7  # of the weight: force that is none, at the end of a contact or of its rolling
_BRIEF = 5e-5
"""First time (s, of what is 0.1 m large) for which what begins at zero is not looked at; twice as long each time."""
_LIGHT = 5e-3
"""Longest time (s, the same) between two looks at a contact that began without a load."""


class Runner:
    """One run: phases, inputs and the loop over events.

    ``until`` (of the modes before and after a transition) ends it early; ``kicks``, by time (s), which has to be a
    sample, return the state to go on from.
    """

    def __init__(
        self,
        system: ContactSystem,
        method: Method,
        policy: Policy | None,
        samples: FloatArray,
        progress: Callable[[float], object] | None,
    ) -> None:
        self.system, self.method, self.policy = system, method, policy
        self._pace = pace(system)
        self.period = np.inf if policy is None else positive("policy.period", policy.period, "s")
        self.samples, self.progress = samples, progress
        accurate = method.step is None and method.relative_tolerance <= ACCURATE
        accurate = accurate and method.stabilization == "projection"
        self.log = Log(policy=None if policy is None else TimedPolicy(policy), accurate=accurate)
        self.board = EventHandler(system, self.phase, lambda t: self.inputs(t)[0], self.log.lower)
        self.stepping = Stepping(self)
        self.gaps: Gaps = {}
        self._most: Callable[[float], FloatArray] = lambda span: np.maximum(MAX_STEPS, MAX_STEPS * span)
        self._divergence = DivergenceCheck(system.physics["gravity"])
        self.until: Callable[[Mode, Mode], bool] | None = None
        self.kicks: dict[float, Callable[[FloatArray], FloatArray]] = {}
        self._held: FloatArray | None = None
        self._asked: HybridState | None = None

    def phase(self, mode: Mode) -> MotionPhase:
        """Return the compiled phase of a mode; it lives as long as the system."""
        return phase_of(self.system, mode, self.policy is not None, self.method)

    def inputs(self, t: float) -> tuple[FloatArray, float]:
        """Return the input parameters valid at `t` and the time until which they are."""
        if self.policy is not None:
            held = np.zeros(self.system.model().u.shape[0]) if self._held is None else self._held
            return held, (np.floor(t / self.period + 1e-9) + 1) * self.period
        values, until = [np.zeros(0)], np.inf
        for motion in self.system.motions.values():
            numbers, end = motion.parameters(t)
            values.append(numbers)
            until = min(until, end)
        return np.concatenate(values), until

    @interrupts.hold_interrupts()
    def run(self, now: HybridState, duration: float) -> Status:
        """Integrate from `now` to `duration`; return how it ended."""
        self.gaps.clear()
        try:
            if self.policy is not None:
                interrupts.opened()(self.policy.reset)()
            begun = begun_mode(self, now)
            status = (
                begun if isinstance(begun, Status) else self._run_between_kicks(self.board.holding(begun), duration)
            )
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        except ControlLostError as error:
            status = error.status
            now = self._asked or now
            self.log.message = str(error)
            self.note(now, status.label, self.log.message)
        if not self.log.segments or self.log.segments[-1].times[-1] < now.t:
            self._hold(now)
        return status

    def _run_between_kicks(self, now: HybridState, duration: float) -> Status:
        """Go from kick to kick."""
        for time in sorted(t for t in self.kicks if t < duration):
            status = self._through(now, time)
            last = self.log.segments[-1]
            if status is not Status.SUCCESS or last.times[-1] < time:
                return status
            x, mode = array("kicks", self.kicks[time](np.array(last.states[-1])), now.x.shape), last.phase.mode
            now = HybridState(time, x, mode, np.zeros_like(now.onsets))
            self.log.add_jump(replace(now, x=last.states[-1]), now, kick=True)
            now = self.board.holding(now)
        return self._through(now, duration)

    def _through(self, now: HybridState, duration: float) -> Status:
        """Go from mode to mode."""
        here: list[HybridState] = []
        met: list[tuple[float, int]] = []  # when contacts had events
        recent = _RECENT * self._pace
        while now.t < duration:
            kept = self.log.mark()
            outcome = self._mode(now, duration)
            if isinstance(outcome, Status):
                return outcome
            after, event, phase = outcome
            following, reason = self._next(after, event, phase)
            if isinstance(following, Undecided) and after.t - now.t < LEAST * self._pace:
                self.log.back(kept)
                after = now  # forces that grow without bound at once are no motion
            if isinstance(following, HybridState) and self.board.indeterminate(following):
                following, reason = Undecided(Status.JAMMED), INDETERMINATE
            here = [*(one for one in here if after.t - one.t < recent), after]
            met = [one for one in met if after.t - one[0] < recent]
            met += [(after.t, event.contact)] if isinstance(event, Event) else []
            stuck = isinstance(following, HybridState) and (len(here) > _MANY or following.was(here))
            if stuck and (low := self.board.without_bounce(after, event)) is not None:
                following, reason, stuck = low, "it bounces too low to follow", False
            if isinstance(following, HybridState):
                self.log.add_jump(after, with_impulses(self.system, after, following))
                self.note(after, following.mode.label, reason, event)
                if stuck:
                    reason = "transitions follow each other without progress"
                    after, following, event = following, Undecided(Status.SECOND_CONTACT), None
            if isinstance(following, Undecided):
                lately = {contact for _, contact in met}
                following = self._over(after, event, here, duration, following.status, reason, lately)
                here, met = [], []
            elif isinstance(following, Status):
                self.note(after, following.label, reason, event)
            if isinstance(following, Status):
                return following
            if self.until is not None and self.until(after.mode, following.mode):
                return Status.SUCCESS
            now = following
        return Status.SUCCESS

    def _next(self, after: HybridState, event: Event | Undecided, phase: MotionPhase) -> tuple[Following, str]:
        """Return what follows an event, and the reason for the record."""
        if isinstance(event, Undecided):
            return event, "the forces grew without bound"
        try:
            return self.board.next(after, event, phase)
        except np.linalg.LinAlgError as error:
            return Undecided(Status.NOT_FINITE), str(error)

    def _over(
        self,
        now: HybridState,
        event: Event | Undecided | None,
        here: Sequence[HybridState],
        duration: float,
        status: Status,
        reason: str,
        lately: set[int],
    ) -> HybridState | Status:
        """Go on in time steps where events end, if that can be; else that is how the run ends.

        ``here``, ``lately``: states of late, and the contacts that had events.
        """
        following: HybridState | Status = status
        if self.board.steps(now):
            touched = lately | {i for one in here for i, law in enumerate(one.mode.laws) if LAWS[law].touching}
            self.note(now, STEPPING, reason, event)
            following = self.stepping.over(now, touched, duration)
        if isinstance(following, Status):
            self.note(now, following.label, reason, event)
        else:
            self.note(following, following.mode.label, "the contacts stay as they are", mode=STEPPING)
        return following

    def parameters(self, now: HybridState) -> FloatArray:
        """Return the parameters of the functions of a state's mode."""
        return self.phase(now.mode).parameters(self.inputs(now.t)[0], now.onsets)

    def _mode(self, now: HybridState, duration: float) -> Status | tuple[HybridState, Event | Undecided, MotionPhase]:
        """Stay in one mode: to the end (SUCCESS), a failure, or an event."""
        phase = self.phase(now.mode)
        with interrupts.opened():
            _ = phase.integrator  # takes a while to make
        watch = ContactDetector(self.system, now.mode, now.unarmed, phase.near, self.gaps)
        needed, signs = watch.needed, self._signs(phase, now)
        armed = self._arm_margins(phase, now)
        self._most = self.stepping.most(now, MAX_STEPS)
        first_step: float | None = None
        weight = self.board.weight
        depths = waiting_depths(self.system, phase, now.t, now.x, self.parameters(now), weight)
        brief, since = _BRIEF * self._pace, (now, np.zeros(0))
        while now.t < duration:
            interrupts.check()
            self.ask(now)
            inputs, until = self.inputs(now.t)
            p = phase.parameters(inputs, now.onsets, signs)
            since = since if np.array_equal(since[1], p) else (now, p)
            light = bool(np.any(phase.loads & ~armed))
            waiting = ~armed
            longest = min(watch.span, _LIGHT * self._pace) if light else watch.span
            if np.any(waiting & np.isfinite(depths)):
                longest = min(longest, brief)
            stop = min(duration, until, now.t + longest)
            brief *= 2.0
            looks = watch.looks(now.t, stop)
            done, seen = self._integrate(phase, now.t, now.x, stop, p, armed, first_step, looks)
            end = self._event(phase, done)
            if end is not None and end.margin == "curvature":
                done = self._just_before(phase, now, p, done)
            if (needed or watch.flying) and done.t_end > now.t:
                times = np.concatenate([[now.t], seen[0], [done.t_end]])
                states = np.vstack([now.x[None], seen[1], done.x_end[None]])
                found = watch.find_first_touch(times, states, self._state_at(phase, now, p), end)
                if found is not None:
                    done, end = self._up_to(phase, now, p, armed, first_step, found)
            if done.status is Status.SUCCESS:
                back = recontact(self.system, phase, now.t, done, p, waiting, depths, self._state_at(phase, now, p))
                if back is not None:
                    done, end = self._up_to(phase, now, p, armed, first_step, back)
            if watch.sinks(done.x_end) and not watch.sinks(now.x):
                done, end = self._before_it_sinks(watch, phase, now, p, armed, done)
            end = self._locate_event(phase, done, p, end)
            lasted = done.t_end > now.t
            if end is None or lasted or not self.log.segments:  # forces that end a mode at once never acted
                self._keep(phase, done, p, since[0], end is not None, self._inner(phase, now, p, done))
            beyond = end is not None and not self._force_is_zero(phase, done, p)
            counted = self._just_before(phase, now, p, done) if beyond else done
            self.log.count(Leg(phase, now, p, done, end), counted.margin_minimum)
            if done.status is not Status.SUCCESS:
                return self._end_failed_mode(now, done, phase)
            if watch.full and watch.overlaps(np.vstack([seen[1], done.x_end[None]])) is not None:
                self.note(replace(now, t=done.t_end), Status.SECOND_CONTACT.label, "a third point touched")
                return Status.SECOND_CONTACT
            now = replace(now, t=done.t_end, x=done.x_end, impulses={}, moments={})
            now = replace(now, unarmed=frozenset() if lasted else now.unarmed)
            if end is not None:
                return now, end, phase
            if not armed.all():
                values = np.array(list(phase.margin_values(now.t, now.x, p).values()))
                armed |= values > phase.arming
            first_step = done.last_step if done.last_step > 0 else None
        return Status.SUCCESS

    def _end_failed_mode(
        self, now: HybridState, done: Integration, phase: MotionPhase
    ) -> Status | tuple[HybridState, Event | Undecided, MotionPhase]:
        """Return how the run ends where a mode cannot go on, or that no law of it decides."""
        twice = any(sum(LAWS[now.mode.laws[i]].touching for i in pair) > 1 for pair in self.system.pairs)
        status = Status.SECOND_CONTACT if twice and done.status is Status.NOT_FINITE else done.status
        if done.status not in _ENDLESS or not self.board.steps(now):
            return status
        good = bool(np.all(np.isfinite(done.x_end)))
        return (replace(now, t=done.t_end, x=done.x_end) if good else now), Undecided(status), phase

    def _arm_margins(self, phase: MotionPhase, now: HybridState) -> np.ndarray:
        """Return which margins may end a mode at once: not those born zero, nor seams and forces that stay there.

        What falls later, or too slowly to be seen at once, `recontact` finds.
        """
        armed = phase.arm_margins(now.unarmed)
        p = self.parameters(now)
        values = phase.margin_array(now.t, now.x, p)
        least = np.where(phase.loads, _NO_LOAD * self.board.weight, _AT_SEAM)
        small = np.abs(values) < least
        rising = (phase.loads | phase.seams) & small
        touching = phase.approaches & (np.abs(values) < TOUCHED * phase.sizes)
        if np.any(rising | touching):
            rate = np.asarray(phase.integrator.system.rate(now.t, now.x, p)).ravel()
            soon = _SOON * self._pace
            change = phase.margin_array(now.t, now.x + soon * rate, p) - values
            armed &= ~(rising & (change > -_STAYS * least))
            armed &= ~(touching & (change > -_NO_APPROACH * soon))  # bodies that touch have not met again
        return armed

    def ask(self, now: HybridState) -> None:
        """Call the policy when its time has come, once each time."""
        if self.log.policy is None:
            return
        tick, before = round(now.t / self.period), self._asked
        if (before is None or tick != round(before.t / self.period)) and abs(now.t / self.period - tick) < 1e-9:
            state = np.array(now.x)
            state.setflags(write=False)
            self._asked = now
            self._divergence.check(now.t, now.x, lambda: speeds_at(self.system, now.mode.atlas, now.x))
            tell_contacts(self.policy, now.t, tuple(LAWS[law].touching for law in now.mode.laws))
            with interrupts.opened():
                answer = self.log.policy(now.t, state)
            self._held = array("policy", answer, (self.system.model().u.shape[0],))

    def _event(self, phase: MotionPhase, done: Integration) -> Event | None:
        if done.event is None:
            return None
        name = phase.margins[done.event]
        return Event(self.system.number(name), name.split(".", 1)[1])

    def _locate_event(self, phase: MotionPhase, done: Integration, p: FloatArray, event: Event | None) -> Event | None:
        """Return an event with the coordinates of its contact, where its gap is that of the nearest points."""
        if event is None or event.margin != "gap" or event.contact not in phase.near:
            return event
        coordinates = phase.nearest(event.contact, done.t_end, done.x_end, p)
        return replace(event, coordinates=coordinates, charts=phase.mode.atlas[event.contact])

    def _integrate(
        self,
        phase: MotionPhase,
        t0: float,
        x0: FloatArray,
        t1: float,
        p: FloatArray,
        armed: np.ndarray,
        first_step: float | None,
        looks: FloatArray | None = None,
    ) -> tuple[Integration, tuple[FloatArray, FloatArray]]:
        """Integrate with the output samples and extra `looks`; return what falls on samples, and on all."""
        step = self.method.step
        begin = np.searchsorted(self.samples, t0, side="right" if t0 > 0 else "left")
        end = np.searchsorted(self.samples, t1, side="right")
        output = self.samples[begin:end]
        done = phase.integrator.integrate(
            *(t0, x0, t1, p),
            relative_tolerance=self.method.relative_tolerance,
            absolute_tolerance=self.method.relative_tolerance * 1e-2,
            step=step,
            max_steps=int(self._most(t1 - t0)) if step is None else MAX_STEPS + int((t1 - t0) / step),
            sample_times=output if looks is None else np.union1d(output, looks),
            armed=armed,
            watched=phase.watched,
            arming_tolerance=phase.arming,
            first_step=first_step if step is None else None,
            progress=self.progress,
        )
        if looks is None:
            return done, (done.times, done.states)
        recorded, looked = np.isin(done.times, output), np.isin(done.times, looks)
        seen = done.times[looked], done.states[looked]
        return replace(done, times=done.times[recorded], states=done.states[recorded]), seen

    def _up_to(
        self,
        phase: MotionPhase,
        now: HybridState,
        p: FloatArray,
        armed: np.ndarray,
        first_step: float | None,
        found: tuple[float, Event],
    ) -> tuple[Integration, Event | None]:
        """Integrate up to the instant (s) at which something was `found`; what ends the mode sooner comes first.

        Longer steps may have passed over that: a slip that begins and ends within one.
        """
        instant, event = found
        done, _ = self._integrate(phase, now.t, now.x, instant, p, armed, first_step)
        return done, event if done.t_end >= instant else self._event(phase, done)

    def _before_it_sinks(
        self,
        watch: ContactDetector,
        phase: MotionPhase,
        now: HybridState,
        p: FloatArray,
        armed: np.ndarray,
        done: Integration,
    ) -> tuple[Integration, Event | None]:
        """Return a shorter integration, to before shapes overlap that touch with other parts, or to where they meet.

        Corners of thin plates may pass a face, and leave what counts as its place, within one step.
        """
        while done.t_end - now.t > _INSTANT * self._pace and watch.sinks(done.x_end):
            done, _ = self._integrate(phase, now.t, now.x, 0.5 * (now.t + done.t_end), p, armed.copy(), None)
        return done, self._event(phase, done)

    def _just_before(self, phase: MotionPhase, now: HybridState, p: FloatArray, done: Integration) -> Integration:
        """Return an integration that ends just before its event, where the margin is beyond zero at its end.

        Curvatures reach zero like the root of the time that is left, and forces grow like its inverse: round-off of an
        instant further they pull.
        """
        if done.event is None:
            return done
        name = phase.margins[done.event]
        begins = min(phase.margin_values(now.t, now.x, p)[name], 0.0)
        back, found, best = max(_INSTANT * self._pace, float(np.spacing(done.t_end))), done, done
        while True:
            if phase.margin_values(found.t_end, found.x_end, p)[name] >= 0.0:
                best = found if best is done else best
                if found.margin_minimum[done.event] >= begins:  # on the way, too: round-off goes to and fro there
                    best = found
                    break
            if done.t_end - back <= now.t or back > _SOON * self._pace:
                break
            found, back = self._integrated_to(phase, now, p, done.t_end - back), 4.0 * back
        if best is done:
            return done
        before = done.times <= best.t_end
        return replace(best, times=done.times[before], states=done.states[before], event=done.event)

    def _state_at(self, phase: MotionPhase, now: HybridState, p: FloatArray) -> Callable[[float], FloatArray]:
        def state(t: float) -> FloatArray:
            """Return the state at a time in this mode, integrated anew."""
            return now.x if t <= now.t else self._integrated_to(phase, now, p, t).x_end

        return state

    def _integrated_to(
        self, phase: MotionPhase, now: HybridState, p: FloatArray, t: float, samples: ArrayLike = ()
    ) -> Integration:
        """Return the integration up to a time in this mode, with `samples` (s), whatever its margins say."""
        done = phase.integrator.integrate(
            *(now.t, now.x, t, p),
            relative_tolerance=self.method.relative_tolerance,
            absolute_tolerance=self.method.relative_tolerance * 1e-2,
            step=self.method.step,
            sample_times=samples,
            watched=np.zeros(len(phase.margins), dtype=bool),
        )
        if done.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return done

    def _signs(self, phase: MotionPhase, now: HybridState) -> list[float]:
        """Sign of each contact's roundness at the start of a mode, for bodies that are round on both sides of zero."""
        values = phase.margin_values(now.t, now.x, phase.parameters(self.inputs(now.t)[0], now.onsets))
        signs = []
        for contact_pair in self.system.contact_pairs:
            below = values.get(f"{contact_pair.contact}.roundness", 1.0) < 0
            signs.append(-1.0 if below and round_on_both_sides(contact_pair) else 1.0)
        return signs

    def _inner(
        self, phase: MotionPhase, now: HybridState, p: FloatArray, done: Integration
    ) -> tuple[FloatArray, FloatArray] | None:
        """Return times and states between samples, for the audit, where the integrator took several steps to one."""
        span, every = done.t_end - now.t, float(np.ptp(self.samples)) / max(len(self.samples) - 1, 1)
        held = self.method.step is not None or self.policy is not None  # steps that do not follow from the motion alone
        if held or not _FEW <= done.steps <= _INNER or done.status is not Status.SUCCESS:
            return None
        if any(LAWS[law].distant for law in now.mode.laws):  # stiff, as are slips that take more steps than `_INNER`
            return None
        if done.event is not None and phase.stops[done.event]:  # towards its end a slip turns faster and faster
            return None
        if span < _BRIEFEST * every or done.steps * every < _SHARP * span:
            return None
        count = min(_PER_STEP * done.steps, _INNER)
        times = now.t + span * np.arange(1, count) / count
        apart = np.abs(times[:, None] - done.times).min(axis=1, initial=np.inf)  # instants beside samples tell nothing
        inner = times[apart > _BESIDE * span / count]
        if not inner.size:
            return None
        # Not to the end: where a slip ends its direction is known from one side alone, and steps look beyond.
        found = self._integrated_to(phase, now, p, float(inner[-1]), inner)
        return found.times, found.states

    def _keep(
        self,
        phase: MotionPhase,
        done: Integration,
        p: FloatArray,
        since: HybridState,
        ended: bool,
        inner: tuple[FloatArray, FloatArray] | None,
    ) -> None:
        times, states, x = done.times, done.states, done.x_end
        if self.policy is not None and done.status is Status.NOT_FINITE:  # steps too long for such speeds
            self._divergence.check(done.t_end, x, lambda: speeds_at(self.system, phase.mode.atlas, x))
        ended = ended and self._force_is_zero(phase, done, p)
        if ended or done.t_end >= self.samples[-1] or done.status is not Status.SUCCESS:
            if not times.size or times[-1] < done.t_end:
                times, states = np.append(times, done.t_end), np.vstack([states, done.x_end[None]])
        if times.size:
            parameters = np.repeat(p[None], len(times), axis=0)
            self.log.segments.append(Segment(phase, times, states, parameters, since=since, inner=inner))

    def _force_is_zero(self, phase: MotionPhase, done: Integration, p: FloatArray) -> bool:
        """Whether the force that ends a mode, or what its cone has left, is zero there; else no sample tells of it.

        One that passes zero through a pole (Painleve), or beside a slip that turns round in its last 1e-11 s, has no
        instant among the floating-point numbers at which it is zero.
        """
        if done.event is None or not phase.loads[done.event]:
            return True
        left = phase.margin_values(done.t_end, done.x_end, p)[phase.margins[done.event]]
        return left > -_NO_PULL * self.board.weight

    def _hold(self, now: HybridState) -> None:
        """Record the start alone."""
        one = Segment(self.phase(now.mode), np.array([now.t]), np.array(now.x)[None], self.parameters(now)[None])
        self.log.segments.append(one)

    def note(
        self, at: HybridState, following: str, reason: str, event: Event | Undecided | None = None, mode: str = ""
    ) -> None:
        """Record a transition."""
        note: Transition = {"time": at.t, "from": mode or at.mode.label, "to": following, "reason": reason}
        if isinstance(event, Event) and self.system.several:
            note["contact"] = self.board.name(event.contact)
        self.log.transitions.append(note)
