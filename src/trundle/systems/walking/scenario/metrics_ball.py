"""Metrics of a ball's transfers: goal errors, costs and the elastica, from poses, velocities and torques."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev
from numpy.typing import NDArray

from trundle.errors import InputError
from trundle.records import Trajectory
from trundle.report import MetricGroup, Quantity
from trundle.report.runs import Runs

Array = NDArray[np.float64]

DEGREE = 26
"""Degree of the polynomial that is fitted to the heading of a path."""
FOLLOWED = 1e-5
"""Largest deviation of a replay's angular velocity from the plan's, relative to the plan's largest value."""


def is_transfer(run: Trajectory) -> bool:
    """Return whether a run is one of kind `walking`, task `transfer`."""
    return "transfer" in run.metadata


def goal_error(run: Trajectory) -> tuple[float, float]:
    """Return how far the last sample is from the goal: position of the contact point (m) and rotation (rad)."""
    goal = run.metadata["transfer"]
    q, p = np.asarray(goal["rotation"]), run["base_quaternion"][-1]
    away = q[0] * p[1:] - p[0] * q[1:] - np.cross(q[1:], p[1:])
    angle = 2 * np.arcsin(min(float(np.linalg.norm(away)), 1.0))
    same = abs(float(q @ p)) > np.sqrt(0.5)
    return float(np.linalg.norm(run["base_position"][-1, :2] - goal["goal"])), angle if same else 2 * np.pi - angle


def rest_error(run: Trajectory) -> float:
    """Return the angular speed at the end, rad/s."""
    return float(np.linalg.norm(run["base_angular_velocity"][-1]))


def torque_cost(run: Trajectory) -> float:
    """Return int |tau|^2 dt, N2 m2 s, of the recorded torques, by the trapezoidal rule."""
    return float(np.trapezoid(np.sum(run["body_torque"][:, 0] ** 2, axis=1), run.time))


@dataclass(frozen=True)
class Elastica:
    """Curvature of a path, and its residual in the elastica's equation kappa'' + kappa^3/2 - c kappa = const.

    Attributes
    ----------
    length : (n,) m
        Arc length.
    curvature, second : (n,) 1/m, 1/m3
        kappa and its second derivative by the length.
    c, constant : float
        1/m2, 1/m3, by least squares.
    residual : (n,) 1/m3
    """

    length: Array
    curvature: Array
    second: Array
    c: float
    constant: float
    residual: Array

    @property
    def relative(self) -> float:
        """Largest residual over the largest |kappa|^3."""
        return float(np.max(np.abs(self.residual)) / np.max(np.abs(self.curvature)) ** 3)


def elastica(run: Trajectory) -> Elastica:
    """Fit the elastica to the path of the contact point.

    The heading theta(s) is the direction of the ball's velocity (r w x n) at the plan's nodes, as a function of the
    length it has rolled; kappa = d theta/d s and kappa'' are derivatives of a polynomial fitted to it. Only nodes are
    used: between them the angular velocity is interpolated linearly in time and not optimal.

    Raises
    ------
    InputError
        If the plan has too few nodes, or the simulated ball does not turn as planned.
    """
    transfer = run.metadata["transfer"]
    radius, nodes = float(transfer["radius"]), np.asarray(transfer["times"])
    at = np.asarray(transfer["angular_velocity"])[:, :2].T
    if len(nodes) < 2 * DEGREE:
        raise InputError("plan.nodes", len(nodes) - 1, f"at least {2 * DEGREE}, for the elastica")
    planned = np.stack([np.interp(run.time, nodes, column) for column in at], axis=1)
    off = float(np.max(np.abs(run["base_angular_velocity"][:, :2] - planned))) / float(np.max(np.abs(at)))
    if not off <= FOLLOWED:
        raise InputError("base_angular_velocity", off, f"that of the plan within {FOLLOWED:g}, for the elastica")
    speed = radius * np.hypot(*at)
    s = np.concatenate([[0.0], np.cumsum((speed[1:] + speed[:-1]) / 2 * np.diff(nodes))])
    heading = np.unwrap(np.arctan2(-at[0], at[1]))
    theta = Chebyshev.fit(s, heading, DEGREE)
    kappa, second = theta.deriv(1)(s), theta.deriv(3)(s)
    c, constant = np.linalg.lstsq(np.column_stack([kappa, np.ones_like(s)]), second + kappa**3 / 2, rcond=None)[0]
    residual = second + kappa**3 / 2 - c * kappa - constant
    return Elastica(s, kappa, second, float(c), float(constant), residual)


def ball_transfer(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Return the metrics of a study of transfers: the worst goal error of all, costs, and the two exact cases.

    The part `straight` is compared with 12 (I + m r^2)^2 (d/r)^2 / T^3, the part `kinematic` with the elastica.
    """
    runs: dict[str, Trajectory] = {"": run, **{name: one for name, one in parts.items() if is_transfer(one)}}
    if not is_transfer(run):
        raise InputError("task", run.metadata.get("kind"), "transfer, for these metrics")
    errors = {name: goal_error(one) for name, one in runs.items()}
    values: dict[str, float] = {
        "goal_error": max(max(error) for error in errors.values()),
        "goal_position_error": errors[""][0],
        "goal_rotation_error": errors[""][1],
        "rest_error": rest_error(run),
        "cost": torque_cost(run),
        "optima": float(len(run.metadata["transfer"]["optima"])),
        "kkt_residual": max(float(one.metadata["transfer"]["kkt_residual"]) for one in runs.values()),
    }
    for name, one in runs.items():
        known: Mapping[str, Any] = one.metadata["transfer"]
        if name and known["model"] == "dynamic":
            values[f"cost_{name.replace('-', '_')}"] = torque_cost(one)
        if known["model"] == "kinematic":
            values["elastica_residual"] = elastica(one).relative
        elif known["straight"]:
            values["straight_cost_error"] = abs(torque_cost(one) / float(known["straight_cost"]) - 1)
    return values


BALL = MetricGroup(
    {
        "straight_cost_error": Quantity("1", "relative, against the exact straight natural roll"),
        "elastica_residual": Quantity("1", "of kappa'' + kappa^3/2 - c kappa = const, over max |kappa|^3"),
        "goal_error": Quantity("1", "position (m) and rotation (rad), re-simulated, all parts"),
        "goal_position_error": Quantity("m", "of the main run, re-simulated"),
        "goal_rotation_error": Quantity("rad", "of the main run, re-simulated"),
        "rest_error": Quantity("rad/s", "angular speed at the end"),
        "cost": Quantity("N2 m2 s", "int |tau|^2 dt"),
        "optima": Quantity("1", "different optima found"),
        "kkt_residual": Quantity("1", "of all plans, scaled, recomputed"),
    },
    ball_transfer,
)
