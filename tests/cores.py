"""What runs C: a compiler, the cores that come with the package alone, or neither."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path

import pytest

import trundle
from trundle.numerics.compiled import compile as compile_module
from trundle.numerics.compiled.compile import find_compiler
from trundle.numerics.compiled.cores import build_cores

WAYS = ("compiler", "cores", "neither")


def built_cores(folder: Path) -> dict[str, ctypes.CDLL]:
    """Build the package's cores as an installation does, by their names; there are none without a compiler."""
    cores, _ = build_cores(Path(trundle.__file__).parent, folder)
    return {file.stem: ctypes.CDLL(str(library)) for file, library in cores.items()}


def choose(way: str, cores: Mapping[str, ctypes.CDLL], monkeypatch: pytest.MonkeyPatch) -> str:
    """Let the rest of a test run one way; it is skipped where that is not possible."""
    if way != "neither" and not cores:
        pytest.skip("no C compiler")
    there = cores if way == "cores" else {}
    monkeypatch.setattr(compile_module, "built_core", lambda package, name: there.get(name))
    if way == "compiler":
        assert find_compiler() is not None
    else:
        monkeypatch.setenv("TRUNDLE_NO_COMPILER", "1")
    return way
