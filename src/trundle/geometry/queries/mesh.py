"""Meshes and polylines of boundaries, for pictures and volumes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.geometry.boundary import Boundary
from trundle.geometry.queries.marching import level_mesh
from trundle.geometry.queries.sampling import NumericChart, numeric_charts, numeric_support, window

Mesh = tuple[FloatArray, NDArray[np.intp]]


def mesh(shape: Boundary, resolution: int, around: FloatArray | None, radius: float | None) -> Any:
    """Return a mesh (d = 3) or a polyline (d = 2), see `Shape.mesh`."""
    bundle = shape.representations
    if shape.d == 2:
        return polyline(shape, resolution, around, radius)
    if bundle.charts:
        parts = [_chart_mesh(c, resolution, around, radius) for c in numeric_charts(shape)]
        return _weld(parts, 1e-9 * shape.reference_length)
    if bundle.support is not None:
        return _hull(shape, resolution)
    return level_mesh(shape, resolution, around, radius)


def polyline(shape: Boundary, resolution: int, around: FloatArray | None, radius: float | None) -> FloatArray:
    """Return points (n, 2) along a curve; a closed outline ends where it starts."""
    charts = numeric_charts(shape)
    if charts:
        r = charts[0].chart.ranges[0]
        low, high = window(r, around, radius)
        return charts[0].points(np.linspace(low, high, resolution + 1)[:, None])
    if shape.representations.support is None:
        raise InputError("shape", type(shape).__name__, "a curve with a chart or a support function")
    angle = 2 * np.pi * (np.arange(resolution) + 0.5) / resolution
    x = numeric_support(shape).at(np.stack([np.cos(angle), np.sin(angle)], axis=1))[1]
    return np.concatenate([x, x[:1]])


def _chart_mesh(chart: NumericChart, resolution: int, around: FloatArray | None, radius: float | None) -> Mesh:
    if np.isfinite(chart.chart.reach):
        u, faces = _disc(resolution)
    else:
        u, faces = _rectangle(chart, resolution, around, radius)
    return chart.points(u), faces if chart.chart.side > 0 else faces[:, ::-1]


def _disc(resolution: int) -> Mesh:
    """Return the unit disc: rings of `resolution` points, even on the hemisphere it is the chart of."""
    rings = max(resolution // 4, 2)
    q = np.tan(np.linspace(0, np.pi / 4, rings + 1)[1:])
    angle = 2 * np.pi * np.arange(resolution) / resolution
    # The chart of the other hemisphere is mirrored in v: a grid symmetric in v meets it on the equator.
    u = np.stack([np.outer(q, np.cos(angle)), np.outer(q, np.sin(angle))], axis=-1).reshape(-1, 2)
    u = np.concatenate([np.zeros((1, 2)), u])
    k = np.arange(resolution)
    after = (k + 1) % resolution
    faces = [np.stack([np.zeros_like(k), 1 + k, 1 + after], axis=1)]
    for ring in range(rings - 1):
        a, b = 1 + ring * resolution, 1 + (ring + 1) * resolution
        faces += [np.stack([a + k, b + k, b + after], axis=1), np.stack([a + k, b + after, a + after], axis=1)]
    return u, np.concatenate(faces)


def _rectangle(chart: NumericChart, resolution: int, around: FloatArray | None, radius: float | None) -> Mesh:
    ranges = chart.chart.ranges
    spans = [window(r, around, radius) for r in ranges]
    counts = [resolution + 1, resolution + 1]
    axes = [np.linspace(low, high, count) for (low, high), count in zip(spans, counts, strict=True)]
    u = np.stack([g.ravel() for g in np.meshgrid(*axes, indexing="ij")], axis=1)
    index = np.arange(counts[0] * counts[1]).reshape(counts)
    a, b = index[:-1, :-1].ravel(), index[1:, :-1].ravel()
    c, e = index[1:, 1:].ravel(), index[:-1, 1:].ravel()
    return u, np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, e], axis=1)])


def _weld(parts: list[Mesh], tolerance: float) -> Mesh:
    """Return one mesh: vertices closer than `tolerance` (m) made one, faces without area dropped."""
    from scipy.spatial import cKDTree

    x = np.concatenate([v for v, _ in parts])
    starts = np.cumsum([0] + [len(v) for v, _ in parts[:-1]])
    faces = np.concatenate([f + s for (_, f), s in zip(parts, starts, strict=True)])
    target = np.arange(len(x))
    pairs = cKDTree(x).query_pairs(tolerance, output_type="ndarray")
    for i, j in pairs[np.argsort(pairs[:, 0], kind="stable")]:
        target[j] = min(target[j], target[i])
    used, inverse = np.unique(target, return_inverse=True)
    faces = inverse[faces]
    proper = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    return x[used], faces[proper]


def _hull(shape: Boundary, resolution: int) -> Mesh:
    """Return the convex hull of the points with many normals: exact on faces and edges."""
    from scipy.spatial import ConvexHull

    support = numeric_support(shape)
    # Half a step off the axes: where a box has its kinks.
    polar = np.pi * (np.arange(resolution // 2) + 0.5) / (resolution // 2)
    azimuth = 2 * np.pi * (np.arange(resolution) + 0.5) / resolution
    p, a = (g.ravel() for g in np.meshgrid(polar, azimuth, indexing="ij"))
    n = np.stack([np.sin(p) * np.cos(a), np.sin(p) * np.sin(a), np.cos(p)], axis=1)
    x = support.at(n)[1]
    x = x[np.all(np.isfinite(x), axis=1)]
    hull = ConvexHull(x, qhull_options="QJ" if _thin(x) else "Qt")
    faces = hull.simplices.copy()
    a, b, c = (x[faces[:, i]] for i in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0
    faces[inward] = faces[inward][:, ::-1]
    used, inverse = np.unique(faces, return_inverse=True)
    return x[used], inverse.reshape(faces.shape)


def _thin(x: FloatArray) -> bool:
    return bool(np.linalg.svd(x - x.mean(axis=0), compute_uv=False)[-1] < 1e-9 * np.abs(x).max())
