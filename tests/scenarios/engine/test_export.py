"""Exported C: compiled by itself, it gives what Python gives; what cannot be exported is said."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import trundle as tr
from tests.scenarios.files import JUGGLING, changed, written
from trundle.cli import main
from trundle.control.tick import NamedEntry
from trundle.errors import InputError
from trundle.numerics.compiled.compile import find_compiler
from trundle.scenarios import load_scenario
from trundle.scenarios.engine.building import build
from trundle.scenarios.engine.export import Exported, export, names

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


STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]


def compile_strictly(folder: Path, file: str, language: list[str]) -> None:
    """Compile one file of an export without any warning; CasADi's own source does not use all its parameters."""
    compiler = find_compiler()
    assert compiler is not None
    spared = ["-Wno-unused-parameter"] if file.endswith("_functions.c") else []
    command = [*compiler.command, *language, *STRICT, *spared, "-O1", "-c", file, "-o", f"{file}.o"]
    subprocess.run(command, cwd=folder, check=True, timeout=100)


def enumerated(header: str, prefix: str) -> list[tuple[str, str, str]]:
    """Name, number and comment of each entry of an enumeration."""
    return re.findall(rf"^    {prefix}_(\w+) = (\d+), /\* (.*) \*/$", header, flags=re.MULTILINE)


def made(name: str, folder: Path) -> Exported:
    return export(load_scenario(name), folder)


@compiled
@pytest.mark.parametrize("name", ["plate-spinning", "ellipsoid-dish", "rock-undulating"])
def test_the_model_in_c_is_the_model(tmp_path: Path, name: str) -> None:
    done = made(name, tmp_path)
    code, differences = checked(tmp_path)
    assert code == 0
    assert differences["model"] <= 1e-12
    assert set(differences) == {"model"}
    assert done.controller == "none"


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
    monkeypatch.setattr("trundle.scenarios.engine.export.writing._policy", lambda work: policy)
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


@compiled
@pytest.mark.parametrize("language", [["-std=c99"], ["-x", "c++", "-std=c++11"]], ids=["c99", "c++"])
def test_sources_compile_without_warnings_as_c_and_as_cpp(tmp_path: Path, language: list[str]) -> None:
    made("ellipse-damping", tmp_path)
    for path in sorted(tmp_path.glob("*.c")):
        compile_strictly(tmp_path, path.name, language)


@compiled
@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")
def test_cpp_links_with_what_c_compiled(tmp_path: Path) -> None:
    name = made("plate-spinning", tmp_path).name
    for file in (f"{name}.c", f"{name}_functions.c"):
        compile_strictly(tmp_path, file, ["-std=c99"])
    x = f"double x[{name.upper()}_NX] = {{}}, u[{name.upper()}_NU] = {{}}, rate[{name.upper()}_NX], force[3];"
    quaternions = " ".join(f"x[{name.upper()}_X_{body}_ORIENTATION_W] = 1;" for body in ("HAND", "OBJECT"))
    (tmp_path / "use.cpp").write_text(
        f'#include "{name}.h"\nint main() {{ {x} {quaternions} return {name}_rate(x, u, rate, force); }}\n'
    )
    objects = [f"{name}.c.o", f"{name}_functions.c.o"]
    subprocess.run(["c++", *STRICT, "use.cpp", *objects, "-lm", "-o", "use"], cwd=tmp_path, check=True, timeout=100)
    assert subprocess.run([tmp_path / "use"], timeout=60, check=False).returncode == 0


def test_the_header_names_every_state_input_and_force_with_its_unit(tmp_path: Path) -> None:
    name = made("rover-sinusoid", tmp_path).name
    header, prefix = (tmp_path / f"{name}.h").read_text(), name.upper()
    states = {comment: (key, int(number)) for key, number, comment in enumerated(header, f"{prefix}_X")}
    assert sorted(number for _, number in states.values()) == list(range(26))
    assert states["base.position.z, m"] == ("BASE_POSITION_Z", 1)
    assert states["rear-thigh.joint, rad"] == ("REAR_THIGH_JOINT", 3)
    assert states["base.angular_velocity, rad/s"] == ("BASE_ANGULAR_VELOCITY", 17)
    assert states["front-wheel.rate, rad/s"] == ("FRONT_WHEEL_RATE", 25)
    inputs = [comment for _, _, comment in enumerated(header, f"{prefix}_U")]
    assert inputs[0] == "rear-thigh.torque, N m"
    assert len(inputs) == 6
    assert enumerated(header, f"{prefix}_F")[-1] == ("FRONT_WHEEL_SECOND_Z", "7", "front-wheel-second.z, N")


def test_a_slide_counts_in_metres_and_a_quaternion_has_no_unit() -> None:
    robot = tr.Robot()
    robot.prismatic(None, (0.0, 0.0), 1.0, 0.1, name="sled-1", axis=(1.0, 0.0), actuated=True)
    slide = robot.finish().system.model()
    assert [(entry.name, entry.unit) for entry in names.states(slide)] == [
        ("sled-1.joint", "m"),
        ("sled-1.rate", "m/s"),
    ]
    assert [(entry.name, entry.unit) for entry in names.inputs(slide)] == [("sled-1.torque", "N")]
    plate = build(load_scenario("plate-spinning")).model.system.model()
    assert [entry.unit for entry in names.states(plate)][3:8] == ["unit quaternion"] * 4 + ["m"]
    assert [entry.unit for entry in names.inputs(plate)] == ["rad/s^2"] * 3 + ["m/s^2"] * 3


def test_names_that_differ_in_their_signs_alone_stay_apart() -> None:
    entries = [NamedEntry("a-b.rate", "rad/s"), NamedEntry("a_b.rate", "rad/s")]
    assert [key for key, _, _ in enumerated(names.enumeration("P", entries), "P")] == ["A_B_RATE", "A_B_RATE_1"]
