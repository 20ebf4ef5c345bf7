"""Gains against scipy, an independent integration, a dense quadratic program and the formulas as written."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.integrate import quad_vec
from scipy.linalg import expm, solve_discrete_are

from trundle.errors import InputError
from trundle.numerics.riccati import (
    discretize_cost,
    periodic,
    regulator,
    sampled_regulator,
    sampled_time_varying,
)

RNG = np.random.default_rng(4)
A0, A1, B0 = RNG.normal(size=(4, 4)), RNG.normal(size=(4, 4)), RNG.normal(size=(4, 2))
Q0, R0, FINAL = np.diag([20.0, 1.0, 0.0, 5.0]), np.array([[0.05, 0.01], [0.01, 0.2]]), np.diag([1.0, 2.0, 3.0, 4.0])


def test_regulator_is_the_algebraic_equation_as_written():
    K, S = regulator(A0, B0, Q0, R0)
    residual = Q0 + A0.T @ S + S @ A0 - S @ B0 @ np.linalg.inv(R0) @ B0.T @ S
    assert np.abs(residual).max() < 1e-10 * np.abs(S).max()
    np.testing.assert_allclose(K, np.linalg.inv(R0) @ B0.T @ S, atol=1e-10)
    assert np.linalg.eigvals(A0 - B0 @ K).real.max() < 0


@pytest.mark.parametrize("sampled", [False, True])
def test_a_state_that_decays_and_costs_nothing_is_left_alone(sampled):
    A, B, Q = np.diag([-1.0, -2.0]), np.array([[1.0], [0.0]]), np.diag([1.0, 0.0])
    K, S = sampled_regulator(A, B, Q, np.eye(1), 1e-4) if sampled else regulator(A, B, Q, np.eye(1))
    np.testing.assert_allclose(K, [[np.sqrt(2) - 1, 0.0]], rtol=1e-3)
    np.testing.assert_allclose(S, np.diag([np.sqrt(2) - 1, 0.0]), rtol=1e-3)


def test_long_horizons_tend_to_the_algebraic_solution():
    K, S = sampled_regulator(A0, B0, Q0, R0, 0.1)
    schedule = sampled_time_varying(np.linspace(0, 30, 301), A0, B0, Q0, R0, FINAL)
    np.testing.assert_allclose(schedule.S[0], S, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(schedule.K[0], K, rtol=1e-9, atol=1e-9)


def test_fast_sampling_tends_to_the_continuous_gain():
    K = regulator(A0, B0, Q0, R0)[0]
    errors = [np.abs(sampled_regulator(A0, B0, Q0, R0, h)[0] - K).max() for h in (4e-4, 2e-4)]
    assert errors[1] < 1e-2 * np.abs(K).max()
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.05)


def varying(t: float) -> np.ndarray:
    return A0 + t * A1  # linear: the Magnus step's own case


@pytest.mark.parametrize("period", [1e-3, 0.1, 3.0])
def test_discretized_as_written(period):
    F, G, Qd, Nd, Rd = discretize_cost(A0, B0, Q0, R0, period)
    Z = np.block([[A0, B0], [np.zeros((2, 6))]])
    W = np.block([[Q0, np.zeros((4, 2))], [np.zeros((2, 4)), R0]])
    Phi = expm(Z * period)
    total, _ = quad_vec(lambda s: expm(Z * s).T @ W @ expm(Z * s), 0, period, epsrel=1e-12, epsabs=0.0)
    np.testing.assert_allclose(np.hstack([F, G]), Phi[:4], rtol=1e-11, atol=1e-12)
    scale = np.abs(total).max()
    np.testing.assert_allclose(np.block([[Qd, Nd], [Nd.T, Rd]]), total, rtol=1e-10, atol=1e-12 * scale)


def test_the_longest_period_is_told():
    with pytest.raises(InputError, match=r"period = 8\.0.*at most 7\.5 s"):
        discretize_cost(4 * np.eye(2), np.eye(2), np.eye(2), np.eye(2), 8.0)


@pytest.mark.parametrize("period", [1e-12, 16.0, 1e30])
def test_a_period_in_which_what_runs_away_is_lost_to_rounding_is_refused_by_its_name(period):
    A = np.array([[0.0, 1.0], [4.0, 0.0]])  # grows by e^2 in a second
    with pytest.raises(InputError, match="period = "):
        sampled_regulator(A, np.eye(2), np.eye(2), np.eye(2), period)


def test_sampled_gains_minimise_the_cost_of_a_dense_quadratic_program():
    N, h = 6, 0.15
    A = np.array([varying(h * k) for k in range(N)])
    schedule = sampled_time_varying(h * np.arange(N + 1), A, B0, Q0, R0, FINAL)
    x0 = np.array([1.0, -0.5, 0.3, 2.0])
    # x_k = X_k x0 + U_k u, u all inputs stacked; cost = u'H u + 2 u'g + constant.
    X, U = np.eye(4), np.zeros((4, 2 * N))
    H, g = np.zeros((2 * N, 2 * N)), np.zeros(2 * N)
    for k in range(N):
        F, G, Qd, Nd, Rd = discretize_cost(A[k], B0, Q0, R0, h)
        own = np.eye(2 * N)[2 * k : 2 * k + 2]
        H += U.T @ Qd @ U + U.T @ Nd @ own + own.T @ Nd.T @ U + own.T @ Rd @ own
        g += (U.T @ Qd + own.T @ Nd.T) @ X @ x0
        X, U = F @ X, F @ U + G @ own
    H, g = H + U.T @ FINAL @ U, g + U.T @ FINAL @ X @ x0
    best = -np.linalg.solve(H, g).reshape(N, 2)
    x, applied, cost = x0, [], 0.0
    for k in range(N):
        F, G, Qd, Nd, Rd = discretize_cost(A[k], B0, Q0, R0, h)
        u = -schedule.K[k] @ x
        applied.append(u)
        cost += x @ Qd @ x + 2 * x @ Nd @ u + u @ Rd @ u
        x = F @ x + G @ u
    np.testing.assert_allclose(applied, best, rtol=1e-8, atol=1e-9)
    assert x0 @ schedule.S[0] @ x0 == pytest.approx(cost + x @ FINAL @ x, rel=1e-10)


def test_samples_at_the_ends_count_as_their_mean():
    t = np.linspace(0, 1, 6)
    nodes = np.array([varying(s) for s in t])
    one = sampled_time_varying(t, nodes, B0, Q0, R0, FINAL)
    two = sampled_time_varying(t, (nodes[1:] + nodes[:-1]) / 2, B0, Q0, R0, FINAL)
    np.testing.assert_allclose(one.K, two.K, rtol=1e-13)


def test_the_same_data_at_each_interval_are_as_good_as_once():
    t = np.linspace(0, 0.5, 6)
    once = sampled_time_varying(t, A0, B0, Q0, R0, FINAL)
    often = sampled_time_varying(t, *(np.array([M] * 5) for M in (A0, B0, Q0, R0)), FINAL)
    np.testing.assert_array_equal(often.K, once.K)


@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e9])
def test_a_cycle_of_equal_steps_has_the_gain_of_one_step_in_any_unit_of_cost(unit):
    F, G, Qd, _, Rd = discretize_cost(A0, B0, Q0, R0, 0.1)
    S = solve_discrete_are(F, G, Qd, Rd)
    expected = np.linalg.solve(Rd + G.T @ S @ G, G.T @ S @ F)
    found = periodic(
        [F] * 3, [G] * 3, unit * np.array([Qd] * 3), unit * np.array([Rd] * 3), np.eye(4), unit * np.eye(4)
    )
    np.testing.assert_allclose(found, [expected] * 3, rtol=1e-3)


def test_gains_of_a_real_plan_take_a_fraction_of_a_second():
    rng = np.random.default_rng(0)
    t = np.linspace(0, 2, 201)
    A = 0.5 * rng.normal(size=(20, 20)) + np.sin(t)[:, None, None] * rng.normal(size=(20, 20))
    began = time.process_time()
    schedule = sampled_time_varying(t, A, rng.normal(size=(20, 6)), 100 * np.eye(20), 0.01 * np.eye(6), np.eye(20))
    assert time.process_time() - began < 1.0  # 0.03 s where nobody else computes
    assert schedule.K.shape == (201, 6, 20)
    assert not schedule.K.flags.writeable
    assert not schedule.S.flags.writeable


def test_what_cannot_be_stabilised_is_said():
    with pytest.raises(InputError, match="some gain stabilises"):
        regulator(np.diag([1.0, -1.0]), [[0.0], [1.0]], np.eye(2), [[1.0]])
    with pytest.raises(InputError, match="some gain stabilises"):
        sampled_regulator(np.diag([1.0, -1.0]), [[0.0], [1.0]], np.eye(2), [[1.0]], 0.1)
    with pytest.raises(InputError, match="some gain stabilises"):
        regulator(np.zeros((2, 2)), np.eye(2), np.zeros((2, 2)), np.eye(2))  # weights that see nothing


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"Q": -np.eye(4)}, "Q"),
        ({"Q": np.arange(16.0).reshape(4, 4)}, "Q"),
        ({"Q": np.eye(4) + 1e-6 * np.tri(4)}, "Q"),
        ({"Q": np.array([np.eye(4)] * 9 + [np.eye(4) + 1e-6 * np.tri(4)])}, "Q"),
        ({"R": np.zeros((2, 2))}, "R"),
        ({"R": np.eye(3)}, "R"),
        ({"A": np.full((4, 4), np.nan)}, "A"),
        ({"A": np.zeros((3, 4, 4))}, "A"),
        ({"B": np.ones((3, 2))}, "B"),
        ({"final": -np.eye(4)}, "final"),
        ({"times": [0.0, 0.0, 1.0]}, "times"),
        ({"times": [0.0]}, "times"),
    ],
)
def test_wrong_data_is_named(change, key):
    good = {"times": np.linspace(0, 1, 11), "A": A0, "B": B0, "Q": Q0, "R": R0, "final": FINAL}
    with pytest.raises(InputError) as caught:
        sampled_time_varying(**{**good, **change})
    assert caught.value.key == key


EXTREMES = {
    "a system that explodes": (1e250 * A0, B0, R0, 0.01),
    "inputs of no price": (A0, B0, 1e-305 * np.eye(2), 0.01),
    "a period of centuries": (A0, B0, R0, 1e10),
    "an input nobody feels": (A0, 1e-300 * B0, R0, 0.01),
}


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")
def test_gains_are_finite_or_refused(name):
    A, B, R, h = EXTREMES[name]
    t, told = np.linspace(0, 10 * h, 11), 0
    for run in (
        lambda: regulator(A, B, Q0, R),
        lambda: sampled_regulator(A, B, Q0, R, h),
        lambda: discretize_cost(A, B, Q0, R, h),
        lambda: sampled_time_varying(t, A, B, Q0, R, FINAL),
    ):
        try:
            assert all(np.all(np.isfinite(part)) for part in run())
        except InputError:
            told += 1
    assert told


@pytest.mark.parametrize("sampled", [False, True])
def test_gains_in_any_units_are_the_same_or_refused(sampled):
    rng, refused = np.random.default_rng(1), 0
    run = (lambda *data: sampled_regulator(*data, 0.01)) if sampled else regulator
    K = run(A0, B0, np.eye(4), np.eye(2))[0]
    for _ in range(60):
        d, e, c = 10.0 ** rng.uniform(-6, 6, 4), 10.0 ** rng.uniform(-6, 6, 2), 10.0 ** rng.uniform(-9, 9)
        try:
            scaled = run(A0 * d / d[:, None], B0 * e / d[:, None], c * np.diag(d * d), c * np.diag(e * e))[0]
        except InputError:
            refused += 1
            continue
        np.testing.assert_allclose(scaled * e[:, None] / d, K, atol=1e-3 * np.abs(K).max())
    assert refused < 30


def test_a_cycle_that_no_gain_stabilises_is_refused():
    A, B = [np.diag([1.5, 0.5])] * 3, [np.array([[0.0], [1.0]])] * 3
    with pytest.raises(InputError, match="no limit of P after 80 cycles"):
        periodic(A, B, np.array([np.eye(2)] * 3), np.array([np.eye(1)] * 3), np.eye(2), np.eye(2))
