"""``python -m bench.house``: size and order of the sources, counted from their text alone; nothing is imported.

``--check`` compares with `TARGETS`.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

from bench.sources import (
    FUNCTIONS,
    Module,
    aliases_of_any,
    any_count,
    circles,
    graph,
    is_type_checking,
    read,
    stand_ins,
)

# The rules: what `--check` allows at the end.
MODULES_OF_A_FOLDER = 16  # at most, __init__ not counted
LINES_OF_A_MODULE = 600  # fewer than
LINES_OF_A_FUNCTION = 80  # fewer than
TARGETS = {
    "folders": 0,  # with too many modules
    "modules": 0,  # too long
    "functions": 0,  # too long
    "circles": 0,  # of imports at module level
    "circles_with_inner": 0,  # of all imports, also those inside functions
    "quoted_kinds": 0,  # outside systems/
    "any": 200,
    "aliases_of_any": 0,
}
FIGURE_OF = {"modules": "long_modules", "functions": "long_functions"}  # where the two are named differently
# Aims that are reported, not checked.
CODE_LINES, CODE_LINES_OUTSIDE_SYSTEMS = 33_000, 25_000

SYSTEMS = "systems"
KINDS = frozenset({"juggling", "planar", "walking", "multicontact", "wallbounce", "spatial"})
OTHER_MEANINGS = {  # (folder or file, word): what the word means there
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
        and not any(module.path.startswith(where) and node.value == word for where, word in OTHER_MEANINGS)
    ]


def classes(modules: list[Module]) -> list[tuple[Module, ast.ClassDef]]:
    """Return all classes with their modules."""
    return [(module, node) for module in modules for node in module.nodes if isinstance(node, ast.ClassDef)]


def shared_names(modules: list[Module]) -> dict[str, list[str]]:
    """Return the class names that more than one module defines."""
    homes: dict[str, set[str]] = defaultdict(set)
    for module, node in classes(modules):
        homes[node.name].add(module.path)
    return {name: sorted(paths) for name, paths in sorted(homes.items()) if len(paths) > 1}


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


def measure(package: Path) -> dict[str, object]:
    """Return all figures; lists stay lists of lines to read."""
    modules = read(package)
    lines: Counter[str] = Counter()
    anys: Counter[str] = Counter()
    others: Counter[str] = Counter()
    used = 0
    for module in modules:
        lines[module.top] += module.code_lines
        named = any_count(module)
        anys[module.top] += named.total()
        used += named["used"]
        others += stand_ins(module)
    count = folders(modules)
    outer, inner, typed = (circles(graph(modules, depth)) for depth in ("module", "function", "types"))
    return {
        "modules": len(modules),
        "code_lines": lines.total(),
        "code_lines_outside_systems": lines.total() - lines[SYSTEMS],
        "code_lines_by_package": dict(lines.most_common()),
        "largest_folders": dict(count.most_common(3)),
        "folders": [f"{name}: {size} modules" for name, size in count.items() if size > MODULES_OF_A_FOLDER],
        "long_modules": long_modules(modules),
        "long_functions": long_functions(modules),
        "circles": [" <-> ".join(circle) for circle in outer],
        "circles_with_inner": [" <-> ".join(circle) for circle in inner],
        "circles_with_types": [" <-> ".join(circle) for circle in typed],
        "any": anys.total(),
        "any_without_imports": used,
        "any_by_package": {name: number for name, number in anys.most_common() if number},
        "aliases_of_any": [line for module in modules for line in aliases_of_any(module)],
        "object_annotations": others["object"],
        "type_ignores": others["ignores"],
        "quoted_kinds": [line for module in modules for line in quoted_kinds(module)],
        "shared_class_names": [f"{name}: {', '.join(homes)}" for name, homes in shared_names(modules).items()],
        "repeated_declarations": repeated_declarations(modules),
        "docstrings": docstrings(modules),
    }


def checked(figures: Mapping[str, object]) -> dict[str, tuple[int, list[str]]]:
    """Return each rule's count with the lines that say where."""
    found: dict[str, tuple[int, list[str]]] = {}
    for rule in TARGETS:
        value = figures[FIGURE_OF.get(rule, rule)]
        found[rule] = (len(value), value) if isinstance(value, list) else (int(str(value)), [])
    return found


def check(figures: Mapping[str, object]) -> list[str]:
    """Return a line for each broken rule, and below it where."""
    broken = []
    for rule, (count, where) in checked(figures).items():
        if count > TARGETS[rule]:
            broken += [f"{rule}: {count}, at most {TARGETS[rule]}", *(f"  {line}" for line in where)]
    return broken


def pages(figures: Mapping[str, object], everything: bool) -> Iterator[str]:
    """Yield the report's lines."""
    aims = {"code_lines": CODE_LINES, "code_lines_outside_systems": CODE_LINES_OUTSIDE_SYSTEMS}
    rules = {FIGURE_OF.get(rule, rule): rule for rule in TARGETS}
    for key, value in figures.items():
        number = len(value) if isinstance(value, list) else value
        if isinstance(value, dict):
            yield f"{key.replace('_', ' ')}:"
            yield from (f"    {name:16} {_short(entry)}" for name, entry in value.items())
            continue
        rule = rules.get(key)
        limit = f"   at most {TARGETS[rule]}" if rule else ""
        limit = f"   target {aims[key]}" if key in aims else limit
        yield f"{key.replace('_', ' '):28} {number:>7}{limit}"
        if isinstance(value, list) and (everything or (rule and len(value) <= 8)):
            yield from (f"    {line}" for line in value)


def _short(entry: object) -> str:
    return (
        ", ".join(f"{name} {number:g}" for name, number in entry.items()) if isinstance(entry, dict) else f"{entry:>7}"
    )


def main(arguments: list[str] | None = None) -> int:
    """Print the report; with ``--check`` only what breaks a rule, and 1 if anything does."""
    parser = argparse.ArgumentParser(prog="python -m bench.house", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1], help="the checkout")
    parser.add_argument("--list", action="store_true", help="all lists in full")
    parser.add_argument("--json", action="store_true", help="for machines")
    parser.add_argument("--check", action="store_true", help="only what breaks a rule; 1 if anything does")
    asked = parser.parse_args(arguments)
    gc.disable()  # millions of nodes, none of which is dropped before the end: half the time
    figures = measure(asked.root / "src" / "trundle")
    if asked.check:
        broken = check(figures)
        print("\n".join(broken), end="\n" if broken else "")
        return int(bool(broken))
    print(json.dumps(figures, indent=1) if asked.json else "\n".join(pages(figures, asked.list)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
