"""Nearest: the direction in which two convex bodies are farthest apart, for many poses at once (Gilbert et al. 1988).

The vectors from a point of B to a point of A fill a convex body D, and its point v nearest to zero is the shortest
of them: the gap is |v| in the direction v/|v|. Supporting points of D in the directions tried so far span simplices
whose nearest points come closer to v.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from trundle.audit.columns import empty, sum_last_axis
from trundle.checks import FloatArray

_ITERATIONS = 60  # iterations at most
_THIN = 1e-12
"""Part of the product of its sides' squares under which the determinant of a triangle or tetrahedron is none."""


def nearest_direction(supporting: Callable[[FloatArray], FloatArray], start: FloatArray, accuracy: float) -> FloatArray:
    """Return unit vectors (m, 3) along the shortest vectors of convex bodies D, as far as `accuracy`, m, tells them.

    Parameters
    ----------
    supporting : (m, 3) -> (m, 3)
        Unit vectors n to the points of D that are least far along them.
    start : (m, 3)
        Unit vectors to begin with.
    """
    n = start
    corners = [supporting(n)] * 4
    v, best, found = corners[0], np.full(len(n), -np.inf), n
    for _ in range(_ITERATIONS):
        size = np.sqrt(sum_last_axis(v * v))
        n = v / np.where(size > 0.0, size, 1.0)[:, None]
        w = supporting(n)
        least = sum_last_axis(n * w)
        better = least > best
        best, found = np.where(better, least, best), np.where(better[:, None], n, found)
        if not np.any(size - best > accuracy):
            break
        v, corners = _nearest_of(w, corners)
    return found


def _nearest_of(w: FloatArray, corners: list[FloatArray]) -> tuple[FloatArray, list[FloatArray]]:
    """Return the points (m, 3) nearest to zero of simplices with a new corner `w`, and the corners that span them."""
    best, square = w, sum_last_axis(w * w)
    kept = [w] * 4
    for count in (1, 2, 3):
        for chosen in combinations(range(4), count):
            others = [corners[i] for i in chosen]
            point = _inside(w, others)
            size = sum_last_axis(point * point)
            closer = size < square  # not where there is none: nan
            square, best = np.where(closer, size, square), np.where(closer[:, None], point, best)
            spans = [w, *others, *[w] * (3 - count)]
            kept = [np.where(closer[:, None], new, old) for new, old in zip(spans, kept, strict=True)]
    return best, kept


def _inside(w: FloatArray, others: list[FloatArray]) -> FloatArray:
    """Return the points (m, 3) nearest to zero of the planes through `w` and the others; nan: outside the simplex."""
    sides = [other - w for other in others]
    k = len(sides)
    gram, right = np.empty((len(w), k, k)), empty(len(w), k)
    for i, one in enumerate(sides):
        right[:, i] = -sum_last_axis(w * one)
        for j, other in enumerate(sides):
            gram[:, i, j] = sum_last_axis(one * other)
    size = np.prod([gram[:, i, i] for i in range(k)], axis=0)
    thin = ~(np.linalg.det(gram) > _THIN * size)
    gram[thin] = np.eye(k)
    share = np.linalg.solve(gram, right[..., None])[..., 0]
    outside = thin | np.any(share < 0.0, axis=1) | (share.sum(axis=1) > 1.0)
    point = w + sum(share[:, i, None] * one for i, one in enumerate(sides))
    return np.where(outside[:, None], np.nan, point)
