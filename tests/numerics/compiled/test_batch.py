"""A function over many points at once, instruction by instruction: the values of one point after the other."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from trundle.errors import InputError
from trundle.numerics.compiled.batch import batch_function
from trundle.numerics.compiled.buffered import BufferedCall


def mixed():
    """Every kind of instruction a stage has: one and two arguments, branches, constants, an unused input, a zero."""
    x, p = ca.SX.sym("x", 3), ca.SX.sym("p", 2)
    branch = ca.if_else(x[0] > p[0], ca.log(ca.fmax(x[0], p[0])), x[1] ** 2 - p[1])
    first = ca.vertcat(branch, ca.atan2(x[1], x[2]), ca.sin(x[0]) / (1 + ca.exp(x[2])), 2.5, x[1])
    sparse = ca.SX(2, 2)
    sparse[1, 0] = ca.tanh(x[0] * p[1]) - ca.sqrt(x[1] ** 2 + 1)
    return ca.Function("mixed", [x, ca.SX(0, 1), p], [first, sparse])


@pytest.mark.parametrize("count", [1, 7])
def test_values_are_bitwise_those_of_single_points(count):
    function, rng = mixed(), np.random.default_rng(3)
    x, p = rng.normal(size=(count, 3)), rng.normal(size=(count, 2))
    first, sparse = np.zeros((5, count)), np.zeros((1, count))
    call = BufferedCall(
        batch_function(function, count), [np.ascontiguousarray(x.T), np.zeros(0), p.T.copy()], [first, sparse]
    )
    call()
    for k in range(count):
        one = function(x[k], [], p[k])
        assert np.array_equal(first[:, k], np.array(one[0]).ravel())
        assert sparse[0, k] == float(one[1][1, 0])


def test_a_function_that_calls_another_one():
    x = ca.SX.sym("x", 2)
    spline = ca.interpolant("spline", "bspline", [np.linspace(-4, 4, 9)], np.sin(np.linspace(-4, 4, 9)))
    sparse = ca.SX(2, 2)
    sparse[1, 0] = x[1] ** 2
    function = ca.Function("measured", [x, ca.SX(0, 1)], [x[1] - spline(x[0]), sparse])
    points, found, rest = np.random.default_rng(3).normal(size=(2, 5)), np.zeros((1, 5)), np.zeros((1, 5))
    BufferedCall(batch_function(function, 5), [points, np.zeros(0)], [found, rest])()
    for k in range(5):
        one = function(points[:, k], [])
        assert found[0, k] == float(one[0])
        assert rest[0, k] == float(one[1][1, 0])


def test_inputs_are_read_at_every_call():
    x = ca.SX.sym("x")
    given, found = np.array([[1.0, 2.0, 3.0]]), np.zeros((1, 3))
    call = BufferedCall(batch_function(ca.Function("square", [x], [x**2]), 3), [given], [found])
    call()
    assert found.tolist() == [[1.0, 4.0, 9.0]]
    given[0] = [4.0, np.nan, -1.0]
    call()
    assert found[0, [0, 2]].tolist() == [16.0, 1.0]
    assert np.isnan(found[0, 1])


def test_at_least_one_point():
    with pytest.raises(InputError, match="count"):
        batch_function(mixed(), 0)
