"""Stepping over: a run that events cannot take further goes on in time steps for a short while."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from trundle import interrupts
from trundle.checks import FloatArray
from trundle.contact.laws import LAWS
from trundle.models.tree.system import ContactSystem
from trundle.models.tree.touching import may_touch
from trundle.simulate.events.contact_detection import ContactDetector
from trundle.simulate.events.states import followed
from trundle.simulate.events.time_stepping import TimeStepping
from trundle.simulate.events.transitions import Event, HybridState, Undecided
from trundle.simulate.record import Segment
from trundle.status import Status

if TYPE_CHECKING:
    from trundle.simulate.runner import Runner

STEPPING = "time stepping"
"""What transitions call it."""
ROUND_OFF = 1e-12
"""s, by which two times may differ that are meant to be the same."""
LOOK = 1e-3
"""s, after which corners and edges that have come near are looked for anew."""
LEAST, MOST = 1e-5, 2e-3
"""s, of the shortest such while and of the longest one: the next is twice as long where it follows at once."""
STIFF_STEPS, FEW_STEPS = 100_000, 300
"""Steps of an integrator in a second at which a slip or a force turns faster than it can follow; but so many at least.

The stretches between the calls of a policy are milliseconds.
"""


class Stepping:
    """Takes a run over instants that events cannot decide; remembers how long the last while had to be."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self._least, self._until = LEAST, -np.inf

    def most(self, now: HybridState, otherwise: int) -> Callable[[ArrayLike], FloatArray]:
        """Return the map from spans (s) to steps of an integrator after which this takes over.

        ``otherwise``: steps of a second, or less, after which a run ends where this cannot go on.
        """
        stiff = any(LAWS[law].touching for law in now.mode.laws) and self.runner.board.steps(now)
        least, rate = (FEW_STEPS, STIFF_STEPS) if stiff else (otherwise, otherwise)
        return lambda spans: np.maximum(least, rate * np.asarray(spans, dtype=np.float64))

    def over(self, now: HybridState, touched: set[int], duration: float) -> HybridState | Status:
        """Return the state from which events go on, or how the run ended. ``touched``: contacts that touched lately."""
        runner = self.runner
        begin = now.t
        follows_at_once = begin - self._until < 10.0 * self._least
        self._least = min(2.0 * self._least, MOST) if follows_at_once else LEAST
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
            following = self._landed(steps, before) or self._joined(steps, before)
            if isinstance(following, Status):
                return following
            steps = following or steps
            now = steps.now
            self._record(made, before, now.t)
            if self._came_apart(now):
                return Status.SEPARATED
            if runner.progress is not None:
                runner.progress(now.t)
            if now.t - looked > LOOK:
                near, looked = self._near(now, {*steps.contacts}), now.t
                steps = steps if near == list(steps.contacts) else steps.on(near)
            after = steps.settled(self._least)
        self._until = now.t
        return after

    def _near(self, now: HybridState, touched: set[int]) -> list[int]:
        """Return the contacts that may touch soon: those that did, and all that know their gap at a distance."""
        system = self.runner.system
        return sorted(i for i in touched | set(nearby(system)) if may_touch(system, now.x, i, soon=True))

    def _landed(self, steps: TimeStepping, before: HybridState) -> TimeStepping | Status | None:
        """Return steps from where, in the last one, a contact landed that gives back; None: there is no such."""
        found = steps.first_landing(before)
        if found is None:
            return None
        instant, contact = found
        there = replace(before, t=instant, x=steps.state_at(before, instant))
        return self._bounced(steps, there, Event(contact, "gap"))

    def _joined(self, steps: TimeStepping, before: HybridState) -> TimeStepping | Status | None:
        """Return steps that know what touched within the last one, from that instant on; None: nothing did."""
        board, watch = self.runner.board, ContactDetector(self.runner.system, steps.now.mode)

        def state_at(t: float) -> FloatArray:
            return steps.state_at(before, t)

        found = watch.touched(np.array([before.t, steps.now.t]), np.array([before.x, steps.now.x]), state_at)
        if found is None or found[1].contact in steps.contacts:
            return None
        instant, event = found
        there = replace(steps.now, t=instant, x=state_at(instant))
        if board.system.contact_pairs[event.contact].restitution.restitution > 0.0:
            return self._bounced(steps, there, event)
        atlas, x = followed(board.system, there.mode.atlas, there.x, event.contact, event.coordinates, event.charts)
        there = replace(there, x=x, mode=replace(there.mode, atlas=atlas))
        return TimeStepping(board, there, sorted({*steps.contacts, event.contact}))

    def _bounced(self, steps: TimeStepping, there: HybridState, event: Event) -> TimeStepping | Status:
        """Return steps from what follows a landing that gives back; where that is not decided it is plastic."""
        board, contacts = self.runner.board, sorted({*steps.contacts, event.contact})
        after, reason = board.next(there, event, self.runner.phase(there.mode))
        if isinstance(after, Status):
            return after
        if isinstance(after, Undecided):
            return TimeStepping(board, there, contacts, plastic={event.contact})
        self.runner.note(there, after.mode.label, reason, event)
        return TimeStepping(board, replace(after, onsets=np.zeros_like(after.onsets)), contacts)

    def _record(self, steps: TimeStepping, before: HybridState, end: float) -> None:
        """Record the samples in the step since `before`, until `end` (s)."""
        runner = self.runner
        samples = runner.samples[(runner.samples > before.t + ROUND_OFF) & (runner.samples <= end + ROUND_OFF)]
        if not samples.size:
            return
        phase = runner.phase(steps.now.mode)
        p = phase.parameters(runner.inputs(before.t)[0], steps.now.onsets)
        states = np.array([steps.state_at(before, t) for t in samples])
        many = len(samples)
        forces = np.repeat(steps.forces()[None], many, axis=0)
        runner.log.segments.append(Segment(phase, samples, states, np.repeat(p[None], many, axis=0), forces))

    def _came_apart(self, now: HybridState) -> bool:
        """Whether two bodies came apart that the user's rules keep together."""
        system = self.runner.system
        if system.rules.on_separation == "fly":
            return False
        return not all(any(LAWS[now.mode.laws[i]].touching for i in pair) for pair in system.pairs)


def nearby(system: ContactSystem) -> list[int]:
    """Return the contacts that know their gap at a distance."""
    sizes = [joined.contact.size for joined in system.model().constraints]
    return [i for i, pair in enumerate(system.contact_pairs) if sizes[i] == 0 and pair.ahead is None]
