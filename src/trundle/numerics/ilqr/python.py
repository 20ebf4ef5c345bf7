"""The four operations of the real-time optimiser without a core in C: CasADi's virtual machine and numpy."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
from scipy.linalg.lapack import dposv

from trundle.checks import FloatArray
from trundle.numerics.compiled.batch import batch_function
from trundle.numerics.compiled.buffered import BufferedCall
from trundle.numerics.ilqr.backend import Backend
from trundle.numerics.ilqr.stage import ControlProblem, MidpointJacobian, jacobian_forward


class NumpyBackend(Backend):
    """CasADi's virtual machine over all stages at once, numpy's linear algebra (final)."""

    name = "numpy"

    def __init__(self, problem: ControlProblem) -> None:
        super().__init__(problem)
        N, nx, nz = problem.stages, self.nx, self.nx + self.nu
        self._alpha, self._costs, self._end_cost = np.zeros(N), np.zeros(N), np.zeros(1)
        self._bind(problem)
        # The recursion is over (x, 1) and its products over (x, 1, u): gradients and gaps ride along.
        self._affine, self._quadratic = np.zeros((N, nx + 1, nz + 1)), np.zeros((N, nz + 1, nz + 1))
        self._affine[:, nx, nx] = 1.0
        self._Q, self._gains = np.zeros((nz + 1, nz + 1)), np.zeros((N, self.nu, nx + 1))

    def _bind(self, problem: ControlProblem) -> None:
        N, nx, functions = problem.stages, self.nx, problem.functions
        # Transposed, as `batch_function` wants them: the stages are the columns.
        self._z, self._head = np.zeros((nx + self.nu, N)), np.zeros((self.p.shape[1], N))
        self._following = np.zeros((nx, N))
        given = [self._z[:nx], self._z[nx:], self._head]
        value = ca.Function("ilqr_cost", [problem.x, problem.u, problem.p], [ca.cse(problem.stage.value())])
        self._step = BufferedCall(batch_function(functions["step"], N), given, [self._following, self._costs])
        self._cost = BufferedCall(batch_function(value, N), given, [self._costs])
        self._rows = _Rows(problem)
        self._slope = BufferedCall(batch_function(self._rows.function, N), given, self._rows.outputs)
        ends, last, last_new = self.p[-1], self.x[-1], self.x_new[-1]
        self._end = BufferedCall(functions["end"], [last, ends], [self._end_cost])
        self._end_new = BufferedCall(functions["end"], [last_new, ends], [self._end_cost])
        self._end_slope = BufferedCall(functions["end_slope"], [last, ends], [self.g_end, self.H_end])
        rolled = [self.x_new[0], self.x[:-1], self.u, self.k, self.K, self.gap, self.p[:-1], self._alpha]
        self._roll = BufferedCall(_roll_out(problem), rolled, [self.x_new[1:], self.u_new])

    def _load(self, x: FloatArray, u: FloatArray) -> None:
        self._z[: self.nx], self._z[self.nx :], self._head[...] = x[:-1].T, u.T, self.p[:-1].T

    def measure(self) -> bool:
        """Evaluate every stage."""
        self._load(self.x, self.u)
        self._step()
        self._end()
        np.subtract(self._following.T, self.x[1:], out=self.gap)
        self.cost = float(self._costs.sum() + self._end_cost[0])
        return math.isfinite(self.cost) and bool(np.isfinite(self.gap).all())

    def slope(self) -> bool:
        """Differentiate every stage."""
        self._load(self.x, self.u)
        self._slope()
        self._end_slope()
        self._rows.assemble(self.M, self.g, self.H)
        return all(np.isfinite(a).all() for a in (*self._rows.outputs, self.g_end, self.H_end))

    def backward(self, rho: float) -> bool:
        """Run the recursion and look along its step."""
        nx, Q, V = self.nx, self._Q, np.zeros((self.nx + 1, self.nx + 1))
        self._border()
        V[:nx, :nx], V[:nx, nx], V[nx, :nx] = self.H_end, self.g_end, self.g_end
        inner, across, Q_uu = Q[: nx + 1, : nx + 1], Q[nx + 1 :, : nx + 1], Q[nx + 1 :, nx + 1 :]
        diagonal, dot = np.arange(self.nu), np.dot
        for k in range(self.stages - 1, -1, -1):
            M = self._affine[k]
            dot(M.T, dot(V, M), Q)
            Q += self._quadratic[k]
            if rho > 0.0:
                Q_uu[diagonal, diagonal] += rho * (np.abs(Q_uu[diagonal, diagonal]) + 1e-12)
            _, solved, wrong = dposv(Q_uu, across)
            if wrong:
                return False
            self._gains[k] = solved
            V = inner - dot(across.T, solved)
            V = 0.5 * (V + V.T)
        self.K[...], self.k[...] = -self._gains[:, :, :nx], -self._gains[:, :, nx]
        self._look_along()
        return math.isfinite(self.slope_along) and math.isfinite(self.curvature)

    def _border(self) -> None:
        """Write the stages' derivatives in the order (x, 1, u)."""
        nx, A, H, g = self.nx, self._affine, self._quadratic, self.g
        A[:, :nx, :nx], A[:, :nx, nx], A[:, :nx, nx + 1 :] = self.M[:, :, :nx], self.gap, self.M[:, :, nx:]
        for part, to in ((slice(0, nx), slice(0, nx)), (slice(nx, None), slice(nx + 1, None))):
            H[:, to, :nx], H[:, to, nx], H[:, to, nx + 1 :] = self.H[:, part, :nx], g[:, part], self.H[:, part, nx:]
            H[:, nx, to] = g[:, part]

    def _look_along(self) -> None:
        nx, x, dot = self.nx, self.dx, np.dot
        x[0] = 0.0
        A, B = self.M[:, :, :nx], self.M[:, :, nx:]
        closed, drift = A + B @ self.K, self.gap + (B @ self.k[:, :, None])[:, :, 0]
        for k in range(self.stages):
            x[k + 1] = dot(closed[k], x[k]) + drift[k]
        self.du[...] = self.k + (self.K @ x[:-1, :, None])[:, :, 0]
        z = np.concatenate([x[:-1], self.du], axis=1)
        self.slope_along = float((self.g * z).sum() + self.g_end @ x[-1])
        self.curvature = float((z * (self.H @ z[:, :, None])[:, :, 0]).sum() + x[-1] @ self.H_end @ x[-1])
        lam = np.empty((self.stages, nx))  # of x_(k+1)
        lam[-1] = self.g_end
        for k in range(self.stages - 1, 0, -1):
            lam[k - 1] = self.g[k, :nx] + dot(lam[k], A[k])
        self.gradient = float(np.abs(self.g[:, nx:] + (lam[:, None, :] @ B)[:, 0, :]).max())

    def roll(self, alpha: float) -> bool:
        """Roll out, stage after stage; the costs of all of them afterwards."""
        self._alpha[...] = alpha
        self._roll()
        self._load(self.x_new, self.u_new)
        self._cost()
        self._end_new()
        self.cost = float(self._costs.sum() + self._end_cost[0])
        return math.isfinite(self.cost) and bool(np.isfinite(self.x_new).all())


class _Rows:
    """Derivatives of all stages from the entries of their factors: numpy's products cost less than an instruction each.

    The virtual machine gives the rate's derivatives, the rows of the cost's Jacobian J and e, D of `Cost.by_rows`;
    assembled here are M, the gradient J' e and the Hessian J' diag(D) J. Rows of one entry only meet the diagonal.
    """

    def __init__(self, problem: ControlProblem) -> None:
        z, N = ca.vertcat(problem.x, problem.u), problem.stages
        J, e, D = problem.stage.by_rows(z)
        entries = [J[i, :].nnz() for i in range(J.shape[0])]
        single, long = ([i for i, n in enumerate(entries) if (n == 1, n > 1)[k]] for k in (0, 1))
        ones, more = J[single, :].T, J[long, :].T  # CasADi's columns: entries come row after row
        self._jacobian = _jacobian(problem, z)
        smooth, gradient = ca.hessian(problem.stage.smooth, z)
        self._smooth = ca.depends_on(problem.stage.smooth, z)
        found = [*self._jacobian.expressions, ones.nz[:], e[single], D[single], more.nz[:], e[long], D[long]]
        found += [ca.densify(gradient), ca.densify(smooth)] if self._smooth else []
        given = [problem.x, problem.u, problem.p]
        self.function = ca.Function("ilqr_rows", given, [ca.densify(value) for value in ca.cse(found)])
        self.outputs = [np.zeros((self.function.nnz_out(i), N)) for i in range(self.function.n_out())]
        columns = np.asarray(ones.sparsity().get_triplet()[0], dtype=int)
        self._incidence = np.zeros((len(single), z.numel()))
        self._incidence[np.arange(len(single)), columns] = 1.0
        self._more, self._J = _Scatter(more.T), np.zeros((N, len(long), z.numel()))

    def assemble(self, M: FloatArray, g: FloatArray, H: FloatArray) -> None:
        """Set the derivatives of the stages from `outputs`."""
        count = len(self._jacobian.expressions)
        self._jacobian.assemble(self.outputs[:count], M)
        value, e, D, more, e_more, D_more = self.outputs[count : count + 6]
        self._more(more, self._J)
        J = self._J
        np.matmul(J.transpose(0, 2, 1), D_more.T[:, :, None] * J, out=H)
        diagonal = np.einsum("kii->ki", H)
        diagonal += (D * value * value).T @ self._incidence
        np.matmul((e * value).T, self._incidence, out=g)
        g += (e_more.T[:, None, :] @ J)[:, 0, :]
        if self._smooth:
            g += self.outputs[-2].T
            H += self.outputs[-1].T.reshape(H.shape)


class _Scatter:
    """Entries (entries, N) of a matrix, row after row, into N dense ones."""

    def __init__(self, pattern: ca.SX) -> None:
        columns, rows = (np.asarray(part, dtype=int) for part in pattern.T.sparsity().get_triplet())
        self._place = rows * pattern.shape[1] + columns

    def __call__(self, values: FloatArray, into: FloatArray) -> None:
        into.reshape(len(into), -1)[:, self._place] = values.T


class _Plain:
    """The Jacobian of a step from its entries."""

    def __init__(self, jacobian: ca.SX) -> None:
        self.expressions, self._scatter = [jacobian.T.nz[:]], _Scatter(jacobian)

    def assemble(self, values: list[FloatArray], M: FloatArray) -> None:
        """Set M (N, n_x, n_z)."""
        self._scatter(values[0], M)


class _Midpoint:
    """The Jacobian of the midpoint rule from the entries of the rate's at both points: the chain rule in numpy."""

    def __init__(self, rule: MidpointJacobian, stages: int) -> None:
        self.expressions = [rule.first.T.nz[:], rule.middle.T.nz[:], ca.SX(rule.step)]
        self._scatters = _Scatter(rule.first), _Scatter(rule.middle)
        self._stacks = np.zeros((2, stages, *rule.shape))

    def assemble(self, values: list[FloatArray], M: FloatArray) -> None:
        """Set M (N, n_x, n_z)."""
        for scatter, entries, stack in zip(self._scatters, values, self._stacks, strict=False):
            scatter(entries, stack)
        (first, middle), h, n = self._stacks, values[2][0][:, None, None], M.shape[1]
        inner = (0.5 * h) * first
        np.einsum("kii->ki", inner[:, :, :n])[...] += 1.0
        np.matmul(middle[:, :, :n], inner, out=M)
        M[:, :, n:] += middle[:, :, n:]
        M *= h
        np.einsum("kii->ki", M[:, :, :n])[...] += 1.0


def _jacobian(problem: ControlProblem, z: ca.SX) -> _Plain | _Midpoint:
    given = problem.step_jacobian
    if isinstance(given, MidpointJacobian):
        return _Midpoint(given, problem.stages)
    return _Plain(jacobian_forward(problem.step, z) if given is None else given)


def _roll_out(problem: ControlProblem) -> ca.Function:
    x, p = problem.x, problem.p
    old, u_old, k, gap = (
        ca.SX.sym(n, m) for n, m in (("x", problem.nx), ("u", problem.nu), ("k", problem.nu), ("d", problem.nx))
    )
    K, alpha = ca.SX.sym("K", problem.nx, problem.nu), ca.SX.sym("alpha")  # columns: numpy's rows
    u_new = u_old + alpha * k + K.T @ (x - old)
    step = ca.Function("ilqr_follow", [x, problem.u, p], [ca.cse(ca.densify(problem.step))])
    following = step(x, u_new, p) - (1 - alpha) * gap
    one = ca.Function("ilqr_roll", [x, old, u_old, k, K, gap, p, alpha], [following, u_new])
    return one.mapaccum(problem.stages)
