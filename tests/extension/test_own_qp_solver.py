"""A solver of quadratic programs from outside, on scipy: registered, used by name, judged like any other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from trundle.errors import InputError
from trundle.numerics.qp import (
    ProgramBounds,
    QuadraticProgram,
    RawSolution,
    WarmStart,
    backends,
    register,
    solve_qp,
    solvers,
)
from trundle.status import Status

PROGRAM = QuadraticProgram(np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([-3.0, 1.0]), x_lower=[0, 0], x_upper=[1, 4])


def boxed(H: np.ndarray, g: np.ndarray, A: np.ndarray, limits: ProgramBounds, start: WarmStart | None) -> RawSolution:
    """Minimise |L'x + L^-1 g|^2 within bounds; H = L L'."""
    L = np.linalg.cholesky(H)
    found = lsq_linear(L.T, -np.linalg.solve(L, g), (limits.low, limits.high), tol=1e-14)
    return RawSolution(found.x, -(H @ found.x + g), found.nit, found.message)


def wrong(H: np.ndarray, g: np.ndarray, A: np.ndarray, limits: ProgramBounds, start: WarmStart | None) -> RawSolution:
    return RawSolution(np.array([0.5, 0.5]), np.zeros(2), 1, "solved")


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "_registered", {})


def test_a_registered_solver_solves_and_is_judged() -> None:
    register("boxed", lambda limit: boxed)
    assert "boxed" in solvers()
    solution, reference = solve_qp(PROGRAM, "boxed"), solve_qp(PROGRAM)
    assert solution.status is Status.SUCCESS
    assert solution.x == pytest.approx(reference.x, abs=1e-6)
    assert solution.multipliers == pytest.approx(reference.multipliers, abs=1e-5)


def test_a_registered_solver_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    register("wrong", lambda limit: wrong)
    mended = solve_qp(PROGRAM, "wrong")
    assert mended.solver_status.startswith("solved, then "), "that it was not this solver's answer is said"
    assert mended.x == pytest.approx(solve_qp(PROGRAM).x, abs=1e-9)
    monkeypatch.setattr("trundle.numerics.qp.qp.second_tries", lambda *_: [])
    assert solve_qp(PROGRAM, "wrong", throw=False).status is Status.NOT_CONVERGED


def test_a_name_is_given_once() -> None:
    with pytest.raises(InputError, match="name"):
        register("daqp", lambda limit: boxed)
