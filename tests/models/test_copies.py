"""Copies: pairs, trees and shapes are pickled and copied before and after use, and simulate the same, bit for bit."""

from __future__ import annotations

import copy
import pickle
from typing import Protocol, TypeVar

import numpy as np
import pytest

import trundle as tr
from trundle.models.urdf.articulated import Articulated
from trundle.models.urdf.checks import check_urdf

Model = TypeVar("Model")


class Duplicate(Protocol):
    def __call__(self, x: Model, /) -> Model: ...


def pickled(model: Model) -> Model:
    return pickle.loads(pickle.dumps(model))


def ball_on_hand() -> tuple[tr.RollingPair, tr.models.Start]:
    motion = tr.SinusoidMotion(amplitude=(0.3, 0.2, 0, 0, 0, 0), frequency=(1.0,) * 6)
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), 0.4), tr.Hand(tr.Plane(), motion=motion))
    return pair, pair.place(object_angular_velocity=(1.0, 0.5, 0.0))


def planar_body() -> tuple[tr.RollingPair, tr.models.Start]:
    pair = tr.RollingPair(tr.RigidBody(tr.Ellipse((0.2, 0.1)), 0.4), tr.Ground(tr.Line()))
    return pair, pair.place(angular_velocity=-0.5)


def rolling_coordinates() -> tuple[tr.RollingPair, tr.models.Start]:
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), 0.4), tr.Hand(tr.Plane()), coordinates="rolling")
    return pair, pair.place(object_angular_velocity=(0.3, 0.0, 0.2))


PAIRS = {"hand": ball_on_hand, "plane": planar_body, "rolling": rolling_coordinates}


@pytest.mark.parametrize("duplicate", [pickled, copy.deepcopy])
@pytest.mark.parametrize("name", PAIRS)
def test_copies_of_pairs_simulate_the_same(name: str, duplicate: Duplicate) -> None:
    pair, start = PAIRS[name]()
    before = duplicate(pair)
    run = tr.simulate(pair, start, duration=0.1)
    for other in (before, duplicate(pair)):
        again = tr.simulate(other, start, duration=0.1)
        for key in run.dataset.data_vars:
            np.testing.assert_array_equal(run[str(key)], again[str(key)])


@pytest.mark.parametrize("duplicate", [pickled, copy.deepcopy])
def test_copies_of_systems_share_no_compiled_functions(duplicate: Duplicate) -> None:
    system = ball_on_hand()[0].system
    model, other = system.model(), duplicate(system)
    assert other.model() is not model
    assert other.model().layout == model.layout
    assert dict(other.physics) == dict(system.physics)
    with pytest.raises(TypeError):
        other.physics["mass"] = 1.0  # pyright: ignore[reportIndexIssue]


@pytest.mark.parametrize("duplicate", [pickled, copy.deepcopy])
@pytest.mark.parametrize(
    "shape",
    [tr.Sphere(0.1), tr.Plane(), tr.Ellipse((0.2, 0.1)), tr.Sinusoid(0.05, 1.0)],
    ids=lambda s: type(s).__name__,
)
def test_copies_of_shapes_have_the_same_distances(shape: tr.Shape, duplicate: Duplicate) -> None:
    points = np.random.default_rng(1).normal(size=(20, shape.d))
    before, wanted = duplicate(shape), shape.distance(points)
    for other in (before, duplicate(shape)):
        for found, expected in zip(other.distance(points), wanted, strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("duplicate", [pickled, copy.deepcopy])
def test_copies_of_trees_simulate_the_same(duplicate: Duplicate) -> None:
    robot = tr.Robot(gravity=9.81)
    base = robot.free(2.0, 0.05, name="base")
    robot.revolute(base, at=(-0.2, -0.1), mass=0.5, inertia=0.002, shape=tr.Circle(0.1), name="rear")
    robot.revolute(base, at=(0.2, -0.1), mass=0.5, inertia=0.002, shape=tr.Circle(0.1), name="front")
    robot.terrain(tr.Sinusoid(0.03, 1.5), friction=0.8)
    tree = robot.finish()
    before = duplicate(tree)
    start = tree.place(base=(0.1, 0.2, 0.0), tolerance=0.1)
    run = tr.simulate(tree, start, duration=0.05)
    for other in (before, duplicate(tree)):
        assert dict(other.origins) == dict(tree.origins)
        np.testing.assert_array_equal(other.place(base=(0.1, 0.2, 0.0), tolerance=0.1).x, start.x)
        again = tr.simulate(other, start, duration=0.05)
        for key in run.dataset.data_vars:
            np.testing.assert_array_equal(run[str(key)], again[str(key)])


@pytest.mark.parametrize("duplicate", [pickled, copy.deepcopy])
def test_copies_of_articulated_robots_have_the_same_terms(duplicate: Duplicate) -> None:
    pytest.importorskip("pinocchio")
    text = """<robot name="r"><link name="a"><inertial><mass value="2"/>
        <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
        <link name="b"><inertial><origin xyz="0 0 -0.2"/><mass value="1"/>
        <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
        <joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/></joint></robot>"""
    robot = Articulated(check_urdf(text), gravity=(0.0, 0.0, -1.62), armature=[0.1])
    before, nu = duplicate(robot), np.linspace(-1.0, 1.0, robot.nv)
    wanted = robot.terms(robot.neutral, nu, ["b"])
    for other in (before, duplicate(robot)):
        found = other.terms(other.neutral, nu, ["b"])
        np.testing.assert_array_equal(found.M, wanted.M)
        np.testing.assert_array_equal(found.h, wanted.h)
        np.testing.assert_array_equal(found.motions[0].p, wanted.motions[0].p)
