"""What goes into a call of the real-time optimiser and comes out: limits, guesses, solutions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trundle.checks import FloatArray, integer, number, positive
from trundle.status import Status


@dataclass(frozen=True)
class Limits:
    """When the optimiser stops.

    Attributes
    ----------
    iterations : int
        Most iterations: derivatives, Riccati recursion and roll-out.
    seconds : float
        Time budget; no iteration begins that would end later if it took as long as the one before.
    tolerance : float
        Success: the step promises to lower the cost by at most this, over max(1, |cost|), but over no more than 100
        times what the cost is or was, and no gap is left.
    halvings : int
        Most halvings of a step.

    Examples
    --------
    >>> import trundle as tr
    >>> tr.optimal.Limits(iterations=5).iterations
    5
    """

    iterations: int = 100
    seconds: float = math.inf
    tolerance: float = 1e-9
    halvings: int = 10

    def __post_init__(self) -> None:
        integer("iterations", self.iterations, minimum=0)
        if not self.seconds == math.inf:
            positive("seconds", self.seconds, "s")
        number("tolerance", self.tolerance, minimum=0.0)
        integer("halvings", self.halvings, minimum=0)


@dataclass(frozen=True, eq=False)
class Guess:
    """Where to begin.

    Parameters
    ----------
    inputs : (N, n_u)
    states : (N + 1, n_x), optional
        Without gains they are kept, and the gaps of the dynamics are closed by the iterations; needed for unstable
        systems without gains.
    gains : (N, n_u, n_x), optional
        With states: the start is the roll-out of u + K (x - x_guess), whatever the measured state.

    Examples
    --------
    >>> import trundle as tr
    >>> import numpy as np
    >>> tr.optimal.Guess(np.array([[1.0], [3.0]])).shifted(0.5).inputs.tolist()
    [[2.0], [3.0]]
    """

    inputs: FloatArray
    states: FloatArray | None = None
    gains: FloatArray | None = None

    def shifted(self, stages: float) -> Guess:
        """Return the guess that many stages later, linear in between; the last stage is held."""
        count = len(self.inputs)
        at = np.minimum(np.arange(count) + stages, count - 1.0)
        states = None
        if self.states is not None:
            states = _interpolate(self.states, np.minimum(np.arange(count + 1) + stages, float(count)))
        gains = None if self.gains is None else _interpolate(self.gains, at)
        return Guess(_interpolate(self.inputs, at), states, gains)


@dataclass(frozen=True, eq=False)
class ControlSolution:
    """What the optimiser ended with.

    Attributes
    ----------
    status : Status
        SUCCESS, ITERATION_LIMIT, TIME_LIMIT, NOT_CONVERGED (no step lowers the cost) or NOT_FINITE.
    states, inputs : (N + 1, n_x), (N, n_u)
    gains : (N, n_u, n_x)
        Feedback about the states: u = inputs + gains (x - states).
    cost : float
    decrease : float
        What the last linear-quadratic step promised to take off the cost; NaN before the first iteration.
    gradient : float
        Largest |dJ/du| at the point where that step began.
    gap : float
        Largest |F(x_k, u_k) - x_(k+1)| left.
    iterations : int
    seconds : float

    Examples
    --------
    >>> import numpy as np
    >>> found = tr.optimal.ControlSolution(
    ...     tr.Status.SUCCESS, np.zeros((3, 1)), np.ones((2, 1)), np.full((2, 1, 1), -0.5), cost=1.0
    ... )
    >>> measured = np.array([0.2])
    >>> found.inputs[0] + found.gains[0] @ (measured - found.states[0])
    array([0.9])
    """

    status: Status
    states: FloatArray
    inputs: FloatArray
    gains: FloatArray
    cost: float
    decrease: float = math.nan
    gradient: float = math.nan
    gap: float = 0.0
    iterations: int = 0
    seconds: float = 0.0

    def guess(self, stages: float = 0.0) -> Guess:
        """Return the warm start of a solution wanted `stages` later."""
        return Guess(self.inputs, self.states, self.gains).shifted(stages)


def cheapest(found: Sequence[ControlSolution]) -> ControlSolution:
    """Return the solution of least cost among those without gaps; one with gaps or without numbers only if alone."""
    return min(found, key=lambda s: (s.gap > 1e-6, s.cost) if math.isfinite(s.cost) else (True, math.inf))


def _interpolate(values: FloatArray, at: FloatArray) -> FloatArray:
    low = np.minimum(at.astype(int), len(values) - 1)
    high = np.minimum(low + 1, len(values) - 1)
    share = (at - low).reshape(-1, *([1] * (values.ndim - 1)))
    with np.errstate(invalid="ignore"):  # what diverged has no numbers in between either
        return (1.0 - share) * values[low] + share * values[high]
