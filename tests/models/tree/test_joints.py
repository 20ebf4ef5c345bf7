"""Joints as the builder knows them."""

from __future__ import annotations

import pytest

from trundle.models.tree.joint import Joint
from trundle.models.tree.joints import BodySpec, FixedJoint, FreeJoint, Prismatic, Revolute


def test_a_body_of_which_no_parent_is_told_floats():
    assert BodySpec(FreeJoint(3), "ball").floating
    assert not BodySpec(FreeJoint(3), "ball").jointed
    assert BodySpec(FreeJoint(3), "ball", parent=0).jointed
    assert BodySpec(FixedJoint(3), "frame", parent=0).welded
    assert not BodySpec(FixedJoint(3), "ground").welded
    assert not BodySpec(FixedJoint(3), "ground").floating
    assert not BodySpec(FixedJoint(3), "frame", parent=0).jointed


@pytest.mark.parametrize(
    ("joint", "turns", "slide"),
    [
        (FixedJoint(2), False, None),
        (FixedJoint(3), False, None),
        (Revolute(), True, None),
        (Revolute((0.0, 0.6, 0.8)), True, None),
        (Prismatic((0.0, 1.0)), False, [0.0, 1.0]),
        (Prismatic((0.6, 0.0, 0.8)), False, [0.6, 0.0, 0.8]),
    ],
    ids=repr,
)
def test_a_joint_turns_or_slides(joint: Joint, turns: bool, slide: list[float] | None):
    assert joint.turns is turns
    assert (None if joint.slide is None else joint.slide.tolist()) == slide
    assert len(joint.start) == joint.size
    joint.check()
