"""Why a quadratic program has no solution: proofs found by least squares, checked by arithmetic."""

from __future__ import annotations

import numpy as np

from trundle.checks import FloatArray
from trundle.numerics.qp.backends import Matrix, ProgramBounds, WarmStart, backend, dense
from trundle.numerics.qp.repair import even_units

FAR = 1e4
"""A proof of conflict excludes every x up to this many times the least-violation point's own size."""
_FAINT = 1e-9
"""Weight of a step beside the squared violations: unknowns that no violation needs stay where they are."""
_ROUNDS = 6  # of refinement at most
_LEFT = 1e-6
"""What may be left of an unknown in a proof, of the terms that should cancel."""
_NONE = 1e-5
"""What a direction, its largest entry 1, may have where it should have nothing."""
_CURVED, _ROUNDED = 1e-9, 64 * float(np.finfo(float).eps)


def conflict(A: Matrix, limits: ProgramBounds) -> WarmStart | None:
    """Return the values of least violation and a proof that the limits contradict each other, or None.

    The least squared violation s of rows scaled to unit length, min 1/2 |s|^2, has multipliers y = s and
    A'y + z = 0; then  y'(A x) + z'x  is at most support(y, z) < 0 for an x inside the limits and
    (A'y + z)'x = 0 for every x: a contradiction (Farkas). With a residual A'y + z of size e it excludes every x with
    |x|_1 < -support / e; a proof must reach `FAR`.
    """
    rows = dense(A)
    n = rows.shape[1]
    stacked, low, high = np.vstack((np.eye(n), rows)), limits.low, limits.high
    bounded = np.isfinite(low) | np.isfinite(high)
    scale = 1.0 / np.maximum(np.linalg.norm(stacked, axis=1), 1e-12)
    scale[~np.any(stacked, axis=1)] = 1.0
    k = int(bounded.sum())
    if k == 0:
        return None
    C, low_k, high_k = (scale[:, None] * stacked)[bounded], (scale * low)[bounded], (scale * high)[bounded]
    ends = np.abs(np.concatenate((low_k, high_k)))
    unit = min(1.0, float(ends[np.isfinite(ends)].max(initial=0.0)) or 1.0)
    violation = _least(C, low_k / unit, high_k / unit)
    if violation is None:
        return None
    x, s = (unit * values for values in violation)
    if np.any(low > high):  # bounds that cross need no other proof
        return WarmStart(x, np.zeros(len(low)))
    size = float(np.abs(s).max(initial=0.0))
    if size <= 1e-9 * max(unit, float(np.abs(C @ x).max(initial=0.0))):
        return None
    multipliers = s / size
    above, below = multipliers > 0, multipliers < 0
    support = float(multipliers[above] @ high_k[above] + multipliers[below] @ low_k[below])
    left = np.abs(C.T @ multipliers)
    reach = max(unit, float(np.abs(x).sum()))
    if not (support < 0 and -support > FAR * float(left.max(initial=0.0)) * reach):
        return None
    if np.any(left > _LEFT * (np.abs(C.T) @ np.abs(multipliers))):  # of an unknown in another unit
        return None
    proof = np.zeros(len(low))
    proof[bounded] = multipliers * scale[bounded]
    return WarmStart(x, proof)


def _least(C: FloatArray, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return x and the violations s = C x - clip(C x, low, high) that minimise 1/2 |s|^2.

    Of bounds that cross the middle is aimed at. A convex, piecewise quadratic function of x alone: proximal
    rounds of semismooth Newton steps, so no solver is needed.
    """
    x = np.zeros(C.shape[1])
    middle = (low + high) / 2 if np.any(low > high) else low
    low, high = np.where(low > high, middle, low), np.where(low > high, middle, high)
    for _ in range(_ROUNDS):
        before = x
        x = _proximal_round(C, low, high, before)
        if x is None:
            return None
        if float(np.abs(x - before).max(initial=0.0)) <= 1e-14 * max(1.0, float(np.abs(x).max(initial=0.0))):
            break
    value = C @ x
    return x, _outside(value, low, high)


def _outside(value: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    return value - np.minimum(np.maximum(value, low), high)


def _proximal_round(C: FloatArray, low: FloatArray, high: FloatArray, center: FloatArray) -> FloatArray | None:
    x, faint = center, _FAINT * np.eye(len(center))
    value = C @ x
    s = _outside(value, low, high)
    here = 0.5 * float(s @ s)
    for _ in range(100):
        slope = C.T @ s + _FAINT * (x - center)
        active = C[s != 0]
        step = -np.linalg.solve(active.T @ active + faint, slope)
        if not np.all(np.isfinite(step)):
            return None
        length, fall = 1.0, float(slope @ step)
        if fall >= 0.0:
            break
        while length > 1e-8:
            trial = x + length * step
            value = C @ trial
            s_trial, moved = _outside(value, low, high), trial - center
            there = 0.5 * float(s_trial @ s_trial) + 0.5 * _FAINT * float(moved @ moved)
            if there <= here + 1e-4 * length * fall:
                break
            length *= 0.5
        else:
            break
        same = np.array_equal(s_trial != 0, s != 0) and length == 1.0
        x, s, here = trial, s_trial, there
        if same:  # the same rows are violated: the step was the exact one
            break
    return x


def descent(H: Matrix, g: FloatArray, A: Matrix, limits: ProgramBounds) -> FloatArray | None:
    """Return a direction d (n,) along which the cost falls without end inside the limits, or None.

    H d = 0, g'd < 0, and A d, d point into no finite bound; found as the minimiser of
    1/2 d'H d rho + g'd over the recession cone cut at |d_i| <= 1, then checked. The units should be even.
    """
    H, rows = dense(H), dense(A)
    n, largest = len(g), float(np.abs(H).max(initial=0.0))
    stiff = 1e6 / max(largest, 1e-300) if largest else 0.0
    bounded = np.isfinite(limits.low), np.isfinite(limits.high)
    low, high = np.where(bounded[0], 0.0, -np.inf), np.where(bounded[1], 0.0, np.inf)
    low[:n], high[:n] = np.maximum(low[:n], -1.0), np.minimum(high[:n], 1.0)
    cone = ProgramBounds(low, high, (bounded[0] & bounded[1])[n:])
    pull = g / max(float(np.abs(g).max(initial=0.0)), 1e-300)
    d = backend("daqp")(stiff * H + 1e-6 * np.eye(n), pull, rows, cone, None).x
    if not np.all(np.isfinite(d)):
        return None
    flat = float(np.abs(H @ d).max(initial=0.0)) <= _NONE * largest
    return d if flat and float(pull @ d) < -1e-3 and recedes(rows, limits, d) else None


def recedes(A: FloatArray, limits: ProgramBounds, d: FloatArray) -> bool:
    """Whether a direction d, largest entry 1, points into no finite bound."""
    value = np.concatenate((d, A @ d))
    inside = np.all(value[np.isfinite(limits.low)] >= -_NONE)
    return bool(inside and np.all(value[np.isfinite(limits.high)] <= _NONE))


def bent_down(H: Matrix) -> FloatArray | None:
    """Return a direction d (n,), largest entry 1, with d'H d < 0 (the cost is not convex), or None.

    Least eigenvalue of H in units in which its rows' largest entries are one: below what rounding of H makes.
    """
    n, diagonal = H.shape[0], H.diagonal()
    if np.all(abs(H).sum(axis=0) <= 2 * diagonal):  # Gershgorin's circles
        return None
    H = dense(H)
    units = even_units(H)
    values, vectors = np.linalg.eigh(units[:, None] * H * units)
    if values[0] >= -_CURVED * n:
        return None
    d = units * vectors[:, 0]
    d = d / float(np.abs(d).max())
    return d if float(d @ H @ d) < -n * _ROUNDED * float(np.abs(H).max()) else None
