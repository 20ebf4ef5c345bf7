"""From stance to stance: which ends stand when and where, how the others travel, and when to wait for the ground."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from trundle.checks import FloatArray, non_negative, number
from trundle.contact.patch import PlacedPatch
from trundle.control.aim import Aim
from trundle.errors import InputError
from trundle.models.forecast import Forecast, Held, MassChange
from trundle.numerics.turning import rotation_by, rotation_vector


@dataclass(frozen=True, eq=False)
class Travel:
    """An end that leaves its place at `start` and stands at `target` from `end` on, s.

    Parameters
    ----------
    name : str
        Of the end, as in `Humanoid.ends`.
    start, end : float, s
    target : PlacedPatch
    lift : float, m
        Height of the way above the straight line, along z.
    aside : (3,) m
        What is added to the middle of the way besides, world.
    """

    name: str
    start: float
    end: float
    target: PlacedPatch
    lift: float = 0.06
    aside: Any = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        number("end", self.end, above=number("start", self.start, unit="s"), unit="s")
        non_negative("lift", self.lift, "m")
        object.__setattr__(self, "aside", np.array(self.aside, dtype=np.float64))
        if not isinstance(self.target, PlacedPatch):
            raise InputError("target", self.target, "a PlacedPatch")

    def aim(self, time: float, p: FloatArray, R: FloatArray) -> Aim:
        """Return where the end should be at `time` (s) on its way from the place p (3,), R (3, 3) it left.

        A polynomial of least jerk along the line and in the turn; the lift is 64 s^3 (1 - s)^3, s the share of time.
        """
        T = self.end - self.start
        s = min(max((time - self.start) / T, 0.0), 1.0)
        along = s**3 * (10 - 15 * s + 6 * s**2)
        rate, bend = 30 * s**2 * (1 - s) ** 2 / T, 60 * s * (1 - s) * (1 - 2 * s) / T**2
        u, du = s * (1 - s), (1 - 2 * s) / T
        over = 64 * u**3
        rise, curl = 192 * u**2 * du, 384 * u * du**2 - 384 * u**2 / T**2
        way, up = self.target.position - p, self.aside + np.array([0.0, 0.0, self.lift])
        turn = rotation_vector(R, self.target.R_world_patch)
        return Aim(
            p + along * way + over * up,
            rate * way + rise * up,
            bend * way + curl * up,
            rotation_by(along * turn) @ R,
            rate * turn,
        )


@dataclass(frozen=True)
class Footsteps:
    """Places of feet and hands over time (final).

    Parameters
    ----------
    start : mapping of str to PlacedPatch
        Where the ends stand at time 0.
    travels : sequence of Travel
        In the order of their starts; those of one end do not overlap. An end that did not stand before only arrives.
    releases : mapping of str to float
        When an end that stands leaves for good, s.
    masses : sequence of MassChange
        Of what moves: an object that is picked up or set down.

    Raises
    ------
    InputError
        If nothing stands at some time, or the travels of an end overlap.
    """

    start: Mapping[str, PlacedPatch]
    travels: Sequence[Travel] = ()
    releases: Mapping[str, float] = field(default_factory=dict)
    masses: Sequence[MassChange] = ()
    forecast: Forecast = field(init=False, repr=False, compare=False)
    """Of what stands when."""

    def __post_init__(self) -> None:
        held: list[Held] = []
        for name in {*self.start, *(travel.name for travel in self.travels)}:
            own = [travel for travel in self.travels if travel.name == name]
            for a, b in pairwise(own):
                if b.start < a.end:
                    raise InputError(f"travels.{name}", b.start, f"after the end of the travel before, {a.end} s")
            places = [(-np.inf, self.start[name])] if name in self.start else []
            places += [(travel.end, travel.target) for travel in own]
            ends = [travel.start for travel in own][0 if name in self.start else 1 :]
            ends += [self.releases.get(name, np.inf)]
            held += [Held(place, begin, end) for (begin, place), end in zip(places, ends, strict=True)]
        object.__setattr__(self, "forecast", Forecast(tuple(held), masses=tuple(self.masses)))
        for time in self.forecast.changes:
            if not self.forecast.held(np.array([time])).any():
                raise InputError("travels", float(time), "times at which something stands")

    @property
    def duration(self) -> float:
        """When the last travel ends, s."""
        return max((travel.end for travel in self.travels), default=0.0)

    def travelling(self, time: float) -> tuple[Travel, ...]:
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
    """Return steps straight ahead along x with the feet "left_foot" and "right_foot", the right one first.

    The first and last steps have half the length. Times in s, lengths in m.
    """
    travels, time, places = [], first, dict(start)
    for i in range(steps):
        name = ("right_foot", "left_foot")[i % 2]
        stride = length if i in (0, steps - 1) else 2 * length
        old = places[name]
        target = PlacedPatch(name, old.patch, old.position + np.array([stride, 0.0, 0.0]), old.R_world_patch)
        travels.append(Travel(name, time, time + single, target, lift))
        places[name] = target
        time += single + double
    return Footsteps(start, travels)
