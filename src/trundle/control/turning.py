"""Turns in space as numbers: rotation matrices, rotation vectors and the errors controllers steer by."""

from __future__ import annotations

import math

import numpy as np

from trundle.checks import FloatArray


def turn_between(R: FloatArray, R_wanted: FloatArray) -> FloatArray:
    """Return the turn (3,) in the world from R to R_wanted: 1/2 sum_i r_i x r_wanted,i, the axis times sin(angle)."""
    E = R_wanted @ R.T
    return 0.5 * np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])


def rotation_vector(R: FloatArray, R_to: FloatArray) -> FloatArray:
    """Return the turn (3,) rad in the world from R to R_to, below half a turn: the axis times the angle."""
    sine = turn_between(R, R_to)
    size, cosine = float(np.linalg.norm(sine)), (float(np.trace(R_to @ R.T)) - 1) / 2
    return sine if size < 1e-9 else sine * (math.atan2(size, cosine) / size)


def rotation_by(turn: FloatArray) -> FloatArray:
    """Return the rotation (3, 3) by the rotation vector `turn` (3,), rad."""
    angle = math.sqrt(float(turn @ turn))
    if angle < 1e-12:
        return np.eye(3)
    x, y, z = turn / angle
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * K + (1 - math.cos(angle)) * K @ K
