"""The tick of inverse dynamics as expressions: assembly, levels, relaxed limits, contact coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.control.inverse_dynamics.assembly import ProgramLayout
from trundle.control.inverse_dynamics.command import BESIDE_PRICES, HELD, ROOM, prices, task_rows
from trundle.control.inverse_dynamics.contact_finder import ContactFinder
from trundle.control.tick import ALL_LIMITS_HOLD, NOTHING_POSED, Argument, ProgramStage

if TYPE_CHECKING:
    from trundle.control.inverse_dynamics.integral import IntegralAction

PARTS = ("H", "g", "A", "X", "x0", "T", "t", "weight", "low", "high")
"""A program's parts as `InverseDynamics.expressions` returns them, and first; A, X and T transposed."""


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


class Torques(NamedTuple):
    """Where torques go: `entries` of the `inputs` of a model; where there are no new ones the last are held or not."""

    entries: Sequence[int]
    inputs: int
    hold: bool


def make_tick(
    layout: ProgramLayout,
    damping: float,
    shapes: Mapping[str, tuple[int, int]],
    begin: ca.Function,
    torques: Torques,
    seeds: Sequence[slice] = (),
    integral: IntegralAction | None = None,
) -> Solving:
    """Return what a tick computes.

    Parameters
    ----------
    layout, damping
        Of the program.
    shapes : mapping of str to (rows, columns)
        Of `PARTS` without its bounds, in the order in which ``begin`` packs them; H and g may be left out.
    begin : casadi.Function
        (arguments, memory) -> carry = (parts, coordinates), z = (0, low, high), good.
    torques : Torques
    seeds : sequence of slice
        Of x: contact coordinates to begin with; those that a tick finds are remembered after the torques.
    integral : IntegralAction, optional
        What it adds is remembered last.
    """
    coordinates, k = sum(place.stop - place.start for place in seeds), 0 if integral is None else integral.size
    s = _symbols(Packed({**shapes, "found": (coordinates, 1), "errors": (k, 1)}), layout)
    levels = tuple(_level(s, layout, damping, number) for number in range(len(layout.levels)))
    price = prices(layout)
    relaxed = ((_relaxation(s, layout, price), *levels),) if np.any(price) else ()
    memory, solved = ca.MX.sym("memory", layout.n_u + coordinates + k), ca.MX.sym("solved")
    new = (s.of["X"].T @ s.w + s.of["x0"])[layout.nv + layout.m :]
    new = ca.if_else(solved > 0, new, memory[: layout.n_u] if torques.hold else ca.MX(layout.n_u, 1))
    u = ca.MX(torques.inputs, 1)
    u[list(torques.entries)] = new
    given, added = {"carry": s.carry, "z": s.z, "memory": memory, "solved": solved}, memory[layout.n_u + coordinates :]
    if integral is not None:
        rows = given["multipliers"] = ca.MX.sym("multipliers", layout.n + layout.rows)
        size, n = ca.fabs(rows), layout.n
        held = ca.mmax(ca.vertcat(size[:n], size[n + layout.equations :])) > HELD * ca.fmax(1.0, ca.mmax(size))
        free = ca.logic_and(solved == ALL_LIMITS_HOLD, ca.logic_not(held))
        added = ca.if_else(solved == NOTHING_POSED, added, integral.step_integrals(added, s.of["errors"], free))
    results = [ca.densify(u), ca.densify(ca.vertcat(new, s.of["found"], added))]
    end = ca.Function("end", [*given.values()], results, [*given], ["u", "memory_after"])
    x = [ca.MX.sym("x", begin.size1_in("x"))] if seeds else []
    first = ca.densify(ca.vertcat(ca.MX(layout.n_u, 1), *(x[0][place] for place in seeds), ca.MX(k, 1)))
    reset = ca.Function("reset", x, [first], ["x"][: len(x)], ["memory"])
    return Solving(begin, (levels, *relaxed), end, reset)


class Solving(NamedTuple):
    """Functions of a `ControlTick`."""

    begin: ca.Function
    attempts: tuple[tuple[ProgramStage, ...], ...]
    end: ca.Function
    reset: ca.Function


def begin_measured(
    expressions: ca.Function,
    n_u: int,
    finder: ContactFinder | None,
    arguments: Mapping[str, Argument],
    integral: IntegralAction | None = None,
) -> tuple[dict[str, tuple[int, int]], ca.Function]:
    """Return shapes and ``begin`` of `make_tick` for a measured state.

    ``expressions`` is (x, reference, last, touching, slipping) -> `PARTS`. Newton's iteration of the finder for contact
    coordinates is part of the tick, its search for other places is not.
    """
    coordinates = 0 if finder is None else finder.expressions.size1_in(1)
    given = {name: ca.MX.sym(name, *argument.shape) for name, argument in arguments.items()}
    memory = ca.MX.sym("memory", n_u + coordinates + (0 if integral is None else integral.size))
    known, found, good = given["x"], memory[n_u : n_u + coordinates], ca.MX(1)
    if finder is not None:
        known, found, good = finder.locate_symbolically(known, found, given.get("touching"))
    none, last = ca.MX(0, 1), memory[: expressions.size1_in("last")]
    wanted, touching, errors = given.get("reference", none), given.get("touching", none), none
    if integral is not None:
        wanted, errors = integral.add_to_reference(known, wanted, touching, memory[n_u + coordinates :])
    asked = [known, wanted, last, touching, none]
    results = expressions.call(asked, False, False)[: len(PARTS)]
    shapes = {name: expressions.size_out(name) for name in PARTS[:-2]}
    return shapes, packed_begin(given, memory, results[1].shape[0], results, ca.vertcat(found, errors), good)


def packed_begin(
    given: Mapping[str, ca.MX], memory: ca.MX, unknowns: int, parts: Sequence[ca.MX], found: ca.MX, good: ca.MX
) -> ca.Function:
    """Return ``begin`` of `make_tick`; the last two of `parts` are the bounds."""
    carry = ca.vertcat(*(ca.vec(part) for part in parts[:-2]), found)
    z = ca.vertcat(ca.MX.zeros(unknowns), *parts[-2:])
    names = ([*given, "memory"], ["carry", "z", "good"])
    return ca.Function("begin", [*given.values(), memory], [carry, z, good], *names)


def _symbols(packed: Packed, layout: ProgramLayout) -> _Symbols:
    bounds = layout.n + layout.rows
    carry, z = ca.MX.sym("carry", packed.size), ca.MX.sym("z", layout.n + 2 * bounds)
    w, low, high = ca.vertsplit(z, [0, layout.n, layout.n + bounds, layout.n + 2 * bounds])
    return _Symbols(carry, z, packed.parts(carry), w, low, high)


def _level(s: _Symbols, layout: ProgramLayout, damping: float, number: int) -> ProgramStage:
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
    if len(rows) == 1 and "H" in of:
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


def _relaxation(s: _Symbols, layout: ProgramLayout, price: FloatArray) -> ProgramStage:
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


def _stage(s: _Symbols, program: Sequence[ca.MX], y: ca.MX, z: Sequence[ca.MX]) -> ProgramStage:
    H, g, A, low, high = program
    results = [ca.densify(part) for part in (H, g, A.T, low, high)]
    names = (["carry", "z"], ["H", "g", "A", "low", "high"])
    pose = ca.Function("pose", [s.carry, s.z], results, *names)
    take = ca.Function("take", [s.carry, s.z, y], [ca.densify(ca.vertcat(*z))], ["carry", "z", "y"], ["z_after"])
    return ProgramStage(pose, take)
