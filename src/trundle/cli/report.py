"""`trundle report` and `trundle render`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import typer

from trundle.cli.run import FORMAT, STYLE, Format, Style, bar
from trundle.cli.terminal import say


def report(
    directory: Path = typer.Argument(metavar="DIR", help="Folder of a run."),
    plot_format: Format = FORMAT,
    plot_style: Style = STYLE,
) -> None:
    """Make the plots and the viewer page of a run again from its files."""
    from trundle.errors import InputError
    from trundle.scenarios.engine.pictures import write_report

    if not (directory / "trajectory.nc").is_file():
        raise InputError("DIR", str(directory), "the folder of a run, with its trajectory.nc")
    with bar(True) as show:
        tell = partial(show, "plots and page")
        written = write_report(directory, plot_format=plot_format, plot_style=plot_style, progress=tell)
    say(*map(str, written))


def render(
    directory: Path = typer.Argument(metavar="DIR", help="Folder of a run."),
    video: Path = typer.Option(..., "--video", metavar="FILE", help="The video, .mp4 or .gif."),
    part: str = typer.Option("", "--part", metavar="NAME", help="A part of the run [the main run]."),
    width: int = typer.Option(1280, "--width", help="Pixels."),
    height: int = typer.Option(720, "--height", help="Pixels."),
    quiet: bool = typer.Option(False, "--quiet", help="Print nothing but errors."),
) -> None:
    """Write the moving picture of a run as a video; nothing is shown, no display is needed."""
    from trundle.errors import InputError
    from trundle.report import trajectories
    from trundle.report.video import write_video
    from trundle.scenarios.engine.pictures import stage

    found = trajectories(directory)
    if part not in found:
        raise InputError("--part", part, "one of " + (", ".join(name for name in found if name) or "none: no parts"))
    with bar(not quiet) as progress:
        file = write_video(stage(found[part]), video, width=width, height=height, progress=progress)
    if not quiet:
        say(str(file))
