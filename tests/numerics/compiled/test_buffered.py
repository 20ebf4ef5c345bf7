"""A quick call is the function it calls, and survives being sent to another process."""

from __future__ import annotations

import pickle

import casadi as ca
import numpy as np
import pytest

from trundle.numerics.compiled.buffered import BufferedFunction


def test_a_quick_call_is_the_function():
    x, y = ca.SX.sym("x", 2), ca.SX.sym("y", 3)
    function = ca.Function("f", [x, y], [ca.vertcat(x[0] * y[2], 0, x[1]), ca.sin(y)])
    for quick in (BufferedFunction(function), pickle.loads(pickle.dumps(BufferedFunction(function)))):
        first = quick(np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0]))
        second = quick(np.array([2.0, 2.0]), np.zeros(3))
        np.testing.assert_allclose(first[0], [5.0, 0.0, 2.0])
        np.testing.assert_allclose(first[1], np.sin([3.0, 4.0, 5.0]))
        np.testing.assert_allclose(second[0], [0.0, 0.0, 2.0])
    with pytest.raises(ValueError, match="argument"):
        quick(np.zeros(2))
