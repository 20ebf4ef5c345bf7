"""Gains by name: those of the algebraic Riccati equation, of least cost, and for what rolls, where that has none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import solve_continuous_are

import trundle as tr


def cart() -> tr.RollingTree:
    robot = tr.Robot()
    slider = robot.prismatic(None, (0, 0), 1.0, 0.1, axis=(1, 0), name="cart")
    robot.revolute(slider, (0, 0), 0.2, 0.005, center_of_mass=(0, 0.5), name="pole", actuated=False)
    return robot.finish()


def wheel() -> tr.RollingTree:
    robot = tr.Robot()
    body = robot.free(2.0, 0.01, shape=tr.Circle(0.1), name="wheel")
    robot.revolute(body, (0, 0), 3.0, 0.05, center_of_mass=(0, 0.35), name="pole")
    robot.terrain(tr.Line(), friction=1.0)
    return robot.finish()


def test_at_a_short_period_gains_are_those_of_continuous_time() -> None:
    tree, weights = cart(), {"cart.joint": 2.0, "pole.joint": 30.0, "pole.rate": 0.5}
    law = tr.lqr(tree, tree.place(), weights, {"cart.torque": 0.1}, 1e-5, low=-3.0, high=3.0)
    linear, Q, R = tr.linearize(tree, tree.place()), np.diag([2.0, 30.0, 0.0, 0.5]), np.array([[0.1]])
    K = np.linalg.solve(R, linear.B.T @ solve_continuous_are(linear.A, linear.B, Q, R))
    np.testing.assert_allclose(np.asarray(law.gains)[0] @ linear.directions, K, rtol=1e-3)
    assert law(0.0, tree.place(pole=1.0).x).tolist() == [-3.0]


def test_no_other_gains_of_a_wheel_with_a_pole_cost_less() -> None:
    tree = wheel()
    standing, Q, R = tree.place(wheel=(0, 0.1, 0)), {"wheel.position": 20.0, "pole.joint": 1.0}, {"pole.torque": 0.3}
    law, period = tr.lqr(tree, standing, Q, R, 0.02), 0.02

    def cost(gains: np.ndarray) -> float:
        start = tree.place(wheel=(0, 0.1, 0), pole=1e-3)
        run = tr.simulate(tree, start, 4.0, policy=replace(law, gains=gains), output_step=period / 10)
        lost = (
            20.0 * run["body_position"][:, 0, 0] ** 2
            + run["joint_position"][:, 0] ** 2
            + 0.3 * run["torque"][:, 0] ** 2
        )
        return float(np.trapezoid(lost, run["time"]))

    best = cost(np.asarray(law.gains))
    for i in np.flatnonzero(np.abs(np.asarray(law.gains)[0, 0]) > 1e-6):
        for factor in (0.9, 1.1):
            gains = np.array(law.gains)
            gains[:, 0, i] *= factor
            assert cost(gains) > best, (i, factor)


def test_what_no_input_moves_is_left_where_it_costs_least() -> None:
    """Place plus radius times angle of the wheel stays at 2 cm: q_x x^2 + q_a a^2 is least at x = 2 cm - r a."""
    tree, q_x, q_a = wheel(), 1000.0, 1.0
    standing = tree.place(wheel=(0, 0.1, 0))
    law = tr.lqr(tree, standing, {"wheel.position": q_x, "pole.joint": q_a}, {"pole.torque": 1.0}, 0.01)
    run = tr.simulate(tree, tree.place(wheel=(0.02, 0.1, 0)), 5.0, policy=law)
    turned = q_x * 0.1 * 0.02 / (q_x * 0.1**2 + q_a)
    assert run["body_angle"][-1, 0] == pytest.approx(turned, rel=1e-5)
    assert run["body_position"][-1, 0, 0] == pytest.approx(0.02 - 0.1 * turned, rel=1e-4)
    assert abs(run["body_angle"][-1, 1]) < 1e-8


@pytest.mark.parametrize("used", [("hand.twist_rate",), ("hand.twist_rate.angular_x", "hand.twist_rate.angular_y")])
def test_a_ball_on_a_plate_comes_back_though_most_of_its_states_cannot(used: tuple[str, ...]) -> None:
    ball = tr.RigidBody(tr.Sphere(0.05), mass=0.3, inertia="solid")
    pair = tr.RollingPair(ball, tr.Hand(tr.Plane()), friction=0.8)
    weights = {"object.position": 1.0} | ({"hand.position": 1.0, "hand.orientation": 1.0} if len(used) == 1 else {})
    law = tr.lqr(pair, pair.place(), weights, dict.fromkeys(used, 0.01), 0.01)
    run = tr.simulate(pair, pair.place(object_position=(0.02, 0.01, 0.05)), 5.0, policy=law)
    assert run.status is tr.Status.SUCCESS
    assert np.linalg.norm(run["object_position"][-1, :2]) < 1e-4
    if len(used) == 2:
        assert not np.any(run["hand_position"])


@pytest.mark.parametrize("written", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_ball_on_a_ball_is_held_both_ways_however_that_is_written(written: bool) -> None:
    radius = 0.3
    level = tr.geometry.ExpressionLevelSurface(lambda x, y, z: x**2 + y**2 + z**2 - radius**2, size=radius)
    hand = tr.Hand(level if written else tr.Sphere(radius))
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.03), mass=0.1), hand)
    top = pair.place(contact_on_hand=(0, 0, radius))
    weights = {"object.position.x": 100.0, "object.position.y": 100.0, "hand.position": 1.0, "hand.orientation": 1.0}
    law = tr.lqr(pair, top, weights, {"hand.twist_rate": 0.01}, 0.01)
    beside = pair.place(contact_on_hand=(0.004, 0.003, np.sqrt(radius**2 - 2.5e-5)))
    run = tr.simulate(pair, beside, 4.0, policy=law)
    assert run.status is tr.Status.SUCCESS
    assert np.abs(run["contact_on_hand"][-1] - [0, 0, radius]).max() < 1e-5


def test_an_arm_is_held_by_the_torque_of_its_equilibrium() -> None:
    robot = tr.Robot()
    robot.revolute(None, (0, 0), 1.0, 0.01, center_of_mass=(0.3, 0), name="arm")
    arm = robot.finish()
    held = [1.0 * 9.81 * 0.3]
    law = tr.lqr(arm, arm.place(), {"arm.joint": 10.0}, {"arm.torque": 0.1}, 0.01, inputs=held)
    assert law(0.0, arm.place().x).tolist() == held
    run = tr.simulate(arm, arm.place(arm=0.3), 3.0, policy=law)
    assert abs(run["joint_position"][-1, 0]) < 1e-4
    with pytest.raises(tr.InputError, match=r"start = .*: must be an equilibrium"):
        tr.lqr(arm, arm.place(), {"arm.joint": 10.0}, {"arm.torque": 0.1}, 0.01)


def test_what_cannot_be_regulated_says_why() -> None:
    tree, Q, R = cart(), {"cart.joint": 1.0}, {"cart.torque": 1.0}
    for key, arguments in (
        ("Q = 'cart.position': must be among cart.joint, pole.joint", {"Q": {"cart.position": 1.0}}),
        ("Q = .*: must be weights that see all", {"Q": {"pole.joint": 1.0}}),
        (r"Q\.cart\.joint = -1.0", {"Q": {"cart.joint": -1.0}}),
        ("R = .*: must be positive weights of the inputs to use: cart.torque", {"R": {}}),
        ("R = 'pole.torque': must be among cart.torque", {"R": {"pole.torque": 1.0}}),
        ("period = 0.0", {"period": 0.0}),
    ):
        with pytest.raises(tr.InputError, match=key):
            tr.lqr(tree, tree.place(), **({"Q": Q, "R": R, "period": 0.01} | arguments))
    robot = tr.Robot()
    for name in ("one", "two"):
        robot.revolute(None, (0, 0), 1.0, 0.01, center_of_mass=(0, 0.5), name=name)
    poles = robot.finish()
    with pytest.raises(tr.InputError, match="inputs that stop what runs away"):
        tr.lqr(poles, poles.place(), {"one.joint": 1.0}, {"one.torque": 1.0}, 0.01)
