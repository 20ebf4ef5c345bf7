"""The folder of a run: every file appears under its name only when it is complete."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

from trundle.errors import InputError
from trundle.records.whole import read_bytes, storing, write_bytes
from trundle.scenarios.engine.summary import Summary
from trundle.scenarios.files import CSV_BYTES
from trundle.scenarios.scenario import Scenario, named_beside

_OURS = ("scenario.toml", "summary.json", "log.txt", "viewer.html", "trajectory*.nc", "plots/*.png", ".*.part")
DATA = "data"


def prepare(out: str | Path | None, name: str) -> Path:
    """Return the run's folder, created; what an earlier run left in it is removed.

    Raises
    ------
    InputError
        If `out` is a file, holds something else than a run, or cannot be created.
    """
    if out is None:
        return _fresh(name)
    folder = Path(out)
    present = made(folder)
    if present and not present & {"scenario.toml", "log.txt"}:
        raise InputError("--out", str(out), "a new or empty folder, or that of an earlier run")
    with storing(folder, "--out", "a folder that can be written to"):
        for pattern in _OURS:
            for path in folder.glob(pattern):
                path.unlink()
    return folder


def made(folder: Path) -> set[str]:
    """Return the names in a folder given as `--out`, created if it is not there.

    Raises
    ------
    InputError
        If it cannot be created or read.
    """
    with storing(folder, "--out", "a folder that can be written to"):
        folder.mkdir(parents=True, exist_ok=True)
        return {path.name for path in folder.iterdir()}


def _fresh(name: str) -> Path:
    base = Path("runs") / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
    folder, number = base, 1
    while True:
        with storing(folder, "--out", "a folder that can be created"):
            try:
                folder.mkdir(parents=True)
            except FileExistsError:
                number += 1
                folder = base.with_name(f"{base.name}-{number}")
            else:
                return folder


def write_scenario(folder: Path, scenario: Scenario) -> None:
    """Write the resolved `scenario.toml`; copy its data files, and the files that these refer to, to `data/`."""
    names: dict[str, str] = {}
    for name, source in scenario.data_files().items():
        target = _free(folder / DATA, source, set(names.values()))
        names[name] = f"{DATA}/{target.name}"
        _copy(source, target, name, scenario.file)
        for beside in named_beside(source):
            _copy(source.parent / beside, target.parent / beside, name, scenario.file)
    write_bytes(folder / "scenario.toml", scenario.resolved_toml(names).encode())


def _copy(source: Path, target: Path, name: str, file: str) -> None:
    if target.resolve() != source.resolve():
        content = read_bytes(source, CSV_BYTES, "file", name, file)
        made(target.parent)
        write_bytes(target, content)


def _free(folder: Path, source: Path, taken: set[str]) -> Path:
    name, number = source.name, 1
    while f"{DATA}/{name}" in taken:
        number += 1
        name = f"{source.stem}-{number}{source.suffix}"
    return folder / name


def write_summary(folder: Path, summary: Summary) -> None:
    """Write `summary.json`."""
    write_bytes(folder / "summary.json", (json.dumps(summary, indent=2, allow_nan=False) + "\n").encode())
