"""`trundle report`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import typer

from trundle.cli.terminal import say


class Format(StrEnum):
    """Formats of plots."""

    png, svg, pdf = "png", "svg", "pdf"


FORMAT = typer.Option(Format.png, "--format", help="Format of the plots.")


def report(
    directory: Path = typer.Argument(metavar="DIR", help="Folder of a run."), plot_format: Format = FORMAT
) -> None:
    """Make the plots and the viewer page of a run again from its files."""
    from trundle.errors import InputError
    from trundle.scenarios.engine.pictures import write_report

    if not (directory / "trajectory.nc").is_file():
        raise InputError("DIR", str(directory), "the folder of a run, with its trajectory.nc")
    for path in write_report(directory, plots=True, viewer=True, plot_format=plot_format):
        say(str(path))
