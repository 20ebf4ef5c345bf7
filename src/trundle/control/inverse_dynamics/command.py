"""Solving an assembled inverse-dynamics program: levels, relaxed limits, and the report of what was given up."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.control.inverse_dynamics.assembly import RANK, AssembledProgram, ProgramLayout
from trundle.numerics.qp.judging import FAINT
from trundle.numerics.qp.qp import QpSolution, QpSolver, make_unsolved, violations
from trundle.status import Status

NumericProgram = AssembledProgram[FloatArray]
BESIDE_PRICES = 1e-9
"""Weight of the unknowns beside the prices of the excess."""
ROOM = 1e-7
"""Part of the excess that the second solve may exceed it by: round-off may not make it infeasible."""
HELD = 1e-6
"""A limit whose multiplier is below this part of the largest has no part in a conflict."""
_WITHOUT = {Status.CONFLICTING_LIMITS: Status.CONFLICTING_LIMITS, Status.NOT_FINITE: Status.NOT_FINITE}

Flags = Sequence[float] | FloatArray
"""Of contacts: 1 or 0 for each."""


@dataclass(frozen=True, slots=True)
class Command:
    """What inverse dynamics answers.

    Attributes
    ----------
    nudot, lam, u : (nv,), (m,), (n_u,)
        NaN unless the status is SUCCESS or LIMITS_RELAXED.
    status : Status
        SUCCESS: all limits hold. LIMITS_RELAXED: limits with a price were exceeded by the least amount.
        CONFLICTING_LIMITS: `conflict` names limits that contradict each other. NOT_FINITE: the data have NaN.
    conflict : tuple of str
        Names of limits; ``"motion"`` stands for the equations of motion and of the contacts.
    error : (k,)
        A y - target of all tasks, stacked; see `task_errors`.
    excess : (n + rows,) or None
        How far each bound of the program is exceeded; None where none is. See `given_up`.
    solution : QpSolution
        Of the last program that was solved.
    layout : ProgramLayout
    """

    nudot: FloatArray
    lam: FloatArray
    u: FloatArray
    status: Status
    conflict: tuple[str, ...]
    error: FloatArray
    excess: FloatArray | None
    solution: QpSolution
    layout: ProgramLayout

    @property
    def usable(self) -> bool:
        """Whether u may be sent."""
        return self.status is Status.SUCCESS or self.status is Status.LIMITS_RELAXED

    @property
    def held_back(self) -> bool:
        """Whether a limit keeps the tasks of the last level solved from more: its multiplier is not zero."""
        rows = np.abs(self.solution.multipliers)
        n, equations = self.layout.n, self.layout.equations
        limits = np.concatenate((rows[:n], rows[n + equations :]))
        return bool(np.any(limits > HELD * max(1.0, rows.max(initial=0.0))))

    def task_errors(self) -> dict[str, FloatArray]:
        """Return what each task was not given: A y - target, in the task's unit."""
        return {
            task.name: self.error[part] for task, part in zip(self.layout.tasks, self.layout.task_rows, strict=True)
        }

    def given_up(self) -> dict[str, float]:
        """Return the largest excess over each limit that is exceeded, in its unit.

        Where no u keeps the limits without a price: of the point that breaks all of them least.
        """
        if self.excess is None:
            return {}
        named = zip(self.layout.limits, self.layout.limit_places, strict=True)
        most = {limit.name: float(self.excess[place].max(initial=0.0)) for limit, place in named}
        return {name: value for name, value in most.items() if value > 1e-7}


class Solvers:
    """What the programs of one layout are solved with, made once.

    Parameters
    ----------
    layout : ProgramLayout
    name, tolerance
        See `trundle.numerics.qp.qp.QpSolver`.
    damping : float
        Of the unknowns of each level.
    """

    def __init__(self, layout: ProgramLayout, name: str, tolerance: float, damping: float) -> None:
        n, equations, rows = layout.n, layout.equations, layout.rows
        self.name, self.tolerance, self.damping = name, tolerance, damping
        self.whole = QpSolver(name, np.arange(rows) < equations, tolerance=tolerance)
        self.level = QpSolver(name, np.zeros(n + rows - equations, dtype=bool), tolerance=tolerance)
        self.inside = np.r_[0:n, n + equations : n + rows]
        """Bounds and rows that are no equations."""
        self.task_rows = task_rows(layout)


def task_rows(layout: ProgramLayout) -> list[NDArray[np.intp]]:
    """Return the rows of each level in the stacked task rows."""
    level_of = np.concatenate([np.full(task.A.shape[0], task.level) for task in layout.tasks])
    return [np.flatnonzero(level_of == level) for level in layout.levels]


def prices(layout: ProgramLayout) -> FloatArray:
    """Return the price (n + rows,) of a squared excess over each bound of the program, 0: it is never exceeded."""
    price = np.zeros(layout.n + layout.rows)
    for limit, place in zip(layout.limits, layout.limit_places, strict=True):
        if limit.price is not None:
            # Two limits on one unknown of the program share its bound, and then also the dearer price.
            price[place] = np.maximum(price[place], limit.price)
    return price


def unchangeable_tasks(layout: ProgramLayout, data: NumericProgram) -> tuple[str, ...]:
    """Return the names of the tasks that ask for something but that no input can change, not even without limits.

    What inputs change of a task is T w over the solutions w of the equations; where that is round-off of its terms in
    every row, they change nothing. A task without weight asks for nothing.
    """
    E = data.A[: layout.equations]
    N = _null(E * _inverse(np.linalg.norm(E, axis=1))[:, None])
    asks = (data.weight > 0) & (data.size > 0)
    changes = np.linalg.norm(data.T @ N, axis=1) > RANK * data.size
    return tuple(
        task.name
        for task, rows in zip(layout.tasks, layout.task_rows, strict=True)
        if np.any(asks[rows]) and not np.any(changes[rows] & asks[rows])
    )


def solve_program(layout: ProgramLayout, data: NumericProgram, solvers: Solvers, finite: bool = True) -> Command:
    """Return the command of an assembled program; nothing is raised. `finite`: nothing it was made of was NaN."""
    if not (finite and _finite(data)):
        word = "not called: the state, a reference or the program is not finite"
        w, solution = None, make_unsolved(layout.n, layout.rows, Status.NOT_FINITE, word, time.perf_counter())
    else:
        w, solution = _serve_tasks(layout, data, solvers, data.low, data.high)
    if w is not None:
        return _found(layout, data, w, Status.SUCCESS, None, solution)
    if solution.status is Status.CONFLICTING_LIMITS and any(limit.price is not None for limit in layout.limits):
        return _relax_limits(layout, data, solvers, solution)
    return _refuse_command(layout, data, solution)


def _finite(data: NumericProgram) -> bool:
    total = np.add.reduce  # half the time of the method `sum`: every tick comes here
    size = total(data.H, axis=None) + total(data.g) + total(data.A, axis=None) + total(data.x0)
    return math.isfinite(size) and bool(total(data.low) < math.inf and total(data.high) > -math.inf)


def _found(
    layout: ProgramLayout,
    data: NumericProgram,
    w: FloatArray,
    status: Status,
    excess: FloatArray | None,
    solution: QpSolution,
) -> Command:
    x = data.X @ w
    x += data.x0
    error = data.T @ w
    error -= data.t
    return Command(*layout.parts(x), status, (), error, excess, solution, layout)


def _refuse_command(layout: ProgramLayout, data: NumericProgram, solution: QpSolution) -> Command:
    nothing = np.full(layout.nv + layout.m + layout.n_u, math.nan)
    error, excess, names = np.full(len(data.t), math.nan), None, ()
    if solution.status is Status.CONFLICTING_LIMITS and len(solution.x) == layout.n:
        excess = violations(data.A, data.low, data.high, solution.x)
        names = _names(layout, data, solution)
    return Command(*layout.parts(nothing), solution.status, names, error, excess, solution, layout)


def _names(layout: ProgramLayout, data: NumericProgram, solution: QpSolution) -> tuple[str, ...]:
    """Name the limits of the proof of a conflict."""
    part = np.abs(solution.multipliers)
    # Bounds that cross are their own proof.
    held = part > HELD * part.max() if part.max(initial=0.0) > 0 else data.low > data.high
    named = [limit.name for limit, place in zip(layout.limits, layout.limit_places, strict=True) if np.any(held[place])]
    if np.any(held[layout.n : layout.n + layout.equations]):
        named.append("motion")
    return tuple(named)


def _serve_tasks(
    layout: ProgramLayout, data: NumericProgram, solvers: Solvers, low: FloatArray, high: FloatArray
) -> tuple[FloatArray | None, QpSolution]:
    """Return the unknowns that serve the tasks within these bounds (None: there are none), and the last solution."""
    if len(solvers.task_rows) > 1:
        return _by_levels(layout, data, solvers, low, high)
    solution = solvers.whole.solve(data.H, data.g, data.A, low, high, finite=True)
    return solution.x if solution.status is Status.SUCCESS else None, solution


def _by_levels(
    layout: ProgramLayout, data: NumericProgram, solvers: Solvers, low: FloatArray, high: FloatArray
) -> tuple[FloatArray | None, QpSolution]:
    """Serve one level after the other, each in the null space that the levels before it leave.

    Level l: w = w_before + N y, minimise |W^(1/2) (T_l w - t_l)|^2 + damping |y|^2; then N is cut down to the null
    space of T_l N, whose rows are ranked by the size of the terms that they are sums of: one that is round-off, as no
    input changes it or as the levels before have taken all of it, takes nothing. Equations are eliminated first, in
    the same way.
    """
    n, equations = layout.n, layout.equations
    w, N = np.zeros(n), np.eye(n)
    if equations:
        E, e = data.A[:equations], low[n : n + equations]
        w, N = _solve_equations(E, e)
        size = np.abs(E) @ np.abs(w) + np.abs(e)
        if np.any(np.abs(E @ w - e) > solvers.tolerance * np.maximum(size, FAINT * size.max())):
            solution = solvers.whole.solve(data.H, data.g, data.A, low, high)
            return None, replace(solution, status=_WITHOUT.get(solution.status, Status.NOT_CONVERGED))
    low, high = low[solvers.inside], high[solvers.inside]
    solution: QpSolution | None = None
    taken = np.zeros((0, n))
    for rows in solvers.task_rows:
        if solution is not None:
            N = N @ _null(taken)
            if N.shape[1] == 0:
                break
        size = N.shape[1]
        root = np.sqrt(data.weight[rows])
        reach = data.T[rows] @ N
        taken = reach * _inverse((root > 0) * data.size[rows])[:, None]
        B = root[:, None] * reach
        c = root * (data.t[rows] - data.T[rows] @ w)
        C = np.concatenate((N, data.A[equations:] @ N))
        at = np.concatenate((w, data.A[equations:] @ w))
        down, up = low - at, high - at
        if solution is not None:  # round-off may not take away what the level before has left
            down, up = np.minimum(down, 0.0), np.maximum(up, 0.0)
        open_ended = np.full(size, np.inf)
        H, g = B.T @ B, -(B.T @ c)
        H.flat[:: size + 1] += solvers.damping
        limits = np.concatenate((-open_ended, down)), np.concatenate((open_ended, up))
        solution = solvers.level.solve(H, g, C, *limits)
        if solution.status is not Status.SUCCESS:
            return None, _in_full_space(layout, solution, w, N, solvers.inside)
        w = w + N @ solution.x
    if solution is None:
        raise RuntimeError("no level")
    return w, solution


def _in_full_space(
    layout: ProgramLayout, solution: QpSolution, w: FloatArray, N: FloatArray, inside: NDArray[np.intp]
) -> QpSolution:
    """Return a failed level's solution with the unknowns and the limits of the whole program."""
    push = np.zeros(layout.n + layout.rows)
    push[inside] = solution.multipliers[N.shape[1] :]
    judged = solution.primal, solution.dual, solution.gap, solution.error
    return QpSolution(
        w + N @ solution.x, push, solution.status, *judged, solution.iterations, solution.time, solution.solver_status
    )


def _solve_equations(E: FloatArray, e: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a solution of E w = e and the null space of E: rows count alike, whatever their units."""
    scale = _inverse(np.linalg.norm(E, axis=1))
    E = E * scale[:, None]
    return np.asarray(np.linalg.lstsq(E, e * scale, rcond=RANK)[0], dtype=np.float64), _null(E)


def _null(B: FloatArray) -> FloatArray:
    """Return a basis of the directions that rows B, whose terms are of size one, leave."""
    _, size, right = np.linalg.svd(B)
    return right[int(np.sum(size > RANK)) :].T


def _inverse(size: FloatArray) -> FloatArray:
    """Return 1 / size, and 0 for 0."""
    return np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)


def _relax_limits(layout: ProgramLayout, data: NumericProgram, solvers: Solvers, refused: QpSolution) -> Command:
    """Exceed the limits that have a price by the least amount, then serve the tasks within what that leaves.

    First min sum price s^2 with  low <= C w + s <= high  in the rows that have a price; then the tasks with
    these rows' bounds moved by s.
    """
    n, price = layout.n, prices(layout)
    soft = np.flatnonzero(price)
    C = np.vstack((np.eye(n), data.A))
    k = len(soft)
    give = np.zeros((n + layout.rows, k))
    give[soft, np.arange(k)] = 1.0
    hard_bounds = np.ones(n, dtype=bool)
    hard_bounds[soft[soft < n]] = False
    low, high = np.full(n + k, -np.inf), np.full(n + k, np.inf)
    low[:n][hard_bounds], high[:n][hard_bounds] = data.low[:n][hard_bounds], data.high[:n][hard_bounds]
    rows = np.r_[soft[soft < n], n : n + layout.rows]
    H = np.diag(np.concatenate((np.full(n, BESIDE_PRICES), price[soft])))
    first = QpSolver(solvers.name, tolerance=solvers.tolerance).solve(
        H,
        np.zeros(n + k),
        np.hstack((C, give))[rows],
        np.concatenate((low, data.low[rows])),
        np.concatenate((high, data.high[rows])),
    )
    if first.status is not Status.SUCCESS:
        return _refuse_command(layout, data, refused)
    s = give @ first.x[n:]
    room = np.where(price > 0, ROOM * (1.0 + np.abs(s)), 0.0)
    low, high = data.low - np.maximum(s, 0.0) - room, data.high + np.maximum(-s, 0.0) + room
    w, solution = _serve_tasks(layout, data, solvers, low, high)
    if w is None:
        return _refuse_command(layout, data, refused)
    excess = violations(data.A, data.low, data.high, w)
    return _found(layout, data, w, Status.LIMITS_RELAXED, excess, solution)
