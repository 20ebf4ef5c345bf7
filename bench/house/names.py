"""What things are called: participles, names with two meanings, how many names are public."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict

from bench.sources import FUNCTIONS, Module, is_type_checking

# Participles that do not end in -ed.
_IRREGULAR = frozenset(
    (
        "begun bent borne bound bought broken brought built cast caught chosen clung cut dealt done drawn driven "
        "fallen fed felt flown forgotten found fought frozen given gone grown had heard held hidden hit hung kept "
        "known laid left lent lost made meant met paid put read ridden risen run said sealed seen sent set shaken "
        "shown shut slid slipped sought split spread spun stood struck stuck sunk swept swum swung taken thought "
        "thrown told torn turned understood won worn woven wound written"
    ).split()
)
# Verbs, nouns and adjectives that look like participles.
_NONE = frozenset(
    (
        "bed bind bleed breed bound cast cut embed exceed feed found hit left need proceed put read run seed set "
        "shed shot shut speed split spread succeed wound"
    ).split()
)
_SCENARIO = re.compile(r"^systems/[^/]+/scenario/")
_EVERYWHERE = {"__init__", "__main__"}


def participles(modules: list[Module]) -> list[str]:
    """List functions whose name is one participle: it says what comes out, not what is done."""
    found = []
    for module in modules:
        for node in module.nodes:
            if isinstance(node, FUNCTIONS) and is_participle(node.name) and not _is_property(node):
                found.append(f"{module.path}:{node.lineno}: {node.name}")
    return found


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function is read like an attribute: there a participle is an adjective, as ``converged``."""
    marks = {getattr(mark, "attr", getattr(mark, "id", "")) for mark in node.decorator_list}
    return bool(marks & {"property", "cached_property"})


def is_participle(name: str) -> bool:
    """Whether a name is one participle: ``told``, ``_held``, ``turned``."""
    word = name.strip("_")
    if "_" in word or word in _NONE:
        return False
    return word in _IRREGULAR or (word.endswith("ed") and len(word) > 3 and word.islower())


def function_count(modules: list[Module]) -> int:
    """Count all functions."""
    return sum(isinstance(node, FUNCTIONS) for module in modules for node in module.nodes)


def shared_class_names(modules: list[Module]) -> dict[str, list[str]]:
    """Return the class names that more than one module defines, with those modules."""
    homes: dict[str, set[str]] = defaultdict(set)
    for module in modules:
        for node in module.nodes:
            if isinstance(node, ast.ClassDef):
                homes[node.name].add(module.path)
    return {name: sorted(paths) for name, paths in sorted(homes.items()) if len(paths) > 1}


def repeated_file_names(modules: list[Module]) -> dict[str, int]:
    """Return the names that three files or more have; schema, build, metrics, ... of scenarios do not count."""
    paths = [module.path for module in modules if not _SCENARIO.match(module.path)]
    count = Counter(path.rsplit("/", 1)[-1].removesuffix(".py") for path in paths)
    return {name: number for name, number in sorted(count.items()) if number >= 3 and name not in _EVERYWHERE}


def public_names(modules: list[Module], path: str) -> list[str]:
    """Return the names that a package hands out lazily: what its ``__init__`` imports for type checkers."""
    homes = [module for module in modules if module.path == path]
    blocks = [block for home in homes for block in home.tree.body if isinstance(block, ast.If)]
    found = []
    for block in blocks:
        if is_type_checking(block):
            nodes = [node for node in block.body if isinstance(node, ast.ImportFrom)]
            found += [alias.name for node in nodes for alias in node.names]
    return found
