"""Metrics of controlled runs from made-up motions whose answer is known: a ball that rolls along x on a plate."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.measuring import compute
from tests.report.synthetic import _juggling, changed, plate_mesh, uv_sphere
from trundle.errors import InputError
from trundle.records import SceneBody, Trajectory
from trundle.status import Status
from trundle.systems.juggling.scenario import metrics as control

RADIUS, MASS, G = 0.02, 0.1, 9.81  # m, kg, m/s^2
GOAL = {"contact_on_hand": [0.0, 0.0, 0.0], "object_angle": 0.0, "object_quaternion": None}
Angle = Callable[[np.ndarray], Any]


def rolling(angle: Angle, duration: float = 2.0, goal: Any = GOAL, more: Any = None, **arrays: Any) -> Trajectory:
    """A ball whose angle (rad, counter-clockwise) is given: it touches and does not slip, 0.3 N along, 2 N up."""
    t = np.linspace(0.0, duration, round(duration / 0.005) + 1)
    a = np.asarray(angle(t), dtype=float) + 0 * t
    rate = np.gradient(a, t, edge_order=2)
    zero, one = 0 * t, 1 + 0 * t
    vector = lambda x=zero, y=zero, z=zero: np.stack([x, y, z], axis=1)  # noqa: E731
    given = {
        "object_position": vector(-RADIUS * a, zero, RADIUS * one),
        "object_quaternion": np.stack([np.cos(a / 2), zero, -np.sin(a / 2), zero], axis=1),
        "object_velocity": vector(-RADIUS * rate),
        "object_angular_velocity": vector(zero, -rate),
        "hand_position": vector(), "hand_quaternion": np.stack([one, zero, zero, zero], axis=1),
        "hand_velocity": vector(), "hand_angular_velocity": vector(),
        "contact_position": vector(-RADIUS * a), "contact_normal": vector(z=one),
        "contact_force": vector(0.3 * one, zero, 2 * one), "contact_moment": zero,
        "contact_on_hand": vector(-RADIUS * a),
        "contact_on_object": RADIUS * np.stack([-np.sin(a), zero, -np.cos(a)], axis=1),
        "gap": zero, "slip": vector(), "energy": zero, "mode": np.full(t.size, "rolling"),
    } | arrays  # fmt: skip
    scene = (
        SceneBody("ball", "object", *uv_sphere([RADIUS] * 3, 8), shape={"type": "sphere", "radius": RADIUS}),
        SceneBody("plate", "hand", *plate_mesh(0.5), shape={"type": "plane"}),
    )
    physics = {"mass": MASS, "inertia": [0.4 * MASS * RADIUS**2] * 3, "gravity": [0, 0, -G], "friction": 0.5}
    run = _juggling(t, given, physics, scene)
    return dataclasses.replace(run, metadata=dict(run.metadata) | {"goal": goal} | (more or {}))


def ended(run: Trajectory, status: Status) -> Trajectory:
    return dataclasses.replace(run, status=status)


def test_the_made_up_motion_rolls() -> None:
    values = compute("", rolling(lambda t: 0.3 * np.sin(3 * t)))
    assert values["gap"] < 1e-15
    assert values["slip"] < 1e-15
    assert values["friction_use"] == pytest.approx(0.3 / (0.5 * 2))


def test_goal_errors_are_distance_and_angle_at_the_end() -> None:
    run = rolling(lambda t: 0.05 * t)  # ends at 0.1 rad, 2 mm to the left
    assert control.goal_errors(run, GOAL) == pytest.approx({"position": 0.002, "rotation": 0.1})
    assert control.goal_errors(run, {"contact_on_hand": [-0.002, 0, 0]}) == pytest.approx(
        {"position": 0, "rotation": 0}, abs=1e-15
    )
    half = {"object_quaternion": [np.cos(0.25), 0.0, -np.sin(0.25), 0.0]}  # 0.5 rad counter-clockwise
    assert control.goal_errors(run, half)["rotation"] == pytest.approx(0.4)
    turned = {"object_angle": 0.1 + 2 * np.pi}
    assert control.goal_errors(run, turned)["rotation"] == pytest.approx(0.0, abs=1e-12)


def test_the_angle_of_a_planar_object_has_no_jumps() -> None:
    run = rolling(lambda t: -4.0 * t)
    np.testing.assert_allclose(control.object_angle(run), -4.0 * run.time, atol=1e-12)


@pytest.mark.parametrize(
    ("angle", "status", "counts"),
    [
        (lambda t: 0.1 + 0 * t, Status.SUCCESS, True),
        (lambda t: 0.1 + 0 * t, Status.REST, True),
        (lambda t: 0.3 * (t < 1.0), Status.SUCCESS, True),  # what was before the last half second is over
        (lambda t: 0.3 * (t < 1.6), Status.SUCCESS, False),  # off its goal within it
        (lambda t: 0.25 + 0 * t, Status.SUCCESS, False),
        (lambda t: 0.1 * np.sin(15 * t), Status.SUCCESS, False),  # too fast
        (lambda t: 0.1 + 0 * t, Status.OFF_THE_HAND, False),  # fell
        (lambda t: 0.1 + 0 * t, Status.SLIPPED, False),
    ],
    ids=["near", "at rest", "early", "late", "far", "fast", "fell", "slipped"],
)
def test_a_balanced_trial_is_near_slow_and_ran_to_its_end(angle: Angle, status: Status, counts: bool) -> None:
    run = ended(rolling(angle), status)
    assert control.is_balanced(run) is counts
    values = compute("ellipse-flip-up", run, {"plan": rolling(lambda t: 0 * t), "closed-loop-1": run})
    assert values["closed_loop_successes"] == float(counts)


def test_a_trial_in_flight_at_its_end_is_not_balanced() -> None:
    run = rolling(lambda t: 0 * t)
    mode = np.where(run.time < 1.8, "rolling", "separated")
    assert not control.is_balanced(changed(run, mode=mode))


@pytest.mark.parametrize(
    ("angle", "counts"),
    [
        (lambda t: 0 * t, True),
        (lambda t: 0.19 + 0 * t, True),  # 3.8 mm
        (lambda t: 0.3 + 0 * t, False),  # 6 mm
        (lambda t: 0.1 * np.sin(20 * t), False),  # 40 mm/s
    ],
    ids=["at it", "near", "far", "fast"],
)
def test_an_arrived_trial_is_near_and_at_rest(angle: Angle, counts: bool) -> None:
    run = rolling(angle)
    assert control.has_arrived(run) is counts
    assert not control.has_arrived(ended(run, Status.SEPARATED))
    place = GOAL | {"object_angle": None}  # where the goal is a place on the hand, not an angle
    trial, plan = rolling(angle, goal=place), rolling(lambda t: 0 * t, goal=place)
    values = compute("butterfly", trial, {"plan": plan, "closed-loop-1": trial, "open-loop-1": trial})
    assert values["closed_loop_successes"] == values["open_loop_successes"] == float(counts)


def test_speed_is_relative_to_the_hand_that_carries() -> None:
    run = rolling(lambda t: 0 * t)
    drawn = np.tile([0.1, 0.0, 0.0], (len(run), 1))
    together = changed(run, hand_velocity=drawn, object_velocity=drawn)
    assert control.relative_speed(together) == pytest.approx(0.0)
    assert control.relative_speed(changed(run, hand_velocity=drawn)) == pytest.approx(0.1)
    turning = np.tile([0.0, 2.0, 0.0], (len(run), 1))  # the ball's centre is 20 mm above the hand's origin
    assert control.relative_speed(changed(run, hand_angular_velocity=turning)) == pytest.approx(0.04)


def test_flip_up_counts_friction_until_balanced_and_recomputes_the_plans_error() -> None:
    run = rolling(lambda t: 0.5 * (t < 1.0))
    force = run["contact_force"].copy()
    force[run.time < 0.5, 0] = 0.6
    force[run.time > 1.2, 0] = 0.9  # balanced by then
    run = changed(run, contact_force=force)
    plan = rolling(lambda t: 0.004 + 0 * t, more={"plan": {"kkt_residual": 3e-9}})
    values = compute("ellipse-flip-up", run, {"plan": plan, "closed-loop-1": run, "closed-loop-2": run})
    assert values["friction_use"] == pytest.approx(0.6 / (0.5 * 2))
    assert values["plan_error"] == pytest.approx(0.004)
    assert (values["closed_loop_successes"], values["kkt_residual"]) == (2.0, 3e-9)
    assert "open_loop_successes" not in values


def test_the_wobble_is_that_of_the_last_second() -> None:
    free = rolling(lambda t: 0.2 * np.sin(2 * np.pi * t), 3.0)
    held = rolling(lambda t: np.where(t < 1.9, 0.2, 0.002) * np.sin(2 * np.pi * t), 3.0)
    values = compute("ellipse-damping", held, {"uncontrolled": free})
    assert values["wobble_uncontrolled"] == pytest.approx(0.2 / np.sqrt(2), rel=1e-2)
    assert values["wobble_reduction"] == pytest.approx(100.0, rel=1e-2)


def test_reorientation_is_judged_from_plan_and_loop() -> None:
    goal = {"contact_on_hand": [-0.004, 0, 0], "object_quaternion": [np.cos(0.1), 0, -np.sin(0.1), 0]}  # 0.2 rad
    plan = rolling(lambda t: 0.1 * t, goal=goal, more={"plan": {"kkt_residual": 1e-9, "start_successes": 3}})
    run = rolling(lambda t: 0.105 * t, goal=goal)
    values = compute("plate-reorient", run, {"plan": plan, "open-loop": rolling(lambda t: 0.2 * t, goal=goal)})
    assert values["goal_position_error"] == pytest.approx(0.0, abs=1e-12)
    assert values["tracked_position_error"] == pytest.approx(2e-4)
    assert values["tracked_rotation_error"] == pytest.approx(np.degrees(0.01))
    assert values["open_loop_position_error"] == pytest.approx(0.004)
    assert values["path_length"] == pytest.approx(0.004)
    assert values["start_successes"] == 3.0


def test_flight_is_timed_from_release_to_catch() -> None:
    run = rolling(lambda t: 0 * t)
    mode = np.where((run.time > 0.5) & (run.time < 0.8), "separated", "rolling")
    values = compute("ellipse-throw-catch", changed(run, mode=mode), {"closed-loop-1": run})
    assert values["flight_time"] == pytest.approx(0.3, abs=0.011)
    assert compute("ellipse-throw-catch", run, {})["flight_time"] == 0.0


def test_a_missed_goal_is_named() -> None:
    assert control.missed_goal(rolling(lambda t: 0.19 + 0 * t)) == ""
    assert "0.006 m off" in control.missed_goal(rolling(lambda t: 0.3 + 0 * t))
    angle = {"object_angle": 0.0}
    assert "0.3 rad off" in control.missed_goal(rolling(lambda t: 0.3 + 0 * t, goal=angle))
    wobble = rolling(lambda t: 0.3 * np.sin(2 * np.pi * t), goal=angle)  # passes through its goal at its end
    assert control.missed_goal(wobble)
    assert control.missed_goal(wobble, over=0.0) == ""
    assert control.missed_goal(rolling(lambda t: 0.3 + 0 * t), besides="contact_on_hand").startswith("the object")
    assert control.missed_goal(rolling(lambda t: 3.0 + 0 * t, goal=None)) == ""


def test_a_metric_without_its_part_or_goal_says_so() -> None:
    run = rolling(lambda t: 0 * t)
    with pytest.raises(InputError, match=r"parts\.plan"):
        compute("plate-reorient", run, {})
    with pytest.raises(InputError, match=r"parts\.uncontrolled"):
        compute("ellipse-damping", run, {})
    with pytest.raises(InputError, match=r"metadata\.goal"):
        compute("plate-reorient", run, {"plan": rolling(lambda t: 0 * t, goal=None)})
