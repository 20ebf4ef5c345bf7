"""The floors as the imports draw them: each package above all that it imports."""

from __future__ import annotations

from collections import defaultdict

from bench.sources import Module, graph


def package_imports(modules: list[Module]) -> dict[str, set[str]]:
    """Return which package or file directly in trundle imports which other one; the facade is none."""
    tops = {module.name: module.top for module in modules if module.top != "__init__"}
    found: dict[str, set[str]] = {top: set() for top in tops.values()}
    for name, others in graph(modules, "function").items():
        if name in tops:
            found[tops[name]] |= {tops[other] for other in others if other in tops} - {tops[name]}
    return found


def levels(imports: dict[str, set[str]]) -> dict[str, int]:
    """Return for each package the longest way of imports down from it."""
    known: dict[str, int] = {}

    def level(name: str) -> int:
        if name not in known:
            known[name] = 1 + max((level(other) for other in imports[name]), default=-1)
        return known[name]

    for name in imports:
        level(name)
    return known


def picture(modules: list[Module]) -> str:
    """Return a line a floor, the highest first."""
    floors: dict[int, list[str]] = defaultdict(list)
    for name, number in levels(package_imports(modules)).items():
        floors[number].append(name)
    return "\n".join(f"{number:2}  {'  '.join(sorted(floors[number]))}" for number in sorted(floors, reverse=True))
