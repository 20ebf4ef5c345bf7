"""Disks that are full, read only or broken: one error, nothing half written, what was computed is kept."""

from __future__ import annotations

import errno
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.report.synthetic import ball_on_plate
from tests.scenarios.files import JUGGLING, changed, written
from tests.systems.walking.test_foot_fit import file_of, synthetic
from trundle.cli import main
from trundle.errors import InputError, StorageError
from trundle.records import Plan, load_trajectory
from trundle.records.whole import LogFile, append, kept_elsewhere, write_bytes
from trundle.report import RunSet, viewer, write_figures
from trundle.scenarios import load_scenario, run
from trundle.scenarios.engine import folder as folders
from trundle.scenarios.engine import pictures, reproduce, sweep
from trundle.scenarios.engine import run as runs
from trundle.scenarios.engine.export import export
from trundle.status import Status
from trundle.systems.walking.scenario.measured.foot_fit import FittedFoot, fit_foot, write_foot
from trundle.systems.walking.scenario.measured.gait_data import read_gait

BALL = ball_on_plate(duration=0.3)
PLAN = Plan(Status.SUCCESS, [0.0, 1.0], [[0.0], [0.1]], [[0.0], [0.2]], ((0, 0),), {})


def one_figure(folder: Path) -> object:
    name, figure = next(iter(pictures.figures(RunSet(BALL)).items()))
    return write_figures({name: figure}, folder, print)


def figures_json(folder: Path) -> None:
    with folders.own_folder(folder, "reproduction", "") as own:
        reproduce._write(own, [], {})


@cache
def fitted() -> FittedFoot:
    with tempfile.TemporaryDirectory() as folder:
        file = file_of(Path(folder) / "gait.txt", synthetic())
        return fit_foot(read_gait(file, "RLM", "RLEK", "FP2", "RGTRO"), samples=20)


def foot(folder: Path) -> object:
    return write_foot(fitted(), folder, "gait.txt")


def journal(folder: Path) -> None:
    handle = os.open(folder / "rows.jsonl", os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        append(handle, b"{}\n", folder / "rows.jsonl")
    finally:
        os.close(handle)


WRITERS: dict[str, Callable[[Path], object]] = {
    "trajectory": lambda folder: BALL.save(folder / "run.nc"),
    "plan": lambda folder: PLAN.save(folder / "plan.npz"),
    "figures": one_figure,
    "page": lambda folder: viewer.write_viewer(pictures.stage(BALL), folder / "viewer.html"),
    "summary": lambda folder: folders.write_summary(folder / "summary.json", {}),  # pyright: ignore[reportArgumentType]
    "scenario": lambda folder: folders.write_scenario(folder, load_scenario("plate-spinning")),
    "export": lambda folder: export("plate-spinning", folder),
    "figures.json": figures_json,
    "parquet": lambda folder: sweep._write_table(folder, {0: {"run": 0}}, {}),
    "journal": journal,
    "foot": foot,
}
FAULTS = [("write", errno.ENOSPC), ("write", errno.EDQUOT), ("fsync", errno.EIO), ("replace", errno.EROFS)]


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewer, "render", lambda _: "<html></html>")


def failing(monkeypatch: pytest.MonkeyPatch, call: str, code: int, where: Path | str = "") -> None:
    """Let a system call fail for the files in the folder `where`."""
    real = getattr(os, call)

    def fault(first: Any, *others: Any) -> Any:
        name = os.readlink(f"/proc/self/fd/{first}") if isinstance(first, int) else str(first)
        if name.startswith(str(where)):
            raise OSError(code, os.strerror(code))
        return real(first, *others)

    monkeypatch.setattr(os, call, fault)


@pytest.mark.usefixtures("page")
@pytest.mark.parametrize(("call", "code"), FAULTS)
@pytest.mark.parametrize("writer", WRITERS)
def test_whatever_is_written_ends_in_one_line_and_leaves_nothing(
    writer: str, call: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted()
    if writer == "journal" and call == "replace":
        return  # a journal grows in its place
    failing(monkeypatch, call, code, tmp_path)
    with pytest.raises(StorageError) as caught:
        WRITERS[writer](tmp_path)
    assert os.strerror(code).lower() in str(caught.value)
    assert "\n" not in str(caught.value)
    left = {path.name: path.stat().st_size for path in tmp_path.iterdir() if path.name != ".trundle.jsonl"}
    assert left == ({"rows.jsonl": 0} if writer == "journal" else {})


@pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM, errno.ENOENT, errno.EISDIR])
def test_what_the_user_can_mend_is_an_error_of_input(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, "replace", code)
    with pytest.raises(InputError, match="path"):
        write_bytes(tmp_path / "a", b"a")


def test_what_was_there_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = write_bytes(tmp_path / "a", b"before")
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, content: real(handle, content[:3]))
    assert write_bytes(target, b"in pieces").read_bytes() == b"in pieces"
    failing(monkeypatch, "fsync", errno.ENOSPC)
    with pytest.raises(StorageError):
        write_bytes(target, b"after")
    assert target.read_bytes() == b"in pieces"


def test_a_log_tells_of_its_failure_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = LogFile(tmp_path / "log.txt")
    log.emit(logging.makeLogRecord({"msg": "first"}))
    log.check()
    os.dup2(full := os.open("/dev/full", os.O_WRONLY), log.stream.fileno())
    for _ in range(3):
        log.emit(logging.makeLogRecord({"msg": "more"}))
    log.close()
    os.close(full)
    with pytest.raises(StorageError, match=r"log\.txt cannot be written: no space left"):
        log.check()
    assert capsys.readouterr().err == ""
    with pytest.raises(InputError, match=r"log\.txt"):
        LogFile(tmp_path / "gone" / "log.txt")


def test_where_nothing_can_be_kept_the_first_error_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = StorageError("run.nc cannot be written: no space left on device")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    kept = kept_elsewhere(first, "run.nc", BALL.save)
    assert str(kept).startswith(f"{first}; it is kept in {tmp_path}")
    assert load_trajectory(str(kept).rsplit(" ")[-1]) is not None
    failing(monkeypatch, "write", errno.ENOSPC, tmp_path)
    assert kept_elsewhere(first, "run.nc", BALL.save) is first


def exit_of(*arguments: object) -> int:
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    return int(left.value.code or 0)


def test_a_run_whose_record_has_no_room_keeps_it_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    file, out = written(tmp_path, changed(JUGGLING, simulation__duration=0.02)), tmp_path / "out"
    failing(monkeypatch, "replace", errno.ENOSPC, out / ".trajectory")
    assert exit_of("run", file, "--out", out, "--quiet") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {out}/trajectory.nc cannot be written: no space left on device; it is kept in ")
    assert len(load_trajectory(line.rsplit(" ")[-1])) == 3
    assert {path.name for path in out.iterdir()} == {"scenario.toml", "log.txt", ".trundle.jsonl"}


@pytest.mark.usefixtures("page")
@pytest.mark.parametrize("name", ["summary.json", "viewer.html", "plots"])
def test_a_run_whose_other_files_have_no_room_keeps_its_record(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = written(tmp_path, changed(JUGGLING, simulation__duration=0.02)), tmp_path / "out"
    failing(monkeypatch, "write", errno.ENOSPC, out / ("plots" if name == "plots" else f".{name}"))
    assert exit_of("run", file, "--out", out, "--quiet") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {out}/{name}")
    assert line.endswith("cannot be written: no space left on device")
    assert len(load_trajectory(out / "trajectory.nc")) == 3
    assert not list(out.rglob("*.part"))


def test_a_sweep_ends_where_the_disk_does_and_goes_on_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    pytest.importorskip("joblib")
    metrics: dict[str, Any] = {
        "status": "success",
        "feasible": True,
        "advice": "",
        "seed": 0,
        "parts": {},
        "metrics": {},
    }
    monkeypatch.setattr(runs, "measure", lambda _: metrics)
    file, out = written(tmp_path, JUGGLING), tmp_path / "out"
    arguments = ("sweep", file, "--over", "object.mass=1,2,3", "--jobs", 1, "--out", out)
    with monkeypatch.context() as full:
        failing(full, "fsync", errno.ENOSPC, out / "rows")
        assert exit_of(*arguments) == 1
    assert capsys.readouterr().err.splitlines()[-1].endswith("rows.jsonl cannot be written: no space left on device")
    assert (out / "rows.jsonl").read_bytes() == b""
    full_disk = StorageError("a temporary folder cannot be written: no space left on device")
    with monkeypatch.context() as full:
        full.setattr(runs, "measure", lambda _: (_ for _ in ()).throw(full_disk))
        assert exit_of(*arguments) == 1, "a row of a run that had no room would stay"
    assert exit_of(*arguments) == 0


@pytest.mark.parametrize("arguments", ["list", "show plate-spinning", "--help"])
def test_what_is_printed_to_a_full_disk_is_said_in_one_line(arguments: str) -> None:
    code = "from trundle.cli import main; main()"
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "error: no space left on device\n")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """Give a disk of 64 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except OSError:
        done = None
    if done is None or done.returncode != 0:
        pytest.skip("no small disk can be mounted: that needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_really_full(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    long = ball_on_plate(duration=4.0)
    for size in range(0, 64, 8):  # kB that are taken
        (small / "taken").write_bytes(bytes(1024 * size))
        with pytest.raises(StorageError, match="no space left on device"):
            long.save(small / "run.nc")
        assert [path.name for path in small.iterdir()] == ["taken"]
    (small / "taken").unlink()
    (small / "out").mkdir()
    (small / "taken").write_bytes(bytes(40 * 1024))
    scenario = load_scenario(written(tmp_path, changed(JUGGLING, simulation__duration=1.0)))
    with pytest.raises(StorageError, match=r"trajectory\.nc cannot be written: .* it is kept in") as caught:
        run(scenario, small / "out", plots=False)
    assert len(load_trajectory(str(caught.value).rsplit(" ")[-1])) == 101
    assert np.all([not path.name.endswith(".part") for path in small.rglob("*")])
