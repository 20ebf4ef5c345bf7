"""Instant: the equations of motion at one instant, with all rows of the contacts that are to be decided about."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.contact import Kinematics
from trundle.contact.law import Friction, Law, Rows, viscous_moment
from trundle.numerics.space import dot

_STILL = 1e-12
"""Of the mobility that nothing holds: what is less is round-off."""
_RANK = 1e-10
"""Of the largest singular value: rows that depend on each other."""


class WholeContact(Law):
    """All rows of a contact in its own axes, of which each may be held: normal, tangents, rolling, spin.

    What the state alone gives is applied: viscous moments, and the pull of adhesion, -adhesion n, so that the normal
    multiplier is the load.
    """

    name = "whole"
    slipping = True

    def rows(self, k: Kinematics, friction: Friction) -> Rows:
        """Return 1 + (d - 1) + (d - 1) + 1 rows, in the plane 1 + 1 + 1."""
        zero, d = ca.SX(0, k.wrel.shape[0]), k.n.shape[0]
        normal, tangents = k.n.T, k.T.T
        linear = ca.vertcat(normal, tangents)
        LA, LB = linear @ k.LA, linear @ k.LB
        b = ca.vertcat(dot(k.n, k.bias) + dot(k.ndot, k.vrel), tangents @ k.bias)
        velocity = linear @ k.vrel
        if d == 2:
            axes, rates, turning = ca.SX.eye(1), k.alrel, k.wrel
        else:
            spin = dot(k.n, k.wrel)
            axes = ca.vertcat(zero, tangents, normal)
            rates = ca.vertcat(tangents @ k.alrel - spin * (tangents @ k.ndot), dot(k.n, k.alrel) + dot(k.ndot, k.wrel))
            turning = axes @ k.wrel
        rows = ca.horzcat(axes, ca.SX(axes.shape[0], d))
        LA, LB = ca.vertcat(LA, rows), ca.vertcat(LB, rows)
        viscous = viscous_moment(k, friction)
        moment = ca.SX(k.wrel.shape[0], 1) if viscous is None else viscous
        applied = ca.vertcat(moment, -friction.adhesion * k.n)
        velocity, none = ca.vertcat(velocity, turning), ca.SX(LA.shape[0], 1)
        return Rows(LA, LB, ca.vertcat(b, rates), velocity, none, applied=applied)

    def wrench(self, k: Kinematics, lam: ca.SX, friction: Friction) -> tuple[ca.SX, ca.SX]:
        """Return the force and the moment about the normal."""
        d = k.n.shape[0]
        force = ca.horzcat(k.n, k.T) @ lam[:d] - friction.adhesion * k.n
        return force, ca.SX(1, 1) if d == 2 else lam[-1]

    def margins(self, k: Kinematics, lam: ca.SX, friction: Friction) -> dict[str, ca.SX]:
        """Return nothing: it is no law of a mode."""
        return {}


WHOLE = WholeContact()
ROWS = {2: 3, 3: 6}
"""Rows of `WholeContact`, by dimension."""
GROUPS = {2: (slice(1, 2), slice(2, 3)), 3: (slice(1, 3), slice(3, 5), slice(5, 6))}
"""Columns of slip, rolling and, in space, spin among the rows of `WholeContact`."""


@dataclass(frozen=True, eq=False)
class Instant:
    """M nudot = f + J'F of m contacts, whose rows `WholeContact` says; other contacts and pins hold.

    Attributes
    ----------
    M, f : (nv, nv), (nv,)
    J, b, velocity : (m K, nv), (m, K), (m, K)
        Rows of the contacts: J nudot + b, and the same one derivative lower.
    axes : (m, d, d)
        Normal and tangents, world, as rows.
    held, push, held_b : (r, nv), (r, nv), (r,)
        Rows of what goes on to hold: held nudot + held_b = 0, pushed along push'.
    """

    M: FloatArray
    f: FloatArray
    J: FloatArray
    b: FloatArray
    velocity: FloatArray
    axes: FloatArray
    held: FloatArray
    push: FloatArray
    held_b: FloatArray

    def mobility(self) -> tuple[FloatArray, FloatArray]:
        """Return M^-1 (nv, nv) with what holds held, and the accelerations (nv,) without the m contacts."""
        inverse = np.asarray(np.linalg.inv(self.M), dtype=np.float64)
        free = inverse @ self.f
        if len(self.held):
            lever = inverse @ self.push.T @ np.linalg.pinv(self.held @ inverse @ self.push.T, rcond=_RANK)
            free = free - lever @ (self.held @ free + self.held_b)
            inverse = np.asarray(inverse - lever @ self.held @ inverse, dtype=np.float64)
        return inverse, free

    def moving(self, inverse: FloatArray) -> FloatArray:
        """Return the rows J, zero where what holds lets nothing move along them but round-off; ``inverse``: mobility.

        Of two joints that a coupling and a stop hold, neither turns: no force of theirs is told by their motion.
        """
        alone = np.einsum("ri,ij,rj->r", self.J, np.asarray(np.linalg.inv(self.M), dtype=np.float64), self.J)
        there = np.einsum("ri,ij,rj->r", self.J, inverse, self.J)
        return np.where((there > _STILL * alone)[:, None], self.J, 0.0)
