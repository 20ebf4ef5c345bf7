"""Bodies: the trees of a model, and what the kernel of its bodies tells: frames, their Jacobians, M and S u - h."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from trundle.contact.motion import Motion
from trundle.models.tree.model import TreeModel
from trundle.models.tree.multibody import ContactConstraint
from trundle.simulate.engine.kernels import packed

Integers = NDArray[np.int64]


def integers(values: Iterable[int]) -> Integers:
    """Return a table for the core: never empty, so that it has an address."""
    found = np.array([*values], dtype=np.int64)
    return found if found.size else np.zeros(1, dtype=np.int64)


@dataclass(frozen=True)
class Trees:
    """Velocities that inertia or a body's motion couples: columns of each tree, and of each column its parent there."""

    columns: tuple[tuple[int, ...], ...]
    parent: tuple[tuple[int, ...], ...]

    def of(self, columns: Sequence[int]) -> int:
        """Return the number of the tree of some columns, -1 of none."""
        return next((t for t, own in enumerate(self.columns) if columns and columns[0] in own), -1)


def _trees(model: TreeModel, M: ca.SX) -> Trees:
    nv = model.nv
    inertia = np.array(ca.DM(M.sparsity(), 1).full() != 0)
    coupled = inertia | inertia.T
    for motion in model.motions.values():
        columns = _columns(motion)
        coupled[np.ix_(columns, columns)] = True
    label = np.arange(nv)
    for i in range(nv):
        for j in np.flatnonzero(coupled[i]):
            low, high = sorted((label[i], label[j]))
            label[label == high] = low
    columns = tuple(tuple(np.flatnonzero(label == one).tolist()) for one in np.unique(label))
    return Trees(columns, tuple(_parents(inertia[np.ix_(own, own)]) for own in columns))


def _parents(inertia: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return the parent of each column, the last earlier one that inertia couples with it; -1: none.

    Where the pattern of M is not that of branches each column has all earlier ones before it.
    """
    n = len(inertia)
    up = [max((j for j in range(i) if inertia[i, j]), default=-1) for i in range(n)]
    ancestors: list[set[int]] = []
    for i, j in enumerate(up):
        ancestors.append({i} | (ancestors[j] if j >= 0 else set()))
    branches = all(j in ancestors[i] for i in range(n) for j in range(i) if inertia[i, j])
    return tuple(up) if branches else tuple(range(-1, n - 1))


def _columns(motion: Motion) -> list[int]:
    """Return the velocities that move a frame."""
    J = ca.vertcat(motion.Jw, motion.Jv)
    return sorted(set(np.repeat(np.arange(J.shape[1]), np.diff(J.sparsity().colind())).tolist()))


@dataclass(frozen=True)
class Bodies:
    """What the kernel of the bodies tells, and where it stands.

    Attributes
    ----------
    told : (n,)
        Packed frames of the sides of contacts and their Jacobians by the columns of their tree, M by trees, S u - h.
    top_at : int
        Where S u - h begins.
    frame : mapping of int -> int
        Number of a frame, by the identity of its motion.
    tables : mapping of str -> array of int
        Of the engine's struct, by their names there.
    """

    told: ca.SX
    top_at: int
    frame: Mapping[int, int]
    trees: Trees
    tables: Mapping[str, Integers]
    _columns: Sequence[Sequence[int]]

    @classmethod
    def of(cls, model: TreeModel, joined: Sequence[ContactConstraint]) -> Bodies:
        """Return what the kernel of a model's bodies tells of those that contacts and pins join."""
        M, h = model.inertia_terms()
        trees = _trees(model, M)
        sides = {id(side): side for one in joined for side in (one.A, one.B)}
        stack, moved = _Stack(), [_columns(motion) for motion in sides.values()]
        tables: dict[str, list[int]] = {"frame_at": [], "frame_J": [], "frame_tree": [], "frame_free": []}
        local = []
        for motion, columns in zip(sides.values(), moved, strict=True):
            tree = trees.of(columns)
            own = list(trees.columns[tree]) if tree >= 0 else []
            J = ca.vertcat(motion.Jw, motion.Jv)[:, own]
            row = (stack.put(packed(motion)), stack.put(ca.vec(ca.densify(J))), tree, int(tree >= 0 and _is_unit(J)))
            for table, value in zip(tables.values(), row, strict=True):
                table.append(value)
            local.append([own.index(column) for column in columns])
        tables["tree_M"] = [stack.put(ca.vec(ca.densify(M[list(own), list(own)]))) for own in trees.columns]
        tables["tree_n"] = [len(own) for own in trees.columns]
        tables["tree_at"] = np.cumsum([0, *tables["tree_n"]])[:-1].tolist()
        tables["tree_cols"] = [column for own in trees.columns for column in own]
        tables["parent"] = [column for own in trees.parent for column in own]
        top_at = stack.put(model.S @ model.u - h)
        numbers = {key: number for number, key in enumerate(sides)}
        found = {name: integers(values) for name, values in tables.items()}
        return cls(stack.whole, top_at, numbers, trees, found, local)

    def paths(self, A: Motion, B: Motion) -> tuple[list[int], list[int]]:
        """Return the columns that move each side of a contact, with all that carry them; of one tree those of both."""
        sides, found = [self.frame[id(A)], self.frame[id(B)]], []
        for side, other in (sides, sides[::-1]):
            tree = int(self.tables["frame_tree"][side])
            wanted = set(self._columns[side])
            wanted |= set(self._columns[other]) if self.tables["frame_tree"][other] == tree else set()
            closed: set[int] = set()
            for column in wanted:
                while column >= 0:
                    closed.add(column)
                    column = self.trees.parent[tree][column]
            found.append(sorted(closed))
        return found[0], found[1]


class _Stack:
    """Expressions one after the other, and where each begins (final)."""

    def __init__(self) -> None:
        self._parts: list[ca.SX] = []
        self._size = 0

    def put(self, value: ca.SX) -> int:
        """Add an expression; return where it begins."""
        self._parts.append(ca.densify(value))
        self._size += value.numel()
        return self._size - value.numel()

    @property
    def whole(self) -> ca.SX:
        """All of them."""
        return ca.vertcat(*self._parts)


def _is_unit(J: ca.SX) -> bool:
    square = J.shape[0] == J.shape[1] and J.is_constant()
    return square and bool(np.array_equal(np.asarray(ca.DM(J)), np.eye(J.shape[0])))
