"""Motion: what anybody may know of a body at one instant, resolved in one frame."""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca

from trundle.numerics.space import angular_cross, angular_size, cross, lever


@dataclass(frozen=True)
class Motion:
    """Pose, twist, Jacobians and zero-input accelerations of a body's frame, in one resolving frame.

    The resolving frame is the model's choice (the world or a contact frame); no formula depends on it.
    A hand, the ground, a free body and a link differ only in how these fields are made.

    Attributes
    ----------
    R : (d, d)
        Body axes to resolving axes.
    p : (d,) m
        Origin of the body's frame.
    w, v : (k,) rad/s, (d,) m/s
        Angular velocity, velocity of the origin.
    Jw, Jv : (k, nv), (d, nv)
        Partial derivatives of w and v by the model's velocities nu.
    al, a : (k,) rad/s2, (d,) m/s2
        Angular and CLASSICAL linear acceleration of the frame when nudot = 0.
    """

    R: ca.SX
    p: ca.SX
    w: ca.SX
    v: ca.SX
    Jw: ca.SX
    Jv: ca.SX
    al: ca.SX
    a: ca.SX

    def at(self, x: ca.SX) -> Motion:
        """Return the parallel frame whose origin is the body point `x` (d,), m, in body axes."""
        r = self.R @ x
        arm = lever(r)
        return Motion(
            R=self.R,
            p=self.p + r,
            w=self.w,
            v=self.v + arm @ self.w,
            Jw=self.Jw,
            Jv=self.Jv + arm @ self.Jw,
            al=self.al,
            a=self.a + arm @ self.al + cross(self.w, arm @ self.w),
        )


def still(d: int, nv: int) -> Motion:
    """Return the motion of the fixed world, dimension `d`, in a model with `nv` velocities."""
    k = angular_size(d)
    zero_k, zero_d = ca.SX(k, 1), ca.SX(d, 1)
    return Motion(ca.SX.eye(d), zero_d, zero_k, zero_d, ca.SX(k, nv), ca.SX(d, nv), zero_k, zero_d)


def prescribed(R: ca.SX, p: ca.SX, twist: ca.SX, twist_rate: ca.SX, nv: int) -> Motion:
    """Return the motion of a body that moves as it is told, e.g. a hand.

    Parameters
    ----------
    R, p : (d, d), (d,) m
        Pose of the body in the resolving frame.
    twist, twist_rate : (k + d,)
        Body twist (w, v) in BODY axes and its derivative u by components, so that the classical
        acceleration of the origin is a = R (u_v + w x v) and the angular one R u_w (theory, "One body on a hand").
    nv : int
        Number of the model's velocities; the Jacobians are zero.
    """
    d = p.shape[0]
    k = angular_size(d)
    w, v = twist[:k], twist[k:]
    turn = (lambda r: r) if d == 2 else (lambda r: R @ r)
    return Motion(
        R=R,
        p=p,
        w=turn(w),
        v=R @ v,
        Jw=ca.SX(k, nv),
        Jv=ca.SX(d, nv),
        al=turn(twist_rate[:k]),
        a=R @ (twist_rate[k:] + cross(w, v)),
    )


def free(R: ca.SX, p: ca.SX, w: ca.SX, v: ca.SX, nv: int, column: int) -> Motion:
    """Return the motion of a free body whose velocities (w, v) are nu[column : column + k + d]."""
    d, k = p.shape[0], w.shape[0]
    Jw, Jv = ca.SX(k, nv), ca.SX(d, nv)
    Jw[:, column : column + k] = ca.SX.eye(k)
    Jv[:, column + k : column + k + d] = ca.SX.eye(d)
    return Motion(R, p, w, v, Jw, Jv, ca.SX(k, 1), ca.SX(d, 1))


def revolute(parent: Motion, at: ca.SX, R_joint: ca.SX, axis: ca.SX, rate: ca.SX, column: int) -> Motion:
    """Return the motion of a body hinged to `parent`.

    Parameters
    ----------
    at : (d,) m
        The hinge, in the parent's frame; it is the origin of the child's frame.
    R_joint : (d, d)
        Child axes to parent axes at the present angle.
    axis : (k,)
        Hinge axis in the parent's axes (1 in the plane).
    rate : scalar rad/s
        nu[column].
    """
    hinge = parent.at(at)
    d = hinge.p.shape[0]
    z = axis if d == 2 else parent.R @ axis
    Jw = ca.SX(hinge.Jw)
    Jw[:, column] = Jw[:, column] + z
    w_joint = z * rate
    return Motion(
        R=parent.R @ R_joint,
        p=hinge.p,
        w=hinge.w + w_joint,
        v=hinge.v,
        Jw=Jw,
        Jv=hinge.Jv,
        al=hinge.al + angular_cross(hinge.w, w_joint),
        a=hinge.a,
    )


def prismatic(parent: Motion, at: ca.SX, axis: ca.SX, position: ca.SX, rate: ca.SX, column: int) -> Motion:
    """Return the motion of a body that slides along `axis` (d,) of `parent` from the point `at` (d,), m.

    ``position`` (m) is the present travel and ``rate`` (m/s) is nu[column].
    """
    base = parent.at(at + axis * position)
    z = parent.R @ axis
    Jv = ca.SX(base.Jv)
    Jv[:, column] = Jv[:, column] + z
    return Motion(
        R=base.R,
        p=base.p,
        w=base.w,
        v=base.v + z * rate,
        Jw=base.Jw,
        Jv=Jv,
        al=base.al,
        a=base.a + 2 * cross(base.w, z * rate),
    )


def fixed(parent: Motion, at: ca.SX, R_fixed: ca.SX) -> Motion:
    """Return the motion of a frame fixed in `parent`: origin `at` (d,), m, axes `R_fixed` (d, d), both in its frame."""
    return replace(parent.at(at), R=parent.R @ R_fixed)
