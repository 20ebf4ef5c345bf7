"""Second tries at a quadratic program whose answer does not hold: the program in even units, and its active set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trundle.checks import FloatArray
from trundle.numerics.qp.backends import Backend, Matrix, ProgramBounds, RawSolution, backend

if TYPE_CHECKING:
    from scipy.sparse import csc_array

_ROUNDS = 12  # of exchanging active bounds at most
_SHIFT, _REFINEMENTS = 1e-9, 5


@dataclass(frozen=True)
class EvenProgram:
    """A program in units in which the largest entry of each unknown's and each row's coefficients is about one.

    x = step * (unknown * x'), y = row * y' / (cost step): Ruiz's scaling (2001) of [H A'; A 0], as OSQP and PIQP
    do, then one unit `step` for all unknowns and one for the cost. Sparse matrices stay sparse.
    """

    H: Matrix
    g: FloatArray
    A: Matrix
    limits: ProgramBounds
    units: FloatArray
    """(n + m,): of the unknowns, then of the rows' multipliers."""
    step: float
    cost: float

    @classmethod
    def of(cls, H: Matrix, g: FloatArray, A: Matrix, limits: ProgramBounds) -> EvenProgram:
        """Return a program in even units."""
        n = len(g)
        units = even_units(_border_matrix(H, A))
        d, e = units[:n], units[n:]
        H, g, A = _scale_matrix(d, H, d), d * g, _scale_matrix(e, A, d)
        low, high = (np.concatenate((side[:n] / d, side[n:] * e)) for side in (limits.low, limits.high))
        ends = np.abs(np.concatenate((low, high)))
        ends = ends[np.isfinite(ends) & (ends > 0.0)]
        steep = float(np.abs(g).max(initial=0.0))
        bend = float(np.abs(H if isinstance(H, np.ndarray) else H.data).max(initial=0.0))
        step = max(steep if bend else 0.0, float(np.median(ends)) if len(ends) else 0.0) or 1.0
        cost = 1.0 / (max(step * step * bend, step * steep) or 1.0)
        even = ProgramBounds(low / step, high / step, limits.equal)
        return cls(cost * step * step * H, cost * step * g, A, even, units, step, cost)

    def of_candidate(self, x: FloatArray, multipliers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return a candidate in even units."""
        n, scale = len(x), self.cost * self.step
        d, e = self.units[:n], self.units[n:]
        return x / (self.step * d), scale * np.concatenate((d * multipliers[:n], multipliers[n:] / e))

    def back(self, x: FloatArray, multipliers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return a candidate, or a proof, in the program's own units."""
        n, scale = len(x), self.cost * self.step
        d, e = self.units[:n], self.units[n:]
        return self.step * d * x, np.concatenate((multipliers[:n] / d, e * multipliers[n:])) / scale

    def solve_active_sets(self, x: FloatArray, multipliers: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Return exact solutions of the equations that a candidate's active bounds make, each the next one's candidate.

        Primal-dual active set (Hintermueller, Ito, Kunisch 2002): a bound is active where its multiplier is more than
        the distance. The matrix is shifted, so that it is never singular, and the shift refined away.
        """
        from scipy import sparse
        from scipy.sparse.linalg import splu

        if not (np.all(np.isfinite(x)) and np.all(np.isfinite(multipliers))):
            return
        n, (low, high, _) = len(x), self.limits
        stacked = sparse.vstack((sparse.eye_array(n), self.A), format="csr")
        seen: set[bytes] = set()
        for _ in range(_ROUNDS):
            value = stacked @ x
            up, down = multipliers > high - value, -multipliers > value - low
            up |= low == high
            active = up | down
            key = up.tobytes() + down.tobytes()
            if key in seen:
                return
            seen.add(key)
            K, k = _border_matrix(self.H, stacked[active]), int(active.sum())
            right = np.concatenate((-self.g, np.where(up, high, low)[active]))
            z = np.concatenate((x, multipliers[active]))
            try:
                factors = splu(K + sparse.diags_array(np.repeat((_SHIFT, -_SHIFT), (n, k)), format="csc"))
            except RuntimeError:  # singular after all
                return
            for _ in range(_REFINEMENTS):
                z = z + factors.solve(right - K @ z)
            x, multipliers = z[:n], np.zeros(len(low))
            multipliers[active] = z[n:]
            yield x, multipliers


def even_units(matrix: Matrix) -> FloatArray:
    """Return units (k,) in which the largest entry of each row of a symmetric matrix is about one."""
    from scipy import sparse

    entries = sparse.coo_array(matrix)
    (i, j), size, units = entries.coords, np.abs(entries.data), np.ones(matrix.shape[0])
    for _ in range(_ROUNDS):
        largest = np.zeros(len(units))
        np.maximum.at(largest, j, units[i] * size * units[j])
        units = units / np.sqrt(np.where(largest > 0.0, largest, 1.0))
    return units


def _border_matrix(H: Matrix, A: Matrix) -> csc_array:
    """Return [H A'; A 0]."""
    from scipy import sparse

    H, A = sparse.csc_array(H), sparse.csc_array(A)
    m = A.shape[0]
    return sparse.block_array([[H, A.T], [A, sparse.csc_array((m, m))]], format="csc")


def _scale_matrix(left: FloatArray, matrix: Matrix, right: FloatArray) -> Matrix:
    """Return diag(left) matrix diag(right)."""
    if isinstance(matrix, np.ndarray):
        return left[:, None] * matrix * right
    from scipy import sparse

    return sparse.csc_matrix(sparse.diags(left) @ matrix @ sparse.diags(right))


def second_tries(even: EvenProgram, limits: ProgramBounds, answer: RawSolution, run: Backend) -> Iterator[RawSolution]:
    """Return further candidates: of the answer's active set, then by `run`, DAQP and PIQP in even units."""
    n = len(even.g)
    low, high = limits.low[:n], limits.high[:n]

    def own(found: tuple[FloatArray, FloatArray], words: str, iterations: int) -> RawSolution:
        x, multipliers = even.back(*found)
        at = np.abs(found[0] - np.clip(found[0], even.limits.low[:n], even.limits.high[:n])) < 1e-9
        return RawSolution(np.where(at, np.clip(x, low, high), x), multipliers, iterations, words)

    for found in even.solve_active_sets(*even.of_candidate(answer.x, answer.multipliers)):
        yield own(found, f"{answer.solver_status}, then its active set", answer.iterations)
    for name, solve in (("in even units", run), ("DAQP in even units", backend("daqp")), ("PIQP", backend("piqp"))):
        tried = solve(even.H, even.g, even.A, even.limits, None)
        words, iterations = f"{answer.solver_status}, then {name}: {tried.solver_status}", tried.iterations
        yield own((tried.x, tried.multipliers), words, iterations)
        for found in even.solve_active_sets(tried.x, tried.multipliers):
            yield own(found, words, iterations)
