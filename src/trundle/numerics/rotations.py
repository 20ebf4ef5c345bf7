"""Turns in space as numbers: rotation matrices, rotation vectors and the errors controllers steer by."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation

_EQUAL = 1e-9
"""Difference of squares of a quaternion's entries, times four, that is none."""


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a x b of two vectors (3,): numpy's own takes twenty times as long for one pair."""
    (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


def skew(r: FloatArray) -> FloatArray:
    """Return the matrix [r]x (3, 3) with ``skew(r) @ v = r x v``."""
    x, y, z = r.tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def turn_between(R: FloatArray, R_wanted: FloatArray) -> FloatArray:
    """Return the turn (3,) in the world from R to R_wanted: 1/2 sum_i r_i x r_wanted,i, the axis times sin(angle)."""
    E = R_wanted @ R.T
    return 0.5 * np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])


def rotation_vector(R: FloatArray, R_to: FloatArray) -> FloatArray:
    """Return the turn (3,) rad in the world from R to R_to, below half a turn: the axis times the angle."""
    sine = turn_between(R, R_to)
    size, cosine = float(np.linalg.norm(sine)), (float(np.trace(R_to @ R.T)) - 1) / 2
    return sine if size < 1e-9 else sine * (math.atan2(size, cosine) / size)


def rotation_of(quaternion: FloatArray) -> FloatArray:
    """Return the rotation (3, 3) of a quaternion (w, x, y, z), whatever its length."""
    w, x, y, z = quaternion / math.sqrt(float(quaternion @ quaternion))
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_of(R: FloatArray) -> FloatArray:
    """Return the quaternion (w, x, y, z) of a rotation (3, 3): its largest entry, the first of some, is positive."""
    # Of the four ways one without cancellation: 4 q q' from R's entries, its column of the largest square. Of squares
    # that are equal (a quarter turn has two) the first, so that round-off does not choose between q and -q.
    (a, b, c), (d, e, f), (g, h, i) = R.tolist()
    table = np.array(
        [
            [1 + a + e + i, h - f, c - g, d - b],
            [h - f, 1 + a - e - i, b + d, c + g],
            [c - g, b + d, 1 - a + e - i, f + h],
            [d - b, c + g, f + h, 1 - a - e + i],
        ]
    )
    squares = np.diag(table)
    found = table[int(np.argmax(squares >= np.max(squares) - _EQUAL))]
    return found / math.sqrt(float(found @ found))


def rotation_rpy(rpy: FloatArray) -> FloatArray:
    """Return R = Rz(yaw) Ry(pitch) Rx(roll) (3, 3), angles (3,) rad."""
    return (
        rotation_by(np.array([0, 0, rpy[2]]))
        @ rotation_by(np.array([0, rpy[1], 0]))
        @ rotation_by(np.array([rpy[0], 0, 0]))
    )


def rotation_z(yaw: float) -> FloatArray:
    """Return the rotation (3, 3) by `yaw` (rad) about z."""
    c, s = math.cos(yaw), math.sin(yaw)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def rotation_by(turn: FloatArray) -> FloatArray:
    """Return the rotation (3, 3) by the rotation vector `turn` (3,), rad."""
    angle = math.sqrt(float(turn @ turn))
    if angle < 1e-12:
        return np.eye(3)
    K = skew(turn / angle)
    return np.eye(3) + math.sin(angle) * K + (1 - math.cos(angle)) * K @ K


def rotation_plane(angle: ArrayLike) -> FloatArray:
    """Return the rotations (..., 2, 2) by counter-clockwise angles (...), rad."""
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([np.stack([c, -s], axis=-1), np.stack([s, c], axis=-1)], axis=-2)


def quaternions_plane(angle: FloatArray) -> FloatArray:
    """Return quaternions (n, 4) of counter-clockwise angles (n,): with x right and z up a rotation about -y."""
    zero = np.zeros_like(angle)
    return np.stack([np.cos(angle / 2), zero, -np.sin(angle / 2), zero], axis=1)


def rotation_matrices(quaternions: FloatArray) -> FloatArray:
    """Return the rotations (n, 3, 3) of `quaternions` (n, 4), (w, x, y, z), whatever their length."""
    from scipy.spatial.transform import Rotation  # a drawing kit that is imported has not drawn yet

    return np.asarray(Rotation.from_quat(quaternions, scalar_first=True).as_matrix())


def rotations_ypr(angles: FloatArray) -> Rotation:
    """Return the rotations R = Rz(yaw) Ry(pitch) Rx(roll) of (yaw, pitch, roll) (n, 3), rad."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_euler("ZYX", angles)
