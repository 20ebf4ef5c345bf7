"""Ground: a flat, a convex solid, or a surface known by its signed distance near it; material below or outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .shapes import Array, Body, unit


@dataclass(frozen=True, eq=False)
class Ground:
    """Ground in its own frame; exactly one of the three says what it is.

    Parameters
    ----------
    flat : (point (d,), normal (d,)), optional
    solid : Body, optional
        Convex, outside is free.
    level : (F, gradient), optional
        F (n,) of points (n, d), positive where it is free; distance = F/|gradient| to first order, exact near it.
    """

    flat: tuple[Array, Array] | None = None
    solid: Body | None = None
    level: tuple[Callable[[Array], Array], Callable[[Array], Array]] | None = None

    def distance(self, x: Array) -> Array:
        """Return the signed distance (n,) of points (n, d), to first order."""
        if self.flat is not None:
            return (x - self.flat[0]) @ self.flat[1]
        assert self.level is not None
        value, gradient = self.level
        return value(x) / (np.linalg.norm(gradient(x), axis=1) + 1e-300)

    def normal(self, x: Array) -> Array:
        """Return unit normals (n, d) to the free side."""
        if self.flat is not None:
            return np.tile(self.flat[1], (len(x), 1))
        assert self.level is not None
        return unit(self.level[1](x))


def flat(normal: Array, point: Array | None = None) -> Ground:
    """Plane or line through `point` (the origin)."""
    n = unit(np.asarray(normal, float)[None])[0]
    return Ground(flat=(np.zeros(len(n)) if point is None else np.asarray(point, float), n))


def solid(body: Body) -> Ground:
    """A convex hill: ball, ellipsoid, box."""
    return Ground(solid=body)


def hollow(semi_axes: list[float]) -> Ground:
    """Inside of an ellipsoid; an infinite axis makes a tube, two entries an ellipse."""
    a = np.asarray(semi_axes, float)
    mean = float(np.min(a))

    def value(x: Array) -> Array:
        return mean * (1.0 - np.linalg.norm(x / a, axis=1))

    def gradient(x: Array) -> Array:
        return -mean * (x / a**2) / (np.linalg.norm(x / a, axis=1, keepdims=True) + 1e-300)

    return Ground(level=(value, gradient))


def graph(height: Callable[[Array], Array], slope: Callable[[Array], Array]) -> Ground:
    """z over the other coordinates: `height` (n,) and `slope` (n, d - 1) of (n, d - 1), material below."""

    def value(x: Array) -> Array:
        return x[:, -1] - height(x[:, :-1])

    def gradient(x: Array) -> Array:
        return np.hstack([-slope(x[:, :-1]), np.ones((len(x), 1))])

    return Ground(level=(value, gradient))


def waves(amplitude: float, wavelength: float, phase: float = 0.0, d: int = 3) -> Ground:
    """z = amplitude sin(2 pi x/wavelength + phase), the same at every y."""
    k = 2 * np.pi / wavelength

    def slope(x: Array) -> Array:
        along = amplitude * k * np.cos(k * x[:, :1] + phase)
        return np.hstack([along, np.zeros((len(x), d - 2))])

    return graph(lambda x: amplitude * np.sin(k * x[:, 0] + phase), slope)


def parabola(curvature: float, d: int = 2) -> Ground:
    """z = curvature x^2."""

    def slope(x: Array) -> Array:
        return np.hstack([2 * curvature * x[:, :1], np.zeros((len(x), d - 2))])

    return graph(lambda x: curvature * x[:, 0] ** 2, slope)


def quadric(a: float, b: float) -> Ground:
    """z = a x^2 + b y^2."""
    return graph(lambda x: x**2 @ np.array([a, b]), lambda x: 2 * x * np.array([a, b]))


def height_map(x: Array, y: Array, z: Array) -> Ground:
    """Quintic tensor spline through heights (nx, ny) over a grid; beside the grid there is no ground.

    There the distance is that of the grid's border, to its side or above it.
    """
    from scipy.interpolate import RectBivariateSpline

    spline = RectBivariateSpline(x, y, z, kx=5, ky=5)
    low, high = np.array([x[0], y[0]]), np.array([x[-1], y[-1]])

    def beside(p: Array) -> tuple[Array, Array, Array]:
        """Return the heights over the nearest points of the grid, the ways (n, 2) there, and how far (n,) that is."""
        at = np.clip(p[:, :2], low, high)
        way = p[:, :2] - at
        return p[:, 2] - spline.ev(at[:, 0], at[:, 1]), way, np.linalg.norm(way, axis=1)

    def value(p: Array) -> Array:
        over, _, far = beside(p)
        return np.where(far > 0.0, np.hypot(np.maximum(over, 0.0), far), over)

    def gradient(p: Array) -> Array:
        over, way, far = beside(p)
        slope = np.stack([spline.ev(p[:, 0], p[:, 1], dx=1), spline.ev(p[:, 0], p[:, 1], dy=1)], axis=1)
        inside = np.hstack([-slope, np.ones((len(p), 1))])
        away = unit(np.hstack([way, np.maximum(over, 0.0)[:, None]]))
        return np.where((far > 0.0)[:, None], away, inside)

    return Ground(level=(value, gradient))
