"""What the commands print: lines as they are, but for characters that would steer the terminal."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from trundle.errors import printable


def say(*lines: str, err: bool = False) -> None:
    """Print lines to stdout, or to stderr."""
    for line in lines:
        typer.echo(printable(line), err=err)


def columns(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print a table as plain columns, however wide: a program can read it too."""
    wide = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        say("  ".join(cell.ljust(size) for cell, size in zip(row, wide, strict=True)).rstrip())
