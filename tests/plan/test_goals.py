"""Goals that are no rest: releases into free flight and periodic motions, both judged by other simulations."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from trundle.errors import InputError
from trundle.models import SampledMotion
from trundle.optimal import Condition, Phase
from trundle.optimal.stages import control_problem
from trundle.status import Status


def ellipse_on_plate(**more) -> tr.RollingPair:
    body = tr.RigidBody(tr.Ellipse([0.0377, 0.0252]), mass=0.0553, inertia="solid")
    return tr.RollingPair(body, tr.Hand(tr.Line(), extent=0.375), friction=0.8, gravity=0.4 * 9.81, **more)


def ball_on_plate() -> tr.RollingPair:
    ball = tr.RigidBody(tr.Sphere(radius=0.035), mass=0.216, inertia="solid")
    return tr.RollingPair(ball, tr.Hand(tr.Plane()), friction=0.5)


def let_go(task: tr.juggling.Transfer, plan: tr.Plan, away: float) -> tr.Trajectory:
    """Simulate the task's own pair under the plan's inputs and then a hand that accelerates away for 50 ms."""
    after = plan.inputs[-1].copy()
    after[-1] -= away
    times = np.concatenate([plan.times, plan.duration + np.array([1e-9, 0.05])])
    motion = SampledMotion(times, np.vstack([plan.inputs, after, after]))
    pair = replace(task.pair, base=replace(task.pair.base, motion=motion), on_slip="ignore", on_separation="fly")
    return tr.simulate(pair, task.start, plan.duration + 0.05)


def flies(task: tr.juggling.Transfer, plan: tr.Plan, v: np.ndarray, w: np.ndarray) -> None:
    """Check that the object leaves at the plan's end and keeps w, and v but for gravity."""
    run = let_go(task, plan, 3.0)
    apart = run["mode"] == "separated"
    assert run.time[apart][0] == pytest.approx(plan.duration, abs=3e-3)
    assert np.all(apart[np.flatnonzero(apart)[0] :])
    assert run["gap"][-1] > 3e-3
    np.testing.assert_allclose(run["object_angular_velocity"][-1], w, atol=2e-4)
    g = task.pair.gravity
    fall = np.zeros(3) + np.insert(g, 1, 0.0) if task.d == 2 else np.asarray(g)
    np.testing.assert_allclose(run["object_velocity"][-1], v + fall * (run.time[-1] - plan.duration), atol=1e-4)


def test_an_ellipse_is_thrown_with_the_velocities_of_the_goal() -> None:
    goal = {"release": True, "object_velocity": (0.1, 0.5), "object_angular_velocity": 3.0, "hand_position": "free",
            "hand_angle": "free"}  # fmt: skip
    task = tr.juggling.Transfer(ellipse_on_plate(), {}, goal, 0.5, {"linear_acceleration": 10.0})
    plan = tr.juggling.plan(task)
    assert plan.status is Status.SUCCESS, plan.message
    assert plan.residuals["release_force"] < 1e-3 * 0.0553 * 0.4 * 9.81
    assert plan.residuals["goal_velocity_error"] < 1e-4
    flies(task, plan, np.array([0.1, 0.0, 0.5]), np.array([0.0, -3.0, 0.0]))


def test_a_ball_is_thrown_with_a_spin() -> None:
    goal = {"release": True, "object_velocity": (0.0, 0.2, 0.8), "object_angular_velocity": (2.0, 0.5, 0.0),
            "hand_position": "free", "hand_rpy": "free"}  # fmt: skip
    task = tr.juggling.Transfer(ball_on_plate(), {}, goal, 0.5, {"linear_acceleration": 30.0})
    plan = tr.juggling.plan(task)
    assert plan.status is Status.SUCCESS, plan.message
    flies(task, plan, np.array([0.0, 0.2, 0.8]), np.array([2.0, 0.5, 0.0]))


def again(plan: tr.Plan, names: tuple[str, ...], atol: float = 1e-4) -> None:
    """Check that a replay ends as it began."""
    for name in names:
        np.testing.assert_allclose(plan.trajectory[name][-1], plan.trajectory[name][0], atol=atol, err_msg=name)


RATES = ("hand_velocity", "hand_angular_velocity", "object_angular_velocity")


def test_an_ellipse_rocks_in_the_time_that_the_hand_sets() -> None:
    """Off its equilibrium it cannot rest: the hand moves to make the period 0.6 s."""
    limits = {"linear_acceleration": 10.0, "freedoms": "translations"}
    start = {"object_angle": 0.3}
    task = tr.juggling.Transfer(ellipse_on_plate(), start, {"periodic": True}, 0.6, limits, start_velocities="free")
    plan = tr.juggling.plan(task)
    assert plan.status is Status.SUCCESS, plan.message
    again(plan, (*RATES, "contact_on_hand", "object_quaternion", "hand_position"), atol=1e-3)
    assert np.ptp(plan.trajectory["object_position"][:, 0]) > 0.01
    assert np.max(np.abs(plan.inputs)) > 0.01


def test_a_period_goes_on_by_half_a_turn_and_rolling_along_needs_no_hand() -> None:
    goal = {"periodic": True, "object_angle": np.pi}
    task = tr.juggling.Transfer(ellipse_on_plate(), {"contact_on_hand": (-0.05, 0)}, goal, 0.8, start_velocities="free")
    plan = tr.juggling.plan(task)
    assert plan.status is Status.SUCCESS, plan.message
    again(plan, RATES, atol=1e-3)
    way = plan.trajectory["contact_on_hand"][[0, -1], 0]
    assert abs(way[1] - way[0]) == pytest.approx(0.0998, abs=1e-3)  # half the circumference
    assert np.max(np.abs(plan.inputs)) < 1e-3
    assert np.linalg.norm(plan.states[0, -1]) > 5.0


def test_a_ball_that_may_not_spin_turns_about_the_vertical_by_rolling_around_a_loop() -> None:
    pair = replace(ball_on_plate(), law="pure-rolling")
    turned = (np.cos(0.4), 0, 0, np.sin(0.4))
    goal = {"periodic": True, "contact_on_hand": (0, 0, 0), "object_quaternion": turned}
    task = tr.juggling.Transfer(pair, {}, goal, 1.5, {"freedoms": ("wx", "wy")}, start_velocities="free")
    plan = tr.juggling.plan(task)
    assert plan.status is Status.SUCCESS, plan.message
    assert np.ptp(plan.trajectory["contact_on_hand"][:, 0]) > 0.01
    again(plan, ("hand_velocity", "hand_angular_velocity", "contact_on_hand"))
    np.testing.assert_allclose(plan.trajectory["object_quaternion"][-1], turned, atol=1e-3)


@pytest.mark.parametrize(
    ("goal", "key"),
    [
        ({"contact_on_hand": (0, 0), "object_velocity": (0, 1)}, "object_velocity"),
        ({"periodic": True, "release": True}, "release"),
        ({"periodic": True, "hand_at_rest": True}, "hand_at_rest"),
        ({"periodic": True, "relative_angular_velocity": 1.0}, "relative_angular_velocity"),
        ({}, "goal"),
    ],
)
def test_goals_that_contradict_themselves_are_refused(goal: dict, key: str) -> None:
    with pytest.raises(InputError, match=key):
        tr.juggling.plan(tr.juggling.Transfer(ellipse_on_plate(), {}, goal, 1.0))
    with pytest.raises(InputError, match="start_velocities"):
        tr.juggling.Transfer(ellipse_on_plate(), {}, {"object_angle": 1.0}, 1.0, start_velocities="any")


def test_the_stages_of_the_real_time_optimiser_refuse_an_input_at_the_end() -> None:
    x, u = ca.SX.sym("x"), ca.SX.sym("u")
    phase = Phase("push", x, u, u, 1.0, end=[Condition("force", x + u)])
    with pytest.raises(InputError, match="end"):
        control_problem(phase, 10)
