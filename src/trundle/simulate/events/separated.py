"""Separated: pairs of shapes that are apart, and the first instant at which one of them touches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.contact.laws import LAWS
from trundle.contact.proximity import Nearness
from trundle.errors import InputError
from trundle.models.scales import pace
from trundle.models.tree.approach import Approach, approach_at
from trundle.models.tree.system import ContactSystem
from trundle.simulate.events.advancement import Look, StateAt, WatchedPair, first_in, way_between
from trundle.simulate.events.places import PairShapes, TouchPlaces, doubtful
from trundle.simulate.mode import Mode

SAME = 1e-5
"""Difference, in sizes, of the distance of whole shapes and the gap of the contact that is to be followed."""
BETWEEN_STEPS = 2.001e-3
"""s, of what is 0.1 m large, within which margins of the integrator see every touch themselves, but for that of bodies
that pass each other."""
_SOONEST = 2.0**-12
"""Part of the time between two looks after which a pair that comes apart is looked at first, if not sooner."""
_ON_THE_WAY = 65
"""Looks between two at which a pair that was never open is deep."""
_STILL = 1e-9
"""m/s. A pair that approaches more slowly stays as it is."""

Gaps = dict[int, tuple[float, float]]


def separated_pair(system: ContactSystem, numbers: Sequence[int]) -> WatchedPair:
    """Return the two shapes that have the contacts `numbers`."""
    return system.keep(("separated", numbers[0]), lambda: WatchedPair(system, numbers[0]))


def whole_gap(system: ContactSystem, mode: Mode, t: float, x: FloatArray, contact: int) -> float:
    """Return the distance (m) of the two shapes that have a contact, as wholes, at the state `x`."""
    pair = separated_pair(system, system.pair_of(contact))
    return SeparatedPairs(system, mode, [pair]).look(0, t, x).gap


class SeparatedPairs:
    """Pairs of a mode's shapes that touch nowhere.

    Parameters
    ----------
    system : ContactSystem
    mode : Mode
    pairs : sequence of WatchedPair
    closed : set of int
        Pairs, by their numbers, that come apart at this instant, and are not open yet.
    margined : set of int
        Contacts with coordinates of their own whose gap is a margin, too.
    sure : Gaps, optional
        What is known of pairs, and is kept there: the time (s) of the last look, and a lower bound of the gap (m) then.
    """

    def __init__(
        self,
        system: ContactSystem,
        mode: Mode,
        pairs: Sequence[WatchedPair],
        closed: frozenset[int] = frozenset(),
        margined: frozenset[int] = frozenset(),
        sure: Gaps | None = None,
    ) -> None:
        self.system, self.mode, self.pairs, self._margined = system, mode, pairs, margined
        self._sure: Gaps = {} if sure is None else sure
        numbers = tuple(pair.number for pair in pairs)
        self._shapes = system.keep(("shapes of pairs", numbers), lambda: PairShapes(system, pairs))
        self._open = np.array([number not in closed for number in numbers], dtype=bool)

    @classmethod
    def in_flight(
        cls,
        system: ContactSystem,
        mode: Mode,
        unarmed: frozenset[str],
        margined: frozenset[int],
        sure: Gaps | None = None,
    ) -> SeparatedPairs:
        """Return all pairs that touch nowhere; ``unarmed``: margins that start at zero, ``<contact>.gap`` of those."""
        touching = {i for i, law in enumerate(mode.laws) if LAWS[law].touching}
        touching.update(i for i, pair in enumerate(system.contact_pairs) if pair.ahead is not None)
        flying = [] if mode.rest else [numbers for numbers in system.pairs if touching.isdisjoint(numbers)]
        closed = frozenset(system.pair_of(system.number(name))[0] for name in unarmed if name.endswith(".gap"))
        return cls(system, mode, [separated_pair(system, numbers) for numbers in flying], closed, margined, sure)

    @cached_property
    def margined(self) -> bool:
        """Whether margins of the integrator know the gaps of all of them, but for dips between its steps."""
        return all(self._has_margin(pair.number) for pair in self.pairs)

    def _has_margin(self, number: int) -> bool:
        # A rim's margin waits while its face is down, whose points are not followed in flight.
        known = self.system.contact_pairs[number].form == "support" and number not in self.system.faces
        return known or number in self._margined

    def look(self, number: int, t: float, x: FloatArray) -> Look:
        """Return the look at a pair, by its place among the pairs, at the state `x` (n_x,)."""
        return self._look(number, float(t), self._shapes.at(x[None], self.mode.atlas), 0)

    def looks(self, t: float, x: FloatArray) -> list[Look]:
        """Return the looks at all of them at the state `x` (n_x,)."""
        at = self._shapes.at(x[None], self.mode.atlas)
        return [self._look(j, float(t), at, 0) for j in range(len(self.pairs))]

    def _look(self, number: int, t: float, at: TouchPlaces, instant: int) -> Look:
        A, B = (at.of(instant, int(shape)) for shape in self._shapes.sides[:, number])
        return Look(self.pairs[number], t, A, B)

    def first_touches(
        self, times: FloatArray, states: FloatArray, state_at: StateAt, ended: frozenset[int] = frozenset()
    ) -> list[tuple[Look, Look]]:
        """Return looks just before and at, or after, the first touch of each pair that may be the first of all.

        Which one that is only their instants tell: looks at several pairs may be at the same times.

        Parameters
        ----------
        times, states : (N,), (N, n_x)
            Ascending; the first is the start of the interval looked at.
        state_at : callable
            Integrates from the start to a time inside.
        ended : set of int
            Pairs whose touch at the last time is known.
        """
        brief = self.margined and times[-1] - times[0] <= BETWEEN_STEPS * pace(self.system)
        if not self.pairs or len(times) < 2 or (brief and not self._balls.any()):
            return []
        at = self._shapes.at(states, self.mode.atlas)
        doubt, moves = doubtful(self.pairs, self._shapes, times, at)
        looked_at = self._passing(times, at) if brief else np.ones(len(self.pairs), dtype=bool)
        self._open |= looked_at & ~doubt[0]
        doubt &= moves
        met = [
            self._first(j, times, np.flatnonzero(doubt[:, j]), at, state_at, self.pairs[j].number in ended)
            for j in np.flatnonzero(looked_at & doubt.any(axis=0)).tolist()
        ]
        found = [looks for looks in met if looks is not None]
        over = min((after.t for _, after in found), default=0.0)
        return [(before, after) for before, after in found if before.t <= over]

    def close(self, t: float, x: FloatArray, part: float) -> list[Look]:
        """Return the looks at those that are closer than a `part` of their sizes at the state `x` (n_x,)."""
        at = self._shapes.at(x[None], self.mode.atlas)
        A, B = self._shapes.sides
        reach = part * np.array([pair.size for pair in self.pairs])
        apart = np.linalg.norm(at.c[0, A] - at.c[0, B], axis=1) - self._shapes.radii[A] - self._shapes.radii[B]
        looks = [self._look(j, t, at, 0) for j in np.flatnonzero(~self._balls | (apart < reach)).tolist()]
        return [look for look in looks if max(look.apart_at_least, look.gap) < part * look.pair.size]

    @cached_property
    def _balls(self) -> NDArray[np.bool_]:
        """Which pairs are of two shapes that balls hold: those may pass through each other."""
        return np.all(np.isfinite(self._shapes.radii[self._shapes.sides]), axis=0)

    def _passing(self, times: FloatArray, at: TouchPlaces) -> NDArray[np.bool_]:
        """Return which pairs are of balls that may have been through each other between looks."""
        A, B = self._shapes.sides
        apart = np.linalg.norm(at.c[:, A] - at.c[:, B], axis=2)
        speed = np.linalg.norm(at.v[:, A] - at.v[:, B], axis=2)
        reach = self._shapes.radii[A] + self._shapes.radii[B]
        ways = 2.0 * np.maximum(speed[1:], speed[:-1]) * np.diff(times)[:, None]
        return self._balls & np.any(apart[1:] + apart[:-1] - 2.0 * reach <= ways, axis=0)

    def _first(
        self, j: int, times: FloatArray, doubt: NDArray[np.intp], at: TouchPlaces, state_at: StateAt, ended: bool
    ) -> tuple[Look, Look] | None:
        """Return looks just before and at, or after, the first touch of a pair in one of the intervals in `doubt`."""
        number, last = self.pairs[j].number, len(times) - 1
        sure = self._sure.get(number)

        def look(t: float, near: Look) -> Look:
            return replace(self.look(j, t, state_at(t)), guess=near.normal)

        before: Look | None = None
        for k in doubt:
            a = before if before is not None and before.t == times[k] else self._look(j, float(times[k]), at, k)
            before = b = self._look(j, float(times[k + 1]), at, k + 1)
            known = ended and k + 1 == last
            if self._open[j] and sure is not None and sure[0] == a.t and sure[1] > (way := way_between(a, b)):
                self._sure[number] = sure = (b.t, sure[1] - way)
                continue
            if not self._open[j]:
                # Of two balls the margin itself waits until it is open, and is looked after (`recontact`).
                known_apart = b if b.gap > b.pair.touched else None
                opened = known_apart if number in self._margined else _find_open_look(a, b, look)
                if opened is None:
                    deep = _sinking(a, b, look)
                    if deep.gap < -b.pair.sunk and deep.speed < -_STILL and not self._has_margin(number):
                        return self._bracket_sinking(a, deep, look)
                    continue
                a, self._open[j] = opened, True
                if a is b:
                    continue
            found = first_in(a, b, look, known)
            if found is not None and not _stays(*found):
                return found
            if "apart" in vars(b):
                self._sure[number] = sure = (b.t, b.gap)
        return None

    def _bracket_sinking(self, a: Look, b: Look, look: Callable[[float, Look], Look]) -> tuple[Look, Look]:
        """Return where a pair that has not been seen open touches: after the last instant at which it was open."""
        for t in np.linspace(b.t, a.t, 9)[1:-1]:
            middle = look(float(t), b)
            if middle.gap > middle.pair.touched:
                return first_in(middle, b, look, False) or (middle, b)
        return replace(a, opened=False), b


def _sinking(a: Look, b: Look, look: Callable[[float, Look], Look]) -> Look:
    """Return an early look at which a pair that is deep at `b`, and may come out there, is on its way in."""
    if b.speed < -_STILL or b.gap >= -b.pair.sunk:
        return b
    for t in np.linspace(a.t, b.t, _ON_THE_WAY)[1:-1]:
        middle = look(float(t), b)
        if middle.gap < -middle.pair.sunk and middle.speed < -_STILL:
            return middle
    return b


def _find_open_look(a: Look, b: Look, look: Callable[[float, Look], Look]) -> Look | None:
    """Return an early look at which a pair that comes apart at `a` is open, as it may be back before `b`; or None."""
    h = min(2.0 * a.pair.touched / max(a.speed, _STILL), _SOONEST * (b.t - a.t))
    while h < b.t - a.t:
        middle = look(a.t + h, a)
        if middle.gap > middle.pair.touched:
            return middle
        h *= 2.0
    return b if b.apart_at_least > b.pair.touched or b.gap > b.pair.touched else None


def _stays(before: Look, after: Look) -> bool:
    """Return whether a pair touches from the start, without a force, and does not approach: it goes on as it is."""
    touched, sunk = before.pair.touched, before.pair.sunk
    return before.gap <= touched and after.gap > -sunk and min(before.speed, after.speed) > -_STILL


def approach_of(system: ContactSystem, mode: Mode, look: Look, x: FloatArray) -> Approach | None:
    """Return the contact that can be followed from where the shapes are nearest, or None."""
    apart, pair = look.apart, look.pair
    near = Nearness(apart.gap, apart.x_A, apart.x_B, apart.normal)
    try:
        found = approach_at(system, mode.atlas, x, pair.number, near)
    except InputError:
        return None
    return found if found is not None and agrees(found, look) else None


def agrees(found: Approach, look: Look) -> bool:
    """Return whether a contact that is followed is where the whole shapes are nearest."""
    return abs(found.gap - look.gap) < SAME * look.pair.size
