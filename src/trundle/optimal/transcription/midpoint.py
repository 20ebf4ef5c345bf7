"""Implicit midpoint rule with inverse dynamics: the elements and rows of one phase."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np
import scipy.sparse as sp

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.numerics.nlp.nlp import ElementGroup
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

Make = Callable[[int], ElementGroup]
"""Makes a group of elements when the number of rows of the program is known."""
SharedFunctions = dict[tuple[float, ...], ca.Function]
"""By the identity of the expressions they are made of."""


def midpoint(
    phase: Phase,
    mesh: FloatArray,
    places: EntryPlaces,
    total: int,
    rows: ProgramRows,
    shared: SharedFunctions,
    size: int,
) -> list[Make]:
    """Add the rows of `phase` and return its elements.

        x_{k+1} - x_k = dtau T f(x_m, u_k),   0 = r(x_m, u_k),   cost += dtau T L(x_m, u_k) [/ T_total]

    x_m = (x_k + x_{k+1})/2 is an unknown of its own: the elements' Hessians then have no entry of x_k, x_{k+1} or h
    but those of T f, which is bilinear where f is linear. Phases written with the same symbols and expressions
    share their functions (`shared`), however they are bounded.
    """
    step, n, m = np.diff(mesh), phase.nx, phase.residual.numel()
    N, zero = len(step), np.zeros
    x0, x1 = select(places.x[:-1], size), select(places.x[1:], size)
    rows.add(f"{phase.name}: middles", select(places.x_mid, size) - (x0 + x1) / 2, zero(N * n), zero(N * n))
    defect = rows.add(f"{phase.name}: dynamics", x1 - x0, zero(N * n), zero(N * n))
    index = with_duration(with_duration(np.hstack([places.x_mid, places.u_mid]), places.duration), total)
    function = _interval(phase, total >= 0, shared)
    outputs = function.size1_out(0)
    B = [(defect, scatter(-np.repeat(step, n), np.arange(N), n, outputs, N))]
    equations = [Condition("equations", phase.residual)] if m else []
    B.append(path_rows(phase.name, equations, rows, np.arange(N), (N, outputs), n, size))
    b = np.zeros((N, outputs))
    b[:, n + m] = step
    clock = _clock(phase, (mesh[1:] + mesh[:-1]) / 2, phase.signals)
    made: list[Make] = [
        lambda count: ElementGroup(function, index, stack_parts(B, count, N * outputs), b.ravel(), clock)
    ]
    at = np.hstack([places.x_mid, places.u_mid])
    return made + _conditions(phase.name, phase.path, (phase.x, phase.u), at, phase.clock, clock, rows, size)


def at_ends_of_intervals(
    phase: Phase, mesh: FloatArray, places: EntryPlaces, rows: ProgramRows, size: int
) -> list[Make]:
    """Add the rows of the conditions ``nodes`` of a phase and return their elements."""
    made: list[Make] = []
    for c in phase.nodes:
        last = -1 if c.inner else None
        clock = _clock(phase, mesh[1:last], None)
        made += _conditions(phase.name, [c], (phase.x,), places.x[1:last], phase.clock, clock, rows, size)
    return made


def total_rows(places: Sequence[EntryPlaces], problem: OptimalControlProblem, rows: ProgramRows, size: int) -> None:
    """Add T_total - sum of free durations = sum of fixed ones, and bounds of T_i / T_total; T_total comes last."""
    free = [place.duration for place in places if place.duration >= 0]
    fixed = np.array([sum(phase.duration[0] for phase in problem.phases if not phase.free)])

    def row(columns: list[int], values: list[float]) -> sp.csr_matrix:
        return sp.csr_matrix((values, ([0] * len(columns), columns)), shape=(1, size))

    rows.add("total duration", row([size - 1, *free], [1.0, *(-1.0 for _ in free)]), fixed, fixed)
    for phase, place in zip(problem.phases, places, strict=True):
        if phase.share is not None and place.duration >= 0:
            low, high = phase.share
            infinite = np.array([np.inf])
            columns = [place.duration, size - 1]
            rows.add(f"{phase.name}: share", row(columns, [1.0, -low]), np.zeros(1), infinite)
            rows.add(f"{phase.name}: share", row(columns, [1.0, -high]), -infinite, np.zeros(1))


def _clock(phase: Phase, shares: FloatArray, signals: FloatArray | None) -> FloatArray | None:
    """Return the values of the phase's clock (N, 1 + m), its signals zero unless given."""
    if phase.clock is None:
        return None
    if signals is None:
        signals = np.zeros((len(shares), phase.clock.numel() - 1))
    if len(signals) != len(shares):
        raise InputError(f"{phase.name}.signals", signals.shape, f"a row for each of {len(shares)} intervals")
    return np.column_stack([shares, signals])


def _conditions(
    label: str,
    conditions: Sequence[Condition],
    of: tuple[ca.SX, ...],
    index: np.ndarray,
    clock: ca.SX | None,
    times: FloatArray | None,
    rows: ProgramRows,
    size: int,
) -> list[Make]:
    """Return one small group of elements a condition: a group keeps the derivatives of all its outputs dense."""
    made: list[Make] = []
    for c in conditions:
        inputs = [ca.vertcat(*of)] + ([] if clock is None else [clock])
        function = ca.Function("path", inputs, [ca.densify(ca.vec(c.expression))], {"cse": True})
        N, outputs = len(index), function.size1_out(0)
        B = [path_rows(label, [c], rows, np.arange(N), (N, outputs), 0, size)]
        made.append(_group(function, index, B, N * outputs, times))
    return made


def _group(
    function: ca.Function,
    index: np.ndarray,
    B: list[tuple[slice, sp.csr_matrix]],
    width: int,
    parameters: FloatArray | None,
) -> Make:
    return lambda count: ElementGroup(function, index, stack_parts(B, count, width), None, parameters)


def _interval(phase: Phase, mean: bool, shared: SharedFunctions) -> ca.Function:
    """Return (w = (x_m, u[, T][, T_total]), clock) -> (T f, r, T L [/ T_total])."""
    fixed = 0.0 if phase.free else float(phase.duration[0])
    parts = (phase.x, phase.u, phase.rate, phase.residual, phase.running, phase.clock)
    key = (*map(id, parts), fixed, mean)
    if key not in shared:
        T = ca.SX.sym("T") if phase.free else ca.SX(fixed)
        whole = ca.SX.sym("T_total") if mean else ca.SX(1)
        inputs = [ca.vertcat(phase.x, phase.u, *([T] if phase.free else []), *([whole] if mean else []))]
        inputs += [] if phase.clock is None else [phase.clock]
        out = ca.densify(ca.vertcat(T * phase.rate, ca.vec(phase.residual), T / whole * phase.running))
        shared[key] = ca.Function("interval", inputs, [out], {"cse": True})
    return shared[key]
