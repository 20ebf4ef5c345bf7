"""Limbs: where they begin and how long they are, against the description's own numbers and motions of the robot."""

from __future__ import annotations

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.models.robots.humanoid import HUMANOIDS, load_humanoid
from trundle.systems.multicontact.humanoid.limbs import limb

pytest.importorskip("pinocchio")


@pytest.mark.parametrize("name", HUMANOIDS)
def test_places_of_joints_are_those_of_the_links_they_carry(name: str) -> None:
    robot = load_humanoid(name).robot
    humanoid, rng = load_humanoid(name), np.random.default_rng(3)
    q = robot.displace(humanoid.standing(), 0.4 * rng.normal(size=robot.nv))
    places = robot.joint_places(q)
    motions = robot.terms(q, np.zeros(robot.nv), humanoid.links).motions
    for link, motion in zip(humanoid.links, motions, strict=True):
        i, R, p = robot.place_on_body(link)
        assert places[i] == pytest.approx(motion.p - motion.R @ R.T @ p, abs=1e-12)


@pytest.mark.parametrize("name", HUMANOIDS)
def test_a_limb_is_no_shorter_than_the_way_to_its_end(name: str) -> None:
    humanoid = load_humanoid(name)
    robot, rng = humanoid.robot, np.random.default_rng(4)
    for end in humanoid.ends:
        found = limb(humanoid, end)
        mirror = limb(humanoid, end.replace("left", "right") if "left" in end else end.replace("right", "left"))
        assert found.root == pytest.approx(mirror.root * [1, -1, 1], abs=1e-4)
        assert found.length == pytest.approx(mirror.length, rel=1e-4)
        first = int(np.argmin(np.linalg.norm(robot.joint_places(humanoid.standing()) - found.root, axis=1)))
        for _ in range(20):
            q = humanoid.standing()
            q[7:] = rng.uniform(robot.lower, robot.upper)
            motions = humanoid.end_motions(robot.terms(q, np.zeros(robot.nv), humanoid.links).motions)
            way = float(np.linalg.norm(motions[end].p - robot.joint_places(q)[first]))
            assert way <= found.length + 1e-9


def test_what_has_no_limb_is_refused() -> None:
    with pytest.raises(InputError, match="'left_hand'"):
        limb(load_humanoid("g1"), "tail")
