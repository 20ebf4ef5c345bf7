"""The only place where plane and space differ.

d = 2: the x-z plane, x right, z up, angles counter-clockwise, an angular velocity has k = 1 entry.
d = 3: space, an angular velocity has k = 3 entries. Column vectors are CasADi (d, 1).
"""

from __future__ import annotations

import casadi as ca

from trundle.errors import InputError


def angular_size(d: int) -> int:
    """Return k, the number of entries of an angular velocity in dimension `d` (2 or 3)."""
    if d not in (2, 3):
        raise InputError("d", d, "2 (plane) or 3 (space)")
    return 1 if d == 2 else 3


def orientation_size(d: int) -> int:
    """Return the number of entries of an orientation: the angle (1) or the quaternion (4)."""
    return 1 if d == 2 else 4


def dot(a: ca.SX, b: ca.SX) -> ca.SX:
    """Return the scalar product a'b."""
    return ca.dot(a, b)


def rot90(r: ca.SX) -> ca.SX:
    """Return S r with S = [[0, -1], [1, 0]]: `r` (2,) turned counter-clockwise by a right angle."""
    return ca.vertcat(-r[1], r[0])


def cross(w: ca.SX, r: ca.SX) -> ca.SX:
    """Return w x r, shape (d,), for an angular vector `w` (k,) and a vector `r` (d,)."""
    return w * rot90(r) if r.shape[0] == 2 else ca.cross(w, r)


def angular_cross(a: ca.SX, b: ca.SX) -> ca.SX:
    """Return a x b of two angular vectors (k,); zero in the plane."""
    return ca.SX(1, 1) if a.shape[0] == 1 else ca.cross(a, b)


def lever(r: ca.SX) -> ca.SX:
    """Return the matrix (d, k) with ``lever(r) @ w = w x r``."""
    return rot90(r) if r.shape[0] == 2 else -ca.skew(r)


def moment(r: ca.SX, f: ca.SX) -> ca.SX:
    """Return the moment (k,) of the force `f` (d,) with lever arm `r` (d,)."""
    return r[0] * f[1] - r[1] * f[0] if r.shape[0] == 2 else ca.cross(r, f)


def about(n: ca.SX) -> ca.SX:
    """Return the angular part (k,) along the direction `n` (d,); in the plane no spin about n exists."""
    return ca.SX(0, 1) if n.shape[0] == 2 else n


def inverse(M: ca.SX) -> ca.SX:
    """Return the inverse of a (1, 1) or (2, 2) matrix in closed form."""
    if M.shape == (1, 1):
        return 1 / M
    det = M[0, 0] * M[1, 1] - M[0, 1] * M[1, 0]
    adjugate = ca.vertcat(ca.horzcat(M[1, 1], -M[0, 1]), ca.horzcat(-M[1, 0], M[0, 0]))
    return adjugate / det


def smallest_eigenvalue(M: ca.SX) -> ca.SX:
    """Return the smallest eigenvalue of a symmetric (1, 1) or (2, 2) matrix in closed form."""
    if M.shape == (1, 1):
        return M[0, 0]
    half_sum = (M[0, 0] + M[1, 1]) / 2
    half_difference = (M[0, 0] - M[1, 1]) / 2
    off = (M[0, 1] + M[1, 0]) / 2
    return half_sum - ca.sqrt(half_difference**2 + off**2)


def rotation(orientation: ca.SX) -> ca.SX:
    """Return R (d, d) of an angle (1,) or of a quaternion (w, x, y, z), which is normalised inside.

    Normalising here keeps R orthogonal along an integration: 100 to 1000 times more accurate than
    leaving the norm to the integrator.
    """
    if orientation.shape[0] == 1:
        c, s = ca.cos(orientation), ca.sin(orientation)
        return ca.vertcat(ca.horzcat(c, -s), ca.horzcat(s, c))
    w, x, y, z = ca.vertsplit(orientation)
    s = 2 / (w * w + x * x + y * y + z * z)
    return ca.vertcat(
        ca.horzcat(1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)),
        ca.horzcat(s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x)),
        ca.horzcat(s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)),
    )


def rotation_about(axis: ca.DM, angle: ca.SX) -> ca.SX:
    """Return R (3, 3) = aa' + cos(angle) (1 - aa') + sin(angle) [a]x of a constant unit vector a = `axis` (3,).

    Zeros of the axis stay structural: about a coordinate axis R costs one sine and one cosine.
    """
    along = ca.sparsify(axis @ axis.T)
    return along + ca.cos(angle) * ca.sparsify(ca.DM.eye(3) - along) + ca.sin(angle) * ca.sparsify(ca.skew(axis))


def orientation_rate(orientation: ca.SX, w: ca.SX) -> ca.SX:
    """Return the rate of an angle or a quaternion under the angular velocity `w` (k,) in FIXED axes.

    q' = 1/2 (0, w) q for R = R(q) and R' = [w] R.
    """
    if orientation.shape[0] == 1:
        return w
    q0, q = orientation[0], orientation[1:]
    return ca.vertcat(-ca.dot(w, q), q0 * w + ca.cross(w, q)) / 2


def orientation_rate_body(orientation: ca.SX, w_body: ca.SX) -> ca.SX:
    """Return the rate of an angle or a quaternion under the angular velocity in BODY axes: q' = 1/2 q (0, w)."""
    if orientation.shape[0] == 1:
        return w_body
    q0, q = orientation[0], orientation[1:]
    return ca.vertcat(-ca.dot(w_body, q), q0 * w_body + ca.cross(q, w_body)) / 2


def tangents(n: ca.SX) -> ca.SX:
    """Return T (d, d-1), orthonormal and orthogonal to the unit vector `n`, [T n] right-handed.

    In the plane T is n turned clockwise by a right angle. In space the tangents jump where n_z changes
    sign: they are a basis for one instant, never a state. (Duff et al. 2017, JCGT 6(1).)
    """
    if n.shape[0] == 2:
        return ca.vertcat(n[1], -n[0])
    s = ca.if_else(n[2] >= 0, 1.0, -1.0)
    a = -1 / (s + n[2])
    b = n[0] * n[1] * a
    t1 = ca.vertcat(1 + s * n[0] * n[0] * a, s * b, -s * n[0])
    t2 = ca.vertcat(b, s + n[1] * n[1] * a, -n[1])
    return ca.horzcat(t1, t2)
