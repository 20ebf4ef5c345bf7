from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import trundle.geometry as tg
from trundle.errors import InputError, ShapeError

BALL_RANGES = ((0.3, 2.8), (0, 2 * np.pi, "periodic"))


def ball(u: Any, v: Any) -> Any:
    return 0.2 * ca.sin(u) * ca.cos(v), 0.2 * ca.sin(u) * ca.sin(v), 0.2 * ca.cos(u)


def test_surface_from_a_formula_is_the_closed_form() -> None:
    shape = tg.ExpressionSurface(ball, BALL_RANGES)
    points, normals = shape.sample(30)
    np.testing.assert_allclose(points, 0.2 * normals, atol=1e-14)
    s, _ = shape.distance(1.5 * points)
    np.testing.assert_allclose(s, 0.1, atol=1e-12)


def test_side_turns_the_normal_round() -> None:
    out = tg.ExpressionSurface(ball, BALL_RANGES, side=1).sample(10)[1]
    into = tg.ExpressionSurface(ball, BALL_RANGES, side=-1).sample(10)[1]
    np.testing.assert_allclose(out, -into)


def test_casadi_functions_are_formulas_too() -> None:
    u = ca.SX.sym("u", 2)
    column = ca.Function("f", [u], [ca.vertcat(*ball(u[0], u[1]))])
    a, b = tg.ExpressionSurface(column, BALL_RANGES), tg.ExpressionSurface(ball, BALL_RANGES)
    np.testing.assert_allclose(a.sample(9)[0], b.sample(9)[0])


def test_level_surface_from_a_formula() -> None:
    shape = tg.ExpressionLevelSurface(lambda x, y, z: x * x + y * y + z * z - 0.04, 0.2)
    s, gradient = shape.distance([[0.5, 0, 0], [0, 0.1, 0]])
    np.testing.assert_allclose(s, [0.3, -0.1], atol=1e-12)
    np.testing.assert_allclose(gradient, [[1, 0, 0], [0, 1, 0]], atol=1e-9)
    np.testing.assert_allclose(shape.points_with_normal([0, 0, 1]), [[0, 0, 0.2]], atol=1e-9)


def test_body_from_a_support_function() -> None:
    shape = tg.ExpressionBody(lambda x, y, z: 0.2 * ca.sqrt(x * x + y * y + z * z) + 0.1 * z)
    np.testing.assert_allclose(shape.points_with_normal([0, 0, 1]), [[0, 0, 0.3]])
    assert shape.reference_length == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("build", "key"),
    [
        (lambda: tg.ExpressionSurface("x", BALL_RANGES), "function"),
        (lambda: tg.ExpressionSurface(lambda u: u, BALL_RANGES), "function"),
        (lambda: tg.ExpressionSurface(lambda u, v: (u, v), BALL_RANGES), "function"),
        (lambda: tg.ExpressionSurface(ball, ((0, 1),)), "ranges"),
        (lambda: tg.ExpressionSurface(ball, ((1, 0), (0, 1))), "ranges"),
        (lambda: tg.ExpressionSurface(ball, ((0, 1), (0, 1, "closed"))), "ranges"),
        (lambda: tg.ExpressionSurface(ball, 3), "ranges"),
        (lambda: tg.ExpressionSurface(ball, BALL_RANGES, side=0), "side"),
        (lambda: tg.ExpressionCurve(lambda u: (u, u), (0, float("inf"))), "range"),
        (lambda: tg.ExpressionCurve(lambda u: (u, u), (1, 1)), "range"),
        (lambda: tg.ExpressionLevelSurface(lambda x, y, z: x, -1), "size"),
    ],
)
def test_bad_formulas_are_named(build: Any, key: str) -> None:
    with pytest.raises(InputError) as caught:
        build()
    assert caught.value.key == key


@pytest.mark.parametrize(
    ("build", "match"),
    [
        (lambda: tg.ExpressionSurface(lambda u, v: (u * u * u, v, 0), ((-1, 1), (-1, 1))), "regular"),
        (lambda: tg.ExpressionSurface(lambda u, v: (u, v, ca.sqrt(u)), ((-1, 1), (-1, 1))), "finite"),
        (lambda: tg.ExpressionSurface(ball, ((0, 3), (0, 6))), r"F_u x F_v"),
        (lambda: tg.ExpressionCurve(lambda u: (ca.fabs(u) * u, u * u), (-1, 1)), "regular"),
        (lambda: tg.ExpressionLevelSurface(lambda x, y, z: x * x + y * y + z * z + 1, 1), "none was found"),
        (lambda: tg.ExpressionBody(lambda x, y, z: x * x + y * y + z * z), "homogeneous"),
        (lambda: tg.ExpressionBody(lambda x, y, z: ca.sqrt(x * x + y * y + z * z) - 0.9 * ca.fabs(z)), "convex"),
    ],
)
def test_irregular_shapes_say_where(build: Any, match: str) -> None:
    with pytest.raises(ShapeError, match=match):
        build()


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: tg.ExpressionCurve(lambda u: u, (0, 1)), "a function of 1 number that returns 2"),
        (lambda: tg.ExpressionSurface(lambda u, v: u, BALL_RANGES), "a function of 2 numbers that returns 3"),
    ],
)
def test_what_a_formula_takes_and_gives_is_said(build: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        build()


class Saddle(tg.ChartShape):
    d = 3
    ranges = (tg.ChartRange(coordinate=0), tg.ChartRange(coordinate=1))

    def point(self, u: ca.SX) -> ca.SX:
        return ca.vertcat(u, 0.3 * u[0] * u[1])


def test_the_level_of_a_graph_of_ones_own_is_how_far_a_point_is_above_it() -> None:
    level = Saddle().representations.level
    assert level is not None
    assert float(level.level(ca.DM([2.0, 0.5, 1.0]))) == pytest.approx(1.0 - 0.3)
