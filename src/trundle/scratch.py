"""Temporary folders and locks of a process: the system unlocks those of a killed one, and the next cleans up."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # no advisory locks on this system
    fcntl = None

PREFIX = "trundle-"
_OLD = 86400.0  # s, age of what was left behind where locks do not work
_held: list[int] = []


def try_lock(handle: int) -> bool | None:
    """Lock an open file or folder; False if another one holds the lock, None where locks do not work."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


@contextlib.contextmanager
def scratch(prefix: str = PREFIX, parent: Path | None = None) -> Iterator[Path]:
    """Yield a new private folder, which is removed afterwards, or by `clear` if the process is killed."""
    path, handle = _new(prefix, parent)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(handle)


def lasting_scratch() -> Path:
    """Return a new private folder that stays until this process has ended and another one calls `clear`."""
    path, handle = _new(PREFIX, None)
    _held.append(handle)
    return path


def _new(prefix: str, parent: Path | None) -> tuple[Path, int]:
    # Locked before it has a name that `clear` looks at.
    fresh = Path(tempfile.mkdtemp(prefix=f".{prefix}{os.getpid()}-", dir=parent))
    handle = os.open(fresh, os.O_RDONLY | os.O_CLOEXEC)
    try_lock(handle)
    return fresh.rename(fresh.with_name(fresh.name[1:])), handle


def clear(prefix: str = PREFIX, parent: Path | None = None) -> None:
    """Remove scratch folders of processes that are gone; in a `parent`, which is ours, all old ones of this prefix."""
    ours = re.compile(rf"\.?{re.escape(prefix)}\d+-\w{{8}}")
    home = Path(tempfile.gettempdir()) if parent is None else parent
    for path in (*home.glob(f"{prefix}*"), *home.glob(f".{prefix}*")):
        with contextlib.suppress(OSError):
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                facts, free = os.fstat(handle), try_lock(handle)
                named = ours.fullmatch(path.name) is not None and facts.st_mode & 0o077 == 0
                old = time.time() - facts.st_mtime > _OLD and (named or parent is not None)
                gone = old if not free or path.name[0] == "." else named or old
                if gone and free is not False and facts.st_uid == os.getuid():
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(handle)
