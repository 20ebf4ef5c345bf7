"""External forces against closed forms: drag, springs, torques, forces of time, energies."""

from __future__ import annotations

import pickle

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from trundle.contact.laws import ROLLING
from trundle.errors import InputError
from trundle.models.tree.force import States

G, R, M = 9.81, 0.1, 0.5
BALL = tr.RigidBody(tr.Sphere(R), mass=M, inertia="solid")
LEVEL = tr.Hand(tr.Plane())


def test_a_falling_body_with_drag_has_its_terminal_velocity() -> None:
    robot = tr.Robot(gravity=(0.0, 0.0, -G))
    body = robot.free(M, (1e-3, 1e-3, 1e-3), name="body")
    robot.force(body, lambda t, states: -0.2 * ca.norm_2(states["body"].velocity) * states["body"].velocity)
    tree = robot.finish()
    run = tr.simulate(tree, tree.place(body=(0.0, 0.0, 0.0), rates={"body": (0, 0, 0, 0, 0, -1e-9)}), duration=2.0)
    terminal = np.sqrt(M * G / 0.2)
    fall = run["body_velocity"][:, 0, 2] if run["body_velocity"].ndim == 3 else run["body_velocity"][:, 2]
    np.testing.assert_allclose(fall, -terminal * np.tanh(G * run.time / terminal), atol=1e-8)
    assert run.status is tr.Status.SUCCESS


def test_a_ball_on_a_spring_rolls_at_its_frequency_and_keeps_its_energy() -> None:
    spring = tr.Potential(lambda t, states: 20.0 * states["object"].position[0] ** 2)
    pair = tr.RollingPair(BALL, LEVEL, forces=[spring])
    run = tr.simulate(pair, pair.place(contact_on_hand=(0.1, 0.0, 0.0)), duration=2.0)
    np.testing.assert_allclose(
        run["object_position"][:, 0], 0.1 * np.cos(np.sqrt(40.0 / (1.4 * M)) * run.time), atol=1e-9
    )
    assert np.ptp(run["energy"]) < 1e-9
    assert run["energy"][0] == pytest.approx(M * G * R + 20.0 * 0.1**2)


def test_a_spring_between_two_bodies_acts_on_both() -> None:
    robot = tr.Robot(gravity=(0.0, 0.0, -G))
    for name in ("a", "b"):
        robot.free(M, shape=tr.Sphere(R), name=name)
    robot.terrain(tr.Plane(), friction=0.6)
    robot.potential(lambda t, s: 50.0 * (ca.norm_2(s["a"].position - s["b"].position) - 0.5) ** 2)
    tree = robot.finish()
    run = tr.simulate(tree, tree.place(a=(0.0, 0.0, R), b=(0.6, 0.0, R)), duration=1.0)
    x = run["body_position"][:, :, 0]
    rate = np.sqrt(2 * 100.0 / (1.4 * M))
    np.testing.assert_allclose(x[:, 1] - x[:, 0], 0.5 + 0.1 * np.cos(rate * run.time), atol=1e-9)
    np.testing.assert_allclose(x.sum(axis=1), 0.6, atol=1e-9)
    assert np.ptp(run["energy"]) < 1e-8


def test_a_force_that_depends_on_time_makes_time_a_state() -> None:
    push = tr.Force("object", lambda t, s: (ca.vertcat(ca.sin(3 * t), 0, 0), ca.vertcat(0, 0, 1e-3)))
    pair = tr.RollingPair(BALL, LEVEL, forces=[push])
    run = tr.simulate(pair, pair.place(), duration=2.0)
    inertia = 0.4 * M * R**2
    assert run["object_velocity"][-1, 0] == pytest.approx((1 - np.cos(6.0)) / (3 * 1.4 * M), abs=1e-9)
    assert run["object_angular_velocity"][-1, 2] == pytest.approx(2.0 * 1e-3 / inertia, rel=1e-9)
    assert run.status is tr.Status.SUCCESS
    assert list(pair.system.model().layout)[-1] == "time"
    assert "time" not in tr.RollingPair(BALL, LEVEL).system.model().layout


def test_a_force_off_the_centre_is_a_force_and_its_moment() -> None:
    def push(t: ca.SX, states: object) -> ca.DM:
        return ca.vertcat(1.0, 2.0, 3.0)

    def moved(t: ca.SX, states: object) -> tuple[ca.DM, ca.DM]:
        return push(t, states), ca.cross(ca.vertcat(0.02, 0.03, 0.04), ca.vertcat(1.0, 2.0, 3.0))

    at = tr.RollingPair(BALL, LEVEL, forces=[tr.Force("object", push, at=(0.02, 0.03, 0.04))])
    with_torque = tr.RollingPair(BALL, LEVEL, forces=[tr.Force("object", moved)])
    x = at.place().x
    rates = [
        np.asarray(ca.Function("f", [m.x, m.u], [m.dynamics([ROLLING]).xdot])(x, 0)).ravel()
        for m in (at.model(), with_torque.model())
    ]
    np.testing.assert_allclose(rates[0], rates[1], atol=1e-12)


def test_rolling_coordinates_feel_the_same_potential_as_poses() -> None:
    spring = tr.Potential(lambda t, s: 20.0 * ca.sumsqr(s["object"].position[:2]))
    runs = []
    for coordinates in ("pose", "rolling"):
        pair = tr.RollingPair(BALL, LEVEL, forces=[spring], coordinates=coordinates)
        start = pair.place(contact_on_hand=(0.1, 0.0, 0.0), object_angular_velocity=(1.0, 0.0, 0.5))
        runs.append(tr.simulate(pair, start, duration=0.5)["object_position"])
    np.testing.assert_allclose(runs[0], runs[1], atol=1e-8)


def test_a_point_of_a_robot_is_in_the_frame_the_user_gave() -> None:
    seen: list[ca.SX] = []

    def law(t: ca.SX, states: States) -> ca.DM:
        seen.append(states["rod"].at((0.5, 0.0)).position)
        return ca.vertcat(0.0, 2.0)

    robot = tr.Robot(gravity=0.0)
    rod = robot.free(1.0, 1.0 / 12, center_of_mass=(0.5, 0.0), name="rod")
    robot.force(rod, law, at=(1.0, 0.0))
    tree = robot.finish()
    x = tree.place(rod=(0.2, 0.3, 0.0)).x
    model = tree.model()
    f = ca.Function("f", [model.x], [model.dynamics([]).nudot, seen[-1]])
    nudot, center = (np.asarray(v).ravel() for v in f(x))
    np.testing.assert_allclose(nudot, [12.0, 0.0, 2.0], atol=1e-12)  # moment 2 N 0.5 m over 1/12
    np.testing.assert_allclose(center, [0.7, 0.3], atol=1e-12)


@pytest.mark.parametrize(
    ("forces", "said"),
    [
        ([tr.Force("ball", lambda t, s: ca.SX.zeros(3))], "body = 'ball': must be one of hand, object"),
        ([tr.Force("object", lambda t, s: ca.SX.zeros(2))], "force"),
        ([tr.Force("object", lambda t, s: ca.DM([0, 0, np.nan]))], "force"),
        ([tr.Force("object", lambda t, s: "up")], "force"),  # type: ignore[arg-type, return-value]
        ([tr.Potential(lambda t, s: ca.sumsqr(s["object"].velocity))], "not of velocities"),
        (["drag"], "a Force or a Potential"),
    ],
)
def test_what_is_no_force_is_refused(forces: list[tr.Force], said: str) -> None:
    with pytest.raises(InputError, match=said):
        tr.RollingPair(BALL, LEVEL, forces=forces).model()


def test_a_force_travels_with_its_law() -> None:
    push = tr.Force("object", lambda t, s: (ca.vertcat(ca.sin(3 * t), 0, 0), -0.1 * s["object"].angular_velocity))
    spring = tr.Potential(lambda t, s: 20.0 * s["object"].position[0] ** 2)
    pair = tr.RollingPair(BALL, LEVEL, forces=[push, spring])
    other = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(pair))))
    rates = [
        np.asarray(ca.Function("f", [m.x, m.u], [m.dynamics([ROLLING]).xdot])(0.1 * np.ones(m.x.shape[0]), 0)).ravel()
        for m in (pair.model(), other.model())
    ]
    np.testing.assert_allclose(rates[0], rates[1], rtol=1e-14)
    with pytest.raises(InputError, match="reads them by name"):
        pickle.dumps(tr.Force("object", lambda t, s: sum(b.velocity for b in s.values())))  # type: ignore[arg-type]
