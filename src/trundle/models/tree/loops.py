"""Loops: points of two bodies of a tree that a pin keeps together."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from trundle.contact.contact import Contact, Kinematics, Touch
from trundle.contact.law import Friction, Law, Rows
from trundle.contact.motion import Motion
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
class Loop(HoldsExpressions):
    """A pin: the origins of the frames A and B stay together: a hinge in the plane, a ball joint in space."""

    A: Motion
    B: Motion

    @property
    def rows(self) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """J (d, nv), b (d,) of (v_A - v_B)' = J nudot + b = 0, and the same integrated once and twice."""
        A, B = self.A, self.B
        return A.Jv - B.Jv, A.a - B.a, A.v - B.v, A.p - B.p


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
