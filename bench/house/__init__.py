"""``python -m bench.house``: how the sources read, counted from their text, each figure beside its goal.

``--check`` holds what has been reached (`HELD`); ``--run`` adds what stands behind one call of `simulate`.
"""

from __future__ import annotations

import argparse
import gc
import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.house import floors, names, rules, running, text, uses
from bench.sources import Module, aliases_of_any, any_count, circles, graph, read, stand_ins

GOALS: Mapping[str, float] = {
    "tokens": 600_000,  # of src, Python and C, code in strings included
    "tokens_a_code_line": 9.5,
    "comprehensions_per_1000_code_lines": 20,
    "nested_comprehensions": 0,  # two deep over more than two lines
    "bare_constants": 0,  # numeric ones without unit and reason
    "participles": 0,  # functions whose name is one
    "shared_class_names": 10,
    "repeated_file_names": 10,  # that stand thrice
    "facade": 85,  # names
    "largest_slice": 40,  # names
    "of_one_system": 0,  # modules outside systems/ that one system alone uses
    "of_nobody": 0,
    "modules_behind_simulate": 70,
    "frames_behind_simulate": 7,
    "modules_that_ask_for_the_dimension": 20,
    "folders": 0,  # with too many modules
    "long_modules": 0,
    "long_functions": 0,
    "circles": 0,  # of imports at module level
    "circles_with_inner": 0,  # also those inside functions
    "circles_with_types": 0,  # also those for type checkers
    "hard_dependencies": 10,
    "prose_matches": 100,  # `raises(..., match=...)` of tests that match words instead of keys
    "quoted_kinds": 0,  # outside systems/
    "any": 200,
    "aliases_of_any": 0,
}
AT_LEAST: Mapping[str, float] = {"comments_per_100_code_lines": 2.5}
"""Goals that are reached from below."""

HELD: Mapping[str, float] = {
    "folders": 0,
    "long_modules": 0,
    "long_functions": 0,
    "circles": 0,
    "circles_with_inner": 0,
    "quoted_kinds": 0,
    "any": 200,
    "aliases_of_any": 0,
    "of_one_system": 0,
    "of_nobody": 0,
    "largest_slice": 40,
    "facade": 85,
    "nested_comprehensions": 0,
    "bare_constants": 0,
    "participles": 10,  # public verbs of robots and models, such as `Robot.fixed`
    "shared_class_names": 10,
}
"""What `--check` allows at most. A figure that reaches its goal is entered here, and stays."""


def measure(package: Path, tests: Path | None = None, run: bool = False) -> dict[str, object]:
    """Return all figures; lists stay lists of lines to read."""
    modules = read(package)
    lines = Counter[str]()
    anys = Counter[str]()
    others = Counter[str]()
    used = 0
    for module in modules:
        lines[module.top] += module.code_lines
        named = any_count(module)
        anys[module.top] += named.total()
        used += named["used"]
        others += stand_ins(module)
    count = rules.folders(modules)
    outer, inner, typed = (circles(graph(modules, depth)) for depth in ("module", "function", "types"))
    figures: dict[str, object] = {
        "modules": len(modules),
        "code_lines": lines.total(),
        "code_lines_outside_systems": lines.total() - lines[uses.SYSTEMS],
        "code_lines_by_package": dict(lines.most_common()),
        **how_it_reads(package, modules, lines.total()),
        **what_is_called(package, modules),
        "of_one_system": uses.of_one_system(modules),
        "of_nobody": uses.of_nobody(modules),
        "largest_folders": dict(count.most_common(3)),
        "folders": [f"{name}: {size} modules" for name, size in count.items() if size > rules.MODULES_OF_A_FOLDER],
        "long_modules": rules.long_modules(modules),
        "long_functions": rules.long_functions(modules),
        "circles": [" <-> ".join(circle) for circle in outer],
        "circles_with_inner": [" <-> ".join(circle) for circle in inner],
        "circles_with_types": [" <-> ".join(circle) for circle in typed],
        "any": anys.total(),
        "any_without_imports": used,
        "any_by_package": {name: number for name, number in anys.most_common() if number},
        "aliases_of_any": [line for module in modules for line in aliases_of_any(module)],
        "object_annotations": others["object"],
        "type_ignores": others["ignores"],
        "quoted_kinds": [line for module in modules for line in rules.quoted_kinds(module)],
        "repeated_declarations": rules.repeated_declarations(modules),
        "docstrings": rules.docstrings(modules),
    }
    if tests is not None and tests.is_dir():
        figures["prose_matches"] = text.prose_matches(tests)
    return figures | (running.behind_simulate(package) if run else {})


def how_it_reads(package: Path, modules: list[Module], code_lines: int) -> dict[str, object]:
    """Return the figures of the text itself."""
    python = sum(text.python_tokens(module) for module in modules)
    c = sum(text.c_tokens(file.read_text(encoding="utf-8")) for file in text.c_files(package))
    asking = {line.rsplit(":", 1)[0] for module in modules for line in text.dimension_tests(module)}
    code_lines = max(code_lines, 1)
    return {
        "tokens": python + c,
        "tokens_of_c": c,
        "tokens_a_code_line": round(python / code_lines, 2),
        "comments_per_100_code_lines": round(100 * sum(text.comments(m) for m in modules) / code_lines, 2),
        "comprehensions_per_1000_code_lines": round(1000 * sum(map(text.comprehensions, modules)) / code_lines, 1),
        "nested_comprehensions": [line for module in modules for line in text.nested_comprehensions(module)],
        "bare_constants": [line for module in modules for line in text.bare_constants(module)],
        "modules_that_ask_for_the_dimension": sorted(asking),
    }


def what_is_called(package: Path, modules: list[Module]) -> dict[str, object]:
    """Return the figures of names, and of what is public."""
    shared = names.shared_class_names(modules)
    slices = {
        module.path.split("/")[1]: len(names.public_names(modules, module.path))
        for module in modules
        if module.path.startswith(f"{uses.SYSTEMS}/") and module.path.count("/") == 2 and module.is_package
    }
    found: dict[str, object] = {
        "participles": names.participles(modules),
        "functions": names.function_count(modules),
        "shared_class_names": [f"{name}: {', '.join(homes)}" for name, homes in shared.items()],
        "repeated_file_names": [f"{name}: {number}" for name, number in names.repeated_file_names(modules).items()],
        "facade": len(names.public_names(modules, "__init__.py")),
        "names_of_slices": slices,
        "largest_slice": max(slices.values(), default=0),
    }
    project = package.parent.parent / "pyproject.toml"
    if project.is_file():
        declared = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
        found["hard_dependencies"] = len(declared["dependencies"])
    return found


def number_of(value: object) -> float:
    """Return a figure as a number: lists by their length."""
    return len(value) if isinstance(value, list) else float(str(value))


def check(figures: Mapping[str, object]) -> list[str]:
    """Return a line for each broken rule, and below it where."""
    broken = []
    for rule, most in HELD.items():
        value = figures[rule]
        if number_of(value) > most:
            where = value if isinstance(value, list) else []
            broken += [f"{rule}: {number_of(value):g}, at most {most:g}", *(f"  {line}" for line in where)]
    return broken


def pages(figures: Mapping[str, object], everything: bool) -> Iterator[str]:
    """Yield the report's lines."""
    for key, value in figures.items():
        title = key.replace("_", " ")
        if isinstance(value, dict):
            yield f"{title}:"
            yield from (f"    {name:16} {_short(entry)}" for name, entry in value.items())
            continue
        goal = ""
        if key in GOALS:
            goal = f"   goal {GOALS[key]:g}: " + ("met" if number_of(value) <= GOALS[key] else "not met")
        elif key in AT_LEAST:
            goal = f"   goal {AT_LEAST[key]:g}: " + ("met" if number_of(value) >= AT_LEAST[key] else "not met")
        yield f"{title:36} {number_of(value):>9g}{goal}"
        if isinstance(value, list) and (everything or (key in HELD and len(value) <= 8)):
            yield from (f"    {line}" for line in value)


def _short(entry: object) -> str:
    if isinstance(entry, dict):
        return ", ".join(f"{name} {number:g}" for name, number in entry.items())
    return f"{entry:>7}"


def main(arguments: list[str] | None = None) -> int:
    """Print the report; with ``--check`` only what breaks a rule, and 1 if anything does."""
    parser = argparse.ArgumentParser(prog="python -m bench.house", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2], help="the checkout")
    parser.add_argument("--list", action="store_true", help="all lists in full")
    parser.add_argument("--json", action="store_true", help="for machines")
    parser.add_argument("--run", action="store_true", help="also what stands behind one call of simulate")
    parser.add_argument("--check", action="store_true", help="only what breaks a rule; 1 if anything does")
    parser.add_argument("--floors", action="store_true", help="only the floors, as the imports draw them")
    asked = parser.parse_args(arguments)
    if asked.floors:
        print(floors.picture(read(asked.root / "src" / "trundle")))
        return 0
    gc.disable()  # millions of nodes, none of which is dropped before the end: half the time
    figures = measure(asked.root / "src" / "trundle", None if asked.check else asked.root / "tests", asked.run)
    if asked.check:
        broken = check(figures)
        print("\n".join(broken), end="\n" if broken else "")
        return int(bool(broken))
    print(json.dumps(figures, indent=1) if asked.json else "\n".join(pages(figures, asked.list)))
    return 0
