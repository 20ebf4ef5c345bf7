"""Independent coordinates of a state on the manifold of its constraints."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.models.linear.names import POSES, NamedEntry, entries, is_quaternion, numbers_of
from trundle.models.linear.sizes import Sizes
from trundle.models.tree.model import TIME, TreeModel

_ROUND_OFF = 1e-9
"""Singular value of the constraints, in natural sizes, up to which it is what was left of terms that cancel."""
_NEW = 0.1
"""Share of how a coordinate changes on the manifold that those chosen before it do not tell: to be taken."""
_SEEN, _BARELY = 1e-3, 1e-6
"""Part of a coordinate's gradient that is along the manifold and new: to be taken at once, or where no others are left.

1e-6 costs six digits; the bottom of a dish is flat to round-off. What a user asks for is taken from `_BARELY` on.
"""
_ORDER = (*POSES, "rate", "relative_velocity", "angular_velocity", "velocity", "twist")
"""Which coordinates are preferred: a bicycle is told by its steer, lean and place, not by its pitch."""


@dataclass(frozen=True)
class Gradients:
    """Constraints at a state, to first order.

    Attributes
    ----------
    N : (m, n_x)
        Gradients of what does not change.
    sizes : Sizes
    """

    N: FloatArray
    sizes: Sizes

    @property
    def tangents(self) -> FloatArray:
        """Return a basis (n_x, n) of the directions that keep the constraints, orthonormal in natural sizes."""
        left, _, right = _factors(self._scaled)
        return self.sizes.entries[:, None] * right[left.shape[1] :].T

    def smallest(self, residual: FloatArray, held: Collection[int] = ()) -> FloatArray:
        """Return the change of the state (n_x,), smallest in natural sizes, that takes away a residual (m,).

        Entries that are `held` stay.
        """
        free = np.ones(len(self.sizes.entries), dtype=bool)
        free[list(held)] = False
        left, values, right = _factors(self._scaled * free)
        along = left.T @ (residual / self._row_sizes) / values
        return -self.sizes.entries * free * (right[: len(values)].T @ along)

    @property
    def _row_sizes(self) -> FloatArray:
        """Of a row that is longer than natural, its length: rows of round-off alone are not made any longer."""
        natural = self.sizes.rows
        lengths = np.linalg.norm(self.N * self.sizes.entries, axis=1)
        return np.maximum(natural, lengths)

    @property
    def _scaled(self) -> FloatArray:
        return self.N * self.sizes.entries / self._row_sizes[:, None]


def _factors(scaled: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return U (m, r), the singular values (r,) and V' (n_x, n_x) of constraints in natural sizes."""
    left, values, right = np.linalg.svd(scaled)
    rank = int(np.sum(values > _ROUND_OFF))
    return left[:, :rank], values[:rank], right


def independent(
    model: TreeModel, x: FloatArray, gradients: Gradients, wanted: Sequence[str] = ()
) -> tuple[tuple[NamedEntry, ...], FloatArray, FloatArray]:
    """Return independent coordinates z = P dx, dx = X z, P X = I, with P (n, n_x) and X (n_x, n).

    Coordinates that are `wanted` come before others. Of several that have one name, those that do not follow from
    others. The constraints' rank is that of a singular value decomposition in natural sizes.
    """
    tangents = gradients.tangents
    known, rows = entries(model, model.layout, turns=True), _rows(model, x)
    scaled = rows * gradients.sizes.entries
    seen = rows @ tangents / np.linalg.norm(scaled, axis=1, keepdims=True)
    asked = [numbers_of("states", name, known) for name in wanted]
    first = list(dict.fromkeys(i for some in asked for i in some))
    preferred = sorted(range(len(known)), key=lambda i: _rank(model, known[i]))
    chosen = _choose_rows(seen, [(first, 0.0, _BARELY), (preferred, _NEW, _SEEN), (preferred, 0.0, _BARELY)])
    dependent = [name for name, some in zip(wanted, asked, strict=True) if not set(some) & set(chosen)]
    if dependent:
        raise InputError("states", dependent, "coordinates that do not follow from the others at this state")
    if len(chosen) < tangents.shape[1]:
        allowed = f"a state whose {tangents.shape[1]} freedoms its coordinates tell apart: here {len(chosen)} do"
        raise InputError("start", x.tolist(), allowed)
    order = [i for i in first if i in chosen] + [i for i in sorted(chosen) if i not in first]
    P = rows[order].reshape(len(order), len(x))
    return tuple(known[i] for i in order), P, tangents @ np.linalg.inv(P @ tangents)


def _choose_rows(seen: FloatArray, rounds: Sequence[tuple[Sequence[int], float, float]]) -> list[int]:
    """Return which rows (k, n) are independent.

    In each round (numbers, share of the row, size) those of its numbers that have so much beyond the rows before: a
    factorisation by rows with pivots in a given order, each row taken off the others twice, against round-off.
    """
    basis, chosen = np.zeros((0, seen.shape[1])), []
    for numbers, share, least in rounds:
        for i in numbers:
            if i in chosen:
                continue
            beyond = seen[i] - basis.T @ (basis @ seen[i])
            beyond -= basis.T @ (basis @ beyond)
            size = float(np.linalg.norm(beyond))
            if size > max(least, share * float(np.linalg.norm(seen[i]))):
                basis = np.vstack([basis, beyond / size])
                chosen.append(i)
    return chosen


def rotation_rows(q: FloatArray) -> FloatArray:
    """Return (3, 4): from the change of a unit quaternion (w, x, y, z) to that turn's vector, 2 vec(dq q*)."""
    w, x, y, z = q.tolist()
    return 2.0 * np.array([[-x, w, -z, y], [-y, z, w, -x], [-z, -y, x, w]])


def _rank(model: TreeModel, entry: NamedEntry) -> tuple[bool, int]:
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
