"""A humanoid in MuJoCo that stands under pushes, or walks, under preview control: what follows from its file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypedDict, cast

import numpy as np

from trundle.checks import FloatArray
from trundle.contact.patch import FlatPatch, PlacedPatch
from trundle.control.preview.preview import Preview, PreviewWeights
from trundle.control.whole_body.nominal import NominalPath, gross_path, nominal_path
from trundle.control.whole_body.policy import ControlPeriods, HumanoidPolicy
from trundle.control.whole_body.stepping import Footsteps, in_turn, steps_ahead, timed
from trundle.control.whole_body.whole_body import WholeBodyController
from trundle.errors import InputError
from trundle.models.centroidal.centroidal import Centroidal
from trundle.models.robots.humanoid import HUMANOIDS, load_humanoid
from trundle.models.robots.self_distance import SelfDistance
from trundle.models.robots.terrain import Terrain
from trundle.numerics.rotations import quaternion_of, rotation_of, rotation_z
from trundle.plan.stances.equilibrium import bearable
from trundle.plan.stances.pose import PoseSettings, StanceError, find_pose
from trundle.plan.stances.stances import StancePlan, rests
from trundle.problems.paths import PointPath
from trundle.scenarios.engine.building import Part, PartProgress, error_context
from trundle.scenarios.engine.trials import run_trials
from trundle.scenarios.scenario import Scenario
from trundle.simulate.mujoco.humanoid import HumanoidPlant, SensorNoise
from trundle.systems.multicontact.layout import holds_of, steps_of, terrain_of, with_hand
from trundle.systems.multicontact.obstacles import read_avoidance_pairs, read_obstacles, read_rows
from trundle.systems.multicontact.trials import Outcome, Trial, run_trial, trajectory

if TYPE_CHECKING:
    from trundle.contact.packed import FrameMotion
    from trundle.control.whole_body.handling import Handling
    from trundle.models.urdf.articulated import Momentum
    from trundle.records import Trajectory
    from trundle.systems.multicontact.schema import MulticontactStand, StepsTable
    from trundle.systems.multicontact.schema_carry import Tables

_UP = np.array([0.0, 0.0, 1.0])
_AXES = {"fore-aft": np.array([1.0, 0.0, 0.0]), "lateral": np.array([0.0, 1.0, 0.0])}


class StanceRecord(TypedDict):
    """A static stance in a record: its contacts, and whether the soles alone would bear it."""

    time: float
    contacts: list[str]
    center_of_mass: list[float]
    torque_use: float
    without_hands: bool


def _shared(share: PartProgress, begun: int, count: int, most: int, done: float) -> None:
    """Report the share of all trials that are done while a wave of `count` of them runs."""
    share(min((begun + done * count) / most, 1.0))


def pushes_of(tables: MulticontactStand) -> list[tuple[str, float, float, float]]:
    """Return axis, impulse (N s), mass factor and sign of all pushes."""
    table = tables.pushes
    impulses = {"fore-aft": table.fore_aft, "lateral": table.lateral}
    return [
        (axis, impulse, mass, sign)
        for axis in table.axes
        for impulse in impulses[axis]
        for mass in tables.mass_factors
        for sign in (1.0, -1.0)
    ]


@dataclass(frozen=True, eq=False)
class MulticontactExperiment:
    """A humanoid, its footholds and its trials; the first trial is the trajectory."""

    scenario: Scenario
    path_table: ClassVar[str] = "steps"
    """The table that says where it goes."""
    reach_key: ClassVar[str] = "length"
    """Its key that brings soles apart."""

    @property
    def tables(self) -> Tables:
        """The scenario's tables."""
        return cast("Tables", self.scenario.tables)

    def check(self) -> None:
        """Raise `InputError` where footholds or poses are impossible."""
        moved = {"hand": "hand", "loadable": "robot.name", "lowered": "robot.lowered"}
        if not self.tables.terrain.floor and not self.tables.terrain.blocks:
            moved["place"] = "terrain.floor"
        with error_context("steps", self.scenario, moved):
            _ = self.steps, self.rests
            if self.rests is None:
                self._reaches()

    def parts(self) -> Iterator[Part]:
        """Yield one part: all trials."""
        yield Part("", self._run)

    def _run(self, share: PartProgress | None) -> Trajectory:
        with error_context(self.path_table, self.scenario):
            _ = self.path
        outcomes: list[Outcome] = []
        most = len(pushes_of(self.tables)) if self.tables.task == "stand" else self.tables.trials.count
        for wave in self.waves(outcomes):
            begun = len(outcomes)
            outcomes += run_trials(self.outcome, wave, share and partial(_shared, share, begun, len(wave), most))
        return trajectory(self, outcomes)

    def outcome(self, trial: Trial) -> Outcome:
        """Run a trial."""
        return run_trial(self, trial)

    def __getstate__(self) -> dict[str, object]:
        """Return what a process that runs trials needs: all else follows from it."""
        return {"scenario": self.scenario}

    def waves(self, outcomes: Sequence[Outcome]) -> Iterator[list[Trial]]:
        """Yield batches of trials that may run in parallel; after a fall no harder push along that axis follows.

        `outcomes` holds those of all waves before.
        """
        seed, tables = self.scenario.seed, self.tables
        if tables.task != "stand":
            table = tables.trials
            factors = table.mass_factors
            yield [Trial(seed + k, factors[k % len(factors)]) for k in range(table.count)]
            return
        felled: dict[str, float] = {}
        for (axis, impulse), pushes in groupby(enumerate(pushes_of(tables)), lambda numbered: numbered[1][:2]):
            if impulse > felled.get(axis, np.inf):
                continue
            wave = [
                Trial(seed + k, mass, tuple(sign * impulse * _AXES[axis]), axis) for k, (_, _, mass, sign) in pushes
            ]
            yield wave
            if not all(one.result.survived for one in outcomes[-len(wave) :]):
                felled[axis] = impulse

    # what is made once ----------------------------------------------------------------------------------

    @cached_property
    def controller(self) -> WholeBodyController:
        """Whole-body controller of the robot that the file names."""
        name = self.tables.robot.name
        source = name if name in HUMANOIDS or not name.endswith(".toml") else self._own(name)
        humanoid = load_humanoid(source).posed(self.tables.robot.pose, self.tables.robot.posture)
        rows, table = read_rows(self.scenario, self.tables, humanoid), self.tables.controller
        return WholeBodyController(humanoid, table.gains.make(), collisions=rows)

    def _own(self, name: str) -> Path:
        return self.scenario.data_path("robot.name", name)

    @cached_property
    def terrain(self) -> Terrain:
        """What the robot stands and leans on."""
        moved = {"block": "hand.support", "place": "terrain.floor"}
        with error_context("hand", self.scenario, moved):
            return terrain_of(self.tables, self.controller.humanoid)

    @cached_property
    def walk(self) -> StepsTable | None:
        """The table `[steps]` as this robot takes it, of one that walks."""
        tables = self.tables
        with error_context("steps", self.scenario, {"breadth": "steps.width", "end": "hand.end"}):
            return steps_of(tables, self.controller.humanoid, self.terrain) if tables.task == "walk" else None

    @cached_property
    def start(self) -> FloatArray:
        """State q (nq,) at the start: over the ground at the origin."""
        humanoid = self.controller.humanoid
        q = humanoid.standing()
        with error_context("terrain", self.scenario, {"place": "terrain.floor"}):
            q[2] += self.terrain.ground(0.0, 0.0)[0][2]
        table = self.walk
        if table is None or table.width is None:
            return q
        sizes = np.mean([[sole.length, sole.width] for sole in humanoid.feet.values()], axis=0)
        if abs(table.stagger) < sizes[0] and table.width < sizes[1]:
            raise InputError("width", table.width, f"at least {sizes[1]:g} m, or soles beside each other overlap")
        soles = {}
        for name, side in (("left_foot", 0.5), ("right_foot", -0.5)):
            point, R = self.terrain.ground(side * table.stagger, side * table.width)
            soles[name] = PlacedPatch(name, self._sole(name), point, R)
        try:
            return find_pose(humanoid, tuple(soles.values()), start=q).q
        except StanceError as error:
            raise InputError("width", table.width, f"a stance that the robot can take; this one: {error}") from None

    @cached_property
    def com(self) -> FloatArray:
        """Centre of mass (3,) at the start, m."""
        return self.momentum(self.start, np.zeros(self.controller.humanoid.robot.nv))[0].com

    def momentum(self, q: FloatArray, nu: FloatArray) -> tuple[Momentum, dict[str, FrameMotion]]:
        """Return the momentum of the robot in a state, and the motions of its ends."""
        terms, motions = self.controller.terms(q, nu)
        if terms.momentum is None:
            raise InputError("robot.name", self.tables.robot.name, "a robot with mass")
        return terms.momentum, motions

    def _sole(self, name: str) -> FlatPatch:
        """Return the part of a sole that plans may load."""
        table, humanoid, foot = self.tables.controller.preview, self.controller.humanoid, name.removesuffix("_foot")
        if table.ankle if table.ankle is not None else self.tables.task != "carry":
            return humanoid.loadable(foot, table.friction, table.sole_part, self.tables.controller.gains.torque_part)
        return humanoid.feet[foot].patch(table.friction, table.sole_part)

    @cached_property
    def steps(self) -> Footsteps:
        """The footholds and handholds."""
        humanoid = self.controller.humanoid
        _, ends = self.controller.terms(self.start, np.zeros(humanoid.robot.nv))
        start = {}
        for foot in humanoid.feet:
            name = f"{foot}_foot"
            point, R = self.terrain.ground(float(ends[name].p[0]), float(ends[name].p[1]))
            start[name] = PlacedPatch(name, self._sole(name), point, R)
        t, tables = self.walk, self.tables
        if t is None or tables.task != "walk":
            return Footsteps(start)
        if set(start) != {"left_foot", "right_foot"}:
            raise InputError("robot.name", self.tables.robot.name, "a robot with the feet 'left' and 'right', to walk")
        for name in t.lean:
            if name not in humanoid.ends:
                raise InputError(f"lean.{name}", t.lean[name], "of one of " + ", ".join(humanoid.ends))
        kinds = {"single": t.single, "double": t.double, "lift": t.lift, "aside": t.aside, "stagger": t.stagger}
        moves = steps_ahead(start, t.count, t.length, ground=self.terrain.ground, **kinds)
        if tables.hand is not None:
            with error_context("hand", self.scenario):
                holds = holds_of(tables.hand, humanoid, t.length)
            moves = with_hand(tables.hand, holds, start, moves, self.terrain, tables.controller.preview.friction)
        if t.timing is not None:
            ways = self._ways(in_turn(start, moves, t.first))
            away = {
                name: end.p - humanoid.radii.get(name, 0.0) * _UP for name, end in ends.items() if name not in start
            }
            moves = timed(start, moves, t.timing.make().duration, ways, away)
        return in_turn(start, moves, t.first)

    def _ways(self, steps: Footsteps) -> FloatArray:
        """Path length (m) of the centre of mass from each step to the next; 0 after the last."""
        middles = np.array([(travel.start + travel.end) / 2 for travel in steps.travels])
        points = self._coarse(steps)(middles)[0]
        return np.append(np.linalg.norm(np.diff(points, axis=0), axis=1), 0.0)

    def preview(self) -> Preview:
        """Return a fresh preview."""
        weights = PreviewWeights(**self.tables.controller.preview.values(PreviewWeights))
        return Preview(Centroidal(self.controller.humanoid.robot.mass), weights=weights)

    @cached_property
    def duration(self) -> float:
        """Duration of a trial, s."""
        if self.tables.task == "stand":
            pushes = self.tables.pushes
            return pushes.start + pushes.duration + self.tables.simulation.settle
        return self.steps.duration + self.tables.simulation.settle

    @cached_property
    def path(self) -> NominalPath:
        """Nominal motion of the centre of mass."""
        return nominal_path(self.preview(), self.steps, self.gross, self.com, self.duration + 1.0)

    @cached_property
    def gross(self) -> PointPath:
        """Coarse path of the centre of mass."""
        return self._coarse(self.steps)

    def _coarse(self, steps: Footsteps) -> PointPath:
        walk = self.walk
        sway, lean = (walk.sway, walk.lean) if walk else (0.0, {})
        return gross_path(steps, self.com, lowered=self.tables.robot.lowered, sway=sway, lean=lean)

    @cached_property
    def rests(self) -> StancePlan | None:
        """A static pose for each stance, where the scenario asks for that."""
        if self.walk is None or not self.walk.rest:
            return None
        try:
            return rests(self.controller.humanoid, self.steps.forecast, self.gross, self.start, self.duration)
        except StanceError as error:
            raise InputError("rest", True, f"false, or holds at which the robot can rest: {error}") from None

    def _reaches(self) -> None:
        """Raise `InputError` if the legs do not reach the start's height, or the widest stance of the steps."""
        lowered, missed = self.tables.robot.lowered, ""
        if lowered > 0.0:
            missed = self._missed(0.0, float(self.gross(np.array([0.5]))[0][0, 2]))
        if missed:
            raise InputError("lowered", lowered, f"a height at which the robot can stand: {missed}")
        apart, time = 0.0, 0.0
        for travel in self.steps.travels:
            soles = [place.position for end, place in self.steps.standing(travel.end).items() if end.endswith("_foot")]
            if len(soles) == 2:
                apart, time = max((apart, time), (float(np.linalg.norm(soles[1] - soles[0])), travel.end))
        missed = self._missed(time, float(self.gross(np.array([time]))[0][0, 2])) if apart > 0.0 else ""
        if missed:
            table = getattr(self.tables, self.path_table)
            far = f"steps within the robot's reach: with the soles {apart:.2f} m apart, {missed}"
            raise InputError(self.reach_key, getattr(table, self.reach_key), far)

    def _missed(self, time: float, height: float) -> str:
        """Return why no pose on the soles at `time` (s) has its centre of mass `height` m high; empty if one has."""
        steps, settings = self.steps, PoseSettings(tolerance=0.02, angle_tolerance=0.1)
        soles, first = (
            [place for end, place in steps.standing(t).items() if end.endswith("_foot")] for t in (time, 0.0)
        )
        middle, before = (np.mean([place.position for place in places], axis=0) for places in (soles, first))
        turn = rotation_z(steps.heading(time)[0] - steps.heading(0.0)[0])
        begin = self.start.copy()
        begin[:3] = middle + turn @ (begin[:3] - before)
        begin[3:7] = quaternion_of(turn @ rotation_of(begin[3:7]))
        try:
            find_pose(self.controller.humanoid, soles, [*middle[:2], height], start=begin, settings=settings)
        except StanceError as error:
            # Too much torque, or a weight that soles alone do not bear, is no matter of reach.
            return str(error) if error.misses and "torque_use" not in error.misses else ""
        return ""

    def stances(self) -> list[StanceRecord]:
        """Return the static stances; `without_hands` is judged on whole soles."""
        if self.rests is None:
            return []
        humanoid, found = self.controller.humanoid, []
        for time, stance in zip(self.rests.times, self.rests.stances, strict=True):
            soles = []
            for contact in stance.contacts:
                if contact.name.endswith("_foot"):
                    whole = humanoid.feet[contact.name.removesuffix("_foot")].patch(self.tables.plant.friction)
                    soles.append(PlacedPatch(contact.name, whole, contact.position, contact.R_world_patch))
            alone = bool(soles) and bearable(soles, stance.center_of_mass, humanoid.robot.mass).feasible
            found.append(
                {
                    "time": float(time),
                    "contacts": [contact.name for contact in stance.contacts],
                    "center_of_mass": stance.center_of_mass.tolist(),
                    "torque_use": stance.equilibrium.torque_use,
                    "without_hands": alone,
                }
            )
        return found

    @cached_property
    def distances(self) -> SelfDistance:
        """Distances among the robot's own bodies."""
        return SelfDistance(self.controller.humanoid)

    def policy(self) -> HumanoidPolicy:
        """Return a fresh policy."""
        return self.make_policy(None if self.rests is None else self.rests.posture)

    def make_policy(
        self, posture: Callable[[float], FloatArray] | None, handling: Handling | None = None
    ) -> HumanoidPolicy:
        """Return a fresh policy with a posture over time and, for a box, the handling."""
        table = self.tables.controller
        return HumanoidPolicy(
            self.controller,
            self.steps,
            self.path,
            self.start,
            self.preview() if table.preview.use else None,
            gating=table.gating.make(),
            periods=ControlPeriods(table.period, table.preview.period),
            posture=posture,
            handling=handling,
        )

    def plant(self, trial: Trial) -> HumanoidPlant:
        """Return the simulated robot of a trial."""
        humanoid = self.controller.humanoid
        return HumanoidPlant(
            humanoid,
            self.terrain,
            mass_factor=trial.mass_factor,
            obstacles=read_obstacles(self.scenario, self.tables, humanoid),
            avoidance_pairs=read_avoidance_pairs(self.scenario, self.tables, humanoid),
            **self.tables.plant.values(HumanoidPlant),
        )

    def noise(self) -> SensorNoise:
        """Return the noise of the sensors."""
        return self.tables.noise.make()
