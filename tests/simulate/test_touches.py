"""A touch cannot be missed, whatever the duration and the output step; the order of names does not matter."""

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from trundle.models import Prismatic, Start
from trundle.simulate.events import advancement


def two_balls(R: float, v: float, d: float, T: float, planar: bool = False, **given):
    """Return the run of a ball that flies at another one, elastic and without friction."""
    robot = tr.Robot(gravity=0.0 if planar else (0, 0, 0), on_slip="slide", on_separation="fly")
    for name in "ab":
        robot.free(1.0, shape=tr.Circle(R) if planar else tr.Sphere(R), name=name)
    robot.contact("a", "b", friction=0.0, restitution=1.0)
    tree = robot.finish()
    if planar:
        start = tree.place(a=(-d, 0, 0), rates={"a": (0, v, 0)}, contacts=[])
    else:
        start = tree.place(
            a=(-d, 0, 0, 1, 0, 0, 0), b=(0, 0, 0, 1, 0, 0, 0), rates={"a": (0, 0, 0, v, 0, 0)}, contacts=[]
        )
    return tr.simulate(tree, start, T, **given)


@pytest.mark.parametrize("planar", [False, True])
@pytest.mark.parametrize(
    ("R", "v", "given", "T"), [(1e-4, 30.0, {}, 0.1), (0.005, 1.0, {"output_step": 0.11}, 3.0), (0.0286, 8.0, {}, 30.0)]
)
def test_two_balls_that_fly_at_each_other_collide_at_the_instant_of_the_closed_form(planar, R, v, given, T):
    run = two_balls(R, v, 0.2, T, planar, **given)
    assert [one["reason"] for one in run.transitions] == ["the gap closed"]
    assert run.transitions[0]["time"] == pytest.approx((0.2 - 2 * R) / v, rel=1e-13)
    velocities = run["body_velocity"][-1, :, 0]
    assert velocities == pytest.approx([0.0, v], abs=1e-12 * v)


def test_the_gap_of_balls_that_roll_apart_is_that_of_the_balls():
    """Newton's iteration also ends at normals that point the other way, where the gap has the other sign."""
    R = 0.005
    robot = tr.Robot(gravity=(0, 0, -9.81), on_slip="slide", on_separation="fly")
    for name in "ab":
        robot.free(1.0, shape=tr.Sphere(R), name=name)
    robot.terrain(tr.Plane(), friction=0.3)
    robot.contact("a", "b", friction=0.0, restitution=1.0)
    tree = robot.finish()
    poses = {"a": (-0.2, 0, R, 1, 0, 0, 0), "b": (0, 0, R, 1, 0, 0, 0)}
    start = tree.place(**poses, rates={"a": (0, 1 / R, 0, 1.0, 0, 0)}, contacts=["a", "b"])
    run = tr.simulate(tree, start, 30.0)
    assert run.status is tr.Status.SUCCESS
    pair = [str(name) for name in run.dataset["contact"].values].index("a-b")
    apart = np.linalg.norm(run["body_position"][:, 0] - run["body_position"][:, 1], axis=1) - 2 * R
    assert run["gap"][:, pair] == pytest.approx(apart, abs=1e-9)


def test_faces_that_lie_down_on_each_other_are_no_point_contact():
    """A can that stands on the floor, and another one above it, whose ends are parallel."""
    robot = tr.Robot(gravity=(0, 0, -9.81), on_slip="slide", on_separation="fly")
    robot.free(2.0, (0.01, 0.01, 0.01), shape=tr.Cylinder(0.1, 0.1), name="low")
    robot.free(1.0, (0.01, 0.01, 0.01), shape=tr.Cylinder(0.05, 0.08), name="high")
    robot.terrain(tr.Plane(), friction=0.5)
    robot.contact("low", "high", friction=0.3, restitution=0.4)
    tree = robot.finish()
    poses = {"low": (0, 0, 0.05, 1, 0, 0, 0), "high": (0.03, 0.02, 0.2, 1, 0, 0, 0)}
    run = tr.simulate(tree, tree.place(**poses, contacts=["low"]), 0.3)
    assert run.status is tr.Status.NOT_A_POINT_CONTACT
    fall = 0.2 - 0.1 - 0.04
    assert run.time[-1] == pytest.approx(np.sqrt(2 * fall / 9.81), rel=1e-6)


def test_a_glancing_touch_is_seen_and_a_near_miss_is_none():
    R, d = 0.05, 0.4
    for offset, meets in ((2 * R * (1 - 1e-7), True), (2 * R * (1 + 1e-7), False)):
        robot = tr.Robot(gravity=(0, 0, 0), on_slip="slide", on_separation="fly")
        for name in "ab":
            robot.free(1.0, shape=tr.Sphere(R), name=name)
        robot.contact("a", "b", friction=0.0, restitution=1.0)
        tree = robot.finish()
        start = tree.place(a=(-d, offset, 0), rates={"a": (0, 0, 0, 20.0, 0, 0)}, contacts=[])
        assert bool(tr.simulate(tree, start, 1.0).transitions) is meets


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "held"),
    [
        (tr.Sphere(0.06), tr.Box([0.1, 0.1, 0.05])),
        (tr.Sphere(0.06), tr.Ellipsoid([0.4, 0.4, 0.05])),
        (tr.Capsule(0.04, 0.1), tr.Cylinder(0.08, 0.1)),
        (tr.Capsule(0.04, 0.1), tr.Rounded(tr.Box([0.09, 0.09, 0.04]), 0.01)),
        (tr.Sphere(0.06), tr.Cylinder(0.08, 0.1)),
    ],
)
def test_either_order_of_names_is_the_same_contact(shape, held):
    runs = []
    for names in (("a", "b"), ("b", "a")):
        robot = tr.Robot(gravity=(0, 0, 0), on_slip="slide", on_separation="fly")
        robot.free(1.0, shape=shape, name="a")
        robot.free(50.0, shape=held, name="b")
        robot.contact(*names, friction=0.6)
        tree = robot.finish()
        start = tree.place(a=(0.01, 0.005, 0.3), rates={"a": (0, 0, 0, 0.3, 0, -2.0)}, contacts=[])
        runs.append(tr.simulate(tree, start, duration=0.2))
    one, other = runs
    assert one.status is other.status
    assert one.transitions[0]["time"] > 0.05
    np.testing.assert_allclose(one["body_position"][-1], other["body_position"][-1], atol=1e-12)
    # Forces act on, and slips are of, the body that was named first; normals point at it.
    for quantity in ("contact_force", "contact_normal", "slip"):
        np.testing.assert_allclose(one[quantity], -other[quantity], atol=1e-9)
    assert one["gap"].min() > -1e-9


@pytest.mark.parametrize(
    ("shape", "ground", "position", "lands"),
    [
        (tr.Disc(0.06), tr.Extrusion(tr.Sinusoid(0.02, 1.0)), (0.25, 0, 0.1), 0.02),
        (tr.Cylinder(0.06, 0.12), tr.Rounded(tr.Box([0.19] * 3), 0.01), (0.01, 0.05, 0.32), 0.26),
        (tr.Cylinder(0.06, 0.12), tr.Sphere(0.3), (0, 0, 0.4), 0.36),
    ],
)
def test_flat_faces_do_not_fall_through_curved_ground(shape, ground, position, lands):
    pair = tr.RollingPair(tr.RigidBody(shape, mass=1.0), tr.Hand(ground), on_slip="slide", on_separation="fly")
    run = tr.simulate(pair, pair.place(object_position=position, object_velocity=(0, 0, 0)), 0.2, output_step=0.02)
    height = run["object_position"][:, 2]
    assert height.min() == pytest.approx(lands, abs=1e-9)
    # Two faces that lie on each other have no point of contact: where that is not seen as they land the audit says it.
    assert run.status in (tr.Status.SUCCESS, tr.Status.NOT_A_POINT_CONTACT, tr.Status.INCONSISTENT)
    # The gap on the way is that of the shapes: straight down, with the face level.
    flying = run["mode"] == "separated"
    np.testing.assert_allclose(run["gap"][flying], height[flying] - lands, atol=1e-5)


def test_a_plate_carried_above_terrain_touches_what_it_is_said_to_touch():
    r, rate = 0.05, 0.7
    robot = tr.Robot(gravity=(0, 0, -9.81), on_slip="slide", on_separation="fly")
    robot.free(0.5, "solid", shape=tr.Sphere(r), name="ball")
    place = {"axis": (1, 0, 0), "shape": tr.Plane(), "shape_rpy": (np.pi, 0, 0), "name": "upper"}
    robot.prismatic(None, (0, 0, 2 * r), 2.0, (1e-2,) * 3, **place)
    robot.terrain(tr.Plane(), friction=0.8)
    with pytest.raises(tr.InputError, match=r"robot\.contact"):
        robot.finish()
    robot.contact("ball", "upper", friction=0.8)
    tree = robot.finish()
    start = tree.place(ball=(0, 0, r), contacts=["ball", "ball-upper"], rates={"upper": rate})
    ball = tree.model().layout["ball.velocity"]
    assert start.x[ball] == pytest.approx([rate / 2, 0, 0], abs=1e-12)


@pytest.mark.parametrize("later", ["a", "b"])
def test_of_two_bodies_that_land_one_after_the_other_neither_sinks_in(later):
    radius, heights = 0.1, dict.fromkeys("ab", 0.3)
    heights[later] += 1e-4
    robot = tr.Robot(gravity=(0, -9.81), on_slip="slide", on_separation="fly")
    for name in "ab":
        robot.free(1.0, "solid", shape=tr.Circle(radius), name=name)
    robot.terrain(tr.Parabola(0.2), friction=0.0, restitution=0.5)
    tree = robot.finish()
    start = tree.place(**{name: (0.0, radius + height, 0.0) for name, height in heights.items()}, contacts=[])
    run = tr.simulate(tree, start, 0.3)
    times = {one["contact"]: one["time"] for one in run.transitions}
    for name, height in heights.items():
        assert times[name] == pytest.approx(np.sqrt(2 * height / 9.81), rel=1e-12)
    assert run["gap"].min() > -1e-12
    assert run.status is tr.Status.SUCCESS


FLYING = {"on_slip": "slide", "on_separation": "fly"}
AMPLITUDE, RADIUS, OFF = 0.01, 0.05, 0.006
"""m: of what shakes, of two balls, and how far the other ball is off where the first one is farthest away."""


def _on_a_spring(frequency: float) -> tuple[tr.RollingTree, Start]:
    robot = tr.Robot(gravity=(0, 0, 0), **FLYING)
    shape = tr.Sphere(RADIUS)
    arm = robot.prismatic(None, (0, 0, 0), 1.0, axis=(1, 0, 0), shape=shape, name="arm", actuated=False)
    robot.resist(arm, stiffness=(2 * np.pi * frequency) ** 2, rest=AMPLITUDE)
    return _beside(robot, "arm")


def _told(frequency: float) -> tuple[tr.RollingTree, Start]:
    robot = tr.Robot(gravity=(0, 0, 0), **FLYING)
    slide, w = Prismatic((1.0, 0, 0)), 2 * np.pi * frequency
    robot.prescribed(None, slide, lambda t: AMPLITUDE * (1 - ca.cos(w * t)), shape=tr.Sphere(RADIUS), name="arm")
    return _beside(robot, "arm")


def _beside(robot: tr.Robot, other: str) -> tuple[tr.RollingTree, Start]:
    robot.free(1.0, shape=tr.Sphere(RADIUS), name="ball")
    robot.contact("ball", other, friction=0.0, restitution=0.5)
    tree = robot.finish()
    return tree, tree.place(ball=(2 * RADIUS + OFF, 0, 0))


def _on_a_hand(frequency: float) -> tuple[tr.RollingPair, Start]:
    amplitude = (0, 0, 0, AMPLITUDE * (2 * np.pi * frequency) ** 2, 0, 0)
    shaking = tr.SinusoidMotion(amplitude, [frequency] * 6, [0.5 * np.pi] * 6)
    ball, hand = tr.RigidBody(tr.Sphere(RADIUS), 1.0), tr.Hand(tr.Sphere(RADIUS), motion=shaking)
    pair = tr.RollingPair(ball, hand, gravity=(0, 0, 0), friction=0.0, restitution=0.5, **FLYING)
    return pair, pair.place(object_position=(2 * RADIUS + OFF, 0, 0))


@pytest.mark.parametrize("make", [_on_a_spring, _told, _on_a_hand])
@pytest.mark.parametrize(("frequency", "output_step"), [(40.0, 0.005), (200.0, 0.005), (200.0, 0.0013)])
def test_what_shakes_as_often_as_shapes_are_looked_at_touches(make, frequency, output_step) -> None:
    """It goes to 2 A from where it starts, A (1 - cos w t), and touches where that is the distance at first."""
    model, start = make(frequency)
    run = tr.simulate(model, start, 0.05, output_step=output_step)
    assert run.status is tr.Status.SUCCESS, run.transitions
    assert run["event_time"][0] == pytest.approx(np.arccos(1 - OFF / AMPLITUDE) / (2 * np.pi * frequency), abs=1e-9)


@pytest.mark.parametrize("frequency", [97.0, 400.0])
def test_what_swings_faster_than_samples_show_is_not_called_inconsistent(frequency) -> None:
    robot = tr.Robot(gravity=9.81)
    arm = robot.prismatic(None, (0, 0), 1.0, 0.01, axis=(1, 0), name="arm", actuated=False)
    robot.resist(arm, stiffness=(2 * np.pi * frequency) ** 2)
    tree = robot.finish()
    run = tr.simulate(tree, tree.place(arm=0.001), 0.5, output_step=0.01)
    assert run["joint_position"][:, 0] == pytest.approx(0.001 * np.cos(2 * np.pi * frequency * run.time), abs=1e-10)
    assert run.status is tr.Status.SUCCESS
    assert run.metadata["audit"]["checked"]["motion"]["unjudged"] > 0


@pytest.mark.parametrize("size", [0.1, 1e-5])
def test_a_small_ball_that_bounces_on_another_one_comes_down_on_it_again(size) -> None:
    """A fall through a few sizes takes less than the time between two looks: it went through what it had hit before."""
    robot = tr.Robot(gravity=(0, 0, -9.81), **FLYING)
    robot.terrain(tr.Sphere(3.0 * size), friction=0.0, restitution=0.6, bounce_speed=0.01 * np.sqrt(9.81 * size))
    robot.free(1e3 * size**3, shape=tr.Sphere(size), name="ball")
    tree, fall = robot.finish(), np.sqrt(2.0 * size / 9.81)
    flights = 2.0 * fall * 0.6 ** np.arange(1, 4)
    landings = fall + np.concatenate([[0.0], np.cumsum(flights)])
    run = tr.simulate(tree, tree.place(contacts=(), ball=(0, 0, 5.0 * size)), 12.0 * fall)
    assert run.status is tr.Status.SUCCESS, run.transitions
    assert run["event_time"][: len(landings)] == pytest.approx(landings, rel=1e-9)


@pytest.mark.parametrize("gap", [0.0, 3e-17, 1e-16, 1e-13])
def test_faces_that_glide_over_each_other_at_round_off_are_not_searched_without_end(gap, monkeypatch) -> None:
    """Two boxes fall together, one spins and slides on the other one: no instant between two looks tells more."""
    asked = []
    surely_apart = advancement.surely_apart
    monkeypatch.setattr(advancement, "surely_apart", lambda *looks: (asked.append(1), surely_apart(*looks))[1])
    robot = tr.Robot(gravity=(0, 0, -9.81), **FLYING)
    robot.free(2.0, "solid", shape=tr.Box([0.1, 0.1, 0.05]), name="below")
    robot.free(0.3, "solid", shape=tr.Box([0.05, 0.05, 0.1]), name="above")
    robot.terrain(tr.Plane(), 0.3)
    robot.contact("below", "above", friction=0.0, restitution=0.0)
    tree = robot.finish()
    places = {"below": (0, 0, 0.3, 1, 0, 0, 0), "above": (0, 0, 0.45 + gap, 1, 0, 0, 0)}
    run = tr.simulate(tree, tree.place(contacts=[], rates={"above": (0, 0, 2.33, 0.43, 0.35, 0)}, **places), 0.05)
    assert run.status is tr.Status.SUCCESS
    assert np.allclose(run["body_position"][-1, :, 2], np.array([0.3, 0.45]) - 9.81 * 0.05**2 / 2, atol=1e-12)
    assert len(asked) < 300
