"""The house: floors, light imports, public names, and what a file of the package may not contain."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pickle
import re
import subprocess
import sys
import tomllib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import pytest

import trundle

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "trundle"
FILES = sorted(PACKAGE.rglob("*.py"))
SOURCES = {path: path.read_text() for path in FILES}
TREES = {path: ast.parse(source) for path, source in SOURCES.items()}

FLOORS = {
    "cli": 12,
    "systems": 11,
    "scenarios": 10,
    "report": 9,
    "environments": 11,
    "interop": 10,
    "control": 8,
    "simulate": 7,
    "audit": 6,
    "optimal": 6,
    "models": 5,
    "contact": 4,
    "geometry": 3,
    "numerics": 2,
    "records": 1,
    "errors": 1,
    "status": 1,
    "threads": 1,
    "interrupts": 1,
    "checks": 1,
    "arguments": 1,
    "parameters": 1,
    "bars": 1,
    "extras": 1,
    "cluster": 1,
    "scratch": 1,
    "lazy": 1,
    "version": 1,
}

# (file, module) that may break the order, and why. The facade gives public names without naming a higher floor.
EXCEPTIONS = {
    (
        "records/trajectory.py",
        "trundle.scenarios.engine.pictures",
    ): "Trajectory.plot and .view: a user asks the result to show itself",
}

COPYLEFT = {"quadprog", "cvxopt", "ecos", "pyqt5", "pyqt6", "unidecode", "rpy2", "glpk", "swiglpk", "python-igraph"}
HEAVY = {"casadi", "matplotlib", "xarray", "viser", "scipy", "pandas", "h5netcdf", "h5py", "pydantic", "typer", "rich"}


def file_id(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def imported_modules(path: Path, source: str) -> Iterator[tuple[int, str]]:
    """Every (line, module) that a file imports anywhere in it; names taken from a package count as its modules."""
    package = ["trundle", *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            if module == "trundle":
                yield from ((node.lineno, f"trundle.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, module
        elif isinstance(node, ast.Call) and node.args:
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            name = node.args[0].values[0] if isinstance(node.args[0], ast.JoinedStr) else node.args[0]
            if called in {"import_module", "__import__"} and isinstance(name, ast.Constant):
                yield node.lineno, str(name.value).rstrip(".")


def module_name(path: Path) -> str:
    """The dotted name of a file of the package."""
    parts = ["trundle", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in FILES}


def without_types(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node of a tree but what only type checkers read."""
    for node in ast.iter_child_nodes(tree):
        types = isinstance(node, ast.If) and "TYPE_CHECKING" in {
            getattr(node.test, "id", ""),
            getattr(node.test, "attr", ""),
        }
        if not types:
            yield node
        for child in node.orelse if isinstance(node, ast.If) and types else [node]:
            yield from without_types(child)


def module_imports(path: Path, source: str, known: Collection[str]) -> set[str]:
    """The modules among `known` that a file imports, at its top or inside a function, not for types alone."""
    package = module_name(path).split(".")
    package = package if path.name == "__init__.py" else package[:-1]
    found: set[str] = set()
    for node in without_types(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            home = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                found.add(f"{home}.{alias.name}" if f"{home}.{alias.name}" in known else home)
    return (found & set(known)) - {module_name(path)}


def circles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """The strongly connected components of more than one node (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            part = set(stack[stack.index(node) :])
            del stack[stack.index(node) :]
            if len(part) > 1:
                found.append(part)

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def broken_floors(path: Path, source: str) -> list[str]:
    """Imports of `source`, read as the file `path`, that go up or sideways."""
    if path == PACKAGE / "__init__.py":
        return []  # the facade stands above all floors
    here = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    broken = []
    for line, module in imported_modules(path, source):
        parts = module.split(".")
        if parts[0] != "trundle" or (file_id(path), module) in EXCEPTIONS:
            continue
        there = parts[1] if len(parts) > 1 else ""
        if there == here:  # a slice knows no other one
            if here == "systems" and len(parts) > 2 and parts[2] != path.relative_to(PACKAGE).parts[1]:
                broken.append(f"{file_id(path)}:{line} imports {module}")
            continue
        named = there == "systems"  # a system is found through its entry point, never by its module
        if there not in FLOORS or FLOORS[there] > FLOORS[here] or named:
            broken.append(f"{file_id(path)}:{line} imports {module}")
    return broken


def fresh_python(code: str) -> str:
    """What `code` prints in a new interpreter."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_package_has_a_floor() -> None:
    entries = {
        p.name.removesuffix(".py") for p in PACKAGE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()
    }
    assert entries - {"__init__", "__main__"} <= FLOORS.keys()


def test_imports_go_down() -> None:
    assert [broken for path in FILES for broken in broken_floors(path, SOURCES[path])] == []


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("geometry/x.py", "from trundle.contact import motion"),
        ("geometry/x.py", "def f():\n    import trundle.models.tree.tree"),
        ("geometry/x.py", "from ..simulate import simulate"),
        ("geometry/x.py", "from trundle import report"),
        ("geometry/x.py", "import trundle"),
        ("records/x.py", "import importlib\nimportlib.import_module('trundle.report')"),
        ("records/x.py", "import importlib\nimportlib.import_module(f'trundle.report.{name}')"),
        ("optimal/x.py", "from trundle.control import lqr"),
        ("systems/planar/x.py", "from trundle.systems.walking.plan import plan"),
        ("errors.py", "if True:\n    from trundle.numerics import space"),
        ("cli/x.py", "from trundle.systems.juggling import SYSTEM"),
        ("scenarios/x.py", "import trundle.systems.planar"),
    ],
)
def test_an_import_that_goes_up_is_seen(file: str, source: str) -> None:
    assert broken_floors(PACKAGE / file, source) != []


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("geometry/x.py", "from trundle.numerics.space import cross"),
        ("geometry/x.py", "from .chart import Chart"),
        ("cli/x.py", "from trundle.version import __version__"),
        ("control/x.py", "from trundle.simulate import simulate"),
        ("systems/planar/scenario/x.py", "from trundle.systems.planar import limit_cycle"),
    ],
)
def test_an_import_that_goes_down_is_allowed(file: str, source: str) -> None:
    assert broken_floors(PACKAGE / file, source) == []


KINDS = {"juggling", "planar", "walking", "multicontact", "wallbounce", "spatial"}
OTHER_MEANINGS = {
    "__init__.py": "the libraries of the systems, handed out as `trundle.juggling`, ...",
    "models/hand_freedoms.py": "freedoms of a hand that stays in a plane",
    "models/urdf/joints.py": "a joint type of URDF",
}


def test_no_file_outside_the_systems_names_a_kind() -> None:
    naming = {
        file_id(path)
        for path in FILES
        if path.relative_to(PACKAGE).parts[0] != "systems"
        for node in ast.walk(TREES[path])
        if isinstance(node, ast.Constant) and node.value in KINDS
    }
    assert naming == OTHER_MEANINGS.keys()


def test_modules_do_not_import_each_other_in_circles() -> None:
    graph = {name: module_imports(path, SOURCES[path], MODULES.keys()) for name, path in MODULES.items()}
    assert [sorted(part) for part in circles(graph)] == []


def test_a_circle_is_seen() -> None:
    names = {"trundle.geometry.a", "trundle.geometry.b", "trundle.geometry.c"}
    sources = {
        "a": "def f():\n    from trundle.geometry.b import g",
        "b": "from . import c",
        "c": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from trundle.geometry import a",
    }
    for back, expected in (("", []), ("\nimport trundle.geometry.a", [names])):
        graph = {
            f"trundle.geometry.{name}": module_imports(PACKAGE / "geometry" / f"{name}.py", source + back, names)
            for name, source in sources.items()
        }
        assert circles(graph) == expected


def test_exceptions_are_used() -> None:
    used = {(file_id(path), module) for path in FILES for _, module in imported_modules(path, SOURCES[path])}
    assert EXCEPTIONS.keys() <= used


def broken_rules(path: Path) -> list[str]:
    """Rules of the house that a file breaks."""
    source = SOURCES[path]
    found = []
    if source.count("\n") >= 600:
        found.append(f"{source.count(chr(10))} lines")
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length >= 80:
                found.append(f"line {node.lineno}: {node.name} has {length} lines")
        elif isinstance(node, ast.Assert):
            found.append(f"line {node.lineno}: assert")
    found += [f"imports {module}" for _, module in imported_modules(path, source) if module.split(".")[0] == "tests"]
    found += re.findall(r"\b(?:TODO|FIXME)\b", source)
    return [f"{file_id(path)}: {one}" for one in found]


def test_house_rules_of_every_file() -> None:
    assert [broken for path in FILES for broken in broken_rules(path)] == []


def test_modules_say_what_they_are() -> None:
    assert [file_id(path) for path in FILES if len(ast.get_docstring(TREES[path]) or "") <= 10] == []


def test_modules_postpone_annotations() -> None:
    def postpones(tree: ast.Module) -> bool:
        futures = {
            a.name for n in tree.body if isinstance(n, ast.ImportFrom) and n.module == "__future__" for a in n.names
        }
        return "annotations" in futures

    annotated = [p for p in FILES if any(isinstance(n, ast.FunctionDef | ast.ClassDef) for n in ast.walk(TREES[p]))]
    assert [file_id(path) for path in annotated if not postpones(TREES[path])] == []


def test_import_trundle_is_light() -> None:
    loaded = json.loads(fresh_python("import trundle, sys, json; print(json.dumps(sorted(sys.modules)))"))
    assert HEAVY & set(loaded) == set()


def test_command_line_starts_light() -> None:
    loaded = json.loads(fresh_python("import trundle.cli, sys, json; print(json.dumps(sorted(sys.modules)))"))
    assert (HEAVY - {"typer", "rich", "pydantic"}) & set(loaded) == set()


def test_public_names_resolve() -> None:
    assert [name for name in trundle.__all__ if getattr(trundle, name) is None or name not in dir(trundle)] == []


def test_dir_shows_public_names_only() -> None:
    assert trundle.Sphere
    assert dir(trundle) == sorted(trundle.__all__)


def test_public_names_are_unique_and_sorted_in_their_home() -> None:
    names = [name for names in trundle._HOMES.values() for name in names.split()]
    assert len(names) == len(set(names))
    assert all(names.split() == sorted(names.split()) for names in trundle._HOMES.values())


def test_type_checkers_see_the_public_names() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    block = next(n for n in tree.body if isinstance(n, ast.If) and getattr(n.test, "id", "") == "TYPE_CHECKING")
    seen = {
        a.asname: n.module for n in block.body if isinstance(n, ast.ImportFrom) for a in n.names if a.asname == a.name
    }
    assert seen == trundle._HOME_OF
    modules = {a.asname: a.name for n in block.body if isinstance(n, ast.Import) for a in n.names}
    assert {f"trundle.systems.{name}" for name in trundle._SLICES} <= set(modules.values())


@pytest.mark.parametrize("name", trundle._SLICES)
def test_a_slice_hands_out_its_names_lazily(name: str) -> None:
    """Its table, what type checkers see and what it hands out are one; reading the library loads nothing heavy."""
    module = getattr(trundle, name)
    tree = ast.parse((PACKAGE / "systems" / name / "__init__.py").read_text())
    block = next(n for n in tree.body if isinstance(n, ast.If) and getattr(n.test, "id", "") == "TYPE_CHECKING")
    seen = {a.asname: n.module for n in block.body if isinstance(n, ast.ImportFrom) for a in n.names}
    listed = {one: home for home, names in module._HOMES.items() for one in names.split()}
    assert seen == {one: f"{module.__name__}.{home}" for one, home in listed.items()}
    assert sorted(seen) == sorted(module.__all__) == dir(module)
    assert len(seen) <= 40
    # A module of that name would take its place as soon as it is imported.
    below = {path.stem for path in (PACKAGE / "systems" / name).iterdir()}
    assert below & set(seen) == set()
    assert [one for one in seen if getattr(module, one) is None] == []
    loaded = json.loads(fresh_python(f"import trundle, sys, json; trundle.{name}; print(json.dumps([*sys.modules]))"))
    assert HEAVY & set(loaded) == set()
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = module.Nothing


@pytest.mark.parametrize(("library", "names"), trundle._MOVED.items())
def test_a_name_that_moved_works_with_a_warning(library: str, names: str) -> None:
    for name in names.split():
        with pytest.warns(DeprecationWarning, match=rf"trundle\.{name} is trundle\.{library}\.{name} now"):
            old = getattr(trundle, name)
        assert old is getattr(getattr(trundle, library), name)
        assert name not in trundle.__all__


@pytest.mark.parametrize("home", trundle._HOMES)
def test_a_home_exports_what_the_facade_hands_out(home: str) -> None:
    module = importlib.import_module(home)
    exported = getattr(module, "__all__", None)
    assert exported is None or set(trundle._HOMES[home].split()) <= set(exported)


def test_a_wrong_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'trundle' has no attribute 'Spere'"):
        _ = trundle.Spere  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "before",
    [
        "",
        "import trundle.simulate",
        "from trundle.simulate import simulate",
        "import importlib; importlib.import_module('trundle.simulate')",
        "trundle.simulate; import trundle.simulate",
    ],
)
def test_the_verb_stays_the_verb_when_its_package_is_imported(before: str) -> None:
    code = f"import trundle\n{before}\nimport sys, inspect\nassert inspect.isfunction(trundle.simulate)\n"
    code += "assert trundle.simulate is sys.modules['trundle.simulate'].simulate\nprint('held')"
    assert fresh_python(code) == "held"


def test_the_verb_can_be_sent_to_another_process() -> None:
    assert inspect.isfunction(trundle.simulate)
    assert pickle.loads(pickle.dumps(trundle.simulate)) is trundle.simulate


def test_an_ordinary_attribute_of_the_package_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trundle, "Status", int)
    assert trundle.Status is int


def test_no_copyleft_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(d for extra in project["optional-dependencies"].values() for d in extra)]
    names = {re.split(r"[\[<>=!~; ]", requirement)[0].lower() for requirement in wanted}
    assert names & COPYLEFT == set()


# Calls that write to the disk. What they make is made by `records/whole.py`, whole or not at all, but where it is said.
WRITERS = {
    *(
        "write_text",
        "write_bytes",
        "savefig",
        "imsave",
        "save_figure",
        "savez",
        "savez_compressed",
        "savetxt",
        "tofile",
    ),
    *("to_netcdf", "to_zarr", "to_parquet", "to_csv", "to_json", "to_pickle", "to_hdf", "write_table", "write_html"),
    *("copyfile", "copy2", "copytree", "symlink_to", "hardlink_to", "ftruncate", "pwrite", "generate", "rename"),
    *("NamedTemporaryFile", "TemporaryFile", "mkstemp", "FileHandler", "RotatingFileHandler", "File", "TarFile"),
}
WRITERS_OF = {"np": {"save"}, "json": {"dump"}, "pickle": {"dump"}, "shutil": {"copy", "move"}, "os": {"write", "open"}}
RIGHT_WRITERS = {
    "records/whole.py": "the one writer, of files, journals and logs",
    "records/sealed.py": "np.savez to memory",
    "records/files.py": "h5netcdf.File to memory, h5py.File from it",
    "scenarios/engine/sweep.py": "a Parquet table to memory",
    "scenarios/engine/journal.py": "opens the journal and cuts off half a line; `whole.append` adds lines",
    "scenarios/engine/folder.py": "opens and empties the list of its files; `whole.append` adds lines",
    "scenarios/engine/export/writing.py": "CasADi's source in a temporary folder, checked to be whole",
    "numerics/compiled/compile.py": "sources in a temporary folder for the compiler, which fails if they are cut off",
    "numerics/compiled/cache.py": "the lock of the cache, which says who holds it",
    "scratch.py": "opens and names temporary folders",
    "cli/__init__.py": "the null device, in place of a standard output that is full",
    "cli/interrupt.py": "the terminal",
}


def writing_calls(tree: ast.AST) -> Iterator[str]:
    """Every call that writes to the disk; not one to a buffer made in it (``savefig(png := BytesIO())``)."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or (node.args and isinstance(node.args[0], ast.NamedExpr)):
            continue
        method = isinstance(node.func, ast.Attribute)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        owner = getattr(node.func.value, "id", "") if isinstance(node.func, ast.Attribute) else ""
        texts = [arg.value for arg in (*node.args, *(k.value for k in node.keywords)) if isinstance(arg, ast.Constant)]
        mode = next((text for text in texts if isinstance(text, str) and re.fullmatch("[rwaxbt+]+", text)), "r")
        ours = name == "write_bytes" and not method  # of `records/whole.py`
        opens = name in {"open", "fdopen"} and set(mode) & set("wax+")
        if opens or (name in WRITERS and not ours) or name in WRITERS_OF.get(owner, ()):
            yield f"line {node.lineno}: {ast.unparse(node.func)}"


def test_files_are_written_in_one_way() -> None:
    writing = {file_id(path): list(writing_calls(TREES[path])) for path in FILES}
    assert {file: calls for file, calls in writing.items() if calls and file not in RIGHT_WRITERS} == {}
    assert [file for file in RIGHT_WRITERS if not writing[file]] == []


@pytest.mark.parametrize(
    "source",
    [
        "open(path, 'w')",
        "open(path, mode='a')",
        "path.open('x')",
        "io.open(path, 'r+b')",
        "os.fdopen(handle, 'wb')",
        "gzip.open(path, 'wb')",
        "path.write_text(text)",
        "Path('a').write_bytes(content)",
        "figure.savefig(path)",
        "np.save(path, x)",
        "np.savez(path, x=x)",
        "numpy.savetxt(path, x)",
        "x.tofile(path)",
        "dataset.to_netcdf(path)",
        "frame.to_parquet(path)",
        "parquet.write_table(table, path)",
        "json.dump(data, file)",
        "h5py.File(path, 'w')",
        "shutil.copy(a, b)",
        "os.open(path, flags)",
        "logging.FileHandler(path)",
    ],
)
def test_a_writer_is_seen(source: str) -> None:
    assert list(writing_calls(ast.parse(source))) != []


@pytest.mark.parametrize(
    "source", ["path.open('rb')", "open(path)", "write_bytes(path, content)", "canvas.savefig(png := io.BytesIO())"]
)
def test_what_only_reads_or_writes_to_memory_is_allowed(source: str) -> None:
    assert list(writing_calls(ast.parse(source))) == []
