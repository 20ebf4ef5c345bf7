"""A measured walk: the angles nearest to its markers, and how well forces and torques are known."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import scipy.sparse as sp
from scipy.optimize import least_squares
from scipy.sparse.linalg import splu

from trundle.checks import FloatArray
from trundle.plan.transcription.transcription import MIDPOINT, NodeTrajectory, Transcription
from trundle.plan.walk.plan import WalkPlan
from trundle.problems.walking import Walking

_PRIOR = 1.0
"""rad, m: deviation from the crude guess, which stands for what markers do not show."""
_ACTIVE, _ROUND_OFF = 1e-6, 1e-10
_INSTANT = 0.005
"""Share of the cycle over which markers are averaged for the angles at a node."""


def fitted_guess(walking: Walking, crude: list[NodeTrajectory]) -> list[NodeTrajectory]:
    """Return `crude` with the coordinates nearest to the markers at every node, and rates that follow from them."""
    tracking, n = walking.tracking, walking.n
    assert tracking is not None
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
    states = np.split(np.hstack([q, nu]), sizes)
    return [replace(arc, x=x) for arc, x in zip(crude, states, strict=True)]


def _nearest(evaluate: ca.Function, measured: FloatArray, q: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    eye = np.eye(len(q)) / _PRIOR

    def off(at: FloatArray) -> FloatArray:
        return np.concatenate([np.array(evaluate(at, measured)[0]).ravel(), (at - q) / _PRIOR])

    def slope(at: FloatArray) -> FloatArray:
        return np.vstack([np.array(evaluate(at, measured)[1]), eye])

    inside = np.clip(q, low + 1e-6, high - 1e-6)
    return least_squares(off, inside, slope, bounds=(low, high), xtol=1e-6, ftol=1e-6).x


def deviations(walking: Walking, plan: WalkPlan) -> tuple[FloatArray, FloatArray]:
    """Return standard deviations of ground forces (N, 2, 3), N, and of torques (N, n - 6), N m, of each interval.

    Laplace's approximation: with N intervals whose errors are independent the posterior's logarithm is -N/2 J, J the
    cost, so that the covariance is 2/N times the upper left block of

        [ H  A' ]^-1
        [ A  0  ]

    with the Lagrangian's Hessian H and the rows A of all equations and active bounds, times the mean square of the
    residuals over their standard deviations where that is above 1.
    """
    from trundle.plan.walk.walking import meshes
    made = Transcription(walking.problem, meshes(walking), MIDPOINT)
    program, z = made.program, plan.z
    rows, size = program.rows, program.size
    H = program.hessian(z, 1.0, plan.dual[:rows])
    H = H + sp.tril(H, -1).T if (H != H.T).nnz else H
    values = np.concatenate([program.evaluate(z)[1], z])
    lower = np.concatenate([program.lower, program.z_lower])
    upper = np.concatenate([program.upper, program.z_upper])
    active = np.minimum(values - lower, upper - values) < _ACTIVE
    A = sp.vstack([program.jacobian(z), sp.identity(size)]).tocsr()[np.flatnonzero(active)]
    K = sp.bmat([[H, A.T], [A, -_ROUND_OFF * sp.identity(A.shape[0])]]).tocsc()
    solver = splu(K)
    return K, solver, H, A, made
