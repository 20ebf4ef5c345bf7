"""Where a ball balancer should go: a place to hold, or a path that is planned again when something appears."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array
from trundle.contact.soft import Wall
from trundle.errors import InputError
from trundle.numerics.compiled.buffered import BufferedFunction
from trundle.parameters import Checked, NonNegative, Positive, Range, parameter
from trundle.systems.wallbounce.control.contact_implicit import KeepOutDisc
from trundle.systems.wallbounce.control.two_level import Surroundings
from trundle.systems.wallbounce.robot import BallBalancer

ReplanPeriod = Annotated[float, Range("a time from 1e-5 to 1 (s)", 1e-5, 1.0, unit="s")]


def quintic(start: tuple[float, float], end: float, duration: float, times: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return place and speed at `times` of the polynomial of degree 5 from (place, speed) to rest at `end`.

    Its acceleration is zero at both ends; before 0 it is continued with the start's speed, after `duration` it rests.
    """
    place, speed = start
    t = np.asarray(times, dtype=np.float64)
    s = np.clip(t / duration, 0.0, 1.0)
    d, v = end - place, speed * duration
    c3, c4, c5 = 10 * d - 6 * v, -15 * d + 8 * v, 6 * d - 3 * v
    value = place + v * s + c3 * s**3 + c4 * s**4 + c5 * s**5
    rate = (v + 3 * c3 * s**2 + 4 * c4 * s**3 + 5 * c5 * s**4) / duration
    before = t < 0.0
    return np.where(before, place + speed * t, value), np.where(before, speed, np.where(s >= 1.0, 0.0, rate))


@dataclass(frozen=True)
class TimedGoal:
    """A place (2,), m, to go to from a time (s) on."""

    place: FloatArray
    time: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "place", array("place", self.place, (2,), unit="m"))


@dataclass(frozen=True)
class PassedObstacle:
    """A disc that is seen from a time (s) on, passed on the side of a unit vector (2,), at its edge."""

    disc: KeepOutDisc
    side: FloatArray
    time: float = 0.0

    def __post_init__(self) -> None:
        side = array("side", self.side, (2,))
        if abs(float(np.linalg.norm(side)) - 1.0) > 1e-9:
            raise InputError("side", self.side, "a unit vector")
        object.__setattr__(self, "side", side)


@dataclass(frozen=True)
class PathRules(Checked):
    """The reference path: how fast it goes, and when it is planned again."""

    speed: Positive = parameter(1.0, "m/s, forward")
    acceleration: Positive = parameter(1.0, "m/s^2, forward")
    passing: Positive | None = parameter(None, "m/s, forward while a seen box lies ahead; left out: speed")
    lateral_time: Positive = parameter(0.9, "s, of a move sideways")
    replan: ReplanPeriod = parameter(0.2, "s, between two plans of the path")
    settle: NonNegative = parameter(0.0, "m from the goal, within which the path is no longer replanned")

    @property
    def passing_speed(self) -> float:
        """Speed forward while an obstacle that has been seen lies ahead, m/s: time for the move sideways."""
        return self.speed if self.passing is None else min(self.speed, self.passing)


class PathPlanner:
    """Reference of the predictive levels: forward by a trapezoid of speed, sideways by quintics (final).

    From the measured place and speed, planned again every `rules.replan` s and whenever a goal or an obstacle appears.
    Forward is the direction from the first goal's start to the first goal.

    Parameters
    ----------
    robot : BallBalancer
    goals : sequence of TimedGoal
        By their times; the last that has come counts.
    walls : sequence of Wall
    obstacles : sequence of PassedObstacle
    rules : PathRules
        Close to the goal (`settle`) a path that ends there is followed to its end, not planned again.
    forward : (2,)
        Unit vector.
    """

    def __init__(
        self,
        robot: BallBalancer,
        goals: Sequence[TimedGoal],
        walls: Sequence[Wall] = (),
        obstacles: Sequence[PassedObstacle] = (),
        rules: PathRules = PathRules(),
        forward: ArrayLike = (1.0, 0.0),
    ) -> None:
        if not goals:
            raise InputError("goals", 0, "at least one goal")
        self.robot, self.walls = robot, tuple(walls)
        self.goals = sorted(goals, key=lambda goal: goal.time)
        self.obstacles = sorted(obstacles, key=lambda obstacle: obstacle.time)
        self.rules = rules
        self.forward = array("forward", forward, (2,))
        self.sideways = np.array([-self.forward[1], self.forward[0]])
        x = ca.SX.sym("x", 16)
        self._velocity = BufferedFunction(ca.Function("v", [x], [robot.state(x).v]))
        self.reset()

    def reset(self) -> None:
        """Forget the path."""
        self._planned, self._version = -np.inf, -1
        self._path: tuple[float, FloatArray, FloatArray, float] = (0.0, np.zeros(2), np.zeros(2), 0.0)
        self._past = -np.inf  # m forward, where the last obstacle in the way lies behind

    def surroundings(self, time: float) -> Surroundings:
        """Return the walls, what stands in the way, and how many things have appeared."""
        seen = [obstacle for obstacle in self.obstacles if obstacle.time <= time + 1e-9]
        come = sum(goal.time <= time + 1e-9 for goal in self.goals)
        return Surroundings(self.walls, seen[-1].disc if seen else None, len(seen) + come)

    def reference(self, time: float, state: FloatArray, times: FloatArray) -> FloatArray:
        """Return x_ref (n, 16) at `times`: place, upright, arms at rest, momenta of the path's speed."""
        version = self.surroundings(time).version
        due = time - self._planned >= self.rules.replan - 1e-9 and not self._arriving(time, state)
        if version != self._version or due:
            self._plan(time, state)
            self._planned, self._version = time, version
        begin, place, velocity, aside = self._path
        t = times - begin
        goal = self._goal(begin).place
        along, rate = self._advance(float(place @ self.forward), float(velocity @ self.forward), goal, t)
        start = (float(place @ self.sideways), float(velocity @ self.sideways))
        across, drift = quintic(start, aside, self.rules.lateral_time, t)
        result = np.tile(self.robot.rest(), (len(times), 1))
        result[:, :2] = along[:, None] * self.forward + across[:, None] * self.sideways
        v = rate[:, None] * self.forward + drift[:, None] * self.sideways
        result[:, 11:] = self.robot.rolling(v)
        return result

    def _goal(self, time: float) -> TimedGoal:
        return [goal for goal in self.goals if goal.time <= time + 1e-9 or goal is self.goals[0]][-1]

    def _arriving(self, time: float, state: FloatArray) -> bool:
        """Whether the path ends in a goal close by: planned again from where it is, the robot would never get there.

        To move a little one way the ball rolls the other way first; a path begun anew meanwhile begins there.
        """
        goal = self._goal(time).place
        there = abs(self._path[3] - float(goal @ self.sideways)) < 1e-9 and np.isfinite(self._planned)
        return bool(there and np.linalg.norm(goal - np.asarray(state[:2])) < self.rules.settle)

    def _plan(self, time: float, state: FloatArray) -> None:
        place, velocity = np.array(state[:2]), self._velocity(state)[0]
        goal = self._goal(time).place
        aside, self._past = float(goal @ self.sideways), -np.inf
        for obstacle in self.obstacles:
            disc = obstacle.disc
            past = float(disc.center @ self.forward) + 0.5 * disc.radius
            if obstacle.time <= time + 1e-9 and past > float(place @ self.forward):
                edge = (disc.center + disc.radius * obstacle.side) @ self.sideways
                aside, self._past = float(edge), max(past, self._past)
        self._path = (time, place, velocity, aside)

    def _advance(
        self, place: float, speed: float, goal: FloatArray, times: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Place and speed forward at `times` (s from the plan's begin): at rest in the goal."""
        end, h = float(goal @ self.forward), 0.02
        count = int(np.ceil(max(float(times[-1]), 0.0) / h)) + 2
        places, speeds = np.empty(count), np.empty(count)
        s, v = place, speed
        for k in range(count):
            places[k], speeds[k] = s, v
            left = end - s
            most = self.rules.passing_speed if s < self._past else self.rules.speed
            wanted = np.sign(left) * min(most, np.sqrt(2.0 * self.rules.acceleration * abs(left)))
            v += float(np.clip(wanted - v, -self.rules.acceleration * h, self.rules.acceleration * h))
            s += v * h
        grid = h * np.arange(count)
        return np.interp(times, grid, places), np.interp(times, grid, speeds)
