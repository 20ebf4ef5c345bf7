"""Shapes from one expression: subclass one of these with a single method, and every query and contact works."""

from __future__ import annotations

import math
from abc import abstractmethod

import casadi as ca
import numpy as np

from trundle.errors import InputError
from trundle.geometry.boundary import Boundary, Representations
from trundle.geometry.chart import TURN, ChartRange, ExpressionChart
from trundle.geometry.queries.sampling import call, directions, numeric_charts
from trundle.geometry.shape import Shape
from trundle.geometry.shapes import build, star
from trundle.geometry.shapes.corners import FACE_TILT, with_faces


class ChartShape(Shape):
    """A curve (d = 2) or a surface (d = 3) by one chart: a subclass gives ``point`` and its ``ranges``.

    Attributes
    ----------
    d : int
    ranges : tuple of ChartRange
        One a parameter.
    side : int
        +1 or -1, see `trundle.geometry.Chart`.
    """

    ranges: tuple[ChartRange, ...]
    side: int = 1

    @abstractmethod
    def point(self, u: ca.SX) -> ca.SX:
        """Return the point (d,), m, at the parameters `u` (d-1,)."""

    def bundle(self) -> Representations:
        """Return the chart; of a graph (parameters are coordinates without end) also height and level set."""
        d = self.d
        charts = (ExpressionChart(build.function("point", d - 1, self.point), self.side, self.ranges),)
        graph = [r.coordinate for r in self.ranges if not r.bounded] == list(range(d - 1))
        if not graph or self.side < 0:
            return Representations(charts=charts)
        level = build.level(d, lambda x: x[-1] - self.point(x[:-1])[-1])
        return Representations(charts, level=level, height=build.function("height", d - 1, lambda u: self.point(u)[-1]))

    @property
    def reference_length(self) -> float:
        """Half of the longest extent along an axis, m; 1 m without end."""
        return extent(self) if all(r.bounded for r in self.ranges) else 1.0


class SupportShape(Shape):
    """A convex body, d = 2 or 3, by its support function: a subclass gives ``support``."""

    @abstractmethod
    def support(self, u: ca.SX) -> ca.SX:
        """Return h(u), m, homogeneous of degree 1, for a direction `u` (d,) of any positive length."""

    def bundle(self) -> Representations:
        """Return the support function, and charts by the normal if all sampled radii of curvature are positive."""
        d = self.d
        body = build.support(d, self.support)
        n = ca.SX.sym("n", d)
        radii = call(ca.Function("radii", [n], [ca.vec(body.point_and_radii(n)[1])]), directions(500, d))
        values = np.linalg.eigvalsh(np.nan_to_num(radii).reshape(-1, d, d))
        # The smallest eigenvalue is the zero along n.
        smooth = bool(np.isfinite(radii).all() and values[:, 1].min() > 1e-4 * values[:, -1].max())
        pieces = with_faces(body, FACE_TILT) if d == 3 else ()
        if pieces:
            body = pieces[0].shape.representations.support or body
        if not smooth:
            return Representations(support=body, pieces=pieces)
        if d == 3:
            charts, belts = build.by_normal(body)
            return Representations(charts=charts, belts=belts, support=body, pieces=pieces)

        def outline(u: ca.SX) -> ca.SX:
            return body.point_and_radii(ca.vertcat(ca.cos(u), ca.sin(u)))[0]

        return Representations(charts=(build.chart(2, outline, -1, (TURN,)),), support=body)

    @property
    def reference_length(self) -> float:
        """Half of the longest extent along an axis, m."""
        return self.numeric(_widest)


class SizedShape(Shape):
    """A surface in space that says itself how large it is.

    Attributes
    ----------
    size : float, m
        How far from the origin the surface reaches, about.
    """

    d = 3
    size: float = 1.0

    @property
    def reference_length(self) -> float:
        """The size, m."""
        return self.size


class LevelShape(SizedShape):
    """A surface f = 0 in space: a subclass gives ``level``."""

    @abstractmethod
    def level(self, x: ca.SX) -> ca.SX:
        """Return f at `x` (3,): < 0 in the material, > 0 outside, with a gradient that does not vanish near f = 0."""

    def bundle(self) -> Representations:
        """Return the level set; where the surface is star-shaped about the origin, also charts by the direction."""
        level = build.level(3, self.level)
        return Representations(charts=star.level_charts(level, self.size), level=level)


class DistanceShape(SizedShape):
    """A surface in space by its signed distance: a subclass gives ``signed_distance``."""

    @abstractmethod
    def signed_distance(self, x: ca.SX) -> ca.SX:
        """Return the distance of `x` (3,) from the boundary, m: < 0 in the material, > 0 outside."""

    def bundle(self) -> Representations:
        """Return level set and distance; where the surface is star-shaped about the origin, also charts."""
        level = build.level(3, self.signed_distance)
        distance = build.function("distance", 3, self.signed_distance)
        return Representations(charts=star.level_charts(level, self.size), level=level, distance=distance)


def extent(shape: Shape) -> float:
    """Return half of the longest extent along an axis, m, of a shape with bounded charts."""
    return shape.numeric(_extent_of)


def _extent_of(shape: Boundary) -> float:
    points = np.concatenate([c.points(c.grid(200)) for c in numeric_charts(shape)])
    points = points[np.all(np.isfinite(points), axis=1)]
    return 0.5 * float(np.ptp(points, axis=0).max()) if len(points) else math.nan


def _widest(shape: Boundary) -> float:
    h = shape.representations.support
    if h is None:
        raise InputError("shape", type(shape).__name__, "a shape with a support function")
    u = ca.SX.sym("u", shape.d)
    width = ca.Function("width", [u], [(h.support(u) + h.support(-u)) / 2])
    return max(float(width(axis)) for axis in np.eye(shape.d))
