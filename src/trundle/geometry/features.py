"""Features: corners, edges, faces and rims of a body, each a part that touches a smooth ground in one point."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from trundle.checks import FloatArray
from trundle.numerics.symbol import value_of

Vector = tuple[float, ...]
_SAME = 1e-9  # of the size: planes and axes closer than that are one


@dataclass(frozen=True)
class Feature:
    """A corner (no axes), an edge (one), a face or a rim (two) of a body: its points are at + y, y in the axes' span.

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
    radius : float, m
        Of a round face, |y| <= radius, or of a rim, |y| = radius; 0: neither.
    rim : bool
        Whether it is a rim: a ground that it touches has also n'y <= 0, for the face within it.
    outward : (d,)
        Of a face of a polytope, in the plane of a side: its outward unit normal.
    """

    at: Vector
    axes: tuple[Vector, ...]
    inside: tuple[tuple[Vector, float], ...]
    cone: tuple[Vector, ...]
    beside: tuple[int, ...]
    size: float
    rounding: float = 0.0
    radius: float = 0.0
    rim: bool = False
    outward: Vector = ()

    @property
    def dimension(self) -> int:
        """0 of a corner, 1 of an edge or a rim, 2 of a face."""
        return 1 if self.rim else len(self.axes)


def round_features(radius: float, half: float) -> tuple[Feature, ...]:
    """Return the features of a disc about z (half = 0), m, or of a cylinder, whose side is its axis, rounded.

    In order: of a disc rim and face, of a cylinder side, and rim and face of either end.
    """
    x, y, z = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    size = value_of(max(radius, half))
    if not half:
        rim = Feature((0.0, 0.0, 0.0), (x, y), (), (), (1,), size, radius=radius, rim=True)
        return rim, replace(rim, beside=(0,), rim=False)
    ends = tuple(((0.0, 0.0, -sign), half) for sign in (-1.0, 1.0))
    found = [Feature((0.0, 0.0, 0.0), (z,), ends, (), (1, 3), size, rounding=radius)]
    for k, sign in ((1, -1.0), (3, 1.0)):
        inwards = ((0.0, 0.0, -sign),)
        rim = Feature((0.0, 0.0, sign * half), (x, y), (), inwards, (0, k + 1), size, radius=radius, rim=True)
        found += [rim, replace(rim, cone=inwards, beside=(k,), rim=False)]
    return tuple(found)


def divide_edges(found: tuple[Feature, ...], length: float) -> tuple[Feature, ...]:
    """Return features whose edges longer than `length`, m, are parts of at most half of it, one beside the next.

    So two crests that are `length` apart meet two parts that are not beside each other. Parts overlap by a tenth: a
    point that passes from one onto the next is well within it. The first part has the edge's number, the others come
    last.
    """
    parts = list(found)
    for number, edge in enumerate(found):
        long = sum(h for _, h in edge.inside)
        if len(edge.axes) != 1 or long <= length:
            continue
        count = math.ceil(2.2 * long / length)
        axis, half = np.array(edge.axes[0]), 1.1 * long / (2 * count)
        numbers = [number, *range(len(parts), len(parts) + count - 1)]
        ends = sorted((k for k in edge.beside if not found[k].axes), key=lambda k: float(axis @ np.array(found[k].at)))
        faces = tuple(k for k in edge.beside if found[k].axes)
        row = [ends[0], *numbers, ends[1]]
        inside = ((_vector(axis), half), (_vector(-axis), half))
        for k, one in enumerate(numbers):
            at = _vector(np.array(edge.at) + (2 * k / (count - 1) - 1) * (long / 2 - half) * axis)
            part = replace(edge, at=at, inside=inside, beside=(row[k], row[k + 2], *faces))
            parts[one : one + 1] = [part]
        last = parts[ends[1]]
        parts[ends[1]] = replace(last, beside=tuple(numbers[-1] if k == number else k for k in last.beside))
        for k in faces:
            parts[k] = replace(parts[k], beside=(*parts[k].beside, *numbers[1:]))
    return tuple(parts)


def balls_around(found: Sequence[Feature]) -> tuple[FloatArray, FloatArray]:
    """Return the middles (n, d), m, of features and the radii (n,), m, of balls about them that hold their points."""
    middles = np.array([one.at for one in found])
    radii = np.zeros(len(found))
    for i, one in enumerate(found):
        corners = [k for k in one.beside if not found[k].axes]
        if one.radius:
            radii[i] = one.radius
        elif one.dimension == 1:
            radii[i] = max(h for _, h in one.inside)
        elif one.axes:
            radii[i] = max(float(np.linalg.norm(middles[k] - middles[i])) for k in corners)
    return middles, radii + np.array([one.rounding for one in found])


def stretch_features(found: tuple[Feature, ...], factors: Sequence[float]) -> tuple[Feature, ...]:
    """Return the features of a body whose faces are across the axes, times factors along the axes."""

    def longer(g: Vector) -> float:
        return next(f for f, entry in zip(factors, g, strict=True) if entry)

    def stretch(one: Feature) -> Feature:
        at = tuple(x * f for x, f in zip(one.at, factors, strict=True))
        return replace(one, at=at, inside=tuple((g, h * longer(g)) for g, h in one.inside))

    return tuple(stretch(one) for one in found)


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
    inner = vertices.mean(axis=0)
    outward = [_outward(along, middle - inner) for along, middle in zip(axes, middles, strict=True)]
    return tuple(
        Feature(_vector(middle), tuple(map(_vector, along)), tuple(ends), tuple(cone), near, size, outward=out)
        for middle, along, ends, cone, near, out in zip(middles, axes, inside, cones, beside, outward, strict=True)
    )


def _outward(axes: FloatArray, away: FloatArray) -> Vector:
    """Return the unit normal of a face with these axes (d - 1, d) on the side of `away` (d,); empty of what is none."""
    if len(axes) != len(away) - 1:
        return ()
    n = np.linalg.svd(axes)[2][-1]
    return _vector(n if n @ away >= 0.0 else -n)


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
