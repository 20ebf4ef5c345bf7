"""`trundle schema`."""

from __future__ import annotations

import typer


def schema(kind: str = typer.Argument(metavar="KIND", help="Kind of scenario, see `trundle list`.")) -> None:
    """Print the JSON schema of a kind's scenario file, for editors."""
    import json

    from trundle.scenarios.schema import json_schema

    typer.echo(json.dumps(json_schema(kind), indent=2))
