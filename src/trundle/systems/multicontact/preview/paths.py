"""Paths of a point over time, for the centre of mass to follow: way-points joined by straight or smooth pieces."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, choice
from trundle.errors import InputError

SHAPES = ("straight", "smooth")


class PointPath:
    """A path through way-points (final): callable, times (n,) s -> positions (n, 3) m and velocities (n, 3) m/s.

    ``"straight"``: constant velocity from one way-point to the next (the gross segments of paper 3, III-C; at a
    way-point the velocity is that of the piece before it). ``"smooth"``: a monotone cubic of each component
    (PCHIP: velocities are continuous, nothing overshoots, the ends are at rest). Outside the times it rests there.

    Parameters
    ----------
    times : (k,) s
        Ascending.
    points : (k, 3) m, world
    shape : str

    Raises
    ------
    InputError
        For times that do not ascend, sizes that differ or values that are not finite.

    Examples
    --------
    >>> path = tr.multicontact.PointPath([0.0, 1.0], [[0, 0, 0.9], [0.2, 0, 0.9]])
    >>> position, velocity = path([0.5])
    >>> position.round(12).tolist()
    [[0.1, 0.0, 0.9]]
    """

    def __init__(self, times: ArrayLike, points: ArrayLike, shape: str = "straight") -> None:
        self.times = array("times", times, (None,), unit="s")
        if len(self.times) < 1 or np.any(np.diff(self.times) <= 0):
            raise InputError("times", times, "at least one, ascending (s)")
        self.points = array("points", points, (len(self.times), 3), unit="m")
        self.shape = choice("shape", shape, SHAPES)
        self._smooth = shape == "smooth" and len(self.times) > 1
        self._rates = np.diff(self.points, axis=0) / np.diff(self.times)[:, None]
        if self._smooth:
            from scipy.interpolate import PchipInterpolator

            # Repeated ends make the slopes there zero: it starts and ends at rest.
            times = np.concatenate((self.times[:1] - 1.0, self.times, self.times[-1:] + 1.0))
            points = np.concatenate((self.points[:1], self.points, self.points[-1:]))
            self._curve = PchipInterpolator(times, points, axis=0)
            self._rate = self._curve.derivative()

    def __call__(self, times: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return positions (n, 3) and velocities (n, 3) at the times (n,)."""
        if len(self.times) == 1:
            return self.points.repeat(len(times), axis=0), np.zeros((len(times), 3))
        inside = np.minimum(np.maximum(times, self.times[0]), self.times[-1])
        moving = ((times > self.times[0]) & (times <= self.times[-1]))[:, None]
        if self._smooth:
            return self._curve(inside), np.where(moving, self._rate(inside), 0.0)
        piece = np.maximum(self.times.searchsorted(inside) - 1, 0)
        rate = self._rates[piece]
        return self.points[piece] + rate * (inside - self.times[piece])[:, None], np.where(moving, rate, 0.0)
