"""What holds bodies of a tree in every mode: pins, which close loops, and couplings of two joints."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from trundle.contact.contact import Contact, Kinematics, Touch
from trundle.contact.law import Friction, Law, Rows
from trundle.contact.motion import Motion
from trundle.contact.stops import JointStop
from trundle.contact.touch import point_over_flat
from trundle.numerics.expressions import HoldsExpressions


@dataclass(frozen=True)
class LoopSpec:
    """A pin as the builder knows it: bodies by their numbers, and the point (d,), m, in the frame of each."""

    A: int
    B: int
    at_A: tuple[float, ...]
    at_B: tuple[float, ...]


@dataclass(frozen=True)
class CouplingSpec:
    """A coupling as the builder knows it: q_A = ratio q_B + offset of the joints of two bodies, by their numbers."""

    A: int
    B: int
    ratio: float
    offset: float

    def heights(self, d: int) -> tuple[JointStop, JointStop]:
        """Return the points that are as high as q_A - offset and ratio q_B over a flat: they are level."""
        return JointStop(d, self.offset, 1.0), JointStop(d, 0.0, self.ratio)


@dataclass(frozen=True)
class Loop(HoldsExpressions):
    """Two frames, A and B, that `law` keeps together as it would a `contact` of theirs.

    With the law `Pinned` a pin: the origins of A and B stay together, a hinge in the plane, a ball joint in space. With
    `Levelled` a coupling of two joints: the points A and B, which rise with these, stay level.
    """

    A: Motion
    B: Motion
    contact: Contact
    law: Law

    @property
    def rows(self) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """J (r, nv), b (r,) of (v_A - v_B)' = J nudot + b = 0 in what is held, the same integrated once and twice."""
        A, B = self.A, self.B
        J, b, velocity, position = A.Jv - B.Jv, A.a - B.a, A.v - B.v, A.p - B.p
        held = slice(-1, None) if isinstance(self.law, Levelled) else slice(None)
        return J[held, :], b[held], velocity[held], position[held]


@dataclass(frozen=True)
class Pin(Contact):
    """A pin as a contact of the origins of two frames, which `Pinned` keeps together."""

    dimension: int

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return self.dimension

    @property
    def size(self) -> int:
        """No coordinates."""
        return 0

    def touch(self, A: Motion, B: Motion, s: ca.SX) -> tuple[Touch, Touch]:
        """Return both origins, on a flat without a meaning."""
        return point_over_flat(self.d)

    def restore(self, s: ca.SX) -> ca.SX:
        """Return `s`, which is empty."""
        return s

    def limits(self, A: Motion, B: Motion, s: ca.SX) -> dict[str, ca.SX]:
        """Return nothing."""
        return {}


@dataclass(frozen=True)
class Pinned(Law):
    """Two points stay together, whatever force that takes."""

    name = "pinned"

    def rows(self, k: Kinematics, friction: Friction) -> Rows:
        """Return vrel' = bias = 0."""
        return Rows(k.LA, k.LB, k.bias, k.vrel, k.gap)

    def wrench(self, k: Kinematics, lam: ca.SX, friction: Friction) -> tuple[ca.SX, ca.SX]:
        """Return the multipliers, which are the force; no moment."""
        return lam, ca.SX(1, 1)

    def margins(self, k: Kinematics, lam: ca.SX, friction: Friction) -> dict[str, ca.SX]:
        """Return nothing: a pin holds."""
        return {}


@dataclass(frozen=True)
class Levelled(Law):
    """Two points stay at one height over a flat, whatever force that takes, up or down."""

    name = "levelled"

    def rows(self, k: Kinematics, friction: Friction) -> Rows:
        """Return the rows along the normal, which does not turn."""
        n = k.n
        return Rows(n.T @ k.LA, n.T @ k.LB, ca.dot(n, k.bias), ca.dot(n, k.vrel), ca.dot(n, k.gap))

    def wrench(self, k: Kinematics, lam: ca.SX, friction: Friction) -> tuple[ca.SX, ca.SX]:
        """Return the multiplier as a force along the normal; no moment."""
        return k.n * lam, ca.SX(1, 1)

    def margins(self, k: Kinematics, lam: ca.SX, friction: Friction) -> dict[str, ca.SX]:
        """Return nothing: a coupling holds."""
        return {}
