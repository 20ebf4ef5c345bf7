from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

import trundle as tr
from trundle.errors import InputError

G = 9.81


def rod(stop: float | None, d: int = 2, **numbers: float) -> tr.RollingTree:
    """A uniform rod of 1 m, 2 kg, hinged to the world; it hangs at the angle 0."""
    robot = tr.Robot() if d == 2 else tr.Robot(gravity=(0, 0, -G))
    down = (0, -0.5) if d == 2 else (0, 0, -0.5)
    inertia = 2.0 / 12 if d == 2 else (2 / 12, 2 / 12, 1e-3)
    link = robot.revolute(None, (0,) * d, 2.0, inertia, center_of_mass=down, actuated=False, name="rod")
    robot.resist(link, low=stop, **numbers)
    return robot.finish()


@pytest.mark.parametrize("d", [2, 3])
def test_a_pendulum_reaches_its_stop_when_it_should_and_stays(d: int) -> None:
    run = tr.simulate(rod(0.3, d), rod(0.3, d).place(rod=1.2), 1.5)
    assert run.status.label == "success"
    (reached,) = run.metadata["transitions"]
    # q'^2/2 = (3 g/2 l)(cos q - cos q0); s = sqrt(q0 - q) takes the root out of the integral.
    time, _ = quad(lambda s: 2 * s / np.sqrt(3 * G * (np.cos(1.2 - s * s) - np.cos(1.2))), 0, np.sqrt(0.9))
    assert reached["time"] == pytest.approx(time, abs=1e-9)
    assert (reached["from"], reached["to"], reached["contact"]) == ("separated", "stopped", "rod-low")
    after = run["time"] > time
    np.testing.assert_allclose(run["joint_position"][after], 0.3, atol=1e-12)
    assert np.all(run["joint_velocity"][after] == 0)
    assert run["joint_position"].min() > 0.3 - 1e-12


def test_a_stop_lets_go_when_nothing_presses_on_it() -> None:
    """A load that a spring presses on its stop, on a cart that another spring swings."""
    robot = tr.Robot(gravity=(0, 0))
    cart = robot.prismatic(None, (0, 0), 1.0, 0.1, actuated=False, name="cart")
    robot.resist(cart, stiffness=100.0)
    load = robot.prismatic(cart, (0, 0), 1e-3, 0.1, actuated=False, name="load")
    robot.resist(load, stiffness=0.05, rest=-0.1, low=0.0)
    made = robot.finish()
    run = tr.simulate(made, made.place(cart=-0.2), 1.0)
    assert run.status.label == "success"
    reasons = [(t["reason"], t["to"]) for t in run.metadata["transitions"]]
    assert reasons[0] == ("the gap closed", "stopped")
    assert reasons[1] == ("the contact force reached zero", "separated")
    # A spring presses the load with 0.005 N; it lets go where m w^2 x, of the cart at -0.2 cos(w t), is more.
    w2 = 100.0 / 1.001
    let_go = np.arccos(-0.005 / (1e-3 * w2) / 0.2) / np.sqrt(w2)
    assert run.metadata["transitions"][1]["time"] == pytest.approx(let_go, abs=1e-9)


def test_an_impact_on_a_stop_keeps_what_it_cannot_touch() -> None:
    """A knee: when it locks, the angular momentum about the hip stays and energy is lost."""
    robot = tr.Robot(gravity=(0, 0))
    thigh = robot.revolute(None, (0, 0), 3.0, 0.05, center_of_mass=(0, -0.2), actuated=False, name="thigh")
    shin = robot.revolute(thigh, (0, -0.4), 2.0, 0.03, center_of_mass=(0, -0.2), actuated=False, name="shin")
    robot.resist(shin, high=-0.1)  # still bent: what swings on presses on the stop
    made = robot.finish()
    run = tr.simulate(made, made.place(shin=-0.8, rates={"thigh": 0.5, "shin": 2.0}), 1.0)
    (locked,) = run.metadata["transitions"]
    assert run["joint_velocity"][-1, 1] == pytest.approx(0, abs=1e-12)
    p, v, w = run["body_position"], run["body_velocity"], run["body_angular_velocity"]
    about_hip = np.array([3.0, 2.0]) * (p[..., 0] * v[..., 1] - p[..., 1] * v[..., 0]) + np.array([0.05, 0.03]) * w
    np.testing.assert_allclose(about_hip.sum(axis=1), about_hip.sum(axis=1)[0], atol=1e-9)
    before, after = (run["energy"][where] for where in (run["time"] < locked["time"], run["time"] > locked["time"]))
    assert np.ptp(before) < 1e-9
    assert np.ptp(after) < 1e-9
    assert after[0] < before[0]


def test_springs_and_dampers_of_a_robot_follow_the_damped_oscillator() -> None:
    robot = tr.Robot(gravity=(0, 0))
    mass = robot.prismatic(None, (0, 0), 2.0, 0.1, actuated=False, name="mass")
    robot.resist(mass, stiffness=50.0, rest=0.1, damping=2.0)
    made = robot.finish()
    run = tr.simulate(made, made.place(mass=0.3), 2.0)
    decay, t = 0.5, run["time"]
    w = np.sqrt(25.0 - decay**2)
    wanted = 0.1 + 0.2 * np.exp(-decay * t) * (np.cos(w * t) + decay / w * np.sin(w * t))
    np.testing.assert_allclose(run["joint_position"][:, 0], wanted, atol=1e-9)


def test_dry_friction_of_a_robot_slows_a_slider_evenly() -> None:
    robot = tr.Robot(gravity=(0, 0))
    mass = robot.prismatic(None, (0, 0), 2.0, 0.1, actuated=False, name="mass")
    robot.resist(mass, dry_friction=1.0)
    made = robot.finish()
    run = tr.simulate(made, made.place(rates={"mass": 1.0}), 1.5)
    np.testing.assert_allclose(run["joint_velocity"][:, 0], 1 - 0.5 * run["time"], atol=1e-12)


def test_a_wheel_rolls_while_a_joint_is_at_its_stop() -> None:
    robot = tr.Robot(on_slip="slide", on_separation="fly")
    axle = robot.free(3.0, 0.02, shape=tr.Circle(0.1), name="axle")
    load = robot.revolute(axle, (0, 0), 1.0, 0.01, center_of_mass=(0, 0.08), actuated=False, name="load")
    robot.resist(load, low=-0.3, high=0.4)
    robot.terrain(tr.Line(), 0.9)
    made = robot.finish()
    run = tr.simulate(made, made.place(axle=(0, 0.1, 0), load=0.1, rates={"axle": -0.5}), 1.5)
    assert run.status.label == "success"
    assert {"rolling + stopped"} <= {t["to"] for t in run.metadata["transitions"]}
    assert run["joint_position"].min() > -0.3 - 1e-9
    assert run["joint_position"].max() < 0.4 + 1e-9
    assert np.all(np.diff(run["energy"]) < 1e-8)


@pytest.mark.parametrize(
    ("numbers", "key"),
    [
        ({"low": 1.0, "high": 0.5}, "high"),
        ({"low": np.nan}, "low"),
        ({"damping": -1.0}, "damping"),
        ({"stiffness": np.inf}, "stiffness"),
    ],
)
def test_joints_that_cannot_be_say_why(numbers: dict[str, float], key: str) -> None:
    robot = tr.Robot()
    link = robot.revolute(None, (0, 0), 1.0, 0.1, name="rod")
    with pytest.raises(InputError) as caught:
        robot.resist(link, **numbers)
    assert caught.value.key == key


def test_a_start_beyond_a_stop_is_refused() -> None:
    with pytest.raises(InputError, match="rod"):
        rod(0.3).place(rod=0.2)
    assert rod(0.3).place(rod=0.3).laws == ("separated",)
