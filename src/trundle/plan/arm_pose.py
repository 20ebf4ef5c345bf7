"""Postures of arms: joints that bring hands where they should be, the rest of the robot left as it is."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trundle.checks import FloatArray, positive
from trundle.errors import InputError
from trundle.models.humanoid import Humanoid
from trundle.numerics.turning import rotation_vector

_DAMPING = 1e-3
_REST = 0.02
"""Part of the way to the rest posture that a step goes in what the hands leave free."""


def arm_pose(
    humanoid: Humanoid,
    q: FloatArray,
    targets: Mapping[str, tuple[FloatArray, FloatArray]],
    *,
    tolerance: float = 0.02,
    iterations: int = 200,
) -> FloatArray:
    """Return joints (n,) with each hand of `targets` at its place p (3,) m with its axes R (3, 3), world.

    Only joints that move one end alone and no foot are moved, by damped least squares within their limits from the
    state q (nq,); what the hands leave free stays near the rest posture.

    Raises
    ------
    InputError
        If a hand misses its place by more than `tolerance` (m, and 10 rad/m of it in attitude).
    """
    positive("tolerance", tolerance, "m")
    robot, state = humanoid.robot, np.array(q)
    still, low, high = np.zeros(robot.nv), robot.lower, robot.upper
    errors = np.zeros(0)
    for i in range(iterations):
        pull = _REST if i < iterations // 2 else 0.0  # the places have the last word
        ends = humanoid.end_motions(robot.terms(state, still, humanoid.links).motions)
        touched = {name: np.any(np.abs(end.J[:, 6:]) > 1e-12, axis=0) for name, end in ends.items()}
        errors = np.zeros(0)
        for name, (p, R) in targets.items():
            end = ends[name]
            own = touched[name] & ~np.any([t for other, t in touched.items() if other != name], axis=0)
            J = end.J[:, 6:][:, own]
            error = np.concatenate([rotation_vector(end.R, R), p - end.p])
            rest = pull * (humanoid.joint_posture[own] - state[7:][own])
            K = J.T @ np.linalg.inv(J @ J.T + _DAMPING * np.eye(6))
            step = K @ error + rest - K @ (J @ rest)
            moved = state[7:].copy()
            moved[own] += step * min(1.0, 0.3 / max(float(np.abs(step).max()), 1e-9))
            state[7:] = np.clip(moved, low, high)
            errors = np.concatenate([errors, error[3:], 0.1 * error[:3]])
    if np.abs(errors).max(initial=0.0) > tolerance:
        miss = f"one is missed by {np.abs(errors).max():.3f} m"
        raise InputError("targets", list(targets), f"places within reach of the arms: {miss}")
    return state[7:]
