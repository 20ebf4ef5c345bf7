"""Metrics of kind `multicontact`: what came of the trials of the main run and of its parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from trundle.errors import InputError
from trundle.records import Trajectory
from trundle.report import Count, Metric, MetricGroup, Quantity, RunSet, measure

Array = np.ndarray[Any, np.dtype[np.float64]]
Runs = Mapping[str, Trajectory]


def trials(run: Trajectory) -> list[dict[str, Any]]:
    """Return the facts of the trials."""
    found = run.metadata.get("trials")
    if not found:
        raise InputError("metadata.trials", found, "a list of trials, in a run of kind multicontact")
    return list(found)


def general(run: Trajectory) -> dict[str, float]:
    """Return what every run of the kind has: over its trials the worst, over the recorded one the median of times.

    `cone_margin` is that of all contacts of all plans (`PreviewPlan.cone_margin`): friction, centre of pressure and
    yaw; `previews_relaxed` and `previews_unsolved` count plans that gave up what was prescribed, and those not found.
    `dropped_momentum_error` is the farthest that a plan in force was off the angular momentum about z, which it does
    not steer, begun at what was estimated where it was made; `dropped_momentum_error_ahead` that of 0.6 s ahead.
    """
    facts = trials(run)
    held = [one for one in facts if one["survived"]] or facts
    preview = run["solve_time_preview"][run["solve_time_preview"] > 0]
    return {
        "trials_ok": Count(sum(one["survived"] for one in facts), len(facts)),
        "trials": float(len(facts)),
        "com_rms_xy": max(one["com_rms_xy"] for one in held),
        "torque_use": max(one["torque_use"] for one in facts),
        "real_time_factor": sum(one["simulated"] for one in facts) / sum(one["spent"] for one in facts),
        "odometry_drift": max(one["drift"] for one in held),
        "ticks_unsolved": float(sum(one["unsolved"] for one in held)),
        **_of_plans(held),
        **_of_obstacles(facts),
        "friction_use": float(friction_use(run).max()),
        "solve_time_wholebody": float(np.median(run["solve_time_wholebody"])),
        "solve_time_preview": float(np.median(preview)) if len(preview) else 0.0,
        "solve_time_wholebody_p99": float(np.percentile(run["solve_time_wholebody"], 99)),
        "solve_time_preview_p99": float(np.percentile(preview, 99)) if len(preview) else 0.0,
    }


def _of_plans(facts: list[dict[str, Any]]) -> dict[str, float]:
    """Return what plans kept and gave up; nothing of a file of before, whose trials do not tell."""
    if not all("cone_margin" in one for one in facts):
        return {}
    found = {key: float(sum(one[key] for one in facts)) for key in ("previews_relaxed", "previews_unsolved")}
    found["cone_margin"] = min(one["cone_margin"] for one in facts)
    if all("dropped_error" in one for one in facts):
        for key in ("error", "error_ahead"):
            found[f"dropped_momentum_{key}"] = max(one[f"dropped_{key}"] for one in facts)
    return found


def _of_obstacles(facts: list[dict[str, Any]]) -> dict[str, float]:
    """Return the largest force on any obstacle and the smallest gap to one, of all trials; nothing where none is."""
    told = [one for one in facts if one.get("obstacles")]
    if not told:
        return {}
    force, gap = max(max(one["obstacle_force"]) for one in told), min(min(one["obstacle_gap"]) for one in told)
    return {"obstacle_force": force, "obstacle_gap": gap}


def friction_use(run: Trajectory) -> Array:
    """Return |f_t| / (mu f_n) (n, contacts) of the planned forces against their contacts' normals; 0 without any."""
    normal, side = planned_parts(run)
    return np.where(normal > 1.0, side / (float(run.metadata["friction"]) * np.maximum(normal, 1e-9)), 0.0)


def planned_parts(run: Trajectory) -> tuple[Array, Array]:
    """Return the normal and the tangential part (n, contacts), N, of the planned forces: on slopes, walls and steps.

    A file of before, without normals, has level contacts.
    """
    f = run["contact_force_planned"]
    n = run["contact_normal_planned"] if "contact_normal_planned" in run.dataset else np.array([0.0, 0.0, 1.0])
    normal = (f * n).sum(axis=-1)
    return normal, np.linalg.norm(f - normal[..., None] * n, axis=-1)


def survived(run: Trajectory, axis: str) -> float:
    """Return the largest impulse (N s) along "fore-aft" or "lateral" that no trial of this size fell from; 0: none."""
    facts = [one for one in trials(run) if one["axis"] == axis]
    sizes = sorted({round(float(np.linalg.norm(one["push"])), 9) for one in facts})
    best = 0.0
    for size in sizes:
        here = [one for one in facts if abs(np.linalg.norm(one["push"]) - size) < 1e-6]
        if not all(one["survived"] for one in here):
            break
        best = size
    return best


def stand(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Return the metrics of `humanoid-stand`."""
    values = {"push_fore_aft": survived(run, "fore-aft"), "push_lateral": survived(run, "lateral")}
    stood = [one for one in trials(run) if one["survived"]] or trials(run)
    values["sole_shift"] = max(one["sole_shift"] for one in stood)
    if "talos" in parts:
        values["push_talos"] = min(survived(parts["talos"], axis) for axis in ("fore-aft", "lateral"))
    return values


def walk(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Return the metrics of `humanoid-walk`: the worst of all its trials."""
    facts = trials(run)
    return {
        "seeds_ok": Count(sum(one["survived"] for one in facts), len(facts)),
        "com_rms_xy": max(one["com_rms_xy"] for one in facts),
    }


def carry(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Return the metrics of `humanoid-carry`: slip and tilt are the worst of the trials in which the box arrived.

    `seeds_ok` counts those that crossed a step and a slope on the way: a box that is only lifted, or carried over the
    flat, is none.
    """
    facts = trials(run)
    good = [one for one in facts if one["survived"]] or facts
    return {
        "seeds_ok": Count(sum(one["crossed"] for one in facts), len(facts)),
        **{f"box_{key}": max(_known(one[key]) for one in good) for key in ("slip", "tilt")},
        "grip": float(np.mean([one["grip"] for one in good])),
    }


def _known(value: float | None) -> float:
    """Return what a trial measured; infinite where nothing was there to measure."""
    return np.inf if value is None else value


def ledge(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Return the metrics of `humanoid-ledge`: the worst of the trials that crossed, of all if none did."""
    facts = trials(run)
    crossed = [one for one in facts if one["survived"] and one["placements"] >= 2]
    judged = crossed or facts
    return {
        "seeds_ok": Count(len(crossed), len(facts)),
        "hand_load_share": min(one["hand_load_share"] for one in judged),
        "static_without_hand": without_hand(run),
        "self_clearance": min(one["self_clearance"] for one in judged),
        "hand_placements": float(min(one["placements"] for one in judged)),
        "hand_load_most": max(one["hand_load_most"] for one in judged),
        "com_behind": behind(run),
    }


def behind(run: Trajectory) -> float:
    """Return how far (m) the centre of mass is across from where the nominal motion has it, on one foot, at most."""
    soles = [i for i, name in enumerate(run.dataset["contact"].values) if str(name).endswith("_foot")]
    alone = (run["contact_force"][:, soles, 2] > 1.0).sum(axis=1) == 1
    off = np.abs(run["com_position"][:, 1] - run["com_position_nominal"][:, 1])
    return float(off[alone].max(initial=0.0))


def without_hand(run: Trajectory, foot: str = "right_foot") -> float:
    """Return 1 if at some stance on this foot alone the robot could rest without its hand, or none is known.

    Of the left hand the right foot is the one away from it: only there the weight needs it.
    """
    stances = [one for one in run.metadata.get("stances", []) if _soles(one) == [foot]]
    return float(not stances or any(one["without_hands"] for one in stances))


def _soles(stance: Mapping[str, Any]) -> list[str]:
    return [name for name in stance["contacts"] if name.endswith("_foot")]


def _told(key: str) -> Callable[[Trajectory, Runs], bool]:
    """Return whether the trials of a run tell of `key`."""
    return lambda run, parts: all(key in one for one in trials(run))


QUANTITIES = {
    "trials_ok": Quantity("1", "trials that did not fall"),
    "trials": Quantity("1"),
    "com_rms_xy": Quantity("m", "worst seed, against a nominal plan"),
    "torque_use": Quantity("1", "largest |tau|/limit"),
    "real_time_factor": Quantity("1", "control side, one core"),
    "solve_time_wholebody": Quantity("s"),
    "solve_time_preview": Quantity("s"),
    "solve_time_wholebody_p99": Quantity("s"),
    "solve_time_preview_p99": Quantity("s"),
    "odometry_drift": Quantity("m"),
    "friction_use": Quantity("1", "of planned forces, largest |f_t| / (mu f_n)"),
    "ticks_unsolved": Quantity("1"),
    "previews_relaxed": Quantity("1"),
    "previews_unsolved": Quantity("1"),
    "cone_margin": Quantity("N", "of all contacts of all plans: friction, centre of pressure and yaw"),
    "dropped_momentum_error": Quantity("kg m2/s"),
    "dropped_momentum_error_ahead": Quantity("kg m2/s"),
    "box_slip": Quantity("m", "in the hands"),
    "box_tilt": Quantity("deg"),
    "grip": Quantity("N"),
    "sole_shift": Quantity("m"),
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
        applies=_told("crossed"),
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
        applies=_told("hand_load_share"),
    ),
)


def metrics(runs: RunSet) -> Mapping[str, Metric]:
    """Return the metrics of a run of kind `multicontact`."""
    return measure(runs, GROUPS, general, QUANTITIES)
