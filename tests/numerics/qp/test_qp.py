"""Solvers against enumeration of active sets and each other; no NaN, conflict or free fall passes for a solution."""

from __future__ import annotations

import importlib.util
import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from trundle.errors import InputError
from trundle.numerics.qp.backends import RawSolution, _proxqp, _qpsolvers, backend, solvers
from trundle.numerics.qp.judging import residuals, violations
from trundle.numerics.qp.qp import QpError, QpSolver, QuadraticProgram, WarmStart, solve_qp
from trundle.status import Status

SOLVERS = ("daqp", "piqp", "proxqp", "osqp", "clarabel")
INF = np.inf


def feasible(rng: np.random.Generator, n: int | None = None, bent: float = 1e-2) -> QuadraticProgram:
    """A program with a point inside all its limits."""
    n = int(rng.integers(2, 12)) if n is None else n
    equations, rows = int(rng.integers(0, n // 2 + 1)), int(rng.integers(0, 2 * n))
    m = equations + rows
    B, A, x = rng.normal(size=(n, n)), rng.normal(size=(m, n)), rng.normal(size=n)
    v = A @ x
    lower, upper = v - rng.exponential(size=m), v + rng.exponential(size=m)
    lower[rng.random(m) < 0.3], upper[rng.random(m) < 0.3] = -INF, INF
    lower[:equations] = upper[:equations] = v[:equations]
    x_lower = np.where(rng.random(n) < 0.5, -INF, x - rng.exponential(size=n))
    x_upper = np.where(rng.random(n) < 0.5, INF, x + rng.exponential(size=n))
    return QuadraticProgram(B @ B.T + bent * np.eye(n), 3 * rng.normal(size=n), A, lower, upper, x_lower, x_upper)


def best_by_enumeration(program: QuadraticProgram) -> np.ndarray:
    """The minimiser, by trying every set of active bounds."""
    H, g, A, low, high = program.arrays
    C, n = np.vstack((np.eye(len(g)), A)), len(g)
    choices = [
        [(b,) for b in ((low[i],) if low[i] == high[i] else (None, low[i], high[i])) if b is None or np.isfinite(b)]
        for i in range(len(C))
    ]
    best, found = INF, np.full(n, np.nan)
    for pick in itertools.product(*choices):
        active = [i for i, (b,) in enumerate(pick) if b is not None]
        if len(active) > n:
            continue
        E, e = C[active], np.array([pick[i][0] for i in active])
        K = np.block([[H, E.T], [E, np.zeros((len(active),) * 2)]])
        if abs(np.linalg.det(K)) < 1e-10:
            continue
        x = np.linalg.solve(K, np.concatenate((-g, e)))[:n]
        value = C @ x
        if np.all(value >= low - 1e-9) and np.all(value <= high + 1e-9):
            cost = 0.5 * x @ H @ x + g @ x
            if cost < best:
                best, found = cost, x
    return found


@pytest.mark.parametrize("solver", SOLVERS)
def test_small_programs_against_enumeration(solver):
    rng = np.random.default_rng(7)
    for _ in range(12):
        program = feasible(rng, n=2, bent=0.5)
        solution = solve_qp(program, solver)
        np.testing.assert_allclose(solution.x, best_by_enumeration(program), atol=2e-6)


def test_solvers_agree_on_200_programs():
    rng, solved = np.random.default_rng(1), 0
    for _ in range(200):
        program = feasible(rng)
        daqp, piqp = solve_qp(program, "daqp"), solve_qp(program, "piqp")
        proxqp = solve_qp(program, "proxqp", throw=False)
        np.testing.assert_allclose(piqp.x, daqp.x, atol=1e-6)
        if proxqp.status is Status.SUCCESS:
            np.testing.assert_allclose(proxqp.x, daqp.x, atol=1e-6)
            solved += 1
        # ProxQP takes a feasible program for an infeasible one now and then: no proof, no belief.
        assert proxqp.status in (Status.SUCCESS, Status.NOT_CONVERGED)
    assert solved >= 198


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["daqp", "piqp"]))
def test_a_success_is_stationary_and_inside_as_documented(seed, solver):
    program = feasible(np.random.default_rng(seed))
    H, g, A, low, high = program.arrays
    s = solve_qp(program, solver, tolerance=1e-7)
    assert np.abs(H @ s.x + g + A.T @ s.y + s.z).max() == pytest.approx(s.dual, abs=1e-12)
    assert s.dual <= 1e-7 * max(1, np.abs(H @ s.x).max(), np.abs(g).max())
    assert violations(A, low, high, s.x).max() <= 1e-7 * max(1, np.abs(s.x).max(), np.abs(A @ s.x).max(initial=0))
    value = np.concatenate((s.x, A @ s.x))
    pushing = s.multipliers != 0
    bound = np.where(s.multipliers > 0, high, low)[pushing]
    cost = max(1.0, abs(s.x @ H @ s.x), abs(g @ s.x))
    assert abs(s.multipliers[pushing] @ (bound - value[pushing])) <= 1e-6 * cost
    # No feasible point is cheaper: the start of the construction's neighbourhood, pulled into the limits.
    for step in np.random.default_rng(seed).normal(size=(20, len(g))):
        trial = s.x + 0.1 * step
        if violations(A, low, high, trial).max() == 0:
            assert 0.5 * trial @ H @ trial + g @ trial >= 0.5 * s.x @ H @ s.x + g @ s.x - 1e-6 * cost


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("which", range(5))
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_value_that_is_no_number_is_never_solved(solver, which, bad):
    program = feasible(np.random.default_rng(3), n=4)
    arrays = [np.array(a) for a in program.arrays]
    arrays[which].flat[0] = -bad if which == 4 else bad
    solution = QpSolver(solver).solve(*arrays)
    assert solution.status is Status.NOT_FINITE
    assert np.all(np.isnan(solution.x))
    keys = ("H", "g", "A", "lower", "upper", "x_lower", "x_upper")
    given = dict(zip(keys, (program.H, program.g, program.A, program.lower, program.upper), strict=False))
    key = keys[which]
    given[key] = np.array(given[key])
    given[key].flat[0] = arrays[which].flat[0]
    with pytest.raises(InputError, match=key):
        QuadraticProgram(**given)


@pytest.mark.parametrize("solver", SOLVERS)
def test_contradictory_rows_are_proved(solver):
    rng = np.random.default_rng(5)
    for _ in range(10):
        inside = feasible(rng)
        n = inside.size
        weights, rows = rng.random(3) + 0.1, rng.normal(size=(3, n))
        rows[2] = -(weights[0] * rows[0] + weights[1] * rows[1]) / weights[2]
        high = rng.normal(size=3)
        high[2] = (-1 - weights[:2] @ high[:2]) / weights[2]  # weights' rows = 0, weights' bounds = -1
        program = QuadraticProgram(
            inside.H,
            inside.g,
            np.vstack((inside.A, rows)),
            np.concatenate((inside.lower, [-INF] * 3)),
            np.concatenate((inside.upper, high)),
            inside.x_lower,
            inside.x_upper,
        )
        s = solve_qp(program, solver, throw=False)
        assert s.status is Status.CONFLICTING_LIMITS
        assert s.primal > 0
        C = np.vstack((np.eye(n), program.A))
        _, _, _, low, up = program.arrays
        support = np.where(s.multipliers > 0, up, low)[s.multipliers != 0] @ s.multipliers[s.multipliers != 0]
        assert support < 0
        assert 1e4 * np.abs(C.T @ s.multipliers).max() * max(1.0, np.abs(s.x).sum()) < -support
        assert s.worst == np.argmax(violations(program.A, low, up, s.x))
        with pytest.raises(QpError, match="conflicting-limits"):
            solve_qp(program, solver)


@pytest.mark.parametrize("name", ["daqp", "piqp"])
def test_a_proven_conflict_is_not_tried_again(name, monkeypatch):
    program = QuadraticProgram(np.eye(2), [1, -1], [[1, 1], [1, 1]], [1, -INF], [INF, 0])
    solver, calls = QpSolver(name), []
    run = solver._run
    monkeypatch.setattr(solver, "_run", lambda *given: calls.append(given) or run(*given))
    assert solver.solve(*program.arrays).status is Status.CONFLICTING_LIMITS
    assert len(calls) == 1


@pytest.mark.parametrize("solver", SOLVERS)
def test_no_solver_prints(solver, capfd):
    solve_qp(feasible(np.random.default_rng(9), n=5), solver)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("solver", SOLVERS)
def test_bounds_that_cross_and_costs_that_fall(solver):
    crossing = QuadraticProgram(np.eye(2), [0, 0], x_lower=[1, 0], x_upper=[-1, 1])
    s = solve_qp(crossing, solver, throw=False)
    assert s.status is Status.CONFLICTING_LIMITS
    assert s.worst == 0
    falling = QuadraticProgram(np.diag([1.0, 0.0]), [0, -1.0], x_lower=[0, 0])
    s = solve_qp(falling, solver, throw=False)
    assert s.status is Status.UNBOUNDED
    _, _, A, low, high = falling.arrays
    outside = violations(A, low, high, s.x)
    assert s.worst == (np.argmax(outside) if outside.max() > 0 else -1)


def test_wrong_answers_are_not_believed(monkeypatch):
    program = feasible(np.random.default_rng(9), n=5)
    s = solve_qp(program)
    H, g, A, low, high = program.arrays
    assert residuals(H, g, A, low, high, s.x, s.multipliers)[3] < 1e-9
    for x, push in (
        (s.x + 1e-3, s.multipliers),
        (s.x, s.multipliers + 1e-3),
        (s.x, -s.multipliers),
        (s.x * np.nan, s.multipliers),
    ):
        assert not residuals(H, g, A, low, high, x, push)[3] < 1e-6
    solver = QpSolver()
    true = solver._run
    monkeypatch.setattr(solver, "_run", lambda *a: type(true(*a))(s.x + 1e-3, s.multipliers, 1, "solved, I swear"))
    mended = solver.solve(*program.arrays)
    assert mended.status is Status.SUCCESS
    np.testing.assert_allclose(mended.x, s.x, atol=1e-9)
    assert mended.solver_status.startswith("solved, I swear, then")
    monkeypatch.setattr("trundle.numerics.qp.qp.second_tries", lambda *_: [])
    assert solver.solve(*program.arrays).status is Status.NOT_CONVERGED


def test_crumbs_at_infinite_bounds_are_dropped_and_the_answer_is_taken(monkeypatch):
    program = feasible(np.random.default_rng(9), n=5)
    s, (_, _, _, low, high) = solve_qp(program), program.arrays
    crumbs = np.where(high == INF, 1e-10, np.where(low == -INF, -1e-10, 0.0)) * (s.multipliers == 0.0)
    assert crumbs.any()
    solver = QpSolver()
    monkeypatch.setattr(solver, "_run", lambda *_: RawSolution(s.x, s.multipliers + crumbs, 3, "solved"))
    found = solver.solve(*program.arrays)
    assert (found.status, found.solver_status, found.iterations) == (Status.SUCCESS, "solved", 3)
    np.testing.assert_array_equal(found.multipliers, s.multipliers)


@pytest.mark.parametrize("solver", ["daqp", "piqp", "proxqp"])
def test_sparse_programs(solver):
    program = feasible(np.random.default_rng(12), n=8)
    same = QuadraticProgram(
        sparse.csc_matrix(program.H),
        program.g,
        program.A,
        *(program.lower, program.upper),
        program.x_lower,
        program.x_upper,
    )
    np.testing.assert_allclose(solve_qp(same, solver).x, solve_qp(program).x, atol=1e-6)


def test_warm_starts_find_the_same():
    program = feasible(np.random.default_rng(13), n=8)
    cold = solve_qp(program)
    warm = solve_qp(program, start=WarmStart(cold.x, cold.multipliers))
    np.testing.assert_allclose(warm.x, cold.x, atol=1e-6)
    assert warm.iterations <= cold.iterations


@pytest.mark.skipif(importlib.util.find_spec("proxsuite") is None, reason="proxsuite is not installed")
def test_proxsuite_itself_is_used_where_it_is_installed():
    assert "QPSolverOutput" in solve_qp(feasible(np.random.default_rng(2)), "proxqp").solver_status


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_what_qpsolvers_has_installed_answers_alike(form, monkeypatch):
    rng = np.random.default_rng(14)
    for _ in range(5):
        program = feasible(rng, n=6)
        direct = solve_qp(program)
        solver = QpSolver()
        monkeypatch.setattr(solver, "_run", partial(_qpsolvers, "piqp" if form == "sparse" else "daqp"))
        H, g, A, low, high = program.arrays
        if form == "sparse":
            H, A = sparse.csc_matrix(H), sparse.csc_matrix(A)
        found = solver.solve(H, g, A, low, high)
        assert found.status is Status.SUCCESS, found
        np.testing.assert_allclose(found.x, direct.x, atol=1e-5)


def test_a_free_program_has_no_rows():
    for solver in ("daqp", "piqp"):
        np.testing.assert_allclose(solve_qp(QuadraticProgram(np.eye(3), [1, 2, 3]), solver).x, [-1, -2, -3], atol=1e-8)


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"H": np.eye(3)}, "H"),
        ({"H": [[1, 2], [0, 1]]}, "H"),
        ({"A": np.ones((1, 3))}, "A"),
        ({"A": np.ones((1, 2)), "lower": [1, 2]}, "lower"),
        ({"x_lower": [INF, 0]}, "x_lower"),
        ({"x_upper": ["a", 0]}, "x_upper"),
        ({"g": [1, np.nan]}, "g"),
    ],
)
def test_refused_programs(options, key):
    with pytest.raises(InputError) as caught:
        QuadraticProgram(**{"H": np.eye(2), "g": [0, 0], **options})
    assert caught.value.key == key


def test_unknown_solvers_are_told_the_known():
    assert {"daqp", "piqp"} <= set(solvers())
    with pytest.raises(InputError, match="'daqp', 'piqp'"):
        QpSolver("simplex")
    with pytest.raises(InputError, match="tolerance"):
        QpSolver(tolerance=0)


def test_proxsuite_serves_proxqp_and_no_other(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    assert backend("proxqp").func is _proxqp
    assert backend("clarabel").func is not _proxqp


@pytest.mark.parametrize("kind", [np.asarray, sparse.csc_matrix])
def test_matrices_of_either_kind_are_checked(kind):
    wrong = {
        "H": kind([[1.0, 0.0], [1e-6, 1.0]]),
        "A": kind(np.ones((2, 3))),
        "g": [1.0, np.nan],
        "lower": [np.inf, 0.0],
    }
    good = {"H": kind(1e6 * np.array([[1.0, 1e-10], [0.0, 1.0]])), "g": [1.0, 1.0], "A": kind(np.eye(2))}
    program = QuadraticProgram(**good)
    assert not any(side.flags.writeable for side in (program.lower, program.upper, program.x_lower, program.x_upper))
    for key, value in {**wrong, "H ": kind(np.diag([1.0, np.nan]))}.items():
        with pytest.raises(InputError) as caught:
            QuadraticProgram(**{**good, key.strip(): value})
        assert caught.value.key == key.strip()
    with pytest.raises(InputError, match="x 2 finite numbers"):
        QuadraticProgram(**{**good, "A": kind(np.ones((2, 3)))})
