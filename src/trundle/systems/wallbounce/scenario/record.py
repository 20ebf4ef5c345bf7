"""The record of a run of kind `wallbounce`: its variables over time, and what came of each trial."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from math import isfinite, nan
from typing import Annotated

import numpy as np

from trundle.checks import FloatArray
from trundle.records import Trajectory, Variable, View, column, read_trials
from trundle.status import Status
from trundle.systems.wallbounce.robot import BallBalancer

_V = ("time", "xyz")
_T = ("time",)
_J = ("time", "joint")
_H = ("time", "contact")
_P = ("time", "posture")
_POSTURE = ("x", "y", "yaw", "pitch", "roll", *(f"{side}_{i}" for side in ("left", "right") for i in (1, 2, 3)))

_VARIABLES: dict[str, Variable] = {
    "base_position": Variable(_V, "m", "world", "centre of the ball"),
    "base_velocity": Variable(_V, "m/s", "world", "velocity of the ball's centre"),
    "base_rpy": Variable(
        ("time", "rpy"), "rad", "world", "roll, pitch and yaw of the body: R = Rz(yaw) Ry(pitch) Rx(roll)"
    ),
    "joint_position": Variable(_J, "rad", "none", "angle of the arm's joint"),
    "hand_position": Variable((*_H, "xyz"), "m", "world", "centre of the hand"),
    "torso_distance": Variable(
        _T, "m", "world", "distance of the torso from walls and boxes, negative inside, at most 5"
    ),
    "hand_force_planned": Variable((*_H, "xyz"), "N", "world", "force on the hand that the low level feeds forward"),
    "hand_force_measured": Variable((*_H, "xyz"), "N", "world", "contact force on the hand"),
    "wall_distance": Variable(_H, "m", "world", "distance of the hand's surface from the nearest wall, at most 5"),
    "active_contact": Variable(_H, "1", "none", "1 where the plan in force has the hand in contact, else 0"),
    "solve_time_implicit": Variable(_T, "s", "none", "time the last contact-implicit plan took on this machine"),
    "solve_time_hybrid": Variable(_T, "s", "none", "time the last hybrid plan took on this machine"),
    "drive_force": Variable(_V, "N", "world", "force of the drive on the floor that is asked for", False),
    "push_force": Variable(_V, "N", "world", "force of the push on the body", False),
    "hand_speed_implicit": Variable(_H, "m/s", "world", "speed of the hand in the contact-implicit plan", False),
    "hand_speed_hybrid": Variable(_H, "m/s", "world", "speed of the hand in the hybrid plan", False),
    "hand_distance_implicit": Variable(_H, "m", "world", "distance to a wall in the contact-implicit plan", False),
    "hand_distance_hybrid": Variable(_H, "m", "world", "distance to a wall in the hybrid plan", False),
    "hand_press_implicit": Variable(_H, "N", "world", "normal force of the hand in the contact-implicit plan", False),
    "hand_press_hybrid": Variable(_H, "N", "world", "normal force of the hand in the hybrid plan", False),
    "hand_penetration_implicit": Variable(
        _H, "m", "world", "deepest in a wall at the contacts of the contact-implicit plan, all its stages", False
    ),
    "hand_penetration_hybrid": Variable(
        _H, "m", "world", "deepest in a wall at the contacts of the hybrid plan, all its stages", False
    ),
    "ahead_implicit": Variable(_P, "m or rad", "world", "posture planned 0.4 s ahead, contact-implicit", False),
    "ahead_hybrid": Variable(_P, "m or rad", "world", "posture planned 0.4 s ahead, hybrid", False),
}

VIEW = View("wallbounce", _VARIABLES, {"posture": _POSTURE})


@dataclass(frozen=True, eq=False)
class BalancerTrialResult:
    """What came of a trial; what it does not have is NaN or None."""

    status: Annotated[str, column("1", "how the trial ended")]
    reason: Annotated[str, column("1", "why it ended early")]
    torso_min: Annotated[float, column("m", "least distance of the torso from walls and boxes")]
    away: Annotated[float, column("m", "distance of the ball from the goal at the end")]
    away_late: Annotated[float, column("m", "largest distance of the ball from the goal over the last 4 s")]
    lean: Annotated[float, column("rad", "largest lean")]
    force_planned: Annotated[float, column("N", "largest planned force on a hand")]
    force_measured: Annotated[float, column("N", "largest measured force on a hand")]
    hand_used: Annotated[bool, column("1", "whether a hand ever felt more than 1 N")]
    plans_implicit: Annotated[int, column("1", "contact-implicit plans")]
    plans_hybrid: Annotated[int, column("1", "hybrid plans")]
    plans_late: Annotated[int, column("1", "plans that arrived when their horizon was over")]
    plans_rejected: Annotated[int, column("1", "plans that were not finite")]
    events: Annotated[int, column("1", "events, at which a plan is found by homotopy")]
    bad_measurements: Annotated[int, column("1", "measurements that were not finite")]
    without_plan: Annotated[int, column("1", "ticks of the low level without a plan")]
    path_time: Annotated[FloatArray, column("s", "times of path", "path_point")]
    path: Annotated[FloatArray, column("m", "way of the ball", "path_point", "xy", frame="world")]
    force_mismatch: Annotated[
        float, column("1", "median of |measured - planned| / planned where more than 3 N are planned")
    ] = nan
    solve_time_implicit: Annotated[float, column("s", "median time of a plan by warm start on this machine")] = nan
    solve_time_event: Annotated[float, column("s", "median time of a plan at an event on this machine")] = nan
    solve_time_hybrid: Annotated[float, column("s", "median time of a hybrid plan on this machine")] = nan
    push_impulse: Annotated[float, column("N s", "impulse of the push")] = nan
    push_length: Annotated[float, column("s", "duration of the push")] = nan
    push_heading: Annotated[float, column("rad", "direction of the push, from the x axis")] = nan
    push_height: Annotated[float, column("m", "where the push acts, above the ball's centre")] = nan
    push_start: Annotated[float, column("s", "when the push begins")] = nan
    push_bound: Annotated[float, column("N s", "largest impulse of such a push that the drive alone survives")] = nan
    speed: Annotated[float, column("m/s", "speed forward at the start of a trip")] = nan
    goal: Annotated[FloatArray | None, column("m", "goal of a trip at its end", "xy", frame="world")] = None
    boxes: Annotated[FloatArray | None, column("m", "centres of boxes, by number", "box", "xy", frame="world")] = None
    change: Annotated[float, column("s", "when the first box appeared or the goal moved, else 0")] = nan
    along: Annotated[float, column("m", "farthest way forward")] = nan
    late_contact: Annotated[float, column("s", "time of a hand on the wall later than 1 s after the change")] = nan
    lateral_time: Annotated[float, column("s", "time from the change to 0.25 m sideways")] = nan
    goal_time: Annotated[float, column("s", "time from the change to 0.25 m from the goal")] = nan
    peak_acceleration: Annotated[float, column("m/s2", "largest horizontal acceleration after the change")] = nan

    @property
    def fell(self) -> bool:
        """Whether the robot did not stay upright to the end."""
        return self.status != Status.SUCCESS.label

    @property
    def safe(self) -> bool:
        """Whether the trial ended upright and within 0.3 m of its goal, the torso never touching anything."""
        return not self.fell and self.torso_min > 0.0 and self.away <= 0.3

    @property
    def stays(self) -> bool:
        """Whether the robot was safe and stayed within 0.1 m of its goal over the last 4 s."""
        return self.safe and self.away_late <= 0.1

    @property
    def cleared(self) -> bool:
        """Whether the torso kept 2 cm from boxes and walls and the robot reached its goal."""
        return not self.fell and self.torso_min >= 0.02 and isfinite(self.goal_time)

    @property
    def as_wanted(self) -> bool:
        """Whether the robot got round the boxes where there are any, and else was safe."""
        return self.safe if self.boxes is None else self.cleared


def robot_numbers(robot: BallBalancer) -> dict[str, float | list[float] | str]:
    """Return the fields of a robot as a record's metadata hold them; `robot_of` reads them."""
    return {one.name: np.asarray(getattr(robot, one.name)).tolist() for one in fields(robot)}


def robot_of(run: Trajectory) -> BallBalancer:
    """Return the robot of a run, as the controller believes it; fields that the record lacks have their default."""
    return BallBalancer(**run.metadata["robot"])


def results(run: Trajectory) -> tuple[BalancerTrialResult, ...]:
    """Return what came of the trials of a run."""
    return read_trials(run, BalancerTrialResult)


def boxes(run: Trajectory) -> Iterator[tuple[FloatArray, FloatArray, float]]:
    """Yield centre (2,) and half sizes (3,), m, and time (s) of each box that appears in the trial that is shown."""
    centers = trial_of(run).boxes
    for center, box in zip(() if centers is None else centers, run.metadata["boxes"], strict=True):
        if np.isfinite(center).all():
            yield center, np.array(box["half_size"]), float(box["appears"])


def trial_of(run: Trajectory) -> BalancerTrialResult:
    """Return the result of the trial that the trajectory is."""
    return results(run)[int(run.metadata["shown"])]
