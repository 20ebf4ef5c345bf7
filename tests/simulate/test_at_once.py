"""What touches at one instant is one impact: scenes that are their own mirror image stay so, in any order of names."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import trundle as tr
from trundle.status import Status

R = 0.1


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_two_balls_that_hit_one_in_the_middle_leave_it_at_rest(order: tuple[str, str], restitution: float) -> None:
    robot = tr.Robot(gravity=(0, 0), on_slip="slide", on_separation="fly")
    for name, mass in (("middle", 1.0), ("a", 0.7), ("b", 0.7)):
        robot.free(mass, 0.004, shape=tr.Circle(R), name=name)
    for name in order:
        robot.contact("middle", name, friction=0.0, restitution=restitution)
    tree = robot.finish()
    rates = {"a": (0, -1, 0), "b": (0, 1, 0)}
    start = tree.place(middle=(0, 0, 0), a=(0.45, 0, 0), b=(-0.45, 0, 0), contacts=[], rates=rates)
    run = tr.simulate(tree, start, 0.8)
    assert run.status is Status.SUCCESS
    along = run["body_velocity"][-1, :, 0]
    np.testing.assert_allclose(along, [0.0, restitution, -restitution], rtol=0, atol=1e-12)


@pytest.mark.parametrize("count", [3, 4, 5])
def test_balls_that_come_from_all_sides_at_once_turn_into_each_other(count: int) -> None:
    robot = tr.Robot(gravity=(0, 0, 0), on_slip="slide", on_separation="fly")
    names = [f"b{i}" for i in range(count)]
    for name in ("middle", *names):
        robot.free(1.0, (0.004,) * 3, shape=tr.Sphere(R), name=name)
    for name in names[::-1]:
        robot.contact("middle", name, friction=0.3, restitution=0.5)
    tree = robot.finish()
    angles = 2.0 * np.pi * np.arange(count) / count
    out = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(count)])
    places = {name: (*(0.5 * e), 1.0, 0.0, 0.0, 0.0) for name, e in zip(names, out, strict=True)}
    rates = {name: (0.0, 0.0, 5.0, *-e) for name, e in zip(names, out, strict=True)}
    start = tree.place(middle=(0, 0, 0, 1, 0, 0, 0), **places, contacts=[], rates=rates)
    run = tr.simulate(tree, start, 0.6)
    assert run.status is Status.SUCCESS
    velocity = run["body_velocity"][-1]
    np.testing.assert_allclose(velocity[0], 0.0, rtol=0, atol=1e-11)
    radial, around = velocity[1:] @ np.array([1.0, 0.0, 0.0]), velocity[1:, 2]
    inward = np.sum(velocity[1:] * out, axis=1)
    np.testing.assert_allclose(inward, 0.5, rtol=0, atol=1e-11)
    np.testing.assert_allclose(np.linalg.norm(velocity[1:], axis=1), np.linalg.norm(velocity[1]), rtol=0, atol=1e-11)
    assert np.ptp(radial) > 0.1
    np.testing.assert_allclose(around, 0.0, rtol=0, atol=1e-11)


@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_a_car_that_lands_level_on_a_hill_stays_in_the_middle(restitution: float) -> None:
    ends = []
    for order in permutations((-1, 1)):
        robot = tr.Robot(gravity=(0, -9.81), on_slip="slide", on_separation="fly")
        car = robot.free(1.0, 0.02, name="car")
        for side in order:
            robot.attach(car, tr.Circle(0.05), at=(0.2 * side, -0.05), name=f"wheel{side}")
        robot.terrain(tr.Circle(2.0), friction=0.5, restitution=restitution)
        tree = robot.finish()
        run = tr.simulate(tree, tree.place(car=(0.0, 2.6, 0.0), contacts=[]), 0.9)
        assert run.feasible, run.status
        ends.append((*run["body_position"][-1, 0], *run["body_angle"][-1]))
    np.testing.assert_allclose(np.array(ends)[:, [0, 2]], 0.0, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-9)


def test_a_ball_in_a_groove_does_not_know_which_side_was_named_first() -> None:
    """Friction may squeeze it between both sides by any force, and what drills on them brakes it by that."""
    ends = []
    for order in ((1, -1), (-1, 1)):
        robot = tr.Robot(gravity=(0, 0, -9.81), on_slip="slide", on_separation="fly")
        robot.free(1.0, (0.004,) * 3, shape=tr.Sphere(R), name="ball")
        for side in order:
            friction = (
                tr.Friction(0.4, drilling=0.003) if side == order[0] else 0.4
            )  # the rest is that of the first one
            robot.terrain(tr.Plane(), friction=friction, rpy=(0.6 * side, 0, 0), name=f"side{side}")
        tree = robot.finish()
        pose, rates = (0, 0, R / np.cos(0.6) + 0.02, 1, 0, 0, 0), {"ball": (3.0, 1.0, 5.0, 0.5, 0.0, 0.0)}
        run = tr.simulate(tree, tree.place(ball=pose, contacts=[], rates=rates), 0.3)
        assert run.status is Status.SUCCESS
        ends.append(run["body_velocity"][-1, 0, 0])
    assert ends[0] == pytest.approx(ends[1], abs=1e-6)
