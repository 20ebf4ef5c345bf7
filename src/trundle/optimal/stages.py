"""A phase as stages for the real-time optimiser: limits become relaxed barriers, equations strong penalties."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from trundle.checks import integer, positive
from trundle.errors import InputError
from trundle.numerics.ilqr.stage import ControlProblem, Cost, midpoint
from trundle.optimal.phase import Condition, Phase


def control_problem(
    phase: Phase,
    stages: int,
    *,
    mu: float = 0.1,
    delta: float = 0.1,
    equation_weight: float = 1e3,
    p: ca.SX | None = None,
    stage: Cost | None = None,
    end: Cost | None = None,
) -> ControlProblem:
    """Return a phase of fixed duration T as N stages of the midpoint rule, h = T / N.

    The running cost enters as h L(x, u), bounds and path conditions as relaxed barriers, equations as
    ``equation_weight`` / 2 r^2; conditions at the start are left out, since x_0 is given.

    Parameters
    ----------
    phase : Phase
    stages : int
        N.
    mu, delta : float
        Of the barriers; see `trundle.numerics.ilqr.stage.relaxed_barrier`.
    equation_weight : float
    p : (n_p,), optional
        Parameter symbols of `stage` and `end`.
    stage, end : Cost, optional
        Added to the phase's own, with references and weights among p.

    Raises
    ------
    InputError
        If the duration is free, or a condition at the end contains u.
    """
    count = integer("stages", stages, minimum=1)
    if phase.free:
        raise InputError(f"{phase.name}.duration", phase.duration, "fixed: the stages have one length")
    for condition in phase.end:
        if ca.depends_on(condition.expression, phase.u):
            raise InputError(f"{phase.name}.end", condition.name, "an expression of x: the last stage has no input")
    numbers = {"mu": positive("mu", mu), "delta": positive("delta", delta)}
    weight = positive("equation_weight", equation_weight)
    x, u, h = phase.x, phase.u, phase.duration[0] / count
    bounds = [Condition("x_bounds", x, *phase.x_bounds), Condition("u_bounds", u, *phase.u_bounds)]
    along = _cost(h * phase.running, [*bounds, *phase.path], numbers, weight)
    finish = _cost(phase.terminal, [bounds[0], *phase.end], numbers, weight)
    step, jacobian = midpoint(phase.rate, x, u, h)
    symbols = ca.SX(0, 1) if p is None else p
    return ControlProblem(x, u, symbols, step, _sum(along, stage), _sum(finish, end), count, jacobian)


def _cost(smooth: ca.SX, conditions: Sequence[Condition], barrier: dict[str, float], weight: float) -> Cost:
    residuals, margins = [], []
    for condition in conditions:
        e, low, high = condition.expression, np.asarray(condition.lower), np.asarray(condition.upper)
        for i in range(condition.size):
            if low[i] == high[i]:
                residuals.append(e[i] - low[i])
                continue
            if np.isfinite(low[i]):
                margins.append(e[i] - low[i])
            if np.isfinite(high[i]):
                margins.append(high[i] - e[i])
    return Cost(_stack(residuals), weight, _stack(margins), smooth=smooth, **barrier)


def _stack(rows: list[ca.SX]) -> ca.SX:
    return ca.vertcat(*rows) if rows else ca.SX(0, 1)


def _sum(a: Cost, b: Cost | None) -> Cost:
    if b is None:
        return a
    parts = {
        name: ca.vertcat(getattr(a, name), getattr(b, name))
        for name in ("residual", "weights", "inequality", "mu", "delta", "fade")
    }
    return Cost(**parts, smooth=a.smooth + b.smooth)
