"""Commands of `trundle` on damaged files, and the texts of its options: exit code 0 or 2, no traceback."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path

from tests.fuzz import damage
from tests.fuzz.kind import Kind, must, text
from tests.report.synthetic import disk_down_slope
from trundle.cli import main
from trundle.errors import InputError
from trundle.records import load_trajectory
from trundle.scenarios.engine.sweep_points import Axis
from trundle.scenarios.overrides import parse


def called(path: Path, *arguments: str) -> str:
    """Run a command; what it refuses, it refuses in words that name the file."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(arguments)
            code: object = 0
        except SystemExit as end:
            code = end.code
    said = err.getvalue()
    must(code in (0, None, 2) and "Traceback" not in said, f"exit code {code}: {said}")
    if code == 2:
        must(str(path.parent) in said.replace("\n", ""), f"a message without the file: {said}")
        raise InputError("command", " ".join(said.split()), "right", str(path))
    return out.getvalue()


def exported(to: str, path: Path) -> str:
    """Export a run; the table has as many rows as the run has times."""
    table = path.with_name(f"table.{to}")
    table.unlink(missing_ok=True)
    said = called(path, "export", str(path), "--to", to, "--out", str(table))
    if to == "csv":
        must(len(table.read_text().splitlines()) == 1 + len(load_trajectory(path).time), "another number of rows")
    return said


def options(path: Path) -> str:
    """Read each line as --set and as --over; a value that is read is one that JSON or TOML can hold."""
    found = []
    for line in path.read_text("utf-8", "replace").splitlines():
        for read in (parse, Axis.parse):
            try:
                found.append(repr(read(line)))
            except InputError as error:
                must(error.key.startswith("--"), f"{error} does not name the option")
    return json.dumps(found)


OPTIONS = """object.mass=1:4:4
object.shape.radius=0.1,0.2,0.3
seed=0:9:10
contact.law="rolling"
initial.contact_on_hand=[0.1, 0.2, 0.3]
hand.motion={type="coast"}
simulation.duration=1e-3
"""


def reported(path: Path) -> str:
    """Draw the pictures and the page of a run that is in a folder."""
    folder = path.parent / "run"
    folder.mkdir(exist_ok=True)
    (folder / "trajectory.nc").write_bytes(path.read_bytes())
    return called(path, "report", str(folder))


def of_record(read: Callable[[Path], str]) -> Kind:
    """Return the kind of a record that a command reads; damaged ones are refused as by `load_trajectory`."""
    return Kind(lambda path: disk_down_slope(duration=0.02).save(path), read, (damage.netcdf_under_checksum,), share=1)


COMMANDS: dict[str, Kind] = {
    **{f"run-{to}.nc": of_record(partial(exported, to)) for to in ("csv", "parquet", "mcap")},
    "report.nc": of_record(reported),
    "options.txt": Kind(text(OPTIONS), options, (damage.text_of, damage.rows_of)),
}
