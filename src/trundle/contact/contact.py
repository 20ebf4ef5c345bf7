"""Kinematics of a contact: how its points move, and what a law needs to know of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca

from trundle.contact.motion import Motion
from trundle.contact.touch import Contact, Course, OfKind, Touch, require_field, side
from trundle.numerics.space import cross, dot, inverse, lever, smallest_eigenvalue

__all__ = ["Contact", "Kinematics", "OfKind", "Touch", "kinematics", "require_field", "side"]


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
    def slip_in_the_middle(self) -> ca.SX:
        """Slip (d,), m/s, of the material points of both bodies that are in the middle of the two points of contact."""
        return self.slip - cross(self.wB + self.wrel / 2, self.n) * self.distance


def kinematics(
    contact: Contact, A: Motion, B: Motion, s: ca.SX, *, slipping: bool = False, distant: bool = False, align: float = 0
) -> Kinematics:
    """Return the kinematics of a touch.

    Where the points go: `_over_body`. The relative material velocity changes, at nudot = 0, with

        bias = a_A + al_A x r_A + w_A x (w_A x r_A + S_A) - the same of B.

    Parameters
    ----------
    slipping, distant : bool
        Count the slip in the motion of the contact points (sliding contacts); with it, nearest points at any gap.
    align : float, 1/s
        Feedback that removes misalignment of the coordinates along an integration.
    """
    tA, tB = contact.touch(A, B, s)
    n, T, wrel = tB.n, tB.T, A.w - B.w
    arm_A, arm_B = lever(tA.r), lever(tB.r)
    wr_A, wr_B = arm_A @ A.w, arm_B @ B.w
    vrel = A.v + wr_A - B.v - wr_B
    misalignment = T.T @ (tA.n + n)
    gap = (A.p - B.p) + (tA.r - tB.r)
    course, curvature = contact.course(A, B), None
    shift = ca.vertcat(tA.rates(ca.SX(contact.d, 1)), tB.rates(ca.SX(contact.d, 1)))
    if course is None:
        feedback = align * misalignment if align else None
        course, shift, curvature = _by_curvature(
            (tA, tB), B, wrel, vrel, gap, misalignment, feedback, slipping, distant
        )
    sA, sB = course.over_A, course.over_B
    return Kinematics(
        LA=ca.horzcat(arm_A, ca.SX.eye(contact.d)),
        LB=ca.horzcat(arm_B, ca.SX.eye(contact.d)),
        bias=(A.a + arm_A @ A.al + cross(A.w, wr_A + sA)) - (B.a + arm_B @ B.al + cross(B.w, wr_B + sB)),
        vrel=vrel,
        ndot=course.turning,
        gap=gap,
        frame=ca.horzcat(T, n),
        wrel=wrel,
        alrel=A.al - B.al,
        misalignment=misalignment,
        curvature=curvature,
        rates=ca.vertcat(tA.rates(sA), tB.rates(sB)),
        sA=sA,
        sB=sB,
        shift=shift,
        wB=B.w,
    )


def _by_curvature(
    sides: tuple[Touch, Touch],
    B: Motion,
    wrel: ca.SX,
    vrel: ca.SX,
    gap: ca.SX,
    misalignment: ca.SX,
    feedback: ca.SX | None,
    slipping: bool,
    distant: bool,
) -> tuple[Course, ca.SX, ca.SX | None]:
    """Return how the points go on as the curvatures tell, what cancels drift, and the relative curvature."""
    tA, tB = sides
    n, T = tB.n, tB.T
    K_B, spread = None if tB.flat else _operator(tB, T), None
    moving = vrel - cross(B.w, n) * dot(n, gap) if distant else vrel
    if distant and K_B is not None:
        K_B, spread = _parallel(K_B, dot(n, gap))
    solve, closer, curvature = _relative_curvature(tA, K_B, T)
    turning = T.T @ cross(wrel, n)
    sA = T @ solve(_over_body(turning, K_B, T.T @ moving if slipping else None, feedback))
    sB = sA + T @ (T.T @ moving) if slipping else sA
    ndot = cross(B.w, n) if K_B is None else cross(B.w, n) + T @ (K_B @ (T.T @ sB))
    aside = T.T @ gap
    fix = fix_B = closer @ aside if tA.follows else solve(-misalignment)
    if distant and not tA.follows:
        fix = fix if K_B is None else solve(-misalignment - K_B @ aside)
        fix_B = fix + aside
    if spread is not None:
        sB, fix_B = T @ (spread @ (T.T @ sB)), spread @ fix_B
    return Course(sA, sB, ndot), ca.vertcat(tA.rates(T @ fix), tB.rates(T @ fix_B)), curvature


def nearest_coordinates(contact: Contact, A: Motion, B: Motion, steps: int = 4) -> ca.SX:
    """Return the coordinates (size,) of the point of B that is nearest to A, by Newton steps from A's origin.

    Of contacts whose coordinates are those of a point or a direction of B: of a convex body on a level set or on
    another one.
    """
    s = contact.restore(B.R.T @ (A.p - B.p)) if contact.size else ca.SX(0, 1)
    for _ in range(steps if contact.size else 0):
        s = contact.restore(s + kinematics(contact, A, B, s, slipping=True, distant=True).shift)
    return s


def _over_body(turning: ca.SX, K_B: ca.SX | None, slip: ca.SX | None, feedback: ca.SX | None) -> ca.SX:
    """Return the right-hand side (d-1,) of how the contact point moves over A.

    With K_A, K_B the shape operators in B's tangent basis T, S_A = T sigma, S_B = S_A [+ T T'vrel if slipping],

        (K_A + K_B) sigma = T'(wrel x n) [- K_B T'vrel if slipping] [- align T'(n_A + n_B)]

    (theory, "Where the contact goes"; Woodruff & Lynch 2023, eq. 1).
    """
    if slip is not None and K_B is not None:
        turning = turning - K_B @ slip
    return turning if feedback is None else turning - feedback


def _parallel(K_B: ca.SX, gap: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return K_g = (I + g K_B)^-1 K_B of the surface parallel to B's at the gap g, and (I + g K_B)^-1.

    The nearest points, gap = g n, move as if A touched that surface: with vrel - g w_B x n in place of vrel, and over B
    with S_B = T (I + g K_B)^-1 T'(S_A + vrel - g w_B x n).
    """
    spread = inverse(ca.SX.eye(K_B.shape[0]) + gap * K_B)
    return spread @ K_B, spread


def _operator(touch: Touch, T: ca.SX) -> ca.SX:
    """Shape operator (d-1, d-1) of one side in the basis T."""
    if touch.K is not None:
        return T.T @ touch.K @ T
    return inverse(T.T @ require_field(touch.radii, "radii") @ T)


def _relative_curvature(tA: Touch, K_B: ca.SX | None, T: ca.SX) -> tuple[Callable[[ca.SX], ca.SX], ca.SX, ca.SX | None]:
    """Return the solver of (K_A + K_B) sigma = rhs, (I + radii_A K_B)^-1, and a scalar > 0 while it is proper.

    Of an edge or a face, straight along F, sigma = F (F'K_B F)^-1 F'rhs; a rim has a K_A along its tangent.
    With radii of A: sigma = (I + radii_A K_B)^-1 radii_A rhs, so that an edge (a zero radius) is no
    special case and a flat B costs nothing.
    """
    unit = ca.SX.eye(T.shape[1])
    if tA.straight is not None and K_B is not None:
        F = T.T @ tA.straight
        bend = F.T @ (K_B if tA.K is None else K_B + T.T @ tA.K @ T) @ F
        along = F @ inverse(bend) @ F.T
        return (lambda rhs: along @ rhs), unit, smallest_eigenvalue(bend)
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
