from __future__ import annotations

import numpy as np
import pytest

import trundle as tr
from tests.models.planar_robots import rover
from trundle.errors import InputError

POSE = {"thigh_rear": 0.5, "shin_rear": -1.0, "thigh_front": 0.5, "shin_front": -1.0}


def test_a_rover_starts_with_closed_contacts_that_roll() -> None:
    robot = rover()
    start = robot.place(base=(0.0, 0.62, 0.0), **POSE, rates={"base": (0.0, 0.5, 0.0)}, tolerance=0.2)
    assert start.laws == ("rolling", "rolling", "separated", "separated")
    model = robot.system.model(start.atlas)
    np.testing.assert_allclose(start.x[model.layout["base.velocity"]], [0.5, 0.0], atol=1e-15)
    run = tr.simulate(robot, start, 1e-6, output_step=1e-6)
    assert np.abs(run["gap"][0]).max() < 1e-14
    assert np.abs(run["slip"][0]).max() < 1e-14


def test_held_joints_stay() -> None:
    robot = rover()
    start = robot.place(base=(0.0, 0.62, 0.0), **POSE, tolerance=0.2, hold=list(POSE))
    layout = robot.system.model().layout
    for name, angle in POSE.items():
        assert start.x[layout[f"{name}.joint"]] == angle


@pytest.mark.parametrize(
    ("arguments", "key", "words"),
    [
        ({"base": (0.0, 0.4, 0.0)}, "wheel_rear", "inside terrain"),
        ({"base": (0.0, 0.4, 0.0), "contacts": []}, "wheel_rear", "inside terrain"),
        ({"base": (0.0, 1.4, 0.0)}, "wheel_rear", "raise tolerance"),
        ({"wheels": 1.0}, "wheels", "wheel_rear"),
        ({"contacts": ["base"]}, "contacts", "wheel_rear"),
        ({"hold": ["nobody"]}, "hold", "shin_rear"),
        ({"base": (0.0, 1.4)}, "wheel_rear", "away"),
        ({"base": (0.0, np.nan, 0.0)}, "base", "finite"),
        ({"shin_rear": "bent"}, "shin_rear", "number"),
        (
            {
                "base": (0, 0.62, 0),
                **POSE,
                "tolerance": 0.2,
                "rates": dict.fromkeys(["base", *POSE], 9.0) | {"base": (0, 1, 0)},
            },
            "rates",
            "can roll",
        ),
    ],
)
def test_starts_that_cannot_be_say_why(arguments: dict, key: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        rover().place(**arguments)
    assert caught.value.key == key
    assert words in str(caught.value)


def test_what_cannot_be_built_says_why() -> None:
    robot, other = tr.Robot(), tr.Robot()
    base = robot.free(1.0, 0.1)
    with pytest.raises(InputError, match="mass = 0"):
        robot.revolute(base, (0, 0), 0.0, 0.1, name="weightless")
    with pytest.raises(InputError, match="solid"):
        robot.revolute(base, (0, 0), 1.0, name="shapeless")
    with pytest.raises(InputError, match="parent"):
        other.revolute(base, (0, 0), 1.0, 0.1)
    with pytest.raises(InputError, match="dimension 2"):
        robot.revolute(base, (0, 0), 1.0, 0.1, shape=tr.Sphere(0.1), name="ball")
    with pytest.raises(InputError, match="name"):
        robot.revolute(base, (0, 0), 1.0, 0.1, name="base")
    robot.attach(base, tr.Circle(0.1))
    with pytest.raises(InputError, match="terrain"):
        robot.finish()


def test_a_body_frame_with_its_origin_off_the_center_of_mass() -> None:
    """The same disk with an eccentric mass, as a pair and as a robot, moves alike."""
    disk = tr.RigidBody(tr.Circle(0.2), 1.0, 0.02, center_of_mass=[0.05, 0.02])
    pair = tr.RollingPair(disk, tr.Ground(tr.Line(-0.1)), on_slip="ignore")
    robot = tr.Robot(on_slip="ignore")
    robot.free(1.0, 0.02, center_of_mass=[0.05, 0.02], shape=tr.Circle(0.2), name="disk")
    robot.terrain(tr.Line(-0.1))
    tree = robot.finish()
    first = pair.place(contact_x=0.0, angle=0.3, angular_velocity=-1.0)
    n = np.array([0.1, 1.0]) / np.hypot(0.1, 1.0)
    second = tree.place(disk=(*(0.2 * n), 0.3), rates={"disk": (-1.0, *(0.2 * np.array([n[1], -n[0]])))})
    a, b = tr.simulate(pair, first, 0.5), tr.simulate(tree, second, 0.5)
    np.testing.assert_allclose(b["body_position"], a["body_position"], atol=1e-10)
    np.testing.assert_allclose(b["contact_force"], a["contact_force"], atol=1e-8)
