"""`trundle report`."""

from __future__ import annotations

from pathlib import Path

import typer

from trundle.cli.terminal import say


def report(directory: Path = typer.Argument(metavar="DIR", help="Folder of a run.")) -> None:
    """Make the plots and the viewer page of a run again from its files."""
    from trundle.errors import InputError
    from trundle.scenarios.engine.pictures import write_report

    if not (directory / "trajectory.nc").is_file():
        raise InputError("DIR", str(directory), "the folder of a run, with its trajectory.nc")
    for path in write_report(directory, plots=True, viewer=True):
        say(str(path))
