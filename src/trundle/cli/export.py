"""`trundle export`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import typer

from trundle.cli.check import ALLOW_PATH, SET
from trundle.cli.completion import scenarios
from trundle.cli.terminal import say
from trundle.errors import InputError

SOURCE = typer.Argument(
    metavar="NAME|RUN", help="A scenario or a file; with --to a run: DIR or FILE.nc.", autocompletion=scenarios
)
TO = typer.Option(
    "c", "--to", metavar="c|csv|parquet|mcap", help="C source of a scenario, or a run as a table or MCAP."
)
COLUMNS = typer.Option("", "--columns", metavar="COLUMN,...", help="Of a run: the columns to write [all].")


def export(
    source: str = SOURCE,
    out: Path = typer.Option(..., "--out", metavar="DIR|FILE", help="Folder for C: new or of an export; else a file."),
    to: str = TO,
    columns: str = COLUMNS,
    trials: bool = typer.Option(False, "--trials", help="Of a run: what came of its trials, one row a trial."),
    overrides: list[str] = SET,
    allow_path: list[Path] = ALLOW_PATH,
) -> None:
    """Write a scenario's model and controller as C with a program that checks it, or a run's trajectory as a table."""
    if to == "c":
        _refuse("--to csv, parquet or mcap", {"--columns": columns, "--trials": trials})
        _export_scenario(source, out, overrides, allow_path)
        return
    from trundle.checks import choice
    from trundle.records import load_trajectory

    choice("--to", to, ("c", "csv", "parquet", "mcap"))
    _refuse("--to c", {"--set": overrides, "--allow-path": allow_path} | ({"--trials": trials} if to == "mcap" else {}))
    file = Path(source)
    run = load_trajectory(file / "trajectory.nc" if file.is_dir() else file)
    chosen = split(columns) or None
    if to == "mcap":
        try:
            written = run.to_mcap(out, chosen)
        except InputError as error:
            if error.key != "time":  # of the run, which begins before 0 s
                raise
            raise error.within("", source) from None
    else:
        written = (run.to_csv if to == "csv" else run.to_parquet)(out, chosen, trials=trials)
    say(f"written: {written}")


def split(names: str) -> list[str]:
    """Return the names of an option that takes several."""
    return [name.strip() for name in names.split(",") if name.strip()]


def _refuse(other: str, options: Mapping[str, object]) -> None:
    for option, value in options.items():
        if value:
            raise InputError(option, value, f"given only with {other}")


def _export_scenario(scenario: str, out: Path, overrides: list[str], allow_path: list[Path]) -> None:
    from trundle.scenarios import load_scenario
    from trundle.scenarios.engine.export import export as export_scenario

    done = export_scenario(load_scenario(scenario, overrides, allow_path=allow_path), out)
    model = f"{done.name}_rate in {done.name}.h" if done.model else "none"
    say(f"model: {model}; controller: {done.controller}")
    build = out / "build"
    say(f"build and check: cmake -S {out} -B {build} && cmake --build {build} && {build}/{done.name}_check")
