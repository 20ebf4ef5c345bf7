"""Rules that the text of a module shows: sizes, kinds named outside the systems, declarations said twice."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench.sources import FUNCTIONS, Module, is_type_checking

MODULES_OF_A_FOLDER = 16
"""At most, ``__init__`` not counted: more is no longer seen at a glance."""

LINES_OF_A_MODULE = 600
"""Fewer than: one story."""

LINES_OF_A_FUNCTION = 80
"""Fewer than: a page."""

SYSTEMS = "systems"
KINDS = frozenset({"juggling", "planar", "walking", "multicontact", "wallbounce", "spatial"})
OTHER_MEANINGS = {  # (folder or file, word): what the word means there
    **{("__init__.py", kind): "the library of the system, handed out as `trundle.juggling`, ..." for kind in KINDS},
    ("models/urdf/", "planar"): "a joint type of URDF",
    ("models/hand_freedoms.py", "planar"): "the free directions of a hand: two translations and a rotation",
}
TABLE = "Table"  # the base of all tables of a scenario file
HOMES_OF_TABLES = (f"{SYSTEMS}/", "scenarios/")


def folders(modules: list[Module]) -> Counter[str]:
    """Count the modules directly in each folder, ``__init__`` left out."""
    return Counter(str(Path(m.path).parent) for m in modules if not m.is_package)


def long_modules(modules: list[Module]) -> list[str]:
    """List modules with too many lines."""
    sizes = ((m.path, m.source.count("\n")) for m in modules)
    return [f"{path}: {lines} lines" for path, lines in sizes if lines >= LINES_OF_A_MODULE]


def long_functions(modules: list[Module]) -> list[str]:
    """List functions with too many lines, from ``def`` to the last one."""
    found = []
    for module in modules:
        for node in module.nodes:
            if isinstance(node, FUNCTIONS):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length >= LINES_OF_A_FUNCTION:
                    found.append(f"{module.path}:{node.lineno}: {node.name} has {length} lines")
    return found


def quoted_kinds(module: Module) -> list[str]:
    """List strings outside systems/ that are the name of a kind."""
    if module.top == SYSTEMS:
        return []
    bare = {id(text) for text in module.bare_strings}
    return [
        f"{module.path}:{node.lineno}: {node.value!r}"
        for node in module.nodes
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value in KINDS
        and id(node) not in bare
        and not any(
            (module.path == where or (where != "__init__.py" and module.path.startswith(where))) and node.value == word
            for where, word in OTHER_MEANINGS
        )
    ]


def classes(modules: list[Module]) -> list[tuple[Module, ast.ClassDef]]:
    """Return all classes with their modules."""
    return [(module, node) for module in modules for node in module.nodes if isinstance(node, ast.ClassDef)]


def _last(node: ast.expr) -> str:
    """Return the last name of a decorator or a base: ``dataclass`` of ``dataclasses.dataclass(frozen=True)``."""
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return getattr(node, "attr", getattr(node, "id", ""))


def _default(value: ast.expr | None) -> str | None:
    """Return the default that a field declares, comparable: of ``Field(1)``, ``field(default=1.0)`` and ``1`` alike."""
    if isinstance(value, ast.Call) and _last(value) in {"Field", "field", "parameter"}:
        given = {keyword.arg: keyword.value for keyword in value.keywords}
        value = value.args[0] if value.args else given.get("default", given.get("default_factory"))
    if value is None or (isinstance(value, ast.Constant) and value.value is ...):
        return None
    try:
        known = ast.literal_eval(value)
    except ValueError:
        return ast.unparse(value)
    if isinstance(known, int | float) and not isinstance(known, bool):
        return repr(float(known))
    return repr(list(map(str, known)) if isinstance(known, list | tuple) else known)


def fields(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield (name, default) of the annotated fields of a class that have a default."""
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            default = _default(statement.value)
            if default is not None:
                yield statement.target.id, default


def repeated_declarations(modules: list[Module]) -> list[str]:
    """List fields of tables of scenario files that a dataclass elsewhere declares with the same name and default."""
    known = [(module, node, {_last(base) for base in node.bases}) for module, node in classes(modules)]
    tables = {TABLE, "table_of"}
    while more := {node.name for _, node, bases in known if bases & tables} - tables:
        tables |= more
    declared: dict[tuple[str, str], list[str]] = defaultdict(list)
    for module, node, bases in known:
        if not bases & tables and any(_last(mark) == "dataclass" for mark in node.decorator_list):
            for field in fields(node):
                declared[field].append(f"{module.path}:{node.name}")
    return [
        f"{module.path}:{node.name}.{name} = {default}: also {', '.join(sorted(declared[name, default]))}"
        for module, node, bases in known
        if bases & tables and module.path.startswith(HOMES_OF_TABLES)
        for name, default in fields(node)
        if (name, default) in declared
    ]


def documented(module: Module) -> Iterator[tuple[str, str]]:
    """Yield (name, docstring) of public functions and classes, and of public methods of public classes."""
    stack: list[tuple[str, ast.AST]] = [("", module.tree)]
    while stack:
        above, scope = stack.pop()
        for node in getattr(scope, "body", ()):
            if isinstance(node, (ast.ClassDef, *FUNCTIONS)) and not node.name.startswith("_"):
                name = f"{above}.{node.name}" if above else node.name
                yield name, ast.get_docstring(node) or ""
                if isinstance(node, ast.ClassDef):
                    stack.append((name, node))


def facade(modules: list[Module]) -> dict[str, str]:
    """Return the public names of the package with their homes: what its ``__init__`` imports for type checkers."""
    (root,) = (module for module in modules if module.path == "__init__.py")
    blocks = (block for block in root.tree.body if isinstance(block, ast.If) and is_type_checking(block))
    nodes = (node for block in blocks for node in ast.walk(block))
    return {alias.name: node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}


def prose(texts: list[str]) -> dict[str, float]:
    """Return number, median of words, and share with an example of docstrings."""
    words = [len(text.split()) for text in texts]
    examples = sum(">>>" in text for text in texts)
    return {"count": len(texts), "median_words": median(words or [0]), "examples": examples}


def docstrings(modules: list[Module]) -> dict[str, dict[str, float]]:
    """Return the figures of `prose` for everything public, and for what ``trundle`` itself hands out."""
    texts = [(module, name, text) for module in modules for name, text in documented(module)]
    homes = facade(modules)
    handed = [text for m, name, text in texts if name in homes and f"{m.name}.".startswith(f"{homes[name]}.")]
    return {"all": prose([text for _, _, text in texts]), "facade": prose(handed)}
