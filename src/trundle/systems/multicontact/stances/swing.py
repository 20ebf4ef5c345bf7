"""Swing paths: how a limb goes from one contact to the next over way-points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, non_negative, number, positive
from trundle.errors import InputError

if TYPE_CHECKING:
    from scipy.interpolate import CubicSpline

_UP = np.array([0.0, 0.0, 1.0])
_SAMPLES = 65  # of a swing's way


def lifted_waypoint(start: ArrayLike, end: ArrayLike, along: float = 0.1, across: float = 0.15) -> FloatArray:
    """Return the way-point  start + along v + across |v| n  with v = end - start (paper 3, (16)).

    n is the unit vector in the vertical plane of v that is perpendicular to v and points upwards; the paper's printed
    v_perp = n x v is horizontal, and lifts nothing. For a vertical v, n is any direction across it.
    """
    p, q = array("start", start, (3,), unit="m"), array("end", end, (3,), unit="m")
    number("along", along)
    number("across", across)
    v: FloatArray = q - p
    length = float(np.linalg.norm(v))
    if length < 1e-12:
        return np.array(p)
    share = float(_UP @ v) / length**2
    n: FloatArray = _UP - share * v
    if float(np.linalg.norm(n)) < 1e-9:
        n = np.asarray(np.cross(v, np.eye(3)[int(np.argmin(np.abs(v)))]), dtype=np.float64)
    n = n / float(np.linalg.norm(n))
    return p + along * v + across * length * n


@dataclass(frozen=True)
class SwingPath:
    """A smooth path through way-points that starts and ends at rest (final).

    A cubic spline in each component, the instants of way-points in proportion to the distances.

    Parameters
    ----------
    start, end : (3,) m
    begin : s
        When it starts.
    duration : s
    waypoints : (k, 3) m
        In order; none: a straight line.
    """

    start: FloatArray
    end: FloatArray
    begin: float
    duration: float
    waypoints: FloatArray | Sequence[FloatArray] = ()
    _curve: CubicSpline = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        from scipy.interpolate import CubicSpline

        number("begin", self.begin, unit="s")
        positive("duration", self.duration, "s")
        ends = [array(name, getattr(self, name), (3,), unit="m") for name in ("start", "end")]
        between = array("waypoints", np.reshape(np.asarray(self.waypoints, dtype=float), (-1, 3)), (None, 3), unit="m")
        points = np.vstack((ends[0], between, ends[1]))
        steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
        if len(points) > 2 and np.any(steps < 1e-12):
            raise InputError("waypoints", self.waypoints, "way-points apart from each other and from the ends")
        parts = np.cumsum([0.0, *steps]) / steps.sum() if steps.sum() > 0 else np.array([0.0, 1.0])
        object.__setattr__(self, "_curve", CubicSpline(parts, points, bc_type="clamped"))
        for name, value in zip(("start", "end", "waypoints"), (*ends, between), strict=True):
            object.__setattr__(self, name, value)

    @property
    def finish(self) -> float:
        """When it ends, s."""
        return self.begin + self.duration

    @property
    def length(self) -> float:
        """Its length, m."""
        points = self._curve(np.linspace(0.0, 1.0, _SAMPLES))
        return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())

    def at(self, time: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return position (3,) m, velocity and acceleration at `time` (s); at rest outside."""
        s = (time - self.begin) / self.duration
        if not 0.0 < s < 1.0:
            return (self.start if s <= 0 else self.end), np.zeros(3), np.zeros(3)
        T = self.duration
        return self._curve(s), self._curve(s, 1) / T, self._curve(s, 2) / T**2


def step_over(
    start: ArrayLike, end: ArrayLike, begin: float, duration: float, lift: float, bow: Sequence[float] = (0, 0, 0)
) -> SwingPath:
    """Return a step that is `lift` (m) above the higher end at a quarter and at three quarters of the way.

    ``bow`` (3,) m is added to both way-points: a foot swings outwards round the other. A foot needs room over the edge
    of a step: 5 cm fell where 12 cm held.
    """
    p, q = array("start", start, (3,), unit="m"), array("end", end, (3,), unit="m")
    top = max(p[2], q[2]) + non_negative("lift", lift, "m")
    aside = array("bow", bow, (3,), unit="m")
    points = [p + part * (q - p) for part in (0.25, 0.75)]
    for point in points:
        point[2] = top
    return SwingPath(p, q, begin, duration, [point + aside for point in points] if lift > 0 or aside.any() else ())
