"""`trundle list`."""

from __future__ import annotations

import typer

from trundle.cli.terminal import say


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
