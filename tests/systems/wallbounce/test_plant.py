"""The ball balancer in MuJoCo: its masses, its measurement, its motors, and what it collides with."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from trundle.contact.soft import Wall
from trundle.errors import InputError
from trundle.simulate.mujoco.pushes import ForcePulse
from trundle.simulate.mujoco.sensors import Sensors
from trundle.status import Status
from trundle.systems.wallbounce.control.low_level import LowLevel
from trundle.systems.wallbounce.plant import MEASURED, BalancerPlant, MovableBox
from trundle.systems.wallbounce.robot import BallBalancer

mujoco = pytest.importorskip("mujoco")

ROBOT = BallBalancer()


class Balance:
    """The low level alone, holding a place."""

    period = 0.001

    def __init__(self, robot=ROBOT, place=(0.0, 0.0), yaw=0.0):
        self.low, self.x = LowLevel(robot), robot.rest(place, yaw)

    def reset(self):
        self.integral = np.zeros(2)

    def __call__(self, time, measured):
        answer = self.low(measured, self.x, np.zeros(15), self.integral)
        self.integral = np.clip(self.integral + self.period * answer.error, -0.3, 0.3)
        return answer.command


def test_robot_and_arms_together_have_the_robots_mass_centre_and_inertia():
    view = BalancerPlant(ROBOT).plant(ROBOT.rest()).view()
    model, data = view.model, view.data
    bodies = [i for i in range(model.nbody) if model.body(i).name not in ("world", "ball")]
    mass = sum(model.body_mass[i] for i in bodies)
    com = sum(model.body_mass[i] * data.xipos[i] for i in bodies) / mass
    assert mass == pytest.approx(ROBOT.mass, rel=1e-12)
    assert com - [0, 0, ROBOT.ball_radius] == pytest.approx(np.asarray(ROBOT.com), abs=1e-9)
    inertia = np.zeros((3, 3))
    for i in bodies:
        R, d = data.ximat[i].reshape(3, 3), data.xipos[i] - com
        inertia += R @ np.diag(model.body_inertia[i]) @ R.T + model.body_mass[i] * (d @ d * np.eye(3) - np.outer(d, d))
    assert np.diag(inertia) == pytest.approx(np.asarray(ROBOT.inertia), rel=0.15)  # its smallest moment is raised


def test_hands_and_measurement_are_those_of_the_model():
    x = ROBOT.rest([0.3, -0.2], 0.4)
    x[3:11] = [0.1, -0.05, 0.5, 0.3, 1.0, 0.2, -0.1, 0.7]
    x[11:] = [8.0, -3.0, 2.0, 1.0, 0.3]
    plant = BalancerPlant(ROBOT, [Wall([0.9, 0, 0], [-1, 0, 0])])
    view = plant.plant(x, np.arange(6) * 0.1).view()
    y = plant.measure(view)
    assert y.shape == (MEASURED,)
    assert y[:11] == pytest.approx(x[:11], abs=1e-12)
    assert y[16:22] == pytest.approx(np.arange(6) * 0.1)
    assert LowLevel(ROBOT).state(y) == pytest.approx(x, abs=1e-10)
    s = ca.SX.sym("x", 16)
    hands = ca.Function("h", [s], [ca.horzcat(*(r for r, _ in ROBOT.hands(s)))])
    expected = np.array(hands(x)).T + np.array([x[0], x[1], ROBOT.ball_radius])
    assert plant.hand_positions(view) == pytest.approx(expected, abs=1e-12)
    assert plant.wall_distances(view) == pytest.approx(0.9 - expected[:, 0] - 0.03, abs=1e-12)


def test_motors_push_the_floor_by_the_drives_force():
    """Net impulse over a short time: M_e v + m (omega x c) grows by f_d t; yaw by t_z t."""
    plant = BalancerPlant(ROBOT, hand_friction=0.0)

    class Drive(Balance):
        def __call__(self, time, measured):
            return np.array([10.0, -6.0, 0.8, *super().__call__(time, measured)[3:]])

    low = LowLevel(ROBOT)
    run = plant.plant(ROBOT.rest()).run(Drive(), 0.05, sensors=Sensors(plant.measure), record={"y": plant.measure})
    x = low.state(run.records["y"][-1])
    assert x[11:13] == pytest.approx([0.5, -0.3], rel=0.03)
    assert x[15] == pytest.approx(0.04, rel=0.1)


@pytest.mark.parametrize("yaw", [0.0, 2.0])
def test_the_low_level_balances_and_comes_back(yaw):
    plant = BalancerPlant(ROBOT)
    push = ForcePulse("base", [0, 0, 0.5], [30.0, 20.0, 0.0], 0.2, 0.1)
    run = plant.plant(ROBOT.rest(yaw=yaw)).run(
        Balance(yaw=yaw), 4.0, sensors=Sensors(plant.measure), pushes=[push], record={"y": plant.measure}
    )
    y = run.records["y"]
    assert run.status is Status.SUCCESS
    assert 0.02 < np.max(np.linalg.norm(y[:, :2], axis=1)) < 0.3
    assert np.linalg.norm(y[-1, :2]) < 0.1
    assert np.max(np.abs(y[-1, 3:5])) < 0.02
    assert y[:, 2] == pytest.approx(yaw, abs=0.05)


def test_it_balances_with_noise_delay_and_wrong_numbers():
    wrong = BalancerPlant(BallBalancer(mass=27.0, com=(0.01, -0.005, 0.47), inertia=(2.2, 2.2, 0.3)))
    sigma = np.repeat([2e-3, 2e-3, 5e-3, 1e-2, 1e-2, 0.05, 0.5], [2, 3, 6, 2, 3, 6, 6])
    run = wrong.plant(ROBOT.rest()).run(
        Balance(), 4.0, sensors=Sensors(wrong.measure, sigma, delay=0.004, seed=1), record={"y": wrong.measure}
    )
    assert run.status is Status.SUCCESS
    assert np.linalg.norm(run.records["y"][-1, :2]) < 0.4


def test_torso_and_box_and_wall():
    plant = BalancerPlant(ROBOT, [Wall([0.5, 0, 0], [-1, 0, 0])], [MovableBox((0.0, 0.6), (0.1, 0.1, 0.5))])
    view = plant.plant(ROBOT.rest()).view()
    assert plant.torso_distance(view) == pytest.approx(0.36, abs=1e-6)
    plant.place_box(view, 0, [0.0, -0.4])
    mujoco.mj_forward(view.model, view.data)
    assert plant.torso_distance(view) == pytest.approx(0.16, abs=2e-3)
    push = ForcePulse("base", [0, 0, 0.6], [150.0, 0.0, 0.0], 0.1, 0.3)
    run = plant.plant(ROBOT.rest()).run(
        Balance(), 1.2, sensors=Sensors(plant.measure), pushes=[push], record={"d": plant.torso_distance}
    )
    assert -0.03 < np.min(run.records["d"]) < 0.005  # it collides and does not pass through


def test_a_robot_without_torso_is_refused():
    with pytest.raises(InputError, match="arm_masses"):
        BalancerPlant(BallBalancer(arm_masses=(8.0, 5.0))).torso()
    with pytest.raises(InputError, match="half_size"):
        MovableBox((0, 0), (0.1, -0.1, 0.5))
