"""Metrics of passive walkers: states just after touch-down, from the record, compared with those of the cycle."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from trundle.contact.laws import SEPARATED
from trundle.errors import InputError
from trundle.numerics.singular import refuse_singular
from trundle.records import Trajectory
from trundle.report import Count, MetricGroup, Quantity
from trundle.report.runs import Runs

Array = NDArray[np.float64]

DURATION, MULTIPLIER = 2.25671, 0.448
"""Stride duration (in sqrt(leg/gravity)) and largest Floquet multiplier of the named scenario's walker, computed by
shooting with another program."""

STRIDES = 10
"""Number of strides after which the remaining error is measured."""

LEGS = ("left", "right")


def is_walker(run: Trajectory) -> bool:
    """Return whether a run is one of task `walk`."""
    return run.dimension == 2 and "walk" in run.metadata


def landings(run: Trajectory) -> tuple[Array, Array]:
    """Return times (k,) s and states (k, 3) just after the start and every touch-down.

    A state is (stance angle, stance rate, swing rate), rad and, over sqrt(gravity/leg), 1. The record holds the instant
    before a touch-down; the state after it is recomputed, see `after_impact`.
    """
    walk = run.metadata["walk"]
    unit = float(walk["cycle"]["unit"])
    angle, rate = run["body_angle"], run["body_angular_velocity"]
    stance = 0 if run["mode"][0, 0] != SEPARATED.name else 1
    times, states = [float(run.time[0])], [np.array([angle[0, stance], rate[0, stance], rate[0, 1 - stance]])]
    for change in run.transitions:
        found = np.flatnonzero(run.time == change["time"])
        if change["reason"] != "the gap closed" or not found.size:
            continue
        k = int(found[0])
        order = [stance, 1 - stance]
        states.append(after_impact(walk["walker"], angle[k, order], rate[k, order]))
        times.append(float(change["time"]))
        stance = 1 - stance
    return np.array(times), np.array(states) * [1.0, unit, unit]


def after_impact(walker: Mapping[str, float], angle: Array, rate: Array) -> Array:
    """Return (angle, rate) of the leg that landed and the rate of the one that leaves, (3,), rad and rad/s.

    From angles and rates (2,) of (stance leg, swing leg) before. The impulse acts at the new contact only: angular
    momentum is kept about it, and, of the leg that leaves, about the hip.
    """
    R, to_center = walker["foot_radius"], walker["leg"] - walker["foot_radius"]
    m, J, c = walker["leg_mass"], walker["leg_inertia"], walker["leg_center"] * walker["leg"]
    down = np.stack([np.sin(angle), -np.cos(angle)], axis=1)
    feet = to_center * down + [0.0, -R]  # lowest points, from the hip

    def momenta(v_hip: Array, w: Array) -> Array:
        about_foot = walker["hip_mass"] * _cross(-feet[1], v_hip)
        for k in range(2):
            v = v_hip + w[k] * _turn_quarter(c * down[k])
            about_foot = about_foot + m * _cross(c * down[k] - feet[1], v) + J * w[k]
        leaving = m * _cross(c * down[0], v_hip + w[0] * _turn_quarter(c * down[0])) + J * w[0]
        return np.array([about_foot, leaving])

    kept = momenta(rate[0] * _turn_quarter(-feet[0]), rate)
    columns = [momenta(w[1] * _turn_quarter(-feet[1]), w) for w in np.eye(2)]
    with refuse_singular("walker", "masses and lengths for which a touch-down has one outcome"):
        w = np.linalg.solve(np.stack(columns, axis=1), kept)
    return np.array([angle[1], w[1], w[0]])


def _turn_quarter(r: Array) -> Array:
    return np.array([-r[1], r[0]])


def _cross(r: Array, v: Array) -> float:
    return float(r[0] * v[1] - r[1] * v[0])


def errors(run: Trajectory, home: Array) -> Array:
    """Return how far (k,) a walker is from the cycle's state `home` (3,) after every touch-down."""
    return np.linalg.norm(landings(run)[1] - home, axis=1)


def passive_walker(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Return the remaining part of the initial error, and stride and multiplier of the cycle and of its unstable twin.

    Stride and errors are those of the simulated runs; multipliers are eigenvalues of the stride map's derivative.
    """
    if "cycle" not in parts or not is_walker(run):
        raise InputError("parts", sorted(parts), "with a part 'cycle', for these metrics")
    times, states = landings(parts["cycle"])
    found = run.metadata["walk"]
    unit = float(found["cycle"]["unit"])
    left = errors(run, states[0])
    if len(left) <= STRIDES or len(times) <= STRIDES:
        raise InputError("simulation.strides", len(left) - 1, f"at least {STRIDES}, for these metrics")
    stride = float(times[STRIDES] - times[0]) / STRIDES / unit
    multiplier = float(np.max(found["cycle"]["multipliers"]))
    values = {
        "stride_duration": stride,
        "stride_duration_error": abs(stride - DURATION),
        "multiplier": multiplier,
        "multiplier_error": abs(multiplier - MULTIPLIER),
        "error_after_10_strides": float(left[STRIDES] / left[0]) if left[0] > 0 else 0.0,
        "error_growth": float(np.max(left) / left[0]) if left[0] > 0 else 0.0,
        "collocation_difference": float(found["cycle"]["difference"]),
        "iterations": float(found["cycle"]["iterations"]),
    }
    for trial in found.get("trials", ()):
        values[f"trials_returned_{100 * trial['error']:g}_percent"] = Count(trial["returned"], trial["count"])
    if "twin" in parts:
        twin = parts["twin"].metadata["walk"]["cycle"]
        values |= {
            "twin_stride_duration": float(twin["duration"]),
            "twin_angle": float(twin["start"][0]),
            "twin_multiplier": float(np.max(twin["multipliers"])),
        }
    return values


WALKER = MetricGroup(
    {
        "stride_duration": Quantity("1", "simulated stride in sqrt(leg/gravity)"),
        "stride_duration_error": Quantity("1", "simulated stride in sqrt(leg/gravity) against 2.25671"),
        "multiplier": Quantity("1", "largest Floquet multiplier"),
        "multiplier_error": Quantity("1", "largest Floquet multiplier against 0.448"),
        "error_after_10_strides": Quantity("1", "remaining share of the initial error, simulated with impacts"),
        "error_growth": Quantity("1", "largest error after a touch-down over the initial error"),
        "collocation_difference": Quantity("1", "difference of the periodic collocation from the accurate stride map"),
        "iterations": Quantity("1", "of the collocation"),
        "trials_returned": Quantity("1", "starts in random directions that return to the cycle"),
        "trials_returned_1_percent": Quantity("1", "starts with an error of 1 % that return to a hundredth of it"),
        "trials_returned_5_percent": Quantity("1", "starts with an error of 5 % that return to a hundredth of it"),
        "twin": Quantity("1", "of the walker with another program's numbers"),
    },
    passive_walker,
)
