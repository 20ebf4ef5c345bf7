"""Proximity: where two bodies come close, away from the contact that is being followed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
from scipy.spatial import cKDTree

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.geometry.shape import Shape
from trundle.numerics.compiled.batch import batch_function
from trundle.numerics.compiled.buffered import BufferedFunction

_SAMPLES = {2: 512, 3: 2000}
_NEIGHBOURS = {2: 2, 3: 8}


@dataclass(frozen=True)
class Nearness:
    """A pair of boundary points that are locally nearest.

    Attributes
    ----------
    gap : float, m
        Approximate distance, negative where A is inside B.
    x_A, x_B : (d,) m
        The points, each in its shape's frame.
    n_B : (d,)
        Outward normal of B there, in B's frame.
    """

    gap: float
    x_A: FloatArray
    x_B: FloatArray
    n_B: FloatArray


class Proximity:
    """Finder of local minima of the distance between a bounded shape A and a shape B.

    Boundary samples of A are measured against B; a sample that is nearer than its neighbours is a local
    minimum. The result is a seed for the contact's own Newton iteration, not a final answer.

    Parameters
    ----------
    A, B : Shape
        A is bounded.
    """

    def __init__(self, A: Shape, B: Shape) -> None:
        self.B = B
        points, _ = A.sample(_SAMPLES[A.d])
        self.points: FloatArray = np.ascontiguousarray(points)
        tree = cKDTree(points)
        spacing, index = tree.query(points, k=_NEIGHBOURS[A.d] + 1)
        self._neighbours = index[:, 1:]
        self.spacing = float(np.median(spacing[:, 1]))
        self._columns = np.ascontiguousarray(self.points.T)
        self._measure = _measure(B, len(points))

    def gaps(self, R_B_A: FloatArray, p_B_A: FloatArray) -> FloatArray:
        """Return approximate signed distances (m,) of A's samples to B, for A's shape at (R, p) in B's frame."""
        return self._gaps(R_B_A[None], p_B_A[None])[0]

    def _gaps(self, R_B_A: FloatArray, p_B_A: FloatArray) -> FloatArray:
        """Return the same (N, m) for N poses."""
        return self._measure(R_B_A @ self._columns + p_B_A[:, :, None])

    def suspicious(self, R_B_A: FloatArray, p_B_A: FloatArray, known: FloatArray) -> FloatArray:
        """Return which of N poses may touch somewhere else than at `known`: (N,) of bool.

        ``R_B_A`` (N, d, d), ``p_B_A`` (N, d) m and ``known`` (N, c, d) m, contact points in A's shape frame.
        A sample that is nearer than its neighbours, away from the known contacts, and nearer than a
        quarter of the sample spacing, is suspicious; between samples the distance cannot fall further.
        """
        count, gaps = len(p_B_A), self._gaps(R_B_A, p_B_A)
        near = np.nonzero(gaps < self.spacing / 4)
        if not near[0].size:
            return np.zeros(count, dtype=bool)
        lowest = np.all(gaps[near][:, None] <= gaps[near[0][:, None], self._neighbours[near[1]]], axis=1)
        pose, sample = near[0][lowest], near[1][lowest]
        apart = np.linalg.norm(self.points[sample][:, None] - known[pose], axis=2) >= 1.5 * self.spacing
        found = np.zeros(count, dtype=bool)
        found[pose[np.all(apart, axis=1)]] = True
        return found

    def local_minima(self, R_B_A: FloatArray, p_B_A: FloatArray, below: float = np.inf) -> list[Nearness]:
        """Return the local minima of the distance with a gap under `below` (m), nearest first.

        ``R_B_A`` (d, d) and ``p_B_A`` (d,) m are the pose of A's shape in the frame of B's shape.
        """
        gaps = self.gaps(R_B_A, p_B_A)
        lowest = np.all(gaps[:, None] <= gaps[self._neighbours], axis=1) & (gaps < below)
        index = np.flatnonzero(lowest)
        if not index.size:
            return []
        index = index[np.argsort(gaps[index])][:16]
        in_B = self.points[index] @ R_B_A.T + p_B_A
        distance, gradient = self.B.distance(in_B)
        feet = in_B - distance[:, None] * gradient
        found = [
            Nearness(float(g), self.points[i], foot, n)
            for g, i, foot, n in zip(distance, index, feet, gradient, strict=True)
        ]
        return sorted(found, key=lambda near: near.gap)


def one_contact_only(A: Shape, B: Shape) -> bool:
    """Return True where shapes alone exclude a second contact: two convex bodies, a convex hull on a flat.

    A hull that meets the flat in more than a point has a roundness that says so.
    """
    a, b = A.representations, B.representations
    if a.support is None:
        return False
    return b.flat or (not a.hull and b.support is not None and not b.hull)


def _measure(B: Shape, count: int) -> Callable[[FloatArray], FloatArray]:
    """Return points (N, d, `count`) in B's frame -> approximate signed distances (N, count)."""
    level = B.representations.level
    if level is None:
        of_points = _from_samples(B)
        return lambda points: of_points(np.swapaxes(points, 1, 2).reshape(-1, B.d)).reshape(-1, count)
    x = ca.SX.sym("x", B.d)
    f, gradient = level.value_and_gradient(x)
    distance = f / ca.sqrt(ca.fmax(ca.dot(gradient, gradient), 1e-12))
    call = BufferedFunction(batch_function(ca.Function("measure", [x], [distance], {"cse": True}), count))
    return lambda points: np.array([call(pose.ravel())[0] for pose in points])


_CHART_SAMPLES = 20_000  # points of a chart, about 140 by 140


def _from_samples(B: Shape) -> Callable[[FloatArray], FloatArray]:
    """Return the measure of a shape known by charts only: the height over the tangent plane of the nearest sample.

    Exact projections cost some 60 us a point; this one microsecond, and near the boundary it is right to second
    order in the samples' spacing. Shapes without end have no finite set of samples and are projected onto.
    """
    try:
        samples, normals = B.sample(_CHART_SAMPLES)
    except InputError:
        return lambda points: B.distance(points)[0]
    tree = cKDTree(samples)

    def measure(points: FloatArray) -> FloatArray:
        _, nearest = tree.query(points)
        return np.asarray(np.einsum("ij,ij->i", normals[nearest], points - samples[nearest]), dtype=np.float64)

    return measure
