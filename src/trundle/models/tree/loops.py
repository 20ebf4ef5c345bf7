"""Loops: points of two bodies of a tree that a pin keeps together."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from trundle.contact.motion import Motion
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
