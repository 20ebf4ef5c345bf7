"""The log of a run: what trundle logs in the thread of the run goes to its file, of other threads nothing does."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from trundle.errors import printable
from trundle.records.whole import LogFile

RUN = logging.getLogger("trundle.run")
RUN.setLevel(logging.INFO)
_file: ContextVar[logging.Handler | None] = ContextVar("log of the run", default=None)


class _OfThisRun(logging.Handler):
    """Hand records to the file of the run they come from; without one, to where they would go without this handler."""

    def emit(self, record: logging.LogRecord) -> None:
        record.msg, record.args = printable(record.getMessage(), keep="\n"), ()
        file, last = _file.get(), logging.lastResort
        if file is not None:
            file.handle(record)
        if last is not None and record.levelno >= last.level and not logging.getLogger().handlers:
            if file is None or getattr(record, "aloud", False):
                last.handle(record)


logging.getLogger("trundle").addHandler(_OfThisRun())


@contextmanager
def log_to_file(path: Path) -> Iterator[None]:
    """Write what trundle logs within the block, and in its thread, to a file."""
    file = LogFile(path)
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    token = _file.set(file)
    try:
        yield
    except BaseException:
        RUN.exception("the run ended with an error")
        raise
    finally:
        _file.reset(token)
        file.close()
    file.check()
