"""Results with a checksum: whatever is read back is, byte for byte, what was written.

The SHA-256 of all bytes before it stands in a last line after them. HDF5 and zip files end where their own content
says, so that other programs open them as they are; and the checksum is known to hold before any library parses a byte.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError, TrundleError
from trundle.records.whole import read_bytes, write_bytes

T = TypeVar("T")

MOST_BYTES = 4 * 1024**3  # of a file that is read whole
_SEAL = b"\ntrundle-sha256:"


def write_sealed(path: str | Path, content: bytes) -> Path:
    """Write a result and its checksum; see `trundle.records.whole.write_bytes`."""
    if len(content) > MOST_BYTES:
        raise InputError("path", str(path), f"of a record of at most {MOST_BYTES:,} bytes, not {len(content):,}")
    return write_bytes(path, content + _SEAL + hashlib.sha256(content).hexdigest().encode() + b"\n")


def read_sealed(path: Path) -> bytes:
    """Return the content of a file that `write_sealed` wrote; to be called within `reading`."""
    content, seal, digest = read_bytes(path, MOST_BYTES + 100, "path", str(path)).rpartition(_SEAL)
    if not seal:
        raise ValueError("it has no checksum: it is cut off, or of a version before there was one: make it again")
    if digest != hashlib.sha256(content).hexdigest().encode() + b"\n":
        raise ValueError("its checksum does not fit: it is damaged, or was altered by another program")
    return content


@contextmanager
def reading(source: Path, what: str) -> Iterator[None]:
    """Turn whatever goes wrong while a file is read into an `InputError` that says it must be `what`."""
    try:
        yield
    except InputError as error:
        raise InputError(error.key, error.value, error.allowed, error.file or str(source)) from None
    except (TrundleError, MemoryError):
        raise  # of the machine, not of the file
    except Exception as error:  # libraries raise what they like on a broken file: no list of their errors is whole
        text = str(error).splitlines()
        raise InputError("path", str(source), f"{what} ({text[0] if text else type(error).__name__})") from None


def read_typed(table: Mapping[str, Any], key: str, kind: type[T]) -> T:
    """Return the value of a key; an `InputError` if it is of another type than `kind`."""
    value = table[key]
    if not isinstance(value, kind) or isinstance(value, bool) > issubclass(kind, bool):
        raise InputError(key, value, f"of type {kind.__name__}")
    return value


def save_arrays(path: str | Path, content: Mapping[str, Any], arrays: Mapping[str, Any]) -> Path:
    """Write arrays, and JSON values as ``content``, to a file (.npz, without pickle) and return its path."""
    memory = io.BytesIO()
    np.savez(memory, content=np.array(json.dumps(content)), **arrays)
    return write_sealed(path, memory.getvalue())


def load_arrays(path: Path, form: int) -> tuple[dict[str, Any], dict[str, FloatArray]]:
    """Return the content and the arrays of a file that `save_arrays` wrote; to be called within `reading`."""
    sealed = read_sealed(path)
    with zipfile.ZipFile(io.BytesIO(sealed)) as members:
        if sum(info.file_size for info in members.infolist()) > len(sealed):
            raise ValueError("it declares more than it holds")
        data = {info.filename.removesuffix(".npy"): _array(members.read(info)) for info in members.infolist()}
    content = json.loads(str(data.pop("content")))
    if content["format"] != form:
        raise ValueError(f"format {content['format']}")
    return content, data


def _array(member: bytes) -> FloatArray:
    """Return an array in numpy's format; what it declares takes no memory but what is there."""
    file = io.BytesIO(member)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("an array in a format of its own")
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(file)
    return np.frombuffer(file.read(), dtype).reshape(shape, order="F" if by_columns else "C")
