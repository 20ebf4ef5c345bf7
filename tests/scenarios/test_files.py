"""Data files: strict CSV, errors that name file and line, grids."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.scenarios import files

XZ = ("x", "z")


def table(tmp_path: Path, text: str | bytes) -> np.ndarray:
    path = tmp_path / "a.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return files.read_table(path, XZ, "terrain.curve.file", "a.csv", "my.toml")


@pytest.mark.parametrize(
    "text",
    [
        "0,1\n2,3\n",
        "x,z\n0,1\n2,3",
        "# made by hand\r\n x , z \r\n\r\n0, 1\r\n2,3.0\r\n",
        b"\xef\xbb\xbfx,z\n0,1\n2e0,3\n",
    ],
)
def test_reads_numbers_with_or_without_a_header(tmp_path: Path, text: str | bytes) -> None:
    np.testing.assert_array_equal(table(tmp_path, text), [[0.0, 1.0], [2.0, 3.0]])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0,1\n2,three\n", "'a.csv, line 2: 2,three': must be 2 finite numbers separated by commas (x, z)"),
        ("0,1\n2\n", "line 2: 2'"),
        ("0,1\n2,3,4\n", "line 2: 2,3,4'"),
        ("x,z\nx,z\n0,1\n", "line 2: x,z'"),
        ("0,1\n2,nan\n", "line 2: 2,nan'"),
        ("0,1\n2,1_000\n", "line 2: 2,1_000'"),
        ("1,z\n0,1\n2,3\n", "line 1: 1,z'"),
        ("nan,inf\n0,1\n2,3\n", "line 1: nan,inf'"),
        ("0;1\n2;3\n", "line 1: 0;1'"),
        ("0,1\n", "at least 2 rows of x, z"),
        ("", "at least 2 rows"),
        (b"0,1\n\xff,2\n", "in UTF-8 (byte 4 is not)"),
    ],
)
def test_fault_names_file_and_line(tmp_path: Path, text: str | bytes, said: str) -> None:
    with pytest.raises(InputError) as caught:
        table(tmp_path, text)
    assert str(caught.value).startswith("my.toml: terrain.curve.file = 'a.csv")
    assert said in str(caught.value)


def test_large_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CSV_ROWS", 3)
    with pytest.raises(InputError, match="at most 3 rows"):
        table(tmp_path, "0,1\n" * 4)
    monkeypatch.setattr(files, "CSV_BYTES", 10)
    with pytest.raises(InputError, match="at most 10 bytes"):
        table(tmp_path, "0,1\n" * 4)


def test_grid_sorts_rows_in_any_order() -> None:
    rows = np.array([[x, y, 10 * x + y] for y in (3.0, 1.0, 2.0) for x in (1.0, 0.0)])
    x, y, z = files.grid(rows, "hand.shape.file", "h.csv")
    np.testing.assert_array_equal(x, [0.0, 1.0])
    np.testing.assert_array_equal(y, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(z, 10 * x[:, None] + y[None, :])


@pytest.mark.parametrize("rows", [[(0, 0), (0, 1), (1, 0)], [(0, 0), (0, 1), (1, 0), (1, 0)]])
def test_grid_with_a_hole_is_refused(rows: list[tuple[int, int]]) -> None:
    with pytest.raises(InputError, match="one row for each point of a full grid"):
        files.grid(np.array([[x, y, 0.0] for x, y in rows]), "hand.shape.file", "h.csv")
