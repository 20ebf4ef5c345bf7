"""Gaps of whole shapes: signed distances of convex bodies to each other and to ground, at many instants at once.

For a unit vector n from A to B the slab between the two, g(n) = -h_A(n) - h_B(-n), is empty: every n gives a lower
bound of the gap, and the best n the gap itself, also where they overlap (the shortest way out). The nearest points of
shapes that are shrunk a little (Gilbert, Johnson and Keerthi 1988) give that n; shrunk shapes that meet prove an
overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np

from .curved import low_points
from .grounds import Ground
from .shapes import Array, Body, directions, unit

SHRINKS = (1e-3, 1e-5, 1e-6)
"""By how much (of their size) sharp shapes are shrunk to look for the direction between them."""

ROUNDS = 60
"""Steps of the search for nearest points, at most."""


@dataclass(frozen=True, eq=False)
class Placed:
    """A body at n instants: rotations (n, d, d) and places (n, d), world from body."""

    body: Body
    R: Array
    p: Array

    def core(self, u: Array, share: float = 1.0) -> Array:
        """Return the furthest points (n, d) of the core along u (n, d), shrunk about its origin to `share`."""
        local = np.einsum("nji,nj->ni", self.R, u)
        return self.p + share * np.einsum("nij,nj->ni", self.R, self.body.core(local))

    def reach(self, u: Array) -> Array:
        """Return h (n,) along unit vectors u (n, d), world."""
        return np.sum(u * self.core(u), axis=1) + self.body.radius

    def points(self, local: Array) -> Array:
        """Return points (n, k, d), world, of points (k, d) of the body."""
        return self.p[:, None] + np.einsum("nij,kj->nki", self.R, local)

    def some(self, rows: Array) -> Placed:
        """Return the body at some of the instants."""
        return Placed(self.body, self.R[rows], self.p[rows])


@dataclass(frozen=True, eq=False)
class Gaps:
    """Gaps (n,) m, the unit normals (n, d) from A to B that show them; over curved ground the lowest points (n, d)."""

    gap: Array
    normal: Array
    point: Array | None = None


def between(A: Placed, B: Placed, far: float) -> Gaps:
    """Return the gaps of two convex bodies; of pairs further apart than `far` (m) a lower bound is enough."""
    n = unit(B.p - A.p)
    gap = -A.reach(n) + -B.reach(-n)
    near = np.flatnonzero(gap < far)
    if near.size:
        found = _near(A.some(near), B.some(near), n[near])
        better = found.gap > gap[near]
        gap[near] = np.where(better, found.gap, gap[near])
        n[near] = np.where(better[:, None], found.normal, n[near])
    return Gaps(gap, n)


def slab(A: Placed, B: Placed, n: Array) -> Array:
    """Return g(n) (n,), m, of unit vectors (n, d)."""
    return -A.reach(n) - B.reach(-n)


def _near(A: Placed, B: Placed, start: Array) -> Gaps:
    """Return the gaps where bounds do not settle them."""
    small = min(A.body.size, B.body.size)
    sharp = A.body.radius + B.body.radius < SHRINKS[0] * small
    n, met = nearest_direction(A, B, start, 1.0 - SHRINKS[0] if sharp else 1.0)
    n = _refined(A, B, n, ~met)
    gap = slab(A, B, n)
    for shrink in SHRINKS[1:]:  # edges that are nearly parallel need nearer relatives of the shapes
        rows = np.flatnonzero(~met & (gap < -1e-8 * small))
        if not sharp or not rows.size:
            break
        again, deeper = nearest_direction(A.some(rows), B.some(rows), n[rows], 1.0 - shrink)
        value = np.where(deeper, -np.inf, slab(A.some(rows), B.some(rows), again))
        better = value > gap[rows]
        gap[rows] = np.where(better, value, gap[rows])
        n[rows] = np.where(better[:, None], again, n[rows])
    if met.any():
        rows = np.flatnonzero(met)
        gap[rows], n[rows] = _way_out(A.some(rows), B.some(rows))
    return Gaps(gap, n)


def _refined(A: Placed, B: Placed, n: Array, rows: Array) -> Array:
    """Return directions (n, d) along which the points that reach furthest lie opposite, by Newton's method.

    The search ends with a bound of the gap; the error of its direction is the root of that one's. Where a corner or a
    face decides nothing changes.
    """
    n = n.copy()
    for _ in range(4):
        frame, apart = _across(n), B.core(-n) - A.core(n)
        off = np.einsum("nkd,nd->nk", frame, apart)
        slope = np.empty((*off.shape, off.shape[1]))
        h = 1e-6
        for j in range(off.shape[1]):
            ends = []
            for step in (h, -h):
                u = unit(n + step * frame[:, j])
                ends.append(np.einsum("nkd,nd->nk", frame, B.core(-u) - A.core(u)))
            slope[:, :, j] = (ends[0] - ends[1]) / (2 * h)
        # d(off)/dn has the gap of the cores itself in it: off is measured in the frame of n.
        length = np.sum(apart * n, axis=1)
        slope -= length[:, None, None] * np.eye(off.shape[1])
        damped = slope - 1e-9 * np.max(np.abs(slope), axis=(1, 2), keepdims=True) * np.eye(off.shape[1]) - 1e-300
        move = -np.linalg.solve(damped, off[..., None])[..., 0]
        move *= np.minimum(1.0, 1e-2 / (np.linalg.norm(move, axis=1, keepdims=True) + 1e-300))
        u = unit(n + np.einsum("nk,nkd->nd", move, frame))
        after = B.core(-u) - A.core(u)
        left = after - np.sum(after * u, axis=1)[:, None] * u
        better = rows & (np.linalg.norm(left, axis=1) < np.linalg.norm(off, axis=1))
        better &= slab(A, B, u) >= slab(A, B, n) - 1e-12 * min(A.body.size, B.body.size)
        n = np.where(better[:, None], u, n)
    return n


def nearest_direction(A: Placed, B: Placed, start: Array, share: float) -> tuple[Array, Array]:
    """Return the direction (n, d) from A's core to B's nearest point, and whether the two cores meet (n,)."""
    count, d = start.shape
    scale = min(A.body.size, B.body.size)

    def support(u: Array) -> Array:
        """The point of B - A that is least along u."""
        return B.core(-u, share) - A.core(u, share)

    corners = np.zeros((count, d + 1, d))
    used = np.zeros((count, d + 1), dtype=bool)
    corners[:, 0], used[:, 0] = support(start), True
    nearest, best, normal = corners[:, 0].copy(), np.full(count, -np.inf), start.copy()
    open_, met = np.ones(count, dtype=bool), np.zeros(count, dtype=bool)
    for _ in range(ROUNDS):
        rows = np.flatnonzero(open_)
        if not rows.size:
            break
        length = np.linalg.norm(nearest[rows], axis=1)
        met[rows] |= length < 1e-12 * scale
        u = nearest[rows] / np.maximum(length, 1e-300)[:, None]
        full = np.array(start)
        full[rows] = u
        w = support(full)[rows]
        bound = np.sum(u * w, axis=1)
        better = bound > best[rows]
        best[rows] = np.where(better, bound, best[rows])
        normal[rows] = np.where(better[:, None], u, normal[rows])
        done = met[rows] | (length - best[rows] < 1e-9 * scale + 1e-10 * length)
        open_[rows[done]] = False
        go = rows[~done]
        if go.size:
            free = np.argmin(used[go], axis=1)
            corners[go, free], used[go, free] = w[~done], True
            nearest[go], used[go] = _closest(corners[go], used[go])
            met[go] |= used[go].all(axis=1)
            open_[go[met[go]]] = False
    return normal, met


@cache
def _subsets(d: int) -> list[list[int]]:
    return [list(s) for size in range(1, d + 2) for s in combinations(range(d + 1), size)]


def _closest(corners: Array, used: Array) -> tuple[Array, Array]:
    """Return the point (n, d) nearest to the origin of the hulls of corners (n, d + 1, d), and which carry it."""
    count, _, d = corners.shape
    best, point, carry = np.full(count, np.inf), corners[:, 0].copy(), np.zeros_like(used)
    size = np.max(np.sum(corners**2, axis=2), axis=1) + 1e-300
    for subset in _subsets(d):
        rows = np.flatnonzero(used[:, subset].all(axis=1))
        if not rows.size:
            continue
        w = corners[rows][:, subset]
        k = len(subset)
        K = np.zeros((len(rows), k + 1, k + 1))
        K[:, :k, :k] = w @ np.swapaxes(w, 1, 2) / size[rows, None, None]
        K[:, range(k), range(k)] += 1e-15
        K[:, :k, k] = K[:, k, :k] = 1.0
        right = np.zeros((len(rows), k + 1, 1))
        right[:, k] = 1.0
        share = np.linalg.solve(K, right)[:, :k, 0]
        found = np.einsum("nk,nkd->nd", share, w)
        length = np.linalg.norm(found, axis=1)
        good = (share >= -1e-12).all(axis=1) & (length < best[rows] * (1 - 1e-13))
        take = rows[good]
        best[take], point[take] = length[good], found[good]
        carry[take] = False
        carry[np.ix_(take, subset)] = True
    return point, carry


def _way_out(A: Placed, B: Placed) -> tuple[Array, Array]:
    """Return the gap (negative) and its direction of bodies that overlap: the best of many directions, refined."""
    count, d = A.p.shape
    best, normal = np.full(count, -np.inf), unit(B.p - A.p)
    for u in directions(d, 60 if d == 2 else 300):
        n = np.tile(u, (count, 1))
        g = slab(A, B, n)
        better = g > best
        best, normal = np.where(better, g, best), np.where(better[:, None], n, normal)
    step = 0.3
    while step > 1e-6:
        frame = _across(normal)
        for angle in np.linspace(0, 2 * np.pi, 2 if d == 2 else 8, endpoint=False):
            side = np.cos(angle) * frame[:, 0] + (np.sin(angle) * frame[:, 1] if d == 3 else 0.0)
            n = unit(normal + step * side)
            g = slab(A, B, n)
            better = g > best
            best, normal = np.where(better, g, best), np.where(better[:, None], n, normal)
        step *= 0.6
    return best, normal


def _across(n: Array) -> Array:
    """Return tangents (n, d - 1, d) of unit vectors (n, d)."""
    if n.shape[1] == 2:
        return np.stack([-n[:, 1], n[:, 0]], axis=1)[:, None]
    helper = np.where(np.abs(n[:, :1]) < 0.6, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    first = unit(np.cross(n, helper))
    return np.stack([first, np.cross(n, first)], axis=1)


def over(A: Placed, ground: Ground, R: Array, p: Array, far: float) -> Gaps:
    """Return the gaps of a body over ground whose frame has R (n, d, d), p (n, d); normals point into the ground."""
    if ground.solid is not None:
        return between(A, Placed(ground.solid, R, p), far)
    if ground.flat is not None:
        origin, up = ground.flat
        n = np.einsum("nij,j->ni", R, up)
        foot = p + np.einsum("nij,j->ni", R, origin)
        return Gaps(-np.sum(foot * n, axis=1) - A.reach(-n), -n)
    return _over_curved(A, ground, R, p, far)


def _over_curved(A: Placed, ground: Ground, R: Array, p: Array, far: float) -> Gaps:
    """Return gaps over ground that is known by its signed distance: the least of the body's low points."""
    count, d = A.p.shape
    gap, normal, lowest = np.empty(count), np.zeros((count, d)), np.full((count, d), np.nan)
    local = np.einsum("nji,nj->ni", R, A.p - p)
    turn = np.einsum("nji,njk->nik", R, A.R)
    height = ground.distance(local)
    away = height - A.body.size > far
    gap[away] = (height - A.body.size)[away]
    normal[away] = -np.einsum("nij,nj->ni", R[away], ground.normal(local[away]))
    for i in np.flatnonzero(~away):
        points, values = low_points(A.body, turn[i], local[i], ground)
        k = int(np.argmin(values))
        gap[i] = values[k]
        normal[i] = -R[i] @ ground.normal(points[k][None])[0]
        lowest[i] = p[i] + R[i] @ points[k]
    return Gaps(gap, normal, lowest)
