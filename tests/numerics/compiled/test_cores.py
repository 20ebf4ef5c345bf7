"""Static cores: what they are made of, what their libraries are called, and their build."""

from __future__ import annotations

import ctypes
import shutil
import sys
from pathlib import Path

import pytest

import trundle
from trundle.numerics.compiled.compile import built_core, find_compiler, load_core
from trundle.numerics.compiled.cores import build_cores, core_sources, library_file

PACKAGE = Path(trundle.__file__).parent
needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")


def small_package(folder: Path) -> Path:
    """A package of one core, `seven` of which is told by a header of a header."""
    (folder / "part").mkdir()
    (folder / "part" / "own_core.c").write_text('#include <math.h>\n#include "a.h"\nint seven(void) { return B; }\n')
    (folder / "part" / "a.h").write_text('#include "b.h"\n')
    (folder / "part" / "b.h").write_text("#define B 7\n")
    (folder / "part" / "other.c").write_text("none of a core\n")
    return folder


def test_a_core_is_its_file_and_all_that_it_includes_from_its_folder(tmp_path: Path) -> None:
    folder = small_package(tmp_path) / "part"
    assert core_sources(folder, "own_core").keys() == {"own_core.c", "a.h", "b.h"}


@pytest.mark.parametrize("changed", ["own_core.c", "a.h", "b.h"])
def test_other_sources_have_a_library_of_another_name(changed: str, tmp_path: Path) -> None:
    folder = small_package(tmp_path) / "part"
    before = library_file("own_core", core_sources(folder, "own_core"))
    assert before == library_file("own_core", core_sources(folder, "own_core"))
    (folder / changed).write_text((folder / changed).read_text() + "/* and a word */\n")
    after = library_file("own_core", core_sources(folder, "own_core"))
    assert before != after


@needs_compiler
def test_a_core_is_built_under_the_name_of_its_sources(tmp_path: Path) -> None:
    package = small_package(tmp_path)
    (built, *others), problem = build_cores(package, tmp_path)
    cores, _ = build_cores(package, tmp_path)
    assert (built, others, problem) == (package / "part" / "own_core.c", [], "")
    assert cores[built] == tmp_path / library_file("own_core", core_sources(package / "part", "own_core"))
    assert ctypes.CDLL(str(cores[built])).seven() == 7


@needs_compiler
def test_every_core_of_the_package_is_built(tmp_path: Path) -> None:
    cores, problem = build_cores(PACKAGE, tmp_path)
    assert problem == ""
    assert {"ode_core.c", "mode_core.c", "ilqr_core.c"} <= {file.name for file in cores}
    for library in cores.values():
        ctypes.CDLL(str(library))


def test_without_a_compiler_nothing_is_built_and_it_is_said_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = small_package(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("TRUNDLE_NO_COMPILER", raising=False)
    assert build_cores(package, tmp_path) == ({}, "there is no C compiler")
    fake = tmp_path / "cc"
    fake.write_text("#!/bin/sh\necho 'no such option' >&2\nexit 1\n")
    fake.chmod(0o755)
    assert build_cores(package, tmp_path) == ({}, "cc: no such option")
    monkeypatch.setenv("TRUNDLE_NO_COMPILER", "1")
    assert build_cores(package, tmp_path) == ({}, "TRUNDLE_NO_COMPILER is set")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an installed package with a core that nobody built yet."""
    package = small_package(tmp_path)
    (package / "part").rename(package / "part_of_tests")
    (package / "part_of_tests" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(package)
    monkeypatch.delitem(sys.modules, "part_of_tests", raising=False)  # that of another test
    return package / "part_of_tests"


def seven() -> int | None:
    """What the core says, looked for anew."""
    built_core.cache_clear()
    library = load_core("part_of_tests", "own_core")
    return None if library is None else library.seven()


@needs_compiler
def test_a_built_core_is_loaded_only_with_the_sources_it_is_of(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (built,) = build_cores(tmp_path, installed)[0].values()
    monkeypatch.setenv("TRUNDLE_NO_COMPILER", "1")
    assert built.parent == installed
    assert seven() == 7
    (installed / "b.h").write_text("#define B 8\n")
    assert seven() is None
    monkeypatch.delenv("TRUNDLE_NO_COMPILER")
    assert seven() == 8


@needs_compiler
def test_what_cannot_be_loaded_is_compiled(installed: Path, tmp_path: Path) -> None:
    (built,) = build_cores(tmp_path, tmp_path)[0].values()
    shutil.copy(built, installed)
    assert seven() == 7
    (installed / built.name).unlink()
    (installed / built.name).write_bytes(b"of another machine")
    assert seven() == 7
