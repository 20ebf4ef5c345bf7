"""Goals of planned and controlled runs as arguments of the library, and whether a run reached its goal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NotRequired, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from trundle.models import RollingPair
from trundle.models.tree.touching import contact_points
from trundle.records import Trajectory
from trundle.status import Status
from trundle.systems.juggling.scenario.build import counter_clockwise, initial, xz
from trundle.systems.juggling.scenario.schema_control import Controlled
from trundle.systems.juggling.scenario.schema_goals import TransferGoalTable
from trundle.systems.juggling.transfer.transfer import Goal


class GoalPose(TypedDict):
    """The goal as metrics read it: contact (3,) m, quaternion (w, x, y, z), angle (rad); None: left free."""

    contact_on_hand: Sequence[float] | None
    object_quaternion: Sequence[float] | None
    object_angle: float | None
    object_velocity: NotRequired[Sequence[float]]
    object_angular_velocity: NotRequired[Sequence[float]]
    relative_angular_velocity: NotRequired[Sequence[float]]
    periodic: NotRequired[bool]


def transfer_goal(table: TransferGoalTable, d: int) -> dict[str, Any]:
    """Return the goal of a transfer as arguments of `trundle.juggling.Goal`; what is left out stays as at the start."""
    given = {key: value for key, value in table.values(Goal).items() if value is not None}
    hands = ("hand_position", "hand_angle" if d == 2 else "hand_rpy")
    given |= {key: "start" if getattr(table, key) is None else getattr(table, key) for key in hands}
    if d == 3:
        return given
    for key, value in given.items():
        if isinstance(value, tuple):
            given[key] = counter_clockwise(value) if key.endswith("angular_velocity") else xz(value)
    return given


def resting_pose(tables: Controlled, d: int) -> dict[str, ArrayLike]:
    """Return the keyword arguments of `place` for the goal, at rest; what is left out is as at the start."""
    given = initial(tables.initial, d == 2)
    goal = tables.goal
    if goal.contact_on_hand is not None:
        given["contact_on_hand"] = xz(goal.contact_on_hand) if d == 2 else goal.contact_on_hand
    if d == 2 and goal.object_angle is not None:
        given["object_angle"] = goal.object_angle
    if d == 3 and goal.object_quaternion is not None:
        given["object_quaternion"] = goal.object_quaternion
    given["object_angular_velocity"] = 0.0 if d == 2 else (0.0, 0.0, 0.0)
    return given


def goal_pose(tables: Controlled, pair: RollingPair) -> GoalPose:
    """Return the goal as metrics read it: ``contact_on_hand`` (3,) m, ``object_quaternion``, ``object_angle``.

    None stands for what the goal leaves free; velocities (3,), m/s and rad/s, are there where the goal has them.
    """
    goal, contact = tables.goal, None
    if goal.contact_on_hand is not None:
        start = pair.place(**resting_pose(tables, pair.d))
        contact = np.asarray(contact_points(pair.system, start.atlas, start.x, 0)[1], dtype=np.float64).tolist()
        contact = [contact[0], 0.0, contact[1]] if pair.d == 2 else contact
    pose: GoalPose = {
        "contact_on_hand": contact,
        "object_quaternion": goal.object_quaternion,
        "object_angle": goal.object_angle,
    }
    for key in ("object_velocity", "object_angular_velocity", "relative_angular_velocity"):
        value = getattr(goal, key)
        if value is not None:
            pose[key] = list(value) if isinstance(value, tuple) else [0.0, -value, 0.0]
    if goal.periodic:
        pose["periodic"] = True
    return pose


def judge_goal(run: Trajectory, tables: Controlled, hold: float = np.inf) -> Trajectory:
    """Return the run; if it succeeded without being at its goal at the end, with the status goal-not-reached.

    The end is the last half second, or the last `hold` (s), if that is shorter; of a goal in motion it is the last
    instant. In the plane rolling couples contact
    and angle: the one that is not fed back is not checked.
    """
    from trundle.systems.juggling.scenario.metrics import SETTLED, missed_goal, missed_rates

    if tables.goal.moving:
        missed = missed_rates(run)
        return _missing(run, missed) if missed and run.status is Status.SUCCESS else run
    tied = {"rotation": "contact_on_hand", "contact": "object_angle"}[tables.controller.rolled]
    missed = (
        missed_goal(run, min(hold, SETTLED), tied if tables.planar else "")
        if run.status in (Status.SUCCESS, Status.REST)
        else ""
    )
    if not missed:
        return run
    return _missing(run, missed)


def _missing(run: Trajectory, missed: str) -> Trajectory:
    return replace(run, status=Status.GOAL_NOT_REACHED, metadata=dict(run.metadata) | {"message": missed})


def finite(value: Any) -> Any:
    """Return nested mappings and lists with None where a number is not finite: files cannot store such numbers."""
    if isinstance(value, Mapping):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float | np.floating) and not np.isfinite(value) else value
