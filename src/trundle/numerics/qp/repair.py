"""Second tries at a quadratic program whose answer does not hold: the program in even units, and its active set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trundle.checks import FloatArray
from trundle.numerics.qp.backends import Backend, Matrix, ProgramBounds, RawSolution, backend, dense

_ROUNDS = 12
_SHIFT, _REFINEMENTS = 1e-9, 5


@dataclass(frozen=True)
class EvenProgram:
    """A program in units in which the largest entry of each unknown's and each row's coefficients is about one.

    x = step * (unknown * x'), y = row * y' / (cost step): Ruiz's scaling (2001) of [H A'; A 0], as OSQP and PIQP
    do, then one unit `step` for all unknowns and one for the cost.
    """

    H: FloatArray
    g: FloatArray
    A: FloatArray
    limits: ProgramBounds
    units: FloatArray
    """(n + m,): of the unknowns, then of the rows' multipliers."""
    step: float
    cost: float

    @classmethod
    def of(cls, H: Matrix, g: FloatArray, A: Matrix, limits: ProgramBounds) -> EvenProgram:
        """Return a program in even units."""
        H, A, n = dense(H), dense(A), len(g)
        units = even_units(np.block([[H, A.T], [A, np.zeros((len(A), len(A)))]]))
        d, e = units[:n], units[n:]
        H, g, A = d[:, None] * H * d, d * g, e[:, None] * A * d
        low, high = (np.concatenate((side[:n] / d, side[n:] * e)) for side in (limits.low, limits.high))
        ends = np.abs(np.concatenate((low, high)))
        ends = ends[np.isfinite(ends) & (ends > 0.0)]
        steep = float(np.abs(g).max(initial=0.0))
        step = max(steep if np.any(H) else 0.0, float(np.median(ends)) if len(ends) else 0.0) or 1.0
        cost = 1.0 / (max(step * step * float(np.abs(H).max(initial=0.0)), step * steep) or 1.0)
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

    def solved(self, x: FloatArray, multipliers: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Return exact solutions of the equations that a candidate's active bounds make, each the next one's candidate.

        Primal-dual active set (Hintermueller, Ito, Kunisch 2002): a bound is active where its multiplier is more than
        the distance. The matrix is shifted, so that it is never singular, and the shift refined away.
        """
        from scipy.linalg import lu_factor, lu_solve

        if not (np.all(np.isfinite(x)) and np.all(np.isfinite(multipliers))):
            return
        n, stacked, (low, high, _) = len(x), np.vstack((np.eye(len(x)), self.A)), self.limits
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
            C, k = stacked[active], int(active.sum())
            K = np.block([[self.H, C.T], [C, np.zeros((k, k))]])
            right = np.concatenate((-self.g, np.where(up, high, low)[active]))
            z = np.concatenate((x, multipliers[active]))
            factors = lu_factor(K + np.diag(np.repeat((_SHIFT, -_SHIFT), (n, k))))
            for _ in range(_REFINEMENTS):
                z = z + lu_solve(factors, right - K @ z, check_finite=False)
            x, multipliers = z[:n], np.zeros(len(low))
            multipliers[active] = z[n:]
            yield x, multipliers


def even_units(matrix: FloatArray) -> FloatArray:
    """Return units (k,) in which the largest entry of each row of a symmetric matrix is about one."""
    size, units = np.abs(matrix), np.ones(len(matrix))
    for _ in range(_ROUNDS):
        largest = (units[:, None] * size * units).max(axis=0, initial=0.0)
        units = units / np.sqrt(np.where(largest > 0.0, largest, 1.0))
    return units


def second_tries(even: EvenProgram, limits: ProgramBounds, answer: RawSolution, run: Backend) -> Iterator[RawSolution]:
    """Return further candidates: of the answer's active set, then by `run`, DAQP and PIQP in even units."""
    n = len(even.g)
    low, high = limits.low[:n], limits.high[:n]

    def own(found: tuple[FloatArray, FloatArray], words: str, iterations: int) -> RawSolution:
        x, multipliers = even.back(*found)
        at = np.abs(found[0] - np.clip(found[0], even.limits.low[:n], even.limits.high[:n])) < 1e-9
        return RawSolution(np.where(at, np.clip(x, low, high), x), multipliers, iterations, words)

    for found in even.solved(*even.of_candidate(answer.x, answer.multipliers)):
        yield own(found, f"{answer.solver_status}, then its active set", answer.iterations)
    for name, solve in (("in even units", run), ("DAQP in even units", backend("daqp")), ("PIQP", backend("piqp"))):
        tried = solve(even.H, even.g, even.A, even.limits, None)
        words, iterations = f"{answer.solver_status}, then {name}: {tried.solver_status}", tried.iterations
        yield own((tried.x, tried.multipliers), words, iterations)
        for found in even.solved(tried.x, tried.multipliers):
            yield own(found, words, iterations)
