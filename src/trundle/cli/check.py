"""`trundle check`."""

from __future__ import annotations

from pathlib import Path

import typer

from trundle.cli.completion import keys, scenarios
from trundle.cli.terminal import say

ALLOW_PATH = typer.Option([], "--allow-path", metavar="DIR", help="Data files may lie in this folder too.")
SET = typer.Option(
    [], "--set", metavar="TABLE.KEY=VALUE", help="Set a value (TOML); parts follow; repeatable.", autocompletion=keys
)
FILE = typer.Argument(metavar="FILE.toml", help="Scenario file, or the name of a scenario.", autocompletion=scenarios)


def check(
    file: str = FILE,
    overrides: list[str] = SET,
    allow_path: list[Path] = ALLOW_PATH,
) -> None:
    """Validate a scenario file without running it.

    The names of metrics in [acceptance] are not checked: `run`, which computes the metrics, says which are none.
    """
    from trundle.scenarios import load_scenario
    from trundle.scenarios.engine.building import build_all

    scenario = load_scenario(file, overrides, allow_path=allow_path)
    build_all(scenario)
    say(f"{file}: ok (kind {scenario.kind}, task {scenario.task})")
