"""Goal poses in numbers, and how far a pose is from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from trundle.checks import FloatArray, array
from trundle.errors import InputError
from trundle.models.conversion import to_matrix
from trundle.models.system import Start
from trundle.models.touching import contact_points
from trundle.plan.transfer import Goal, Transfer


@dataclass(frozen=True)
class Target:
    """The goal in numbers.

    Attributes
    ----------
    contact_on_hand : (d,) m, or None
    turn : (d, d), or None
        R_world_object.
    hand_turn : (d, d), or None
    hand_position : (d,) m, or None
    """

    contact_on_hand: FloatArray | None
    turn: FloatArray | None
    hand_turn: FloatArray | None
    hand_position: FloatArray | None


def pose_errors(
    target: Target, on_hand: FloatArray, R: FloatArray, R_hand: FloatArray, p_hand: FloatArray
) -> dict[str, float]:
    """Return how far a pose is from the goal.

    ``position`` (m, of the contact on the hand), ``rotation`` (deg, of the object), ``hand_rotation`` (deg),
    ``hand_position`` (m); zero where the goal leaves it free.
    """
    errors: dict[str, float] = dict.fromkeys(("position", "rotation", "hand_rotation", "hand_position"), 0.0)
    if target.contact_on_hand is not None:
        errors["position"] = float(np.linalg.norm(on_hand - target.contact_on_hand))
    if target.turn is not None:
        errors["rotation"] = angle_between(R, target.turn)
    if target.hand_turn is not None:
        errors["hand_rotation"] = angle_between(R_hand, target.hand_turn)
    if target.hand_position is not None:
        errors["hand_position"] = float(np.linalg.norm(p_hand - target.hand_position))
    return errors


def angle_between(R: FloatArray, other: FloatArray) -> float:
    """Return the angle between two rotations (d, d), deg; accurate near 0 and near 180."""
    difference = np.asarray(other).T @ np.asarray(R)
    if len(difference) == 2:
        return float(abs(np.degrees(np.arctan2(difference[1, 0], difference[0, 0]))))
    return float(np.degrees(Rotation.from_matrix(difference).magnitude()))


def hand_angle(task: Transfer) -> float:
    """Return the hand's angle (rad) at the goal; plane."""
    if isinstance(task.goal.hand_angle, str):
        model = task.pair.system.model(task.start.atlas)
        return float(task.start.x[model.layout[f"{names_of(task)[1]}.turn"]][0])
    return float(task.goal.hand_angle)


def names_of(task: Transfer) -> tuple[str, str]:
    """Return the names of the object and of the hand in the models."""
    meeting = task.pair.system.meetings[0]
    return meeting.body_A, meeting.body_B


def hand_pose(task: Transfer) -> tuple[FloatArray, FloatArray]:
    """Return the hand's position (d,) and rotation (d, d) at the start."""
    layout, hand = task.pair.system.model(task.start.atlas).layout, names_of(task)[1]
    return task.start.x[layout[f"{hand}.position"]], to_matrix(task.start.x[layout[f"{hand}.turn"]])


def make_target(task: Transfer, p: FloatArray, R: FloatArray) -> tuple[Target, Start | None]:
    """Return the goal in numbers, and a start of the user's pair at it where that is determined."""
    goal, d = task.goal, task.d
    position, turn = p, R
    hand_position = None if goal.hand_position == "free" else p
    if not isinstance(goal.hand_position, str):
        position = hand_position = array("goal.hand_position", goal.hand_position, (d,), unit="m")
    which = goal.hand_angle if d == 2 else goal.hand_rpy
    if not isinstance(which, str):
        turn = _given_turn(goal, d)
    hand_turn = None if isinstance(which, str) and which == "free" else turn
    contact = None if goal.contact_on_hand is None else array("goal.contact_on_hand", goal.contact_on_hand, (d,))
    if goal.contact_on_hand is None and goal.object_quaternion is None and goal.object_angle is None:
        raise InputError("goal", goal, "a contact_on_hand, an object_quaternion or an object_angle")
    object_turn = None
    if d == 3 and goal.object_quaternion is not None:
        object_turn = to_matrix(array("goal.object_quaternion", goal.object_quaternion, (4,)))
    elif d == 2 and goal.object_angle is not None:
        object_turn = to_matrix(np.array([float(goal.object_angle)]))
    placed = None
    if d == 3 and contact is not None:
        hand = replace(task.pair.base, position=position, rpy=_rpy(turn), twist=(0.0,) * 6)
        keywords: dict[str, Any] = {"contact_on_hand": contact}
        if goal.object_quaternion is not None:
            keywords["object_quaternion"] = goal.object_quaternion
        placed_pair = replace(task.pair, base=hand)
        try:
            placed = placed_pair.place(**keywords)
        except InputError as error:
            raise error.within("goal") from None
        contact = contact_points(placed_pair.system, placed.atlas, placed.x, 0)[1]
    return Target(contact, object_turn, hand_turn, hand_position), placed


def _given_turn(goal: Goal, d: int) -> FloatArray:
    if d == 2:
        return to_matrix(np.array([float(goal.hand_angle)]))
    roll, pitch, yaw = array("goal.hand_rpy", goal.hand_rpy, (3,), unit="rad")
    return Rotation.from_euler("ZYX", [yaw, pitch, roll]).as_matrix()


def _rpy(R: FloatArray) -> tuple[float, float, float]:
    yaw, pitch, roll = Rotation.from_matrix(R).as_euler("ZYX")
    return float(roll), float(pitch), float(yaw)
