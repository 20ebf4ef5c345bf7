"""Where a margin reaches zero inside a step, given as a function of the time after the step's start."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import cache

from scipy.optimize import brentq

Margin = Callable[[float], float]
_RELATIVE = 4.0 * sys.float_info.epsilon  # the least that scipy takes


def first_zero(margin: Margin, low: float, high: float, resolution: float) -> float:
    """Return where a margin that is positive at `low` and not positive at `high` reaches zero, on the side <= 0.

    Chandrupatla's method: inverse quadratic interpolation where it is safe, else bisection.

    Parameters
    ----------
    margin : callable
        Margin at a time after the step's start (s).
    low, high : float
        Bracket (s).
    resolution : float
        Wanted width of the final bracket (s).

    Returns
    -------
    float
        The time (s), or -1 if the signs at the bracket's ends are not as said.
    """
    at = cache(margin)
    if not at(low) > 0.0 >= at(high):
        return -1.0
    zero = high if at(high) == 0.0 else float(brentq(at, low, high, xtol=resolution, rtol=_RELATIVE, maxiter=200))
    while at(zero) > 0.0:
        zero = min(zero + resolution, high)
    return zero


def dip(margin: Margin, s: list[float], g: list[float], h: float) -> float:
    """Return a time at which a margin is <= 0 between three times of which the middle one is lowest, or -1.

    Steps to the bottom of the parabola through the three points while that promises at least to halve the margin.

    Parameters
    ----------
    margin : callable
        Margin at a time after the step's start (s).
    s, g : list of float
        Three ascending times (s) and the margins there; on success s[0] is before the dip, with a positive margin.
    h : float
        The step (s).
    """
    for _ in range(8):
        if not (g[1] > 0.0 and g[1] <= g[0] and g[1] <= g[2]):
            return -1.0
        left, right = (g[0] - g[1]) / (s[1] - s[0]), (g[2] - g[1]) / (s[2] - s[1])
        bend = (left + right) / (s[2] - s[0])
        if not bend > 0.0 or not math.isfinite(bend):
            return -1.0
        slope = right - bend * (s[2] - s[1])
        shift, bottom = -0.5 * slope / bend, g[1] - 0.25 * slope * slope / bend
        tip = s[1] + shift
        if not bottom <= 0.5 * g[1] or not abs(shift) > 1e-9 * h or not s[0] < tip < s[2]:
            return -1.0
        value = margin(tip)
        before, lower = tip < s[1], value < g[1]
        if value <= 0.0:
            s[0] = s[0] if before else s[1]
            return tip
        if lower:
            out = 2 if before else 0
            s[out], g[out] = s[1], g[1]
        at = 1 if lower else (0 if before else 2)
        s[at], g[at] = tip, value
    return -1.0
