"""Joints as the builder knows them."""

from __future__ import annotations

from trundle.models.tree.joints import BodySpec, Free


def test_a_body_of_which_no_parent_is_told_floats():
    assert BodySpec(Free(3), "ball").floating
    assert not BodySpec(Free(3), "ball").jointed
    assert BodySpec(Free(3), "ball", parent=0).jointed
