from __future__ import annotations

import re
from itertools import combinations

import casadi as ca
import numpy as np
import pytest

import trundle.geometry as tg
from tests.geometry.shape_table import SHAPES, make
from trundle.errors import ShapeError
from trundle.geometry.queries.regularity import check_simple


@pytest.mark.parametrize("name", SHAPES)
def test_shipped_shapes_are_regular(name: str) -> None:
    tg.check_regular(make(name), n=300)


CONVEX = ["circle", "ellipse", "dome", "hill", "sphere", "ellipsoid", "cylinder", "superellipsoid", "blunt", "coin"]
HOLLOW = ["bowl", "sinusoid", "rock", "dish", "tube", "torus", "saddle", "ring", "height map"]


@pytest.mark.parametrize("name", [*CONVEX, "capsule", "die", "pebble", "egg", "convex"])
def test_convex_shapes_pass(name: str) -> None:
    tg.check_convex(make(name))


@pytest.mark.parametrize("name", HOLLOW)
def test_hollow_shapes_are_refused(name: str) -> None:
    if name == "rock":
        tg.check_convex(tg.FourierRadius(0.3, [0, 0.1]))
        with pytest.raises(ShapeError, match="curvature is -"):
            tg.check_convex(tg.FourierRadius(0.3, [0, 0.3]), "curve")
        return
    with pytest.raises(ShapeError, match="convex: the curvature is -"):
        tg.check_convex(make(name))


def test_polar_chart_is_refused_at_its_poles() -> None:
    chart = tg.Sphere(1).polar_chart()
    assert np.isfinite(chart.ranges[0].high)
    with pytest.raises(ShapeError, match="regular"):
        tg.ExpressionSurface(chart.function, ((0, np.pi), (0, 2 * np.pi, "periodic")))  # type: ignore[attr-defined]


def test_crossing_lines_are_found_where_they_cross() -> None:
    line = np.array([[0, 0], [2, 2], [2, 0], [0, 2.0]])
    with pytest.raises(ShapeError, match=r"\[1\. 1\.\]"):
        check_simple("points", line, closed=False)
    check_simple("points", line[:3], closed=False)
    check_simple("points", np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0.0]]), closed=True)


def test_a_support_function_that_is_none_is_told_by_how_much() -> None:
    with pytest.raises(ShapeError, match=r"h\(2n\) - 2h\(n\) = 2 m at n = \["):
        tg.ExpressionBody(lambda x, y, z: x * x + y * y + z * z)


def test_a_level_set_without_charts_is_looked_at_itself() -> None:
    ring = tg.ExpressionLevelSurface(lambda x, y, z: (ca.sqrt(x * x + y * y) - 0.5) ** 2 + z * z - 0.01, 0.6)
    assert not ring.representations.charts
    tg.check_regular(ring)
    with pytest.raises(ShapeError, match="none was found"):
        tg.ExpressionLevelSurface(lambda x, y, z: x * x + y * y + z * z + 1.0, 0.6)


def test_lines_cross_where_two_of_their_parts_do() -> None:
    """Random lines, every pair of parts that are not beside each other solved for itself."""
    crossing = 0
    for seed in range(60):
        line = np.random.default_rng(seed).normal(size=(6, 2))
        places = []
        for i, j in combinations(range(5), 2):
            if j > i + 1:
                ahead = np.column_stack([line[i + 1] - line[i], line[j] - line[j + 1]])
                s, t = np.linalg.solve(ahead, line[j] - line[i])
                places += [line[i] + s * (line[i + 1] - line[i])] if 0 <= min(s, t) and max(s, t) <= 1 else []
        crossing += bool(places)
        if places:
            with pytest.raises(ShapeError, match=re.escape(f"it does at {places[0]} m")):
                check_simple("points", line, closed=False)
        else:
            check_simple("points", line, closed=False)
    assert 15 < crossing < 45
