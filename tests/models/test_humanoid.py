"""Humanoids: limbs, kinematics and weight of the Unitree G1, and files that are wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.models.articulated import Articulated
from trundle.models.humanoid import Humanoid, Limb, load_humanoid

pytest.importorskip("pinocchio")


@pytest.fixture(scope="module")
def g1() -> Humanoid:
    return load_humanoid("g1")


def posed(robot: Humanoid, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    turn = rng.normal(size=4)
    return np.concatenate((rng.normal(size=3), turn / np.linalg.norm(turn), 0.3 * rng.normal(size=len(robot.joints))))


def test_the_robot_is_what_its_makers_say(g1: Humanoid) -> None:
    assert g1.mass == pytest.approx(33.34, abs=0.01)
    assert len(g1.joints) == 29
    assert g1.torque_limits.max() == 139
    assert set(g1.limbs) == {"left foot", "right foot", "left hand", "right hand"}


def test_it_stands_on_its_soles(g1: Humanoid) -> None:
    q = g1.standing
    left, right = g1.placed(q, "left foot"), g1.placed(q, "right foot")
    assert abs(left.position[2]) < 1e-9
    np.testing.assert_allclose(left.R_world_patch, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(left.position * [1, -1, 1], right.position, atol=1e-5)
    com = g1.center_of_mass(q)
    assert abs(com[0] - left.position[0]) < 0.08
    assert 0.6 < com[2] < 0.75


def test_states_go_to_pinocchio_and_back(g1: Humanoid) -> None:
    q = posed(g1)
    np.testing.assert_allclose(g1.from_pinocchio(g1.to_pinocchio(q)), q, atol=1e-15)


def test_limbs_are_where_the_other_route_says(g1: Humanoid) -> None:
    robot, q = Articulated(g1.urdf), posed(g1, 3)
    limb = g1.limb("left foot")
    motion = robot.terms(q, np.zeros(robot.nv), [limb.link]).motions[0]
    placed = g1.placed(q, "left foot")
    np.testing.assert_allclose(placed.position, motion.p + motion.R @ limb.position, atol=1e-12)
    np.testing.assert_allclose(placed.R_world_patch, motion.R, atol=1e-12)
    hand = g1.limb("right hand")
    motion = robot.terms(q, np.zeros(robot.nv), [hand.link]).motions[0]
    centre = motion.p + motion.R @ hand.position
    np.testing.assert_allclose(g1.placed(q, "right hand").position, centre - [0, 0, hand.radius], atol=1e-12)


def test_weight_and_jacobians_are_derivatives(g1: Humanoid) -> None:
    import pinocchio as pin

    q = posed(g1, 5)
    contact = g1.placed(q, "right foot")
    weight, (J,) = g1.statics(q, [contact])
    rng, h = np.random.default_rng(1), 1e-6
    v = rng.normal(size=g1.model.nv)

    def moved(t: float) -> np.ndarray:
        return g1.from_pinocchio(pin.integrate(g1.model, g1.to_pinocchio(q), t * v))

    ahead, behind = (g1.placed(moved(t), "right foot") for t in (h, -h))
    R = contact.R_world_patch
    linear = R.T @ (ahead.position - behind.position) / (2 * h)
    turn = R.T @ (ahead.R_world_patch - behind.R_world_patch) / (2 * h)
    np.testing.assert_allclose(J[3:] @ v, linear, atol=1e-7)
    np.testing.assert_allclose(J[:3] @ v, [turn[2, 1], turn[0, 2], turn[1, 0]], atol=1e-7)
    power = g1.mass * 9.81 * (g1.center_of_mass(moved(h)) - g1.center_of_mass(moved(-h)))[2] / (2 * h)
    assert weight @ v == pytest.approx(power, rel=1e-6)


FILE = """
name = "mine"
urdf = "g1_29dof_rev_1_0"
[limbs.palm]
link = "left_rubber_hand"
position = [0.1, 0.0, 0.0]
length = 0.1
width = 0.05
[posture]
left_knee_joint = 0.5
"""


def test_a_robot_of_ones_own_is_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(FILE)
    robot = load_humanoid(file)
    assert robot.name == "mine"
    assert robot.limb("palm").patch(0.5).vertices.shape == (4, 2)
    assert robot.standing[7 + robot.joints.index("left_knee_joint")] == 0.5


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ('link = "left_rubber_hand"', 'link = "left_paw"', "limbs.palm.link.*left_paw.*left_rubber_hand"),
        ("length = 0.1", "length = 0.0", "limbs.palm.size"),
        ("length = 0.1", "radius = 0.1", "limbs.palm"),
        ("width = 0.05", "widht = 0.05", "limbs.palm"),
        ("left_knee_joint", "left_knie_joint", "left_knie_joint"),
        ("left_knee_joint = 0.5", 'left_knee_joint = "bent"', "left_knee_joint"),
        ('urdf = "g1_29dof_rev_1_0"', 'urdf = "g7"', "g7"),
        ("position = [0.1, 0.0, 0.0]", "position = [0.1, nan, 0.0]", "limbs.palm.position"),
        ("[posture]", "[postures]", "postures"),
        ("[posture]", "[posture", "TOML"),
    ],
)
def test_a_wrong_file_is_explained(tmp_path: Path, old: str, new: str, text: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(FILE.replace(old, new))
    with pytest.raises(InputError, match=text):
        load_humanoid(file)


def test_unknown_names_are_answered_with_those_there_are(g1: Humanoid) -> None:
    with pytest.raises(InputError, match="'g1'"):
        load_humanoid("g9")
    with pytest.raises(InputError, match="'left hand'"):
        g1.limb("tail")
    with pytest.raises(InputError, match="radius"):
        Limb("ball", "hand", (0, 0, 0))
