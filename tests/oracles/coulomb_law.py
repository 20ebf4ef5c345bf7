"""Coulomb's law at several contacts, judged: a contact parts, sticks or slides; shares no code with the package.

In De Saxce and Feng's form: L in the cone K of friction, v + mu |v_t| n in its dual, both normal to each other, so that

    L = P_K(L - rho (v + mu |v_t| n))

with the projection P_K on a second-order cone. What is missing to that, times the contact's own 1/mass, is a velocity.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def in_cone(x: Array, mu: float) -> Array:
    """Return the point of {x_n >= 0, |x_t| <= mu x_n} next to x."""
    n, t = float(x[0]), x[1:]
    size = float(np.linalg.norm(t))
    if n >= 0.0 and size <= mu * n:
        return x.copy()
    if mu * size <= -n:
        return np.zeros_like(x)
    normal = (n + mu * size) / (1.0 + mu * mu)
    return np.concatenate([[normal], mu * normal * t / size])


def _missing(L: Array, v: Array, mu: float, mobility: float) -> float:
    """Return what is missing at one contact, m/s."""
    if np.isinf(mu):
        pushes = max(0.0, -L[0]) * mobility + max(0.0, -v[0])
        stuck = float(np.linalg.norm(v))
        parted = float(np.linalg.norm(L)) * mobility
        # Jammed: without a limit friction pushes though the normal does not, against a slip that is left.
        slip = float(np.linalg.norm(v[1:]))
        against = L[1:] + float(np.linalg.norm(L[1:])) * v[1:] / slip if slip else L[1:]
        jammed = abs(v[0]) + mobility * (abs(L[0]) + float(np.linalg.norm(against)))
        return pushes + min(stuck, parted, jammed)
    shifted = v.copy()
    shifted[0] += mu * float(np.linalg.norm(v[1:]))
    return mobility * float(np.linalg.norm(L - in_cone(L - shifted / mobility, mu)))


def breach(D: Array, before: Array, friction: Array, impulses: Array) -> float:
    """Return the largest part by which Coulomb's law is missed, of the largest speed there is.

    Of impulses (m, d) alone: the velocities are before + D L. Where heavy bodies push through light ones, what is lost
    to round-off in D L counts as a speed, too, at 1e-5 of the terms of the sum.
    """
    m, d = before.shape
    v = before + (D @ impulses.ravel()).reshape(m, d)
    terms = (np.abs(D) @ np.abs(impulses.ravel())).reshape(m, d).max(axis=1)
    speed = max(np.abs(before).max(), np.abs(v).max(), 1e-300)
    worst = 0.0
    for i in range(m):
        mobility = float(np.linalg.eigvalsh(D[i * d : i * d + d, i * d : i * d + d])[-1])
        missing = _missing(impulses[i], v[i], float(friction[i]), mobility if mobility > 0.0 else 1.0)
        worst = max(worst, missing / max(speed, 1e-5 * float(terms[i])))
    return worst


def energy_gain(D: Array, before: Array, impulses: Array) -> float:
    """Return by how much kinetic energy grows, as a part of what the contacts could turn over.

    That is sum |L| (|before| + |v|) and the largest |before|^2 times the contact's own mass.
    """
    m, d = before.shape
    v = before.ravel() + D @ impulses.ravel()
    mobility = [float(np.linalg.eigvalsh(D[i * d : i * d + d, i * d : i * d + d])[-1]) for i in range(m)]
    own = max(float(before[i] @ before[i]) / mobility[i] if mobility[i] > 0.0 else 0.0 for i in range(m))
    size = float(np.abs(impulses.ravel()) @ (np.abs(before.ravel()) + np.abs(v))) + own
    return float(impulses.ravel() @ (before.ravel() + v)) / size if size else 0.0
