"""The tick of inverse dynamics as expressions: assembly, levels, relaxed limits, contact coordinates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.control.inverse_dynamics.assembly import ProgramLayout
from trundle.control.inverse_dynamics.command import BESIDE_PRICES, ROOM, prices, task_rows
from trundle.control.inverse_dynamics.contact_finder import ContactFinder
from trundle.control.tick import Entry, Stage, TickProgram

_PARTS = ("H", "g", "A", "X", "x0", "T", "t", "weight", "low", "high")
"""Outputs of `InverseDynamics.expressions`; A, X and T transposed."""


class Packed(NamedTuple):
    """Matrices one after the other in one vector, by columns."""

    shapes: Mapping[str, tuple[int, int]]

    @property
    def size(self) -> int:
        """Entries of the vector."""
        return sum(rows * columns for rows, columns in self.shapes.values())

    def parts(self, vector: ca.MX) -> dict[str, ca.MX]:
        """Return the matrices of a vector."""
        ends = [0, *accumulate(rows * columns for rows, columns in self.shapes.values())]
        return {
            name: ca.reshape(vector[a:b], *shape)
            for (name, shape), a, b in zip(self.shapes.items(), ends[:-1], ends[1:], strict=True)
        }


class _Symbols(NamedTuple):
    """Symbols of a stage: the numbers of the tick, and z = (w, low, high)."""

    carry: ca.MX
    z: ca.MX
    of: dict[str, ca.MX]
    w: ca.MX
    low: ca.MX
    high: ca.MX


def make_tick(
    expressions: ca.Function,
    layout: ProgramLayout,
    driven: NDArray[np.intp],
    inputs: int,
    damping: float,
    finder: ContactFinder | None,
    hold: bool,
    arguments: Mapping[str, tuple[Entry, ...]],
    period: float,
    values: Callable[[float], tuple[FloatArray, ...]],
) -> TickProgram:
    """Return the program of a tick.

    Parameters
    ----------
    expressions : casadi.Function
        (x, reference, last, touching, slipping) -> `_PARTS`.
    layout, damping
        Of `InverseDynamics`.
    driven : (n_torques,) int
        Entries of the model's input that are torques, of `inputs` in all.
    finder : ContactFinder, optional
        Newton's iteration for contact coordinates is part of the tick, the search for other places is not.
    hold : bool
        Whether the last torques go on where there are no new ones; else there are none.
    arguments, period, values
        Of `TickProgram`.
    """
    shapes = {name: expressions.size_out(name) for name in _PARTS[:-2]}
    coordinates = 0 if finder is None else finder.expressions.size1_in(1)
    packed = Packed(shapes | {"found": (coordinates, 1)})
    symbols = _symbols(packed, layout)
    levels = tuple(_level(symbols, layout, damping, number) for number in range(len(layout.levels)))
    price = prices(layout)
    relaxed = ((_relaxation(symbols, layout, price), *levels),) if np.any(price) else ()
    begin = _begin(expressions, finder, layout.n_u, coordinates, arguments)
    memory = ca.MX.sym("memory", layout.n_u + coordinates)
    solved = ca.MX.sym("solved")
    of = symbols.of
    torques = (of["X"].T @ symbols.w + of["x0"])[layout.nv + layout.m :]
    torques = ca.if_else(solved, torques, memory[: layout.n_u] if hold else ca.MX(layout.n_u, 1))
    u = ca.MX(inputs, 1)
    u[driven.tolist()] = torques
    names = (["carry", "z", "memory", "solved"], ["u", "memory_after"])
    results = [ca.densify(u), ca.densify(ca.vertcat(torques, of["found"]))]
    end = ca.Function("end", [symbols.carry, symbols.z, memory, solved], results, *names)
    x = ca.MX.sym("x", expressions.size1_in(0))
    seeds = ca.vertcat(ca.MX(0, 1), *(x[place] for place in ([] if finder is None else finder.places)))
    reset = ca.Function("reset", [x], [ca.densify(ca.vertcat(ca.MX(layout.n_u, 1), seeds))], ["x"], ["memory"])
    return TickProgram(arguments, begin, (levels, *relaxed), end, reset, period, values)


def _symbols(packed: Packed, layout: ProgramLayout) -> _Symbols:
    bounds = layout.n + layout.rows
    carry, z = ca.MX.sym("carry", packed.size), ca.MX.sym("z", layout.n + 2 * bounds)
    w, low, high = ca.vertsplit(z, [0, layout.n, layout.n + bounds, layout.n + 2 * bounds])
    return _Symbols(carry, z, packed.parts(carry), w, low, high)


def _begin(
    expressions: ca.Function,
    finder: ContactFinder | None,
    n_u: int,
    coordinates: int,
    arguments: Mapping[str, tuple[Entry, ...]],
) -> ca.Function:
    """(x, arguments, memory) -> carry, z = (0, low, high), good."""
    x = ca.MX.sym("x", expressions.size1_in(0))
    given = {name: ca.MX.sym(name, len(entries)) for name, entries in arguments.items()}
    memory = ca.MX.sym("memory", n_u + coordinates)
    known, found, good = x, memory[n_u:], ca.MX(1)
    if finder is not None:
        known, found, good = finder.located(x, found, given.get("touching"))
    size = expressions.size1_in("last")
    last = memory[:size]
    none = ca.MX(0, 1)
    results = expressions(known, given.get("reference", none), last, given.get("touching", none), none)
    carry = ca.vertcat(*(ca.vec(part) for part in results[:-2]), found)
    z = ca.vertcat(ca.MX.zeros(results[1].shape[0]), *results[-2:])
    names = (["x", *given, "memory"], ["carry", "z", "good"])
    return ca.Function("begin", [x, *given.values(), memory], [carry, z, good], *names)


def _level(s: _Symbols, layout: ProgramLayout, damping: float, number: int) -> Stage:
    """Return the program of one level: its tasks, within limits, where the levels before it change nothing.

    The unknowns are the change of w. Rows sqrt(weight) T of the levels before it are equations, in place of unknowns in
    their null space as `trundle.control.inverse_dynamics.command` has them.
    """
    n, of, rows = layout.n, s.of, task_rows(layout)
    A, T, first = of["A"].T, of["T"].T, number == 0
    own = rows[number].tolist()
    weighted = T[own, :].T @ ca.diag(of["weight"][own])
    H = weighted @ T[own, :] + damping * ca.MX.eye(n)
    g = -weighted @ (of["t"][own] - T[own, :] @ s.w)
    low, high = s.low, s.high
    if len(rows) == 1:
        H, g = of["H"], of["g"]  # summed in the same order as in Python
    if not first:
        at = ca.vertcat(s.w, A @ s.w)
        low, high = ca.fmin(low - at, 0.0), ca.fmax(high - at, 0.0)
        before = [row for part in rows[:number] for row in part.tolist()]
        fixed = ca.diag(ca.sqrt(of["weight"][before])) @ T[before, :]
        equations = slice(n, n + layout.equations)
        low[equations] = high[equations] = 0.0
        A, none = ca.vertcat(A, fixed), ca.MX.zeros(len(before))
        low, high = ca.vertcat(low, none), ca.vertcat(high, none)
    y = ca.MX.sym("y", n)
    return _stage(s, (H, g, A, low, high), y, (s.w + y, s.low, s.high))


def _relaxation(s: _Symbols, layout: ProgramLayout, price: FloatArray) -> Stage:
    """Return the program of least excess over the limits with a price; its solution moves their bounds."""
    n, soft = layout.n, np.flatnonzero(price)
    k = len(soft)
    give = np.zeros((n + layout.rows, k))
    give[soft, np.arange(k)] = 1.0
    free = soft[soft < n]
    open_ended = np.full(n, np.inf)
    hard = np.setdiff1d(np.arange(n), free).tolist()
    bounds = []
    for side, sign in ((s.low, -1.0), (s.high, 1.0)):
        own = ca.MX(ca.DM(sign * open_ended))
        own[hard] = side[hard]
        bounds.append(ca.vertcat(own, ca.MX(ca.DM(sign * np.full(k, np.inf))), side[free.tolist()], side[n:]))
    C = ca.horzcat(ca.vertcat(ca.MX.eye(n), s.of["A"].T), ca.MX(ca.DM(give)))
    H = ca.MX(ca.DM(np.diag(np.concatenate((np.full(n, BESIDE_PRICES), price[soft])))))
    A = C[[*free.tolist(), *range(n, n + layout.rows)], :]
    y = ca.MX.sym("y", n + k)
    excess = ca.MX(ca.DM(give)) @ y[n:]
    room = ca.MX(ca.DM(np.where(price > 0, ROOM, 0.0))) * (1.0 + ca.fabs(excess))
    moved = s.w, s.low - ca.fmax(excess, 0.0) - room, s.high + ca.fmax(-excess, 0.0) + room
    return _stage(s, (H, ca.MX(n + k, 1), A, *bounds), y, moved)


def _stage(s: _Symbols, program: Sequence[ca.MX], y: ca.MX, z: Sequence[ca.MX]) -> Stage:
    H, g, A, low, high = program
    results = [ca.densify(part) for part in (H, g, A.T, low, high)]
    names = (["carry", "z"], ["H", "g", "A", "low", "high"])
    pose = ca.Function("pose", [s.carry, s.z], results, *names)
    take = ca.Function("take", [s.carry, s.z, y], [ca.densify(ca.vertcat(*z))], ["carry", "z", "y"], ["z_after"])
    return Stage(pose, take)
