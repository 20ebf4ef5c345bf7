"""Targets of position-controlled joints, against the motion of a joint that follows, and of one that cannot."""

from __future__ import annotations

import numpy as np
import pytest

from trundle.models.robots.servo import Servo
from trundle.systems.multicontact.whole_body.joint_targets import JointTargets

PERIOD, INERTIA = 0.002, 0.1
DRIVE = Servo(np.array([200.0]), np.array([4.0]), np.array([100.0]))


def test_a_joint_that_moves_as_wanted_gets_the_wanted_torque() -> None:
    """With a = const from rest the reference is a t^2/2 exactly, so the drive has the torque fed forward, no more."""
    targets, a, torque = JointTargets(DRIVE, PERIOD), np.array([3.0]), np.array([5.0])
    for k in range(200):
        q, v = a * (k * PERIOD) ** 2 / 2, a * k * PERIOD
        answer = targets(q, v, a, torque)
        after = k + 1
        given = DRIVE.torques(answer, a * (after * PERIOD) ** 2 / 2, a * after * PERIOD)
        assert given == pytest.approx(torque, abs=1e-9)


def _sag(load: float, drives: bool) -> float:
    """Return how far a joint is from its aim after 2 s, under a load that nobody knows, by control of its own aim."""
    targets, q, v = JointTargets(DRIVE, PERIOD), np.zeros(1), np.zeros(1)
    for _ in range(1000):
        a = -60.0 * q - 15.0 * v
        answer = targets(q, v, a, INERTIA * a)
        for _ in range(2):  # the drive repeats at 1 ms
            torque = DRIVE.torques(answer, q, v) if drives else INERTIA * a
            v = v + 0.001 * (torque + load) / INERTIA
            q = q + 0.001 * v
    return float(q[0])


def test_drives_hold_against_what_nobody_knew() -> None:
    """Torques alone leave load / (inertia 60); drives add their stiffness to it, so that the joint gives way less."""
    assert _sag(1.0, drives=False) == pytest.approx(1.0 / (INERTIA * 60.0), rel=1e-3)
    assert 0.0 < _sag(1.0, drives=True) < 0.2 / (INERTIA * 60.0)


def test_the_reference_returns_to_a_joint_that_is_held() -> None:
    targets, q, none = JointTargets(DRIVE, PERIOD), np.zeros(1), np.zeros(1)
    targets(q, none, none, none)
    answer = [targets(q + 0.1, none, none, none)[0] for _ in range(150)]
    assert answer[0] < 0.01, "it does not jump"
    assert answer[-1] == pytest.approx(0.1, abs=1e-3), "0.3 s later it has given in"
    targets.reset()
    assert targets(q + 0.3, none, none, none) == pytest.approx([0.3])
