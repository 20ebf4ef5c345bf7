"""A plan that was saved and loaded is tracked as the plan itself: bit by bit the same closed loop."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import trundle as tr

Q = {"hand_rotation": 10, "object_rotation": 10, "contact": 1e4, "hand_angular_velocity": 0.1, "hand_position": 1}
Q |= {"hand_velocity": 1, "relative_velocity": 0.1}
R = {"hand_angular_acceleration": 1e-3, "hand_acceleration": 1e-3}


def test_a_loaded_plan_is_tracked_like_the_plan_itself(tmp_path: Path) -> None:
    ball = tr.RigidBody(tr.Sphere(0.035), mass=0.216, inertia="solid")  # m, kg
    pair = tr.RollingPair(ball, tr.Hand(tr.Plane(), motion=tr.Coast()), friction=0.5)
    half = 0.1  # rad
    task = tr.juggling.Transfer(
        pair,
        pair.place(),
        tr.juggling.Goal(contact_on_hand=[0.0, -0.007, 0.0], object_quaternion=[np.cos(half), np.sin(half), 0, 0]),
        duration=0.5,  # s
        hand_limits=tr.juggling.HandLimits(freedoms="rotations", angular_acceleration=50.0),  # rad/s^2
    )
    plan = tr.juggling.plan(task, nodes=8, max_refinements=0)
    again = tr.load_plan(plan.save(tmp_path / "plan.npz"))
    off = pair.place(contact_on_hand=[0.001, 0.001, 0.0])  # m
    runs = [
        tr.simulate(pair, off, policy=tr.TrackingLQR(pair, one, Q, R, period=5e-3, freedoms="rotations"), duration=0.5)
        for one in (plan, again)
    ]
    assert runs[0].time[-1] == 0.5
    for name in runs[0].dataset.data_vars:
        np.testing.assert_array_equal(runs[0][name], runs[1][name], err_msg=str(name))
