"""The command line: one command a file, nothing but argument handling."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code.

    Exit codes: 0 done and all limits hold, 1 the task failed or a limit was violated, 2 bad input, 130 interrupted.
    """
    from trundle.cli.app import app

    app(args=None if arguments is None else list(arguments), prog_name="trundle")
