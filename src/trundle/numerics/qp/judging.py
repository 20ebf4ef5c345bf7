"""How good a candidate of a quadratic program is: residuals recomputed outside the solver, over their own terms."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from trundle.checks import FloatArray
from trundle.numerics.qp.backends import Matrix, ProgramBounds, RawSolution

FAINT = 1e-3
"""Share of the program's largest value that a residual's own terms are taken to have where they are smaller."""

ROUNDED = 1e-8
"""Share of the step to the minimum without bounds that an unknown is taken to have where it is smaller: rounding."""
SURE = 1e-7
"""An error that is no larger than this with simpler, smaller denominators is not computed more precisely."""


def residuals(
    H: Matrix,
    g: FloatArray,
    A: Matrix,
    low: FloatArray,
    high: FloatArray,
    x: FloatArray,
    multipliers: FloatArray,
    sure: float = SURE,
) -> tuple[float, float, float, float]:
    """Return primal, dual, gap and error of a candidate, as `QpSolution` defines them; inf where one is not finite.

    The error is a componentwise relative backward error (Oettli, Prager 1964) of the optimality conditions, the
    largest of

    - |H x + g + A'y + z|_i / (|H||x| + |g| + |A|'|y| + |z|)_i of each unknown i,
    - the violation of row j / (|A||x| + |bound|)_j, and likewise of each unknown's bound,
    - the gap |x'H x + g'x + support| / (x'H x + |g|'|x|),
    - for a multiplier whose bound x does not reach: the distance / (|A||x| + |bound|)_j or the sum over i of
      |A_ji y_j| / (the first denominator)_i, whichever is less.

    It is the same in every unit of the cost, of a row and of an unknown, and no less than the normwise residuals by
    which OSQP, PIQP and Clarabel stop, in any such units. No solver can tell terms that are all small beside the rest:
    with d_i the first denominator, |x|_i is at least min(`FAINT` max_k |x_k| sqrt(H_kk/H_ii), max_k |x_k|) and
    `ROUNDED` max_k |g_k|/sqrt(H_kk H_ii), and d_i at least min(`FAINT` max_k d_k sqrt(H_ii/H_kk), H_ii max_k |x_k|).
    What shows less than `sure` without raising, and at once for all bounds with multipliers, is returned as it is.
    """
    n, k = len(x), len(low)
    if not k:
        return 0.0, 0.0, 0.0, 0.0
    with np.errstate(all="ignore"):
        M, table = _stack_matrices(A, H, n), np.empty(2 * (n + k))
        stationary, outside, ratios = table[:n], table[n : n + k], table[n + k :]
        spans, size, slope = np.abs(M), np.abs(x), np.abs(g)
        values, sizes = M @ x, spans @ size
        value, bent, reach = values[:k], values[k:], sizes[:k]
        np.abs(multipliers @ M[:k] + bent + g, out=stationary)
        slopes = (force := np.abs(multipliers)) @ spans[:k] + sizes[k:] + slope
        np.maximum(low - value, value - high, out=outside)
        bound = np.where(multipliers > 0.0, high, np.where(multipliers < 0.0, low, value))
        apart = np.abs(value - bound)
        ratios[:n], ratios[n:] = stationary / slopes, np.maximum(apart, outside) / reach
        quadratic = float(x @ bent)
        gap = abs(quadratic + float(x @ g) + float(multipliers @ bound))  # NaN if any number is
        dual, primal, error = np.fmax.reduceat(table, (0, n, n + k)).tolist()  # 0/0 does not count
        dual, primal = dual if n else 0.0, max(primal, 0.0)
        if not primal + dual + gap < math.inf:
            return math.inf, math.inf, math.inf, math.inf
        error = max(0.0, error, _ratio(gap, quadratic + float(slope @ size)))
        if error > sure:
            slopes, size = _raise_denominators(slopes, slope, size, H.diagonal())
            reach = spans[:k] @ size
            share = np.divide(1.0, slopes, out=np.zeros(n), where=slopes > 0.0)
            idle = np.minimum(force * (spans[:k] @ share), apart / (reach + np.abs(bound)))
            reach = reach + np.where(low > value, np.abs(low), np.where(high < value, np.abs(high), 0.0))
            error = float(np.fmax.reduce(np.concatenate((stationary / slopes, outside / reach, idle)), initial=0.0))
            error = max(error, _ratio(gap, quadratic + float(slope @ size)))
    return primal, dual, gap, error


def _stack_matrices(A: Matrix, H: Matrix, n: int) -> Matrix:
    """Return (1, A, H), one below the other: unknowns, rows and slopes of the cost in few calls of numpy."""
    if isinstance(A, np.ndarray) and isinstance(H, np.ndarray):
        return np.concatenate((_identity(n), A, H))
    from scipy import sparse

    return sparse.vstack((sparse.identity(n), A, H), format="csr")


_identity = lru_cache(maxsize=16)(np.eye)


def _raise_denominators(
    slopes: FloatArray, slope: FloatArray, size: FloatArray, diagonal: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the first denominators (n,) and |x| (n,), raised where no solver can tell them; `slope` is |g|."""
    root, most = np.sqrt(np.maximum(diagonal, 0.0)), float(size.max(initial=0.0))
    curved = np.divide(1.0, root, out=np.zeros(len(root)), where=root > 0.0)
    least = FAINT * float((slopes * curved).max(initial=0.0)) * root
    slopes = np.maximum(slopes, np.minimum(least, root * root * most))
    least = np.minimum(FAINT * float((size * root).max(initial=0.0)) * curved, most)
    return slopes, np.maximum(size, np.maximum(least, ROUNDED * float((slope * curved).max(initial=0.0)) * curved))


def _ratio(part: float, whole: float) -> float:
    """Return part/whole; 0/0 is 0, a part of nothing infinite."""
    return part / whole if whole > 0.0 else math.inf if part else 0.0


def without_multipliers_at_infinity(answer: RawSolution, limits: ProgramBounds) -> RawSolution:
    """Drop multipliers of infinite bounds, which solvers leave as crumbs; the dual residual then shows them."""
    multipliers = answer.multipliers
    nowhere = ((multipliers > 0) & (limits.high == math.inf)) | ((multipliers < 0) & (limits.low == -math.inf))
    return RawSolution(answer.x, np.where(nowhere, 0.0, multipliers), answer.iterations, answer.solver_status)


def violations(A: Matrix, low: FloatArray, high: FloatArray, x: FloatArray) -> FloatArray:
    """Return how far each unknown and then each row is outside its bounds, (n + m,)."""
    value = np.concatenate((x, A @ x))
    return np.maximum(np.maximum(low - value, value - high), 0.0)
