"""Recontact: margins that begin at zero and fall below it without ever having been seen above.

Gaps of contacts that came apart and close again, features and charts that a contact has just entered and leaves, and
forces that are at their bound and go beyond it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.optimize import brentq

from trundle.checks import FloatArray
from trundle.contact.laws import ARMED
from trundle.models.tree.system import ContactSystem
from trundle.numerics.ode.ode import Integration
from trundle.simulate.events.transitions import Event
from trundle.simulate.phase import MotionPhase

DEPTH = 1e-11
"""Of the size of the shape: how far below where it came apart such a contact lands, more than its pose is uncertain."""
BEYOND_BOUND = 4e-10
"""Of the weight: how far beyond its bound a force is that was at it as the mode began."""
_TIME_ROUND_OFF = 1e-13  # s: below it instants are one


def crossing(value: Callable[[float], float], t0: float, t1: float) -> float:
    """Return when `value`, positive at t0, reaches zero; where round-off alone keeps it from that, t0 or t1 itself.

    What was seen at t1 on the way of a longer integration is there again but for round-off.
    """
    at = cache(value)
    if not at(t0) > 0:
        return t0
    return float(brentq(at, t0, t1, xtol=_TIME_ROUND_OFF, rtol=1e-15)) if at(t1) < 0 else t1


def waiting_depths(
    system: ContactSystem, phase: MotionPhase, t: float, x: FloatArray, p: FloatArray, weight: float
) -> FloatArray:
    """Return the values (m,) of margins at which they end the mode that begins at the state `x`, though they waited.

    Of a gap (m), that at which a contact that came apart closes again: one that begins a little below zero has come
    apart there. Of a seam, that at which it is left: a point is handed over to its other side but for round-off. Of a
    force, that at which it is beyond its bound, by a part of the `weight` (N). -inf for all other margins.
    """
    values = phase.margin_values(t, x, p)
    names = {f"{pair.contact}.gap": i for i, pair in enumerate(system.contact_pairs)}
    depths = np.full(len(phase.margins), -np.inf)
    for k, name in enumerate(phase.margins):
        if name in names:
            i = names[name]
            depths[k] = min(values[name], 0.0) - DEPTH * system.contact_pairs[i].shape_A.reference_length
        elif phase.seams[k]:
            depths[k] = min(values[name], 0.0) - ARMED
        elif phase.loads[k]:
            depths[k] = min(values[name], 0.0) - BEYOND_BOUND * weight
    return depths


def recontact(
    system: ContactSystem,
    phase: MotionPhase,
    begin: float,
    done: Integration,
    p: FloatArray,
    waiting: np.ndarray,
    depths: FloatArray,
    state_at: Callable[[float], FloatArray],
) -> tuple[float, Event] | None:
    """Return when the first margin that waited falls below its depth without having been seen above zero, or None.

    Such a margin ends no mode before it was above zero: a hop too short for that, cut off by new torques, would go
    unseen, and a corner that is passed over within one step.

    Parameters
    ----------
    system, phase
    begin : float, s
        Of the interval that `done` has gone through, under the parameters `p`.
    done : Integration
    waiting : (m,) of bool
        Margins that were not armed when the interval began.
    depths : (m,)
        See `waiting_depths`.
    state_at : callable
        The state at a time of the interval.
    """
    if not np.any(waiting & np.isfinite(depths)):
        return None
    values = np.array(list(phase.margin_values(done.t_end, done.x_end, p).values()))
    found: list[tuple[float, Event]] = []
    for k in np.flatnonzero(waiting & (values < depths)):
        name, depth = phase.margins[k], float(depths[k])

        def above(t: float, name: str = name, depth: float = depth) -> float:
            """Return how far the margin is above the depth at which it ends the mode."""
            return phase.margin_values(t, state_at(t), p)[name] - depth

        instant = crossing(above, begin, done.t_end)
        found.append((instant, Event(system.number(name), name.split(".", 1)[1])))
    return min(found, key=lambda one: one[0], default=None)
