"""Solvers of quadratic programs behind one signature; each is called through its own package where that is faster."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray, choice
from trundle.errors import InputError, MissingExtraError
from trundle.threads import PerThread

if TYPE_CHECKING:
    import casadi as ca
    from scipy.sparse import csc_matrix

Matrix: TypeAlias = "FloatArray | csc_matrix"
"""Dense or sparse."""
ACCURACY = 1e-9
"""What solvers are asked for; what they reach is recomputed."""
HUGE = 1e30
"""DAQP's infinity."""
_CASADI = ("proxqp", "osqp")
"""Solvers that come with CasADi, as its ``conic`` names them."""


class ProgramBounds(NamedTuple):
    """low, high (n + m,): bounds of the n unknowns, then of the m rows; `equal` (m,): which rows are equations."""

    low: FloatArray
    high: FloatArray
    equal: NDArray[np.bool_]


class WarmStart(NamedTuple):
    """A guess: x (n,) and the multipliers (n + m,) of the bounds, then of the rows."""

    x: FloatArray
    multipliers: FloatArray


@dataclass(frozen=True, slots=True)
class RawSolution:
    """What a solver returned, not judged yet: x (n,), multipliers (n + m,), iterations and its status text."""

    x: FloatArray
    multipliers: FloatArray
    iterations: int
    solver_status: str


Backend = Callable[[Matrix, FloatArray, Matrix, ProgramBounds, "WarmStart | None"], RawSolution]
"""(H, g, A, limits, start) -> RawSolution: dense arrays, or scipy sparse matrices H and A."""


_registered: dict[str, Callable[[int | None], Backend]] = {}


def register(name: str, make: Callable[[int | None], Backend]) -> None:
    """Make a solver of your own known by `name` to `solve_qp` and `QpSolver`; what it answers is judged like others.

    Parameters
    ----------
    name : str
        Not one of `solvers`.
    make : callable
        The limit of iterations, or None, to a `Backend`.

    Raises
    ------
    InputError
        If the name is taken.
    """
    if name in solvers():
        raise InputError("name", name, "a name that no solver has")
    _registered[name] = make


def solvers() -> list[str]:
    """Return the names of the solvers that can be used here."""
    import casadi as ca
    import qpsolvers

    own = [*_registered, "daqp", "piqp", *(name for name in _CASADI if ca.has_conic(name))]
    return [*own, *(name for name in qpsolvers.available_solvers if name not in own)]


def backend(name: str, max_iterations: int | None = None) -> Backend:
    """Return the solver called `name`; raises `InputError` with the names there are."""
    if name in _registered:
        return _registered[name](max_iterations)
    if name == "daqp":
        return _Daqp(max_iterations)
    if name == "piqp":
        return partial(_piqp, max_iterations)
    if name == "proxqp" and importlib.util.find_spec("proxsuite") is not None:
        return partial(_proxqp, max_iterations)
    if name == "clarabel":
        return partial(_clarabel, max_iterations)
    if name in _CASADI:
        return _Conic(name, max_iterations)

    choice("solver", name, solvers())
    return partial(_qpsolvers, name)


_EQUATION = np.int32(5)
"""DAQP's mark of a row that is an equation and always active."""


class _Daqp:
    """DAQP, a dual active-set solver for dense programs (Arnstroem, Bemporad, Axehill 2022)."""

    def __init__(self, max_iterations: int | None) -> None:
        import daqp

        self._solve = daqp.solve
        # An iteration limit of its own: a program with NaN or cycling rows may not hang a control loop.
        self._options: dict[str, float | FloatArray] = {"primal_tol": ACCURACY, "iter_limit": max_iterations or 1000}

    def __call__(
        self, H: Matrix, g: FloatArray, A: Matrix, limits: ProgramBounds, start: WarmStart | None
    ) -> RawSolution:
        options = self._options
        low, high = limits.low, limits.high
        sense = (low == high) * _EQUATION
        if start is not None:
            options = {**options, "primal_start": _writable(start.x), "dual_start": _writable(start.multipliers)}
        x, _, solver_status, info = self._solve(
            _writable(dense(H)), _writable(g), _writable(dense(A)), _writable(high), _writable(low), sense, **options
        )
        return RawSolution(x, info["lam"], info["iterations"], f"exit flag {solver_status}")


def dense(matrix: Matrix) -> FloatArray:
    """Return a matrix as an array."""
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def _writable(array: FloatArray) -> FloatArray:
    """DAQP's wrapper takes only arrays it might write to."""
    flags = array.flags
    return array if flags.writeable and flags.c_contiguous else np.array(array, order="C")


def _piqp(
    max_iterations: int | None, H: Matrix, g: FloatArray, A: Matrix, limits: ProgramBounds, start: WarmStart | None
) -> RawSolution:
    """PIQP, a proximal interior-point solver, dense or sparse (Schwan, Jiang, Kuhn, Jones 2023)."""
    import piqp

    n = len(g)
    sparse = not isinstance(H, np.ndarray)
    solver = piqp.SparseSolver() if sparse else piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_duality_gap_abs = ACCURACY
    solver.settings.eps_rel = solver.settings.eps_duality_gap_rel = 0.0
    solver.settings.max_iter = max_iterations or 250
    low, high, equal = limits.low[n:], limits.high[n:], limits.equal
    rest = ~equal & (np.isfinite(low) | np.isfinite(high))  # PIQP prints where a row has no bound
    if sparse:
        from scipy import sparse as matrices

        H, rows = matrices.csc_matrix(H), matrices.csr_matrix(A)
        E, C = matrices.csc_matrix(rows[equal]), matrices.csc_matrix(rows[rest])
    else:
        H, E, C = (np.asfortranarray(matrix) for matrix in (H, A[equal], A[rest]))
    solver.setup(H, g, E, low[equal], C, low[rest], high[rest], limits.low[:n], limits.high[:n])
    solver_status = solver.solve()
    result = solver.result
    multipliers = np.zeros(len(limits.low))
    multipliers[:n] = result.z_bu - result.z_bl
    multipliers[n:][equal] = result.y
    multipliers[n:][rest] = result.z_u - result.z_l
    return RawSolution(np.array(result.x), multipliers, result.info.iter, solver_status.name)


def _proxqp(
    max_iterations: int | None, H: Matrix, g: FloatArray, A: Matrix, limits: ProgramBounds, start: WarmStart | None
) -> RawSolution:
    """ProxQP, an augmented-Lagrangian solver (Bambade and others 2022), of the package proxsuite."""
    from proxsuite import proxqp  # pyright: ignore[reportMissingImports]

    H, A = dense(H), dense(A)
    n, equal, rest = len(g), limits.equal, ~limits.equal
    E, C = A[equal], A[rest]
    solver = proxqp.dense.QP(n, len(E), len(C), True)
    solver.settings.eps_abs = ACCURACY
    solver.settings.eps_rel = 0.0
    # Its own 1e-4 calls programs infeasible that are not; without the gap's check "solved" was seen with a gap of 3e-5.
    solver.settings.eps_primal_inf = solver.settings.eps_dual_inf = 1e-9
    solver.settings.check_duality_gap = True
    solver.settings.eps_duality_gap_abs, solver.settings.eps_duality_gap_rel = ACCURACY, 0.0
    solver.settings.max_iter = max_iterations or 1000
    low, high = np.maximum(limits.low, -HUGE), np.minimum(limits.high, HUGE)
    solver.init(H, g, E, low[n:][equal], C, low[n:][rest], high[n:][rest], low[:n], high[:n])
    solver.solve()  # no warm start: its check of the multipliers' size forgets the bounds (proxsuite 0.8)
    result = solver.results
    multipliers = np.zeros(len(limits.low))
    multipliers[:n] = result.z[len(C) :]
    multipliers[n:][equal] = result.y
    multipliers[n:][rest] = result.z[: len(C)]
    return RawSolution(np.array(result.x), multipliers, result.info.iter, str(result.info.status))


def _clarabel(
    max_iterations: int | None, H: Matrix, g: FloatArray, A: Matrix, limits: ProgramBounds, start: WarmStart | None
) -> RawSolution:
    """Clarabel, an interior-point solver with a homogeneous embedding (Goulart, Chen 2024): one-sided rows E x <= f."""
    import clarabel
    from scipy import sparse

    n, settings = len(g), clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_feas = ACCURACY
    settings.tol_gap_rel = 0.0  # either would end it
    settings.max_iter = max_iterations or 200
    equal = np.concatenate((limits.low[:n] == limits.high[:n], limits.equal))
    rows = sparse.vstack((sparse.eye(n), A), format="csr")
    same = np.flatnonzero(equal)
    top, bottom = (np.flatnonzero(~equal & np.isfinite(side)) for side in (limits.high, limits.low))
    stacked = sparse.vstack((rows[same], rows[top], -rows[bottom]), format="csc")
    bounds = np.concatenate((limits.low[same], limits.high[top], -limits.low[bottom]))
    cones = [clarabel.ZeroConeT(len(same)), clarabel.NonnegativeConeT(len(top) + len(bottom))]
    upper = sparse.triu(H, format="csc")
    found = clarabel.DefaultSolver(upper, g, stacked, bounds, cones, settings).solve()
    multipliers, z = np.zeros(len(limits.low)), np.array(found.z)
    multipliers[same] = z[: len(same)]
    multipliers[top] += z[len(same) : len(same) + len(top)]
    multipliers[bottom] -= z[len(same) + len(top) :]
    return RawSolution(np.array(found.x), multipliers, int(found.iterations), str(found.status))


class _Conic:
    """A solver that comes with CasADi."""

    _OPTIONS: dict[str, dict[str, dict[str, float]]] = {  # noqa: RUF012 - a table
        "osqp": {"osqp": {"verbose": False, "eps_abs": ACCURACY, "eps_rel": ACCURACY, "max_iter": 20000}},
        "proxqp": {"proxqp": {"eps_abs": 1e-11, "max_iter": 1000}},
    }

    def __init__(self, name: str, max_iterations: int | None) -> None:
        import casadi as ca

        if not ca.has_conic(name):
            if name == "proxqp":
                raise MissingExtraError("proxsuite", "bench")
            choice("solver", name, solvers())
        self._name = name
        self._limit = max_iterations
        # One a thread: the status of the last call belongs to the function, not to the call.
        self._built: PerThread[dict[tuple[int, int], ca.Function]] = PerThread(dict)

    def __call__(
        self, H: Matrix, g: FloatArray, A: Matrix, limits: ProgramBounds, start: WarmStart | None
    ) -> RawSolution:
        import casadi as ca

        n, m = len(g), len(limits.low) - len(g)
        built = self._built()
        if (n, m) not in built:
            shapes = {"h": ca.Sparsity.dense(n, n), "a": ca.Sparsity.dense(m, n)}
            options = {**self._OPTIONS.get(self._name, {}), "error_on_fail": False, "print_time": False}
            built[n, m] = ca.conic("program", self._name, shapes, options)
        solver = built[n, m]
        given = {"h": dense(H), "g": g, "a": dense(A), "lba": limits.low[n:], "uba": limits.high[n:]}
        given |= {"lbx": limits.low[:n], "ubx": limits.high[:n]}
        if start is not None:
            given |= {"x0": start.x, "lam_a0": start.multipliers[n:], "lam_x0": start.multipliers[:n]}
        try:
            found = solver(**given)
        except RuntimeError as error:
            return _nothing(n, m, str(error).splitlines()[-1][:120])
        stats = solver.stats()
        x, z, y = (found[key].full().ravel() for key in ("x", "lam_x", "lam_a"))
        return RawSolution(
            x, np.concatenate((z, y)), max(int(stats.get("iter_count", 0)), 0), str(stats.get("return_status", ""))
        )


def _qpsolvers(
    name: str, H: Matrix, g: FloatArray, A: Matrix, limits: ProgramBounds, start: WarmStart | None
) -> RawSolution:
    """A solver that qpsolvers has installed; two one-sided rows for each two-sided one."""
    import qpsolvers

    n, m = len(g), len(limits.low) - len(g)
    low, high, is_equal = limits.low[n:], limits.high[n:], limits.equal
    equal = np.flatnonzero(is_equal)
    top, bottom = np.flatnonzero(~is_equal & np.isfinite(high)), np.flatnonzero(~is_equal & np.isfinite(low))
    if isinstance(A, np.ndarray):
        H, G, E = _writable(dense(H)), np.vstack((A[top], -A[bottom])), A[equal]
    else:
        from scipy import sparse

        A = A.tocsr()
        G, E = sparse.csc_matrix(sparse.vstack([A[top], -A[bottom]])), sparse.csc_matrix(A[equal])
    g = _writable(g)
    h = np.concatenate((high[top], -low[bottom]))
    one_sided = (G, h) if len(h) else (None, None)
    equations = (E, low[equal]) if len(equal) else (None, None)
    problem = qpsolvers.Problem(H, g, *one_sided, *equations, limits.low[:n], limits.high[:n])
    try:
        found = qpsolvers.solve_problem(problem, name, initvals=None if start is None else start.x)
    except Exception as error:  # every solver has its own
        return _nothing(n, m, f"{type(error).__name__}: {error}"[:120])
    if found.x is None:
        return _nothing(n, m, "no solution")
    multipliers = np.zeros(n + m)
    z = np.zeros(0) if found.z is None else np.asarray(found.z)
    if len(h) and z.size == len(h):
        multipliers[n + top] += z[: len(top)]
        multipliers[n + bottom] -= z[len(top) :]
    if len(equal) and found.y is not None:
        multipliers[n + equal] = found.y
    if found.z_box is not None and np.size(found.z_box) == n:
        multipliers[:n] = found.z_box
    return RawSolution(np.asarray(found.x), multipliers, 0, "found" if found.found else "not found")


def _nothing(n: int, m: int, solver_status: str) -> RawSolution:
    return RawSolution(np.full(n, np.nan), np.full(n + m, np.nan), 0, solver_status)
