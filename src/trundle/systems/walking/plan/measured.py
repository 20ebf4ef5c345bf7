"""A measured walk: the angles nearest to its markers, and how well forces and torques are known."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import scipy.sparse as sp
from scipy.optimize import least_squares
from scipy.sparse.linalg import splu

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.optimal.transcription.transcription import NodeTrajectory, Transcription
from trundle.systems.walking.gait.tracking import Tracking
from trundle.systems.walking.gait.walking import SIDES, Walking
from trundle.systems.walking.plan.plan import WalkPlan

_PRIOR = 1.0
"""rad, m: deviation from the crude guess, which stands for what markers do not show."""
_INSTANT = 0.005
"""Share of the cycle over which markers are averaged for the angles at a node."""
_ACTIVE, _ROUND_OFF = 1e-6, 1e-10
"""Distance at which a bound counts as active; what keeps dependent rows solvable."""


def fitted_guess(walking: Walking, crude: list[NodeTrajectory]) -> list[NodeTrajectory]:
    """Return `crude` with the coordinates nearest to the markers at every node, and rates that follow from them."""
    tracking, n = _tracking(walking), walking.n
    tracked = walking.tracked
    count = sum(what in tracking.places for _, what, _ in tracked.names)
    off = tracked.residuals[:count]
    slopes = ca.jacobian(off, walking.q)
    evaluate = ca.Function("off", [walking.q, tracked.measured], [off, slopes], {"cse": True})
    low, high = (bound[:n] for bound in walking.problem.phases[0].x_bounds)
    begin, times, fitted = 0.0, [], []
    for arc in crude:
        times.append(begin + arc.times)
        begin += arc.times[-1]
    for t, q in zip(np.concatenate(times), np.concatenate([arc.x[:, :n] for arc in crude]), strict=True):
        fitted.append(_nearest(evaluate, tracking.at(t / tracking.period, _INSTANT), q, low, high))
    q = np.array(fitted)
    sizes = np.cumsum([len(arc.x) for arc in crude])[:-1]
    whole = np.concatenate(times)
    # The end of a phase is the start of the next: rates come from a curve without double points, and its mirror image.
    once = np.flatnonzero(np.append(np.diff(whole) > 0, True))
    t, x, step = whole[once], q[once], whole[-1]
    extended = np.vstack([x[-4:-1] @ walking.mirror.T, x, x[1:4] @ walking.mirror.T])
    rate = np.gradient(extended, np.concatenate([t[-4:-1] - step, t, t[1:4] + step]), axis=0)[3:-3]
    nu = np.array([np.interp(whole, t, column) for column in rate.T]).T
    nu[:, 0] += walking.gait.speed
    states = np.split(walking.states(q, nu), sizes)
    return [replace(arc, x=x) for arc, x in zip(crude, states, strict=True)]


def _nearest(
    evaluate: ca.Function, measured: FloatArray, q: FloatArray, low: FloatArray, high: FloatArray
) -> FloatArray:
    eye = np.eye(len(q)) / _PRIOR

    def off(at: FloatArray) -> FloatArray:
        return np.concatenate([np.array(evaluate(at, measured)[0]).ravel(), (at - q) / _PRIOR])

    def slope(at: FloatArray) -> FloatArray:
        return np.vstack([np.array(evaluate(at, measured)[1]), eye])

    inside = np.clip(q, low + 1e-6, high - 1e-6)
    return least_squares(off, inside, slope, bounds=(low, high), xtol=1e-6, ftol=1e-6).x


def residuals(walking: Walking, plan: WalkPlan) -> FloatArray:
    """Return the residuals of a plan over their standard deviations (N, m), as `Tracked.names` says."""
    tracking = _tracking(walking)
    x = (plan.q[1:] + plan.q[:-1]) / 2
    x[:, 0] -= walking.gait.speed * (plan.times[1:] + plan.times[:-1]) / 2
    u = np.zeros((len(x), sum(symbol.numel() for symbol in walking.inputs.values())))
    for i, side in enumerate(SIDES):
        u[:, walking.places()[f"force-{side}-{walking.sole.modes[0]}"]] = plan.force[:, i] / walking.weight
    measured = np.vstack([tracking.signals(phase, walking.gait) for phase in range(len(walking.supports))])
    inputs = [walking.q, ca.vertcat(*walking.inputs.values()), walking.tracked.measured]
    off = ca.Function("off", inputs, [walking.tracked.residuals], {"cse": True})
    return np.array(off.map(len(x))(x.T, u.T, measured.T)).T


def deviations(walking: Walking, plan: WalkPlan, made: Transcription) -> tuple[FloatArray, FloatArray]:
    """Return standard deviations of ground forces (N, 2, 3), N, and of torques (N, n - 6), N m, of each interval.

    Laplace's approximation: with independent errors in the N intervals the logarithm of the posterior is -N/2 J, J the
    cost, so that the covariance is 2/N times the upper left block of

        [ H  A' ]^-1
        [ A  0  ]

    with the Lagrangian's Hessian H and the rows A of all equations and active bounds; and times the mean square of the
    residuals over their standard deviations, where that is above 1.
    """
    program, z = made.program, plan.z
    values = np.concatenate([program.evaluate(z)[1], z])
    bounds = ((program.lower, program.z_lower), (program.upper, program.z_upper))
    lower, upper = (np.concatenate([np.asarray(part) for part in pair]) for pair in bounds)
    active = np.flatnonzero(np.minimum(values - lower, upper - values) < _ACTIVE)
    A = sp.vstack([program.jacobian(z), sp.identity(program.size)]).tocsr()[active]
    H = program.hessian(z, 1.0, plan.dual[: program.rows])
    # Rows that depend on each other make the block singular: multipliers are then those of least norm.
    factors = splu(sp.bmat([[H, A.T], [A, -_ROUND_OFF * sp.identity(len(active))]]).tocsc())
    inputs = np.vstack(made.input_places)
    scale = 2 / len(inputs) * max(1.0, float(np.mean(residuals(walking, plan) ** 2)))

    def of(name: str, unit: FloatArray | float) -> FloatArray:
        at = inputs[:, walking.places()[name]]
        units = sp.csc_matrix((np.ones(at.size), (at.ravel(), np.arange(at.size))), (factors.shape[0], at.size))
        variance = factors.solve(units.toarray())[at.ravel(), np.arange(at.size)]
        return np.sqrt(scale * np.maximum(variance, 0.0)).reshape(at.shape) * unit

    forces = [of(f"force-{side}-{walking.sole.modes[0]}", walking.weight) for side in SIDES]
    return np.stack(forces, axis=1), of("torque", walking.references)


def _tracking(walking: Walking) -> Tracking:
    if walking.tracking is None:
        raise InputError("tracking", None, "the measurements of a walk")
    return walking.tracking
