"""What every task of a humanoid in MuJoCo under preview control shares: robot, ground, preview, trials."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from trundle.checks import FloatArray
from trundle.contact.patch import FlatPatch, PlacedPatch
from trundle.errors import InputError
from trundle.models.robots.humanoid import HUMANOIDS, load_humanoid
from trundle.models.robots.servo import SensorNoise
from trundle.models.urdf.examples import example_name
from trundle.models.urdf.meshes import visual_meshes
from trundle.numerics.rotations import quaternion_of, rotation_of, rotation_z
from trundle.scenarios.engine.building import Part, PartProgress, error_context
from trundle.scenarios.engine.log import RUN
from trundle.scenarios.engine.trials import run_trials
from trundle.scenarios.scenario import Scenario
from trundle.simulate.mujoco.pushes import ForcePulse
from trundle.status import Status
from trundle.systems.multicontact.centroidal.centroidal import Centroidal, Push
from trundle.systems.multicontact.centroidal.forecast import Pushed
from trundle.systems.multicontact.humanoid.mujoco_humanoid import HumanoidPlant
from trundle.systems.multicontact.humanoid.self_distance import SelfDistance
from trundle.systems.multicontact.humanoid.terrain import Terrain
from trundle.systems.multicontact.preview.paths import PointPath
from trundle.systems.multicontact.preview.preview import Preview, PreviewWeights
from trundle.systems.multicontact.scenario.layout import terrain_of
from trundle.systems.multicontact.scenario.obstacles import read_avoidance_pairs, read_obstacles, read_rows
from trundle.systems.multicontact.scenario.ticks import recorded_ticks
from trundle.systems.multicontact.scenario.trials import (
    HumanoidOutcome,
    HumanoidTrial,
    binding_limit,
    run_trial,
    trajectory,
)
from trundle.systems.multicontact.stances.pose import PoseSettings, StanceError, find_pose
from trundle.systems.multicontact.stances.stances import StancePlan
from trundle.systems.multicontact.whole_body.nominal import NominalPath, nominal_path
from trundle.systems.multicontact.whole_body.policy import ControlPeriods, HumanoidPolicy
from trundle.systems.multicontact.whole_body.stepping import Footsteps
from trundle.systems.multicontact.whole_body.whole_body import WholeBodyController
from trundle.threads import cached_property

if TYPE_CHECKING:
    from trundle.contact.packed import FrameMotion
    from trundle.control.tick import ControlTick, RecordedTicks
    from trundle.models.urdf.articulated import Momentum
    from trundle.records import Trajectory
    from trundle.systems.multicontact.scenario.schema import MulticontactTables
    from trundle.systems.multicontact.whole_body.pick_and_place import Handling


_ALWAYS = 1e6
"""Duration, s, of a force that does not end."""
_BESIDE = 0.005
"""Room, m, between a sole and the edge of what it stands on: feet land by so much off."""


def _report_share(share: PartProgress, begun: int, count: int, most: int, done: float) -> None:
    """Report the share of all trials that are done while a wave of `count` of them runs."""
    share(min((begun + done * count) / most, 1.0))


@dataclass(frozen=True, eq=False)
class MulticontactExperiment(ABC):
    """A humanoid, its footholds and its trials; the first trial is the trajectory. A task says what it does."""

    scenario: Scenario
    limited: bool = True
    """False: without the limits of the robot's joints, see `without_limits`."""
    path_table: ClassVar[str]
    """The table that says where it goes."""

    @property
    @abstractmethod
    def reach_key(self) -> str:
        """The key that brings soles apart."""

    # what a task says -----------------------------------------------------------------------------------

    @property
    @abstractmethod
    def tables(self) -> MulticontactTables:
        """The scenario's tables."""

    @abstractmethod
    def check(self) -> None:
        """Raise `InputError` where footholds or poses are impossible."""

    @cached_property
    @abstractmethod
    def controller(self) -> WholeBodyController:
        """Whole-body controller of the robot that the file names."""

    @cached_property
    @abstractmethod
    def start(self) -> FloatArray:
        """State q (nq,) at the start."""

    @cached_property
    @abstractmethod
    def steps(self) -> Footsteps:
        """The footholds and handholds."""

    @cached_property
    @abstractmethod
    def gross(self) -> PointPath:
        """Coarse path of the centre of mass."""

    @cached_property
    @abstractmethod
    def rests(self) -> StancePlan | None:
        """A static pose for each stance, where the scenario asks for that."""

    @property
    @abstractmethod
    def duration(self) -> float:
        """Duration of a trial, s."""

    @property
    @abstractmethod
    def trials(self) -> Sequence[Sequence[HumanoidTrial]]:
        """Batches of trials that may run in parallel, one after the other."""

    @abstractmethod
    def policy(self) -> HumanoidPolicy:
        """Return a fresh policy."""

    @abstractmethod
    def plant(self, trial: HumanoidTrial) -> HumanoidPlant:
        """Return the simulated robot of a trial."""

    @abstractmethod
    def outcome(self, trial: HumanoidTrial) -> HumanoidOutcome:
        """Run a trial and judge it."""

    # trials ---------------------------------------------------------------------------------------------

    def parts(self) -> Iterator[Part]:
        """Yield one part: all trials."""
        yield Part("", self._run)

    def _run(self, share: PartProgress | None) -> Trajectory:
        with error_context(self.path_table, self.scenario):
            _ = self.path
        outcomes: list[HumanoidOutcome] = []
        count = sum(map(len, self.trials))
        for wave in self.waves(outcomes):
            told = share and partial(_report_share, share, len(outcomes), len(wave), count)
            outcomes += run_trials(self.outcome, wave, told)
        return trajectory(self, outcomes, self._failure(outcomes))

    def _failure(self, outcomes: Sequence[HumanoidOutcome]) -> str:
        """Return, and log, what failed and which limit of a joint binds; of trials that become harder in the first."""
        for trial, outcome in zip(self.trials[0], outcomes, strict=False):
            if not outcome.result.survived:
                failed = f"trial with seed {trial.seed} and masses times {trial.mass_factor:g}: {outcome.result.reason}"
                stopped = outcome.run.status is Status.SAFE_STOP
                message = failed if stopped else f"{failed}; {binding_limit(self, trial)}"
                RUN.warning("%s", message, extra={"aloud": True})
                return message
        return ""

    def without_limits(self) -> Self:
        """Return the same experiment, plans and all, of the robot without the limits of its joints."""
        free = replace(self, limited=False)
        vars(free).update({name: getattr(self, name) for name in ("start", "steps", "gross", "rests", "path")})
        return free

    def recorded_ticks(self) -> dict[str, tuple[ControlTick, RecordedTicks]]:
        """Return ticks of whole-body control and of the preview, with those of a run; for export."""
        return recorded_ticks(self)

    def waves(self, outcomes: Sequence[HumanoidOutcome]) -> Iterator[Sequence[HumanoidTrial]]:
        """Yield batches of trials; `outcomes` holds those of all before: after a fall none along that axis follows."""
        felled: set[str] = set()
        for wave in self.trials:
            if wave[0].axis not in felled:
                yield wave
                if not all(one.result.survived for one in outcomes[-len(wave) :]):
                    felled.add(wave[0].axis)

    def __getstate__(self) -> dict[str, object]:
        """Return what a process that runs trials needs: all else follows from it."""
        return {"scenario": self.scenario}

    # what is made once ----------------------------------------------------------------------------------

    def make_controller(self) -> WholeBodyController:
        """Return the whole-body controller of the robot that the file names."""
        name = self.tables.robot.name
        source = name if name in HUMANOIDS or not name.endswith(".toml") else self._own(name)
        humanoid = load_humanoid(source)
        if not example_name(humanoid.urdf):
            with error_context("robot.name", self.scenario):
                visual_meshes(humanoid.urdf)
        humanoid = humanoid.with_posture(self.tables.robot.pose, self.tables.robot.posture)
        humanoid = replace(humanoid, limited=self.limited)
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

    def standing(self) -> FloatArray:
        """Return the state q (nq,) of the robot that stands on the ground at the origin."""
        q = self.controller.humanoid.standing()
        with error_context("terrain", self.scenario, {"place": "terrain.floor"}):
            q[2] += self.terrain.ground(0.0, 0.0)[0][2]
        return q

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

    def sole(self, name: str) -> FlatPatch:
        """Return the part of a sole that plans may load."""
        table, humanoid, foot = self.tables.controller.preview, self.controller.humanoid, name.removesuffix("_foot")
        if table.ankle if table.ankle is not None else self.scenario.task != "carry":
            return humanoid.loadable(foot, table.friction, table.sole_part, self.tables.controller.gains.torque_part)
        return humanoid.feet[foot].patch(table.friction, table.sole_part)

    def foothold(self, x: float, y: float, shift: float = 0.1, yaw: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """Return where all of a sole that touches lies on one face, at most `shift` (m) from (x, y).

        Its corners carry: with one beyond an edge the robot falls, whatever plans load.
        """
        soles, part = self.controller.humanoid.feet.values(), self.tables.plant.sole_part
        half = 0.5 * part * np.max([[sole.length, sole.width] for sole in soles], axis=0) + _BESIDE
        return self.terrain.foothold(x, y, half, shift, yaw)

    def soles_below(self, q: FloatArray) -> dict[str, PlacedPatch]:
        """Return where the soles of the robot in state `q` stand on the ground."""
        humanoid, found = self.controller.humanoid, {}
        _, ends = self.controller.terms(q, np.zeros(humanoid.robot.nv))
        for name in (f"{foot}_foot" for foot in humanoid.feet):
            with error_context("terrain", self.scenario, {"place": "terrain.floor"}):
                (x, y), ahead = ends[name].p[:2].tolist(), ends[name].R[:, 0]
                point, R = self.foothold(x, y, 0.0, float(np.arctan2(ahead[1], ahead[0])))
            found[name] = PlacedPatch(name, self.sole(name), point, R)
        return found

    def preview(self) -> Preview:
        """Return a fresh preview."""
        table = self.tables.controller.preview
        weights = PreviewWeights(**table.values(PreviewWeights))
        return Preview(Centroidal(self.controller.humanoid.robot.mass), table.samples, axis=table.axis, weights=weights)

    def forces(self, known: bool = False) -> list[ForcePulse]:
        """Return the forces from outside on the base: all, or those that are `known` beforehand."""
        return [
            ForcePulse("base", one.point, one.force, one.start, one.duration or _ALWAYS)
            for one in self.tables.forces
            if one.known or not known
        ]

    @property
    def known_pushes(self) -> list[Pushed]:
        """The known forces as previews take them: with the moment that they have about the centre of mass at first."""
        R, found = rotation_of(self.start[3:7]), []
        for one in self.forces(known=True):
            arm, force = self.start[:3] + R @ np.array(one.point) - self.com, np.array(one.force)
            found.append(Pushed(Push(force, np.cross(arm, force)), one.start, one.start + one.duration))
        return found

    @cached_property
    def path(self) -> NominalPath:
        """Nominal motion of the centre of mass."""
        return nominal_path(self.preview(), self.steps, self.gross, self.com, self.duration + 1.0)

    def check_reach(self) -> None:
        """Raise `InputError` if the legs do not reach the start's height, or the widest stance of the steps."""
        lowered, missed = self.tables.robot.lowered, ""
        if lowered > 0.0:
            missed = self._explain_missing_pose(0.0, float(self.gross(np.array([0.5]))[0][0, 2]))
        if missed:
            raise InputError("lowered", lowered, f"a height at which the robot can stand: {missed}")
        apart, time = 0.0, 0.0
        for travel in self.steps.travels:
            soles = [place.position for end, place in self.steps.standing(travel.end).items() if end.endswith("_foot")]
            if len(soles) == 2:
                apart, time = max((apart, time), (float(np.linalg.norm(soles[1] - soles[0])), travel.end))
        missed = self._explain_missing_pose(time, float(self.gross(np.array([time]))[0][0, 2])) if apart > 0.0 else ""
        if missed:
            far = f"steps within the robot's reach: with the soles {apart:.2f} m apart, {missed}"
            raise InputError(self.reach_key, self.reached, far)

    @property
    def leaning(self) -> tuple[str, ...]:
        """The hands that lean on something, in the order in which they first do."""
        return tuple(dict.fromkeys(t.name for t in self.steps.travels if t.name.endswith("_hand")))

    @property
    def reached(self) -> object:
        """The value of the key that brings soles apart."""
        return reduce(getattr, self.reach_key.split("."), self.tables)

    def _explain_missing_pose(self, time: float, height: float) -> str:
        """Return why no pose on the soles at `time` (s) has its centre of mass `height` m high; empty if one has."""
        steps, settings = self.steps, PoseSettings(tolerance=0.02, angle_tolerance=0.1)

        def soles_at(t: float) -> list[PlacedPatch]:
            return [place for end, place in steps.standing(t).items() if end.endswith("_foot")]

        soles = soles_at(time)
        middle = np.mean([place.position for place in soles], axis=0)
        before = np.mean([place.position for place in soles_at(0.0)], axis=0)
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

    @cached_property
    def distances(self) -> SelfDistance:
        """Distances among the robot's own bodies."""
        return SelfDistance(self.controller.humanoid)

    def make_policy(
        self, posture: Callable[[float], FloatArray] | None = None, handling: Handling | None = None
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
            momentum_share=table.preview.momentum_share,
            forces=self.forces(known=True),
            servo=self.controller.humanoid.drives if self.tables.plant.actuation == "position" else None,
        )

    def make_plant(self, trial: HumanoidTrial) -> HumanoidPlant:
        """Return the simulated robot of a trial."""
        humanoid = self.controller.humanoid
        with error_context("plant", self.scenario, {"block": "plant.moved"}):
            terrain = self.terrain.with_offsets(self.tables.plant.moved)
        return HumanoidPlant(
            humanoid,
            terrain,
            mass_factor=trial.mass_factor,
            obstacles=read_obstacles(self.scenario, self.tables, humanoid),
            avoidance_pairs=read_avoidance_pairs(self.scenario, self.tables, humanoid),
            **self.tables.plant.values(HumanoidPlant),
        )

    def noise(self) -> SensorNoise:
        """Return the noise of the sensors: what the scenario leaves out is the robot's own."""
        values = self.tables.noise.values(SensorNoise)
        given = {key: value for key, value in values.items() if value is not None}
        return replace(self.controller.humanoid.sensors, **given)


class OnFeet(MulticontactExperiment):
    """Trials of a robot that carries nothing."""

    @cached_property
    def controller(self) -> WholeBodyController:
        """Whole-body controller of the robot that the file names."""
        return self.make_controller()

    def policy(self) -> HumanoidPolicy:
        """Return a fresh policy; where poses are asked for it follows theirs."""
        return self.make_policy(None if self.rests is None else self.rests.posture)

    def plant(self, trial: HumanoidTrial) -> HumanoidPlant:
        """Return the simulated robot of a trial."""
        return self.make_plant(trial)

    def outcome(self, trial: HumanoidTrial) -> HumanoidOutcome:
        """Run a trial and judge it."""
        return run_trial(self, trial)
