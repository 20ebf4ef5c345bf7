"""What every command does with errors: one message and an exit code."""

from __future__ import annotations

import functools
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn, ParamSpec

import typer

from trundle.cli import interrupt
from trundle.cli.terminal import say
from trundle.errors import InputError, TrundleError, of_machine

Arguments = ParamSpec("Arguments")
BAD_INPUT = 2  # exit code: the user can mend it
FAILED = 1  # exit code: the computation did not succeed


def guard_command(function: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Return the command `function` whose errors become a message on stderr and an exit code.

    An interrupt gives 130, whatever exception it came out as, and even if none did. Bad input gives 2, other errors of
    trundle 1. Anything else is a bug: it is said so, with its traceback, and gives 1.
    """

    @functools.wraps(function)
    def command(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        """Run the function, and turn what goes wrong into a message and an exit code."""
        try:
            try:
                function(*args, **kwargs)
            finally:
                sys.stdout.flush()  # what a full disk does not take is said here, not by a traceback at the very end
            interrupt.check()
        except KeyboardInterrupt:
            interrupt.note()
            _leave("interrupted", interrupt.EXIT_CODE)
        except Exception as error:
            _answer(error)

    return command


def _answer(error: Exception) -> NoReturn:
    """Say what happened and leave."""
    ended = isinstance(error, typer.Exit)
    if interrupt.was_interrupted() and not (ended and error.exit_code == interrupt.EXIT_CODE):
        _leave("interrupted", interrupt.EXIT_CODE)
    if ended or isinstance(error, BrokenPipeError):
        raise error
    if isinstance(error, TrundleError):
        _leave(f"error: {error}", BAD_INPUT if isinstance(error, InputError) else FAILED)
    if of_machine(error):
        raise error  # `main` says it
    if isinstance(error, MemoryError):
        _leave("error: there is not enough memory", FAILED)
    say(*"".join(traceback.format_exception(error)).splitlines(), err=True)
    _leave("error: this is a bug in trundle; the lines above and the scenario file help to mend it", FAILED)


def _leave(message: str, code: int) -> NoReturn:
    say(*message.splitlines(), err=True)
    raise typer.Exit(code)
