"""Exported C: compiled by itself, it gives what Python gives; what cannot be exported is said."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.scenarios.files import JUGGLING, changed, written
from trundle.cli import main
from trundle.errors import InputError
from trundle.numerics.compiled.compile import find_compiler
from trundle.scenarios import load_scenario
from trundle.scenarios.engine.export import Exported, export

compiled = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")


def checked(folder: Path) -> tuple[int, dict[str, float]]:
    """Compile an export and run its check; return the exit code and the largest differences it prints."""
    compiler = find_compiler()
    assert compiler is not None
    sources = sorted(path.name for path in folder.glob("*.c"))
    command = [*compiler.command, "-std=c99", "-O1", "-Wall", "-Werror", "-ffp-contract=off", *sources, "-lm"]
    subprocess.run([*command, "-o", "check"], cwd=folder, check=True, capture_output=True, timeout=100)
    done = subprocess.run([folder / "check"], capture_output=True, text=True, timeout=60, check=False)
    words = [line.split(": ")[1].split() for line in done.stdout.splitlines()]
    return done.returncode, {name: float(value) for name, value in words}


def made(name: str, folder: Path) -> Exported:
    return export(load_scenario(name), folder)


@compiled
@pytest.mark.parametrize("name", ["plate-spinning", "ellipsoid-dish", "rock-undulating", "rover-sinusoid"])
def test_the_model_in_c_is_the_model(tmp_path: Path, name: str) -> None:
    done = made(name, tmp_path)
    code, differences = checked(tmp_path)
    assert code == 0
    assert differences["model"] <= 1e-12
    assert set(differences) == {"model"}
    assert done.controller.startswith("not written" if name == "rover-sinusoid" else "none")


@compiled
def test_the_regulator_in_c_is_the_regulator(tmp_path: Path) -> None:
    assert made("ellipse-damping", tmp_path).controller.startswith("BalancingLQR")
    code, differences = checked(tmp_path)
    assert code == 0
    assert max(differences.values()) <= 1e-12
    assert set(differences) == {"model", "controller"}


@compiled
def test_the_check_sees_another_model(tmp_path: Path) -> None:
    made("plate-spinning", tmp_path / "a")
    export(load_scenario("plate-spinning", ["object.mass=0.11"]), tmp_path / "b")
    main_c = (tmp_path / "b" / "main.c").read_text()
    (tmp_path / "a" / "main.c").write_text(main_c)
    code, differences = checked(tmp_path / "a")
    assert code == 1
    assert differences["model"] > 1e-3  # the contact force is m g, the mass 10 % off


@compiled
def test_tracking_gains_in_c_are_those_of_the_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.control.cases import Q, R, ball_on_plate, plate_reference
    from trundle.control import TrackingLQR

    pair = ball_on_plate()
    policy = TrackingLQR(pair, plate_reference(pair), Q, R, period=0.01, input_limit=50.0)
    monkeypatch.setattr("trundle.scenarios.engine.export._policy", lambda work: policy)
    done = export(load_scenario("plate-spinning"), tmp_path)
    assert done.controller.startswith("TrackingLQR")
    code, differences = checked(tmp_path)
    assert code == 0
    assert max(differences.values()) <= 1e-12


def test_the_folder_is_complete_and_can_be_written_again(tmp_path: Path) -> None:
    done = made("ellipse-damping", tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    stem = done.name
    assert names == {".trundle.jsonl", "CMakeLists.txt", "main.c"} | {
        f"{stem}{end}" for end in (".c", ".h", "_functions.c", "_functions.h")
    }
    assert made("ellipse-damping", tmp_path).name == stem
    assert {path.name for path in tmp_path.iterdir()} == names


def test_a_folder_of_something_else_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(SystemExit) as left:
        main(["export", "plate-spinning", "--out", str(tmp_path)])
    assert left.value.code == 2
    assert "--out" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(InputError, match="no such scenario"):
        export("plate-spining", tmp_path / "out")


def test_a_file_of_ones_own_is_exported(tmp_path: Path) -> None:
    file = written(tmp_path, changed(JUGGLING, object__mass=0.3), "my ball.toml")
    done = export(file, tmp_path / "out")
    assert done.name.isidentifier()
    assert np.all([path.stat().st_size > 0 for path in done.directory.iterdir()])


def test_a_scenario_without_one_model_and_one_start_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="simulates one model from one start, not one of kind 'planar', task 'walk'"):
        made("passive-walker", tmp_path / "out")
