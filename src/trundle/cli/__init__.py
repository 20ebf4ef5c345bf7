"""The command line: one command a file, nothing but argument handling."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from trundle.cli import interrupt
from trundle.errors import of_machine, printable, reason

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code.

    Exit codes: 0 done and all limits hold, 1 the task failed or a limit was violated, 2 bad input, 130 interrupted.
    """
    with interrupt.watch_interrupts():
        try:
            from trundle.cli.app import app

            given = sys.argv[1:] if arguments is None else list(arguments)
            raise SystemExit(app(args=given, prog_name="trundle", standalone_mode=False) or 0)
        except BaseException as error:
            # While modules load, an interrupt can come out as any exception.
            if not (interrupt.was_interrupted() or isinstance(error, KeyboardInterrupt)):
                if isinstance(error, OSError) and of_machine(error):
                    _leave(error)
                if hasattr(error, "format_message"):
                    _usage(error)
                raise
            if not (isinstance(error, SystemExit) and error.code == interrupt.EXIT_CODE):
                sys.stderr.write("interrupted\n")
            raise SystemExit(interrupt.EXIT_CODE) from None


def _leave(error: OSError) -> NoReturn:
    """Say in one line what the machine refused, mostly to take what is printed: standard output on a full disk."""
    with suppress(OSError):  # what is left in its buffer would be tried again at the very end, and give a traceback
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.stderr.write(f"error: {reason(error)}\n")
    raise SystemExit(1) from None


def _usage(error: BaseException) -> NoReturn:
    """Say what was wrong with the arguments."""
    text = io.StringIO()
    getattr(error, "show")(file=text)  # noqa: B009 - typer does not name the class
    sys.stderr.write(printable(text.getvalue(), keep="\n"))
    raise SystemExit(getattr(error, "exit_code")) from None  # noqa: B009
