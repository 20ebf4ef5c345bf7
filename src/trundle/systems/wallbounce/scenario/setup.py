"""What a trial of kind `wallbounce` is made of: robot, plant, controller, and what differs from trial to trial."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from trundle.checks import FloatArray
from trundle.contact.soft import Wall
from trundle.errors import InputError
from trundle.numerics.ilqr import Limits
from trundle.simulate.mujoco.pushes import Action, ForcePulse
from trundle.simulate.mujoco.sensors import Sensors
from trundle.simulate.mujoco.view import PlantView
from trundle.systems.wallbounce.bound import impulse_bound
from trundle.systems.wallbounce.control.contact_implicit import ContactImplicit
from trundle.systems.wallbounce.control.costs import KeepOut
from trundle.systems.wallbounce.control.hybrid import HybridControl
from trundle.systems.wallbounce.control.low_level import LowLevel
from trundle.systems.wallbounce.control.plans import NO_FORCE, ImplicitPlanner, TrackingPlanner
from trundle.systems.wallbounce.control.ready import ready
from trundle.systems.wallbounce.control.reference import PassedObstacle, PathPlanner, TimedGoal
from trundle.systems.wallbounce.control.two_level import Reference, Surroundings, TwoLevel
from trundle.systems.wallbounce.plant import BalancerPlant, MovableBox
from trundle.systems.wallbounce.robot import BallBalancer
from trundle.systems.wallbounce.scenario.checks import (
    check_places,
    check_robot,
    check_rules,
    check_ways,
    disc_of,
    side_of_table,
)
from trundle.systems.wallbounce.scenario.schema import PUSH, START, WallbounceNavigate, WallbounceRecover

if TYPE_CHECKING:
    from trundle.scenarios.scenario import Scenario
    from trundle.systems.wallbounce.scenario.schema import DiscObstacleTable, PlaceGoalTable, Tables


@dataclass(frozen=True)
class BalancerTrial:
    """What differs between trials.

    Attributes
    ----------
    push : (5,) or None
        Impulse, N s, length, s, heading, rad, height, m, and start, s.
    boxes : sequence of (2,)
        Of each obstacle: its centre ahead and aside of the ball when it appears, m.
    speed : float, m/s
        At the start.
    heading : float, rad
        Of the start's speed, to the left of forward.
    place : (2,)
        Of the start, m.
    seed : int
        Of the sensors' noise.
    """

    push: tuple[float, ...] | None = None
    boxes: tuple[tuple[float, float], ...] = ()
    speed: float = 0.0
    heading: float = 0.0
    place: tuple[float, float] = (0.0, 0.0)
    seed: int = 0


@lru_cache(maxsize=8)
def _levels(
    robot: str, gravity: float, walls: int, discs: int, stages: int, step: float
) -> tuple[ContactImplicit, HybridControl]:
    """Both problems of a robot (JSON), compiled once for all parts and trials."""
    believed = BallBalancer(**json.loads(robot), gravity=gravity)
    sizes = believed, walls, stages, step
    return ContactImplicit(*sizes, discs=discs), HybridControl(*sizes, discs=discs)


@dataclass(frozen=True, eq=False)
class Setup:
    """The checked tables of a scenario of kind `wallbounce` as objects."""

    tables: Tables
    seed: int

    @property
    def trip(self) -> WallbounceNavigate | None:
        """The tables of a trip; None where the robot stands and is pushed."""
        return self.tables if self.tables.task == "navigate" else None

    @classmethod
    def of(cls, scenario: Scenario) -> Setup:
        """Return the set-up of a scenario of the kind."""
        schema = WallbounceRecover if scenario.task == "recover" else WallbounceNavigate
        return cls(scenario.read(schema), scenario.seed)

    # what stays the same ------------------------------------------------------------------------------

    @property
    def robot(self) -> BallBalancer:
        """The controller's model of the robot."""
        return BallBalancer(**self.tables.robot.values(), gravity=self.tables.simulation.gravity)

    @property
    def walls(self) -> list[Wall]:
        """The walls."""
        result = []
        for i, table in enumerate(self.tables.walls):
            try:
                result.append(Wall(table.point, table.normal))
            except InputError as error:
                raise error.within(f"walls[{i}]") from None
        return result

    @property
    def boxes(self) -> list[MovableBox]:
        """The boxes, far away until they appear."""
        return [MovableBox((0.0, -100.0), table.half_size) for table in self.obstacles]

    @property
    def obstacles(self) -> tuple[DiscObstacleTable, ...]:
        """The tables of the boxes."""
        return self.trip.obstacles if self.trip else ()

    def plant(self) -> BalancerPlant:
        """Return the true robot among walls and boxes."""
        table = self.tables.plant
        believed = self.robot
        true = replace(
            believed,
            mass=believed.mass * table.mass,
            inertia=np.asarray(believed.inertia) * table.inertia,
            com=np.asarray(believed.com) + table.com,
            drive_limit=table.drive_limit,
            yaw_limit=table.yaw_limit,
        )
        return BalancerPlant(true, self.walls, self.boxes, **table.values(BalancerPlant))

    def check(self) -> None:
        """Build everything but the compiled plans, and refuse what does not fit together.

        Raises
        ------
        InputError
        """
        robot = self.robot
        check_robot(robot)
        starts = [np.array(place) for place in dict.fromkeys(trial.place for trial in self.trials())]
        check_places(self.tables, robot, self.walls, starts)
        if self.trip:
            check_ways(self.trip, robot, self.walls, self.keep_out(), starts, self.sideways)
        check_rules(self.tables.controller)
        self.plant().torso()
        self.keep_out()
        _ = self.tables.controller.rules.make(), self.tables.controller.timing.make()

    def keep_out(self) -> KeepOut:
        """Return how far the body keeps from walls and obstacles."""
        table = self.tables.controller
        return KeepOut(ball=table.torso_margins[0], body=table.torso_margins[1], range=table.torso_range)

    def levels(self) -> tuple[ContactImplicit, HybridControl]:
        """Return both problems, compiled."""
        table = self.tables.controller
        robot, gravity = self.tables.robot.model_dump_json(), self.tables.simulation.gravity
        return _levels(robot, gravity, max(1, len(self.walls)), max(1, len(self.boxes)), table.stages, table.step)

    def policy(self, reference: Reference, surroundings: Callable[[float], Surroundings]) -> TwoLevel:
        """Return the controller."""
        table = self.tables.controller
        law, weights, rules = table.law.make(), table.weights.make(), table.rules.make()
        margins = self.keep_out()
        implicit, hybrid = self.levels()
        found = NO_FORCE if table.levels == "drive-only" else law
        events = Limits(table.event_iterations, tolerance=1e-5)
        low = LowLevel(self.robot, table.gains.make(), self.tables.plant.drive_limit)
        return TwoLevel(
            low,
            ImplicitPlanner(implicit, found, weights, rules, margins, Limits(table.iterations, tolerance=1e-4), events),
            TrackingPlanner(hybrid, law.largest, weights, margins, Limits(table.hybrid_iterations)),
            reference,
            surroundings,
            table.timing.make(),
            table.levels,
            table.event_momentum,
            table.observer.make(),
        )

    # what a trial adds --------------------------------------------------------------------------------

    def trials(self) -> list[BalancerTrial]:
        """Return the trials, drawn with the seed."""
        rng = np.random.default_rng(self.seed)
        if self.tables.task == "recover":
            table = self.tables.trials
            low, high = np.array([getattr(table, name) for name in PUSH[:-1]]).T
            drawn = np.array([rng.uniform(low, high) for _ in range(table.count)])
            if table.survivable is not None:
                most = [table.survivable * self.bound(length, height) for _, length, _, height in drawn]
                drawn[:, 0] = np.minimum(drawn[:, 0], most)
            pushes = np.column_stack([drawn, rng.uniform(*table.start, table.count)]).tolist()
            return [BalancerTrial(push=tuple(push), seed=self.seed + k) for k, push in enumerate(pushes)]
        result, table = [], self.tables.trials
        for k in range(table.count):
            speed = float(rng.uniform(*table.start_speed))
            boxes = [(float(rng.uniform(*box.ahead)), float(rng.uniform(*box.aside))) for box in self.tables.obstacles]
            result.append(BalancerTrial(boxes=tuple(boxes), speed=speed, seed=self.seed + k))
        low, high = np.array([getattr(table, name) for name in START]).T
        starts = rng.uniform(low, high, (table.count, len(START))).tolist()
        for k, (heading, ahead, aside) in enumerate(starts):
            x, y = (ahead * self.forward + aside * self.sideways).tolist()
            result[k] = replace(result[k], heading=heading, place=(x, y))
        return result

    def bound(self, length: float, height: float) -> float:
        """Return `impulse_bound` of a push, N s, with the drive of plans; one too short is as long as a step."""
        return impulse_bound(self.robot, max(length, self.tables.plant.step), max(height, 0.0))

    def pushes(self, trial: BalancerTrial) -> list[ForcePulse]:
        """Return the push of a trial, if it has one."""
        if trial.push is None or self.tables.task != "recover":
            return []
        impulse, length, heading, height, start = trial.push
        force = impulse / length * np.array([math.cos(heading), math.sin(heading), 0.0])
        step = self.tables.plant.step
        return [ForcePulse("base", [0.0, 0.0, height], force, start, max(step, length))]

    def sensors(self, plant: BalancerPlant, trial: BalancerTrial) -> Sensors:
        """Return the sensors of the controller."""
        table = self.tables.noise
        sigma = np.repeat(
            [table.position, table.angle, table.joint, table.velocity, table.angular_velocity, table.joint_rate,
             table.force],
            [2, 3, 6, 2, 3, 6, 6],
        )  # fmt: skip
        return Sensors(plant.measure, sigma, table.delay, trial.seed, _losing(table.lost, trial.seed))

    def start(self, trial: BalancerTrial) -> FloatArray:
        """Return the state (16,) at the start: upright, rolling at the trial's speed."""
        robot = self.robot
        x = robot.rest(trial.place)
        way = math.cos(trial.heading) * self.forward + math.sin(trial.heading) * self.sideways
        x[11:] = robot.rolling(trial.speed * way)
        return x

    @property
    def forward(self) -> FloatArray:
        """Unit vector (2,) from the start to the goal."""
        goal = np.array(self.trip.goal.position if self.trip else (1.0, 0.0))
        return np.asarray(goal / np.linalg.norm(goal))

    @property
    def sideways(self) -> FloatArray:
        """Unit vector (2,) to the left of `forward`."""
        return np.array([-self.forward[1], self.forward[0]])

    def guide(self, trial: BalancerTrial) -> Guide:
        """Return the reference and surroundings of a trial."""
        return Guide(self, trial)


def _losing(share: float, seed: int) -> Callable[[float, FloatArray], FloatArray] | None:
    """Return a filter that replaces a share of all measurements by NaN."""
    if share == 0.0:
        return None
    rng = np.random.default_rng([seed, 1])
    return lambda time, told: np.full_like(told, math.nan) if rng.random() < share else told


class Guide:
    """Reference and surroundings of one trial; boxes and a new goal may be placed relative to the robot then."""

    def __init__(self, setup: Setup, trial: BalancerTrial) -> None:
        self.setup, self.trial, self.trip = setup, trial, setup.trip
        self.robot, self.walls = setup.robot, setup.walls
        self.place: FloatArray | None = None  # of the ball when the box appeared or the goal moved
        self.goal = np.array(self.trip.goal.position) if self.trip else np.zeros(2)
        self.obstacles: dict[int, PassedObstacle] = {}
        self._planner = self._make_planner(0.0)
        gap = setup.tables.controller.ready
        self._held = self.robot.rest() if gap == 0.0 else ready(self.robot, gap, self.walls)

    def reference(self, time: float, state: FloatArray, times: FloatArray) -> FloatArray:
        """Return x_ref (n, 16)."""
        if self._planner is None:
            return np.tile(self._held, (len(times), 1))
        return self._planner.reference(time, state, times)

    def surroundings(self, time: float) -> Surroundings:
        """Return what is known around the robot."""
        return Surroundings(self.walls) if self._planner is None else self._planner.surroundings(time)

    def actions(self, plant: BalancerPlant) -> list[Action]:
        """Return the events of the trial."""
        found = []
        for number, table in enumerate(self.setup.obstacles):
            found.append(Action(table.appears, partial(self._box_appears, plant, number, table)))
        if self.trip and self.trip.goal.turn_at is not None:
            found.append(Action(self.trip.goal.turn_at, partial(self._goal_moves, self.trip.goal)))
        return found

    def _box_appears(self, plant: BalancerPlant, number: int, table: DiscObstacleTable, view: PlantView) -> None:
        forward, sideways = self.setup.forward, self.setup.sideways
        ahead, aside = self.trial.boxes[number]
        self.place = np.array(view.position("base")[:2])
        start = self.place - sideways * float(self.place @ sideways)
        center = start + ahead * forward + aside * sideways if table.position is None else np.array(table.position)
        plant.place_box(view, number, center)
        disc = disc_of(table, center, self.setup.tables.plant.torso_radius, self.robot.hand_radius)
        self.obstacles[number] = PassedObstacle(disc, side_of_table(table, sideways), view.time)
        self._planner = self._make_planner(view.time)

    def centers(self) -> FloatArray | None:
        """Return the centres (boxes, 2), m, of all boxes, NaN of one that has not appeared; None without boxes."""
        count, unseen = len(self.trial.boxes), np.full(2, math.nan)
        found = [self.obstacles[i].disc.center if i in self.obstacles else unseen for i in range(count)]
        return np.array(found) if found else None

    def _goal_moves(self, table: PlaceGoalTable, view: PlantView) -> None:
        self.place = np.array(view.position("base")[:2])
        self.goal = self.place + table.turn_ahead * self.setup.forward + table.turn_aside * self.setup.sideways
        self._planner = self._make_planner(view.time)

    def _make_planner(self, time: float) -> PathPlanner | None:
        """The path planner of what is known now; a version of its own makes every change an event."""
        if self.trip is None:
            return None
        goals: Sequence[TimedGoal] = [TimedGoal(self.goal, time)] * (1 if self.place is None else 2)
        rules, keep_out = self.trip.path.make(), self.setup.keep_out()
        around = list(self.obstacles.values())
        return PathPlanner(self.robot, goals, self.walls, around, rules, self.setup.forward, keep_out)
