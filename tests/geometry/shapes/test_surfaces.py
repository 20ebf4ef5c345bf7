from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trundle.geometry as tg
from trundle.errors import InputError
from trundle.geometry.queries.sampling import NumericChart

sizes = st.floats(0.01, 100)
plane = st.floats(-1.4, 1.4)


def at(chart: tg.Chart, u: Any) -> list[np.ndarray]:
    s = ca.SX.sym("u", 2)
    p = chart.patch(s)
    return [np.array(v) for v in ca.Function("f", [s], [p.x, p.n, p.T, p.K])(u)]


@given(r=sizes, u=plane, v=plane, north=st.booleans())
def test_sphere_curves_alike_everywhere(r: float, u: float, v: float, north: bool) -> None:
    x, n, _, K = at(tg.Sphere(r).representations.charts[north], [u, v])
    np.testing.assert_allclose(K * r, np.eye(2), atol=1e-11)
    np.testing.assert_allclose(x, r * n, atol=1e-12 * r)


def test_stereographic_charts_start_at_the_poles() -> None:
    south, north = tg.Ellipsoid([3, 2, 1]).representations.charts
    np.testing.assert_allclose(at(south, [0, 0])[0][:, 0], [0, 0, -1])
    np.testing.assert_allclose(at(north, [0, 0])[0][:, 0], [0, 0, 1])
    np.testing.assert_allclose(at(south, [1, 0])[0], at(north, [1, 0])[0], atol=1e-15)


@given(a=sizes, b=sizes, c=sizes, u=plane, v=plane)
def test_ellipsoid_gaussian_curvature(a: float, b: float, c: float, u: float, v: float) -> None:
    x, _, _, K = at(tg.Ellipsoid([a, b, c]).representations.charts[1], [u, v])
    q = np.sum((x[:, 0] / np.array([a**2, b**2, c**2])) ** 2)
    assert np.linalg.det(K) == pytest.approx(1 / (a * b * c * q) ** 2, rel=1e-6)


@given(u=st.floats(0.3, 2.8), v=st.floats(-3, 3))
def test_polar_and_stereographic_charts_agree(u: float, v: float) -> None:
    shape = tg.Ellipsoid([0.3, 0.2, 0.1])
    x, n, T, K = at(shape.polar_chart(), [u, v])
    index, w = shape.locate(x[:, 0])
    y, m, S, L = at(shape.representations.charts[index], w)
    np.testing.assert_allclose(y, x, atol=1e-14)
    np.testing.assert_allclose(m, n, atol=1e-12)
    np.testing.assert_allclose(S @ L @ S.T, T @ K @ T.T, atol=1e-9)


def test_dish_mirrors_the_ellipsoid() -> None:
    axes = [1, 1.2, 0.8]
    inside = at(tg.Dish(axes).representations.charts[0], [0.2, 0.3])
    outside = at(tg.Ellipsoid(axes).representations.charts[0], [0.2, 0.3])
    np.testing.assert_allclose(inside[0], outside[0])
    np.testing.assert_allclose(inside[1], -outside[1])
    assert np.linalg.eigvalsh(inside[3])[1] < 0
    assert tg.Dish(axes).distance([[0, 0, 0]])[0][0] == pytest.approx(0.8)
    assert at(tg.Dish(axes).polar_chart(), [2.0, 0.1])[1][2, 0] > 0


def test_cylinder_and_tube_curve_once() -> None:
    for shape, k in ((tg.Cylinder(0.5), 2.0), (tg.Tube(0.5), -2.0)):
        _, n, _, K = at(shape.representations.charts[0], [0.0, 0.3])
        np.testing.assert_allclose(K, np.diag([k, 0]), atol=1e-14)
        np.testing.assert_allclose(n[:, 0], [np.sign(k), 0, 0], atol=1e-15)


def test_torus_curves_both_ways_inside_and_one_way_outside() -> None:
    chart = tg.Torus(0.3, 0.1).representations.charts[0]
    np.testing.assert_allclose(at(chart, [0.4, 0.0])[3], np.diag([1 / 0.4, 10]), atol=1e-12)
    np.testing.assert_allclose(at(chart, [0.4, np.pi])[3], np.diag([-1 / 0.2, 10]), atol=1e-12)


def test_torus_shows_both_points_with_a_normal() -> None:
    found = tg.Torus(0.3, 0.1).points_with_normal([1, 0, 0])
    np.testing.assert_allclose(sorted(found[:, 0]), [-0.2, 0.4], atol=1e-12)


def test_plane_gives_the_point_asked_for() -> None:
    np.testing.assert_array_equal(tg.Plane().points_with_normal([0, 0, 2], around=[1, 2, 3]), [[1, 2, 0]])
    assert len(tg.Plane().points_with_normal([0, 1, 1])) == 0


@pytest.mark.parametrize(
    ("build", "key"),
    [
        (lambda: tg.Sphere(-1), "radius"),
        (lambda: tg.Ellipsoid([1, 2]), "semi_axes"),
        (lambda: tg.Ellipsoid([1, 2, 0]), "semi_axes"),
        (lambda: tg.Dish([1, 2, float("nan")]), "semi_axes"),
        (lambda: tg.Cylinder([1]), "radius"),
        (lambda: tg.Tube(0), "radius"),
        (lambda: tg.Torus(0.1, 0.1), "minor"),
        (lambda: tg.Torus(0, 0.1), "major"),
    ],
)
def test_bad_sizes_are_named(build: Any, key: str) -> None:
    with pytest.raises(InputError) as caught:
        build()
    assert caught.value.key == key


@pytest.mark.parametrize("axis", range(3))
def test_belts_of_a_dish_lie_on_it_and_face_its_hollow(axis: int) -> None:
    dish = tg.Dish([1.0, 1.2, 0.8])
    belt = NumericChart(dish.representations.belts[axis])
    value = belt.at(np.random.default_rng(axis).uniform([0.0, -1.0], [6.0, 1.0], (20, 2)))
    distance, gradient = dish.distance(value.x)
    np.testing.assert_allclose(distance, 0.0, atol=1e-9)
    np.testing.assert_allclose(value.n, gradient, atol=1e-7)


@pytest.mark.parametrize(
    "shape", [tg.Ellipsoid([3.0, 2.0, 1.0]), tg.Sphere(0.3), tg.Circle(0.2), tg.Ellipse([2.0, 0.5]), tg.Arc(0.5)]
)
def test_the_level_is_zero_on_the_boundary_and_the_distance_near_the_end_of_the_shortest_axis(shape: tg.Shape) -> None:
    level, x = shape.representations.level, ca.SX.sym("x", shape.d)
    assert level is not None
    slope = ca.Function("slope", [x], [level.value_and_gradient(x)[1]])
    up = np.eye(shape.d)[-1]
    end = shape.points_with_normal(up)[0]
    np.testing.assert_allclose(np.array(slope(end)).ravel(), up, atol=1e-12)
    value = ca.Function("value", [x], [level.level(x)])
    np.testing.assert_allclose([float(value(point)) for point in shape.sample(10)[0]], 0.0, atol=1e-12)


def test_what_has_no_end_has_the_size_of_a_metre() -> None:
    assert tg.Plane().reference_length == tg.Line().reference_length == 1.0
