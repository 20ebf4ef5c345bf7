"""A policy of sampled inverse dynamics, with what to do when there is no solution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from trundle.checks import FloatArray, positive
from trundle.control.id_command import Command
from trundle.control.inverse_dynamics import InverseDynamics
from trundle.errors import InputError
from trundle.status import Status

Fallback = Callable[[FloatArray, FloatArray], FloatArray]
"""(state, last torques) -> torques (n_u,)."""


def hold(state: FloatArray, last: FloatArray) -> FloatArray:
    """Return the last torques that were good."""
    return last


def let_go(state: FloatArray, last: FloatArray) -> FloatArray:
    """Return no torques."""
    return np.zeros_like(last)


FALLBACKS: dict[str, Fallback] = {"hold": hold, "let-go": let_go}


class InverseDynamicsPolicy:
    """Calls an `InverseDynamics` once a period and holds its torques.

    Parameters
    ----------
    controller : InverseDynamics
    reference : callable
        Maps time (s) to the controller's reference (n_r,).
    period : float, s
    fallback : "hold", "let-go" or callable
        Torques where no command is usable; what happened is in `statuses` and in `command`.

    Attributes
    ----------
    command : Command or None
        The last one, usable or not.
    statuses : Counter
        How many commands ended with which `Status` since `reset`.
    """

    def __init__(
        self,
        controller: InverseDynamics,
        reference: Callable[[float], Any],
        period: float,
        fallback: str | Fallback = "hold",
    ) -> None:
        if not callable(fallback) and fallback not in FALLBACKS:
            raise InputError("fallback", fallback, "'hold', 'let-go' or a function of (state, last torques)")
        self._controller = controller
        self._reference = reference
        self._period = positive("period", period, "s")
        self._fallback = fallback if callable(fallback) else FALLBACKS[fallback]
        self.reset()

    @property
    def period(self) -> float:
        """Time between two calls, s."""
        return self._period

    def reset(self) -> None:
        """Forget the last torques and the counts."""
        self.command: Command | None = None
        self.statuses: Counter[Status] = Counter()
        self._last = np.zeros(self._controller.shape.n_u)

    def __call__(self, time: float, state: FloatArray) -> FloatArray:
        """Return the model's input for the measured `state` (n_x,)."""
        last = self._last if self._controller.remembers else ()
        self.command = command = self._controller(state, self._reference(time), last)
        self.statuses[command.status] += 1
        self._last = command.u if command.usable else self._fallback(state, self._last)
        return self._controller.inputs(self._last)
