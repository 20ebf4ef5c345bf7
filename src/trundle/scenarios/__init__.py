"""Scenarios: checked TOML files, the protocol of a system, and the verb `run`.

What a system from outside needs is handed on here, lazily, so that listing the scenarios loads nothing heavy: the
protocol (`System`, `TaskSpec`), tables and types of keys (`Table`, `ScenarioTable`, `table_of`, `Size`, ...), what a
builder makes (`Simulation`, or an `Experiment` of `Part`), trials over processes (`run_trials`), and the variables of a
record (`Variable`, `View`, `make_dataset`). See `examples/own_system`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trundle.models import Start
    from trundle.records import PAIR, ROBOT, Variable, View, make_dataset, tree_view
    from trundle.scenarios.engine.building import (
        Experiment,
        Part,
        PartProgress,
        Regulated,
        Simulation,
        build,
        data,
        error_context,
        measured,
    )
    from trundle.scenarios.engine.run import Result, run
    from trundle.scenarios.engine.trials import Done, next_of, run_trials, stream_trials
    from trundle.scenarios.problems import Allowed, ScenarioError
    from trundle.scenarios.scenario import Scenario, load_scenario
    from trundle.scenarios.schema import (
        Angle,
        Array,
        Count,
        Criterion,
        DataFile,
        Duration,
        Mass,
        NonNegative,
        ParameterTable,
        Place,
        Place3,
        Real,
        ScenarioTable,
        Seconds,
        Size,
        Sizes2,
        Sizes3,
        Table,
        Text,
        Tolerance,
        Vector2,
        Vector3,
        Vector4,
        Vector6,
        check_multiples,
        fault,
        table_of,
    )
    from trundle.scenarios.schema_shapes import GroundCurve, HandShape, ObjectShape, OutlineCurve
    from trundle.scenarios.shapes import shape_of
    from trundle.scenarios.system import System, TaskSpec

__all__ = [
    "PAIR",
    "ROBOT",
    "Allowed",
    "Angle",
    "Array",
    "Count",
    "Criterion",
    "DataFile",
    "Done",
    "Duration",
    "Experiment",
    "GroundCurve",
    "HandShape",
    "Mass",
    "NonNegative",
    "ObjectShape",
    "OutlineCurve",
    "ParameterTable",
    "Part",
    "PartProgress",
    "Place",
    "Place3",
    "Real",
    "Regulated",
    "Result",
    "Scenario",
    "ScenarioError",
    "ScenarioTable",
    "Seconds",
    "Simulation",
    "Size",
    "Sizes2",
    "Sizes3",
    "Start",
    "System",
    "Table",
    "TaskSpec",
    "Text",
    "Tolerance",
    "Variable",
    "Vector2",
    "Vector3",
    "Vector4",
    "Vector6",
    "View",
    "build",
    "check_multiples",
    "data",
    "error_context",
    "fault",
    "load_scenario",
    "make_dataset",
    "measured",
    "next_of",
    "run",
    "run_trials",
    "shape_of",
    "stream_trials",
    "table_of",
    "tree_view",
]

_HOMES = {
    "trundle.models": "Start",
    "trundle.records": "PAIR ROBOT Variable View make_dataset tree_view",
    "trundle.scenarios.engine.building": (
        "Experiment Part PartProgress Regulated Simulation build data error_context measured "
    ),
    "trundle.scenarios.engine.run": "Result run",
    "trundle.scenarios.engine.trials": "Done next_of run_trials stream_trials",
    "trundle.scenarios.problems": "Allowed ScenarioError",
    "trundle.scenarios.scenario": "Scenario load_scenario",
    "trundle.scenarios.schema": (
        "Angle Array Count Criterion DataFile Duration Mass NonNegative ParameterTable Place Place3 Real "
        "ScenarioTable Seconds Size Sizes2 Sizes3 Table Text Tolerance Vector2 Vector3 Vector4 Vector6 "
        "check_multiples fault table_of "
    ),
    "trundle.scenarios.schema_shapes": "GroundCurve HandShape ObjectShape OutlineCurve",
    "trundle.scenarios.shapes": "shape_of",
    "trundle.scenarios.system": "System TaskSpec",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)
