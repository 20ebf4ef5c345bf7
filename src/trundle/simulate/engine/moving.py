"""Moving: the bodies of a model that move, each with all that is welded to it, and where every other one is on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.models.tree.joint import Connection, Joint
from trundle.models.tree.joints import BodySpec, Following, FreeJoint, Prescribed, Prismatic, Revolute
from trundle.models.tree.model import TreeModel

WORLD = -1
"""Number of what never moves."""


@dataclass(frozen=True)
class BodyPlace:
    """A frame on a moving body.

    Attributes
    ----------
    node : int
        Number of the moving body, or `WORLD`.
    R, p : (d, d), (d,) m
        The frame's axes and origin there.
    """

    node: int
    R: FloatArray
    p: FloatArray

    def then(self, R: FloatArray, p: FloatArray) -> BodyPlace:
        """Return a frame given in this one."""
        return BodyPlace(self.node, self.R @ R, self.p + self.R @ p)


@dataclass(frozen=True)
class Mass:
    """What a moving body weighs with all that is welded to it.

    Attributes
    ----------
    mass : float, kg
    com : (d,) m
    inertia : (k, k) kg m2
        About the centre of mass, in the body's axes.
    """

    mass: float
    com: FloatArray
    inertia: FloatArray

    @cached_property
    def even(self) -> bool:
        """Whether the inertia is the same about every axis."""
        return np.array_equal(self.inertia, self.inertia[0, 0] * np.eye(len(self.inertia)))

    @classmethod
    def together(cls, parts: Sequence[Mass]) -> Mass:
        """Return parts as one body."""
        if len(parts) == 1:
            return parts[0]
        mass = sum(part.mass for part in parts)
        com = np.sum([part.mass * part.com for part in parts], axis=0) / mass
        inertia = np.sum([part.inertia + part.mass * _shift(part.com - com) for part in parts], axis=0)
        return cls(mass, com, inertia)


def _shift(r: FloatArray) -> FloatArray:
    """Return the inertia (k, k) of a unit mass at r (d,)."""
    square = float(r @ r)
    return np.array([[square]]) if len(r) == 2 else square * np.eye(3) - np.outer(r, r)


@dataclass(frozen=True)
class MovingBody:
    """A body that moves, by velocities of the model or as it is told.

    Attributes
    ----------
    spec : BodySpec
    joint : Connection
        That of the body, but for its axes: a hinge or a slide along any direction is one along the last axis.
    on : BodyPlace
        The joint's place and axes on the moving body before it, or in the world.
    turned : (d, d)
        The body's axes in those that the joint moves.
    mass : Mass, or None
    columns : tuple of int
        Its own velocities in nu.
    path : tuple of int
        Those of all that carries it, and its own.
    """

    spec: BodySpec
    joint: Connection
    on: BodyPlace
    turned: FloatArray
    mass: Mass | None
    columns: tuple[int, ...]
    path: tuple[int, ...]


class Moving:
    """The moving bodies of a model, each after the one it moves on (final).

    Attributes
    ----------
    bodies : tuple of MovingBody
    places : dict of name -> BodyPlace
        Of the frame of every body of the model.
    """

    def __init__(self, model: TreeModel) -> None:
        self.model = model
        self.places: dict[str, BodyPlace] = {}
        found: list[tuple[BodySpec, Connection, BodyPlace, FloatArray]] = []
        for spec in model.specs:
            on, orientation = self._on(spec)
            if isinstance(spec.joint, Joint) and not spec.joint.size:
                R, p = (np.array(ca.DM(part)) for part in spec.joint.transform(ca.SX(0, 1)))
                self.places[spec.name] = on.then(R @ orientation, p.ravel())
                continue
            joint, axes = _along_axis(spec.joint)
            found.append((spec, joint, on.then(axes, np.zeros(model.d)), axes.T @ orientation))
            self.places[spec.name] = BodyPlace(len(found) - 1, np.eye(model.d), np.zeros(model.d))
        masses = self._masses(len(found))
        self.bodies = self._gather_bodies(found, masses)

    def _on(self, spec: BodySpec) -> tuple[BodyPlace, FloatArray]:
        """Return where the joint of a body is, and the body's axes in it; poses of bodies without one are absolute."""
        d = self.model.d
        world = BodyPlace(WORLD, np.eye(d), np.zeros(d))
        if isinstance(spec.joint, FreeJoint | Prescribed):
            return world, np.eye(d)
        parent = world if spec.parent < 0 else self.places[self.model.specs[spec.parent].name]
        orientation = np.eye(d) if spec.orientation is None else np.array(spec.orientation)
        return parent.then(np.eye(d), np.array(spec.at or (0.0,) * d)), orientation

    def _masses(self, count: int) -> list[list[Mass]]:
        """Return what is welded to each moving body."""
        model = self.model
        parts: list[list[Mass]] = [[] for _ in range(count)]
        for spec in model.specs:
            place = self.places[spec.name]
            if spec.mass == 0.0 or place.node == WORLD:
                continue
            inertia = np.atleast_2d(np.asarray(spec.inertia, dtype=np.float64))
            if inertia.size < model.k**2:
                inertia = inertia[0, 0] * np.eye(model.k)
            elif model.k == 3 and not np.array_equal(inertia, inertia[0, 0] * np.eye(3)):
                inertia = place.R @ inertia @ place.R.T
            com = place.p + place.R @ np.array(spec.com or (0.0,) * model.d)
            parts[place.node].append(Mass(spec.mass, com, inertia))
        return parts

    def _gather_bodies(
        self, found: Sequence[tuple[BodySpec, Connection, BodyPlace, FloatArray]], masses: Sequence[Sequence[Mass]]
    ) -> tuple[MovingBody, ...]:
        bodies: list[MovingBody] = []
        for (spec, joint, on, turned), parts in zip(found, masses, strict=True):
            first = self.model.columns.get(spec.name, 0)
            columns = tuple(range(first, first + joint.size))
            before = () if on.node == WORLD else bodies[on.node].path
            mass = Mass.together(parts) if parts else None
            bodies.append(MovingBody(spec, joint, on, turned, mass, columns, before + columns))
        return tuple(bodies)

    @cached_property
    def carriers(self) -> frozenset[int]:
        """The moving bodies that others move on."""
        return frozenset(body.on.node for body in self.bodies if body.on.node != WORLD)

    def is_alone(self, number: int) -> bool:
        """Return whether a moving body is a free one that carries no other."""
        return isinstance(self.bodies[number].joint, FreeJoint) and number not in self.carriers

    def find_coupled_velocities(self) -> NDArray[np.bool_]:
        """Return which velocities (nv, nv) inertia couples: those of a body with those of all that carries it.

        Of a free body alone by where its centre of mass is and whether its inertia is the same about every axis.
        """
        nv, k = self.model.nv, self.model.k
        found = np.zeros((nv, nv), dtype=bool)
        for i, body in enumerate(self.bodies):
            own = list(body.columns)
            if self.is_alone(i) and body.mass is not None:
                block = np.eye(len(own), dtype=bool)
                off = bool(np.any(body.mass.com))
                block[:k, :k] |= off or not body.mass.even
                block[:k, k:] = block[k:, :k] = off if k == 1 else off & ~np.eye(3, dtype=bool)
                found[np.ix_(own, own)] = block
                continue
            path = list(body.path)
            found[np.ix_(own, path)] = found[np.ix_(path, own)] = True
        return found


def _along_axis(joint: Connection) -> tuple[Connection, FloatArray]:
    """Return a joint as one of few kinds, and the axes (d, d) in which it is that: hinges and slides along the last."""
    d = joint.d
    if isinstance(joint, Revolute) and d == 3:
        same: Connection = Revolute((0.0, 0.0, 1.0))
    elif isinstance(joint, Prismatic):
        same = Prismatic((*(0.0,) * (d - 1), 1.0))
    else:
        return joint, np.eye(d)
    if np.count_nonzero(joint.axis) == 1:
        return joint, np.eye(d)
    return same, _axes_along(np.array(joint.axis))


def _axes_along(axis: FloatArray) -> FloatArray:
    """Return right-handed axes (d, d) of which the last is the unit vector `axis` (d,)."""
    if len(axis) == 2:
        return np.column_stack([(axis[1], -axis[0]), axis])
    across = np.cross(np.eye(3)[np.argmin(np.abs(axis))], axis)
    across /= np.linalg.norm(across)
    return np.column_stack([across, np.cross(axis, across), axis])


def is_known(joint: Connection) -> bool:
    """Return whether the sweep knows how a connection takes part in nu: as a joint, freely, or not at all."""
    return isinstance(joint, Joint | FreeJoint | Prescribed | Following)
