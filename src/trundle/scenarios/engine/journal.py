"""The journal of a sweep: a line with a checksum for each finished run, checked key by key when the sweep goes on."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import NoneType

from trundle.errors import InputError
from trundle.records.sealed import MOST_BYTES
from trundle.records.whole import append, read_bytes, storing
from trundle.scenarios.engine.sweep_points import Row, SweepPoint
from trundle.scenarios.problems import Toml

ROW_BYTES = 1_000_000  # of a row on average, at most
_SEAL = "sha256"
_TEXT, _NUMBER, _OPTIONAL = "a text", "a finite number", "a finite number or null"
_TYPES = {_TEXT: (str,), "true or false": (bool,), _NUMBER: (int, float), _OPTIONAL: (int, float, NoneType)}
_KEYS = {"status": _TEXT, "feasible": "true or false", "message": _TEXT, "seed": _OPTIONAL, "wall_time": _NUMBER}


@dataclass(frozen=True)
class Journal:
    """An open journal, and the rows that it held when it was opened, by their number."""

    path: Path
    handle: int
    rows: dict[int, Row]

    def add(self, row: Row) -> None:
        """Write a row to the disk and to `rows`."""
        append(self.handle, json.dumps(row | {_SEAL: _digest(row)}, allow_nan=False).encode() + b"\n", self.path)
        self.rows[int(str(row["run"]))] = row


@contextmanager
def open_journal(path: Path, points: Sequence[SweepPoint]) -> Iterator[Journal]:
    """Open a journal; an incomplete last line, left by a killed process, is cut off.

    Raises
    ------
    InputError
        If a line is no row of one of the `points`: file, line and key are named.
    """
    with storing(path):
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        content = read_bytes(path, min(MOST_BYTES, ROW_BYTES * (len(points) + 1)), "path", str(path))
        whole = content[: content.rfind(b"\n") + 1]
        with storing(path):
            os.ftruncate(handle, len(whole))
        rows: dict[int, Row] = {}
        for number, line in enumerate(whole.split(b"\n")[:-1], 1):
            try:
                row = _row(line, points, rows)
            except InputError as error:
                allowed = f"{error.allowed} (remove the line: its run is then computed again)"
                raise InputError(f"line {number}.{error.key}", error.value, allowed, str(path)) from None
            rows[int(str(row["run"]))] = row
        yield Journal(path, handle, rows)
    finally:
        os.close(handle)


def _digest(row: Row) -> str:
    return hashlib.sha256(json.dumps(row).encode()).hexdigest()


def _row(line: bytes, points: Sequence[SweepPoint], known: dict[int, Row]) -> Row:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise InputError("row", line[:200].decode(errors="replace"), "a JSON object")
    seal, number = row.pop(_SEAL, None), row.get("run")
    if type(number) is not int or number in known or not 0 <= number < len(points):
        raise InputError("run", number, f"the number of a run, from 0 to {len(points) - 1}, each once")
    values: dict[str, Toml] = json.loads(json.dumps({"run": number} | dict(points[number].values)))
    for key in (*row, *values, *_KEYS):
        if key in values:
            allowed = f"{values[key]}, as --over asks for"
            right = key in row and json.dumps(row[key]) == json.dumps(values[key])
        else:
            allowed = _KEYS.get(key, _OPTIONAL if key.startswith("metric.") else _TEXT)
            right = (key in _KEYS or key.startswith(("metric.", "part."))) and type(row.get(key, ())) in _TYPES[allowed]
            right = right and (type(row[key]) not in (int, float) or abs(row[key]) <= sys.float_info.max)
        if not right:
            raise InputError(key, row.get(key, "missing"), allowed)
    if seal != _digest(row):
        raise InputError(_SEAL, seal, "the checksum of the row: it is damaged, or was edited")
    return row
