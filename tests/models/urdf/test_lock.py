"""Locked joints: the robot is the same with those joints held; what cannot be locked is refused."""

from __future__ import annotations

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.models.urdf.checks import check_urdf
from trundle.models.urdf.lock import joint_ranges, lock_joints
from trundle.models.urdf.tree import urdf_tree

LINK = """<link name="{0}"><inertial><origin xyz="0.1 0.02 -0.05"/><mass value="{1}"/>
<inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0.002" izz="0.025"/></inertial></link>"""
JOINT = """<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/>
<origin xyz="0.1 0 0.2" rpy="0.3 -0.2 0.5"/>
<axis xyz="{4}"/><limit lower="0.1" upper="1.5" effort="1" velocity="1"/>{5}</joint>"""
ARM = (
    '<robot name="arm">'
    + "".join(LINK.format(name, mass) for name, mass in (("base", 3), ("upper", 2), ("rod", 1), ("tip", 0.5)))
    + JOINT.format("hinge", "revolute", "base", "upper", "1 2 0", "")
    + JOINT.format("slider", "prismatic", "upper", "rod", "0 1 1", '<mimic joint="hinge"/>')
    + JOINT.format("wrist", "continuous", "rod", "tip", "0 0 1", '<dynamics damping="1"/>')
    + "</robot>"
)
Q = {"hinge": 0.7, "slider": 0.3, "wrist": -2.0}


@pytest.mark.parametrize("names", [["hinge"], ["slider"], ["hinge", "wrist"], ["hinge", "slider", "wrist"]])
def test_inertia_and_bias_are_those_of_the_robot_with_the_joints_held(names: list[str]) -> None:
    pytest.importorskip("pinocchio")
    from trundle.models.urdf.articulated import Articulated

    urdf = check_urdf(ARM)
    free, held = Articulated(urdf), Articulated(lock_joints(urdf, {name: Q[name] for name in names}))
    kept = [*range(6), *(6 + i for i, name in enumerate(free.joints) if name not in names)]
    assert held.joints == tuple(name for name in free.joints if name not in names)
    rng = np.random.default_rng(1)
    base, nu = np.array([0.3, -0.2, 0.5, 0.5, 0.5, -0.5, 0.5]), rng.normal(size=held.nv)
    q = np.array([Q[name] for name in free.joints])
    all_nu = np.zeros(free.nv)
    all_nu[kept] = nu
    before = free.terms(np.concatenate([base, q]), all_nu, ["tip"])
    after = held.terms(np.concatenate([base, q[[i - 6 for i in kept[6:]]]]), nu, ["tip"])
    np.testing.assert_allclose(after.M, before.M[np.ix_(kept, kept)], atol=1e-12)
    np.testing.assert_allclose(after.h, before.h[kept], atol=1e-12)
    np.testing.assert_allclose(after.motions[0].p, before.motions[0].p, atol=1e-12)


def test_ranges_are_those_of_the_joints_that_move() -> None:
    assert joint_ranges(check_urdf(ARM)) == {"hinge": (0.1, 1.5), "slider": (0.1, 1.5), "wrist": (-np.inf, np.inf)}
    assert list(joint_ranges(lock_joints(check_urdf(ARM), {"hinge": 0.5}))) == ["slider", "wrist"]


def test_nothing_locked_is_the_same_description() -> None:
    urdf = check_urdf(ARM)
    assert lock_joints(urdf, {}) is urdf


@pytest.mark.parametrize(
    ("positions", "rule"), [({"elbow": 0.0}, "hinge, slider, wrist"), ({"hinge": np.nan}, "hinge")]
)
def test_what_is_no_joint_or_no_number_is_refused(positions: dict[str, float], rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        lock_joints(check_urdf(ARM), positions)


def test_a_joint_that_moves_no_mass_is_named_and_can_be_locked() -> None:
    text = ARM.replace(LINK.format("tip", 0.5), '<link name="tip"/>')
    with pytest.raises(InputError, match=r"unlike wrist: lock such joints"):
        urdf_tree(check_urdf(text))
    assert urdf_tree(lock_joints(check_urdf(text), {"wrist": 0.0})).joints == ("hinge", "slider")
