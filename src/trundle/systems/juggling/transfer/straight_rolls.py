"""A ball on a level plate, geometrically: a few straight rolls that bring it to a place and an orientation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from trundle.checks import FloatArray, array, integer, positive, rotation
from trundle.status import Status

_TOLERANCE = 1e-8  # of a goal, in radii and rad


@dataclass(frozen=True, eq=False)
class StraightRolls:
    """Straight rolls of a ball, one after the other, without spin.

    Attributes
    ----------
    corners : (k + 1, 2) m
        Contact on the plate at the ends of the rolls, the start first.
    status : Status
        SUCCESS if the rolls end at the goal, recomputed, within 1e-8 radii and rad; else GOAL_NOT_REACHED.
    """

    corners: FloatArray
    status: Status

    @property
    def length(self) -> float:
        """Length of the path on the plate, m."""
        return float(np.sum(np.linalg.norm(np.diff(self.corners, axis=0), axis=1)))


def roll_straight(
    displacement: object, turn: object, radius: float, *, rolls: int = 3, starts: int = 8, seed: int = 0
) -> StraightRolls:
    """Return the shortest found path of `rolls` straight rolls to a displacement and a rotation.

    A roll by d turns the ball by z x d / r: minimise sum |d_i| over d_i with sum d_i = displacement and
    exp(z x d_k / r) ... exp(z x d_1 / r) = turn. What a plan without dynamics does (compare the path lengths of
    Woodruff & Lynch 2023, section VI-A): sequential quadratic programming from random starts.

    Parameters
    ----------
    displacement : (2,) m
        Of the contact on the plate.
    turn : (3, 3)
        Rotation of the ball in the plate's frame, R_goal R_start'.
    radius : float, m
    rolls : int
        At least 3: fewer reach only special goals.
    starts, seed : int
        Random starts of the search.

    Raises
    ------
    InputError
        If a value has the wrong shape or is out of range.
    """
    r = positive("radius", radius, "m")
    goal = array("displacement", displacement, (2,), unit="m") / r
    R = Rotation.from_matrix(rotation("turn", turn, 3))
    count = integer("rolls", rolls, minimum=3, maximum=1000)
    integer("starts", starts, minimum=1, maximum=10_000)
    rng = np.random.default_rng(seed)
    reach = 10.0 + 2.0 * float(np.linalg.norm(goal))
    best, shortest = rng.normal(size=2 * count), np.inf
    for _ in range(starts):
        found = minimize(
            _length,
            rng.normal(scale=1.5, size=2 * count),
            constraints={"type": "eq", "fun": _misses, "args": (goal, R)},
            bounds=[(-reach, reach)] * (2 * count),
            method="SLSQP",
            options={"maxiter": 300, "ftol": 1e-12},
        )
        miss = float(np.max(np.abs(_misses(found.x, goal, R))))
        if miss <= _TOLERANCE and _length(found.x) < shortest:
            best, shortest = found.x, _length(found.x)
    corners = np.vstack([np.zeros(2), np.cumsum(best.reshape(-1, 2), axis=0)]) * r
    return StraightRolls(corners, Status.SUCCESS if np.isfinite(shortest) else Status.GOAL_NOT_REACHED)


def _length(rolls: FloatArray) -> float:
    # Smooth where a roll vanishes.
    return float(np.sum(np.sqrt(np.sum(rolls.reshape(-1, 2) ** 2, axis=1) + 1e-12)))


def _misses(rolls: FloatArray, goal: FloatArray, turn: Rotation) -> FloatArray:
    total = Rotation.identity()
    for d in rolls.reshape(-1, 2):
        total = Rotation.from_rotvec([-d[1], d[0], 0.0]) * total
    return np.concatenate([np.sum(rolls.reshape(-1, 2), axis=0) - goal, (total * turn.inv()).as_rotvec()])
