"""Tracking: back to the reference, at the cost the Riccati equation says, within the limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import trundle as tr
from tests.control.cases import Q, R, Watched, ball_on_plate, flow, plate_reference, rate_function
from trundle.control.regulators.linearization import Linearization
from trundle.control.regulators.local_error import LocalError
from trundle.control.regulators.tracking import TrackingLQR
from trundle.control.sensing.sensing import Camera
from trundle.errors import ControlLostError, InputError
from trundle.records import Policy
from trundle.records.reference import Reference
from trundle.status import Status

FINAL = {name: 50 * weight for name, weight in Q.items()}


@pytest.fixture(scope="module", params=["rolling", "pure-rolling"])
def case(request):
    pair = ball_on_plate(request.param)
    reference = plate_reference(pair)
    return pair, reference, TrackingLQR(pair, reference, Q, R, FINAL)


def blocks(policy, e):
    return {name: float(np.linalg.norm(e[part])) for name, part in policy.error.blocks.items()}


def test_an_offset_is_brought_back(case):
    pair, _, policy = case
    assert isinstance(policy, Policy)
    half = np.radians(3.0) / 2
    start = pair.place(contact_on_hand=[0.004, 0, 0], object_quaternion=[np.cos(half), 0, np.sin(half), 0])
    seen = Watched(policy)
    run = tr.simulate(pair, start, 1.4, policy=seen)
    assert run.status is Status.SUCCESS
    first, last = (blocks(policy, policy.deviation(seen.times[i], seen.states[i])) for i in (0, -1))
    assert first["contact"] == pytest.approx(4e-3, rel=1e-6)
    assert first["object_rotation"] == pytest.approx(2 * np.sin(half), rel=1e-6)
    pure = pair.law == "pure-rolling"  # which has less to steer with
    assert last["contact"] < (1e-3 if pure else 5e-4)
    assert last["object_rotation"] < np.radians(1.5 if pure else 0.5)


def test_on_the_reference_it_stays(case):
    pair, _, policy = case
    seen = Watched(policy)
    tr.simulate(pair, pair.place(), 1.4, policy=seen)
    worst = max(np.abs(policy.deviation(t, x)).max() for t, x in zip(seen.times, seen.states, strict=True))
    assert worst < 1e-5


def test_small_errors_cost_what_the_riccati_equation_says(case):
    """e0'S e0 against the cost that the true nonlinear closed loop runs up."""
    _, reference, policy = case
    error, rate = policy.error, rate_function(policy.error)
    _, _, X = Linearization(error).with_directions(reference.states[:1], reference.inputs[:1])
    e0 = np.zeros(error.size)
    e0[error.blocks["contact"]], e0[error.blocks["object_rotation"]] = (2e-5, -1e-5), (1e-4, 0.0, 2e-4)
    twin = TrackingLQR(error.twin, reference, Q, R, FINAL)
    weight_Q, weight_R = (
        error.weights(k, w, b, d) for k, w, b, d in (("Q", Q, error.blocks, False), ("R", R, error.input_blocks, True))
    )
    x, y = reference.states[0] + X[0] @ e0, reference.states[0]
    cost, e, h = 0.0, e0, policy.period
    for i, t in enumerate(policy.times[:-1]):
        planned = (policy.inputs[i] + policy.inputs[i + 1]) / 2
        u = twin(t, x)
        x, y = flow(rate, x, u, h, 1), flow(rate, y, planned, h, 1)
        after = error.between(error.of_reference(y), error.of_reference(x))
        mean = (e @ weight_Q @ e + after @ weight_Q @ after) / 2
        cost, e = cost + h * (mean + (u - planned) @ weight_R @ (u - planned)), after
    cost += e @ error.weights("final", FINAL, error.blocks, definite=False) @ e
    assert cost == pytest.approx(e0 @ policy.schedule.S[0] @ e0, rel=2e-2)


def test_limits_hold_exactly_and_freedoms_are_kept(case):
    pair, reference, _ = case
    policy = TrackingLQR(pair, reference, Q, R, freedoms=("wx", "wy"), input_limit=[6.0] * 3 + [1.0] * 3)
    seen = Watched(policy)
    start = pair.place(contact_on_hand=[0.01, 0, 0])
    tr.simulate(pair, start, 0.3, policy=seen)
    u = np.array(seen.inputs)
    assert np.abs(u[:, :2]).max() == 6.0
    planned = (policy.inputs[:-1] + policy.inputs[1:]) / 2
    np.testing.assert_array_equal(u[:, 2:], planned[: len(u), 2:])


def test_what_does_not_fit_is_named(case):
    pair, reference, _ = case
    with pytest.raises(InputError, match="reference"):
        TrackingLQR(pair, 3, Q, R)
    with pytest.raises(InputError, match=r"reference\.states"):
        TrackingLQR(pair, Reference([0, 1], np.zeros((2, 4)), np.zeros((2, 6))), Q, R)
    with pytest.raises(InputError, match="freedoms"):
        TrackingLQR(pair, reference, Q, R, freedoms=("wx", "up"))
    with pytest.raises(InputError, match="input_limit"):
        TrackingLQR(pair, reference, Q, R, input_limit=[1.0, 2.0])
    with pytest.raises(InputError, match="period"):
        TrackingLQR(pair, reference, Q, R, period=0.0)
    with pytest.raises(InputError, match=r"period = 0\.001: must be at least 10 s"):  # else 17 GB of gains
        TrackingLQR(pair, replace(reference, times=np.linspace(0.0, 1e6, len(reference.times))), Q, R)
    with pytest.raises(ControlLostError, match="measurement is not finite"):
        TrackingLQR(pair, reference, Q, R)(0.0, np.full(26, np.nan))


def test_noise_lowers_the_weight_of_the_end_until_no_input_is_at_its_limit_half_the_time(case):
    pair, reference, _ = case
    given = {"freedoms": ("wx", "wy"), "input_limit": 20.0}
    noise = Camera(position_sigma=2e-4, angle_sigma=2e-3).error_covariance(
        LocalError(pair, reference.atlas), 20.0, 0.02
    )
    weight = {name: 1e3 * value for name, value in Q.items()}
    sure = TrackingLQR(pair, reference, Q, R, weight, **given)
    policy = TrackingLQR(pair, reference, Q, R, weight, noise=noise, **given)
    assert sure.final_share == 1.0
    random = np.random.default_rng(0).multivariate_normal(np.zeros(len(noise)), noise, size=4000)

    def at_limit(policy) -> float:
        """Largest share of draws, over times and inputs, that is beyond the limit."""
        return max(float(np.max(np.mean(np.abs(random @ K.T) > 20.0, axis=0))) for K in policy.schedule.K[::20])

    assert at_limit(sure) > 0.6
    assert 0.3 < at_limit(policy) < 0.53  # the next larger weight, twice this one, is beyond a half
    assert 1e-3 < policy.final_share < 0.5


def test_a_run_ends_where_feedback_has_lost_the_object(case):
    pair, reference, _ = case
    policy = TrackingLQR(pair, reference, Q, R, freedoms=("wz",), lost=2.0)  # which holds nothing
    run = tr.simulate(
        pair, pair.place(contact_on_hand=[0.0, 0.06, 0.0], object_angular_velocity=[-1.0, 0.0, 0.0]), 1.4, policy=policy
    )
    assert run.status is Status.DIVERGED
    away = np.linalg.norm(run["contact_on_hand"] - [0.0, 0.06, 0.0], axis=1)
    assert 0 < run.time[-1] < 1.0
    assert away[-1] < 0.07
    last = run.metadata["transitions"][-1]
    assert (last["to"], last["reason"][:16]) == ("diverged", "the contact is 0")
