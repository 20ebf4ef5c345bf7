"""Static cores: C that is the same for every model, and comes compiled with the package.

A core is a file ``<name>_core.c`` with the headers beside it that it includes. What builds the package
(`hatch_build.py`) lays the library next to it, under a name with a digest of all that it was made of: a library of
other sources is not found. The build runs this file by itself, so it imports the standard library alone.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from importlib.resources.abc import Traversable
from pathlib import Path

COMPILERS = ("cc", "gcc", "clang")
"""Looked for in this order, after ``$CC``."""
CORE_FLAGS = ("-O2", "-fno-math-errno")
"""None asks for one processor's instructions."""
LINK_FLAGS = ("-fPIC", "-shared")
_INCLUDED = re.compile(r'^#include "(.+)"$', flags=re.MULTILINE)


def core_files(package: Path) -> list[Path]:
    """Return the C files of a package's cores."""
    return sorted(package.rglob("*_core.c"))


def core_sources(folder: Traversable, name: str) -> dict[str, str]:
    """Return the texts, by file names, of a core's C file and of what it includes from its `folder`."""
    found: dict[str, str] = {}
    wanted = [f"{name}.c"]
    while wanted:
        file = wanted.pop()
        if file not in found:
            found[file] = folder.joinpath(file).read_text("utf-8")
            wanted += _INCLUDED.findall(found[file])
    return found


def library_file(name: str, sources: Mapping[str, str]) -> str:
    """Return the file name of the library that a core's sources are built into.

    The dot before the digest keeps it out of what Python lists as a package's modules.
    """
    digest = hashlib.sha256()
    for part in (*CORE_FLAGS, *LINK_FLAGS, *(part for pair in sorted(sources.items()) for part in pair)):
        digest.update(f"{len(part)}:{part}".encode())
    return f"{name}.{digest.hexdigest()[:16]}.so"


def compiler_hidden() -> bool:
    """Whether ``TRUNDLE_NO_COMPILER`` says that there is no compiler."""
    return os.environ.get("TRUNDLE_NO_COMPILER", "") not in ("", "0")


def build_cores(package: Path, folder: Path) -> tuple[dict[Path, Path], str]:
    """Build all cores of a package into a folder.

    Returns
    -------
    cores : dict of Path to Path
        The libraries, by their C files; empty where no compiler compiles all of them.
    problem : str
        Why there are none.
    """
    names = {file: library_file(file.stem, core_sources(file.parent, file.stem)) for file in core_files(package)}
    cores = {file: folder / name for file, name in names.items()}
    problem = "TRUNDLE_NO_COMPILER is set" if compiler_hidden() else "there is no C compiler"
    for candidate in () if compiler_hidden() else (os.environ.get("CC", ""), *COMPILERS):
        command = shlex.split(candidate)
        if not command or shutil.which(command[0]) is None:
            continue
        try:
            for file, library in cores.items():
                options = [*CORE_FLAGS, *LINK_FLAGS, "-o", str(library), file.name, "-lm"]
                subprocess.run([*command, *options], cwd=file.parent, check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            told = getattr(error, "stderr", "") or str(error)
            problem = f"{candidate}: {told.strip()}"
            continue
        return cores, ""
    return {}, problem
