"""Footholds over ground with gaps and steps: the cheapest way of two soles from where they stand to a goal ahead."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias

import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.parameters import Checked, NonNegative, Positive, parameter

Place: TypeAlias = "tuple[FloatArray, FloatArray]"
Foothold = Callable[[float, float], Place]
"""From (x, y) m to the point (3,) m and the axes (3, 3) of a foothold; raises `InputError` where there is none."""
Rests = Callable[[Mapping[str, Place], bool], bool]
"""From soles that stand, and whether a hand may help, to whether the robot can rest: `resting.Resting`."""
_SIDES = {"left_foot": 1.0, "right_foot": -1.0}
_OTHER = {"left_foot": "right_foot", "right_foot": "left_foot"}
_EXACT = 4.0
"""Price of a length: with less, steps longer than asked for would be cheaper, since they are fewer."""
_Cell: TypeAlias = "tuple[int, int]"
_State: TypeAlias = "tuple[str, _Cell, _Cell]"
"""The foot that goes next, where it stands, and where the other does."""


@dataclass(frozen=True)
class StepReach(Checked):
    """How far a sole may go in a step, and how it prefers to."""

    step: Positive = parameter(0.28, "m, most that a sole is ahead of the other")
    wide: NonNegative = parameter(0.06, "m, most that soles are farther apart than at the start")
    narrow: NonNegative = parameter(0.02, "m, most that they are nearer")
    aside: NonNegative = parameter(0.2, "m, most that a sole is farther out than at the start")
    rise: NonNegative = parameter(0.1, "m, most that one is higher than the other")
    grid: Positive = parameter(0.02, "m, between two places that are tried")


def footsteps(
    start: Mapping[str, Place],
    way: float,
    foothold: Foothold,
    length: float,
    reach: StepReach | None = None,
    rests: Rests | None = None,
) -> list[tuple[str, Place]]:
    """Return the steps of "left_foot" and "right_foot", the right one first, until both are `way` (m) ahead along x.

    Where they cannot stand side by side there, they go on to the next place where they can, at most a step beyond.

    A* over places on a grid: a step costs 1, and the squares of how much its length differs from `length` (m), over a
    quarter of that, and its breadth from that at the start, over the reach; the heuristic is the least number of steps
    that are left. So a refusal is a proof: all stances that can be reached have been tried. With `rests` the robot can
    rest on the sole that stands while the other goes, where a hand may help, and on both without one: it may be on its
    way.

    Raises
    ------
    InputError
        If no footholds lead there (key "way").
    """
    search = _FootholdSearch(start, way, foothold, length, reach or StepReach(), rests)
    return search.run()


class _FootholdSearch:
    """One search: places by their cells from the middle of the start."""

    def __init__(
        self,
        start: Mapping[str, Place],
        way: float,
        foothold: Foothold,
        length: float,
        reach: StepReach,
        rests: Rests | None,
    ) -> None:
        self.foothold, self.reach, self.length = foothold, reach, length
        self.rests: Rests = rests or (lambda standing, helped: True)
        points = {name: start[name][0] for name in _SIDES}
        self.origin: FloatArray = np.mean([point[:2] for point in points.values()], axis=0)
        self.width = float(points["left_foot"][1] - points["right_foot"][1])
        self.goal, self.most = round(way / reach.grid), max(1, round(reach.step / reach.grid))
        self.places: dict[_Cell, Place | None] = {}
        self.start: _State = ("right_foot", self._cell(points["right_foot"]), self._cell(points["left_foot"]))
        for name, cell in (("right_foot", self.start[1]), ("left_foot", self.start[2])):
            self.places[cell] = start[name]

    def run(self) -> list[tuple[str, Place]]:
        """Return the steps."""
        order = count()
        spent: dict[_State, float] = {self.start: 0.0}
        came: dict[_State, _State | None] = {self.start: None}
        heap: list[tuple[float, int, _State]] = [(0.0, next(order), self.start)]
        closed: set[_State] = set()
        while heap:
            _, _, state = heapq.heappop(heap)
            if state in closed:
                continue
            closed.add(state)
            if state[1][0] == state[2][0] >= self.goal:
                return self._steps(state, came)
            for following, price in self._following(state):
                cost = spent[state] + price
                if cost < spent.get(following, np.inf):
                    spent[following], came[following] = cost, state
                    heapq.heappush(heap, (cost + self._left(following), next(order), following))
        found = max((max(state[1][0], state[2][0]) for state in closed), default=0) * self.reach.grid
        tried = f"footholds that lead there: of {len(closed)} stances that can be reached none is beyond {found:.2f} m"
        raise InputError("way", self.goal * self.reach.grid, tried)

    def _steps(self, state: _State, came: Mapping[_State, _State | None]) -> list[tuple[str, Place]]:
        steps: list[tuple[str, Place]] = []
        while (before := came[state]) is not None:
            place = self._place(state[2])
            if place is None:
                raise RuntimeError("a step without a place")
            steps.append((before[0], place))
            state = before
        return steps[::-1]

    def _following(self, state: _State) -> Iterator[tuple[_State, float]]:
        """Yield where the next foot may go, and the price of that."""
        name, old, other = state
        side, grid, r = _SIDES[name], self.reach.grid, self.reach
        here = self._place(other)
        if here is None:
            return
        stands = {_OTHER[name]: here}
        alone = self.rests(stands, False)
        if not (alone or self.rests(stands, True)):
            return
        for ahead in range(-1, self.most + 1):
            for out in range(-int(r.narrow / grid + 1e-9), int(r.wide / grid + 1e-9) + 1):
                cell = (other[0] + ahead, other[1] + round(side * (self.width / grid + out)))
                if not self._inside(cell) or abs(cell[0] - old[0]) > 2 * self.most:
                    continue
                place = self._place(cell)
                if place is None or abs(place[0][2] - here[0][2]) > r.rise:
                    continue
                if not (alone or self.rests({name: place, **stands}, False)):
                    continue
                wanted = min(self.length / grid, max(self.goal - other[0], 0))
                off = _EXACT * (ahead - wanted) * grid / self.length
                price = 1.0 + off**2 + (out * grid / max(r.wide, r.narrow, grid)) ** 2
                yield (_OTHER[name], other, cell), price

    def _inside(self, cell: _Cell) -> bool:
        """Whether a cell is at most a step behind the start or beyond the goal, and not too far aside: stances end."""
        off = abs(cell[1]) * self.reach.grid - self.width / 2
        return -self.most <= cell[0] <= self.goal + self.most and off <= self.reach.aside + 1e-9

    def _left(self, state: _State) -> float:
        """Return the least number of steps that are left."""
        _, old, other = state
        if other[0] >= self.goal:
            return float(old[0] < self.goal)
        return float(-(-(self.goal - other[0]) // self.most) + 1)

    def _cell(self, point: FloatArray) -> _Cell:
        x, y = np.round((point[:2] - self.origin) / self.reach.grid)
        return int(x), int(y)

    def _place(self, cell: _Cell) -> Place | None:
        if cell not in self.places:
            x, y = (self.origin + self.reach.grid * np.array(cell)).tolist()
            try:
                self.places[cell] = self.foothold(x, y)
            except InputError:
                self.places[cell] = None
        return self.places[cell]
