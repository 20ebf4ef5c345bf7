"""The regulator that plans end in and begin from: its cost to go, and what it does to the robot."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from trundle.systems.wallbounce.control import costs
from trundle.systems.wallbounce.control.contact_implicit import ContactImplicit
from trundle.systems.wallbounce.control.costs import BODY, BalancerWeights, about_rest, balance, holding
from trundle.systems.wallbounce.robot import BallBalancer

ROBOT, WEIGHTS, STEP = BallBalancer(), BalancerWeights(), 0.04


def rate():
    """(x, u) -> dx/dt, hands free and arms still."""
    x, u = ca.SX.sym("x", 16), ca.SX.sym("u", 3)
    return ca.Function("rate", [x, u], [ROBOT.rate(x, u[:2], u[2], [ca.SX(3, 1)] * 2, ca.SX(6, 1))])


@pytest.mark.parametrize("entry", range(10))
def test_the_cost_to_go_is_the_integral_of_the_costs_of_the_closed_loop(entry):
    """Slopes by differences of the equations, costs a stage over `step`, from an error in one entry and in all."""
    f, rest, h, found = rate(), ROBOT.rest(), 1e-6, balance(ROBOT, WEIGHTS, STEP)
    A = [f(rest + h * d, np.zeros(3)) - f(rest - h * d, np.zeros(3)) for d in np.eye(16)[BODY]]
    B = [f(rest, h * d) - f(rest, -h * d) for d in np.eye(3)]
    A, B = (np.array([np.array(one).ravel()[BODY] for one in slopes]).T / (2 * h) for slopes in (A, B))
    w = WEIGHTS
    Q = np.array([w.position] * 2 + [w.yaw] + [w.lean] * 2 + [w.linear] * 2 + [w.angular] * 3)
    R = np.array([w.drive] * 2 + [w.yaw_torque])

    def motion(t, z):
        u = -found.gain @ z[:10]
        return [*(A @ z[:10] + B @ u), (Q @ z[:10] ** 2 + R @ u**2) / (2 * STEP)]

    start = 0.1 * np.eye(10)[entry] + 0.01
    end = solve_ivp(motion, (0.0, 60.0), [*start, 0.0], rtol=1e-9, atol=1e-12).y[:, -1]
    assert np.max(np.abs(end[:10])) <= 1e-4
    assert np.sum((found.to_go @ start) ** 2) / 2 == pytest.approx(end[10], rel=1e-3)
    assert np.array_equal(found.to_go, np.triu(found.to_go))


@pytest.mark.parametrize("error", [{0: 0.1, 1: -0.05}, {2: 0.3}, {3: 0.03, 4: -0.02}, {11: 2.0, 12: -1.0}])
def test_balancing_brings_the_robot_back(error):
    """The guess's law in the nonlinear equations, no law held longer than a stage's twentieth."""
    level = ContactImplicit(ROBOT)
    guess, f, x = level.balancing(ROBOT.rest(), WEIGHTS), rate(), ROBOT.rest()
    for entry, value in error.items():
        x[entry] += value
    assert guess.gains is not None
    assert guess.states is not None
    for _ in range(4000):
        u = guess.inputs[0] + guess.gains[0] @ (x - guess.states[0])
        assert np.all(u[3:] == 0.0)  # arms are held
        half = x + 0.001 * np.array(f(x, u[:3])).ravel()
        x = x + 0.002 * np.array(f(half, u[:3])).ravel()
        assert np.max(np.abs(x[3:5])) < 0.3
    assert np.max(np.abs(x - ROBOT.rest())[BODY]) < 0.02


def test_how_fast_it_falls_and_what_holds_it_are_no_matter_of_round_off(monkeypatch):
    """Both axes fall at one rate: vectors of a double eigenvalue are any, or a complex pair."""
    A, B = about_rest(ROBOT)
    rates, D = holding(ROBOT)
    np.testing.assert_allclose(D @ A, rates[:, None] * D, atol=1e-9 * np.abs(D).max())
    np.testing.assert_allclose(D @ B[:, :2], np.eye(2), atol=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(20):
        noise = 1e-15 * np.abs(A).max() * rng.standard_normal(A.shape)
        monkeypatch.setattr(costs, "about_rest", lambda _, near=A + noise: (near, B))
        again, other = holding(ROBOT)
        np.testing.assert_allclose(again, rates, rtol=1e-9)
        np.testing.assert_allclose(other, D, atol=1e-8)
