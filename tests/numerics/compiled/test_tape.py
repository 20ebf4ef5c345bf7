"""Tapes: every operation bitwise as CasADi's virtual machine, at several points, also where numbers are not finite."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from trundle.errors import CompileError
from trundle.numerics.compiled.compile import compile_library, find_compiler
from trundle.numerics.compiled.tape import POINTS, tape_sources

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
X, Y = ca.SX.sym("x"), ca.SX.sym("y")
UNARY = (
    "exp log sqrt sin cos tan asin acos atan floor ceil fabs erf sinh cosh tanh asinh acosh atanh log1p expm1 sign "
    "logic_not"
)
BINARY = "power fmod copysign fmin fmax arctan2 hypot remainder plus minus times rdivide lt le eq ne"
BINARY += " logic_and logic_or"


def at_points(function: ca.Function) -> ca.Function:
    """The function's tape, loaded."""
    name = f"tape_{function.name()}"
    path = compile_library(name, tape_sources({name: function}))
    return ca.external(name, str(path))


@needs_compiler
def test_every_operation_bitwise_as_the_virtual_machine():
    parts = [getattr(ca, name)(X) for name in UNARY.split()] + [getattr(ca, name)(X, Y) for name in BINARY.split()]
    parts += [X**2, 2 * X, -X, 1 / X, X**1.7, X + np.inf, Y * np.nan, Y - np.inf, X + 0.1, ca.if_else(X > Y, X, Y)]
    f = ca.Function("operations", [X, Y], [ca.vertcat(*parts), ca.SX(0, 3)])
    special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.3]
    rng = np.random.default_rng(0)
    batches = [
        np.tile(special, (2, 1)),
        rng.permutation(np.tile(special, (2, 1)), axis=1),
        rng.normal(size=(2, POINTS)),
    ]
    tape, plain = at_points(f), f.map(POINTS)
    for values in batches:
        got, empty = tape(*values[:, None])
        np.testing.assert_array_equal(np.array(got), np.array(plain(*values[:, None])[0]))
        assert empty.shape == (0, 3 * POINTS)


@needs_compiler
def test_patterns_stand_side_by_side_as_those_of_a_map():
    w, p = ca.SX.sym("w", 3), ca.SX.sym("p", 0)
    f = ca.Function("slopes", [w, p], [ca.jacobian(ca.vertcat(w[0] * w[2], ca.sin(w[1])), w), ca.SX(1.5)])
    tape, plain = at_points(f), f.map(POINTS)
    for i in range(2):
        assert tape.sparsity_in(i) == plain.sparsity_in(i)
        assert tape.sparsity_out(i) == plain.sparsity_out(i)
    at = np.random.default_rng(1).normal(size=(3, 5 * POINTS))
    # As in a program: several blocks, one after the other.
    for got, wanted in zip(tape.map(5)(at, []), f.map(5 * POINTS)(at, []), strict=True):
        np.testing.assert_array_equal(np.array(got), np.array(wanted))


def test_a_function_that_calls_another_has_no_tape():
    called = ca.Function("called", [X], [ca.sin(X)], {"never_inline": True})
    with pytest.raises(CompileError, match="none of a tape"):
        tape_sources({"calls": ca.Function("calls", [X], [called(X) + 1])})
