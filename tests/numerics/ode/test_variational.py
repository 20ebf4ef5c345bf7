"""Variational and adjoint equations: a driven oscillator, whose solutions are exponentials of matrices."""

import casadi as ca
import numpy as np
from scipy.linalg import expm

from trundle.numerics.ode import Integrator, OdeSystem
from trundle.numerics.ode.variational import adjoint, variational

K, C, T = 2.0, 0.1, 2.0


def oscillator() -> OdeSystem:
    """Return x'' = -k x - c x' + sin t with the parameters (k, c)."""
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", 2), ca.SX.sym("p", 2)
    rate = ca.vertcat(x[1], -p[0] * x[0] - p[1] * x[1] + ca.sin(t))
    return OdeSystem(rate=ca.Function("rate", [t, x, p], [rate]))


def sensitivity() -> np.ndarray:
    """Return dx/d(x0, k) at T, integrated with the state."""
    start = np.concatenate([[1.0, 0.0], np.eye(2, 3).ravel(order="F")])
    parameters = [K, C, 0.0, 0.0, 1.0]
    done = Integrator(variational(oscillator(), 3, [0])).integrate(0.0, start, T, parameters)
    return done.x_end[2:].reshape(2, 3, order="F")


def test_the_derivative_by_the_start_is_the_exponential() -> None:
    np.testing.assert_allclose(sensitivity()[:, :2], expm(T * np.array([[0.0, 1.0], [-K, -C]])), atol=1e-10)


def test_the_derivative_by_a_parameter_is_that_of_differences() -> None:
    plain, h = Integrator(oscillator()), 1e-5
    ends = [plain.integrate(0.0, [1.0, 0.0], T, [K + e, C]).x_end for e in (h, -h)]
    np.testing.assert_allclose(sensitivity()[:, 2], (ends[0] - ends[1]) / (2 * h), rtol=1e-6)


def test_the_adjoint_gives_rows_of_the_same_derivatives() -> None:
    end = Integrator(oscillator()).integrate(0.0, [1.0, 0.0], T, [K, C]).x_end
    back = Integrator(adjoint(oscillator(), [0]))
    for i, row in enumerate(sensitivity()):
        done = back.integrate(0.0, np.concatenate([end, np.eye(2)[i], [0.0]]), T, [K, C, T])
        np.testing.assert_allclose(done.x_end[:2], [1.0, 0.0], atol=1e-9)
        np.testing.assert_allclose(done.x_end[2:], row, atol=1e-9)
