"""Files that are written whole or not at all, and read with one kind of error."""

from __future__ import annotations

import json
import os
import uuid
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError


@contextmanager
def whole(target: Path) -> Iterator[Path]:
    """Yield a file beside `target` to write to; it then takes the target's place: a reader never sees half a file.

    Raises
    ------
    InputError
        If the folder does not exist or cannot be written to.
    """
    part = target.with_name(f".{target.name}.{uuid.uuid4().hex[:12]}.part")
    try:
        yield part
        os.replace(part, target)
    except OSError as error:
        raise InputError("path", str(target), f"a file in a folder that can be written to ({error})") from None
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def reading(source: Path, what: str) -> Iterator[None]:
    """Turn whatever goes wrong while a file is read into an `InputError` that says it must be `what`."""
    try:
        yield
    except InputError as error:
        raise InputError(error.key, error.value, error.allowed, str(source)) from None
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError("path", str(source), f"{what} ({reason})") from None


def save_arrays(path: str | Path, content: Mapping[str, Any], arrays: Mapping[str, Any]) -> Path:
    """Write arrays, and JSON values as ``content``, to a file (.npz, without pickle) and return its path."""
    target = Path(path)
    with whole(target) as part, part.open("wb") as file:
        np.savez(file, content=np.array(json.dumps(content)), **arrays)
    return target


def load_arrays(path: Path, form: int) -> tuple[dict[str, Any], dict[str, FloatArray]]:
    """Return the content and the arrays of a file that `save_arrays` wrote; to be called within `reading`."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as data:
        content = json.loads(str(data["content"]))
        if content["format"] != form:
            raise ValueError(f"format {content['format']}")
        return content, {name: data[name] for name in data.files if name != "content"}
