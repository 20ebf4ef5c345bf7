"""Touch-down: at which instant two shapes that were apart meet, and which contact of theirs that is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trundle.checks import FloatArray
from trundle.contact.choice import IN_PARTS
from trundle.contact.laws import LAWS
from trundle.geometry.queries.straight import straight_directions
from trundle.models.tree.system import ContactSystem
from trundle.models.tree.touching import Strike, lowest, near_features, open_gap
from trundle.simulate.events.advancement import Look, StateAt, WatchedPair
from trundle.simulate.events.recontact import crossing
from trundle.simulate.events.separated import SAME, SeparatedPairs, approach_of
from trundle.simulate.events.transitions import Event
from trundle.simulate.mode import Mode

_ACROSS = 1e-3
"""rad, about: edges that cross at a smaller angle have no one point in common."""
_POLISHED, _POLISHES = 1e-15, 4
DEEP = 1e-3
"""Overlap, in sizes of the body, in which a touch was seen too late to go on from."""


def touch_down(system: ContactSystem, mode: Mode, before: Look, after: Look, state_at: StateAt) -> tuple[float, Event]:
    """Return the instant at which two shapes meet between two looks, and the event.

    Where no contact of theirs can be followed from there the event says so.
    """
    pair = before.pair
    instant = _instant(system, mode, before, after, state_at)
    x = state_at(instant)
    there = _look(system, mode, pair, instant, x, before.normal)
    if there.gap < -DEEP * pair.size:
        return instant, Event(pair.number, "overlap")
    numbers = system.pair_of(pair.number)
    form = system.contact_pairs[pair.number].form
    if form == "support":
        return instant, Event(lowest(system, x, numbers)[0], "gap")
    if form in IN_PARTS:
        free = [i for i in numbers if not LAWS[mode.laws[i]].touching]
        near = near_features(system, x, free, SAME * pair.size + max(there.gap, 0.0))
        least = min((open_gap(system, x, i) for i in near), default=np.inf)
        follows = abs(least - there.gap) < SAME * pair.size
        return instant, Event(pair.number, "gap") if follows else _blunt(there)
    found = approach_of(system, mode, there, x)
    if found is None:
        return instant, _blunt(there)
    for _ in range(_POLISHES if before.opened else 0):
        step = -found.gap / found.speed if found.speed < 0 else 0.0
        trial = min(max(instant + step, before.t), after.t)
        if abs(trial - instant) <= _POLISHED * (1.0 + instant):
            break
        x = state_at(trial)
        better = approach_of(system, mode, _look(system, mode, pair, trial, x, there.normal), x)
        if better is None or not abs(better.gap) < abs(found.gap):
            break
        instant, found = trial, better
    return instant, Event(pair.number, "touch", found.coordinates, found.charts)


def _blunt(there: Look) -> Event:
    """Return the event of shapes that meet where no contact of theirs can be followed, with the point if it is one.

    It is none where an edge or a face of one lies along one of the other.
    """
    pair, apart = there.pair, there.apart
    (R, p), n = there.relative, apart.normal
    of_A, of_B = straight_directions(pair.A, apart.x_A, -(R.T @ n)), straight_directions(pair.B, apart.x_B, n)
    if of_A is None or of_B is None:
        return Event(pair.number, "blunt")
    straight = np.vstack([of_A @ R.T, of_B])
    if len(straight) == len(R) or np.any(np.linalg.svd(straight, compute_uv=False) < _ACROSS):
        return Event(pair.number, "blunt")
    # Along edges and faces the nearest points are where both are opposite each other.
    aside = R @ apart.x_A + p - apart.x_B
    moves = np.linalg.lstsq(straight.T, n * float(n @ aside) - aside, rcond=None)[0]
    x_A, x_B = apart.x_A + moves[: len(of_A)] @ of_A, apart.x_B - moves[len(of_A) :] @ of_B
    left = np.linalg.norm(R @ x_A + p - x_B - n * there.gap)
    off = max(abs(float(shape.distance(x[None])[0][0])) for shape, x in ((pair.A, x_A), (pair.B, x_B)))
    opposite = max(float(left), off) < SAME * pair.size
    # One point of space for both: what is left between them is the error of the search.
    return Event(pair.number, "blunt", strike=Strike(R.T @ (x_B - p), x_B, n) if opposite else None)


def _instant(system: ContactSystem, mode: Mode, before: Look, after: Look, state_at: StateAt) -> float:
    """Return the time, s, at which the gap of two shapes is zero."""
    # What came apart and falls back without ever being away, but by round-off, lands where that is sure.
    floor = 0.0 if before.opened else min(before.gap, 0.0) - before.pair.touched

    def gap(t: float) -> float:
        return _look(system, mode, before.pair, t, state_at(t), before.normal).gap - floor

    return crossing(gap, before.t, after.t)


def _look(system: ContactSystem, mode: Mode, pair: WatchedPair, t: float, x: FloatArray, normal: FloatArray) -> Look:
    pairs = SeparatedPairs(system, mode, [pair])
    return replace(pairs.look(0, t, x), guess=normal)
