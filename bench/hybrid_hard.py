"""Hybrid predictive control with hard constraints: quadratic programs by HPIPM, each answer recomputed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, integer
from trundle.numerics.compiled.buffered import BufferedCall
from trundle.numerics.compiled.compile import compile_function
from trundle.numerics.ilqr import ControlSolution, Guess
from trundle.status import Status
from trundle.systems.wallbounce.control.costs import unpack_parameters, without
from trundle.systems.wallbounce.control.hybrid import SETTLE, HybridControl

__all__ = ["HardHybrid"]

_FREE = 1e4  # HPIPM fails at infinite bounds
_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class HardHybrid:
    """The hybrid problem whose limits and closed contacts are constraints instead of penalties (final).

    Hard are, linearised: the dynamics; v_t = 0 and v_n = -d / T of closed contacts; f = 0 of open ones;
    0 <= f_n <= f_max and |f_1|, |f_2| <= mu f_n / sqrt(2), a pyramid in Coulomb's cone; limits of drive, yaw torque,
    joint rates and joints; the floor's normal force and cone. Keep-outs stay barriers.

    Parameters
    ----------
    level : HybridControl
        Whose parameters and costs are used.

    Notes
    -----
    Sequential quadratic programming with Gauss-Newton steps, whole or first damped: forces depend on distances. To
    compare with, not for a loop: ``python -m
    bench.ilqr`` prints its times beside those of the penalties' optimiser.
    """

    level: HybridControl

    def solve(self, x: Any, parameters: FloatArray, guess: Guess, steps: int = 5, damped: int = 0) -> ControlSolution:
        """Return the plan after some quadratic programs, the first `damped` with 0.3 of a step; without gains.

        The status is NOT_CONVERGED, with the last good iterate, if a program's answer breaks its own constraints by
        more than 1e-6: the solver's word is not taken. `guess` needs states. `decrease` holds the last step's largest
        entry, `gap` what the dynamics are left with.
        """
        begin, level = time.perf_counter(), self.level
        N, nx = level.stages, 16
        start = np.asarray(x, dtype=np.float64)
        states = np.tile(start, (N + 1, 1)) if guess.states is None else np.array(guess.states)
        inputs, p = np.array(guess.inputs), without(parameters, level.head, _PENALTIES)
        status, largest, done = Status.ITERATION_LIMIT, np.nan, 0
        known = bool(np.all(np.isfinite(start)) and np.all(np.isfinite(p)))
        for k in range(integer("steps", steps, minimum=1)):
            change = self._step(start, states, inputs, p) if known else None
            if change is None:
                status = Status.NOT_CONVERGED if known else Status.NOT_FINITE
                break
            done += 1
            inner, share = change[:-nx].reshape(N, -1), 0.3 if k < damped else 1.0
            states += share * np.vstack([inner[:, :nx], change[None, -nx:]])
            inputs += share * inner[:, nx:]
            largest = float(np.max(np.abs(change)))
            if largest <= _TOLERANCE:
                status = Status.SUCCESS
                break
        stages = level.optimiser.linearise(states, inputs, p)
        gains = np.zeros((N, level.nu, nx))
        seconds, gap, cost = time.perf_counter() - begin, float(np.max(np.abs(stages.gap))), float(stages.cost)
        return ControlSolution(status, states, inputs, gains, cost, largest, gap=gap, iterations=done, seconds=seconds)

    def _step(self, start: FloatArray, X: FloatArray, U: FloatArray, p: FloatArray) -> FloatArray | None:
        """Solve the program about (X, U); None if its answer does not hold."""
        program, N, nx = self._program, self.level.stages, 16
        stages = self.level.optimiser.linearise(X, U, p)
        program.x[...], program.u[...], program.p[...] = X[:N], U, p[:N]
        program.constrain()
        C = program.slopes.transpose(0, 2, 1)
        low, high = self._rows(p, program.values)
        program.hessian(stages.H, stages.H_end)
        program.rows(stages.M, C)
        program.gradient[...] = np.concatenate([stages.g.ravel(), stages.g_end])
        bounds = program.bounds.reshape(2, N, -1)
        bounds[:, :, :nx], bounds[0, :, nx:], bounds[1, :, nx:] = -stages.gap, low, high
        program.box[...] = box = self._box(start, X, U, p)
        program.solve()
        z = program.answer.copy()
        inner, last = z[:-nx].reshape(N, -1), z[-nx:]
        following = np.vstack([inner[1:, :nx], last])
        held = [(stages.M @ inner[:, :, None])[:, :, 0] - following, (C @ inner[:, :, None])[:, :, 0]]
        value = np.concatenate(held, axis=1)
        broken = np.concatenate([(bounds[0] - value).ravel(), (value - bounds[1]).ravel(), box[0] - z, z - box[1]])
        return z if np.all(np.isfinite(z)) and np.max(broken) <= _TOLERANCE else None

    def _rows(self, p: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bounds of the general constraints' changes: equations of closed contacts, margins >= 0."""
        pairs = self.level.pairs
        closed = np.repeat(p[:-1, 17 : 17 + pairs] > 0.5, 3, axis=1)
        low, high = np.full(values.shape, 0.0), np.full(values.shape, _FREE)
        low[:, : 3 * pairs], high[:, : 3 * pairs] = np.where(closed, 0.0, -_FREE), np.where(closed, 0.0, _FREE)
        return np.where(low > -_FREE, low - values, low), np.where(high < _FREE, high - values, high)

    def _box(self, start: FloatArray, X: FloatArray, U: FloatArray, p: FloatArray) -> FloatArray:
        robot, N, pairs = self.level.robot, self.level.stages, self.level.pairs
        box = np.zeros((2, N, 16 + self.level.nu))
        ends, most = np.array([-1.0, 1.0])[:, None], p[:N, 16:17] * p[:N, 17 : 17 + pairs]
        box[:, :, :16] = _FREE * ends[:, :, None]
        joints = np.array([np.tile(robot.joint_lower, 2), np.tile(robot.joint_upper, 2)])
        box[:, 1:, 5:11] = joints[:, None, :] - X[1:N, 5:11]
        box[:, 0, :16] = start - X[0]
        fixed = np.concatenate([[robot.drive_limit] * 2, [robot.yaw_limit], [robot.joint_rate_limit] * 6])
        box[:, :, 16:25] = (ends * fixed)[:, None, :] - U[:, :9]
        forces = ends[:, :, None, None] * np.repeat(most[:, :, None], 3, axis=2)
        forces[0, :, :, 0] = 0.0
        box[:, :, 25:] = forces.reshape(2, N, -1) - U[:, 9:]
        last = np.tile(_FREE * ends, (1, 16))
        last[:, 5:11] = joints - X[N, 5:11]
        return np.concatenate([box.reshape(2, -1), last], axis=1)

    @cached_property
    def _program(self) -> _Program:
        level, problem = self.level, self.level.problem
        x, u, p, robot = problem.x, problem.u, problem.p, level.robot
        given = unpack_parameters(p, level.head, level.discs, level.walls, level.surface)
        equations, cones, forces = [], [], ca.vertsplit(u[9:], 3)
        for touch, f in zip(level.touches(x, u[3:9], given.walls), forces, strict=True):
            equations += [touch.approach + touch.distance / SETTLE, touch.slip]
            share = robot.hand_friction / np.sqrt(2.0) * f[0]
            cones += [share - f[1], share + f[1], share - f[2], share + f[2]]
        floor = level.observe(x, u, p)[3]
        cones += [floor[2] - level.least_normal, robot.floor_friction * floor[2] - ca.sqrt(ca.sumsqr(floor[:2]) + 1.0)]
        margins = ca.vertcat(*equations, *cones)
        slopes = ca.SX(ca.densify(ca.jacobian(margins, ca.vertcat(x, u))))
        return _Program(ca.Function("constraint", [x, u, p], ca.cse([margins, slopes])), level.stages)


class _Program:
    """Arrays of the quadratic program, bound to its solver and to the constraints' derivatives.

    Unknowns are (dx_0, du_0, ..., dx_N); a stage has its n_x rows of the dynamics and its constraints.
    """

    def __init__(self, constraint: ca.Function, stages: int) -> None:
        N, nx, nu, ng = stages, constraint.numel_in(0), constraint.numel_in(1), constraint.numel_out(0)
        nz, m = nx + nu, nx + ng
        n = N * nz + nx
        self.x, self.u, self.p = np.zeros((N, nx)), np.zeros((N, nu)), np.zeros((N, constraint.numel_in(2)))
        self.values, self.slopes = np.zeros((N, ng)), np.zeros((N, nz, ng))  # columns of CasADi: numpy's rows
        mapped = compile_function(constraint).map(N)
        self.constrain = BufferedCall(mapped, [self.x, self.u, self.p], [self.values, self.slopes])
        h, a = _patterns(N, nx, nu, ng)
        self.gradient, self.bounds, self.box = np.zeros(n), np.zeros((2, N * m)), np.zeros((2, n))
        self._h, self._a, self.answer = np.zeros(h.nnz()), np.zeros(a.nnz()), np.zeros(n)
        sizes = {"N": N, "nx": [nx] * (N + 1), "nu": [nu] * N + [0], "ng": [ng] * N + [0]}
        options = {**sizes, "error_on_fail": False, "print_time": False, "hpipm": {"mode": "robust", "iter_max": 100}}
        solver = ca.conic("hybrid", "hpipm", {"h": h, "a": a}, options)
        given = {"h": self._h, "g": self.gradient, "a": self._a, "lba": self.bounds[0], "uba": self.bounds[1]}
        given |= {"lbx": self.box[0], "ubx": self.box[1]}
        # All of them: the solver's interface reads and writes what is left out as well.
        inputs = [given.get(solver.name_in(i), np.zeros(solver.nnz_in(i))) for i in range(solver.n_in())]
        others = [np.zeros(solver.nnz_out(i)) for i in range(1, solver.n_out())]
        self._bound = solver, inputs, [self.answer, *others]
        # Where each entry of the matrix comes from: M, C, or the -1 of the following state.
        rows, columns = (np.asarray(part, dtype=int) for part in a.get_triplet())
        k, i, j = rows // m, rows % m, columns % nz
        inside, stage_rows = columns // nz == k, k * nx * nz + i * nz + j
        constraint_rows = N * nx * nz + (k * ng + i - nx) * nz + j
        self._from = np.where(inside, np.where(i < nx, stage_rows, constraint_rows), N * m * nz)

    def solve(self) -> None:
        """Set `answer`; bound anew each time, because the solver's interface does not leave what it is given alone."""
        BufferedCall(*self._bound)()

    def hessian(self, H: FloatArray, end: FloatArray) -> None:
        """Set the Hessian from that of the stages (N, n_z, n_z) and of the end."""
        inner = self._h[: H.size].reshape(H.shape)
        inner[...] = H
        np.einsum("kii->ki", inner)[...] += 1e-8
        self._h[H.size :] = end.ravel()

    def rows(self, M: FloatArray, C: FloatArray) -> None:
        """Set the matrix from dynamics (N, n_x, n_z) and constraints (N, n_g, n_z)."""
        self._a[...] = np.concatenate([M.ravel(), C.ravel(), [-1.0]])[self._from]


def _patterns(N: int, nx: int, nu: int, ng: int) -> tuple[ca.Sparsity, ca.Sparsity]:
    """Patterns of the Hessian and of the matrix."""
    nz, m = nx + nu, nx + ng
    Q, A = np.zeros((N * nz + nx, N * nz + nx)), np.zeros((N * m, N * nz + nx))
    for k in range(N):
        at = slice(k * nz, (k + 1) * nz)
        Q[at, at], A[k * m : (k + 1) * m, at] = 1.0, 1.0
        A[k * m : k * m + nx, (k + 1) * nz : (k + 1) * nz + nx] = np.eye(nx)
    Q[N * nz :, N * nz :] = 1.0
    h, a = (ca.sparsify(ca.DM(value)).sparsity() for value in (Q, A))
    return h, a


_PENALTIES = ("contact_speed", "contact_distance", "limits")
