"""`trundle export`."""

from __future__ import annotations

from pathlib import Path

import typer

from trundle.cli.check import ALLOW_PATH
from trundle.cli.run import SET
from trundle.cli.terminal import say


def export(
    scenario: str = typer.Argument(metavar="NAME", help="A scenario of `trundle list`, or a file."),
    out: Path = typer.Option(..., "--out", metavar="DIR", help="Folder: new, or that of an earlier export."),
    overrides: list[str] = SET,
    allow_path: list[Path] = ALLOW_PATH,
) -> None:
    """Write C source of a scenario's model and controller, and a program that checks it."""
    from trundle.scenarios import load_scenario
    from trundle.scenarios.engine.export import export as export_scenario

    done = export_scenario(load_scenario(scenario, overrides, allow_path=allow_path), out)
    say(f"model: {done.name}_rate in {done.name}.h; controller: {done.controller}")
    build = out / "build"
    say(f"build and check: cmake -S {out} -B {build} && cmake --build {build} && {build}/{done.name}_check")
