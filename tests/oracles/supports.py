"""Convex bodies by support function h(d): point = grad h(d), radii of curvature tensor = Hess h(d) at a unit outward
direction d.

Sheet 1 section 7. Gradient and Hessian are written by hand for each body. Axis of disc and torus: z.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Support:
    """A convex body: `point(d)` (3,) m and `radii(d)` (3, 3) m for a unit outward direction d."""

    point: Callable[[Array], Array]
    radii: Callable[[Array], Array]


def ellipsoid(semi_axes: list[float]) -> Support:
    """h = sqrt(d' B d), B = diag(a^2): grad = B d/h, Hess = B/h - B d d' B/h^3."""
    b = np.diag(np.square(semi_axes))

    def radii(d: Array) -> Array:
        h = np.sqrt(d @ b @ d)
        return b / h - np.outer(b @ d, b @ d) / h**3

    return Support(lambda d: b @ d / np.sqrt(d @ b @ d), radii)


def superellipsoid(semi_axes: list[float], exponent: float) -> Support:
    """h = (sum |a_i d_i|^q)^(1/q), the body sum |x_i/a_i|^p <= 1 with 1/p + 1/q = 1; `exponent` is p."""
    q = exponent / (exponent - 1.0)
    a = np.asarray(semi_axes, float)

    def point(d: Array) -> Array:
        y = np.abs(a * d)
        return a * np.sign(d) * y ** (q - 1) * np.sum(y**q) ** (1 / q - 1)

    def radii(d: Array) -> Array:
        y = np.abs(a * d)
        total = np.sum(y**q)
        slope = a * np.sign(d) * y ** (q - 1)
        return (q - 1) * (
            np.diag(a**2 * y ** (q - 2)) * total ** (1 / q - 1) - np.outer(slope, slope) * total ** (1 / q - 2)
        )

    return Support(point, radii)


def disc(radius: float) -> Support:
    """A thin disc in the x-y plane: h = radius hypot(d_x, d_y)."""

    def point(d: Array) -> Array:
        return radius * np.array([d[0], d[1], 0.0]) / np.hypot(d[0], d[1])

    def radii(d: Array) -> Array:
        t = np.array([-d[1], d[0], 0.0]) / np.hypot(d[0], d[1])
        return radius / np.hypot(d[0], d[1]) * np.outer(t, t)

    return Support(point, radii)


def rounded(body: Support, radius: float) -> Support:
    """Minkowski sum with a ball: h + radius |d|."""
    return Support(
        lambda d: body.point(d) + radius * d,
        lambda d: body.radii(d) + radius * (np.eye(3) - np.outer(d, d)),
    )


def torus(major: float, minor: float) -> Support:
    """The convex hull of a torus: a rounded disc (same outer half)."""
    return rounded(disc(major), minor)
