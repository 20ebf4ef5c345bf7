"""One step of the classical Runge-Kutta method, for numbers and for expressions alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import casadi as ca

from trundle.checks import FloatArray

State = TypeVar("State", ca.SX, ca.MX, FloatArray)


def rk4_step(rate: Callable[[State, float], State], x: State, h: State | float) -> State:
    """Return the state after a step h: x + h/6 (k1 + 2 k2 + 2 k3 + k4), of order 4.

    k1 = f(x, 0), k2 = f(x + h/2 k1, 1/2), k3 = f(x + h/2 k2, 1/2), k4 = f(x + h k3, 1).

    Parameters
    ----------
    rate : callable
        f(x, s): the rate at the state `x` and the part s (0, 1/2 or 1) of the step.
    x : (n,) or (n, N) array, or a CasADi expression
    h : float or scalar expression

    Examples
    --------
    >>> import numpy as np
    >>> float(rk4_step(lambda x, s: -x, np.ones(1), 0.1)[0])
    0.9048375
    """
    k1 = rate(x, 0.0)
    k2 = rate(x + h / 2 * k1, 0.5)
    k3 = rate(x + h / 2 * k2, 0.5)
    k4 = rate(x + h * k3, 1.0)
    return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
