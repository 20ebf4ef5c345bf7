"""Bodies: the trees of a model, and where what is told of its bodies stands: frames, their Jacobians, M and S u - h."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from trundle.contact.motion import Motion
from trundle.contact.stops import JointContact
from trundle.models.tree.joints import FreeJoint
from trundle.models.tree.model import TreeModel
from trundle.models.tree.multibody import ContactConstraint
from trundle.simulate.engine.kernels import pack_frame
from trundle.simulate.engine.moving import WORLD, BodyPlace, Moving

Integers = NDArray[np.int64]


def integers(values: Iterable[int]) -> Integers:
    """Return a table for the core: never empty, so that it has an address."""
    found = np.array([*values], dtype=np.int64)
    return found if found.size else np.zeros(1, dtype=np.int64)


@dataclass(frozen=True)
class Trees:
    """Velocities that joints couple: columns of each tree, and of each column its parent there."""

    columns: tuple[tuple[int, ...], ...]
    parent: tuple[tuple[int, ...], ...]

    def of(self, columns: Sequence[int]) -> int:
        """Return the number of the tree of some columns, -1 of none."""
        return next((t for t, own in enumerate(self.columns) if columns and columns[0] in own), -1)


def _trees(moving: Moving) -> Trees:
    columns: dict[int, list[int]] = {}
    for body in moving.bodies:
        if body.path:
            columns.setdefault(body.path[0], []).extend(body.columns)
    found = tuple(tuple(sorted(own)) for own in columns.values())
    coupled = moving.find_coupled_velocities()
    return Trees(found, tuple(_parents(coupled[np.ix_(own, own)]) for own in found))


def _parents(coupled: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return the parent of each column, the last earlier one that inertia couples with it; -1: none."""
    return tuple(max((j for j in range(i) if coupled[i, j]), default=-1) for i in range(len(coupled)))


@dataclass(frozen=True)
class Frame:
    """A side of contacts.

    Attributes
    ----------
    place : BodyPlace
        Where it is; of a stop in the world.
    joint : JointContact, or None
        How the joint of `body` moves the point: of a stop, a coupling or dry friction.
    at, J : int
        Where what is told of it stands: the packed frame, and its Jacobian by the columns of its tree.
    tree : int
        Its tree, -1: no velocity moves it.
    free : bool
        Whether its Jacobian is the unit matrix.
    columns : tuple of int
        Velocities that move it, by their places in the tree.
    """

    place: BodyPlace
    joint: JointContact | None
    body: str
    at: int
    J: int
    tree: int
    free: bool
    columns: tuple[int, ...]


@dataclass(frozen=True)
class Bodies:
    """Where what is told of a model's bodies stands.

    Attributes
    ----------
    size : int
        Of all that is told: packed frames of the sides of contacts and their Jacobians by the columns of their tree, M
        by trees, S u - h.
    top_at : int
        Where S u - h begins.
    frames : tuple of Frame
    number : mapping of int -> int
        Number of a frame, by the identity of its motion.
    tables : mapping of str -> array of int
        Of the engine's struct, by their names there.
    """

    model: TreeModel
    joined: tuple[ContactConstraint, ...]
    moving: Moving
    trees: Trees
    size: int
    top_at: int
    frames: tuple[Frame, ...]
    number: Mapping[int, int]
    tables: Mapping[str, Integers]

    @classmethod
    def of(cls, model: TreeModel, joined: Sequence[ContactConstraint]) -> Bodies:
        """Return where what is told of a model's bodies, and of those that contacts and pins join, stands."""
        moving = Moving(model)
        trees = _trees(moving)
        frames, size = _frames(model, joined, moving, trees)
        tables: dict[str, list[int]] = {
            "frame_at": [frame.at for frame in frames.values()],
            "frame_J": [frame.J for frame in frames.values()],
            "frame_tree": [frame.tree for frame in frames.values()],
            "frame_free": [int(frame.free) for frame in frames.values()],
            "tree_n": [len(own) for own in trees.columns],
            "tree_cols": [column for own in trees.columns for column in own],
            "parent": [column for own in trees.parent for column in own],
        }
        tables["tree_at"] = np.cumsum([0, *tables["tree_n"]])[:-1].tolist()
        ends = np.cumsum([size, *(n * n for n in tables["tree_n"])]).tolist()
        tables["tree_M"] = ends[:-1]
        numbers = {key: number for number, key in enumerate(frames)}
        found = {name: integers(values) for name, values in tables.items()}
        return cls(
            model, tuple(joined), moving, trees, ends[-1] + model.nv, ends[-1], tuple(frames.values()), numbers, found
        )

    def paths(self, A: Motion, B: Motion) -> tuple[list[int], list[int]]:
        """Return the columns that move each side of a contact, with all that carry them; of one tree those of both."""
        sides, found = [self.frames[self.number[id(A)]], self.frames[self.number[id(B)]]], []
        for side, other in (sides, sides[::-1]):
            wanted = set(side.columns)
            wanted |= set(other.columns) if other.tree == side.tree else set()
            closed: set[int] = set()
            for column in wanted:
                while column >= 0:
                    closed.add(column)
                    column = self.trees.parent[side.tree][column]
            found.append(sorted(closed))
        return found[0], found[1]

    def has_free_root(self, tree: int) -> bool:
        """Return whether the first body of a tree is a free one."""
        first = self.trees.columns[tree][0]
        return any(isinstance(body.joint, FreeJoint) and body.columns[0] == first for body in self.moving.bodies)

    def expression(self) -> ca.SX:
        """Return what is told (size,) as an expression of the model's x and u."""
        model, parts = self.model, []
        motions = {id(side): side for one in self.joined for side in (one.A, one.B)}
        for key, motion in motions.items():
            frame = self.frames[self.number[key]]
            own = list(self.trees.columns[frame.tree]) if frame.tree >= 0 else []
            parts += [pack_frame(motion), ca.vec(ca.densify(ca.vertcat(motion.Jw, motion.Jv)[:, own]))]
        M, h = model.inertia_terms()
        parts += [ca.vec(ca.densify(M[list(own), list(own)])) for own in self.trees.columns]
        return ca.vertcat(*parts, ca.densify(model.S @ model.u - h))


def _frames(
    model: TreeModel, constraints: Sequence[ContactConstraint], moving: Moving, trees: Trees
) -> tuple[dict[int, Frame], int]:
    """Return the sides of contacts and pins by the identity of their motions, and how much is told of all of them."""
    names = {id(motion): name for name, motion in model.motions.items()}
    pinned = _place_pins(model, moving)
    jointed = {id(motion): (contact, name) for motion, contact, name in model.jointed}
    frames: dict[int, Frame] = {}
    at, rows, still = 0, model.k + model.d, BodyPlace(WORLD, np.eye(model.d), np.zeros(model.d))
    for joined in constraints:
        for motion in (joined.A, joined.B):
            if id(motion) in frames:
                continue
            joint, name = jointed.get(id(motion), (None, names.get(id(motion), joined.carrier)))
            place = still if isinstance(joined.contact, JointContact) else pinned.get(id(motion)) or moving.places[name]
            columns: tuple[int, ...] = () if place.node == WORLD else moving.bodies[place.node].path
            if joint is not None:
                columns = moving.bodies[moving.places[name].node].columns[joint.coordinate :][:1]
            tree = trees.of(columns)
            own = trees.columns[tree] if tree >= 0 else ()
            J = at + model.d**2 + model.d + 2 * rows
            local = tuple(own.index(column) for column in columns)
            free = place.node != WORLD and moving.is_alone(place.node) and not np.any(place.p)
            frames[id(motion)] = Frame(place, joint, name, at, J, tree, free, local)
            at = J + rows * len(own)
    return frames, at


def _place_pins(model: TreeModel, moving: Moving) -> dict[int, BodyPlace]:
    """Return where the points of pins are, by the identity of their motions."""
    found: dict[int, BodyPlace] = {}
    for loop, pin in zip(model.loops, model.pins, strict=False):  # couplings follow the pins
        for motion, body, at in ((loop.A, pin.A, pin.at_A), (loop.B, pin.B, pin.at_B)):
            found[id(motion)] = moving.places[model.specs[body].name].then(np.eye(model.d), np.array(at))
    return found
