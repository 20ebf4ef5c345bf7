from __future__ import annotations

import pickle
from typing import Any

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from trundle.errors import InputError

CRANK, COUPLER, ROCKER, BASE = 0.2, 0.5, 0.4, 0.6


def four_bar(d: int = 2) -> tr.RollingTree:
    """A crank and a rocker hinged to the world 0.6 m apart, and a coupler that is pinned to the rocker's end."""
    flat = (lambda x, z: (x, z)) if d == 2 else (lambda x, z: (x, 0.0, z))
    robot = tr.Robot(gravity=(0, -9.81) if d == 2 else (0, 0, -9.81))

    def bar(parent: Any, x: float, mass: float, length: float, name: str) -> Any:
        I = mass * length**2 / 12  # noqa: E741
        inertia = I if d == 2 else (I / 10, I, I)
        return robot.revolute(
            parent, flat(x, 0.0), mass, inertia, axis=(0, -1, 0), center_of_mass=flat(length / 2, 0.0), name=name
        )

    crank = bar(None, 0.0, 1.0, CRANK, "crank")
    coupler = bar(crank, CRANK, 2.0, COUPLER, "coupler")
    rocker = bar(None, BASE, 1.5, ROCKER, "rocker")
    robot.close(coupler, flat(COUPLER, 0.0), rocker, flat(ROCKER, 0.0))
    return robot.finish()


def rocker_of(crank: np.ndarray, before: float) -> np.ndarray:
    """The rocker's angle by the law of cosines, on the side where it began."""
    ax, az = BASE - CRANK * np.cos(crank), -CRANK * np.sin(crank)
    across = np.hypot(ax, az)
    inner = np.arccos((ROCKER**2 + across**2 - COUPLER**2) / (2 * ROCKER * across))
    to_crank = np.arctan2(-az, -ax)
    both = [np.unwrap(to_crank - inner), np.unwrap(to_crank + inner)]
    return min(both, key=lambda a: abs(np.angle(np.exp(1j * (a[0] - before)))))


@pytest.mark.parametrize("d", [2, 3])
def test_a_four_bar_moves_as_its_closed_form_says_and_keeps_its_energy(d: int) -> None:
    robot = four_bar(d)
    start = robot.place(crank=1.0, coupler=-0.6, rocker=2.0, hold=["crank"], rates={"crank": 3.0})
    layout = robot.model().layout
    assert start.x[layout["crank.joint"]] == pytest.approx(1.0, abs=1e-14)
    assert start.x[layout["crank.rate"]] == pytest.approx(3.0, abs=1e-14)
    run = tr.simulate(robot, start, 1.0, output_step=0.01)
    assert run.status.label == "success"
    crank, rocker = (run["joint_position"][:, i] for i in (0, 2))
    assert np.ptp(crank) > 2.0
    wanted = rocker_of(crank, float(rocker[0]))
    np.testing.assert_allclose(np.exp(1j * rocker), np.exp(1j * wanted), atol=1e-11)
    np.testing.assert_allclose(run["energy"], run["energy"][0], rtol=0, atol=1e-8)


def test_a_four_bar_swings_like_its_equation_with_one_coordinate() -> None:
    robot = four_bar()
    start = robot.place(crank=1.0, coupler=-0.6, rocker=2.0, hold=["crank"])
    run = tr.simulate(robot, start, 0.2, output_step=0.1)
    # T = J(q) q'^2/2, V(q) by quadrature of the closed form: dt = dq sqrt(J/2(V0 - V)).
    q0, rocker0 = 1.0, float(run["joint_position"][0, 2])

    def shape(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        r = rocker_of(q, rocker0)
        ends = CRANK * np.exp(1j * q), BASE + ROCKER * np.exp(1j * r)
        return np.angle(ends[1] - ends[0]), r

    q = q0 - np.linspace(0, 1, 4001) ** 2 * (q0 - float(run["joint_position"][-1, 0]))
    c, r = shape(q)
    dc, dr = np.gradient(c, q, edge_order=2), np.gradient(r, q, edge_order=2)
    v2 = np.abs(CRANK * 1j * np.exp(1j * q) + COUPLER / 2 * 1j * np.exp(1j * c) * dc) ** 2
    inertia = CRANK**2 / 3 + 2 * v2 + 2 * COUPLER**2 / 12 * dc**2 + 1.5 * ROCKER**2 / 3 * dr**2
    height = CRANK / 2 * np.sin(q) + 2 * (CRANK * np.sin(q) + COUPLER / 2 * np.sin(c)) + 0.75 * ROCKER * np.sin(r)
    fallen = 9.81 * (height[0] - height)
    s = np.linspace(0, 1, 4001)
    rate = np.sqrt(2 * fallen[1:] / inertia[1:])
    slow = 2 * s[1:] * (q0 - q[-1]) / rate
    time = np.trapezoid(np.append(slow[0], slow), s)
    assert time == pytest.approx(0.2, rel=2e-4)


def test_a_body_on_two_pins_swings_like_one_on_a_hinge() -> None:
    axis = np.array([0.3, 1.0, 0.2])
    runs = []
    for pinned in (True, False):
        robot = tr.Robot(gravity=(0, 0, -9.81))
        stand = robot.revolute(None, (0, 0, 0), 3.0, (0.1, 0.1, 0.2), axis=(0, 0, 1), name="stand")
        if pinned:
            fork = robot.free(2.0, (0.02, 0.03, 0.04), center_of_mass=(0.2, 0.0, 0.1), name="fork")
            for k in (-0.5, 0.5):
                robot.close(stand, tuple(k * axis), fork, tuple(k * axis))
            rates = {"stand": 1.0}
        else:
            fork = robot.revolute(
                stand, (0, 0, 0), 2.0, (0.02, 0.03, 0.04), center_of_mass=(0.2, 0.0, 0.1), axis=tuple(axis), name="fork"
            )
            robot.close(stand, tuple(axis), fork, tuple(axis))  # a second support, which changes nothing
            rates = {"stand": 1.0, "fork": 0.0}
        made = robot.finish()
        start = made.place(rates={**rates, "fork": (0.0, 0.0, 1.0)} if pinned else rates)
        runs.append(tr.simulate(made, start, 0.5, output_step=0.1))
    names = [[str(name) for name in run.dataset["body"].values] for run in runs]
    a, b = (run["body_position"][:, n.index("fork")] for run, n in zip(runs, names, strict=True))
    np.testing.assert_allclose(a, b, atol=1e-8)


def test_a_wheel_on_pinned_arms_lands_with_the_inertia_of_the_loop() -> None:
    """A parallelogram carries a level bar with a wheel: it lands and the bars keep their angles."""
    robot = tr.Robot(gravity=9.81, on_slip="slide")
    low = robot.revolute(None, (0, 0.5), 1.0, 0.01, center_of_mass=(0.2, 0), name="low")
    bar = robot.revolute(low, (0.4, 0), 2.0, 0.02, center_of_mass=(0, 0.1), actuated=False, name="bar")
    high = robot.revolute(None, (0, 0.7), 1.0, 0.01, center_of_mass=(0.2, 0), name="high")
    robot.close(bar, (0, 0.2), high, (0.4, 0))
    robot.revolute(bar, (0, -0.2), 0.5, shape=tr.Circle(0.1), actuated=False, name="wheel")
    robot.terrain(tr.Line(), 0.5)
    made = robot.finish()
    start = made.place(contacts=[], low=0.3, high=0.3, bar=-0.3)
    run = tr.simulate(made, start, 0.6)
    assert run.status.label == "success"
    first = run.metadata["transitions"][0]
    assert first["reason"] == "the gap closed"
    q = run["joint_position"]
    np.testing.assert_allclose(q[:, 0] + q[:, 1], 0, atol=1e-9)
    np.testing.assert_allclose(q[:, 0], q[:, 2], atol=1e-9)
    assert np.all(np.diff(run["energy"]) < 1e-9)
    np.testing.assert_allclose(run["joint_velocity"][-1, :3], 0, atol=1e-9)  # one freedom, which the ground takes
    assert run["gap"].min() > -1e-9


def test_loops_are_copied_with_the_robot_and_for_simulation_alone() -> None:
    robot = pickle.loads(pickle.dumps(four_bar())).scaled(mass=2.0)
    assert len(robot.model().loops) == 1
    with pytest.raises(InputError, match="loops are for simulation"):
        robot.model().inverse_dynamics([], ca.SX(3, 1), ca.SX(2, 1))


def test_loops_that_cannot_close_say_so() -> None:
    robot = tr.Robot()
    one = robot.revolute(None, (0, 0), 1.0, 0.1, center_of_mass=(0.1, 0), name="one")
    other = robot.revolute(None, (2, 0), 1.0, 0.1, center_of_mass=(0.1, 0), name="other")
    robot.close(one, (0.5, 0), other, (0.5, 0))
    with pytest.raises(InputError, match="pin 1 keeps a gap of"):
        robot.finish().place(one=0.2, other=3.0)
    with pytest.raises(InputError, match="at_other"):
        robot.close(one, (0.5, 0), None, (0.5, 0, 0))
    with pytest.raises(InputError, match="link"):
        robot.close(None, (0.5, 0), one, (0.5, 0))  # type: ignore[arg-type]


def test_a_linkage_that_is_thrown_starts_with_the_rates_that_it_was_given() -> None:
    """All points of a body that turns as a whole do so without parting: in any attitude, where columns cancel to
    round-off."""
    random = np.random.default_rng(4)
    for _ in range(20):
        robot = tr.Robot(gravity=(0, 0, -9.81))
        trunk = robot.free(1.9, (2e-3, 2e-3, 3e-3), name="trunk")
        left = robot.revolute(trunk, (-0.05, 0.0, -0.02), 0.4, (8e-4, 8e-4, 1e-4), axis=(0, 1, 0), name="left")
        right = robot.revolute(trunk, (0.05, 0.0, -0.02), 0.7, (7e-4, 8e-4, 2e-4), axis=(0, 1, 0), name="right")
        bar = robot.revolute(left, (0.02, 0.0, -0.1), 0.4, (1e-4, 8e-4, 8e-4), axis=(0, 1, 0), name="bar")
        robot.close(bar, (0.1, 0.0, 0.03), right, (0.02, 0.0, -0.07))
        tree = robot.finish()
        q = random.normal(size=4)
        turn = random.uniform(-2.0, 2.0, 3)
        pose = (0.0, 0.0, 0.4, *(q / np.linalg.norm(q)))
        rates = {"trunk": (*turn, 0.0, 0.0, 0.0)}
        start = tree.place(trunk=pose, left=0.0, right=0.0, bar=0.0, contacts=[], rates=rates)
        layout = tree.model().layout
        np.testing.assert_allclose(start.x[layout["trunk.angular_velocity"]], turn, rtol=0, atol=1e-12)
        np.testing.assert_allclose(start.x[layout["trunk.velocity"]], 0.0, rtol=0, atol=1e-12)
