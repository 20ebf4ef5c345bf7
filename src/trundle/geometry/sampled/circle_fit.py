"""A circle through points in the plane, with its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array
from trundle.errors import InputError

_STEPS = 200
_HALVINGS = 30
_CAUCHY, _MAD = 2.385, 1.4826
_SMALL = 1e-9


@dataclass(frozen=True)
class CircleFit:
    """The circle |p - c| = r nearest to points.

    Attributes
    ----------
    center : (2,) m
    radius : float, m
    rms : float, m
        Root mean square of the points' distances from the circle, by their weights.
    covariance : (3, 3) m2
        Of (c_x, c_z, r): s^2 (J'WJ)^-1 with s^2 = sum w d^2/(sum w - 3), if the distances were independent.
    weights : (N,)
        From 0 to 1; 1 where the fit is not robust.
    """

    center: FloatArray
    radius: float
    rms: float
    covariance: FloatArray
    weights: FloatArray

    def distances(self, points: FloatArray) -> FloatArray:
        """Return |p - c| - r (N,), m, of points (N, 2)."""
        return np.linalg.norm(points - self.center, axis=1) - self.radius


def fit_circle(points: ArrayLike, robust: bool = False, *, fewest: int = 4, tolerance: float = 1e-10) -> CircleFit:
    """Fit a circle: min over c, r of sum w_i (|p_i - c| - r)^2, by Gauss-Newton from the algebraic circle.

    The algebraic circle solves |p|^2 = 2 c.p + (r^2 - |c|^2) by linear least squares; on a short arc with noise its
    radius is too small, which the geometric fit mends. Weights are 1 or, ``robust``, Cauchy's
    w = 1/(1 + (d/(2.385 s))^2), s = 1.4826 median |d|, found by iteration: points that do not belong to the arc count
    little, and 5 % of the accuracy is lost where all do.

    Parameters
    ----------
    points : (N, 2) m
        At least `fewest`.
    robust : bool
    fewest : int
        Three points lie on one circle, with nothing left to tell the uncertainty from: then `covariance` is zero.
    tolerance : float
        Of the centre and the radius, over the extent of the points: where the iteration stops.

    Raises
    ------
    InputError
        If there are too few points, or they lie on a line.
    """
    p = array("points", points, (None, 2), unit="m")
    if len(p) < fewest:
        raise InputError("points", len(p), f"at least {fewest}")
    middle = np.mean(p, axis=0)
    size = float(np.max(np.linalg.norm(p - middle, axis=1))) or 1.0
    q = (p - middle) / size
    z = _algebraic(q)
    w = np.ones(len(q))
    for _ in range(_STEPS):
        before, last = z, w
        z = _weighted(q, w, z)
        if robust:
            d = _distances(q, z)
            scale = max(_MAD * float(np.median(np.abs(d))), _SMALL)
            w = 1.0 / (1.0 + (d / (_CAUCHY * scale)) ** 2)
        moved = float(np.max(np.abs(z - before))) + float(np.max(np.abs(w - last)))
        if moved <= tolerance * (1.0 + abs(float(z[2]))):
            break
    J, d = _slopes(q, z)
    total = float(np.sum(w))
    spread = np.asarray(np.linalg.inv(J.T @ (w[:, None] * J)), dtype=np.float64)
    spread = spread * float(w @ (d * d)) / max(total - 3.0, 1.0)
    rms = size * float(np.sqrt(w @ (d * d) / total))
    return CircleFit(middle + size * z[:2], size * float(z[2]), rms, size**2 * spread, w)


def _algebraic(q: FloatArray) -> FloatArray:
    A = np.column_stack([2 * q, np.ones(len(q))])
    found, _, rank, _ = np.linalg.lstsq(A, np.sum(q * q, axis=1), rcond=1e-9)
    if rank < 3:
        raise InputError("points", len(q), "points on an arc: these lie on a line")
    return np.array([*found[:2], np.sqrt(found[2] + found[:2] @ found[:2])])


def _weighted(q: FloatArray, w: FloatArray, z: FloatArray) -> FloatArray:
    """Return (c, r) after one Gauss-Newton step, halved until the sum of squares does not grow."""
    J, d = _slopes(q, z)
    root = np.sqrt(w)
    step = np.linalg.lstsq(root[:, None] * J, -root * d, rcond=None)[0]
    now = float(w @ (d * d))
    for _ in range(_HALVINGS):
        after = _distances(q, z + step)
        if float(w @ (after * after)) <= now * (1 + 1e-12):
            return z + step
        step = step / 2
    return z


def _slopes(q: FloatArray, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    away = q - z[:2]
    length = np.linalg.norm(away, axis=1)
    return np.column_stack([-away / length[:, None], -np.ones(len(q))]), length - z[2]


def _distances(q: FloatArray, z: FloatArray) -> FloatArray:
    return np.linalg.norm(q - z[:2], axis=1) - z[2]
