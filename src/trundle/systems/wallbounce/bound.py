"""The push that a ball balancer survives by its drive alone, by its linear model."""

from __future__ import annotations

import math

import numpy as np

from trundle.checks import non_negative, positive
from trundle.systems.wallbounce.control.costs import holding
from trundle.systems.wallbounce.robot import BallBalancer


def impulse_bound(robot: BallBalancer, length: float, height: float, drive: float | None = None) -> float:
    r"""Return the largest impulse (N s) of a steady horizontal push after which the drive alone can still balance.

    Upright and at rest x' = A x + B u + b w, |u_i| <= F; a push of impulse J and length L is w = J / L for L, and b
    what it adds to the rates of the momenta l and h. A motion that grows, v'A = lambda v', is turned back only while
    lambda |v'x| <= F |v'B|. With the drive at its limit from the push's first instant that holds up to

        J = F L |v'B| / (|v'b| (1 - exp(-lambda L))),

    the same in all headings for a robot as stiff fore and aft as sideways, else that of its weaker axis. No controller
    does better on the linear model; one that measures the push late, or keeps a place as well, survives less.

    Parameters
    ----------
    robot : BallBalancer
    length : float, s
        L, above 0.
    height : float, m
        Where the push acts, above the ball's centre.
    drive : float, N, optional
        F of each component; left out: `robot.drive_limit`, that of plans.

    Raises
    ------
    InputError
        If a number is out of its range.

    Notes
    -----
    Own derivation; held against simulations of the exact model in `tests/systems/wallbounce/test_bound.py`.

    Examples
    --------
    >>> from trundle.systems.wallbounce.robot import BallBalancer
    >>> [round(impulse_bound(BallBalancer(), 0.25, height), 1) for height in (0.3, 0.5, 0.7)]
    [69.9, 55.6, 19.9]
    """
    positive("length", length, "s")
    non_negative("height", height, "m")
    limit = positive("drive", robot.drive_limit if drive is None else drive, "N")
    rates, grown = holding(robot)
    if not np.any(grown):
        return math.inf
    push = np.zeros((grown.shape[1], 2))
    push[5:9] = [[1.0, 0.0], [0.0, 1.0], [0.0, -height], [height, 0.0]]
    countered = np.max(np.linalg.norm(grown @ push, axis=0))  # drive over push, N/N
    return float(limit * length / (countered * -np.expm1(-np.max(rates) * length)))
