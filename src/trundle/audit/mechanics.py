"""Mechanics: momenta of bodies, trees and joints, and what wrenches change them, by the laws of rigid bodies.

Each column of a ledger is a number that only known wrenches change: of a free tree the momentum and the angular
momentum about its centre of mass, of a hinge or slide the momentum of what it carries about, or along, its axis:

    P' = sum F,    L' = sum (c - C) x F + T,
    (a.L_o)' = a'.L_o - a.(o' x P) + a.T_o + tau  (hinge),    (a.P)' = a'.P + a.F + tau  (slide),

with o the hinge, P and L_o of what it carries (Featherstone 2008, sec. 2.10).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trundle.audit.anatomy import Anatomy
from trundle.audit.columns import columns_of, empty
from trundle.audit.evidence import BodyFrames, Flags, Numbers
from trundle.checks import FloatArray


def dot(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a.b (...) of vectors (..., 3): twice as fast as einsum."""
    return a[..., 0] * b[..., 0] + a[..., 1] * b[..., 1] + a[..., 2] * b[..., 2]


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a x b (..., 3): some times faster than numpy's on small arrays."""
    a0, a1, a2 = a[..., 0], a[..., 1], a[..., 2]
    b0, b1, b2 = b[..., 0], b[..., 1], b[..., 2]
    found = empty(*np.broadcast_shapes(a0.shape, b0.shape), 3)
    found[..., 0] = a1 * b2 - a2 * b1
    found[..., 1] = a2 * b0 - a0 * b2
    found[..., 2] = a0 * b1 - a1 * b0
    return found


def length(a: FloatArray) -> FloatArray:
    """Return |a| (...) of vectors (..., 3)."""
    return np.sqrt(dot(a, a))


def rotate_vectors(R: FloatArray, v: FloatArray) -> FloatArray:
    """Return R v (..., 3) of rotations (..., 3, 3) and vectors (..., 3)."""
    return R[..., 0] * v[..., 0, None] + R[..., 1] * v[..., 1, None] + R[..., 2] * v[..., 2, None]


def turned_back(R: FloatArray, v: FloatArray) -> FloatArray:
    """Return R' v (..., 3) of rotations (..., 3, 3) and vectors (..., 3)."""
    parts = [dot(R[..., k], v) for k in range(3)]
    found = empty(*parts[0].shape, 3)
    for k, part in enumerate(parts):
        found[..., k] = part
    return found


def rotations_by(turn: FloatArray) -> FloatArray:
    """Return rotations (..., 3, 3) of rotation vectors (..., 3), rad: cos a I + sin a / a K + (1 - cos a) / a2 t t'."""
    x, y, z = turn[..., 0], turn[..., 1], turn[..., 2]
    square = x * x + y * y + z * z
    small = square < _SMALL
    angle = np.sqrt(np.where(small, 1.0, square))
    cosine = np.where(small, 1.0 - square / 2, np.cos(angle))
    first = np.where(small, 1.0 - square / 6, np.sin(angle) / angle)
    half = np.sin(angle / 2) / angle
    second = np.where(small, 0.5, 2.0 * half * half)
    R = np.empty((*turn.shape, 3))
    xy, xz, yz = second * x * y, second * x * z, second * y * z
    R[..., 0, 0], R[..., 1, 1], R[..., 2, 2] = (cosine + second * part * part for part in (x, y, z))
    R[..., 0, 1], R[..., 1, 0] = xy - first * z, xy + first * z
    R[..., 0, 2], R[..., 2, 0] = xz + first * y, xz - first * y
    R[..., 1, 2], R[..., 2, 1] = yz - first * x, yz + first * x
    return R


_SMALL = 1e-16
"""Square of an angle (rad2) under which sin a and cos a are their first terms: the next is below round-off."""


@dataclass(frozen=True, eq=False)
class MotionState:
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


def moving(anatomy: Anatomy, frames: BodyFrames) -> MotionState:
    """Return the motion of the bodies."""
    R, w = frames.rotation, frames.angular_velocity
    center, velocity = frames.position, frames.velocity
    if np.any(anatomy.com):
        arm = rotate_vectors(R, anatomy.com)
        center, velocity = center + arm, velocity + cross(w, arm)
    spin = anatomy.inertia[:, 0, 0, None] * w  # of balls, whose axes may be any
    uneven = anatomy.uneven
    if isinstance(uneven, slice) or len(uneven):
        in_body = turned_back(R[:, uneven], w[:, uneven])
        spin[:, uneven] = rotate_vectors(R[:, uneven], rotate_vectors(anatomy.inertia[uneven], in_body))
    return MotionState(center, velocity, anatomy.mass[:, None] * velocity, spin)


def kinetic_energy(anatomy: Anatomy, frames: BodyFrames, bodies: MotionState) -> FloatArray:
    """Return the kinetic energy of each body (n, bodies), J."""
    return (dot(bodies.momentum, bodies.velocity) + dot(bodies.spin, frames.angular_velocity)) / 2


@dataclass(frozen=True, eq=False)
class Sums:
    """Momenta or forces of groups of bodies, and their moments about the centre of a tree, or about a joint.

    Attributes
    ----------
    linear, angular : (n, groups, 3)
    linear_size, angular_size : (n, groups)
        Of what they are made of, before it cancels.
    """

    linear: FloatArray
    angular: FloatArray
    linear_size: FloatArray
    angular_size: FloatArray


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
    arms : (n, k, 3) m
        From the centre of its tree, or from its joint, to each body of each group (`Groups`).
    axes : (n, hinges, 3)
        Of the joints, in the world.
    momenta : Sums
    """

    names: tuple[tuple[str, ...], ...]
    angular: Flags
    values: FloatArray
    sizes: FloatArray
    arms: FloatArray
    axes: FloatArray
    momenta: Sums


def ledger(anatomy: Anatomy, frames: BodyFrames, bodies: MotionState) -> Ledger:
    """Return the momenta of free trees and of joints."""
    trees, groups = anatomy.trees, anatomy.groups
    axes = rotate_vectors(frames.rotation[:, anatomy.parents], anatomy.axes)
    places, centers = frames.position[:, anatomy.jointed], columns_of(bodies.center, groups.body)
    if trees:
        of_trees = groups.sum_over_groups(centers * groups.share[:, None])[:, :trees]
        places = np.concatenate([of_trees.T, places.T], axis=1).T
    arms = centers - columns_of(places, groups.group)
    momenta = _sums(anatomy, arms, bodies.momentum, bodies.spin, length(bodies.momentum), length(bodies.spin))
    names, angular = anatomy.columns
    values, sizes = _columns(anatomy, axes, momenta)
    return Ledger(names, angular, values, sizes, arms, axes, momenta)


def split_ledger(kept: Ledger, *rows: slice) -> tuple[Ledger, ...]:
    """Return a ledger of some of its rows each."""
    found = []
    for part in rows:
        sums = kept.momenta
        momenta = Sums(sums.linear[part], sums.angular[part], sums.linear_size[part], sums.angular_size[part])
        tables = kept.values[part], kept.sizes[part], kept.arms[part], kept.axes[part]
        found.append(Ledger(kept.names, kept.angular, *tables, momenta))
    return tuple(found)


def _sums(
    anatomy: Anatomy,
    arms: FloatArray,
    linear: FloatArray,
    angular: FloatArray,
    linear_size: FloatArray,
    angular_size: FloatArray,
) -> Sums:
    """Return the sums over the groups of vectors (n, bodies, 3) and of their moments."""
    groups, body = anatomy.groups, anatomy.groups.body
    linear, linear_size = columns_of(linear, body), linear_size.T.take(body, axis=0).T
    angular = columns_of(angular, body) + cross(arms, linear)
    angular_size = angular_size.T.take(body, axis=0).T + length(arms) * linear_size
    return Sums(*(groups.sum_over_groups(part) for part in (linear, angular, linear_size, angular_size)))


def _columns(anatomy: Anatomy, axes: FloatArray, sums: Sums) -> tuple[FloatArray, FloatArray]:
    """Return the columns (n, m) of a ledger, and their sizes, from sums over its groups."""
    trees, slides = anatomy.trees, anatomy.sliding
    n = len(axes)
    values, sizes = empty(n, 6 * trees + len(slides)), empty(n, 6 * trees + len(slides))
    for part, size, of in ((sums.linear, sums.linear_size, 0), (sums.angular, sums.angular_size, 1)):
        values.T[: 6 * trees].reshape(trees, 2, 3, n)[:, of] = part[:, :trees].transpose(1, 2, 0)
        sizes.T[: 6 * trees].reshape(trees, 2, 3, n)[:, of] = size.T[:trees, None]
    if len(slides):
        along = np.where(slides[:, None], sums.linear[:, trees:], sums.angular[:, trees:])
        values[:, 6 * trees :] = dot(axes, along)
        sizes[:, 6 * trees :] = np.where(slides, sums.linear_size[:, trees:], sums.angular_size[:, trees:])
    return values, sizes


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
            *(np.zeros((n, bodies, 3), order="F") for _ in range(2)),
            *(np.zeros((n, bodies), order="F") for _ in range(2)),
        )

    def add(
        self, rows: Numbers, body: Numbers | int, arm: FloatArray, force: FloatArray, moment: FloatArray | None
    ) -> None:
        """Add forces (k, 3) on bodies at `arm` (k, 3), m, from their centres of mass, and moments (k, 3)."""
        turning = cross(arm, force)
        size = length(arm) * length(force)
        if moment is not None:
            turning, size = turning + moment, size + length(moment)
        for total, part in zip(self.parts, (force, turning, length(force), size), strict=True):
            np.add.at(total, (rows, np.broadcast_to(body, rows.shape)), part)

    @property
    def parts(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """The four arrays."""
        return self.force, self.moment, self.force_size, self.moment_size

    def push(self, bodies: Sequence[int], arm: FloatArray, force: FloatArray, moment: FloatArray) -> None:
        """Add forces and moments (n, k, 3) of all rows on some bodies, as `add` does."""
        turning = cross(arm, force) + moment
        pace = length(force)
        size = length(arm) * pace + length(moment)
        for total, part in zip(self.parts, (force, turning, pace, size), strict=True):
            for i, body in enumerate(bodies):
                total[:, body] += part[:, i]


def powers(anatomy: Anatomy, kept: Ledger, wrenches: Wrenches) -> tuple[FloatArray, FloatArray]:
    """Return what wrenches add to each column of the ledger (n, m), and the sizes of it."""
    return _columns(anatomy, kept.axes, _sums(anatomy, kept.arms, *wrenches.parts))


def turning_terms(anatomy: Anatomy, frames: BodyFrames, kept: Ledger) -> FloatArray:
    """Return what the motion of the axes adds to the columns of the joints (n, hinges)."""
    momenta, trees = kept.momenta, anatomy.trees
    change = cross(frames.angular_velocity[:, anatomy.parents], kept.axes)
    momentum = momenta.linear[:, trees:]
    drift = cross(frames.velocity[:, anatomy.jointed], momentum)
    about = dot(change, momenta.angular[:, trees:]) - dot(kept.axes, drift)
    return np.where(anatomy.sliding, dot(change, momentum), about)
