"""What solvers are asked for, and what is made of what they leave out."""

from __future__ import annotations

import importlib.util
from functools import partial

import numpy as np
import pytest
import qpsolvers
from scipy import sparse

from trundle.numerics.qp.backends import ProgramBounds, _qpsolvers, backend
from trundle.numerics.qp.qp import QpSolver, QuadraticProgram, solve_qp
from trundle.status import Status

SOLVERS = ("daqp", "piqp", "proxqp", "osqp", "clarabel")
# Unknowns apart from each other, each held by a bound or a row of its own: x_i = -g_i - multiplier.
APART = QuadraticProgram(
    np.eye(6),
    [0, 0, 0, 0, 0, -4],
    np.eye(6)[2:],
    lower=[2, -np.inf, 5, -1],
    upper=[np.inf, -3, 5, 1],
    x_lower=[1, *[-np.inf] * 5],
    x_upper=[np.inf, -1, *[np.inf] * 4],
)
HELD, PUSHES = np.array([1, -1, 2, -3, 5, 1]), np.array([-1, 1, 0, 0, 0, 0, -2, 3, -5, 3])
# The point of x_0 + x_1 = 2 next to the origin.
NEXT = QuadraticProgram(np.eye(2), [0, 0], [[1, 1]], [2], [2])


@pytest.mark.parametrize("run", [*map(backend, SOLVERS), *(partial(_qpsolvers, name) for name in ("daqp", "piqp"))])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csc_matrix])
def test_what_a_solver_answers_needs_no_mending(run, kind):
    H, g, A, low, high = APART.arrays
    found = run(kind(H), g, kind(A), ProgramBounds(low, high, low[6:] == high[6:]), None)
    np.testing.assert_allclose(found.x, HELD, atol=1e-6)
    np.testing.assert_allclose(found.multipliers, PUSHES, atol=1e-6)


def test_multipliers_that_a_solver_does_not_tell_are_those_of_its_active_set(monkeypatch):
    def silent(problem: qpsolvers.Problem, *_, **__) -> qpsolvers.Solution:
        return qpsolvers.Solution(problem, found=True, x=np.ones(2))

    solver = QpSolver()
    monkeypatch.setattr(qpsolvers, "solve_problem", silent)
    monkeypatch.setattr(solver, "_run", partial(_qpsolvers, "silent"))
    found = solver.solve(*NEXT.arrays)
    assert found.status is Status.SUCCESS
    assert found.solver_status == "found, then its active set"
    np.testing.assert_allclose(found.multipliers, [0, 0, -1], atol=1e-12)


@pytest.mark.skipif(importlib.util.find_spec("proxsuite") is not None, reason="proxsuite's own ProxQP is used")
def test_proxqp_of_casadi_ends_by_its_accuracy():
    assert solve_qp(NEXT, "proxqp").solver_status == "PROXQP_SOLVED"
