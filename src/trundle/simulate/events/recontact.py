"""Recontact: contacts that came apart and close again without their gap ever having been open."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.optimize import brentq

from trundle.checks import FloatArray
from trundle.models.tree.system import ContactSystem
from trundle.numerics.ode.ode import Integration
from trundle.simulate.compiled_mode import CompiledMode
from trundle.simulate.events.transitions import Event

DEPTH = 1e-7
"""m, at which such a contact lands."""
_TIME_ROUND_OFF = 1e-13


def crossing(value: Callable[[float], float], t0: float, t1: float) -> float:
    """Return when `value`, positive at t0, reaches zero; where round-off alone keeps it from that, t0 or t1 itself.

    What was seen at t1 on the way of a longer integration is there again but for round-off.
    """
    at = cache(value)
    if not at(t0) > 0:
        return t0
    return float(brentq(at, t0, t1, xtol=_TIME_ROUND_OFF, rtol=1e-15)) if at(t1) < 0 else t1


def recontact(
    system: ContactSystem,
    phase: CompiledMode,
    begin: float,
    done: Integration,
    p: FloatArray,
    armed: np.ndarray,
    state_at: Callable[[float], FloatArray],
) -> tuple[float, Event] | None:
    """Return when the first contact closes again that came apart and penetrates without having been open, or None.

    Such a gap ends no mode before it was open: a hop too short for that, cut off by new torques, would go unseen.

    Parameters
    ----------
    system, phase
    begin : float, s
        Of the interval that `done` has gone through, under the parameters `p`.
    done : Integration
    armed : (m,) of bool
        Which margins may end the mode.
    state_at : callable
        The state at a time of the interval.
    """
    waiting = [name for name, ready in zip(phase.margins, armed, strict=True) if not ready and name.endswith(".gap")]
    if not waiting:
        return None
    values = phase.margin_values(done.t_end, done.x_end, p)
    found: list[tuple[float, Event]] = []
    for name in waiting:
        if not values[name] < -DEPTH:
            continue

        def above(t: float, name: str = name) -> float:
            """Return how far the gap is above the depth at which it lands."""
            return phase.margin_values(t, state_at(t), p)[name] + DEPTH

        instant = crossing(above, begin, done.t_end)
        found.append((instant, Event(system.number(name), "gap")))
    return min(found, key=lambda one: one[0], default=None)
