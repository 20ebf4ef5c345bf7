"""IntegralAction: what is left of the tasks' errors where the model is wrong, taken away over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, positive
from trundle.control.inverse_dynamics.command import Command, Flags
from trundle.numerics.compiled.compile import compile_function
from trundle.status import Status


@final
class IntegralAction:
    """Adds ki times the integral of a task's error to the acceleration that the task asks for.

        z' = e,  acceleration = ... + ki z,  |ki z| <= bound

    The integral stands still (anti-windup) while the program gives no command that keeps its limits, while one of them
    holds the tasks back (`Command.held_back`), and while the task is not served; unless it shrinks.

    Parameters
    ----------
    x, reference, touching : SX
        Symbols of `InverseDynamics`.
    errors : (k,) SX
        Of the tasks with an integral, reference minus value, times 1 while the task is served, else 0.
    places : sequence of int
        Of each, the entry of the reference that is its acceleration.
    ki : (k,)
        1/s3 for an error of a value, 1/s2 for one of a rate.
    bound : (k,)
        Largest acceleration added, m/s2 or rad/s2.
    period : float, s
        Between two calls.
    """

    def __init__(
        self,
        x: ca.SX,
        reference: ca.SX,
        touching: ca.SX,
        errors: ca.SX,
        places: Sequence[int],
        ki: ArrayLike,
        bound: ArrayLike,
        period: float,
    ) -> None:
        k = len(places)
        self._expressions = ca.Function("errors", [x, reference, touching], [ca.densify(errors)])
        self._function = compile_function(self._expressions)
        self._places = np.array(places, dtype=int)
        self._ki = array("ki", ki, (k,), minimum=0.0)
        self._bound = array("bound", bound, (k,), minimum=0.0)
        self._period = positive("period", period, "s")
        self.reset()

    def reset(self) -> None:
        """Forget the integrals."""
        self.added = np.zeros(len(self._places))
        """The accelerations (k,) that the integrals add now, m/s2 or rad/s2."""

    @property
    def size(self) -> int:
        """How many integrals there are."""
        return len(self._places)

    def add_to_reference(self, x: ca.MX, reference: ca.MX, touching: ca.MX, added: ca.MX) -> tuple[ca.MX, ca.MX]:
        """Return as expressions the reference with what the integrals add, and the errors (k,)."""
        wanted = ca.MX(reference)
        wanted[self._places.tolist()] += added
        return wanted, self._expressions(x, reference, touching)

    def step_integrals(self, added: ca.MX, errors: ca.MX, free: ca.MX) -> ca.MX:
        """Return as expressions what the integrals add after a period: free, or standing still unless they shrink."""
        bound = ca.DM(self._bound)
        after = ca.fmax(-bound, ca.fmin(added + ca.DM(self._ki * self._period) * errors, bound))
        shrinks = ca.fabs(after) < ca.fabs(added)
        return ca.if_else(ca.logic_or(ca.repmat(free, self.size, 1), shrinks), after, added)

    def correct_reference(self, reference: ArrayLike) -> FloatArray:
        """Return the reference (n_r,) with what the integrals add to its accelerations."""
        wanted = np.array(reference, dtype=np.float64)
        wanted[self._places] += self.added
        return wanted

    def take(self, state: FloatArray, reference: ArrayLike, touching: Flags, command: Command) -> None:
        """Integrate over the period that follows a call with this state and reference, and its command."""
        known = np.asarray(reference, dtype=np.float64)
        error = np.asarray(self._function(state, known, np.asarray(touching, dtype=np.float64))).ravel()
        if not np.all(np.isfinite(error)):
            return
        after = np.clip(self.added + self._ki * self._period * error, -self._bound, self._bound)
        free = command.status is Status.SUCCESS and not command.held_back
        self.added = np.where(free | (np.abs(after) < np.abs(self.added)), after, self.added)
