"""Metrics of a run beside their limits, as they stand in `summary.json`."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Any

from trundle.scenarios import catalogue

_SENSES = {"<=": lambda value, limit: value <= limit, ">=": lambda value, limit: value >= limit}


@cache
def _library() -> dict[str, Any]:
    return tomllib.loads(catalogue.limits_text())


def limits(name: str) -> dict[str, tuple[str, float, str, str]]:
    """Return metric -> (sense, limit, unit, what it is) of scenario `name`; empty for a user's own."""
    return {key: tuple(entry) for key, entry in _library().get(name, {}).items()} if name != "published" else {}


def published(name: str) -> dict[str, tuple[float, str]]:
    """Return metric -> (published value, where it stands) of scenario `name`."""
    return {key: tuple(entry) for key, entry in _library().get("published", {}).get(name, {}).items()}


def judge(name: str, values: Mapping[str, float], units: Mapping[str, str] | None = None) -> dict[str, dict[str, Any]]:
    """Return the entries of `summary.json` for scenario `name`: limited metrics first, further values after them.

    A metric that has a limit and is missing or not finite does not hold; its value is null.

    Parameters
    ----------
    name : str
        Scenario; one without limits has only further values.
    values : mapping of str to float
        What was computed from the run.
    units : mapping of str to str, optional
        Of further values whose names depend on the scenario.
    """
    from trundle.report.metrics import unit

    entries: dict[str, dict[str, Any]] = {}
    known = published(name)
    for key, (sense, limit, unit_, _) in limits(name).items():
        value = _finite(values.get(key))
        entry = {"value": value, "unit": unit_, "sense": sense, "limit": limit}
        entry["holds"] = value is not None and _SENSES[sense](value, limit)
        entry["published"], entry["source"] = known.get(key, (None, ""))
        entries[key] = entry
    for key, value in values.items():
        if key not in entries:
            further = {
                "value": _finite(value),
                "unit": (units or {}).get(key, unit(key)),
                "sense": None,
                "limit": None,
                "holds": None,
            }
            figure, source = known.get(key, (None, ""))
            entries[key] = further | {"published": figure, "source": source}
    return entries


def hold(entries: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether every metric that has a limit holds."""
    return all(entry["holds"] is not False for entry in entries.values())


def _finite(value: Any) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
