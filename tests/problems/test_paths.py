"""Paths of a point: values, velocities, ends."""

from __future__ import annotations

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.systems.multicontact.preview.paths import PointPath

TIMES, POINTS = [1.0, 2.0, 4.0], [(0.0, 0.0, 1.0), (1.0, 0.0, 1.0), (1.0, 4.0, 0.0)]


def test_straight_pieces_have_constant_velocities() -> None:
    path = PointPath(TIMES, POINTS)
    p, v = path(np.array([0.0, 1.0, 1.5, 2.0, 3.0, 4.0, 9.0]))
    np.testing.assert_allclose(p[[0, 1, 2, 4, 6]], [[0, 0, 1], [0, 0, 1], [0.5, 0, 1], [1, 2, 0.5], [1, 4, 0]])
    np.testing.assert_allclose(v, [[0, 0, 0], [0, 0, 0], [1, 0, 0], [1, 0, 0], [0, 2, -0.5], [0, 2, -0.5], [0, 0, 0]])


@pytest.mark.parametrize("shape", ["straight", "smooth"])
def test_velocities_are_those_of_the_positions(shape: str) -> None:
    path, t = PointPath(TIMES, POINTS, shape), np.array([0.5, 1.3, 1.7, 2.6, 3.9, 5.0])
    ahead, behind = path(t + 1e-6)[0], path(t - 1e-6)[0]
    np.testing.assert_allclose((ahead - behind) / 2e-6, path(t)[1], atol=1e-6)


def test_a_smooth_path_does_not_overshoot_and_goes_through_its_points() -> None:
    path = PointPath(TIMES, POINTS, "smooth")
    np.testing.assert_allclose(path(np.array(TIMES))[0], POINTS, atol=1e-14)
    p, v = path(np.linspace(0, 5, 500))
    assert p[:, 0].max() <= 1 + 1e-12
    assert p[:, 2].min() >= -1e-12
    assert np.abs(np.diff(v, axis=0)).max() < 0.15


def test_one_point_is_rest() -> None:
    p, v = PointPath([0.0], [(1, 2, 3)], "smooth")(np.array([-1.0, 5.0]))
    np.testing.assert_array_equal(p, [[1, 2, 3]] * 2)
    np.testing.assert_array_equal(v, 0.0)


@pytest.mark.parametrize(
    ("times", "points", "text"),
    [([1.0, 1.0], np.zeros((2, 3)), "times"), ([0.0], np.zeros((2, 3)), "points"), ([0.0], [[0, 0, np.nan]], "points")],
)
def test_wrong_input_is_named(times, points, text: str) -> None:
    with pytest.raises(InputError, match=text):
        PointPath(times, points)
