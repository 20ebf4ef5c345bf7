"""A success is one in any units: programs measured in odd units against enumeration of their active sets."""

from __future__ import annotations

import numpy as np
import pytest

from tests.numerics.qp.test_qp import SOLVERS, best_by_enumeration, feasible
from trundle.numerics.qp.judging import residuals
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
