"""Measured gait from a text file: markers of one leg and a force plate, in the sagittal plane."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.scenarios.files import read_bytes

BYTES = 64_000_000
ROWS = 1_000_000
_FEWEST = 20
_FASTEST, _SLACK = 25.0, 0.05
"""Fastest that a marker can move (m/s; a sprinter's foot: 20), and how far (m) its noise can put it from there."""
_LARGEST = 1e100
"""Beyond any number: squares of it can still be computed."""
_TALL = 5.0
"""Largest distance (m) of knee and ankle marker, as a median; if it is larger, the data are not in metres."""


@dataclass(frozen=True)
class GaitData:
    """Samples of one leg: sagittal plane, x forward, y up, m, s, N.

    Attributes
    ----------
    time : (N,) s
    ankle, knee : (N, 2) m
    hip : (N, 2) m, or None
    force : (N,) N
        Upward force of the plate.
    pressure : (N,) m
        Centre of pressure x = moment / force where the force is positive, else NaN.
    missing : int
        Rows that lack a number; they have NaN.
    """

    time: FloatArray
    ankle: FloatArray
    knee: FloatArray
    hip: FloatArray | None
    force: FloatArray
    pressure: FloatArray
    missing: int


def read_gait(path: str | Path, ankle: str, knee: str, plate: str, hip: str | None = None) -> GaitData:
    """Read markers and plate from a table with named columns, separated by tabs, commas or blanks.

    The first line names the columns (it may begin with % or #): ``TimeStamp`` (s), ``<marker>.PosX`` and ``.PosY`` (m;
    x forward, y up), ``<plate>.ForY`` (N, upwards) and ``<plate>.MomZ`` (N m): the centre of pressure is at
    x = MomZ / ForY. ``NaN`` stands for a missing number.

    Raises
    ------
    InputError
        If the file cannot be read, a column is missing, a field is no number, time does not ascend, the numbers
        cannot be metres, or a marker jumps; line and column are named.
    """
    shown = str(path)
    names, rows, lines = _table(read_bytes(Path(path), BYTES, "DATA", shown), shown)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError("DATA", f"{shown}, line 1", f"a header whose names all differ ({twice} occurs twice)")

    def columns(*wanted: str) -> FloatArray:
        missing = [name for name in wanted if name not in names]
        if missing:
            raise InputError("DATA", shown, f"a file with the columns {', '.join(missing)} (it has {', '.join(names)})")
        return rows[:, [names.index(name) for name in wanted]]

    time = columns("TimeStamp")[:, 0]
    markers = {name: columns(f"{name}.PosX", f"{name}.PosY") for name in (ankle, knee, *([hip] if hip else []))}
    force, moment = columns(f"{plate}.ForY", f"{plate}.MomZ").T
    if len(rows) < _FEWEST:
        raise InputError("DATA", f"{shown}: {len(rows)} rows", f"a file of at least {_FEWEST} rows under their names")
    late = np.diff(time, prepend=-np.inf) > 0
    if not np.all(late):
        row = int(np.argmin(late))
        what = f"{shown}, line {lines[row]}, TimeStamp: {time[row]:g}"
        raise InputError("DATA", what, "a time that is a number in every row and ascends (s)")
    with np.errstate(divide="ignore", invalid="ignore"):
        pressure = np.where(force > 0, moment / force, np.nan)
    used = np.column_stack([force, moment, *markers.values()])
    shank = np.linalg.norm(markers[knee] - markers[ankle], axis=1)
    if not np.any(np.isfinite(shank)) or not 0.01 < float(np.nanmedian(shank)) < _TALL:
        raise InputError("DATA", f"{shown}: {ankle} to {knee}", f"markers in m, from 0.01 to {_TALL:g} m apart")
    for name, places in markers.items():
        _without_jumps(time, places, name, lines, shown)
    missing = int(np.sum(~np.all(np.isfinite(used), axis=1)))
    return GaitData(time, markers[ankle], markers[knee], markers[hip] if hip else None, force, pressure, missing)


def _without_jumps(time: FloatArray, places: FloatArray, name: str, lines: list[int], shown: str) -> None:
    """Refuse a marker that is farther from its median of five samples than it can have moved among them."""
    for axis, values in zip(("PosX", "PosY"), places.T, strict=True):
        known = np.flatnonzero(np.isfinite(values))
        if len(known) < 5:
            continue
        t, x = time[known], values[known]
        at = np.clip(np.arange(len(x)) - 2, 0, len(x) - 5)[:, None] + np.arange(5)
        away = np.abs(x - np.median(x[at], axis=1))
        limit = _FASTEST * np.max(np.abs(t[at] - t[:, None]), axis=1) + _SLACK
        if np.any(away > limit):
            row = int(np.argmax(away - limit))
            raise InputError(
                "DATA",
                f"{shown}, line {lines[known[row]]}, {name}.{axis}: {x[row]:g}",
                f"within {limit[row]:.3g} m of the samples around it (a marker moves at most {_FASTEST:g} m/s)",
            )


def _table(content: bytes, shown: str) -> tuple[list[str], FloatArray, list[int]]:
    """Return the names of the columns, the rows, and each row's line in the file."""
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError("DATA", shown, f"a text file in UTF-8 (byte {error.start} is not)") from None
    if not lines:
        raise InputError("DATA", shown, "a file that is not empty")
    separator = "\t" if "\t" in lines[0] else "," if "," in lines[0] else None
    names = [name.strip() for name in re.sub(r"^\s*[%#]\s*", "", lines[0]).split(separator)]
    rows: list[Sequence[float]] = []
    at: list[int] = []
    for number, line in enumerate(lines[1:], 2):
        if not line.strip() or line.lstrip().startswith(("%", "#")):
            continue
        fields = [field.strip() for field in line.split(separator)]
        if len(fields) != len(names):
            raise InputError("DATA", f"{shown}, line {number}: {len(fields)} fields", f"{len(names)}, as line 1 names")
        rows.append([_number(field, name, number, shown) for field, name in zip(fields, names, strict=True)])
        at.append(number)
        if len(rows) > ROWS:
            raise InputError("DATA", shown, f"a file of at most {ROWS:,} rows")
    return names, np.array(rows, dtype=np.float64).reshape(-1, len(names)), at


def _number(field: str, name: str, line: int, shown: str) -> float:
    """Return a number; an empty field, NaN or NA in any case is a missing number (NaN). Infinity is refused."""
    if field.lower() in ("", "nan", "na"):
        return float("nan")
    try:
        value = float(field)
    except ValueError:
        value = float("inf")
    if not abs(value) < _LARGEST or "_" in field:
        allowed = f"a finite number, less than {_LARGEST:g} in size, or NaN where missing"
        raise InputError("DATA", f"{shown}, line {line}, {name}: {field[:40]}", allowed)
    return value
