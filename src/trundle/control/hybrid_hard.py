"""Hybrid predictive control with hard constraints: quadratic programs by HPIPM, each answer recomputed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, integer
from trundle.control.balancer_costs import unpacked, without
from trundle.control.hybrid_mpc import SETTLE, HybridControl
from trundle.numerics.ilqr import ControlSolution, Guess
from trundle.status import Status

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
    Sequential quadratic programming with whole Gauss-Newton steps. To compare with, not for a loop: ``python -m
    bench.ilqr`` prints its times beside those of the penalties' optimiser.
    """

    level: HybridControl

    def solve(self, x: Any, parameters: FloatArray, guess: Guess, steps: int = 5) -> ControlSolution:
        """Return the plan after some quadratic programs; without gains.

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
        for _ in range(integer("steps", steps, minimum=1)):
            change = self._step(start, states, inputs, p) if known else None
            if change is None:
                status = Status.NOT_CONVERGED if known else Status.NOT_FINITE
                break
            done += 1
            inner = change[:-nx].reshape(N, -1)
            states += np.vstack([inner[:, :nx], change[None, -nx:]])
            inputs += inner[:, nx:]
            largest = float(np.max(np.abs(change)))
            if largest <= _TOLERANCE:
                status = Status.SUCCESS
                break
        following = np.array(self._functions[0](states[:N].T, inputs.T, p[:N].T))
        gap = float(np.max(np.abs(following.T - states[1:])))
        cost = self._cost(states, inputs, p)
        gains = np.zeros((N, level.nu, nx))
        seconds = time.perf_counter() - begin
        return ControlSolution(status, states, inputs, gains, cost, largest, gap=gap, iterations=done, seconds=seconds)

    def _step(self, start: FloatArray, X: FloatArray, U: FloatArray, p: FloatArray) -> FloatArray | None:
        """Solve the program about (X, U); None if its answer does not hold."""
        level, N, nx = self.level, self.level.stages, 16
        nz = nx + level.nu
        solver, hessian, matrix = self._solver
        following, slope, end_slope, constraint = self._functions
        gaps = np.array(following(X[:N].T, U.T, p[:N].T)).T - X[1:]
        M, g, H = (np.array(v) for v in slope(X[:N].T, U.T, p[:N].T))
        values, C = (np.array(v) for v in constraint(X[:N].T, U.T, p[:N].T))
        g_end, H_end = (np.array(v) for v in end_slope(X[N], p[N]))
        low, high = self._rows(p, values.T)
        n, m = N * nz + nx, nx + C.shape[0]
        Q, A, rows = np.zeros((n, n)), np.zeros((N * m, n)), np.zeros((2, N, m))
        rows[:, :, :nx], rows[0, :, nx:], rows[1, :, nx:] = -gaps, low, high
        for k in range(N):
            at, row = slice(k * nz, (k + 1) * nz), k * m
            Q[at, at] = H[:, at] + 1e-8 * np.eye(nz)
            A[row : row + nx, at], A[row + nx : row + m, at] = M[:, k * nx : (k + 1) * nx].T, C[:, at]
            A[row : row + nx, (k + 1) * nz : (k + 1) * nz + nx] = -np.eye(nx)
        Q[N * nz :, N * nz :] = H_end
        box = self._box(start, X, U, p)
        lower, upper = rows.reshape(2, -1)
        found = solver(
            h=ca.DM(hessian, Q[hessian.get_triplet()]),
            a=ca.DM(matrix, A[matrix.get_triplet()]),
            g=np.concatenate([g.T.ravel(), g_end.ravel()]),
            lba=lower, uba=upper, lbx=box[0], ubx=box[1],
        )  # fmt: skip
        z = np.array(found["x"]).ravel()
        broken = np.concatenate([lower - A @ z, A @ z - upper, box[0] - z, z - box[1]])
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

    def _cost(self, X: FloatArray, U: FloatArray, p: FloatArray) -> float:
        functions, N = self.level.problem.functions, self.level.stages
        along = sum(float(functions["step"](X[k], U[k], p[k])[1]) for k in range(N))
        return along + float(functions["end"](X[N], p[N]))

    @cached_property
    def _functions(self) -> tuple[ca.Function, ca.Function, ca.Function, ca.Function]:
        level, problem = self.level, self.level.problem
        x, u, p, robot = problem.x, problem.u, problem.p, level.robot
        given = unpacked(p, level.head, level.walls, level.surface)
        equations, cones, forces = [], [], ca.vertsplit(u[9:], 3)
        for touch, f in zip(level.touches(x, u[3:9], given.walls), forces, strict=True):
            equations += [touch.approach + touch.distance / SETTLE, touch.slip]
            share = robot.hand_friction / np.sqrt(2.0) * f[0]
            cones += [share - f[1], share + f[1], share - f[2], share + f[2]]
        floor = level.observe(x, u, p)[3]
        cones += [floor[2] - level.least_normal, robot.floor_friction * floor[2] - ca.sqrt(ca.sumsqr(floor[:2]) + 1.0)]
        margins = ca.vertcat(*equations, *cones)
        slopes = ca.SX(ca.densify(ca.jacobian(margins, ca.vertcat(x, u))))
        constraint = ca.Function("constraint", [x, u, p], [margins, slopes]).map(level.stages)
        following = ca.Function("following", [x, u, p], [problem.step]).map(level.stages)
        return following, problem.functions["slope"].map(level.stages), problem.functions["end_slope"], constraint

    @cached_property
    def _solver(self) -> tuple[ca.Function, ca.Sparsity, ca.Sparsity]:
        N, nx, nu, ng = self.level.stages, 16, self.level.nu, 7 * self.level.pairs + 2
        nz, m = nx + nu, nx + ng
        Q, A = np.zeros((N * nz + nx, N * nz + nx)), np.zeros((N * m, N * nz + nx))
        for k in range(N):
            at = slice(k * nz, (k + 1) * nz)
            Q[at, at], A[k * m : (k + 1) * m, at] = 1.0, 1.0
            A[k * m : k * m + nx, (k + 1) * nz : (k + 1) * nz + nx] = np.eye(nx)
        Q[N * nz :, N * nz :] = 1.0
        h, a = (ca.sparsify(ca.DM(value)).sparsity() for value in (Q, A))
        sizes = {"N": N, "nx": [nx] * (N + 1), "nu": [nu] * N + [0], "ng": [ng] * N + [0]}
        options = {**sizes, "error_on_fail": False, "print_time": False, "hpipm": {"mode": "robust", "iter_max": 100}}
        return ca.conic("hybrid", "hpipm", {"h": h, "a": a}, options), h, a


_PENALTIES = ("contact_speed", "contact_distance", "limits")
