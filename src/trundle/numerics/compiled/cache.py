"""A private directory of compiled libraries, each verified by its checksum before it is loaded."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import logging
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from trundle import scratch
from trundle.errors import StorageError, of_machine, reason
from trundle.records.whole import write_bytes
from trundle.threads import made_once

SUFFIX = ".so"
CHECKSUM_SUFFIX = ".sha256"
MAXIMUM_SIZE = 512 * 1024**2  # bytes; beyond it the libraries unused for longest are removed

_PATIENCE = 2.0  # s of waiting for a lock without a word
_LONGEST = 60.0  # s of waiting for a lock; a second build only costs time

_logger = logging.getLogger("trundle")
_advised: set[str] = set()
_fallback: dict[int, Path] = {}
_cleared: set[tuple[int, Path]] = set()
_full: dict[Path, str] = {}


def advise_once(topic: str, message: str) -> None:
    """Log one line of advice at warning level, once a process for each topic."""
    if topic not in _advised:
        _advised.add(topic)
        _logger.warning(message)


def cache_directory() -> Path:
    """Return the directory of compiled libraries, made if it is not there.

    It is ``$TRUNDLE_CACHE``, else ``$XDG_CACHE_HOME/trundle``, else ``~/.cache/trundle``. A directory that is a
    symbolic link, belongs to another user or can be written by others is refused, because a library in it is code that
    gets executed: a temporary private directory is used for this process instead, with one line of advice.
    """
    wanted = _wanted_directory()
    problem = (
        "it cannot be found: there is no home directory" if wanted is None else _full.get(wanted) or _prepare(wanted)
    )
    if wanted is not None and not problem:
        if (os.getpid(), wanted) not in _cleared:
            _cleared.add((os.getpid(), wanted))
            scratch.clear("build-", wanted)
            scratch.clear()
        return wanted
    advise_once(
        f"cache {wanted}",
        f"compiled code is not kept, so every start compiles again: {wanted or 'the cache'} is refused, {problem}; "
        "set TRUNDLE_CACHE to a directory only you can write",
    )
    return _temporary_directory()


def fetch(name: str, key: str, build: Callable[[Path], None]) -> Path:
    """Return the library `name` with the content key `key`, built if it is missing or does not match its checksum.

    Parameters
    ----------
    name : str
        First part of the file name, letters, digits and underscores.
    key : str
        Hexadecimal digest of everything the library depends on.
    build : callable
        ``build(path)`` writes the library to `path`; what it raises is passed on and nothing is stored.

    Raises
    ------
    StorageError, OSError
        If the disk is full, and that of the temporary directory, which is taken then, too.
    """
    found = find(name, key)
    if found is not None:
        return found
    directory = cache_directory()
    try:
        return _store_library(directory, name, key, build)
    except (OSError, StorageError) as error:
        if not of_machine(error) or directory in _fallback.values():
            raise
        _full[directory] = str(error) if isinstance(error, StorageError) else reason(error)
    return fetch(name, key, build)


def _store_library(directory: Path, name: str, key: str, build: Callable[[Path], None]) -> Path:
    path = directory / f"{name[:60]}-{key[:40]}{SUFFIX}"
    with _lock_file(directory / f"lock-{key[:1]}"):
        if verify_checksum(path):
            return path
        with scratch.scratch("build-", directory) as folder:
            build(library := folder / "library.so")
            content = library.read_bytes()
        write_bytes(path, content, 0o700)
        write_bytes(path.with_suffix(CHECKSUM_SUFFIX), f"{hashlib.sha256(content).hexdigest()}\n".encode())
        _trim(directory, keep=path)
    return path


def find(name: str, key: str) -> Path | None:
    """Return the library `name` with the content key `key` if it is there and matches its checksum."""
    path = cache_directory() / f"{name[:60]}-{key[:40]}{SUFFIX}"
    if not verify_checksum(path):
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return path


def verify_checksum(path: Path) -> bool:
    """Whether `path` is a regular file whose SHA-256 is the one stored beside it."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return False
        return path.with_suffix(CHECKSUM_SUFFIX).read_text().strip() == _digest(path)
    except (OSError, ValueError):
        return False


def entries(directory: Path | None = None) -> list[Path]:
    """Return the compiled libraries in the cache."""
    return sorted((directory or cache_directory()).glob(f"*-*{SUFFIX}"))


def clear_cache() -> int:
    """Remove the compiled libraries and return how many there were; other files in the directory stay."""
    found = entries()
    for path in found:
        _remove(path)
    return len(found)


def _wanted_directory() -> Path | None:
    chosen = os.environ.get("TRUNDLE_CACHE")
    if chosen:
        return Path(chosen).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    if base and os.path.isabs(base):
        return Path(base) / "trundle"
    try:
        return Path.home() / ".cache" / "trundle"
    except RuntimeError:
        return None


def _prepare(directory: Path) -> str:
    """Make `directory` private; return what is wrong with it, or nothing."""
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            directory.mkdir(mode=0o700)
        facts = directory.lstat()
    except OSError as error:
        return f"it cannot be made ({error.strerror})"
    if stat.S_ISLNK(facts.st_mode):
        return "it is a symbolic link"
    if not stat.S_ISDIR(facts.st_mode):
        return "it is no directory"
    if facts.st_uid != os.getuid():
        return "it belongs to another user"
    if facts.st_mode & 0o022:
        return "others can write it (chmod 700 makes it private)"
    if not os.access(directory, os.W_OK | os.X_OK):
        return "it cannot be written"
    return ""


def _temporary_directory() -> Path:
    if (gone := _fallback.get(os.getpid())) and not gone.is_dir():
        _fallback.pop(os.getpid(), None)
    return made_once(_fallback, os.getpid(), _new_temporary_directory)


def _new_temporary_directory() -> Path:
    try:
        made = scratch.lasting_scratch()
    except OSError as error:
        raise StorageError(f"there is no temporary directory: {reason(error)}") from None
    process = os.getpid()
    atexit.register(lambda: process == os.getpid() and shutil.rmtree(made, ignore_errors=True))
    return made


@contextlib.contextmanager
def _lock_file(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on `path`; without one (a network disk, a long wait) two builds only cost time."""
    handle = os.open(path, os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o600)
    begin, told = time.monotonic(), False
    try:
        while scratch.try_lock(handle) is False:
            waited = time.monotonic() - begin
            if waited > _PATIENCE and not told:
                told, holder = True, os.pread(handle, 20, 0).decode(errors="replace").strip()
                text = "waiting for the lock %s of the compiled code, held by process %s, at most %.0f s"
                _logger.warning(text, path, holder or "unknown", _LONGEST, extra={"aloud": True})
            if waited > _LONGEST:
                break
            time.sleep(0.05)
        else:
            os.ftruncate(handle, 0)
            os.pwrite(handle, b"%d\n" % os.getpid(), 0)
        yield
    finally:
        os.close(handle)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.with_suffix(CHECKSUM_SUFFIX).unlink(missing_ok=True)


def _trim(directory: Path, keep: Path) -> None:
    """Remove the libraries unused for longest until the cache is smaller than `MAXIMUM_SIZE`."""
    facts = []
    for one in os.scandir(directory):  # thousands, after each build: no Path of each
        if one.name.endswith(SUFFIX):
            with contextlib.suppress(OSError):
                status = one.stat(follow_symlinks=False)
                facts.append((status.st_mtime, status.st_size, one.name))
    size = sum(bytes_ for _, bytes_, _ in facts)
    for _, bytes_, name in sorted(facts) if size > MAXIMUM_SIZE else ():
        if size <= MAXIMUM_SIZE:
            return
        if name != keep.name:
            size -= bytes_
            _remove(directory / name)
