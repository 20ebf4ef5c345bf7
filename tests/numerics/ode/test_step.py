"""The Runge-Kutta step: its formula as written, its order, numbers and expressions alike."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from trundle.numerics.ode.step import rk4_step


def test_the_documented_formula() -> None:
    x, h = np.array([0.3, -1.2]), 0.2

    def f(x: np.ndarray, s: float) -> np.ndarray:
        return np.array([x[1] + s, -np.sin(x[0]) * (1 + s)])

    k1 = f(x, 0.0)
    k2 = f(x + h / 2 * k1, 0.5)
    k3 = f(x + h / 2 * k2, 0.5)
    k4 = f(x + h * k3, 1.0)
    assert np.array_equal(rk4_step(f, x, h), x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))


@pytest.mark.parametrize("kind", [ca.SX, ca.MX])
def test_expressions_give_the_numbers(kind: type) -> None:
    x = kind.sym("x", 2)
    rate = ca.Function("f", [x], [ca.vertcat(x[1], -ca.sin(x[0]))])
    step = ca.Function("step", [x], [rk4_step(lambda at, _: rate(at), x, 0.1)])
    numbers = rk4_step(lambda at, _: np.array([at[1], -np.sin(at[0])]), np.array([1.0, 0.5]), 0.1)
    assert step([1.0, 0.5]).full().ravel() == pytest.approx(numbers, abs=1e-15)


def test_the_order_is_four() -> None:
    errors = []
    for count in (10, 20):
        x = np.ones(1)
        for _ in range(count):
            x = rk4_step(lambda at, _: -at, x, 1 / count)
        errors.append(abs(x[0] - np.exp(-1.0)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.1)
