"""Rounding: the Minkowski sum of a convex body with a ball; polytopes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from trundle.checks import instance
from trundle.errors import ShapeError
from trundle.geometry.boundary import BoundaryPiece, Representations
from trundle.geometry.chart import Chart, ExpressionChart
from trundle.geometry.features import features
from trundle.geometry.level import ExpressionLevel
from trundle.geometry.shape import Shape
from trundle.geometry.shapes import build
from trundle.geometry.shapes.corners import corners as corner_pieces
from trundle.geometry.shapes.sizes import Size, coordinates
from trundle.geometry.support import EllipsoidSupport, SupportLike
from trundle.parameters import check_parameter


@dataclass(frozen=True)
class Rounded(Shape):
    """All points within `radius` of a convex body: h + radius |u|, radii + radius (I - n n').

    Makes edges and corners roll (theory, "Surfaces"); flats stay flat.

    Parameters
    ----------
    shape : Shape
        Convex, with a support function.
    radius : float, m

    Examples
    --------
    >>> tr.Rounded(tr.Sphere(radius=0.2), radius=0.1).distance([[1.0, 0.0, 0.0]])[0].round(9).tolist()
    [0.7]
    """

    shape: Shape
    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", check_parameter("radius", self.radius, Size))
        instance("shape", self.shape, Shape, "a shape")
        bundle = self.shape.representations
        if bundle.support is None or bundle.hull:
            raise ShapeError("shape", self.shape, "convex: only a body with a support function can be rounded")

    @property
    def d(self) -> int:  # type: ignore[override]
        """Dimension of the rounded shape."""
        return self.shape.d

    def bundle(self) -> Representations:
        """Return the rounded support, and charts, signed distance and level where the shape has them."""
        base, r, d = self.shape.representations, self.radius, self.d
        distance, level = None, None
        all_sharp = not any(f.radius for f in base.features)  # a rounded rim is a torus, which features do not know
        if base.distance is not None:
            inner = base.distance
            distance = build.function("distance", d, lambda x: inner(x) - r)
            level = ExpressionLevel(distance)
        support = _round_support(base.support, r, d)  # type: ignore[arg-type]
        charts, belts = (tuple(_offset(c, r, d) for c in kind) for kind in (base.charts, base.belts))
        if not charts and base.roundness is None and d == 3:
            charts, belts = build.by_normal(support)
        return Representations(
            charts=charts,
            belts=belts,
            support=support,
            level=level,
            distance=distance,
            roundness=base.roundness,
            features=tuple(replace(f, rounding=f.rounding + r) for f in base.features if all_sharp),
            pieces=tuple(BoundaryPiece(Rounded(p.shape, r), p.at, p.face) for p in base.pieces),  # type: ignore[arg-type]
        )

    @property
    def reference_length(self) -> float:
        """That of the shape plus the radius, m."""
        return self.shape.reference_length + self.radius


def _round_support(support: SupportLike, r: float, d: int) -> SupportLike:
    if isinstance(support, EllipsoidSupport):
        return EllipsoidSupport(support.semi_axes, support.rounding + r)
    return build.support(d, lambda u: support.support(u) + r * ca.norm_2(u))


def _offset(chart: Chart, r: float, d: int) -> ExpressionChart:
    def point(u: ca.SX) -> ca.SX:
        patch = chart.patch(u)
        return patch.x + r * patch.n

    return build.chart(d, point, chart.side, chart.ranges, chart.reach)


@dataclass(frozen=True)
class Polytope(Shape):
    """Convex hull of points.

    It touches with its corners, edges and faces: it lands, rests, tips, slides and rolls on them, on flat and curved
    ground. `Rounded` blunts them.

    Parameters
    ----------
    vertices : (n, 2) or (n, 3), m
        Points inside the hull of the others are dropped.

    Raises
    ------
    ShapeError
        If they lie in a line or a plane.

    Examples
    --------
    >>> cube = tr.Polytope([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    >>> die = tr.Rounded(cube, radius=0.1)  # rolls over its edges
    >>> die.d
    3
    """

    vertices: Sequence[Sequence[float]]

    def __post_init__(self) -> None:
        from scipy.spatial import ConvexHull, QhullError

        size = 2 if np.ndim(np.asarray(self.vertices, dtype=object)) == 2 and np.shape(self.vertices)[1] == 2 else 3
        points = coordinates("vertices", self.vertices, (None, size))
        try:
            corners = points[np.sort(ConvexHull(points).vertices)]
        except (QhullError, ValueError):
            allowed = f"at least {size + 1} points (m) that do not lie in a {'line' if size == 2 else 'plane'}"
            raise ShapeError("vertices", self.vertices, allowed) from None
        object.__setattr__(self, "vertices", tuple(tuple(float(c) for c in row) for row in corners))

    @property
    def d(self) -> int:  # type: ignore[override]
        """Dimension of the vertices."""
        return len(self.vertices[0])

    def bundle(self) -> Representations:
        """Return support max_i v_i.u and roundness: how far ahead of the second the best vertex is."""
        corners = [ca.SX(ca.DM(list(v))) for v in self.vertices]

        def best_two(u: ca.SX) -> tuple[ca.SX, ca.SX]:
            first, second = ca.SX(-np.inf), ca.SX(-np.inf)
            for v in corners:
                h = ca.dot(v, u)
                second = ca.fmax(second, ca.fmin(first, h))
                first = ca.fmax(first, h)
            return first, second

        def lead(n: ca.SX) -> ca.SX:
            first, second = best_two(n)
            return (first - second) / self.reference_length - 1e-6

        vertices = np.asarray(self.vertices)
        return Representations(
            distance=build.function("distance", self.d, lambda x: hull_distance(vertices, x)),
            support=build.support(self.d, lambda u: _largest([ca.dot(v, u) for v in corners])),
            roundness=build.function("roundness", self.d, lead),
            pieces=corner_pieces(vertices),
            features=features(vertices),
        )

    @property
    def reference_length(self) -> float:
        """Half of the longest extent along an axis, m."""
        return 0.5 * float(np.ptp(np.asarray(self.vertices), axis=0).max())


def _largest(values: list[ca.SX]) -> ca.SX:
    result = values[0]
    for value in values[1:]:
        result = ca.if_else(value > result, value, result)
    return result


def hull_distance(vertices: NDArray[np.float64], x: ca.SX) -> ca.SX:
    """Return the signed distance of `x` (d,) to the convex hull of `vertices` (n, d), m."""
    from scipy.spatial import ConvexHull

    hull = ConvexHull(vertices)
    height = _largest([ca.dot(ca.DM(e[:-1]), x) + float(e[-1]) for e in hull.equations])
    to_face = _segment if vertices.shape[1] == 2 else _triangle
    squares = [-to_face(x, *[ca.DM(v) for v in vertices[s]]) for s in hull.simplices]
    # The square root is kept off zero, where its derivative would be 0/0.
    return ca.if_else(height > 0, ca.sqrt(ca.fmax(-_largest(squares), 0) + 1e-300), height)


def _segment(x: ca.SX, a: ca.DM, b: ca.DM) -> ca.SX:
    """Return the squared distance of `x` to the segment from `a` to `b`."""
    along = b - a
    t = ca.fmin(ca.fmax(ca.dot(x - a, along) / ca.dot(along, along), 0), 1)
    return ca.sumsqr(x - a - t * along)


def _triangle(x: ca.SX, a: ca.DM, b: ca.DM, c: ca.DM) -> ca.SX:
    """Return the squared distance of `x` to the triangle `a`, `b`, `c`."""
    n = ca.cross(b - a, c - a)
    edges = [(a, b), (b, c), (c, a)]
    inside = [ca.dot(ca.cross(q - p, x - p), n) for p, q in edges]
    nearest_edge = -_largest([-_segment(x, p, q) for p, q in edges])
    plane = ca.dot(x - a, n) ** 2 / ca.dot(n, n)
    return ca.if_else(-_largest([-s for s in inside]) >= 0, plane, nearest_edge)
