"""Actuated: what stands between a controller and the motion of a hand or a joint, as limits, lag and errors."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, non_negative
from trundle.control.regulators import InputBound, InputLimit
from trundle.records import Policy
from trundle.records.policy import AroundPolicy, period_of


@dataclass(eq=False)
class Actuated(AroundPolicy):
    """A policy whose input comes late, is limited in size and rate, and has a constant error (final).

    In this order: gain u(t - delay) (zero before there is one), saturation, rate limit from one call to the next, bias.
    The bias is an error of the drives: no limit holds it back.

    Parameters
    ----------
    policy : Policy
    size : int
        Number of inputs.
    delay : float, s
        Rounded up to whole periods.
    limit : see `InputLimit.of`
    rate_limit : number or (n_u,), rad/s3 and m/s3
        Largest rate of change; the first input is free.
    bias : number or (n_u,), in the input's units
    gain : number or (n_u,)
        What the drives make of a unit of input.

    Examples
    --------
    >>> import numpy as np
    >>> class Full:
    ...     period = 0.01
    ...
    ...     def reset(self):
    ...         pass
    ...
    ...     def __call__(self, time, state):
    ...         return np.array([5.0])
    >>> drive = Actuated(Full(), size=1, delay=0.01, limit=2.0)
    >>> [float(drive(time, np.zeros(1))[0]) for time in (0.0, 0.01)]
    [0.0, 2.0]
    """

    policy: Policy
    size: int
    delay: float = 0.0
    limit: InputBound = None
    rate_limit: InputBound = None
    bias: ArrayLike = 0.0
    gain: ArrayLike = 1.0

    def __post_init__(self) -> None:
        period = period_of(self.policy)
        self._late = int(np.ceil(non_negative("delay", self.delay, "s") / period - 1e-6))
        self._limit = InputLimit.of(self.limit, self.size, "limit")
        rates = InputLimit.of(self.rate_limit, self.size, "rate_limit")
        self._step = InputLimit(rates.low * period, rates.high * period)
        self._bias, self._gain = (
            array(key, np.full(self.size, value) if np.ndim(value) == 0 else value, (self.size,))
            for key, value in (("bias", self.bias), ("gain", self.gain))
        )
        self.reset()

    def reset(self) -> None:
        """Forget the last run."""
        self.policy.reset()
        self._queue: deque[FloatArray] = deque()
        self._last: FloatArray | None = None

    def __call__(self, time: float, state: FloatArray) -> FloatArray:
        """Return the input (n_u,) that the hand gets."""
        self._queue.append(array("policy", self.policy(time, state), (self.size,)))
        known = self._queue.popleft() if len(self._queue) > self._late else np.zeros(self.size)
        u = self._limit.apply(self._gain * known)
        if self._last is not None:
            u = self._last + self._step.apply(u - self._last)
        self._last = u
        return u + self._bias
