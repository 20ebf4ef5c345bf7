"""The solver in C that exports carry: solutions and contradictions, of degenerate programs too, are those of Python."""

from __future__ import annotations

import ctypes
from collections import Counter
from importlib import resources

import numpy as np
import pytest
from numpy.typing import NDArray

from trundle.numerics.compiled.compile import compile_library, find_compiler
from trundle.numerics.qp.qp import QpSolver
from trundle.status import Status

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")

SOLVED, CONFLICT, NOT_FINITE, NOT_CONVEX = range(4)
CALL = """
#include "dense_qp.h"
int dense_qp(int n, int m, const double *H, const double *g, const double *A, const double *low, const double *high,
             double *x, double *y, double *doubles, int *ints)
{ return qp_solve(n, m, H, g, A, low, high, x, y, doubles, ints); }
int dense_qp_doubles(int n, int m) { return QP_DOUBLES(n, m); }
int dense_qp_ints(int n, int m) { return QP_INTS(n, m); }
"""
Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    header = resources.files("trundle.numerics.qp").joinpath("dense_qp.h").read_text("utf-8")
    path = compile_library("dense_qp", {"call.c": CALL, "dense_qp.h": header}, flags=("-O2", "-std=c99"))
    assert path is not None
    return ctypes.CDLL(str(path))


def solve(library: ctypes.CDLL, H: Array, g: Array, A: Array, low: Array, high: Array) -> tuple[int, Array, Array]:
    n, m = len(g), len(low) - len(g)
    x, y = np.zeros(n), np.zeros(n + m)
    given = [np.ascontiguousarray(array, dtype=np.float64) for array in (H, g, A, low, high)]
    # Memory with a guard behind it, which the solver must leave alone.
    doubles = np.full(library.dense_qp_doubles(n, m) + 8, 7.0)
    ints = np.full(library.dense_qp_ints(n, m) + 8, 7, dtype=np.int32)
    arrays = [array.ctypes.data_as(ctypes.c_void_p) for array in (*given, x, y, doubles, ints)]
    status = library.dense_qp(n, m, *arrays)
    assert np.all(doubles[-8:] == 7.0)
    assert np.all(ints[-8:] == 7)
    return status, x, y


def drawn(rng: np.random.Generator) -> tuple[Array, Array, Array, Array, Array]:
    """A program that is feasible, unless an equation was moved: singular tasks, rows that depend on each other."""
    n, m = int(rng.integers(1, 15)), int(rng.integers(0, 25))
    T = rng.standard_normal((int(rng.integers(0, n + 1)), n))
    H = T.T @ T + 10.0 ** rng.uniform(-8, 0) * np.eye(n)
    g = rng.standard_normal(n) * 10.0 ** rng.uniform(-2, 2)
    A = rng.standard_normal((m, n))
    if m > 3 and rng.random() < 0.5:
        A[1:4] = np.outer((1.0, -1.0, 2.0), A[0])
    at = np.concatenate((inside := rng.standard_normal(n), A @ inside))
    low, high = (at + side * rng.integers(0, 3, n + m) * rng.random(n + m) for side in (-1, 1))
    low[rng.random(n + m) < 0.3], high[rng.random(n + m) < 0.3] = -np.inf, np.inf
    if m and rng.random() < 0.15:
        row = n + int(rng.integers(m))
        low[row] = high[row] = at[row] + 3.0
    return H, g, A, low, high


@pytest.mark.parametrize("count", [300, pytest.param(6000, marks=pytest.mark.slow)])
def test_random_and_degenerate_programs_are_solved_as_by_the_solver_of_python(library: ctypes.CDLL, count: int) -> None:
    rng, solver, outcomes = np.random.default_rng(1), QpSolver("daqp"), Counter[tuple[Status, int]]()
    for _ in range(count):
        H, g, A, low, high = drawn(rng)
        known = solver.solve(H, g, A, low, high)
        status, x, y = solve(library, H, g, A, low, high)
        outcomes[known.status, status] += 1
        if status != SOLVED or known.status is not Status.SUCCESS:
            continue
        cost, least = (0.5 * z @ H @ z + g @ z for z in (x, known.x))
        assert cost == pytest.approx(least, rel=1e-6, abs=1e-6)
        # Multipliers: stationary, and of the right sign where there is no bound.
        assert np.abs(H @ x + g + y[: len(x)] + A.T @ y[len(x) :]).max() <= 1e-6 * max(1.0, np.abs(g).max())
        assert np.all(y[np.isinf(low)] >= 0.0)
        assert np.all(y[np.isinf(high)] <= 0.0)
    same = outcomes[Status.SUCCESS, SOLVED] + outcomes[Status.CONFLICTING_LIMITS, CONFLICT]
    assert outcomes[Status.CONFLICTING_LIMITS, CONFLICT] > count // 20
    assert same >= count - count // 1000  # at the edge of contradiction one may be judged otherwise


def test_a_bound_a_row_and_an_equation_by_hand(library: ctypes.CDLL) -> None:
    inf = np.inf
    # min (x - 3)^2 + (y + 1)^2, x <= 1, x + y = 2 -> (1, 1); its multipliers: x <= 1: 8, equation: -4.
    H, g, A = 2.0 * np.eye(2), np.array([-6.0, 2.0]), np.ones((1, 2))
    status, x, y = solve(library, H, g, A, np.array([-inf, -inf, 2.0]), np.array([1.0, inf, 2.0]))
    assert status == SOLVED
    assert x == pytest.approx([1.0, 1.0], abs=1e-14)
    assert y == pytest.approx([8.0, 0.0, -4.0], abs=1e-13)


def test_what_cannot_be_solved_is_said(library: ctypes.CDLL) -> None:
    H, g, A = np.eye(2), np.zeros(2), np.ones((1, 2))
    low, high = np.array([0.0, 0.0, -np.inf]), np.array([1.0, 1.0, -1.0])
    assert solve(library, H, g, A, low, high)[0] == CONFLICT
    assert solve(library, H, g, A, np.full(3, 1.0), np.full(3, -1.0))[0] == CONFLICT
    assert solve(library, -H, g, A, low, np.full(3, 3.0))[0] == NOT_CONVEX
    for broken in ((np.nan * H, g, A), (H, np.array([0.0, np.nan]), A), (H, g, np.array([[np.inf, 0.0]]))):
        assert solve(library, *broken, low, np.full(3, 3.0))[0] == NOT_FINITE
    assert solve(library, H, g, A, np.array([0.0, np.nan, 0.0]), np.full(3, 3.0))[0] == NOT_FINITE


def test_equations_that_repeat_each_other_are_no_contradiction(library: ctypes.CDLL) -> None:
    A = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 0.0]])
    bounds = np.concatenate((np.full(3, np.inf), [1.0, 2.0, 0.0]))
    low = np.concatenate((np.full(3, -np.inf), [1.0, 2.0, 0.0]))
    status, x, _ = solve(library, np.eye(3), np.zeros(3), A, low, bounds)
    assert status == SOLVED
    assert x == pytest.approx([0.2, 0.4, 0.0], abs=1e-14)
    bounds[4] = low[4] = 2.1
    assert solve(library, np.eye(3), np.zeros(3), A, low, bounds)[0] == CONFLICT
