"""Metrics of kind `multicontact`: what came of the trials of the main run and of its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from trundle.checks import FloatArray
from trundle.records import Trajectory
from trundle.report import Count, Metric, MetricGroup, Quantity, RunSet, measure
from trundle.report.runs import Runs
from trundle.systems.multicontact.scenario.record import HumanoidTrialResult, results


def general(run: Trajectory) -> dict[str, float]:
    """Return what every run of the kind has: over its trials the worst, over the recorded one the median of times.

    `cone_margin` is that of all contacts of all plans (`PreviewPlan.cone_margin`): friction, centre of pressure and
    yaw; `previews_relaxed` and `previews_unsolved` count plans that gave up what was prescribed, and those not found.
    `dropped_momentum_error` is the farthest that a plan in force was off the angular momentum about z, which it sees
    about the path only, begun at what was estimated where it was made; `dropped_momentum_error_ahead` that of 0.6 s
    ahead.
    """
    trials = results(run)
    held = _survivors(trials)
    preview = run["solve_time_preview"][run["solve_time_preview"] > 0]
    return {
        "trials_ok": Count.true(one.survived for one in trials),
        "trials": float(len(trials)),
        "com_rms_xy": max(one.com_rms_xy for one in held),
        "torque_use": max(one.torque_use for one in trials),
        "real_time_factor": sum(one.simulated for one in trials) / sum(one.solve_time for one in trials),
        "odometry_drift": max(one.drift for one in held),
        "ticks_unsolved": float(sum(one.unsolved for one in held)),
        "previews_relaxed": float(sum(one.previews_relaxed for one in held)),
        "previews_unsolved": float(sum(one.previews_unsolved for one in held)),
        "cone_margin": min(one.cone_margin for one in held),
        **_of_momentum(held),
        **_of_obstacles(trials),
        "friction_use": float(friction_use(run).max()),
        "solve_time_wholebody": float(np.median(run["solve_time_wholebody"])),
        "solve_time_preview": float(np.median(preview)) if len(preview) else 0.0,
        "solve_time_wholebody_p99": float(np.percentile(run["solve_time_wholebody"], 99)),
        "solve_time_preview_p99": float(np.percentile(preview, 99)) if len(preview) else 0.0,
    }


def _survivors(trials: Sequence[HumanoidTrialResult]) -> Sequence[HumanoidTrialResult]:
    """Return the trials that survived; all if none did."""
    return [one for one in trials if one.survived] or trials


def _of_momentum(trials: Sequence[HumanoidTrialResult]) -> dict[str, float]:
    """Return the largest errors of the angular momentum that plans drop; nothing where no plans were made."""
    if any(np.isnan(one.dropped_error) for one in trials):
        return {}
    return {
        "dropped_momentum_error": max(one.dropped_error for one in trials),
        "dropped_momentum_error_ahead": max(one.dropped_error_ahead for one in trials),
    }


def _of_obstacles(trials: Sequence[HumanoidTrialResult]) -> dict[str, float]:
    """Return the largest force on any obstacle and the smallest gap to one, of all trials; nothing where none is."""
    forces = [one.obstacle_force.max() for one in trials if one.obstacle_force is not None]
    gaps = [one.obstacle_gap.min() for one in trials if one.obstacle_gap is not None]
    return {"obstacle_force": max(forces), "obstacle_gap": min(gaps)} if forces else {}


def friction_use(run: Trajectory) -> FloatArray:
    """Return |f_t| / (mu f_n) (n, contacts) of the planned forces against their contacts' normals; 0 without any."""
    normal, side = planned_parts(run)
    return np.where(normal > 1.0, side / (float(run.metadata["friction"]) * np.maximum(normal, 1e-9)), 0.0)


def planned_parts(run: Trajectory) -> tuple[FloatArray, FloatArray]:
    """Return the normal and the tangential part (n, contacts), N, of the planned forces: on slopes, walls and steps."""
    f, n = run["contact_force_planned"], run["contact_normal_planned"]
    normal = (f * n).sum(axis=-1)
    return normal, np.linalg.norm(f - normal[..., None] * n, axis=-1)


def survived_impulse(run: Trajectory, axis: str) -> float:
    """Return the largest impulse (N s) along "fore-aft" or "lateral" that no trial of this size fell from; 0: none."""
    trials = [(round(float(np.linalg.norm(one.push)), 9), one.survived) for one in results(run) if one.axis == axis]
    best = 0.0
    for size in sorted({size for size, _ in trials}):
        if not all(held for impulse, held in trials if abs(impulse - size) < 1e-6):
            break
        best = size
    return best


def stand(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Return the metrics of `humanoid-stand`."""
    values = {"push_fore_aft": survived_impulse(run, "fore-aft"), "push_lateral": survived_impulse(run, "lateral")}
    values["sole_shift"] = max(one.sole_shift for one in _survivors(results(run)))
    if "talos" in parts:
        values["push_talos"] = min(survived_impulse(parts["talos"], axis) for axis in ("fore-aft", "lateral"))
    return values


def walk(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Return the metrics of `humanoid-walk`: the worst of all its trials."""
    trials = results(run)
    return {
        "seeds_ok": Count.true(one.survived for one in trials),
        "com_rms_xy": max(one.com_rms_xy for one in trials),
    }


def carry(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Return the metrics of `humanoid-carry`: slip and tilt are the worst of the trials in which the box arrived.

    `seeds_ok` counts those that crossed a step and a slope on the way: a box that is only lifted, or carried over the
    flat, is none. A box that was never held counts with an infinite slip and tilt.
    """
    trials = results(run)
    good = _survivors(trials)
    return {
        "seeds_ok": Count.true(one.crossed is True for one in trials),
        "box_slip": _worst([one.slip for one in good]),
        "box_tilt": _worst([one.tilt for one in good]),
        "grip": float(np.mean([one.grip for one in good])),
    }


def _worst(values: Sequence[float]) -> float:
    """Return the largest value; NaN, of a box that was never held, counts as infinite."""
    return float(np.where(np.isnan(values), np.inf, values).max())


def ledge(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Return the metrics of `humanoid-ledge`: the worst of the trials that crossed, of all if none did."""
    trials = [(one, one.placements or 0) for one in results(run)]
    crossed = [(one, placements) for one, placements in trials if one.survived and placements >= 2]
    judged = crossed or trials
    return {
        "seeds_ok": Count(len(crossed), len(trials)),
        "hand_load_share": min(one.hand_load_share for one, _ in judged),
        "static_without_hand": without_hand(run),
        "self_clearance": min(one.self_clearance for one, _ in judged),
        "hand_placements": float(min(placements for _, placements in judged)),
        "hand_load_most": max(one.hand_load_most for one, _ in judged),
        "com_behind": behind(run),
    }


def behind(run: Trajectory) -> float:
    """Return how far (m) the centre of mass is across from where the nominal motion has it, on one foot, at most."""
    soles = [i for i, name in enumerate(run.dataset["contact"].values) if str(name).endswith("_foot")]
    alone = (run["contact_force"][:, soles, 2] > 1.0).sum(axis=1) == 1
    off = np.abs(run["com_position"][:, 1] - run["com_position_nominal"][:, 1])
    return float(off[alone].max(initial=0.0))


def without_hand(run: Trajectory) -> float:
    """Return 1 if at some stance on the right foot alone the robot could rest without its hand, or none is known.

    Of the left hand the right foot is the one away from it: only there the weight needs it.
    """
    found = False
    for one in run.metadata.get("stances", []):
        soles = [name for name in one["contacts"] if name.endswith("_foot")]
        if soles == ["right_foot"]:
            if one["without_hands"]:
                return 1.0
            found = True
    return float(not found)


QUANTITIES = {
    "trials_ok": Quantity("1", "trials that did not fall"),
    "trials": Quantity("1", "trials in all"),
    "com_rms_xy": Quantity("m", "worst seed, against a nominal plan"),
    "torque_use": Quantity("1", "largest |tau|/limit"),
    "real_time_factor": Quantity("1", "control side, one core"),
    "solve_time_wholebody": Quantity("s", "median time of a tick of whole-body control"),
    "solve_time_preview": Quantity("s", "median time of a preview"),
    "solve_time_wholebody_p99": Quantity("s", "the same, 99th percentile"),
    "solve_time_preview_p99": Quantity("s", "the same, 99th percentile"),
    "odometry_drift": Quantity("m", "horizontal error of the odometry at the end, at most"),
    "friction_use": Quantity("1", "of planned forces, largest |f_t| / (mu f_n)"),
    "ticks_unsolved": Quantity("1", "ticks of whole-body control without a solution"),
    "previews_relaxed": Quantity("1", "previews that gave up what was prescribed"),
    "previews_unsolved": Quantity("1", "previews that were not found"),
    "cone_margin": Quantity("N", "of all contacts of all plans: friction, centre of pressure and yaw"),
    "dropped_momentum_error": Quantity("kg m2/s", "of the angular momentum about z in plans in force, at most"),
    "dropped_momentum_error_ahead": Quantity("kg m2/s", "the same, 0.6 s ahead"),
    "box_slip": Quantity("m", "in the hands"),
    "box_tilt": Quantity("deg", "in the hands, at most"),
    "grip": Quantity("N", "mean force of a hand on the box while it was carried"),
    "sole_shift": Quantity("m", "farthest that a sole was from where it stood at first"),
    "hand_load_most": Quantity("N", "largest load of the hand"),
    "com_behind": Quantity("m", "of the centre of mass across from its nominal place, on one foot, at most"),
    "obstacle_force": Quantity("N", "largest force on an obstacle"),
    "obstacle_gap": Quantity("m", "smallest gap to an obstacle"),
}
_SEEDS = {"seeds_ok": Quantity("1", "trials that reach their end upright, with what is asked on the way")}
GROUPS = (
    MetricGroup(
        {
            "push_fore_aft": Quantity("N s", "largest 0.1 s push survived without stepping, both directions"),
            "push_lateral": Quantity("N s", "the same, sideways"),
            "push_talos": Quantity("N s", "part talos, the weaker of both axes"),
        },
        stand,
    ),
    MetricGroup(_SEEDS, walk),
    MetricGroup(
        _SEEDS | {"box_slip": QUANTITIES["box_slip"], "box_tilt": QUANTITIES["box_tilt"], "grip": QUANTITIES["grip"]},
        carry,
        applies=lambda run, parts: "trial_crossed" in run,
    ),
    MetricGroup(
        _SEEDS
        | {
            "hand_load_share": Quantity("1", "mean share of the weight while the hand is placed"),
            "static_without_hand": Quantity("1", "1 if the robot could rest without the hand, on one foot"),
            "self_clearance": Quantity("m", "smallest distance among the robot's own bodies"),
            "hand_placements": Quantity("1", "least number of placements of the hand"),
        },
        ledge,
        applies=lambda run, parts: "trial_hand_load_share" in run,
    ),
)


def metrics(runs: RunSet) -> Mapping[str, Metric]:
    """Return the metrics of a run of kind `multicontact`."""
    return measure(runs, GROUPS, general, QUANTITIES)
