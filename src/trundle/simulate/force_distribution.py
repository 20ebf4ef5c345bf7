"""Internal force distribution: how contacts of one rigid body divide a force that the motion does not determine."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.laws import LAWS
from trundle.models.tree.multibody import Dynamics
from trundle.models.tree.tree import TreeModel
from trundle.numerics.space import dot

_TINY = 1e-20  # where e is normal to both surfaces, nothing is tangential and c stays zero
_FLAT = 1e-9  # cosine of the angle between e and the side of a cone under which c does not matter
_SIDES = 12
"""Of the pyramid that stands for a cone where pushes are shared by a linear program."""
_FAR, _INSIDE = 1e4, 1e-3  # of the forces: how large c may be, and how far inside the cones it is kept


def distributed_forces(
    model: TreeModel,
    dynamics: Dynamics,
    laws: Sequence[str],
    pairs: Sequence[Sequence[int]],
    patches: Sequence[Sequence[int]] = (),
) -> tuple[ca.SX, ...]:
    """Return the forces (d,), N, on A of all contacts, resolved.

    Two contacts of the same two bodies (the numbers of one of the `pairs`) that both roll are pushed apart or
    together along the line e that joins them without any effect on the motion. Of all pairs f_1 + c e, f_2 - c e the
    one with the least tangential parts is taken,

        c = -(f_1'P_1 e - f_2'P_2 e)/(e'P_1 e + e'P_2 e),  P_i = I - n_i n_i',

    which needs no more friction than the motion asks for. In the plane, where that leaves one of the cones although
    others of these pairs lie inside both, the nearest of those is taken, a little inside.

    Corners of one of the `patches` share as `_share_patch` says.
    """
    forces = list(dynamics.forces)
    for numbers in pairs:
        rolling = [i for i in numbers if LAWS[laws[i]].rolls]
        if len(rolling) == 2 and (model.d == 2 or tuple(numbers) not in patches):
            _share(model, dynamics, rolling, forces)
    for corners in patches:
        rolling = [i for i in corners if LAWS[laws[i]].rolls]
        if len(rolling) > 1 and model.d == 3:
            _share_patch(model, dynamics, rolling, forces)
    return tuple(forces)


def _share_patch(model: TreeModel, dynamics: Dynamics, corners: Sequence[int], forces: list[ca.SX]) -> None:
    """Share the force of a convex polygon among those of its corners that roll, without any effect on the motion.

    With the centre of pressure c four and more corners p_i have normal forces N_i in proportion to

        area(p_i-1, p_i, p_i+1) prod_(j not i-1, i) area(c, p_j, p_j+1)     (Wachspress 1975),

    of a rectangle N (1 +- x)(1 +- y)/4: none pulls while c is inside. The tangential force T and the moment M about the
    normal n through c go to the corners by their loads,

        t_i = N_i (T/N + M/(sum N_j |p_j - c|^2) n x (p_i - c)),

    so that without a moment all have the same use of friction.
    """
    corners = _around(model, corners)
    n, points = dynamics.kin[corners[0]].n, []
    for i in corners:
        joined = model.constraints[i]
        points.append(joined.B.p + joined.contact.touch(joined.A, joined.B, joined.s)[1].r)
    loads = [dot(n, forces[i]) for i in corners]
    total = sum(loads[1:], loads[0])
    total = ca.if_else(ca.fabs(total) > _TINY, total, _TINY)
    center = sum((load * p for load, p in zip(loads, points, strict=True)), ca.SX(3, 1)) / total
    if len(corners) > 3:
        loads = _loads(points, center, n, total)
    arms = [p - center for p in points]
    tangential = [forces[i] - dot(n, forces[i]) * n for i in corners]
    moment = sum((dot(n, ca.cross(r, t)) for r, t in zip(arms, tangential, strict=True)), ca.SX(1, 1))
    spread = sum((load * dot(r, r) for load, r in zip(loads, arms, strict=True)), ca.SX(1, 1))
    slide, turn = sum(tangential, ca.SX(3, 1)) / total, moment / ca.if_else(ca.fabs(spread) > _TINY, spread, _TINY)
    for i, load, r in zip(corners, loads, arms, strict=True):
        forces[i] = load * (n + slide + turn * ca.cross(n, r))


def _around(model: TreeModel, corners: Sequence[int]) -> list[int]:
    """Return the corners of a polygon in order about it."""
    at = np.array([model.constraints[i].contact.center for i in corners])  # pyright: ignore[reportAttributeAccessIssue]
    if len(corners) < 4:
        return list(corners)
    plane = (at - at.mean(axis=0)) @ np.linalg.svd(at - at.mean(axis=0))[2][:2].T
    return [corners[k] for k in np.argsort(np.arctan2(plane[:, 1], plane[:, 0]))]


def _loads(points: Sequence[ca.SX], center: ca.SX, n: ca.SX, total: ca.SX) -> list[ca.SX]:
    """Return the normal forces at the corners of a convex polygon, in order, with a `total` and its `center`."""
    m = len(points)

    def area(a: ca.SX, b: ca.SX, c: ca.SX) -> ca.SX:
        return dot(n, ca.cross(b - a, c - a))

    sides = [area(center, points[j], points[(j + 1) % m]) for j in range(m)]
    weights = []
    for i in range(m):
        weight = area(points[i - 1], points[i], points[(i + 1) % m])
        for j in (j for j in range(m) if j not in (i, (i - 1) % m)):
            weight = weight * sides[j] / ca.fmax(ca.fabs(area(*points[:3])), _TINY)
        weights.append(weight)
    return [total * weight / sum(weights[1:], weights[0]) for weight in weights]


def _share(model: TreeModel, dynamics: Dynamics, rolling: Sequence[int], forces: list[ca.SX]) -> None:
    points, tangential = [], []
    for i in rolling:
        joined, k = model.constraints[i], dynamics.kin[i]
        _, side = joined.contact.touch(joined.A, joined.B, joined.s)
        points.append(joined.B.p + side.r)
        tangential.append(k.T @ k.T.T)
    one, other = rolling
    apart = points[1] - points[0]
    e = apart / ca.norm_2(apart)
    first, second = (tangential[i] @ e for i in range(2))
    across = dot(e, first) + dot(e, second)
    c = -(dot(forces[one], first) - dot(forces[other], second)) * across / (across**2 + _TINY)
    _push_apart(forces, rolling, c * e)
    if model.d == 2:
        walls = [wall for i, along in ((one, e), (other, -e)) for wall in _walls(model, dynamics, i, forces[i], along)]
        _push_apart(forces, rolling, e * _into(walls, ca.norm_2(forces[one]) + ca.norm_2(forces[other])))


def _push_apart(forces: list[ca.SX], numbers: Sequence[int], push: ca.SX) -> None:
    one, other = numbers
    forces[one] = forces[one] + push
    forces[other] = forces[other] - push


def _walls(model: TreeModel, dynamics: Dynamics, i: int, force: ca.SX, along: ca.SX) -> list[tuple[ca.SX, ca.SX]]:
    """Return (a, b) of what is not negative in the cone of a contact in the plane, a + b c, for `force` + c `along`."""
    k, mu = dynamics.kin[i], model.constraints[i].friction.mu
    rows = [k.n]
    if mu != np.inf:
        rows = [mu * k.n + k.T, mu * k.n - k.T]
    return [(dot(row, force), dot(row, along)) for row in rows]


def _into(walls: Sequence[tuple[ca.SX, ca.SX]], size: ca.SX) -> ca.SX:
    """Return the smallest c a little inside of all walls a + b c >= 0; halfway between them where they leave none."""
    low, high = ca.SX(-_FAR) * size, ca.SX(_FAR) * size
    for a, b in walls:
        steep = ca.fabs(b) > _FLAT
        at = -a / ca.if_else(steep, b, 1.0)
        low = ca.if_else(ca.logic_and(steep, b > 0), ca.fmax(low, at), low)
        high = ca.if_else(ca.logic_and(steep, b < 0), ca.fmin(high, at), high)
    room = ca.fmin((high - low) / 2, _INSIDE * size)
    return ca.if_else(high > low, ca.fmin(ca.fmax(0, low + room), high - room), (low + high) / 2)


def distributed_impulses(
    rows: FloatArray, normals: Sequence[FloatArray], impulse: FloatArray, frictions: Sequence[float] | None = None
) -> list[FloatArray]:
    """Return the impulses (d,) of c contacts with the same effect and the least tangential parts.

    In the plane, with `frictions` given: where these leave a cone although others lie inside all, such ones.

    Parameters
    ----------
    rows : (c d, nv)
        Jacobians of the contacts.
    normals : c of (d,)
    impulse : (c d,)
        Some impulses.
    frictions : c of float, optional
        Coefficients of friction.
    """
    d, count = len(normals[0]), len(normals)
    free = internal_forces(rows)
    tangential = np.zeros((count * d, count * d))
    for i, n in enumerate(normals):
        tangential[d * i : d * (i + 1), d * i : d * (i + 1)] = np.eye(d) - np.outer(n, n)
    change = np.linalg.lstsq(tangential @ free, -tangential @ impulse, rcond=1e-9)[0]
    best = impulse + free @ change
    if d == 2 and frictions is not None:
        sides = np.zeros((0, count * d))
        for i, (n, mu) in enumerate(zip(normals, frictions, strict=True)):
            side = np.zeros((2, count * d))
            side[:, d * i : d * (i + 1)] = cone_sides(n, mu)
            sides = np.vstack((sides, side))
        best = best + free @ largest_margin(sides @ best, sides @ free)
    return [np.asarray(best[d * i : d * (i + 1)], dtype=np.float64) for i in range(count)]


def internal_forces(rows: FloatArray) -> FloatArray:
    """Return an orthonormal basis (m, k) of the internal forces of contacts with the Jacobian `rows` (m, nv)."""
    left, sizes, _ = np.linalg.svd(rows)
    return left[:, int(np.sum(sizes > 1e-9 * sizes.max(initial=0.0))) :]


def cone_sides(n: FloatArray, mu: float) -> FloatArray:
    """Return rows (m, d) that are not negative on a push inside the cone about the normal `n` (d,).

    In space those of a pyramid of twelve sides inside the cone.
    """
    if np.isinf(mu):
        return np.vstack((n, n))
    if len(n) == 2:
        t = np.array([n[1], -n[0]])
        return np.vstack((mu * n + t, mu * n - t)) / np.hypot(mu, 1.0)
    t1 = np.cross(n, np.eye(3)[int(np.argmin(np.abs(n)))])
    t1 = t1 / np.linalg.norm(t1)
    angles = 2.0 * np.pi * np.arange(_SIDES) / _SIDES
    across = np.outer(np.cos(angles), t1) + np.outer(np.sin(angles), np.cross(n, t1))
    inner = mu * np.cos(np.pi / _SIDES)
    return (inner * n + across) / np.hypot(inner, 1.0)


def largest_margin(values: FloatArray, directions: FloatArray) -> FloatArray:
    """Return the c (k,) that maximises the least entry of values + directions c; zeros if all are >= 0, or k = 0.

    The largest is not counted beyond a part of the values' size: of a wedge the pushes could grow without end.
    """
    from scipy.optimize import linprog

    k, size = directions.shape[1], float(np.abs(values).max(initial=0.0))
    if not k or not size or np.all(values >= 0):
        return np.zeros(k)
    found = linprog(
        np.append(np.zeros(k), -1.0),
        A_ub=np.hstack((-directions, np.ones((len(directions), 1)))),
        b_ub=values / size,
        bounds=[(-_FAR, _FAR)] * k + [(None, _INSIDE)],
    )
    return size * found.x[:k] if found.status == 0 else np.zeros(k)
