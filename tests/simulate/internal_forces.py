"""Internal forces of contacts and how far forces are inside their cones, by a linear program."""

from __future__ import annotations

import numpy as np

from trundle.checks import FloatArray

_SIDES = 12
"""Of the pyramid that stands for a cone where pushes are shared by a linear program."""
_FAR, _INSIDE = 1e4, 1e-3
"""Of the forces: how large internal ones may be, and how far inside the cones they are kept."""


def internal_forces(rows: FloatArray) -> FloatArray:
    """Return an orthonormal basis (m, k) of the internal forces of contacts with the Jacobian `rows` (m, nv)."""
    left, sizes, _ = np.linalg.svd(rows)
    return left[:, int(np.sum(sizes > 1e-9 * sizes.max(initial=0.0))) :]


def cone_sides(n: FloatArray, mu: float) -> FloatArray:
    """Return rows (m, d) that are not negative on a push inside the cone about the normal `n` (d,).

    In space those of a pyramid of twelve sides inside the cone.
    """
    if np.isinf(mu):
        return np.vstack((n, n))
    if len(n) == 2:
        t = np.array([n[1], -n[0]])
        return np.vstack((mu * n + t, mu * n - t)) / np.hypot(mu, 1.0)
    t1 = np.cross(n, np.eye(3)[int(np.argmin(np.abs(n)))])
    t1 = t1 / np.linalg.norm(t1)
    angles = 2.0 * np.pi * np.arange(_SIDES) / _SIDES
    across = np.outer(np.cos(angles), t1) + np.outer(np.sin(angles), np.cross(n, t1))
    inner = mu * np.cos(np.pi / _SIDES)
    return (inner * n + across) / np.hypot(inner, 1.0)


def largest_margin(values: FloatArray, directions: FloatArray) -> FloatArray:
    """Return the c (k,) that maximises the least entry of values + directions c; zeros if all are >= 0, or k = 0.

    The largest is not counted beyond a part of the values' size: of a wedge the pushes could grow without end.
    """
    from scipy.optimize import linprog

    k, size = directions.shape[1], float(np.abs(values).max(initial=0.0))
    if not k or not size or np.all(values >= 0):
        return np.zeros(k)
    found = linprog(
        np.append(np.zeros(k), -1.0),
        A_ub=np.hstack((-directions, np.ones((len(directions), 1)))),
        b_ub=values / size,
        bounds=[(-_FAR, _FAR)] * k + [(None, _INSIDE)],
    )
    return size * found.x[:k] if found.status == 0 else np.zeros(k)
