"""What every command does with errors: one message and an exit code."""

from __future__ import annotations

import functools
import sys
import traceback
from collections.abc import Callable
from typing import Any

import typer

from trundle.errors import InputError, TrundleError

BAD_INPUT = 2
FAILED = 1
INTERRUPTED = 130


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command `function` whose errors become a message on stderr and an exit code.

    Bad input gives 2, other errors of trundle 1, an interrupt 130. Anything else is a bug: it is said so, with its
    traceback, and gives 1.
    """

    @functools.wraps(function)
    def command(*args: Any, **kwargs: Any) -> None:
        try:
            function(*args, **kwargs)
        except InputError as error:
            _leave(str(error), BAD_INPUT)
        except TrundleError as error:
            _leave(str(error), FAILED)
        except KeyboardInterrupt:
            _leave("interrupted", INTERRUPTED)
        except (typer.Exit, BrokenPipeError):
            raise
        except Exception:
            traceback.print_exc(file=sys.stderr)
            _leave("this is a bug in trundle; the lines above and the scenario file help to mend it", FAILED)

    return command


def _leave(message: str, code: int) -> None:
    typer.echo(f"error: {message}" if code != INTERRUPTED else message, err=True)
    raise typer.Exit(code)
