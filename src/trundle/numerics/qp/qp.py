"""Convex quadratic programs: one signature for many solvers; what they answer is recomputed before it is believed."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, integer, positive
from trundle.errors import InputError, TrundleError
from trundle.numerics.qp.backends import Matrix, ProgramBounds, RawSolution, WarmStart, backend, dense
from trundle.numerics.qp.judging import SURE, residuals, violations, without_multipliers_at_infinity
from trundle.numerics.qp.proofs import bent_down, conflict, descent, recedes
from trundle.numerics.qp.repair import EvenProgram, second_tries
from trundle.status import Status

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix


TOLERANCE = 1e-6
"""A success has a recomputed error (`QpSolution.error`) of at most this."""


@dataclass(frozen=True)
class QuadraticProgram:
    """Minimise 1/2 x'H x + g'x subject to lower <= A x <= upper and x_lower <= x <= x_upper.

    A row with lower = upper is an equation. Missing bounds are -inf and inf; a missing A has no rows.

    Parameters
    ----------
    H : (n, n)
        Symmetric positive semidefinite; dense or scipy sparse.
    g : (n,)
    A : (m, n), optional
        Dense or scipy sparse, as H.
    lower, upper : (m,), optional
    x_lower, x_upper : (n,), optional

    Raises
    ------
    InputError
        For another shape, a value that is not a number, an infinite entry of H, g or A, a lower bound of
        +inf, an upper bound of -inf, or an H that is not symmetric.
    """

    H: Matrix
    g: FloatArray
    A: Matrix | None = None
    lower: FloatArray | None = None
    upper: FloatArray | None = None
    x_lower: FloatArray | None = None
    x_upper: FloatArray | None = None

    def __post_init__(self) -> None:
        g = array("g", self.g, (None,))
        n = len(g)
        H = _matrix("H", self.H, (n, n))
        A = _matrix("A", np.zeros((0, n)) if self.A is None else self.A, (None, n))
        if _is_sparse(H) != _is_sparse(A):
            H, A = _csc(H), _csc(A)
        if n and (difference := abs(H - H.T).max()) > 1e-9 * max(1.0, abs(H).max()):
            raise InputError("H", self.H, f"symmetric (it differs from its transpose by {difference:.3g})")
        m = A.shape[0]
        bounds = {
            "lower": _bound("lower", self.lower, m, -math.inf),
            "upper": _bound("upper", self.upper, m, math.inf),
            "x_lower": _bound("x_lower", self.x_lower, n, -math.inf),
            "x_upper": _bound("x_upper", self.x_upper, n, math.inf),
        }
        for name, value in {"H": H, "g": g, "A": A, **bounds}.items():
            object.__setattr__(self, name, value)

    @property
    def size(self) -> int:
        """Number n of unknowns."""
        return len(self.g)

    @property
    def arrays(self) -> tuple[Matrix, FloatArray, Matrix, FloatArray, FloatArray]:
        """H, g, A, low, high: what `QpSolver.solve` takes, the bounds of the unknowns before those of the rows."""
        low, high = ((self.x_lower, self.lower), (self.x_upper, self.upper))
        return self.H, self.g, self.A, np.concatenate(low), np.concatenate(high)  # pyright: ignore[reportArgumentType, reportCallIssue, reportReturnType]


@dataclass(frozen=True, slots=True)
class QpSolution:
    """What a solver left, judged by residuals that are recomputed from the program.

    Multipliers are those of L = f + z'x + y'A x: positive at upper bounds, negative at lower ones.

    Attributes
    ----------
    x : (n,)
        Where the status is CONFLICTING_LIMITS: the values that break the limits least.
    multipliers : (n + m,)
        Multipliers z of the unknowns' bounds, then y of the rows. Where the status is CONFLICTING_LIMITS: the
        proof, a combination of bounds and rows that no x can keep (zero where a bound's two sides cross).
    status : Status
        SUCCESS only if `error` is within the tolerance, whatever the solver said.
    primal : float
        Largest violation of a row or bound, in its unit.
    dual : float
        max |H x + g + A'y + z|.
    gap : float
        |x'H x + g'x + support of the bounds under the multipliers|, in the cost's unit.
    error : float
        The largest residual relative to its own terms, the same in all units: see module
        `trundle.numerics.qp.judging`. Of a `PersistentQp` relative to the largest of them and 1: its units are even;
        a cost below 1 counts by its own size.
    iterations : int
    time : float
        Wall time in s, with the recomputation.
    solver_status : str
        The status text of the solver itself.
    worst : int
        Unknown (or n + row) that is violated most; -1 where none is.
    """

    x: FloatArray
    multipliers: FloatArray
    status: Status
    primal: float
    dual: float
    gap: float
    error: float
    iterations: int
    time: float
    solver_status: str
    worst: int = -1

    @property
    def y(self) -> FloatArray:
        """Multipliers (m,) of the rows."""
        return self.multipliers[len(self.x) :]

    @property
    def z(self) -> FloatArray:
        """Multipliers (n,) of the unknowns' bounds."""
        return self.multipliers[: len(self.x)]


class QpError(TrundleError):
    """A quadratic program was not solved; `solution` says why and holds what was left."""

    def __init__(self, solution: QpSolution) -> None:
        self.solution = solution
        what = f"{solution.status.label} ({solution.solver_status}), violation {solution.primal:.3g}"
        super().__init__(f"the quadratic program was not solved: {what}: {solution.status.advice}")


class QpSolver:
    """A solver for many programs of one size: light enough for a control loop.

    ``solve`` takes arrays, checks them for NaN and believes nothing; what it returns never raises. A NaN or
    an infinity where none belongs gives ``Status.NOT_FINITE``, contradictory rows ``CONFLICTING_LIMITS`` with
    the proof, a cost that falls without end ``UNBOUNDED``.

    Parameters
    ----------
    solver : str
        ``"daqp"`` (dense active set), ``"piqp"``, ``"proxqp"``; ``"osqp"``
        through CasADi; else any name that qpsolvers has installed.
    equality : (m,) of bool, optional
        Which rows are equations. Default: found from the bounds at each solve.
    tolerance : float
        Bound of `QpSolution.error` of a success.
    max_iterations : int, optional
        Default: the solver's own.
    """

    def __init__(
        self,
        solver: str = "daqp",
        equality: ArrayLike | None = None,
        *,
        tolerance: float = TOLERANCE,
        max_iterations: int | None = None,
    ) -> None:
        self.name = solver
        self.tolerance = positive("tolerance", tolerance)
        limit = None if max_iterations is None else integer("max_iterations", max_iterations, minimum=1)
        self._equality = None if equality is None else np.array(equality, dtype=bool)
        self._run = backend(solver, limit)

    def solve(
        self,
        H: Matrix,
        g: FloatArray,
        A: Matrix,
        low: FloatArray,
        high: FloatArray,
        start: WarmStart | None = None,
        *,
        finite: bool = False,
    ) -> QpSolution:
        """Solve one program.

        Parameters
        ----------
        H, g, A : (n, n), (n,), (m, n)
            Arrays of float64, H and A also scipy sparse.
        low, high : (n + m,)
            Bounds of the unknowns, then of the rows.
        start : WarmStart, optional
            A warm start, for the solvers that have one.
        finite : bool
            The caller has looked for NaN already (`finite_program`).
        """
        began = time.perf_counter()
        n, m = len(g), len(low) - len(g)
        if not (finite or finite_program(H, g, A, low, high)):
            return make_unsolved(n, m, Status.NOT_FINITE, "not called: an input is not finite", began)
        limits = ProgramBounds(low, high, low[n:] == high[n:] if self._equality is None else self._equality)
        if not n:
            return self._explain(H, g, A, limits, RawSolution(g, np.zeros(m), 0, "no unknowns"), began)
        answer = self._run(H, g, A, limits, start)
        solution = self._accept_answer(H, g, A, limits, answer, began)
        if solution.error > self.tolerance:
            answer = without_multipliers_at_infinity(answer, limits)
            solution = self._accept_answer(H, g, A, limits, answer, began)
        # DAQP's own word is enough that the cost is convex: it factorises H.
        convex = self.name == "daqp" and answer.solver_status == "exit flag 1"
        if solution.error <= self.tolerance and (convex or bent_down(H) is None):
            return solution
        return self._explain(H, g, A, limits, answer, began)

    def _accept_answer(
        self, H: Matrix, g: FloatArray, A: Matrix, limits: ProgramBounds, answer: RawSolution, began: float
    ) -> QpSolution:
        """Return an answer as a success, to be believed if its error is small."""
        x, multipliers = answer.x, answer.multipliers
        judged = residuals(H, g, A, limits.low, limits.high, x, multipliers, min(SURE, self.tolerance))
        spent = time.perf_counter() - began
        return QpSolution(x, multipliers, Status.SUCCESS, *judged, answer.iterations, spent, answer.solver_status)

    @np.errstate(all="ignore")
    def _explain(
        self, H: Matrix, g: FloatArray, A: Matrix, limits: ProgramBounds, answer: RawSolution, began: float
    ) -> QpSolution:
        """Try again in even units, or say why there is no solution, by proofs of our own."""
        n, m = len(g), len(limits.low) - len(g)
        x, multipliers, status, words = answer.x, answer.multipliers, Status.NOT_CONVERGED, answer.solver_status
        infeasible = not n or "infeasible" in words.lower() or words == "exit flag -1"
        even = EvenProgram.of(H, g, A, limits)
        proof, down = conflict(even.A, even.limits) if infeasible else None, bent_down(H)
        if proof is None and down is None:
            for tried in second_tries(even, limits, answer, self._run) if n else [answer]:
                solution = self._accept_answer(H, g, A, limits, tried, began)
                if solution.error <= self.tolerance:
                    return solution
        proof = proof if infeasible else conflict(even.A, even.limits)
        if proof is not None:
            (x, multipliers), status = even.back(*proof), Status.CONFLICTING_LIMITS
        elif down is not None:
            words += ", but the cost is not convex: H is not positive semidefinite"
            falls = any(recedes(dense(A), limits, sign * down) for sign in (1.0, -1.0))
            status = Status.UNBOUNDED if falls else status
        elif n and descent(even.H, even.g, even.A, even.limits) is not None:
            status = Status.UNBOUNDED
        if not np.all(np.isfinite(x)):
            return make_unsolved(n, m, status, words, began)
        judged = residuals(H, g, A, limits.low, limits.high, x, multipliers)
        outside = violations(A, limits.low, limits.high, x)
        worst = int(np.argmax(outside)) if outside.max(initial=0.0) > 0 else -1
        spent = time.perf_counter() - began
        return QpSolution(x, multipliers, status, *judged, answer.iterations, spent, words, worst)


def solve_qp(
    program: QuadraticProgram,
    solver: str = "daqp",
    *,
    tolerance: float = TOLERANCE,
    max_iterations: int | None = None,
    start: WarmStart | None = None,
    throw: bool = True,
) -> QpSolution:
    """Solve a quadratic program.

    Parameters
    ----------
    program : QuadraticProgram
    solver, tolerance, max_iterations
        See `QpSolver`.
    start : WarmStart, optional
        A warm start (x, multipliers).
    throw : bool
        Whether anything but a success raises.

    Raises
    ------
    QpError
        If it was not solved and `throw` is set.
    """
    solution = QpSolver(solver, tolerance=tolerance, max_iterations=max_iterations).solve(*program.arrays, start)
    if throw and solution.status is not Status.SUCCESS:
        raise QpError(solution)
    return solution


@np.errstate(all="ignore")
def finite_program(H: Matrix, g: FloatArray, A: Matrix, low: FloatArray, high: FloatArray) -> bool:
    """Tell whether no value is NaN, H, g and A are finite, and no bound is infinite on the wrong side.

    Sums do it: a NaN survives them, and so does an infinity.
    """
    total = float(H.sum()) + float(g.sum()) + float(A.sum())
    return math.isfinite(total) and float(low.sum()) < math.inf and float(high.sum()) > -math.inf


def make_unsolved(n: int, m: int, status: Status, solver_status: str, began: float) -> QpSolution:
    """Return the solution, all NaN, of a program of n unknowns and m rows that has none; `began` of `perf_counter`."""
    x, multipliers = np.full(n, math.nan), np.full(n + m, math.nan)
    spent = time.perf_counter() - began
    return QpSolution(x, multipliers, status, math.inf, math.inf, math.inf, math.inf, 0, spent, solver_status)


def _matrix(key: str, value: ArrayLike | csc_matrix, shape: tuple[int | None, int]) -> Matrix:
    if not _is_sparse(value):
        return array(key, value, shape)
    matrix = value.tocsc().astype(np.float64)
    wrong = any(want is not None and want != have for want, have in zip(shape, matrix.shape, strict=True))
    if wrong or not np.all(np.isfinite(matrix.data)):
        raise InputError(key, value, f"a matrix of {shape[0] or 'm'} x {shape[1]} finite numbers")
    return matrix


def _is_sparse(value: ArrayLike | csc_matrix) -> TypeGuard[csc_matrix]:
    return callable(getattr(value, "tocsc", None))


def _csc(value: Matrix) -> csc_matrix:
    from scipy import sparse

    return sparse.csc_matrix(value)


def _bound(key: str, value: ArrayLike | None, size: int, missing: float) -> FloatArray:
    try:
        bound = np.array(np.full(size, missing) if value is None else value, dtype=np.float64)
    except (TypeError, ValueError):
        bound = np.zeros((0, 0))
    if bound.shape != (size,) or np.any(np.isnan(bound)) or np.any(bound == -missing):
        raise InputError(key, value, f"an array of {size} numbers; {missing:g} where there is no bound")
    bound.setflags(write=False)
    return bound
