"""`trundle sweep`."""

from __future__ import annotations

from pathlib import Path

import typer

from trundle.cli import interrupt
from trundle.cli.check import ALLOW_PATH, SET
from trundle.cli.completion import keys
from trundle.cli.export import split
from trundle.cli.run import SCENARIO, SCHEDULER, bar
from trundle.cli.terminal import say

OVER = typer.Option(
    [],
    "--over",
    metavar="TABLE.KEY=A:B:N",
    help="N values from A to B, or =V1,V2,... (TOML); repeatable: a grid.",
    autocompletion=keys,
)


def sweep(
    scenario: str = SCENARIO,
    over: list[str] = OVER,
    out: Path = typer.Option(..., "--out", metavar="DIR", help="Folder; that of the same sweep is gone on with."),
    samples: int | None = typer.Option(None, "--samples", metavar="N", min=1, help="N random draws, not the grid."),
    seed: int | None = typer.Option(None, "--seed", metavar="N", min=0, max=2**53, help="Seed of everything random."),
    jobs: int | None = typer.Option(None, "--jobs", metavar="N", min=1, help="Processes [all processors]."),
    scheduler: str | None = SCHEDULER,
    keep: str = typer.Option("", "--keep", metavar="COLUMN,...", help="Columns of the trajectories to keep."),
    overrides: list[str] = SET,
    quiet: bool = typer.Option(False, "--quiet", help="Print nothing but errors."),
    allow_path: list[Path] = ALLOW_PATH,
) -> None:
    """Run a scenario many times and write one Parquet table.

    A run that fails is a row with its status. Exit codes: 0 every run has its row; 2 bad input; 130 interrupted (the
    same command goes on where it was).
    """
    from trundle.scenarios.engine.sweep import KEPT
    from trundle.scenarios.engine.sweep import sweep as run_sweep

    with bar(not quiet) as show:
        done = run_sweep(
            scenario,
            over,
            out,
            samples=samples,
            seed=seed,
            jobs=jobs,
            scheduler=scheduler,
            keep=split(keep),
            overrides=overrides,
            allow_path=allow_path,
            progress=lambda done, count: show(f"run {done} of {count}", done / count),
        )
    if not quiet:
        before = f", {done.resumed} of them from before" if done.resumed else ""
        say(f"{len(done.rows)} runs{before}; {done.failed} without success")
        say(f"table: {done.table}")
        if keep:
            say(f"trajectories: {done.table.with_name(KEPT)}")
    if not done.complete:
        say("interrupted: the same command goes on from here", err=True)
        raise typer.Exit(interrupt.EXIT_CODE)
