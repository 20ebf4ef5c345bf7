"""TreeModel: what it knows of the bodies that move."""

from __future__ import annotations

from trundle.models.tree.tree import Tree


def test_of_many_joints_each_body_that_moves_is_a_branch_on_its_parent():
    tree = Tree(3, [0.0, 0.0, -9.81])
    ground, base = tree.ground(), tree.free(1.0, 0.1)
    sides = {
        side: tree.revolute(base, [0.0, 0.0, 0.0], 1.0, [0.1] * 3, axis=[0, 0, 1], name=side) for side in ("l", "r")
    }
    for i in range(5):
        where = sides["l"] if i % 2 else ground
        tree.revolute(where, [0.0, 0.0, 0.1], 1.0, [0.1] * 3, axis=[0, 0, 1], name=f"part{i}")
    model = tree.finish()
    assert model.nv == 13
    assert [branch.parent for branch in model.branches] == [-1, 0, 0, -1, 1, -1, 1, -1]
    assert [branch.column for branch in model.branches] == [0, *range(6, 13)]
