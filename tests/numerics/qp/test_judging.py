"""The residuals of a candidate, by their definition."""

from __future__ import annotations

import numpy as np
import pytest

from trundle.numerics.qp.judging import residuals


def test_the_error_is_what_its_definition_says():
    # Of candidates whose terms are of one size, so that none is raised.
    rng, largest = np.random.default_rng(5), set()
    for trial in range(200):
        n, m = 3, 2
        H = np.eye(n) + 0.1 * (half := rng.uniform(-1, 1, size=(n, n))) @ half.T
        g, A, x = rng.uniform(0.5, 1, size=n), rng.uniform(-1, 1, size=(m, n)), rng.uniform(0.5, 1, size=n)
        M = np.vstack((np.eye(n), A))
        value = M @ x
        low, high = (value + s * rng.uniform(-0.02, 1, size=n + m) for s in (-1, 1))
        push = rng.choice([-1, 0, 0, 1], size=n + m) * 10.0 ** rng.uniform(-4, 0, size=n + m)
        if trial % 2:  # stationary, inside: what is left are multipliers of bounds that are not reached
            low, high = value - rng.uniform(0.1, 1, size=n + m), value + rng.uniform(0.1, 1, size=n + m)
            g = -(H @ x + M.T @ push)
        slopes = np.abs(H) @ np.abs(x) + np.abs(g) + np.abs(M).T @ np.abs(push)
        reach, bound = np.abs(M) @ np.abs(x), np.where(push > 0, high, low)
        broken = np.where(low > value, low, high)
        outside = np.maximum(np.maximum(low - value, value - high), 0.0) / (reach + np.abs(broken))
        parts = {
            "stationary": np.abs(H @ x + g + M.T @ push) / slopes,
            "outside": outside,
            "gap": [abs(x @ H @ x + g @ x + push @ bound) / (x @ H @ x + np.abs(g) @ np.abs(x))],
            "idle": np.where(
                push != 0,
                np.minimum(
                    np.abs(value - bound) / (reach + np.abs(bound)), np.abs(push) * (np.abs(M) @ (1.0 / slopes))
                ),
                0.0,
            ),
        }
        expected = {name: float(np.max(part)) for name, part in parts.items()}
        assert residuals(H, g, A, low, high, x, push)[3] == pytest.approx(max(expected.values()), rel=1e-12)
        largest.add(max(expected, key=lambda name: expected[name]))
    assert largest >= {"stationary", "gap", "idle"}


def test_terms_that_are_small_beside_the_rest_are_a_thousandth_of_the_largest():
    # At x = (1, 0), the minimum: of a bound 1e-5 above x_1, and of a slope 1e-5 that is left there.
    H, x, free, none = np.eye(2), np.array([1.0, 0.0]), np.full(2, np.inf), np.zeros((0, 2))
    broken = residuals(H, -x, none, np.array([-np.inf, 1e-5]), free, x, np.zeros(2))[3]
    assert broken == pytest.approx(1e-5 / (1e-3 + 1e-5))  # |x_1| is taken for 1e-3 of x_0
    sloping = residuals(H, np.array([-1.0, 1e-5]), none, -free, free, x, np.zeros(2))[3]
    assert sloping == pytest.approx(1e-5 / 2e-3)  # and |H||x| + |g| = 1e-5 for 1e-3 of 2


def test_an_unknown_that_enters_nothing_hides_no_idle_multiplier():
    # x_0 = 1 is pushed by its bound 3, x_1 has no cost, and beside that of x_2 the gap is small.
    H, g, x = np.diag([1.0, 0.0, 1e6]), np.array([-2.0, 0.0, -1e6]), np.array([1.0, 0.0, 1.0])
    low, high = np.full(3, -np.inf), np.array([3.0, np.inf, np.inf])
    error = residuals(H, g, np.zeros((0, 3)), low, high, x, np.array([1.0, 0.0, 0.0]))[3]
    assert error == pytest.approx(1 / 4)  # the multiplier 1 over |H||x| + |g| + |z|
