"""Shooting: a motion of few parameters, rolled out by the simulator, moved until it reaches its goal."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trundle.checks import FloatArray, array, integer, number
from trundle.errors import InputError
from trundle.parameters import Positive, parameter
from trundle.status import Status

BAD = 1e6
"""What a number that is not finite, or is larger, counts as."""

_GOAL, _MARGIN, _COST = 1.0, 30.0, 0.02
"""Weights of goals (in tolerances of 1), of violated margins, and of the cost while it is weighed against them."""

_APPROACH, _REFINE = 12, 20
"""Steps of the two stages of a start."""

_NEAR = 1e3
"""Merit from which on the second stage is worth its roll-outs."""

_PATIENCE = 300
"""Roll-outs of the second stage of one start."""

_DIFFERENCE = 1e-5
"""Step of differences, in parts of a parameter's range."""

_BUFFER = 1e-3
"""The search keeps margins by this much, so that those it ends on hold."""


@dataclass(frozen=True)
class SearchParameter:
    """A number the planner may choose.

    Parameters
    ----------
    name : str
    low, high : float
        Its bounds.
    guess : float, optional
        Where the first start begins (default: the middle).

    Raises
    ------
    InputError
        If low >= high or the guess lies outside.
    """

    name: str
    low: float
    high: float
    guess: float | None = None

    def __post_init__(self) -> None:
        low = number(f"{self.name}.low", self.low)
        high = number(f"{self.name}.high", self.high, above=low)
        guess = (low + high) / 2 if self.guess is None else self.guess
        guess = number(f"{self.name}.guess", guess, minimum=low, maximum=high)
        for name, value in (("low", low), ("high", high), ("guess", guess)):
            object.__setattr__(self, name, value)


@dataclass(frozen=True, eq=False)
class ShotOutcome:
    """What a roll-out came to.

    Attributes
    ----------
    goals : (r,)
        Distances from the goal in units of their tolerances: reached where all are within -1 and 1.
    margins : (m,)
        Kept where >= 0, each in a unit of its own in which 1 is much.
    costs : (c,)
        Their sum of squares is made small.
    detail : anything
        What the roll-out wants to hand on.
    """

    goals: FloatArray
    margins: FloatArray
    costs: FloatArray = field(default_factory=lambda: np.zeros(0))
    detail: Any = None

    @property
    def reached(self) -> bool:
        """Whether the goal is met and all margins are kept."""
        return self.status is Status.SUCCESS

    @property
    def status(self) -> Status:
        """``SUCCESS``, ``GOAL_NOT_REACHED`` or ``LOCALLY_INFEASIBLE`` (a margin is violated)."""
        if not (np.all(np.isfinite(self.goals)) and np.all(np.isfinite(self.margins))):
            return Status.GOAL_NOT_REACHED
        if not np.max(np.abs(self.goals), initial=0.0) <= 1.0:
            return Status.GOAL_NOT_REACHED
        return Status.SUCCESS if np.min(self.margins, initial=0.0) >= 0.0 else Status.LOCALLY_INFEASIBLE

    @property
    def residuals(self) -> FloatArray:
        """Goals, violations and costs as one vector whose sum of squares is the merit."""
        short = np.minimum(self.margins - _BUFFER, 0.0)
        vector = np.concatenate([_GOAL * self.goals, _MARGIN * short, _COST * self.costs])
        return np.where(np.isfinite(vector), np.clip(vector, -BAD, BAD), BAD)

    @property
    def rank(self) -> float:
        """Promise of a sample, small is good: goals that are far count by their order of magnitude only."""
        far = np.where(np.isfinite(self.goals), self.goals, BAD)
        short = np.where(np.isfinite(self.margins), np.minimum(self.margins, 0.0), -BAD)
        return float(np.sum(np.log1p(far**2)) + 10.0 * np.sum(-short))

    @property
    def merit(self) -> float:
        """Sum of squares of `residuals`."""
        return float(np.sum(self.residuals**2))


@dataclass(frozen=True, eq=False)
class Shot:
    """What `Shooting.solve` found.

    Attributes
    ----------
    parameters : dict of name -> value
    outcome : ShotOutcome
        Of a fresh roll-out of these parameters.
    status : Status
        ``SUCCESS`` only if that roll-out reaches the goal and keeps all margins.
    rollouts : int
    wall_time : float, s
    parameters_at_bounds : tuple of str
        Those within a thousandth of their range of one of its ends.
    """

    parameters: dict[str, float]
    outcome: ShotOutcome
    status: Status
    rollouts: int
    wall_time: float
    parameters_at_bounds: tuple[str, ...] = ()

    @property
    def cost(self) -> float:
        """Sum of squares of the costs."""
        return float(np.sum(self.outcome.costs**2))


class _Enough(Exception):  # noqa: N818
    """One start has used up its roll-outs."""


class _Out(Exception):  # noqa: N818
    """Time or roll-outs are used up."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.label)
        self.status = status


@dataclass(frozen=True)
class Shooting:
    """Search over a few bounded parameters.

    Samples the box; from the best samples on, minimises sum goals^2 + violations^2 + (small weight) costs^2 by least
    squares inside the bounds, and from there the costs alone, subject to goals = 0 and margins >= 0 (sequential
    quadratic programming). Derivatives are differences of roll-outs. The cheapest motion that reaches the goal wins.

    Parameters
    ----------
    parameters : sequence of SearchParameter
    roll_out : callable
        Takes the parameters (n,), returns an `ShotOutcome` of the same sizes for every point of the box.
    samples : int
        Of the box (Latin hypercube) beside the guess.
    starts : int
        Best samples to go on from, at most.
    wanted : int
        Starts to go on from once the goal is reached, that one included.
    seed : int
    max_rollouts : int
    time_limit : float, s

    Raises
    ------
    InputError
        If a number is out of range or two parameters have the same name.
    """

    parameters: Sequence[SearchParameter]
    roll_out: Callable[[FloatArray], ShotOutcome]
    samples: int = 200
    starts: int = 8
    wanted: int = 2
    seed: int = 0
    max_rollouts: int = 5000
    time_limit: Positive = parameter(120.0, "s, of the search")

    def __post_init__(self) -> None:
        known = tuple(self.parameters)
        if not known or not all(isinstance(p, SearchParameter) for p in known):
            raise InputError("parameters", self.parameters, "one or more of SearchParameter")
        if len({p.name for p in known}) < len(known):
            raise InputError("parameters", [p.name for p in known], "names that differ")
        object.__setattr__(self, "parameters", known)
        integer("samples", self.samples, minimum=0, maximum=1_000_000)
        integer("starts", self.starts, minimum=1)
        integer("wanted", self.wanted, minimum=1)
        integer("seed", self.seed, minimum=0)
        integer("max_rollouts", self.max_rollouts, minimum=1)
        number("time_limit", self.time_limit, above=0.0, unit="s")

    def solve(self, progress: Callable[[dict[str, float]], object] | None = None) -> Shot:
        """Return the best motion found; an interrupt (Ctrl-C) or a used-up limit keeps the best until then.

        Parameters
        ----------
        progress : callable, optional
            Called now and then with ``rollouts``, ``merit`` (of the best) and ``share`` (done, 0 to 1).
        """
        search = _ThrowSearch(self, progress)
        stopped: Status | None = None
        try:
            search.all()
        except _Out as out:
            stopped = out.status
        except KeyboardInterrupt:
            stopped = Status.INTERRUPTED
        return search.shot(stopped)


class _ThrowSearch:
    """One run of a `Shooting`: counts, remembers the best, scales the box to [0, 1]."""

    def __init__(self, task: Shooting, progress: Callable[[dict[str, float]], object] | None) -> None:
        self.task, self.progress = task, progress
        self.low = np.array([p.low for p in task.parameters])
        self.width = np.array([p.high for p in task.parameters]) - self.low
        self.begin, self.count, self.share = clock.perf_counter(), 0, 0.0
        self.found = 0
        self.best: tuple[bool, float, FloatArray, ShotOutcome] | None = None

    def outcome(self, s: FloatArray) -> ShotOutcome:
        """Roll out a point `s` (n,) of the unit box."""
        if self.count >= self.task.max_rollouts:
            raise _Out(Status.ITERATION_LIMIT)
        if clock.perf_counter() - self.begin > self.task.time_limit:
            raise _Out(Status.TIME_LIMIT)
        found = self.task.roll_out(self.low + self.width * s)
        self.count += 1
        reached = found.reached
        merit = float(np.sum(found.costs**2)) if reached else found.merit
        if self.best is None or (reached, -merit) > (self.best[0], -self.best[1]):
            self.best = (reached, merit, np.array(s), found)
        if self.progress is not None and self.count % 20 == 0:
            self.progress({"rollouts": self.count, "merit": self.best[1], "share": self.share})
        return found

    def all(self) -> None:
        """Sample, then improve the best samples one after the other."""
        from scipy.stats import qmc

        task, n = self.task, len(self.task.parameters)
        guess = (np.array([p.guess for p in task.parameters]) - self.low) / self.width
        draws = qmc.LatinHypercube(n, rng=np.random.default_rng(task.seed)).random(task.samples)
        points = np.vstack([guess, draws])
        ranks = []
        for point in points:
            ranks.append(self.outcome(point).rank)
            self.share = 0.3 * len(ranks) / len(points)
        for k, i in enumerate(np.argsort(ranks, kind="stable")[: task.starts]):
            self.share = 0.3 + 0.7 * k / task.starts
            near = self._approach_goal(points[i])
            if self.outcome(near).merit < _NEAR:
                self._refine_motion(near)
            self.found += bool(self.best is not None and self.best[0])
            if self.found >= task.wanted:
                break

    def _approach_goal(self, s: FloatArray) -> FloatArray:
        """Least squares of goals, violations and costs: comes near from far away."""
        from scipy.optimize import least_squares

        done = least_squares(
            lambda point: self.outcome(point).residuals,
            np.clip(s, 1e-6, 1 - 1e-6),
            bounds=(0.0, 1.0),
            diff_step=_DIFFERENCE,
            xtol=1e-5,
            ftol=1e-2,
            gtol=1e-9,
            max_nfev=_APPROACH,
        )
        return np.asarray(done.x, dtype=np.float64)

    def _refine_motion(self, s: FloatArray) -> None:
        """Sequential quadratic programming: the cheapest motion with goals and margins as constraints."""
        from scipy.optimize import minimize

        first = self.outcome(s)
        r = len(first.goals)
        last: dict[bytes, FloatArray] = {}

        def values(point: FloatArray) -> FloatArray:
            found = self.outcome(point)
            return np.concatenate([[np.sum(found.costs**2)], found.goals, found.margins - _BUFFER])

        end = self.count + _PATIENCE

        def at(point: FloatArray) -> FloatArray:
            """The cost, goals and margins (1 + r + m,) and, beside them, their derivatives."""
            key = point.tobytes()
            if self.count > end:
                raise _Enough
            if key not in last:
                last.clear()
                middle = values(point)
                steps = np.where(point > 0.5, -_DIFFERENCE, _DIFFERENCE)
                columns = [(values(point + d) - middle) / d[k] for k, d in enumerate(np.diag(steps))]
                last[key] = np.column_stack([middle, *columns])
            return last[key]

        with suppress(_Enough):
            minimize(
                lambda point: at(point)[0, 0],
                s,
                jac=lambda point: at(point)[0, 1:],
                method="SLSQP",
                bounds=[(0.0, 1.0)] * len(s),
                constraints=[
                    {"type": "eq", "fun": lambda p: at(p)[1 : r + 1, 0], "jac": lambda p: at(p)[1 : r + 1, 1:]},
                    {"type": "ineq", "fun": lambda p: at(p)[r + 1 :, 0], "jac": lambda p: at(p)[r + 1 :, 1:]},
                ],
                options={"maxiter": _REFINE, "ftol": 1e-4},
            )

    def shot(self, stopped: Status | None) -> Shot:
        """Return the best point with a fresh roll-out of it."""
        if self.best is None:
            s = np.array([p.guess for p in self.task.parameters])
            s = (s - self.low) / self.width
        else:
            s = self.best[2]
        values = array("parameters", self.low + self.width * s, (len(self.low),))
        found = self.task.roll_out(values)
        status = found.status
        if stopped is Status.INTERRUPTED or (stopped is not None and status is not Status.SUCCESS):
            status = stopped
        names = [p.name for p in self.task.parameters]
        numbers = dict(zip(names, map(float, values), strict=True))
        at_bounds = tuple(name for name, share in zip(names, s, strict=True) if not 1e-3 < share < 1 - 1e-3)
        return Shot(numbers, found, status, self.count + 1, clock.perf_counter() - self.begin, at_bounds)
