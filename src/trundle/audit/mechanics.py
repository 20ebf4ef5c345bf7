"""Mechanics: momenta of bodies, trees and joints, and what wrenches change them, by the laws of rigid bodies.

Each column of a ledger is a number that only known wrenches change: of a free tree the momentum and the angular
momentum about its centre of mass, of a hinge or slide the momentum of what it carries about, or along, its axis:

    P' = sum F,    L' = sum (c - C) x F + T,
    (a.L_o)' = a'.L_o - a.(o' x P) + a.T_o + tau  (hinge),    (a.P)' = a'.P + a.F + tau  (slide),

with o the hinge, P and L_o of what it carries (Featherstone 2008, sec. 2.10).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trundle.audit.anatomy import Anatomy
from trundle.audit.evidence import Flags, Frames, Numbers
from trundle.checks import FloatArray


def dot(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a.b (...) of vectors (..., 3)."""
    return np.einsum("...i,...i->...", a, b)


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a x b (..., 3): some times faster than numpy's on small arrays."""
    a0, a1, a2 = a[..., 0], a[..., 1], a[..., 2]
    b0, b1, b2 = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=-1)


def length(a: FloatArray) -> FloatArray:
    """Return |a| (...) of vectors (..., 3)."""
    return np.sqrt(dot(a, a))


def rotations_by(turn: FloatArray) -> FloatArray:
    """Return rotations (n, 3, 3) of rotation vectors (n, 3), rad."""
    angle = length(turn)
    K = np.zeros((len(turn), 3, 3))
    K[:, 0, 1], K[:, 0, 2], K[:, 1, 2] = -turn[:, 2], turn[:, 1], -turn[:, 0]
    K[:, 1, 0], K[:, 2, 0], K[:, 2, 1] = turn[:, 2], -turn[:, 1], turn[:, 0]
    safe = np.where(angle > 1e-8, angle, 1.0)
    first = np.where(angle > 1e-8, np.sin(safe) / safe, 1.0)[:, None, None]
    second = np.where(angle > 1e-8, (1 - np.cos(safe)) / safe**2, 0.5)[:, None, None]
    return np.eye(3) + first * K + second * (K @ K)


@dataclass(frozen=True, eq=False)
class Moving:
    """Bodies with mass in motion (n, bodies, 3).

    Attributes
    ----------
    center, velocity : m, m/s
        Of the centres of mass.
    momentum, spin : kg m/s, kg m2/s
        m v, and the angular momentum about the centre of mass.
    """

    center: FloatArray
    velocity: FloatArray
    momentum: FloatArray
    spin: FloatArray


def moving(anatomy: Anatomy, frames: Frames) -> Moving:
    """Return the motion of the bodies."""
    R, w = frames.rotation, frames.angular_velocity
    center, velocity = frames.position, frames.velocity
    if np.any(anatomy.com):
        arm = np.einsum("nbij,bj->nbi", R, anatomy.com)
        center, velocity = center + arm, velocity + cross(w, arm)
    in_body = np.einsum("nbji,nbj->nbi", R, w)
    spin = np.einsum("nbij,nbj->nbi", R, np.einsum("bij,nbj->nbi", anatomy.inertia, in_body))
    return Moving(center, velocity, anatomy.mass[:, None] * velocity, spin)


def kinetic_energy(anatomy: Anatomy, frames: Frames, bodies: Moving) -> FloatArray:
    """Return the kinetic energy of each body (n, bodies), J."""
    return (dot(bodies.momentum, bodies.velocity) + dot(bodies.spin, frames.angular_velocity)) / 2


@dataclass(frozen=True, eq=False)
class Ledger:
    """Momenta (n, m) that only known wrenches change, and how large what they are made of is.

    Attributes
    ----------
    names : tuple of tuple of str
        Bodies of each column.
    angular : (m,)
        Whether a column is a momentum of turning.
    values, sizes : (n, m)
    """

    names: tuple[tuple[str, ...], ...]
    angular: Flags
    values: FloatArray
    sizes: FloatArray


def _of_trees(anatomy: Anatomy) -> FloatArray:
    """Return which bodies belong to which free tree (trees, bodies), as numbers."""
    return (anatomy.tree[None, :] == np.arange(anatomy.trees)[:, None]) * (anatomy.mass > 0.0)[None, :]


def _tree_name(anatomy: Anatomy, tree: int) -> str:
    return anatomy.names[int(np.argmax(anatomy.tree == tree))]


def _tree_centers(anatomy: Anatomy, bodies: Moving) -> FloatArray:
    """Return the centres of mass (n, trees, 3) of free trees."""
    share = _of_trees(anatomy) * anatomy.mass
    total = share.sum(axis=1, keepdims=True)
    return np.einsum("tb,nbi->nti", share / np.where(total > 0.0, total, 1.0), bodies.center)


def ledger(anatomy: Anatomy, frames: Frames, bodies: Moving) -> Ledger:
    """Return the momenta of free trees and of joints."""
    n, trees = len(frames), anatomy.trees
    own, center = _of_trees(anatomy), _tree_centers(anatomy, bodies)
    names: list[tuple[str, ...]] = []
    values, sizes = np.zeros((n, 6 * trees + len(anatomy.hinges))), np.zeros((n, 6 * trees + len(anatomy.hinges)))
    pace, turning = length(bodies.momentum), length(bodies.spin)
    for tree in range(trees):
        mine = np.flatnonzero(own[tree])
        arm = bodies.center[:, mine] - center[:, tree, None]
        at = slice(6 * tree, 6 * tree + 3), slice(6 * tree + 3, 6 * tree + 6)
        values[:, at[0]] = bodies.momentum[:, mine].sum(axis=1)
        values[:, at[1]] = bodies.spin[:, mine].sum(axis=1)
        sizes[:, at[0]] = pace[:, mine].sum(axis=1)[:, None]
        sizes[:, at[1]] = turning[:, mine].sum(axis=1)[:, None]
        if len(mine) > 1:
            values[:, at[1]] += cross(arm, bodies.momentum[:, mine]).sum(axis=1)
            sizes[:, at[1]] += (length(arm) * pace[:, mine]).sum(axis=1)[:, None]
        names += [(_tree_name(anatomy, tree),)] * 6
    for k, hinge in enumerate(anatomy.hinges, 6 * trees):
        axis = frames.rotation[:, hinge.parent] @ hinge.axis
        mine = np.flatnonzero(hinge.outboard & (anatomy.mass > 0.0))
        if hinge.slides:
            values[:, k] = dot(axis, bodies.momentum[:, mine].sum(axis=1))
            sizes[:, k] = pace[:, mine].sum(axis=1)
        else:
            arm = bodies.center[:, mine] - frames.position[:, hinge.body, None]
            around = (cross(arm, bodies.momentum[:, mine]) + bodies.spin[:, mine]).sum(axis=1)
            values[:, k] = dot(axis, around)
            sizes[:, k] = (length(arm) * pace[:, mine] + turning[:, mine]).sum(axis=1)
        names.append((hinge.name,))
    angular = np.tile(np.repeat([False, True], 3), trees)
    angular = np.append(angular, [not hinge.slides for hinge in anatomy.hinges]).astype(bool)
    return Ledger(tuple(names), angular, values, sizes)


@dataclass(frozen=True, eq=False)
class Wrenches:
    """Forces on bodies (n, bodies, 3), N, and moments about their centres of mass, N m; or their impulses.

    ``sizes``: (n, bodies) of the forces, and of the moments, before they cancel.
    """

    force: FloatArray
    moment: FloatArray
    force_size: FloatArray
    moment_size: FloatArray

    @staticmethod
    def none(n: int, bodies: int) -> Wrenches:
        """Return no wrenches, to add to."""
        return Wrenches(
            np.zeros((n, bodies, 3)), np.zeros((n, bodies, 3)), np.zeros((n, bodies)), np.zeros((n, bodies))
        )

    def add(
        self, rows: Numbers, body: Numbers | int, arm: FloatArray, force: FloatArray, moment: FloatArray | None
    ) -> None:
        """Add forces (k, 3) on bodies at `arm` (k, 3), m, from their centres of mass, and moments (k, 3)."""
        turning = cross(arm, force)
        size = length(arm) * length(force)
        if moment is not None:
            turning, size = turning + moment, size + length(moment)
        for total, part in (
            (self.force, force),
            (self.moment, turning),
            (self.force_size, length(force)),
            (self.moment_size, size),
        ):
            np.add.at(total, (rows, np.broadcast_to(body, rows.shape)), part)


def powers(anatomy: Anatomy, frames: Frames, bodies: Moving, wrenches: Wrenches) -> tuple[FloatArray, FloatArray]:
    """Return what wrenches add to each column of the ledger (n, m), and the sizes of it."""
    n, trees = len(frames), anatomy.trees
    own, center = _of_trees(anatomy), _tree_centers(anatomy, bodies)
    values, sizes = np.zeros((n, 6 * trees + len(anatomy.hinges))), np.zeros((n, 6 * trees + len(anatomy.hinges)))
    for tree in range(trees):
        mine = np.flatnonzero(own[tree])
        arm = bodies.center[:, mine] - center[:, tree, None]
        force, moment = wrenches.force[:, mine], wrenches.moment[:, mine]
        at = slice(6 * tree, 6 * tree + 3), slice(6 * tree + 3, 6 * tree + 6)
        values[:, at[0]] = force.sum(axis=1)
        values[:, at[1]] = moment.sum(axis=1)
        sizes[:, at[0]] = wrenches.force_size[:, mine].sum(axis=1)[:, None]
        sizes[:, at[1]] = wrenches.moment_size[:, mine].sum(axis=1)[:, None]
        if len(mine) > 1:
            values[:, at[1]] += cross(arm, force).sum(axis=1)
            sizes[:, at[1]] += (length(arm) * wrenches.force_size[:, mine]).sum(axis=1)[:, None]
    for k, hinge in enumerate(anatomy.hinges, 6 * trees):
        axis = frames.rotation[:, hinge.parent] @ hinge.axis
        mine = np.flatnonzero(hinge.outboard & (anatomy.mass > 0.0))
        force, moment = wrenches.force[:, mine], wrenches.moment[:, mine]
        if hinge.slides:
            values[:, k], sizes[:, k] = dot(axis, force.sum(axis=1)), wrenches.force_size[:, mine].sum(axis=1)
        else:
            arm = bodies.center[:, mine] - frames.position[:, hinge.body, None]
            values[:, k] = dot(axis, (cross(arm, force) + moment).sum(axis=1))
            sizes[:, k] = (length(arm) * wrenches.force_size[:, mine] + wrenches.moment_size[:, mine]).sum(axis=1)
    return values, sizes


def turning_terms(anatomy: Anatomy, frames: Frames, bodies: Moving) -> FloatArray:
    """Return what the motion of the axes adds to each column of the ledger (n, m)."""
    n, trees = len(frames), anatomy.trees
    values = np.zeros((n, 6 * trees + len(anatomy.hinges)))
    for k, hinge in enumerate(anatomy.hinges, 6 * trees):
        axis = frames.rotation[:, hinge.parent] @ hinge.axis
        change = cross(frames.angular_velocity[:, hinge.parent], axis)
        mine = np.flatnonzero(hinge.outboard & (anatomy.mass > 0.0))
        momentum = bodies.momentum[:, mine]
        if hinge.slides:
            values[:, k] = dot(change, momentum.sum(axis=1))
            continue
        arm = bodies.center[:, mine] - frames.position[:, hinge.body, None]
        around = (cross(arm, momentum) + bodies.spin[:, mine]).sum(axis=1)
        drift = cross(frames.velocity[:, hinge.body], momentum.sum(axis=1))
        values[:, k] = dot(change, around) - dot(axis, drift)
    return values
