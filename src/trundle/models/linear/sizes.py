"""Natural sizes of a state's entries and of its constraints: what decides whether a number is round-off.

A rank has to be the same in millimetres and in metres. Lengths are measured by the smallest shape L, times by the
fastest of what turns, moves over L, or falls over L; contact coordinates by how far they move their point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.models.linear.constraints import ConstraintQuantity, Kept
from trundle.models.linear.names import is_quaternion
from trundle.models.tree.model import TIME, TreeModel
from trundle.models.tree.system import ContactSystem

_ANGULAR = ("angular_velocity", "relative_velocity")
_LENGTHS = ("position", "velocity")
_STUCK = 1e-6
"""Part of the furthest move that counts as none."""


@dataclass(frozen=True)
class Sizes:
    """Natural sizes at a state.

    Attributes
    ----------
    entries : (n_x,)
        Of the state's entries, each in its unit.
    rows : (m,)
        Of the rows of the constraints.
    length : float, m
    time : float, s
    """

    entries: FloatArray
    rows: FloatArray
    length: float
    time: float


class Yardstick:
    """Measures a model: natural sizes at any of its states."""

    def __init__(self, system: ContactSystem, model: TreeModel, parts: Sequence[Kept]) -> None:
        self._model = model
        self._rows = [(part.quantity, part.contact, part.rows.shape[0]) for part in parts]
        self.length = _length(system, model)
        gravity, reaches = ca.norm_2(model.gravity), ca.vertcat(*_reaches(model))
        self._measured = ca.Function("measured", [model.x], [gravity, ca.densify(reaches)])

    def at(self, x: FloatArray) -> Sizes:
        """Return the natural sizes at the state `x` (n_x,)."""
        gravity, reaches = (np.asarray(value).ravel() for value in self._measured(x))
        time = self._time(x, float(gravity.item()))
        ends = np.cumsum([constraint.contact.size for constraint in self._model.constraints])
        coordinates = [self.length / _moving(reach) for reach in np.split(reaches, ends[:-1])] if len(ends) else []
        parts = [self._row(quantity, size, coordinates, i, time) for quantity, i, size in self._rows]
        rows = np.concatenate([np.zeros(0), *parts])
        return Sizes(self._entries(coordinates, time), rows, self.length, time)

    def _row(
        self, quantity: ConstraintQuantity, size: int, coordinates: Sequence[FloatArray], contact: int, time: float
    ) -> FloatArray:
        """Return the sizes (size,) of rows of one quantity; coordinates are those of the contact of that number."""
        if quantity is ConstraintQuantity.COORDINATES:
            return coordinates[contact]
        known = {
            ConstraintQuantity.GAP: self.length,
            ConstraintQuantity.VELOCITY: self.length / time,
            ConstraintQuantity.TIME: time,
        }
        return np.full(size, known.get(quantity, 1.0))

    def _entries(self, coordinates: Sequence[FloatArray], time: float) -> FloatArray:
        model, sizes = self._model, np.ones(self._model.x.shape[0])
        for key, where in model.layout.items():
            kind = key.rpartition(".")[2]
            length = self.length if kind in _LENGTHS or self._slides(key) else 1.0
            moves = kind in ("rate", "twist", "velocity", *_ANGULAR)
            sizes[where] = length / time if moves else length
            if kind == "twist":
                sizes[where][-model.d :] *= self.length
        for constraint, size in zip(model.constraints, coordinates, strict=True):
            sizes[model.layout[f"{constraint.name}.coordinates"]] = size
        if TIME in model.layout:
            sizes[model.layout[TIME]] = time
        return sizes

    def _slides(self, key: str) -> bool:
        """Whether an entry is of a joint that slides: its position or its rate."""
        body, _, kind = key.rpartition(".")
        model = self._model
        if kind not in ("joint", "rate") or model.turns(body):
            return False
        return not is_quaternion(model, f"{body}.joint")

    def _time(self, x: FloatArray, gravity: float) -> float:
        """Return the shortest time of what turns, moves over the length, or falls; 1 s where nothing does."""
        model, rates = self._model, [np.sqrt(gravity / self.length)]
        for key, where in model.layout.items():
            kind, values = key.rpartition(".")[2], np.abs(x[where])
            if kind in _ANGULAR:
                rates += values.tolist()
            elif kind == "velocity":
                rates += (values / self.length).tolist()
            elif kind == "rate":
                rates += (values / (self.length if self._slides(key) else 1.0)).tolist()
            elif kind == "twist":
                rates += [*values[: -model.d].tolist(), *(values[-model.d :] / self.length).tolist()]
        fastest = float(max(rates))
        return 1.0 / fastest if fastest > 0 else 1.0


def _moving(reach: FloatArray) -> FloatArray:
    """Return how far (m) each coordinate (size,) moves its points; of those that do not, as far as the others.

    A chart's pole, or the length of a normal.
    """
    furthest = float(np.max(reach, initial=0.0, where=np.isfinite(reach)))
    return np.where(reach > _STUCK * furthest, reach, furthest) if furthest > 0 else np.ones(len(reach))


def _length(system: ContactSystem, model: TreeModel) -> float:
    """Return the reference length of the smallest shape that may touch, or of the longest link, m."""
    shapes = [shape for pair in system.shape_pairs.values() for shape in (pair.shape_A, pair.shape_B)]
    if shapes:
        return min(float(shape.reference_length) for shape in shapes)
    places = [np.asarray(place, dtype=np.float64) for place in model.joint_places.values()]
    places += [np.asarray(body.com, dtype=np.float64) for body in model.bodies if body.com]
    longest = max((float(np.linalg.norm(place)) for place in places), default=0.0)
    return longest if longest > 0 else 1.0


def _reaches(model: TreeModel) -> list[ca.SX]:
    """Return how far (m) a unit of each coordinate (size,) of each contact moves its points over the bodies."""
    reaches = []
    for constraint in model.constraints:
        s = ca.SX.sym("s", constraint.contact.size)
        if not constraint.contact.size:
            reaches.append(ca.SX(0, 1))
            continue
        points = ca.vertcat(*(touch.r for touch in constraint.contact.touch(constraint.A, constraint.B, s)))
        steps = ca.sqrt(ca.sum1(ca.densify(ca.jacobian(points, s)) ** 2)).T
        at = ca.Function("reach", [model.x, s], [steps], {"allow_free": True})
        reaches.append(at(model.x, constraint.s))
    return reaches
