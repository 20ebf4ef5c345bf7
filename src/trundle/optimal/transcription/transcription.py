"""Transcription: a problem on a mesh becomes a nonlinear program of repeated elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np
import scipy.sparse as sp

from trundle.checks import FloatArray, choice
from trundle.errors import InputError
from trundle.numerics.nlp.nlp import ElementGroup, Program
from trundle.numerics.ode.step import rk4_step
from trundle.optimal.phase import Condition, Phase
from trundle.optimal.problem import OptimalControlProblem
from trundle.optimal.transcription.assembly import (
    EntryPlaces,
    ProgramRows,
    path_rows,
    scatter,
    select,
    stack_parts,
    with_duration,
)
from trundle.optimal.transcription.midpoint import SharedFunctions, at_ends_of_intervals, midpoint, total_rows
from trundle.optimal.transcription.shooting import constrained_shooting

METHODS = ("trapezoid", "hermite-simpson", "shooting")
"""Inputs are linear between nodes."""
MIDPOINT = "midpoint"
"""Inputs are constant on intervals."""
CONSTRAINED = "constrained shooting"
"""Multiple shooting where equations fix accelerations and forces; inputs are constant on intervals."""
ON_INTERVALS = (MIDPOINT, CONSTRAINED)
MOST_NODES = 10_000
"""Of a plan: an argument that asks for more is a mistake, and would fill the memory."""


@dataclass(frozen=True, eq=False)
class NodeTrajectory:
    """Numbers of one phase: a guess or a solution.

    Attributes
    ----------
    times : (N + 1,) s
        From 0, at the nodes.
    x, u : (N + 1, n_x), (N + 1, n_u)
        u is linear between nodes; or (N, n_u): constant on each interval.
    """

    times: FloatArray
    x: FloatArray
    u: FloatArray

    def at(self, times: FloatArray) -> NodeTrajectory:
        """Return the arc on other times, linearly interpolated."""
        middles = (self.times[1:] + self.times[:-1]) / 2
        of_u = self.times if len(self.u) == len(self.times) else middles
        x, u = np.zeros((len(times), self.x.shape[1])), np.zeros((len(times), self.u.shape[1]))
        for values, given, of in ((x, self.x, self.times), (u, self.u, of_u)):
            for column in range(values.shape[1]):
                values[:, column] = np.interp(times, of, given[:, column])
        return NodeTrajectory(np.asarray(times), x, u)


class Transcription:
    """A problem on a mesh (final).

    Trapezoid, with F = T f and the mesh tau in [0, 1]:
        x_{k+1} = x_k + dtau/2 (F_k + F_{k+1}).
    Hermite-Simpson, separated: x_m = (x_k + x_{k+1})/2 + dtau/8 (F_k - F_{k+1}),
        x_{k+1} = x_k + dtau/6 (F_k + 4 F_m + F_{k+1}).
    Shooting: x_{k+1} = one step of RK4. Inputs are linear between nodes in all of them (Betts 2010, ch. 4;
    Woodruff & Lynch 2023, eq. 49).
    Midpoint, implicit: x_{k+1} = x_k + dtau F(x_m, u_k), 0 = r(x_m, u_k), x_m = (x_k + x_{k+1})/2, with inputs
    constant on intervals; path conditions are kept at x_m (Hairer, Lubich & Wanner 2006, II.1.1).

    Parameters
    ----------
    problem : OptimalControlProblem
    meshes : sequence of (N + 1,)
        Normalised node times of each phase, from 0 to 1.
    method : str
        One of `METHODS`, or of `ON_INTERVALS`; only the latter take phases with a `residual`.

    Attributes
    ----------
    program : Program
    """

    def __init__(
        self, problem: OptimalControlProblem, meshes: Sequence[FloatArray], method: str = "hermite-simpson"
    ) -> None:
        choice("method", method, (*METHODS, *ON_INTERVALS))
        if len(meshes) != len(problem.phases):
            raise InputError("meshes", len(meshes), f"one mesh a phase: {len(problem.phases)}")
        self.problem, self.method = problem, method
        self.meshes = tuple(_checked_mesh(mesh) for mesh in meshes)
        for phase in problem.phases:
            if method not in ON_INTERVALS and (phase.residual.numel() or phase.clock is not None or problem.mean):
                raise InputError("method", method, f"{MIDPOINT!r} for residuals, a clock and a mean cost")
            if phase.implied.numel() != (phase.residual.numel() if method == CONSTRAINED else 0):
                raise InputError("method", method, f"{CONSTRAINED!r}, with as many equations as implied symbols")
        self._places, self._jumps, self._total, self.size = _places(problem, self.meshes, method)
        rows, elements, a = ProgramRows(), [], np.zeros(self.size)
        shared: SharedFunctions = {}
        if self._total >= 0:
            total_rows(self._places, problem, rows, self.size)
        for phase, mesh, places in zip(problem.phases, self.meshes, self._places, strict=True):
            if method == MIDPOINT:
                elements += midpoint(phase, mesh, places, self._total, rows, shared, self.size)
            elif method == CONSTRAINED:
                elements += constrained_shooting(phase, mesh, places, self._total, rows, self.size)
            else:
                self._defects(phase, mesh, places, rows, elements)
            elements += at_ends_of_intervals(phase, mesh, places, rows, self.size)
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

    def pack(self, arcs: Sequence[NodeTrajectory]) -> FloatArray:
        """Return z from a guess: one `NodeTrajectory` a phase, on any times (stretched onto the mesh)."""
        z = np.zeros(self.size)
        for arc, mesh, places, phase in zip(arcs, self.meshes, self._places, self.problem.phases, strict=True):
            length = float(arc.times[-1] - arc.times[0])
            nodes = arc.at(arc.times[0] + mesh * length)
            z[places.x] = nodes.x
            if self.method not in ON_INTERVALS:
                z[places.u] = nodes.u
            if len(places.u_mid):
                middles = arc.at(arc.times[0] + (mesh[1:] + mesh[:-1]) / 2 * length)
                z[places.x_mid], z[places.u_mid] = middles.x[: len(places.x_mid)], middles.u
            if places.duration >= 0:
                z[places.duration] = np.clip(length, *phase.duration)
        if self._total >= 0:
            z[self._total] = sum(
                _length(z, p, phase) for p, phase in zip(self._places, self.problem.phases, strict=True)
            )
        return np.clip(z, self.program.z_lower, self.program.z_upper)

    def unpack(self, z: FloatArray) -> tuple[NodeTrajectory, ...]:
        """Return one `NodeTrajectory` a phase from the unknowns z."""
        arcs = []
        every = zip(self.meshes, self._places, self.input_places, self.problem.phases, strict=True)
        for mesh, places, inputs, phase in every:
            arcs.append(NodeTrajectory(mesh * _length(z, places, phase), z[places.x], z[inputs]))
        return tuple(arcs)

    def jumps(self, z: FloatArray) -> tuple[FloatArray, ...]:
        """Return the further unknowns p (n_p,) of every link."""
        return tuple(z[places] for places in self._jumps)

    @property
    def input_places(self) -> tuple[np.ndarray, ...]:
        """Where the inputs (N, n_u) of each phase are in z."""
        return tuple(places.u_mid if self.method in ON_INTERVALS else places.u for places in self._places)

    # building -----------------------------------------------------------------------------------------

    def _defects(
        self,
        phase: Phase,
        mesh: FloatArray,
        places: EntryPlaces,
        rows: ProgramRows,
        elements: list[Callable[[int], ElementGroup]],
    ) -> None:
        step = np.diff(mesh)
        nodes = np.hstack([places.x, places.u])
        if places.x_mid.size:
            nodes = np.vstack([nodes, np.hstack([places.x_mid, places.u_mid])])
        index = with_duration(nodes, places.duration)
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
        B.append(path_rows(phase.name, phase.path, rows, kept, (len(nodes), outputs), first + 1, self.size))
        elements.append(lambda m: ElementGroup(node, index, stack_parts(B, m, len(nodes) * outputs), b.ravel()))

    def _trapezoid(
        self, phase: Phase, places: EntryPlaces, step: FloatArray, rows: ProgramRows, outputs: int, nodes: int
    ) -> tuple[slice, sp.csr_matrix]:
        N, n = len(step), phase.nx
        A = select(places.x[1:], self.size) - select(places.x[:-1], self.size)
        where = rows.add(f"{phase.name}: dynamics", A, np.zeros(N * n), np.zeros(N * n))
        half = np.repeat(step / 2, n)
        B = scatter(half, np.arange(N), n, outputs, nodes) + scatter(half, np.arange(1, N + 1), n, outputs, nodes)
        return where, -B

    def _hermite_simpson(
        self, phase: Phase, places: EntryPlaces, step: FloatArray, rows: ProgramRows, outputs: int, nodes: int
    ) -> list[tuple[slice, sp.csr_matrix]]:
        N, n = len(step), phase.nx
        left, right, middle = np.arange(N), np.arange(1, N + 1), N + 1 + np.arange(N)
        x0, x1 = select(places.x[:-1], self.size), select(places.x[1:], self.size)
        zero = np.zeros(N * n)
        mid = rows.add(f"{phase.name}: middles", select(places.x_mid, self.size) - (x0 + x1) / 2, zero, zero)
        eighth = np.repeat(step / 8, n)
        B_mid = scatter(-eighth, left, n, outputs, nodes) + scatter(eighth, right, n, outputs, nodes)
        end = rows.add(f"{phase.name}: dynamics", x1 - x0, zero, zero)
        sixth = np.repeat(step / 6, n)
        B_end = (
            scatter(sixth, left, n, outputs, nodes)
            + scatter(4 * sixth, middle, n, outputs, nodes)
            + scatter(sixth, right, n, outputs, nodes)
        )
        u_mid = select(places.u_mid, self.size)
        u_mean = (select(places.u[:-1], self.size) + select(places.u[1:], self.size)) / 2
        zero_u = np.zeros(N * phase.nu)
        rows.add(f"{phase.name}: inputs linear", u_mid - u_mean, zero_u, zero_u)
        return [(mid, B_mid), (end, -B_end)]

    def _shooting(
        self, phase: Phase, places: EntryPlaces, step: FloatArray, rows: ProgramRows
    ) -> Callable[[int], ElementGroup]:
        N, n = len(step), phase.nx
        A = select(places.x[1:], self.size)
        where = rows.add(f"{phase.name}: dynamics", A, np.zeros(N * n), np.zeros(N * n))
        index = with_duration(np.hstack([places.x[:-1], places.u[:-1], places.u[1:]]), places.duration)
        function = _rk4(phase, places.duration >= 0)
        B = -sp.identity(N * n, format="csr")
        return lambda m: ElementGroup(function, index, stack_parts([(where, B)], m, N * n), None, step[:, None])

    def _ends(
        self, phase: Phase, places: EntryPlaces, rows: ProgramRows, elements: list[Callable[[int], ElementGroup]]
    ) -> None:
        for conditions, node, where in ((phase.start, 0, "start"), (phase.end, -1, "end")):
            cost = phase.terminal if where == "end" and ca.symvar(phase.terminal) else None
            here = np.concatenate([places.x[node], (places.u_mid if self.method in ON_INTERVALS else places.u)[node]])
            self._at(ca.vertcat(phase.x, phase.u), here, conditions, cost, f"{phase.name}: {where}", rows, elements)

    def _links(self, rows: ProgramRows, elements: list[Callable[[int], ElementGroup]]) -> None:
        for link, jump in zip(self.problem.links or (), self._jumps, strict=True):
            symbols = ca.vertcat(link.x_end, link.x_start, link.p)
            places = np.concatenate([self._places[link.before].x[-1], self._places[link.after].x[0], jump])
            cost = link.cost if ca.symvar(link.cost) else None
            self._at(symbols, places, [link.condition], cost, "link", rows, elements)

    def _at(
        self,
        symbols: ca.SX,
        places: np.ndarray,
        conditions: Sequence[Condition],
        cost: ca.SX | None,
        name: str,
        rows: ProgramRows,
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
        elements.append(lambda m: ElementGroup(function, places[None, :], stack_parts(B, m, outputs), b))

    def _variable_bounds(self) -> tuple[FloatArray, FloatArray]:
        low, high = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        for phase, places in zip(self.problem.phases, self._places, strict=True):
            for where, bounds in (
                (places.x, phase.x_bounds),
                (places.u, phase.u_bounds),
                (places.x_mid, phase.x_bounds),
                (places.u_mid, phase.u_bounds),
            ):
                if where.size and not (where is places.x_mid and self.method == MIDPOINT):
                    low[where], high[where] = bounds
            if places.duration >= 0:
                low[places.duration], high[places.duration] = phase.duration
        for link, jump in zip(self.problem.links or (), self._jumps, strict=True):
            low[jump], high[jump] = link.bounds()
        if self._total >= 0:
            low[self._total], high[self._total] = self.problem.total
        return low, high


def _checked_mesh(mesh: FloatArray) -> FloatArray:
    tau = np.array(mesh, dtype=np.float64)
    if tau.ndim != 1 or tau.size < 2 or tau[0] != 0.0 or tau[-1] != 1.0 or not np.all(np.diff(tau) > 0):
        raise InputError("mesh", mesh, "ascending from 0 to 1, at least two nodes")
    return tau


def _places(
    problem: OptimalControlProblem, meshes: Sequence[FloatArray], method: str
) -> tuple[list[EntryPlaces], list[np.ndarray], int, int]:
    """Return the places of each phase, of each link's own unknowns, of the total duration (-1: none), and the size."""
    found, at = [], 0

    def block(count: int, width: int) -> np.ndarray:
        nonlocal at
        block_places = np.arange(at, at + count * width).reshape(count, width)
        at += count * width
        return block_places

    for phase, mesh in zip(problem.phases, meshes, strict=True):
        N = len(mesh) - 1
        middles = N if method in ("hermite-simpson", *ON_INTERVALS) else 0
        x, u = block(N + 1, phase.nx), block(0 if method in ON_INTERVALS else N + 1, phase.nu)
        x_mid, u_mid = block(0 if method == CONSTRAINED else middles, phase.nx), block(middles, phase.nu)
        duration = -1
        if phase.free:
            duration = at
            at += 1
        found.append(EntryPlaces(x, u, x_mid, u_mid, duration))
    jumps = [block(1, link.p.numel())[0] for link in problem.links or ()]
    total = at if problem.mean else -1
    return found, jumps, total, at + (total >= 0)


def _length(z: FloatArray, places: EntryPlaces, phase: Phase) -> float:
    return phase.duration[0] if places.duration < 0 else float(z[places.duration])


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
    inputs = {0.0: u0, 0.5: (u0 + u1) / 2, 1.0: u1}
    after = rk4_step(lambda x, s: f(x, inputs[s]), phase.x, T * dtau)
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
