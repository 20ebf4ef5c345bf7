"""What the commands print: lines as they are, but for characters that would steer the terminal."""

from __future__ import annotations

import typer

from trundle.errors import printable


def say(*lines: str, err: bool = False) -> None:
    """Print lines to stdout, or to stderr."""
    for line in lines:
        typer.echo(printable(line), err=err)
