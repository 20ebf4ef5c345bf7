"""Solids: numbers of whole shapes: how far they reach in a direction, and how deep points are in them.

A shape is asked for one of three things: its support function, h(u) = max u.x, of a convex body; a field, whose sign
says on which side of the boundary a point is, exactly, and whose size near it is the distance; points of its boundary.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from trundle.audit.columns import sum_last_axis
from trundle.audit.shapes.vectorized import Vectorized
from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.geometry.boundary import Boundary
from trundle.geometry.shape import Shape
from trundle.geometry.support import EllipsoidSupport
from trundle.threads import cached_property

_SAMPLES, _FEW = {2: 240, 3: 1200}, {2: 48, 3: 160}
"""Points of a boundary that are tried against a ground of any form; of a smooth convex body fewer, to start from."""
_SMALL = 1e-300  # keeps a square root's derivative finite at zero; far below any squared gradient
_SHRINKING = 0.5
"""Part of the smallest radius of curvature by which a body is shrunk: it stays smooth."""


class Solid:
    """Numbers of one shape."""

    def __init__(self, shape: Boundary) -> None:
        self.shape, self.d = shape, shape.d
        self.bundle = shape.representations
        support = self.bundle.support
        self.axes: FloatArray | None = None
        self.rounding = 0.0
        if isinstance(support, EllipsoidSupport):
            self.axes, self.rounding = np.array(support.semi_axes, dtype=np.float64), float(support.rounding)
        self.flat = self.bundle.flat
        self.convex = support is not None and not self.bundle.hull
        self.bounded = support is not None

    @cached_property
    def ball(self) -> float | None:
        """The radius of a ball about the shape's origin, m; None of any other shape."""
        if self.axes is None or not self.convex or np.ptp(self.axes) > 0.0:
            return None
        return float(self.axes[0]) + self.rounding

    @property
    def smooth(self) -> bool:
        """Whether the body is convex without edges and faces: one point for each normal."""
        bundle = self.bundle
        return self.convex and bundle.roundness is None and not bundle.pieces and not bundle.features

    @cached_property
    def reach(self) -> float:
        """How far the shape reaches from its origin, m; inf without end."""
        if self.axes is not None:
            return float(self.axes.max()) + self.rounding
        if self.bounded:
            u = unit_directions(256, self.d)
            return float(self.h(u).max()) * 1.05  # between directions the support function grows a little
        if not self.bundle.charts:
            return float(np.inf)
        try:
            points, _ = Shape.sample(self.shape, 400)  # pyright: ignore[reportArgumentType]
        except InputError:
            return float(np.inf)
        return float(np.linalg.norm(points, axis=1).max()) * 1.05 if len(points) else float(np.inf)

    @cached_property
    def uneven(self) -> float:
        """How much the reach differs with the direction, m: 0 of a ball, whose turning moves nothing."""
        return 0.0 if self.ball is not None else self.reach

    @cached_property
    def roundest(self) -> float:
        """By how much (m) the body can shrink along its normals and stay convex: not more than its sharpest bend."""
        if not self.convex:
            return 0.0
        if self.axes is None:  # a hull of balls, such as a capsule, shrinks as these do
            balls = [solid_of(piece.shape).ball for piece in self.bundle.pieces]
            return _SHRINKING * min((0.0 if ball is None else ball for ball in balls), default=0.0)
        bend = float(self.axes.min()) ** 2 / float(self.axes.max()) if self.axes.max() > 0.0 else 0.0
        return _SHRINKING * (bend + self.rounding)

    def h(self, u: FloatArray) -> FloatArray:
        """Return the support function (m,), m, of directions (m, d) of any length."""
        if self.axes is not None:
            size = self.rounding * np.sqrt(sum_last_axis(u * u)) if self.rounding else 0.0
            scaled = u * self.axes
            return np.sqrt(sum_last_axis(scaled * scaled)) + size
        return self._support(u)[:, 0]

    def point(self, u: FloatArray) -> FloatArray:
        """Return points (m, d), m, of the boundary that are farthest along unit vectors (m, d)."""
        if self.axes is not None:
            scaled = u * self.axes
            size = np.sqrt(sum_last_axis(scaled * scaled))[:, None]
            return scaled * self.axes / np.where(size > 0.0, size, 1.0) + self.rounding * u
        found = self._support(u)[:, 1:]
        return np.where(np.isfinite(found), found, 0.0)

    @cached_property
    def _support(self) -> Vectorized:
        support = self.bundle.support
        if support is None:
            raise InputError("shape", type(self.shape).__name__, "a shape with a support function")
        u = ca.SX.sym("u", self.d)
        h = support.support(u)
        return _vectorize_expression(u, ca.vertcat(h, ca.gradient(h, u)))

    @cached_property
    def corners(self) -> FloatArray:
        """The unit normals (k, d) of faces, in whose directions a support function has kinks."""
        found = []
        for feature in self.bundle.features:
            axes = np.array(feature.axes).reshape(-1, self.d)
            if len(axes) == self.d - 1 and not feature.rim:
                n = np.linalg.svd(axes)[2][-1]
                found += [n, -n]
        return np.array(found).reshape(-1, self.d)

    @cached_property
    def edges(self) -> FloatArray:
        """Unit vectors (k, 3) along the straight edges and axes of a body in space."""
        along = [np.array(f.axes[0]) for f in self.bundle.features if len(f.axes) == 1]
        if not along or self.d != 3:
            return np.zeros((0, 3))
        kept: list[FloatArray] = []
        for one in along:
            if all(abs(float(one @ other)) < 1.0 - 1e-9 for other in kept):
                kept.append(one)
        return np.array(kept)

    @cached_property
    def field(self) -> Vectorized | None:
        """X (d,) -> (f, grad f): negative in the material, near the boundary the distance; None: it is not known."""
        x = ca.SX.sym("x", self.d)
        bundle = self.bundle
        if bundle.distance is not None:
            f = bundle.distance(x)
        elif bundle.level is not None:
            value, gradient = bundle.level.value_and_gradient(x)
            f = value / ca.sqrt(ca.fmax(ca.sumsqr(gradient), _SMALL))
        elif bundle.height is not None:
            height = bundle.height(x[:-1])
            slope = ca.gradient(height, x[:-1])
            f = (x[-1] - height) / ca.sqrt(1 + ca.sumsqr(slope))
        else:
            return None
        return _vectorize_expression(x, ca.vertcat(f, ca.gradient(f, x)))

    def depth(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the field (m,), m, and its gradient (m, d) at points (m, d)."""
        if self.field is None:
            return Shape.distance(self.shape, x)  # pyright: ignore[reportArgumentType]
        found = self.field(x)
        depth = found[:, 0]
        for i, (low, high) in enumerate(self._data):
            depth = np.where((x[:, i] < low) | (x[:, i] > high), np.inf, depth)
        return depth, found[:, 1:]

    @cached_property
    def _data(self) -> tuple[tuple[float, float], ...]:
        """The ranges of x (and y), m, in which a measured graph has data: beyond, a surface is nobody's."""
        if self.bundle.height is None or not self.bundle.charts:
            return ()
        ranges = self.bundle.charts[0].ranges
        bounded = ranges and all(r.bounded and not r.periodic for r in ranges)
        return tuple((float(r.low), float(r.high)) for r in ranges) if bounded else ()

    @cached_property
    def surface(self) -> FloatArray:
        """Points (m, d), m, of the boundary."""
        if self.smooth:
            return self.point(unit_directions(_FEW[self.d], self.d))
        points, _ = Shape.sample(self.shape, _SAMPLES[self.d])  # pyright: ignore[reportArgumentType]
        pieces = [np.array(piece.at) for piece in self.bundle.pieces if type(piece.shape).__name__ == "Point"]
        return np.vstack([points, *[p[None] for p in pieces]]) if pieces else points


def solid_of(shape: Boundary) -> Solid:
    """Return the numbers of a shape, made once."""
    return shape.numeric(Solid)


def _vectorize_expression(x: ca.SX, value: ca.SX) -> Vectorized:
    """Return x (size,) -> value (k,) for many arguments."""
    return Vectorized(ca.Function("numbers", [x], [ca.densify(value)], {"cse": True, "allow_free": False}))


def unit_directions(n: int, d: int) -> FloatArray:
    """Return unit vectors (n, d), even on the circle or the sphere."""
    i = np.arange(n) + 0.5
    if d == 2:
        angle = 2 * np.pi * i / n
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    z = 1 - 2 * i / n
    s, turn = np.sqrt(1 - z * z), np.pi * (3.0 - np.sqrt(5.0)) * i
    return np.stack([s * np.cos(turn), s * np.sin(turn), z], axis=1)
