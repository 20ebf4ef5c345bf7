"""The record of a run of kind `multicontact`: its variables over time, and what came of each trial."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import Annotated

from trundle.checks import FloatArray
from trundle.records import ROBOT, Trajectory, Variable, View, column, read_trials

_V = ("time", "xyz")
_Q = ("time", "wxyz")
_T = ("time",)
_C = ("time", "contact")

_SHARED = ("com_position", "com_velocity", "joint_position", "joint_velocity", "joint_torque", "base_position")
_SHARED += ("base_quaternion", "base_velocity", "base_angular_velocity")
_VARIABLES: dict[str, Variable] = {name: ROBOT.variables[name] for name in _SHARED} | {
    "com_position_planned": Variable(_V, "m", "world", "centre of mass that the last preview has now"),
    "com_position_nominal": Variable(_V, "m", "world", "centre of mass of the nominal motion"),
    "angular_momentum": Variable(_V, "kg m2/s", "world", "angular momentum about the centre of mass"),
    "angular_momentum_estimated": Variable(
        _V, "kg m2/s", "world", "the same as the controller estimates it, with what is carried"
    ),
    "angular_momentum_planned": Variable(
        _V, "kg m2/s", "world", "what the last preview has now, from the estimated one where it was made"
    ),
    "base_position_estimated": Variable(_V, "m", "world", "what the odometry says of the base's origin"),
    "contact_position": Variable((*_C, "xyz"), "m", "world", "middle of the sole or hand"),
    "contact_force": Variable((*_C, "xyz"), "N", "world", "force of the world on the sole or hand"),
    "contact_force_planned": Variable((*_C, "xyz"), "N", "world", "the same in the last preview"),
    "contact_normal_planned": Variable(
        (*_C, "xyz"), "1", "world", "normal into the robot of what it stands on in the last preview; else zero"
    ),
    "contact_use_planned": Variable(
        (*_C, "use"), "1", "contact", "share of a planned wrench's cone that is used, 1 at its limit; else zero"
    ),
    "gap": Variable(_C, "m", "contact", "distance of the lowest point of the sole or hand from the ground"),
    "slip": Variable((*_C, "xyz"), "m/s", "world", "velocity of the middle of a sole or hand that carries, else zero"),
    "hand_load": Variable(_T, "N", "world", "sum of the magnitudes of the forces on the hands"),
    "hand_load_planned": Variable(_T, "N", "world", "the same in the last preview"),
    "box_position": Variable(_V, "m", "world", "centre of the box that is carried", False),
    "box_quaternion": Variable(_Q, "1", "world", "orientation of the box, world from box", False),
    "phase": Variable(_T, "1", "none", "number of travels begun so far in the plan"),
    "solve_time_preview": Variable(_T, "s", "none", "processor time of the last preview"),
    "solve_time_wholebody": Variable(_T, "s", "none", "processor time of the last tick without the preview"),
}

VIEW = View("multicontact", _VARIABLES, {"use": ("friction", "pressure", "yaw")})


@dataclass(frozen=True, eq=False)
class HumanoidTrialResult:
    """What came of a trial; what it does not have is NaN, None or empty."""

    seed: Annotated[int, column("1", "seed of the sensors' noise")]
    mass_factor: Annotated[float, column("1", "masses of the plant over those the controller believes")]
    push: Annotated[FloatArray, column("N s", "push on the base", "xyz", frame="world")]
    axis: Annotated[str, column("1", "axis of the push: fore-aft or lateral")]
    status: Annotated[str, column("1", "how the trial ended")]
    reason: Annotated[str, column("1", "why it ended early, or does not count as survived")]
    survived: Annotated[bool, column("1", "whether it reached its end as asked; of a box, whether it arrived")]
    sole_shift: Annotated[float, column("m", "farthest that a sole was from where it stood at first")]
    steps: Annotated[int, column("1", "travels of soles and hands that ended")]
    end_speed: Annotated[float, column("m/s", "speed of the base at the end")]
    com_rms_xy: Annotated[float, column("m", "horizontal rms of the centre of mass against the nominal motion")]
    momentum_most: Annotated[float, column("kg m2/s", "largest angular momentum about the centre of mass")]
    drift: Annotated[float, column("m", "horizontal error of the odometry at the end")]
    torque_use: Annotated[float, column("1", "largest |tau| over its limit")]
    simulated: Annotated[float, column("s", "simulated time")]
    solve_time: Annotated[float, column("s", "processor time of the controller on this machine")]
    unsolved: Annotated[int, column("1", "ticks whose program was not solved")]
    previews_relaxed: Annotated[int, column("1", "plans that gave up what was prescribed")]
    previews_unsolved: Annotated[int, column("1", "plans that were not found")]
    cone_margin: Annotated[float, column("N", "least margin of all contacts of all plans to their cones")]
    dropped_error: Annotated[float, column("kg m2/s", "largest error in force of what plans have of it about z")] = nan
    dropped_error_ahead: Annotated[float, column("kg m2/s", "largest error of the same, 0.6 s ahead")] = nan
    placements: Annotated[int | None, column("1", "times that the hand was placed and loaded")] = None
    hand_load_share: Annotated[float, column("1", "mean share of the weight on the hand while it is placed")] = nan
    hand_load_most: Annotated[float, column("N", "largest vertical force on the hand")] = nan
    self_clearance: Annotated[float, column("m", "least distance among the robot's own bodies")] = nan
    nearest: Annotated[tuple[str, ...], column("1", "the bodies that were this near", "pair")] = ()
    obstacles: Annotated[tuple[str, ...], column("1", "names of obstacles", "obstacle")] = ()
    obstacle_force: Annotated[FloatArray | None, column("N", "largest force on the obstacle", "obstacle")] = None
    obstacle_gap: Annotated[FloatArray | None, column("m", "least distance of the obstacle", "obstacle")] = None
    crossed: Annotated[bool | None, column("1", "whether the box arrived over a step and a slope")] = None
    stood: Annotated[bool | None, column("1", "whether the robot with the box reached its end upright")] = None
    slip: Annotated[float, column("m", "farthest that a pad moved along the box while it was held")] = nan
    tilt: Annotated[float, column("deg", "largest tilt of the box while it was held")] = nan
    lifted: Annotated[bool | None, column("1", "whether the box was off its stand while it was carried")] = None
    held: Annotated[bool | None, column("1", "whether both hands pressed the box while it was carried")] = None
    set_down: Annotated[bool | None, column("1", "whether the box ended on its stand, upright and let go")] = None
    off: Annotated[float, column("m", "distance of the box from its place at the end")] = nan
    grip: Annotated[float, column("N", "mean force of a hand on the box while it was carried")] = nan
    phase: Annotated[int | None, column("1", "number of the phase in which the hands ended")] = None


def results(run: Trajectory) -> tuple[HumanoidTrialResult, ...]:
    """Return what came of the trials of a run."""
    return read_trials(run, HumanoidTrialResult)
