"""The controller: a linear-quadratic regulator of the ball's place on the table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_continuous_are

import trundle as tr
from trundle.control.regulators import Linearization, LocalError, in_rolling_coordinates
from trundle.models import Start

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Regulator:
    """u = -K e: a `Policy` that tilts the table about x and y; how the ball is turned does not count.

    Parameters
    ----------
    pair : RollingPair
    target : Start
        The equilibrium.
    weights : mapping of str to float
        Of the parts of e by their names in `LocalError.blocks`.
    effort : float
        Weight of the angular acceleration.
    limit : float, rad/s2
    period : float, s
    """

    pair: tr.RollingPair
    target: Start
    weights: dict[str, float]
    effort: float
    limit: float
    period: float

    def reset(self) -> None:
        """Forget nothing: the gains are constant."""

    def __call__(self, time: float, state: Array) -> Array:
        """Return the derivative of the table's twist (6,) for a measured state."""
        error = self._error.between(self._reference, self._error.of_state(state))
        u = np.zeros(self._error.inputs)
        u[:2] = np.clip(-self._gains @ error[self._used], -self.limit, self.limit)
        return u

    @cached_property
    def _goal(self) -> Start:
        return in_rolling_coordinates(self.pair, self.target)

    @cached_property
    def _error(self) -> LocalError:
        return LocalError(self.pair, self._goal.atlas)

    @cached_property
    def _reference(self) -> Array:
        return self._error.of_reference(self._goal.x)

    @cached_property
    def _used(self) -> list[int]:
        """Numbers of the entries of e that are fed back: x and y of the parts that have a weight."""
        return [self._error.blocks[name].start + i for name in self.weights for i in range(2)]

    @cached_property
    def _gains(self) -> Array:
        A, B = Linearization(self._error).along(self._goal.x[None], np.zeros((1, self._error.inputs)))
        A, B = A[0][np.ix_(self._used, self._used)], B[0][self._used, :2]
        Q, R = np.diag(np.repeat(list(self.weights.values()), 2)), self.effort * np.eye(2)
        return np.linalg.solve(R, B.T @ solve_continuous_are(A, B, Q, R))
