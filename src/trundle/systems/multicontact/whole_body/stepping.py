"""From stance to stance: which ends stand when and where, how the others travel, and when to wait for the ground."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, integer, non_negative, number
from trundle.contact.patch import PlacedPatch
from trundle.errors import InputError
from trundle.numerics.rotations import rotation_by, rotation_vector
from trundle.systems.multicontact.centroidal.forecast import Forecast, Held, MassChange, Pushed
from trundle.systems.multicontact.whole_body.frame_target import BalanceTarget
from trundle.threads import cached_property

_SAMPLES = 33  # of a swing's way
_MOST = 10_000  # steps


@dataclass(frozen=True, eq=False)
class SwingMotion:
    """An end that leaves its place at `start` and stands at `target` from `end` on, s.

    Parameters
    ----------
    name : str
        Of the end, as in `Humanoid.ends`.
    start, end : float, s
    target : PlacedPatch
    lift : float, m
        Height of the path above the straight line, along z.
    aside : (3,) m
        Further offset of the middle of the path, world.
    """

    name: str
    start: float
    end: float
    target: PlacedPatch
    lift: float = 0.06
    aside: FloatArray = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        number("end", self.end, above=number("start", self.start, unit="s"), unit="s")
        non_negative("lift", self.lift, "m")
        object.__setattr__(self, "aside", np.array(self.aside, dtype=np.float64))
        if not isinstance(self.target, PlacedPatch):
            raise InputError("target", self.target, "a PlacedPatch")

    def reference(self, time: float, p: FloatArray, R: FloatArray) -> BalanceTarget:
        """Return where the end should be at `time` (s) on its path from the pose p (3,), R (3, 3) that it left.

        A polynomial of least jerk along the line and in the turn; the lift is 64 s^3 (1 - s)^3, s the share of time.
        """
        T = self.end - self.start
        s = min(max((time - self.start) / T, 0.0), 1.0)
        along, rate, bend = minimum_jerk(s)
        rate, bend = rate / T, bend / T**2
        u, du = s * (1 - s), (1 - 2 * s) / T
        over = 64 * u**3
        rise, curl = 192 * u**2 * du, 384 * u * du**2 - 384 * u**2 / T**2
        displacement, up = self.target.position - p, self.aside + np.array([0.0, 0.0, self.lift])
        turn = rotation_vector(R, self.target.R_world_patch)
        return BalanceTarget(
            p + along * displacement + over * up,
            rate * displacement + rise * up,
            bend * displacement + curl * up,
            rotation_by(along * turn) @ R,
            rate * turn,
        )

    def length(self, p: FloatArray) -> float:
        """Return the length (m) of the path from the place p (3,) that it left."""
        R, times = self.target.R_world_patch, np.linspace(self.start, self.end, _SAMPLES)
        points = np.array([self.reference(float(time), p, R).position for time in times])
        return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())


def minimum_jerk(s: float) -> tuple[float, float, float]:
    """Return the polynomial of least jerk from 0 to 1, and its first two derivatives, at s in [0, 1]."""
    return s**3 * (10 - 15 * s + 6 * s**2), 30 * s**2 * (1 - s) ** 2, 60 * s * (1 - s) * (1 - 2 * s)


@dataclass(frozen=True)
class Footsteps:
    """Places of feet and hands over time (final).

    Parameters
    ----------
    start : mapping of str to PlacedPatch
        Where the ends stand at time 0.
    travels : sequence of SwingMotion
        In the order of their starts; those of one end do not overlap. An end that did not stand before only arrives.
    releases : mapping of str to float
        When an end that stands leaves for good, s.
    masses : sequence of MassChange
        Of what moves: an object that is picked up or set down.
    pushes : sequence of Pushed
        Forces from outside that are known before.

    Raises
    ------
    InputError
        If nothing stands at some time, or the travels of an end overlap.

    Examples
    --------
    >>> from trundle.contact.patch import FlatPatch, PlacedPatch
    >>> sole = FlatPatch.rectangle(0.2, 0.1, friction=0.7)
    >>> feet = (("left_foot", 0.1), ("right_foot", -0.1))
    >>> steps = straight_walk({name: PlacedPatch(name, sole, (0.0, y, 0.0)) for name, y in feet}, steps=2, length=0.15)
    >>> sorted(steps.standing(1.3)), round(steps.duration, 2)
    (['left_foot'], 2.4)
    """

    start: Mapping[str, PlacedPatch]
    travels: Sequence[SwingMotion] = ()
    releases: Mapping[str, float] = field(default_factory=dict)
    masses: Sequence[MassChange] = ()
    pushes: Sequence[Pushed] = ()
    forecast: Forecast = field(init=False, repr=False, compare=False)
    """Of what stands when."""

    def __post_init__(self) -> None:
        held: list[Held] = []
        for name in dict.fromkeys((*self.start, *(travel.name for travel in self.travels))):
            own = [travel for travel in self.travels if travel.name == name]
            for a, b in pairwise(own):
                if b.start < a.end:
                    raise InputError(f"travels.{name}", b.start, f"after the end of the travel before, {a.end} s")
            places = [(-np.inf, self.start[name])] if name in self.start else []
            places += [(travel.end, travel.target) for travel in own]
            ends = [travel.start for travel in own][0 if name in self.start else 1 :]
            ends += [self.releases.get(name, np.inf)]
            held += [Held(place, begin, end) for (begin, place), end in zip(places, ends, strict=True)]
        object.__setattr__(self, "forecast", Forecast(tuple(held), tuple(self.pushes), tuple(self.masses)))
        for time in self.forecast.changes:
            if not self.forecast.held(np.array([time])).any():
                raise InputError("travels", float(time), "times at which something stands")

    @property
    def duration(self) -> float:
        """When the last travel ends, s."""
        return max((travel.end for travel in self.travels), default=0.0)

    def travelling(self, time: float) -> tuple[SwingMotion, ...]:
        """Return the travels under way at `time` (s)."""
        return tuple(travel for travel in self.travels if travel.start <= time < travel.end)

    def heading(self, time: float) -> tuple[float, float]:
        """Return where the soles point to at `time` (s): yaw (rad), and its rate (rad/s), smooth while one travels."""
        knots = self._headings
        i = int(np.searchsorted(knots[:, 0], time, side="right")) - 1
        if i < 0 or i >= len(knots) - 1:
            return float(knots[min(max(i, 0), len(knots) - 1), 1]), 0.0
        (a, yaw), (b, other) = knots[i], knots[i + 1]
        s = (time - a) / (b - a)
        return float(yaw + s**2 * (3 - 2 * s) * (other - yaw)), float(6 * s * (1 - s) * (other - yaw) / (b - a))

    @cached_property
    def _headings(self) -> FloatArray:
        """Times and yaws (k, 2): the mean of the soles' before and after each travel, without jumps of a whole turn."""
        places = {name: place for name, place in self.start.items() if name.endswith("_foot")}
        knots = [(0.0, _yaw(places))]
        for travel in self.travels:
            if travel.name in places:
                before = knots[-1][1]
                places[travel.name] = travel.target
                after = before + (_yaw(places) - before + np.pi) % (2 * np.pi) - np.pi
                start = max(travel.start, knots[-1][0] + 1e-6)
                knots += [(start, before), (max(travel.end, start + 1e-6), after)]
        return np.array(knots)

    def standing(self, time: float) -> dict[str, PlacedPatch]:
        """Return what stands where at `time` (s)."""
        held = self.forecast.held(np.array([time]))[0]
        return {c.contact.name: c.contact for c, on in zip(self.forecast.contacts, held, strict=True) if on}


def _yaw(places: Mapping[str, PlacedPatch]) -> float:
    """Return the direction (rad) of the mean x axis of soles."""
    ahead = sum((place.R_world_patch[:, 0] for place in places.values()), np.zeros(3))
    return float(np.arctan2(ahead[1], ahead[0]))


@dataclass(frozen=True, eq=False)
class Move:
    """An end that goes to `target` in `duration` s, all others at rest; then nothing moves for `pause` s.

    `lift` (m) and `aside` (3,) m: see `SwingMotion`.
    """

    target: PlacedPatch
    duration: float
    pause: float
    lift: float = 0.06
    aside: FloatArray = field(default_factory=lambda: np.zeros(3))


def in_turn(
    start: Mapping[str, PlacedPatch],
    moves: Sequence[Move],
    first: float = 1.0,
    *,
    releases: Mapping[str, float] | None = None,
    masses: Sequence[MassChange] = (),
    pushes: Sequence[Pushed] = (),
) -> Footsteps:
    """Return moves one after the other from the time `first` (s) on; for the rest see `Footsteps`."""
    travels, time = [], first
    for move in moves:
        travels.append(SwingMotion(move.target.name, time, time + move.duration, move.target, move.lift, move.aside))
        time += move.duration + move.pause
    return Footsteps(start, travels, releases or {}, masses, pushes)


Rule = Callable[[float, float, bool], float]
"""From the time (s) since the first move, a length (m), and whether an end travels or only the centre of mass does, to
a duration (s): `trundle.multicontact.TimingRule.duration`."""


def apply_timing_rule(
    start: Mapping[str, PlacedPatch],
    moves: Sequence[Move],
    rule: Rule,
    com_lengths: ArrayLike,
    away: Mapping[str, FloatArray] | None = None,
) -> list[Move]:
    """Return the moves with durations and pauses of a rule in place of their own.

    Parameters
    ----------
    start : mapping of str to PlacedPatch
    moves : sequence of Move
        In turn, as for `in_turn`.
    rule : callable
    com_lengths : (n,) m
        How far the centre of mass goes after each move.
    away : mapping of str to (3,) m
        Where ends that do not stand at the start are.
    """
    points = {**(away or {}), **{name: place.position for name, place in start.items()}}
    time, made = 0.0, []
    for move, com_length in zip(moves, np.asarray(com_lengths, dtype=np.float64).tolist(), strict=True):
        name = move.target.name
        if name not in points:
            raise InputError("away", name, "the point at which this end is at the start")
        length = SwingMotion(name, 0.0, 1.0, move.target, move.lift, move.aside).length(points[name])
        duration = rule(time, length, True)
        pause = rule(time + duration, com_length, False)
        made.append(replace(move, duration=duration, pause=pause))
        time += duration + pause
        points[name] = move.target.position
    return made


Ground = Callable[[float, float], tuple[FloatArray, FloatArray]]
"""From (x, y) m to the point (3,) m of the ground there and the axes (3, 3) of a foothold."""


def steps_ahead(
    start: Mapping[str, PlacedPatch],
    steps: int,
    length: float,
    *,
    single: float = 0.6,
    double: float = 0.2,
    lift: float = 0.06,
    aside: float = 0.0,
    stagger: float = 0.0,
    ground: Ground | None = None,
) -> list[Move]:
    """Return steps straight ahead along x with the feet "left_foot" and "right_foot", the right one first.

    The first and last ways are length + stagger, the others 2 length: the other sole is `stagger` ahead at the start,
    and the last one at the end. Times in s, lengths in m; soles pass each other `aside` further out. Without a ground
    the footholds keep their heights.
    """
    found, nominal = [], {name: (place.position, place.R_world_patch) for name, place in start.items()}
    if not {"left_foot", "right_foot"} <= set(start):
        raise InputError("start", sorted(start), "the places of 'left_foot' and 'right_foot'")
    for i in range(integer("steps", steps, minimum=0, maximum=_MOST)):
        name = ("right_foot", "left_foot")[i % 2]
        stride = length + stagger if i in (0, steps - 1) else 2 * length
        at, R = nominal[name][0] + np.array([stride, 0.0, 0.0]), nominal[name][1]
        nominal[name] = at, R
        found.append((name, (at, R) if ground is None else ground(float(at[0]), float(at[1]))))
    return steps_to(start, found, single=single, double=double, lift=lift, aside=aside)


def steps_to(
    start: Mapping[str, PlacedPatch],
    footholds: Iterable[tuple[str, tuple[FloatArray, FloatArray]]],
    *,
    single: float = 0.6,
    double: float = 0.2,
    lift: float = 0.06,
    aside: float = 0.0,
) -> list[Move]:
    """Return steps to footholds (foot, (point (3,) m, axes (3, 3))) in turn, with the soles of `start`; s and m."""
    moves = []
    for name, (point, R) in footholds:
        out = np.array([0.0, aside if name == "left_foot" else -aside, 0.0])
        moves.append(Move(PlacedPatch(name, start[name].patch, point, R), single, double, lift, out))
    return moves


def turn_in_place(
    start: Mapping[str, PlacedPatch],
    steps: int,
    yaw: float,
    *,
    single: float = 0.6,
    double: float = 0.2,
    lift: float = 0.06,
) -> list[Move]:
    """Return steps of "left_foot" and "right_foot" by turns about their middle until both are turned by `yaw` (rad).

    The sole on the inner side goes first; footholds keep their heights.
    """
    if integer("steps", steps, maximum=_MOST) < 2:
        raise InputError("steps", steps, "at least 2: each sole has to turn")
    names = ("left_foot", "right_foot") if yaw > 0 else ("right_foot", "left_foot")
    middle: FloatArray = np.mean([start[name].position for name in names], axis=0)
    moves = []
    for i in range(steps):
        name = names[i % 2]
        turn = rotation_by(np.array([0.0, 0.0, yaw * min((i + 1) / (steps - 1), 1.0)]))
        old = start[name]
        place = PlacedPatch(name, old.patch, middle + turn @ (old.position - middle), turn @ old.R_world_patch)
        moves.append(Move(place, single, double, lift))
    return moves


def straight_walk(
    start: Mapping[str, PlacedPatch],
    steps: int,
    length: float,
    *,
    first: float = 1.0,
    single: float = 0.6,
    double: float = 0.2,
    lift: float = 0.06,
) -> Footsteps:
    """Return `steps_ahead` on level ground, the first from the time `first` (s) on."""
    return in_turn(start, steps_ahead(start, steps, length, single=single, double=double, lift=lift), first)
