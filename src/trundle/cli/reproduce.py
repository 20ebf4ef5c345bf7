"""`trundle reproduce`."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from trundle.cli.completion import complete_scenario
from trundle.cli.run import bar
from trundle.cli.terminal import columns, say

NAMES = typer.Argument(
    None,
    metavar="[NAME]...",
    help="Scenarios of `trundle list` [all of them: takes minutes].",
    autocompletion=complete_scenario,
)


def reproduce(
    names: list[str] | None = NAMES,
    out: Path | None = typer.Option(None, "--out", metavar="DIR", help="Folder [runs/reproduce-<time>]."),
    no_plots: bool = typer.Option(False, "--no-plots", help="Write no pictures."),
) -> None:
    """Run the papers' scenarios and print their figures beside the published ones.

    Exit codes: 0 all ran and all limits hold; 1 one failed or a limit was violated; 2 bad input; 130 interrupted.
    """
    from trundle.scenarios.engine.reproduce import COLUMNS
    from trundle.scenarios.engine.reproduce import reproduce as reproduce_all

    begun: set[str] = set()
    with bar(True) as show:

        def progress(what: str, share: float) -> None:
            name = what.partition(":")[0]
            if name not in begun and not sys.stderr.isatty():
                say(name, err=True)  # where there is no bar
            begun.add(name)
            show(what, share)

        done = reproduce_all(names or (), out, plots=not no_plots, progress=progress)
    columns(COLUMNS, [line.cells() for line in done.lines])
    for name, status in done.statuses.items():
        say(f"{name}: {status}")
    say(f"files: {done.directory}")
    raise typer.Exit(done.exit_code)
