from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trundle.geometry as tg
from trundle.errors import InputError

sizes = st.floats(1e-3, 1e3)


def at(chart: tg.Chart, u: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    s = ca.SX.sym("u")
    p = chart.patch(s)
    x, n, T, K = ca.Function("f", [s], [p.x, p.n, p.T, p.K])(u)
    return np.array(x)[:, 0], np.array(n)[:, 0], np.array(T)[:, 0], float(K)


@given(radius=sizes, u=st.floats(-10, 10))
def test_circle_has_curvature_one_over_r(radius: float, u: float) -> None:
    x, n, _, K = at(tg.Circle(radius).representations.charts[0], u)
    assert pytest.approx(1 / radius, rel=1e-12) == K
    np.testing.assert_allclose(x, radius * n, rtol=1e-12, atol=1e-12 * radius)


@given(a=sizes, b=sizes, u=st.floats(-4, 4))
def test_ellipse_curvature(a: float, b: float, u: float) -> None:
    *_, K = at(tg.Ellipse([a, b]).representations.charts[0], u)
    assert pytest.approx(a * b / np.hypot(a * np.sin(u), b * np.cos(u)) ** 3, rel=1e-9) == K


def test_valley_is_concave_and_hill_convex() -> None:
    assert at(tg.Parabola(0.5).representations.charts[0], 0.0)[3] == pytest.approx(-1.0)
    assert at(tg.Parabola(-0.5).representations.charts[0], 0.0)[3] == pytest.approx(1.0)


@pytest.mark.parametrize(("side", "height", "curvature"), [("inside", -2.0, -0.5), ("outside", 2.0, 0.5)])
def test_arc_halves(side: str, height: float, curvature: float) -> None:
    x, n, T, K = at(tg.Arc(2, [1, 3], side).representations.charts[0], 0.0)
    np.testing.assert_allclose(x, [1, 3 + height])
    np.testing.assert_allclose(n, [0, 1])
    np.testing.assert_allclose(T, [1, 0])
    assert pytest.approx(curvature) == K


@given(a=st.floats(-1, 1), wave=st.floats(0.1, 10), phase=st.floats(-7, 7), x=st.floats(-20, 20))
def test_sinusoid_as_written(a: float, wave: float, phase: float, x: float) -> None:
    point = at(tg.Sinusoid(a, wave, phase).representations.charts[0], x)[0]
    np.testing.assert_allclose(point, [x, a * np.sin(2 * np.pi * x / wave + phase)], atol=1e-9)


def test_fourier_radius_as_written() -> None:
    rock = tg.FourierRadius(0.3, cos=[0, 0.10, 0.02], sin=[0, 0.02, -0.015])
    phi = 0.7
    r = 0.3 * (1 + 0.10 * np.cos(2 * phi) + 0.02 * np.cos(3 * phi) + 0.02 * np.sin(2 * phi) - 0.015 * np.sin(3 * phi))
    np.testing.assert_allclose(at(rock.representations.charts[0], phi)[0], [r * np.cos(phi), r * np.sin(phi)])


def test_a_fourier_radius_is_positive_all_round_or_says_where_not() -> None:
    assert tg.FourierRadius(1.0, cos=[0.55, 0.55]).radius == 1.0  # at least 1 - 9/8 0.55
    with pytest.raises(InputError, match=r"r = -0\.1 m at phi = 0 rad"):
        tg.FourierRadius(1.0, cos=[-0.55, -0.55])


def test_sum_adds_heights() -> None:
    terms = [tg.Parabola(0.1), tg.Sinusoid(0.06, 2.7, 0.7), tg.Line(0.1, 2)]
    x = 0.37
    total = sum(at(t.representations.charts[0], x)[0][1] for t in terms)
    assert at(tg.CurveSum(terms).representations.charts[0], x)[0][1] == pytest.approx(total)


def test_sum_ends_where_its_shortest_term_ends() -> None:
    x = np.linspace(-1, 2, 10)
    r = tg.CurveSum([tg.Line(0.1), tg.SampledCurve(np.stack([x, x**2], axis=1))]).representations.charts[0].ranges[0]
    assert (r.low, r.high) == (-1.0, 2.0)


def test_only_a_level_line_at_zero_is_flat() -> None:
    assert tg.Line().representations.flat
    assert not tg.Line(0.1).representations.flat
    assert not tg.Line(0, 0.1).representations.flat


@pytest.mark.parametrize(
    ("build", "key"),
    [
        (lambda: tg.Circle(0), "radius"),
        (lambda: tg.Circle(float("nan")), "radius"),
        (lambda: tg.Circle("1"), "radius"),
        (lambda: tg.Circle(True), "radius"),
        (lambda: tg.Ellipse([1, -1]), "semi_axes"),
        (lambda: tg.Ellipse([1, 1, 1]), "semi_axes"),
        (lambda: tg.Line(float("inf")), "slope"),
        (lambda: tg.Sinusoid(0.1, 0), "wavelength"),
        (lambda: tg.Parabola(None), "curvature"),
        (lambda: tg.Arc(1, [0, 0], "insid"), "side"),
        (lambda: tg.Arc(1, [0]), "center"),
        (lambda: tg.FourierRadius(1, cos=[0, 1.5]), "cos"),
        (lambda: tg.FourierRadius(1, sin=[1.5]), "sin"),
        (lambda: tg.FourierRadius(1, cos=[[1]]), "cos"),
        (lambda: tg.CurveSum([]), "terms"),
        (lambda: tg.CurveSum(3), "terms"),
        (lambda: tg.CurveSum([tg.Circle(1)]), "terms"),
    ],
)
def test_bad_sizes_are_named(build: Any, key: str) -> None:
    with pytest.raises(InputError) as caught:
        build()
    assert caught.value.key == key


def test_sizes_become_floats_and_tuples() -> None:
    assert tg.Ellipse(np.array([2, 1])).semi_axes == (2.0, 1.0)
    assert tg.Circle(np.int64(2)).radius == 2.0
    assert tg.FourierRadius(1, np.array([0.1])).cos == (0.1,)
