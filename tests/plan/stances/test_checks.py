"""Stances at rest before the start: which are tried, what is refused, how far soles turn and overlap."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from trundle.contact.patch import FlatPatch, PlacedPatch
from trundle.models.robots.humanoid import Humanoid, load_humanoid
from trundle.numerics.rotations import rotation_z
from trundle.systems.multicontact.stances.checks import most_turn, overlap, rests_everywhere, turns
from trundle.systems.multicontact.stances.pose import StanceError, center_of_mass_of, where
from trundle.systems.multicontact.whole_body.stepping import straight_walk

pytest.importorskip("pinocchio")
pytest.importorskip("pink")


@pytest.fixture(scope="module")
def g1() -> Humanoid:
    return load_humanoid("g1")


def soles(robot: Humanoid) -> dict[str, PlacedPatch]:
    q, found = robot.standing(), {}
    for name in ("left_foot", "right_foot"):
        foot = robot.feet[name.removesuffix("_foot")]
        found[name] = PlacedPatch(name, foot.patch(0.6, 0.8), where(robot, q, name)[0])
    return found


def height(robot: Humanoid) -> float:
    return float(center_of_mass_of(robot, robot.standing())[2]) - 0.02


def test_steps_that_repeat_are_tried_once(g1: Humanoid) -> None:
    short, long = (straight_walk(soles(g1), n, 0.1) for n in (6, 60))
    found = [rests_everywhere(g1, steps.forecast, height(g1), g1.standing(), steps.duration) for steps in (short, long)]
    assert found == [5, 5], "both soles together and either ahead; either alone"


def test_a_stance_that_is_turned_is_the_same_one(g1: Humanoid) -> None:
    R, start = rotation_z(0.7), soles(g1)
    there = {
        n: replace(p, position=R @ p.position + np.array([3.0, 1.0, 0.0]), R_world_patch=R) for n, p in start.items()
    }
    for places in (start, there):
        steps = straight_walk(places, 1, 0.0)
        assert rests_everywhere(g1, steps.forecast, height(g1), g1.standing(), 3.0) == 2


def test_what_legs_do_not_reach_is_said_with_its_time(g1: Humanoid) -> None:
    steps = straight_walk(soles(g1), 4, 0.8)
    with pytest.raises(StanceError, match=r"left_foot, right_foot at .* s: out of reach"):
        rests_everywhere(g1, steps.forecast, height(g1), g1.standing(), steps.duration)


def test_soles_do_not_stand_on_each_other(g1: Humanoid) -> None:
    start = soles(g1)
    a, b = start.values()
    start["right_foot"] = replace(b, position=a.position + np.array([0.0, -0.06, 0.0]))
    with pytest.raises(StanceError, match="soles overlap"):
        rests_everywhere(g1, straight_walk(start, 1, 0.0).forecast, height(g1), g1.standing(), 0.5)


@pytest.mark.parametrize(
    ("shift", "yaw", "expected"),
    [
        ((0.0, 0.06, 0.0), 0.0, 0.015),
        ((0.2, 0.06, 0.0), 0.0, 0.008),
        ((0.3, 0.0, 0.0), 0.0, 0.0),
        ((0.0, 0.0, 0.0), np.pi / 2, 0.075 / 2 + 0.104),
    ],
)  # fmt: skip
def test_overlap_of_two_soles(g1: Humanoid, shift: tuple[float, ...], yaw: float, expected: float) -> None:
    patch = FlatPatch.rectangle(0.1, 0.05, 0.5)
    a = PlacedPatch("left_foot", patch, np.zeros(3))
    b = PlacedPatch("right_foot", patch, np.array(shift), rotation_z(yaw))
    assert overlap(g1, a, b) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("name", "least", "most"), [("g1", 0.9, 1.571), ("talos", 0.4, 0.7)])
def test_legs_turn_as_far_as_they_do(name: str, least: float, most: float) -> None:
    robot = load_humanoid(name)
    given = robot, soles(robot), height(robot), robot.standing()
    found = most_turn(*given)
    assert least < found < most
    assert turns(*given, 0.9 * found)
    assert not turns(*given, found + 0.05)
    assert not turns(*given, 6.2)
