"""What a linear system does by itself and what inputs reach, in any coordinates and with any machine's round-off."""

from __future__ import annotations

import numpy as np
import pytest

from trundle.control.regulators.regulation import check_reachable
from trundle.errors import InputError
from trundle.numerics.reach import goes_on, growth, reachable
from trundle.numerics.riccati import regulator, sampled_regulator

NOTHING = np.zeros((0, 0))


def turned(A: np.ndarray, seed: int) -> np.ndarray:
    """A in turned coordinates, with the round-off of a machine of another make: some units in the last place."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal(A.shape))[0]
    A = turn @ A @ turn.T
    return A + 4e-16 * np.abs(A).max() * rng.standard_normal(A.shape)


def drifts(length: int, *rates: float) -> np.ndarray:
    """Numbers each of which is the rate of the one before, as places, velocities and spins are; others with rates."""
    A = np.diag([0.0] * length + list(rates))
    A[range(length - 1), range(1, length)] = [200.0, *[1.0] * (length - 2)]
    return A


def test_reachable_directions() -> None:
    A = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
    V = reachable(A, np.array([[0.0], [1.0], [0.0]]))
    np.testing.assert_allclose(V @ V.T, np.diag([1.0, 1.0, 0.0]), atol=1e-14)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("length", [2, 3, 4, 6])
def test_what_drifts_does_not_run_away_whatever_the_round_off(length: int, seed: int) -> None:
    A = turned(drifts(length), seed)
    assert growth(A) == 0.0
    assert goes_on(A)
    assert check_reachable(A, np.zeros((length, 0)), "freedoms").shape == (length, 0)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("length", [2, 3, 4])
@pytest.mark.parametrize("rate", [0.01, 0.5, 30.0])
def test_beside_a_drift_what_runs_away_is_seen(length: int, rate: float, seed: int) -> None:
    A = turned(drifts(length, rate, -1.0), seed)
    assert growth(A) == pytest.approx(rate, rel=1e-6)
    with pytest.raises(InputError, match="runs away at"):
        check_reachable(A, np.zeros((length + 2, 0)), "freedoms")


def test_a_slow_fall_is_no_drift_and_what_swings_goes_on() -> None:
    rate = 1e-3
    falling, swinging = np.array([[0.0, 1.0], [rate**2, 0.0]]), np.array([[0.0, 1.0], [-4.0, 0.0]])
    assert growth(falling) == pytest.approx(rate)
    assert not goes_on(falling)
    assert growth(swinging) == pytest.approx(0.0, abs=1e-12)
    assert goes_on(swinging)
    assert not goes_on(swinging - 0.1 * np.eye(2))
    assert growth(np.zeros((3, 3))) == growth(NOTHING) == 0.0
    assert not goes_on(NOTHING)


def cart_and_pole(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A and B of a cart with an upright pole, in turned coordinates with round-off, and what turns them."""
    A = np.zeros((4, 4))
    A[:2, 2:], A[2:, 1] = np.eye(2), [-1.5, 20.0]
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    A = turn @ A @ turn.T + 1e-15 * rng.standard_normal((4, 4))
    return A, turn @ np.array([[0.0], [0.0], [1.0], [-2.0]]), turn


def weight(turn: np.ndarray, *values: float) -> np.ndarray:
    """Q of weights of the cart, the pole and their rates, in turned coordinates."""
    Q = turn @ np.diag(values) @ turn.T
    return (Q + Q.T) / 2


@pytest.mark.parametrize("seed", range(8))
def test_weights_that_do_not_see_a_drift_are_refused_whatever_the_round_off(seed: int) -> None:
    """Of a cart with a pole, of which the pole alone costs: no gains stop the cart."""
    A, B, turn = cart_and_pole(seed)
    for Q in (weight(turn, 0.0, 1.0, 0.0, 0.0), weight(turn, 0.0, 1.0, 0.0, 1.0)):
        with pytest.raises(InputError, match="with weights that see it"):
            regulator(A, B, Q, np.eye(1))
        with pytest.raises(InputError, match="with weights that see it"):
            sampled_regulator(A, B, Q, np.eye(1), 0.01)


@pytest.mark.parametrize("least", [1e-2, 1e-5, 1e-7])
def test_small_weights_are_not_refused_by_round_off(least: float) -> None:
    for seed in range(20):
        A, B, turn = cart_and_pole(seed)
        Q = weight(turn, least, 1.0, 0.0, 0.0)
        for K, _ in (regulator(A, B, Q, np.eye(1)), sampled_regulator(A, B, Q, np.eye(1), 0.01)):
            assert np.max(np.linalg.eigvals(A - B @ K).real) < -1e-3
