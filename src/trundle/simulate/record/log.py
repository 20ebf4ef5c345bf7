"""Log: what a run gathers while it goes through its modes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.models.tree.system import Atlas
from trundle.models.tree.touching import Strike
from trundle.numerics.ode.ode import Integration
from trundle.records.policy import TimedPolicy
from trundle.simulate.events.transitions import Event, HybridState
from trundle.simulate.phase import MotionPhase
from trundle.simulate.quantities import Quantities
from trundle.threads import cached_property

Columns = dict[str, np.ndarray]
"""Quantities (n, ...) of a run by name."""
Transition = TypedDict(
    "Transition", {"time": float, "from": str, "to": str, "reason": str, "contact": NotRequired[str]}
)
"""A change of the mode: when, between which modes, why, and of which contact where there are several."""


@dataclass
class Segment:
    """Samples of one phase: times (n,), states (n, n_x), parameters (n, n_p).

    ``forces``: (n, contacts, d) N, world, on A of each contact, and ``spin_moments`` (n, contacts), N m about its
    normal, where they do not follow from the mode. ``since``: where the smooth
    motion of these samples began, with the same inputs and no event since; None where not known.
    ``parts``: the segments it was joined of. ``inner``: more times and states (k,), (k, n_x) for the audit, where the
    motion is faster than its samples tell; not recorded.
    """

    phase: MotionPhase
    times: FloatArray
    states: FloatArray
    parameters: FloatArray
    forces: FloatArray | None = None
    since: HybridState | None = None
    parts: tuple[Segment, ...] = ()
    spin_moments: FloatArray | None = None
    inner: tuple[FloatArray, FloatArray] | None = None

    def outputs(self) -> Quantities:
        """Return the quantities of the samples, see `MotionPhase.outputs`."""
        shown, out = self.witness.shown, self.witness.outputs
        return out if shown.all() else out.at(shown)

    @cached_property
    def witness(self) -> Witness:
        """The samples, and the instants at which the smooth stretches began that they are of."""
        return _witness(self)


@dataclass(frozen=True, eq=False)
class Witness:
    """What is known of one phase: samples, and where the smooth stretches began, of which an audit needs both ends.

    Attributes
    ----------
    times, states, parameters : (n,), (n, n_x), (n, n_p)
    shown : (n,)
        Which are samples.
    stretch : (n,)
        Numbers of the stretches from 0 on; -1 where none is known.
    outputs : Quantities
    """

    times: FloatArray
    states: FloatArray
    shown: NDArray[np.bool_]
    stretch: NDArray[np.intp]
    outputs: Quantities


def _witness(segment: Segment) -> Witness:
    """Return what is known of a segment."""
    times, states, parameters, shown, stretch = [], [], [], [], []
    number, last = -1, None
    for part in segment.parts or (segment,):
        since = part.since
        new = since is not None and since is not last
        if since is not None and new:
            number += 1
            if since.t < part.times[0]:
                times.append(np.array([since.t]))
                states.append(since.x[None])
                parameters.append(part.parameters[:1])
                shown.append(np.zeros(1, dtype=bool))
                stretch.append(np.array([number]))
        last = since
        t, x, p, seen = part.times, part.states, part.parameters, np.ones(len(part.times), dtype=bool)
        if part.inner is not None:
            order = np.argsort(np.concatenate([t, part.inner[0]]), kind="stable")
            t = np.concatenate([t, part.inner[0]])[order]
            x = np.concatenate([x, part.inner[1]])[order]
            p, seen = np.repeat(p[:1], len(t), axis=0), order < len(seen)
        times.append(t)
        states.append(x)
        parameters.append(p)
        shown.append(seen)
        stretch.append(np.full(len(t), -1 if since is None else number))
    t, x, p = np.concatenate(times), np.concatenate(states), np.concatenate(parameters)
    forces = segment.forces
    out = segment.phase.outputs(t, x, p, forces=forces is None)
    names = [constraint.name for constraint in segment.phase.model.constraints]
    if forces is not None:
        out = out.with_contacts(names, force=forces)
    if segment.spin_moments is not None:
        out = out.with_contacts(names, moment=segment.spin_moments[..., None])
    return Witness(t, x, np.concatenate(shown), np.concatenate(stretch), out)


@dataclass(frozen=True)
class Leg:
    """What was integrated in one go: from `begin` under the parameters `p` (n_p,) to what ended it, if anything did."""

    phase: MotionPhase
    begin: HybridState
    p: FloatArray
    done: Integration
    end: Event | None

    @property
    def event(self) -> Event:
        """The event that ended it."""
        if self.end is None:
            raise InputError("leg", self.done.t_end, "one that an event has ended")
        return self.end


@dataclass(frozen=True)
class Jump:
    """A change of the velocities at one instant, or within one time step.

    Attributes
    ----------
    begin, end : float, s
        The same, but for a time step.
    before, after : (n_x,)
    atlases : tuple of Atlas
        The charts before and after it.
    laws : tuple of str
        After it.
    impulses, moments : mapping of contact number -> (d,) N s, (k,) N m s, world, on A
        Of forces, and of moments against turning.
    kick : bool
        Whether the user changed the state.
    inputs : (n_u,), or None
        Held within a time step by a policy.
    pushed : (n_x,), or None
        Of a time step: its middle, where the impulses act; else they act at its end.
    share : float
        When that was, in parts of the time from `begin` to `end`: a step may be cut short.
    strikes : mapping of contact number -> Strike
        Where shapes met that no contact of theirs can follow.
    """

    begin: float
    end: float
    before: FloatArray
    after: FloatArray
    atlases: tuple[Atlas, Atlas]
    laws: tuple[str, ...]
    impulses: Mapping[int, FloatArray]
    kick: bool = False
    inputs: FloatArray | None = None
    pushed: FloatArray | None = None
    strikes: Mapping[int, Strike] = field(default_factory=dict)
    moments: Mapping[int, FloatArray] = field(default_factory=dict)
    share: float = 0.5


@dataclass
class Log:
    """What a run gathers.

    ``policy``: what its input came from; ``accurate``: the integrator's steps are small enough to judge the energy by;
    ``legs``, where it is a list: what was integrated; ``message``: why the policy gave up, if it did; ``jumps``: how
    velocities jumped, and what pushed.
    """

    accurate: bool = False
    segments: list[Segment] = field(default_factory=list)
    transitions: list[Transition] = field(default_factory=list)
    margins: dict[str, float] = field(default_factory=dict)
    policy: TimedPolicy | None = None
    steps: int = 0
    rejected: int = 0
    evaluations: int = 0
    legs: list[Leg] | None = None
    message: str = ""
    jumps: list[Jump] = field(default_factory=list)

    def count(self, leg: Leg, least: FloatArray) -> None:
        """Add the statistics of one integration with its `least` margins (m,); modes without a time say nothing.

        That of the event is zero there, but for the precision of the instant.
        """
        phase, done, lasted = leg.phase, leg.done, leg.end is None or leg.done.t_end > leg.begin.t
        if self.legs is not None:
            self.legs.append(leg)
        self.steps += done.steps
        self.rejected += done.rejected
        self.evaluations += done.evaluations
        if lasted and not phase.mode.rest:
            for i, (name, value) in enumerate(zip(phase.margins, least, strict=True)):
                self.lower(name, 0.0 if i == done.event and value <= 0.0 else float(value))

    def states_at(self, times: FloatArray) -> FloatArray:
        """Return the states (n, n_x) at those of the sample `times` that were reached, without those of events."""
        reached, states = (np.concatenate([getattr(s, name) for s in self.segments]) for name in ("times", "states"))
        return states[sample_rows(reached, times)]

    def add_jump(
        self,
        before: HybridState,
        after: HybridState,
        *,
        kick: bool = False,
        inputs: FloatArray | None = None,
        pushed: tuple[float, FloatArray] | None = None,
    ) -> None:
        """Add what led from one state to another at once, or in a time step, if anything did.

        ``pushed``: when (s) and at which state a step pushed.
        """
        if not after.impulses and before.t == after.t and np.array_equal(before.x, after.x):
            return
        atlases = before.mode.atlas, after.mode.atlas
        states = np.array(before.x), np.array(after.x)
        laws, pushes = after.mode.laws, after.impulses
        middle, share = None if pushed is None else pushed[1], 0.5
        if pushed is not None and after.t > before.t:
            share = (pushed[0] - before.t) / (after.t - before.t)
        more = kick, inputs, middle, after.strikes, after.moments, share
        self.jumps.append(Jump(before.t, after.t, *states, atlases, laws, pushes, *more))

    def mark(self) -> tuple[int, int, dict[str, float]]:
        """Return what `back` needs to take back what was gathered of the motion since."""
        return len(self.segments), len(self.jumps), dict(self.margins)

    def back(self, mark: tuple[int, int, dict[str, float]]) -> None:
        """Forget the samples, jumps and margins gathered since a `mark`."""
        count, jumps, self.margins = mark
        del self.segments[count:]
        del self.jumps[jumps:]

    def lower(self, name: str, value: float) -> None:
        """Take the value of a margin into account; one that is not a number stays one."""
        known = self.margins.get(name, np.inf)
        self.margins[name] = value if np.isnan(value) else min(known, value)


def sample_rows(reached: FloatArray, times: FloatArray) -> NDArray[np.intp]:
    """Return which of the times `reached` by a run are its samples at `times`, each once: not those of events."""
    distinct, first = np.unique(reached, return_index=True)
    return first[np.isin(distinct, times)]
