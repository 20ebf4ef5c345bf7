"""Where on the boundary: closest points, chart coordinates, points with a given normal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.geometry.boundary import Boundary
from trundle.geometry.queries.sampling import (
    NumericChart,
    directions,
    numeric_charts,
    numeric_level,
    numeric_support,
    sample,
)

if TYPE_CHECKING:
    from scipy.spatial import cKDTree


_HALVINGS, _SEEDS = 8, 6000
_TURN = 0.98
"""Cosine of the angle (0.2 rad) that a planar curve may turn between two seeds."""


def refine(chart: NumericChart, u: FloatArray, x: FloatArray, steps: int = 40) -> tuple[FloatArray, FloatArray]:
    """Return parameters (m, d-1) nearest to the points `x` (m, d), and their distances (m,), from guesses `u`.

    Newton on F_u'(F - x) = 0 with the Gauss-Newton matrix where the exact one is not positive
    definite, step halved until the distance falls, parameters kept inside their ranges.
    """
    u = chart.wrap(u)
    cost = np.linalg.norm(chart.points(u) - x, axis=1)
    active = np.arange(len(u))
    for _ in range(steps):
        if not len(active):
            break
        value = chart.at(u[active])
        residual = value.x - x[active]
        gauss = np.einsum("mia,mib->mab", value.first, value.first)
        exact = gauss + np.einsum("mi,miab->mab", residual, value.second)
        gradient = np.einsum("mia,mi->ma", value.first, residual)
        _hold(chart, u[active], gradient, exact, gauss)
        indefinite = np.linalg.eigvalsh(exact)[:, 0] <= 1e-6 * np.trace(gauss, axis1=1, axis2=2)
        exact[indefinite] = gauss[indefinite]
        ridge = 1e-14 * np.trace(gauss, axis1=1, axis2=2)[:, None, None] * np.eye(u.shape[1])
        step = -_solve_systems(exact + ridge + 1e-300, gradient)
        moved = _search(chart, u, x, cost, active, step)
        size = np.linalg.norm(np.einsum("mia,ma->mi", value.first, step), axis=1)
        scale = np.linalg.norm(value.x, axis=1) + 1e-3
        active = active[moved & (size > 1e-12 * scale)]
    return u, cost


def _solve_systems(matrices: FloatArray, right: FloatArray) -> FloatArray:
    """Solve symmetric systems (m, n, n) for right-hand sides (m, n); singular ones in the least-squares sense."""
    try:
        return np.asarray(np.linalg.solve(matrices, right[..., None]), dtype=np.float64).reshape(right.shape)
    except np.linalg.LinAlgError:
        pseudo = np.linalg.pinv(matrices, hermitian=True)
        return np.asarray(pseudo @ right[..., None], dtype=np.float64).reshape(right.shape)


def _hold(chart: NumericChart, u: FloatArray, gradient: FloatArray, exact: FloatArray, gauss: FloatArray) -> None:
    """Take out, in place, the parameters that sit at an end of their range and would leave it."""
    for j, r in enumerate(chart.chart.ranges):
        if r.periodic:
            continue
        held = ((u[:, j] <= r.low) & (gradient[:, j] > 0)) | ((u[:, j] >= r.high) & (gradient[:, j] < 0))
        gradient[held, j] = 0.0
        for matrix in (exact, gauss):
            unit = matrix[held, j, j]
            matrix[held, j, :] = 0.0
            matrix[held, :, j] = 0.0
            matrix[held, j, j] = np.abs(unit)


def _search(
    chart: NumericChart, u: FloatArray, x: FloatArray, cost: FloatArray, active: NDArray[np.intp], step: FloatArray
) -> NDArray[np.bool_]:
    """Take `step` (halved where needed) in place; return which rows of `active` moved."""
    moved = np.zeros(len(active), dtype=bool)
    factor = 1.0
    for _ in range(12):
        rest = np.flatnonzero(~moved)
        if not len(rest):
            break
        rows = active[rest]
        trial = chart.wrap(u[rows] + factor * step[rest])
        value = np.linalg.norm(chart.points(trial) - x[rows], axis=1)
        # Near the end the distance is known to round-off only: a full step that keeps it is taken.
        better = value <= cost[rows] + 4e-16 * (cost[rows] + np.linalg.norm(x[rows], axis=1)) + 1e-300
        chosen = rows[better]
        u[chosen], cost[chosen] = trial[better], value[better]
        moved[rest[better]] = True
        factor /= 2
    return moved


def closest_on_charts(shape: Boundary, x: FloatArray) -> tuple[NDArray[np.intp], FloatArray, FloatArray]:
    """Return chart indices (m,), parameters (m, d-1) and distances (m,) of the points nearest to `x` (m, d)."""
    best = np.full(len(x), np.inf)
    index = np.zeros(len(x), dtype=np.intp)
    parameters = np.zeros((len(x), shape.d - 1))
    for i, chart in enumerate(numeric_charts(shape)):
        rows, guesses = _guesses(shape, i, x)
        u, cost = refine(chart, guesses, x[rows])
        inside = np.linalg.norm(u, axis=1) <= chart.chart.reach
        cost = np.where(inside, cost, np.inf)
        order = np.lexsort((cost, rows))
        first = order[np.unique(rows[order], return_index=True)[1]]
        tie = 1e-10 * shape.reference_length
        nearest = cost[first] < best - tie
        close = ~nearest & (cost[first] <= best + tie)
        lower = np.linalg.norm(u[first], axis=1) < np.linalg.norm(parameters, axis=1)
        take = nearest | (close & lower & np.isfinite(chart.chart.reach))
        best[take], index[take], parameters[take] = cost[first][take], i, u[first][take]
    return index, parameters, best


def _guesses(shape: Boundary, index: int, x: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
    """Return seeds: rows (k,) of `x` and parameters (k, d-1), several for each point."""
    chart = numeric_charts(shape)[index]
    ranges = chart.chart.ranges
    free = [j for j, r in enumerate(ranges) if not r.bounded]
    if not free:
        grid = shape.numeric(_seed_grid)[index]
        k = 3
        nearest = grid[1].query(x, k=k)[1].reshape(-1)
        return np.repeat(np.arange(len(x)), k), grid[0][nearest]
    own = [np.linspace(r.low, r.high, 48, endpoint=not r.periodic) if r.bounded else np.zeros(1) for r in ranges]
    fixed = np.stack([g.ravel() for g in np.meshgrid(*own, indexing="ij")], axis=1)
    u = np.repeat(fixed[None], len(x), axis=0)
    for j in free:
        u[:, :, j] = x[:, None, ranges[j].coordinate]
    flat = chart.wrap(u.reshape(-1, u.shape[2]))
    far = np.linalg.norm(chart.points(flat).reshape(len(x), -1, shape.d) - x[:, None], axis=2)
    start = flat.reshape(u.shape)[np.arange(len(x)), np.argmin(far, axis=1)]
    # The closest point cannot be further away than this one: search the free parameters that far around.
    reach = np.min(far, axis=1)
    count = 97 if len(free) == 1 else 21
    offsets = np.stack(np.meshgrid(*[np.linspace(-1, 1, count)] * len(free), indexing="ij"), axis=-1)
    u = np.repeat(start[:, None], offsets.size // len(free), axis=1)
    u[:, :, free] = x[:, None, [ranges[j].coordinate for j in free]] + reach[:, None, None] * offsets.reshape(
        -1, len(free)
    )
    flat = chart.wrap(u.reshape(-1, u.shape[2]))
    far = np.linalg.norm(chart.points(flat).reshape(len(x), -1, shape.d) - x[:, None], axis=2)
    k = 4
    nearest = np.argsort(far, axis=1)[:, :k]
    guesses = flat.reshape(u.shape)[np.arange(len(x))[:, None], nearest]
    return np.repeat(np.arange(len(x)), k), guesses.reshape(-1, shape.d - 1)


def _dense_enough(chart: NumericChart, u: FloatArray) -> FloatArray:
    """Return parameters (m, 1) with more of them where a planar curve turns, or passes quickly, between two.

    A measured step is finer than any even grid.
    """
    for _ in range(_HALVINGS):
        value = chart.at(u)
        chords = np.linalg.norm(np.diff(value.x, axis=0), axis=1)
        turns = np.sum(value.n[1:] * value.n[:-1], axis=1) < _TURN
        coarse = (turns & (chords > 1e-3 * np.median(chords))) | (chords > 2.0 * np.median(chords))
        if not np.any(coarse) or len(u) > _SEEDS:
            break
        u = np.sort(np.concatenate([u, (u[:-1] + u[1:])[coarse] / 2]), axis=0)
    return u


def _seed_grid(shape: Boundary) -> list[tuple[FloatArray, cKDTree]]:
    from scipy.spatial import cKDTree

    result = []
    for chart in numeric_charts(shape):
        bounded = all(r.bounded for r in chart.chart.ranges)
        u = chart.grid(1600 if shape.d == 2 else 3000) if bounded else np.zeros((1, shape.d - 1))
        if bounded and shape.d == 2:
            u = _dense_enough(chart, np.sort(u, axis=0))
        result.append((u, cKDTree(chart.points(u))))
    return result


def locate(shape: Boundary, x: FloatArray, tolerance: float) -> tuple[int, FloatArray]:
    """Return the chart and its parameters at a boundary point, see `Shape.locate`."""
    if not shape.representations.charts:
        raise InputError("shape", type(shape).__name__, "a shape with charts")
    index, u, distance = closest_on_charts(shape, x[None])
    if not distance[0] <= tolerance:
        raise InputError("x", x.tolist(), f"on the boundary: it is {distance[0]:.3g} m away (limit {tolerance:.3g} m)")
    return int(index[0]), u[0]


def points_with_normal(
    shape: Boundary, normal: FloatArray, around: FloatArray | None, radius: float | None
) -> FloatArray:
    """Return all boundary points (k, d) with the outward normal (d,), see `Shape.points_with_normal`."""
    bundle = shape.representations
    if bundle.flat:
        x = np.zeros(shape.d) if around is None else np.array(around)
        x[-1] = 0.0
        return x[None] if normal[-1] > 1 - 1e-12 else np.zeros((0, shape.d))
    if bundle.support is not None and not bundle.hull:
        return _support_point(shape, normal)[None]
    if not bundle.charts:
        return _normal_on_level(shape, normal, around, radius)
    found = []
    for chart in numeric_charts(shape):
        u = chart.grid(400 if shape.d == 2 else 2500, around, radius)
        found.append(_critical(chart, _peaks(u, chart.at(u).n @ normal), normal))
    return distinct(np.concatenate(found), 1e-7 * shape.reference_length)


def _peaks(u: FloatArray, along: FloatArray) -> FloatArray:
    """Return the samples (k, p) of `u` (m, p) whose `along` (m,) is not below their neighbours', and the best few."""
    from scipy.spatial import cKDTree

    p = u.shape[1]
    scaled = u / np.maximum(np.ptp(u, axis=0), 1e-300)
    around = cKDTree(scaled).query(scaled, k=min(3**p, len(u)))[1]
    top = along >= along[around].max(axis=1) - 1e-9
    top[np.argsort(-along)[:20]] = True
    return u[top & (along > 0.0)]


def _critical(chart: NumericChart, u: FloatArray, normal: FloatArray) -> FloatArray:
    """Newton on F_u'normal = 0 from `u`; return the points (k, d) whose outward normal it is."""
    if not len(u):
        return np.zeros((0, chart.chart.d))
    finite = np.isfinite(chart.chart.reach)
    spans = [r.high - r.low if r.bounded else 1.0 for r in chart.chart.ranges]
    longest = 0.2 if finite else 0.05 * max(spans)
    active = np.arange(len(u))
    for _ in range(40):
        value = chart.at(u[active])
        gradient = np.einsum("mia,i->ma", value.first, normal)
        hessian = np.einsum("miab,i->mab", value.second, normal)
        hessian[np.abs(hessian) < 1e-150] = 0.0  # a bump of 1e-300 m is none: the square of the step is a number
        step = -np.einsum("mab,mb->ma", np.linalg.pinv(hessian, rcond=1e-10), gradient)
        size = np.linalg.norm(step, axis=1, keepdims=True)
        moved = chart.wrap(u[active] + step * np.minimum(1.0, longest / np.maximum(size, 1e-300)))
        u[active] = moved
        # A seed is done when it stands still, and lost when it has turned away from the normal.
        alive = (size[:, 0] > 1e-11 * (1 + np.abs(moved).max(axis=1))) & (value.n @ normal > -0.5)
        active = active[alive]
        if not len(active):
            break
    value = chart.at(u)
    good = np.linalg.norm(value.n - normal, axis=1) < 1e-9
    good &= np.linalg.norm(u, axis=1) <= chart.chart.reach
    return value.x[good]


def _support_point(shape: Boundary, normal: FloatArray) -> FloatArray:
    x = numeric_support(shape).at(normal[None])[1][0]
    if np.all(np.isfinite(x)):
        return x
    # A face: the support function has a kink there; its middle is the mean over tilts to all sides.
    tilts = normal + 1e-6 * directions(64, shape.d)
    tilts /= np.linalg.norm(tilts, axis=1)[:, None]
    x = numeric_support(shape).at(np.concatenate([tilts, 2 * normal * (tilts @ normal)[:, None] - tilts]))[1]
    return np.mean(x[np.all(np.isfinite(x), axis=1)], axis=0)


def _normal_on_level(
    shape: Boundary, normal: FloatArray, around: FloatArray | None, radius: float | None
) -> FloatArray:
    x, normals = sample(shape, 2000, around, radius)
    x = x[normals @ normal > 0.6]
    basis = np.linalg.svd(normal[None])[2][1:]
    level = numeric_level(shape)
    for _ in range(40):
        f, gradient, hessian = level.at(x)
        residual = np.concatenate([f[:, None], gradient @ basis.T], axis=1)
        jacobian = np.concatenate([gradient[:, None], np.einsum("ti,mij->mtj", basis, hessian)], axis=1)
        x = x - np.einsum("mij,mj->mi", np.linalg.pinv(jacobian, rcond=1e-12), residual)
    f, gradient, _ = level.at(x)
    norm = np.linalg.norm(gradient, axis=1)
    good = np.isfinite(norm) & (norm > 0)
    x, f, gradient = x[good], f[good], gradient[good] / norm[good, None]
    good = (np.linalg.norm(gradient - normal, axis=1) < 1e-9) & (
        np.abs(f) < 1e-12 * shape.reference_length * norm[good]
    )
    return distinct(x[good], 1e-7 * shape.reference_length)


def distinct(x: FloatArray, tolerance: float) -> FloatArray:
    """Return `x` (m, d) without the repetitions of points closer than `tolerance` (m)."""
    kept: list[FloatArray] = []
    for point in x:
        if all(np.linalg.norm(point - other) > tolerance for other in kept):
            kept.append(point)
    return np.array(kept).reshape(-1, x.shape[1])
