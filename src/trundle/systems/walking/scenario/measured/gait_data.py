"""Measured gait from a text file: markers of one leg and a force plate, in the sagittal plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.systems.walking.scenario.measured.motion_files import read_motion

_FEWEST = 20  # rows: fewer make no cycle
_FASTEST, _SLACK = 25.0, 0.05
"""Fastest that a marker can move (m/s; a sprinter's foot: 20), and how far (m) its noise can put it from there."""
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
    markers : mapping of str to (N, 2), m
        Every marker that was asked for, by its name.
    push : (N,) N
        Forward force of the plate on the foot; NaN if the file has none.
    """

    time: FloatArray
    ankle: FloatArray
    knee: FloatArray
    hip: FloatArray | None
    force: FloatArray
    pressure: FloatArray
    missing: int
    markers: Mapping[str, FloatArray] = field(default_factory=dict)
    push: FloatArray = field(default_factory=lambda: np.zeros(0))


def read_gait(
    path: str | Path,
    ankle: str,
    knee: str,
    plate: str,
    hip: str | None = None,
    *,
    further: Sequence[str] = (),
    forces: str | Path | None = None,
    forward: str = "x",
    up: str | None = None,
) -> GaitData:
    """Read markers and plate from a motion file; `forces`, `forward` and `up` are those of `read_motion`.

    The first line of a text names the columns (it may begin with % or #), separated by tabs, commas or blanks:
    ``TimeStamp`` (s), ``<marker>.PosX`` and ``.PosY`` (m; x forward, y up), ``<plate>.ForX``, ``.ForY`` (N, upwards)
    and ``<plate>.MomZ`` (N m): the centre of pressure is at x = MomZ / ForY. ``NaN`` stands for a missing number.
    `further` markers are read besides.

    Raises
    ------
    InputError
        If the file cannot be read, a column is missing, a field is no number, time does not ascend, the numbers
        cannot be metres, or a marker jumps; line and column are named.
    """
    shown = str(path)
    table = read_motion(path, forces, forward=forward, up=up)
    names, rows, lines = table.names, table.rows, table.lines
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError("DATA", f"{shown}, line 1", f"a header whose names all differ ({twice} occurs twice)")

    def columns(*wanted: str) -> FloatArray:
        missing = [name for name in wanted if name not in names]
        if missing:
            raise InputError("DATA", shown, f"a file with the columns {', '.join(missing)} (it has {', '.join(names)})")
        return rows[:, [names.index(name) for name in wanted]]

    time = columns("TimeStamp")[:, 0]
    markers = {
        name: columns(f"{name}.PosX", f"{name}.PosY") for name in (ankle, knee, *([hip] if hip else []), *further)
    }
    force, moment = columns(f"{plate}.ForY", f"{plate}.MomZ").T
    push = columns(f"{plate}.ForX")[:, 0] if f"{plate}.ForX" in names else np.full(len(rows), np.nan)
    if len(rows) < _FEWEST:
        raise InputError("DATA", f"{shown}: {len(rows)} rows", f"a file of at least {_FEWEST} rows under their names")
    _check_ascending(time, lines, shown)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        pressure = np.where((force > 0) & np.isfinite(moment / force), moment / force, np.nan)
    used = np.column_stack([force, moment, *markers.values()])
    shank = np.linalg.norm(markers[knee] - markers[ankle], axis=1)
    if not np.any(np.isfinite(shank)) or not 0.01 < float(np.nanmedian(shank)) < _TALL:
        raise InputError("DATA", f"{shown}: {ankle} to {knee}", f"markers in m, from 0.01 to {_TALL:g} m apart")
    for name, places in markers.items():
        _without_jumps(time, places, name, lines, shown)
    missing = int(np.sum(~np.all(np.isfinite(used), axis=1)))
    of_hip = markers[hip] if hip else None
    return GaitData(time, markers[ankle], markers[knee], of_hip, force, pressure, missing, markers, push)


def _check_ascending(time: FloatArray, lines: list[int], shown: str) -> None:
    late = np.diff(time, prepend=-np.inf) > 0
    if not np.all(late):
        row = int(np.argmin(late))
        what = f"{shown}, line {lines[row]}, TimeStamp: {time[row]:g}"
        raise InputError("DATA", what, "a time that is a number in every row and ascends (s)")


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
