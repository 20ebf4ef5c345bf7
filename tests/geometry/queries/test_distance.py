from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial import cKDTree

import trundle.geometry as tg
from tests.geometry.shape_table import SHAPES, make
from trundle.errors import InputError


@pytest.mark.parametrize("name", SHAPES)
def test_distances_lead_to_the_boundary_and_no_other_point_is_closer(name: str) -> None:
    shape = make(name)
    size = shape.reference_length
    points = np.random.default_rng(7).uniform(-1.4, 1.4, (30, shape.d)) * size
    s, gradient = shape.distance(points)
    np.testing.assert_allclose(np.linalg.norm(gradient, axis=1), 1, atol=1e-12)
    foot = shape.closest(points)
    np.testing.assert_allclose(foot, points - s[:, None] * gradient)
    np.testing.assert_allclose(shape.distance(foot)[0], 0, atol=1e-9 * size)
    others, _ = shape.sample(4000, around=np.zeros(shape.d), radius=4 * size)
    assert np.all(np.abs(s) <= cKDTree(others).query(points)[0] + 1e-12 * size)


@pytest.mark.parametrize(
    "name", ["rock", "sum", "ellipsoid", "dish", "superellipsoid", "blunt", "ring", "saddle", "convex"]
)
def test_gradient_is_the_derivative(name: str) -> None:
    shape = make(name)
    rng = np.random.default_rng(11)
    points = shape.sample(12, np.zeros(shape.d), shape.reference_length)[0]
    points = points + 0.02 * shape.reference_length * rng.normal(size=points.shape)
    _, gradient = shape.distance(points)
    h = 1e-6 * shape.reference_length
    for j, axis in enumerate(np.eye(shape.d)):
        slope = (shape.distance(points + h * axis)[0] - shape.distance(points - h * axis)[0]) / (2 * h)
        np.testing.assert_allclose(slope, gradient[:, j], atol=1e-5)


@settings(max_examples=30)
@given(
    axes=st.tuples(*[st.floats(0.1, 2)] * 3),
    points=arrays(float, (5, 3), elements=st.floats(-4, 4)),
)
def test_ellipsoid_distance_on_both_routes(axes: tuple[float, ...], points: np.ndarray) -> None:
    """By the support function outside, by the charts of the dish (the other side) everywhere."""
    s, _ = tg.Ellipsoid(axes).distance(points)
    t, _ = tg.Dish(axes).distance(points)
    np.testing.assert_allclose(s, -t, atol=1e-9)


def test_the_nearest_point_of_a_chart_is_known_to_round_off() -> None:
    """Near the surface, too, where the distance itself says little of where its least value is."""
    axes, rng = np.array([2.0, 2.5, 1.5]), np.random.default_rng(0)
    on_ball = rng.normal(size=(100, 3))
    on_ball /= np.linalg.norm(on_ball, axis=1)[:, None]
    normals = on_ball / axes
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    away = rng.uniform(1e-4, 1e-2, (100, 1)) * rng.choice([-1.0, 1.0], (100, 1))
    dish, points = tg.Dish(axes.tolist()), on_ball * axes
    np.testing.assert_allclose(dish.closest(points + away * normals), points, atol=1e-14)
    np.testing.assert_allclose(dish.distance(points + away * normals)[1], -normals, atol=1e-10)


@pytest.mark.parametrize("unit", [1e-4, 1.0])
def test_the_unit_of_a_level_does_not_matter(unit: float) -> None:
    ring = tg.ExpressionLevelSurface(lambda x, y, z: unit * ((ca.sqrt(x * x + y * y) - 0.3) ** 2 + z * z - 0.01), 0.5)
    points = np.random.default_rng(4).uniform(-0.5, 0.5, size=(20, 3))
    expected = np.hypot(np.hypot(points[:, 0], points[:, 1]) - 0.3, points[:, 2]) - 0.1
    np.testing.assert_allclose(ring.distance(points)[0], expected, atol=1e-9)


def test_one_lipschitz() -> None:
    shape = make("rock")
    rng = np.random.default_rng(0)
    a, b = rng.uniform(-1, 1, (2, 200, 2))
    assert np.all(np.abs(shape.distance(a)[0] - shape.distance(b)[0]) <= np.linalg.norm(a - b, axis=1) + 1e-12)


def test_centre_of_a_ball_has_a_gradient() -> None:
    s, gradient = tg.Sphere(0.2).distance([[0, 0, 0]])
    assert s[0] == pytest.approx(-0.2)
    assert np.linalg.norm(gradient[0]) == pytest.approx(1)


@pytest.mark.parametrize("points", [[1, 2, 3], [[1, 2]], [[1, 2, float("nan")]], "x"])
def test_bad_points_are_refused(points: object) -> None:
    with pytest.raises(InputError, match="points"):
        tg.Sphere(1).distance(points)


def test_no_points_give_no_distances() -> None:
    s, gradient = tg.Sphere(1).distance(np.zeros((0, 3)))
    assert s.shape == (0,)
    assert gradient.shape == (0, 3)


def test_a_formula_without_derivatives_at_a_point_has_its_distance_from_there() -> None:
    ball = tg.ExpressionLevelSurface(lambda x, y, z: ca.log(x * x + y * y + z * z) - ca.log(0.01), 0.1)
    np.testing.assert_allclose(ball.distance([[0.05, 0.0, 0.0], [0.0, 0.0, 0.0]])[0], [-0.05, -0.1])


@pytest.mark.parametrize("name", ["rock", "superellipsoid", "ring"])
def test_points_beyond_what_squares_hold_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="points"):
        make(name).distance(np.full((1, make(name).d), 1e200))


class Nowhere(tg.LevelShape):
    """A level that is nowhere zero."""

    size = 0.5

    def level(self, x: ca.SX) -> ca.SX:
        return ca.sumsqr(x) + 0.01


def test_a_level_without_zeros_has_no_closest_point() -> None:
    with pytest.raises(InputError, match="no closest point"):
        Nowhere().distance([[0.3, 0.2, 0.1]])


def test_the_hole_of_an_oval_ring_is_as_far_from_its_centre_as_it_is_narrow() -> None:
    """At the centre no gradient leads to a start: those that there are lie beside the answer."""
    ring = tg.ExpressionLevelSurface(
        lambda x, y, z: 9 * (ca.sqrt((x / 3) ** 2 + (y / 4) ** 2) - 1) ** 2 + z * z - 1, size=4.0
    )
    assert not ring.representations.charts
    np.testing.assert_allclose(ring.distance([[0.0, 0.0, 0.0]])[0], 2.0, rtol=1e-12)


def test_no_wave_is_nearer_than_the_closest_point_far_above() -> None:
    points = np.stack([np.linspace(0.0, 0.3, 10), np.full(10, 3.0)], axis=1)
    x = np.linspace(-3.0, 3.0, 20_001)
    others = np.hypot(points[:, :1] - x, points[:, 1:] - 0.1 * np.sin(2 * np.pi * x / 0.3))
    assert np.all(tg.Sinusoid(amplitude=0.1, wavelength=0.3).distance(points)[0] <= np.min(others, axis=1) + 1e-12)


QUADRICS = [(0.3, 0.09, 0.0), (0.5, -0.4, 0.0), (0.5, 0.5, 0.0), (1.0, 0.5, -0.7), (0.4, 0.0, 0.0)]


@pytest.mark.parametrize("bends", QUADRICS)
def test_no_point_of_a_quadric_is_closer_than_the_nearest_one(bends: tuple[float, float, float]) -> None:
    """Far from the middle, too, and above the axis, where two sides are equally far."""

    def level(x: ca.SX, y: ca.SX, z: ca.SX) -> ca.SX:
        a, b, c = bends
        return a * x**2 + b * y**2 + c * z**2 - (z if not c else 1.0)

    surface = tg.ExpressionLevelSurface(level, 0.8)
    random = np.random.default_rng(0)
    points = np.concatenate([random.normal(size=(40, 3)) * 2.0, np.array([[0.0, 0.0, 3.0], [0.0, 0.4, 2.5]])])
    s, gradient = surface.distance(points)
    for point, far, along in zip(points, s, gradient, strict=True):
        foot = point - far * along
        others, _ = surface.sample(2000, around=point, radius=1.2 * abs(far) + 0.3)
        assert abs(float(level(*foot))) < 1e-9
        assert np.all(np.linalg.norm(others - point, axis=1) >= abs(far) - 1e-9)
        assert np.sign(far) == np.sign(float(level(*point)))
