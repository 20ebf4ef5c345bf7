"""Drives: late, limited, biased; each exactly."""

from __future__ import annotations

import numpy as np
import pytest

from trundle.control.regulators.hand_inputs import InputLimit
from trundle.control.sensing.disturbance import Actuated
from trundle.errors import InputError


class Ramp:
    """u = 100 t for each of two inputs."""

    period = 1e-2

    def reset(self) -> None:
        """Nothing to forget."""

    def __call__(self, time, state):
        """Say it."""
        return np.array([100 * time, -100 * time])


def said(policy, count=20):
    policy.reset()
    return np.array([policy(i * 1e-2, np.zeros(1)) for i in range(count)])


def test_an_input_comes_later_by_the_delay_rounded_up():
    plain = said(Ramp())
    np.testing.assert_array_equal(said(Actuated(Ramp(), 2, delay=0.025))[3:], plain[:-3])
    np.testing.assert_array_equal(said(Actuated(Ramp(), 2, delay=0.03))[:3], np.zeros((3, 2)))
    np.testing.assert_array_equal(said(Actuated(Ramp(), 2)), plain)


def test_limits_in_size_and_rate_hold_exactly_and_the_bias_comes_on_top():
    u = said(Actuated(Ramp(), 2, limit=([-2.0, -5.0], [7.0, 9.0])[1], rate_limit=50.0, bias=[0.5, 0.0]))
    steps = np.abs(np.diff(u, axis=0))
    assert steps.max() == pytest.approx(0.5, abs=1e-12)
    assert u[:, 0].max() <= 7.5
    far = said(Actuated(Ramp(), 2, limit=(-3.0, [7.0, 9.0]), bias=[0.5, 0.0]))
    assert far[:, 0].max() == 7.5
    assert far[:, 1].min() == -3.0


def test_a_reset_forgets():
    policy = Actuated(Ramp(), 2, delay=0.03, rate_limit=50.0)
    np.testing.assert_array_equal(said(policy), said(policy))


def test_names_and_sizes():
    for wrong in (0.0, -1.0, np.nan, [1.0, 2.0], (2.0, 1.0), "much"):
        with pytest.raises(InputError, match="input_limit"):
            InputLimit.of(wrong, 3)
    with pytest.raises(InputError, match="policy"):
        Actuated(3, 2)


def test_a_delay_beyond_the_run_takes_no_memory():
    np.testing.assert_array_equal(said(Actuated(Ramp(), 2, delay=1e30)), np.zeros((20, 2)))
