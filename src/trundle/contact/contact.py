"""Contact: where two bodies touch, with its own contact coordinates, and the kinematics of the touch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca

from trundle.contact.motion import Motion
from trundle.errors import InputError
from trundle.geometry.patch import Patch
from trundle.numerics.space import cross, dot, inverse, lever, smallest_eigenvalue


@dataclass(frozen=True)
class Touch:
    """One side of a contact, resolved in the model's frame.

    Attributes
    ----------
    r : (d,) m
        Contact point minus the origin of the body's frame.
    n : (d,)
        Outward unit normal of this body.
    T : (d, d-1)
        Orthonormal tangents.
    K : (d, d) 1/m, or None
        Shape tensor dn/dx (zero along n); None for a body that is better described by its radii, and
        zero for a flat.
    radii : (d, d) m, or None
        Tensor dx/dn (zero along n).
    rates : callable
        Maps the velocity S (d,), m/s, of the contact point over this body's surface to the rates of
        this body's contact coordinates.
    flat : bool
        True where the surface is a plane or a line: K is zero and drops out of the equations.
    follows : bool
        True for a side A without coordinates of its own: its point follows from B's normal, so the
        normals always oppose each other, and what drifts is the tangential part of the gap.
    """

    r: ca.SX
    n: ca.SX
    T: ca.SX
    K: ca.SX | None
    radii: ca.SX | None
    rates: Callable[[ca.SX], ca.SX]
    flat: bool = False
    follows: bool = False


class Contact(ABC):
    """Where body A touches body B.

    Contract for a subclass:

    1. ``size``: number of contact coordinates s; they are kinematic states of the model, never
       unknowns of its equations of motion.
    2. ``touch(A, B, s)`` returns both sides. The normal of side B points out of B; side A's is its
       opposite up to the misalignment of the coordinates.
    3. ``restore(s)`` returns s put back onto the manifold it lives on (a unit normal, a point of a
       surface); the identity where s is free.
    4. ``limits(s)`` returns named expressions that are positive while the coordinates are usable.
    """

    @property
    @abstractmethod
    def d(self) -> int:
        """Dimension, 2 or 3."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of contact coordinates."""

    @abstractmethod
    def touch(self, A: Motion, B: Motion, s: ca.SX) -> tuple[Touch, Touch]:
        """Return the two sides of the contact at the coordinates `s` (size,)."""

    @abstractmethod
    def restore(self, s: ca.SX) -> ca.SX:
        """Return `s` (size,) put back onto its manifold, to first order."""

    @abstractmethod
    def limits(self, A: Motion, B: Motion, s: ca.SX) -> dict[str, ca.SX]:
        """Return named scalars that are positive while this contact may be used at `s`."""


def side(
    motion: Motion,
    patch: Patch,
    center: tuple[float, ...],
    rates: Callable[[ca.SX], ca.SX],
    follows: bool = False,
) -> Touch:
    """Return the `Touch` of a body whose shape has its origin at `center` (d,), m, in body axes."""
    x = patch.x + ca.SX(ca.DM(center)) if any(center) else patch.x
    R = motion.R
    T = R @ patch.T
    return Touch(
        r=R @ x,
        n=R @ patch.n,
        T=T,
        K=None if patch.K is None else T @ patch.K @ T.T,
        radii=None if patch.radii is None else R @ patch.radii @ R.T,
        rates=rates,
        follows=follows,
    )


@dataclass(frozen=True)
class Kinematics:
    """What a law needs to know of a touch; all vectors in the model's resolving frame.

    Attributes
    ----------
    LA, LB : (d, k + d)
        [lever(r), I]: twist of the body to velocity of its material point at the contact.
    bias : (d,) m/s2
        Rate of vrel when nudot = 0, followed along the moving contact.
    vrel : (d,) m/s
        Velocity of A's material point minus that of B's.
    ndot : (d,) 1/s
        Rate of B's normal at the contact.
    gap : (d,) m
        Contact point of A minus that of B.
    frame : (d, d)
        [T n] of B; n points out of B.
    wrel, alrel : (k,)
        Relative angular velocity, and acceleration at nudot = 0, of A to B.
    misalignment : (d-1,)
        T'(n_A + n_B), zero for a true contact.
    curvature : scalar, or None
        Positive while the contact is a proper point: smallest eigenvalue of the relative curvature
        K_A + K_B (1/m), or of I + radii_A K_B (no unit); None where B is flat and A convex.
    rates : (size,)
        Rates of the contact coordinates.
    sA, sB : (d,) m/s
        Velocity of the contact point over A and over B.
    shift : (size,)
        Change of the contact coordinates that cancels, to first order, what drifts along an integration:
        the misalignment, or, where A's point follows from B's normal, the tangential part of the gap,
        (I + radii_A K_B)^-1 T'gap.
    wB : (k,)
        Angular velocity of B.
    """

    LA: ca.SX
    LB: ca.SX
    bias: ca.SX
    vrel: ca.SX
    ndot: ca.SX
    gap: ca.SX
    frame: ca.SX
    wrel: ca.SX
    alrel: ca.SX
    misalignment: ca.SX
    curvature: ca.SX | None
    rates: ca.SX
    sA: ca.SX
    sB: ca.SX
    shift: ca.SX
    wB: ca.SX

    @property
    def n(self) -> ca.SX:
        """Normal (d,), out of B."""
        return self.frame[:, -1]

    @property
    def T(self) -> ca.SX:  # noqa: N802
        """Tangents (d, d-1) of B."""
        return self.frame[:, :-1]

    @property
    def slip(self) -> ca.SX:
        """Tangential part (d,) of vrel, m/s."""
        return self.vrel - self.n * dot(self.n, self.vrel)

    @property
    def distance(self) -> ca.SX:
        """Gap n'gap, m; negative inside."""
        return dot(self.n, self.gap)

    @property
    def slip_at_A(self) -> ca.SX:
        """Slip (d,), m/s, of the material points of both bodies that are at A's contact point, at any gap."""
        return self.slip - cross(self.wB, self.n) * self.distance


def kinematics(
    contact: Contact,
    A: Motion,
    B: Motion,
    s: ca.SX,
    *,
    slipping: bool = False,
    align: float = 0.0,
    distant: bool = False,
) -> Kinematics:
    """Return the kinematics of a touch.

    With K_A, K_B the shape operators in B's tangent basis T, the contact point moves over A with

        (K_A + K_B) sigma = T'(wrel x n) [- K_B T'vrel if slipping] [- align T'(n_A + n_B)],

    S_A = T sigma, S_B = S_A [+ T T'vrel if slipping] (theory, "Where the contact goes";
    Woodruff & Lynch 2023, eq. 1), and the relative material velocity changes, at nudot = 0, with

        bias = a_A + al_A x r_A + w_A x (w_A x r_A + S_A) - the same of B.

    At a gap g the points are the nearest ones, gap = g n, and what touches A is the surface parallel to B's:

        K_B -> K_g = (I + g K_B)^-1 K_B,  vrel -> vrel - g w_B x n,  S_B = T (I + g K_B)^-1 T'(S_A + vrel - g w_B x n).

    Parameters
    ----------
    slipping : bool
        Count the slip in the motion of the contact points (sliding contacts).
    align : float, 1/s
        Feedback that removes misalignment of the coordinates along an integration.
    distant : bool
        The contact points are nearest ones at any gap (with `slipping`).
    """
    tA, tB = contact.touch(A, B, s)
    n, T, wrel = tB.n, tB.T, A.w - B.w
    arm_A, arm_B = lever(tA.r), lever(tB.r)
    wr_A, wr_B = arm_A @ A.w, arm_B @ B.w
    vrel = A.v + wr_A - B.v - wr_B
    misalignment = T.T @ (tA.n + n)
    gap = (A.p - B.p) + (tA.r - tB.r)
    K_B, spread, moving = None if tB.flat else _operator(tB, T), None, vrel
    if distant:
        moving = vrel - cross(B.w, n) * dot(n, gap)
    if distant and K_B is not None:
        spread = inverse(ca.SX.eye(contact.d - 1) + dot(n, gap) * K_B)
        K_B = spread @ K_B
    rhs = T.T @ cross(wrel, n)
    if slipping and K_B is not None:
        rhs -= K_B @ (T.T @ moving)
    if align:
        rhs -= align * misalignment
    solve, closer, curvature = _relative_curvature(tA, K_B, T)
    sA = T @ solve(rhs)
    sB = sA + T @ (T.T @ moving) if slipping else sA
    ndot = cross(B.w, n)
    if K_B is not None:
        ndot = ndot + T @ (K_B @ (T.T @ sB))
    fix = fix_B = T @ (closer @ (T.T @ gap) if tA.follows else solve(-misalignment))
    if distant:
        if not tA.follows and K_B is not None:
            fix = T @ solve(-misalignment - K_B @ (T.T @ gap))
        fix_B = fix if tA.follows else fix + T @ (T.T @ gap)
    if spread is not None:
        sB, fix_B = T @ (spread @ (T.T @ sB)), T @ (spread @ (T.T @ fix_B))
    unit = ca.SX.eye(contact.d)
    return Kinematics(
        LA=ca.horzcat(arm_A, unit),
        LB=ca.horzcat(arm_B, unit),
        bias=(A.a + arm_A @ A.al + cross(A.w, wr_A + sA)) - (B.a + arm_B @ B.al + cross(B.w, wr_B + sB)),
        vrel=vrel,
        ndot=ndot,
        gap=gap,
        frame=ca.horzcat(T, n),
        wrel=wrel,
        alrel=A.al - B.al,
        misalignment=misalignment,
        curvature=curvature,
        rates=ca.vertcat(tA.rates(sA), tB.rates(sB)),
        sA=sA,
        sB=sB,
        shift=ca.vertcat(tA.rates(fix), tB.rates(fix_B)),
        wB=B.w,
    )


def _operator(touch: Touch, T: ca.SX) -> ca.SX:
    """Shape operator (d-1, d-1) of one side in the basis T."""
    if touch.K is not None:
        return T.T @ touch.K @ T
    return inverse(T.T @ given(touch.radii, "radii") @ T)


def given(value: ca.SX | None, name: str) -> ca.SX:
    """Return a field of a patch that this contact cannot do without."""
    if value is None:
        raise InputError("patch", name, "a patch that has it: a shape operator or radii; of charts A and tau")
    return value


def _relative_curvature(tA: Touch, K_B: ca.SX | None, T: ca.SX) -> tuple[Callable[[ca.SX], ca.SX], ca.SX, ca.SX | None]:
    """Return the solver of (K_A + K_B) sigma = rhs, (I + radii_A K_B)^-1, and a scalar > 0 while it is proper.

    With radii of A: sigma = (I + radii_A K_B)^-1 radii_A rhs, so that an edge (a zero radius) is no
    special case and a flat B costs nothing.
    """
    unit = ca.SX.eye(T.shape[1])
    if tA.radii is None:
        total = _operator(tA, T) + (0 if K_B is None else K_B)
        total_inverse = inverse(total)
        return (lambda rhs: total_inverse @ rhs), unit, smallest_eigenvalue(total)
    R = T.T @ tA.radii @ T
    if K_B is None:
        return (lambda rhs: R @ rhs), unit, None
    closeness = unit + R @ K_B
    closer = inverse(closeness)
    return (lambda rhs: closer @ (R @ rhs)), closer, _smallest_real_eigenvalue(closeness)


def _smallest_real_eigenvalue(M: ca.SX) -> ca.SX:
    """Smallest eigenvalue of a (1, 1) or (2, 2) matrix that is similar to a symmetric one."""
    if M.shape == (1, 1):
        return M[0, 0]
    half = (M[0, 0] + M[1, 1]) / 2
    det = M[0, 0] * M[1, 1] - M[0, 1] * M[1, 0]
    return half - ca.sqrt(ca.fmax(half * half - det, 0))
