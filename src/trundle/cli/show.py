"""`trundle show`."""

from __future__ import annotations

import typer


def show(name: str = typer.Argument(help="Name of a scenario, see `trundle list`.")) -> None:
    """Print a scenario's complete TOML file, units in comments: a start for your own."""
    from trundle.scenarios import catalogue

    if name not in catalogue.names():
        from trundle.scenarios.problems import Problem, ScenarioError, suggestion

        raise ScenarioError([Problem("NAME", name, f"no such scenario; {suggestion(name, catalogue.names())}")])
    typer.echo(catalogue.text_of(name), nl=False)
