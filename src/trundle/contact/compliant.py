"""Compliant contact: laws without rows, whose force the state alone gives."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from trundle.contact.contact import Kinematics, require_field
from trundle.contact.law import Friction, Law, Rows, load_moment, no_rows, viscous_moment
from trundle.numerics.space import dot, lever

SMOOTH_RATE = 1e-3
"""Rate (rad/s) over which the moments against rolling and spin turn round while a contact slides or is compliant."""
_NO_DEPTH = 1e-16  # m: keeps the power 2.5 differentiable where nothing is pressed in


@dataclass(frozen=True)
class HuntCrossley(Law):
    """Compliant contact: no rows, a force of the depth p = -gap > 0 and of its rate p' = -n.vrel.

        f_n = stiffness p^1.5 max(1 + 1.5 dissipation p', 0),  f_t = -mu f_n v/sqrt(v^2 + slip_speed^2),

    v the slip, and the moments of rolling resistance and drilling friction, smoothed over `SMOOTH_RATE`. The force acts
    where v is that of both bodies: in the middle of their two points. At a gap there is no force. An adhesion is not
    read.

    Source: Hunt & Crossley 1975, eq. 17; an impact at the speed v has the restitution 1 - dissipation v + O(v^2).
    """

    slip_speed: float = 1e-3
    name = "hunt-crossley"
    slipping = True
    distant = True

    def rows(self, k: Kinematics, friction: Friction) -> Rows:
        """Return the force alone."""
        f_n, moment = self.normal(k, friction), load_moment(k, friction, self, SMOOTH_RATE)
        slip = k.slip_in_the_middle
        force = f_n * (k.n - friction.mu * slip / ca.sqrt(ca.sumsqr(slip) + self.slip_speed**2))
        turning = -lever(k.gap).T @ force / 2  # about A's point, of a force in the middle
        if moment is not None:
            turning = turning + f_n * moment
        viscous = viscous_moment(k, friction)
        if viscous is not None:
            turning = turning + ca.if_else(k.distance < 0, viscous, 0)
        stored = 0.4 * friction.stiffness * ca.fmax(-k.distance, _NO_DEPTH) ** 2.5
        return no_rows(k, ca.vertcat(turning, force), stored)

    def normal(self, k: Kinematics, friction: Friction) -> ca.SX:
        """Return the normal force, N."""
        # Not zero where it is open: the second derivatives of plans would be 0 times infinity there.
        depth = ca.fmax(-k.distance, _NO_DEPTH)
        damping = ca.fmax(1 - 1.5 * friction.dissipation * dot(k.n, k.vrel), 0)
        return friction.stiffness * (depth**1.5 - _NO_DEPTH**1.5) * damping

    def wrench(self, k: Kinematics, lam: ca.SX, friction: Friction) -> tuple[ca.SX, ca.SX]:
        """Return the force and the moment about the normal that the rows apply."""
        applied = require_field(self.rows(k, friction).applied, "applied")
        size = k.wrel.shape[0]
        return applied[size:], (ca.SX(1, 1) if size == 1 else dot(k.n, applied[:3]))

    def margins(self, k: Kinematics, lam: ca.SX, friction: Friction) -> dict[str, ca.SX]:
        """Return nothing: the law goes on at any gap."""
        return {}
