"""Features: corners, edges and faces of a polytope, each a flat part that touches a smooth ground in one point."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Vector = tuple[float, ...]
_SAME = 1e-9


@dataclass(frozen=True)
class Feature:
    """A corner (no axes), an edge (one) or a face (two) of a body: its points are at + y, y in the span of the axes.

    Attributes
    ----------
    at : (d,) m
        Its middle, in the shape's frame.
    axes : (m, d)
        Orthonormal.
    inside : tuple of ((d,), float m)
        (g, h): the feature's points have g'y + h >= 0.
    cone : tuple of (d,)
        Unit vectors into the features of one dimension more: a ground that it touches has n'g >= 0.
    beside : tuple of int
        Numbers of the features that are parts of it, or of which it is one.
    size : float, m
        Of the body.
    rounding : float, m
        The body's points are those within so far of the features'.
    """

    at: Vector
    axes: tuple[Vector, ...]
    inside: tuple[tuple[Vector, float], ...]
    cone: tuple[Vector, ...]
    beside: tuple[int, ...]
    size: float
    rounding: float = 0.0


def features(vertices: FloatArray) -> tuple[Feature, ...]:
    """Return the corners, in the order of the `vertices` (n, d), m, edges and faces of their convex hull."""
    d = vertices.shape[1]
    sets = [frozenset([i]) for i in range(len(vertices))]
    faces = _faces(vertices)
    if d == 3:
        shared = (a & b for a, b in combinations(faces, 2))
        sets += sorted({edge for edge in shared if len(edge) == 2}, key=sorted)
    sets += faces
    size = 0.5 * float(np.ptp(vertices, axis=0).max())
    middles = [vertices[sorted(s)].mean(axis=0) for s in sets]
    axes = [_span(vertices[sorted(s)]) for s in sets]
    inside: list[list[tuple[Vector, float]]] = [[] for _ in sets]
    cones: list[list[Vector]] = [[] for _ in sets]
    for i, k in ((i, k) for i in range(len(sets)) for k in range(len(sets)) if sets[i] < sets[k]):
        if len(axes[k]) == len(axes[i]) + 1:
            out = middles[k] - middles[i]
            out = out - axes[i].T @ (axes[i] @ out)
            g = out / np.linalg.norm(out)
            inside[k].append((_vector(g), float(g @ (middles[k] - middles[i]))))
            cones[i].append(_vector(g))
    beside = [tuple(k for k, other in enumerate(sets) if s < other or other < s) for s in sets]
    return tuple(
        Feature(_vector(middle), tuple(map(_vector, along)), tuple(ends), tuple(cone), near, size)
        for middle, along, ends, cone, near in zip(middles, axes, inside, cones, beside, strict=True)
    )


def _faces(vertices: FloatArray) -> list[frozenset[int]]:
    """Return the vertices of each face (in the plane: side) of the hull; coplanar simplices are one."""
    from scipy.spatial import ConvexHull

    size = float(np.ptp(vertices, axis=0).max())
    equations = ConvexHull(vertices).equations
    on = np.abs(vertices @ equations[:, :-1].T + equations[:, -1]) < _SAME * size
    return sorted({frozenset(np.flatnonzero(column).tolist()) for column in on.T}, key=sorted)


def _span(points: FloatArray) -> FloatArray:
    """Return orthonormal axes (m, d) of the flat through points."""
    _, sizes, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    return axes[sizes > _SAME * np.abs(points).max()]


def _vector(values: Iterable[float]) -> Vector:
    return tuple(float(v) for v in values)
