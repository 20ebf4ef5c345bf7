"""CasADi functions as compiled C: generated, compiled, cached and loaded; the same function without a compiler."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import cast

import casadi as ca

from trundle.errors import CompileError, StorageError, of_machine
from trundle.numerics.compiled import cache
from trundle.numerics.compiled.cache import clear_cache
from trundle.numerics.compiled.cores import (
    COMPILERS,
    CORE_FLAGS,
    LINK_FLAGS,
    compiler_hidden,
    core_files,
    core_sources,
    library_file,
)

__all__ = [
    "FLAGS",
    "Compiler",
    "CompilerInfo",
    "NativeFunction",
    "check_layout",
    "clear_cache",
    "compile_function",
    "compile_library",
    "compiler_info",
    "find_compiler",
    "function_source",
    "library_source",
    "load_core",
]

# Generated code is one straight line: -O2, -O3 and -march=native were measured to be no faster, but slower to compile.
FLAGS: tuple[str, ...] = ("-O1", "-fno-math-errno")
_PROBE = "#include <math.h>\ndouble trundle_probe(double x) { return sin(x); }\n"
_ADVICE = (
    "functions are interpreted, which takes longer; install gcc (Debian, Ubuntu: apt install gcc libc6-dev) or set CC"
)

Sources = str | Mapping[str, str] | Callable[[], str | Mapping[str, str]]


@dataclass(frozen=True)
class Compiler:
    """A C compiler: the command that calls it, its full path and its version text."""

    command: tuple[str, ...]
    path: str
    version: str


@dataclass(frozen=True)
class CompilerInfo:
    """What ``trundle doctor`` tells about compiled code.

    Attributes
    ----------
    cores : dict of str to bool
        Whether each core came with the package.
    path : str or None
        None without a working compiler.
    """

    cores: dict[str, bool]
    path: str | None
    version: str
    flags: tuple[str, ...]
    cache_directory: Path
    cache_size: int
    cache_entries: int


def compile_function(function: ca.Function, *, flags: Sequence[str] = FLAGS, derivatives: bool = False) -> ca.Function:
    """Return the same function as compiled C, or `function` itself where there is no C compiler.

    Parameters
    ----------
    function : casadi.Function
        A function that CasADi can write as C.
    flags : sequence of str
        Compiler flags; part of the cache key.
    derivatives : bool
        Also compile the Jacobian, so that the result can be differentiated once.

    Returns
    -------
    casadi.Function
        Inputs, outputs, sparsities and names as in `function`; its own name starts with ``trundle_``.

    Raises
    ------
    CompileError
        If a compiler is there but refuses the source.
    """
    name, source = function_source(function, derivatives=derivatives)
    path = compile_library(name, source, flags=flags)
    if path is None:
        return function
    try:
        return ca.external(name, str(path))
    except RuntimeError as error:
        raise CompileError(f"the compiled function {name} cannot be loaded: {error}") from error


def compile_library(
    name: str, sources: Sources, *, flags: Sequence[str] = FLAGS, build: bool = True, identity: str = ""
) -> Path | None:
    """Return the path of a shared library made of C sources, from the cache if it is there; None without a compiler.

    Parameters
    ----------
    name : str
        First part of the file name in the cache; letters, digits and underscores.
    sources : str or mapping of str to str, or callable
        One source text, or file names and texts; names ending in ``.c`` are compiled, others can be included. A
        callable returns them where the library is not in the cache.
    flags : sequence of str
        Compiler flags; part of the cache key.
    build : bool
        False: None where the library is not in the cache.
    identity : str
        What the sources follow from; needed, and part of the cache key in their place, where they are callable.

    Raises
    ------
    CompileError
        If the compiler refuses the source; `log` holds what it printed.
    """
    try:
        compiler = find_compiler()
        if compiler is None:
            return None
        key, make = _recipe(compiler, name, sources, tuple(flags), identity)
        return cache.fetch(name, key, make) if build else cache.find(name, key)
    except (OSError, StorageError) as error:
        if not of_machine(error):
            raise
        cache.advise_once("storage", f"compiled code has no place ({error}): {_ADVICE.split(';')[0]}")
        return None


def load_core(package: str, name: str) -> ctypes.CDLL | None:
    """Return a static core: as it came with the package, else compiled here; None without a compiler.

    Parameters
    ----------
    package : str
        Beside whose modules the core's source ``<name>.c`` is.
    name : str
    """
    if (built := built_core(package, name)) is not None:
        return built
    sources = core_sources(resources.files(package), name)
    path = compile_library(f"trundle_{name}", sources, flags=CORE_FLAGS)
    return None if path is None else _load_library(path)


@lru_cache(maxsize=16)
def built_core(package: str, name: str) -> ctypes.CDLL | None:
    """Return a core that came with the package and is one of the sources there, or None."""
    folder = resources.files(package)
    file = folder.joinpath(library_file(name, core_sources(folder, name)))
    try:
        return ctypes.CDLL(str(file))
    except OSError:  # there is none, or one of another machine
        return None


def _cores() -> list[tuple[str, str]]:
    """Return package and name of each static core."""
    package = Path(__file__).parents[2]
    files = [file.relative_to(package.parent) for file in core_files(package)]
    return [(".".join(file.parts[:-1]), file.stem) for file in files]


@lru_cache(maxsize=16)
def _load_library(path: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(path))


def find_compiler() -> Compiler | None:
    """Return the first C compiler that works among ``$CC``, cc, gcc and clang, or None with one line of advice.

    A compiler works if it compiles, links and loads a call of ``sin``. ``TRUNDLE_NO_COMPILER=1`` hides them all.
    """
    if compiler_hidden():
        cache.advise_once("compiler", f"no C compiler is used (TRUNDLE_NO_COMPILER is set): {_ADVICE.split(';')[0]}")
        return None
    compiler, problem = _search(os.environ.get("CC", ""), os.environ.get("PATH", ""), str(cache.cache_directory()))
    if compiler is None:
        cache.advise_once("compiler", f"no C compiler found{problem}: {_ADVICE}")
    return compiler


def compiler_info() -> CompilerInfo:
    """Return the compiler and the state of the cache."""
    compiler = find_compiler()
    directory = cache.cache_directory()
    found = cache.entries(directory)
    return CompilerInfo(
        cores={name: built_core(package, name) is not None for package, name in _cores()},
        path=compiler.path if compiler else None,
        version=compiler.version.splitlines()[0] if compiler else "",
        flags=FLAGS,
        cache_directory=directory,
        cache_size=sum(path.stat().st_size for path in found),
        cache_entries=len(found),
    )


def function_source(function: ca.Function, *, derivatives: bool = False) -> tuple[str, str]:
    """Return the C name and the C source of a function; see `library_source`."""
    (name,), source = library_source({function.name(): function}, derivatives=derivatives)
    return name, source


def library_source(
    functions: Mapping[str, ca.Function], *, derivatives: bool = False, dense: bool = False, digest: str = ""
) -> tuple[list[str], str]:
    """Return the C names and the C source of named functions.

    A C name is ``trundle_<name>_<digest of the source>``, or with the `digest` of what the source follows from: never
    the name of a function of the C library, and another one for each other source. With `derivatives` the Jacobians are
    there too. With `dense` all outputs are written in full, column by column.
    """
    generator = ca.CodeGenerator("generated", {"with_header": False, "cpp": False, "verbose": False})
    marks = []
    for name, function in functions.items():
        marks.append(library_name(name, "digest"))
        one = rename_function(function, marks[-1], dense=dense)
        generator.add(one)
        if derivatives:
            generator.add(one.jacobian())
    text = generator.dump()
    digest = digest or hashlib.sha256(text.encode()).hexdigest()[:10]
    names = [mark.removesuffix("digest") + digest for mark in marks]
    for mark, name in zip(marks, names, strict=True):
        text = text.replace(mark, name)
    return names, text


def library_name(name: str, digest: str) -> str:
    """Return the C name of a function."""
    return f"trundle_{re.sub('_+', '_', name).strip('_')}_{digest}"


class NativeFunction:
    """A generated C function of a loaded library, to be called from C with work memory of the caller's.

    Attributes
    ----------
    address : int
        Of the C function.
    work_sizes : tuple of int
        Words of 8 bytes that a call needs as ``arg``, ``res``, ``iw`` and ``w``; two calls at a time share none.
    memory : int
        What the C function is told to use of its library.

    Parameters
    ----------
    path : Path
        A library returned by `compile_library`.
    name : str
        The C name returned by `function_source`.
    """

    def __init__(self, path: Path, name: str) -> None:
        try:
            library = ctypes.CDLL(str(path))
        except OSError as error:
            raise CompileError(f"the library {path.name} cannot be loaded: {error}") from error
        sizes = [ctypes.c_longlong() for _ in range(4)]
        work = library[f"{name}_work"]
        work.restype = ctypes.c_int
        work.argtypes = [ctypes.POINTER(ctypes.c_longlong)] * 4
        if work(*(ctypes.byref(size) for size in sizes)):
            raise CompileError(f"{name} does not tell its work memory")
        self.library = library
        self.address = ctypes.cast(library[name], ctypes.c_void_p).value
        # Room for the three arguments and one result of the stepping core, whatever the function asks for.
        self.work_sizes = tuple(max(size.value, least) for size, least in zip(sizes, (3, 1, 1, 1), strict=True))
        library[f"{name}_incref"]()
        self.memory = int(library[f"{name}_checkout"]())


def check_layout(library: ctypes.CDLL, mirrors: Mapping[str, type[ctypes.Structure]]) -> None:
    """Raise `CompileError` where a struct of C has another size, which a function tells, than its mirror here."""
    for name, mirror in mirrors.items():
        library[name].restype = ctypes.c_longlong
        if library[name]() != ctypes.sizeof(mirror):
            raise CompileError(f"{mirror.__name__} does not have the layout of what it mirrors")


def rename_function(function: ca.Function, name: str, *, dense: bool = False) -> ca.Function:
    """Return the same function with another name, its outputs in full where `dense`."""
    # Of SX or MX alike: the type of one stands for both.
    arguments = cast("list[ca.MX]", function.sx_in() if function.is_a("SXFunction") else function.mx_in())
    results = function.call(arguments, function.class_name() in ("SXFunction", "MXFunction"), False)
    if dense:
        results = [ca.densify(result) for result in results]
    return ca.Function(name, arguments, results, function.name_in(), function.name_out())


def _recipe(
    compiler: Compiler, name: str, sources: Sources, flags: tuple[str, ...], identity: str = ""
) -> tuple[str, Callable[[Path], None]]:
    """Return the digest of everything that a library depends on, and what builds it."""

    def write_source() -> Mapping[str, str]:
        found = sources() if callable(sources) else sources
        return {f"{name}.c": found} if isinstance(found, str) else found

    content = {"": identity} if callable(sources) else write_source()
    digest = hashlib.sha256()
    machine = _processor() if any(flag.startswith(("-march=native", "-mtune=native")) for flag in flags) else ""
    facts = [ca.CasadiMeta.version(), *compiler.command, compiler.path, compiler.version, *flags, *LINK_FLAGS]
    facts += [platform.system(), platform.machine(), machine]
    for part in (*facts, *(item for pair in sorted(content.items()) for item in pair)):
        # The length before each part: no two lists of parts give the same bytes.
        digest.update(f"{len(part)}:{part}".encode())

    def build(target: Path) -> None:
        """Write the sources beside `target` and compile them into it."""
        folder, texts = target.parent, write_source()
        for file, text in texts.items():
            (folder / file).write_text(text)
        files = sorted(file for file in texts if file.endswith(".c"))
        command = [*compiler.command, *flags, *LINK_FLAGS, "-o", target.name, *files, "-lm"]
        environment = {**os.environ, "LC_ALL": "C", "TMPDIR": str(folder)}
        # In a group of its own: Ctrl-C in a terminal would end the compiler, and look like a fault of the source.
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace", process_group=0
        )
        if done.returncode != 0 or not target.is_file():
            log = done.stdout + done.stderr
            for code in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO):
                if os.strerror(code) in log:
                    raise OSError(code, os.strerror(code))
            first = next((line for line in log.splitlines() if "error" in line), log[:200])
            raise CompileError(f"{compiler.path} could not compile {name}: {first}", log)

    return digest.hexdigest(), build


@lru_cache(maxsize=16)
def _search(cc: str, path: str, directory: str) -> tuple[Compiler | None, str]:
    """Return the first working compiler, else what was wrong with the last; `directory` only keys the memory."""
    problem = ""
    for candidate in (cc, *COMPILERS):
        try:
            command = shlex.split(candidate)
        except ValueError:
            command = []
        executable = shutil.which(command[0], path=path) if command else None
        if executable is None:
            continue
        try:
            done = subprocess.run(
                [executable, *command[1:], "--version"], capture_output=True, text=True, errors="replace", timeout=60
            )
            if done.returncode != 0 or not done.stdout.strip():
                raise CompileError(f"{executable} does not tell its version")
            compiler = Compiler((executable, *command[1:]), executable, done.stdout.strip())
            key, build = _recipe(compiler, name := "trundle_probe", _PROBE, ("-O0",))
            ctypes.CDLL(str(cache.fetch(name, key, build)))
        except (OSError, subprocess.SubprocessError, CompileError) as error:
            problem = f" that works ({error})"
            continue
        return compiler, ""
    return None, problem


@lru_cache(maxsize=1)
def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    wanted = ("model name", "flags", "Features", "CPU part")
    return "\n".join(line for line in lines if line.startswith(wanted))[:20000]
