"""A body on two contacts at once in maximal coordinates: one dense system with the rows of both.

Two contacts that roll determine the motion, but not the force along the line e between them: of all pairs f_1 + c e,
f_2 - c e the one with the least sum of squares is given. In the plane, where two such contacts lock the body, they hold
it at rest if some c keeps both inside their cones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .implicit import skew
from .spatial import Touch, unit

Array = np.ndarray


def accelerations(
    mass: float, J: Array, w: Array, touches: Sequence[Touch], laws: Sequence[str], mu: float, gravity: Array
) -> tuple[Array, Array, list[Array]]:
    """alpha (3,), a of the centre of mass (3,) and the forces (3,) on the body; `J` (3, 3) about it, world axes."""
    M, C, G, pushes, wanted = _system(mass, J, touches, laws, mu)
    A = np.block([[M, -G], [C, np.zeros((len(C), G.shape[1]))]])
    right = np.concatenate([mass * np.asarray(gravity), -np.cross(w, J @ w), *wanted])
    z = np.linalg.lstsq(A, right, rcond=1e-10)[0]
    z = z + np.linalg.lstsq(A, right - A @ z, rcond=1e-10)[0]
    if np.linalg.norm(A @ z - right) > 1e-10 * np.linalg.norm(right):
        raise RuntimeError("no motion fits both contacts")
    forces, at = [], 6
    for push in pushes:
        forces.append(push @ z[at : at + push.shape[1]])
        at += push.shape[1]
    return z[3:6], z[:3], forces


def jam(mass: float, J: Array, touches: Sequence[Touch], laws: Sequence[str], mu: float) -> float:
    """How far from jamming two contacts are of which one slides: smallest over largest singular value of C M^-1 G."""
    M, C, G, *_ = _system(mass, J, touches, laws, mu)
    sizes = np.linalg.svd(C @ np.linalg.solve(M, G), compute_uv=False)
    return float(sizes[-1] / sizes[0])


def _system(
    mass: float, J: Array, touches: Sequence[Touch], laws: Sequence[str], mu: float
) -> tuple[Array, Array, Array, list[Array], list[Array]]:
    """M, rows C of (a, alpha), pushes G, and the pushes and wanted values of each contact."""
    rows, pushes, wanted = [], [], []
    for touch, law in zip(touches, laws, strict=True):
        n, both = touch.normal, np.hstack([np.eye(3), -skew(touch.rho)])
        if law == "rolling":
            rows.append(both)
            pushes.append(np.eye(3))
            wanted.append(touch.target)
        else:
            rows.append(n[None] @ both)
            pushes.append((n - mu * unit(touch.slip - n * (n @ touch.slip)))[:, None])
            wanted.append([n @ touch.target - touch.n_dot @ touch.slip])
    M = np.block([[mass * np.eye(3), np.zeros((3, 3))], [np.zeros((3, 3)), J]])
    G = np.hstack([np.vstack([push, skew(t.rho) @ push]) for t, push in zip(touches, pushes, strict=True)])
    C = np.vstack(rows)
    return M, C, G, pushes, wanted


def line(touches: Sequence[Touch]) -> Array:
    """Unit vector e from the first contact to the second."""
    return unit(touches[1].rho - touches[0].rho)


def determined(touches: Sequence[Touch], forces: Sequence[Array]) -> list[Array]:
    """The forces without the part along e that both have against each other, which no motion tells."""
    e = line(touches)
    inner = 0.5 * float(e @ (forces[0] - forces[1]))
    return [forces[0] - inner * e, forces[1] + inner * e]


def holds(touches: Sequence[Touch], forces: Sequence[Array], mu: float, tangents: Sequence[Array]) -> float:
    """Length of the interval of c, N, in which both forces of a planar body lie in their cones; negative if empty."""
    low, high = interval(touches, forces, mu, tangents)
    return high - low


def interval(
    touches: Sequence[Touch], forces: Sequence[Array], mu: float, tangents: Sequence[Array]
) -> tuple[float, float]:
    """Smallest and largest c, N, for which f_1 + c e and f_2 - c e of a planar body lie in their cones."""
    e, low, high = line(touches), float("-inf"), float("inf")
    for sign, touch, force, t in zip((1.0, -1.0), touches, forces, tangents, strict=True):
        for edge in (mu * touch.normal + t, mu * touch.normal - t):  # edge.(f + sign c e) >= 0
            slope, value = float(sign * (edge @ e)), float(edge @ force)
            if slope > 0:
                low = max(low, -value / slope)
            else:
                high = min(high, -value / slope)
    return low, high
