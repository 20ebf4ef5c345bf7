"""The command line: one command a file, nothing but argument handling."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from trundle.cli import interrupt

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code.

    Exit codes: 0 done and all limits hold, 1 the task failed or a limit was violated, 2 bad input, 130 interrupted.
    """
    with interrupt.watched():
        try:
            from trundle.cli.app import app

            app(args=None if arguments is None else list(arguments), prog_name="trundle")
        except BaseException as error:
            # While modules load, an interrupt can come out as any exception.
            if not (interrupt.noted() or isinstance(error, KeyboardInterrupt)):
                raise
            if not (isinstance(error, SystemExit) and error.code == interrupt.EXIT_CODE):
                sys.stderr.write("interrupted\n")
            raise SystemExit(interrupt.EXIT_CODE) from None
