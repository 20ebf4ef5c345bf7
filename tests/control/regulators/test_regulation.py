"""Regulation: integrals take constant disturbances away; equilibria are found next to a motion's end."""

from __future__ import annotations

import numpy as np
import pytest

import trundle as tr
from tests.control.cases import Q_ELLIPSE, Q, R, ball_on_plate, ellipse_on_plate, flow, rate_function
from trundle.control.regulators.balancing import BalancingLQR
from trundle.control.regulators.local_error import LocalError
from trundle.control.regulators.regulation import nearest_equilibrium
from trundle.control.regulators.rolling_state import in_rolling_coordinates
from trundle.control.regulators.tracking import TrackingLQR
from trundle.control.sensing.disturbance import Actuated
from trundle.errors import InputError
from trundle.records.reference import Reference
from trundle.status import Status

R_ELLIPSE = {"hand_angular_acceleration": 1e-2, "hand_acceleration": 0.05}
INTEGRAL = {"hand_rotation": 20.0, "hand_position": 100.0}


def upright(**more):
    pair = ellipse_on_plate()
    return pair, BalancingLQR(pair, pair.place(object_angle=np.pi / 2), Q_ELLIPSE, R_ELLIPSE, **more)


def aside(pair, angle, by=0.01):
    """A state with hand and object displaced together, at an angle from upright."""
    x = pair.place(object_angle=np.pi / 2 + angle).x.copy()
    layout = pair.system.model().layout
    for body in ("hand", "object"):
        x[layout[f"{body}.position"].start] += by
    return x


@pytest.mark.slow
@pytest.mark.parametrize("integral", [None, INTEGRAL])
def test_only_integrals_bring_the_hand_back_against_a_bias_and_a_wrong_centre_of_mass(integral):
    _, policy = upright(integral=integral)
    plant = ellipse_on_plate(center=[0.0, 1e-3])
    start = plant.place(object_angle=np.pi / 2)
    actuated = Actuated(policy, 3, bias=[0.3, 0.05, -0.05])
    run = tr.simulate(plant, start, 5.0, policy=actuated, relative_tolerance=1e-8)
    assert run.status is Status.SUCCESS
    away = np.linalg.norm(run["hand_position"][-1] - run["hand_position"][0])
    assert away < 5e-3 if integral else away > 0.02


def test_a_reset_forgets_the_integrals():
    pair, policy = upright(integral=INTEGRAL)
    x = aside(pair, 0.01)
    said = [policy(k * policy.period, x) for k in range(3)]
    assert not np.array_equal(said[0], said[2])
    policy.reset()
    np.testing.assert_array_equal(policy(0.0, x), said[0])


def test_integrals_begin_where_the_cost_is_least():
    _, policy = upright(integral=INTEGRAL)
    gains = policy.regulator
    assert gains.C.shape == (3, 8)
    e = np.random.default_rng(3).normal(size=8)
    z = gains.begin @ e

    def cost(z):
        return np.append(e, z) @ gains.S @ np.append(e, z)

    assert cost(z) == pytest.approx(e @ gains.least @ e)
    for step in np.eye(3):
        assert cost(z + 1e-3 * step) > cost(z) < cost(z - 1e-3 * step)


def test_what_inputs_cannot_hold_is_not_integrated():
    pair = ball_on_plate()
    policy = BalancingLQR(pair, pair.place(), Q, R, freedoms=("wx", "wy"), integral=INTEGRAL)
    assert len(policy.regulator.C) < 6
    assert not np.any(policy.regulator.C[:, policy.error.blocks["hand_position"].stop :])
    with pytest.raises(InputError, match=r"integral\.up"):
        BalancingLQR(pair, pair.place(), Q, R, integral={"up": 1.0})


def test_a_saturated_input_does_not_wind_up():
    pair, policy = upright(integral=INTEGRAL, input_limit=[0.01, 0.01, 0.01])
    near, far = aside(pair, 0.0, 1e-7), aside(pair, 0.2)
    first = policy(0.0, near)
    assert np.all(np.abs(first) < 0.01)
    for k in range(1000):
        assert np.any(np.abs(policy(k * policy.period, far)) == 0.01)
    np.testing.assert_allclose(policy(1.0, near), first, atol=1e-6)


def test_an_equilibrium_is_found_next_to_an_end_that_is_not_quite_at_rest():
    pair, policy = upright()
    error, x = policy.error, policy.target.x
    rng = np.random.default_rng(5)
    found = nearest_equilibrium(error, x + 1e-4 * rng.normal(size=len(x)))
    assert found is not None
    assert np.linalg.norm(np.asarray(rate_function(error)(found, np.zeros(3)))) < 1e-9
    np.testing.assert_allclose(found, x, atol=2e-3)
    falling = in_rolling_coordinates(pair, pair.place(object_angle=np.pi / 2 + 0.3))
    assert nearest_equilibrium(error, falling.x) is None


def test_a_ball_stays_where_its_motion_ended():
    pair = ball_on_plate()
    start = in_rolling_coordinates(pair, pair.place())
    rate, times = rate_function(LocalError(pair, start.atlas)), np.linspace(0.0, 0.2, 21)
    nudge = np.zeros(len(start.x))
    nudge[12:] = 1e-5 * np.random.default_rng(1).normal(size=len(nudge) - 12)
    states = [start.x + nudge]
    for _ in times[1:]:
        states.append(flow(rate, states[-1], np.zeros(6), times[1], 1))
    reference = Reference(times, np.array(states), np.zeros((21, 6)), start.atlas)
    final = {name: 1000.0 * value for name, value in Q.items()}
    policy = TrackingLQR(pair, reference, Q, R, final, freedoms=("wx", "wy"))
    assert policy.after is not None
    offset = pair.place(contact_on_hand=[2e-3, -1e-3, 0.0])
    run = tr.simulate(pair, offset, 2.5, policy=policy, relative_tolerance=1e-8)
    assert run.status is Status.SUCCESS
    late = run.time > 1.8
    assert np.ptp(run["contact_on_hand"][late], axis=0).max() < 1e-4
    assert np.linalg.norm(run["hand_angular_velocity"][late], axis=1).max() < 1e-3
