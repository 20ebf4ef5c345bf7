"""Independent coordinates of a state on the manifold of its constraints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import null_space

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.models.linear.names import POSES, Entry, entries, is_quaternion, numbers_of
from trundle.models.tree.model import TIME, TreeModel

_RANK = 1e-9
"""Singular value, over the largest, that counts as zero."""
_INDEPENDENT = 1e-6
"""Share of a coordinate's row beyond the coordinates before it, from which on it is independent of them."""
_ORDER = (*POSES, "rate", "relative_velocity", "angular_velocity", "velocity", "twist")
"""Which coordinates are preferred: a bicycle is told by its steer, lean and place, not by its pitch."""


def independent(
    model: TreeModel, x: FloatArray, kept: FloatArray, wanted: Sequence[str] = ()
) -> tuple[tuple[Entry, ...], FloatArray, FloatArray]:
    """Return independent coordinates z = P dx, dx = X z, P X = I, with P (n, n_x) and X (n_x, n).

    `kept` (m, n_x) holds the gradients of what does not change; coordinates that are `wanted` come before others. Of
    several that have one name, those that do not follow from others.
    """
    sizes = np.linalg.norm(kept, axis=1)
    tangents = null_space(kept[sizes > 0] / sizes[sizes > 0, None], rcond=_RANK)
    known, rows = entries(model, model.layout, turns=True), _rows(model, x)
    asked = [numbers_of("states", name, known) for name in wanted]
    first = list(dict.fromkeys(i for some in asked for i in some))
    chosen: list[int] = []
    basis = np.zeros((0, tangents.shape[1]))
    for i in (*first, *sorted(range(len(known)), key=lambda i: _rank(model, known[i]))):
        row = rows[i] @ tangents
        beyond = row - basis.T @ (basis @ row)
        beyond -= basis.T @ (basis @ beyond)
        size = np.linalg.norm(beyond)
        if size > _INDEPENDENT * np.linalg.norm(rows[i]):
            basis = np.vstack([basis, beyond / size])
            chosen.append(i)
    dependent = [name for name, some in zip(wanted, asked, strict=True) if not set(some) & set(chosen)]
    if dependent:
        raise InputError("states", dependent, "coordinates that do not follow from the others at this state")
    order = [i for i in first if i in chosen] + [i for i in sorted(chosen) if i not in first]
    P = rows[order].reshape(len(order), len(x))
    return tuple(known[i] for i in order), P, tangents @ np.linalg.inv(P @ tangents)


def rotation_rows(q: FloatArray) -> FloatArray:
    """Return (3, 4): from the change of a unit quaternion (w, x, y, z) to that turn's vector, 2 vec(dq q*)."""
    w, x, y, z = q.tolist()
    return 2.0 * np.array([[-x, w, -z, y], [-y, z, w, -x], [-z, -y, x, w]])


def _rank(model: TreeModel, entry: Entry) -> tuple[bool, int]:
    """Return the order of a coordinate: prescribed bodies first."""
    return f"{entry.owners[-1]}.twist" not in model.layout, _ORDER.index(entry.kind)


def _rows(model: TreeModel, x: FloatArray) -> FloatArray:
    """Return the gradients (n, n_x) of all coordinates; a quaternion has three, about the axes it is resolved in."""
    unit = np.eye(len(x))
    return np.vstack(
        [
            rotation_rows(x[where]) @ unit[where] if is_quaternion(model, key) else unit[where]
            for key, where in model.layout.items()
            if key != TIME
        ]
    )
