"""A success is one in any units: programs measured in odd units against enumeration of their active sets."""

from __future__ import annotations

import numpy as np
import pytest

from tests.numerics.qp.test_qp import SOLVERS, best_by_enumeration, feasible
from trundle.numerics.qp.backends import ProgramBounds
from trundle.numerics.qp.judging import residuals
from trundle.numerics.qp.proofs import conflict
from trundle.numerics.qp.qp import QpSolver, QuadraticProgram, solve_qp
from trundle.status import Status


def in_units(program: QuadraticProgram, rng: np.random.Generator, decades: float) -> tuple[tuple, np.ndarray]:
    """The same program in other units of its cost, unknowns and rows (powers of two: nothing is rounded)."""
    H, g, A, low, high = program.arrays
    n, m = len(g), len(A)
    span = decades / 2 * np.log2(10.0)
    c, d, e = (np.exp2(np.round(rng.uniform(-span, span, size))) for size in (1, n, m))
    units = np.concatenate((1 / d, e))
    return (c * d[:, None] * H * d, c * d * g, e[:, None] * A * d, units * low, units * high), d


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("decades", "count"), [(0.0, 20), (4.0, 30), (12.0, 50), pytest.param(12.0, 500, marks=pytest.mark.slow)]
)
def test_programs_in_any_units_have_their_solution(solver, decades, count):
    rng, solved = np.random.default_rng(11), 0
    run = QpSolver(solver)
    for _ in range(count):
        program = feasible(rng, n=int(rng.integers(1, 4)), bent=0.3)
        arrays, d = in_units(program, rng, decades)
        found = run.solve(*arrays)
        if found.status is Status.SUCCESS:
            np.testing.assert_allclose(d * found.x, best_by_enumeration(program), rtol=1e-4, atol=1e-5)
            solved += 1
        else:
            assert found.status is Status.NOT_CONVERGED
    assert solved == count


def test_the_error_is_the_same_in_all_units():
    rng = np.random.default_rng(5)
    for _ in range(50):
        program = feasible(rng)
        H, g, A, low, high = program.arrays
        s = solve_qp(program)
        x, push = s.x + 1e-4 * rng.normal(size=len(g)), s.multipliers * (1 + 1e-4 * rng.normal(size=len(low)))
        scaled, d = in_units(program, rng, 12.0)
        cost = (scaled[1] / d / g)[0]
        units = np.concatenate((d, (scaled[2] / A / d)[:, 0] ** -1 if len(A) else []))
        one = residuals(H, g, A, low, high, x, push)[3]
        assert 1e-7 < one
        assert residuals(*scaled, x / d, cost * units * push)[3] == pytest.approx(one, rel=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_contradictions_and_falls_are_told_in_any_units(solver):
    rng, run = np.random.default_rng(8), QpSolver(solver)
    for _ in range(10):
        n = int(rng.integers(2, 5))
        B, rows = rng.normal(size=(n - 1, n)), rng.normal(size=(2, n))
        A = np.vstack((rows, -rows.sum(axis=0)))
        apart = QuadraticProgram(B.T @ B, rng.normal(size=n), A, upper=[0.0, 0.0, -1.0])
        arrays, _ = in_units(apart, rng, 12.0)
        assert run.solve(*arrays).status is Status.CONFLICTING_LIMITS
        null = np.linalg.svd(B)[2][-1]
        falls = QuadraticProgram(B.T @ B, -null, null[None], lower=[0.0])
        arrays, _ = in_units(falls, rng, 2.0)
        assert run.solve(*arrays).status is Status.UNBOUNDED


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("power", [-12, -7, 0, 7, 12])
def test_a_scaled_or_uneven_cost_has_its_minimum(solver, power):
    s = 10.0**power
    for H, limits in (
        (np.diag([s, s]), {}),
        (np.diag([s, 1 / s]), {}),
        (np.diag([s, 1 / s]), {"x_lower": [0, 0], "x_upper": [2, 2]}),
    ):
        found = solve_qp(QuadraticProgram(H, -np.diag(H), **limits), solver)
        np.testing.assert_allclose(found.x, [1.0, 1.0], rtol=1e-5)
    tiny = QuadraticProgram(np.eye(2), [0, 0], [[1.0, 1.0]], lower=[s], x_lower=[0, 0], x_upper=[10 * s, s / 4])
    np.testing.assert_allclose(solve_qp(tiny, solver).x, [0.75 * s, 0.25 * s], rtol=1e-5)


def test_limits_that_hold_far_away_are_no_contradiction():
    """1 <= x, x + 1e-9 y <= -1: least squares do not see that y = -2e9 holds, and what is left of y is small."""
    rows = np.array([[1.0, 1e-9]])
    limits = ProgramBounds(np.array([1.0, -np.inf, -np.inf]), np.array([np.inf, np.inf, -1.0]), np.array([False]))
    assert conflict(rows, limits) is None
    proof = conflict(np.array([[1.0, 0.0]]), limits)
    assert proof is not None
    np.testing.assert_allclose(proof.multipliers, [-1.0, 0.0, 1.0])
    assert proof.x[0] == pytest.approx(0.0)  # as far from both


ONE, FREE = np.ones((1, 2)), np.zeros((2, 2))
EDGES = {
    "no unknowns": (np.zeros((0, 0)), [], {}, []),
    "no unknowns, a row that holds": (np.zeros((0, 0)), [], {"A": np.zeros((1, 0)), "upper": [2.0]}, []),
    "no unknowns, a row that does not": (np.zeros((0, 0)), [], {"A": np.zeros((1, 0)), "lower": [1.0]}, "conflicting"),
    "all fixed": (np.eye(2), [1, 1], {"x_lower": [1, 2], "x_upper": [1, 2]}, [1, 2]),
    "all fixed outside a row": (
        np.eye(2),
        [1, 1],
        {"A": ONE, "upper": [2.0], "x_lower": [1, 2], "x_upper": [1, 2]},
        "conflicting",
    ),
    "empty row": (np.eye(2), [1, 1], {"A": 0 * ONE, "upper": [1.0]}, [-1, -1]),
    "empty row at its bound": (np.eye(2), [1, 1], {"A": 0 * ONE, "upper": [0.0]}, [-1, -1]),
    "empty row that cannot hold": (np.eye(2), [1, 1], {"A": 0 * ONE, "upper": [-1e-9]}, "conflicting"),
    "rows thrice": (np.eye(2), [1, 1], {"A": np.vstack([ONE] * 3), "lower": [1] * 3, "upper": [1] * 3}, [0.5, 0.5]),
    "unbounded rows": (np.eye(2), [1, 1], {"A": np.vstack([ONE] * 3)}, [-1, -1]),
    "bounds that cross": (np.eye(2), [1, 1], {"A": ONE, "lower": [2.0], "upper": [1.0]}, "conflicting"),
    "bounds that cross a little": (np.eye(2), [1, 1], {"x_lower": [2e-9, 0], "x_upper": [1e-9, 1]}, "conflicting"),
    "linear": (FREE, [1, -1], {"x_lower": [0, 0], "x_upper": [1, 1]}, [0, 1]),
    "linear, tiny": (FREE, [1e-12, -1e-12], {"x_lower": [0, 0], "x_upper": [1, 1]}, [0, 1]),
    "linear, free": (FREE, [1, -1], {}, "unbounded"),
    "nothing": (FREE, [0, 0], {"x_lower": [1, 1], "x_upper": [1, 1]}, [1, 1]),
    "singular": (np.ones((2, 2)), [-1, -1], {"x_lower": [0.25, 0.25], "x_upper": [0.25, 3]}, [0.25, 0.75]),
    "zero is best": (np.eye(2), [0, 0], {"x_lower": [0, -1]}, [0, 0]),
    "not convex": (-np.eye(2), [0, 0], {}, "unbounded"),
    "a saddle": ([[0, 1], [1, 0]], [0, 0], {}, "unbounded"),
    "a saddle downhill": (np.diag([1e-9, -1e-9]), [1e-9, 1e-9], {"x_lower": [-1, -1]}, "unbounded"),
    "a saddle in a box": (np.diag([1, -1]), [1, 0.1], {"x_lower": [-1, -1], "x_upper": [1, 1]}, "not-converged"),
}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", EDGES)
def test_edge_cases_have_their_answer(name, solver, capfd):
    H, g, limits, expected = EDGES[name]
    found = solve_qp(QuadraticProgram(H, g, **limits), solver, throw=False)
    if isinstance(expected, str):
        assert found.status.label.startswith(expected), found
    else:
        assert found.status is Status.SUCCESS
        np.testing.assert_allclose(found.x, expected, atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("size", [1e-160, 1e150])
def test_scales_beyond_arithmetic_do_not_end_in_an_exception(solver, size, capfd):
    for H, g in ((size * np.eye(2), [1, 1]), (np.eye(2), [size, size]), (np.diag([1, size]), [size, 1])):
        found = solve_qp(QuadraticProgram(H, g, ONE * size, lower=[size], x_lower=[0, 0]), solver, throw=False)
        assert found.status is not Status.SUCCESS or np.all(np.isfinite(found.x))
