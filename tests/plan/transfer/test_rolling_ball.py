from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from trundle.errors import InputError, SimulationError
from trundle.systems.walking.plan.rolling_ball import BallTransfer, plan_ball

QUARTER = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
BALL = {"radius": 0.1, "mass": 1.3, "goal": (0.4, 0.2)}


def rolled(plan, law):
    """Final (x, y), rotation and w of D w' = tau, (x, y)' = r (w_y, -w_x), R' = [w] R, without the package."""
    task = plan.task
    rolls = task.moment + task.mass * task.radius**2
    D = np.array([rolls, rolls, task.moment if law == "rolling" else np.inf])

    def rate(t, y):
        w, R = y[2:5], y[5:].reshape(3, 3)
        tau = np.array([np.interp(t, plan.times, u) for u in plan.inputs.T])
        return np.concatenate(
            [task.radius * np.array([w[1], -w[0]]), tau / D, np.cross(w, R, axisb=0, axisc=0).ravel()]
        )

    y = np.concatenate([np.zeros(5), np.eye(3).ravel()])
    for a, b in zip(plan.times, plan.times[1:], strict=False):
        y = solve_ivp(rate, (a, b), y, rtol=1e-10, atol=1e-12).y[:, -1]
    return y[:2], Rotation.from_matrix(y[5:].reshape(3, 3)), y[2:5]


@pytest.mark.parametrize("law", ["rolling", "pure-rolling"])
def test_torques_bring_the_sheets_ball_to_its_goal(law):
    plan = plan_ball(BallTransfer(**BALL, rotation=QUARTER, law=law), nodes=60, starts=2)
    place, turn, w = rolled(plan, law)
    np.testing.assert_allclose(place, (0.4, 0.2), atol=1e-8)
    goal = Rotation.from_quat(QUARTER, scalar_first=True)
    assert (goal.inv() * turn).magnitude() < 2e-5
    np.testing.assert_allclose(w, 0.0, atol=1e-7)
    assert plan.kkt_residual < 1e-8
    if law == "pure-rolling":
        assert np.max(np.abs(plan.inputs[:, 2])) < 1e-9


@pytest.mark.slow
def test_forbidden_spin_costs_more_and_the_straight_roll_least():
    free = plan_ball(BallTransfer(**BALL, rotation=QUARTER), nodes=40, starts=4)
    forbidden = plan_ball(BallTransfer(**BALL, rotation=QUARTER, law="pure-rolling"), nodes=40, starts=4)
    task = BallTransfer(**BALL)
    straight = plan_ball(task, nodes=20, starts=1)
    assert straight.cost < free.cost < forbidden.cost
    assert straight.cost == pytest.approx(task.straight_cost, rel=1e-5)
    rolls = task.moment + 1.3 * 0.1**2
    assert task.moment == pytest.approx(0.4 * 1.3 * 0.1**2)
    assert task.straight_cost == pytest.approx(12 * rolls**2 * (0.4**2 + 0.2**2) / 0.1**2)
    assert free.optima[0] <= free.optima[-1]


def test_cost_scales_with_time_and_mass():
    one = BallTransfer(**BALL)
    slow = BallTransfer(**BALL, duration=2.0)
    assert one.straight_cost == pytest.approx(8 * slow.straight_cost)
    assert plan_ball(slow, nodes=20, starts=1).cost == pytest.approx(slow.straight_cost, rel=1e-5)


def test_kinematic_path_has_constant_speed_and_its_costates_rotate():
    """Pontryagin: the speed is constant, and curvature is linear in the place (an elastica without constant)."""
    task = BallTransfer(**BALL, rotation=QUARTER, law="pure-rolling", model="kinematic")
    plan = plan_ball(task, nodes=120, starts=1)
    w = plan.inputs
    speed = np.hypot(*w.T)
    assert np.ptp(speed) < 2e-3 * np.mean(speed)
    heading = np.unwrap(np.arctan2(-w[:, 0], w[:, 1]))
    curvature = np.gradient(heading, plan.times * np.mean(speed) * task.radius, edge_order=2)[3:-3]
    at = plan.states[3:-3, :2]
    A = np.column_stack([at, np.ones(len(at))])
    fit = A @ np.linalg.lstsq(A, curvature, rcond=None)[0]
    assert np.max(np.abs(fit - curvature)) < 5e-3 * np.max(np.abs(curvature))


@pytest.mark.parametrize("model", ["dynamic", "kinematic"])
def test_held_torques_turn_the_ball_as_planned(model):
    law = "pure-rolling" if model == "kinematic" else "rolling"
    plan = plan_ball(BallTransfer(**BALL, rotation=QUARTER, law=law, model=model), nodes=20, starts=1)
    task, parts = plan.task, 40
    torques = plan.torques(parts)
    rolls = task.moment + task.mass * task.radius**2
    h = task.duration / len(torques)
    w = plan.angular_velocity[0] + np.cumsum(torques, axis=0) * h / [rolls, rolls, task.moment]
    fine = np.linspace(0, task.duration, len(torques) + 1)[1:]
    planned = np.column_stack([np.interp(fine, plan.times, u) for u in plan.angular_velocity.T])
    at_nodes = np.isclose(fine[:, None], plan.times[None, 1:], atol=1e-12).any(axis=1)
    if model == "kinematic":
        np.testing.assert_allclose(w, planned, atol=1e-9)
    else:
        np.testing.assert_allclose(w[at_nodes], planned[at_nodes], atol=1e-6)


def test_rate_of_the_problem_is_the_sheets():
    task = BallTransfer(**BALL, rotation=QUARTER)
    phase = task.problem.phases[0]
    f = ca.Function("f", [phase.x, phase.u], [phase.rate])
    w, tau = np.array([0.3, -0.8, 1.1]), np.array([0.2, -0.1, 0.4])
    x = np.array(task.place(w).x)
    layout = task.robot.system.model().layout
    rate = np.asarray(f(x, tau / (task.mass * task.radius**2))).ravel()
    np.testing.assert_allclose(rate[layout["ball.position"]], 0.1 * np.array([w[1], -w[0], 0.0]), atol=1e-12)
    rolls = task.moment + task.mass * task.radius**2
    np.testing.assert_allclose(rate[layout["ball.angular_velocity"]], tau / [rolls, rolls, task.moment], rtol=1e-10)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("radius", 0.0), ("mass", -1.0), ("goal", (np.nan, 0.0)), ("goal", (1.0,)), ("duration", 0.0),
        ("rotation", (1.0, 1.0, 0.0, 0.0)), ("law", "sliding"), ("model", "static"), ("gravity", -9.81),
        ("friction", -0.1), ("inertia", -1.0),
    ],
)  # fmt: skip
def test_numbers_are_checked(key, value):
    with pytest.raises(InputError, match=key):
        BallTransfer(**{**BALL, key: value}).place()


def test_plans_that_fail_and_arguments_are_refused():
    task = BallTransfer(**BALL)
    for arguments in ({"nodes": 3}, {"starts": 0}, {"seed": -1}):
        with pytest.raises(InputError):
            plan_ball(task, **arguments)
    with pytest.raises(SimulationError, match="no plan"):
        plan_ball(BallTransfer(radius=1e-3, mass=1.0, goal=(40.0, 20.0), rotation=QUARTER), nodes=4, starts=1)
