"""Signed distance of points to a boundary, with its gradient."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.geometry.boundary import Boundary
from trundle.geometry.queries.locate import closest_on_charts
from trundle.geometry.queries.sampling import (
    NumericSupport,
    RowFunction,
    directions,
    numeric_charts,
    numeric_level,
    numeric_support,
    sample,
)

Values = Callable[[FloatArray], tuple[FloatArray, FloatArray, FloatArray]]

_NEWTON = 30  # steps of Newton's method at most
_STRAIGHT, _DIGITS, _BESIDE, _REAL, _NEARLY_ON = 1e-12, 12, 1e-4, 1e-6, 1e-3
"""Bend of a quadric, in parts of its largest one, that is none, and digits of others that are one; how far, in sizes, a
point is taken beside axes; the imaginary part of a root that may be a real one; and how far off a foot may be that is
refined."""
_STILL = 1e-16
"""Newton step, in parts of the coordinates' size, that is round-off."""


def distance(shape: Boundary, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the signed distances (m,) and unit gradients (m, d) at `x` (m, d), see `Shape.distance`."""
    bundle = shape.representations
    if not len(x):
        return np.zeros(0), np.zeros((0, shape.d))
    if bundle.distance is not None:
        return _closed_form(shape, x)
    if shape.d == 3 and bundle.level is not None and bundle.level.bends is not None and not bundle.hull:
        return _from_level(shape, x)
    if bundle.support is not None and not bundle.hull:
        return _from_support(shape, x)
    if bundle.charts:
        return _from_charts(shape, x)
    if bundle.level is not None:
        return _from_level(shape, x)
    raise InputError("shape", type(shape).__name__, "a shape with a chart, a support function or a level set")


def _closed_form(shape: Boundary, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    raw = shape.numeric(_distance_function)(x)
    s, gradient = raw[:, 0], raw[:, 1:]
    # On the medial axis (centre of a ball) every direction is as good as another.
    undefined = ~(np.abs(np.linalg.norm(gradient, axis=1) - 1) < 1e-6)
    gradient[undefined] = np.eye(shape.d)[-1]
    return s, gradient


def _distance_function(shape: Boundary) -> RowFunction:
    x = ca.SX.sym("x", shape.d)
    s = shape.representations.distance(x)  # type: ignore[misc]
    return RowFunction(ca.Function("distance_and_gradient", [x], [ca.vertcat(s, ca.gradient(s, x))]))


def _from_support(shape: Boundary, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """s(x) = max over n of n.x - h(n), gradient n: Newton on the sphere from the best of many normals."""
    support = numeric_support(shape)
    seeds = shape.numeric(_support_seeds)
    n = seeds[0][np.argmax(x @ seeds[0].T - seeds[1], axis=1)]
    h, point, radii = support.at(n)
    s = np.sum(n * x, axis=1) - h
    for _ in range(40):
        slide = x - point
        slide -= np.sum(slide * n, axis=1)[:, None] * n
        normal_part = n[:, :, None] * n[:, None, :]
        matrix = radii + s[:, None, None] * (np.eye(shape.d) - normal_part)
        low = np.linalg.eigvalsh(matrix + (np.abs(s) + 1.0)[:, None, None] * normal_part)[:, 0]
        lift = np.maximum(0.0, 1e-3 * np.abs(s) + 1e-12 * shape.reference_length - low)
        matrix += lift[:, None, None] * np.eye(shape.d) + normal_part
        step = np.linalg.solve(matrix, slide[..., None])[..., 0]
        better = _climb(support, x, (n, point, radii, s), step, shape.reference_length)
        if not np.any(better & (np.linalg.norm(step, axis=1) >= 1e-15)):
            break
    return s, n


def _climb(
    support: NumericSupport,
    x: FloatArray,
    state: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    step: FloatArray,
    size: float,
) -> NDArray[np.bool_]:
    """Take `step`, halved until s does not fall, in place in (n, point, radii, s); return which rows moved."""
    n, point, radii, s = state
    factor = np.minimum(1.0, 0.5 / np.maximum(np.linalg.norm(step, axis=1), 1e-300))
    moved = np.zeros(len(x), dtype=bool)
    for _ in range(20):
        rows = np.flatnonzero(~moved)
        if not len(rows):
            break
        trial = n[rows] + factor[rows, None] * step[rows]
        trial /= np.linalg.norm(trial, axis=1)[:, None]
        h, new_point, new_radii = support.at(trial)
        value = np.sum(trial * x[rows], axis=1) - h
        better = value >= s[rows] - 4e-16 * (np.abs(s[rows]) + size)
        taken = rows[better]
        n[taken], point[taken], radii[taken], s[taken] = (
            trial[better],
            new_point[better],
            new_radii[better],
            value[better],
        )
        moved[taken] = True
        factor /= 2
    return moved


def _support_seeds(shape: Boundary) -> tuple[FloatArray, FloatArray]:
    n = directions(360 if shape.d == 2 else 2000, shape.d)
    return n, numeric_support(shape).at(n)[0]


def _from_charts(shape: Boundary, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    index, u, _ = closest_on_charts(shape, x)
    point, normal = np.zeros_like(x), np.zeros_like(x)
    for i, chart in enumerate(numeric_charts(shape)):
        rows = index == i
        if np.any(rows):
            value = chart.at(u[rows])
            point[rows], normal[rows] = value.x, value.n
    return _sign_distance(shape, x, point, normal)


def _sign_distance(
    shape: Boundary, x: FloatArray, point: FloatArray, normal: FloatArray
) -> tuple[FloatArray, FloatArray]:
    away = x - point
    length = np.linalg.norm(away, axis=1)
    side = np.sum(away * normal, axis=1)
    s = np.copysign(length, side)
    near = length < 1e-7 * shape.reference_length
    gradient = np.where(near[:, None], normal, away / np.where(near, 1.0, s)[:, None])
    return np.where(near, side, s), gradient


def _from_level(shape: Boundary, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Newton on the conditions of the closest point, y - x + lam grad f(y) = 0 and f(y) = 0, from several seeds."""
    level, known = numeric_level(shape), shape.representations.level
    if known is not None and known.bends is not None:
        starts = _feet_on_quadric(level.at, x, shape.reference_length)
    else:
        pool, starts = shape.numeric(_level_seeds), [level.onto(x)]
        nearest = np.argsort(np.linalg.norm(x[:, None] - pool[None], axis=2), axis=1)[:, :2]
        starts += [pool[nearest[:, j]] for j in range(nearest.shape[1])]
    best, point = np.full(len(x), np.inf), np.zeros_like(x)
    for y in starts:
        y = _kkt(level.at, np.array(y), x)
        f, gradient, _ = level.at(y)
        with np.errstate(all="ignore"):
            on = np.abs(f) <= 1e-10 * np.linalg.norm(gradient, axis=1) * shape.reference_length
        far = np.where(on, np.linalg.norm(y - x, axis=1), np.inf)
        take = far < best
        best[take], point[take] = far[take], y[take]
    if not np.all(np.isfinite(best)):
        lost = x[np.argmax(~np.isfinite(best))]
        raise InputError("points", lost.tolist(), "near the boundary: no closest point was found from here")
    gradient = level.at(point)[1]
    return _sign_distance(shape, x, point, gradient / np.linalg.norm(gradient, axis=1)[:, None])


def _feet_on_quadric(at: Values, x: FloatArray, size: float) -> list[FloatArray]:
    """Return points (m, d) near the two feet of `x` (m, d) that are nearest, on f(y) = y'H y/2 + g'y + c = 0.

    A foot is y(lam) = (I + lam H)^-1 (x - lam g), in the axes of H, with f(y(lam)) = 0: times the squares of its
    denominators a polynomial of lam. On an axis of the quadric feet have no such lam: x is taken a little beside.
    """
    m, d = x.shape
    c, g, H = (values[0] for values in at(np.zeros((1, d))))
    h, axes = np.linalg.eigh(H)
    steepest = np.abs(h).max()
    h, g, c = h / steepest, axes.T @ g / (steepest * size), c / (steepest * size**2)
    h = np.where(np.abs(h) < _STRAIGHT, 0.0, np.round(h, _DIGITS))
    z = (x / size + _BESIDE * np.cos(np.arange(d))) @ axes
    squares = {bend: np.array([1.0, 2.0 * bend, bend**2]) for bend in h.tolist()}
    whole = reduce(np.convolve, squares.values(), np.ones(1))
    total = np.zeros((m, len(whole) + 2))
    total[:, : len(whole)] = c * whole
    for i, bend in enumerate(h.tolist()):
        others = reduce(np.convolve, (other for key, other in squares.items() if key != bend), np.ones(1))
        # way (bend way/2 + g (1 + bend lam)) with way = z - g lam
        at_zero = bend / 2 * z[:, i] + g[i]
        slope = np.full(m, bend / 2 * g[i])
        constant = z[:, i] * at_zero
        linear = z[:, i] * slope - g[i] * at_zero
        square = -g[i] * slope
        for power, value in enumerate((constant, linear, square)):
            total[:, power : power + len(others)] += np.multiply.outer(value, others)
    lam = _roots(total)
    with np.errstate(all="ignore"):
        y = (z[:, None] - lam[..., None] * g) / (1.0 + lam[..., None] * h)
        off = np.abs(0.5 * np.sum(h * y * y, axis=2) + y @ g + c)
        far = np.linalg.norm(y - z[:, None], axis=2)
        far = np.where(off <= _NEARLY_ON * (1.0 + np.sum(y * y, axis=2)), far, np.inf)
    nearest = np.argsort(far, axis=1)[:, :2]
    feet = size * (np.take_along_axis(y, nearest[..., None], axis=1) @ axes.T)
    return [np.where(np.isfinite(foot), foot, x) for foot in np.moveaxis(feet, 1, 0)]


def _roots(coefficients: FloatArray) -> FloatArray:
    """Return the real roots of polynomials (m, n), the constants first, NaN in place of others: (m, k)."""
    size = np.abs(coefficients).max(axis=1, keepdims=True)
    degree = int(np.flatnonzero(np.any(np.abs(coefficients) > _STRAIGHT * size, axis=0))[-1])
    leading = coefficients[:, degree : degree + 1]
    # A leading one that is nothing has a root far away.
    leading = np.where(np.abs(leading) > _STRAIGHT * size, leading, _STRAIGHT * size)
    companion = np.zeros((len(coefficients), degree, degree))
    companion[:, 1:, :-1] = np.eye(degree - 1)
    companion[:, :, -1] = -coefficients[:, :degree] / leading
    roots = np.linalg.eigvals(companion)
    return np.where(np.abs(roots.imag) <= _REAL * (1.0 + np.abs(roots)), roots.real, np.nan)


def _level_seeds(shape: Boundary) -> FloatArray:
    """Return points (m, d), m, all over a level set, sampled once a shape."""
    return sample(shape, 2000)[0]


def _kkt(at: Values, start: FloatArray, x: FloatArray) -> FloatArray:
    """Return the closest points (m, d) to `x` (m, d) that Newton's iteration comes to from those of `start` (m, d)."""
    d, found = x.shape[1], np.array(start)
    gradient = at(found)[1]
    multiplier = np.sum((x - found) * gradient, axis=1) / np.maximum(np.sum(gradient**2, axis=1), 1e-300)
    rows = np.arange(len(x))
    for _ in range(_NEWTON):
        y, goal, lam = found[rows], x[rows], multiplier[rows]
        f, gradient, hessian = at(y)
        matrix = np.zeros((len(y), d + 1, d + 1))
        matrix[:, :d, :d] = np.eye(d) + lam[:, None, None] * hessian
        matrix[:, :d, d] = matrix[:, d, :d] = gradient
        residual = np.concatenate([y - goal + lam[:, None] * gradient, f[:, None]], axis=1)
        lost = ~np.isfinite(matrix).all(axis=(1, 2))  # a formula without derivatives there
        matrix[lost], residual[lost] = 0.0, np.nan
        step = -_solve_systems(matrix, residual)
        longest = np.maximum(np.linalg.norm(goal - y, axis=1), 1e-3)
        length = np.linalg.norm(step[:, :d], axis=1)
        factor = np.minimum(1.0, longest / np.maximum(length, 1e-300))
        found[rows] = y + factor[:, None] * step[:, :d]
        multiplier[rows] = lam + factor * step[:, d]
        # Further steps would be round-off; what has no derivatives goes nowhere.
        rows = rows[~lost & ~(length <= _STILL * (1.0 + np.abs(y).max(axis=1)))]
        if not len(rows):
            break
    return found


def _solve_systems(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Return the solutions (m, k) of systems (m, k, k), least ones where they are singular."""
    try:
        found = np.linalg.solve(matrix, right[..., None])[..., 0]
    except np.linalg.LinAlgError:
        found = np.einsum("mij,mj->mi", np.linalg.pinv(matrix), right)
    return np.asarray(found, dtype=np.float64)
