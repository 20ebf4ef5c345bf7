"""Switching and regions: inside the level the balance holds, and it is handed over once."""

from __future__ import annotations

import numpy as np
import pytest

import trundle as tr
from tests.control.cases import Q_ELLIPSE, Watched, ellipse_on_plate
from trundle.control.regulators.balancing import BalancingLQR
from trundle.control.regulators.region import attraction_level
from trundle.control.regulators.switching import Switching
from trundle.errors import InputError
from trundle.status import Status

R = {"hand_angular_acceleration": 1e-2, "hand_acceleration": 0.1}


@pytest.fixture(scope="module")
def upright():
    pair = ellipse_on_plate()
    policy = BalancingLQR(pair, pair.place(object_angle=np.pi / 2), Q_ELLIPSE, R, input_limit=[20.0, 10.0, 10.0])
    return pair, policy, attraction_level(policy)


def test_inside_the_level_the_cost_falls(upright):
    pair, policy, level = upright
    assert level > 0
    assert attraction_level(policy) == level
    for side in (1, -1):
        scale = side * 0.05 * np.sqrt(level / policy.cost_to_go(0.0, pair.place(object_angle=np.pi / 2 + 0.05).x))
        start = pair.place(object_angle=np.pi / 2 + 0.95 * scale)
        assert 0.8 * level < policy.cost_to_go(0.0, start.x) < level
        seen = Watched(policy)
        assert tr.simulate(pair, start, 0.4, policy=seen, relative_tolerance=1e-8).status is Status.SUCCESS
        costs = np.array([policy.cost_to_go(0.0, x) for x in seen.states])
        assert np.all(np.diff(costs) < 0)


def test_tighter_limits_shrink_the_region(upright):
    pair, policy, level = upright
    start = pair.place(object_angle=np.pi / 2)
    weak = BalancingLQR(pair, start, Q_ELLIPSE, R, input_limit=[0.05, 0.05, 0.05])
    assert attraction_level(weak) < 0.5 * level
    with pytest.raises(InputError, match="largest"):
        attraction_level(policy, largest=0.0)


def test_the_balance_takes_over_inside_its_region(upright):
    pair, policy, level = upright

    class Falls:
        period = policy.period

        def reset(self) -> None:
            """Nothing to forget."""

        def __call__(self, time, state):
            """Let it fall."""
            return np.zeros(3)

    switching = Switching(Falls(), policy, level)
    start = pair.place(object_angle=np.pi / 2 - 0.2, object_angular_velocity=1.3)
    assert policy.cost_to_go(0.0, start.x) > level
    for _ in range(2):
        seen = Watched(switching)
        run = tr.simulate(pair, start, 1.0, policy=seen, relative_tolerance=1e-8)
        assert run.status is Status.SUCCESS
        assert switching.switched_at is not None
        before = np.array(seen.times) < switching.switched_at
        assert not np.any(np.array(seen.inputs)[before])
        assert 0 < before.sum() < 400
        assert policy.cost_to_go(0.0, seen.states[-1]) < 0.1 * level
    late = Switching(Falls(), policy, level, earliest=0.5)
    late.reset()
    assert not late(0.0, pair.place(object_angle=np.pi / 2 + 1e-3).x).any()
    assert late(0.5, pair.place(object_angle=np.pi / 2 + 1e-3).x).any()


def test_it_goes_back_when_told_to(upright):
    pair, policy, level = upright
    switching = Switching(policy, policy, level, leave=2 * level)
    near, far = (pair.place(object_angle=np.pi / 2 + a).x for a in (1e-3, 0.3))
    switching(0.0, near)
    assert switching.switched_at == 0.0
    switching(0.1, far)
    assert switching.switched_at is None
    with pytest.raises(InputError, match="leave"):
        Switching(policy, policy, level, leave=0.5 * level)
    with pytest.raises(InputError, match="level"):
        Switching(policy, policy, 0.0)
    with pytest.raises(InputError, match="then"):
        Switching(policy, 3, level)
