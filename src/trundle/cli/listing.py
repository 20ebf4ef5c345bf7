"""`trundle list`, `trundle show` and `trundle schema`: what there is."""

from __future__ import annotations

import typer

from trundle.cli.completion import complete_scenario, kinds
from trundle.cli.terminal import say

NAME = typer.Argument(help="Name of a scenario, see `trundle list`.", autocompletion=complete_scenario)
KIND = typer.Argument(metavar="KIND", help="Kind of scenario, see `trundle list`.", autocompletion=kinds)


def list_scenarios(
    as_json: bool = typer.Option(False, "--json", help="Print a JSON array instead of the table."),
) -> None:
    """List the named scenarios: name, kind, one line, paper."""
    from trundle.scenarios.catalogue import entries

    found = entries()
    if as_json:
        import json

        typer.echo(json.dumps([vars(entry) for entry in found], indent=2))
        return
    wide = max(len(entry.name) for entry in found)
    kinds = max(len(entry.kind) for entry in found)
    lines = max(len(entry.title) for entry in found)
    for entry in found:
        say(f"{entry.name:{wide}}  {entry.kind:{kinds}}  {entry.title:{lines}}  {entry.paper}")


def show(name: str = NAME) -> None:
    """Print a scenario's complete TOML file, units in comments: a start for your own."""
    from trundle.scenarios import catalogue

    if name not in catalogue.names():
        from trundle.scenarios.problems import Problem, ScenarioError, suggestion

        raise ScenarioError([Problem("NAME", name, f"no such scenario; {suggestion(name, catalogue.names())}")])
    typer.echo(catalogue.text_of(name), nl=False)


def schema(kind: str = KIND) -> None:
    """Print the JSON schema of a kind's scenario file, for editors."""
    import json

    from trundle.scenarios.schema import json_schema

    typer.echo(json.dumps(json_schema(kind), indent=2))
