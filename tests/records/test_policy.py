"""Times of a policy's calls: those in which nothing was decided say nothing about a controller."""

from __future__ import annotations

import time

import numpy as np
import pytest

import trundle as tr
from trundle.records.policy import TimedPolicy


class Slow:
    period = 0.01

    def reset(self) -> None:
        """Nothing is remembered."""

    def __call__(self, now: float, state: np.ndarray) -> np.ndarray:
        time.sleep(2e-3)
        return np.array([now])


@pytest.mark.parametrize("delay", [0.0, 0.004, 0.01])
def test_calls_that_only_hand_over_what_arrives_are_not_timed(delay: float) -> None:
    wrapped = tr.Noisy(tr.Delayed(Slow(), delay, [0.0]), 0.0)
    timed = TimedPolicy(wrapped)
    assert wrapped.period is not None
    every = round(Slow.period / wrapped.period)
    for k in range(10 * every):
        timed(k * wrapped.period, np.zeros(2))
    assert len(timed.calls) == 10
    assert min(timed.calls) > 1e-3
    assert timed.period == Slow.period
