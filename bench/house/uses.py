"""Who uses what: modules outside the systems that one system alone reaches, and those that nobody does."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping

from bench.sources import Module, graph, imported

SYSTEMS = "systems"
# What users of the core have, without any system: where the core's own needs begin.
CORE = ("audit", "cli", "environments", "geometry", "interop", "report", "scenarios", "simulate")
# Packages whose public names users of the core have, too; what stands beside these names is there for its users alone.
FAMILIES = ("", "control", "models", "optimal", "records")


def edges(modules: list[Module]) -> dict[str, set[str]]:
    """Return which module loads which, a name that a package hands on counted for the module that defines it."""
    known = {module.name: module for module in modules}
    bound: dict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
    for module in modules:
        for node in module.tree.body if module.is_package else ():
            if isinstance(node, ast.ImportFrom) and node.module and node.module != module.name:
                for alias in node.names:
                    bound[module.name][alias.asname or alias.name] = (node.module, alias.name)

    def home(package: str, name: str) -> str:
        """Follow a name through the packages that hand it on."""
        while f"{package}.{name}" not in known and name in bound.get(package, {}):
            package, name = bound[package][name]
        return f"{package}.{name}" if f"{package}.{name}" in known else package

    found: dict[str, set[str]] = {name: set() for name in known}
    handed: Mapping[str, set[str]] = {name: set(names) for name, names in bound.items()}
    for module in modules:
        for node, _ in module.placed:
            if isinstance(node, ast.ImportFrom) and not node.level and node.module in known:
                found[module.name] |= {home(node.module, alias.name) for alias in node.names}
            elif isinstance(node, ast.Import | ast.ImportFrom | ast.Call):
                found[module.name] |= imported(module, node, known, defaultdict(set, handed))
        if module.is_package:  # a package that hands names on needs none of them itself
            found[module.name] -= {home(module.name, name) for name in bound[module.name]}
        found[module.name].discard(module.name)
    return found


def reached(loads: Mapping[str, set[str]], roots: Iterable[str]) -> set[str]:
    """Return everything that the roots load, and themselves."""
    seen: set[str] = set()
    work = [name for name in roots if name in loads]
    while work:
        name = work.pop()
        if name not in seen:
            seen.add(name)
            work += loads[name] - seen
    return seen


def public_homes(modules: list[Module]) -> set[str]:
    """Return the modules that define what facade and families hand out."""
    known = {module.name: module for module in modules}
    paths = {f"{family}/__init__.py".removeprefix("/") for family in FAMILIES}
    pairs: list[tuple[str, str]] = []
    for root in (module for module in modules if module.path in paths):
        nodes = [node for node in root.nodes if isinstance(node, ast.ImportFrom)]
        pairs += [(node.module, alias.name) for node in nodes if node.module in known for alias in node.names]
    found = set()
    for package, name in pairs:
        place = package
        while name in _handed(known[place]):
            place, name = _handed(known[place])[name]
        found.add(place)
    return found


def _handed(module: Module) -> dict[str, tuple[str, str]]:
    """Return the names that a package hands on, with where they come from."""
    nodes = [node for node in module.tree.body if isinstance(node, ast.ImportFrom) and module.is_package]
    return {alias.asname or alias.name: (node.module or "", alias.name) for node in nodes for alias in node.names}


def users(modules: list[Module]) -> dict[str, set[str]]:
    """Return for each module outside the systems who reaches it: systems by name, and ``core``."""
    loads = edges(modules)
    roots: dict[str, set[str]] = defaultdict(set)
    for module in modules:
        parts = module.path.split("/")
        if parts[0] == SYSTEMS and len(parts) > 2:
            roots[parts[1]].add(module.name)
        elif module.top in CORE:
            roots["core"].add(module.name)
    roots["core"] |= public_homes(modules)
    found: dict[str, set[str]] = {module.name: set() for module in modules if module.top != SYSTEMS}
    for who, names in roots.items():
        for name in reached(loads, names) & found.keys():
            found[name].add(who)
    return found


def of_one_system(modules: list[Module]) -> list[str]:
    """List modules outside the systems that one system alone uses."""
    found = sorted(users(modules).items())
    return [f"{name}: {next(iter(who))}" for name, who in found if len(who) == 1 and who != {"core"}]


def of_nobody(modules: list[Module]) -> list[str]:
    """List modules, no packages, that no other module imports."""
    packages = {module.name for module in modules if module.is_package}
    loaded = set().union(*graph(modules, "types").values())
    named = (SYSTEMS, "interop")  # loaded by names that are put together: of tasks, of engines
    free = [module for module in modules if module.name not in loaded | packages and module.top not in named]
    return sorted(module.name for module in free)
