"""Python sources as trees: code lines, imports and their circles, uses of ``Any``. Nothing is imported."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Module:
    """One source file: `path` from the package's folder, `name` dotted."""

    path: str
    name: str
    source: str

    @cached_property
    def tree(self) -> ast.Module:
        """Syntax tree."""
        return ast.parse(self.source)

    @cached_property
    def placed(self) -> list[tuple[ast.AST, bool]]:
        """All nodes, each with whether it runs when the module is imported; what only type checkers see is left out."""
        found: list[tuple[ast.AST, bool]] = []
        stack: list[tuple[ast.AST, bool]] = [(self.tree, True)]
        while stack:
            node, outer = stack.pop()
            found.append((node, outer))
            if isinstance(node, ast.If) and is_type_checking(node):
                stack += [(child, outer) for child in reversed(node.orelse)]
                continue
            outer = outer and not isinstance(node, (*FUNCTIONS, ast.Lambda))
            children: list[object] = []
            for name in node._fields:
                child = getattr(node, name, None)
                children += child if isinstance(child, list) else [child]
            stack += [(child, outer) for child in reversed(children) if isinstance(child, ast.AST)]
        return found

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree."""
        hidden = (node for node, _ in self.placed if isinstance(node, ast.If) and is_type_checking(node))
        return [node for node, _ in self.placed] + [
            inner for block in hidden for part in block.body for inner in ast.walk(part)
        ]

    @property
    def is_package(self) -> bool:
        """Whether the file is an ``__init__``."""
        return Path(self.path).name == "__init__.py"

    @property
    def top(self) -> str:
        """Folder or file directly in the package."""
        return self.path.split("/")[0].removesuffix(".py")

    @cached_property
    def bare_strings(self) -> list[ast.Constant]:
        """Docstrings, also those that follow an attribute."""
        statements = (node.value for node in self.nodes if isinstance(node, ast.Expr))
        return [value for value in statements if isinstance(value, ast.Constant) and isinstance(value.value, str)]

    @cached_property
    def code_lines(self) -> int:
        """Lines that hold code: no docstrings, comments, blank lines."""
        texts = (line.strip() for line in self.source.splitlines())
        lines = {number for number, text in enumerate(texts, 1) if text and not text.startswith("#")}
        for node in self.nodes:  # blank lines and hashes inside a string are the string's
            if isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno != node.lineno:
                lines.update(span(node))
        for text in self.bare_strings:
            lines.difference_update(span(text))
        return len(lines)


def span(node: ast.expr) -> range:
    """Return the lines that an expression takes."""
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def is_type_checking(node: ast.If) -> bool:
    """Return whether the block is for type checkers alone."""
    return "TYPE_CHECKING" in {getattr(node.test, "id", None), getattr(node.test, "attr", None)}


def read(package: Path) -> list[Module]:
    """Read every module below `package`, a folder."""
    modules = []
    for file in sorted(package.rglob("*.py")):
        path = file.relative_to(package)
        parts = [package.name, *path.with_suffix("").parts]
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules.append(Module(path.as_posix(), name, file.read_text(encoding="utf-8")))
    return modules


def _annotations(node: ast.AST) -> Iterator[ast.expr | None]:
    """Yield what stands in `node` as a type: there a string is code."""
    if isinstance(node, ast.AnnAssign | ast.arg):
        yield node.annotation
    elif isinstance(node, FUNCTIONS):
        yield node.returns
    elif (
        isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "cast" and node.args
    ):
        yield node.args[0]


def any_count(module: Module) -> Counter[str]:
    """Count the name ``Any``: ``used`` (also in quoted annotations) and ``imported``."""
    quoted: list[ast.AST] = []
    for node in module.nodes:
        for annotation in _annotations(node):
            for inner in ast.walk(annotation) if annotation else ():
                if isinstance(inner, ast.Constant) and isinstance(inner.value, str) and "Any" in inner.value:
                    try:
                        quoted += ast.walk(ast.parse(inner.value, mode="eval"))
                    except SyntaxError:  # a string of a Literal or of Annotated
                        continue
    count: Counter[str] = Counter()
    for node in (*module.nodes, *quoted):
        if isinstance(node, ast.Name):
            count["used"] += node.id == "Any"
        elif isinstance(node, ast.Attribute):
            count["used"] += node.attr == "Any"
        elif isinstance(node, ast.alias):
            count["imported"] += (node.name, node.asname).count("Any")
    return count


def aliases_of_any(module: Module) -> list[str]:
    """List other names for ``Any`` or for ``object``."""
    found = []
    for node in module.nodes:
        value = getattr(node, "value", None)
        is_alias = isinstance(node, ast.alias) and node.name == "Any" and node.asname not in (None, "Any")
        plain = isinstance(node, ast.Assign) and isinstance(value, ast.Name) and value.id in {"Any", "object"}
        declared = isinstance(node, ast.AnnAssign) and isinstance(value, ast.Name) and value.id in {"Any", "object"}
        if is_alias or plain or declared:
            found.append(f"{module.path}:{node.lineno}")  # pyright: ignore[reportAttributeAccessIssue]
    return found


def stand_ins(module: Module) -> Counter[str]:
    """Count what could stand in for ``Any``: ``object`` as an annotation, and lines that silence the type checker."""
    counts: Counter[str] = Counter()
    for node in module.nodes:
        for annotation in _annotations(node):
            names = ast.walk(annotation) if annotation else ()
            counts["object"] += sum(isinstance(name, ast.Name) and name.id == "object" for name in names)
    counts["ignores"] = module.source.count("# type: ignore") + module.source.count("# pyright: ignore")
    return counts


def imported(module: Module, node: ast.AST, names: Mapping[str, Module], bound: Mapping[str, set[str]]) -> set[str]:
    """Return the modules of the package that an import loads by name."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names} & names.keys()
    if isinstance(node, ast.Call):
        called = getattr(node.func, "id", getattr(node.func, "attr", ""))
        constant = node.args and isinstance(node.args[0], ast.Constant) and str(node.args[0].value)
        return {constant} & names.keys() if called in {"import_module", "__import__"} and constant else set()
    if not isinstance(node, ast.ImportFrom):
        return set()
    base = node.module or ""
    if node.level:
        parts = module.name.split(".")
        parts = parts[: len(parts) - node.level + module.is_package]
        base = ".".join([*parts, *([node.module] if node.module else [])])
    if base not in names:
        return set()
    found = set()
    for alias in node.names:
        below = f"{base}.{alias.name}"
        found.add(below if below in names and alias.name not in bound[base] else base)
    return found


AGREED = {("trundle.records.trajectory", "trundle.scenarios.engine.pictures")}
"""Steps up the floors that tests/test_imports.py agrees to: a record shows itself when it is asked to."""


def graph(modules: list[Module], depth: str) -> dict[str, set[str]]:
    """Return which module imports which at level "module", also inside a "function", or also for "types" alone."""
    names = {module.name: module for module in modules}
    bound: dict[str, set[str]] = defaultdict(set)  # names that an __init__ hands on from elsewhere
    for module in modules:
        for node in module.tree.body if module.is_package else ():
            if isinstance(node, ast.ImportFrom) and node.module and node.module != module.name:
                bound[module.name] |= {alias.asname or alias.name for alias in node.names}
    edges: dict[str, set[str]] = {name: set() for name in names}
    for module in modules:
        nodes = module.nodes if depth == "types" else [n for n, outer in module.placed if outer or depth == "function"]
        for node in nodes:
            if isinstance(node, ast.Import | ast.ImportFrom | ast.Call):
                found = imported(module, node, names, bound) - {module.name}
                edges[module.name] |= {name for name in found if (module.name, name) not in AGREED}
    return edges


def circles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components of more than one module (Tarjan, without recursion)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []
    found = []
    for root in edges:
        work = [(root, iter(sorted(edges[root])))] if root not in order else []
        while work:
            name, following = work[-1]
            if name not in order:
                order[name] = low[name] = len(order)
                path.append(name)
            for other in following:
                if other not in order:
                    work.append((other, iter(sorted(edges[other]))))
                    break
                if other in path:
                    low[name] = min(low[name], order[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == order[name]:
                    component = path[path.index(name) :]
                    del path[path.index(name) :]
                    found += [sorted(component)] if len(component) > 1 else []
    return sorted(found)
