"""From (M, h, S, J, b), limits and tasks to the matrices of a quadratic program, in numbers or expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, NamedTuple

import numpy as np

from trundle.checks import FloatArray, choice
from trundle.control.inverse_dynamics.algebra import Algebra, MatrixT
from trundle.control.inverse_dynamics.tasks import UNKNOWNS, Limit, Task
from trundle.errors import InputError

FORMS = ("torque", "force", "full")
"""Unknowns of the program: u; (nudot, lam); (nudot, lam, u)."""
RANK = 1e-9
"""What is below this part of the terms that it is the sum of is their round-off: no input changes it. Round-off of the
equations of motion is 1e-16 of the terms times the condition of M and of J M^-1 J', of which seven digits are left."""


@dataclass(frozen=True)
class ProgramLayout:
    """What does not change from tick to tick: sizes, names, and where each limit and task has its rows.

    Attributes
    ----------
    form : str
        See `FORMS`.
    nv, m, n_u, n : int
        Sizes of nudot, lam, u and of the program's unknowns w.
    equations : int
        Rows of the program that are equations; they come first.
    rows : int
        All rows.
    limits : tuple of Limit
    limit_places : tuple of slice
        Of each limit, in [unknowns, rows] of the program.
    tasks : tuple of Task
    task_rows : tuple of slice
        Of each task, in the stacked task rows.
    """

    form: str
    nv: int
    m: int
    n_u: int
    n: int
    equations: int
    rows: int
    limits: tuple[Limit, ...]
    limit_places: tuple[slice, ...]
    tasks: tuple[Task, ...]
    task_rows: tuple[slice, ...]

    @property
    def levels(self) -> tuple[int, ...]:
        """The levels there are, in order."""
        return tuple(sorted({task.level for task in self.tasks}))

    def parts(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return nudot, lam and u out of all of them."""
        end = self.nv + self.m
        return x[: self.nv], x[self.nv : end], x[end:]


@dataclass(frozen=True)
class AssembledProgram(Generic[MatrixT]):
    """The program: x = x0 + X w with x = (nudot, lam, u), minimise sum weight (T w - t)^2 within the limits.

    Attributes
    ----------
    H, g : (n, n), (n,)
        Of all tasks, weighted, with the damping on w.
    A : (rows, n)
    X, x0 : (nv + m + n_u, n), (nv + m + n_u,)
    T, t, weight : (k, n), (k,), (k,)
        Rows of all tasks. A row that is round-off is zero.
    size : (k,)
        Of each row of T, the size of the terms that it is the sum of.
    low, high : (n + rows,)
        Bounds of w, then of the rows.
    """

    H: MatrixT
    g: MatrixT
    A: MatrixT
    X: MatrixT
    x0: MatrixT
    T: MatrixT
    t: MatrixT
    weight: MatrixT
    low: MatrixT
    high: MatrixT
    size: MatrixT


class _Reduced(NamedTuple, Generic[MatrixT]):
    """x = x0 + X w by its three parts, and the equations E w = e that stay rows.

    `terms` says of each entry of x how large the terms are whose sum it is, for a unit of w; None: entries of X are no
    sums whose terms cancel.
    """

    blocks: tuple[MatrixT, MatrixT, MatrixT]
    starts: tuple[MatrixT, MatrixT, MatrixT]
    E: MatrixT
    e: MatrixT
    terms: tuple[MatrixT, MatrixT, MatrixT] | None = None


def program_layout(
    nv: int, m: int, n_u: int, limits: Sequence[Limit], tasks: Sequence[Task], form: str
) -> ProgramLayout:
    """Return the sizes and places; raises `InputError` for a limit or task that does not fit."""
    choice("form", form, FORMS)
    sizes: dict[str, int] = dict(zip(UNKNOWNS, (nv, m, n_u), strict=True))
    n, equations = {"torque": (n_u, 0), "force": (nv + m, nv - n_u + m), "full": (nv + m + n_u, nv + m)}[form]
    if not tasks:
        raise InputError("tasks", (), "at least one task")
    named: set[str] = set()
    for item in (*limits, *tasks):
        if item.name in named:
            raise InputError("name", item.name, "a name that no other limit or task has")
        named.add(item.name)
    checked, places, at = [], [], equations
    for limit in (limit.fit_rows(sizes[limit.on]) for limit in limits):
        place = None if limit.A is not None else _own_columns(form, limit.on, nv, m, n_u)
        if place is None:
            rows = sizes[limit.on] if limit.A is None else limit.A.shape[0]
            place = slice(n + at, n + at + rows)
            at += rows
        checked.append(limit)
        places.append(place)
    parts, row = [], 0
    for task in tasks:
        if task.A.shape[1] != sizes[task.on]:
            raise InputError(f"{task.name}.A", task.A.shape, f"{sizes[task.on]} columns, the size of {task.on}")
        parts.append(slice(row, row + task.A.shape[0]))
        row += task.A.shape[0]
    return ProgramLayout(form, nv, m, n_u, n, equations, at, tuple(checked), tuple(places), tuple(tasks), tuple(parts))


def assemble(
    layout: ProgramLayout, terms: Sequence[MatrixT], damping: float, algebra: Algebra[MatrixT]
) -> AssembledProgram[MatrixT]:
    """Return the program of (M, h, S, J, b, G, D) with the limits and tasks of `layout`.

    The form's unknowns w give x = x0 + X w: for ``"torque"`` from one solution of the equations of motion
    M a - G'lam = S u - h, J a + D lam = -b (J of full row rank, or D > 0 where it is not); for ``"force"`` with
    u = S^+ (M a + h - G'lam), the rows that no torque reaches staying equations; for ``"full"`` the identity, all rows
    staying.
    """
    n = layout.n
    reduced = {"torque": _by_torque, "force": _by_force, "full": _in_full}[layout.form]
    blocks, starts, E, e, terms_of = reduced(terms, algebra)
    block_of: dict[str, MatrixT] = dict(zip(UNKNOWNS, blocks, strict=True))
    start_of: dict[str, MatrixT] = dict(zip(UNKNOWNS, starts, strict=True))
    low: list[MatrixT] = [algebra.constant(np.full(n, -np.inf)), e]
    high: list[MatrixT] = [algebra.constant(np.full(n, np.inf)), e]
    rows = [E]
    for limit, place in zip(layout.limits, layout.limit_places, strict=True):
        lower, upper = algebra.of(limit.lower), algebra.of(limit.upper)
        if place.start < n:
            low[0] = _tighten_bound(low[0], place, lower, algebra.larger, n, algebra)
            high[0] = _tighten_bound(high[0], place, upper, algebra.smaller, n, algebra)
            continue
        block, offset = block_of[limit.on], start_of[limit.on]
        if limit.A is not None:
            A = algebra.of(limit.A)
            block, offset = A @ block, A @ offset
        rows.append(block)
        low.append(lower - offset)
        high.append(upper - offset)
    T, t, size = _task_rows(layout, block_of, start_of, terms_of, algebra)
    weight = algebra.stacked([algebra.of(task.weight) for task in layout.tasks])
    weighted = algebra.scaled(weight, T)
    return AssembledProgram(
        H=T.T @ weighted + damping * algebra.constant(np.eye(n)),
        g=-(weighted.T @ t),
        A=algebra.above(rows, n),
        X=algebra.above(blocks, n),
        x0=algebra.stacked(starts),
        T=T,
        t=t,
        weight=weight,
        low=algebra.stacked(low),
        high=algebra.stacked(high),
        size=size,
    )


def _task_rows(
    layout: ProgramLayout,
    block_of: Mapping[str, MatrixT],
    start_of: Mapping[str, MatrixT],
    terms_of: tuple[MatrixT, ...] | None,
    algebra: Algebra[MatrixT],
) -> tuple[MatrixT, MatrixT, MatrixT]:
    """Return T (k, n), t (k,) and the size (k,) of the terms of the rows of T; rows that are round-off are zero."""
    rows: list[MatrixT] = []
    targets: list[MatrixT] = []
    sizes: list[MatrixT] = []
    for task in layout.tasks:
        own = _own_columns(layout.form, task.on, layout.nv, layout.m, layout.n_u)
        A, target = algebra.of(task.A), algebra.of(task.target)
        rows.append(A @ block_of[task.on] if own is None else algebra.placed(A, own, layout.n))
        targets.append(target - A @ start_of[task.on] if own is None else target)
        if terms_of is not None:
            sizes.append(abs(A) @ terms_of[UNKNOWNS.index(task.on)])
    T, t = algebra.above(rows, layout.n), algebra.stacked(targets)
    if terms_of is None:
        return T, t, _lengths(T, layout.n, algebra)
    size = algebra.stacked(sizes)
    return algebra.above_round_off(T, RANK * size), t, size


def _own_columns(form: str, on: str, nv: int, m: int, n_u: int) -> slice | None:
    """The unknowns of the program that are nudot, lam or u themselves; their limits are bounds, not rows."""
    if form == "torque":
        return slice(0, n_u) if on == "torque" else None
    start = {"acceleration": 0, "force": nv, "torque": nv + m}[on]
    if on == "torque" and form == "force":
        return None
    return slice(start, start + {"acceleration": nv, "force": m, "torque": n_u}[on])


def _tighten_bound(
    bound: MatrixT,
    place: slice,
    value: MatrixT,
    tighter: Callable[[MatrixT, MatrixT], MatrixT],
    n: int,
    algebra: Algebra[MatrixT],
) -> MatrixT:
    middle = tighter(bound[place], value)
    # An empty slice of a single symbol still counts a row when stacked.
    before = [bound[: place.start]] if place.start > 0 else []
    behind = [bound[place.stop : n]] if place.stop < n else []
    return algebra.stacked([*before, middle, *behind])


def _by_torque(terms: Sequence[MatrixT], algebra: Algebra[MatrixT]) -> _Reduced[MatrixT]:
    M, h, S, J, b, G, D = terms
    n_u, m = S.shape[1], J.shape[0]
    top = algebra.beside(S, -h)
    bottom = algebra.beside(algebra.constant(np.zeros((m, n_u))), -b)
    a, lam = algebra.motion(M, J, G, D, top, bottom)
    identity, none = algebra.constant(np.eye(n_u)), algebra.constant(np.zeros(n_u))
    blocks = a[:, :n_u], lam[:, :n_u], identity
    E, e = algebra.constant(np.zeros((0, n_u))), algebra.stacked([])
    return _Reduced(blocks, (a[:, n_u], lam[:, n_u], none), E, e, _terms_of_motion(M, S, J, D, algebra))


def _terms_of_motion(
    M: MatrixT, S: MatrixT, J: MatrixT, D: MatrixT, algebra: Algebra[MatrixT]
) -> tuple[MatrixT, MatrixT, MatrixT]:
    """Return how large the terms of nudot (nv,), lam (m,) and u (n_u,) are that a unit of torque makes.

    A torque alone, without contacts, moves the bodies by M^-1 S; what contacts take away of that leaves round-off of
    that size. In the metric of M, by the diagonal of which M stands here (i, j: entries of nu, r: rows of contacts),

        p^2 = sum_i |S_i|^2 / M_ii,  |nudot_j| <= p / sqrt(M_jj),  |lam_r| <= p / sqrt(sum_j J_rj^2 / M_jj + D_rr).
    """
    nv, m, n_u = M.shape[0], J.shape[0], S.shape[1]
    every = algebra.constant(np.ones(nv))
    inertia = (M * algebra.constant(np.eye(nv))) @ every
    compliance = (D * algebra.constant(np.eye(m))) @ algebra.constant(np.ones(m))
    mobility = 1 / inertia
    push = (((S * S) @ algebra.constant(np.ones(n_u))).T @ mobility) ** 0.5
    return push * mobility**0.5, push / ((J * J) @ mobility + compliance) ** 0.5, algebra.constant(np.ones(n_u))


def _lengths(T: MatrixT, n: int, algebra: Algebra[MatrixT]) -> MatrixT:
    """Return the lengths (k,) of the rows of T (k, n)."""
    return ((T * T) @ algebra.constant(np.ones(n))) ** 0.5


def _by_force(terms: Sequence[MatrixT], algebra: Algebra[MatrixT]) -> _Reduced[MatrixT]:
    M, h, S, J, b, G, D = terms
    nv, m = M.shape[0], J.shape[0]
    torque_of, unreached = (algebra.constant(value) for value in _split(algebra.value(S)))
    motion = algebra.beside(M, -G.T)
    a, lam = (algebra.constant(part) for part in _parts_of(nv, m))
    E = algebra.above([unreached @ motion, algebra.beside(J, D)], nv + m)
    e = algebra.stacked([-(unreached @ h), -b])
    starts = algebra.constant(np.zeros(nv)), algebra.constant(np.zeros(m)), torque_of @ h
    return _Reduced((a, lam, torque_of @ motion), starts, E, e)


@lru_cache(maxsize=64)
def _parts_of(nv: int, m: int) -> tuple[FloatArray, FloatArray]:
    """Return [1 0] and [0 1], which take nudot (nv,) and lam (m,) out of both."""
    both = np.eye(nv + m)
    both.setflags(write=False)
    return both[:nv], both[nv:]


def _in_full(terms: Sequence[MatrixT], algebra: Algebra[MatrixT]) -> _Reduced[MatrixT]:
    M, h, S, J, b, G, D = terms
    nv, m, n_u = M.shape[0], J.shape[0], S.shape[1]
    size = nv + m + n_u
    a, lam, u = (algebra.constant(part) for part in np.split(np.eye(size), (nv, nv + m)))
    E = algebra.above([algebra.beside(M, -G.T, -S), algebra.beside(J, D, algebra.constant(np.zeros((m, n_u))))], size)
    starts = algebra.constant(np.zeros(nv)), algebra.constant(np.zeros(m)), algebra.constant(np.zeros(n_u))
    return _Reduced((a, lam, u), starts, E, algebra.stacked([-h, -b]))


def _split(S: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return S^+ (n_u, nv) and the rows (nv - n_u, nv) that no torque reaches; S must have full column rank."""
    S = np.ascontiguousarray(S)
    return _split_of(S.shape, S.tobytes())


@lru_cache(maxsize=16)  # a control loop asks for the same S at every tick
def _split_of(shape: tuple[int, int], numbers: bytes) -> tuple[FloatArray, FloatArray]:
    S = np.frombuffer(numbers).reshape(shape)
    left, size, right = np.linalg.svd(S)
    n_u = S.shape[1]
    if n_u and size.min() < 1e-9 * size.max():
        raise InputError("S", S, "independent columns: every torque has its own effect")
    inverse, unreached = right.T @ np.diag(1 / size) @ left[:, :n_u].T, left[:, n_u:].T
    for matrix in (inverse, unreached):
        matrix[np.abs(matrix) < 1e-14] = 0.0  # a selection stays one: zeros save work in compiled code
    return inverse, unreached
