"""Checks of user-given shapes: regular, convex, free of self-intersections, each naming the offending place."""

from __future__ import annotations

import numpy as np

from trundle.checks import FloatArray, integer
from trundle.errors import ShapeError
from trundle.geometry.boundary import Boundary
from trundle.geometry.queries.sampling import (
    NumericChart,
    directions,
    numeric_charts,
    numeric_level,
    numeric_support,
    sample,
)

_MOST = 1_000_000
"""Samples of a check."""


def check_regular(shape: Boundary, key: str = "shape", n: int = 2000) -> None:
    """Raise `ShapeError` unless every chart is regular at about `n` samples.

    Points, normals and second derivatives are finite and |F_u x F_v| (curve: |F'|) is more than 1e-5
    of its mean, also close to the worst sample; of a shape without charts, the gradient of the level
    set does not vanish on it.

    Examples
    --------
    >>> import trundle as tr
    >>> tr.geometry.check_regular(tr.Sphere(0.1))  # silent
    """
    n = integer("n", n, minimum=10)
    for chart in numeric_charts(shape):
        u = chart.grid(n, np.zeros(shape.d), 2 * shape.reference_length)
        area = _area(chart, u, shape, key)
        mean, cell = float(area.mean()), np.ptp(u, axis=0) / n ** (1 / (shape.d - 1))
        # Zoom in on the worst place: a cusp between two samples is found as well.
        for _ in range(7):
            place, least = u[np.argmin(area)], float(area.min())
            steps = np.meshgrid(*[np.linspace(-2, 2, 41 if shape.d == 2 else 11)] * (shape.d - 1), indexing="ij")
            u = chart.wrap(place + cell * np.stack([g.ravel() for g in steps], axis=1))
            u = np.concatenate([place[None], u])
            area = _area(chart, u, shape, key)
            cell = cell / 8
            if not least > 1e-5 * mean:
                what = "|dx/du|" if shape.d == 2 else "|F_u x F_v|"
                x = chart.points(place[None])[0]
                allowed = f"regular: {what} = {least:.3g} (mean {mean:.3g}) at u = {place}, x = {x} m"
                raise ShapeError(key, type(shape).__name__, allowed)
    bundle = shape.representations
    if not bundle.charts and bundle.support is None and bundle.level is not None:
        _check_level(shape, key)


def _area(chart: NumericChart, u: FloatArray, shape: Boundary, key: str) -> FloatArray:
    """Return |F_u x F_v| (curve: |F'|) at `u` (m, d-1) after checking that all derivatives are finite."""
    value = chart.at(u)
    finite = np.isfinite(value.x).all(axis=1) & np.isfinite(value.first).reshape(len(u), -1).all(axis=1)
    finite &= np.isfinite(value.second).reshape(len(u), -1).all(axis=1)
    if not finite.all():
        allowed = f"regular: the point or a derivative is not finite at u = {u[np.argmin(finite)]}"
        raise ShapeError(key, type(shape).__name__, allowed)
    if shape.d == 2:
        return np.linalg.norm(value.first[:, :, 0], axis=1)
    return np.linalg.norm(np.cross(value.first[:, :, 0], value.first[:, :, 1]), axis=1)


def _check_level(shape: Boundary, key: str) -> None:
    x, _ = sample(shape, 500)
    if not len(x):
        raise ShapeError(key, type(shape).__name__, "a level set with points near the origin: none was found")
    _, gradient, hessian = numeric_level(shape).at(x)
    norm = np.linalg.norm(gradient, axis=1)
    worst = int(np.argmin(norm))
    if not np.isfinite(hessian).all() or not norm[worst] > 1e-8 * norm.mean():
        raise ShapeError(key, type(shape).__name__, f"regular: |grad f| = {norm[worst]:.3g} at x = {x[worst]} m")


def check_convex(shape: Boundary, key: str = "shape", n: int = 2000) -> None:
    """Raise `ShapeError` unless the shape is convex at about `n` samples.

    Of a support function: h(2n) = 2 h(n) (homogeneous), radii hess h >= 0, and every point grad h(m)
    lies within n.x <= h(n) of every other normal. Of charts: no negative principal curvature. The
    message names normal or place and the offending value.

    Examples
    --------
    >>> import trundle as tr
    >>> tr.geometry.check_convex(tr.Sphere(0.1))  # silent
    """
    bundle, n = shape.representations, integer("n", n, minimum=1, maximum=_MOST)
    size = shape.reference_length
    if bundle.support is not None and not bundle.hull:
        normals = directions(n, shape.d)
        support = numeric_support(shape)
        h, x, radii = support.at(normals)
        finite = np.isfinite(h) & np.isfinite(radii).reshape(n, -1).all(axis=1)
        if not finite.all():
            bad = normals[np.argmin(finite)]
            raise ShapeError(
                key, type(shape).__name__, f"convex and smooth: h or its derivatives are not finite at n = {bad}"
            )
        double = support.at(2 * normals)[0]
        skew = np.abs(double - 2 * h) + np.abs(np.sum(normals * x, axis=1) - h)
        worst = int(np.argmax(skew))
        if skew[worst] > 1e-9 * size:
            allowed = (
                f"homogeneous of degree 1: h(2n) - 2h(n) = {double[worst] - 2 * h[worst]:.3g} m at n = {normals[worst]}"
            )
            raise ShapeError(key, type(shape).__name__, allowed)
        least = np.linalg.eigvalsh(radii)[:, 0]
        worst = int(np.argmin(least))
        if least[worst] < -1e-9 * size:
            allowed = f"convex: the smallest radius of curvature is {least[worst]:.3g} m at n = {normals[worst]}"
            raise ShapeError(key, type(shape).__name__, allowed)
        beyond = normals @ x.T - h[:, None]
        i, j = np.unravel_index(int(np.argmax(beyond)), beyond.shape)
        if beyond[i, j] > 1e-9 * size:
            allowed = (
                f"convex: the point with the normal {normals[j]} is {beyond[i, j]:.3g} m beyond h at n = {normals[i]}"
            )
            raise ShapeError(key, type(shape).__name__, allowed)
        return
    n = integer("n", n, minimum=10)
    for chart in numeric_charts(shape):
        u = chart.grid(n, np.zeros(shape.d), 2 * size)
        value = chart.at(u)
        form = -np.einsum("mi,miab->mab", value.n, value.second)
        metric = np.einsum("mia,mib->mab", value.first, value.first)
        curvature = np.linalg.eigvals(np.linalg.solve(metric, form)).real.min(axis=1)
        worst = int(np.argmin(curvature))
        if curvature[worst] < -1e-7 / size:
            allowed = f"convex: the curvature is {curvature[worst]:.3g} 1/m at x = {value.x[worst]} m"
            raise ShapeError(key, type(shape).__name__, allowed)


def check_simple(key: str, line: FloatArray, closed: bool) -> None:
    """Raise `ShapeError` if the polyline (n, 2), m, crosses itself."""
    a, b = line[:-1], line[1:]
    n = len(a)
    for i in range(n - 2):
        last = n - 1 if closed and i == 0 else n
        j = np.arange(i + 2, last)
        if not len(j):
            continue
        along, other, apart = b[i] - a[i], b[j] - a[j], a[j] - a[i]
        det = along[0] * other[:, 1] - along[1] * other[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            s = (apart[:, 0] * other[:, 1] - apart[:, 1] * other[:, 0]) / det
            t = (apart[:, 0] * along[1] - apart[:, 1] * along[0]) / det
        hit = (det != 0) & (s >= 0) & (s <= 1) & (t >= 0) & (t <= 1)
        if hit.any():
            k = int(np.argmax(hit))
            place = a[i] + s[k] * along
            raise ShapeError(key, f"{len(line)} points", f"a curve that does not cross itself: it does at {place} m")
