"""What a motion keeps: the rows c(x) = 0 of the manifold that a mode's states are on, and their natural sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

import casadi as ca

from trundle.contact.laws import laws_of
from trundle.models.linear.names import is_quaternion
from trundle.models.tree.model import TIME, TreeModel
from trundle.models.tree.multibody import Dynamics, Mode


class ConstraintQuantity(Enum):
    """What a row of the constraints measures."""

    GAP = auto()
    VELOCITY = auto()
    COORDINATES = auto()
    PURE_NUMBER = auto()
    TIME = auto()


@dataclass(frozen=True)
class Kept:
    """Rows that are zero on the manifold, all of one quantity; coordinates are those of the contact of that number."""

    rows: ca.SX
    quantity: ConstraintQuantity
    contact: int = 0


def kept_parts(model: TreeModel, dynamics: Dynamics, mode: Mode, anchor: ca.SX) -> Iterator[Kept]:
    """Yield what a motion keeps.

    Gaps and rolling velocities; contact coordinates that are aligned and on their own manifold (a point of a surface,
    a unit normal), those of a contact that is apart, and time, as in the state `anchor` (n_x,); unit quaternions.
    """
    terms = dynamics.terms
    yield Kept(terms.position, ConstraintQuantity.GAP)
    yield Kept(terms.velocity, ConstraintQuantity.VELOCITY)
    laws = laws_of(model.constraints, mode)
    for i, (constraint, law) in enumerate(zip(model.constraints, laws, strict=True)):
        s = constraint.s
        if not law.touching:
            yield Kept(s - anchor[model.layout[f"{constraint.name}.coordinates"]], ConstraintQuantity.COORDINATES, i)
            continue
        # Alignment alone moves the coordinates along the tangents: it cannot tell a surface from those parallel to it.
        yield Kept(terms.kin[i].shift, ConstraintQuantity.COORDINATES, i)
        yield Kept(constraint.contact.restore(s) - s, ConstraintQuantity.COORDINATES, i)
    for key, where in model.layout.items():
        if is_quaternion(model, key):
            yield Kept((ca.sumsqr(model.x[where]) - 1) / 2, ConstraintQuantity.PURE_NUMBER)
    if TIME in model.layout:
        where = model.layout[TIME]
        yield Kept(model.x[where] - anchor[where], ConstraintQuantity.TIME)


def stack_kept_rows(model: TreeModel, dynamics: Dynamics, mode: Mode) -> ca.SX:
    """Return all rows (m,) of `kept_parts`, with zero in place of the anchor: for their gradients."""
    parts = kept_parts(model, dynamics, mode, ca.SX(model.x.shape[0], 1))
    return ca.densify(ca.vertcat(*(part.rows for part in parts)))
