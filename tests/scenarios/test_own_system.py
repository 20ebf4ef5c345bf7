"""A kind of scenario from outside: the package in `examples/own_system`, found by its entry point, in new processes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import trundle
from trundle.report import Metric, RunSet, build_stage, figures
from trundle.scenarios.system import System

PACKAGE = Path(__file__).resolve().parents[2] / "examples" / "own_system"
LIBRARY = PACKAGE / "src" / "tilting_table"
KIND, NAME = "tilting-table", "table-centre"
LIMITS = {"settling_time", "final_distance", "largest_tilt", "trials_held", "slip"}


def install(site: Path, distribution: str, points: Mapping[str, str]) -> None:
    """Put the metadata of an installed package into the folder `site`."""
    info = site / f"{distribution.replace('-', '_')}-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 0.1.0\n")
    lines = [f"{name} = {value}\n" for name, value in points.items()]
    (info / "entry_points.txt").write_text("[trundle.systems]\n" + "".join(lines))


def call(site: Path, *arguments: object, code: int = 0) -> tuple[str, str]:
    """What `trundle` writes to stdout and stderr with the packages in `site` beside those that are installed."""
    paths = [site, LIBRARY.parent, Path(trundle.__file__).parents[1]]
    known = {"PYTHONPATH": os.pathsep.join(map(str, paths)), "MPLBACKEND": "Agg", "COLUMNS": "200"}
    command = [sys.executable, "-c", "from trundle.cli import main; main()", *map(str, arguments)]
    done = subprocess.run(
        command, cwd=site, env=os.environ | known, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the package is installed as its pyproject.toml says."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    folder = tmp_path_factory.mktemp("site")
    install(folder, project["name"], project["entry-points"]["trundle.systems"])
    return folder


@pytest.fixture(scope="module")
def finished(site: Path) -> Path:
    """The folder of a run of the named scenario."""
    call(site, "run", NAME, "--out", site / "run", "--quiet")
    return site / "run"


def summary(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "summary.json").read_text())


def test_the_package_is_small() -> None:
    files = sorted(PACKAGE.rglob("*.py"))
    assert sum(len(file.read_text().splitlines()) for file in files) < 300
    imports = re.findall(
        r"^ *(?:from|import) (trundle\S*)", "\n".join(file.read_text() for file in files), re.MULTILINE
    )
    assert set(imports) == {"trundle", "trundle.control", "trundle.report", "trundle.scenarios"}


@pytest.mark.parametrize("package", ["control", "report", "scenarios"])
def test_what_is_handed_on_is_there(package: str) -> None:
    module = import_module(f"trundle.{package}")
    assert all(getattr(module, name) is not None for name in module.__all__)
    assert len(set(module.__all__)) == len(module.__all__)


def test_its_scenario_is_listed_and_its_schema_printed(site: Path) -> None:
    out, err = call(site, "list", "--json")
    entry = next(entry for entry in json.loads(out) if entry["name"] == NAME)
    assert (entry["kind"], entry["task"]) == (KIND, "balance")
    assert err == ""
    schema = json.loads(call(site, "schema", KIND)[0])
    assert schema["properties"]["kind"]["const"] == KIND
    assert "controller" in schema["properties"]


def test_without_the_package_its_kind_is_not_known(tmp_path: Path) -> None:
    _, err = call(tmp_path, "check", LIBRARY / f"{NAME}.toml", code=2)
    assert "kind = \"tilting-table\": must be one of 'juggling', " in err


@pytest.mark.slow
def test_a_bad_value_is_refused_by_its_key(site: Path) -> None:
    assert call(site, "check", NAME)[0] == f"{NAME}: ok (kind {KIND}, task balance)\n"
    _, err = call(site, "check", NAME, "--set", "ball.position=[0.4, 0.0]", code=2)
    assert "ball.position = [0.4, 0.0]: must stay on the table, which ends 0.3 (m) from its centre" in err


@pytest.mark.slow
def test_it_runs_within_its_limits_and_is_drawn(site: Path, finished: Path) -> None:
    found = summary(finished)
    assert found["status"] == "success"
    judged = {name: entry for name, entry in found["metrics"].items() if entry["limit"] is not None}
    assert judged.keys() == LIMITS
    assert all(entry["holds"] for entry in judged.values())
    assert [judged[name]["unit"] for name in ("settling_time", "largest_tilt", "trials_held")] == ["s", "deg", "of 4"]
    assert len(found["parts"]) == 4
    assert trundle.load_trajectory(finished / "trajectory.nc")["table_tilt"].max() > 0.1  # rad
    pictures = [finished / "plots" / "distance.png", finished / "plots" / "contact_path.png", finished / "viewer.html"]
    for picture in pictures:
        picture.unlink()
    call(site, "report", finished)
    assert all(picture.stat().st_size > 0 for picture in pictures)


@pytest.mark.slow
def test_a_copied_file_keeps_metrics_and_limits_of_another_number_of_trials(
    site: Path, finished: Path, tmp_path: Path
) -> None:
    copy = shutil.copy(LIBRARY / f"{NAME}.toml", tmp_path / "mine.toml")
    call(site, "run", copy, "--set", "trials.count=1", "--no-plots", "--out", tmp_path / "run", "--quiet")
    ours, named = summary(tmp_path / "run")["metrics"], summary(finished)["metrics"]
    assert ours.keys() == named.keys()
    changed = {name for name in ours if ours[name] != named[name]}
    assert changed == {"trials_held"}
    assert (ours["trials_held"]["unit"], ours["trials_held"]["limit"]) == ("of 1", 1.0)


@pytest.mark.slow
def test_it_is_swept_and_reproduced(site: Path, tmp_path: Path) -> None:
    over, less = "ball.radius=0.02,0.03", ("--set", "trials.count=0", "--jobs", "1")
    call(site, "sweep", NAME, "--over", over, *less, "--out", tmp_path / "sweep")
    rows = [json.loads(line) for line in (tmp_path / "sweep" / "rows.jsonl").read_text().splitlines()]
    assert [row["ball.radius"] for row in rows] == [0.02, 0.03]
    assert all(row["metric.settling_time"] < 2.2 for row in rows)  # s
    call(site, "reproduce", NAME, "--no-plots", "--out", tmp_path / "all")
    lines = json.loads((tmp_path / "all" / "figures.json").read_text())["figures"]
    assert {line["figure"] for line in lines} == LIMITS
    assert all(line["holds"] and line["what"] for line in lines)


def test_a_package_that_cannot_be_loaded_is_named_and_leaves_the_others(tmp_path: Path) -> None:
    install(tmp_path, "half-done", {"pogo": "half_done:SYSTEM"})
    (tmp_path / "half_done.py").write_text("raise RuntimeError('not yet')\n")
    out, err = call(tmp_path, "list")
    assert "plate-spinning" in out
    assert err.count("\n") == 1
    assert "half-done 0.1.0 (half_done:SYSTEM: not yet)" in err
    (tmp_path / "pogo.toml").write_text('kind = "pogo"\ntask = "hop"\n')
    said = call(tmp_path, "check", "pogo.toml", code=2)[1]
    assert "error: kind = 'pogo': must be registered by a package that can be loaded, not by half-done 0.1.0" in said


def test_what_is_no_system_is_named(tmp_path: Path) -> None:
    install(tmp_path, "half-done", {"empty": "half_done:EMPTY", KIND: "tilting_table:TiltingTable"})
    (tmp_path / "half_done.py").write_text("class Some:\n    name = 'empty'\n    tasks = {}\n\nEMPTY = Some()\n")
    out, err = call(tmp_path, "list")
    assert "plate-spinning" in out
    lacking = "library, commands, metrics, figures, stage"
    assert f"a System, not with half_done:EMPTY of half-done 0.1.0, which lacks {lacking}" in err
    assert "a System, not with tilting_table:TiltingTable of half-done 0.1.0, a class" in err


def test_a_system_that_says_nothing_of_pictures_has_those_of_the_kit() -> None:
    class Bare(System):
        name, library, tasks = "bare", Path(), {}

        def metrics(self, runs: RunSet) -> Mapping[str, Metric]:
            return {}

    pair = trundle.RollingPair(trundle.RigidBody(trundle.Sphere(0.1), mass=1.0), trundle.Hand(trundle.Plane()))
    run = trundle.simulate(pair, pair.place(object_angular_velocity=(1.0, 0.0, 0.0)), 0.1, output_step=0.02)
    bare = Bare()
    assert list(bare.figures(RunSet(run))) == list(figures(run))
    assert [actor.name for actor in bare.stage(run).actors] == [actor.name for actor in build_stage(run).actors]
    assert bare.commands == {}


def test_a_kind_that_two_packages_register_is_neither_of_theirs(tmp_path: Path) -> None:
    for name in ("table-one", "table-two"):
        install(tmp_path, name, {KIND: "tilting_table:SYSTEM"})
    out, err = call(tmp_path, "list")
    assert NAME not in out
    assert "plate-spinning" in out
    both = "table-one 0.1.0 (tilting_table:SYSTEM) and table-two 0.1.0 (tilting_table:SYSTEM)"
    assert both in err
    assert both in call(tmp_path, "check", LIBRARY / f"{NAME}.toml", code=2)[1]


POGO = """
from pathlib import Path
from trundle.scenarios.system import System

class Pogo(System):
    name, library, tasks = "pogo", Path(__file__).parent / "library", {}
    commands = {"run": "pogo:jump", "hop": "pogo:missing", "skip": "nowhere:jump", "leap": "pogo", "jump": "pogo:jump"}

    def metrics(self, runs):
        return {}

def jump(high: int) -> None:
    print("jumped", high)

SYSTEM = Pogo()
"""


@pytest.fixture
def pogo(tmp_path: Path) -> Path:
    """A folder in which a package with a system and an empty library is installed."""
    install(tmp_path, "pogo", {"pogo": "pogo:SYSTEM"})
    (tmp_path / "pogo.py").write_text(POGO)
    (tmp_path / "library").mkdir()
    return tmp_path


def test_a_command_that_cannot_be_loaded_is_named_and_leaves_the_others(pogo: Path) -> None:
    out, err = call(pogo, "jump", 3)
    assert out == "jumped 3\n"
    lines = err.splitlines()
    assert len(lines) == 4
    assert "kind pogo: its command 'run' is left out, trundle has one of that name" in lines[0]
    for line, name in zip(lines[1:], ("hop", "skip", "leap"), strict=True):
        assert f"kind pogo: its command '{name}' cannot be loaded: " in line
    assert "missing" in lines[1]
    assert "nowhere" in lines[2]
    assert "plate-spinning" in call(pogo, "list")[0]


def test_a_command_of_two_systems_is_that_of_the_first(pogo: Path) -> None:
    install(pogo, "spring", {"spring": "spring:SYSTEM"})
    (pogo / "spring.py").write_text(
        POGO.replace('"pogo"', '"spring"').replace("jumped", "sprang").replace("pogo:", "spring:")
    )
    out, err = call(pogo, "jump", 3)
    assert out == "jumped 3\n"
    assert "kind spring: its command 'jump' is left out" in err


def test_of_two_scenarios_with_one_name_the_first_by_kind_is_kept_and_the_other_named(pogo: Path) -> None:
    other = pogo / "library" / "plate-spinning.toml"
    other.write_text('kind = "pogo"\ntask = "hop"\ntitle = "another one"\n')
    out, err = call(pogo, "list", "--json")
    found = [entry for entry in json.loads(out) if entry["name"] == "plate-spinning"]
    assert [entry["kind"] for entry in found] == ["juggling"]
    assert f"scenario plate-spinning: {other} is left out, " in err
    assert 'kind = "juggling"' in call(pogo, "show", "plate-spinning")[0]


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("broken", b"kind = \n", "must be valid TOML: "),
        ("latin", b'title = "\xe9"\n', "must be a text in UTF-8 (byte 9 is not)"),
        ("folder", None, "must be a regular file (it is a folder)"),
    ],
)
def test_a_library_file_that_cannot_be_read_is_named_and_leaves_the_others(
    pogo: Path, name: str, content: bytes | None, fault: str
) -> None:
    path = pogo / "library" / f"{name}.toml"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    out, err = call(pogo, "list", "--json")
    names = [entry["name"] for entry in json.loads(out)]
    assert "plate-spinning" in names
    assert name not in names
    assert f"scenario {name} cannot be read: " in err
    said = call(pogo, "check", name, code=2)[1].splitlines()[-1]
    assert said.startswith("error: ")
    assert name in said
    assert fault in said
