"""Blocks and the floor: where the ground is, and what is said where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.systems.multicontact.humanoid.terrain import Block, Terrain

RIDGE = Block((0.0, 0.0, 0.1), (1.0, 0.075, 0.1), name="ridge")
SLOPE = Block((2.0, 0.0, 0.0), (1.0, 1.0, 0.2), (0.0, -0.15, 0.0), name="slope")


def test_the_highest_thing_is_the_ground() -> None:
    terrain = Terrain([RIDGE, SLOPE])
    point, R = terrain.ground(0.3, 0.05)
    assert point == pytest.approx([0.3, 0.05, 0.2])
    assert pytest.approx(np.eye(3)) == R
    assert terrain.ground(0.3, 0.08)[0][2] == 0.0, "beside the ridge: the floor"
    assert terrain.ground(0.3, 0.05, "ridge")[0][2] == pytest.approx(0.2)


def test_a_foothold_on_a_slope_has_its_axes() -> None:
    point, R = Terrain([SLOPE], floor=False).ground(2.2, 0.3)
    assert R.T @ R == pytest.approx(np.eye(3))
    assert np.linalg.det(R) == pytest.approx(1.0)
    assert R[:, 2] == pytest.approx(SLOPE.R[:, 2])
    assert R[1, 0] == pytest.approx(0.0), "x stays ahead"
    local = SLOPE.R.T @ (point - SLOPE.center)
    assert local[2] == pytest.approx(0.2), "on the face"
    rise = SLOPE.top(2.3, 0.3) - SLOPE.top(2.2, 0.3)  # type: ignore[operator]
    assert rise / 0.1 == pytest.approx(np.tan(0.15))


def test_corners_span_the_box() -> None:
    assert RIDGE.corners.min(axis=0) == pytest.approx([-1.0, -0.075, 0.0])
    assert RIDGE.corners.max(axis=0) == pytest.approx([1.0, 0.075, 0.2])
    assert Block((0, 0, 0), (1, 1, 0.1), (1.5, 0, 0)).top(0.0, 0.0) is None, "a wall is no ground"


@pytest.mark.parametrize(
    ("call", "key"),
    [
        (lambda: Terrain([RIDGE], floor=False).ground(0.0, 0.2), "place"),
        (lambda: Terrain([RIDGE]).ground(0.0, 0.2, "ridge"), "place"),
        (lambda: Terrain([RIDGE]).block("beam"), "block"),
        (lambda: Terrain([0]), "blocks"),  # type: ignore[list-item]
        (lambda: Block((0, 0, 0), (1, 0, 1)), "half_size"),
        (lambda: Block((0, np.nan, 0), (1, 1, 1)), "center"),
    ],
)
def test_what_is_wrong_is_said(call, key: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert key in caught.value.key
