"""Rolling joint: minimal coordinates of a body that rolls on another (20 or 19 numbers on a hand)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import casadi as ca

from trundle.contact.contact import Kinematics, require_field
from trundle.contact.contacts import ChartContact
from trundle.contact.motion import Motion, free
from trundle.errors import InputError
from trundle.geometry.patch import Patch
from trundle.models.tree.joint import Connection, Site, Symbols
from trundle.numerics.space import angular_size, cross, lever


@dataclass(frozen=True)
class RollingJoint:
    """Pose of A on B from the chart coordinates s = (u_A, u_B) and the spin angle psi.

    R_B_A = F_B Rc(psi) F_A', F = [T n] on each body, Rc = diag([[c, -s], [-s, -c]], -1);
    p_A = P_B - R x_A (theory, "Rolling coordinates"). In the plane psi does not exist and Rc is diagonal.

    Attributes
    ----------
    contact : ChartContact
    s : (2 (d-1),)
    psi : scalar rad
    pure : bool
        The relative angular velocity has no component along the normal.
    """

    contact: ChartContact
    s: ca.SX
    psi: ca.SX
    pure: bool

    def patches(self) -> tuple[Patch, Patch]:
        """Return the patches of both charts, each in its shape's frame."""
        return self.contact.patches(self.s)

    def frame_on_B(self) -> ca.SX:  # noqa: N802
        """Return [T n] (d, d) of B in B's axes."""
        _, patch_B = self.patches()
        return ca.horzcat(patch_B.T, patch_B.n)

    def axes_on_B(self) -> ca.SX:  # noqa: N802
        """Return the contact's axes (d, d) in B's: [T n], with T reversed where a planar curve has its normal right.

        A rotation: vectors can be resolved in it.
        """
        _, patch_B = self.patches()
        side = self.contact.chart_B.side if self.contact.d == 2 else 1
        return ca.horzcat(side * patch_B.T, patch_B.n)

    def contact_orientation(self) -> ca.SX:
        """Return Rc (d, d), which maps components in A's contact frame to components in B's."""
        if self.contact.d == 2:
            # The tangents run the same way where one curve has its normal left and the other right.
            same = -self.contact.chart_A.side * self.contact.chart_B.side
            return ca.diag(ca.SX([same, -1]))
        c, s = ca.cos(self.psi), ca.sin(self.psi)
        return ca.vertcat(ca.horzcat(c, -s, 0), ca.horzcat(-s, -c, 0), ca.horzcat(0, 0, -1))

    def rates(self, k: Kinematics, B: Motion, al: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return (psi', w_rel') from the kinematics and A's angular acceleration `al` (k,), resolved.

        psi' = tau_A u_A' + tau_B u_B' - w_z and, by components in B's contact frame,
        w_rel' = F'(al_A - al_B - w_B x w_rel) - w_c x w_rel, w_c = (-(K s)_2, (K s)_1, tau_B u_B')
        (theory, "Rolling coordinates").
        """
        if self.contact.d == 2:
            return ca.SX(1, 1), al - B.al
        w = k.frame.T @ k.wrel
        relative = k.frame.T @ (al - B.al - ca.cross(B.w, k.wrel)) - ca.cross(self.contact_frame_rate(k), w)
        return self.spin_rate(k, w), relative[:2] if self.pure else relative

    def contact_frame_rate(self, k: Kinematics) -> ca.SX:
        """Return the angular velocity (3,) of B's contact frame relative to B, in that frame.

        (-(K s)_2, (K s)_1, tau_B u_B') with s the velocity of the contact over B (theory, "Rolling coordinates").
        """
        _, patch_B = self.patches()
        bend = require_field(patch_B.K, "K") @ (k.frame[:, :2].T @ k.sB)
        return ca.vertcat(-bend[1], bend[0], require_field(patch_B.tau, "tau") @ k.rates[2:])

    def spin_rate(self, k: Kinematics, w: ca.SX) -> ca.SX:
        """Return psi' = tau_A u_A' + tau_B u_B' - w_z for the relative angular velocity `w` (3,) in {ch}."""
        patch_A, patch_B = self.patches()
        return require_field(patch_A.tau, "tau") @ k.rates[:2] + require_field(patch_B.tau, "tau") @ k.rates[2:] - w[2]


@final
@dataclass(frozen=True)
class Rolling(Connection):
    """No joint but a contact: its coordinates, the spin angle and the relative angular velocity are states.

    ``pure``: without a component along the normal.
    """

    d: int
    pure: bool
    by_contact = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", angular_size(self.d) + self.d)

    def configuration(self) -> dict[str, int]:
        """Return the spin angle (space)."""
        return {"spin": 1} if self.d == 3 else {}

    def velocity(self) -> dict[str, int]:
        """Return the relative angular velocity."""
        return {"relative_velocity": 2 if self.pure and self.d == 3 else angular_size(self.d)}

    def motion(self, site: Site, y: Symbols) -> Motion:
        """Return the motion of the body that rolls on ``site.parent``."""
        return rolling_motion(self.joint(site, y), site.parent, y["relative_velocity"], site.nv, site.column)

    def rates(self, site: Site, y: Symbols, nudot: ca.SX, contact: Kinematics | None) -> dict[str, ca.SX]:
        """Return the rates of spin angle and relative angular velocity."""
        al = nudot[: angular_size(self.d)]
        if contact is None:
            raise InputError("rolling", None, "a body with exactly one contact, in which it is body A")
        spin, relative = self.joint(site, y).rates(contact, site.parent, al)
        return {"spin": spin, "relative_velocity": relative} if self.d == 3 else {"relative_velocity": relative}

    def displace(self, y: Symbols, step: ca.SX) -> dict[str, ca.SX]:
        """Return nothing: the contact's coordinates place the body."""
        return {}

    def with_velocity(self, nu: ca.SX) -> dict[str, ca.SX]:
        """Return nothing: a rolling joint keeps its velocity."""
        return {}

    def joint(self, site: Site, y: Symbols) -> RollingJoint:
        """Return the rolling joint of the body's contact."""
        if site.contact is None or site.coordinates is None:
            raise InputError("rolling", None, "a body with exactly one contact, in which it is body A")
        return RollingJoint(site.contact, site.coordinates, y.get("spin", ca.SX(1, 1)), self.pure)


def rolling_motion(joint: RollingJoint, B: Motion, relative: ca.SX, nv: int, column: int) -> Motion:
    """Return the motion of the rolling body A on the motion `B`.

    ``relative`` is its angular velocity relative to B in B's contact frame (3; 2 when pure; 1 in the
    plane), rad/s; its velocity follows from no slip. Its acceleration is unknown: nu[column : ...].
    """
    patch_A, patch_B = joint.patches()
    contact = joint.contact
    frame_A = ca.horzcat(patch_A.T, patch_A.n)
    frame_B = ca.horzcat(patch_B.T, patch_B.n)
    R_B_A = frame_B @ joint.contact_orientation() @ frame_A.T
    R = B.R @ R_B_A
    x_A = patch_A.x + ca.SX(ca.DM(contact.center_A)) if any(contact.center_A) else patch_A.x
    r_A, r_B = R @ x_A, B.R @ patch_B.x
    if contact.d == 2:
        w = B.w + relative
    else:
        w_rel = ca.vertcat(relative, 0) if joint.pure else relative
        w = B.w + B.R @ (frame_B @ w_rel)
    v = B.v + cross(B.w, r_B) - lever(r_A) @ w
    return free(R, B.p + r_B - r_A, w, v, nv, column)
