"""Goal poses in numbers, and how far a pose is from them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from trundle.checks import FloatArray, array, quaternion
from trundle.errors import InputError
from trundle.models.tree.conversion import pose_of, to_matrix, to_wxyz
from trundle.models.tree.system import Start
from trundle.models.tree.touching import contact_points
from trundle.systems.juggling.transfer.transfer import Goal, Transfer


@dataclass(frozen=True)
class Target:
    """The goal in numbers.

    Attributes
    ----------
    contact_on_hand : (d,) m, or None
    orientation : (d, d), or None
        R_world_object.
    hand_orientation : (d, d), or None
    hand_position : (d,) m, or None
    relative_velocity : (k,) rad/s, or None
        Angular, of the object relative to the hand, hand axes.
    hand_twist : (k + d,), or None
        Hand axes, angular first.
    velocity, angular_velocity : (d,) m/s, (k,) rad/s, or None
        Of the object, world.
    """

    contact_on_hand: FloatArray | None
    orientation: FloatArray | None
    hand_orientation: FloatArray | None
    hand_position: FloatArray | None
    relative_velocity: FloatArray | None = None
    hand_twist: FloatArray | None = None
    velocity: FloatArray | None = None
    angular_velocity: FloatArray | None = None


@dataclass(frozen=True)
class HandInstant:
    """Pose and velocities of object and hand at one time.

    Attributes
    ----------
    on_hand : (d,) m
        The contact, hand frame.
    R, R_hand : (d, d)
        World from body.
    p_hand : (d,) m
    w, v : (k,) rad/s, (d,) m/s
        Of the object's frame, world.
    hand_twist : (k + d,)
        Hand axes, angular first.
    """

    on_hand: FloatArray
    R: FloatArray
    R_hand: FloatArray
    p_hand: FloatArray
    w: FloatArray
    v: FloatArray
    hand_twist: FloatArray

    @property
    def relative_velocity(self) -> FloatArray:
        """Angular velocity (k,) of the object relative to the hand, hand axes, rad/s."""
        w = self.w if self.w.size == 1 else self.R_hand.T @ self.w
        return w - self.hand_twist[: self.w.size]


ERRORS = ("position", "rotation", "hand_rotation", "hand_position")
RATES = ("velocity", "angular_velocity", "hand_velocity", "hand_angular_velocity")


def goal_errors(target: Target, now: HandInstant) -> dict[str, float]:
    """Return how far an instant is from the goal; zero where the goal leaves it free.

    ``position`` (m, of the contact on the hand), ``rotation`` (rad, of the object), ``hand_rotation`` (rad),
    ``hand_position`` (m); ``velocity`` (m/s, of the object), ``angular_velocity`` (rad/s, of the object: relative to
    the hand, or in the world, as in the goal), ``hand_velocity`` (m/s), ``hand_angular_velocity`` (rad/s).
    """
    errors: dict[str, float] = dict.fromkeys((*ERRORS, *RATES), 0.0)
    k = now.w.size
    differences = {
        "position": (now.on_hand, target.contact_on_hand),
        "hand_position": (now.p_hand, target.hand_position),
        "velocity": (now.v, target.velocity),
        "angular_velocity": (now.relative_velocity, target.relative_velocity),
        "hand_velocity": (now.hand_twist[k:], None if target.hand_twist is None else target.hand_twist[k:]),
        "hand_angular_velocity": (now.hand_twist[:k], None if target.hand_twist is None else target.hand_twist[:k]),
    }
    for name, (found, wanted) in differences.items():
        if wanted is not None:
            errors[name] = float(np.linalg.norm(found - wanted))
    if target.angular_velocity is not None:
        missed = float(np.linalg.norm(now.w - target.angular_velocity))
        errors["angular_velocity"] = max(errors["angular_velocity"], missed)
    for name, found, wanted in (
        ("rotation", now.R, target.orientation),
        ("hand_rotation", now.R_hand, target.hand_orientation),
    ):
        if wanted is not None:
            errors[name] = angle_between(found, wanted)
    return errors


def angle_between(R: FloatArray, other: FloatArray) -> float:
    """Return the angle between two rotations (d, d), rad; accurate near 0 and near pi."""
    difference = np.asarray(other).T @ np.asarray(R)
    if len(difference) == 2:
        return float(abs(np.arctan2(difference[1, 0], difference[0, 0])))
    return float(Rotation.from_matrix(difference).magnitude())


def hand_angle(task: Transfer) -> float:
    """Return the hand's angle (rad) at the goal; plane."""
    if isinstance(task.goal.hand_angle, str):
        model = task.pair.system.model(task.start.atlas)
        return float(task.start.x[model.layout[f"{names_of(task)[1]}.orientation"]][0])
    return float(task.goal.hand_angle)


def names_of(task: Transfer) -> tuple[str, str]:
    """Return the names of the object and of the hand in the models."""
    contact_pair = task.pair.system.contact_pairs[0]
    return contact_pair.body_A, contact_pair.body_B


def hand_pose(task: Transfer) -> tuple[FloatArray, FloatArray]:
    """Return the hand's position (d,) and rotation (d, d) at the start."""
    layout, hand = task.pair.system.model(task.start.atlas).layout, names_of(task)[1]
    return task.start.x[layout[f"{hand}.position"]], to_matrix(task.start.x[layout[f"{hand}.orientation"]])


def goal_of_start(task: Transfer) -> Goal:
    """Return the goal with the hand's pose in numbers where it is that of the start: the goal from other starts."""
    p, R = hand_pose(task)
    held = {"hand_position": p.tolist()} | ({"hand_angle": hand_angle(task)} if task.d == 2 else {"hand_rpy": _rpy(R)})
    return replace(
        task.goal, **{name: value for name, value in held.items() if str(getattr(task.goal, name)) == "start"}
    )


def make_target(task: Transfer, p: FloatArray, R: FloatArray) -> tuple[Target, Start | None]:
    """Return the goal in numbers, and a start of the user's pair at it where that is determined."""
    goal, d = task.goal, task.d
    position, orientation = p, R
    hand_position = None if goal.hand_position == "free" else p
    if not isinstance(goal.hand_position, str):
        position = hand_position = array("goal.hand_position", goal.hand_position, (d,), unit="m")
    which = goal.hand_angle if d == 2 else goal.hand_rpy
    if not isinstance(which, str):
        orientation = _given_orientation(goal, d)
    hand_orientation = None if isinstance(which, str) and which == "free" else orientation
    goal = _returning(task, R)
    contact = None if goal.contact_on_hand is None else array("goal.contact_on_hand", goal.contact_on_hand, (d,))
    if not goal.posed and not goal.release:
        raise InputError("goal", goal, "a contact_on_hand, an object_quaternion or an object_angle")
    object_orientation = None
    if d == 3 and goal.object_quaternion is not None:
        object_orientation = to_matrix(quaternion("goal.object_quaternion", goal.object_quaternion))
    elif d == 2 and goal.object_angle is not None:
        object_orientation = to_matrix(np.array([float(goal.object_angle)]))
    placed = None
    if d == 3 and contact is not None:
        hand = replace(task.pair.base, position=position, rpy=_rpy(orientation), twist=(0.0,) * 6)
        turn = {} if goal.object_quaternion is None else {"object_quaternion": goal.object_quaternion}
        placed_pair = replace(task.pair, base=hand)
        try:
            placed = placed_pair.place(contact_on_hand=contact, **turn)
        except InputError as error:
            raise error.within("goal") from None
        contact = contact_points(placed_pair.system, placed.atlas, placed.x, 0)[1]
    return Target(contact, object_orientation, hand_orientation, hand_position, **_rates(goal, d)), placed


def _returning(task: Transfer, R: FloatArray) -> Goal:
    """Return the goal with the start's pose, where a periodic one gives none."""
    goal, start = task.goal, task.start
    if not goal.periodic or goal.posed:
        return goal
    contact = contact_points(task.pair.system, start.atlas, start.x, 0)[1]
    if task.d == 2:
        return replace(goal, contact_on_hand=contact)
    orientation = pose_of(task.pair.system.model(start.atlas), start.x, names_of(task)[0])[0]
    if not isinstance(goal.hand_rpy, str):
        orientation = _given_orientation(goal, 3) @ R.T @ orientation
    return replace(goal, contact_on_hand=contact, object_quaternion=to_wxyz(orientation))


def _rates(goal: Goal, d: int) -> dict[str, FloatArray]:
    """Return the velocities of the goal; those of a periodic one are the start's, which is not known here."""
    k = 1 if d == 2 else 3
    relative, rates = goal.relative_angular_velocity, {}
    if relative is not None:
        relative = np.atleast_1d(relative)
        rates["relative_velocity"] = array("goal.relative_angular_velocity", relative, (k,), unit="rad/s")
    elif not goal.release and not goal.periodic:
        rates["relative_velocity"] = np.zeros(k)
    if goal.rests:
        rates["hand_twist"] = np.zeros(k + d)
    for name, given, size, unit in (
        ("velocity", goal.object_velocity, d, "m/s"),
        ("angular_velocity", goal.object_angular_velocity, k, "rad/s"),
    ):
        if given is not None:
            rates[name] = array(f"goal.object_{name}", np.atleast_1d(given), (size,), unit=unit)
    return rates


def _given_orientation(goal: Goal, d: int) -> FloatArray:
    if d == 2:
        return to_matrix(np.array([float(goal.hand_angle)]))
    roll, pitch, yaw = array("goal.hand_rpy", goal.hand_rpy, (3,), unit="rad")
    return Rotation.from_euler("ZYX", [yaw, pitch, roll]).as_matrix()


def _rpy(R: FloatArray) -> tuple[float, float, float]:
    yaw, pitch, roll = Rotation.from_matrix(R).as_euler("ZYX")
    return float(roll), float(pitch), float(yaw)
