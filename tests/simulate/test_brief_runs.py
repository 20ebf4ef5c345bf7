"""Scenes in which the engine of contact modes was once wrong: brief, off centre, on fixed axes."""

from __future__ import annotations

import numpy as np

import trundle as tr
from bench.contacts.robots import rollers


def test_a_fast_ball_meets_another_one_between_two_samples() -> None:
    """Head on, equal masses, nothing lost: they swap their velocities, however short the run is."""
    robot = tr.Robot(gravity=(0, 0, 0), on_slip="slide", on_separation="fly")
    for name in "abcd":
        robot.free(1e-3, shape=tr.Sphere(1e-3), name=name)
    for one, other in ("ab", "ac", "ad", "bc", "bd", "cd"):
        robot.contact(one, other, friction=0.0, restitution=1.0)
    tree = robot.finish()
    places = {"a": (-0.106, 0, 0), "b": (0, 0, 0), "c": (0, 1, 0), "d": (0, -1, 0)}
    start = tree.place(rates={"a": (0, 0, 0, 100.0, 0, 0)}, **places)
    run = tr.simulate(tree, start, 2e-3, output_step=2e-3)
    assert run.status is tr.Status.SUCCESS
    assert np.allclose(run["body_velocity"][-1, :2, 0], [0.0, 100.0], atol=1e-9)


def test_balls_off_their_bodies_centres_keep_their_distance() -> None:
    """Two dumbbells that pass each other: the gaps are those of their balls."""
    robot = tr.Robot(gravity=(0, 0, 0), on_slip="slide", on_separation="fly")
    for name in "ab":
        link = robot.free(1.0, (0.1, 0.1, 0.1), shape=tr.Sphere(0.1), shape_at=(0.5, 0, 0), name=name)
        robot.attach(link, tr.Sphere(0.1), at=(-0.5, 0, 0), name=f"{name}2")
    for one in ("a", "a2"):
        for other in ("b", "b2"):
            robot.contact(one, other)
    tree = robot.finish()
    start = tree.place(a=(0, 0, 0), b=(0.2, 0.33, 0.02), rates={"b": (0, 0, 0.3, 0.3, -0.2, 0)})
    run = tr.simulate(tree, start, 1.0, output_step=0.05)
    assert run.status is tr.Status.SUCCESS
    assert not run.transitions
    assert np.allclose(run["gap"].min(axis=0), [0.18639, 0.27842, 1.04471, 0.16827], atol=1e-4)


def test_wheels_on_fixed_axes_keep_their_rates() -> None:
    """Pairs that roll on each other already, without a load: nothing acts on them."""
    robot = tr.Robot(gravity=0.0, on_slip="slide", on_separation="fly")
    for i in range(4):
        for k in range(2):
            shape, name = tr.Circle(0.1), f"w{i}{k}"
            robot.revolute(None, (0.2 * k, 1.0 * i), 1.0, 0.01, shape=shape, name=name, actuated=False)
        robot.contact(f"w{i}0", f"w{i}1", friction=0.3)
    tree = robot.finish()
    rates = {f"w{i}{k}": (1.0, -1.0)[k] for i in range(4) for k in range(2)}
    start = tree.place(rates=rates, contacts=[f"w{i}0-w{i}1" for i in range(4)])
    run = tr.simulate(tree, start, 0.5)
    assert run.status is tr.Status.SUCCESS
    assert np.allclose(np.abs(run["joint_velocity"][-1]), 1.0, atol=1e-9)


def test_a_driven_wheel_on_a_fixed_axis_drives_the_other_one() -> None:
    """No motion says how hard wheels on fixed axes press: as little as their friction needs."""
    robot = tr.Robot(gravity=0.0, on_slip="slide", on_separation="fly")
    for i in range(4):
        for k in range(2):
            shape, name = tr.Circle(0.1), f"w{i}{k}"
            robot.revolute(None, (0.2 * k, 1.0 * i), 1.0, 0.01, shape=shape, name=name, actuated=k == 0)
        robot.contact(f"w{i}0", f"w{i}1", friction=0.3)
    tree = robot.finish()
    torque = tr.FunctionPolicy(0.1, lambda t, x: np.array([0.1, 0.0, 0.0, 0.0]))
    run = tr.simulate(tree, tree.place(contacts=[f"w{i}0-w{i}1" for i in range(4)]), 0.5, policy=torque)
    assert run.status is tr.Status.SUCCESS
    # Half the torque passes through the contact: 0.1 / (2 * 0.01) rad/s^2 for both.
    assert np.allclose(run["joint_velocity"][-1, :2], [2.5, -2.5], atol=1e-9)
    normal, along = np.abs(run["contact_force"][10, 0])
    assert np.isclose(along, 0.5)
    assert np.isclose(normal, along / 0.3)


def test_a_car_on_rollers_keeps_its_momentum() -> None:
    """Rows that nearly depend on each other share nothing: forces keep the effect that they have."""
    case = rollers()
    assert case.drive is not None
    run = tr.simulate(case.model, case.start, 0.02, policy=case.drive.policy())
    assert run.status is tr.Status.SUCCESS
