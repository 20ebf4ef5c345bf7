"""The controller: a linear-quadratic regulator of the ball's place on the table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_continuous_are

from tilting_table.schema import ControllerTable
from trundle import RollingPair
from trundle.control import Linearization, LocalError, in_rolling_coordinates


class Regulator:
    """u = -K e about rest at the target: a `Policy` that tilts the table about x and y; how the ball lies is free."""

    def __init__(self, pair: RollingPair, table: ControllerTable) -> None:
        goal = in_rolling_coordinates(pair, pair.place(contact_on_hand=(*table.target, 0.0)))
        self.period, self._limit = table.period, table.limit
        self._error = LocalError(pair, goal.atlas)
        self._goal = self._error.of_reference(goal.x)
        parts = ("hand_rotation", "contact", "hand_angular_velocity", "relative_velocity")
        self._used = [self._error.blocks[name].start + axis for name in parts for axis in (0, 1)]
        A, B = Linearization(self._error).along(goal.x[None], np.zeros((1, self._error.inputs)))
        A, B = A[0][np.ix_(self._used, self._used)], B[0][self._used, :2]
        spin = table.velocity * pair.body.shape.reference_length**2  # it rolls: v = r w
        Q = np.diag(np.repeat([table.tilt, table.position, table.tilt_rate, spin], 2))
        self._K = B.T @ solve_continuous_are(A, B, Q, table.acceleration * np.eye(2)) / table.acceleration

    def reset(self) -> None:
        """Nothing is learned that could be forgotten."""

    def __call__(self, time: float, state: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivative of the table's twist (6,) for a measured state."""
        e = self._error.between(self._goal, self._error.of_state(state))[self._used]
        return np.append(np.clip(-self._K @ e, -self._limit, self._limit), np.zeros(4))
