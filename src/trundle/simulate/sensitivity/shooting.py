"""Multiple shooting: long measured motions in windows, each with a start of its own (Bock 1983)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import least_squares

from trundle.checks import FloatArray, positive
from trundle.errors import InputError, SimulationError
from trundle.models.tree.system import ContactSystem
from trundle.simulate.many.feedback import LinearFeedback
from trundle.simulate.run import first_of
from trundle.simulate.sensitivity.forward import carry_directions
from trundle.simulate.sensitivity.pieces import RunPiece, coordinates
from trundle.simulate.sensitivity.trace import trace_run
from trundle.status import Status

_PRIOR = 1e-2
"""Weight with which a window's start stays where the window before it ends, while it is guessed from its own data."""


def windows_of(system: ContactSystem, piece: RunPiece, window: float, relative_tolerance: float) -> list[RunPiece]:
    """Return a piece cut in windows of about this length (s), whose starts are guessed one after the other.

    Each begins where the one before ends, moved to where its own data fit best.
    """
    if any(not motion.is_still(0.0) for motion in system.motions.values()):
        raise InputError("window", window, "left out where a hand's motion depends on time")
    policy = piece.policy
    each = positive("window", window, "s")
    if policy is not None and abs(each / policy.period - round(each / policy.period)) > 1e-9:
        raise InputError("window", window, f"a multiple of the policy's period, {policy.period:g} s")
    cuts, t = [0], piece.times
    while (later := int(np.searchsorted(t, t[cuts[-1]] + each * (1 - 1e-9)))) < len(t) - 1:
        if policy is not None and abs(t[later] / policy.period - round(t[later] / policy.period)) > 1e-6:
            raise InputError("times", t[later], "sampled where windows end, at calls of the policy")
        cuts.append(later)
    found: list[RunPiece] = []
    for first, last in zip(cuts, [*cuts[1:], len(t) - 1], strict=True):
        part = replace(
            piece,
            times=t[first : last + 1] - t[first],
            values=piece.values[first : last + 1].copy(),
            policy=_later(policy, float(t[first])),
        )
        if first:
            part.values[0] = np.nan  # the window before has it
            part = _fit_start(system, _following(system, found[-1], part, relative_tolerance), relative_tolerance)
        found.append(part)
    return found


def _following(system: ContactSystem, before: RunPiece, part: RunPiece, relative_tolerance: float) -> RunPiece:
    """Return a window that begins where the one before ends, free to move."""
    runner = before.runner(system, relative_tolerance)
    status = runner.run(first_of(system, before.start), float(before.times[-1]))
    if status is not Status.SUCCESS:
        raise SimulationError("the motion of the first guess ends before the data", status)
    last = runner.log.segments[-1]
    start = system.start(last.states[-1], last.phase.mode.atlas, last.phase.mode.laws)
    X, P = coordinates(system, start, None)
    return replace(part, start=start, directions=X, rows=P)


def _fit_start(system: ContactSystem, part: RunPiece, relative_tolerance: float) -> RunPiece:
    """Return a window with its start moved to where its data fit best."""
    n = 0 if system.free is None else len(system.free.names)
    size = int(np.sum(~np.isnan(part.values)))

    def residuals(z: FloatArray) -> FloatArray:
        states = part.states(system, z, relative_tolerance)
        off = np.full(size, np.inf) if states is None else part.off(states)
        return np.concatenate([off, _PRIOR * z])

    def jacobian(z: FloatArray) -> FloatArray:
        trace = trace_run(part.runner(system, relative_tolerance), part.begin_at(system, z))
        slope = part.slope(carry_directions(trace, part.along(system, z)).derivatives)
        return np.vstack([slope[:, n:], _PRIOR * np.eye(len(z))])

    solved = least_squares(residuals, np.zeros(part.directions.shape[1]), jacobian, xtol=1e-6, ftol=1e-6)
    start = part.begin_at(system, np.asarray(solved.x))
    X, P = coordinates(system, start, None)
    return replace(part, start=start, directions=X, rows=P)


def _later(policy: LinearFeedback | None, time: float) -> LinearFeedback | None:
    """Return a policy as it goes on from a `time` (s)."""
    if policy is None or not time:
        return policy
    k = policy.index(time)
    gains, states = (None if rows is None else np.asarray(rows)[k:] for rows in (policy.gains, policy.states))
    return replace(policy, inputs=np.asarray(policy.inputs)[k:], gains=gains, states=states)
