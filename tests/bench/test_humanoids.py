"""Every humanoid of example-robot-data stands and walks, or is refused in one line: joint, demand and limit."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from bench.humanoids import ROBOTS, robot_file, row, walk
from tests.cli.test_cli import trundle
from trundle.errors import InputError
from trundle.models.robots.humanoid import load_humanoid
from trundle.models.robots.servo import SensorNoise
from trundle.models.urdf.articulated import Articulated
from trundle.models.urdf.examples import example_robots, load_example_robot
from trundle.scenarios import build, load_scenario
from trundle.systems.multicontact.humanoid.mujoco_humanoid import HumanoidPlant
from trundle.systems.multicontact.scenario.walk import HumanoidWalkExperiment

pytest.importorskip("pinocchio")
pytest.importorskip("mujoco")

REFUSED = {
    "bolt": r"feet\.left\.link = 'FL_FOOT': .*6 joints or more.*unlike 3: FL_HAA, FL_HFE, FL_KFE$",
    "simple_humanoid": r"posture\.LLEG_ANKLE_P = -0\.3: .*limits of the joint, 0 to 2\.618 \(rad\)$",
    "simple_humanoid_classical": r"posture\.LLEG_ANKLE_P = -0\.3: .*limits of the joint, 0 to 2\.618 \(rad\)$",
}
WITHOUT_LEGS = {"talos_left_arm"}


def test_none_is_left_out() -> None:
    files = example_robots()
    folders = {files[name].parents[1] for name in ROBOTS}
    assert {name for name, file in files.items() if file.parents[1] in folders} == set(ROBOTS) | WITHOUT_LEGS


@pytest.mark.parametrize("name", ROBOTS)
def test_it_stands_on_flat_soles_or_is_refused(tmp_path: Path, name: str) -> None:
    file = robot_file(name, tmp_path)
    if name in REFUSED:
        with pytest.raises(InputError, match=REFUSED[name]):
            load_humanoid(file)
        return
    humanoid = load_humanoid(file)
    q, robot = humanoid.standing(), humanoid.robot
    ends = humanoid.placed_ends(q)
    up = [end.R[:, 2] for end in ends.values()]
    np.testing.assert_allclose(up, [[0.0, 0.0, 1.0]] * 2, atol=0.01)
    np.testing.assert_allclose(sum(end.R[:, 0] for end in ends.values()), [2.0, 0.0, 0.0], atol=0.01)
    assert ends["left_foot"].p[1] > 0.03, "left is left of what it calls ahead"
    momentum = robot.terms(q, np.zeros(robot.nv), momentum=True).momentum
    assert momentum is not None
    assert momentum.com[2] > 0.4, "above its soles"
    assert HumanoidPlant(humanoid).specification().compile().nv == robot.nv, "a model that MuJoCo takes"


@pytest.mark.parametrize("name", [*REFUSED])
def test_a_refusal_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    scenario = walk(name, tmp_path).file
    code, out, err = trundle(capsys, "run", scenario, "--set", f'robot.name="{name}.toml"', "--out", tmp_path / "out")
    assert (code, out) == (2, "")
    assert re.search(REFUSED[name].rstrip("$").replace(": .*", ": must be .*"), err.strip())
    assert len(err.strip().splitlines()) == 1


def test_straight_legs_are_refused_by_the_torque_that_they_take(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    scenario, file = walk("simple_humanoid", tmp_path).file, tmp_path / "simple_humanoid.toml"
    file.write_text(re.sub(r'"\?LEG_\w+" = .*\n', "", file.read_text()))
    given = ["--set", f'robot.name="{file.name}"', "--set", "robot.lowered=0.0"]
    code, _, err = trundle(capsys, "run", scenario, *given, "--out", tmp_path / "out")
    assert code == 2
    # The least use is that of the left hip and of the waist, which takes -33.9 of 30 N m: the first joint is told.
    assert "it takes 1.13 of the torque there is: joint LLEG_HIP_R takes 113 N m, its limit is 100 N m" in err
    assert not caplog.records, "libraries warn of nothing"


def test_a_posture_that_a_scenario_gives_is_held_to_the_limits_too(tmp_path: Path) -> None:
    scenario = load_scenario(
        walk("icub_reduced", tmp_path).file, ['robot.name="icub_reduced.toml"', "robot.posture={l_knee=0.6}"]
    )
    with pytest.raises(InputError, match=r"posture\.l_knee = 0\.6: must be within .* -2\.182 to 0\.4014 \(rad\)"):
        build(scenario)


def test_a_scenario_takes_the_robots_sensors_where_it_says_nothing_else(tmp_path: Path) -> None:
    path, file = walk("icub_reduced", tmp_path).file, tmp_path / "icub_reduced.toml"
    file.write_text(file.read_text() + "\n[sensors]\ngyro = 0.5\nforce = 3.0\n")
    scenario = load_scenario(path, [f'robot.name="{file.name}"', "noise.force=0.0"])
    assert HumanoidWalkExperiment(scenario).noise() == SensorNoise(gyro=0.5, force=0.0)
    (tmp_path / "again.toml").write_text(scenario.resolved_toml())
    assert HumanoidWalkExperiment(load_scenario(tmp_path / "again.toml")).noise() == SensorNoise(gyro=0.5, force=0.0)


def test_rotors_left_out_are_in_proportion_to_the_torques(tmp_path: Path) -> None:
    robot = load_humanoid(robot_file("icub_reduced", tmp_path)).robot
    assert robot.armature == pytest.approx(2e-4 * robot.torque_limit)
    assert Articulated(load_example_robot("icub_reduced")).armature == pytest.approx(np.zeros(29))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ROBOTS if name not in REFUSED])
def test_it_walks(name: str) -> None:
    *_, held, torque, message = row(name)
    assert (held, message) == ("2 of 2", "")
    assert float(torque) <= 1.0
