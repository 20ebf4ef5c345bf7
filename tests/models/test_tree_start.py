from __future__ import annotations

import warnings

import numpy as np
import pytest

import trundle as tr
from tests.models.planar_robots import rover
from trundle.errors import InputError, TrundleWarning
from trundle.models.tree.touching import touch_function

POSE = {"thigh_rear": 0.5, "shin_rear": -1.0, "thigh_front": 0.5, "shin_front": -1.0}
GIVEN = {"base": (0.0, 0.62, 0.0), **POSE, "tolerance": 0.2}


def trike(trail: float = 0.05) -> tr.RollingTree:
    """A frame on two rear wheels and a steered front wheel, in space."""
    robot = tr.Robot(gravity=(0, 0, -9.81), on_slip="slide")
    frame = robot.free(10.0, (0.5, 0.8, 1.0), center_of_mass=(0.3, 0, 0.4), name="frame")
    for name, y in (("left", 0.3), ("right", -0.3)):
        robot.revolute(frame, (0, y, 0.2), 1.0, shape=tr.Sphere(0.2), actuated=False, name=name)
    fork = robot.revolute(frame, (1.0, 0, 0.2), 1.0, (0.01, 0.01, 0.01), axis=(0, 0, 1), actuated=False, name="fork")
    robot.revolute(fork, (-trail, 0, 0), 1.0, shape=tr.Sphere(0.2), actuated=False, name="front")
    robot.terrain(tr.Plane(), 0.8)
    return robot.finish()


def values(tree: tr.RollingTree, start: tr.Start, name: str) -> np.ndarray:
    return start.x[tree.model(start.atlas).layout[name]]


def test_a_slip_is_the_velocity_over_the_ground() -> None:
    robot = rover(friction=0.8, on_slip="slide")
    start = robot.place(**GIVEN, slips={"wheel_rear": 0.3}, rates={"base": (0.0, 0.5, 0.0)})
    run = tr.simulate(robot, start, 1e-6, output_step=1e-6)
    np.testing.assert_allclose(run["slip"][0], [0.3, 0.0], atol=1e-12)
    assert run["mode"][0].tolist() == ["sliding", "rolling"]


def test_in_space_the_normal_part_of_a_slip_does_not_count() -> None:
    tree = trike()
    start = tree.place(slips={"left": (0.1, 0.0, 5.0)}, rates={"frame": (0, 0, 0, 1.0, 0, 0)})
    slips = [np.asarray(touch_function(tree.system, start.atlas, i)(start.x)[1]).ravel() for i in range(3)]
    np.testing.assert_allclose(slips, [[0.1, 0.0, 0.0], [0, 0, 0], [0, 0, 0]], atol=1e-12)
    assert values(tree, start, "frame.velocity")[0] == pytest.approx(1.0, abs=1e-12)


def test_components_that_are_none_follow_from_rolling() -> None:
    tree = trike()
    start = tree.place(fork=0.4, rates={"frame": (None, None, None, 1.0, None, None)})
    w, v = (values(tree, start, f"frame.{key}") for key in ("angular_velocity", "velocity"))
    # The axes of the wheels meet in a point: x = 0 of the rear ones, and the fork's axle through (1 - 0.05 cos, ...).
    trail = 1.0 - 0.05 * np.cos(0.4)
    turn = np.tan(0.4) / (trail - 0.05 * np.sin(0.4) * np.tan(0.4))
    arm = np.array([0.3, 0.0, 0.4])
    origin = v - np.cross(w, arm)
    assert origin[0] == pytest.approx(1.0, abs=1e-12)
    rate = values(tree, start, "fork.rate")[0]
    slip = rate * 0.05  # the front wheel's contact is 5 cm behind the fork's axis
    front = np.array([trail, -0.05 * np.sin(0.4)])
    velocity = np.array([1.0 - w[2] * front[1], w[2] * front[0]]) + slip * np.array([np.sin(0.4), -np.cos(0.4)])
    assert abs(np.dot(velocity, [-np.sin(0.4), np.cos(0.4)])) < 1e-12
    held = tree.place(fork=0.4, rates={"frame": (None, None, None, 1.0, None, None), "fork": 0.0})
    assert values(tree, held, "frame.angular_velocity")[2] == pytest.approx(turn, rel=1e-9)


def test_laws_of_a_start_by_the_names_of_contacts() -> None:
    tree = trike()
    start = tree.place(laws={"front": "pure-rolling"})
    assert start.laws == ("rolling", "rolling", "pure-rolling")


def test_a_wild_rate_is_named_with_what_forces_it() -> None:
    """A frame that may not turn though its fork is turned: the fork has to turn back at once."""
    tree = trike(trail=0.02)
    given = {"frame": (None, None, 0.0, 3.0, None, None)}
    with pytest.warns(TrundleWarning, match=r"gives fork a rate of .*rates\.frame = .*None"):
        start = tree.place(fork=0.4, rates=given)
    assert abs(values(tree, start, "fork.rate")[0]) == pytest.approx(3 * np.sin(0.4) / 0.02)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree.place(fork=0.4, rates={"frame": (None, None, None, 3.0, None, None)})
        tree.place(rates={"left": 5.0})


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        ({"slips": {"nobody": 1.0}}, "slips"),
        ({"slips": {"left": 1.0}}, "slips.left"),
        ({"slips": {"left": (np.nan, 0, 0)}}, "slips.left"),
        ({"slips": {"left": (1.0, 0, 0)}, "contacts": ["right", "front"], "tolerance": 0.3}, "slips"),
        ({"laws": {"left": "sliding"}}, "laws.left"),
        ({"laws": {"nobody": "rolling"}}, "laws"),
        ({"rates": {"frame": (None, np.inf, None)}}, "rates.frame"),
        ({"rates": {"frame": (None, 1.0)}}, "rates.frame"),
    ],
)
def test_starts_that_cannot_be_say_why(arguments: dict, key: str) -> None:
    with pytest.raises(InputError) as caught:
        trike().place(**arguments)
    assert caught.value.key == key
