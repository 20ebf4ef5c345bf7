"""Where the boundary of a shape is straight: along edges and faces, seen from one of their points."""

from __future__ import annotations

import casadi as ca
import numpy as np
from scipy.linalg import null_space

from trundle.checks import FloatArray
from trundle.geometry.boundary import Boundary
from trundle.geometry.support import SupportLike

_TILT, _LONG = 1e-6, 1e-4
"""rad, sizes: a normal that turns so little moves the furthest point so far where a shape is straight, or curved as
little as a ball of 100 sizes."""
_AROUND = 16  # directions around an edge


def straight_directions(shape: Boundary, x: FloatArray, n: FloatArray) -> FloatArray | None:
    """Return orthonormal directions (k, d) along which a boundary is straight at its point `x`, with the normal `n`.

    None where that is not known: of shapes that are neither convex nor the level set of a function.

    Parameters
    ----------
    x, n : (d,) m, (d,)
        In the shape's frame; `n` points out of it.
    """
    support, level = shape.representations.support, shape.representations.level
    if support is not None and not shape.representations.hull:
        return _of_support(support, n, _LONG * shape.reference_length)
    if level is None:
        return None
    s = ca.SX.sym("x", shape.d)
    patch = level.patch(s)
    if patch.K is None:
        return None
    tangents, K = (np.asarray(value) for value in ca.Function("bend", [s], [patch.T, ca.densify(patch.K)])(x))
    bends, axes = np.linalg.eigh(K)
    straight = np.abs(bends) * shape.reference_length < _TILT / _LONG
    return (tangents @ axes[:, straight]).T


def _of_support(support: SupportLike, n: FloatArray, long: float) -> FloatArray:
    """Return the same of a convex body: its furthest points along normals beside `n` are all over an edge or a face."""
    T, s = null_space(n[None]).T, ca.SX.sym("n", support.d)
    furthest = ca.Function("furthest", [s], [support.point_and_radii(s)[0]])
    angles = 2 * np.pi * (np.arange(_AROUND) + 0.3) / _AROUND
    tilts = np.stack([np.cos(angles), np.sin(angles)], axis=1) if support.d == 3 else np.array([[1.0], [-1.0]])
    normals = n + _TILT * tilts @ T
    points = np.asarray(furthest(normals.T / np.linalg.norm(normals, axis=1))).T @ T.T
    _, lengths, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    return axes[lengths > long] @ T
