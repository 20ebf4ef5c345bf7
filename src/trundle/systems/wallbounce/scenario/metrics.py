"""Metrics of kind `wallbounce`: what came of the trials of the main run and of its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from trundle.records import Trajectory
from trundle.report import Count, Metric, MetricGroup, Quantity, RunSet, measure
from trundle.report.runs import Runs
from trundle.systems.wallbounce.scenario.record import BalancerTrialResult, results


def general(run: Trajectory) -> dict[str, float]:
    """Return what every run of the kind has, over all its trials: worst distance, lean and forces, safe trials."""
    trials = results(run)
    implicit, hybrid = (run[f"solve_time_{level}"] for level in ("implicit", "hybrid"))
    return {
        "trials_safe": Count.true(one.safe for one in trials),
        "trials_fallen": Count.true(one.fell for one in trials),
        "torso_distance_min": min(one.torso_min for one in trials),
        "lean_max": max(one.lean for one in trials),
        "force_planned_max": max(one.force_planned for one in trials),
        "force_measured_max": max(one.force_measured for one in trials),
        "solve_time_implicit": float(np.median(implicit)),
        "solve_time_hybrid": float(np.median(hybrid)),
    }


def recover(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Return the metrics of `wallbounce-recover`; forces are those of gentle trials in which a hand pushes."""
    trials = results(run)
    values: dict[str, float] = {
        "falls_two_level": Count.true(one.fell for one in trials),
        "safe_two_level": Count.true(one.safe for one in trials),
    }
    for part in ("drive-only", "implicit-only", "paper-presets", "simplified", "gentle"):
        if part in parts:
            values[f"safe_{part.replace('-', '_')}"] = Count.true(one.safe for one in results(parts[part]))
    if "gentle" in parts:
        gentle = results(parts["gentle"])
        used = [one for one in gentle if np.isfinite(one.force_mismatch)]
        if used:
            values["gentle_force_planned"] = float(np.median([one.force_planned for one in used]))
            values["gentle_force_mismatch"] = float(np.median([one.force_mismatch for one in used]))
            values["gentle_force_measured"] = float(np.median([one.force_measured for one in used]))
        values["gentle_hands_used"] = Count(len(used), len(gentle))
    return values


def stay(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Return the metrics of `wallbounce-stay`: trials that keep their place, and pushes beyond the drive's bound."""
    values: dict[str, float] = {}
    for suffix, source in [("", run), *((f"_{part}", made) for part, made in parts.items() if part in SIDES)]:
        trials = results(source)
        values[f"stays{suffix}"] = Count.true(one.stays for one in trials)
        values[f"beyond_drive{suffix}"] = Count.true(one.push_impulse > one.push_bound for one in trials)
    return values


def avoid(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Return the metrics of `wallbounce-avoid`."""
    trials = results(run)
    values = {
        "cleared_seeds": Count.true(one.cleared for one in trials),
        "late_contact": float(np.median([one.late_contact for one in trials])),
        "clearance": float(np.median([one.torso_min for one in trials])),
    }
    if "drive-only" in parts:
        alone = results(parts["drive-only"])
        values["drive_only_hits"] = Count.true(one.torso_min <= 0.0 for one in alone)
        values["cleared_drive_only"] = Count.true(one.cleared for one in alone)
    return values


def turn(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Return the metrics of `wallbounce-turn`.

    A time that is never reached counts as infinite in the median; an infinite median is left out, so that its limit
    does not hold.
    """
    trials = results(run)
    values: dict[str, float] = {"falls": Count.true(one.fell for one in trials), **_turning(trials)}
    if "drive-only" in parts:
        for key, alone in _turning(results(parts["drive-only"])).items():
            values[f"{key}_drive_only"] = alone
            values[f"{key}_ratio"] = values[key] / alone if alone > 0.0 else float("nan")
    return {key: value for key, value in values.items() if np.isfinite(value)}


def models(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Return the metrics of `wallbounce-models`: quality of hybrid plans, and of implicit ones beside them and alone.

    Plans without any contact have none: a limit on them does not hold.
    """
    values: dict[str, float] = {}
    sources = [(run, "hybrid", ""), (run, "implicit", "_implicit")]
    if "implicit-only" in parts:
        sources.append((parts["implicit-only"], "implicit", "_implicit_only"))
    for source, level, suffix in sources:
        for key, value in source.metadata["plan_quality"][level].items():
            if value is not None and not key.endswith("_count"):
                values[f"{key}{suffix}"] = float(value)
    return values


def _turning(trials: Sequence[BalancerTrialResult]) -> dict[str, float]:
    """Return the medians of what a turn is judged by; what a trial does not reach counts as infinite."""
    found = {
        "lateral_time": [one.lateral_time for one in trials],
        "goal_time": [one.goal_time for one in trials],
        "peak_acceleration": [one.peak_acceleration for one in trials],
    }
    return {key: float(np.median(np.where(np.isnan(times), np.inf, times))) for key, times in found.items()}


SIDES = ("left", "right", "behind", "away")
"""Parts of `wallbounce-stay`: where the wall is, or pushes that go to no wall."""
_RATIO = {
    "lateral_time": Quantity("s", "time to 0.25 m sideways, median"),
    "goal_time": Quantity("s", "time to the goal, median"),
    "peak_acceleration": Quantity("m/s^2", "largest horizontal acceleration, median"),
    "lateral_time_ratio": Quantity("1", "time to 0.25 m sideways with arms over without"),
    "goal_time_ratio": Quantity("1", "time to the goal with arms over without"),
    "peak_acceleration_ratio": Quantity("1", "peak acceleration with arms over without"),
}
_PLANS = {
    "penetration": Quantity("m", "of hands in plans in closed loop, at stages with contact, percentiles and most"),
    "slip": Quantity("m/s", "of hands in plans, at stages with contact, percentiles and most"),
    "off_wall_force": Quantity("N", "planned where the hand is more than 5 mm off the wall, percentiles and most"),
}
QUANTITIES = {
    "trials_safe": Quantity("1", "trials that end upright within 0.3 m of the goal, the torso never touching"),
    "trials_fallen": Quantity("1", "trials that fell"),
    "torso_distance_min": Quantity("m", "least distance of the torso from walls and boxes"),
    "lean_max": Quantity("rad", "largest lean"),
    "force_planned_max": Quantity("N", "largest planned force on a hand"),
    "force_measured_max": Quantity("N", "largest measured force on a hand"),
    "solve_time_implicit": Quantity("s", "median time of a contact-implicit plan"),
    "solve_time_hybrid": Quantity("s", "median time of a hybrid plan"),
}
_WAYS = ("", *(f"_{side}" for side in SIDES))
"""Ends of the names of metrics: of the main part, and of the pushes from each side."""
_STAYS = Quantity("1", "safe, and within 0.1 m of the goal over the whole of the last 4 s")
_BEYOND_DRIVE = Quantity("1", "pushes larger than the drive alone survives, by the linear model")
GROUPS = (
    MetricGroup(
        {
            "falls_two_level": Quantity("1", "trials that fell"),
            "safe_two_level": Quantity("1", "torso never touches, back within 0.3 m"),
            "safe_drive_only": Quantity("1", "the same without hands: the pushes are hard enough to need the wall"),
            "safe_implicit_only": Quantity("1", "the same with the upper level alone"),
            "safe_paper_presets": Quantity("1", "the same with the paper's presets"),
            "safe_simplified": Quantity("1", "the same with plans by the paper's simplified dynamics"),
            "safe_gentle": Quantity("1", "the same under gentle pushes"),
            "gentle_force_planned": Quantity("N", "median peak over the gentle pushes"),
            "gentle_force_measured": Quantity("N", "median peak over the gentle pushes"),
            "gentle_force_mismatch": Quantity("1", "median |measured - planned| / planned"),
            "gentle_hands_used": Quantity("1", "gentle trials in which a hand pushes"),
        },
        recover,
    ),
    MetricGroup(
        {f"stays{side}": _STAYS for side in _WAYS} | {f"beyond_drive{side}": _BEYOND_DRIVE for side in _WAYS},
        stay,
    ),
    MetricGroup(
        {
            "cleared_seeds": Quantity("1", "torso clears the box by 2 cm and the robot reaches its goal"),
            "late_contact": Quantity("s", "hand on the wall later than 1 s after the box appeared, median"),
            "clearance": Quantity("m", "least distance of the torso from the box, median"),
            "drive_only_hits": Quantity("1", "the same seeds without hands: the torso touches"),
            "cleared_drive_only": Quantity("1", "the same seeds without hands: cleared"),
        },
        avoid,
    ),
    MetricGroup({"falls": Quantity("1", "trials that fell, with arms")} | _RATIO, turn),
    MetricGroup(
        {f"{name}_{share}": quantity for name, quantity in _PLANS.items() for share in ("p50", "p95", "max")}, models
    ),
)


def metrics(runs: RunSet) -> Mapping[str, Metric]:
    """Return the metrics of a run of kind `wallbounce`."""
    return measure(runs, GROUPS, general, QUANTITIES)
