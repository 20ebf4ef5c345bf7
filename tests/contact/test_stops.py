"""Stops of joints: the gap is how far the joint is from its end."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from trundle.contact.contact import kinematics
from trundle.contact.stops import JointStop


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize(("side", "end"), [(1.0, -0.4), (-1.0, 0.7)])
def test_gap_and_speed_are_those_of_the_joint_and_the_normals_oppose_each_other(
    d: int, side: float, end: float
) -> None:
    stop = JointStop(d, end, side)
    A, B = stop.motions(ca.SX(0.1), ca.SX(2.0), 1, 3)
    one, other = stop.touch(A, B, ca.SX(0, 1))
    k = kinematics(stop, A, B, ca.SX(0, 1))
    up = np.eye(d)[-1]
    np.testing.assert_array_equal(np.array(ca.DM(other.n)).ravel(), up)
    np.testing.assert_array_equal(np.array(ca.DM(one.n)).ravel(), -up)
    assert float(k.distance) == pytest.approx(side * (0.1 - end))
    np.testing.assert_allclose(np.array(ca.DM(k.vrel)).ravel(), side * 2.0 * up)
    np.testing.assert_allclose(np.array(ca.DM(A.Jv)), np.outer(side * up, [0, 1, 0]))
