"""What a kind of file is to the fuzzer, and the helpers that its readers share."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Damage = Callable[[bytes, random.Random], bytes]


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    `write` makes a good one in a folder; `read` returns what was read in a form that can be compared, and raises
    another error than an `InputError` if what was accepted is not what the file says, or cannot be used. `damages`
    return a damaged file. What is `exact` is read as it was, or refused. `share` is how many mutants it gets beside
    others.
    """

    write: Callable[[Path], Path]
    read: Callable[[Path], Any]
    damages: tuple[Damage, ...]
    exact: bool = False
    under_checksum: Damage | None = None
    share: int = 10


def plain(value: Any) -> Any:
    """Return a value whose `repr` says all of it."""
    if isinstance(value, np.ndarray):
        return (value.shape, value.dtype.kind, value.tolist())
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def must(holds: object, what: str) -> None:
    """Raise if what was accepted is wrong."""
    if not holds:
        raise RuntimeError(f"accepted: {what}")


def text(content: str) -> Callable[[Path], Path]:
    """Return a writer of a text."""
    return written(content.encode())


def written(content: bytes) -> Callable[[Path], Path]:
    """Return a writer of bytes."""

    def write(path: Path) -> Path:
        path.write_bytes(content)
        return path

    return write
