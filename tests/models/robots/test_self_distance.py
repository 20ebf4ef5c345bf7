from __future__ import annotations

import numpy as np
import pytest

from trundle.models.robots.humanoid import load_humanoid
from trundle.systems.multicontact.humanoid.self_distance import SelfDistance


def test_bodies_of_a_standing_humanoid_are_apart_and_an_arm_turned_inwards_meets_the_trunk() -> None:
    pytest.importorskip("coal")
    humanoid = load_humanoid("g1")
    distance = SelfDistance(humanoid)
    assert len(distance.pairs) > 300
    standing = humanoid.standing()
    least, _ = distance(standing)
    assert 0.0 < least < 0.01
    inwards = standing.copy()
    # q: place, quaternion, then the joints in the order of the bodies after the base.
    joint = [body.name for body in humanoid.robot.bodies()].index("left_shoulder_roll_joint") - 1
    inwards[7 + joint] -= 0.9
    within, pair = distance(inwards)
    assert within < 0.0
    assert any(name.startswith(("left_elbow", "left_shoulder", "left_wrist", "left_hand")) for name in pair)
    moved = standing.copy()
    moved[:3] += np.array([0.3, -0.2, 0.5])
    assert distance(moved)[0] == pytest.approx(least, abs=1e-9)
