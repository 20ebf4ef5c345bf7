"""Motion files as one table: named columns as text, TRC and MOT, and C3D through ezc3d."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np

from trundle.checks import FloatArray, choice
from trundle.errors import InputError, optional
from trundle.scenarios.files import read_bytes
from trundle.systems.walking.scenario.measured import c3d_reader

BYTES = 64_000_000  # of a file that is read whole
ROWS = 1_000_000  # of a file that is read whole
_SECONDS = 10.0
"""For a small C3D file, of which its reader needs less than one; a second more for each megabyte."""
_LARGEST = 1e100
"""Beyond any number: squares of it can still be computed."""
_UNITS = {"m": 1.0, "cm": 1e-2, "mm": 1e-3}
_AXES = ("x", "y", "z", "-x", "-y", "-z")
_FORCE = re.compile(r"(.+)_v[xyz]")


@dataclass(frozen=True)
class ColumnTable:
    """Columns ``TimeStamp`` (s), ``<marker>.PosX``, ``.PosY`` (m), ``<plate>.ForX``, ``.ForY`` (N), ``.MomZ`` (N m).

    Attributes
    ----------
    names : list of str
    rows : (N, columns)
        NaN where a number is missing.
    lines : list of int
        Line, or frame, of the file that each row stands in.
    """

    names: list[str]
    rows: FloatArray
    lines: list[int]


def read_motion(
    path: str | Path, forces: str | Path | None = None, *, forward: str = "x", up: str | None = None
) -> ColumnTable:
    """Read markers and plates of the sagittal plane: X forward, Y up.

    By the ending of the name: ``.c3d`` (needs ezc3d; plates are ``FP1``, ``FP2``, ...), ``.trc``, and any other as text
    whose first line names the columns as in `ColumnTable`. ``forces`` is a ``.mot`` file: columns ``<plate>_vx`` to
    ``_vz`` (N, on the foot) and ``<plate>_px`` to ``_pz`` (m).

    Parameters
    ----------
    forward, up : str
        Axes of the file that point forward and up, ``"-x"`` the other way; up unless given: ``z`` of a C3D file,
        ``y`` of others. Text tables have X forward and Y up already.

    Raises
    ------
    InputError
        If a file cannot be read or is malformed; file, line and column are named.
    MissingExtraError
        If ezc3d is needed and not installed.
    """
    shown, ending = str(path), Path(path).suffix.lower()
    content = read_bytes(Path(path), BYTES, "DATA", shown)
    axes = (choice("forward", forward, _AXES), choice("up", up or ("z" if ending == ".c3d" else "y"), _AXES))
    if axes[0][-1] == axes[1][-1]:
        raise InputError("up", axes[1], f"another axis than forward, {forward}")
    if ending == ".c3d":
        return _c3d(Path(path), len(content), shown, axes)
    lines = _text(content, shown)
    table = _trc(lines, shown, axes) if ending == ".trc" else _name_columns(lines, shown)
    if forces is None:
        return table
    other = str(forces)
    try:
        found = _mot(_text(read_bytes(Path(forces), BYTES, "FORCES", other), other), other, axes)
    except InputError as error:
        raise InputError("FORCES", error.value, error.allowed) from None
    return _merge_forces(table, found, other)


def _text(content: bytes, shown: str) -> list[str]:
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError("DATA", shown, f"a text file in UTF-8 (byte {error.start} is not)") from None
    if not lines:
        raise InputError("DATA", shown, "a file that is not empty")
    return lines


def _name_columns(lines: Sequence[str], shown: str) -> ColumnTable:
    separator = "\t" if "\t" in lines[0] else "," if "," in lines[0] else None
    names = [name.strip() for name in re.sub(r"^\s*[%#]\s*", "", lines[0]).split(separator)]
    return _table(lines, 1, names, separator, shown)


def _table(lines: Sequence[str], first: int, names: list[str], separator: str | None, shown: str) -> ColumnTable:
    """Return the rows from line `first` (from 0) on, one number for each name."""
    rows: list[Sequence[float]] = []
    at: list[int] = []
    for number, line in enumerate(lines[first:], first + 1):
        if not line.strip() or line.lstrip().startswith(("%", "#")):
            continue
        fields = [field.strip() for field in line.split(separator)]
        if len(fields) == len(names) + 1 and not fields[-1]:  # a separator at the end
            fields.pop()
        if len(fields) != len(names):
            raise InputError(
                "DATA", f"{shown}, line {number}: {len(fields)} fields", f"{len(names)}, as line {first} names"
            )
        rows.append([_number(field, name, number, shown) for field, name in zip(fields, names, strict=True)])
        at.append(number)
        if len(rows) > ROWS:
            raise InputError("DATA", shown, f"a file of at most {ROWS:,} rows")
    return ColumnTable(names, np.array(rows, dtype=np.float64).reshape(-1, len(names)), at)


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


def _whole(key: str, shown: str, said: object, there: int) -> None:
    """Refuse a file that is cut off: of fewer rows or frames than it says."""
    count = str(said).strip()
    if count.isdecimal() and len(count) < 20 and there < int(count):
        raise InputError(key, f"{shown}: {there} rows", f"whole: {count} are announced")


def _trc(lines: Sequence[str], shown: str, axes: tuple[str, str]) -> ColumnTable:
    """Read a TRC file: three lines of settings, the markers' names over three columns each, X1 Y1 Z1 ..., rows."""
    if len(lines) < 6 or not lines[0].startswith("PathFileType"):
        raise InputError("DATA", shown, "a TRC file: its first line begins with PathFileType, its sixth with a row")
    settings = dict(zip(lines[1].split("\t"), lines[2].split("\t"), strict=False))
    unit = choice(f"{shown}, line 3, Units", settings.get("Units", "").strip(), _UNITS)
    markers = [name.strip() for name in lines[3].split("\t")[2:] if name.strip()]
    names = ["Frame#", "Time", *(f"{marker}.{axis}" for marker in markers for axis in "xyz")]
    table = _table(lines, 5, names, "\t", shown)
    _whole("DATA", shown, settings.get("NumFrames", ""), len(table.rows))
    found = {name: table.rows[:, [names.index(f"{name}.{axis}") for axis in "xyz"]] for name in markers}
    return _sagittal(table.rows[:, 1], {m: _UNITS[unit] * p for m, p in found.items()}, {}, axes, table.lines)


def _mot(lines: Sequence[str], shown: str, axes: tuple[str, str]) -> ColumnTable:
    """Read forces from a MOT file: settings up to ``endheader``, names, rows."""
    ends = [i for i, line in enumerate(lines) if line.strip() == "endheader"]
    if not ends or ends[0] + 2 > len(lines):
        raise InputError("FORCES", shown, "a MOT file: a line 'endheader' and a line of names below it")
    names = lines[ends[0] + 1].split()
    table = _table(lines, ends[0] + 2, names, None, shown)
    said = dict(line.split("=", 1) for line in lines[: ends[0]] if "=" in line)
    _whole("FORCES", shown, said.get("nRows", ""), len(table.rows))
    if "time" not in names:
        raise InputError("FORCES", shown, f"a file with the column time (it has {', '.join(names)})")
    plates = {match[1]: None for name in names if (match := _FORCE.fullmatch(name))}

    def vectors(plate: str, kind: str) -> FloatArray:
        lacking = [f"{plate}_{kind}{axis}" for axis in "xyz" if f"{plate}_{kind}{axis}" not in names]
        if lacking:
            raise InputError("FORCES", shown, f"a file with the columns {', '.join(lacking)}")
        return table.rows[:, [names.index(f"{plate}_{kind}{axis}") for axis in "xyz"]]

    found = {plate: (vectors(plate, "v"), vectors(plate, "p")) for plate in plates}
    return _sagittal(table.rows[:, names.index("time")], {}, found, axes, table.lines)


def _c3d(path: Path, size: int, shown: str, axes: tuple[str, str]) -> ColumnTable:
    optional("ezc3d", "ezc3d", "motion")
    command = [sys.executable, "-P", c3d_reader.__file__, str(path)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS + size / 1e6, check=False)
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise ValueError(said[-1][:200] if said and done.returncode > 0 else "its reader broke down")
        file = np.load(BytesIO(done.stdout))
        ratio, frames = int(file["samples"]) // max(file["points"].shape[2], 1), file["points"].shape[2]
        unit = choice(f"{shown}, POINT:UNITS", str(file["unit"]), _UNITS)
        _whole("DATA", shown, file["frames"], frames)
        found = {}
        while f"force {len(found) + 1}" in file:
            k = len(found) + 1
            force, at, length = (file[f"{key} {k}"] for key in ("force", "center_of_pressure", "unit_position"))
            found[f"FP{k}"] = _platform(force, at, length, ratio, frames, axes[1])
    except subprocess.TimeoutExpired as error:
        raise InputError("DATA", shown, f"a C3D file (its reader had not ended after {error.timeout:.0f} s)") from None
    except InputError:
        raise
    except Exception as error:  # whatever ezc3d raises of a broken file
        raise InputError("DATA", shown, f"a C3D file ({(str(error).splitlines() or [''])[0][:200]})") from None
    places, labels = _UNITS[unit] * file["points"], file["labels"].tolist()
    markers = {label: places[:, k].T for k, label in enumerate(labels)}
    return _sagittal(np.arange(frames) / file["rate"], markers, found, axes, list(range(1, frames + 1)))


def _platform(
    force: FloatArray, at: FloatArray, unit: FloatArray, ratio: int, count: int, up: str
) -> tuple[FloatArray, FloatArray]:
    """Return force on the foot (N) and centre of pressure (m) at each frame, the mean of its analog samples."""
    length = _UNITS[str(unit).strip()]
    force, at = (np.nanmean(v.T[: count * ratio].reshape(count, ratio, 3), axis=1) for v in (force, length * at))
    upward = np.nansum(force @ _axis(up))  # whether the file has the force on the plate or that on the foot
    return (force if upward > 0 else -force), at


def _axis(name: str) -> FloatArray:
    return (-1.0 if name[0] == "-" else 1.0) * np.eye(3)["xyz".index(name[-1])]


def _sagittal(
    time: FloatArray,
    markers: Mapping[str, FloatArray],
    plates: Mapping[str, tuple[FloatArray, FloatArray]],
    axes: tuple[str, str],
    lines: list[int],
) -> ColumnTable:
    ahead, above = (_axis(name) for name in axes)
    columns = {"TimeStamp": time}
    for name, places in markers.items():
        columns |= {f"{name}.PosX": places @ ahead, f"{name}.PosY": places @ above}
    for name, (force, at) in plates.items():
        loaded = np.nan_to_num(at @ ahead) * (force @ above)
        columns |= {f"{name}.ForX": force @ ahead, f"{name}.ForY": force @ above, f"{name}.MomZ": loaded}
    return ColumnTable(list(columns), np.column_stack(list(columns.values())), lines)


def _merge_forces(table: ColumnTable, forces: ColumnTable, shown: str) -> ColumnTable:
    """Add the forces at the times of the markers, interpolated."""
    time, of = table.rows[:, table.names.index("TimeStamp")], forces.rows[:, 0]
    if len(of) < 2 or np.any(~(np.diff(of) > 0)) or of[0] > time[0] + 0.1 or of[-1] < time[-1] - 0.1:
        raise InputError("FORCES", shown, f"times that ascend and reach from {time[0]:g} to {time[-1]:g} s, as markers")
    columns = [np.interp(time, of, column) for column in forces.rows[:, 1:].T]
    return ColumnTable(table.names + forces.names[1:], np.column_stack([table.rows, *columns]), table.lines)
