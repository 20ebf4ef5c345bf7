"""A circle through points in the plane, with its uncertainty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array
from trundle.errors import InputError

_STEPS = 200  # iterations of reweighting at most
_HALVINGS = 30  # of a step at most: to a billionth of it
_CAUCHY, _MAD = 2.385, 1.4826
_SMALL = 1e-9  # m: least spread of the deviations, so that points on a circle exactly can be fitted
_TUKEY, _TRIPLES, _CLEARLY = 4.685, 500, 1.15
_SINGULAR = 1e14  # condition number beyond which no digit of a solution is left


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


def fit_circle(
    points: ArrayLike,
    robust: bool = False,
    *,
    fewest: int = 4,
    tolerance: float = 1e-10,
    start: CircleFit | None = None,
) -> CircleFit:
    """Fit a circle: min over c, r of sum w_i (|p_i - c| - r)^2, by Gauss-Newton from the algebraic circle.

    The algebraic circle solves |p|^2 = 2 c.p + (r^2 - |c|^2) by linear least squares; on a short arc with noise its
    radius is too small, which the geometric fit mends. Weights are 1 (then one bad point of 200 can move the radius
    anywhere: see `CircleFit.rms`) or, ``robust``, Cauchy's w = 1/(1 + (d/(2.385 s))^2), s = 1.4826 median |d|, found by
    iteration: points that do not belong to the arc count little, and 5 % of the accuracy is lost where all do.

    Far or many such points draw the start after them. So the circle of least median |d| through three of the points
    (Rousseeuw 1984; `_TRIPLES` draws of a fixed seed) is a second start, whose weights end at d = 4.685 s: Tukey's
    w = (1 - (d/(4.685 s))^2)^2. It is the answer where its median |d| is smaller by `_CLEARLY`: then up to two fifths
    of the points may lie anywhere, if the others are within 1 mm or so of a radius of .3 m; at 5 mm less than a third.

    Parameters
    ----------
    points : (N, 2) m
        At least `fewest`.
    robust : bool
    fewest : int
        Three points lie on one circle, with nothing left to tell the uncertainty from: then `covariance` is zero.
    tolerance : float
        Of the centre and the radius, over the extent of the points: where the iteration stops.
    start : CircleFit, optional
        Second start of a robust fit in place of the circle of least median.

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
    z, w = _iterate_circle(q, _algebraic(q), _cauchy if robust else np.ones_like, tolerance)
    if robust:
        other = _of_least_median(q) if start is None else np.array([*(start.center - middle), start.radius]) / size
        if other is not None and _median(q, other) * _CLEARLY < _median(q, z):
            other, kept = _iterate_circle(q, other, _tukey, tolerance)
            if _median(q, other) * _CLEARLY < _median(q, z):
                z, w = other, kept
    J, d = _slopes(q, z)
    total = float(np.sum(w))
    information = J.T @ (w[:, None] * J)
    if len(np.unique(p, axis=0)) < fewest or _singular(information):
        raise InputError("points", len(q), "points on an arc: these lie on a line, or on too few places")
    spread = np.asarray(np.linalg.inv(information), dtype=np.float64)
    spread = spread * float(w @ (d * d)) / max(total - 3.0, 1.0)
    rms = float(np.sqrt(w @ (d * d) / total))
    return CircleFit(middle + size * z[:2], size * float(z[2]), size * rms, size**2 * spread, w)


def _singular(matrix: FloatArray) -> bool:
    return not np.isfinite(matrix.sum()) or bool(np.linalg.cond(matrix) > _SINGULAR)


def _iterate_circle(
    q: FloatArray, z: FloatArray, weigh: Callable[[FloatArray], FloatArray], tolerance: float
) -> tuple[FloatArray, FloatArray]:
    """Return the circle (c, r) and the weights at which the iteration from z stops."""
    w = np.ones(len(q)) if weigh is not _tukey else _tukey(_distances(q, z))
    for _ in range(_STEPS):
        before, last = z, w
        z = _step_circle(q, w, z)
        w = weigh(_distances(q, z))
        moved = float(np.max(np.abs(z - before))) + float(np.max(np.abs(w - last)))
        if moved <= tolerance * (1.0 + abs(float(z[2]))):
            break
    return z, w


def _cauchy(d: FloatArray) -> FloatArray:
    return 1.0 / (1.0 + (d / (_CAUCHY * max(_MAD * float(np.median(np.abs(d))), _SMALL))) ** 2)


def _tukey(d: FloatArray) -> FloatArray:
    scale = _TUKEY * max(_MAD * float(np.median(np.abs(d))), _SMALL)
    return np.maximum(1.0 - (d / scale) ** 2, 0.0) ** 2


def _median(q: FloatArray, z: FloatArray) -> float:
    return max(float(np.median(np.abs(_distances(q, z)))), _SMALL)


def _of_least_median(q: FloatArray) -> FloatArray | None:
    """Return the circle (c, r) through three of the points that has the least median |d|, or None."""
    draws = np.random.default_rng(0).random((_TRIPLES, 3)) * [len(q), len(q) - 1, len(q) - 2]
    i, j, k = draws.astype(np.int64).T
    j += j >= i
    k += k >= np.minimum(i, j)
    k += k >= np.maximum(i, j)
    b, c = q[j] - q[i], q[k] - q[i]
    twice = 2.0 * (b[:, 0] * c[:, 1] - b[:, 1] * c[:, 0])
    bb, cc = np.sum(b * b, axis=1), np.sum(c * c, axis=1)
    away = np.column_stack([c[:, 1] * bb - b[:, 1] * cc, b[:, 0] * cc - c[:, 0] * bb])
    round_ = np.abs(twice) > _SMALL * np.sqrt(bb * cc)
    if not round_.any():
        return None
    away = away[round_] / twice[round_, None]
    centers, radii = q[i[round_]] + away, np.linalg.norm(away, axis=1)
    d = np.abs(np.linalg.norm(q - centers[:, None], axis=2) - radii[:, None])
    best = int(np.argmin(np.median(d, axis=1)))
    return np.array([*centers[best], radii[best]])


def _algebraic(q: FloatArray) -> FloatArray:
    A = np.column_stack([2 * q, np.ones(len(q))])
    found, _, rank, _ = np.linalg.lstsq(A, np.sum(q * q, axis=1), rcond=1e-9)
    if rank < 3:
        raise InputError("points", len(q), "points on an arc: these lie on a line")
    return np.array([*found[:2], np.sqrt(found[2] + found[:2] @ found[:2])])


def _step_circle(q: FloatArray, w: FloatArray, z: FloatArray) -> FloatArray:
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
    length = np.maximum(np.linalg.norm(away, axis=1), 1e-300)
    return np.column_stack([-away / length[:, None], -np.ones(len(q))]), length - z[2]


def _distances(q: FloatArray, z: FloatArray) -> FloatArray:
    return np.linalg.norm(q - z[:2], axis=1) - z[2]
