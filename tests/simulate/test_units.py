"""Robots in other units: times, lengths and masses a thousand times as large give the same motion, digit by digit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import trundle as tr
from trundle.status import Status

Run = tuple[tr.Trajectory, float, float]


def resisted_wheel(length: float, time: float, mass: float) -> Run:
    """A wheel whose rolling resistance stops it on a slope, from where it rolls back."""
    pull, inertia = length / time**2, mass * length**2
    robot = tr.Robot(gravity=[1.94 * pull, -9.6 * pull], on_slip="slide", on_separation="fly")
    robot.free(1.45 * mass, 0.00257 * inertia, shape=tr.Circle(0.06 * length), name="wheel")
    robot.terrain(tr.Line(), friction=tr.Friction(0.8, rolling=0.007 * length))
    tree = robot.finish()
    start = tree.place(wheel=[0.0, 0.06 * length, 0.0], contacts=["wheel"], rates={"wheel": 3.6 / time})
    return tr.simulate(tree, start, 0.4 * time), length, time


def stopped_leg(length: float, time: float, mass: float) -> Run:
    """A trunk that falls with its leg, which a motor drives to its stop, and lands."""
    pull, inertia = length / time**2, mass * length**2
    robot = tr.Robot(gravity=[0.0, -9.81 * pull], on_slip="slide", on_separation="fly")
    trunk = robot.free(24200.0 * mass, 18400.0 * inertia, shape=tr.Circle(1.25 * length), name="trunk")
    leg = robot.revolute(
        trunk, [0.0, -0.9 * length], 1620.0 * mass, 528.0 * inertia, center_of_mass=[0.0, -0.705 * length],
        shape=tr.Circle(0.525 * length), shape_at=[0.0, -1.41 * length], name="leg",
    )  # fmt: skip
    robot.resist(leg, low=-0.267, high=0.587)
    robot.terrain(tr.Line(), friction=0.221, restitution=0.586)
    tree = robot.finish()
    start = tree.place(trunk=[0.0, 7.06 * length, 0.0], leg=0.0, contacts=[])
    push = np.zeros(1)
    push[tree.model().input_layout["leg.torque"]] = 13e3 * inertia / time**2
    policy = tr.FunctionPolicy(1.3 * time, lambda t, x: push)
    return tr.simulate(tree, start, 1.3 * time, policy=policy), length, time


def rounded_box(length: float, time: float, mass: float) -> Run:
    """A rounded box that rolls over its side, which is bent hardly less than the wave below it."""
    pull, inertia, speed = length / time**2, mass * length**2, length / time
    robot = tr.Robot(gravity=[0.0, -9.81 * pull], on_slip="slide", on_separation="fly")
    shape = tr.Rounded(tr.Box([0.0134 * length, 0.021 * length]), 0.00488 * length)
    robot.free(0.249 * mass, 0.000103 * inertia, shape=shape, name="box")
    robot.terrain(tr.Sinusoid(0.0213 * length, 0.916 * length, 0.243), friction=1.74)
    tree = robot.finish()
    start = tree.place(
        box=[-0.0233 * length, 0.0374025 * length, -2.29],
        contacts=[],
        rates={"box": [0.0, 0.309 * speed, -0.121 * speed]},
    )
    return tr.simulate(tree, start, 0.65 * time), length, time


def rattling_chain(length: float, time: float, mass: float) -> Run:
    """A box with two wheels on hinges that rattles on a line: hops end by sizes of bodies, and a line has none."""
    pull, inertia, speed = length / time**2, mass * length**2, length / time
    robot = tr.Robot(gravity=[0.0, -9.81 * pull], on_slip="slide", on_separation="fly")
    trunk = robot.free(1.03 * mass, 9.74e-4 * inertia, shape=tr.Box([0.0132 * length, 0.0423 * length]), name="trunk")
    hinge, small = [0.0431 * length, -0.0305 * length], 0.03 * length
    first = robot.revolute(trunk, hinge, 0.169 * mass, 4.93e-5 * inertia, shape=tr.Circle(small), name="first")
    other = [-0.0431 * length, -0.0305 * length]
    robot.revolute(first, other, 0.0623 * mass, 1.68e-5 * inertia, shape=tr.Circle(small), name="second")
    robot.terrain(tr.Line(), friction=0.374, restitution=0.228)
    tree = robot.finish()
    rates = {"trunk": [0.0, -0.318 * speed, -0.226 * speed]}
    start = tree.place(trunk=[0.0, 0.201 * length, -0.818], first=0.0, second=0.0, contacts=[], rates=rates)
    return tr.simulate(tree, start, 0.5 * time), length, time


@pytest.mark.parametrize("scene", [resisted_wheel, stopped_leg, rounded_box, rattling_chain])
def test_a_robot_in_other_units_moves_alike(scene: Callable[..., Run]) -> None:
    """Such units keep speeds: gravity of 0.01 m/s2 on bodies of 60 m."""
    (one, *_), (other, length, time) = scene(1.0, 1.0, 1.0), scene(1e3, 1e3, 1e3)
    assert one.status is other.status is Status.SUCCESS
    reasons = [[(t["from"], t["to"], t["reason"]) for t in run.transitions] for run in (one, other)]
    assert reasons[0] == reasons[1]
    assert reasons[0]
    times = [np.array([t["time"] for t in run.transitions]) for run in (one, other)]
    np.testing.assert_allclose(times[1] / time, times[0], atol=1e-9)
    ends = [np.asarray(run.dataset["body_position"])[-1] for run in (one, other)]
    np.testing.assert_allclose(ends[1] / length, ends[0], atol=1e-9)


def driven_legs(gravity: float) -> tr.Trajectory:
    """A trunk that flies onto its two legs, which motors drive to and fro."""
    robot = tr.Robot(gravity=[0.0, -gravity], on_slip="slide", on_separation="fly")
    trunk = robot.free(1.0, 0.002, shape=tr.Circle(0.05), name="trunk")
    for name, side in (("left", -1.0), ("right", 1.0)):
        leg = robot.revolute(
            trunk, [0.05 * side, 0.0], 0.2, 0.0005, center_of_mass=[0.05 * side, -0.05],
            shape=tr.Circle(0.02), shape_at=[0.1 * side, -0.1], name=name,
        )  # fmt: skip
        robot.resist(leg, low=-0.5, high=0.5)
    robot.terrain(tr.Line(), friction=0.396, restitution=0)
    tree = robot.finish()
    start = tree.place(
        trunk=[0.0, 0.1287, -0.0218], left=0.0, right=0.0, contacts=[], rates={"trunk": [-0.957, -1.0, 0.0]}
    )
    torques = np.array([-0.109, 0.173])
    policy = tr.FunctionPolicy(0.01, lambda t, x: torques * np.sign(np.sin(40.0 * t)))
    return tr.simulate(tree, start, 0.5, policy=policy)


def test_hardly_any_gravity_is_none() -> None:
    """Where falls take minutes motors and speeds still move things within tenths of a second."""
    none, hardly = driven_legs(0.0), driven_legs(1e-8)
    assert none.status is hardly.status is Status.SUCCESS
    ends = [np.asarray(run.dataset["body_position"])[-1] for run in (none, hardly)]
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-8)
