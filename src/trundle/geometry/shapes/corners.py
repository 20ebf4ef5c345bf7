"""Pieces with which bodies that have corners touch a flat."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trundle.geometry.boundary import Piece
from trundle.geometry.shapes.surfaces import Point, Sphere

FACE_POINTS = 8
"""Points of its edge with which a round face touches a flat."""


def corners(vertices: NDArray[np.float64]) -> tuple[Piece, ...]:
    """Return points at the `vertices` (n, d), m."""
    point = Point(0.2 * float(np.abs(vertices).max()), d=vertices.shape[1])
    return tuple(Piece(point, tuple(float(x) for x in row)) for row in vertices)


def rim_points(radius: float, z: float, rounding: float = 0.0) -> tuple[Piece, ...]:
    """Return points, or balls of the radius `rounding`, on a circle about the z axis at the height `z`, m."""
    angles = 2 * np.pi * np.arange(FACE_POINTS) / FACE_POINTS
    shape = Sphere(rounding) if rounding else Point(0.1 * radius)
    return tuple(Piece(shape, (radius * float(np.cos(a)), radius * float(np.sin(a)), z)) for a in angles)
