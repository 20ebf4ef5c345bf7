"""The verb plan on the real task: goal poses by replay, honest statuses, interrupts and resumption."""

from __future__ import annotations

import numpy as np
import pytest

import trundle as tr
from trundle.status import Status

HALF = np.sqrt(0.5)


def reorient(radius: float = 0.035, law: str = "rolling", sense: float = 1.0, **more) -> tr.Transfer:
    """A ball turned by 90 deg about x on a plate that only tilts, and carried to another place."""
    ball = tr.RigidBody(tr.Sphere(radius=radius), mass=0.216, inertia="solid")
    pair = tr.RollingPair(ball, tr.Hand(tr.Plane()), law=law, friction=more.pop("friction", 0.5))
    start = pair.place(**more.pop("start", {}))
    goal = {
        "contact_on_hand": (0, -0.033 * sense * radius / 0.035, 0),
        "object_quaternion": (HALF, sense * HALF, 0, 0),
    }
    limits = {"freedoms": ("wx", "wy"), "angular_acceleration": 50.0} | more.pop("hand_limits", {})
    return tr.Transfer(pair, start, goal, more.pop("duration", 2.0), limits, **more)


@pytest.fixture(scope="module")
def plan() -> tr.Plan:
    return tr.plan(reorient())


def test_the_ball_is_where_the_goal_says(plan: tr.Plan) -> None:
    assert plan.status is Status.SUCCESS
    final = plan.trajectory.final
    np.testing.assert_allclose(final["contact_on_hand"], [0, -0.033, 0], atol=1e-4)
    assert abs(final["object_quaternion"] @ [HALF, HALF, 0, 0]) == pytest.approx(1, abs=1e-6)
    assert abs(final["hand_quaternion"][0]) == pytest.approx(1, abs=1e-6)
    for name in ("hand_angular_velocity", "object_angular_velocity", "object_velocity"):
        assert np.linalg.norm(final[name]) < 2e-3
    np.testing.assert_allclose(final["hand_position"], 0, atol=1e-12)


def test_residuals_are_those_of_the_replay(plan: tr.Plan) -> None:
    r, run = plan.residuals, plan.trajectory
    assert r["kkt_residual"] <= 1e-6
    f_n = run["contact_force"] @ np.zeros(3) + np.sum(run["contact_force"] * run["contact_normal"], axis=1)
    assert r["normal_force_min"] == pytest.approx(np.min(f_n), rel=1e-3)
    assert 0 < r["friction_use"] <= 1
    assert r["goal_position_error"] == pytest.approx(
        np.linalg.norm(run.final["contact_on_hand"] - [0, -0.033, 0]), rel=1e-6
    )
    assert r["replay_position_difference"] < 1e-9


def test_the_reference_is_dense_and_in_rolling_coordinates(plan: tr.Plan) -> None:
    reference = plan.reference
    assert np.max(np.diff(reference.times)) <= 2e-3 + 1e-12
    assert reference.states.shape[1] == 21
    assert reference.inputs.shape[1] == 6
    assert np.max(np.abs(reference.inputs[:, 2:])) == 0
    assert reference.times[-1] == pytest.approx(plan.duration)
