"""Stepping over: a run that events cannot take further goes on in time steps for a short while."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from trundle import interrupts
from trundle.checks import FloatArray
from trundle.contact.laws import LAWS
from trundle.models.scales import pace
from trundle.models.tree.approach import on_charts, refine_approach
from trundle.models.tree.system import Atlas, ContactSystem
from trundle.models.tree.touching import may_touch
from trundle.simulate.events.contact_detection import ContactDetector
from trundle.simulate.events.jumps import with_impulses
from trundle.simulate.events.states import follow_contact
from trundle.simulate.events.time_stepping import TimeStepping
from trundle.simulate.events.transitions import Event, HybridState, no_onsets
from trundle.simulate.record import Segment
from trundle.status import Status

if TYPE_CHECKING:
    from trundle.simulate.runner import Runner

STEPPING = "time stepping"
"""What transitions call it."""
ROUND_OFF = 1e-12
"""s, by which two times may differ that are meant to be the same."""
LOOK = 1e-3
"""s, after which corners and edges that have come near are looked for anew (of what is 0.1 m large, see `pace`)."""
_MANY = 12
"""Landings of a contact at one instant after which it stays."""
SEAM = 1e-9
"""s, by which a contact may be beyond the end of its chart."""
LEAST, MOST = 1e-5, 2e-3
"""s, of the shortest such while and of the longest one, as `LOOK`: the next is twice as long if it follows at once."""
STIFF_STEPS, FEW_STEPS = 100_000, 300
"""Steps of an integrator in a second, of what is 0.1 m large, at which a slip or a force turns faster than it can
follow; but so many at least.

The stretches between the calls of a policy are milliseconds.
"""


class Stepping:
    """Takes a run over instants that events cannot decide; remembers how long the last while had to be."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        part = pace(runner.system)
        self._pace = part
        self._shortest, self._longest, self._look = part * LEAST, part * MOST, part * LOOK
        self._least, self._until = self._shortest, -np.inf
        self._landings: list[tuple[float, int]] = []

    def most(self, now: HybridState, otherwise: int) -> Callable[[ArrayLike], FloatArray]:
        """Return the map from spans (s) to steps of an integrator after which this takes over.

        ``otherwise``: steps of a second, or less, after which a run ends where this cannot go on.
        """
        stiff = any(LAWS[law].touching for law in now.mode.laws) and self.runner.board.steps(now)
        least, rate = (FEW_STEPS, STIFF_STEPS) if stiff else (otherwise, otherwise)
        return lambda spans: np.maximum(least, rate * np.asarray(spans, dtype=np.float64) / self._pace)

    def over(self, now: HybridState, touched: set[int], duration: float) -> HybridState | Status:
        """Return the state from which events go on, or how the run ended. ``touched``: contacts that touched lately."""
        runner = self.runner
        begin = now.t
        follows_at_once = begin - self._until < 10.0 * self._least
        self._least = min(2.0 * self._least, self._longest) if follows_at_once else self._shortest
        steps, looked = TimeStepping(runner.board, now, self._near(now, touched)), now.t
        after: HybridState | None = None
        while after is None:
            if duration - now.t <= ROUND_OFF:
                self._until = now.t
                return replace(now, t=duration)
            interrupts.check()
            runner.ask(now)
            until = min(runner.inputs(now.t)[1], duration)
            if steps.step(until - now.t if until - now.t > ROUND_OFF else np.inf) is None:
                return Status.NOT_FINITE
            before, made = now, steps
            touch = self._first_touch(made, before)
            end = _chart_left(runner.system, made, before, made.now.t if touch is None else touch[0])
            if touch is not None and end < touch[0]:
                touch = None
            now = made.now if end == made.now.t else replace(made.now, t=end, x=made.state_at(before, end))
            held = None if runner.policy is None else runner.inputs(before.t)[0]
            h = now.t - before.t
            pushed = replace(now, impulses=_impulses(made.forces(), h), moments=_impulses(made.moments(), h))
            runner.log.add_jump(before, pushed, inputs=held, pushed=made.middle)
            self._record(made, before, now.t, seen=touch is not None)
            if touch is not None:
                following = self._after_touch(made, now, touch[1])
                if isinstance(following, Status):
                    return following
                steps, now = following, following.now
            if self._came_apart(now):
                return Status.SEPARATED
            if now is not steps.now:  # where a contact left its chart
                now = _on_next_charts(runner.system, now, steps.contacts)
                steps = steps.on(steps.contacts, now)
            if runner.progress is not None:
                runner.progress(now.t)
            if now.t - looked > self._look:
                near, looked = self._near(now, {*steps.contacts}), now.t
                steps = steps if near == list(steps.contacts) else steps.on(near)
            after = steps.find_settled_state(self._least)
        runner.log.add_jump(now, with_impulses(runner.system, now, after))
        self._until = now.t
        return after

    def _near(self, now: HybridState, touched: set[int]) -> list[int]:
        """Return the contacts that may touch soon: those that did, and all that know their gap at a distance."""
        system = self.runner.system
        return sorted(i for i in touched | set(nearby(system)) if may_touch(system, now.x, i, soon=True))

    def _first_touch(self, steps: TimeStepping, before: HybridState) -> tuple[float, Event] | None:
        """Return when something touched, in the step since `before`, that these steps do not decide; None: nothing did.

        A contact that gives back, one that comes in fast, or one that they do not know.
        """
        landing = steps.first_landing(before)
        if landing is not None:
            return landing[0], Event(landing[1], "gap")
        watch = ContactDetector(self.runner.system, steps.now.mode, sure=self.runner.gaps)

        def state_at(t: float) -> FloatArray:
            return steps.state_at(before, t)

        found = watch.find_first_touch(np.array([before.t, steps.now.t]), np.array([before.x, steps.now.x]), state_at)
        return None if found is None or found[1].contact in steps.contacts else found

    def _after_touch(self, steps: TimeStepping, there: HybridState, event: Event) -> TimeStepping | Status:
        """Return steps that know of a touch, from its instant on; where what it gives back is not decided, none is.

        A contact that lands at one instant again and again stays: it is pressed on and gives nothing back.
        """
        runner, board, contacts = self.runner, self.runner.board, sorted({*steps.contacts, event.contact})
        instant = max(ROUND_OFF * pace(runner.system), 2 * _MANY * float(np.spacing(there.t)))
        self._landings = [one for one in self._landings if there.t - one[0] <= instant]
        self._landings.append((there.t, event.contact))
        stays = sum(contact == event.contact for _, contact in self._landings) > _MANY
        if not stays and (
            event.contact in steps.contacts or board.system.contact_pairs[event.contact].restitution.restitution > 0.0
        ):
            after, reason = board.next(there, event, runner.phase(there.mode))
            if isinstance(after, Status):
                return after
            if isinstance(after, HybridState):
                runner.log.add_jump(there, after)
                runner.note(there, after.mode.label, reason, event)
                return TimeStepping(
                    board, replace(after, onsets=no_onsets(board.system), impulses={}, moments={}), contacts
                )
        atlas, x = follow_contact(
            board.system, there.mode.atlas, there.x, event.contact, event.coordinates, event.charts
        )
        there = replace(there, x=x, mode=replace(there.mode, atlas=atlas))
        return TimeStepping(board, there, contacts, plastic={event.contact})

    def _record(self, steps: TimeStepping, before: HybridState, end: float, seen: bool = False) -> None:
        """Record the samples in the step since `before`, until `end` (s); `seen`: that instant, too."""
        runner = self.runner
        samples = runner.samples[(runner.samples > before.t + ROUND_OFF) & (runner.samples <= end + ROUND_OFF)]
        if seen and end > before.t and not (samples.size and samples[-1] >= end - ROUND_OFF):
            samples = np.append(samples, end)
        if not samples.size:
            return
        phase = runner.phase(steps.now.mode)
        p = phase.parameters(runner.inputs(before.t)[0], steps.now.onsets)
        states = np.array([steps.state_at(before, t) for t in samples])
        many = len(samples)
        forces = np.array([steps.forces_at(t, x) for t, x in zip(samples, states, strict=True)])
        spins = np.repeat(steps.spin_moments()[None], many, axis=0)
        repeated = np.repeat(p[None], many, axis=0)
        runner.log.segments.append(Segment(phase, samples, states, repeated, forces, spin_moments=spins))

    def _came_apart(self, now: HybridState) -> bool:
        """Whether two bodies came apart that the user's rules keep together."""
        system = self.runner.system
        if system.rules.on_separation == "fly":
            return False
        return not all(any(LAWS[now.mode.laws[i]].touching for i in pair) for pair in system.pairs)


def _chart_left(system: ContactSystem, steps: TimeStepping, before: HybridState, end: float) -> float:
    """Return when, in the step since `before`, the first contact passed the end of its chart; `end` (s) if none did."""

    def off(t: float) -> bool:
        x = steps.state_at(before, t) if t < steps.now.t else steps.now.x
        return any(not _is_on_charts(system, before.mode.atlas, x, i) for i in steps.contacts)

    if not off(end):
        return end
    low = before.t
    while end - low > SEAM and low < (middle := (low + end) / 2) < end:
        low, end = (low, middle) if off(middle) else (middle, end)
    return end


def _is_on_charts(system: ContactSystem, atlas: Atlas, x: FloatArray, contact: int) -> bool:
    """Return whether the coordinates of a contact, if it has some, lie inside their charts."""
    pair = system.contact_pairs[contact]
    where = system.model(atlas).layout.get(f"{pair.contact}.coordinates")
    return where is None or on_charts(pair, x[where], atlas[contact])


def _on_next_charts(system: ContactSystem, now: HybridState, contacts: Sequence[int]) -> HybridState:
    """Return the state with its contacts on the charts that their points have come to."""
    for i in contacts:
        pair, atlas = system.contact_pairs[i], now.mode.atlas
        if _is_on_charts(system, atlas, now.x, i):
            continue
        coordinates = now.x[system.model(atlas).layout[f"{pair.contact}.coordinates"]]
        found = refine_approach(system, atlas, now.x, i, coordinates, atlas[i])
        if found is not None:
            atlas, x = follow_contact(system, atlas, now.x, i, found.coordinates, found.charts)
            now = replace(now, x=x, mode=replace(now.mode, atlas=atlas))
    return now


def _impulses(forces: FloatArray, h: float) -> dict[int, FloatArray]:
    """Return the impulses of forces, or moments, (contacts, ...) over a time h (s): of the contacts that push."""
    return {int(i): h * forces[i] for i in np.flatnonzero(np.any(forces != 0.0, axis=1))}


def nearby(system: ContactSystem) -> list[int]:
    """Return the contacts that know their gap at a distance."""
    sizes = [joined.contact.size for joined in system.model().constraints]
    return [i for i, pair in enumerate(system.contact_pairs) if sizes[i] == 0 and pair.ahead is None]
