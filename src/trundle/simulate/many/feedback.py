"""LinearFeedback: the policy that compiled runs know by its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, number, positive
from trundle.errors import ControlLostError, InputError
from trundle.status import Status


@final
@dataclass(frozen=True, eq=False)
class LinearFeedback:
    """Inputs by a table, and a linear law about a reference: u = inputs[k] - gains[k] (x - states[k]) in period k.

    After the table's end its last row holds. As a policy of `simulate` it gives the numbers that `simulate_many` gives.

    Parameters
    ----------
    period : float, s
    inputs : (n, n_u)
        In the units of the model's inputs.
    gains : (n, n_u, n_x) or (n_u, n_x), optional
        Zero unless given: open loop.
    states : (n, n_x) or (n_x,), optional
        Given with gains.
    low, high : (n_u,) or float
        Limits of the input, which feedback keeps.

    Raises
    ------
    InputError
        If a shape does not fit, or gains come without states.

    Examples
    --------
    >>> push = tr.LinearFeedback(0.1, [[1.0], [0.0]])  # N for 0.1 s, then none
    >>> push(0.05, np.zeros(4)).tolist(), push(3.0, np.zeros(4)).tolist()
    ([1.0], [0.0])
    """

    period: float
    inputs: ArrayLike
    gains: ArrayLike | None = None
    states: ArrayLike | None = None
    low: ArrayLike = -np.inf
    high: ArrayLike = np.inf

    def __post_init__(self) -> None:
        positive("period", self.period, "s")
        inputs = array("inputs", self.inputs, (None, None))
        n, n_u = inputs.shape
        if not n:
            raise InputError("inputs", self.inputs, "at least one row")
        object.__setattr__(self, "inputs", inputs)
        if (self.gains is None) != (self.states is None):
            raise InputError("states", self.states, "given with gains, and only then")
        if self.gains is not None and self.states is not None:
            states = np.asarray(self.states, dtype=np.float64)
            n_x = states.shape[-1] if states.ndim else 0
            for name, value, shape in (("gains", self.gains, (n, n_u, n_x)), ("states", states, (n, n_x))):
                given = array(name, value, shape if np.ndim(value) == len(shape) else shape[1:])
                object.__setattr__(self, name, np.ascontiguousarray(np.broadcast_to(given, shape)))
        for name in ("low", "high"):
            value = np.broadcast_to(np.asarray(getattr(self, name), dtype=np.float64), (n_u,))
            if np.any(np.isnan(value)):
                raise InputError(name, getattr(self, name), f"a number, or {n_u} numbers")
            object.__setattr__(self, name, value)

    def reset(self) -> None:
        """Forget nothing: the law has no memory."""

    def index(self, time: float) -> int:
        """Return the row of the table that holds at `time` (s)."""
        periods = number("time", time, unit="s") / self.period
        return int(min(max(periods + 1e-9, 0.0), len(np.asarray(self.inputs)) - 1))

    def __call__(self, time: float, state: FloatArray) -> FloatArray:
        """Return the input (n_u,) at `time` (s) for the `state` (n_x,)."""
        inputs, k = np.asarray(self.inputs), self.index(time)
        if self.gains is None or self.states is None:
            return inputs[k]
        size = np.shape(self.states)[1]
        if np.shape(state) != (size,) or not np.issubdtype(np.asarray(state).dtype, np.number):
            raise InputError("state", state, f"an array of {size} numbers, those of the model's state")
        if not np.all(np.isfinite(state)):
            raise ControlLostError("the measurement is not finite", Status.NOT_FINITE)
        u, about = inputs[k].copy(), np.asarray(self.states)[k].tolist()
        # In the order of the compiled loop, so that the numbers are the same.
        for i, row in enumerate(np.asarray(self.gains)[k]):
            back = 0.0
            for gain, value, reference in zip(row.tolist(), state.tolist(), about, strict=True):
                back += gain * (value - reference)
            u[i] -= back
        return np.minimum(np.maximum(u, self.low), self.high)
