"""Motion: what anybody may know of a body at one instant, resolved in one frame."""

from __future__ import annotations

from dataclasses import dataclass

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


def prescribe_motion(R: ca.SX, p: ca.SX, twist: ca.SX, twist_rate: ca.SX, nv: int) -> Motion:
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


def carry_given_motion(
    parent: Motion,
    R: ca.SX,
    p: ca.SX,
    velocity: tuple[ca.SX, ca.SX],
    acceleration: tuple[ca.SX, ca.SX],
) -> Motion:
    """Return the motion of a body that moves on `parent` as it is told.

    Parameters
    ----------
    R, p : (d, d), (d,) m
        Pose of the body in the parent's frame.
    velocity, acceleration : (k,), (d,)
        Angular ones, and those of the body's origin, relative to the parent, in its axes; the accelerations are the
        derivatives of these components.
    """
    turn = (lambda w: w) if p.shape[0] == 2 else (lambda w: parent.R @ w)
    base, w, v = parent.at(p), turn(velocity[0]), parent.R @ velocity[1]
    return Motion(
        R=parent.R @ R,
        p=base.p,
        w=base.w + w,
        v=base.v + v,
        Jw=base.Jw,
        Jv=base.Jv,
        al=base.al + angular_cross(base.w, w) + turn(acceleration[0]),
        a=base.a + 2 * cross(base.w, v) + parent.R @ acceleration[1],
    )


def carry_by_joint(
    parent: Motion,
    R: ca.SX,
    p: ca.SX,
    subspace: tuple[ca.SX, ca.SX],
    rate: ca.SX,
    bias: tuple[ca.SX, ca.SX],
    column: int,
) -> Motion:
    """Return the motion of a body on `parent`: that of the parent at the body's origin, and the relative one.

    Parameters
    ----------
    R, p : (d, d), (d,) m
        Pose of the body in the parent's frame.
    subspace : (k, n), (d, n)
        Sw, Sv: the relative angular velocity and velocity of the body's origin are Sw v and Sv v, parent's axes.
    rate : (n,)
        v = nu[column : column + n].
    bias : (k,), (d,)
        (dSw/dt) v, (dSv/dt) v.
    """
    turn = (lambda S: S) if p.shape[0] == 2 else (lambda S: parent.R @ S)
    base = parent.at(p)
    Zw, Zv = turn(subspace[0]), parent.R @ subspace[1]
    w, v = Zw @ rate, Zv @ rate
    Jw, Jv = ca.SX(base.Jw), ca.SX(base.Jv)
    if rate.shape[0]:
        columns = slice(column, column + rate.shape[0])
        Jw[:, columns] = Jw[:, columns] + Zw
        Jv[:, columns] = Jv[:, columns] + Zv
    return Motion(
        R=parent.R @ R,
        p=base.p,
        w=base.w + w,
        v=base.v + v,
        Jw=Jw,
        Jv=Jv,
        al=base.al + angular_cross(base.w, w) + turn(bias[0]),
        a=base.a + 2 * cross(base.w, v) + parent.R @ bias[1],
    )


def resolved_in(B: Motion, to_world: ca.SX) -> Motion:
    """Return the motion of B with its vectors resolved in the axes `to_world`'."""
    back = to_world.T
    resolve = (lambda w: w) if B.w.shape[0] == 1 else (lambda w: back @ w)
    return Motion(
        R=back @ B.R,
        p=back @ B.p,
        w=resolve(B.w),
        v=back @ B.v,
        Jw=B.Jw,
        Jv=B.Jv,
        al=resolve(B.al),
        a=back @ B.a,
    )
