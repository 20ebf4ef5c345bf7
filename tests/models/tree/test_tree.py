"""The builder: layouts, names, and every refusal."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import trundle.geometry as tg
from tests.models.test_rigid_body import refused
from trundle.contact.choice import make_contact
from trundle.contact.laws import ROLLING
from trundle.models.robot import Robot
from trundle.models.tree.tree import Link, Tree, TreeModel

NAN = float("nan")
DOWN = [0.0, 0.0, -9.81]


def planted(d: int = 3) -> tuple[Tree, Link]:
    tree = Tree(d, DOWN[-d:])
    return tree, tree.ground()


def test_layout_of_an_object_on_a_hand():
    tree = Tree(3, DOWN)
    hand, ball = tree.prescribed(), tree.free(0.1, 0.001)
    tree.contact(make_contact(tg.Sphere(0.1), tg.Dish([1, 1, 1]), "level"), ball, hand)
    model = tree.finish()
    assert isinstance(model, TreeModel)
    sizes = {name: part.stop - part.start for name, part in model.layout.items()}
    assert sizes == {
        "hand.position": 3, "hand.orientation": 4, "object.position": 3, "object.orientation": 4,
        "contact.coordinates": 3, "hand.twist": 6, "object.angular_velocity": 3, "object.velocity": 3,
    }  # fmt: skip
    assert sum(sizes.values()) == model.x.shape[0]
    assert model.input_layout == {"hand.twist_rate": slice(0, 6)}
    stops = [part.stop for part in model.layout.values()]
    assert [part.start for part in model.layout.values()] == [0, *stops[:-1]]


def test_layout_of_joints_and_motors():
    tree, ground = planted(2)
    arm = tree.revolute(ground, [0, 0], 1.0, 0.1, name="arm")
    tree.prismatic(arm, [1, 0], 1.0, 0.1, name="slider", actuated=False)
    tree.free(1.0, 0.1)
    model = tree.finish()
    assert list(model.layout) == [
        "object.position", "object.orientation", "arm.joint", "slider.joint", "arm.rate", "slider.rate",
        "object.angular_velocity", "object.velocity",
    ]  # fmt: skip
    assert model.input_layout == {"arm.torque": slice(0, 1)}
    assert model.nv == 5
    np.testing.assert_array_equal(np.array(ca.DM(model.S)).ravel(), [1, 0, 0, 0, 0])
    assert all(len(body.com) == 2 for body in model.bodies)


@pytest.mark.parametrize(
    ("make", "key", "words"),
    [
        (lambda: Tree(4, DOWN), "d", "2 (plane) or 3 (space)"),
        (lambda: Tree(2, DOWN), "gravity", "2 finite numbers"),
        (lambda: Tree(3, [0, 0, NAN]), "gravity", "3 finite numbers"),
        (lambda: Tree(3, DOWN, resolve="body"), "resolve", "'world', 'contact'"),
        (lambda: planted()[0].free(-1, 1), "mass", "> 0"),
        (lambda: planted()[0].free(1, [1, 1, 3]), "inertia", "I1 + I2 >= I3"),
        (lambda: planted()[0].free(1, 1, rolling="pure-rolling"), "rolling", "'rolling', 'pure'"),
        (lambda: planted(2)[0].free(1, [1, 1, 1]), "inertia", "finite number"),
        (lambda: planted()[0].ground(), "name", "no other body"),
        (lambda: planted()[0].free(1, 1, name="my.ball"), "name", "without dots"),
        (lambda: planted()[0].free(1, 1, name=3), "name", "3"),
        (lambda: planted()[0].revolute(planted()[1], [0, 0], 1, 1), "at", "3 finite numbers"),
        (lambda: planted()[0].revolute(planted()[1], [0, 0, 0], 1, 1, axis=[0, 0, 0]), "axis", "not zero"),
        (lambda: planted()[0].revolute(planted()[1], [0, 0, 0], 1, 1, axis=[0, 1]), "axis", "3 finite numbers"),
        (lambda: planted()[0].revolute(planted()[1], [0, 0, 0], 1, 1, com=[0, NAN, 0]), "com", "3 finite numbers"),
        (lambda: planted(2)[0].prismatic(planted(2)[1], [0, 0], 1, 1, axis=[1, 0, 0]), "axis", "2 finite numbers"),
        (lambda: planted()[0].prismatic(planted()[1], [0, 0, 0], 0, 1, axis=[1, 0, 0]), "mass", "> 0"),
        (lambda: planted()[0].revolute("ground", [0, 0, 0], 1, 1), "parent", "'ground'"),
        (lambda: planted()[0].revolute(Link(5, "arm"), [0, 0, 0], 1, 1), "parent", "of this tree"),
    ],
)
def test_impossible_bodies(make, key, words):
    refused(make, key, words)


@pytest.mark.parametrize(
    ("options", "key", "words"),
    [
        ({"mu": -1}, "mu", ">= 0"),
        ({"mu": NAN}, "mu", "nan"),
        ({"torsional": -1}, "torsional", ">= 0"),
        ({"contact": "rolling"}, "contact", "'rolling'"),
        ({"contact": make_contact(tg.Circle(1), tg.Line(), "support")}, "contact", "dimension 3"),
        ({"A": 0}, "A", "of this tree"),
        ({"B": Link(7, "floor")}, "B", "of this tree"),
        ({"name": "touch"}, "name", "no other contact"),
    ],
)
def test_impossible_contacts(options, key, words):
    tree, ground = planted()
    ball = tree.free(1.0, 0.1)
    contact = make_contact(tg.Sphere(1), tg.Plane(), "support")
    tree.contact(contact, ball, ground, name="touch")
    refused(lambda: tree.contact(**({"contact": contact, "A": ball, "B": ground} | options)), key, words)


def test_default_axes_do_as_they_are():
    tree, ground = planted()
    tree.revolute(ground, [0, 0, 0], 1.0, 0.1, name="hinge")
    slider = Tree(3, DOWN)
    slider.prismatic(slider.ground(), [0, 0, 0], 1.0, 0.1, name="slider")
    for t in (tree, slider):
        assert t.finish().nv == 1


def test_a_contact_may_join_two_free_bodies():
    # Two balls, one upon the other, fall together: no force between them.
    tree = Tree(3, DOWN)
    low, high = tree.free(1.0, 0.1, name="low"), tree.free(2.0, 0.3, name="high")
    tree.contact(make_contact(tg.Sphere(0.2), tg.Sphere(0.3), "pair"), high, low)
    model = tree.finish()
    d = model.dynamics([ROLLING])
    x = np.zeros(model.x.shape[0])
    x[model.layout["low.orientation"]] = x[model.layout["high.orientation"]] = [1, 0, 0, 0]
    x[model.layout["high.position"]] = [0, 0, 0.5]
    x[model.layout["contact.coordinates"]] = [0, 0, 1]
    nudot, force = ca.Function("f", [model.x], [d.nudot, d.forces[0]])(x)
    np.testing.assert_allclose(np.array(force), 0, atol=1e-13)
    np.testing.assert_allclose(np.array(nudot).ravel(), [0, 0, 0, *DOWN] * 2, atol=1e-13)


def test_an_external_torque_rolls_a_disc_and_masses_scale():
    robot = Robot(0.0)
    robot.free(2.0, 0.03, shape=tg.Circle(0.2), actuated=True, name="disc")
    robot.terrain(tg.Line(), friction=0.5)
    disc = robot.finish()
    start = disc.place(disc=(0.0, 0.2, 0.0))
    for tree, factor in ((disc, 1.0), (disc.scaled(mass=3.0, inertia=3.0, friction=0.5), 3.0)):
        model = tree.system.model(start.atlas)
        assert model.driven == ("disc",)
        assert model.constraints[0].friction.mu == (0.5 if factor == 1.0 else 0.25)
        dynamics = model.dynamics([ROLLING])
        rate = ca.Function("rate", [model.x, model.u], [dynamics.nudot])
        alpha = float(rate(start.x, [0.7])[0])
        assert alpha == pytest.approx(0.7 / (factor * (0.03 + 2.0 * 0.2**2)))


def test_an_external_torque_turns_a_body_in_space():
    robot = Robot((0.0, 0.0, 0.0))
    robot.free(2.0, (0.2, 0.25, 0.4), actuated=True, name="top")
    model = robot.finish().tree.finish()
    dynamics = model.dynamics([])
    rate = ca.Function("rate", [model.x, model.u], [dynamics.nudot])
    at_rest = np.zeros(model.x.shape[0])
    at_rest[model.layout["top.orientation"]] = [1.0, 0.0, 0.0, 0.0]
    nudot = np.asarray(rate(at_rest, [0.3, 0.2, -0.4])).ravel()
    assert nudot == pytest.approx([1.5, 0.8, -1.0, 0.0, 0.0, 0.0])


def test_a_chain_too_long_for_expressions_is_refused_at_once() -> None:
    robot, link = Robot(), None
    for i in range(255):  # and the ground
        link = robot.revolute(link, (0, 0), 1.0, 0.1, name=f"l{i}")
    refused(lambda: robot.revolute(link, (0, 0), 1.0, 0.1, name="one more"), "name", "of at most 256 bodies")


def test_only_bodies_with_a_joint_that_turns_turn():
    tree, ground = planted()
    tree.revolute(ground, (0.0, 0.0, 0.0), 1.0, np.eye(3), axis=(0.0, 1.0, 0.0), name="swing")
    model = tree.finish()
    assert model.turns("swing")
    assert not model.turns("ground")
    assert not model.turns("nobody")
