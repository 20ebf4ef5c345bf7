"""`trundle run`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

import typer

from trundle.bars import bar as shown
from trundle.cli import interrupt
from trundle.cli.card import tell
from trundle.cli.check import ALLOW_PATH, SET
from trundle.cli.completion import scenarios
from trundle.cli.view import watch_in_browser


class Format(StrEnum):
    """Formats of plots."""

    png, svg, pdf = "png", "svg", "pdf"


class Style(StrEnum):
    """Styles of plots."""

    screen, paper = "screen", "paper"


FORMAT = typer.Option(Format.png, "--format", help="Format of the plots.")
STYLE = typer.Option(Style.screen, "--style", help="Of the plots: paper is one of two columns wide, in 8 pt.")
SCHEDULER = typer.Option(None, "--scheduler", metavar="ADDRESS", help="Dask scheduler whose workers do the runs.")
SCENARIO = typer.Argument(
    metavar="NAME|FILE.toml", help="A scenario of `trundle list`, or a file.", autocompletion=scenarios
)


def run(
    scenario: str = SCENARIO,
    overrides: list[str] = SET,
    out: Path | None = typer.Option(None, "--out", metavar="DIR", help="Folder of the run [runs/<name>-<time>]."),
    seed: int | None = typer.Option(None, "--seed", metavar="N", min=0, max=2**53, help="Seed of everything random."),
    quiet: bool = typer.Option(False, "--quiet", help="Print nothing but errors."),
    verbose: bool = typer.Option(False, "--verbose", "-v", help="In a terminal: metrics without a limit, too."),
    as_json: bool = typer.Option(False, "--json", help="Print summary.json to stdout and nothing else there."),
    no_plots: bool = typer.Option(False, "--no-plots", help="Write no pictures."),
    plot_format: Format = FORMAT,
    plot_style: Style = STYLE,
    warm_from: Path | None = typer.Option(None, "--warm-from", metavar="RUN", help="Start a plan from another run."),
    jobs: int | None = typer.Option(None, "--jobs", metavar="N", min=1, help="Processes for trials [all cores]."),
    scheduler: str | None = SCHEDULER,
    view: bool = typer.Option(False, "--view", help="Show run and viewer page in the browser."),
    allow_path: list[Path] = ALLOW_PATH,
) -> None:
    """Run a scenario and write its folder.

    Exit codes: 0 done and all limits of [acceptance] hold; 1 the task failed or a limit was violated;
    2 bad input; 130 interrupted (what was computed is saved).
    """
    from trundle.scenarios import load_scenario
    from trundle.scenarios import run as run_scenario

    if warm_from is not None:
        overrides = [*overrides, f"plan.warm_from={json.dumps(str(warm_from.resolve() / 'trajectory.nc'))}"]
        allow_path = [*allow_path, warm_from]
    begun, loaded = time.monotonic(), load_scenario(scenario, overrides, seed, allow_path)
    with bar(not (quiet or as_json)) as line, watch_in_browser(view, loaded.name, line) as (progress, show):
        result = run_scenario(
            loaded,
            out,
            plots=not no_plots,
            progress=progress,
            jobs=jobs,
            scheduler=scheduler,
            plot_format=plot_format,
            plot_style=plot_style,
        )
        show(result.directory)
    if as_json:
        typer.echo(json.dumps(result.summary, indent=2))
    elif not quiet:
        tell(result, time.monotonic() - begun, verbose)
    raise typer.Exit(result.exit_code)


@contextmanager
def bar(wanted: bool) -> Iterator[Callable[[str, float], None]]:
    """Show what is going on, as `trundle.bars.bar` does; an interrupt noted is raised, and marks how it ended."""

    def advance_bar(what: str, share: float) -> None:
        interrupt.check()
        show(what, share)

    with shown(wanted) as show:
        yield advance_bar
        show.stopped = interrupt.was_interrupted()
