"""Linear-quadratic regulators: algebraic, sampled and periodic Riccati equations.

Products of small matrices only in the loops: a threaded BLAS leaves them alone, and 2 s of 20 states at 1 kHz
take a fraction of a second.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, number
from trundle.errors import InputError
from trundle.numerics.reach import goes_on, reachable
from trundle.numerics.singular import finite, refuse_singular

_TERMS = 12
"""Taylor terms of the exponential of a matrix of norm <= 1/2: the rest is below 1e-13."""
_CYCLES, _SETTLED = 80, 1e-4
"""Most cycles of a periodic recursion, and the relative change below which it has settled."""
_RESIDUAL = 1e-5
"""Largest residual of an algebraic equation, over the sizes of its terms on the diagonal: the same in all units."""
_SEEN = 1e-12
"""Eigenvalues of Q, its diagonal one, below which a direction costs nothing."""
_SHORTEST, _GROWTH = 1e-9, 30.0
"""Shortest period (s), and the most e-folds by which an unstable mode may grow in one."""
_EVEN = refuse_singular(
    "A, B, Q, R", "of units, and for a time, in which the cost is finite and no part of it is lost to rounding"
)
_CHUNK = 32
"""Intervals treated at a time: their matrices stay in the processor's cache (10 times faster than all at once)."""


class GainSchedule(NamedTuple):
    """Gains u = u_plan - K_k (x - x_plan), held between N + 1 times, and the cost x'S_k x to go.

    Attributes
    ----------
    K : (N + 1, n_u, n_x)
        The last one is that of the last interval.
    S : (N + 1, n_x, n_x)
        Symmetric, positive semidefinite; the last one is the final weight.
    """

    K: FloatArray
    S: FloatArray


@_EVEN
def regulator(A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return K (n_u, n_x) and S (n_x, n_x) of the infinite horizon: u = -K x minimises int x'Q x + u'R u dt.

    0 = Q + A'S + S A - S B R^-1 B'S,  K = R^-1 B'S.

    Parameters
    ----------
    A, B : (n_x, n_x), (n_x, n_u)
        x' = A x + B u.
    Q, R : (n_x, n_x), (n_u, n_u)
        Positive semidefinite and positive definite weights.

    Raises
    ------
    InputError
        If a shape or a sign does not fit, or no gain stabilises what Q sees.
    """
    from scipy.linalg import solve_continuous_are

    A, B, Q, R = _constant(A, B, Q, R)
    _check_seen(A, B, Q)
    S = _algebraic(solve_continuous_are, A, B, Q, R)
    K = np.asarray(np.linalg.solve(R, B.T @ S), dtype=np.float64)
    if not np.max(np.linalg.eigvals(A - B @ K).real, initial=-np.inf) < 0:
        raise _unstable(A, B)
    _check_symmetry((Q,), (A.T, S), (S, A), (-K.T, R, K))
    return K, S


@_EVEN
def sampled_regulator(
    A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike, period: float
) -> tuple[FloatArray, FloatArray]:
    """Return K and S as `regulator`, for an input that is held for `period` s; the cost between samples counts.

    With F, G, Qd, Nd, Rd of `discretize_cost`: K = (Rd + G'S G)^-1 (G'S F + Nd'), S = Qd + F'S F - (G'S F + Nd')'K.
    """
    from scipy.linalg import solve_discrete_are

    A, B, Q, R = _constant(A, B, Q, R)
    F, G, Qd, Nd, Rd = discretize_cost(A, B, Q, R, period)
    _check_seen(A, B, Q)
    S = _algebraic(solve_discrete_are, F, G, Qd, Rd, s=Nd)
    cross = G.T @ S @ F + Nd.T
    K = np.asarray(np.linalg.solve(Rd + G.T @ S @ G, cross), dtype=np.float64)
    if not np.max(np.abs(np.linalg.eigvals(F - G @ K)), initial=0.0) < 1:
        raise _unstable(A, B)
    _check_symmetry((Qd,), (F.T, S, F), (-cross.T, K), (-S,))
    return K, S


@_EVEN
def sampled_time_varying(
    times: ArrayLike, A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike, final: ArrayLike
) -> GainSchedule:
    """Return the gains of a finite horizon for inputs held between the times; the cost between samples counts.

    Minimises x'final x at the end + int x'Q x + u'R u dt, A, B, Q, R constant over each interval:
    K_k = (Rd + G'S G)^-1 (G'S F + Nd'),  S_k = Qd + F'S F - (G'S F + Nd')'K_k with S = S_{k+1}.

    Parameters
    ----------
    times : (N + 1,) s
        The sampling times.
    A, B, Q, R : (n, n) each, or (N, n, n), one an interval, or (N + 1, n, n), at each time: then the mean of
        both ends is taken.
    final : (n_x, n_x)
    """
    h, A, B, Q, R, S = _horizon(times, A, B, Q, R, final)
    costs, gains = [S], []
    for low in reversed(range(0, len(h), _CHUNK)):
        part = slice(low, low + _CHUNK)
        parts = _sample_intervals(A[part], B[part], Q[part], R[part], h[part])
        for F, G, Qd, Nd, Rd in zip(*(matrices[::-1] for matrices in parts), strict=True):
            SF, SG = S @ F, S @ G
            cross = G.T @ SF + Nd.T
            K = np.linalg.solve(Rd + G.T @ SG, cross)
            S = Qd + F.T @ SF - cross.T @ K
            S = (S + S.T) / 2
            costs.append(S)
            gains.append(K)
    gains = [*gains[::-1], gains[0]]
    return GainSchedule(*_freeze_gains(np.array(gains), np.array(costs[::-1])))


@_EVEN
def periodic(
    A: Sequence[FloatArray], B: Sequence[FloatArray], Q: FloatArray, R: FloatArray, S: FloatArray, start: FloatArray
) -> FloatArray:
    """Return the gains (N, n_u, n_x) of a discrete linear system that repeats after N steps.

    K = (R + B'P B)^-1 B'P A,  P <- Q + A'P (A - B K),  P(end) = S'P(begin) S, repeated over the cycle until P settles.

    Parameters
    ----------
    A, B : N of (n_x, n_x), N of (n_x, n_u)
        x+ = A x + B u of each step.
    Q, R : (N, n_x, n_x), (N, n_u, n_u)
        Weights of each step.
    S : (n_x, n_x)
        Maps the state at the end of a cycle to its begin (the identity, or a mirror).
    start : (n_x, n_x)
        First guess of P.

    Raises
    ------
    InputError
        If P does not settle: no gain stabilises the system.
    """
    P, K = start, np.zeros((len(A), *B[0].T.shape))
    for _ in range(_CYCLES):
        before, P = P, S.T @ P @ S
        for k in range(len(A) - 1, -1, -1):
            K[k] = np.linalg.solve(R[k] + B[k].T @ P @ B[k], B[k].T @ P @ A[k])
            P = Q[k] + A[k].T @ P @ (A[k] - B[k] @ K[k])
            P = (P + P.T) / 2
        if np.max(np.abs(P - before)) < _SETTLED * np.max(np.abs(P)):
            return K
    raise InputError(
        "A, B, Q, R",
        f"no limit of P after {_CYCLES} cycles",
        "a system that some gain stabilises, with weights that see it",
    )


@_EVEN
def discretize_cost(
    A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike, period: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return F, G, Qd, Nd, Rd of a linear system and its cost under a held input, exact.

    x+ = F x + G u and int_0^period x'Q x + u'R u dt = x'Qd x + 2 x'Nd u + u'Rd u.
    """
    A, B, Q, R = _constant(A, B, Q, R)
    h = number("period", period, minimum=_SHORTEST, unit="s")
    rate = float(np.max(np.linalg.eigvals(A).real, initial=0.0))
    if h * rate > _GROWTH:
        most = f"at most {_GROWTH / rate:.3g} s: what runs away grows {np.exp(_GROWTH):.0e}-fold in that time"
        raise InputError("period", period, most)
    F, G, Qd, Nd, Rd = _sample_intervals(A[None], B[None], Q[None], R[None], np.array([h]))
    finite(F, G, Qd, Nd, Rd)
    return F[0], G[0], Qd[0], Nd[0], Rd[0]


def _sample_intervals(
    A: FloatArray, B: FloatArray, Q: FloatArray, R: FloatArray, h: FloatArray
) -> tuple[FloatArray, ...]:
    """F, G, Qd, Nd, Rd of each of N intervals of lengths `h` (N,).

    Phi = exp(Z h) and W(h) = int_0^h exp(Z s)' W0 exp(Z s) ds with Z = [[A, B], [0, 0]], W0 = diag(Q, R): Taylor over
    h / 2^k, then doubled: W(2 h) = W + Phi'W Phi, Phi(2 h) = Phi Phi.
    """
    N, n, m = len(A), A.shape[1], B.shape[2]
    Z, term = np.zeros((N, n + m, n + m)), np.zeros((N, n + m, n + m))
    Z[:, :n, :n], Z[:, :n, n:] = A, B
    term[:, :n, :n], term[:, n:, n:] = Q, R
    doublings = _doublings(Z * h[:, None, None])
    step = (h / 2**doublings)[:, None, None]
    Z = Z * step
    Phi = _taylor(Z)
    term = term * step
    W = term.copy()
    for k in range(2, _TERMS + 1):
        half = term @ Z
        term = (half + half.transpose(0, 2, 1)) / k
        W += term
    for _ in range(doublings):
        W = W + Phi.transpose(0, 2, 1) @ W @ Phi
        Phi = Phi @ Phi
    return Phi[:, :n, :n], Phi[:, :n, n:], W[:, :n, :n], W[:, :n, n:], W[:, n:, n:]


def _doublings(X: FloatArray) -> int:
    norm = float(np.max(np.sum(np.abs(X), axis=-2), initial=0.0))
    return max(0, math.ceil(math.log2(norm / 0.5))) if norm > 0 else 0


def _taylor(X: FloatArray) -> FloatArray:
    """exp(X) of a stack by its Taylor polynomial of degree 12 in 5 products: blocks of powers 1, X, X^2, X^3."""
    eye = np.broadcast_to(np.eye(X.shape[-1]), X.shape)
    X2 = X @ X
    powers = (eye, X, X2, X2 @ X)
    X4 = X2 @ X2
    result = eye / math.factorial(_TERMS)
    for low in (8, 4, 0):
        result = sum((p / math.factorial(low + i) for i, p in enumerate(powers)), X4 @ result)
    return result


def _algebraic(
    solver: Callable[..., FloatArray], A: FloatArray, B: FloatArray, Q: FloatArray, R: FloatArray, **more: FloatArray
) -> FloatArray:
    reason: Exception | None = None
    for balanced in (True, False):  # balancing helps units far apart, and fails by round-off where a weight is small
        try:
            S = solver(A, B, Q, R, balanced=balanced, **more)
        except (np.linalg.LinAlgError, ValueError) as error:
            reason = error
            continue
        if np.all(np.isfinite(S)):
            return (S + S.T) / 2
    raise _unstable(A, B) from reason


def _check_seen(A: FloatArray, B: FloatArray, Q: FloatArray) -> None:
    """Raise an error where some motion goes on for ever without a cost: gains from round-off alone would end it."""
    units = np.sqrt(np.maximum(np.diagonal(Q), 0.0))
    weighs = np.where(units > 0.0, units, 1.0)
    sizes, axes = np.linalg.eigh(Q / np.outer(weighs, weighs))  # of weights of one size: the same in all units
    V = reachable(A.T, units[:, None] * axes[:, sizes > _SEEN])
    unseen = np.linalg.qr(V, mode="complete")[0][:, V.shape[1] :]
    if goes_on(unseen.T @ A @ unseen):
        raise _unstable(A, B)


def _check_symmetry(*terms: tuple[FloatArray, ...]) -> None:
    """Raise `FloatingPointError` if a symmetric sum of products of matrices is not zero, in units of its diagonal."""
    left = sum(reduce(np.matmul, term) for term in terms)
    size = np.sqrt(np.diagonal(sum(reduce(np.matmul, map(np.abs, term)) for term in terms)))
    if not np.all(np.abs(left) <= _RESIDUAL * np.outer(size, size)):
        raise FloatingPointError("a solution lost to rounding")


def _unstable(A: FloatArray, B: FloatArray) -> InputError:
    return InputError("A, B", (A.tolist(), B.tolist()), "a system that some gain stabilises, with weights that see it")


def _constant(
    A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    A = array("A", A, (None, None))
    n = len(A)
    A, B = array("A", A, (n, n)), array("B", B, (n, None))
    m = B.shape[1]
    return A, B, _weight("Q", Q, n, definite=False), _weight("R", R, m, definite=True)


def _weight(key: str, value: ArrayLike, size: int, definite: bool) -> FloatArray:
    """Check one weight (size, size) or a stack of them."""
    stacked = np.ndim(value) == 3
    W = array(key, value, (None, size, size) if stacked else (size, size))
    scale = float(np.max(np.abs(W), initial=0.0))
    if np.max(np.abs(W - np.swapaxes(W, -1, -2)), initial=0.0) > 1e-9 * scale:
        raise InputError(key, value, "symmetric")
    least = float(np.min(np.linalg.eigvalsh(W), initial=np.inf)) if size else np.inf
    if least < -1e-9 * scale or (definite and not least > 0):
        raise InputError(key, value, "positive definite" if definite else "positive semidefinite")
    return W


def _horizon(
    times: ArrayLike, A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike, final: ArrayLike
) -> tuple[FloatArray, ...]:
    """Check a horizon's data and return its steps and them, one an interval."""
    t = array("times", times, (None,), unit="s")
    if len(t) < 2 or np.any(np.diff(t) <= 0):
        raise InputError("times", times, "at least two increasing numbers (s)")
    n = np.shape(A)[-1] if np.ndim(A) in (2, 3) else 0
    m = np.shape(B)[-1] if np.ndim(B) in (2, 3) else 0
    shapes = {"A": (A, n, n), "B": (B, n, m), "Q": (Q, n, n), "R": (R, m, m)}
    count, result = len(t) - 1, []
    for key, (value, height, width) in shapes.items():
        shape = (height, width) if np.ndim(value) == 2 else (None, height, width)
        given = _weight(key, value, height, key == "R") if key in "QR" else array(key, value, shape)
        if given.ndim == 2:
            given = np.broadcast_to(given, (count, *given.shape))
        elif len(given) == count + 1:
            given = np.asarray((given[:-1] + given[1:]) / 2, dtype=np.float64)
        if len(given) != count:
            raise InputError(key, f"{len(given)} matrices", f"one matrix, or {count}")
        result.append(given)
    return (np.diff(t), *result, np.array(_weight("final", final, n, definite=False)))


def _freeze_gains(*arrays: FloatArray) -> tuple[FloatArray, ...]:
    finite(*arrays)
    for value in arrays:
        value.setflags(write=False)
    return arrays
