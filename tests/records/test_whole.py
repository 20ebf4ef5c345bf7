"""Files written whole or not at all: plans, walks, pages and records share one way to a file and one kind of error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.plan.walk.plan import load_walk
from trundle.records import load_plan
from trundle.records.whole import load_arrays, reading, save_arrays, whole


def test_a_reader_sees_the_old_file_until_the_new_one_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    target.write_text("old")
    with whole(target) as part:
        part.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    writing = whole(target)
    writing.__enter__().write_text("half")
    assert not writing.__exit__(RuntimeError, RuntimeError("killed"), None), "the error goes on"
    assert target.read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="gone"), whole(tmp_path / "gone" / "page.html") as part:
        part.write_text("page")


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
