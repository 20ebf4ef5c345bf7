"""Further grounds, welded bodies and driven joints: known solutions, and models that are the same otherwise made."""

from __future__ import annotations

import pickle
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import trundle as tr
from trundle.errors import InputError
from trundle.models import Prismatic, Revolute


def velocity(run: tr.Trajectory, body: int = 0) -> np.ndarray:
    return np.asarray(run["body_velocity"])[:, body]


def groove(slope: float, friction: float = 0.3, radius: float = 0.1) -> tr.RollingTree:
    """A ball over two planes that slope towards each other."""
    robot = tr.Robot(gravity=(0, 0, -9.81), on_slip="slide", on_separation="fly")
    robot.free(1.0, shape=tr.Sphere(radius), name="ball")
    robot.terrain(tr.Plane(), friction, rpy=(slope, 0, 0))
    robot.terrain(tr.Plane(), friction, rpy=(-slope, 0, 0), name="left")
    return robot.finish()


@pytest.mark.parametrize("degrees", [17.5, 35.0])
def test_a_ball_in_a_groove_slides_until_it_rolls(degrees: float) -> None:
    """2 N cos(b) = m g, so a = mu g / cos(b); it rolls about a line r cos(b) below its centre."""
    slope, both = np.radians(degrees), ["ball", "ball-left"]
    tree, c = groove(slope), np.cos(slope)
    a = 0.3 * 9.81 / c
    until = 1.0 / (a * (1 + 2.5 * c**2))
    slips = dict.fromkeys(both, (1.0, 0, 0))
    start = tree.place(ball=(0, 0, 0.1 / c), contacts=both, rates={"ball": (0, 0, 0, 1.0, 0, 0)}, slips=slips)
    run = tr.simulate(tree, start, 0.11)
    t = run.time
    np.testing.assert_allclose(velocity(run)[:, 0], 1 - a * np.minimum(t, until), atol=1e-6)
    np.testing.assert_allclose(velocity(run)[:, 1:], 0.0, atol=1e-9)


def test_a_turned_terrain_is_a_slope() -> None:
    def rolled(robot: tr.Robot, height: float, shape: Any, pose: tuple[float, ...]) -> np.ndarray:
        robot.free(1.0, shape=shape, name="body")
        tree = robot.finish()
        assert tree.system.contact_pairs[0].contact == "body"
        run = tr.simulate(tree, tree.place(body=pose), 0.5)
        assert run.status is tr.Status.SUCCESS
        return np.asarray(run["body_position"])[:, 0]

    angle, pose = -0.2, (0.0, 0.1 / np.cos(0.2) + 0.02, 0.0)
    turned, sloping = tr.Robot(), tr.Robot()
    turned.terrain(tr.Line(), rpy=angle, at=(0.0, 0.02))
    sloping.terrain(tr.Line(np.tan(angle), 0.02))
    circle = tr.Circle(0.1)
    np.testing.assert_allclose(rolled(turned, 0.0, circle, pose), rolled(sloping, 0.0, circle, pose), atol=1e-9)
    inclined = tr.Robot(gravity=(0, 0, -9.81))
    inclined.terrain(tr.Plane(), rpy=(0, 0.2, 0))
    ball = rolled(inclined, 0.0, tr.Sphere(0.1), (0, 0, 0.1 / np.cos(0.2)))
    travel = 5 / 7 * 9.81 * np.sin(0.2) * 0.5**2 / 2
    np.testing.assert_allclose(ball[-1] - ball[0], travel * np.array([np.cos(0.2), 0, -np.sin(0.2)]), atol=1e-9)


def test_a_wall_beside_the_floor_stops_what_rolls_into_it() -> None:
    robot = tr.Robot(on_slip="slide", on_separation="fly")
    robot.free(1.0, shape=tr.Circle(0.1), name="ball")
    robot.terrain(tr.Line(), friction=0.5)
    robot.terrain(tr.Line(), friction=0.0, restitution=0.5, at=(1.0, 0.0), rpy=np.pi / 2, name="wall")
    tree = robot.finish()
    start = tree.place(ball=(0.0, 0.1, 0.0), rates={"ball": (None, 2.0, None)})
    assert start.laws == ("rolling", "separated")
    run = tr.simulate(tree, start, 0.6)
    meets = 0.9 / 2.0
    v = velocity(run)[:, 0]
    assert np.all(np.abs(v[run.time < meets - 1e-6] - 2.0) < 1e-9)
    assert np.all(v[run.time > meets + 1e-6] < 0)
    assert np.asarray(run["body_position"])[:, 0, 0].max() <= 0.9 + 1e-9


def test_a_welded_body_is_part_of_the_one_that_carries_it() -> None:
    """A ball with a welded one, turned, moves as one body with the moments of both."""
    m, turn, arm = (1.0, 0.5), np.array([0.3, -0.2, 0.5]), np.array([0.05, 0.1, 0.3])
    own, other = np.diag([0.01, 0.02, 0.015]), np.diag([0.002, 0.003, 0.004])
    R = np.asarray(tr.Hand(tr.Plane(), rpy=turn).R_world_hand)
    com = m[1] * arm / sum(m)
    inertia = own + R @ other @ R.T
    for mass, r in zip(m, (-com, arm - com), strict=True):
        inertia = inertia + mass * (r @ r * np.eye(3) - np.outer(r, r))

    def run(welded: bool) -> np.ndarray:
        robot = tr.Robot(gravity=(0, 0, -9.81), on_slip="slide", on_separation="fly")
        if welded:
            body = robot.free(m[0], own, shape=tr.Sphere(0.1), name="body")
            robot.fixed(body, m[1], other, at=arm, rpy=turn, name="top")
        else:
            robot.free(sum(m), inertia, center_of_mass=com, shape=tr.Sphere(0.1), name="body")
        robot.terrain(tr.Plane(), friction=2.0)
        tree = robot.finish()
        start = tree.place(body=(0, 0, 0.1), rates={"body": (0.3, 1.0, 0.2)})
        done = tr.simulate(tree, start, 0.3)
        return np.asarray(done["body_quaternion"])[:, 0]

    np.testing.assert_allclose(run(True), run(False), atol=1e-8)


def test_the_angle_of_a_welded_body_is_that_of_what_carries_it() -> None:
    robot = tr.Robot()
    pole = robot.revolute(None, (0, 0), 1.0, 0.1, center_of_mass=(0, -0.5), actuated=False, name="pole")
    robot.fixed(pole, 0.5, 0.01, at=(0, -1.0), rpy=0.4, name="bob")
    tree = robot.finish()
    run = tr.simulate(tree, tree.place(pole=0.3), 0.5)
    q = run["joint_position"][:, 0]
    np.testing.assert_allclose(np.asarray(run["body_angle"]), np.stack([q, q + 0.4], axis=1), atol=1e-12)
    lever = np.stack([np.sin(q), -np.cos(q)], axis=1)
    np.testing.assert_allclose(np.asarray(run["body_position"])[:, 1], lever, atol=1e-12)


def test_a_ball_on_a_turntable_goes_round_at_two_sevenths() -> None:
    turning, speed, w = 7.0, 0.5, 2.0
    robot = tr.Robot(gravity=(0, 0, -9.81))
    robot.prescribed(None, Revolute((0, 0, 1)), lambda t: turning * t, shape=tr.Plane(), name="table")
    robot.free(1.0, shape=tr.Sphere(0.1), name="ball")
    robot.contact("ball", "table", friction=1.0)
    tree = robot.finish()
    rates = {"ball": (None, None, 0, 0, speed, None)}
    run = tr.simulate(tree, tree.place(ball=(0.2, 0, 0.1), contacts=["ball-table"], rates=rates), 2.0)
    assert run.status is tr.Status.SUCCESS
    x, y = np.asarray(run["body_position"])[:, -1, :2].T
    np.testing.assert_allclose(x, 0.2 - speed / w * (1 - np.cos(w * run.time)), atol=1e-12)
    np.testing.assert_allclose(y, speed / w * np.sin(w * run.time), atol=1e-12)


def test_a_pendulum_on_a_driven_pivot() -> None:
    robot = tr.Robot()
    pivot = robot.prescribed(None, Prismatic((1.0, 0.0)), lambda t: 0.1 * ca.sin(5 * t), name="pivot")
    robot.revolute(pivot, (0, 0), 1.0, 0.02, center_of_mass=(0, -0.5), actuated=False, name="rod")
    tree = robot.finish()
    run = tr.simulate(tree, tree.place(rod=0.3), 2.0)

    def rate(t: float, y: np.ndarray) -> list[float]:
        push = -2.5 * np.sin(5 * t)
        return [y[1], -0.5 * (9.81 * np.sin(y[0]) + push * np.cos(y[0])) / (0.02 + 0.25)]

    exact = solve_ivp(rate, (0, 2), [0.3, 0.0], rtol=1e-11, atol=1e-12, t_eval=run.time).y[0]
    np.testing.assert_allclose(run["joint_position"][:, 0], exact, atol=1e-9)


@pytest.mark.parametrize("axis", [(1.0,), (0.0, 0.0, 1.0)])
def test_a_driven_flywheel_turns_its_carrier_the_other_way(axis: tuple[float, ...]) -> None:
    """Angular momentum stays: .3 w + .1 (w + q') = 0 about its axis."""
    plane = len(axis) == 1
    own, other = (0.3, 0.1) if plane else ((0.2, 0.25, 0.3), (0.05, 0.05, 0.1))
    robot = tr.Robot(gravity=(0.0,) * (2 if plane else 3))
    body = robot.free(1.0, own, name="body")
    robot.prescribed(
        body, Revolute(axis), lambda t: 3.0 * t**2 + 0.2 * ca.sin(4 * t) - 0.8 * t, 0.2, other, name="wheel"
    )
    tree = robot.finish()
    run = tr.simulate(tree, tree.place(), 1.0)
    t = run.time
    w = np.asarray(run["body_angular_velocity"])[:, 0]
    w = w if plane else w[:, 2]
    np.testing.assert_allclose(w, -0.1 / 0.4 * (6 * t + 0.8 * np.cos(4 * t) - 0.8), atol=1e-9)


def test_a_cart_on_a_driven_wheel_has_its_speed_from_the_start() -> None:
    """`place` counts what is told among the velocities that roll."""
    robot = tr.Robot()
    body = robot.free(2.0, 0.02, name="body")
    told = {"at": (-0.1, -0.05), "shape": tr.Circle(0.05), "name": "rear"}
    robot.prescribed(body, Revolute(), lambda t: -4.0 * t - t**2, 0.2, **told)
    robot.revolute(body, (0.1, -0.05), 0.2, shape=tr.Circle(0.05), actuated=False, name="front")
    robot.terrain(tr.Line(), friction=5.0)
    tree = robot.finish()
    start = tree.place(body=(0, 0.1, 0))
    assert start.x[tree.model().layout["body.velocity"]] == pytest.approx([0.2, 0.0], abs=1e-12)
    assert start.x[tree.model().layout["front.rate"]] == pytest.approx([-4.0], abs=1e-12)
    run = tr.simulate(tree, start, 1.0)
    assert run.status is tr.Status.SUCCESS
    np.testing.assert_allclose(velocity(run)[:, 0], 0.05 * (4 + 2 * run.time), atol=1e-9)


def carriers(robot: tr.Robot, numbers: tuple[int, ...]) -> tr.RollingTree:
    """Free bodies in space, each with a driven arm and a tip that hangs on it."""
    for k in numbers:
        body = robot.free(1.0 + k, (0.2, 0.25, 0.3), name=f"body{k}")
        told = {"at": (0.1, 0, 0), "center_of_mass": (0, 0, 0.2), "name": f"arm{k}"}
        arm = robot.prescribed(body, Revolute((0, 1, 0)), lambda t: ca.sin(3 * t), 0.5, (0.01, 0.02, 0.03), **told)
        more = {"center_of_mass": (0.05, 0, 0.1), "axis": (1, 0, 0), "name": f"tip{k}"}
        robot.revolute(arm, (0, 0, 0.4), 0.3, (0.01, 0.01, 0.02), **more)
    return robot.finish()


def test_a_driven_arm_moves_alike_in_a_model_of_many_velocities() -> None:
    """With more than twelve velocities M and h are made in another way."""
    together, alone = (carriers(tr.Robot(gravity=(0, 0, -9.81)), numbers) for numbers in ((0, 1, 2), (2,)))
    assert together.model().nv == 21
    rates = {"body2": (0.3, -0.2, 0.5, 0.1, 0, 0), "tip2": 1.0}
    runs = [tr.simulate(tree, tree.place(rates=rates), 0.5) for tree in (together, alone)]
    last = [np.asarray(run["body_position"])[:, -1] for run in runs]
    np.testing.assert_allclose(last[0], last[1], atol=1e-9)


def test_what_is_fixed_touches_no_terrain_and_order_does_not_count() -> None:
    def scene(names: tuple[str, str]) -> tr.RollingTree:
        robot = tr.Robot(on_slip="slide", on_separation="fly")
        robot.fixed(None, at=(0.5, 0.0), rpy=0.3, shape=tr.Circle(0.2), name="bump")
        robot.free(1.0, shape=tr.Circle(0.1), name="ball")
        robot.terrain(tr.Line(), friction=0.5)
        robot.contact(*names, friction=0.5, name="over")
        return robot.finish()

    trees = [scene(names) for names in (("ball", "bump"), ("bump", "ball"))]
    runs = []
    for tree in trees:
        assert [pair.contact for pair in tree.system.contact_pairs] == ["ball", "over"]
        start = tree.place(ball=(0.0, 0.1, 0.0), rates={"ball": (None, 0.5, None)})
        runs.append(np.asarray(tr.simulate(tree, start, 0.5)["body_position"])[-1])
    np.testing.assert_allclose(runs[0], runs[1], atol=1e-12)


def test_models_with_walls_can_be_copied() -> None:
    tree, given = groove(0.5), {"ball": (0, 0, 0.1 / np.cos(0.5)), "contacts": ["ball", "ball-left"]}
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(tree)).place(**given).x, tree.place(**given).x)


def test_what_cannot_be_says_why() -> None:
    robot = tr.Robot()
    robot.free(1.0, shape=tr.Circle(0.1), name="ball")
    robot.fixed(None, shape=tr.Circle(0.2), name="bump")
    robot.fixed(None, shape=tr.Circle(0.2), at=(1, 0), name="other")
    robot.terrain(tr.Line())
    cases: list[tuple[Any, str]] = [
        (lambda: robot.contact("bump", "other"), "other"),
        (lambda: robot.terrain(tr.Line(), friction=tr.Friction(1.0)), "friction"),
        (lambda: robot.terrain(tr.Line(), name="ball"), "name"),
        (lambda: robot.fixed(None, -1.0), "mass"),
        (lambda: robot.fixed(None, 1.0), "inertia"),
        (lambda: robot.prescribed(None, Revolute((0, 0, 1)), lambda t: t), "joint"),
        (lambda: robot.prescribed(None, Revolute(), lambda t: [t, t]), "motion"),
        (lambda: robot.prescribed(None, Revolute(), lambda t: "fast"), "motion"),
        (lambda: robot.prescribed(None, Revolute(), lambda t: ca.sqrt(t)), "motion"),
        (lambda: robot.finish().place(ball=(0, 0.1, 0), bump=1.0), "bump"),
        (lambda: robot.finish().place(ball=(0, 0.1, 0), rates={"bump": 1.0}), "rates.bump"),
    ]
    for make, key in cases:
        with pytest.raises(InputError) as caught:
            make()
        assert caught.value.key == key
    assert robot.finish().place(ball=(0.5, 0.1, 0), hold=["bump"]).laws[0] == "rolling"


def test_every_ground_is_drawn_where_it_is() -> None:
    tree = groove(0.5)
    run = tr.simulate(tree, tree.place(ball=(0, 0, 0.1 / np.cos(0.5)), contacts=["ball", "ball-left"]), 0.01)
    grounds = [body for body in run.scene if body.role == "terrain"]
    assert len(grounds) == 2
    for body, side in zip(sorted(grounds, key=lambda one: one.name), (1, -1), strict=True):
        normal = np.array([0, side * np.sin(0.5), np.cos(0.5)])
        np.testing.assert_allclose(body.vertices @ normal, 0.0, atol=1e-9)


@pytest.mark.parametrize(("key", "value"), [("hypothesis", "poisson"), ("bounce_speed", 0.2)])
def test_a_further_ground_takes_no_rule_of_its_own_without_a_word(key: str, value: Any) -> None:
    robot = tr.Robot(gravity=(0, 0, -9.81))
    robot.free(1.0, shape=tr.Sphere(0.1), name="ball")
    robot.terrain(tr.Plane(), 0.3, 0.2, **{key: value})
    robot.terrain(tr.Plane(), 0.3, 0.8, **{key: value}, at=(0, 0, -1.0))
    assert [getattr(pair.restitution, key) for pair in robot.finish().system.contact_pairs] == [value] * 2
    plain = tr.Robot(gravity=(0, 0, -9.81))
    plain.terrain(tr.Plane())
    with pytest.raises(InputError, match=key):
        plain.terrain(tr.Plane(), **{key: value})
