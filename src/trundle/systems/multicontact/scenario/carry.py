"""Task `carry` of kind `multicontact`: a humanoid with a box between its hands, from stand to stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, final

import numpy as np

from trundle.checks import FloatArray
from trundle.contact.patch import PlacedPatch
from trundle.errors import InputError
from trundle.numerics.rotations import quaternion_of, rotation_of, rotation_rpy, rotation_z
from trundle.scenarios.engine.building import error_context
from trundle.systems.multicontact.humanoid.mujoco_humanoid import FreeBox, HumanoidPlant
from trundle.systems.multicontact.humanoid.terrain import Block, Terrain
from trundle.systems.multicontact.preview.paths import PointPath
from trundle.systems.multicontact.scenario.experiment import MulticontactExperiment
from trundle.systems.multicontact.scenario.record import HumanoidTrialResult
from trundle.systems.multicontact.scenario.schema_carry import MulticontactCarry
from trundle.systems.multicontact.scenario.stances import check_turn
from trundle.systems.multicontact.scenario.trials import HumanoidOutcome, HumanoidTrial, make_trials, run_trial
from trundle.systems.multicontact.stances.arms import Arms, arm_pose, arms
from trundle.systems.multicontact.stances.pose import center_of_mass_of
from trundle.systems.multicontact.whole_body.nominal import gross_path
from trundle.systems.multicontact.whole_body.pick_and_place import (
    HANDS,
    PHASES,
    Durations,
    Grip,
    Handling,
    ObjectPose,
    PickAndPlace,
)
from trundle.systems.multicontact.whole_body.policy import HumanoidPolicy
from trundle.systems.multicontact.whole_body.stepping import Footsteps, Move, in_turn, turn_in_place
from trundle.systems.multicontact.whole_body.whole_body import WholeBodyController
from trundle.threads import cached_property

_STEP = 0.01
"""Difference of height, m, below which the ground is even."""
_LEVEL = float(np.cos(np.radians(1.0)))
"""Height of the normal of a foothold that counts as level."""


@final
class CarryExperiment(MulticontactExperiment):
    """A humanoid that carries a box."""

    path_table: ClassVar[str] = "route"

    @property
    def reach_key(self) -> str:
        """The key that brings soles apart."""
        return "route.ways"

    @property
    def tables(self) -> MulticontactCarry:
        """The scenario's tables."""
        return self.scenario.read(MulticontactCarry)

    def check(self) -> None:
        """Raise `InputError` where footholds, or places of the box, are impossible."""
        with error_context("route", self.scenario):
            _ = self.moves
        check_turn(self)
        with error_context("stands", self.scenario, {"box": "box", "hands": "robot.name"}):
            _ = self.joints
        with error_context("route", self.scenario, {"lowered": "robot.lowered"}):
            self.check_reach()

    @cached_property
    def controller(self) -> WholeBodyController:
        """Whole-body controller of the file's robot, with the pads of its hands."""
        plain, table = self.make_controller(), self.tables.object
        gains = replace(plain.gains, **table.values())
        return WholeBodyController(plain.humanoid.gripping(), gains, collisions=plain.collisions)

    @cached_property
    def start(self) -> FloatArray:
        """State q (nq,) at the start, over the origin, turned back by the turn to come."""
        q = self.standing()
        turn = rotation_rpy(np.array([0.0, 0.0, -self.tables.route.turn]))
        q[:3], q[3:7] = turn @ q[:3], quaternion_of(turn @ rotation_of(q[3:7]))
        return q

    @cached_property
    def soles(self) -> dict[str, PlacedPatch]:
        """Where the soles stand at the start."""
        turn = rotation_rpy(np.array([0.0, 0.0, -self.tables.route.turn]))
        level = self.soles_below(self.start)
        found = {name: replace(sole, R_world_patch=sole.R_world_patch @ turn) for name, sole in level.items()}
        if set(found) != {"left_foot", "right_foot"}:
            raise InputError("robot.name", self.tables.robot.name, "a robot with the feet 'left' and 'right', to carry")
        return found

    @cached_property
    def moves(self) -> list[Move]:
        """All steps."""
        t, places, moves = self.tables.route, dict(self.soles), []
        kinds = {"single": t.single, "double": t.double, "lift": t.lift}
        if t.turn_steps:
            with error_context("route", self.scenario, {"steps": "route.turn_steps"}):
                moves += turn_in_place(places, t.turn_steps, t.turn, **kinds)
            places |= {move.target.name: move.target for move in moves}
        for way in t.ways:
            for name in ("right_foot", "left_foot"):
                old = places[name]
                with error_context("route", self.scenario, {"place": "route.ways"}):
                    point, R = self.foothold(float(old.position[0]) + way, float(old.position[1]))
                places[name] = PlacedPatch(name, old.patch, point, R)
                uneven = abs(point[2] - old.position[2]) > 1e-3
                moves.append(Move(places[name], t.single, t.double, t.lift_uneven if uneven else t.lift))
        return moves

    @cached_property
    def stands(self) -> dict[str, tuple[float, float]]:
        """How far ahead (m) of the soles, and how high (m) over the ground there, the box lies: of "pick" and "place".

        What the file leaves out is for the robot's arms, in whole cm.
        """
        t, where = self.tables.stands, self._arms.before
        ahead, top = where[0] - self._arms_from[0], where[2] - self.tables.box.size[2] / 2
        pick = _value_or_rounded(t.pick_ahead, ahead), _value_or_rounded(t.pick_height, top)
        if pick[1] <= 0.0:
            size = list(self.tables.box.size)
            raise InputError("box.size", size, "a box that is above the ground where the arms hold its middle")
        return {
            "pick": pick,
            "place": (_value_or_rounded(t.place_ahead, pick[0]), _value_or_rounded(t.place_height, pick[1])),
        }

    @cached_property
    def held(self) -> FloatArray:
        """Where the box is carried (3,), m, from the centre of mass of robot and box, ahead along x."""
        if self.tables.box.held is not None:
            return np.array(self.tables.box.held)
        return np.round(self._arms.held - self._arms_from, 2) + 0.0

    @cached_property
    def _arms(self) -> Arms:
        """Reach of the robot's arms in its posture, over the origin of level ground."""
        humanoid = self.controller.humanoid
        return arms(humanoid, humanoid.standing())

    @cached_property
    def _arms_from(self) -> FloatArray:
        """Centre of mass (3,) of that posture, m: with the box it is over the middle of the soles."""
        return center_of_mass_of(self.controller.humanoid, self.controller.humanoid.standing())

    @cached_property
    def pick_and_place(self) -> PickAndPlace:
        """Phases and poses of picking up, carrying and setting down."""
        box, hands = self.tables.box, self.tables.hands
        way = sum(move.duration + move.pause for move in self.moves)
        carry = way + 2 * hands.pause if self.moves else self.tables.hold
        ends = self.soles | {move.target.name: move.target for move in self.moves}
        stood = [(self.soles, *self.stands["pick"], -self.tables.route.turn), (ends, *self.stands["place"], 0.0)]
        if not self.moves:
            stood[1] = stood[0]
        places = []
        for soles, ahead, height, yaw in stood:
            middle = np.mean([sole.position for sole in soles.values()], axis=0)
            out = np.array([ahead * np.cos(yaw), ahead * np.sin(yaw), height + box.size[2] / 2])
            places.append(ObjectPose(middle + out, yaw))
        inertia = FreeBox(np.array(box.size), box.mass, np.zeros(3)).inertia
        durations, grip = Durations(**hands.values(Durations), carry=carry), Grip(**hands.values(Grip))
        counted = box.preview == "body"
        # From the robot's centre of mass the box is farther than from that of both: r_o - r = (r_o - c) (m + m_o) / m.
        held = self.held * (1.0 if counted else 1.0 + box.mass / self.controller.humanoid.robot.mass)
        return PickAndPlace(box.mass, inertia, box.size[1], places[0], places[1], held, durations, grip, counted)

    @cached_property
    def steps(self) -> Footsteps:
        """The footholds, and when the box joins and leaves."""
        task = self.pick_and_place
        first = task.starts["carry"] + self.tables.hands.pause
        known = self.tables.box.preview
        masses = task.mass_changes(self.controller.humanoid.robot.mass) if known == "body" else ()
        steps = in_turn(self.soles, self.moves, first, masses=masses, pushes=self.known_pushes)
        if known != "force":
            return steps

        def stance(time: float) -> tuple[FloatArray, float]:
            """Return the middle of the soles, less what the path is behind it; heights are of no matter to a weight."""
            yaw, soles = steps.heading(time)[0], [place.position for place in steps.standing(time).values()]
            return np.mean(soles, axis=0) - self.tables.route.back * rotation_z(yaw)[:, 0], yaw

        times = [time for travel in steps.travels for time in (travel.start, travel.end)]
        return replace(steps, pushes=(*steps.pushes, *task.weights(times, stance)))

    @cached_property
    def rests(self) -> None:
        """No poses are asked for: those with the box are `joints`."""
        return None

    @property
    def duration(self) -> float:
        """Duration of a trial, s, at least: phases may wait."""
        return self.pick_and_place.duration + self.tables.simulation.settle

    @cached_property
    def gross(self) -> PointPath:
        """Coarse path of the centre of mass."""
        route = self.tables.route
        lowered, sway, rise, back = self.tables.robot.lowered, route.sway, route.rise, route.back
        return gross_path(self.steps, self.com, lowered=lowered, sway=sway, rise=rise, back=back)

    @cached_property
    def joints(self) -> dict[str, FloatArray]:
        """Postures: at rest, and with the box at its places."""
        humanoid, task, turn = self.controller.humanoid, self.pick_and_place, -self.tables.route.turn
        q, found = self.start.copy(), {"rest": self.controller.humanoid.joint_posture}
        q[2] -= self.tables.robot.lowered
        R = rotation_rpy(np.array([0.0, 0.0, turn]))
        middle: FloatArray = np.mean([sole.position for sole in self.soles.values()], axis=0)
        com = np.array([*middle[:2], self.com[2] - self.tables.robot.lowered]) - self.tables.route.back * R[:, 0]
        (ahead, height), (ahead_then, height_then) = self.stands["pick"], self.stands["place"]
        drop = R @ np.array([ahead_then - ahead, 0.0, height_then - height])
        places = {
            "pick": task.pick.position,
            "carry": com + R @ task.held,
            "place": task.pick.position + drop,
        }
        for name, centre in places.items():
            patches = {hand: task.patch(hand, ObjectPose(centre, turn)) for hand in HANDS}
            targets = {hand: (p.position, p.R_world_patch) for hand, p in patches.items()}
            for _ in range(3):  # raised arms shift the centre of mass: the base goes back and sinks, the arms reach on
                try:
                    found[name] = arm_pose(humanoid, q, targets)
                except InputError as error:
                    if name == "carry":
                        raise InputError("box.held", self.held.tolist(), error.allowed) from None
                    raise self._out_of_reach(name, error.allowed) from None
                posed = np.concatenate([q[:7], found[name]])
                added = task.mass if task.counted else 0.0
                total = humanoid.robot.mass * center_of_mass_of(humanoid, posed) + added * centre
                q[:3] += com - total / (humanoid.robot.mass + added)
        return found

    def _out_of_reach(self, name: str, allowed: str) -> InputError:
        """Return the error of a stand that the arms do not reach; of the box where the stand follows from the arms."""
        t = self.tables.stands
        if name == "place" and t.place_ahead is None and t.place_height is None:
            name = "pick"  # the second stand is as the first
        ahead, height = self.stands[name]
        if name == "pick" and t.pick_ahead is None and t.pick_height is None:
            where = f"stands.pick_ahead, {ahead:g} m, and stands.pick_height, {height:g} m, follow from the arms"
            return InputError("box.size", list(self.tables.box.size), f"a size with {allowed} ({where})")
        return InputError(f"stands.{name}_ahead", ahead, f"{allowed} (also by stands.{name}_height, {height:g} m)")

    @property
    def trials(self) -> list[list[HumanoidTrial]]:
        """All trials at once."""
        return [make_trials(self.scenario.seed, self.tables.trials)]

    def policy(self) -> HumanoidPolicy:
        """Return a fresh policy."""
        handling = Handling(self.pick_and_place, self.joints)
        return self.make_policy(handling.posture, handling)

    def plant(self, trial: HumanoidTrial) -> HumanoidPlant:
        """Return the simulated robot of a trial, the stands, and the box: as much heavier as the robot."""
        task, table, width = self.pick_and_place, self.tables.box, self.tables.stands.width / 2
        stands = []
        for place in (task.pick, task.place) if self.moves else (task.pick,):
            half = (place.position[2] - table.size[2] / 2) / 2
            stands.append(Block((*place.position[:2], half), (width, width, half), (0.0, 0.0, place.yaw)))
        plain = self.make_plant(trial)
        terrain = Terrain((*plain.terrain.blocks, *stands), plain.terrain.floor)
        pick = task.pick
        box = FreeBox(np.array(table.size), trial.mass_factor * table.mass, pick.position, pick.yaw)
        return replace(plain, terrain=terrain, box=box)

    def outcome(self, trial: HumanoidTrial) -> HumanoidOutcome:
        """Run a trial and judge it."""
        done = run_trial(self, trial)
        return HumanoidOutcome(done.run, with_box(self, done))


def _value_or_rounded(said: float | None, found: float) -> float:
    """Return the value of the file, or else the computed one (m) rounded to cm."""
    return round(float(found), 2) if said is None else said


def with_box(experiment: CarryExperiment, outcome: HumanoidOutcome) -> HumanoidTrialResult:
    """Add slip, tilt and grasp of the box to a result; a trial survives only if the box arrives.

    `crossed` tells whether all of this was done over a step and a slope onto the flat, see `uneven`. The slip is the
    farthest that the middle of a pad moves along the box's side from where it was when the lift began.
    """
    r, task = outcome.run.records, experiment.pick_and_place
    ends = list(experiment.controller.humanoid.ends)
    clock, box = r["plan_time"], r["box"]
    held = (clock >= task.starts["lift"]) & (clock < task.starts["unload"] - 0.02)
    carried = (clock >= task.starts["carry"]) & (clock < task.starts["lower"])
    turns = np.array([rotation_of(pose[3:]) for pose in box])
    tilt = np.degrees(np.arccos(np.clip(turns[:, 2, 2], -1.0, 1.0)))
    slip = 0.0 if held.any() else np.nan  # of a box that was never lifted there is none
    for i in (ends.index(hand) for hand in HANDS):
        pad = r["truth"][:, 9 + 3 * i : 12 + 3 * i] - box[:, :3]
        local = np.einsum("kji,kj->ki", turns, pad)[held][:, [0, 2]]
        if held.any():
            slip = max(slip, float(np.linalg.norm(local - local[0], axis=1).max()))
    loads = np.linalg.norm(r["contact_force"][:, [ends.index(hand) for hand in HANDS]], axis=2)
    grasped = bool(carried.any() and loads[carried].min() > 1.0)
    lifted = bool(carried.any() and box[carried, 2].min() > task.pick.position[2] + 0.03)
    off = float(np.linalg.norm(box[-1, :3] - task.place.position))
    down = bool(clock[-1] >= task.starts["retreat"] and off < 0.05 and tilt[-1] < 3.0 and loads[-1].max() < 0.5)
    good = outcome.result.survived and grasped and lifted and down
    return replace(
        outcome.result,
        survived=good,
        crossed=good and uneven(list(experiment.soles.values()), [move.target for move in experiment.moves]),
        stood=outcome.result.survived,
        slip=slip,
        tilt=float(tilt[held].max()) if held.any() else np.nan,
        lifted=lifted,
        held=grasped,
        set_down=down,
        off=off,
        grip=float(np.mean(loads[carried])) if carried.any() else 0.0,
        phase=PHASES.index(task.phase(float(clock[-1]))),
    )


def uneven(soles: Sequence[PlacedPatch], targets: Sequence[PlacedPatch]) -> bool:
    """Return whether a way from `soles` over `targets` goes up a step, then down a slope, and ends on the flat."""
    ground = max(float(sole.position[2]) for sole in soles)
    tilted = [k for k, target in enumerate(targets) if target.R_world_patch[2, 2] < _LEVEL]
    raised = [k for k, target in enumerate(targets) if target.position[2] > ground + _STEP and k not in tilted]
    if not raised or not tilted or raised[0] >= tilted[-1]:
        return False
    highest = max(float(targets[k].position[2]) for k in raised)
    flat = all(end.R_world_patch[2, 2] >= _LEVEL and end.position[2] < highest - _STEP for end in targets[-2:])
    return flat and tilted[-1] < len(targets) - 2
