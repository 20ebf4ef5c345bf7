"""Balancing: an ellipsoid on its tip, at the pole of its chart."""

from __future__ import annotations

import numpy as np
import pytest

import trundle as tr
from tests.control.cases import Watched
from trundle.control.regulators.balancing import BalancingLQR
from trundle.control.regulators.linearization import Linearization
from trundle.errors import InputError
from trundle.numerics.riccati import discretize_cost
from trundle.status import Status

Q = {"hand_position": 1.0, "hand_rotation": 1.0, "object_rotation": 50.0, "contact": 10.0, "hand_velocity": 0.1,
     "hand_angular_velocity": 0.1, "relative_velocity": 1.0}  # fmt: skip
R = {"hand_angular_acceleration": 0.01, "hand_acceleration": 0.1}


def tip_pair(law="rolling"):
    return tr.RollingPair(tr.RigidBody(tr.Ellipsoid((0.02, 0.025, 0.035)), mass=0.1), tr.Hand(tr.Plane()), law=law)


def tilted(pair, angle, axis=(1.0, 0.0, 0.0)):
    half = angle / 2
    return pair.place(object_quaternion=[np.cos(half), *(np.sin(half) * np.asarray(axis))])


@pytest.mark.parametrize("law", ["rolling", "pure-rolling"])
def test_an_ellipsoid_stays_on_its_tip(law):
    pair = tip_pair(law)
    policy = BalancingLQR(pair, pair.place(), Q, R)
    seen = Watched(policy)
    run = tr.simulate(pair, tilted(pair, 0.05), 1.5, policy=seen)
    assert run.status is Status.SUCCESS
    e = policy.deviation(1.5, seen.states[-1])
    assert np.linalg.norm(e[policy.error.blocks["object_rotation"]]) < 1e-3
    assert np.linalg.norm(e[policy.error.blocks["relative_velocity"]]) < 1e-3


def test_the_error_shrinks_at_the_rate_of_the_closed_loop():
    pair = tip_pair()
    policy = BalancingLQR(pair, pair.place(), Q, R)
    A, B = (m[0] for m in Linearization(policy.error).along(policy.target.x[None], np.zeros((1, 6))))
    seen = Watched(policy)
    tr.simulate(pair, tilted(pair, 1e-4), 0.5, policy=seen)
    F, G, *_ = discretize_cost(A, B, np.eye(20), np.eye(6), policy.period)
    e = policy.deviation(0.0, seen.states[0])
    for state in seen.states:
        np.testing.assert_allclose(policy.deviation(0.0, state), e, atol=2e-7)
        e = (F - G @ policy.regulator.K) @ e


def test_no_equilibrium_no_regulator():
    pair = tip_pair()
    with pytest.raises(InputError, match="state"):
        BalancingLQR(pair, tilted(pair, 0.3), Q, R)
    with pytest.raises(InputError, match="freedoms"):
        BalancingLQR(pair, pair.place(), Q, R, freedoms=("wz",))
