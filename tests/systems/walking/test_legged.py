"""Task `walk` of a robot from a URDF: its files, its command, its errors."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import trundle as tr
from bench.legged import FEET, ROBOTS
from tests.cli.test_cli import trundle
from trundle.errors import InputError
from trundle.models.urdf.examples import load_example_robot
from trundle.systems.walking.gait.robot_gait import RobotGait
from trundle.systems.walking.plan.robot_steps import on_contacts, plan_steps
from trundle.systems.walking.replay.walk_replay import replay_walk
from trundle.systems.walking.robots.legged import LeggedRobot
from trundle.systems.walking.robots.soles import suggest_feet

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.slow
def test_a_robot_of_ones_own_walks_on_rolling_feet(tmp_path: Path) -> None:
    result = tr.run(EXAMPLES / "strider_walks.toml", tmp_path / "run", plots=False)
    metrics = {name: entry["value"] or 0.0 for name, entry in result.summary["metrics"].items()}
    assert result.status is tr.Status.SUCCESS
    assert metrics["replay_steps"] == metrics["mujoco_steps"] == 6
    assert 0.0 < metrics["torque_use"] < 1.0
    assert 0.0 < metrics["friction_use"] <= 1.0 + 1e-6


@pytest.mark.slow
def test_it_walks_over_waves_from_standing_to_standing(tmp_path: Path) -> None:
    result = tr.run(EXAMPLES / "strider_over_waves.toml", tmp_path / "run", plots=False)
    metrics = {name: entry["value"] or 0.0 for name, entry in result.summary["metrics"].items()}
    assert result.status is tr.Status.SUCCESS
    assert metrics["replay_steps"] == 6
    assert 0.0 < metrics["friction_use"] <= 1.0 + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("name", ["talos_reduced", "g1_29dof_rev_1_0", "icub_reduced"])
def test_flat_feet_walk_six_steps_in_the_simulator(name: str) -> None:
    urdf = load_example_robot(name)
    robot = LeggedRobot(urdf, FEET.get(name) or suggest_feet(urdf, ROBOTS[name].split()))
    walk = plan_steps(robot, RobotGait())
    run = replay_walk(robot.on_ground(walk.steps.gravity, walk.steps.gait.friction), on_contacts(walk), 6, period=0.002)
    assert run.steps == 6
    assert run.largest[1:6].max() < 0.02


def test_the_command_suggests_feet_and_plans(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    urdf = EXAMPLES / "data" / "strider.urdf"
    arguments = ("--feet", "left_foot,right_foot", "--out", tmp_path / "run", "--steps", "0", "--no-plots")
    code, out, _ = trundle(capsys, "walk", urdf, *arguments)
    assert code == 0
    assert "foot left_foot: flat, 0.162 m by 0.072 m" in out
    assert "strider_walks: success" in out
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["metrics"]["iterations"]["value"] < 150
    assert trundle(capsys, "walk", urdf, "--feet", "left_foot", "--out", tmp_path / "no")[0] == 2


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (('kind = "walking"', 'kind = "walking"\n[walk]\nspeed = 1.0\n[gait]'), "walk"),
        (('urdf = "data/strider.urdf"', 'urdf = "data/strider.urdf"\nfoo = 1'), "robot.foo"),
        (('frame = "right_foot"', 'frame = "body"'), "feet.right.frame"),
        (("[feet.right]", '[gait]\nswings = [["left", "right"]]\n[feet.right]'), "gait.swings"),
        (("[feet.right]", "[ground]\n[feet.right]"), "replay.mujoco"),
    ],
)
def test_bad_files_are_refused_by_key(tmp_path: Path, change: tuple[str, str], key: str) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "strider.urdf").write_text((EXAMPLES / "data" / "strider.urdf").read_text())
    text = (EXAMPLES / "strider_walks.toml").read_text().replace('task = "walk"\n', "").replace(*change)
    (tmp_path / "bad.toml").write_text(text.replace("schema = 1\n", 'schema = 1\ntask = "walk"\n'))
    with pytest.raises(InputError, match=key):
        tr.run(tmp_path / "bad.toml", tmp_path / "run", plots=False)


@pytest.mark.slow
def test_a_robot_too_weak_is_told_which_joint_what_it_is_asked_and_its_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    urdf = tmp_path / "weak.urdf"
    urdf.write_text((EXAMPLES / "data" / "strider.urdf").read_text().replace('effort="60"', 'effort="2"'))
    arguments = ("--feet", "left_foot,right_foot", "--out", tmp_path / "run", "--steps", "0", "--no-plots")
    code, out, _ = trundle(capsys, "walk", urdf, *arguments)
    assert code == 1
    assert re.search(r"joint (left|right)_(hip|knee)\w*: torque \d+\.\d+ N m is asked, the limit is 2 N m", out)
