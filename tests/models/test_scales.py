"""What is placed does not depend on the size of the scene, nor on how far from the origin it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trundle as tr
from trundle.errors import InputError

SIZES = [1e-3, 0.03, 17.0, 1e3]


def leg(foot: float, size: float = 1.0) -> tr.RollingTree:
    """A leg of one `size` (m) with a round foot of `foot` sizes, as good as a point."""
    robot = tr.Robot()
    body = robot.free(15.0 * size**2, size**4, center_of_mass=(0, -0.2 * size), name="leg")
    robot.attach(body, tr.Circle(foot * size), at=(0, -size), name="foot")
    robot.terrain(tr.Line(), friction=1.0)
    return robot.finish()


def test_a_point_foot_is_placed_in_every_pose() -> None:
    """Of 81 poses 34 were refused for a gap of 1e-16 m: round-off of coordinates of a metre."""
    tree = leg(1e-6)
    for angle in np.linspace(-0.4, 0.4, 81):
        start = tree.place(leg=(0.0, 1e-6 + np.cos(angle), angle))
        assert start.laws[0] == "rolling"


@pytest.mark.parametrize("far", [0.0, 1.0, 1e3, 1e5])
@pytest.mark.parametrize("size", SIZES)
def test_a_foot_is_placed_far_from_the_origin(size: float, far: float) -> None:
    tree = leg(1e-4, size)
    for angle in np.linspace(-0.3, 0.3, 9):
        start = tree.place(leg=(far * size, (1e-4 + np.cos(angle)) * size, angle))
        height = start.x[tree.model().layout["leg.position"]][1] / size
        assert height == pytest.approx(1e-4 + 0.8 * np.cos(angle), abs=1e-12)


def rolled(size: float, shape: Any, ground: Any, height: float) -> tuple[tr.RollingTree, dict[str, Any]]:
    """A body in space that comes down on ground, and where."""
    robot = tr.Robot(gravity=(0, 0, -9.81 * size))
    robot.free(size**3, shape=shape, name="body")
    robot.terrain(ground, friction=0.8)
    turn = np.array([1.0, 0.1, 0.15, 0.05])
    pose = (0.02 * size, 0.01 * size, height * size, *(turn / np.linalg.norm(turn)))
    return robot.finish(), {"body": pose, "tolerance": 0.5 * size, "rates": {"body": (0.3, -0.2, 0.1)}}


SCENES = {
    "box in a dish": lambda L: rolled(L, tr.Box([0.1 * L, 0.07 * L, 0.05 * L]), tr.Dish([2 * L] * 3), -1.9),
    "ellipsoid on a ball": lambda L: rolled(L, tr.Ellipsoid([0.1 * L, 0.08 * L, 0.06 * L]), tr.Sphere(3 * L), 3.1),
    "ellipsoid on a plane": lambda L: rolled(L, tr.Ellipsoid([0.1 * L, 0.08 * L, 0.06 * L]), tr.Plane(), 0.1),
    "capsule on a plane": lambda L: rolled(L, tr.Capsule(0.05 * L, 0.1 * L), tr.Plane(), 0.1),
}


@pytest.mark.parametrize("scene", SCENES)
def test_a_scene_of_any_size_is_placed_alike(scene: str) -> None:
    def placed(size: float) -> np.ndarray:
        tree, given = SCENES[scene](size)
        layout, start = tree.model().layout, tree.place(**given)
        assert "rolling" in start.laws
        parts = {"position": 1 / size, "orientation": 1.0, "velocity": 1 / size, "angular_velocity": 1.0}
        return np.concatenate([start.x[layout[f"body.{name}"]] * scale for name, scale in parts.items()])

    one = placed(1.0)
    for size in SIZES:
        np.testing.assert_allclose(placed(size), one, rtol=0, atol=1e-8)


@pytest.mark.parametrize("size", SIZES)
def test_what_is_refused_is_refused_at_any_size(size: float) -> None:
    tree = leg(0.05, size)
    for height, key in ((1.06, "foot"), (1.04, "foot")):
        with pytest.raises(InputError, match=r"away from|inside") as caught:
            tree.place(leg=(0.0, height * size, 0.0), tolerance=0.005 * size)
        assert caught.value.key == key


@pytest.mark.parametrize("size", SIZES)
def test_a_joint_at_its_stop_may_stay_there(size: float) -> None:
    """Closing the contacts moves it by round-off."""
    robot = tr.Robot()
    body = robot.free(2.0, 0.02 * size**2, name="body")
    slide = robot.prismatic(body, (0, 0), 0.2, 1e-4 * size**2, axis=(0.0, -1.0), name="slide")
    robot.attach(slide, tr.Circle(0.05 * size), at=(0, -0.3 * size), name="foot")
    robot.resist(slide, low=0.0, high=0.1 * size)
    robot.terrain(tr.Line(0.1), friction=0.8)
    tree = robot.finish()
    for x in np.linspace(-0.2, 0.2, 9) * size:
        start = tree.place(body=(x, 0.1 * x + 0.35 * size, 0.0), tolerance=0.1 * size, hold=["slide"])
        assert abs(start.x[tree.model().layout["slide.joint"]][0]) <= 1e-9 * size
