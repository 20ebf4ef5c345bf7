"""Inertia of a tree with many joints from composite bodies: a fifth of the work of summing over all bodies."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from trundle.checks import FloatArray
from trundle.contact.motion import Motion
from trundle.numerics.space import cross
from trundle.numerics.symbol import Symbol


@dataclass(frozen=True)
class Branch:
    """A body of a tree in space and what it hangs on.

    Attributes
    ----------
    parent : int
        Number of the parent branch; -1 of a body that hangs on the world.
    column, size : int
        First entry of nu of the body's joint, and how many it has.
    motion : Motion
        Of the body's frame.
    mass, inertia, com : kg, kg m2, m
        Of the body, inertia about the centre of mass; a number where it is the same about every axis.
    """

    parent: int
    column: int
    size: int
    motion: Motion
    mass: float
    inertia: FloatArray | float
    com: tuple[float, ...]


def composite_inertia(branches: tuple[Branch, ...], nv: int) -> ca.SX:
    """Return M (nv, nv) of branches, each after its parent.

    The composite body of a joint is all that it moves: mass m, first moment s and inertia I about one point o near
    the robot. A unit rate of the joint, twist (z, v0) at o, gives it the momenta

        l = m v0 + z x s,    k = s x v0 + I z,

    and M_ij = z_j'k_i + v0_j'l_i for every joint j on the way to the base (Featherstone 2008, sec. 6.2, about one
    point).
    """
    origin = next(branch.motion.p for branch in branches if branch.mass > 0)
    masses, firsts, seconds = _composites(branches, origin)
    M = ca.SX(nv, nv)
    twists = [_twists(branch, origin) for branch in branches]
    for i, branch in enumerate(branches):
        for c, (z, v0) in enumerate(twists[i]):
            linear = masses[i] * v0 + cross(z, firsts[i])
            angular = cross(firsts[i], v0) + seconds[i] @ z
            j = i
            while j >= 0:
                for e, (z_j, v_j) in enumerate(twists[j]):
                    row, column = branches[j].column + e, branch.column + c
                    if j < i or e <= c:
                        M[row, column] = ca.dot(z_j, angular) + ca.dot(v_j, linear)
                        M[column, row] = M[row, column]
                j = branches[j].parent
    return ca.sparsify(M)


def _twists(branch: Branch, origin: ca.SX) -> list[tuple[ca.SX, ca.SX]]:
    """Unit twists (z, v0 at `origin`) of a joint's rates: its own columns of the body's Jacobians."""
    motion = branch.motion
    arm = ca.SX(3, 1) if motion.p is origin else motion.p - origin
    columns = range(branch.column, branch.column + branch.size)
    return [(motion.Jw[:, i], motion.Jv[:, i] + cross(arm, motion.Jw[:, i])) for i in columns]


def _composites(branches: tuple[Branch, ...], origin: ca.SX) -> tuple[list[float], list[ca.SX], list[ca.SX]]:
    """Mass, first moment and inertia about `origin` of each branch with all that hangs on it."""
    masses, firsts, seconds = [], [], []
    for branch in branches:
        masses.append(branch.mass)
        if branch.mass == 0.0:
            firsts.append(ca.SX(3, 1))
            seconds.append(ca.SX(3, 3))
            continue
        R = branch.motion.R
        r = (branch.motion.p - origin) + (R @ ca.SX(ca.vertcat(*branch.com)) if any(branch.com) else 0)
        round_body = isinstance(branch.inertia, float | Symbol)
        own = branch.inertia * ca.SX.eye(3) if round_body else R @ ca.SX(branch.inertia) @ R.T
        firsts.append(branch.mass * r)
        shifted = own + branch.mass * (ca.dot(r, r) * ca.SX.eye(3) - r @ r.T)
        seconds.append(ca.triu2symm(ca.triu(ca.densify(shifted))))
    for i in range(len(branches) - 1, -1, -1):
        parent = branches[i].parent
        if parent >= 0:
            masses[parent] += masses[i]
            firsts[parent] = firsts[parent] + firsts[i]
            seconds[parent] = ca.triu2symm(ca.triu(ca.densify(seconds[parent] + seconds[i])))
    return masses, firsts, seconds
