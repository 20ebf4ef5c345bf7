from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import trundle.geometry as tg
from tests.geometry.shape_table import T, X, Y, directions, outline
from trundle.errors import InputError, ShapeError


def jet(chart: tg.Chart, u: Any, order: int) -> list[np.ndarray]:
    s = ca.SX.sym("u", chart.d - 1)
    rows = [chart.point(s)]
    for _ in range(order):
        rows.append(ca.jacobian(rows[-1], s))
    return [np.array(v) for v in ca.Function("f", [s], rows).call([u])]


def test_profile_passes_through_its_points() -> None:
    points = np.stack([X, np.exp(X)], axis=1)
    chart = tg.SampledCurve(points).representations.charts[0]
    for p in points:
        np.testing.assert_allclose(jet(chart, p[0], 0)[0][:, 0], p, atol=1e-13)


def test_profile_is_accurate_to_third_derivatives() -> None:
    x = np.linspace(-1, 1, 200)
    chart = tg.SampledCurve(np.stack([x, np.sin(3 * x)], axis=1)).representations.charts[0]
    value = [v[1, 0] for v in jet(chart, 0.3217, 3)]
    exact = [np.sin(0.9651), 3 * np.cos(0.9651), -9 * np.sin(0.9651), -27 * np.cos(0.9651)]
    np.testing.assert_allclose(value, exact, rtol=1e-6)


def test_splines_have_three_continuous_derivatives() -> None:
    rng = np.random.default_rng(0)
    x = np.linspace(0, 1, 12)
    chart = tg.SampledCurve(np.stack([x, 0.01 * rng.normal(size=12)], axis=1)).representations.charts[0]
    for knot in x[1:-1]:
        left, right = jet(chart, knot - 1e-9, 3), jet(chart, knot + 1e-9, 3)
        for a, b in zip(left, right, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5 * (1 + np.abs(a).max()))


def test_long_profiles_stay_small_expressions() -> None:
    x = np.linspace(0, 10, 500)
    chart = tg.SampledCurve(np.stack([x, np.sin(x)], axis=1)).representations.charts[0]
    u = ca.SX.sym("u")
    p = chart.patch(u)
    assert ca.Function("f", [u], [p.x, p.n, p.K]).n_instructions() < 100


def test_outline_closes_smoothly() -> None:
    chart = outline().representations.charts[0]
    period = chart.ranges[0].high
    assert chart.side == -1
    for a, b in zip(jet(chart, 1e-9, 3), jet(chart, period - 1e-9, 3), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4 * (1 + np.abs(a).max()))
    np.testing.assert_allclose(jet(chart, 0.1, 0)[0], jet(chart, 0.1 - 3 * period, 0)[0], atol=1e-12)


def test_clockwise_outlines_are_turned_round() -> None:
    points = np.array(outline().points)
    turned = tg.SampledCurve(points[::-1], closed=True)
    _, normals = turned.sample(20)
    inside, _ = turned.distance(np.zeros((1, 2)))
    assert inside[0] < 0
    assert len(normals) == 20


def test_repeated_last_point_of_an_outline_is_dropped() -> None:
    points = np.array(outline().points)
    assert tg.SampledCurve(np.concatenate([points, points[:1]]), closed=True) == outline()


def test_profiles_that_are_no_graph_are_curves() -> None:
    t = np.linspace(-2, 2, 30)
    shape = tg.SampledCurve(np.stack([np.sin(t) * 1.2, -np.cos(t)], axis=1))
    assert shape.representations.height is None
    assert shape.representations.charts[0].side == 1


@pytest.mark.parametrize(
    ("points", "closed", "match"),
    [
        ([[0, 0], [1, 0], [2, 0]], False, "at least 6"),
        ([[0, 0, 0]] * 7, False, "n x 2"),
        ([[0, float("nan")]] * 7, False, "finite"),
        ([[0, 0], [1, 0], [1, 0], [2, 0], [3, 0], [4, 0]], False, "different"),
        ([[-i, 0] for i in range(8)], False, "increasing x"),
        (np.stack([np.sin(T), np.sin(2 * T)], axis=1), True, "cross itself"),
        (np.stack([T - 2 * np.sin(T * 2), np.cos(T * 2)], axis=1), False, "cross itself"),
        ([[i, 0] for i in range(8)], "yes", "true or false"),
    ],
)
def test_bad_curves_are_refused(points: Any, closed: Any, match: str) -> None:
    with pytest.raises(InputError, match=match):
        tg.SampledCurve(points, closed)


def test_height_map_passes_through_its_heights() -> None:
    z = np.sin(X)[:, None] * (Y**2)[None] + X[:, None]
    shape = tg.HeightMap(X, Y, z)
    chart = shape.representations.charts[0]
    for i, j in ((0, 0), (3, 7), (20, 2), (23, 19)):
        np.testing.assert_allclose(jet(chart, [X[i], Y[j]], 0)[0][:, 0], [X[i], Y[j], z[i, j]], atol=1e-13)


def test_height_map_reproduces_polynomials() -> None:
    z = (X**3)[:, None] + X[:, None] * (Y**2)[None]
    x, y = 0.123, -0.456
    point, first = jet(tg.HeightMap(X, Y, z).representations.charts[0], [x, y], 1)
    assert point[2, 0] == pytest.approx(x**3 + x * y * y)
    np.testing.assert_allclose(first[2], [3 * x * x + y * y, 2 * x * y], atol=1e-12)


@pytest.mark.parametrize(
    ("x", "y", "z", "key"),
    [
        (X[::-1], Y, np.zeros((24, 20)), "x"),
        (X, [0, 1, 2], np.zeros((24, 3)), "y"),
        (X, Y, np.zeros((20, 24)), "z"),
        (X, Y, np.full((24, 20), np.nan), "z"),
    ],
)
def test_bad_height_maps_are_refused(x: Any, y: Any, z: Any, key: str) -> None:
    with pytest.raises(InputError) as caught:
        tg.HeightMap(x, y, z)
    assert caught.value.key == key


def test_measured_body_reproduces_a_shifted_ball() -> None:
    """A ball about (0, 0, 0.02): r(e) = 0.02 e_z + sqrt(0.1^2 - 0.02^2 (1 - e_z^2))."""
    e = directions(400)
    r = 0.02 * e[:, 2] + np.sqrt(0.01 - 0.0004 * (1 - e[:, 2] ** 2))
    shape = tg.SampledSurface(r[:, None] * e, degree=10)
    distance, _ = shape.distance([[0.3, 0, 0.02], [0, 0.05, 0.02]])
    np.testing.assert_allclose(distance, [0.2, -0.05], atol=1e-7)
    centroid, inertia = shape.mass_properties()
    np.testing.assert_allclose(centroid, [0, 0, 0.02], atol=1e-7)
    np.testing.assert_allclose(inertia, 0.4 * 0.01 * np.eye(3), atol=1e-8)


@pytest.mark.parametrize(
    ("points", "degree", "match"),
    [
        (directions(50), 8, "at least"),
        (np.abs(directions(400)), 8, "all around"),
        (directions(400) * np.random.default_rng(0).uniform(0.5, 2, 400)[:, None], 4, "misfit"),
        (directions(400), 0, ">= 1"),
        (np.concatenate([directions(400), [[0, 0, 0]]]), 4, "origin inside"),
    ],
)
def test_bad_bodies_are_refused(points: Any, degree: int, match: str) -> None:
    with pytest.raises(InputError, match=match):
        tg.SampledSurface(points, degree)
    assert issubclass(ShapeError, InputError)


def test_points_in_a_plane_are_no_body() -> None:
    a = np.linspace(0.0, 6.0, 60)
    with pytest.raises(ShapeError, match="spread all around the body"):
        tg.SampledSurface(np.stack([np.cos(a), np.sin(a), np.zeros(60)], axis=1), degree=4)


def test_one_bad_point_of_a_body_is_named_with_its_misfit() -> None:
    e = directions(200)
    points = 0.1 * e
    points[5] *= 1.5
    with pytest.raises(ShapeError, match=r"misfit 0\.0\d+ m"):
        tg.SampledSurface(points, degree=4)
