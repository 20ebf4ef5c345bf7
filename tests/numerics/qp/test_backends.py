"""What solvers are asked for, and what is made of what they leave out."""

from __future__ import annotations

import importlib.util
from functools import partial

import numpy as np
import pytest
import qpsolvers

from trundle.numerics.qp.backends import _qpsolvers
from trundle.numerics.qp.qp import QpSolver, QuadraticProgram, solve_qp
from trundle.status import Status

# The point of x_0 + x_1 = 2 next to the origin.
NEXT = QuadraticProgram(np.eye(2), [0, 0], [[1, 1]], [2], [2])


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
