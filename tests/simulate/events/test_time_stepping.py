"""Single steps of Moreau's scheme against the equations of motion of a mode."""

from __future__ import annotations

import numpy as np
import pytest

import trundle as tr
from trundle.simulate.events import HybridState, no_onsets
from trundle.simulate.events.time_stepping import _SAME, TimeStepping
from trundle.simulate.mode import Method, Mode
from trundle.simulate.runner import Runner


@pytest.mark.parametrize("law", ["rolling", "pure-rolling"])
def test_a_short_step_is_the_motion_of_its_mode(law: str) -> None:
    body = tr.RigidBody(tr.Ellipsoid([0.3, 0.2, 0.25]), 1.0, "solid")
    pair = tr.RollingPair(body, tr.Hand(tr.Plane()), law=law, friction=5.0, on_slip="slide", on_separation="fly")
    turn = np.array([0.8, 0.3, -0.2, 0.4]) / np.linalg.norm([0.8, 0.3, -0.2, 0.4])
    start = pair.place(object_quaternion=turn, object_angular_velocity=[0.5, -0.7, 0.0])
    runner = Runner(pair.system, Method(), None, np.array([0.0, 1.0]), None)
    now = HybridState(0.0, start.x, Mode((law,), start.atlas), no_onsets(pair.system))
    phase = runner.phase(now.mode)
    stepping = TimeStepping(runner.board, now, [0])
    after = stepping.step(1e-6)
    assert after is not None
    assert after.mode.laws == (law,)
    rate = np.asarray(phase.integrator.system.rate(0.0, now.x, phase.parameters(np.zeros(0)))).ravel()
    np.testing.assert_allclose((after.x - now.x) / after.t, rate, atol=1e-4)
    force = phase.outputs(np.zeros(1), now.x[None], phase.parameters(np.zeros(0))[None])["contact.force"]
    np.testing.assert_allclose(stepping.forces(), force, atol=1e-4)


def test_each_step_is_a_fourth_longer_than_the_one_before_even_after_one_that_a_sample_cut_short() -> None:
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), 1.0, "solid"), tr.Hand(tr.Plane()), on_slip="slide")
    runner = Runner(pair.system, Method(), None, np.array([0.0, 1.0]), None)
    now = HybridState(0.0, pair.place().x, Mode(("rolling",), pair.system.first_atlas), no_onsets(pair.system))
    stepping, times = TimeStepping(runner.board, now, [0]), [0.0]
    for longest in (1e-7, 1.0, 1.0):
        after = stepping.step(longest)
        assert after is not None
        times.append(after.t)
    np.testing.assert_allclose(np.diff(times), [1e-7, 1.25e-6, 1.25**2 * 1e-6], rtol=1e-9)
    for _ in range(len(times), _SAME + 1):  # as events are tried again after so many in one mode
        assert stepping.find_settled_state(0.0) is None
        stepping.step(1.0)
    settled = stepping.find_settled_state(0.0)
    assert settled is not None
    assert settled.mode == now.mode


@pytest.mark.parametrize("speed", [0.3, 3.0])
def test_what_comes_in_fast_lands_at_its_instant_and_not_below_the_ground(speed: float) -> None:
    robot = tr.Robot(gravity=[0.0, 0.0, -9.81], on_slip="slide", on_separation="fly")
    robot.free(1.0, [0.004] * 3, shape=tr.Sphere(0.1), name="ball")
    robot.terrain(tr.Plane(), friction=0.4)
    tree = robot.finish()
    height = 1e-4
    start = tree.place(
        ball=[0.0, 0.0, 0.1 + height, 1.0, 0.0, 0.0, 0.0],
        contacts=[],
        rates={"ball": [0.0, 0.0, 0.0, 0.0, 0.0, -speed]},
    )
    runner = Runner(tree.system, Method(), None, np.array([0.0, 1.0]), None)
    stepping = TimeStepping(
        runner.board, HybridState(0.0, start.x, Mode(("separated",), start.atlas), no_onsets(tree.system)), [0]
    )
    landed = None
    while landed is None:
        before = stepping.now
        assert stepping.step(1.0) is not None
        landed = stepping.first_landing(before)
    instant, contact = landed
    assert contact == 0
    expected = (np.sqrt(speed**2 + 2 * 9.81 * height) - speed) / 9.81
    np.testing.assert_allclose(instant, expected, rtol=1e-9)


def test_steps_of_what_is_small_are_as_much_shorter_as_it_falls_sooner() -> None:
    steps = []
    for radius in (0.1, 0.001):
        body = tr.RigidBody(tr.Sphere(radius), 1.0, "solid")
        pair = tr.RollingPair(body, tr.Hand(tr.Plane()), on_slip="slide", on_separation="fly")
        runner = Runner(pair.system, Method(), None, np.array([0.0, 1.0]), None)
        now = HybridState(0.0, pair.place().x, Mode(("rolling",), pair.system.first_atlas), no_onsets(pair.system))
        stepping = TimeStepping(runner.board, now, [0])
        after = stepping.step(1.0)
        assert after is not None
        steps.append(after.t)
    np.testing.assert_allclose(steps[0] / steps[1], np.sqrt(0.1 / 0.001), rtol=0.02)


def test_a_slip_over_a_ball_stays_on_it_and_its_force_turns_with_the_normal() -> None:
    """The normal turns as the contact goes on: without that a slip at 2 m/s sinks in by 4e-7 m in 2 ms."""
    ball, ground, mu = 0.1, 1.0, 0.3
    body = tr.RigidBody(tr.Sphere(ball), 1.0, "solid")
    pair = tr.RollingPair(body, tr.Hand(tr.Sphere(ground)), friction=mu, on_slip="slide", on_separation="fly")
    start, layout = pair.place(contact_on_hand=(0.0, 0.0, ground)), pair.system.model().layout
    x, position = np.array(start.x), layout["object.position"]
    x[layout["object.velocity"]] = [2.0, 0.0, 0.0]
    runner = Runner(pair.system, Method(), None, np.array([0.0, 1.0]), None)
    now = HybridState(0.0, x, Mode(("sliding",), start.atlas), np.zeros((1, 3)))
    stepping = TimeStepping(runner.board, now, [0])
    for _ in range(80):
        before = stepping.now
        after = stepping.step(1e-4)
        assert after is not None
        assert after.mode.laws == ("sliding",)
        x = after.x[position]
        assert abs(np.linalg.norm(x) - ground - ball) < 1e-9
        for t in (before.t, (before.t + after.t) / 2, after.t):
            state = stepping.state_at(before, t)
            (force,), n = stepping.forces_at(t, state), state[position] / np.linalg.norm(state[position])
            normal = float(n @ force)
            assert normal > 5.0
            assert abs(np.linalg.norm(force - normal * n) - mu * normal) < 1e-9
            assert normal == pytest.approx(float(np.linalg.norm(force)) / np.hypot(1.0, mu), abs=1e-9)
    assert stepping.now.t > 2e-3


@pytest.mark.slow
def test_a_capsule_passes_from_its_cap_onto_its_side_beside_a_body_that_rubs() -> None:
    """Two balls on one body rub (once that took time steps) while the capsule, elsewhere, lies down on its side."""
    robot = tr.Robot(gravity=[0.0, 0.0, -9.81], on_slip="slide", on_separation="fly")
    twin = robot.free(3.98, [0.00207175, 0.0136326, 0.0136326], shape=tr.Sphere(0.0314), shape_at=[0.07, 0.0, 0.0])
    robot.attach(twin, tr.Sphere(0.0406), at=[-0.07, 0.0, 0.0], name="other")
    inertia = [0.00344697, 0.00344697, 0.000674045]
    robot.free(0.706, inertia, shape=tr.Capsule(0.043, 0.135), name="capsule")
    robot.terrain(tr.Ellipsoid([0.627, 0.498, 0.46]), friction=0.136)
    tree = robot.finish()
    turned = [-0.1887590597306086, 0.41055095491407373, -0.8918865572271256, 0.01887590597306086]
    lying = [0.928659625010144, 0.051401824262554095, 0.36323955812204894, 0.054828612546724366]
    start = tree.place(
        base=[0.0543, -0.0532, 0.607723, *turned],
        capsule=[0.145, 0.13, 0.62516, *lying],
        contacts=[],
        rates={"capsule": [6.14, -7.39, 7.93, 0.0, 0.0, 0.0]},
    )
    run = tr.simulate(tree, start, 0.26)
    assert run.status.label == "success"
    assert run.feasible
