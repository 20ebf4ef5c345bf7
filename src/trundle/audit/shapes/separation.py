"""Separation: gaps of two whole shapes at many poses, from a bound that settles most to what proves an overlap.

For any unit vector n, n.p - h_A(-R'n) - h_B(n) is a lower bound of the gap of two convex bodies, and the largest one is
the gap. Of other bodies a point of A at which the field of B is negative proves an overlap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trundle.audit.mechanics import turned_back
from trundle.audit.shapes.nearest import nearest_direction
from trundle.audit.shapes.solids import Solid, unit_directions
from trundle.checks import FloatArray

_ASCENTS = 40  # steps of an ascent at most
_DIRECTIONS = {2: 64, 3: 200}
_ZOOMS, _SLIDES = 14, 8
_STILL = 1e-9  # smaller steps end an ascent
_TOUCHING = 0.002
"""Part of a gap that need not be known better which an overlap may be to be none: round-off of what touches."""
_SHARES = (1.0 - 1e-3, 1.0 - 1e-5)
"""Parts of their size to which bodies with edges shrink, to be apart: the nearer to one, the nearer their direction."""
_NEAREST = 8  # neighbours of a sample that it is compared with


@dataclass(frozen=True, eq=False)
class Gaps:
    """Gaps (n,), m, of two shapes; ``sound`` (n,): whether each is a bound that holds, else it is what was found."""

    gap: FloatArray
    sound: np.ndarray


class Poses:
    """Poses of A's shape in the frame of B at n instants: what only some gaps need is computed where one asks for it.

    Attributes
    ----------
    p : (n, d) m
        Of the origin of A's shape.
    """

    def __init__(
        self, d: int, R_A: FloatArray, R_B: FloatArray | None, apart: FloatArray, hints: Callable[[], FloatArray]
    ) -> None:
        """Take orientations (n, 3, 3), A's place from B (n, 3), m, in the world, and what gives hints (n, k, 3)."""
        self._chosen = slice(None) if d == 3 else slice(None, None, 2)
        self._R_A, self._R_B, self._hints = R_A, R_B, hints
        self.p = (apart if R_B is None else turned_back(R_B, apart))[:, self._chosen]

    @property
    def R(self) -> FloatArray:  # noqa: N802
        """Orientations (n, d, d)."""
        R = self._R_A if self._R_B is None else np.swapaxes(self._R_B, 1, 2) @ self._R_A
        return R[:, self._chosen, self._chosen]

    @property
    def up(self) -> FloatArray:
        """B's last axis (n, d) in the frame of A."""
        if self._R_B is None:
            return self._R_A[:, 2, self._chosen]
        return turned_back(self._R_A, self._R_B[..., 2])[:, self._chosen]

    @property
    def hints(self) -> FloatArray:
        """Directions (n, k, d) in B's frame that may separate the shapes; zeros: none."""
        return self._hints()[..., self._chosen]


def gaps(A: Solid, B: Solid, poses: Poses, enough: float) -> Gaps:
    """Return the gaps of A in the frame of B; one of `enough`, m, need not be known better."""
    p, n = poses.p, len(poses.p)
    if B.flat and A.bounded:
        return Gaps(_over_flat(A, poses), np.ones(n, dtype=bool))
    if A.ball is not None and B.ball is not None:
        return Gaps(np.sqrt(np.sum(p * p, axis=1)) - A.ball - B.ball, np.ones(n, dtype=bool))
    if A.ball is not None and B.bundle.distance is not None:
        return Gaps(B.depth(p)[0] - A.ball, np.ones(n, dtype=bool))
    R, hints = poses.R, poses.hints
    if B.ball is not None and A.bundle.distance is not None:
        return Gaps(A.depth(-np.einsum("nji,nj->ni", R, p))[0] - B.ball, np.ones(n, dtype=bool))
    if A.convex and B.convex:
        return _convex(A, B, R, p, hints, enough)
    return _by_points(A, B, R, p, hints, enough)


def _over_flat(A: Solid, poses: Poses) -> FloatArray:
    """Return the gaps of a body, or of its hull, over the flat z = 0."""
    if A.ball is not None:
        return poses.p[:, -1] - A.ball
    return poses.p[:, -1] - A.h(-poses.up)


def bound(A: Solid, B: Solid, R: FloatArray, p: FloatArray, n: FloatArray) -> FloatArray:
    """Return lower bounds (m,) of gaps of convex bodies, by unit vectors n (m, d) in B's frame."""
    return np.sum(n * p, axis=1) - A.h(-np.einsum("nji,nj->ni", R, n)) - B.h(n)


def _unit(v: FloatArray) -> FloatArray:
    size = np.sqrt(np.sum(v * v, axis=-1, keepdims=True))
    return v / np.where(size > 0.0, size, 1.0)


def _convex(A: Solid, B: Solid, R: FloatArray, p: FloatArray, hints: FloatArray, enough: float) -> Gaps:
    """Return gaps of convex bodies: bounds by hints and the line of centres, improved where they say overlap."""
    best, normal = np.full(len(p), -np.inf), _unit(p)
    for n in (normal, *np.moveaxis(hints, 1, 0)):
        there = np.flatnonzero((np.sum(n * n, axis=1) > 0.5) & (best < enough))
        if len(there):
            found = bound(A, B, R[there], p[there], n[there])
            better = found > best[there]
            best[there[better]] = found[better]
            normal[there[better]] = n[there[better]]
    rows = np.flatnonzero(~(best >= -_TOUCHING * enough))
    if len(rows):
        best[rows], normal[rows] = _best_bound(A, B, R[rows], p[rows], normal[rows], best[rows])
        rows = rows[~(best[rows] >= -_TOUCHING * enough)]
    for share in (1.0,) if A.roundest + B.roundest > 0.0 else _SHARES:
        rows = rows[~(best[rows] >= -_TOUCHING * enough)]
        if len(rows):
            n = _direction_between(A, B, R[rows], p[rows], normal[rows], _TOUCHING * enough, share)
            best[rows] = np.fmax(best[rows], bound(A, B, R[rows], p[rows], n))
    return Gaps(best, np.ones(len(p), dtype=bool))


def _direction_between(
    A: Solid, B: Solid, R: FloatArray, p: FloatArray, normal: FloatArray, accuracy: float, share: float
) -> FloatArray:
    """Return directions (m, d) of bodies that overlap a little: they are apart where both are shrunk by what they may.

    A body shrinks along its normals, so that the direction between the shrunk ones is that between the bodies. Of two
    with edges, which cannot, each shrinks to a `share` of its size.
    """
    shrunk = A.roundest + B.roundest
    flat = A.d == 2

    def supporting(n: FloatArray) -> FloatArray:
        n = n[:, :2] if flat else n
        in_A = np.einsum("nji,nj->ni", R, -n)
        w = p + share * (np.einsum("nij,nj->ni", R, A.point(in_A)) - B.point(n)) + shrunk * n
        return np.pad(w, ((0, 0), (0, 1))) if flat else w

    start = np.pad(normal, ((0, 0), (0, 1))) if flat else normal
    return nearest_direction(supporting, start, accuracy)[:, : A.d]


def _best_bound(
    A: Solid, B: Solid, R: FloatArray, p: FloatArray, normal: FloatArray, best: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the largest of the bounds, and normals: over those of faces, pairs of edges, by ascent from the best."""
    for n in _candidates(A, B, R):
        found = bound(A, B, R, p, n)
        better = found > best
        best, normal = np.where(better, found, best), np.where(better[:, None], n, normal)
    # Ascent: the gradient by n is the vector between the supporting points, less its part along n.
    step = np.full(len(p), 0.5)
    for _ in range(_ASCENTS):
        in_A = np.einsum("nji,nj->ni", R, -normal)
        apart = p + np.einsum("nij,nj->ni", R, A.point(in_A)) - B.point(normal)
        along = np.sum(apart * normal, axis=1, keepdims=True)
        aside = apart - along * normal
        size = np.sqrt(np.sum(apart * apart, axis=1, keepdims=True))
        tried = _unit(normal + step[:, None] * aside / np.where(size > 0.0, size, 1.0))
        found = bound(A, B, R, p, tried)
        better = found > best
        best, normal = np.where(better, found, best), np.where(better[:, None], tried, normal)
        step = np.where(better, np.minimum(2.0 * step, 2.0), 0.4 * step)
        if float(step.max(initial=0.0)) < 1e-12:
            break
    return best, normal


def _candidates(A: Solid, B: Solid, R: FloatArray) -> list[FloatArray]:
    """Return directions (n, d) in B's frame, for each pose, in which bodies with faces and edges may be apart."""
    m, d = len(R), A.d
    found = [np.broadcast_to(u, (m, d)) for u in unit_directions(_DIRECTIONS[d], d)]
    found += [np.broadcast_to(u, (m, d)) for u in B.corners]
    found += [-np.einsum("nij,j->ni", R, u) for u in A.corners]
    for a in A.edges if d == 3 else ():
        turned = np.einsum("nij,j->ni", R, a)
        for b in B.edges:
            across = np.cross(turned, b)
            found += [_unit(across), -_unit(across)]
    return found


def _by_points(A: Solid, B: Solid, R: FloatArray, p: FloatArray, hints: FloatArray, enough: float) -> Gaps:
    """Return what the field of B is at the points of A's boundary, at the least, improved where that is near."""
    n, points = len(p), A.surface
    found = np.full(n, np.inf)
    at = np.zeros((n, A.d))
    rows = np.flatnonzero(_far(A, B, p) < enough)
    for block in np.array_split(rows, max(1, len(rows) * len(points) // 400_000)):
        if not len(block):
            continue
        placed = np.einsum("nij,mj->nmi", R[block], points) + p[block][:, None]
        depth, _ = B.depth(placed.reshape(-1, A.d))
        depth = np.where(np.isfinite(depth), depth, np.inf).reshape(len(block), -1)
        least = np.argmin(depth, axis=1)
        found[block], at[block] = depth[np.arange(len(block)), least], points[least]
    if A.smooth:
        _slide(A, B, R, p, found, at, hints)
    elif A.convex:
        _zoom(A, B, R, p, found, at, points)
    return Gaps(found, np.zeros(n, dtype=bool))


def _far(A: Solid, B: Solid, p: FloatArray) -> FloatArray:
    """Return lower bounds (n,) of gaps by bounding balls; -inf where B has no end."""
    if not np.isfinite(B.reach):
        return np.full(len(p), -np.inf)
    return np.sqrt(np.sum(p * p, axis=1)) - A.reach - B.reach


def _slide(
    A: Solid, B: Solid, R: FloatArray, p: FloatArray, found: FloatArray, at: FloatArray, hints: FloatArray
) -> None:
    """Look for lower values of the field on a smooth body: the point that faces the ground where the last one was."""
    starts = [B.depth(np.einsum("nij,nj->ni", R, at) + p)[1]]
    starts += [hints[:, k] for k in range(hints.shape[1]) if np.any(hints[:, k])]
    for normal in starts:
        n = _unit(np.where(np.isfinite(normal), normal, 0.0))
        for _ in range(_SLIDES):
            x = np.einsum("nij,nj->ni", R, A.point(-np.einsum("nji,nj->ni", R, n))) + p
            depth, slope = B.depth(x)
            lower = np.isfinite(depth) & (depth < found)
            found[lower] = depth[lower]
            turned = _unit(np.where(np.isfinite(slope), slope, n))
            moved = float(np.abs(turned - n).max(initial=0.0))
            n = turned
            if moved < _STILL:
                break


def _zoom(
    A: Solid, B: Solid, R: FloatArray, p: FloatArray, found: FloatArray, at: FloatArray, points: FloatArray
) -> None:
    """Look for lower values of the field between a point of a convex body and its neighbours, in place."""
    from scipy.spatial import cKDTree

    tree = cKDTree(points)
    spacing = float(np.median(tree.query(points, k=2)[0][:, 1]))
    rows = np.flatnonzero(found < 2.0 * spacing)
    if not len(rows):
        return
    neighbours = points[tree.query(at[rows], k=_NEAREST + 1)[1][:, 1:]]
    legs = neighbours - at[rows][:, None]
    weights, value, scale = np.zeros(legs.shape[:2]), found[rows], np.full(len(rows), 0.5)
    start = at[rows]
    for _ in range(_ZOOMS):
        moved = np.zeros(len(rows), dtype=bool)
        for j in range(legs.shape[1]):
            for sign in (1.0, -1.0):
                tried = weights.copy()
                tried[:, j] = np.clip(tried[:, j] + sign * scale, 0.0, 1.0)
                fits = tried.sum(axis=1) <= 1.0
                x = start + np.einsum("nk,nkj->nj", tried, legs)
                depth, _ = B.depth(np.einsum("nij,nj->ni", R[rows], x) + p[rows])
                better = fits & (depth < value)
                weights[better], value = tried[better], np.where(better, depth, value)
                moved |= better
        scale = np.where(moved, scale, 0.35 * scale)
    found[rows] = value
