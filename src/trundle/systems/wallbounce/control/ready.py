"""Arms that wait: the posture in which a robot at rest holds its hands just off the walls within reach."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares

from trundle.checks import FloatArray, positive
from trundle.contact.walls import FLAT, Wall
from trundle.systems.wallbounce.robot import BallBalancer

_STIFF = 100.0
"""rad/m: a hand's distance from where it waits, over the joints' angles from rest."""
_SPARE = 0.0625
"""Of a joint's range, that is kept free at both ends: where the plans' barriers of the limits begin to push."""
_THERE = 0.12
"""m beyond the gap: an arm that comes no nearer stays at rest."""


def ready(
    robot: BallBalancer, gap: float, walls: Sequence[Wall], position: ArrayLike = (0.0, 0.0), yaw: float = 0.0
) -> FloatArray:
    """Return the state (16,) at rest with each hand `gap` off a wall within its reach, near the arms' rest.

    Each arm: min |q - q_rest|^2 + k^2 max(d(q) - gap, 0)^2 within the joints' limits, d (m) the distance of the hand's
    surface from the nearest wall; the body leans as the arms' weight asks (`BallBalancer.rest`). An arm
    that cannot come that near stays at rest.

    Parameters
    ----------
    robot : BallBalancer
    gap : float, m
    walls : sequence of Wall
    position : (2,) m
    yaw : float, rad

    Raises
    ------
    InputError
        If `gap` is not positive or a number is not finite.
    """
    gap = positive("gap", gap, "m")
    rest = robot.rest(position, yaw)
    if not walls:
        return rest
    x = ca.SX.sym("x", 16)
    at = [ca.vertcat(x[:2], robot.ball_radius) + r for r, _ in robot.hands(x)]
    numbers = [ca.SX(FLAT.numbers(wall)) for wall in walls]
    nearest = [ca.mmin(ca.vertcat(*(FLAT.distance(p, wall) for wall in numbers))) - robot.hand_radius for p in at]
    gaps = ca.Function("gaps", [x], [ca.vertcat(*nearest)])
    low, high = np.tile(robot.joint_lower, 2), np.tile(robot.joint_upper, 2)
    lower, upper = low + _SPARE * (high - low), high - _SPARE * (high - low)

    def distances(q: FloatArray) -> FloatArray:
        return np.array(gaps(robot.rest(position, yaw, q))).ravel()

    waits = np.ones(2, dtype=bool)

    def residuals(q: FloatArray) -> FloatArray:
        return np.concatenate([q - rest[5:11], _STIFF * waits * np.maximum(distances(q) - gap, 0.0)])

    q = np.clip(rest[5:11], lower, upper)
    while np.any(waits):
        q = least_squares(residuals, np.clip(rest[5:11], lower, upper), bounds=(lower, upper), max_nfev=30).x
        missed = waits & (distances(q) > gap + _THERE)
        if not np.any(missed):
            break
        waits &= ~missed
    return robot.rest(position, yaw, np.where(np.repeat(waits, 3), q, rest[5:11]))
