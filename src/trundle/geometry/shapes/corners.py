"""Pieces with which bodies that have corners touch a flat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from trundle.geometry.boundary import Boundary, BoundaryPiece, Representations
from trundle.geometry.queries.sampling import call
from trundle.geometry.shapes import build
from trundle.geometry.shapes.surfaces import Point, Sphere
from trundle.geometry.support import SupportLike

FACE_TILT = 1e-3
"""Tilt in rad below which a body lies on its face."""
FACE_POINTS = 8
"""Points of its edge with which a round face touches a flat."""
_TURN, _WIDE, _SAME = 1e-6, 1e-3, 1e-5
"""How far (rad) the normal is turned, how far (sizes) points of a face are apart then, and those of one corner."""


def corners(vertices: NDArray[np.float64], factors: Sequence[float] = (1.0, 1.0, 1.0)) -> tuple[BoundaryPiece, ...]:
    """Return points at the `vertices` (n, d), m, times `factors` along the axes."""
    point = Point(0.2 * float(np.abs(vertices).max()), d=vertices.shape[1])
    pieces: list[BoundaryPiece] = []
    for row in vertices.tolist():
        pieces.append(BoundaryPiece(point, tuple(x * f for x, f in zip(row, factors, strict=False))))
    return tuple(pieces)


def rim_points(radius: float, z: float, rounding: float = 0.0) -> tuple[BoundaryPiece, ...]:
    """Return points, or balls of the radius `rounding`, on a circle about the z axis at the height `z`, m."""
    angles = 2 * np.pi * np.arange(FACE_POINTS) / FACE_POINTS
    shape = Sphere(rounding) if rounding else Point(0.1 * radius)
    return tuple(BoundaryPiece(shape, (radius * float(np.cos(a)), radius * float(np.sin(a)), z)) for a in angles)


@dataclass(frozen=True)
class Rim(Boundary):
    """What touches of a body with flat faces while none of them lies on the flat."""

    support: SupportLike
    roundness: ca.Function
    reference_length: float = 1.0  # pyright: ignore[reportIncompatibleMethodOverride]
    d = 3

    def bundle(self) -> Representations:
        """Return support and roundness."""
        return Representations(support=self.support, roundness=self.roundness)


def with_faces(support: SupportLike, flat: float) -> tuple[BoundaryPiece, ...]:
    """Return the rim and the edges of the flat faces that a convex body in space has across the axes, or nothing.

    A face shows by points of the support function that jump where the normal turns about an axis.

    Parameters
    ----------
    flat : float, rad
        Tilt under which a face lies on a flat.
    """
    n = ca.SX.sym("n", 3)
    point = ca.Function("point", [n], [support.point_and_radii(n)[0]])
    angles = 2 * np.pi * (np.arange(FACE_POINTS) + 0.5) / FACE_POINTS
    around = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    size = float(np.nanmax(np.abs(call(point, np.concatenate([np.insert(around, i, 0.1, axis=1) for i in range(3)])))))
    points, rounds = [], []
    for axis, side in [(i, s) for i in range(3) for s in (1.0, -1.0)]:
        edge = call(point, np.insert(_TURN * around, axis, side, axis=1))
        widths = np.linalg.svd(edge - edge.mean(axis=0))[1] if np.all(np.isfinite(edge)) else np.zeros(3)
        if widths[1] < _WIDE * size:
            continue
        edge[:, axis] = edge[:, axis].mean()
        for row in edge:
            if not points or np.min(np.linalg.norm(np.array(points) - row, axis=1)) > _SAME * size:
                points.append(row)
        across = ca.sqrt(ca.sumsqr(n) - n[axis] ** 2 + 1e-300)
        rounds.append(ca.if_else(side * n[axis] > 0, across, 1.0))
    if not points:
        return ()
    roundness = ca.Function("roundness", [n], [-ca.mmax(-ca.vertcat(*rounds)) - flat])
    # Kept off the normals of the faces, where derivatives would be 0/0.
    rim = Rim(build.support(3, lambda u: support.support(u + 1e-100)), roundness, size)
    return (BoundaryPiece(rim, (0.0, 0.0, 0.0), tuple(range(1, len(points) + 1))), *corners(np.array(points)))
