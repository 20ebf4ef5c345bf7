"""Contact detection: finds touch-downs and second contacts from distances of whole shapes between steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from trundle.checks import FloatArray
from trundle.contact.choice import bumpy
from trundle.contact.laws import LAWS
from trundle.contact.proximity import Proximity
from trundle.geometry.queries.cloud import data_ranges
from trundle.models.scales import pace
from trundle.models.tree.approach import Approach, approach_at, place_approach, refine_approach, with_charts
from trundle.models.tree.system import ContactSystem
from trundle.models.tree.touching import contact_points, points_on_both
from trundle.simulate.events.advancement import TOUCHED
from trundle.simulate.events.exclusion import Exclusion, exclusion
from trundle.simulate.events.recontact import crossing
from trundle.simulate.events.separated import Gaps, SeparatedPairs, separated_pair
from trundle.simulate.events.touchdown import touch_down
from trundle.simulate.events.transitions import Event
from trundle.simulate.mode import Mode

_NEAR = 4.0  # spacings of a cloud around a touching point that belong to it
_PENETRATES = 1e-6
"""In sizes. How deep a place that was not seen open has to be for a touch."""
_STILL = 1e-9  # m/s: slower approach is round-off
_OVERLAPS = 1e-6  # m: deeper minima are touches
_BUMPY_SPAN = 0.01  # of the usual span between looks, where ground has many bumps
_DEEP = 1e-3
"""Overlap, in sizes of the body, in which a touch was seen too late to go on from."""

WATCH_STEP = 5e-3
"""Longest time (s) between looks at whole shapes of up to 0.1 m: what is large moves more slowly (`pace`)."""

GUARD_STEP = 25e-3
"""The same where a touch would not be resolved but ends the run, or margins see it, too."""

LOOKED_AT = 0.25 * np.pi
"""rad, an eighth of a period, in which velocities change by no more than twice of what both its ends show: the same of
what swings on a spring, or as it is told."""

WATCH_SPAN, FLIGHT_SPAN = 0.25, 10.0
"""Time (s) that is integrated in one go before its looks are taken together; where margins see touches, too."""

StateAt = Callable[[float], FloatArray]


class ContactDetector:
    """Looks for places of a system that touch although no contact is followed there.

    Parameters
    ----------
    system : ContactSystem
    mode : Mode
    unarmed : set of str
        Margins that start at zero: ``<contact>.gap`` of one that came apart at this instant.
    margined : set of int
        Contacts with coordinates of their own whose gap is a margin in flight.
    sure : Gaps, optional
        See `SeparatedPairs`.
    """

    def __init__(
        self,
        system: ContactSystem,
        mode: Mode,
        unarmed: frozenset[str] = frozenset(),
        margined: frozenset[int] = frozenset(),
        sure: Gaps | None = None,
    ) -> None:
        self.system, self.mode = system, mode
        # Those that touch nowhere are looked at as whole shapes.
        self.separated = SeparatedPairs.in_flight(system, mode, unarmed, margined, sure)
        on = [any(LAWS[mode.laws[i]].touching for i in numbers) for numbers in system.pairs]
        touching = [numbers for numbers, one in zip(system.pairs, on, strict=True) if one]
        pairs = [PairDetector(system, mode, numbers, unarmed) for numbers in touching]
        self._needed = [pair for pair in pairs if pair.needed]
        self._full = [pair for pair in pairs if pair.full]
        self._slow = max(1.0, pace(system))
        in_parts = [numbers[0] for numbers in touching if system.contact_pairs[numbers[0]].form == "facets"]
        self._polytopes = SeparatedPairs(system, mode, [separated_pair(system, system.pair_of(i)) for i in in_parts])

    @property
    def needed(self) -> bool:
        """Whether anything can happen that the compiled margins do not see."""
        return bool(self._needed) or not self.separated.margined

    def sinks(self, x: FloatArray) -> bool:
        """Return whether polytopes that touch with some parts overlap at a state `x` (n_x,) with others."""
        if not self._polytopes.pairs:
            return False
        return any(look.gap < -look.pair.sunk for look in self._polytopes.looks(0.0, x))

    @property
    def flying(self) -> bool:
        """Whether any two shapes touch nowhere."""
        return bool(self.separated.pairs)

    @property
    def full(self) -> bool:
        """Whether every contact of two bodies is closed, though a body in space could touch once more."""
        return bool(self._full)

    @property
    def span(self) -> float:
        """Longest time (s) that may pass before the shapes are looked at."""
        if not (self.needed or self.full):
            return self._slow * FLIGHT_SPAN if self.flying else np.inf
        return self._slow * (_BUMPY_SPAN if any(pair.bumpy for pair in self._full) else WATCH_SPAN)

    def looks(self, begin: float, end: float) -> FloatArray | None:
        """Return the times (s) between two at which whole shapes are looked at, or None: neither samples nor ends."""
        if not (self.needed or self.full or self.flying):
            return None
        step = self._slow * (WATCH_STEP if self.needed else GUARD_STEP)
        if self.system.quickest > 0.0:
            step = min(step, LOOKED_AT / self.system.quickest)
        return np.arange(begin, end, step)[1:]

    def overlaps(self, states: FloatArray) -> int | None:
        """Return the first of the states (N, n_x) at which bodies overlap away from the contacts, or None."""
        found = [k for k in (pair.overlaps(states) for pair in self._full) if k is not None]
        return min(found, default=None)

    def find_first_touch(
        self, times: FloatArray, states: FloatArray, state_at: StateAt, ended: Event | None = None
    ) -> tuple[float, Event] | None:
        """Return the first instant at which something touched, and the event, or None.

        Parameters
        ----------
        times, states : (N,), (N, n_x)
            Ascending; the first is the start of the interval looked at.
        state_at : callable
            Integrates from the start to a time inside.
        ended : Event, optional
            What happens at the last of the times anyway.
        """
        found = [pair.find_first_touch(times, states, state_at) for pair in self._needed]
        known: frozenset[int] = frozenset() if ended is None else frozenset({self.system.pair_of(ended.contact)[0]})
        met = self.separated.first_touches(times, states, state_at, known)
        found += [touch_down(self.system, self.mode, *looks, state_at) for looks in met]
        return min((event for event in found if event is not None), key=lambda event: event[0], default=None)


class PairDetector:
    """Looks for places where two shapes touch although no contact is followed there.

    Parameters
    ----------
    system : ContactSystem
    mode : Mode
    numbers : sequence of int
        The contacts between these shapes.
    unarmed : set of str
        See `ContactDetector`.
    """

    def __init__(
        self, system: ContactSystem, mode: Mode, numbers: Sequence[int], unarmed: frozenset[str] = frozenset()
    ) -> None:
        self.system, self.mode = system, mode
        self.touching = [i for i in numbers if LAWS[mode.laws[i]].touching]
        self.apart = [i for i in numbers if not LAWS[mode.laws[i]].touching]
        # A body that has just left a contact is still near it: wait until it is away, or has sunk in to be seen.
        left = any(f"{system.contact_pairs[i].contact}.gap" in unarmed for i in self.apart)
        self._armed = bool(self.touching) and not left
        self._number, pair = numbers[0], system.contact_pairs[numbers[0]]
        shape, self._size = pair.shape_B, pair.shape_A.reference_length
        self._touched = TOUCHED * self._size
        # A feature knows one of its points: on ground that is not quadratic several may be nearest.
        self.bumpy = pair.form == "features" and bumpy(shape)
        self._data = system.keep(("data", shape), lambda: data_ranges(shape))

    @property
    def _proximity(self) -> Proximity:
        return self.system.proximity(self._number)

    @property
    def needed(self) -> bool:
        """Whether anything can happen that the compiled margins do not see."""
        if not self.apart or self.mode.rest or self.system.contact_pairs[self.apart[0]].piece is not None:
            return False
        return bool(self.touching) or self.system.contact_pairs[self.apart[0]].form != "support"

    @property
    def full(self) -> bool:
        """Whether the system follows all contacts it can, though a body could touch once more."""
        if self.bumpy:
            return bool(self.touching)
        whole = bool(self.touching) and self.system.contact_pairs[self.touching[0]].piece is None
        return whole and not self.apart and len(self.touching) > 1 and self.system.d == 3

    def overlaps(self, states: FloatArray) -> int | None:
        """Return the first of the states (N, n_x) at which the bodies overlap away from the contacts, or None."""
        proximity = self._proximity
        none = np.zeros((len(states), 0, self.system.d))
        known = np.concatenate([none, *(on_A[:, None] for on_A, _ in self._points(states))], axis=1)
        R, p = self.system.relative_pose(states, self._number, self.mode.atlas)
        for k in np.flatnonzero(proximity.suspicious(R, p, known)):
            for near in proximity.local_minima(R[k], p[k], below=-_OVERLAPS):
                apart = np.linalg.norm(near.x_A - known[k], axis=1)
                if np.all(apart > 1.5 * proximity.spacing) and self._has_data(near.x_B):
                    return int(k)
        return None

    def nearest(self, x: FloatArray) -> Approach | None:
        """Return the nearest approach at the state `x` that is no contact yet, or None if all are far."""
        contact = self.apart[0]
        proximity = self._proximity
        R, p = self.system.relative_pose(x, contact, self.mode.atlas)
        reach = _NEAR * proximity.spacing if self.touching else np.inf
        known = [contact_points(self.system, self.mode.atlas, x, i)[0] for i in self.touching]
        best: Approach | None = None
        for near in proximity.local_minima(R, p, below=reach):
            close = any(np.linalg.norm(near.x_A - x_A) < 1.5 * proximity.spacing for x_A in known)
            if close or not self._has_data(near.x_B):
                continue
            found = approach_at(self.system, self.mode.atlas, x, contact, near)
            if found is None or self._ruled_out(x, contact, found, known, 0.5 * proximity.spacing):
                continue
            if best is None or found.gap < best.gap:
                best = found
            if not self.touching:
                break
        return best

    def follow(self, x: FloatArray, near: Approach) -> Approach | None:
        """Return the approach that `near` has become at a state `x` close by, or None if it is lost."""
        contact = self.apart[0]
        found = refine_approach(self.system, self.mode.atlas, x, contact, near.coordinates, near.charts)
        return None if found is None or self._ruled_out(x, contact, found, [], 0.0) else found

    def _ruled_out(self, x: FloatArray, contact: int, found: Approach, known: list[FloatArray], near: float) -> bool:
        """Whether Newton's iteration fell back onto a contact that is followed already, or off the data."""
        atlas = with_charts(self.mode.atlas, contact, found.charts)
        x_A, x_B, _ = contact_points(self.system, atlas, place_approach(self.system, atlas, x, contact, found), contact)
        return not self._has_data(x_B) or any(np.linalg.norm(x_A - other) < near for other in known)

    def _has_data(self, x_B: FloatArray) -> bool:
        """Whether a measured graph has data there: beyond, a surface is nobody's."""
        return all(r.low <= x <= r.high for r, x in zip(self._data, x_B, strict=False))

    def find_first_touch(self, times: FloatArray, states: FloatArray, state_at: StateAt) -> tuple[float, Event] | None:
        """Return the first instant at which something touched, and the event, or None; as of all contacts."""
        contact, shapes = self.apart[0], self._exclusion
        if shapes is not None and shapes.always:
            return None
        points = self._points(states)
        if shapes is not None and shapes.bend is not None:
            along = points[0][1][:, 0]
            if shapes.excludes(float(np.min(along)), float(np.max(along))):
                return None
        known = np.zeros((len(times), 0, self.system.d))
        if points:
            known = np.stack([on_A for on_A, _ in points], axis=1)
        R, p = self.system.relative_pose(states, contact, self.mode.atlas)
        suspects = self._proximity.suspicious(R, p, known)
        for k in range(1, len(times)):
            after = self.nearest(states[k]) if suspects[k] else None
            if after is None or after.gap > 0:
                self._armed |= after is None or after.gap > self._touched
            elif after.speed < -_STILL and (self._armed or after.gap < -_PENETRATES * self._size):
                return self._instant(float(times[k - 1]), float(times[k]), state_at, after)
        return None

    def _points(self, states: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """Return the points of each closed contact at the states (N, n_x): (N, d) on A and on B."""
        return [points_on_both(self.system, self.mode.atlas, states, i) for i in self.touching]

    @property
    def _exclusion(self) -> Exclusion | None:
        """Where the shapes leave no room for another contact beside the only one, or None if there are several."""
        if len(self.touching) != 1:
            return None
        contact_pair = self.system.contact_pairs[self.touching[0]]
        key = ("exclusion", contact_pair.shape_A, contact_pair.shape_B)
        return self.system.keep(key, lambda: exclusion(contact_pair.shape_A, contact_pair.shape_B))

    def _instant(self, t0: float, t1: float, state_at: StateAt, after: Approach) -> tuple[float, Event]:
        @cache
        def look(t: float) -> Approach:
            return self.nearest(state_at(t)) or Approach(1.0, after.coordinates, after.charts, 1.0)

        low = next((float(t) for t in np.linspace(t1, t0, 9)[1:] if look(float(t)).gap > 0), None)
        if low is None and look(t0).speed > 0:
            # It has just left this place and is back already: in between it was farthest where the speed is zero.
            low = crossing(lambda t: look(t).speed, t0, t1)
        instant = t0 if low is None else crossing(lambda t: look(t).gap, low, t1)
        floor = min(look(t0).gap, 0.0) - self._touched
        if not self._armed and look(t0 if low is None else low).gap < self._touched and after.gap < floor:
            # It came apart and falls back without ever being away, but by round-off: it lands where that is sure.
            instant = crossing(lambda t: look(t).gap - floor, t0, t1)
        found = self.nearest(state_at(instant)) or after
        deep = found.gap < -_DEEP * self.system.contact_pairs[self.apart[0]].shape_A.reference_length
        return instant, Event(self.apart[0], "overlap" if deep else "touch", found.coordinates, found.charts)
