"""A sparse quadratic program whose pattern never changes: set up once, then only its numbers are renewed."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray, choice, integer, positive
from trundle.errors import InputError
from trundle.numerics.qp.qp import TOLERANCE, QpSolution, QpSolver, make_unsolved
from trundle.status import Status

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix, csr_matrix

LAYOUTS = ("sparse_ldlt", "sparse_ldlt_ineq_cond", "sparse_multistage")
"""How PIQP factorises: any pattern; without the rows of C, whose multipliers it takes out first; or dense stages one
after the other. Few rows of C and small stages want the last, wide stages of many small blocks the second."""


_STEEPEST = 30.0
"""The cost is divided by so much that no unknown weighs more: with weights of 1e3, PIQP takes three times the steps."""


class Entries(NamedTuple):
    """Places (row, column) of a sparse matrix's entries, in the order in which their values will be given.

    Values of entries at the same place do not add up: each place stands once.
    """

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    shape: tuple[int, int]


class PersistentQp:
    """Minimise 1/2 x'diag(h) x + g'x subject to E x = e, C x >= low and x >= x_lower, by PIQP (final).

    ``h``, ``g``, ``e``, ``low`` and ``x_lower`` are arrays to write to; `equations` and `inequalities` write the values
    of the matrices. What was not written to stays, and costs nothing. Only the cost is scaled here: the caller's rows
    and unknowns should be of the size of 1 (PIQP stops at its iteration limit otherwise). One belongs to one thread.

    Parameters
    ----------
    n : int
        Unknowns.
    E, C : Entries
    layout : str
        See `LAYOUTS`.
    tolerance : float
        Bound of `QpSolution.error` of a success.
    accuracy : float
        What PIQP is asked for.
    max_iterations : int

    Raises
    ------
    InputError
        For places outside the matrix or given twice.
    """

    def __init__(
        self,
        n: int,
        E: Entries,
        C: Entries,
        *,
        layout: str = "sparse_multistage",
        tolerance: float = TOLERANCE,
        accuracy: float = 1e-8,
        max_iterations: int = 60,
    ) -> None:
        import piqp

        self.n = integer("n", n, minimum=1)
        self.tolerance = positive("tolerance", tolerance)
        (self._E, at_E), (self._C, at_C) = _matrix("E", E, n), _matrix("C", C, n)
        # For the judgement all rows once more as one matrix, and its transpose over the same values.
        m = E.shape[0] + C.shape[0]
        rows = np.concatenate((np.ravel(E.rows), np.ravel(C.rows) + E.shape[0]))
        places = Entries(np.concatenate((np.ravel(E.columns), np.ravel(C.columns))), rows, (n, m))
        self._transposed, order = _matrix("C", places, m)
        self._rows = _transpose_csc(self._transposed)
        self._at_E, self._at_C = (at_E, order[: len(at_E)]), (at_C, order[len(at_E) :] - len(at_E))
        self.h, self.g, self._right = np.ones(n), np.zeros(n), np.zeros(m)
        self.e, self.low = self._right[: E.shape[0]], self._right[E.shape[0] :]
        self.x_lower = np.full(n, -np.inf)
        self._diagonal = _diagonal(n)
        self._cost = 1.0
        self._stale = {"h", "E", "C"}
        self._ready = False
        self._solver = piqp.SparseSolver()
        settings = self._solver.settings
        settings.kkt_solver = getattr(piqp, choice("layout", layout, LAYOUTS))
        settings.eps_abs = settings.eps_duality_gap_abs = positive("accuracy", accuracy)
        settings.eps_rel = settings.eps_duality_gap_rel = 0.0
        settings.tau = 0.999  # of the way to a bound, 0.99 else: up to half a step less
        settings.max_iter = integer("max_iterations", max_iterations, minimum=1)
        settings.preconditioner_iter = 0  # the caller scales: PIQP's own scaling costs up to a third of a solve

    @property
    def equations(self) -> csc_matrix:
        """The matrix E, scipy csc."""
        return self._E

    @property
    def inequalities(self) -> csc_matrix:
        """The matrix C, scipy csc."""
        return self._C

    @property
    def matrix(self) -> csc_matrix:
        """The matrix diag(h), scipy csc."""
        self._diagonal.data[:] = self.h
        return self._diagonal

    def write_equations(self, values: FloatArray) -> None:
        """Renew the values of E, in the order of its `Entries`."""
        self._write("E", values, self._E, self._at_E, self._rows.data[: len(self._at_E[0])])

    def write_inequalities(self, values: FloatArray) -> None:
        """Renew the values of C, in the order of its `Entries`."""
        self._write("C", values, self._C, self._at_C, self._rows.data[len(self._at_E[0]) :])

    def _write(
        self, key: str, values: FloatArray, matrix: csc_matrix, at: tuple[NDArray[np.intp], ...], rows: FloatArray
    ) -> None:
        if len(values) != len(rows):
            raise InputError("values", values, f"the {len(rows)} values of {key}")
        for places, data in zip(at, (matrix.data, rows), strict=True):
            values.take(places, out=data, mode="clip")  # no place is outside: a quarter of the time
        self._stale.add(key)

    def write_weights(self, h: FloatArray) -> None:
        """Renew the diagonal h (n,) >= 0."""
        self.h[:] = h
        self._cost = min(1.0, _STEEPEST / (float(self.h.max(initial=0.0)) or 1.0))
        self._stale.add("h")

    def solve(self) -> QpSolution:
        """Solve with the numbers of now; nothing is raised.

        The status is SUCCESS only if the recomputed error is within the tolerance, else NOT_FINITE for a NaN or an
        infinity among the numbers, ITERATION_LIMIT or NOT_CONVERGED; contradictions are not proved here (`QpSolver`
        does that).
        """
        began, rows = time.perf_counter(), len(self.e) + len(self.low)
        if not self._finite():
            return make_unsolved(self.n, rows, Status.NOT_FINITE, "not called: a number is not finite", began)
        solver = self._solver
        if self._ready:
            P = self._cost * self.matrix if "h" in self._stale else None
            A, G = (matrix if key in self._stale else None for key, matrix in (("E", self._E), ("C", self._C)))
            solver.update(P, self._cost * self.g, A, self.e, G, self.low, x_l=self.x_lower)
        else:
            h_u, x_u = np.full(len(self.low), np.inf), np.full(self.n, np.inf)
            solver.setup(
                self._cost * self.matrix,
                self._cost * self.g,
                self._E,
                self.e,
                self._C,
                self.low,
                h_u,
                self.x_lower,
                x_u,
            )
        self._stale.clear()
        self._ready = True
        solver_status = solver.solve().name
        return self._judge_answer(solver_status, began)

    def solved_by(self, other: QpSolver) -> QpSolution:
        """Solve the numbers of now once more from nothing by another solver, judged by the same residuals."""
        from scipy import sparse

        rows = sparse.csc_matrix(self._rows)
        low = np.concatenate((self.x_lower, self.e, self.low))
        high = np.concatenate((np.full(self.n, np.inf), self.e, np.full(len(self.low), np.inf)))
        return other.solve(self.matrix, self.g, rows, low, high)

    def _finite(self) -> bool:
        total = float(self.h.sum() + self.g.sum() + self.e.sum())
        for name, matrix in (("E", self._E), ("C", self._C)):
            total += float(matrix.data.sum()) if name in self._stale else 0.0
        return math.isfinite(total) and float(self.low.sum()) < math.inf and float(self.x_lower.sum()) < math.inf

    def _judge_answer(self, solver_status: str, began: float) -> QpSolution:
        """Recompute the residuals, over their largest term and 1, of a cost its size below: units are even (class)."""
        result = self._solver.result
        x, iterations = np.array(result.x), int(result.info.iter)
        multipliers = np.concatenate((result.z_bl, -result.y, result.z_l)) / -self._cost
        with np.errstate(all="ignore"):
            primal, dual, gap, error = self._residuals(x, multipliers[self.n :], multipliers[: self.n])
        spent = time.perf_counter() - began
        if not error < math.inf:
            return make_unsolved(self.n, len(self.e) + len(self.low), Status.NOT_CONVERGED, solver_status, began)
        status = Status.ITERATION_LIMIT if "MAX_ITER" in solver_status else Status.NOT_CONVERGED
        status = Status.SUCCESS if error <= self.tolerance else status
        return QpSolution(x, multipliers, status, primal, dual, gap, error, iterations, spent, solver_status)

    def _residuals(self, x: FloatArray, pushes: FloatArray, z: FloatArray) -> tuple[float, ...]:
        """Return them for the multipliers of all rows and of the lower bounds."""
        rows, bent, level = self._rows @ x, self.h * x, len(self.e)
        off, stationary = self._right - rows, bent + self.g + self._transposed @ pushes
        below, held = float(off[level:].max(initial=0.0)), float(pushes @ self._right)
        # A multiplier of the wrong sign would push away from a bound that is not there.
        wrong = float(pushes[level:].max(initial=0.0))
        if self.x_lower.max() > -math.inf:
            bounded = self.x_lower > -math.inf
            below = max(below, float((self.x_lower - x).max()))
            held += float(z[bounded] @ self.x_lower[bounded])
            wrong = max(wrong, float(z[bounded].max()))
            stationary[bounded] += z[bounded]  # crumbs a solver leaves at infinite bounds: the dual residual shows them
        primal = max(below, float(np.abs(off[:level]).max(initial=0.0)))
        dual = max(float(np.abs(stationary).max()), wrong)
        quadratic, linear = float(x @ bent), float(x @ self.g)
        gap = abs(quadratic + linear + held)
        if not primal + dual + gap < math.inf:
            return math.inf, math.inf, math.inf, math.inf
        size = max(1.0, float(np.abs(x).max()), float(np.abs(rows[level:]).max(initial=0.0)))
        steep = float(np.abs(self.g).max())
        unit = min(1.0, max(float(self.h.max()), steep)) or 1.0  # the cost's own, where it is small
        slope, cost = max(unit, float(np.abs(bent).max()), steep), max(unit, abs(quadratic), abs(linear))
        return primal, dual, gap, max(primal / size, dual / slope, gap / cost)


def _matrix(key: str, entries: Entries, n: int) -> tuple[csc_matrix, NDArray[np.intp]]:
    """Return the csc matrix of a pattern and where its values come from in the order of the entries."""
    from scipy import sparse

    rows, columns = (np.asarray(part, dtype=np.int64).ravel() for part in (entries.rows, entries.columns))
    m, width = entries.shape
    inside = width == n and len(rows) == len(columns)
    inside = inside and bool(np.all((rows >= 0) & (rows < m) & (columns >= 0) & (columns < n)))
    order = np.lexsort((rows, columns))
    place = columns[order] * max(m, 1) + rows[order]
    if not inside or np.any(place[1:] == place[:-1]):
        raise InputError(key, entries.shape, f"places in m x {n}, each given once")
    starts = np.searchsorted(columns[order], np.arange(n + 1))
    data = np.zeros(len(rows))
    return sparse.csc_matrix((data, rows[order].astype(np.int32), starts.astype(np.int32)), shape=(m, n)), order


def _transpose_csc(matrix: csc_matrix) -> csr_matrix:
    """Return the transpose of a csc matrix: a csr one over the same arrays."""
    from scipy import sparse

    return sparse.csr_matrix((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape[::-1], copy=False)


def _diagonal(n: int) -> csc_matrix:
    from scipy import sparse

    return sparse.csc_matrix((np.ones(n), np.arange(n), np.arange(n + 1)), shape=(n, n))
