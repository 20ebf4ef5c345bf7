"""Metrics of kind `wallbounce`: what came of the trials of the main run and of its parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trundle.errors import InputError
from trundle.records import Trajectory

Runs = Mapping[str, Trajectory]

_TURN = {"lateral_time": "s", "goal_time": "s", "peak_acceleration": "m/s^2"}
_QUALITY = {"penetration": "m", "slip": "m/s", "off_wall_force": "N"}
#: Units of the metrics of the kind that have no limit.
UNITS = {
    **_TURN,
    **{f"{name}_drive_only": unit for name, unit in _TURN.items()},
    **{f"{name}_ratio": "1" for name in _TURN},
    **{
        f"{name}_{share}{level}": unit
        for name, unit in _QUALITY.items()
        for share in ("p50", "p95")
        for level in ("", "_implicit")
    },
    "torso_distance_min": "m",
    "lean_max": "rad",
    "force_planned_max": "N",
    "force_measured_max": "N",
    "solve_time_implicit": "s",
    "solve_time_hybrid": "s",
    "trials_fallen": "1",
    "trials_safe": "1",
    "safe_drive_only": "1",
    "safe_implicit_only": "1",
    "safe_paper_presets": "1",
    "safe_gentle": "1",
    "gentle_force_measured": "N",
    "gentle_hands_used": "1",
    "cleared_drive_only": "1",
    "clearance": "m",
}


def general(run: Trajectory) -> dict[str, float]:
    """Return what every run of the kind has, over all its trials: worst distance, lean and forces, safe trials."""
    facts = trials(run)
    implicit, hybrid = (run[f"solve_time_{level}"] for level in ("implicit", "hybrid"))
    return {
        "trials_safe": float(sum(safe(one) for one in facts)),
        "trials_fallen": float(sum(one["status"] != "success" for one in facts)),
        "torso_distance_min": min(one["torso_min"] for one in facts),
        "lean_max": max(one["lean"] for one in facts),
        "force_planned_max": max(one["force_planned"] for one in facts),
        "force_measured_max": max(one["force_measured"] for one in facts),
        "solve_time_implicit": float(np.median(implicit)),
        "solve_time_hybrid": float(np.median(hybrid)),
    }


def trials(run: Trajectory) -> list[dict[str, Any]]:
    """Return the facts of the trials."""
    found = run.metadata.get("trials")
    if not found:
        raise InputError("metadata.trials", found, "a list of trials, in a run of kind wallbounce")
    return list(found)


def shown(run: Trajectory) -> dict[str, Any]:
    """Return the facts of the trial that the trajectory is."""
    return trials(run)[int(run.metadata.get("shown", 0))]


def safe(one: Mapping[str, Any]) -> bool:
    """Whether a trial ended upright and within 0.3 m of its goal, the torso never touching anything."""
    return bool(one["status"] == "success" and one["torso_min"] > 0.0 and one["away"] <= 0.3)


def recover(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Return the metrics of `wallbounce-recover`; forces are those of gentle trials in which a hand pushes."""
    values = {
        "falls_two_level": _count(run, lambda one: one["status"] != "success"),
        "safe_two_level": _count(run, safe),
    }
    for part in ("drive-only", "implicit-only", "paper-presets", "gentle"):
        if part in parts:
            values[f"safe_{part.replace('-', '_')}"] = _count(parts[part], safe)
    if "gentle" in parts:
        used = [one for one in trials(parts["gentle"]) if one["force_mismatch"] is not None]
        if used:
            values["gentle_force_planned"] = float(np.median([one["force_planned"] for one in used]))
            values["gentle_force_mismatch"] = float(np.median([one["force_mismatch"] for one in used]))
            values["gentle_force_measured"] = float(np.median([one["force_measured"] for one in used]))
        values["gentle_hands_used"] = float(len(used))
    return values


def avoid(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Return the metrics of `wallbounce-avoid`."""
    values = {
        "cleared_seeds": _count(run, cleared),
        "late_contact": float(np.median([one["late_contact"] for one in trials(run)])),
        "clearance": float(np.median([one["torso_min"] for one in trials(run)])),
    }
    if "drive-only" in parts:
        values["drive_only_hits"] = _count(parts["drive-only"], lambda one: one["torso_min"] <= 0.0)
        values["cleared_drive_only"] = _count(parts["drive-only"], cleared)
    return values


def cleared(one: Mapping[str, Any]) -> bool:
    """Whether the torso kept 2 cm from box and wall and the robot reached its goal."""
    return bool(one["status"] == "success" and one["torso_min"] >= 0.02 and one["goal_time"] is not None)


def turn(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Return the metrics of `wallbounce-turn`.

    A time that is never reached counts as infinite in the median; an infinite median is left out, so that its limit
    does not hold.
    """
    values = {"falls": _count(run, lambda one: one["status"] != "success")}
    for key in _TURN:
        values[key] = _median(run, key)
    if "drive-only" in parts:
        for key in _TURN:
            alone = _median(parts["drive-only"], key)
            values[f"{key}_drive_only"] = alone
            values[f"{key}_ratio"] = values[key] / alone if alone > 0.0 else float("nan")
    return {key: value for key, value in values.items() if np.isfinite(value)}


def models(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Return the metrics of `wallbounce-models`: quality of hybrid plans, and of implicit ones beside them.

    Plans without any contact have none: a limit on them does not hold.
    """
    values: dict[str, float] = {}
    for level, suffix in (("hybrid", ""), ("implicit", "_implicit")):
        quality = run.metadata["plan_quality"][level]
        for name in _QUALITY:
            for share in ("p95", "p50"):
                value = quality[f"{name}_{share}"]
                if value is not None:
                    values[f"{name}_{share}{suffix}"] = float(value)
    return values


def _count(run: Trajectory, holds: Any) -> float:
    return float(sum(bool(holds(one)) for one in trials(run)))


def _median(run: Trajectory, key: str) -> float:
    return float(np.median([float("inf") if one[key] is None else one[key] for one in trials(run)]))
