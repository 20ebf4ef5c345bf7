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
from trundle.simulate.events.jumps import with_impulses
from trundle.simulate.events.states import followed
from trundle.simulate.events.time_stepping import TimeStepping
from trundle.simulate.events.transitions import HybridState
from trundle.simulate.record import Segment
from trundle.status import Status

if TYPE_CHECKING:
    from trundle.simulate.runner import Runner

STEPPING = "time stepping"
"""What transitions call it."""
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
        near = (i for i in touched | set(nearby(runner.system)) if may_touch(runner.system, now.x, i, soon=True))
        steps = TimeStepping(runner.board, now, sorted(near))
        after: HybridState | None = None
        while after is None:
            if now.t >= duration:
                self._until = now.t
                return now
            interrupts.check()
            runner.ask(now)
            _, until = runner.inputs(now.t)
            samples = runner.samples[np.searchsorted(runner.samples, now.t, side="right") :]
            until = min(until, duration, float(samples[0]) if samples.size else np.inf)
            following = steps.step(until - now.t if until - now.t > 1e-12 else np.inf)
            if following is None:
                return Status.NOT_FINITE
            pushed = steps.forces()
            before, (steps, now) = now, self._joined(steps, now, following)
            held = None if runner.policy is None else runner.inputs(before.t)[0]
            runner.log.jumped(before, replace(now, impulses=_impulses(pushed, now.t - before.t)), inputs=held)
            if samples.size and now.t >= samples[0] - 1e-12:
                self._record(now, float(samples[0]), steps.forces())
            if self._came_apart(now):
                return Status.SEPARATED
            if runner.progress is not None:
                runner.progress(now.t)
            after = steps.settled(self._least)
        runner.log.jumped(now, with_impulses(runner.system, now, after))
        self._until = now.t
        return after

    def _joined(self, steps: TimeStepping, before: HybridState, now: HybridState) -> tuple[TimeStepping, HybridState]:
        """Return steps that know what touched within the last one, from that instant on; else go on from `now`."""
        board, watch = self.runner.board, ContactDetector(self.runner.system, now.mode)

        def state_at(t: float) -> FloatArray:
            return before.x + (t - before.t) / (now.t - before.t) * (now.x - before.x)

        found = watch.touched(np.array([before.t, now.t]), np.array([before.x, now.x]), state_at)
        if found is None or found[1].contact in steps.contacts:
            return steps, now
        instant, event = found
        atlas, x = followed(
            board.system, now.mode.atlas, state_at(instant), event.contact, event.coordinates, event.charts
        )
        there = replace(now, t=instant, x=x, mode=replace(now.mode, atlas=atlas))
        return TimeStepping(board, there, sorted({*steps.contacts, event.contact})), there

    def _record(self, now: HybridState, t: float, forces: FloatArray) -> None:
        phase = self.runner.phase(now.mode)
        p = phase.parameters(self.runner.inputs(now.t)[0], now.onsets)
        self.runner.log.segments.append(Segment(phase, np.array([t]), np.array(now.x)[None], p[None], forces[None]))

    def _came_apart(self, now: HybridState) -> bool:
        """Whether two bodies came apart that the user's rules keep together."""
        system = self.runner.system
        if system.rules.on_separation == "fly":
            return False
        return not all(any(LAWS[now.mode.laws[i]].touching for i in pair) for pair in system.pairs)


def _impulses(forces: FloatArray, h: float) -> dict[int, FloatArray]:
    """Return the impulses (d,), N s, of forces (contacts, d), N, over a time h (s): of the contacts that push."""
    return {int(i): h * forces[i] for i in np.flatnonzero(np.any(forces != 0.0, axis=1))}


def nearby(system: ContactSystem) -> list[int]:
    """Return the contacts that know their gap at a distance."""
    sizes = [joined.contact.size for joined in system.model().constraints]
    return [i for i, pair in enumerate(system.contact_pairs) if sizes[i] == 0 and pair.ahead is None]
