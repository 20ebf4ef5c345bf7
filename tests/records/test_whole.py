"""Files written whole or not at all: plans, walks, pages and records share one way to a file and one kind of error."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.records import load_plan
from trundle.records.sealed import load_arrays, reading, save_arrays
from trundle.records.whole import read_bytes, write_bytes
from trundle.systems.walking.plan.plan import load_walk


def killed(_handle: int) -> None:
    raise KeyboardInterrupt


def test_a_reader_sees_the_old_file_until_the_new_one_is_complete(tmp_path: Path, monkeypatch) -> None:
    target = tmp_path / "page.html"
    target.write_text("old")
    seen: list[str] = []
    sync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (sync(handle), seen.append(target.read_text())))
    write_bytes(target, b"new")
    assert seen == ["old"]
    assert target.read_text() == "new"
    monkeypatch.setattr(os, "fsync", killed)
    with pytest.raises(KeyboardInterrupt):
        write_bytes(target, b"half")
    assert target.read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="gone"):
        write_bytes(tmp_path / "gone" / "page.html", b"page")


def test_arrays_come_back_with_what_was_said_of_them(tmp_path: Path) -> None:
    path = save_arrays(tmp_path / "a.npz", {"format": 2, "status": "success"}, {"x": np.arange(3.0)})
    content, data = load_arrays(path, 2)
    assert content["status"] == "success"
    assert list(data) == ["x"]
    assert np.array_equal(data["x"], [0.0, 1.0, 2.0])
    with pytest.raises(InputError, match="format 2"), reading(path, "a file of this version"):
        load_arrays(path, 1)


@pytest.mark.parametrize("load", [load_plan, load_walk])
@pytest.mark.parametrize(
    "content", [{"format": 9}, {"format": 1}, {"format": 1, "status": "success", "phases": [], "joints": []}]
)
def test_what_is_missing_in_a_plan_is_an_error_of_input(tmp_path: Path, load, content) -> None:
    path = save_arrays(tmp_path / "plan.npz", content, {"times": np.zeros(2)})
    with pytest.raises(InputError, match=r"plan\.npz"):
        load(path)


def test_a_file_takes_memory_for_its_own_size_only(tmp_path: Path) -> None:
    path = write_bytes(tmp_path / "a", b"a")
    tracemalloc.start()
    try:
        assert read_bytes(path, 4 * 1024**3, "path", str(path)) == b"a"
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, real = write_bytes(tmp_path / "a", b"a"), os.fstat

    def grown(handle: int) -> os.stat_result:
        facts = real(handle)
        with path.open("ab") as file:
            file.write(b"b")
        return facts

    monkeypatch.setattr(os, "fstat", grown)
    with pytest.raises(InputError, match="nothing writes to while it is read"):
        read_bytes(path, 100, "path", str(path))


def test_too_little_memory_is_not_the_fault_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(MemoryError), reading(tmp_path / "a", "a record"):
        raise MemoryError
