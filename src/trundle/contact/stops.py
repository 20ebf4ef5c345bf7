"""Stops: the ends of a joint's range as contacts without friction, whose gap is the joint's coordinate."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from trundle.contact.contact import Contact, Touch
from trundle.contact.motion import Motion, still
from trundle.contact.touch import point_over_flat


@dataclass(frozen=True)
class JointStop(Contact):
    """An end of the range of a joint with one coordinate q: ``side`` (q - ``end``) >= 0, side 1 or -1.

    A contact of a point at the height side (q - end) over a flat; its force is a moment (N m) where q is an angle.
    """

    dimension: int
    end: float
    side: float

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return self.dimension

    @property
    def size(self) -> int:
        """No coordinates."""
        return 0

    def motions(self, q: ca.SX, rate: ca.SX, column: int, nv: int) -> tuple[Motion, Motion]:
        """Return the motions of the point and of the flat for the joint's q and rate, nu[column]."""
        flat = still(self.d, nv)
        up = ca.SX.eye(self.d)[:, -1] * self.side
        Jv = ca.SX(self.d, nv)
        Jv[:, column] = up
        point = Motion(flat.R, up * (q - self.end), flat.w, up * rate, flat.Jw, Jv, flat.al, flat.a)
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
