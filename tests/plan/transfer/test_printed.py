"""Iterative direct collocation as paper 2 prints it."""

from __future__ import annotations

import numpy as np
import pytest

import trundle as tr
from trundle.errors import InputError
from trundle.status import Status
from trundle.systems.juggling.transfer.paper2_collocation import TABLE_II, PrintedCollocation


def reorientation(**more) -> tr.juggling.Transfer:
    ball = tr.RigidBody(tr.Sphere(radius=0.035), mass=0.216, inertia="solid")
    pair = tr.RollingPair(ball, tr.Hand(tr.Plane()), friction=0.5)
    goal = {"contact_on_hand": (0, -0.033, 0), "object_quaternion": (np.sqrt(0.5), np.sqrt(0.5), 0, 0)}
    return tr.juggling.Transfer(pair, {}, goal | more, 2.0, {"freedoms": ("wx", "wy"), "angular_acceleration": 50.0})


def test_weights_are_those_of_table_ii() -> None:
    task = PrintedCollocation(reorientation())
    weights = [1, 1, 1, 10, 10, 1000, 1000, 10, 1, 1, 1, 10, 10, 10, 10, 10]
    np.testing.assert_array_equal(TABLE_II, weights)
    np.testing.assert_allclose(task.P1, np.multiply(weights, 1000.0))
    np.testing.assert_allclose(task.Q, np.divide(weights, 100.0))
    assert (task.R, task.nodes, task.iterations, task.tolerance) == (0.001, 50, 4, 0.1)


def test_state_and_cost_are_the_printed_ones() -> None:
    task = PrintedCollocation(reorientation())
    goal = task.state(task.formulation.goal)
    np.testing.assert_allclose(goal[[5, 6]], [0.0, -0.033], atol=1e-12)  # contact on the hand
    np.testing.assert_allclose(goal[[0, 1, 2, *range(8, 16)]], 0.0, atol=1e-12)  # a level hand, all at rest
    moving = np.array(task.formulation.start)
    where = task.formulation.model.layout
    moving[where["hand.twist"]][:3] = (0.1, -0.2, 0.0)
    moving[where["object.relative_velocity"]] = (1.0, 0.0, 0.0)
    s = task.state(moving)
    np.testing.assert_allclose(s[8:11], (0.1, -0.2, 0.0))
    assert np.linalg.norm(s[13:15]) == pytest.approx(0.035)  # 1 rad/s of a ball of 35 mm: m/s on the hand
    assert task.phase(tracked=True).running.is_constant() is False
    assert task.phase(tracked=False).end == []


@pytest.mark.slow
def test_three_meshes_lead_to_the_tolerance_as_in_the_paper() -> None:
    found = PrintedCollocation(reorientation()).solve()
    assert found.status is Status.SUCCESS
    assert [mesh.nodes for mesh in found.meshes] == [50, 100, 200]
    errors = [mesh.state_error for mesh in found.meshes]
    assert errors[0] > errors[1] > 0.1 > errors[2]
    assert np.linalg.norm(found.trajectory["contact_on_hand"][-1] - [0, -0.033, 0]) < 1e-2


def test_goals_that_are_no_state_and_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match="task"):
        PrintedCollocation(reorientation(contact_on_hand=None))
    with pytest.raises(InputError, match="nodes"):
        PrintedCollocation(reorientation(), nodes=1)
    with pytest.raises(InputError, match="P1"):
        PrintedCollocation(reorientation(), P1=[1.0])
