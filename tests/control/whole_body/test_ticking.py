"""A tick of whole-body control as expressions gives the torques of the controller."""

from __future__ import annotations

import numpy as np
import pytest

from tests.control.ticks import answer
from tests.control.whole_body.test_whole_body import FEET, aim_at_rest
from trundle.models.robots.humanoid import load_humanoid
from trundle.status import Status
from trundle.systems.multicontact.whole_body.ticking import whole_body_tick, whole_body_values
from trundle.systems.multicontact.whole_body.whole_body import WholeBodyController

pytest.importorskip("pinocchio")


def test_the_torques_are_those_of_the_controller() -> None:
    g1, rng = WholeBodyController(load_humanoid("g1")), np.random.default_rng(3)
    robot, q = g1.humanoid.robot, g1.humanoid.standing()
    q[7:] += 0.05 * rng.normal(size=robot.nv - 6)
    program = g1.program(FEET)
    tick = whole_body_tick(g1, program, 0.002)
    for push in (0.0, 4.0):  # with the second, cones and limits are reached
        aim = aim_at_rest(g1, q, com_acceleration=np.array([push, -push, 0.0]))
        command = g1(q, 0.3 * rng.normal(size=robot.nv), aim)
        assert command.status is Status.SUCCESS
        found = answer(tick, whole_body_values(program))
        assert found == pytest.approx(command.u, abs=1e-5)
    assert [entry.name for entry in tick.outputs] == list(robot.joints)
    assert tick.arguments["J"].shape == (12, robot.nv)
