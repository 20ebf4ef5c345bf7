"""What can be wrong near walls, through the command line: refused by name, or survived and told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from tests.cli.test_cli import trundle
from trundle.numerics.compiled.compile import find_compiler

WALL = {"point": [0.5, 0.0, 0.0], "normal": [-1.0, 0.0, 0.0]}
STAND = {"kind": "wallbounce", "task": "recover", "walls": [WALL]}
CORRIDOR = [{"point": [0.0, y, 0.0], "normal": [0.0, -y, 0.0]} for y in (1.0, -1.0)]
DRIVE = {"kind": "wallbounce", "task": "navigate", "goal": {"position": [3.0, 0.0]}}


def written(folder: Path, data: dict[str, Any]) -> Path:
    path = folder / "mine.toml"
    path.write_text(tomli_w.dumps(data))
    return path


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            STAND | {"walls": [WALL | {"point": [0.1, 0.0, 0.0]}]},
            "walls[0].point = [0.1, 0.0, 0.0]: must be a wall that is not in the robot",
        ),
        (
            STAND | {"walls": [WALL, WALL | {"point": [0.3, 0.0, 0.0]}]},
            "walls[1].point = [0.3, 0.0, 0.0]: must be a wall that is not in the arms at rest (robot.joint_rest): 0.",
        ),
        (
            STAND | {"walls": [WALL | {"normal": [0.0, 0.0, 0.0]}]},
            "walls[0].normal = ",
        ),
        (
            STAND | {"robot": {"hand_radius": 0.3}},
            "robot.hand_radius = 0.3: must be smaller than the forearm of 0.25 m",
        ),
        (
            STAND | {"robot": {"forearm": 0.7}},
            "robot.forearm = 0.7: must be an arm that hangs above the floor",
        ),
        (
            STAND | {"robot": {"joint_rest": [0.35, 2.5, 1.3]}},
            "robot.joint_rest = [0.35, 2.5, 1.3]: must be within joint_lower and joint_upper",
        ),
        (STAND | {"robot": {"height": 0.2}}, "robot.height = 0.2: must be above 2.5 radii of the ball"),
        (
            STAND | {"controller": {"stages": 10, "rules": {"shortest": 0.5, "horizon": False}}},
            "controller.rules.shortest = 0.5: must be at most the plans' length of 0.4 s, or rules.horizon = true",
        ),
        (
            STAND | {"controller": {"rules": {"off": 9.0}}},
            "controller.rules.off = 9.0: must be from 0 to on = 3 (N)",
        ),
        (
            STAND | {"controller": {"rules": {"far": 0.01}}},
            "controller.rules.far = 0.01: must be >= near = 0.02 (m)",
        ),
        (
            STAND | {"simulation": {"output_step": 0.0015}},
            "simulation.output_step = 0.0015: must be a multiple of plant.step = 0.001 (s)",
        ),
        (
            STAND | {"simulation": {"duration": 1e9}},
            "simulation.duration = 1000000000.0: must be a time > 0, from 1e-9 to",
        ),
        (STAND | {"noise": {"lost": 1.5}}, "noise.lost = 1.5: must be a number from 0 to 1"),
        (
            DRIVE | {"obstacles": [{"ahead": [0.1, 0.4]}]},
            "obstacles[0].ahead = [0.1, 0.4]: must be a place beside the robot",
        ),
        (
            DRIVE | {"obstacles": [{"position": [1.0, 0.0]}, {"position": [3.1, 0.2]}]},
            "obstacles[1].position = [3.1, 0.2]: must be a place off the goal, (3, 0) m, which lies in the box grown "
            "by torso and margin to 0.38 m",
        ),
        (
            DRIVE | {"obstacles": [{"position": [1.0, 0.0]}], "trials": {"start_ahead": [0.7, 0.7]}},
            "obstacles[0].position = [1.0, 0.0]: must be a place off the start of trial 1, (0.7, 0) m",
        ),
        (
            DRIVE | {"obstacles": [{"position": [1.5, 0.0], "half_size": [0.1, 0.8, 0.5]}], "walls": CORRIDOR},
            "goal.position = [3.0, 0.0]: must be a place to which a way leads from the start of trial 1, (0, 0) m",
        ),
        (
            DRIVE | {"obstacles": [{"position": [1.5, 0.5], "side": "left"}], "walls": CORRIDOR},
            "goal.position = [3.0, 0.0]: must be a place to which a way leads from the start of trial 1, (0, 0) m",
        ),
        (
            DRIVE | {"obstacles": [{"position": [1.0, 0.0], "aside": [0.0, 0.1]}]},
            "obstacles[0].aside = [0.0, 0.1]: must be left out where position is given",
        ),
        (
            DRIVE | {"obstacles": [{"position": [1.0, 0.0], "side": "above"}]},
            "obstacles[0].side = \"above\": must be one of 'either', 'left', 'right'",
        ),
        (
            DRIVE | {"walls": CORRIDOR, "trials": {"start_aside": [0.9, 0.9]}},
            "walls[0].point = [0.0, 1.0, 0.0]: must be a wall that is not in the robot",
        ),
        (
            DRIVE | {"walls": [WALL | {"point": [2.0, 0.0, 0.0]}]},
            "goal.position = [3.0, 0.0]: must be a place in front of walls[0]",
        ),
    ],
)
def test_what_does_not_fit_together_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], data: dict[str, Any], said: str
) -> None:
    path = written(tmp_path, data)
    for command in (("check", path), ("run", path, "--out", tmp_path / "out")):
        code, out, err = trundle(capsys, *command)
        assert (code, out) == (2, "")
        assert err.startswith(f"error: {path}: {said}")
        assert "Traceback" not in err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.skipif(find_compiler() is None, reason="minutes without a C compiler")
@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("noise.lost=0.3", "measurements that were not finite, replaced by the last before: 3"),
        ("controller.timing.implicit_time=1.0", "plans that came when their 1 s were over, dropped: 1"),
        ("controller.timing.hybrid_time=1.0", "plans that came when their 1 s were over, dropped: 1"),
        ("controller.rules.shortest=1.5", ""),  # a contact longer than any plan
    ],
)
def test_faults_of_a_run_are_survived_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], override: str, said: str
) -> None:
    pytest.importorskip("mujoco")
    trials = {"count": 1, "start": [0.1, 0.1], "impulse": [12.0, 12.0]}
    data = STAND | {"trials": trials, "simulation": {"duration": 1.2}}
    given = (written(tmp_path, data), "--set", override, "--out", tmp_path / "out", "--no-plots")
    code, out, err = trundle(capsys, "run", *given)
    assert code == 0, err
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["status"] == "success"
    assert summary["metrics"]["trials_fallen"]["value"] == 0.0
    assert summary["metrics"]["lean_max"]["value"] < 0.4
    assert summary["advice"] == "" if not said else said in summary["advice"]
    assert said in out


@pytest.mark.slow
@pytest.mark.skipif(find_compiler() is None, reason="minutes without a C compiler")
def test_a_robot_that_measures_nothing_falls_and_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mujoco")
    trials = {"count": 1, "start": [0.1, 0.1]}
    data = STAND | {"trials": trials, "noise": {"lost": 1.0}, "simulation": {"duration": 3.0}}
    code, out, _ = trundle(capsys, "run", written(tmp_path, data), "--out", tmp_path / "out", "--no-plots")
    assert code == 1
    assert "mine: fell" in out
    assert "measurements that were not finite, replaced by the last before: " in out
