"""Metrics of planned and controlled runs on a hand: goal errors, trials that succeed, wobble, flight."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from trundle.errors import InputError
from trundle.records import Trajectory
from trundle.report import Count, Metric, MetricGroup, Quantity, RunSet, measure, recompute
from trundle.report.metrics import QUANTITIES, general, input_jumps, phases, usage
from trundle.report.runs import Runs
from trundle.status import Status
from trundle.systems.juggling.scenario import arm, metrics_passive

Array = NDArray[np.float64]

SETTLED = 0.5
"""Length (s) of a trial's end over which it has to be at its goal."""
UPRIGHT, SLOW = 0.2, 1.0
"""Largest angle (rad) and angular speed (rad/s) of an object that counts as balanced."""
BRISK = 0.05
"""Largest error (m/s) of an object's velocity at a goal in motion."""
NEAR, CREEPING = 5e-3, 0.02
"""Largest distance (m) and speed (m/s) of a contact that counts as at rest at its goal."""


def goal_errors(run: Trajectory, goal: Mapping[str, Any]) -> dict[str, float]:
    """Return how far the end of a run is from its goal.

    Returns
    -------
    dict
        ``position`` (m), of the contact on the hand, and ``rotation`` (rad), of the object in the world: the angle of
        R_goal'R. Zero where the goal leaves it free.
    """
    position = 0.0
    if goal.get("contact_on_hand") is not None:
        away = run["contact_on_hand"][-1] - np.asarray(goal["contact_on_hand"], dtype=float)
        position = float(np.linalg.norm(away))
    return {"position": position, "rotation": float(turned_away(run, goal)[-1])}


def object_angle(run: Trajectory) -> Array:
    """Return the angle (n,) of a planar object, counter-clockwise seen with x right and z up, without jumps, rad."""
    q = run["object_quaternion"]
    return np.unwrap(-2.0 * np.arctan2(q[:, 2], q[:, 0]))


def relative_speed(run: Trajectory) -> Array:
    """Return the speed (n,) of the object's centre relative to the hand that carries it, m/s."""
    lever = run["object_position"] - run["hand_position"]
    carried = run["hand_velocity"] + np.cross(run["hand_angular_velocity"], lever)
    return np.linalg.norm(run["object_velocity"] - carried, axis=1)


def trials(parts: Runs, loop: str) -> dict[str, Trajectory]:
    """Return the trials in ``"open"`` or ``"closed"`` loop by name."""
    return {name: run for name, run in parts.items() if is_trial(name) and name.startswith(f"{loop}-loop-")}


def is_balanced(run: Trajectory) -> bool:
    """Whether a run reached its end with the object at its goal angle, slow, over the last half second."""
    if run.status not in (Status.SUCCESS, Status.REST):
        return False
    last = run.time >= run.time[-1] - SETTLED
    off = np.abs(_off(run)[last])
    speed = np.linalg.norm(run["object_angular_velocity"][last], axis=1)
    return bool(np.all(phases(run)[0][last]) and np.max(off) <= UPRIGHT and np.max(speed) <= SLOW)


def has_arrived(run: Trajectory) -> bool:
    """Whether a run reached its end with its object at the goal on the hand, at rest, over the last half second."""
    if run.status not in (Status.SUCCESS, Status.REST):
        return False
    last = run.time >= run.time[-1] - SETTLED
    still = np.max(relative_speed(run)[last]) <= CREEPING
    return bool(np.all(phases(run)[0][last]) and still and not missed_goal(run))


def missed_goal(run: Trajectory, over: float = SETTLED, besides: str = "") -> str:
    """Return a message on how far a run is from its goal over its last `over` seconds; empty if it is at the goal.

    A run is at its goal if the contact is within 5 mm on the hand and the object within 0.2 rad, or if it has no goal.
    The goal's key `besides` is not checked.
    """
    goal = {key: value for key, value in (run.metadata.get("goal") or {}).items() if key != besides}
    last = run.time >= run.time[-1] - over
    if goal.get("contact_on_hand") is not None:
        away = np.max(np.linalg.norm(run["contact_on_hand"][last] - np.asarray(goal["contact_on_hand"]), axis=1))
        if away > NEAR:
            return f"the contact on the hand stays {away:.2g} m off its goal, more than {NEAR:g} m"
    off = np.max(turned_away(run, goal)[last])
    return f"the object stays {off:.2g} rad off its goal, more than {UPRIGHT:g} rad" if off > UPRIGHT else ""


def rate_errors(run: Trajectory) -> dict[str, float]:
    """Return how far the velocities at a run's end are from its goal's, m/s and rad/s; no entry where it has none."""
    goal, errors = _goal(run), {}
    if goal.get("object_velocity") is not None:
        errors["velocity"] = float(np.linalg.norm(run["object_velocity"][-1] - goal["object_velocity"]))
    w, hand = run["object_angular_velocity"][-1], Rotation.from_quat(run["hand_quaternion"][-1], scalar_first=True)
    relative = hand.inv().apply(w - run["hand_angular_velocity"][-1])
    pairs = (("object_angular_velocity", w), ("relative_angular_velocity", relative))
    away = [float(np.linalg.norm(found - goal[key])) for key, found in pairs if goal.get(key) is not None]
    return errors | ({"angular_velocity": max(away)} if away else {})


def missed_rates(run: Trajectory) -> str:
    """Return a message on how far the end of a run is from a goal in motion; empty if it is at the goal."""
    errors = rate_errors(run)
    for name, unit, limit in (("velocity", "m/s", BRISK), ("angular_velocity", "rad/s", SLOW)):
        if errors.get(name, 0.0) > limit:
            return f"the object's {name} ends {errors[name]:.2g} {unit} off its goal, more than {limit:g} {unit}"
    return missed_goal(run, 0.0)


def turned_away(run: Trajectory, goal: Mapping[str, Any]) -> Array:
    """Return the angle (n,) between the object and its goal, rad; zero where the goal leaves it free."""
    if goal.get("object_angle") is not None:
        return np.abs(_wrap_angle(object_angle(run) - float(goal["object_angle"])))
    if goal.get("object_quaternion") is None:
        return np.zeros(len(run))
    turn = Rotation.from_quat(goal["object_quaternion"], scalar_first=True)
    return (turn.inv() * Rotation.from_quat(run["object_quaternion"], scalar_first=True)).magnitude()


def path_length(run: Trajectory) -> float:
    """Return the length of the contact's path on the hand, m."""
    return float(np.sum(np.linalg.norm(np.diff(run["contact_on_hand"], axis=0), axis=1)))


def _friction_use(runs: list[Trajectory], until: Callable[[Trajectory], int] | None = None) -> float:
    """Return the largest |f_t| / (mu f_n) of rolling contacts, up to sample ``until(run)``."""
    largest = 0.0
    for run in runs:
        stop = len(run) if until is None else until(run)
        rolling = (phases(run)[1] & np.logical_not(input_jumps(run)))[:stop]
        use = usage(run, recompute.touch(run))["friction_use"][:stop]
        largest = max(largest, float(np.max(use[rolling], initial=0.0)))
    return largest


def _until_balanced(run: Trajectory) -> int:
    """Return the first sample from which on the object stays at its goal angle; the run's length if it does not."""
    away = np.abs(_off(run)) > UPRIGHT
    return int(np.flatnonzero(away)[-1]) + 1 if away.any() else len(run)


def plate_reorient(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Goal errors of the replayed plan and of the closed loop from its offset; statistics of the planner."""
    plan = _part(parts, "plan")
    values = {"friction_use": _friction_use([plan, run]), "path_length": path_length(plan)}
    known = {name.replace("-", "_"): part for name, part in parts.items()} | {"goal": plan, "tracked": run}
    for name in (end for end in _ENDS if end in known):
        errors = goal_errors(known[name], _goal(known[name]))
        values[f"{name}_position_error"] = errors["position"]
        values[f"{name}_rotation_error"] = float(np.degrees(errors["rotation"]))
    left = dict(plan.metadata.get("plan", {}))
    kept = ("start_successes", "kkt_residual", "geometric_path_length", "geometric_path_length_fewest", "planning_time")
    for name in kept:
        if left.get(name) is not None:
            values[name] = float(left[name])
    if "start_successes" in values:
        values["start_successes"] = Count(values["start_successes"], int(left.get("starts", 0)) or 1)
    for part in (name for name in parts if name == "printed" or name.endswith("-plan")):
        values[f"path_length_{part.removesuffix('-plan').replace('-', '_')}"] = path_length(parts[part])
    if "printed" in parts:
        values |= {name: float(value) for name, value in parts["printed"].metadata["plan"].items()}
    return values


def ellipse_damping(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Rms of the angle about the goal over the last second, with and without control, and their ratio."""
    free = _part(parts, "uncontrolled")
    without, with_control = (_wobble(each) for each in (free, run))
    return {
        "wobble_reduction": without / max(with_control, 1e-300),
        "wobble_uncontrolled": without,
        "wobble_controlled": with_control,
    }


def flip_up(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Trials that end balanced, friction until then, and the goal error of the replayed plan."""
    closed, opened, plan = trials(parts, "closed"), trials(parts, "open"), _part(parts, "plan")
    values = {
        "closed_loop_successes": _count(is_balanced, closed),
        "friction_use": _friction_use([run, *closed.values()], _until_balanced),
        "plan_error": goal_errors(plan, _goal(plan))["rotation"],
    }
    if opened:
        values["open_loop_successes"] = _count(is_balanced, opened)
    if values["closed_loop_successes"] == len(closed) > 0:
        values["balanced_until"] = min(float(trial.time[-1]) for trial in closed.values())
    return values | _planning(plan)


def throw_catch(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Trials that end balanced after the catch, and the time of flight of the main run."""
    apart = np.logical_not(phases(run)[0])
    flight = 0.0
    if apart.any():
        first = int(np.flatnonzero(apart)[0])
        touching = np.flatnonzero(np.logical_not(apart[first:]))
        last = first + int(touching[0]) if touching.size else len(run) - 1
        flight = float(run.time[last] - run.time[max(first - 1, 0)])
    values = {"flight_time": flight}
    if _turns(run, parts):
        values["balanced_successes"] = _count(is_balanced, trials(parts, "closed"))
    return values


def butterfly(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Forces and slip of the closed loop without noise, its final speed, trials that arrive, the plan's error."""
    closed, opened, plan = trials(parts, "closed"), trials(parts, "open"), _part(parts, "plan")
    values = {key: value for key, value in general(run).items() if key in ("slip", "friction_use", "normal_force_min")}
    errors = goal_errors(plan, _goal(plan))
    values |= {
        "final_speed": float(relative_speed(run)[-1]),
        "closed_loop_successes": _count(has_arrived, closed),
        "plan_error": max(errors.values()),
    }
    if opened:
        values["open_loop_successes"] = _count(has_arrived, opened)
    return values | _planning(plan)


def goal_in_motion(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Errors of pose and velocities at the end; of the replayed plan, how far it ends as it began."""
    errors = rate_errors(run) | goal_errors(run, _goal(run))
    values = {f"final_{name}_error": error for name, error in errors.items()}
    if _goal(run).get("periodic"):
        rates = ("hand_velocity", "hand_angular_velocity", "object_angular_velocity")
        ways = [parts.get("plan", run)[name] for name in rates]
        values["period_error"] = max(float(np.linalg.norm(w[-1] - w[0]) / np.max(np.abs(w) + 1e-9)) for w in ways)
    return values


def _count(holds: Callable[[Trajectory], bool], of: Runs) -> Count:
    return Count(sum(holds(trial) for trial in of.values()), len(of))


def _planning(plan: Trajectory) -> dict[str, float]:
    left = dict(plan.metadata.get("plan", {}))
    return {"kkt_residual": float(left["kkt_residual"])} if left.get("kkt_residual") is not None else {}


def _wobble(run: Trajectory) -> float:
    last = run.time >= run.time[-1] - 1.0
    return float(np.sqrt(np.mean(_off(run)[last] ** 2)))


def _off(run: Trajectory) -> Array:
    return _wrap_angle(object_angle(run) - float(_goal(run)["object_angle"]))


def _wrap_angle(angle: ArrayLike) -> Array:
    return (np.asarray(angle) + np.pi) % (2 * np.pi) - np.pi


def _goal(run: Trajectory) -> Mapping[str, Any]:
    goal = run.metadata.get("goal")
    if goal is None:
        raise InputError("metadata.goal", None, "given, for this metric")
    return goal


def _part(parts: Runs, name: str) -> Trajectory:
    if name not in parts:
        raise InputError(f"parts.{name}", None, "a part of the run, for this metric")
    return parts[name]


TRIAL = re.compile(r"(?:.*-)?(?:open|closed)-loop-\d+")
"""Names of parts that are trials: a scenario counts them, and they have no metrics of their own."""


def is_trial(part: str) -> bool:
    """Whether a part of this name is a trial."""
    return TRIAL.fullmatch(part) is not None


def _turns(run: Trajectory, parts: Runs) -> bool:
    """Whether the goal is an angle of the object; else it is a place on the hand."""
    return (run.metadata.get("goal") or {}).get("object_angle") is not None


_SUCCESSES = {
    "closed_loop_successes": Quantity("1", "trials in closed loop that end at the goal, at rest"),
    "open_loop_successes": Quantity("1", "trials in open loop that end at the goal, at rest"),
    "plan_error": Quantity("rad", "goal error of the plan, re-simulated accurately"),
    "kkt_residual": Quantity("1", "of the plan, scaled, recomputed"),
}
_ENDS = {
    "goal": "plan re-simulated accurately",
    "tracked": "closed loop from the offset",
    "open_loop": "planned inputs alone",
    "coarse_open_loop": "inputs of a coarse plan alone",
    "coarse_closed_loop": "coarse plan tracked",
}
_RATES = {
    "final_velocity_error": Quantity("m/s", "of the object against the goal's, at the end"),
    "final_angular_velocity_error": Quantity("rad/s", "of the object against the goal's, at the end"),
    "final_position_error": Quantity("m", "of the contact on the hand against the goal's, at the end"),
    "final_rotation_error": Quantity("rad", "of the object against the goal's, at the end"),
    "period_error": Quantity("1", "of the velocities at the plan's end against those at its start, relative"),
}
GROUPS = (
    arm.GROUP,
    MetricGroup(_RATES, goal_in_motion, applies=lambda run, parts: bool(run.metadata.get("goal"))),
    MetricGroup(
        {
            "radius_error_percent": Quantity("%", "largest deviation of the path's radius from the analytic circle"),
            "centre_drift": Quantity("m", "distance of the fitted centre from the analytic one"),
            "normal_force_error": Quantity("N", "largest |f_z - m g|"),
            "average_step": Quantity("s", "of the integrator"),
            "circle_radius": Quantity("m", "of the circle fitted to the contact path"),
            "circle_centre_x": Quantity("m", "of the fitted circle, world"),
            "orbit_rate": Quantity("rad/s", "of the contact about the fitted centre"),
            "orbit_period": Quantity("s", "of the contact about the fitted centre"),
        },
        metrics_passive.plate_spinning,
    ),
    MetricGroup(
        {
            "drift_velocity_error": Quantity("1", "relative error of the drift velocity against 5/2 g sin(tilt)/omega"),
            "drift_velocity": Quantity("m/s", "of the circle, fitted"),
            "cycloid_period": Quantity("s", "of the contact about the drifting centre"),
        },
        metrics_passive.plate_tilted,
    ),
    MetricGroup(
        {"energy_drift": Quantity("1", "largest change of the energy over the largest kinetic energy")},
        metrics_passive.ellipsoid_dish,
    ),
    MetricGroup(
        {
            **{f"{end}_position_error": Quantity("m", f"{how}: contact off its goal") for end, how in _ENDS.items()},
            **{f"{end}_rotation_error": Quantity("deg", f"{how}: object off its goal") for end, how in _ENDS.items()},
            "start_successes": Quantity("1", "perturbed initial guesses that reach the goal"),
            "friction_use": Quantity("1", "largest |f_t| / (mu f_n), plan and closed loop"),
            "kkt_residual": Quantity("1", "of the plan, scaled, recomputed"),
            "path_length": Quantity("m", "of the contact on the hand, planned"),
            "geometric_path_length": Quantity("m", "path length of a geometric plan of a few straight rolls"),
            "planning_time": Quantity("s", "of the plan"),
            "printed_time": Quantity("s", "of the printed procedure, all meshes, or of one by its number"),
            "printed_meshes": Quantity("1", "of the printed procedure"),
            "printed_state_error": Quantity("1", "|s - s_goal| of the printed procedure's plan, replayed accurately"),
        },
        plate_reorient,
        applies=lambda run, parts: "plan" in parts and "open-loop" in parts,
    ),
    MetricGroup(
        {
            "wobble_reduction": Quantity("1", "rms angle without over with control, last second"),
            "wobble_uncontrolled": Quantity("rad", "rms angle without control, last second"),
            "wobble_controlled": Quantity("rad", "rms angle with control, last second"),
        },
        ellipse_damping,
    ),
    MetricGroup(
        _SUCCESSES
        | {
            "friction_use": Quantity("1", "largest |f_t| / (mu f_n), closed loops until balanced"),
            "balanced_until": Quantity("s", "end of the shortest trial in closed loop, where all end balanced"),
        },
        flip_up,
        applies=_turns,
    ),
    MetricGroup(
        {
            "balanced_successes": Quantity("1", "trials that end balanced after the catch"),
            "flight_time": Quantity("s", "free flight between release and catch"),
        },
        throw_catch,
    ),
    MetricGroup(
        _SUCCESSES | {"final_speed": Quantity("m/s", "of the object relative to the hand at the end, without noise")},
        butterfly,
        applies=lambda run, parts: not _turns(run, parts),
    ),
)


def metrics(runs: RunSet) -> Mapping[str, Metric]:
    """Return the metrics of a run of kind `juggling`."""
    return measure(runs, GROUPS, general, QUANTITIES, is_trial)
