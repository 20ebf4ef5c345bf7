"""Centroid and inertia of uniform bodies and shells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.geometry.boundary import Boundary
from trundle.geometry.queries.mesh import mesh, polyline
from trundle.geometry.queries.sampling import NumericChart, numeric_charts


def mass_properties(shape: Boundary, kind: str) -> tuple[FloatArray, FloatArray | float]:
    """Return the centroid and the inertia per unit mass about it, see `Shape.mass_properties`."""
    if not _is_bounded(shape):
        raise InputError("inertia", kind, f"given as numbers: a {type(shape).__name__} encloses no finite volume")
    if shape.d == 2:
        return _planar(shape, kind)
    if shape.representations.charts:
        x, area = surface_quadrature(shape)
        moments = _surface(x, area) if kind == "shell" else _volume(x, area)
    else:
        moments = _extrapolate_moments(shape, kind)
    return _about_centroid(*moments)


def _is_bounded(shape: Boundary) -> bool:
    charts = shape.representations.charts
    if not charts:
        return True
    if any(c.side > 0 for c in charts) and shape.d == 2:
        return False
    loops = all(r.bounded for c in charts for r in c.ranges)
    if not loops:
        return False
    if shape.d == 2:
        return charts[0].ranges[0].periodic
    x, area = surface_quadrature(shape)
    # A closed surface has no net area vector, and material inside: a positive volume.
    closed = np.linalg.norm(area.sum(axis=0)) < 1e-6 * np.linalg.norm(area, axis=1).sum()
    return bool(closed and np.sum(x * area) > 0)


def surface_quadrature(shape: Boundary) -> tuple[FloatArray, FloatArray]:
    """Return quadrature points (m, 3), m, and outward area vectors (m, 3), m^2, of a bounded surface."""
    return shape.numeric(_surface_quadrature)


def _surface_quadrature(shape: Boundary) -> tuple[FloatArray, FloatArray]:
    parts = []
    for chart in numeric_charts(shape):
        u, weight = _disc_rule() if np.isfinite(chart.chart.reach) else _rectangle_rule(chart)
        value = chart.at(u)
        area = chart.chart.side * np.cross(value.first[:, :, 0], value.first[:, :, 1])
        parts.append((value.x, area * weight[:, None]))
    return np.concatenate([x for x, _ in parts]), np.concatenate([a for _, a in parts])


def _disc_rule(n: int = 48) -> tuple[FloatArray, FloatArray]:
    t, w = np.polynomial.legendre.leggauss(n)
    q, w = (t + 1) / 2, w / 2
    angle = 2 * np.pi * np.arange(2 * n) / (2 * n)
    u = np.stack([np.outer(q, np.cos(angle)), np.outer(q, np.sin(angle))], axis=-1).reshape(-1, 2)
    return u, np.repeat(q * w * np.pi / n, 2 * n)


def _rectangle_rule(chart: NumericChart, n: int = 96) -> tuple[FloatArray, FloatArray]:
    nodes, weights = [], []
    for r in chart.chart.ranges:
        span = r.high - r.low
        if r.periodic:
            nodes.append(r.low + span * np.arange(n) / n)
            weights.append(np.full(n, span / n))
        else:
            t, w = np.polynomial.legendre.leggauss(n)
            nodes.append(r.low + span * (t + 1) / 2)
            weights.append(span * w / 2)
    u = np.stack([g.ravel() for g in np.meshgrid(*nodes, indexing="ij")], axis=1)
    return u, np.outer(*weights).ravel()


Moments = tuple[float, FloatArray, FloatArray]


def _surface(x: FloatArray, area: FloatArray) -> Moments:
    w = np.linalg.norm(area, axis=1)
    return float(w.sum()), w @ x, np.einsum("m,mi,mj->ij", w, x, x)


def _volume(x: FloatArray, area: FloatArray) -> Moments:
    """Volume, first and second moments by the divergence theorem, int x_i x_j dV = 1/5 int x_i x_j x.dA."""
    w = np.sum(x * area, axis=1)
    return float(w.sum() / 3), w @ x / 4, np.einsum("m,mi,mj->ij", w, x, x) / 5


def _about_centroid(mass: float, first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    centroid = first / mass
    spread = second / mass - np.outer(centroid, centroid)
    return centroid, np.trace(spread) * np.eye(3) - (spread + spread.T) / 2


def mesh_moments(vertices: FloatArray, faces: NDArray[np.intp], kind: str) -> Moments:
    """Return (mass, first, second moments) of the solid inside a closed mesh or of the mesh itself."""
    corners = vertices[faces]
    total = corners.sum(axis=1)
    area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) / 2
    square = np.einsum("fki,fkj->fij", corners, corners) + np.einsum("fi,fj->fij", total, total)
    if kind == "shell":
        w = np.linalg.norm(area, axis=1)
        return float(w.sum()), w @ total / 3, np.einsum("f,fij->ij", w, square) / 12
    w = np.sum(corners[:, 0] * area, axis=1) / 3
    return float(w.sum()), w @ total / 4, np.einsum("f,fij->ij", w, square) / 20


def _extrapolate_moments(shape: Boundary, kind: str) -> Moments:
    """Moments of the mesh at two resolutions, the error of order 1/n^2 extrapolated away (about 1e-5 is left)."""
    meshes = [mesh(shape, n, None, None) for n in (64, 128)]
    thin = mesh_moments(meshes[1][0], meshes[1][1], "solid")[0] < 1e-9 * shape.reference_length**3
    # A body without thickness (a coin without rounding) is a lamina: its two faces are the body.
    coarse, fine = (mesh_moments(m[0], m[1], "shell" if thin else kind) for m in meshes)
    return (
        (4 * fine[0] - coarse[0]) / 3,
        (4 * fine[1] - coarse[1]) / 3,
        (4 * fine[2] - coarse[2]) / 3,
    )


def _planar(shape: Boundary, kind: str) -> tuple[FloatArray, float]:
    """Area (or line) moments of an outline: centroid (2,) and polar inertia per unit mass."""
    charts = numeric_charts(shape)
    if not charts:
        return _polygon(polyline(shape, 4096, None, None), kind)
    r = charts[0].chart.ranges[0]
    n = 4096
    value = charts[0].at((r.low + (r.high - r.low) * np.arange(n) / n)[:, None])
    x, dx = value.x, value.first[:, :, 0] * (r.high - r.low) / n
    if kind == "shell":
        w, p = np.linalg.norm(dx, axis=1), (1, 1, 1)
    else:
        w, p = x[:, 0] * dx[:, 1] - x[:, 1] * dx[:, 0], (2, 3, 4)
    mass = w.sum() / p[0]
    centroid = w @ x / p[1] / mass
    return centroid, float(w @ np.sum(x**2, axis=1) / p[2] / mass - centroid @ centroid)


def _polygon(line: FloatArray, kind: str) -> tuple[FloatArray, float]:
    """Moments of a closed polygon (n, 2), exact."""
    a, b = line[:-1], line[1:]
    square = np.sum(a * a + b * b + (a + b) ** 2, axis=1)
    if kind == "shell":
        w = np.linalg.norm(b - a, axis=1)
        mass, first, second = w.sum(), w @ (a + b) / 2, w @ square / 6
    else:
        w = (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) / 2
        mass, first, second = w.sum(), w @ (a + b) / 3, w @ square / 12
    centroid = first / mass
    return centroid, float(second / mass - centroid @ centroid)
