"""Drives of position-controlled joints: what they give, and what gives what they should."""

from __future__ import annotations

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.models.robots.humanoid import HUMANOIDS, load_humanoid
from trundle.models.robots.servo import Servo

LIMIT = np.array([50.0, 8.0])
DRIVES = Servo(np.array([100.0, 40.0]), np.array([2.0, 1.0]), LIMIT)


def test_targets_give_the_torques_and_limits_hold() -> None:
    q, v = np.array([0.3, -0.2]), np.array([1.0, -2.0])
    assert DRIVES.torques(np.array([0.4, -0.2]), q, v) == pytest.approx([8.0, 2.0])
    wanted = np.array([-30.0, 7.0])
    assert DRIVES.torques(DRIVES.targets(wanted, q, v), q, v) == pytest.approx(wanted, abs=1e-12)
    assert DRIVES.torques(DRIVES.targets(3 * wanted, q, v), q, v) == pytest.approx([-50.0, 8.0], abs=1e-12)


@pytest.mark.parametrize(
    ("stiffness", "damping", "key"),
    [([100.0, 0.0], [2.0, 1.0], "servo.stiffness"), ([1.0, 1.0], [2.0, -1.0], "servo.damping")],
)
def test_numbers_out_of_range_are_refused(stiffness: list[float], damping: list[float], key: str) -> None:
    with pytest.raises(InputError) as caught:
        Servo(np.array(stiffness), np.array(damping), LIMIT)
    assert caught.value.key == key


@pytest.mark.parametrize("name", HUMANOIDS)
def test_robots_that_come_along_have_drives(name: str) -> None:
    pytest.importorskip("pinocchio")
    humanoid = load_humanoid(name)
    assert humanoid.drives.limit == pytest.approx(humanoid.robot.torque_limit)
    assert len(humanoid.drives.stiffness) == len(humanoid.robot.joints)
