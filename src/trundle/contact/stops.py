"""What joints bear, as contacts: the ends of their ranges, and their dry friction."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import final

import casadi as ca
import numpy as np

from trundle.contact.contact import Contact, OfKind, Touch
from trundle.contact.law import Friction
from trundle.contact.motion import Motion, still
from trundle.contact.touch import point_over_flat


@dataclass(frozen=True)
class JointContact(Contact):
    """What a joint bears, as a contact of a point that its coordinate moves with a flat that stands still."""

    dimension: int

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return self.dimension

    @property
    def size(self) -> int:
        """No coordinates."""
        return 0

    @property
    def of_kind(self) -> OfKind:
        """The contact itself: of the numbers of a joint its touch knows nothing."""
        return OfKind(self, ca.SX(0, 1), np.zeros(0), ("joint", self.d))

    @property
    @abstractmethod
    def axis(self) -> int:
        """Axis of the flat along which the joint moves the point."""

    @property
    def axis_in_space(self) -> int:
        """The same axis where planes are those of x and z."""
        return 2 if self.axis == self.d - 1 else self.axis

    @abstractmethod
    def place(self, q: ca.SX) -> ca.SX:
        """Return where the point is along that axis, for the joint's coordinates `q`."""

    @property
    def coordinate(self) -> int:
        """Which coordinate of the joint moves the point."""
        return 0

    @property
    def gain(self) -> float:
        """Speed of the point over the rate of the joint."""
        return 1.0

    def motions(self, q: ca.SX, rate: ca.SX, column: int, nv: int) -> tuple[Motion, Motion]:
        """Return the motions of the point and of the flat for the joint's q and rate, nu[column:]."""
        flat = still(self.d, nv)
        unit = ca.SX.eye(self.d)[:, self.axis]
        along = unit * self.gain
        Jv = ca.SX(self.d, nv)
        Jv[:, column + self.coordinate] = along
        point = Motion(
            flat.R, unit * self.place(q), flat.w, along * rate[self.coordinate], flat.Jw, Jv, flat.al, flat.a
        )
        return point, flat

    def touch(self, A: Motion, B: Motion, s: ca.SX) -> tuple[Touch, Touch]:
        """Return the point and its foot on the flat."""
        return point_over_flat(self.d)

    def restore(self, s: ca.SX) -> ca.SX:
        """Return `s`, which is empty."""
        return s

    def limits(self, A: Motion, B: Motion, s: ca.SX) -> dict[str, ca.SX]:
        """Return nothing."""
        return {}


@final
@dataclass(frozen=True)
class JointStop(JointContact):
    """An end of the range of a joint with one coordinate q: ``side`` (q - ``end``) >= 0, side 1 or -1.

    A contact of a point at the height side (q - end) over a flat; its force is a moment (N m) where q is an angle.
    """

    end: float
    side: float

    @property
    def axis(self) -> int:
        """Up."""
        return self.d - 1

    @property
    def gain(self) -> float:
        """Speed of the point over the rate of the joint."""
        return self.side

    def place(self, q: ca.SX) -> ca.SX:
        """Return the height of the point."""
        return self.side * (q - self.end)


@final
@dataclass(frozen=True)
class JointFriction(JointContact):
    """Dry friction of a coordinate of a joint: at rest it bears any torque up to a bound, else it opposes the rate.

        |tau| <= bound where q' = 0,  tau = -bound q'/|q'| elsewhere.

    A contact of a point that the joint drags along a flat, pressed on by the bound (`friction_of_joint`). No motion
    changes how hard: nothing moves the point across. Its force is a moment (N m) where q is an angle.
    """

    number: int

    @property
    def axis(self) -> int:
        """The first, along the flat."""
        return 0

    @property
    def coordinate(self) -> int:
        """Which coordinate of the joint moves the point."""
        return self.number

    def place(self, q: ca.SX) -> ca.SX:
        """Return zero: what slides along a flat is everywhere alike."""
        return ca.SX(1, 1)


def friction_of_joint(bound: float) -> Friction:
    """Return the coefficients of a joint's dry friction of `bound`, N m or N: a pull that its contact bears."""
    return Friction(mu=1.0, adhesion=bound)
