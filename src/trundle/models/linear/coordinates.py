"""Independent coordinates of a state on the manifold of its constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.linalg import null_space

from trundle.checks import FloatArray, choice
from trundle.errors import InputError
from trundle.models.tree.model import TIME, TreeModel

_RANK = 1e-9
"""Singular value, over the largest, that counts as zero."""
_INDEPENDENT = 1e-6
"""Share of a coordinate's row beyond the coordinates before it, from which on it is independent of them."""
_POSES = ("joint", "orientation", "spin", "position", "coordinates")
_ORDER = (*_POSES, "rate", "relative_velocity", "angular_velocity", "velocity", "twist")
"""Which coordinates are preferred: a bicycle is told by its steer, lean and place, not by its pitch."""


def components(layout: Mapping[str, slice]) -> list[str]:
    """Return a name for each entry of a layout: the key, with its number where there are several."""
    return [
        key if where.stop - where.start == 1 else f"{key}[{i}]"
        for key, where in layout.items()
        for i in range(where.stop - where.start)
    ]


def independent(
    model: TreeModel, x: FloatArray, kept: FloatArray, wanted: Sequence[str] = ()
) -> tuple[tuple[str, ...], FloatArray, FloatArray]:
    """Return names, P (n, n_x) and X (n_x, n) of independent coordinates z = P dx, dx = X z, P X = I.

    `kept` (m, n_x) holds the gradients of what does not change; coordinates that are `wanted` come before others.
    """
    sizes = np.linalg.norm(kept, axis=1)
    tangents = null_space(kept[sizes > 0] / sizes[sizes > 0, None], rcond=_RANK)
    rows = _rows(model, x)
    chosen: list[str] = []
    basis = np.zeros((0, tangents.shape[1]))
    first = [choice("states", name, rows) for name in wanted]
    for name in (*first, *sorted(rows, key=lambda name: _rank(model, name))):
        row = rows[name] @ tangents
        beyond = row - basis.T @ (basis @ row)
        beyond -= basis.T @ (basis @ beyond)
        size = np.linalg.norm(beyond)
        if size > _INDEPENDENT * np.linalg.norm(rows[name]):
            basis = np.vstack([basis, beyond / size])
            chosen.append(name)
    names = [*first, *(name for name in rows if name in chosen and name not in first)]
    if len(names) > len(chosen):
        dependent = [name for name in first if name not in chosen]
        raise InputError("states", dependent, "coordinates that do not follow from the others at this state")
    P = np.array([rows[name] for name in names]).reshape(len(names), len(x))
    return tuple(names), P, tangents @ np.linalg.inv(P @ tangents)


def rotation_rows(q: FloatArray) -> FloatArray:
    """Return (3, 4): from the change of a unit quaternion (w, x, y, z) to that turn's vector, 2 vec(dq q*)."""
    w, x, y, z = q.tolist()
    return 2.0 * np.array([[-x, w, -z, y], [-y, z, w, -x], [-z, -y, x, w]])


def _rank(model: TreeModel, name: str) -> tuple[bool, int]:
    """Return the order of a coordinate: prescribed bodies first."""
    body, _, kind = name.partition("[")[0].rpartition(".")
    return f"{body}.twist" not in model.layout, _ORDER.index(kind)


def _rows(model: TreeModel, x: FloatArray) -> dict[str, FloatArray]:
    """Return the gradient (n_x,) of every coordinate; a quaternion has three, about the axes it is resolved in."""
    found: dict[str, FloatArray] = {}
    unit = np.eye(len(x))
    for key, where in model.layout.items():
        if key == TIME:
            continue
        rows = unit[where]
        if is_quaternion(model, key):
            rows = rotation_rows(x[where]) @ rows
        for i, row in enumerate(rows):
            found[key if len(rows) == 1 else f"{key}[{i}]"] = row
    return found


def is_rate(name: str) -> bool:
    """Whether a coordinate, or an entry of the layout, is a velocity."""
    return name.partition("[")[0].rpartition(".")[2] in _ORDER[len(_POSES) :]


def is_quaternion(model: TreeModel, key: str) -> bool:
    """Whether an entry of the layout is a unit quaternion."""
    body, _, kind = key.rpartition(".")
    where = model.layout[key]
    if where.stop - where.start != 4 or model.d == 2:
        return False
    rate = model.layout.get(f"{body}.rate")
    return kind == "orientation" or (kind == "joint" and rate is not None and rate.stop - rate.start == 3)
