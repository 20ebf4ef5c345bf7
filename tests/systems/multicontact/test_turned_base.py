"""Kind multicontact: a root link that looks elsewhere than the soles changes its own coordinates and nothing else."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from trundle.models.robots.humanoid import load_humanoid
from trundle.models.urdf.examples import example_robots
from trundle.numerics.rotations import rotation_of, rotation_z
from trundle.scenarios import build, catalogue, load_scenario
from trundle.systems.multicontact.scenario import stage, trials
from trundle.systems.multicontact.scenario.record import results

pytest.importorskip("pinocchio")
pytest.importorskip("mujoco")

FILES = Path(__file__).parents[3] / "src/trundle/models/robots/humanoids"


def turned(folder: Path, yaw: float) -> Path:
    """Write the G1 with its root link turned by `yaw` (rad) about the vertical, and a short walk; return the walk's."""
    text = example_robots()["g1_29dof_rev_1_0"].read_text(encoding="utf-8")
    tree = ET.ElementTree(ET.fromstring(text))
    back = Rotation.from_euler("z", -yaw)
    (root,) = [link for link in tree.iter("link") if link.get("name") == "pelvis"]
    parts = list(root.iter("inertial"))
    parts += [joint for joint in tree.iter("joint") if joint.find("parent[@link='pelvis']") is not None]
    for part in parts:
        found = part.find("origin")
        origin = ET.SubElement(part, "origin") if found is None else found
        place = np.array((origin.get("xyz") or "0 0 0").split(), dtype=float)
        attitude = Rotation.from_euler("xyz", np.array((origin.get("rpy") or "0 0 0").split(), dtype=float))
        origin.set("xyz", " ".join(map(repr, map(float, back.apply(place)))))
        origin.set("rpy", " ".join(map(repr, map(float, (back * attitude).as_euler("xyz")))))
    tree.write(folder / "mine.urdf")
    robot = (FILES / "g1.toml").read_text(encoding="utf-8").replace('"g1_29dof_rev_1_0"', '"mine.urdf"')
    (folder / "mine.toml").write_text(re.sub(r"\[clearance\].*", "", robot, flags=re.DOTALL), encoding="utf-8")
    walk = catalogue.text_of("humanoid-walk").replace('name = "g1"', 'name = "mine.toml"')
    (folder / "walk.toml").write_text(walk, encoding="utf-8")
    return folder / "walk.toml"


@pytest.mark.parametrize("yaw", [np.pi, 0.5])
def test_it_stands_with_its_soles_ahead(tmp_path: Path, yaw: float) -> None:
    turned(tmp_path, yaw)
    robot, plain = load_humanoid(tmp_path / "mine.toml"), load_humanoid("g1")
    q = robot.standing()
    np.testing.assert_allclose(rotation_of(q[3:7]), rotation_z(yaw), atol=1e-9)
    places, wanted = robot.placed_ends(q), plain.placed_ends(plain.standing())
    for name, end in places.items():
        np.testing.assert_allclose(end.p, wanted[name].p, atol=1e-9)
        np.testing.assert_allclose(end.R, wanted[name].R, atol=1e-9)


def test_shapes_of_ones_own_description_are_drawn_with_the_bodies(tmp_path: Path) -> None:
    turned(tmp_path, 0.5)
    robot = load_humanoid(tmp_path / "mine.toml")
    shapes = {body.name: body for body in trials.list_scene_bodies(robot)}
    assert shapes.keys() <= {body.name for body in robot.robot.bodies()}
    q = robot.standing()
    (sole,) = robot.robot.terms(q, np.zeros(robot.robot.nv), ["left_ankle_roll_link"]).motions
    points = shapes["left_ankle_roll_joint"].vertices @ sole.R.T + sole.p
    assert points[:, 2].min() == pytest.approx(0.0, abs=6e-3), "the balls under the foot stand on the ground"
    place = np.concatenate([q, q]).reshape(2, -1)
    actors = stage.sticks(trials.describe_robot(robot)["bodies"], place, shapes)
    (foot,) = [actor for actor in actors if actor.name == "left_ankle_roll_joint"]
    np.testing.assert_allclose(foot.positions[1], sole.p, atol=1e-9)
    assert len(foot.parts[0].vertices) == len(shapes["left_ankle_roll_joint"].vertices)
    assert not trials.list_scene_bodies(load_humanoid("g1")), "meshes of others stay where they are"


@pytest.mark.slow
def test_a_root_link_that_looks_backwards_walks_the_same_way(tmp_path: Path) -> None:
    found = []
    still = [f"noise.{key}=0.0" for key in ("position", "rate", "attitude", "gyro", "force")]
    for name in (turned(tmp_path, np.pi), "humanoid-walk"):
        work: Any = build(load_scenario(name, ["steps.count=2", "trials.count=1", "simulation.settle=0.8", *still]))
        (job,) = work.parts()
        run = job.run(None)
        (result,) = results(run)
        assert result.survived, result.reason
        found.append(run)
    back, plain = found
    np.testing.assert_allclose(back["contact_position"][-1, :2], plain["contact_position"][-1, :2], atol=5e-3)
    np.testing.assert_allclose(back["com_position"], plain["com_position"], atol=5e-3)
    assert back["contact_position"][-1, 0, 0] == pytest.approx(0.14, abs=0.02), "ahead"
    R = rotation_of(back["base_quaternion"][-1])
    np.testing.assert_allclose(R[:, 0], [-1.0, 0.0, 0.0], atol=0.05)
