"""Solving assembled nonlinear programs with IPOPT; every status and residual is recomputed from the program."""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, array, integer, positive
from trundle.errors import InputError
from trundle.numerics.nlp.elements import ElementGroup
from trundle.numerics.nlp.program import Program
from trundle.status import Status

Options = dict[str, bool | dict[str, str | float]]
"""Options of CasADi's `nlpsol`, those of IPOPT under "ipopt"."""

__all__ = ["ElementGroup", "Iterate", "Multipliers", "Program", "ProgramSolution", "kkt_residual", "solve"]

VIOLATION_FACTOR = 2.0
"""A success violates no bound by more than this many tolerances (IPOPT relaxes bounds by 0.1)."""
KKT_FACTOR = 100.0
"""A success has a recomputed optimality residual of at most this many tolerances: IPOPT scales its own otherwise."""
_SMALL, _GIVEN = 1e-6, 1e4
"""Size of a cost below which IPOPT is given it as one of size 1; residuals of larger ones count over this many sizes,
at most over 1."""
_PUSHES = ("bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac", "mult_bound_push")
_WARM = {"warm_start_init_point": "yes", "mu_init": 1e-6, **{f"warm_start_{push}": 1e-8 for push in _PUSHES}}
_STATUSES = {
    "Infeasible_Problem_Detected": Status.LOCALLY_INFEASIBLE,
    "Maximum_Iterations_Exceeded": Status.ITERATION_LIMIT,
    "Maximum_CpuTime_Exceeded": Status.TIME_LIMIT,
    "Maximum_WallTime_Exceeded": Status.TIME_LIMIT,
    "Invalid_Number_Detected": Status.NOT_FINITE,
    "Diverging_Iterates": Status.UNBOUNDED,
    "Not_Enough_Degrees_Of_Freedom": Status.OVERDETERMINED,
    "Restoration_Failed": Status.LOCALLY_INFEASIBLE,
}


@dataclass(frozen=True)
class Multipliers:
    """Multipliers of L = f + c_multipliers'c + z_multipliers'z: positive at upper bounds, negative at lower ones.

    Attributes
    ----------
    c, z : (m,), (n,)
    """

    c: FloatArray
    z: FloatArray


@dataclass(frozen=True)
class Iterate:
    """Where the solver is: what a progress callback gets.

    Attributes
    ----------
    number : int
    z : (n,)
    objective : float
    violation : float
        Largest violation of a bound, each over max(1, |bound|).
    """

    number: int
    z: FloatArray
    objective: float
    violation: float

    @property
    def share(self) -> float:
        """Estimated share of the work; the number of iterations is unknown, so that it approaches 1."""
        return 1.0 - 0.98**self.number

    def __str__(self) -> str:
        return f"iteration {self.number}: cost {self.objective:.4g}, violation {self.violation:.0e}"


@dataclass(frozen=True)
class ProgramSolution:
    """What the solver left, judged by residuals that are recomputed from the program.

    Attributes
    ----------
    z : (n,)
    multipliers : Multipliers
    status : Status
        SUCCESS only if both residuals hold, whatever the solver said.
    iterations : int
    objective : float
    kkt_residual : float
        See `kkt_residual`.
    constraint_violation : float
        Largest violation of a bound of c or z, each over max(1, |bound|).
    worst : str
        Which bound is violated most, in words.
    solver_status : str
        IPOPT's return status.
    times : dict
        Wall times in s: ``build`` (derivatives, compiler, assembly), ``solve``, and of it ``evaluation``.
    """

    z: FloatArray
    multipliers: Multipliers
    status: Status
    iterations: int
    objective: float
    kkt_residual: float
    constraint_violation: float
    worst: str
    solver_status: str
    times: dict[str, float]


def solve(
    program: Program,
    z0: FloatArray,
    *,
    tolerance: float = 1e-8,
    max_iterations: int = 500,
    multipliers: Multipliers | None = None,
    progress: Callable[[Iterate], bool | None] | None = None,
    options: Mapping[str, str | float] | None = None,
) -> ProgramSolution:
    """Solve a program from the guess `z0` (n,).

    Parameters
    ----------
    program : Program
    z0 : (n,)
    tolerance : float
        IPOPT's, also for the unscaled violation of constraints.
    max_iterations : int
    multipliers : Multipliers, optional
        A warm start: `z0` and these are taken as nearly optimal.
    progress : callable, optional
        Called after each iteration; returning False stops. Ctrl-C stops as well: both give
        ``Status.INTERRUPTED`` with the last iterate. What it raises is passed on.
    options : mapping, optional
        IPOPT's options by their names, over the ones chosen here.

    Raises
    ------
    InputError
        If the guess or the multipliers have the wrong shape or are not finite, or IPOPT does not know an option.
    """
    guess = array("z0", z0, (program.size,))
    start = multipliers or Multipliers(np.zeros(program.rows), np.zeros(program.size))
    lam_c = array("multipliers.c", start.c, (program.rows,))
    lam_z = array("multipliers.z", start.z, (program.size,))
    tolerance = positive("tolerance", tolerance)
    limit = integer("max_iterations", max_iterations, minimum=0)
    floor, scaling = _scale_cost(program, guess)
    chosen = _options(tolerance, limit, multipliers is not None, {**scaling, **(options or {})})
    began = time.perf_counter()
    watch = _Watch(program, progress)
    solver = _solver(program, watch, chosen)
    built = time.perf_counter() - began
    if not _finite_at(program, guess):
        left = _Left(guess, lam_c, lam_z, "not called: the program is not finite at the guess")
        times = {"build": built, "solve": 0.0, "evaluation": 0.0}
        return _judge(program, left, Status.NOT_FINITE, tolerance, floor, times)
    began = time.perf_counter()
    left = _run(program, solver, watch, guess, lam_c, lam_z)
    if watch.raised is not None:
        raise watch.raised
    if left.solver_status == "Invalid_Option":
        raise InputError("options", dict(options or {}), "options that this build of IPOPT has")
    times = {"build": built, "solve": time.perf_counter() - began, "evaluation": left.evaluation}
    status = Status.INTERRUPTED if watch.stopped else _STATUSES.get(left.solver_status, Status.NOT_CONVERGED)
    return _judge(program, left, status, tolerance, floor, times)


def kkt_residual(program: Program, z: FloatArray, multipliers: Multipliers, floor: float = 1.0) -> float:
    """Return how far z (n,) and the multipliers are from optimality.

    The larger of max |grad f + (dc/dz)'lam_c + lam_z| and of the complementarity lam (distance to the bound
    that lam belongs to; |lam| if there is no such bound), both over
    max(floor, max |grad f|, max |lam|). Infinite if anything is not finite. A `floor` below 1 is for costs whose
    size is far below 1: `solve` takes one that makes the residual the same in any unit of such a cost.
    """
    with np.errstate(all="ignore"):
        slope = program.gradient(z)
        stationary = slope + program.jacobian(z).T @ multipliers.c + multipliers.z
        lam = np.concatenate([multipliers.c, multipliers.z])
        value = np.concatenate([program.evaluate(z)[1], z])
        lower = np.concatenate([np.asarray(program.lower), np.asarray(program.z_lower)])
        upper = np.concatenate([np.asarray(program.upper), np.asarray(program.z_upper)])
        distance = np.where(lam > 0, upper - value, value - lower)
        distance = np.where(np.isfinite(distance), np.maximum(distance, 0.0), 1.0)
        everything = np.concatenate([stationary, lam * distance])
        scale = max(floor, *(float(np.max(np.abs(part), initial=0.0)) for part in (slope, lam)))
        residual = float(np.max(np.abs(everything), initial=0.0)) / scale
    return residual if np.isfinite(residual) and np.all(np.isfinite(everything)) else float("inf")


@dataclass(frozen=True)
class _Left:
    """What the solver left behind."""

    z: FloatArray
    lam_c: FloatArray
    lam_z: FloatArray
    solver_status: str
    iterations: int = 0
    evaluation: float = 0.0


class _Watch(ca.Callback):
    """CasADi's callback after each iteration: keeps the last iterate, reports, and stops."""

    def __init__(self, program: Program, progress: Callable[[Iterate], bool | None] | None) -> None:
        ca.Callback.__init__(self)
        self._program = program
        self._progress = progress
        self.count = -1
        self.last: tuple[FloatArray, FloatArray, FloatArray] | None = None
        self.raised: BaseException | None = None
        self.stopped = False
        self.construct("watch", {})

    def get_n_in(self) -> int:
        return ca.nlpsol_n_out()

    def get_n_out(self) -> int:
        return 1

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        n, m = self._program.size, self._program.rows
        sizes = {"x": n, "f": 1, "g": m, "lam_x": n, "lam_g": m, "lam_p": 0}
        return ca.Sparsity.dense(sizes[ca.nlpsol_out(i)], 1)

    def eval(self, arg: Sequence[ca.DM]) -> list[int]:
        """Tell the progress of an iteration to who listens; 1 stops the solver."""
        # Nothing may be raised into the solver: what happens here is kept and passed on after it.
        try:
            self.count += 1
            x, f, g, lam_x, lam_g = (np.array(a).ravel() for a in arg[:5])
            self.last = (x, lam_g, lam_x)
            if self._progress is not None:
                outside = self._program.violation_of(x, g)
                iterate = Iterate(self.count, x, float(f[0]), float(np.max(outside, initial=0.0)))
                self.stopped = self._progress(iterate) is False or self.stopped
        except KeyboardInterrupt:
            self.stopped = True
        except Exception as error:
            self.raised = error
        return [int(self.stopped or self.raised is not None)]


def _options(tolerance: float, limit: int, warm: bool, given: Mapping[str, str | float]) -> Options:
    ipopt: dict[str, str | float] = {
        "print_level": 0,
        "sb": "yes",
        "tol": tolerance,
        "constr_viol_tol": tolerance,
        "bound_relax_factor": min(1e-8, 0.1 * tolerance),
        "diverging_iterates_tol": 1e15,
        "max_iter": limit,
        **(_WARM if warm else {}),
        **given,
    }
    return {
        "ipopt": ipopt,
        "print_time": False,
        "record_time": True,
        "error_on_fail": False,
        "show_eval_warnings": False,
        "no_nlp_grad": True,
    }


def _solver(program: Program, watch: _Watch, options: Options) -> ca.Function:
    parts = program.assembled
    z, p = ca.MX.sym("z", program.size), ca.MX.sym("p", 0)
    problem = {"x": z, "p": p, "f": parts.f(z), "g": parts.g(z)}
    exact = {"grad_f": parts.grad_f, "jac_g": parts.jac_g, "hess_lag": parts.hess_lag}
    try:
        return ca.nlpsol("program", "ipopt", problem, {**options, **exact, "iteration_callback": watch})
    except (RuntimeError, NotImplementedError) as error:
        raise InputError("options", options["ipopt"], f"options of IPOPT ({str(error).splitlines()[-1]})") from error


def _finite_at(program: Program, z: FloatArray) -> bool:
    cost, c = program.evaluate(z)
    values = [np.array([cost]), c, program.gradient(z), program.jacobian(z).data]
    return all(bool(np.all(np.isfinite(value))) for value in values)


def _run(
    program: Program, solver: ca.Function, watch: _Watch, guess: FloatArray, lam_c: FloatArray, lam_z: FloatArray
) -> _Left:
    bounds = {"lbg": program.lower, "ubg": program.upper, "lbx": program.z_lower, "ubx": program.z_upper}
    arguments = {"x0": guess, "lam_g0": lam_c, "lam_x0": lam_z, **bounds}
    with _interruptible(watch):
        try:
            answer = solver(**{name: ca.DM(np.array(value)) for name, value in arguments.items()})
        except (RuntimeError, KeyboardInterrupt) as error:
            watch.stopped = watch.stopped or isinstance(error, KeyboardInterrupt)
            z, lam_c, lam_z = watch.last or (guess, lam_c, lam_z)
            return _Left(z, lam_c, lam_z, str(error).splitlines()[-1] if str(error) else "", max(watch.count, 0))
    stats = solver.stats()
    evaluation = sum(value for name, value in stats.items() if name.startswith("t_wall_nlp_") and value)
    z, lam_c, lam_z = (np.array(answer[name]).ravel() for name in ("x", "lam_g", "lam_x"))
    return _Left(z, lam_c, lam_z, str(stats["return_status"]), int(stats["iter_count"]), float(evaluation))


def _scale_cost(program: Program, z: FloatArray) -> tuple[float, dict[str, float]]:
    """Return what residuals count over, and IPOPT's option for a small cost.

    The size of a cost is the largest |df/dz_i| at z and |d2f/dz_i dz_j| max(1, |z|); 1 for one without slopes.
    """
    curved = program.hessian(z, 1.0, np.zeros(program.rows)).data
    largest = [float(np.abs(part).max(initial=0.0)) for part in (program.gradient(z), curved)]
    size = max(largest[0], largest[1] * max(1.0, float(np.abs(z).max(initial=0.0))))
    size = size if 0.0 < size < math.inf else 1.0
    return (size, {"obj_scaling_factor": 1.0 / size}) if size < _SMALL else (min(1.0, _GIVEN * size), {})


def _judge(
    program: Program, left: _Left, status: Status, tolerance: float, floor: float, times: dict[str, float]
) -> ProgramSolution:
    """Decide the status from recomputed residuals; the solver's own status only names what went wrong."""
    finite = bool(np.all(np.isfinite(np.concatenate([left.z, left.lam_c, left.lam_z]))))
    lam_z = left.lam_z
    if finite:
        # IPOPT takes fixed unknowns out of the program: their multipliers are what stationarity asks for.
        fixed = np.asarray(program.z_lower) == np.asarray(program.z_upper)
        lam_z = np.where(fixed, -program.gradient(left.z) - program.jacobian(left.z).T @ left.lam_c, lam_z)
    multipliers = Multipliers(left.lam_c, lam_z)
    objective = program.evaluate(left.z)[0]
    violation = float(np.max(program.violation(left.z), initial=0.0))
    residual = kkt_residual(program, left.z, multipliers, floor)
    feasible = violation <= VIOLATION_FACTOR * tolerance
    if not finite or not np.isfinite([objective, violation]).all():
        status = Status.NOT_FINITE
    elif status not in (Status.INTERRUPTED, Status.NOT_FINITE) and feasible and residual <= KKT_FACTOR * tolerance:
        status = Status.SUCCESS
    elif status in (Status.LOCALLY_INFEASIBLE, Status.NOT_CONVERGED) and feasible:
        status = Status.NOT_OPTIMAL
    elif status is Status.UNBOUNDED and not feasible:
        status = Status.NOT_CONVERGED
    return ProgramSolution(
        z=left.z,
        multipliers=multipliers,
        status=status,
        iterations=left.iterations,
        objective=objective,
        kkt_residual=residual,
        constraint_violation=violation,
        worst=program.worst(left.z),
        solver_status=left.solver_status,
        times=times,
    )


@contextlib.contextmanager
def _interruptible(watch: _Watch) -> Iterator[None]:
    """Let Ctrl-C stop the solver after its iteration instead of tearing it down; a second one is not caught."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def stop(number: int, frame: FrameType | None) -> None:
        watch.stopped = True
        signal.signal(signal.SIGINT, before or signal.default_int_handler)

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before or signal.default_int_handler)
