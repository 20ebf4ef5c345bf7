"""The timed scenes are what their names say."""

from __future__ import annotations

import numpy as np
import pytest

import trundle as tr
from bench.classics.impacts import BALLS, HIT
from bench.contacts import balls
from bench.contacts.__main__ import seconds
from bench.contacts.scenes import SCENES


def test_the_row_passes_the_speed_on() -> None:
    """Equal balls without friction that keep all speed: the last one leaves with that of the first."""
    case = balls.row()
    run = tr.simulate(case.model, case.start, case.duration)
    assert run.status is tr.Status.SUCCESS
    speeds = np.asarray(run["body_velocity"])[-1, :, 0]
    assert speeds == pytest.approx([0.0] * (BALLS - 1) + [HIT], abs=1e-12)


def test_the_box_begins_with_a_hundred_balls_apart() -> None:
    places = np.array(balls.box_places())
    assert len(places) == 100
    r, x = places[:, 0], places[:, 1:]
    gaps = np.linalg.norm(x[:, None] - x, axis=2) - r[:, None] - r
    assert gaps[np.triu_indices(100, 1)].min() > 0.0
    assert np.all(np.abs(x[:, :2]).max(axis=1) + r < balls.WALL)
    assert np.all(x[:, 2] > r)


def test_limits_and_times_are_told_with_their_units() -> None:
    assert seconds(0.0234, 10.0) == "23.4 ms"
    assert seconds(1.5, 10.0) == "1.50 s"
    assert seconds(None, 10.0) == "> 10 s"
    assert {name for name, scene in SCENES.items() if scene.must is not None} >= {"plate", "rack15", "landing"}
