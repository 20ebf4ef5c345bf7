"""Sharing: how two contacts of one rigid body divide a force that the motion does not determine."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.models.multibody import Dynamics
from trundle.models.tree import TreeModel
from trundle.numerics.space import dot

_TINY = 1e-20  # where e is normal to both surfaces, nothing is tangential and c stays zero


def shared_forces(
    model: TreeModel, dynamics: Dynamics, laws: Sequence[str], pairs: Sequence[Sequence[int]]
) -> tuple[ca.SX, ...]:
    """Return the forces (d,), N, on A of all contacts, resolved.

    Two contacts of the same two bodies (the numbers of one of the `pairs`) that both roll are pushed apart or
    together along the line e that joins them without any effect on the motion. Of all pairs f_1 + c e, f_2 - c e the
    one with the least tangential parts is taken,

        c = -(f_1'P_1 e - f_2'P_2 e)/(e'P_1 e + e'P_2 e),  P_i = I - n_i n_i',

    which needs no more friction than the motion asks for.
    """
    forces = list(dynamics.forces)
    for numbers in pairs:
        rolling = [i for i in numbers if laws[i] in ("rolling", "pure-rolling")]
        if len(rolling) == 2:
            _share(model, dynamics, rolling, forces)
    return tuple(forces)


def _share(model: TreeModel, dynamics: Dynamics, rolling: Sequence[int], forces: list[ca.SX]) -> None:
    points, tangential = [], []
    for i in rolling:
        joined, k = model.joined[i], dynamics.kin[i]
        _, side = joined.contact.touch(joined.A, joined.B, joined.s)
        points.append(joined.B.p + side.r)
        tangential.append(k.T @ k.T.T)
    apart = points[1] - points[0]
    e = apart / ca.norm_2(apart)
    first, second = (tangential[i] @ e for i in range(2))
    across = dot(e, first) + dot(e, second)
    c = -(dot(forces[rolling[0]], first) - dot(forces[rolling[1]], second)) * across / (across**2 + _TINY)
    forces[rolling[0]] = forces[rolling[0]] + c * e
    forces[rolling[1]] = forces[rolling[1]] - c * e


def shared_impulses(rows: FloatArray, normals: Sequence[FloatArray], impulse: FloatArray) -> list[FloatArray]:
    """Return the impulses (d,) of c contacts with the same effect and the least tangential parts.

    Parameters
    ----------
    rows : (c d, nv)
        Jacobians of the contacts.
    normals : c of (d,)
    impulse : (c d,)
        Some impulses.
    """
    d, count = len(normals[0]), len(normals)
    left, sizes, _ = np.linalg.svd(rows)
    free = left[:, int(np.sum(sizes > 1e-9 * sizes[0])) :]
    tangential = np.zeros((count * d, count * d))
    for i, n in enumerate(normals):
        tangential[d * i : d * (i + 1), d * i : d * (i + 1)] = np.eye(d) - np.outer(n, n)
    change = np.linalg.lstsq(tangential @ free, -tangential @ impulse, rcond=1e-9)[0]
    best = impulse + free @ change
    return [np.asarray(best[d * i : d * (i + 1)], dtype=np.float64) for i in range(count)]
