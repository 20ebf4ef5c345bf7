"""The page `metrics`, made when pages are built, from where the metrics of each kind of scenario are declared."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from importlib import import_module

from trundle.report import MetricGroup, Quantity
from trundle.report.metrics import QUANTITIES
from trundle.scenarios import catalogue
from trundle.systems.planar.scenario.metrics import LATE

#: Whose names begin with the name of a task, as a file of task `track` has it.
TASKS = {f"TASK{LATE}": Quantity("unit of the task", "largest error of the task over the second half of the run")}


def declared(kind: str) -> tuple[Mapping[str, Quantity], tuple[MetricGroup, ...]]:
    """Return the metrics of every run of a kind, and the groups of those that scenarios ask for."""
    module = import_module(f"trundle.systems.{kind}.scenario.metrics")
    return module.QUANTITIES | (TASKS if kind == "planar" else {}), module.GROUPS


def asking() -> dict[str, dict[str, set[str]]]:
    """Return kind -> scenario -> the metrics that its table [acceptance] names."""
    found: dict[str, dict[str, set[str]]] = {}
    for one in catalogue.entries():
        found.setdefault(one.kind, {})[one.name] = set(tomllib.loads(catalogue.text_of(one.name)).get("acceptance", {}))
    return found


def page() -> str:
    """Return the tables in MyST."""
    lines = ["## Of every pair and tree", "", *_table(QUANTITIES)]
    for kind, scenarios in sorted(asking().items()):
        common, groups = declared(kind)
        own = {name: one for name, one in common.items() if QUANTITIES.get(name) != one}
        lines += [f"## Kind `{kind}`", ""]
        if own:
            lines += [f"Of runs of this kind ({_names(scenarios)}), where they apply:", "", *_table(own)]
        for group in groups:
            asked = [name for name, metrics in scenarios.items() if metrics & group.quantities.keys()]
            told = _names(asked) or "files that ask for one of them"
            where = ", where they apply" if group.applies else ""
            lines += [f"Of {'all' if group.always else told}{where}:", "", *_table(group.quantities)]
    return "\n".join(lines)


def _names(scenarios: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in scenarios)


def _table(quantities: Mapping[str, Quantity]) -> list[str]:
    bar = "\\|"
    rows = (f"| `{name}` | {unit} | {meaning.replace('|', bar)} |" for name, (unit, meaning) in quantities.items())
    return ["| Metric | Unit | Means |", "|---|---|---|", *rows, ""]
