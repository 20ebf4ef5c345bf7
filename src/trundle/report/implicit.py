"""Plain numpy forms of the simple shapes, for checks that share no code with the simulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Derivatives = tuple[Array, Array, Array]


@dataclass(frozen=True)
class LevelSet:
    """A surface f(x) = 0 in its own frame, f a length (m) near the surface.

    Parameters
    ----------
    derivatives : callable
        Points (n, 3) to f (n,), gradient (n, 3) and Hessian (n, 3, 3).
    side : int
        1 if the outward normal is along the gradient, -1 for a container.
    """

    derivatives: Callable[[Array], Derivatives]
    side: int = 1

    def value(self, x: Array) -> tuple[Array, Array]:
        """Return f (n,) and its gradient (n, 3)."""
        f, g, _ = self.derivatives(x)
        return f, g

    def normal(self, x: Array) -> tuple[Array, Array]:
        """Return n = side g/|g| (n, 3) and its derivative side (I - n n') H/|g| (n, 3, 3)."""
        _, g, H = self.derivatives(x)
        size = np.linalg.norm(g, axis=1)[:, None]
        n = self.side * g / size
        project = np.eye(3) - n[:, :, None] * n[:, None, :]
        return n, self.side * (project @ H) / size[:, :, None]


def level_set(shape: Mapping[str, Any]) -> LevelSet | None:
    """Return the level set of a shape given as in a scenario file, or None if it has no simple one here."""
    kind = shape.get("type")
    if kind == "plane":
        return LevelSet(_quadric(np.zeros(3), np.array([0.0, 0.0, 1.0]), 0.0))
    if kind == "sphere":
        return LevelSet(_ellipsoid(np.full(3, float(shape["radius"]))))
    if kind in ("ellipsoid", "dish"):
        axes = np.asarray(shape["semi_axes"], dtype=float)
        return LevelSet(_ellipsoid(axes), side=1 if kind == "ellipsoid" else -1)
    if kind in ("cylinder", "tube"):
        radius = float(shape["radius"])
        weights = np.array([1.0, 1.0, 0.0]) / radius**2
        return LevelSet(_quadric(0.5 * radius * weights, np.zeros(3), 0.5 * radius), 1 if kind == "cylinder" else -1)
    if kind == "torus":
        return LevelSet(_torus(float(shape["major"]), float(shape["minor"])))
    return None


def _ellipsoid(axes: Array) -> Callable[[Array], Derivatives]:
    scale = 0.5 * float(np.min(axes))
    return _quadric(scale / axes**2, np.zeros(3), scale)


def _quadric(square: Array, linear: Array, constant: float) -> Callable[[Array], Derivatives]:
    def derivatives(x: Array) -> Derivatives:
        H = np.broadcast_to(np.diag(2 * square), (len(x), 3, 3))
        return (x * x) @ square + x @ linear - constant, 2 * square * x + linear, H

    return derivatives


def _torus(major: float, minor: float) -> Callable[[Array], Derivatives]:
    def derivatives(x: Array) -> Derivatives:
        """Return the value and derivatives there."""
        rho = np.hypot(x[:, 0], x[:, 1])
        e = np.stack([x[:, 0] / rho, x[:, 1] / rho, np.zeros_like(rho)], axis=1)
        t = np.stack([-e[:, 1], e[:, 0], np.zeros_like(rho)], axis=1)
        q = rho - major
        f = 0.5 * (q * q + x[:, 2] ** 2 - minor**2) / minor
        g = (q[:, None] * e + x[:, 2:] * [[0.0, 0.0, 1.0]]) / minor
        H = e[:, :, None] * e[:, None, :] + (q / rho)[:, None, None] * t[:, :, None] * t[:, None, :]
        H[:, 2, 2] += 1.0
        return f, g, H / minor

    return derivatives


@dataclass(frozen=True)
class Curve:
    """A planar curve with two derivatives.

    Parameters
    ----------
    at : callable
        Parameters (n,) to point, first and second derivative, each (n, 2), m.
    parameter : callable
        A point near the curve (n, 2) to a nearby parameter (n,).
    side : int
        1 if the free side is on the left, -1 on the right.
    """

    at: Callable[[Array], Derivatives]
    parameter: Callable[[Array], Array]
    side: int = 1


def curve(shape: Mapping[str, Any]) -> Curve | None:
    """Return the curve of a shape given as in a scenario file, or None if it has no simple one here.

    A terrain runs to the right with its free side on the left, an outline counter-clockwise.
    """
    kind = shape.get("type")
    if kind in ("circle", "ellipse"):
        a, b = (shape["radius"],) * 2 if kind == "circle" else shape["semi_axes"]
        return _ellipse(float(a), float(b))
    if kind == "fourier":
        return _fourier(float(shape["radius"]), shape.get("cos", []), shape.get("sin", []))
    if kind == "arc":
        inside = shape.get("side", "inside") == "inside"
        return _arc(float(shape["radius"]), np.asarray(shape.get("center", [0.0, 0.0]), dtype=float), inside)
    heights = _heights(shape) if kind != "spline" else _fit_measured_terrain(shape)
    return None if heights is None else Curve(_graph(heights), lambda point: point[:, 0])


def _ellipse(a: float, b: float) -> Curve:
    def at(u: Array) -> Derivatives:
        point = np.stack([a * np.cos(u), b * np.sin(u)], axis=1)
        return point, np.stack([-a * np.sin(u), b * np.cos(u)], axis=1), -point

    return Curve(at, lambda x: np.arctan2(x[:, 1] / b, x[:, 0] / a), side=-1)


def _fourier(radius: float, cosines: Sequence[float], sines: Sequence[float]) -> Curve:
    def at(u: Array) -> Derivatives:
        """Return the value and derivatives there."""
        r, d, e = np.ones_like(u), np.zeros_like(u), np.zeros_like(u)
        for k, c in enumerate(cosines, start=1):
            r, d, e = r + c * np.cos(k * u), d - k * c * np.sin(k * u), e - k * k * c * np.cos(k * u)
        for k, s in enumerate(sines, start=1):
            r, d, e = r + s * np.sin(k * u), d + k * s * np.cos(k * u), e - k * k * s * np.sin(k * u)
        out = np.stack([np.cos(u), np.sin(u)], axis=1)
        turn = np.stack([-np.sin(u), np.cos(u)], axis=1)
        r, d, e = radius * r[:, None], radius * d[:, None], radius * e[:, None]
        return r * out, d * out + r * turn, (e - r) * out + 2 * d * turn

    return Curve(at, lambda x: np.arctan2(x[:, 1], x[:, 0]), side=-1)


def _arc(radius: float, center: Array, inside: bool) -> Curve:
    # Both run so that the free side is on the left: the bowl's bottom and the hill's top from left to right.
    sign = 1.0 if inside else -1.0

    def at(u: Array) -> Derivatives:
        out = np.stack([np.sin(u), -sign * np.cos(u)], axis=1)
        turn = np.stack([np.cos(u), sign * np.sin(u)], axis=1)
        return center + radius * out, radius * turn, -radius * out

    return Curve(at, lambda x: np.arctan2(x[:, 0] - center[0], -sign * (x[:, 1] - center[1])))


def _heights(shape: Mapping[str, Any]) -> Callable[[Array], Derivatives] | None:
    """Return z(x) with two derivatives for terrains that are graphs."""
    kind = shape.get("type")
    if kind == "line":
        slope, offset = float(shape.get("slope", 0.0)), float(shape.get("offset", 0.0))
        return lambda x: (slope * x + offset, np.full_like(x, slope), np.zeros_like(x))
    if kind == "parabola":
        c = float(shape["curvature"])
        return lambda x: (c * x * x, 2 * c * x, np.full_like(x, 2 * c))
    if kind == "sinusoid":
        a, k, q = float(shape["amplitude"]), 2 * math.pi / float(shape["wavelength"]), float(shape.get("phase", 0.0))
        return lambda x: (a * np.sin(k * x + q), a * k * np.cos(k * x + q), -a * k * k * np.sin(k * x + q))
    if kind == "sum":
        terms = [_heights(term) for term in shape["terms"]]
        known = [term for term in terms if term is not None]
        if len(known) == len(terms):
            return lambda x: tuple(sum(values) for values in zip(*(term(x) for term in known), strict=True))  # type: ignore[return-value]
    return None


def _fit_measured_terrain(shape: Mapping[str, Any]) -> Callable[[Array], Derivatives] | None:
    """Return z(x) with two derivatives of measured terrain whose points the record has: a quintic spline."""
    points = np.asarray(shape.get("points", ()), dtype=float).reshape(-1, 2)
    if shape.get("closed", False) or len(points) < 6 or not np.all(np.diff(points[:, 0]) > 0):
        return None
    from scipy.interpolate import make_interp_spline

    z = make_interp_spline(points[:, 0], points[:, 1], k=5)
    slope, bend = z.derivative(1), z.derivative(2)
    return lambda x: (z(x), slope(x), bend(x))


def _graph(heights: Callable[[Array], Derivatives]) -> Callable[[Array], Derivatives]:
    def at(x: Array) -> Derivatives:
        z, d, e = heights(x)
        return np.stack([x, z], axis=1), np.stack([np.ones_like(x), d], axis=1), np.stack([np.zeros_like(x), e], axis=1)

    return at
