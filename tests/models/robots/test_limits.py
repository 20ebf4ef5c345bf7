"""Which limit of a joint binds: the demand that uses most of its own."""

from __future__ import annotations

import numpy as np
import pytest

from trundle.models.urdf.articulated import Articulated
from trundle.models.urdf.checks import check_urdf
from trundle.systems.multicontact.humanoid.limits import largest_demand

pytest.importorskip("pinocchio")

MASS = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
ROBOT = f"""<robot name="r"><link name="a">{MASS}</link><link name="b">{MASS}</link><link name="c">{MASS}</link>
<joint name="turns" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="2" effort="10" velocity="5"/></joint>
<joint name="slides" type="prismatic"><parent link="b"/><child link="c"/><axis xyz="1 0 0"/>
<limit lower="0" upper="0.5" effort="100" velocity="1"/></joint></robot>"""


@pytest.fixture(scope="module")
def robot() -> Articulated:
    return Articulated(check_urdf(ROBOT))


def test_it_is_the_largest_part_of_a_limit_at_any_time(robot: Articulated) -> None:
    torques = np.array([[1.0, 50.0], [-12.0, 110.0]])
    assert str(largest_demand(robot, torques=torques)) == "joint turns takes -12 N m, its limit is -10 N m"
    assert largest_demand(robot, torques=torques).use == pytest.approx(1.2)
    assert largest_demand(robot, torques=torques, torque_part=0.5).use == pytest.approx(2.4)
    both = largest_demand(robot, torques=torques, rates=np.array([[5.0, 1.5]]))
    assert str(both) == "joint slides takes 1.5 m/s, its limit is 1 m/s"


@pytest.mark.parametrize("error", [0.0, 1e-15, -1e-15, 1e-8, -1e-8])
def test_of_equal_demands_the_first_joint_is_told_whatever_the_round_off(robot: Articulated, error: float) -> None:
    torques = np.array([-12.0, 120.0 * (1.0 + error)])
    assert largest_demand(robot, torques=torques).joint == "turns"
    assert largest_demand(robot, torques=np.array([torques, torques[:] * [-1.0, 1.0]])).demand == -12.0
    assert largest_demand(robot, angles=np.array([-1.1, 0.6 * (1.0 + error)])).joint == "turns"
    assert largest_demand(robot, torques=np.array([-12.0, 120.1])).joint == "slides"


def test_angles_count_by_how_far_they_are_beyond(robot: Articulated) -> None:
    inside = largest_demand(robot, angles=np.array([1.9, 0.2]))
    assert (inside.joint, inside.limit) == ("turns", 2.0)
    assert inside.use == pytest.approx(0.9)
    beyond = largest_demand(robot, angles=np.array([-1.1, -0.3]))
    assert str(beyond) == "joint slides takes -0.3 m, its limit is 0 m"


def test_a_robot_without_limits_uses_none_of_them() -> None:
    free = Articulated(check_urdf(ROBOT), limited=False)
    assert np.isinf([free.lower, free.upper, free.rate_limit, free.torque_limit]).all()
    assert largest_demand(free, torques=np.array([1e9, 1.0])).use == 0.0
