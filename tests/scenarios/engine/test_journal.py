"""The journal of a sweep: rows come back as they were, and what is no row is named by file, line and key."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from trundle.errors import InputError
from trundle.scenarios.engine import journal, sweep
from trundle.scenarios.engine.journal import open_journal
from trundle.scenarios.engine.sweep_points import axes_of, points_of

POINTS = points_of(axes_of(["object.mass=1:3:3", 'name="a"']), None, 7)
FURTHER = {"metric.x": 0.5, "metric.y": None, "part.a.status": "success"}


def line_of(row: dict[str, Any]) -> bytes:
    """A line with the checksum of the row, whatever is in it."""
    return json.dumps(row | {"sha256": hashlib.sha256(json.dumps(row).encode()).hexdigest()}).encode() + b"\n"


def row_of(number: int, **changes: Any) -> dict[str, Any]:
    return sweep.row_of(POINTS[number], "success", "") | FURTHER | changes


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with open_journal(tmp_path / "rows.jsonl", POINTS) as rows:
        for number in (2, 0):
            rows.add(row_of(number))
    return tmp_path / "rows.jsonl"


def test_rows_come_back_as_they_were(path: Path) -> None:
    with open_journal(path, POINTS) as rows:
        assert rows.rows == {number: row_of(number) for number in (0, 2)}


def test_an_incomplete_last_line_is_cut_off_and_its_run_computed_again(path: Path) -> None:
    before = path.read_bytes()
    path.write_bytes(before + line_of(row_of(1))[:-1])
    with open_journal(path, POINTS) as rows:
        assert sorted(rows.rows) == [0, 2]
        rows.add(row_of(1))
    assert path.read_bytes() == before + line_of(row_of(1))


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"run": 3}, "run"),
        ({"run": -1}, "run"),
        ({"run": 1.0}, "run"),
        ({"run": True}, "run"),
        ({"run": "1"}, "run"),
        ({"run": 2}, "run"),  # a second time
        ({"object.mass": 2.5}, "object.mass"),
        ({"object.mass": True}, "object.mass"),
        ({"object.mass": [2.0]}, "object.mass"),
        ({"name": "b"}, "name"),
        ({"status": 1}, "status"),
        ({"feasible": 1}, "feasible"),
        ({"message": None}, "message"),
        ({"seed": "7"}, "seed"),
        ({"seed": True}, "seed"),
        ({"wall_time": None}, "wall_time"),
        ({"wall_time": float("nan")}, "wall_time"),
        ({"wall_time": 10**400}, "wall_time"),
        ({"metric.x": float("inf")}, "metric.x"),
        ({"metric.x": "0.5"}, "metric.x"),
        ({"metric.x": {}}, "metric.x"),
        ({"part.a.status": None}, "part.a.status"),
        ({"colour": "red"}, "colour"),
        ({"": ""}, ""),
    ],
)
def test_a_wrong_value_under_a_right_checksum_is_named(path: Path, changes: dict[str, Any], key: str) -> None:
    path.write_bytes(path.read_bytes() + line_of(row_of(1) | changes))
    with pytest.raises(InputError) as caught, open_journal(path, POINTS):
        pass
    assert caught.value.key == f"line 3.{key}"
    assert caught.value.file == str(path)
    assert "remove the line" in str(caught.value)


@pytest.mark.parametrize("key", ["run", "object.mass", "name", *sweep.row_of(POINTS[1], "", "")])
def test_a_missing_key_is_named(path: Path, key: str) -> None:
    path.write_bytes(line_of({name: value for name, value in row_of(1).items() if name != key}))
    with pytest.raises(InputError, match=rf"rows\.jsonl: line 1\.{key} = "), open_journal(path, POINTS):
        pass


@pytest.mark.parametrize("line", [b"", b"{", b"[1]", b"3", b"\xff", b"[" * 100_000, b"9" * 10_000, b"null"])
def test_a_line_that_is_no_object_is_named(path: Path, line: bytes) -> None:
    path.write_bytes(line + b"\n" + path.read_bytes())
    with pytest.raises(InputError, match=r"line 1\.row"), open_journal(path, POINTS):
        pass


def test_any_other_byte_is_refused(path: Path) -> None:
    good = path.read_bytes()
    with open_journal(path, POINTS) as rows:
        whole = rows.rows
    for place in range(len(good)):
        path.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
        with suppress(InputError), open_journal(path, POINTS) as rows:
            assert rows.rows.items() <= whole.items()


def test_a_journal_that_no_sweep_of_as_many_runs_writes_is_refused_before_it_is_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with path.open("r+b") as file:
        file.truncate(10 * 1024**3)
    with pytest.raises(InputError, match="at most"), open_journal(path, POINTS):
        pass
    assert path.stat().st_size == 10 * 1024**3
    with path.open("r+b") as file:
        file.truncate(journal.ROW_BYTES * (len(POINTS) + 2))
    with pytest.raises(InputError, match="at most"), open_journal(path, POINTS):
        pass
