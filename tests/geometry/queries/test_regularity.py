from __future__ import annotations

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
