"""Representations from expressions: what the concrete shapes are written with."""

from __future__ import annotations

import math
from collections.abc import Callable

import casadi as ca

from trundle.geometry.chart import TURN, ChartRange, ExpressionChart
from trundle.geometry.level import ExpressionLevel
from trundle.geometry.support import ExpressionSupport, SupportLike

Expression = Callable[[ca.SX], ca.SX]
_BELT = 2.0
"""Half the width of a belt: of a sphere up to 75 degrees of latitude."""


def function(name: str, size: int, expression: Expression) -> ca.Function:
    """Return the CasADi function (size,) -> expression, in SX."""
    argument = ca.SX.sym("a", size)
    return ca.Function(name, [argument], [ca.SX(expression(argument))], {"allow_free": True})


def chart(
    d: int, point: Expression, side: int, ranges: tuple[ChartRange, ...] = (), reach: float = math.inf
) -> ExpressionChart:
    """Return the chart u (d-1,) -> point (d,), m."""
    return ExpressionChart(function("point", d - 1, point), side, ranges, reach)


def level(d: int, expression: Expression) -> ExpressionLevel:
    """Return the level set x (d,) -> f, negative in the material."""
    return ExpressionLevel(function("level", d, expression))


def support(d: int, expression: Expression) -> ExpressionSupport:
    """Return the support function u (d,) -> h, m."""
    return ExpressionSupport(function("support", d, expression))


def stereographic(semi_axes: tuple[float, float, float], side: int) -> tuple[ExpressionChart, ExpressionChart]:
    """Return the charts of an ellipsoid about its lowest and its highest point.

    x = diag(a) (2u, 2v, 1 - q) / (1 + q), q = u^2 + v^2: the image of the unit sphere's stereographic
    chart, skewed unless a = b = c; u = 0 is the pole and |u| = 1 the equator. `side` is +1 for the
    normal to the outside.
    """

    def cap(sign: int) -> ExpressionChart:
        def point(u: ca.SX) -> ca.SX:
            q = u[0] ** 2 + u[1] ** 2
            a, b, c = semi_axes
            return ca.vertcat(2 * a * u[0], 2 * sign * b * u[1], sign * c * (1 - q)) / (1 + q)

        return chart(3, point, side, reach=1.5)

    return cap(-1), cap(1)


def belts(point: Expression, side: int) -> tuple[ExpressionChart, ...]:
    """Return the charts of a closed surface around the axes x, y and z: images under `point` of the unit sphere's.

    Around z these are Mercator's: (cos u / cosh v, sin u / cosh v, tanh v).
    """

    def around(axis: int) -> ExpressionChart:
        def mercator(u: ca.SX) -> ca.SX:
            unit = ca.vertcat(ca.vertcat(ca.cos(u[0]), ca.sin(u[0])) / ca.cosh(u[1]), ca.tanh(u[1]))
            return point(ca.vertcat(*(unit[(i - axis - 1) % 3] for i in range(3))))

        return chart(3, mercator, side, (TURN, ChartRange(-_BELT, _BELT)))

    return around(0), around(1), around(2)


def by_normal(body: SupportLike) -> tuple[tuple[ExpressionChart, ...], tuple[ExpressionChart, ...]]:
    """Return charts and belts of a smooth convex body in space by its normal: x = grad h(n(u)).

    Regular where both radii of curvature are positive. n(u) is stereographic, the first chart's about -z, the second's
    about z, and Mercator's on the belts.
    """

    def point(n: ca.SX) -> ca.SX:
        return body.point_and_radii(n)[0]

    def about(sphere: ExpressionChart) -> ExpressionChart:
        return chart(3, lambda u: point(sphere.point(u)), 1, reach=sphere.reach)

    south, north = stereographic((1.0, 1.0, 1.0), 1)
    return (about(south), about(north)), belts(point, 1)
