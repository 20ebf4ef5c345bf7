"""Functions as data: bitwise as CasADi's virtual machine, whatever runs they are reordered into."""

from __future__ import annotations

import ctypes
import gc

import casadi as ca
import numpy as np
import pytest

from tests.cores import choose
from tests.numerics.compiled.test_tape import BINARY, UNARY, X, Y
from trundle.errors import CompileError
from trundle.numerics.compiled.interpreter import InterpretedFunction, ProgramStruct, interpret_function

CALL = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4, ctypes.c_int)


@pytest.fixture(autouse=True)
def without_a_compiler(cores, monkeypatch):
    choose("cores", cores, monkeypatch)


def called(native: InterpretedFunction, function: ca.Function, *inputs: np.ndarray | None) -> list[np.ndarray]:
    """Call as C does, with work memory that holds something; None: a null pointer for an input."""
    results = [np.full(function.numel_out(i), 7.0) for i in range(function.n_out())]
    arg, res, iw, w = (np.full(count, 99, dtype=np.int64) for count in native.work_sizes)
    w.view(np.float64)[:] = np.nan
    given = [None if value is None else np.array(value, dtype=np.float64).ravel(order="F") for value in inputs]
    arg[: len(given)] = [0 if value is None else value.ctypes.data for value in given]
    res[: len(results)] = [result.ctypes.data for result in results]
    assert CALL(native.address)(*(array.ctypes.data for array in (arg, res, iw, w)), native.memory) == 0
    return results


def same(function: ca.Function, *inputs: np.ndarray) -> None:
    """Assert that all results are those of the virtual machine, bit by bit."""
    native = interpret_function(function)
    assert native is not None
    for found, wanted in zip(called(native, function, *inputs), function.call(list(inputs)), strict=True):
        expected = np.asarray(ca.densify(wanted)).ravel(order="F")
        assert np.array_equal(found, expected, equal_nan=True)
        assert np.array_equal(np.signbit(found), np.signbit(expected)) or np.isnan(expected).any()


def test_every_operation() -> None:
    parts = [getattr(ca, name)(X) for name in UNARY.split()] + [getattr(ca, name)(X, Y) for name in BINARY.split()]
    parts += [X**2, 2 * X, -X, 1 / X, X**1.7, X + np.inf, Y * np.nan, Y - np.inf, X + 0.1, ca.if_else(X > Y, X, Y)]
    f = ca.Function("operations", [X, Y], [ca.vertcat(*parts), ca.SX(0, 3)])
    special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.3, *np.random.default_rng(0).normal(size=4)]
    for x in special:
        for y in special:
            same(f, np.array(x), np.array(y))


def random_function(random: np.random.Generator, size: int) -> ca.Function:
    """Return a function of random operations on what there is already, with inputs among its outputs and patterns."""
    a, b, empty = ca.SX.sym("a", 3), ca.SX.sym("b", 2, 2), ca.SX.sym("c", 0)
    values = [*ca.vertsplit(ca.vertcat(a, ca.vec(b))), ca.SX(0.3), ca.SX(-2.5)]
    for _ in range(size):
        one, other = (values[i] for i in random.integers(max(0, len(values) - 40), len(values), 2))
        made = [one + other, one * other, one - other, ca.sin(one), -one, ca.fmax(one, other), one / (2 + other**2)]
        values.append(made[random.integers(len(made))])
    chosen = [values[i] for i in random.integers(0, len(values), 6)]
    sparse = ca.SX(ca.Sparsity.lower(3), ca.vertcat(*chosen))
    return ca.Function("random", [a, b, empty], [values[-1], sparse, ca.vertcat(a, a[0]), ca.SX(1, 2)])


@pytest.mark.parametrize("seed", range(20))
def test_random_functions(seed: int) -> None:
    random = np.random.default_rng([seed, 43])
    f = random_function(random, int(random.integers(1, 400)))
    for _ in range(3):
        same(f, random.normal(size=3), random.normal(size=(2, 2)), np.zeros(0))


def test_an_input_that_is_not_given_is_zero() -> None:
    f = ca.Function("sum", [X, Y], [X + 2 * Y])
    native = interpret_function(f)
    assert native is not None
    assert called(native, f, None, np.array(3.0))[0] == [6.0]
    assert called(native, f, np.array(3.0), None)[0] == [3.0]


def test_a_function_that_calls_another_is_none_and_so_is_one_of_matrices() -> None:
    other = ca.Function("other", [X], [ca.sin(X)], {"never_inline": True})
    matrix = ca.MX.sym("A", 2, 2)
    assert interpret_function(ca.Function("calls", [X], [other(X) + 1])) is None
    assert interpret_function(ca.Function("matrices", [matrix], [matrix @ matrix])) is None


def test_without_a_core_there_is_none(cores, monkeypatch) -> None:
    choose("neither", cores, monkeypatch)
    assert interpret_function(ca.Function("f", [X], [ca.sin(X)])) is None


def test_functions_that_are_gone_make_room(cores) -> None:
    core, f = cores["interpreter_core"], ca.Function("f", [X], [X + 1])
    taken = []
    while number := core.interpreter_add(ctypes.byref(ProgramStruct())):
        taken.append(number)
    try:
        with pytest.raises(CompileError, match="no room"):
            interpret_function(f)
        core.interpreter_remove(taken.pop())
        for _ in range(3):
            one = interpret_function(f)
            assert one is not None
            assert called(one, f, np.array(0.5))[0] == [1.5]
            with pytest.raises(CompileError, match="no room"):
                interpret_function(f)
            del one
            gc.collect()
    finally:
        for number in taken:
            core.interpreter_remove(number)
