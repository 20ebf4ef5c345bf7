"""Transcription: a problem on a mesh becomes a nonlinear program of repeated elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import casadi as ca
import numpy as np
import scipy.sparse as sp

from trundle.checks import FloatArray, choice
from trundle.errors import InputError
from trundle.numerics.nlp import ElementGroup, Program
from trundle.problems import Condition, Phase, Problem

METHODS = ("trapezoid", "hermite-simpson", "shooting")


@dataclass(frozen=True, eq=False)
class Arc:
    """Numbers of one phase: a guess or a solution.

    Attributes
    ----------
    times : (N + 1,) s
        From 0, at the nodes.
    x, u : (N + 1, n_x), (N + 1, n_u)
        u is linear between nodes.
    """

    times: FloatArray
    x: FloatArray
    u: FloatArray

    def at(self, times: FloatArray) -> Arc:
        """Return the arc on other times, linearly interpolated."""
        x, u = np.zeros((len(times), self.x.shape[1])), np.zeros((len(times), self.u.shape[1]))
        for values, given in ((x, self.x), (u, self.u)):
            for column in range(values.shape[1]):
                values[:, column] = np.interp(times, self.times, given[:, column])
        return Arc(np.asarray(times), x, u)


@dataclass
class _Rows:
    """Rows of the program while they are gathered."""

    A: list[sp.csr_matrix] = field(default_factory=list)
    lower: list[FloatArray] = field(default_factory=list)
    upper: list[FloatArray] = field(default_factory=list)
    names: dict[str, slice] = field(default_factory=dict)
    count: int = 0

    def add(self, name: str, A: sp.csr_matrix, lower: FloatArray, upper: FloatArray) -> slice:
        """Append rows and return where they are."""
        where = slice(self.count, self.count + A.shape[0])
        self.A.append(A)
        self.lower.append(np.broadcast_to(lower, (A.shape[0],)))
        self.upper.append(np.broadcast_to(upper, (A.shape[0],)))
        key = name
        while key in self.names:
            key += "'"
        self.names[key] = where
        self.count = where.stop
        return where


@dataclass(frozen=True)
class _Places:
    """Where the unknowns of one phase are in z: nodes, middles (Hermite-Simpson), duration (-1: fixed)."""

    x: np.ndarray
    u: np.ndarray
    x_mid: np.ndarray
    u_mid: np.ndarray
    duration: int


class Transcription:
    """A problem on a mesh (final).

    Trapezoid, with F = T f and the mesh tau in [0, 1]:
        x_{k+1} = x_k + dtau/2 (F_k + F_{k+1}).
    Hermite-Simpson, separated: x_m = (x_k + x_{k+1})/2 + dtau/8 (F_k - F_{k+1}),
        x_{k+1} = x_k + dtau/6 (F_k + 4 F_m + F_{k+1}).
    Shooting: x_{k+1} = one step of RK4. Inputs are linear between nodes in all of them (Betts 2010, ch. 4;
    Woodruff & Lynch 2023, eq. 49).

    Parameters
    ----------
    problem : Problem
    meshes : sequence of (N + 1,)
        Normalised node times of each phase, from 0 to 1.
    method : str
        One of `METHODS`.

    Attributes
    ----------
    program : Program
    """

    def __init__(self, problem: Problem, meshes: Sequence[FloatArray], method: str = "hermite-simpson") -> None:
        choice("method", method, METHODS)
        if len(meshes) != len(problem.phases):
            raise InputError("meshes", len(meshes), f"one mesh a phase: {len(problem.phases)}")
        self.problem, self.method = problem, method
        self.meshes = tuple(_checked_mesh(mesh) for mesh in meshes)
        self._places, self.size = _places(problem, self.meshes, method)
        rows, elements, a = _Rows(), [], np.zeros(self.size)
        for phase, mesh, places in zip(problem.phases, self.meshes, self._places, strict=True):
            self._defects(phase, mesh, places, rows, elements)
            self._ends(phase, places, rows, elements)
        self._links(rows, elements)
        z_lower, z_upper = self._variable_bounds()
        groups = tuple(make(rows.count) for make in elements)
        self.program = Program(
            size=self.size,
            groups=groups,
            A=sp.vstack(rows.A).tocsc(),
            lower=np.concatenate(rows.lower),
            upper=np.concatenate(rows.upper),
            z_lower=z_lower,
            z_upper=z_upper,
            a=a,
            names=rows.names,
        )

    def pack(self, arcs: Sequence[Arc]) -> FloatArray:
        """Return z from a guess: one `Arc` a phase, on any times (stretched onto the mesh)."""
        z = np.zeros(self.size)
        for arc, mesh, places, phase in zip(arcs, self.meshes, self._places, self.problem.phases, strict=True):
            length = float(arc.times[-1] - arc.times[0])
            nodes = arc.at(arc.times[0] + mesh * length)
            z[places.x], z[places.u] = nodes.x, nodes.u
            if places.x_mid.size:
                middles = arc.at(arc.times[0] + (mesh[1:] + mesh[:-1]) / 2 * length)
                z[places.x_mid], z[places.u_mid] = middles.x, middles.u
            if places.duration >= 0:
                z[places.duration] = np.clip(length, *phase.duration)
        return np.clip(z, self.program.z_lower, self.program.z_upper)

    def unpack(self, z: FloatArray) -> tuple[Arc, ...]:
        """Return one `Arc` a phase from the unknowns z."""
        arcs = []
        for mesh, places, phase in zip(self.meshes, self._places, self.problem.phases, strict=True):
            length = phase.duration[0] if places.duration < 0 else float(z[places.duration])
            arcs.append(Arc(mesh * length, z[places.x], z[places.u]))
        return tuple(arcs)

    # building -----------------------------------------------------------------------------------------

    def _defects(
        self,
        phase: Phase,
        mesh: FloatArray,
        places: _Places,
        rows: _Rows,
        elements: list[Callable[[int], ElementGroup]],
    ) -> None:
        step = np.diff(mesh)
        nodes = np.hstack([places.x, places.u])
        if places.x_mid.size:
            nodes = np.vstack([nodes, np.hstack([places.x_mid, places.u_mid])])
        index = _with_duration(nodes, places.duration)
        node = _node_function(phase, places.duration >= 0, rate=self.method != "shooting")
        outputs = node.size1_out(0)
        B: list[tuple[slice, sp.csr_matrix]] = []
        if self.method == "trapezoid":
            B.append(self._trapezoid(phase, places, step, rows, outputs, len(nodes)))
        elif self.method == "hermite-simpson":
            B += self._hermite_simpson(phase, places, step, rows, outputs, len(nodes))
        else:
            elements.append(self._shooting(phase, places, step, rows))
        first = phase.nx if self.method != "shooting" else 0
        weights = _quadrature(step, places.x_mid.size > 0)
        b = np.zeros((len(nodes), outputs))
        b[:, first] = weights
        kept = np.arange(len(nodes))
        if phase.open_end:
            kept = np.delete(kept, len(mesh) - 1)
        B.append(_path_rows(phase, rows, kept, (len(nodes), outputs), first + 1, self.size))
        elements.append(lambda m: ElementGroup(node, index, _stacked(B, m, len(nodes) * outputs), b.ravel()))

    def _trapezoid(
        self, phase: Phase, places: _Places, step: FloatArray, rows: _Rows, outputs: int, nodes: int
    ) -> tuple[slice, sp.csr_matrix]:
        N, n = len(step), phase.nx
        A = _select(places.x[1:], self.size) - _select(places.x[:-1], self.size)
        where = rows.add(f"{phase.name}: dynamics", A, np.zeros(N * n), np.zeros(N * n))
        half = np.repeat(step / 2, n)
        B = _scatter(half, np.arange(N), n, outputs, nodes) + _scatter(half, np.arange(1, N + 1), n, outputs, nodes)
        return where, -B

    def _hermite_simpson(
        self, phase: Phase, places: _Places, step: FloatArray, rows: _Rows, outputs: int, nodes: int
    ) -> list[tuple[slice, sp.csr_matrix]]:
        N, n = len(step), phase.nx
        left, right, middle = np.arange(N), np.arange(1, N + 1), N + 1 + np.arange(N)
        x0, x1 = _select(places.x[:-1], self.size), _select(places.x[1:], self.size)
        zero = np.zeros(N * n)
        mid = rows.add(f"{phase.name}: middles", _select(places.x_mid, self.size) - (x0 + x1) / 2, zero, zero)
        eighth = np.repeat(step / 8, n)
        B_mid = _scatter(-eighth, left, n, outputs, nodes) + _scatter(eighth, right, n, outputs, nodes)
        end = rows.add(f"{phase.name}: dynamics", x1 - x0, zero, zero)
        sixth = np.repeat(step / 6, n)
        B_end = (
            _scatter(sixth, left, n, outputs, nodes)
            + _scatter(4 * sixth, middle, n, outputs, nodes)
            + _scatter(sixth, right, n, outputs, nodes)
        )
        u_mid = _select(places.u_mid, self.size)
        u_mean = (_select(places.u[:-1], self.size) + _select(places.u[1:], self.size)) / 2
        zero_u = np.zeros(N * phase.nu)
        rows.add(f"{phase.name}: inputs linear", u_mid - u_mean, zero_u, zero_u)
        return [(mid, B_mid), (end, -B_end)]

    def _shooting(self, phase: Phase, places: _Places, step: FloatArray, rows: _Rows) -> Callable[[int], ElementGroup]:
        N, n = len(step), phase.nx
        A = _select(places.x[1:], self.size)
        where = rows.add(f"{phase.name}: dynamics", A, np.zeros(N * n), np.zeros(N * n))
        index = _with_duration(np.hstack([places.x[:-1], places.u[:-1], places.u[1:]]), places.duration)
        function = _rk4(phase, places.duration >= 0)
        B = -sp.identity(N * n, format="csr")
        return lambda m: ElementGroup(function, index, _stacked([(where, B)], m, N * n), None, step[:, None])

    def _ends(self, phase: Phase, places: _Places, rows: _Rows, elements: list[Callable[[int], ElementGroup]]) -> None:
        for conditions, node, where in ((phase.start, 0, "start"), (phase.end, -1, "end")):
            cost = phase.terminal if where == "end" and ca.symvar(phase.terminal) else None
            here = np.concatenate([places.x[node], places.u[node]])
            self._at(ca.vertcat(phase.x, phase.u), here, conditions, cost, f"{phase.name}: {where}", rows, elements)

    def _links(self, rows: _Rows, elements: list[Callable[[int], ElementGroup]]) -> None:
        for link in self.problem.links or ():
            symbols = ca.vertcat(link.x_end, link.x_start)
            places = np.concatenate([self._places[link.before].x[-1], self._places[link.after].x[0]])
            self._at(symbols, places, [link.condition], None, "link", rows, elements)

    def _at(
        self,
        symbols: ca.SX,
        places: np.ndarray,
        conditions: Sequence[Condition],
        cost: ca.SX | None,
        name: str,
        rows: _Rows,
        elements: list[Callable[[int], ElementGroup]],
    ) -> None:
        if not conditions and cost is None:
            return
        expressions = [ca.vec(c.expression) for c in conditions] + ([] if cost is None else [cost])
        function = ca.Function("at", [symbols], [ca.densify(ca.vertcat(*expressions))])
        outputs, B = function.size1_out(0), []
        at = 0
        for c in conditions:
            where = rows.add(f"{name}: {c.name}", sp.csr_matrix((c.size, self.size)), c.lower, c.upper)
            B.append((where, sp.eye(outputs, format="csr")[at : at + c.size]))
            at += c.size
        b = np.zeros(outputs)
        if cost is not None:
            b[-1] = 1.0
        elements.append(lambda m: ElementGroup(function, places[None, :], _stacked(B, m, outputs), b))

    def _variable_bounds(self) -> tuple[FloatArray, FloatArray]:
        low, high = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        for phase, places in zip(self.problem.phases, self._places, strict=True):
            for where, bounds in (
                (places.x, phase.x_bounds),
                (places.u, phase.u_bounds),
                (places.x_mid, phase.x_bounds),
                (places.u_mid, phase.u_bounds),
            ):
                if where.size:
                    low[where], high[where] = bounds
            if places.duration >= 0:
                low[places.duration], high[places.duration] = phase.duration
        return low, high


def _checked_mesh(mesh: FloatArray) -> FloatArray:
    tau = np.array(mesh, dtype=np.float64)
    if tau.ndim != 1 or tau.size < 2 or tau[0] != 0.0 or tau[-1] != 1.0 or not np.all(np.diff(tau) > 0):
        raise InputError("mesh", mesh, "ascending from 0 to 1, at least two nodes")
    return tau


def _places(problem: Problem, meshes: Sequence[FloatArray], method: str) -> tuple[list[_Places], int]:
    found, at = [], 0

    def block(count: int, width: int) -> np.ndarray:
        nonlocal at
        block_places = np.arange(at, at + count * width).reshape(count, width)
        at += count * width
        return block_places

    for phase, mesh in zip(problem.phases, meshes, strict=True):
        N = len(mesh) - 1
        middles = N if method == "hermite-simpson" else 0
        x, u = block(N + 1, phase.nx), block(N + 1, phase.nu)
        x_mid, u_mid = block(middles, phase.nx), block(middles, phase.nu)
        duration = -1
        if phase.free:
            duration = at
            at += 1
        found.append(_Places(x, u, x_mid, u_mid, duration))
    return found, at


def _with_duration(index: np.ndarray, duration: int) -> np.ndarray:
    return index if duration < 0 else np.hstack([index, np.full((len(index), 1), duration)])


@lru_cache(maxsize=16)
def _node_function(phase: Phase, free: bool, rate: bool) -> ca.Function:
    """Return w = (x, u[, T]) -> (T f, T L, path conditions)."""
    T = ca.SX.sym("T") if free else ca.SX(phase.duration[0])
    outputs = [T * phase.rate] if rate else []
    outputs += [T * phase.running, *(ca.vec(c.expression) for c in phase.path)]
    w = ca.vertcat(phase.x, phase.u, T) if free else ca.vertcat(phase.x, phase.u)
    return ca.Function("node", [w], [ca.densify(ca.vertcat(*outputs))], {"cse": True})


@lru_cache(maxsize=16)
def _rk4(phase: Phase, free: bool) -> ca.Function:
    """Return (w = (x, u0, u1[, T]), dtau) -> x after one RK4 step with the input linear between u0 and u1."""
    u0, u1, dtau = ca.SX.sym("u0", phase.nu), ca.SX.sym("u1", phase.nu), ca.SX.sym("dtau")
    T = ca.SX.sym("T") if free else ca.SX(phase.duration[0])
    f = ca.Function("f", [phase.x, phase.u], [phase.rate])
    h, mean = T * dtau, (u0 + u1) / 2
    k1 = f(phase.x, u0)
    k2 = f(phase.x + h / 2 * k1, mean)
    k3 = f(phase.x + h / 2 * k2, mean)
    k4 = f(phase.x + h * k3, u1)
    after = phase.x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    w = ca.vertcat(phase.x, u0, u1, T) if free else ca.vertcat(phase.x, u0, u1)
    return ca.Function("rk4", [w, dtau], [after], {"cse": True})


def _quadrature(step: FloatArray, simpson: bool) -> FloatArray:
    """Weights of the nodes (and middles) in the integral of the running cost."""
    N = len(step)
    nodes = np.zeros(N + 1)
    share = step / 6 if simpson else step / 2
    nodes[:-1] += share
    nodes[1:] += share
    return np.concatenate([nodes, 4 * step / 6]) if simpson else nodes


def _path_rows(
    phase: Phase, rows: _Rows, kept: np.ndarray, shape: tuple[int, int], first: int, size: int
) -> tuple[slice, sp.csr_matrix]:
    nodes, (count, outputs) = len(kept), shape
    conditions = [c for c in phase.path if np.any(np.isfinite(c.lower)) or np.any(np.isfinite(c.upper))]
    parts, begin, at = [], rows.count, first
    offsets = {}
    for c in phase.path:
        offsets[id(c)] = at
        at += c.size
    for c in conditions:
        empty = sp.csr_matrix((nodes * c.size, size))
        rows.add(f"{phase.name}: {c.name}", empty, np.tile(c.lower, nodes), np.tile(c.upper, nodes))
        columns = (kept[:, None] * outputs + offsets[id(c)] + np.arange(c.size)).ravel()
        ones = np.ones(nodes * c.size)
        parts.append(
            sp.csr_matrix((ones, (np.arange(nodes * c.size), columns)), shape=(nodes * c.size, count * outputs))
        )
    matrix = sp.vstack(parts).tocsr() if parts else sp.csr_matrix((0, count * outputs))
    return slice(begin, rows.count), matrix


def _select(places: np.ndarray, size: int) -> sp.csr_matrix:
    """Return the matrix that picks the entries `places` out of z."""
    flat = places.ravel()
    return sp.csr_matrix((np.ones(flat.size), (np.arange(flat.size), flat)), shape=(flat.size, size))


def _scatter(values: FloatArray, nodes: np.ndarray, n: int, outputs: int, count: int) -> sp.csr_matrix:
    """Return the matrix whose row (k, i) has values[k n + i] at output i of node nodes[k]."""
    columns = (nodes[:, None] * outputs + np.arange(n)).ravel()
    return sp.csr_matrix((values, (np.arange(columns.size), columns)), shape=(columns.size, count * outputs))


def _stacked(parts: list[tuple[slice, sp.csr_matrix]], rows: int, columns: int) -> sp.csc_matrix:
    """Return the (rows, columns) matrix with each part at its rows."""
    total = sp.csr_matrix((rows, columns))
    for where, matrix in parts:
        entries = matrix.tocoo()
        total = total + sp.csr_matrix((entries.data, (entries.row + where.start, entries.col)), shape=(rows, columns))
    return total.tocsc()
