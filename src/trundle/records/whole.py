"""The one way to and from the disk: files written whole or not at all, lines of a journal, a log, bounded reading.

Content is made in memory first. What the machine refuses (a full disk, one that is read only or broken) is a
`StorageError`; what the user gave wrongly (a folder that is not there, no permission) an `InputError`.
"""

from __future__ import annotations

import logging
import os
import stat
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from trundle.errors import InputError, StorageError, TrundleError, of_machine, reason


@contextmanager
def storing(
    path: str | Path, key: str = "path", allowed: str = "a file in a folder that can be written to"
) -> Iterator[None]:
    """Turn what goes wrong while `path` is made into a `StorageError`, or an `InputError` that says what is allowed."""
    try:
        yield
    except TrundleError:
        raise
    except (OSError, ValueError) as error:
        if of_machine(error):
            raise StorageError(f"{path} cannot be written: {reason(error)}") from None
        raise InputError(key, str(path), f"{allowed} ({reason(error)})") from None


def write_bytes(path: str | Path, content: bytes, mode: int = 0o666) -> Path:
    """Write a file whole or not at all, and return its path.

    A file beside it takes the content, is forced to the disk, and then takes its place: a reader never sees half a
    file, and a full disk leaves what was there before.

    Raises
    ------
    InputError
        If the folder does not exist or cannot be written to.
    StorageError
        If the disk is full, read only or broken.
    """
    target = Path(path)
    part = target.with_name(f".{target.name}.{uuid.uuid4().hex[:12]}.part")
    with storing(target):
        try:
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
            try:
                _write(handle, content)
            finally:
                os.close(handle)
            os.replace(part, target)
        finally:
            with suppress(OSError, ValueError):
                part.unlink(missing_ok=True)
    return target


def append(handle: int, line: bytes, path: str | Path, lasting: bool = True) -> None:
    """Append a line to an open journal, forced to the disk if `lasting`; of a line that does not fit nothing stays."""
    with storing(path):
        end = os.fstat(handle).st_size
        try:
            _write(handle, line, lasting)
        except OSError:
            with suppress(OSError):
                os.ftruncate(handle, end)
            raise


def _write(handle: int, content: bytes, lasting: bool = True) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(handle, left) :]
    if lasting:
        os.fsync(handle)


def kept_elsewhere(error: StorageError, name: str, write: Callable[[Path], object]) -> StorageError:
    """Write a file to a fresh folder of the temporary directory instead; return the error, which then names it."""
    try:
        path = Path(tempfile.mkdtemp(prefix="trundle-kept-"), name)
        write(path)
    except (OSError, TrundleError):
        return error
    return StorageError(f"{error}; it is kept in {path}")


class LogFile(logging.FileHandler):
    """A log whose first failure is kept in `failure`, where the library would print a traceback for every line."""

    def __init__(self, path: Path) -> None:
        self.failure: BaseException | None = None
        with storing(path):
            super().__init__(path, mode="w", encoding="utf-8")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (the library's own name)
        """Keep a failure of the disk."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            super().handleError(record)
        self.failure = self.failure or error

    def close(self) -> None:
        """Close the file; what is left over and does not fit is a failure, too."""
        try:
            super().close()
        except OSError as error:
            self.failure = self.failure or error

    def check(self) -> None:
        """Raise the failure, if there was one."""
        with storing(self.baseFilename):
            if self.failure is not None:
                raise self.failure


def read_bytes(path: Path, limit: int, key: str, shown: str, file: str | None = None) -> bytes:
    """Return the content of a regular file of at most `limit` bytes.

    Raises
    ------
    InputError
        If there is no such file, it cannot be read, is a folder, pipe or device, or is larger.
    """
    try:
        # Opened without blocking and checked afterwards: a pipe in the file's place cannot make the program wait.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        with os.fdopen(handle, "rb") as stream:
            facts = os.fstat(handle)
            if not stat.S_ISREG(facts.st_mode):
                raise InputError(key, shown, "a regular file (it is a pipe or device)", file)
            # Not `limit` bytes: Python takes the memory for as many before it reads the first.
            content = stream.read(facts.st_size + 1) if facts.st_size <= limit else None
    except IsADirectoryError:
        raise InputError(key, shown, "a regular file (it is a folder)", file) from None
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(key, shown, f"a file that can be read ({reason(error)})", file) from None
    if content is None:
        raise InputError(key, shown, f"a file of at most {limit:,} bytes", file)
    if len(content) > facts.st_size:
        raise InputError(key, shown, "a file that nothing writes to while it is read", file)
    return content
