"""TreeModel: what it knows of the bodies that move."""

from __future__ import annotations

import casadi as ca

from trundle.models import VectorJoint
from trundle.models.tree.force import Force
from trundle.models.tree.tree import Tree


class Table(VectorJoint):
    """A slide in two directions."""

    d, size = 3, 2

    def transform(self, q):
        return ca.SX.eye(3), ca.vertcat(q, 0)

    def subspace(self, q):
        return ca.SX(3, 2), ca.SX(ca.DM.eye(3)[:, :2])


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


def test_trees_of_few_joints_or_in_the_plane_have_no_branches():
    ball, chain = Tree(3, [0.0, 0.0, -9.81]), Tree(2, [0.0, -9.81])
    ball.free(1.0, 0.1)
    link = chain.ground()
    for i in range(13):
        link = chain.revolute(link, [0.0, -1.0], 1.0, 0.1, name=f"link{i}")
    assert (ball.finish().branches, chain.finish().branches) == ((), ())


def test_the_coordinates_of_a_joint_that_has_several_are_numbered_from_one():
    tree = Tree(3, [0.0, 0.0, -9.81])
    seat = tree.joint(tree.ground(), Table(), 1.0, 0.1, name="seat")
    tree.revolute(seat, [0.0, 0.0, 0.1], 1.0, [0.1] * 3, axis=[0, 0, 1], name="dial", actuated=False)
    found = tree.finish().joint_coordinates
    assert found == {"seat_1": (0, 3, None), "seat_2": (1, 4, None), "dial": (2, 5, None)}
    tree = Tree(3, [0.0, 0.0, -9.81])
    tree.joint(tree.ground(), Table(), 1.0, 0.1, name="seat", actuated=True)
    assert tree.finish().joint_coordinates == {"seat_1": (0, 2, 0), "seat_2": (1, 3, 1)}


def test_where_forces_depend_on_time_it_is_the_last_of_the_states():
    tree = Tree(2, [0.0, -9.81])
    tree.free(1.0, 0.1)
    size = tree.finish().x.shape[0]
    tree.force(Force("object", lambda t, x: ca.vertcat(ca.sin(t), 0.0)))
    model = tree.finish()
    assert model.x.shape[0] == size + 1
    assert model.layout["time"] == slice(size, size + 1)
    assert model.powered
