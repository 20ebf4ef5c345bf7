"""Runs in several threads of one process: each as alone, with its own log, and nothing of the process is changed."""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.scenarios.files import JUGGLING, PLANAR, changed, written
from trundle.records import load_trajectory
from trundle.scenarios import run
from trundle.scenarios.engine import pictures
from trundle.scenarios.engine.log import RUN


def lines(folder: Path) -> list[str]:
    """What the log says, without times."""
    text = re.sub(r"after [0-9.]+ s", "after s", (folder / "log.txt").read_text())
    return [line.split(" ", 2)[2] for line in text.splitlines()]


def state() -> tuple[object, ...]:
    logger = logging.getLogger("trundle")
    known = (
        sys.stdout,
        sys.stderr,
        signal.getsignal(signal.SIGINT),
        list(warnings.filters),
        os.getcwd(),
        dict(os.environ),
    )
    return *known, np.geterr(), logger.level, list(logger.handlers), RUN.level, np.random.get_state()[1].tolist()  # noqa: NPY002


def test_four_runs_in_threads_are_those_of_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    short = {"simulation__duration": 0.3}
    paths = [
        written(tmp_path, changed(base, name=f"s{i}", **short, **extra), f"s{i}.toml")
        for i, (base, extra) in enumerate(
            [(JUGGLING, {}), (JUGGLING, {"seed": 7}), (JUGGLING, {"hand__velocity": [0.1, 0, 0]}), (PLANAR, {})]
        )
    ]
    alone = [run(paths[0], tmp_path / "alone-s0", plots=False)]  # what is imported and set up once
    capfd.readouterr()
    before = state()
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda path: run(path, tmp_path / f"together-{path.stem}", plots=False), paths))
        assert state() == before
    assert capfd.readouterr() == ("", "")
    monkeypatch.setattr(pictures, "write_viewer", lambda _stage, page, _notice: page)  # to save time
    alone += [run(path, tmp_path / f"alone-{path.stem}", plots=False) for path in paths[1:]]
    for path, one, other in zip(paths, together, alone, strict=True):
        timeless = [{k: v for k, v in r.summary.items() if k != "wall_time"} for r in (one, other)]
        assert timeless[0] == timeless[1]
        first, second = load_trajectory(one.directory / "trajectory.nc"), other.trajectory
        assert second is not None
        assert all(np.array_equal(first.final[name], second.final[name]) for name in first.final)
        assert np.array_equal(first.time, second.time)
        assert lines(one.directory) == lines(other.directory)
        assert f"scenario {path.stem}," in lines(one.directory)[0]
        assert sum("scenario s" in line for line in lines(one.directory)) == 1
    assert state() == before


def test_a_line_of_another_thread_is_in_no_log_and_is_still_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    heard: list[str] = []
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    assert logging.lastResort is not None
    monkeypatch.setattr(logging.lastResort, "emit", lambda record: heard.append(record.getMessage()))

    def other(what: str, _share: float) -> None:
        if "build" in what:
            return  # there is no folder yet, and so no log
        with ThreadPoolExecutor(1) as pool:
            pool.submit(logging.getLogger("trundle").warning, "of another thread").result()
        logging.getLogger("trundle.systems").warning("of this thread")

    run(written(tmp_path, JUGGLING), tmp_path / "out", plots=False, progress=other)
    text = (tmp_path / "out" / "log.txt").read_text()
    assert "WARNING trundle.systems: of this thread" in text
    assert "of another thread" not in text
    assert set(heard) == {"of another thread"}
