"""Steps as they are felt: late ground is found, what is not there is given up, a lost hold is seen, the robot stops."""

from __future__ import annotations

import numpy as np
import pytest

from trundle.contact.packed import FrameMotion
from trundle.contact.patch import FlatPatch, PlacedPatch
from trundle.systems.multicontact.preview.paths import PointPath
from trundle.systems.multicontact.whole_body.progress import Gating, WalkProgress
from trundle.systems.multicontact.whole_body.stepping import Footsteps, Move, in_turn, straight_walk

SOLE, PALM, PERIOD = FlatPatch.rectangle(0.2, 0.1, friction=0.7), FlatPatch.point(0.7), 0.002
FEET = {
    f"{side}_foot": PlacedPatch(f"{side}_foot", SOLE, (0.0, y, 0.0)) for side, y in (("left", 0.1), ("right", -0.1))
}
HOLD = PlacedPatch("left_hand", PALM, (0.3, 0.4, 0.8))
UP, NOTHING = np.array([0.0, 0.0, 200.0]), np.zeros(3)


class World:
    """Ends that follow their targets exactly, and ground (m, along z) that pushes on what is at or below it."""

    def __init__(self, steps: Footsteps, ground: dict[str, float]) -> None:
        path = PointPath([0.0], [(0.0, 0.0, 0.8)])
        self.progress = WalkProgress(steps, path, Gating(), PERIOD)
        self.ground = ground
        self.points = {name: place.position.copy() for name, place in FEET.items()} | {
            "left_hand": np.array([0.2, 0.4, 0.6])
        }

    def tick(self) -> None:
        nothing = np.zeros((3, 6))
        ends = {
            name: FrameMotion(np.eye(3), p, np.zeros(3), np.zeros(3), nothing, nothing, np.zeros(3), np.zeros(3))
            for name, p in self.points.items()
        }
        forces = {
            name: UP if p[2] <= self.ground.get(name, -np.inf) + 1e-4 else NOTHING for name, p in self.points.items()
        }
        planned = dict.fromkeys(self.progress.standing, 100.0)
        for travel in self.progress.advance(forces, ends, planned, {}):
            self.points[travel.name] = self.progress.target(travel, 0.0).position

    def run(self, duration: float) -> WalkProgress:
        for _ in range(round(duration / PERIOD)):
            self.tick()
        return self.progress


def walk() -> Footsteps:
    return straight_walk(FEET, steps=4, length=0.15)


def test_steps_on_the_ground_that_is_expected_are_on_time() -> None:
    progress = World(walk(), dict.fromkeys(FEET, 0.0)).run(5.0)
    assert (progress.landed, progress.begun, progress.stopped) == (4, 4, "")
    assert progress.waited < 4 * 0.02
    assert progress.clock == pytest.approx(5.0 - progress.waited)


@pytest.mark.parametrize("height", [-0.1, -0.05, 0.02])
def test_ground_is_taken_to_be_where_it_is_felt(height: float) -> None:
    world = World(walk(), dict.fromkeys(FEET, 0.0))
    world.run(0.9)
    world.ground["right_foot"] = height
    progress = world.run(1.2)
    assert progress.landed == 1
    assert progress.stopped == ""
    assert progress.places["right_foot"].position[2] == pytest.approx(height, abs=2e-3)
    if height < 0:
        assert progress.waited > 0.1


def test_what_is_late_is_not_counted_on_before_it_would_be_given_up() -> None:
    steps = in_turn(FEET, [Move(HOLD, 0.5, 0.3)])
    world = World(steps, dict.fromkeys(FEET, 0.0))
    while not world.progress.late:
        world.tick()
    world.run(0.1)
    progress = world.progress
    (hand,) = (item for item in progress.forecast.contacts if item.contact.name == "left_hand")
    assert hand.start - progress.clock == pytest.approx(Gating().patience - progress.late)
    assert progress.standing == ("left_foot", "right_foot")


def test_all_that_is_to_come_waits_for_late_ground_and_until_the_robot_has_settled() -> None:
    world = World(walk(), dict.fromkeys(FEET, 0.0))
    world.run(0.9)
    world.ground["right_foot"] = -0.06
    expected = {c.start: c.end for c in world.progress.forecast.contacts if c.contact.name == "left_foot"}
    while world.progress.late < 0.05:
        world.tick()
    progress, gone = world.progress, Gating().patience - world.progress.late
    stance = next(c for c in progress.forecast.contacts if c.contact.name == "left_foot")
    assert stance.end == pytest.approx(expected[-np.inf] + gone)
    points, rates = progress.reference(progress.clock + np.array([0.0, 0.5 * gone, gone]))
    np.testing.assert_allclose(points, np.tile(points[:1], (3, 1)))
    np.testing.assert_array_equal(rates[:2], 0.0)
    while progress.late:
        world.tick()
    assert progress.settling == pytest.approx(Gating().settle)
    assert progress.standing == ("left_foot", "right_foot")
    held = progress.forecast.held(np.array([progress.clock + 2 * PERIOD]))[0]
    assert sorted(c.contact.name for c, on in zip(progress.forecast.contacts, held, strict=True) if on) == sorted(FEET)
    clock = progress.clock
    world.run(Gating().settle - 0.01)
    assert progress.clock == clock
    world.run(0.1)
    assert progress.clock > clock


def test_a_sole_goes_higher_out_of_a_hollow() -> None:
    world = World(walk(), dict.fromkeys(FEET, 0.0))
    lift = walk().travels[2].lift
    world.run(0.9)
    world.ground["right_foot"] = -0.04
    progress = world.run(1.2)
    found = [travel.lift for travel in progress.steps.travels if travel.name == "right_foot"]
    assert found == pytest.approx([lift, lift + 0.04], abs=2e-3)


def test_a_hand_that_finds_nothing_is_left_free_and_the_robot_stops() -> None:
    steps = in_turn(FEET, [Move(HOLD, 0.5, 0.3), *(Move(t.target, 0.6, 0.2) for t in walk().travels)])
    progress = World(steps, dict.fromkeys(FEET, 0.0)).run(6.0)
    assert progress.stopped == "left_hand found nothing at its hold"
    assert progress.standing == ("left_foot", "right_foot")
    assert [c.contact.name for c in progress.forecast.contacts] == ["left_foot", "right_foot"]
    np.testing.assert_allclose(progress.path(np.array([progress.clock]))[0][0], [0.0, 0.0, 0.8])
    assert (progress.begun, progress.landed) == (1, 0)


def test_a_sole_that_finds_nothing_goes_back() -> None:
    world = World(walk(), dict.fromkeys(FEET, 0.0))
    world.run(2.0)
    old = FEET["left_foot"].position
    world.ground["left_foot"] = -1.0
    while not world.progress.stopped:
        world.tick()
    assert world.progress.standing == ("right_foot",)
    world.ground["left_foot"] = 0.0
    progress = world.run(1.5)
    assert progress.standing == ("left_foot", "right_foot")
    np.testing.assert_allclose(progress.places["left_foot"].position, old, atol=1e-3)
    np.testing.assert_allclose(
        progress.path(np.array([9.0]))[0][0][:2],
        (old + progress.places["right_foot"].position)[:2] / 2,
        atol=1e-3,
    )


def test_a_hold_that_is_lost_is_seen() -> None:
    steps = in_turn(FEET, [Move(HOLD, 0.5, 0.3), *(Move(t.target, 0.6, 0.2) for t in walk().travels)])
    world = World(steps, dict.fromkeys(FEET, 0.0) | {"left_hand": 0.8})
    world.run(1.7)
    assert "left_hand" in world.progress.standing
    world.ground["left_hand"] = -1.0
    progress = world.run(0.2)
    assert progress.stopped == "left_hand lost its hold"
    assert "left_hand" not in progress.standing
    assert all(item.contact.name != "left_hand" for item in progress.forecast.contacts)
