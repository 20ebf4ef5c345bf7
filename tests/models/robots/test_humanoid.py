"""Humanoids: their files, their postures, their momentum, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.models.robots.humanoid import HUMANOIDS, Humanoid, load_humanoid
from trundle.models.robots.servo import SensorNoise
from trundle.models.urdf.articulated import Articulated
from trundle.models.urdf.examples import example_robots

pytest.importorskip("pinocchio")
G1 = (Path(__file__).parents[3] / "src/trundle/models/robots/humanoids/g1.toml").read_text(encoding="utf-8")
ROMEO = Path(__file__).parents[3] / "examples" / "data" / "romeo.toml"


@pytest.fixture(scope="module", params=HUMANOIDS)
def humanoid(request: pytest.FixtureRequest) -> Humanoid:
    return load_humanoid(request.param)


def test_it_stands_with_flat_soles_on_the_ground(humanoid: Humanoid) -> None:
    q = humanoid.standing()
    terms = humanoid.robot.terms(q, np.zeros(humanoid.robot.nv), humanoid.links)
    ends = humanoid.end_motions(terms.motions)
    feet = [motion for name, motion in ends.items() if name.endswith("_foot")]
    assert np.mean([foot.p for foot in feet], axis=0) == pytest.approx(np.zeros(3), abs=1e-12)
    for foot in feet:
        assert foot.p[2] == pytest.approx(0.0, abs=1e-4)
        assert foot.R[:, 2] == pytest.approx([0, 0, 1], abs=1e-3)
    inside = (q[7:] > humanoid.robot.lower) & (q[7:] < humanoid.robot.upper)
    assert inside.all(), np.array(humanoid.robot.joints)[~inside]


def test_momentum_is_that_of_the_moving_bodies(humanoid: Humanoid) -> None:
    robot, rng = humanoid.robot, np.random.default_rng(1)
    q = robot.displace(humanoid.standing(), 0.3 * rng.normal(size=robot.nv))
    nu, nudot, e = rng.normal(size=robot.nv), rng.normal(size=robot.nv), 1e-5

    def at(t: float) -> Any:
        there = robot.displace(robot.displace(q, nu * t), nudot * t**2 / 2)
        return robot.terms(there, nu + nudot * t, momentum=True).momentum

    here, before, after = at(0.0), at(-e), at(e)
    assert here.J_com @ nu == pytest.approx(here.com_rate, abs=1e-13)
    assert here.J_angular @ nu == pytest.approx(here.angular, abs=1e-12)
    assert (after.com - before.com) / (2 * e) == pytest.approx(here.com_rate, abs=1e-8)
    change = (after.com_rate - before.com_rate) / (2 * e)
    assert change == pytest.approx(here.J_com @ nudot + here.com_bias, abs=1e-7)
    change = (after.angular - before.angular) / (2 * e)
    assert change == pytest.approx(here.J_angular @ nudot + here.angular_bias, abs=1e-6)


def test_motion_of_a_point_of_a_link(humanoid: Humanoid) -> None:
    robot, rng, point = humanoid.robot, np.random.default_rng(2), np.array([0.1, -0.2, 0.3])
    q, nu, e = humanoid.standing(), rng.normal(size=robot.nv), 1e-5

    def at(t: float) -> Any:
        return robot.terms(robot.displace(q, nu * t), nu, [humanoid.links[0]]).motions[0].at(point)

    here, before, after = at(0.0), at(-e), at(e)
    assert (after.p - before.p) / (2 * e) == pytest.approx(here.v, abs=1e-8)
    assert (after.v - before.v) / (2 * e) == pytest.approx(here.a, abs=1e-7)
    assert here.Jv @ nu == pytest.approx(here.v, abs=1e-13)


def test_rotors_add_to_the_inertia_of_their_joints(humanoid: Humanoid) -> None:
    robot, q = humanoid.robot, humanoid.standing()
    zero = np.zeros(robot.nv)
    bare = Articulated(humanoid.urdf).terms(q, zero).M
    added = robot.terms(q, zero).M - bare
    assert added == pytest.approx(np.diag([0.0] * 6 + list(humanoid.joint_armature)), abs=1e-12)
    assert (humanoid.joint_armature > 0).all()


def test_bodies_have_the_mass_of_the_robot(humanoid: Humanoid) -> None:
    bodies = humanoid.robot.bodies()
    assert sum(body.mass for body in bodies) == pytest.approx(humanoid.robot.mass, rel=1e-12)
    assert [body.name for body in bodies[1:]] == list(humanoid.robot.joints)
    assert all(body.parent < i for i, body in enumerate(bodies))


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('link = "left_ankle_roll_link"', 'link = "left_paw"', "feet.left.link"),
        ('base = "pelvis"', 'base = "hips"', "robot.base"),
        ("length = 0.208", "length = 0.0", "feet.left.length"),
        ("width = 0.075", "wide = 0.075", "feet.left"),
        ('urdf = "g1_29dof_rev_1_0"', 'urdf = "g2"', "name"),
        ("\n[posture]", "\n[stance]", "stance"),
        ('"*_wrist_yaw_joint" = 0.00425\n"*" = 0.0036', '"*_wrist_yaw_joint" = 0.1', "armature."),
        ('"*_knee_joint" = 150.0', '"*_knee_joint" = 0.0', "servo.stiffness"),
        ("[servo.damping]", "[servo.friction]", "servo"),
        ("[robot]", "[robot", "robot"),
    ],
)
def test_a_broken_file_is_refused_by_the_key_that_is_wrong(tmp_path: Path, old: str, new: str, key: str) -> None:
    assert old in G1
    file = tmp_path / "mine.toml"
    file.write_text(G1.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_humanoid(file)
    assert key in caught.value.key
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("foo = 1", "robot.foo"),
        ('locked = ["nothing*"]', "robot.locked[0]"),
        ("locked = 3", "robot.locked"),
        ("locked = [3]", "robot.locked[0]"),
    ],
)
def test_keys_of_the_robot_that_mean_nothing_are_refused(tmp_path: Path, line: str, said: str) -> None:
    text = ROMEO.read_text().replace("[robot]\n", f"[robot]\n{line}\n", 1)
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(InputError, match=re.escape(said)):
        load_humanoid(tmp_path / "mine.toml")


def test_locked_joints_do_not_move_and_keep_their_mass(tmp_path: Path) -> None:
    whole = load_humanoid(ROMEO)
    text = ROMEO.read_text().replace("[robot]\n", '[robot]\nlocked = ["Neck*", "Head*"]\n', 1)
    (tmp_path / "mine.toml").write_text(text)
    locked = load_humanoid(tmp_path / "mine.toml")
    assert set(whole.robot.joints) - set(locked.robot.joints) == {"NeckYaw", "NeckPitch", "HeadPitch", "HeadRoll"}
    assert locked.robot.mass == pytest.approx(whole.robot.mass)
    weights = [one.robot.terms(one.standing(), np.zeros(one.robot.nv), []).h[:6] for one in (whole, locked)]
    assert weights[1] == pytest.approx(weights[0], abs=1e-9), "of the same masses at the same places"


def test_sensors_of_the_robots_file_are_its_own(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(ROMEO.read_text() + "\n[sensors]\ngyro = 0.5\nforce = 0.0\n")
    assert load_humanoid(mine).sensors == SensorNoise(gyro=0.5, force=0.0)
    assert load_humanoid(ROMEO).sensors == SensorNoise()
    mine.write_text(ROMEO.read_text() + "\n[sensors]\ngyros = 0.5\n")
    with pytest.raises(InputError, match=r"sensors = .*a table with the keys position, rate, attitude, gyro, force"):
        load_humanoid(mine)
    mine.write_text(ROMEO.read_text() + "\n[sensors]\ngyro = -0.5\n")
    with pytest.raises(InputError, match=r"sensors\.gyro = -0\.5"):
        load_humanoid(mine)


def test_an_unknown_robot_is_told_the_known_ones() -> None:
    with pytest.raises(InputError, match="'g1', 'talos'"):
        load_humanoid("atlas")


@pytest.mark.parametrize(("name", "foot"), [("g1", "left"), ("g1", "right"), ("talos", "left")])
def test_the_weight_at_the_end_of_an_ankles_reach_takes_all_of_its_torque(name: str, foot: str) -> None:
    humanoid = load_humanoid(name)
    robot, q = humanoid.robot, humanoid.standing()
    reach, at = humanoid.ankle_reach(foot, 0.9), np.array(humanoid.feet[foot].at)
    (motion,) = robot.terms(q, np.zeros(robot.nv), [humanoid.feet[foot].link]).motions
    weight = np.array([0.0, 0.0, 9.81 * robot.mass])
    ankle = [robot.joints.index(joint) for joint in robot.joints if joint.startswith(ANKLES[name][foot])]
    for axis in (0, 1):
        for bound in reach[axis]:
            point = at.copy()
            point[axis] += bound
            torque = np.abs(motion.at(point).Jv.T @ weight)[6:][ankle] / robot.torque_limit[ankle]
            assert np.abs(torque - 0.9).min() < 2e-3, "one of both joints is at the part of its torque that may be used"


ANKLES = {"g1": {"left": "left_ankle", "right": "right_ankle"}, "talos": {"left": ("leg_left_5", "leg_left_6")}}


def test_a_sole_is_loaded_only_as_far_as_its_ankle_bears_the_weight() -> None:
    g1, talos = load_humanoid("g1"), load_humanoid("talos")
    cut = g1.loadable("left", 0.5, 0.75, 0.95).vertices
    assert cut[:, 0].max() == pytest.approx(0.95 * 35 / (9.81 * g1.robot.mass) - 0.038, abs=1e-6)
    assert cut[:, 0].min() == pytest.approx(-0.078)
    assert np.abs(cut[:, 1]).max() == pytest.approx(0.75 * 0.0375)
    whole = talos.loadable("left", 0.5, 0.75, 0.95)
    np.testing.assert_array_equal(whole.vertices, talos.feet["left"].patch(0.5, 0.75).vertices)
    with pytest.raises(InputError, match="torque can bear"):
        g1.loadable("left", 0.5, 0.75, 1e-3)


def test_licences_are_those_the_package_states() -> None:
    readme = example_robots()["g1_29dof_rev_1_0"].parents[1] / "README.md"
    assert "BSD-3-Clause" in readme.read_text(encoding="utf-8")
    g1, talos = load_humanoid("g1"), load_humanoid("talos")
    assert g1.licence.startswith("BSD-3-Clause")
    assert "BSD 3-Clause" in g1.notice
    head = example_robots()["talos_reduced"].read_text(encoding="utf-8")[:2000]
    assert "NonCommercial-NoDerivs 3.0" in head
    assert talos.licence.startswith("CC BY-NC-ND 3.0")
    assert not talos.notice, "its meshes stay out of pages"


def test_named_postures_change_what_they_name(humanoid: Humanoid) -> None:
    posed = humanoid.with_posture("lean_left")
    (joint,) = humanoid.postures["lean_left"]
    i = humanoid.robot.joints.index(joint)
    changed = np.flatnonzero(posed.joint_posture != humanoid.joint_posture)
    assert changed.tolist() == [i]
    assert humanoid.with_posture("lean_left", {joint: -0.5}).joint_posture[i] == -0.5, (
        "what is given comes before the file's"
    )
    assert humanoid.with_posture() is humanoid
    with pytest.raises(InputError, match="lean_left"):
        humanoid.with_posture("split")
    with pytest.raises(InputError) as caught:
        humanoid.with_posture("", {"nose": 1.0})
    assert caught.value.key == "posture.nose"
