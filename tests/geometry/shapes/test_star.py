from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import legendre

import trundle.geometry as tg
from trundle.geometry.queries.sampling import numeric_charts
from trundle.geometry.shapes.star import harmonics

Formula = Callable[..., Any]
QUARTIC: Formula = lambda x, y, z: x**4 + y**4 + z**4 - 1 + 0.2 * x * y  # noqa: E731


def curvatures(chart: tg.Chart, u: np.ndarray) -> np.ndarray:
    """Principal curvatures (2,) of a chart at `u`."""
    s = ca.SX.sym("u", 2)
    K = np.asarray(ca.Function("K", [s], [chart.patch(s).K])(u))
    return np.linalg.eigvalsh(0.5 * (K + K.T))


AXES = np.array([0.3, 0.2, 0.25])
EXACT = tg.Ellipsoid(AXES)
BY_LEVEL = tg.ExpressionLevelSurface(
    lambda x, y, z: (x / AXES[0]) ** 2 + (y / AXES[1]) ** 2 + (z / AXES[2]) ** 2 - 1, 0.3
)


@given(st.floats(-1.4, 1.4), st.floats(-0.5, 0.5), st.integers(0, 1))
@settings(max_examples=20, deadline=None)
def test_charts_of_an_ellipsoids_equation_bend_as_the_ellipsoid_does(a: float, b: float, which: int) -> None:
    u = np.array([a, b])
    chart = numeric_charts(BY_LEVEL)[which]
    point = chart.points(u[None])[0]
    assert np.sum((point / AXES) ** 2) == pytest.approx(1.0, abs=1e-13)
    place, at = EXACT.locate(point)
    ours, theirs = curvatures(chart.chart, u), curvatures(EXACT.representations.charts[place], at)
    np.testing.assert_allclose(ours, theirs, rtol=1e-10)


@pytest.mark.parametrize("which", [0, 1])
def test_normals_of_the_charts_are_those_of_the_equation(which: int) -> None:
    shape = tg.ExpressionLevelSurface(QUARTIC, 1.0)
    values = numeric_charts(shape)[which].at(np.random.default_rng(1).uniform(-1, 1, (50, 2)))
    x, y, z = values.x.T
    gradient = np.stack([4 * x**3 + 0.2 * y, 4 * y**3 + 0.2 * x, 4 * z**3], axis=1)
    np.testing.assert_allclose(QUARTIC(x, y, z), 0, atol=1e-13)
    np.testing.assert_allclose(values.n, gradient / np.linalg.norm(gradient, axis=1)[:, None], atol=1e-12)


def test_the_inside_of_a_ball_has_its_normal_to_the_hollow() -> None:
    hollow = tg.ExpressionLevelSurface(lambda x, y, z: 0.25 - x * x - y * y - z * z, 0.5)
    values = numeric_charts(hollow)[0].at(np.array([[0.3, -0.2]]))
    np.testing.assert_allclose(values.n, -2 * values.x, atol=1e-13)


@pytest.mark.parametrize(
    "formula",
    [
        lambda x, y, z: (ca.sqrt(x * x + y * y) - 0.5) ** 2 + z * z - 0.01,
        lambda x, y, z: z - 0.1 * x * x,
        lambda x, y, z: (x - 2) ** 2 + y * y + z * z - 1,
        lambda x, y, z: (x * x + y * y + z * z - 0.04) * (x * x + y * y + z * z - 0.25),
        # A limb that is seen edge-on, and one that hides what is behind it.
        lambda x, y, z: ((x - 0.4) ** 2 + y * y + z * z) * ((x + 0.4) ** 2 + y * y + z * z) - 0.0256 * 0.999,
    ],
    ids=["torus", "graph", "origin outside", "two shells", "two lobes"],
)
def test_surfaces_that_no_origin_sees_whole_have_no_charts(formula: Formula) -> None:
    assert tg.ExpressionLevelSurface(formula, 1.0).representations.charts == ()


def test_a_surface_that_newtons_steps_do_not_reach_has_no_charts() -> None:
    """So steep a formula is not solved in a few steps from the fit, which misses waves of the ninth degree."""

    def steep(x: Any, y: Any, z: Any) -> Any:
        r = ca.sqrt(x * x + y * y + z * z + 1e-300)
        wave = sum(math.comb(9, k) * (-1) ** (k // 2) * (x / r) ** (9 - k) * (y / r) ** k for k in range(0, 10, 2))
        return (r / (1 + 0.1 * wave)) ** 20 - 1

    assert tg.ExpressionLevelSurface(steep, 1.0).representations.charts == ()


def test_harmonics_obey_the_addition_theorem() -> None:
    """P_l(e.e') is the sum over all harmonics of degree l of their products at e and e', those of m > 0 twice."""
    degree = 6
    a, b = (v / np.linalg.norm(v, axis=0) for v in np.random.default_rng(5).normal(size=(2, 3, 40)))
    orders = [(m, n) for m in range(degree + 1) for n in range(m, degree + 1) for _ in range(1 + (m > 0))]
    sums = np.zeros((degree + 1, 40))
    for (m, n), at_a, at_b in zip(orders, harmonics([*a], degree), harmonics([*b], degree), strict=True):
        sums[n] += (1 + (m > 0)) * at_a * at_b
    cosine = np.sum(a * b, axis=0)
    np.testing.assert_allclose(sums, [legendre.Legendre.basis(n)(cosine) for n in range(degree + 1)], atol=1e-13)
