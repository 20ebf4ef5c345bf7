"""How turnings against rolling resistance start and stop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import trundle as tr
from trundle.contact.laws import RESTING
from trundle.simulate.events import Event, HybridState, no_onsets
from trundle.simulate.mode import Method, Mode
from trundle.simulate.runner import Runner


@pytest.mark.parametrize("slope", [0.01, -0.3])
def test_a_ball_starts_to_roll_down_and_is_held_where_it_stops(slope: float) -> None:
    """The onset is a direction, however small the moment is."""
    ball, hand = tr.RigidBody(tr.Sphere(0.1), 0.5, "solid"), tr.Hand(tr.Plane(), rpy=(0.0, slope, 0.0))
    pair = tr.RollingPair(ball, hand, rolling_friction=1e-3, drilling_friction=1e-3)
    runner = Runner(pair.system, Method(), None, np.array([0.0, 1.0]), None)
    now = HybridState(0.0, pair.place().x, Mode((RESTING.name,), pair.system.first_atlas), no_onsets(pair.system))
    after, _ = runner.board.next(now, Event(0, "rolling"), runner.phase(now.mode))
    assert isinstance(after, HybridState)
    np.testing.assert_allclose(after.onsets, [[0.0, 0.0, 0.0, 0.0, np.sign(slope), 0.0]], atol=1e-12)
    assert after.unarmed == {"contact.rolling_rate"}
    assert after.mode.laws == ("pure-rolling",)
    held = runner.board.holding(replace(after, onsets=now.onsets, unarmed=frozenset()))
    assert held.mode == now.mode
