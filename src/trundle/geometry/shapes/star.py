"""Star-shaped boundaries: one radius in every direction from the origin."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.geometry.chart import ExpressionChart
from trundle.geometry.level import Level
from trundle.geometry.queries.sampling import call, directions
from trundle.geometry.shapes import build
from trundle.numerics.space import dot

DEGREE = 4
"""Of the first guess of the radius: what it misses, Newton's steps make up for."""
STEPS = 6  # of Newton's method, from the first guess
RAYS, DISTANCES = 600, 200
TOLERANCE = 1e-13
"""Of the radius, relative; also of the rays between those the guess was fitted to."""
GRAZING = 0.05
"""Least cosine between the ray and the normal."""


Coordinate = TypeVar("Coordinate", ca.SX, FloatArray)


def charts(radius: Callable[[ca.SX], ca.SX], side: int) -> tuple[ExpressionChart, ExpressionChart]:
    """Return the charts x = r(e(u)) e(u), e(u) stereographic, of a boundary with the radius r(e) in m.

    The first is about e = -z, the second about e = z. ``side`` is +1 where the material is within.
    """

    def about(sphere: ExpressionChart) -> ExpressionChart:
        def point(u: ca.SX) -> ca.SX:
            e = sphere.point(u)
            return radius(e) * e

        return build.chart(3, point, side, reach=sphere.reach)

    south, north = build.stereographic((1.0, 1.0, 1.0), 1)
    return about(south), about(north)


def level_charts(level: Level, size: float) -> tuple[ExpressionChart, ...]:
    """Return the charts of a level set in space that is star-shaped about the origin, and none of another.

    The radius in the direction e is the root of f(r e): a fit of spherical harmonics to the roots on a few
    hundred rays, then a fixed number of Newton's steps, so that it is an expression with derivatives of any
    order. What the rays in between show is checked against the tolerance.

    Parameters
    ----------
    level : Level
    size : float, m
        The boundary is looked for up to three times as far from the origin.
    """
    x = ca.SX.sym("x", 3)
    f, gradient = level.value_and_gradient(x)
    function = ca.Function("f", [x], [f, gradient])
    side = -1 if float(call(ca.Function("f", [x], [f]), np.zeros((1, 3)))[0, 0]) > 0 else 1
    rays = directions(RAYS, 3)
    radii = _roots(function, rays, size, side)
    if radii is None:
        return ()
    coefficients, *_ = np.linalg.lstsq(np.stack(harmonics([*rays.T], DEGREE), axis=1), radii, rcond=None)

    def radius(e: ca.SX) -> ca.SX:
        r = sum((c * t for c, t in zip(coefficients, harmonics([e[0], e[1], e[2]], DEGREE), strict=True)), ca.SX(0))
        for _ in range(STEPS):
            value, slope = function(r * e)
            r = r - value / dot(slope, e)
        return r

    between = directions(4 * RAYS + 1, 3)
    exact = _roots(function, between, size, side)
    e = ca.SX.sym("e", 3)
    found = call(ca.Function("radius", [e], [radius(e)]), between)[:, 0]
    if exact is None or not np.all(np.abs(found - exact) <= TOLERANCE * exact.max()):
        return ()
    return charts(radius, side)


def _roots(function: ca.Function, rays: FloatArray, size: float, side: int) -> FloatArray | None:
    """Return the distance along each ray, m, at which it leaves the boundary; None if a ray does not meet it once."""
    distances = np.linspace(0.0, 3.0 * size, DISTANCES)
    x = (distances[None, :, None] * rays[:, None, :]).reshape(-1, 3)
    value = side * np.asarray(function(x.T)[0]).reshape(len(rays), DISTANCES)
    outside = value > 0
    # Within up to one sample, without from the next one on, all finite.
    first = np.argmax(outside, axis=1)
    steady = np.arange(DISTANCES)[None, :] >= first[:, None]
    if (
        not (np.isfinite(value).all() and outside.any(axis=1).all() and np.array_equal(outside, steady))
        or not first.all()
    ):
        return None
    low, high = distances[first - 1], distances[first]
    for _ in range(60):
        middle = 0.5 * (low + high)
        beyond = side * np.asarray(function((middle[:, None] * rays).T)[0])[0] > 0
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    slope = np.asarray(function((high[:, None] * rays).T)[1]).T
    cosine = side * np.sum(slope * rays, axis=1) / np.maximum(np.linalg.norm(slope, axis=1), 1e-300)
    return high if np.all(cosine > GRAZING) else None


def harmonics(e: Sequence[Coordinate], degree: int) -> list[Coordinate]:
    """Return the real spherical harmonics (not normalised) up to `degree` at unit directions `e` = (x, y, z).

    Re and Im of (x + iy)^m times the m-th derivative of the Legendre polynomial P_l(z), by the recursion
    (l - m) Q_l = (2l - 1) z Q_{l-1} - (l + m - 1) Q_{l-2}.
    """
    x, y, z = e[0], e[1], e[2]
    re, im = 1.0 + 0.0 * x, 0.0 * x
    first = 1.0
    result = []
    for m in range(degree + 1):
        before, now = 0.0 * z, first + 0.0 * z
        for n in range(m, degree + 1):
            if n > m:
                before, now = now, ((2 * n - 1) * z * now - (n + m - 1) * before) / (n - m)
            scale = math.sqrt(math.factorial(n - m) / math.factorial(n + m))
            result.append(scale * now * re)
            if m:
                result.append(scale * now * im)
        re, im = re * x - im * y, re * y + im * x
        first *= 2 * m + 1
    return result
