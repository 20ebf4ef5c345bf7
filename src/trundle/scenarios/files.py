"""Reading of files that a user names: regular files of bounded size, data files only in the scenario's folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trundle.errors import InputError
from trundle.records.whole import read_bytes

TOML_BYTES = 256_000  # of an untrusted file
CSV_BYTES = 64_000_000  # of a table that is read whole
CSV_ROWS = 1_000_000  # of a table that is read whole


def read_table(path: Path, columns: Sequence[str], key: str, name: str, file: str | None = None) -> NDArray[np.float64]:
    """Return a CSV file's numbers, shape (rows, columns); a header line, blank lines and ``#`` comments are allowed.

    Raises
    ------
    InputError
        If a line has another number of fields or something that is no finite number; file and line are named.
    """
    content = read_bytes(path, CSV_BYTES, key, name, file)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(key, name, f"a text file in UTF-8 (byte {error.start} is not)", file) from None
    rows: list[list[float]] = []
    header = True
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        fields = [field.strip() for field in stripped.split(",")]
        values = _numbers(fields) if len(fields) == len(columns) else None
        if values is None:
            if header and not rows and len(fields) == len(columns) and not any(map(_numeric, fields)):
                header = False
                continue
            allowed = f"{len(columns)} finite numbers separated by commas ({', '.join(columns)})"
            raise InputError(key, f"{name}, line {number}: {stripped[:60]}", allowed, file)
        rows.append(values)
        if len(rows) > CSV_ROWS:
            raise InputError(key, name, f"a file of at most {CSV_ROWS:,} rows", file)
    if len(rows) < 2:
        raise InputError(key, name, f"a file of at least 2 rows of {', '.join(columns)}", file)
    return np.array(rows, dtype=np.float64)


def _numeric(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _numbers(fields: Sequence[str]) -> list[float] | None:
    try:
        values = [float(field) for field in fields]
    except ValueError:
        return None
    return values if all(map(np.isfinite, values)) and "_" not in "".join(fields) else None


def grid(table: NDArray[np.float64], key: str, name: str, file: str | None = None) -> tuple[NDArray[np.float64], ...]:
    """Return the first two columns' values (n,), (m,) and the others on their grid, each (n, m).

    Raises
    ------
    InputError
        If a point of the rectangular grid is missing or given twice.
    """
    first, row = np.unique(table[:, 0], return_inverse=True)
    second, column = np.unique(table[:, 1], return_inverse=True)
    place = row * second.size + column
    if place.size != first.size * second.size or np.unique(place).size != place.size:
        allowed = f"one row for each point of a full grid ({first.size} x {second.size} values, {place.size} rows)"
        raise InputError(key, name, allowed, file)
    order = np.argsort(place)
    return first, second, *(table[order, k].reshape(first.size, second.size) for k in range(2, table.shape[1]))
