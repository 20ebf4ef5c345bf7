"""A legged robot as a controller and a plant know it: its tree, soles, hands, posture and drives."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from trundle.checks import FloatArray, choice, inside, instance
from trundle.contact.packed import FrameMotion
from trundle.contact.patch import FlatPatch
from trundle.errors import InputError
from trundle.models.brief import brief
from trundle.models.robots.capsules import Clearance, read_clearance
from trundle.models.robots.ends import BallHand, Pad, from_table
from trundle.models.robots.joint_patterns import by_joint, check_patterns
from trundle.models.robots.servo import SensorNoise, Servo
from trundle.models.urdf.articulated import Articulated
from trundle.models.urdf.checks import CheckedUrdf, load_urdf
from trundle.models.urdf.examples import example_robots, load_example_robot
from trundle.models.urdf.lock import joint_ranges, lock_joints
from trundle.models.urdf.meshes import mesh_files
from trundle.numerics.rotations import quaternion_of, rotation_z
from trundle.records.whole import read_bytes
from trundle.threads import cached_property

_BYTES = 1_000_000  # of an untrusted file
HUMANOIDS = ("g1", "talos")
"""Robots that come with a file of their own."""
_OF_ROBOT = ("name", "urdf", "licence", "notice", "base", "locked")
_TABLES = ("robot", "feet", "hands", "pads", "posture", "armature", "stiffness", "clearance", "postures", "servo")
_TABLES += ("sensors",)

_OUT_OF_GROUND = {"inward": (0.0, 0.0, 1.0)}  # of a sole, unless it is said
_ROTOR = 2e-4  # kg m2 a N m of a joint's torque: 1.8e-4 of the knee of the G1, 2.1e-4 of its ankle
_HOLDING = 6  # joints that hold a sole at a place and an attitude
_ROUNDED = 0.01  # rad, by which an angle of the file may be beyond a limit
_LEVEL = 0.95  # of a unit axis: the least part along x or y of a joint that counts as an ankle about it
_LEAST = 0.1  # of half a sole's side: the least that an ankle must allow


@dataclass(frozen=True, repr=False)
class Humanoid:
    """A robot with feet (final); arrays (n,) are in the order of `Articulated.joints`.

    Parameters
    ----------
    name, licence : str
    notice : str
        What the licence asks to go with its meshes, in pages that show them; empty: they are not shown.
    base : str
        Link whose attitude an inertial sensor tells and a controller steers; the root of the description.
    urdf : CheckedUrdf
    feet : mapping of str to Pad
    hands : mapping of str to BallHand or Pad
    pads : mapping of str to Pad
        What hands may hold things with instead, see `gripping`.
    posture : (n,) rad
        Of a start; the zero configuration of a robot is rarely one.
    armature : (n,) kg m2
        Inertia of rotors and gears about the joints; empty: in proportion to their torques, as the G1's nearly are.
    stiffness : (n,)
        Of the posture, against that of a leg.
    clearance : Clearance, optional
        Limbs that a controller may keep apart.
    postures : mapping of str to mapping
        Named changes of the posture, see `with_posture`.
    servo : mapping of str to mapping
        "stiffness" (N m/rad) and "damping" (N m s/rad) of joints that are position controlled; empty: they are not.
    sensors : SensorNoise
        Of its joints, base, soles and hands, unless a scenario says otherwise.
    limited : bool
        False: without the limits of its joints, to see what they would have to do.

    Raises
    ------
    InputError
        For a link or joint that it does not have, a sole that less than six joints move, or a posture beyond the limits
        of a joint: all but that of the pattern "*", which is moved to the nearest one.
    """

    name: str
    licence: str
    notice: str
    base: str
    urdf: CheckedUrdf
    feet: Mapping[str, Pad]
    hands: Mapping[str, BallHand | Pad]
    posture: Mapping[str, float]
    armature: Mapping[str, float] = field(default_factory=dict)
    stiffness: Mapping[str, float] = field(default_factory=lambda: {"*": 1.0})
    pads: Mapping[str, Pad] = field(default_factory=dict)
    clearance: Clearance | None = None
    postures: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    servo: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    sensors: SensorNoise = field(default_factory=SensorNoise)
    limited: bool = True
    robot: Articulated = field(init=False, repr=False, compare=False)

    def __repr__(self) -> str:
        """Return joints, feet and hands in one line."""
        return brief(self, self.name, joints=self.robot.joints, feet=self.feet, hands=self.hands)

    def __post_init__(self) -> None:
        plain = Articulated(self.urdf)
        limit = plain.torque_limit
        rotors = np.where(np.isfinite(limit), _ROTOR * limit, 0.0)
        if self.armature:
            rotors = by_joint("armature", self.armature, plain.joints, minimum=0.0)
        object.__setattr__(self, "robot", Articulated(self.urdf, armature=rotors, limited=self.limited))
        choice("robot.base", self.base, self.urdf.links)
        if len(self.feet) < 1:
            raise InputError("feet", self.feet, "at least one")
        for group in ("feet", "hands", "pads"):
            for name, end in getattr(self, group).items():
                choice(f"{group}.{name}.link", end.link, self.urdf.links)
        for name, capsule in (self.clearance.capsules if self.clearance else {}).items():
            choice(f"clearance.capsules.{name}.link", capsule.link, self.urdf.links)
        for name, sole in self.feet.items():
            own = [self.robot.joints[i - 1] for i in self.robot.path(sole.link)]
            if len(own) < _HOLDING:
                allowed = f"a link that {_HOLDING} joints or more move, to hold a sole flat, unlike {len(own)}: "
                raise InputError(f"feet.{name}.link", sole.link, allowed + (", ".join(own) or "none"))
        _ = self.joint_posture, self.joint_stiffness
        for name, changes in self.postures.items():
            check_patterns(f"postures.{name}", changes, self.robot.joints)
        if self.servo:
            _ = self.drives

    @cached_property
    def ends(self) -> dict[str, tuple[str, FloatArray]]:
        """Link and point (3,) m of everything that may touch: "left_foot", "right_hand", ..., feet first."""
        feet = {f"{name}_foot": (sole.link, sole.at) for name, sole in self.feet.items()}
        return feet | {f"{name}_hand": (palm.link, palm.at) for name, palm in self.hands.items()}

    @cached_property
    def radii(self) -> dict[str, float]:
        """Radius (m) of the ball of each hand that is one, by the name of its end."""
        return {f"{name}_hand": hand.radius for name, hand in self.hands.items() if isinstance(hand, BallHand)}

    @cached_property
    def joint_posture(self) -> FloatArray:
        """The posture (n,), rad, within the limits of the joints."""
        robot = self.robot
        angles = by_joint("posture", self.posture, robot.joints)
        within = np.clip(angles, robot.lower, robot.upper)
        for i in np.flatnonzero(np.abs(angles - within) > _ROUNDED):
            if any(fnmatchcase(robot.joints[i], pattern) for pattern in self.posture if pattern != "*"):
                allowed = f"within the limits of the joint, {robot.lower[i]:.4g} to {robot.upper[i]:.4g} (rad)"
                raise InputError(f"posture.{robot.joints[i]}", float(angles[i]), allowed)
        return within

    @cached_property
    def joint_armature(self) -> FloatArray:
        """The armature (n,), kg m2."""
        return self.robot.armature

    @cached_property
    def joint_stiffness(self) -> FloatArray:
        """The stiffness (n,) of the posture."""
        return by_joint("stiffness", self.stiffness, self.robot.joints, minimum=0.0)

    @cached_property
    def drives(self) -> Servo:
        """The drives of position-controlled joints.

        Raises
        ------
        InputError
            If the robot's file does not say how stiff and how damped they are.
        """
        if set(self.servo) != {"stiffness", "damping"}:
            allowed = f"with the tables servo.stiffness and servo.damping in the file of {self.name}"
            raise InputError("servo", sorted(self.servo), allowed)
        stiffness, damping = (
            by_joint(f"servo.{key}", self.servo[key], self.robot.joints) for key in ("stiffness", "damping")
        )
        return Servo(stiffness, damping, self.robot.torque_limit)

    @cached_property
    def R_ahead_base(self) -> FloatArray:  # noqa: N802
        """Axes (3, 3) of the base of the robot that stands with its soles pointing along x: root links may look back.

        R = Rz(-yaw) R_up, from the soles' axes in the posture: R_up turns the axis of the base that is nearest to their
        mean z axis to the vertical, yaw is that of their mean x axis then.
        """
        q = self.robot.neutral
        q[7:] = self.joint_posture
        feet = [motion.R for name, motion in self.placed_ends(q).items() if name.endswith("_foot")]
        ahead, _, up = np.sum(feet, axis=0).T
        nearest = int(np.argmax(np.abs(up)))
        R_up = np.diag([1.0, *[np.sign(up[nearest])] * 2]) @ np.roll(np.eye(3), 2 - nearest, axis=0)
        x, y, _ = R_up @ ahead
        return rotation_z(-float(np.arctan2(y, x))) @ R_up

    def standing(self) -> FloatArray:
        """Return q (nq,) in the posture, the base upright, the middle of the soles at the origin, ahead along x."""
        q = self.robot.neutral
        q[3:7], q[7:] = quaternion_of(self.R_ahead_base), self.joint_posture
        motions = self.placed_ends(q)
        q[:3] -= np.mean([motion.p for name, motion in motions.items() if name.endswith("_foot")], axis=0)
        return q

    @cached_property
    def links(self) -> tuple[str, ...]:
        """Links of all ends, in their order."""
        return tuple(link for link, _ in self.ends.values())

    def end_motions(self, motions: Sequence[FrameMotion]) -> dict[str, FrameMotion]:
        """Return the motions of all ends, in their own axes (balls: those of their links), from those of `links`."""
        moved = {name: motion.at(at) for (name, (_, at)), motion in zip(self.ends.items(), motions, strict=True)}
        for name, turn in self.pad_axes.items():
            moved[name] = replace(moved[name], R=moved[name].R @ turn)
        return moved

    def placed_ends(self, q: FloatArray) -> dict[str, FrameMotion]:
        """Return the motions of all ends in the state q (nq,) at rest, as `end_motions`."""
        return self.end_motions(self.robot.terms(q, np.zeros(self.robot.nv), self.links).motions)

    @cached_property
    def pad_axes(self) -> dict[str, FloatArray]:
        """Axes (3, 3) of the ends that are flat, in those of their links."""
        feet = {f"{name}_foot": sole.R_link_pad for name, sole in self.feet.items()}
        return feet | {f"{name}_hand": pad.R_link_pad for name, pad in self.hands.items() if isinstance(pad, Pad)}

    def ankle_reach(self, foot: str, torque_part: float = 1.0) -> FloatArray:
        """Return where along its x and y axes a sole may bear the whole weight, [[low, high], [low, high]] m.

        A force m g at the point c of the sole turns the ankle by m g |c - o| across the joint's axis, o a point of the
        axis: |c - o| <= torque_part tau_max / (m g). The joints nearest the sole count, one along x and one along y;
        without one there is no limit. From the middle of the sole, in its axes.
        """
        sole, robot, found = self.feet[foot], self.robot, np.tile([-np.inf, np.inf], (2, 1))
        bodies, weight = robot.bodies(), robot.mass * float(np.linalg.norm(robot.gravity))
        i, R_joint_link, p = robot.place_on_body(sole.link)
        R = (R_joint_link @ sole.R_link_pad).T  # of the joint's frame in the sole's axes, all joints at zero
        o = -R @ (p + R_joint_link @ sole.at)  # its origin
        while i > 0 and not bodies[i].slides:
            axis, above = R @ bodies[i].axis, bodies[i].R.T
            along = next((k for k in (0, 1) if abs(axis[1 - k]) > _LEVEL), None)
            if along is None or np.isfinite(found[along]).all():
                break
            room = torque_part * float(robot.torque_limit[i - 1]) / (weight * abs(float(axis[1 - along])))
            found[along] = o[along] - room, o[along] + room
            R, o, i = R @ above, o - R @ above @ bodies[i].p, bodies[i].parent
        return found

    def loadable(self, foot: str, friction: float, part: float = 1.0, torque_part: float = 1.0) -> FlatPatch:
        """Return the patch of a sole, its sides shrunk to `part`, as far as `ankle_reach` has it.

        Raises
        ------
        InputError
            If the ankle cannot bear the weight anywhere on the sole.
        """
        sole, reach = self.feet[foot], self.ankle_reach(foot, torque_part)
        half = 0.5 * part * np.array([sole.length, sole.width])
        low, high = np.maximum(-half, reach[:, 0]), np.minimum(half, reach[:, 1])
        if np.any(high - low < _LEAST * half):
            allowed = "a sole under an ankle whose torque can bear the robot's weight there"
            raise InputError("loadable", [sole.length, sole.width], f"{allowed}: foot {foot!r} of {self.name}")
        length, width = (high - low).tolist()
        return FlatPatch.rectangle(length, width, friction, ((low + high) / 2).tolist())

    def with_posture(self, posture: str = "", changes: Mapping[str, float] | None = None) -> Humanoid:
        """Return the same robot in one of its `postures` (none: its own), `changes` (rad, by joint or pattern) on top.

        Raises
        ------
        InputError
            If it has no such posture, or a pattern fits no joint (key "posture.<pattern>").
        """
        if posture and posture not in self.postures:
            names = ", ".join(map(repr, self.postures)) or "it has none"
            raise InputError("pose", posture, f"one of the postures in the robot's file: {names}")
        given = changes or {}
        check_patterns("posture", given, self.robot.joints)
        new = {**given, **(self.postures[posture] if posture else {}), **given}
        return replace(self, posture={**new, **self.posture, **new}) if new else self

    def gripping(self) -> Humanoid:
        """Return the same robot that touches with the pads of its hands instead of their balls.

        Raises
        ------
        InputError
            If it has no pads "left" and "right".
        """
        if set(self.pads) != {"left", "right"}:
            raise InputError("pads", sorted(self.pads), "the pads 'left' and 'right' of a robot that holds things")
        return replace(self, hands=self.pads)


def load_humanoid(name: str | Path) -> Humanoid:
    """Return a robot of `HUMANOIDS`, or that of a TOML file of the same form.

    Raises
    ------
    InputError
        For an unknown robot, a file that is not complete, or a link or joint that the description does not have.
    MissingExtraError
        If Pinocchio or example-robot-data is not installed.
    """
    if str(name) in HUMANOIDS:
        return _read((files("trundle.models.robots") / f"humanoids/{name}.toml").read_text("utf-8"), str(name), None)
    path = Path(name)
    if path.suffix != ".toml" or not path.is_file():
        raise InputError("robot", str(name), "a TOML file, or one of " + ", ".join(map(repr, HUMANOIDS)))
    try:
        return _read(read_bytes(path, _BYTES, "robot", str(name)).decode("utf-8"), path.stem, path.parent)
    except UnicodeDecodeError as error:
        raise InputError("robot", str(name), f"a text in UTF-8 that can be read ({error})") from None
    except InputError as error:
        raise error.within("", str(path)) if error.file is None else error from None


def files_beside(path: Path) -> tuple[str, ...]:
    """Return the files that a robot's TOML file needs, the URDF and its meshes, by their names from its folder."""
    found = []
    with suppress(OSError, ValueError, LookupError, TypeError, RecursionError):  # told where the robot is made
        source = tomllib.loads(path.read_text(encoding="utf-8"))["robot"]["urdf"]
        if inside("robot.urdf", source, [path.parent], "").is_file():
            found.append(path.parent / source)
            urdf = load_urdf(found[0], [path.parent], meshes=False, repair=True)
            found += [file for _, _, file in mesh_files(urdf)]
    return tuple(dict.fromkeys(os.path.relpath(one, path.parent) for one in found))


def _description(source: str, folder: Path | None) -> CheckedUrdf:
    """Return an installed robot's description, or that of a file in the folder; its meshes lie in the folder too."""
    if folder is not None and source not in example_robots():
        place = inside("robot.urdf", source, [folder], "a name of example-robot-data, or a file in this one's folder")
        if place.is_file() or place.suffix == ".urdf":
            return load_urdf(folder / source, [folder], meshes=False, repair=True)
    return load_example_robot(source)


def _read(text: str, name: str, folder: Path | None) -> Humanoid:
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also integers of thousands of digits
        raise InputError("robot", name, f"a TOML file ({error})") from None
    for key in data:
        if key not in _TABLES:
            raise InputError(key, data[key], "one of the tables " + ", ".join(_TABLES))
    robot = _table(data, "robot")
    for key in robot:
        choice(f"robot.{key}", key, _OF_ROBOT)
    source = instance("robot.urdf", robot.get("urdf"), str, "a name of example-robot-data or a path")
    urdf = _description(source, folder)
    ends: dict[str, dict[str, Any]] = {"feet": {}, "hands": {}, "pads": {}}
    for group, kind, own in (("feet", Pad, _OUT_OF_GROUND), ("hands", BallHand, None), ("pads", Pad, None)):
        for end, given in _table(data, group, optional=group != "feet").items():
            ends[group][end] = from_table(kind, f"{group}.{end}", given, own)
    tables: dict[str, Any] = {"posture": _table(data, "posture")}
    tables |= {key: _table(data, key) for key in ("armature", "stiffness") if key in data}
    for group in ("postures", "servo"):
        named = _table(data, group, optional=True)
        tables[group] = {key: _table(named, key) for key in named}
    locked = _locked_joints(urdf, robot.get("locked", []), tables["posture"])
    urdf = lock_joints(urdf, locked)
    for table in [tables[key] for key in ("posture", "armature", "stiffness") if key in tables]:
        for pattern in [p for p in table if p in locked]:
            del table[pattern]
    if "clearance" in data:
        try:
            tables["clearance"] = read_clearance(_table(data, "clearance"))
        except InputError as error:
            raise error.within("clearance") from None
    tables["sensors"] = from_table(SensorNoise, "sensors", _table(data, "sensors", optional=True))
    said = {"name": name, "licence": "", "notice": "", "base": urdf.root}
    said |= {key: robot[key] for key in said if key in robot}
    for key, value in said.items():
        instance(f"robot.{key}", value, str, "a text")
    return Humanoid(**said, urdf=urdf, **ends, **tables)


def _locked_joints(urdf: CheckedUrdf, patterns: object, posture: Mapping[str, float]) -> dict[str, float]:
    """Return the joints that `patterns` fit, with their angles in the posture (zero where it has none)."""
    moving, angles = joint_ranges(urdf), {}
    for i, pattern in enumerate(instance("robot.locked", patterns, list, "a list of joints' names or patterns")):
        name = instance(f"robot.locked[{i}]", pattern, str, "a joint's name or a pattern")
        found = [joint for joint in moving if fnmatchcase(joint, name)]
        if not found:
            raise InputError(f"robot.locked[{i}]", pattern, "a joint that moves, by its name or a pattern that fits")
        angles |= {joint: next((v for p, v in posture.items() if fnmatchcase(joint, p)), 0.0) for joint in found}
    return angles


def _table(data: Mapping[str, Any], key: str, optional: bool = False) -> Mapping[str, Any]:
    return instance(key, data.get(key, {} if optional else None), Mapping, "a table")
