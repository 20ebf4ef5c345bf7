"""What a linear system x' = A x + B u does by itself, and what inputs reach: decisions that round-off must not make."""

from __future__ import annotations

import numpy as np

from trundle.checks import FloatArray

_RANK = 1e-9
"""Singular values of a block of directions, each of length one, that are no direction of their own."""
_ROUND_OFF = 1e-10
"""Singular values of A, over its norm, that are zero: of its entries, the last five or six digits are not trusted."""
_UNDAMPED = 1e-7
"""Rates of growth or decay, over the norm of A, that are none: round-off splits two equal oscillations by its root."""


def reachable(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return an orthonormal basis (n, n_c) of the states that inputs reach in x' = A x + B u: span(B, A B, A A B, ...).

    Built block by block, each orthogonal to the last, of matrices scaled to norm one.
    """
    n = len(A)
    A = A / max(float(np.linalg.norm(A)), 1e-300)
    V: FloatArray = np.zeros((n, 0))
    block: FloatArray = B / np.maximum(np.linalg.norm(B, axis=0), 1e-300)
    while block.shape[1] and V.shape[1] < n:
        for _ in range(2):
            block = block - V @ (V.T @ block)
        left, sizes, _ = np.linalg.svd(block, full_matrices=False)
        new = left[:, sizes > _RANK]
        V = np.hstack([V, new])
        block = np.asarray(A @ new)
    return V


def growth(A: FloatArray) -> float:
    """Return the largest growth rate (1/s) of x' = A x, 0 where nothing grows by itself.

    What only drifts (places with their velocities, spins that nothing changes) is k-fold at the eigenvalue zero, and
    round-off of size eps scatters such eigenvalues by eps^(1/k): 1e-4 in the place of 0 for k = 4. So the null space
    goes first, again and again as long as there is one, by orthogonal bases, and the eigenvalues left are not zero.
    """
    return float(np.max(np.linalg.eigvals(_without_drift(A)).real, initial=0.0))


def goes_on(A: FloatArray) -> bool:
    """Return whether some motion of x' = A x neither dies out nor grows: a drift, an oscillation without damping."""
    rest = _without_drift(A)
    rates = np.linalg.eigvals(rest).real
    return len(rest) < len(A) or bool(np.any(np.abs(rates) <= _UNDAMPED * np.linalg.norm(A)))


def _without_drift(A: FloatArray) -> FloatArray:
    """Return A on what is left when the null space of A is taken out, and that of what is left, until there is none."""
    zero = _ROUND_OFF * float(np.linalg.norm(A))
    while len(A):
        _, sizes, right = np.linalg.svd(A)
        rank = int(np.sum(sizes > zero))
        if rank == len(A):
            break
        rest = right[:rank].T  # A x = A rest rest'x: the null space does nothing to the rest
        A = np.asarray(rest.T @ A @ rest)
    return A
