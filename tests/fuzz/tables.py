"""Tables of numbers: points, surfaces, motions and gaits, beside what a reader of five lines finds in them."""

from __future__ import annotations

import re
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from tests.fuzz import damage
from tests.fuzz.cases import BASES
from tests.fuzz.kind import Kind, must, plain, text
from tests.systems.walking.measured import c3d, columns, mot, trc
from tests.systems.walking.test_foot_fit import file_of, synthetic
from trundle.scenarios import build, load_scenario
from trundle.scenarios.engine.building import Simulation
from trundle.scenarios.files import read_table
from trundle.systems.walking.scenario.measured.gait_data import GaitData, read_gait

_MARKERS = ("RLM", "RLEK", "FP2", "RGTRO")


def plain_rows(path: Path, separator: str | None = ",") -> list[list[float]]:
    """Return the numbers of a file's lines; a line of names and comments are left out."""
    rows: list[list[float]] = []
    for line in path.read_text("utf-8-sig").splitlines():
        words = line.split(separator) if separator else re.split(r"[\t, ]+", line)
        numbers = [float(w) if re.fullmatch(r"\s*[-+.\deE]+\s*", w) else np.nan for w in words]
        if line.strip() and not line.strip().startswith(("#", "%")) and not np.isnan(numbers).all():
            rows.append(numbers)
    return rows


def points(path: Path, columns: tuple[str, ...] = ("x", "y", "z")) -> str:
    """Read a table; its numbers are the file's."""
    table = read_table(path, columns, "f", str(path))
    must(np.array_equal(table, plain_rows(path)), "another table than the file's")
    return repr(table.tolist())


def of_scenario(base: dict[str, Any], path: Path) -> str:
    """Build the scenario that reads the file, in the file's folder; surface, curve or motion has the file's numbers."""
    home = path.with_suffix(".toml")
    home.write_text(tomli_w.dumps(base))
    simulation = build(load_scenario(home))
    assert isinstance(simulation, Simulation)
    hand: Any = simulation.model.base
    rows = plain_rows(path)
    if path.stem == "motion":
        read = np.column_stack([hand.motion.times, hand.motion.values])
    elif path.stem == "curve":
        read = np.array(hand.shape.points)
    else:
        x, y = np.meshgrid(hand.shape.x, hand.shape.y, indexing="ij")
        read, rows = np.column_stack([x.ravel(), y.ravel(), np.ravel(hand.shape.z)]), sorted(rows)
    must(np.array_equal(read, rows), "other numbers than the file's")
    return repr(read.tolist())


@cache
def table_of_points() -> str:
    """Return a CSV table of a surface."""
    return "x,y,z\n" + "".join(f"{0.1 * i},{0.1 * j},{0.01 * i * j}\n" for i in range(6) for j in range(6))


def _motion() -> str:
    rows = [[0.1 * k, 0, 0, np.sin(0.3 * k), 0.1 * np.cos(0.2 * k), 0, 0] for k in range(9)]
    return "t,wx,wy,wz,vx,vy,vz\n" + "".join(",".join(f"{v:.6g}" for v in row) + "\n" for row in rows)


def _curve() -> str:
    return "x,z\n" + "".join(f"{0.1 * k:.1f},{0.02 * np.sin(k):.6f}\n" for k in range(-15, 16))


def gait(path: Path) -> str:
    """Read markers and a plate from a text."""
    data = _sane(read_gait(path, *_MARKERS))
    must(len(data.time) == len(plain_rows(path, None)), "another number of rows than the file's")
    return repr(plain(vars(data)))


def marked(path: Path) -> str:
    """Read markers of a TRC or C3D file, and the plate of the MOT file beside it."""
    forces = mot(path.with_suffix(".mot"), columns()) if path.suffix == ".trc" else None
    return repr(plain(vars(_sane(read_gait(path, "LM", "LEK", "FP1", "HIP", forces=forces)))))


def loaded(path: Path) -> str:
    """Read the plate of a MOT file beside good markers."""
    markers = trc(path.with_suffix(".trc"), columns())
    return repr(plain(vars(_sane(read_gait(markers, "LM", "LEK", "FP1", "HIP", forces=path)))))


def _sane(data: GaitData) -> GaitData:
    must(np.isfinite(data.time).all() and (np.diff(data.time) > 0).all(), "times that do not ascend")
    for name, values in (vars(data) | dict(data.markers)).items():
        if isinstance(values, np.ndarray):
            must(len(values) == len(data.time) and not np.isinf(values).any(), name)
    return data


_SURFACE = {**BASES["torus"], "hand": {"shape": {"type": "heightmap", "file": "surface.csv"}}}
_MOVED = {
    **BASES["plate"],
    "hand": {"shape": {"type": "plane"}, "motion": {"type": "samples", "file": "motion.csv"}},
    "simulation": {"duration": 0.5},
}
_GROUND = {**BASES["ellipse"], "terrain": {"curve": {"type": "spline", "file": "curve.csv"}}}
_ROWS = (damage.text_of, damage.rows_of, damage.rows_of)
TABLES: dict[str, Kind] = {
    "points.csv": Kind(text(table_of_points()), points, _ROWS),
    "surface.csv": Kind(text(table_of_points()), partial(of_scenario, _SURFACE), _ROWS, share=2),
    "motion.csv": Kind(text(_motion()), partial(of_scenario, _MOVED), _ROWS, share=2),
    "curve.csv": Kind(text(_curve()), partial(of_scenario, _GROUND), _ROWS, share=2),
    "gait.txt": Kind(lambda path: file_of(path, synthetic()[:80]), gait, _ROWS),
    "walk.trc": Kind(lambda path: trc(path, columns()), marked, _ROWS),
    "plate.mot": Kind(lambda path: mot(path, columns()), loaded, _ROWS),
    "walk.c3d": Kind(lambda path: c3d(path, columns()), marked, (damage.bytes_of,), share=1),
}
