"""Folders that commands write: nothing that trundle did not write there is ever replaced, removed or followed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.report.synthetic import ball_on_plate
from tests.scenarios.files import JUGGLING, changed, written
from trundle.errors import InputError
from trundle.records.whole import write_bytes
from trundle.scenarios import load_scenario, run
from trundle.scenarios.engine import building, pictures
from trundle.scenarios.engine.folder import LIST, own_folder, write_scenario
from trundle.scenarios.engine.pictures import write_report


def hasten(patch: pytest.MonkeyPatch) -> None:
    """Let simulations and viewer pages take no time."""
    ball = ball_on_plate(duration=0.2)
    patch.setattr(building.Simulation, "run", lambda *_, **__: ball)
    patch.setattr(pictures, "write_viewer", lambda _stages, page, _notice: write_bytes(page, b"a page"))


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    hasten(monkeypatch)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a run, to be copied."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        hasten(patch)
        run(written(folder, JUGGLING), folder / "out", plots=False)
    return folder / "out"


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file() and p.name != LIST
    }


def refused(call: Callable[[], object], *words: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text
    assert [word for word in words if word not in text] == []


@pytest.mark.parametrize("name", ["scenario.toml", "log.txt", "plots/mine.png", "data/mine.csv"])
def test_a_folder_with_a_file_of_the_users_is_refused_and_stays(tmp_path: Path, fast: None, name: str) -> None:
    out = tmp_path / "out"
    (out / name).parent.mkdir(parents=True)
    (out / name).write_text("mine")
    refused(lambda: run(written(tmp_path, JUGGLING), out), "earlier run", repr(name.split("/")[0]), LIST)
    assert content(out) == {name: b"mine"}


def test_what_the_user_adds_to_a_run_is_named_and_stays(tmp_path: Path, fast: None) -> None:
    path, out = written(tmp_path, JUGGLING), tmp_path / "out"
    run(path, out, plots=False)
    (out / "plots").mkdir()
    (out / "plots" / "mine.png").write_text("mine")
    before = content(out)
    refused(lambda: run(path, out, plots=False), "'plots'")
    assert content(out) == before
    (out / "plots" / "mine.png").unlink()
    (out / "plots").rmdir()
    assert run(path, out, plots=False).exit_code == 0


def test_a_folder_that_a_run_leaves_empty_is_not_in_the_way_of_the_next(tmp_path: Path, fast: None) -> None:
    path, out = written(tmp_path, JUGGLING), tmp_path / "out"
    run(path, out)
    assert (out / "plots").is_dir()
    for _ in range(2):
        run(path, out, plots=False)
        assert not (out / "plots").exists()
    (out / "plots").mkdir()
    refused(lambda: run(path, out), "'plots'")


@pytest.mark.parametrize(
    "line", ["a\0b", "\ud800", "x" * 5000, "", ".", "..", "/", "../mine", "/mine", "[" * 5000, '{"a": ']
)
def test_a_damaged_list_is_no_traceback_and_no_reason_to_remove_anything(
    line: str, tmp_path: Path, fast: None, made: Path
) -> None:
    path, out = written(tmp_path, JUGGLING), tmp_path / "out"
    (tmp_path / "mine").write_text("mine")
    shutil.copytree(made, out)
    with (out / LIST).open("a") as file:
        file.write((json.dumps(line) if line[:1] not in "[{" else line) + "\n")
    try:
        run(path, out, plots=False)
    except InputError as error:
        assert str(out) in str(error)  # noqa: PT017 - or it runs
    assert (tmp_path / "mine").read_text() == "mine"


def test_a_folder_of_an_earlier_version_is_refused_with_what_to_do(tmp_path: Path, fast: None) -> None:
    path, out = written(tmp_path, JUGGLING), tmp_path / "out"
    run(path, out, plots=False)
    (out / LIST).unlink()
    before = content(out)
    refused(lambda: run(path, out), "which is not in the list", "move it, or name another folder")
    assert content(out) == before


def test_the_scenario_that_is_run_is_never_replaced(tmp_path: Path, fast: None) -> None:
    out = tmp_path / "out"
    run(written(tmp_path, JUGGLING), out, plots=False)
    scenario = out / "scenario.toml"
    resolved = scenario.read_bytes()
    assert run(scenario, out, plots=False).exit_code == 0, "the resolved file may be run where it is"
    assert scenario.read_bytes() == resolved
    refused(lambda: run(scenario, out, seed=3), "another folder", "'scenario.toml'")
    scenario.write_bytes(b"# my notes\n" + resolved)
    before = content(out)
    refused(lambda: run(scenario, out), "another folder", "'scenario.toml'")
    assert content(out) == before
    own = written(tmp_path, JUGGLING, "log.txt.toml")
    refused(lambda: run(own, tmp_path), "'")


def test_a_data_file_that_the_scenario_reads_is_never_replaced(tmp_path: Path, fast: None) -> None:
    motion = {"type": "samples", "file": "m.csv"}
    (tmp_path / "m.csv").write_text("".join(f"{t},0,0,0,0,0,0\n" for t in range(3)))
    out = tmp_path / "out"
    run(written(tmp_path, changed(JUGGLING, hand__motion=motion)), out, plots=False)
    (out / "data" / "b").mkdir()
    (out / "data" / "b" / "m.csv").write_text((tmp_path / "m.csv").read_text())
    first = (out / "data" / "m.csv").read_bytes()
    parts = {"b": {"hand": {"motion": {"type": "samples", "file": "out/data/m.csv"}}}}
    both = written(tmp_path, changed(JUGGLING, hand__motion=motion, parts=parts), "both.toml")
    (out / "data" / "b" / "m.csv").unlink()
    (out / "data" / "b").rmdir()
    result = run(both, out, plots=False)
    assert (out / "data" / "m.csv").read_bytes() == first
    assert set(load_scenario(result.directory / "scenario.toml").data_files()) == {"data/m.csv", "data/m-2.csv"}
    as_log = changed(JUGGLING, hand__motion={"type": "samples", "file": "out/log.txt"})
    (out / "log.txt").write_bytes(first)
    refused(lambda: run(written(tmp_path, as_log), out), "another folder", "'log.txt'")


def test_links_are_not_followed(tmp_path: Path, fast: None) -> None:
    path, out, mine = written(tmp_path, JUGGLING), tmp_path / "out", tmp_path / "mine"
    run(path, out, plots=False)
    mine.mkdir()
    (mine / "log.txt").write_text("mine")
    (out / "log.txt").unlink()
    (out / "log.txt").symlink_to(mine / "log.txt")
    refused(lambda: run(path, out), "'log.txt'")
    (out / "log.txt").unlink()
    (out / "plots").symlink_to(mine)
    refused(lambda: run(path, out), "'plots'")
    refused(lambda: write_report(out, viewer=False), "'plots/")
    other = tmp_path / "other"
    other.mkdir()
    (other / LIST).symlink_to(mine / "log.txt")
    refused(lambda: run(path, other), LIST)
    assert content(mine) == {"log.txt": b"mine"}


@pytest.mark.parametrize("line", ['"../mine.txt"', '"/etc/hostname"', "not json", "[]", '""'])
def test_a_list_that_was_tampered_with_reaches_nothing_outside(tmp_path: Path, fast: None, line: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "mine.txt").write_text("mine")
    (out / LIST).write_text(line + "\n")
    assert run(written(tmp_path, JUGGLING), out, plots=False).exit_code == 0
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_report_replaces_no_picture_of_the_users(tmp_path: Path) -> None:
    ball_on_plate(duration=0.2).save(tmp_path / "trajectory.nc")
    (tmp_path / "viewer.html").write_text("mine")
    refused(lambda: write_report(tmp_path), "'viewer.html'")
    (tmp_path / "viewer.html").unlink()
    (tmp_path / "notes.txt").write_text("mine")
    for _ in range(2):
        assert write_report(tmp_path, plots=False) == [tmp_path / "viewer.html"]


@pytest.mark.parametrize("kind", ["sweep", "export"])
def test_a_folder_of_another_command_is_refused(tmp_path: Path, fast: None, kind: str) -> None:
    with own_folder(tmp_path, kind, "that"):
        pass
    refused(lambda: run("plate-spinning", tmp_path), f"it is that of a {kind}")


def test_a_second_run_into_the_same_folder_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, out, ball = written(tmp_path, JUGGLING), tmp_path / "out", ball_on_plate(duration=0.2)

    def again(*_: Any, **__: Any) -> object:
        before = content(out)
        refused(lambda: run(path, out), str(out), f"process {os.getpid()} is")
        assert content(out) == before
        return ball

    monkeypatch.setattr(building.Simulation, "run", again)
    assert run(path, out, plots=False).exit_code == 0


_CHILD = """
import sys, time
from trundle.scenarios import run
from trundle.scenarios.engine import building, pictures
def stop(*_, **__):
    print("up", flush=True)
    time.sleep(60)
building.Simulation.run = stop
run(sys.argv[1], sys.argv[2], plots=False)
"""


def test_a_killed_run_owns_its_folder_and_locks_nobody_out(tmp_path: Path, fast: None) -> None:
    path, out = written(tmp_path, JUGGLING), tmp_path / "out"
    child = subprocess.Popen([sys.executable, "-c", _CHILD, str(path), str(out)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "up\n"
    refused(lambda: run(path, out), f"process {child.pid} is")
    child.kill()
    child.communicate()
    lines = [json.loads(line) for line in (out / LIST).read_text().splitlines()]
    assert {"log.txt", "scenario.toml"} <= {line for line in lines if isinstance(line, str)}
    (out / f".log.txt.{'0' * 12}.part").write_text("half")
    assert run(path, out, plots=False).exit_code == 0
    assert not list(out.glob(".*.part"))


def test_the_walk_that_a_plan_starts_from_comes_along(tmp_path: Path) -> None:
    (tmp_path / "trajectory.nc").write_bytes(b"walk")
    scenario = load_scenario("walk-flat", [f'plan.warm_from="{tmp_path}/trajectory.nc"'], allow_path=[tmp_path])
    (tmp_path / "out").mkdir()
    write_scenario(tmp_path / "out", scenario)
    again = load_scenario(tmp_path / "out" / "scenario.toml")
    assert [path.read_bytes() for path in again.data_files().values()] == [b"walk"]
