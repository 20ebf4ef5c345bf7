"""Straight rolls of a ball: they end where they say, by another composition of rotations, and never cheat."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from trundle.errors import InputError
from trundle.status import Status
from trundle.systems.juggling.transfer.straight_rolls import roll_straight

RADIUS = 0.035
QUARTER = Rotation.from_rotvec([np.pi / 2, 0.0, 0.0]).as_matrix()


def rolled(corners: np.ndarray, radius: float) -> np.ndarray:
    """Turn a ball along a path by many small quaternion steps (no exponentials of whole rolls)."""
    q = np.array([1.0, 0.0, 0.0, 0.0])
    for a, b in pairwise(corners):
        w = np.array([-(b - a)[1], (b - a)[0], 0.0]) / radius
        n = 4000
        for _ in range(n):
            half = 0.5 * w / n
            s, v = q[0], q[1:]
            step = np.concatenate([[-half @ v], half * s + np.cross(half, v)])
            q = q + step + 0.5 * np.concatenate([[-half @ step[1:]], half * step[0] + np.cross(half, step[1:])])
            q /= np.linalg.norm(q)
    return Rotation.from_quat(q, scalar_first=True).as_matrix()


def test_the_published_reorientation_is_reached_and_longer_than_a_straight_line() -> None:
    path = roll_straight([0.0, -0.033], QUARTER, RADIUS, starts=4)
    assert path.status is Status.SUCCESS
    np.testing.assert_allclose(path.corners[-1], [0.0, -0.033], atol=1e-9)
    np.testing.assert_allclose(rolled(path.corners, RADIUS), QUARTER, atol=1e-6)
    assert 0.033 < path.length < 0.25


@pytest.mark.slow
def test_more_rolls_are_no_longer() -> None:
    three, five = (roll_straight([0.0, -0.033], QUARTER, RADIUS, rolls=k, starts=4).length for k in (3, 5))
    assert five < three


@pytest.mark.slow
def test_random_goals_are_reached_by_paths_no_shorter_than_the_way() -> None:
    rng = np.random.default_rng(3)
    for _ in range(3):
        turn, way = Rotation.random(random_state=rng).as_matrix(), rng.normal(scale=0.05, size=2)
        path = roll_straight(way, turn, RADIUS, starts=4)
        assert path.status is Status.SUCCESS
        np.testing.assert_allclose(rolled(path.corners, RADIUS), turn, atol=1e-6)
        assert path.length >= np.linalg.norm(way)


def test_bad_input_is_named() -> None:
    for key, arguments in (("radius", ([0, 0], QUARTER, 0.0)), ("displacement", ([0, np.nan], QUARTER, 1.0))):
        with pytest.raises(InputError, match=key):
            roll_straight(*arguments)
    with pytest.raises(InputError, match="rolls"):
        roll_straight([0, 0], QUARTER, 1.0, rolls=2)
