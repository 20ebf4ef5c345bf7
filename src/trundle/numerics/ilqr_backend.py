"""The four operations of the real-time optimiser, in C (`ilqr_core.c`) and in numpy, on the same arrays."""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from functools import lru_cache
from importlib import resources
from typing import Any

import casadi as ca
import numpy as np
from scipy.linalg.lapack import dposv

from trundle.errors import CompileError
from trundle.numerics.compile import NativeFunction, compile_library, library_source
from trundle.numerics.ilqr_stage import ControlProblem, jacobian_forward
from trundle.numerics.ode_native import CallStruct, call_struct

FAST = ("-O3", "-march=native", "-fno-math-errno")
PLAIN = ("-O2", "-fno-math-errno")
_NAMES = "p x u gap M g H g_end H_end k K dx du x_new u_new"


class CoreStruct(ctypes.Structure):
    """Mirror of ``Core``, field by field."""

    _fields_ = [
        *((name, CallStruct) for name in ("step", "slope", "end", "end_slope")),
        ("stages", ctypes.c_longlong),
        *((name, ctypes.c_void_p) for name in _NAMES.split()),
        *((name, ctypes.c_double) for name in ("slope_along", "curvature", "gradient", "cost")),
    ]


class Backend(ABC):
    """What an iteration is made of; every operation answers whether its numbers are usable.

    Attributes
    ----------
    p : (N + 1, n_p)
        Parameters of the stages and of the end.
    x, u, gap : (N + 1, n_x), (N, n_u), (N, n_x)
        The iterate; gap = F(x_k, u_k) - x_(k+1).
    k, K : (N, n_u), (N, n_u, n_x)
        Feed-forward and gains.
    x_new, u_new : (N + 1, n_x), (N, n_u)
        Roll-out of the last step.
    """

    name: str

    def __init__(self, problem: ControlProblem) -> None:
        N, nx, nu, n_p = problem.stages, problem.nx, problem.nu, problem.n_p
        nz = nx + nu
        self.stages, self.nx, self.nu = N, nx, nu
        self.cost = self.slope_along = self.curvature = self.gradient = np.nan
        self.p = np.zeros((N + 1, n_p))
        self.x, self.u, self.gap = np.zeros((N + 1, nx)), np.zeros((N, nu)), np.zeros((N, nx))
        self.M, self.g, self.H = np.zeros((N, nx, nz)), np.zeros((N, nz)), np.zeros((N, nz, nz))
        self.g_end, self.H_end = np.zeros(nx), np.zeros((nx, nx))
        self.k, self.K = np.zeros((N, nu)), np.zeros((N, nu, nx))
        self.dx, self.du = np.zeros((N + 1, nx)), np.zeros((N, nu))
        self.x_new, self.u_new = np.zeros((N + 1, nx)), np.zeros((N, nu))

    @abstractmethod
    def measure(self) -> bool:
        """Set `gap` and `cost` of the iterate (x, u)."""

    @abstractmethod
    def slope(self) -> bool:
        """Set the derivatives M, g, H of every stage at the iterate."""

    @abstractmethod
    def backward(self, rho: float) -> bool:
        """Set k, K and the linear step, with Q_uu + rho |diag Q_uu|; its slope, curvature and the largest |dJ/du|."""

    @abstractmethod
    def roll(self, alpha: float) -> bool:
        """Roll u + alpha k + K (x_new - x) out from x_new[0] with gaps left at 1 - alpha; set x_new, u_new, cost."""


def make_backend(problem: ControlProblem) -> Backend:
    """Return compiled operations, or numpy's without a compiler."""
    functions = problem.functions
    names, source = library_source(dict(functions), dense=True)
    stages = compile_library("trundle_ilqr_stages", source)
    if stages is None:
        return NumpyBackend(problem)
    return NativeBackend(problem, [NativeFunction(stages, name) for name in names])


class NativeBackend(Backend):
    """Compiled stages and a compiled Riccati recursion (final)."""

    name = "c"

    def __init__(self, problem: ControlProblem, functions: list[NativeFunction]) -> None:
        super().__init__(problem)
        self._functions = functions
        self._library = _core_library(problem.nx, problem.nu, problem.n_p)
        self._core = CoreStruct(
            *(call_struct(function) for function in functions),
            stages=self.stages,
            **{name: getattr(self, name).ctypes.data for name in _NAMES.split()},
        )
        self._pointer = ctypes.byref(self._core)

    def measure(self) -> bool:
        """Evaluate every stage."""
        good = self._library.trundle_ilqr_measure(self._pointer)
        self.cost = self._core.cost
        return bool(good)

    def slope(self) -> bool:
        """Differentiate every stage."""
        return bool(self._library.trundle_ilqr_slope(self._pointer))

    def backward(self, rho: float) -> bool:
        """Run the recursion and look along its step."""
        good = self._library.trundle_ilqr_backward(self._pointer, rho)
        core = self._core
        self.slope_along, self.curvature, self.gradient = core.slope_along, core.curvature, core.gradient
        return bool(good)

    def roll(self, alpha: float) -> bool:
        """Roll out, stage after stage."""
        good = self._library.trundle_ilqr_roll(self._pointer, alpha)
        self.cost = self._core.cost
        return bool(good)


@lru_cache(maxsize=32)
def _core_library(nx: int, nu: int, n_p: int) -> Any:
    text = resources.files("trundle.numerics").joinpath("ilqr_core.c").read_text("utf-8")
    sizes = f"#define NX {nx}\n#define NU {nu}\n#define NP {n_p}\n"
    sources = {"ilqr_core.c": text, "ilqr_sizes.h": sizes}
    try:
        path = compile_library("trundle_ilqr_core", sources, flags=FAST)
    except CompileError:  # a compiler that does not know this processor
        path = compile_library("trundle_ilqr_core", sources, flags=PLAIN)
    library = ctypes.CDLL(str(path))
    library.trundle_ilqr_size.restype = ctypes.c_longlong
    if library.trundle_ilqr_size() != ctypes.sizeof(CoreStruct):
        raise CompileError("the optimiser's core and its Python mirror do not have the same layout")
    for name in ("measure", "slope", "backward", "roll"):
        function = library[f"trundle_ilqr_{name}"]
        function.restype = ctypes.c_int
        function.argtypes = [ctypes.POINTER(CoreStruct)]
        if name in ("backward", "roll"):
            function.argtypes = [*function.argtypes, ctypes.c_double]
        setattr(library, f"trundle_ilqr_{name}", function)
    return library


class NumpyBackend(Backend):
    """CasADi's virtual machine over all stages at once, numpy's linear algebra (final)."""

    name = "numpy"

    def __init__(self, problem: ControlProblem) -> None:
        super().__init__(problem)
        N, functions = problem.stages, problem.functions
        self._alpha, self._costs = np.zeros(N), np.zeros(N + 1)
        head, ends = self.p[:-1], self.p[-1]
        last, last_new = self.x[-1], self.x_new[-1]
        end_cost = self._costs[-1:]
        step = functions["step"].map(N)
        self._step = _Bound(step, [self.x[:-1], self.u, head], [self.x_new[1:], self._costs[:-1]])
        self._rows = _LongRows(problem)
        long = self._rows
        outputs = [self.M, self.g, self.H, *((long.values, long.weights) if long.size else ())]
        self._slope = _Bound(long.function.map(N), [self.x[:-1], self.u, head], outputs)
        self._end = _Bound(functions["end"], [last, ends], [end_cost])
        self._end_new = _Bound(functions["end"], [last_new, ends], [end_cost])
        self._end_slope = _Bound(functions["end_slope"], [last, ends], [self.g_end, self.H_end])
        given = [self.x_new[0], self.x[:-1], self.u, self.k, self.K, self.gap, head, self._alpha]
        self._roll = _Bound(_roll_out(problem), given, [self.x_new[1:], self.u_new, self._costs[:-1]])

    def measure(self) -> bool:
        """Evaluate every stage."""
        self._step()
        self._end()
        self.gap[...] = self.x_new[1:] - self.x[1:]
        self.cost = float(np.sum(self._costs))
        return bool(np.isfinite(self.cost) and np.all(np.isfinite(self.gap)))

    def slope(self) -> bool:
        """Differentiate every stage."""
        self._slope()
        self._rows.add_to(self.H)
        self._end_slope()
        return all(np.all(np.isfinite(a)) for a in (self.M, self.g, self.H, self.g_end, self.H_end))

    def backward(self, rho: float) -> bool:
        """Run the recursion and look along its step."""
        nx, diagonal = self.nx, np.arange(self.nu)
        V, v = self.H_end, self.g_end
        right = np.empty((nx + 1, self.nu)).T
        for k in range(self.stages - 1, -1, -1):
            M = self.M[k]
            Q = M.T @ (V @ M)
            Q += self.H[k]
            q = self.g[k] + (v + V @ self.gap[k]) @ M
            Q_uu, Q_ux = Q[nx:, nx:], Q[nx:, :nx]
            if rho > 0.0:
                Q_uu = Q_uu.copy()
                Q_uu[diagonal, diagonal] += rho * (np.abs(Q_uu[diagonal, diagonal]) + 1e-12)
            right[:, :nx], right[:, nx] = Q_ux, q[nx:]
            _, solved, wrong = dposv(Q_uu, right)
            if wrong:
                return False
            self.K[k], self.k[k] = -solved[:, :nx], -solved[:, nx]
            V = Q[:nx, :nx] + Q_ux.T @ self.K[k]
            V = 0.5 * (V + V.T)
            v = q[:nx] + self.k[k] @ Q_ux
        self._look_along()
        return bool(np.isfinite(self.slope_along) and np.isfinite(self.curvature))

    def _look_along(self) -> None:
        nx, x = self.nx, self.dx
        x[0] = 0.0
        A, B = self.M[:, :, :nx], self.M[:, :, nx:]
        closed, drift = A + B @ self.K, self.gap + np.einsum("kij,kj->ki", B, self.k)
        for k in range(self.stages):
            x[k + 1] = drift[k] + closed[k] @ x[k]
        self.du[...] = self.k + np.einsum("kij,kj->ki", self.K, x[:-1])
        z = np.concatenate([x[:-1], self.du], axis=1)
        self.slope_along = float(np.sum(self.g * z) + self.g_end @ x[-1])
        self.curvature = float(np.sum(z * (self.H @ z[:, :, None])[:, :, 0]) + x[-1] @ self.H_end @ x[-1])
        lam = np.empty((self.stages, nx))  # of x_(k+1)
        lam[-1] = self.g_end
        for k in range(self.stages - 1, 0, -1):
            lam[k - 1] = self.g[k, :nx] + lam[k] @ A[k]
        self.gradient = float(np.max(np.abs(self.g[:, nx:] + np.einsum("kij,ki->kj", B, lam))))

    def roll(self, alpha: float) -> bool:
        """Roll out, stage after stage."""
        self._alpha[...] = alpha
        self._roll()
        self._end_new()
        self.cost = float(np.sum(self._costs))
        return bool(np.isfinite(self.cost) and np.all(np.isfinite(self.x_new)))


class _LongRows:
    """Derivatives of a stage whose cost's rows with many entries enter the Hessian outside the virtual machine.

    There a product costs as much as a call of numpy's for thousands of them.
    """

    def __init__(self, problem: ControlProblem) -> None:
        z, N, nz = ca.vertcat(problem.x, problem.u), problem.stages, problem.nx + problem.nu
        J, _, D = problem.stage.by_rows(z)
        long = [i for i in range(J.shape[0]) if J[i, :].nnz() > 3]
        short = [i for i in range(J.shape[0]) if J[i, :].nnz() <= 3]
        smooth, _ = ca.hessian(problem.stage.smooth, z)
        hessian = smooth + J[short, :].T @ (ca.diag(D[short]) @ J[short, :])
        gradient, _ = problem.stage.derivatives(z)
        jacobian = jacobian_forward(problem.step, z) if problem.step_jacobian is None else problem.step_jacobian
        self.size = len(long)
        entries = J[long, :].T  # columns of CasADi: its entries come row after row
        rows, columns = entries.sparsity().get_triplet()
        self._place = np.asarray(columns, dtype=int) * nz + np.asarray(rows, dtype=int)
        self.values, self.weights = np.zeros((N, len(self._place))), np.zeros((N, self.size))
        self._J = np.zeros((N, self.size, nz))
        outputs = [*(ca.densify(e) for e in (jacobian.T, gradient, hessian))]
        if self.size:
            outputs += [entries.nz[:], ca.densify(D[long])]
        self.function = ca.Function("ilqr_rows", [problem.x, problem.u, problem.p], ca.cse(outputs))

    def add_to(self, H: np.ndarray) -> None:
        """Add J' diag(D) J of the long rows."""
        if self.size:
            self._J.reshape(len(H), -1)[:, self._place] = self.values
            H += self._J.transpose(0, 2, 1) @ (self.weights[:, :, None] * self._J)


class _Bound:
    """A function bound to numpy arrays, called without conversions."""

    def __init__(self, function: ca.Function, inputs: list[np.ndarray], outputs: list[np.ndarray]) -> None:
        self._kept = function, inputs, outputs
        buffer: Any
        buffer, self._trigger = function.buffer()
        self._buffer = buffer
        for i, values in enumerate(inputs):
            if values.size:
                buffer.set_arg(i, memoryview(values.data))
        for i, values in enumerate(outputs):
            buffer.set_res(i, memoryview(values.data))

    def __call__(self) -> None:
        self._trigger()


def _roll_out(problem: ControlProblem) -> ca.Function:
    x, p = problem.x, problem.p
    old, u_old, k, gap = (
        ca.SX.sym(n, m) for n, m in (("x", problem.nx), ("u", problem.nu), ("k", problem.nu), ("d", problem.nx))
    )
    K, alpha = ca.SX.sym("K", problem.nx, problem.nu), ca.SX.sym("alpha")  # columns: numpy's rows
    u_new = u_old + alpha * k + K.T @ (x - old)
    following, cost = problem.functions["step"].call([x, u_new, p], True, False)
    following = following - (1 - alpha) * gap
    one = ca.Function("ilqr_roll", [x, old, u_old, k, K, gap, p, alpha], [following, u_new, cost])
    return one.mapaccum(problem.stages)
