from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import trundle.geometry as tg
from tests.geometry.shape_table import T
from trundle.errors import InputError
from trundle.geometry.queries.sampling import numeric_charts


def test_revolution_of_a_circle_is_the_torus() -> None:
    circle = tg.ExpressionCurve(lambda u: (0.3 + 0.1 * ca.cos(u), 0.1 * ca.sin(u)), (0, 2 * np.pi, "periodic"), -1)
    shape, torus = tg.Revolution(circle), tg.Torus(0.3, 0.1)
    points = np.random.default_rng(0).uniform(-0.5, 0.5, (20, 3))
    np.testing.assert_allclose(shape.distance(points)[0], torus.distance(points)[0], atol=1e-12)
    for a, b in zip(shape.mass_properties(), torus.mass_properties(), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_revolution_of_an_ellipse_is_the_spheroid() -> None:
    shape, spheroid = tg.Revolution(tg.Ellipse([0.2, 0.3])), tg.Ellipsoid([0.2, 0.2, 0.3])
    points = np.random.default_rng(0).uniform(-0.5, 0.5, (20, 3))
    np.testing.assert_allclose(shape.distance(points)[0], spheroid.distance(points)[0], atol=1e-11)
    for a, b in zip(shape.mass_properties(), spheroid.mass_properties(), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10)


@pytest.mark.parametrize("begin", [0.0, np.pi, -2.0])
def test_where_an_outline_begins_does_not_matter(begin: float) -> None:
    outline = tg.ExpressionCurve(
        lambda u: (0.2 * ca.cos(u + begin), 0.3 * ca.sin(u + begin)), (0, 2 * np.pi, "periodic"), -1
    )
    points = np.random.default_rng(0).uniform(-0.5, 0.5, (10, 3))
    expected = tg.Ellipsoid([0.2, 0.2, 0.3]).distance(points)[0]
    np.testing.assert_allclose(tg.Revolution(outline).distance(points)[0], expected, atol=1e-11)


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_small_and_large_rings_are_rings(unit: float) -> None:
    circle = tg.ExpressionCurve(
        lambda u: (unit * (0.3 + 0.1 * ca.cos(u)), unit * 0.1 * ca.sin(u)), (0, 2 * np.pi, "periodic"), -1
    )
    s, _ = tg.Revolution(circle).distance([[0.5 * unit, 0.0, 0.0], [0.0, 0.3 * unit, 0.3 * unit]])
    np.testing.assert_allclose(s, [0.1 * unit, 0.2 * unit], rtol=1e-9)


@pytest.mark.parametrize("radius", [0.0, 1e-9, 1e-6, 1e-4, 1e-2])
def test_poles_are_regular(radius: float) -> None:
    """Near a pole of a ball the shape operator is I / r, from both charts' coordinates."""
    shape = tg.Revolution(tg.Circle(0.2))
    u = ca.SX.sym("u", 2)
    for chart in shape.representations.charts:
        p = chart.patch(u)
        assert p.K is not None
        n, K = ca.Function("f", [u], [p.n, p.K])([0.6 * radius, 0.8 * radius])
        np.testing.assert_allclose(np.array(K), np.eye(2) / 0.2, atol=1e-6)
        assert abs(float(n[2])) > 0.99


def test_measured_silhouette_makes_a_pear() -> None:
    x, z = 0.2 * np.sin(T) * (1 - 0.2 * np.cos(T)), -0.3 * np.cos(T)
    shape = tg.Revolution(tg.SampledCurve(np.stack([x, z], axis=1), closed=True))
    tg.check_regular(shape)
    index, u = shape.locate(numeric_charts(shape)[1].points(np.array([[0.0, 0.0]]))[0])
    assert index == 1
    np.testing.assert_allclose(u, 0, atol=1e-6)
    centroid, inertia = shape.mass_properties()
    s = np.linspace(0, np.pi, 20001)
    r, h = 0.2 * np.sin(s) * (1 - 0.2 * np.cos(s)), 0.3 * np.sin(s)
    volume = np.trapezoid(r**2 * h, s)
    assert centroid[2] == pytest.approx(np.trapezoid(r**2 * h * -0.3 * np.cos(s), s) / volume, rel=1e-5)
    assert inertia[2, 2] == pytest.approx(np.trapezoid(r**4 / 2 * h, s) / volume, rel=1e-5)


@pytest.mark.parametrize(
    ("profile", "match"),
    [
        (tg.Line(), "bounded"),
        (tg.Sphere(1), "bounded"),
        (tg.Arc(1, [0, 0], "outside"), "off the axis"),
        (tg.FourierRadius(1, cos=[0.3]), "symmetric"),
        (tg.ExpressionCurve(lambda u: (0.3 * ca.cos(u), 0.2 * ca.sin(u)), (0, 2 * np.pi, "periodic"), 1), "symmetric"),
        (tg.FourierRadius(1, sin=[0, 0.2]), "symmetric"),
    ],
)
def test_profiles_on_the_axis_are_symmetric_outlines(profile: Any, match: str) -> None:
    with pytest.raises(InputError, match=match):
        tg.Revolution(profile)
