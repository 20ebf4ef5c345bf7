"""A humanoid that stands under pushes, or walks and leans on its hands: the tasks "stand" and "walk"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import groupby, product
from typing import ClassVar, final

import numpy as np

from trundle.checks import FloatArray
from trundle.contact.patch import PlacedPatch
from trundle.errors import InputError
from trundle.models.robots.humanoid import HUMANOIDS
from trundle.scenarios.engine.building import error_context
from trundle.systems.multicontact.preview.paths import PointPath
from trundle.systems.multicontact.scenario.experiment import OnFeet
from trundle.systems.multicontact.scenario.layout import hold_at, holds_of, listed_moves, steps_of, with_hand, with_help
from trundle.systems.multicontact.scenario.schema import MulticontactStand, MulticontactWalk, StepsTable
from trundle.systems.multicontact.scenario.trials import HumanoidTrial, make_trials
from trundle.systems.multicontact.stances.footsteps import footsteps
from trundle.systems.multicontact.stances.pose import StanceError, find_pose
from trundle.systems.multicontact.stances.resting import Resting
from trundle.systems.multicontact.stances.stances import StancePlan, rests
from trundle.systems.multicontact.whole_body.nominal import gross_path
from trundle.systems.multicontact.whole_body.stepping import (
    Footsteps,
    Move,
    apply_timing_rule,
    in_turn,
    steps_ahead,
    steps_to,
)
from trundle.threads import cached_property

_UP = np.array([0.0, 0.0, 1.0])
_AXES = {"fore-aft": np.array([1.0, 0.0, 0.0]), "lateral": np.array([0.0, 1.0, 0.0])}


@final
class StandExperiment(OnFeet):
    """A humanoid that stands and is pushed, harder along an axis until it falls."""

    path_table: ClassVar[str] = "pushes"

    @property
    def reach_key(self) -> str:
        """The key that brings soles apart."""
        return "pushes.start"

    @property
    def tables(self) -> MulticontactStand:
        """The scenario's tables."""
        return self.scenario.read(MulticontactStand)

    def check(self) -> None:
        """Raise `InputError` where the robot cannot stand as the file says."""
        with error_context("robot", self.scenario, {"loadable": "robot.name"}):
            _ = self.steps
            self.check_reach()

    @cached_property
    def start(self) -> FloatArray:
        """State q (nq,) at the start: over the ground at the origin."""
        return self.standing()

    @cached_property
    def steps(self) -> Footsteps:
        """The places of both soles."""
        return Footsteps(self.soles_below(self.start), pushes=self.known_pushes)

    @cached_property
    def gross(self) -> PointPath:
        """Coarse path of the centre of mass: a point."""
        return gross_path(self.steps, self.com, lowered=self.tables.robot.lowered)

    @cached_property
    def rests(self) -> None:
        """No poses are asked for."""
        return None

    @property
    def duration(self) -> float:
        """Duration of a trial, s."""
        pushes = self.tables.pushes
        return pushes.start + pushes.duration + self.tables.simulation.settle

    @property
    def trials(self) -> list[list[HumanoidTrial]]:
        """Pushes of one size along one axis, then harder ones."""
        seed, waves = self.scenario.seed, []
        for (axis, impulse), pushes in groupby(enumerate(pushes_of(self.tables)), lambda numbered: numbered[1][:2]):
            push = impulse * _AXES[axis]
            waves.append([HumanoidTrial(seed + k, mass, tuple(sign * push), axis) for k, (_, _, mass, sign) in pushes])
        return waves


def pushes_of(tables: MulticontactStand) -> list[tuple[str, float, float, float]]:
    """Return axis, impulse (N s), mass factor and sign of all pushes."""
    table = tables.pushes
    impulses = {"fore-aft": table.fore_aft, "lateral": table.lateral}
    sizes = [(axis, impulse) for axis in table.axes for impulse in impulses[axis]]
    return [(*size, *one) for size in sizes for one in product(tables.mass_factors, (1.0, -1.0))]


@final
class HumanoidWalkExperiment(OnFeet):
    """A humanoid that walks, with a hand on its surroundings where the file says so."""

    path_table: ClassVar[str] = "steps"

    @property
    def reach_key(self) -> str:
        """The key that brings soles apart."""
        return "moves" if self.tables.moves else "steps.length"

    @property
    def tables(self) -> MulticontactWalk:
        """The scenario's tables."""
        return self.scenario.read(MulticontactWalk)

    def check(self) -> None:
        """Raise `InputError` where footholds or poses are impossible."""
        moved = {
            "hand": "hand",
            "moves": "moves",
            "humanoid": "robot.name",
            "loadable": "robot.name",
            "lowered": "robot.lowered",
            "way": "steps.search",
        }
        if not self.tables.terrain.floor and not self.tables.terrain.blocks:
            moved["place"] = "terrain.floor"
        with error_context("steps", self.scenario, moved):
            _ = self.steps, self.rests
            if self.leaning and self.tables.robot.name not in HUMANOIDS:
                _ = self.distances
            if self.rests is None:
                self.check_reach()

    @cached_property
    def walk(self) -> StepsTable:
        """The table `[steps]` as this robot takes it."""
        with error_context("steps", self.scenario, {"breadth": "steps.width", "end": "hand.end"}):
            return steps_of(self.tables, self.controller.humanoid, self.terrain)

    @cached_property
    def start(self) -> FloatArray:
        """State q (nq,) at the start: over the ground at the origin, its soles as far apart as the steps say."""
        q, humanoid, table = self.standing(), self.controller.humanoid, self.walk
        if table.width is None:
            return q
        sizes = np.mean([[sole.length, sole.width] for sole in humanoid.feet.values()], axis=0)
        if abs(table.stagger) < sizes[0] and table.width < sizes[1]:
            raise InputError("width", table.width, f"at least {sizes[1]:g} m, or soles beside each other overlap")
        soles = []
        for name, side in (("left_foot", 0.5), ("right_foot", -0.5)):
            point, R = self.terrain.ground(side * table.stagger, side * table.width)
            soles.append(PlacedPatch(name, self.sole(name), point, R))
        try:
            return find_pose(humanoid, soles, start=q).q
        except StanceError as error:
            raise InputError("width", table.width, f"a stance that the robot can take; this one: {error}") from None

    @cached_property
    def steps(self) -> Footsteps:
        """The footholds and handholds."""
        humanoid, start, t, tables = self.controller.humanoid, self.soles_below(self.start), self.walk, self.tables
        if set(start) != {"left_foot", "right_foot"}:
            raise InputError("robot.name", tables.robot.name, "a robot with the feet 'left' and 'right', to walk")
        for name in t.lean:
            if name not in humanoid.ends:
                raise InputError(f"lean.{name}", t.lean[name], "of one of " + ", ".join(humanoid.ends))
        kinds = {"single": t.single, "double": t.double, "lift": t.lift, "aside": t.aside}
        first, releases, helped = t.first, dict[str, float](), None
        if tables.moves:

            def level(x: float, y: float, yaw: float) -> tuple[FloatArray, FloatArray]:
                return self.foothold(x, y, 0.0, yaw)

            listed = listed_moves(self.scenario, tables, humanoid.ends, start, level, self.terrain)
            moves, first, releases = listed
        elif t.search:
            moves, helped = self._search_steps(start, kinds)
        else:
            moves = steps_ahead(start, t.count, t.length, stagger=t.stagger, ground=self.foothold, **kinds)
        if tables.hand is not None and not t.search:
            with error_context("hand", self.scenario):
                holds = holds_of(tables.hand, humanoid, t.length)
            moves = with_hand(tables.hand, holds, start, moves, self.terrain, tables.controller.preview.friction)
        if t.timing is not None:
            ways = self._ways(in_turn(start, moves, t.first))
            _, ends = self.controller.terms(self.start, np.zeros(humanoid.robot.nv))
            away = {
                name: end.p - humanoid.radii.get(name, 0.0) * _UP for name, end in ends.items() if name not in start
            }
            moves = apply_timing_rule(start, moves, t.timing.make().duration, ways, away)
        steps = in_turn(start, moves, first, releases=releases, pushes=self.known_pushes)
        if tables.hand is None or helped is None:
            return steps
        return replace(steps, releases={tables.hand.end: steps.travels[helped].end + tables.hand.pause})

    def _search_steps(
        self, start: Mapping[str, PlacedPatch], kinds: Mapping[str, float]
    ) -> tuple[list[Move], int | None]:
        """Return the steps of a search, the hand's where it helps, and the number of the last move that needs it."""
        t, hand, humanoid, hold = self.walk, self.tables.hand, self.controller.humanoid, None
        if hand is not None:
            with error_context("hand", self.scenario):
                holds = holds_of(hand, humanoid, t.length)
            friction = self.tables.controller.preview.friction
            hold = partial(hold_at, hand, holds, self.terrain, friction)
        resting = Resting(humanoid, start, self.com, hold)
        places = {name: (sole.position, sole.R_world_patch) for name, sole in start.items()}
        found = footsteps(places, t.count * t.length, partial(self.foothold, shift=0.0), t.length, rests=resting)
        steps = steps_to(start, found, **kinds)
        return (steps, None) if hand is None else with_help(hand, resting, start, steps)

    def _ways(self, steps: Footsteps) -> FloatArray:
        """Path length (m) of the centre of mass from each step to the next; 0 after the last."""
        middles = np.array([(travel.start + travel.end) / 2 for travel in steps.travels])
        points = self._coarse(steps)(middles)[0]
        return np.append(np.linalg.norm(np.diff(points, axis=0), axis=1), 0.0)

    @cached_property
    def gross(self) -> PointPath:
        """Coarse path of the centre of mass."""
        return self._coarse(self.steps)

    def _coarse(self, steps: Footsteps) -> PointPath:
        walk, lowered = self.walk, self.tables.robot.lowered
        return gross_path(steps, self.com, lowered=lowered, sway=walk.sway, lean=walk.lean, shape=walk.reference)

    @cached_property
    def rests(self) -> StancePlan | None:
        """A static pose for each stance, where the scenario asks for that."""
        if not self.walk.rest:
            return None
        try:
            return rests(self.controller.humanoid, self.steps.forecast, self.gross, self.start, self.duration)
        except StanceError as error:
            raise InputError("rest", True, f"false, or holds at which the robot can rest: {error}") from None

    @property
    def duration(self) -> float:
        """Duration of a trial, s."""
        return self.steps.duration + self.tables.simulation.settle

    @property
    def trials(self) -> list[list[HumanoidTrial]]:
        """All trials at once."""
        return [make_trials(self.scenario.seed, self.tables.trials)]
