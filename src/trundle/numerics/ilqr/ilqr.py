"""The real-time optimiser: iterative linear-quadratic regulator with feedback roll-out."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, number
from trundle.errors import InputError
from trundle.numerics.ilqr.backend import Backend
from trundle.numerics.ilqr.solution import ControlSolution, Guess, Limits
from trundle.numerics.ilqr.stage import ControlProblem
from trundle.status import Status
from trundle.threads import PerThread

_ARMIJO = 1e-4  # part of the promised decrease that a step must keep, as usual
_LARGEST_RHO = 1e8  # of the regularisation: beyond it a solution has failed
DEFAULT_LIMITS = Limits()
_FAINT = 100.0
"""Costs below 1/100 are judged by their own size, to this many tolerances."""
_CLOSED = 1e-10
"""A gap this small, over max(1, |x|), counts as closed."""


@dataclass
class _Progress:
    begin: float
    cost: float
    rho: float = 0.0
    weight: float = 0.0
    iterations: int = 0
    decrease: float = math.nan
    gradient: float = math.nan
    last: float = 0.0
    ratio: float = 1.0
    gaps: float = 0.0
    largest_gap: float = 0.0
    first: float = field(init=False)

    def __post_init__(self) -> None:
        self.first = self.cost

    @property
    def scale(self) -> float:
        """What a decrease is compared with: |cost|, at least 1, but no more than `_FAINT` times what it is or was."""
        return min(max(1.0, abs(self.cost)), _FAINT * max(abs(self.cost), abs(self.first)))

    def measure(self, gap: FloatArray) -> None:
        size = np.abs(gap)
        self.gaps, self.largest_gap = float(np.sum(size)), float(np.max(size))

    def shrink(self, share: float, gap: FloatArray) -> None:
        if self.gaps > 0.0:  # else there is nothing to do
            gap *= share
            self.gaps, self.largest_gap = share * self.gaps, share * self.largest_gap


class Optimiser:
    """Minimise a `ControlProblem` again and again, from warm starts (final).

    Each iteration linearises the stages about the iterate, solves the linear-quadratic problem by a Riccati recursion,
    (Q_uu + rho |diag Q_uu|) [k K] = -[q_u Q_ux], and rolls u + alpha k + K (x - x_k) out; alpha is halved until
    cost + weight |gaps|_1 has fallen enough. Gaps of a guess shrink by 1 - alpha.

    Parameters
    ----------
    problem : ControlProblem
        Compiled here, once; parameters come with every call.
    damping : float
        rho of the first iteration of a call; 0 is right where the problem is nearly linear and quadratic.

    Notes
    -----
    Source: Tassa, Erez and Todorov, Synthesis and stabilization of complex behaviors, eq. 5-13; the gaps as in
    Mastalli et al., Crocoddyl, eq. 18-19.

    Examples
    --------
    >>> import casadi as ca
    >>> import numpy as np
    >>> x, u, p = ca.SX.sym("x"), ca.SX.sym("u"), ca.SX.sym("p")
    >>> stage, end = tr.optimal.Cost(residual=u), tr.optimal.Cost(residual=x - p, weights=10.0)
    >>> problem = tr.optimal.ControlProblem(x, u, p, x + 0.1 * u, stage, end, stages=10)
    >>> guess = tr.optimal.Guess(np.zeros((10, 1)), np.zeros((11, 1)))
    >>> found = tr.optimal.Optimiser(problem).solve([0.0], [1.0], guess)
    >>> found.status.label, round(float(found.states[-1, 0]), 3)
    ('success', 0.5)
    """

    def __init__(self, problem: ControlProblem, damping: float = 0.0) -> None:
        self.problem = problem
        self.damping = number("damping", damping, minimum=0.0)
        self._backends = PerThread(partial(_make_backend, problem))
        _ = self._backend  # compiled now, not at the first tick

    def __reduce__(self) -> tuple[type[Optimiser], tuple[ControlProblem, float]]:
        return type(self), (self.problem, self.damping)

    @property
    def _backend(self) -> Backend:
        return self._backends()

    @property
    def backend(self) -> str:
        """``c``, or ``numpy`` where neither a compiler nor a built core is."""
        return self._backend.name

    def solve(
        self, x0: ArrayLike, parameters: ArrayLike, guess: Guess, limits: Limits = DEFAULT_LIMITS
    ) -> ControlSolution:
        """Return the best motion found from the state `x0`.

        Parameters
        ----------
        x0 : (n_x,)
            Measured state. NaN, here or in the parameters: status NOT_FINITE and the guess itself, no exception,
            because a controller has to go on.
        parameters : (N + 1, n_p) or (n_p,)
            Of each stage and, last, of the end.
        guess : Guess
        limits : Limits

        Raises
        ------
        InputError
            If a shape does not fit.
        """
        begin, core, problem = time.perf_counter(), self._backend, self.problem
        start = _check_shape("x0", x0, (problem.nx,))
        p = np.asarray(parameters, dtype=np.float64)
        given = np.broadcast_to(p, core.p.shape) if p.shape == (problem.n_p,) else p
        core.p[...] = _check_shape("parameters", given, core.p.shape)
        if not (np.all(np.isfinite(start)) and np.all(np.isfinite(core.p)) and self._start(start, guess)):
            return self._without(guess, start, time.perf_counter() - begin)
        progress = _Progress(begin, core.cost, self.damping)
        progress.measure(core.gap)
        status = self._iterate(progress, limits)
        return ControlSolution(
            status, core.x.copy(), core.u.copy(), core.K.copy(), progress.cost, progress.decrease, progress.gradient,
            progress.largest_gap, progress.iterations, time.perf_counter() - begin,
        )  # fmt: skip

    @property
    def iterate(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """States (N + 1, n_x), inputs (N, n_u) and parameters (N + 1, n_p) of the last call in this thread."""
        core = self._backend
        return core.x.copy(), core.u.copy(), core.p.copy()

    def linearise(self, states: ArrayLike, inputs: ArrayLike, parameters: ArrayLike) -> Backend:
        """Return the stages' gaps, derivatives and cost about states (N + 1, n_x) and inputs (N, n_u).

        They are arrays of the optimiser's own, overwritten by its next call in the same thread. Gaps and cost, or M,
        are NaN if they are not finite everywhere.
        """
        core = self._backend
        core.x[...], core.u[...] = (
            _check_shape("states", states, core.x.shape),
            _check_shape("inputs", inputs, core.u.shape),
        )
        core.p[...] = _check_shape("parameters", parameters, core.p.shape)
        if not core.measure():  # stops where it finds that out
            core.gap[...], core.cost = np.nan, math.nan
        if not core.slope():
            core.M[...] = np.nan
        return core

    def _start(self, x0: FloatArray, guess: Guess) -> bool:
        """Load the guess: rolled out with its gains, open loop, or as it stands with gaps."""
        core = self._backend
        core.u[...] = _check_shape("guess.inputs", guess.inputs, core.u.shape)
        core.K[...] = 0.0 if guess.gains is None else _check_shape("guess.gains", guess.gains, core.K.shape)
        core.gap[...] = 0.0
        states = None if guess.states is None else _check_shape("guess.states", guess.states, core.x.shape)
        if states is None or guess.gains is not None:
            core.x[...] = x0 if states is None else states
            if states is None:
                core.K[...] = 0.0
            core.x_new[0] = x0
            if core.roll(0.0):
                self._take()
                return True
        if states is None:
            return False
        core.x[...], core.x[0] = states, x0
        return core.measure()

    def _take(self) -> None:
        core = self._backend
        core.x[...], core.u[...] = core.x_new, core.u_new

    def _without(self, guess: Guess, x0: FloatArray, seconds: float) -> ControlSolution:
        core = self._backend
        states = np.tile(x0, (core.stages + 1, 1)) if guess.states is None else np.array(guess.states)
        gains = np.zeros_like(core.K) if guess.gains is None else np.array(guess.gains)
        return ControlSolution(
            Status.NOT_FINITE, states, np.array(guess.inputs, dtype=np.float64), gains, math.nan, seconds=seconds
        )

    def _iterate(self, at: _Progress, limits: Limits) -> Status:
        core, fresh = self._backend, False
        while True:
            began = time.perf_counter()
            if at.iterations >= limits.iterations and at.iterations > 0:
                return Status.ITERATION_LIMIT
            if began - at.begin + at.last > limits.seconds:
                return Status.TIME_LIMIT
            if not fresh and not core.slope():
                return Status.NOT_FINITE
            fresh = True
            if not core.backward(at.rho):
                at.rho = max(1e-3, 10.0 * at.rho)
                if at.rho > _LARGEST_RHO:
                    return Status.NOT_CONVERGED
                continue
            at.decrease, at.gradient = -(core.slope_along + 0.5 * core.curvature), core.gradient
            closed = at.gaps == 0.0 or bool(np.all(np.abs(core.gap) <= _CLOSED * np.maximum(1.0, np.abs(core.x[1:]))))
            if closed and at.rho <= 1.0 and (1.0 + at.rho) * at.decrease <= limits.tolerance * at.scale:
                return Status.SUCCESS
            if limits.iterations == 0:
                return Status.ITERATION_LIMIT
            alpha = self._search(at, limits)
            at.iterations += 1
            at.last = time.perf_counter() - began
            if alpha == 0.0:
                at.rho = max(1e-3, 10.0 * at.rho)
                if at.rho > _LARGEST_RHO:
                    return Status.NOT_CONVERGED
                continue
            fresh = False
            at.rho = _damping(at.rho, alpha, at.ratio)

    def _search(self, at: _Progress, limits: Limits) -> float:
        """Take the longest step that lowers the merit enough; 0.0 and no change if there is none."""
        core, gaps = self._backend, at.gaps
        if gaps > 0.0:
            at.weight = max(at.weight, 2.0 * (core.slope_along + 0.5 * max(core.curvature, 0.0)) / gaps)
        merit = at.cost + at.weight * gaps
        slope = core.slope_along - at.weight * gaps
        slack = 1e-13 * abs(merit)  # round-off of the sum
        core.x_new[0] = core.x[0]
        alpha = 1.0
        for _ in range(limits.halvings + 1):
            if core.roll(alpha):
                cost = core.cost
                fall = merit - cost - at.weight * (1.0 - alpha) * gaps
                if fall >= -_ARMIJO * alpha * min(slope, 0.0) - slack:
                    promised = -alpha * (slope + 0.5 * alpha * core.curvature)
                    at.ratio = fall / promised if promised > 0.0 else 1.0
                    self._take()
                    at.shrink(1.0 - alpha, core.gap)
                    at.cost = cost
                    return alpha
            alpha *= 0.5
        return 0.0


def _make_backend(problem: ControlProblem) -> Backend:
    """Return operations of C, or numpy's where there are none."""
    from trundle.numerics.ilqr.native import native_backend

    if (found := native_backend(problem)) is not None:
        return found
    from trundle.numerics.ilqr.python import NumpyBackend

    return NumpyBackend(problem)


def _damping(rho: float, alpha: float, ratio: float) -> float:
    """Return the next rho after a step of length alpha that lowered the merit by `ratio` of what it promised.

    Short steps raise it and only whole steps that kept their promise lower it: lowered after every step it makes every
    other step a short one.
    """
    if alpha == 1.0:
        if ratio < 0.25:
            return max(1e-3, 2.0 * rho)
        lower = rho / 3.0 if ratio > 0.75 else rho
        return 0.0 if lower < 1e-6 else lower
    return max(1e-3, (1.5 if alpha >= 0.5 else 5.0) * rho)


def _check_shape(key: str, value: ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    result = np.asarray(value, dtype=np.float64)
    if result.shape != shape:
        raise InputError(key, result.shape, f"an array of {' x '.join(map(str, shape))}")
    return result
