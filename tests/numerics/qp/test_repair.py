"""Second tries at a quadratic program: in even units, and as the equations of its active bounds."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from trundle.numerics.qp.backends import ProgramBounds, RawSolution, backend
from trundle.numerics.qp.qp import QpSolver
from trundle.numerics.qp.repair import EvenProgram, second_tries
from trundle.status import Status


def chain(n: int) -> tuple[sparse.csc_matrix, np.ndarray, sparse.csc_matrix, ProgramBounds]:
    """A chain of n unknowns in uneven units, the sums of neighbours bounded, the first of them prescribed."""
    rng = np.random.default_rng(4)
    units = 10 ** rng.uniform(-2, 2, n)
    H = sparse.csc_matrix(sparse.diags(units**2))
    A = sparse.csc_matrix(
        sparse.diags([np.ones(n - 1), np.ones(n - 1)], [0, 1], shape=(n - 1, n)) @ sparse.diags(units)
    )
    low = np.concatenate((np.full(n, -np.inf), [1.0], np.zeros(n - 2)))
    high = np.concatenate((np.full(n, np.inf), [1.0], np.full(n - 2, 0.5)))
    return H, units * rng.normal(size=n), A, ProgramBounds(low, high, low[n:] == high[n:])


def test_a_sparse_program_has_the_even_units_of_the_dense_one():
    H, g, A, limits = chain(12)
    thin, full = EvenProgram.of(H, g, A, limits), EvenProgram.of(H.toarray(), g, A.toarray(), limits)
    np.testing.assert_allclose(thin.units, full.units, rtol=1e-14)
    for mine, theirs in ((thin.H, full.H), (thin.A, full.A)):
        np.testing.assert_allclose(mine.toarray(), theirs, rtol=1e-13)
    assert (thin.step, thin.cost) == (full.step, full.cost)


def test_a_rough_answer_of_a_large_sparse_program_is_made_exact_without_a_dense_matrix(monkeypatch):
    """2000 unknowns: as dense matrices these equations took 2 s for what takes 20 ms."""
    H, g, A, limits = chain(2000)
    exact = QpSolver("clarabel").solve(H, g, A, limits.low, limits.high)
    assert exact.status is Status.SUCCESS
    noise = 1e-5 * np.random.default_rng(5).normal(size=len(exact.x)) * np.abs(exact.x)
    rough = RawSolution(exact.x + noise, exact.multipliers, 3, "rough")
    for kind in ("csc_matrix", "csc_array", "csr_matrix", "coo_array"):
        monkeypatch.setattr(getattr(sparse, kind), "toarray", None)
    tried = next(second_tries(EvenProgram.of(H, g, A, limits), limits, rough, backend("clarabel")))
    np.testing.assert_allclose(tried.x, exact.x, atol=1e-7 * np.abs(exact.x).max())
