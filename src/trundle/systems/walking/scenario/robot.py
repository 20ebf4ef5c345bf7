"""Builder of kind `walking`, task `simulate`: a robot from a URDF on feet of any shape."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from scipy.optimize import bisect

from trundle import geometry
from trundle.contact import FlatPatch
from trundle.contact.laws import SEPARATED
from trundle.contact.restitution import Restitution
from trundle.errors import InputError
from trundle.interrupts import hold_interrupts
from trundle.models import IMPACT, Foot, Hand, RollingTree, Start, robot_from_urdf, surface_of
from trundle.models.tree.closing import nearest
from trundle.models.urdf.checks import CheckedUrdf, check_urdf
from trundle.models.urdf.lock import joint_ranges, lock_joints
from trundle.models.urdf.visuals import with_visuals
from trundle.scenarios.engine.building import Part, PartProgress, error_context, simulate_part
from trundle.scenarios.motions import motion_of
from trundle.scenarios.robots import description_of
from trundle.scenarios.scenario import Scenario
from trundle.scenarios.shapes import shape_of
from trundle.systems.walking.robots.avatar import build_avatar
from trundle.systems.walking.robots.body_shapes import avatar_scene
from trundle.systems.walking.scenario.schema_robot import (
    RobotFootTable,
    SurfaceTable,
    WalkingRobotTable,
    WalkingSimulate,
)

if TYPE_CHECKING:
    from trundle.records import Trajectory

_LIFTS = 60  # of the base at most
_LIFTED = 1e-11  # m: a lift that is round-off
_TRIED = 81  # heights at which a base over curved ground is tried
_ROUNDED = 1e-3
"""Tolerance (rad or m) of joint ranges: files round their ends."""


def build(scenario: Scenario) -> RobotRun:
    """Return the experiment of a `walking` scenario of task `simulate`."""
    tables = scenario.read(WalkingSimulate)
    described = _description(scenario, tables.robot)
    angles = _starting_angles(scenario, described)
    urdf = _lock_named_joints(scenario, described, angles)
    feet = {name: foot_of(scenario, name, table) for name, table in tables.feet.items()}
    ground, contact = tables.ground, tables.contact
    surface = surface_on(scenario, ground)
    motion = motion_of(scenario, ground.motion, 3, "ground.motion")
    with error_context("ground", scenario, {"twist": "ground.velocity"}):
        twist = (*ground.angular_velocity, *ground.velocity)
        hand = Hand(surface, ground.position, ground.rpy, twist, motion)
    source = next(key for key in ("urdf", "example", "avatar") if getattr(tables.robot, key) is not None)
    moved = {"contact": "feet", "gravity": "simulation.gravity", "on_slip": "contact.on_slip"}
    moved["urdf"] = f"robot.{source}"
    with error_context("feet", scenario, moved):
        robot = robot_from_urdf(
            urdf,
            feet,
            hand,
            gravity=tables.simulation.gravity,
            friction=ground.friction,
            on_slip=contact.on_slip,
            on_separation=contact.on_separation,
        )
    bounces = Restitution(*(getattr(contact, name) for name in IMPACT))
    robot = replace(robot, surface=surface_of(contact, ground.friction), restitution=bounces)
    angles = {name: angle for name, angle in angles.items() if name in robot.joints}
    robot = _with_springs(scenario, robot, angles)
    base = next(spec.name for spec in robot.tree.specs if spec.floating)
    rates = _check_joint_table(scenario, "initial.rates", tables.initial.rates, robot.joints)
    start = _start(scenario, robot, base, angles, rates)
    return RobotRun(scenario, robot, start, base, urdf)


def surface_on(scenario: Scenario, table: SurfaceTable) -> geometry.Shape:
    """Return the surface of the table ``[ground]``; a curve is extruded along y."""
    shape = shape_of(scenario, table.shape, "ground.shape")
    return geometry.Extrusion(shape) if shape.d == 2 else shape


@dataclass(frozen=True)
class RobotRun:
    """A simulation of a robot on its feet."""

    scenario: Scenario
    robot: RollingTree
    start: Start
    base: str
    urdf: CheckedUrdf

    def parts(self) -> Iterator[Part]:
        """Yield the simulation as the only part."""
        yield Part("", self.run)

    @hold_interrupts()
    def run(self, share: PartProgress | None) -> Trajectory:
        """Return the record of kind `walking`: joint torques are those of springs and dampers."""
        from trundle.systems.walking.scenario.record import as_walking

        tables = self.scenario.read(WalkingSimulate)
        table = tables.simulation
        run = simulate_part(self.robot, self.start, table.duration, table, share)
        specs = {spec.joint_name: spec for spec in self.robot.tree.specs}
        torque = np.zeros_like(run["torque"])
        for j, spec in enumerate(specs[str(name)] for name in run["joint"]):
            stretch = run["joint_position"][:, j] - spec.rest
            torque[:, j] = -spec.stiffness * stretch - spec.damping * run["joint_velocity"][:, j]
        walked = as_walking(run, self.base, _phases(run), torque)
        avatar = tables.robot.avatar
        if avatar is None or tables.joints.locked:  # the avatar's pictures are of its own bodies
            return with_visuals(walked, self.urdf, meshes=tables.robot.urdf is not None)
        terrain = tuple(body for body in walked.scene if body.role == "terrain")
        return replace(walked, scene=(*avatar_scene(build_avatar(avatar)), *terrain))


def _description(scenario: Scenario, table: WalkingRobotTable) -> CheckedUrdf:
    if table.avatar is not None:
        return check_urdf(build_avatar(table.avatar).robot.urdf())
    return description_of(scenario, table, "robot")


def _starting_angles(scenario: Scenario, urdf: CheckedUrdf) -> dict[str, float]:
    """Return the start of all movable joints: as given, else the value nearest to zero in the joint's range."""
    ranges = joint_ranges(urdf)
    table = scenario.read(WalkingSimulate).initial
    given = _check_joint_table(scenario, "initial.joints", table.joints, ranges)
    for name, angle in given.items():
        low, high = ranges[name]
        if low < high and not low - _ROUNDED <= angle <= high + _ROUNDED:
            allowed = f"from {low:g} to {high:g} (rad or m), the joint's range"
            raise InputError(f"initial.joints.{name}", angle, allowed, scenario.file)
    return {name: float(np.clip(0.0, *limits)) for name, limits in ranges.items()} | given


def _lock_named_joints(scenario: Scenario, urdf: CheckedUrdf, angles: Mapping[str, float]) -> CheckedUrdf:
    """Return the robot with the joints that the file locks held at their `angles` (rad or m)."""
    table = scenario.read(WalkingSimulate).joints
    names: set[str] = set()
    for i, pattern in enumerate(table.locked):
        fitting = [name for name in angles if fnmatchcase(name, pattern)]
        if not fitting:
            rule = "the name of a joint, or a pattern that fits some: joints are " + ", ".join(angles)
            raise InputError(f"joints.locked[{i}]", pattern, rule, scenario.file)
        names.update(fitting)
    return lock_joints(urdf, {name: angles[name] for name in angles if name in names})


def foot_of(scenario: Scenario, name: str, table: RobotFootTable) -> Foot:
    """Return the foot of the table ``[feet.NAME]``."""
    key = f"feet.{name}"
    with error_context(key, scenario):
        if table.shape.type == "box":
            shape = geometry.Rounded(geometry.Box(table.shape.half_lengths), table.shape.rounding)
        elif table.shape.type == "flat":
            length, width = (2 * half for half in table.shape.half_lengths)
            shape = FlatPatch.rectangle(length, width)
        else:
            shape = shape_of(scenario, table.shape, f"{key}.shape")
        return Foot(shape, **table.values())


def _with_springs(scenario: Scenario, robot: RollingTree, angles: Mapping[str, float]) -> RollingTree:
    table = scenario.read(WalkingSimulate).joints
    given = [("stiffness", table.stiffness), ("damping", table.damping), ("target", {**angles, **table.target})]
    springs = []
    for key, value in given:
        values = value if isinstance(value, dict) else dict.fromkeys(angles, float(value))
        springs.append(_check_joint_table(scenario, f"joints.{key}", values, robot.joints))
    return robot.with_springs(*springs)


def _check_joint_table(
    scenario: Scenario, key: str, table: Mapping[str, float], joints: Collection[str]
) -> dict[str, float]:
    """Return a table by joints after checking the names."""
    for name in table:
        if name not in joints:
            raise InputError(f"{key}.{name}", table[name], "left out: joints are " + ", ".join(joints), scenario.file)
    return dict(table)


def _start(
    scenario: Scenario, robot: RollingTree, base: str, angles: Mapping[str, float], rates: Mapping[str, float]
) -> Start:
    initial = scenario.read(WalkingSimulate).initial
    turn = np.asarray(initial.quaternion)
    size = float(np.linalg.norm(turn))
    if not size > 1e-6:
        raise InputError("initial.quaternion", list(turn), "a quaternion that is not zero", scenario.file)
    pose = np.array([*initial.position, *(turn / size)])
    twist = (*initial.angular_velocity, *initial.velocity)
    contacts = _contacts(scenario, initial.contacts)
    moved = dict.fromkeys((base, *angles), "initial.position") | {"contacts": "initial.contacts", "rates": "initial"}
    with error_context("initial", scenario, moved | {part.name: "initial.position" for part in robot.parts}):
        if initial.clearance is not None:
            pose = _lift_base(robot, base, pose, angles, 0.0 if contacts else initial.clearance)
        return robot.place(rates={base: twist, **rates}, contacts=contacts, **{base: pose, **angles})


def _contacts(scenario: Scenario, names: tuple[str, ...]) -> list[str]:
    """Return the contacts of the feet `names`: a flat patch has one at each corner."""
    feet = scenario.read(WalkingSimulate).feet
    found = []
    for i, name in enumerate(names):
        if name not in feet:
            raise InputError(f"initial.contacts[{i}]", name, "one of " + ", ".join(feet), scenario.file)
        corners = 4 if feet[name].shape.type == "flat" else 0
        found += [f"{name}-{k + 1}" for k in range(corners)] or [name]
    return found


def _lift_base(
    robot: RollingTree, base: str, pose: np.ndarray, angles: Mapping[str, float], clearance: float
) -> np.ndarray:
    """Return the base's pose, moved along z so that the nearest foot is `clearance` (m) away from the ground.

    The height is corrected by the error of the gap, iteratively; if that fails (in a hollow, or from inside the
    ground), heights are tried from the lowest up.
    """
    far = 10.0 + abs(float(pose[2]))

    def error(height: float) -> float:
        """Return by how much (m) the nearest foot is too low at a height of the base; infinite without a gap."""
        gaps = _gaps(robot, base, np.array([*pose[:2], height, *pose[3:]]), angles)
        return clearance - min(gaps, default=-np.inf)

    height = float(pose[2])
    for _ in range(_LIFTS):
        left = error(height)
        if not np.isfinite(left):
            break
        if abs(left) < _LIFTED:
            return np.array([*pose[:2], height, *pose[3:]])
        height += float(np.clip(left, -far, far))
    tried = _heights(robot, base, pose, angles)
    errors = [error(height) for height in tried]
    for low, high, before, after in zip(tried, tried[1:], errors, errors[1:], strict=False):
        if before > 0 >= after:
            found = bisect(lambda height: np.clip(error(height), -1.0, 1.0), low, high, xtol=1e-13)
            return np.array([*pose[:2], float(found), *pose[3:]])
    raise InputError(
        "clearance",
        clearance,
        "left out, and position given: no height was found at which the feet are so far from the ground",
    )


def _gaps(robot: RollingTree, base: str, pose: np.ndarray, angles: Mapping[str, float]) -> list[float]:
    """Return the gaps (m) of all feet, or none where a foot has no nearest point."""
    x = robot.given_state(**{base: pose, **angles})
    seen = [nearest(robot.system, robot.system.first_atlas, x, i) for i in range(len(robot.parts))]
    gaps = [approach.gap for approach in seen if approach is not None]
    return gaps if len(gaps) == len(seen) else []


def _heights(robot: RollingTree, base: str, pose: np.ndarray, angles: Mapping[str, float]) -> np.ndarray:
    """Return heights of the base (m) at which its feet are around the ground's middle."""
    if robot.terrain is None:
        return np.zeros(0)
    model = robot.system.model()
    x = robot.given_state(**{base: pose, **angles})
    names = (robot.base, *(part.body for part in robot.parts))
    places = ca.Function("places", [model.x], [model.motions[name].p[2] for name in names])(x)
    ground, *feet = (float(place) for place in places)
    lowest, highest = min(feet) - pose[2], max(feet) - pose[2]
    reach = 2.0 * robot.terrain.reference_length
    return np.linspace(ground - reach - highest, ground + reach - lowest, _TRIED)


def _phases(run: Trajectory) -> list[str]:
    """Return which contacts touch at every sample."""
    names = np.array([str(name) for name in run["contact"]])
    touching = run["mode"] != SEPARATED.name
    return [" + ".join(names[row]) or "flight" for row in touching]
