"""Scenarios: checked TOML files, one builder a kind, and the verb `run`.

Names are handed out lazily, so that listing the scenarios loads nothing heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trundle.scenarios.engine.building import Simulation, build
    from trundle.scenarios.engine.run import Result, run
    from trundle.scenarios.problems import ScenarioError
    from trundle.scenarios.scenario import Scenario, load_scenario

__all__ = ["Result", "Scenario", "ScenarioError", "Simulation", "build", "load_scenario", "run"]

_HOMES = {
    "Result": "engine.run",
    "Scenario": "scenario",
    "ScenarioError": "problems",
    "Simulation": "engine.building",
    "build": "engine.building",
    "load_scenario": "scenario",
    "run": "engine.run",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
