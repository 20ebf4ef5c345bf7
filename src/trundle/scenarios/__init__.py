"""Scenarios: checked TOML files, the protocol of a system, and the verb `run`.

Names that a system in another package needs are re-exported here, lazily: listing the scenarios imports nothing heavy.
They are the protocol (`System`, `TaskSpec`); tables and key types (`Table`, `ScenarioTable`, `table_of`, `Size`, ...);
the results of a builder (`Simulation`, or an `Experiment` of `Part`); trials in several processes (`run_trials`); and
the variables of a record (`Variable`, `View`, `make_dataset`). See `examples/own_system`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trundle.models import Start as Start
    from trundle.records import PAIR as PAIR
    from trundle.records import ROBOT as ROBOT
    from trundle.records import Variable as Variable
    from trundle.records import View as View
    from trundle.records import make_dataset as make_dataset
    from trundle.records import tree_view as tree_view
    from trundle.scenarios.engine.building import Experiment as Experiment
    from trundle.scenarios.engine.building import Part as Part
    from trundle.scenarios.engine.building import PartProgress as PartProgress
    from trundle.scenarios.engine.building import Regulated as Regulated
    from trundle.scenarios.engine.building import Simulation as Simulation
    from trundle.scenarios.engine.building import build as build
    from trundle.scenarios.engine.building import data as data
    from trundle.scenarios.engine.building import error_context as error_context
    from trundle.scenarios.engine.building import name_data_file as name_data_file
    from trundle.scenarios.engine.run import Result as Result
    from trundle.scenarios.engine.run import run as run
    from trundle.scenarios.engine.trials import Done as Done
    from trundle.scenarios.engine.trials import run_trials as run_trials
    from trundle.scenarios.engine.trials import stream_trials as stream_trials
    from trundle.scenarios.engine.trials import trial_parts as trial_parts
    from trundle.scenarios.problems import Allowed as Allowed
    from trundle.scenarios.problems import ScenarioError as ScenarioError
    from trundle.scenarios.scenario import Scenario as Scenario
    from trundle.scenarios.scenario import load_scenario as load_scenario
    from trundle.scenarios.schema import Angle as Angle
    from trundle.scenarios.schema import Array as Array
    from trundle.scenarios.schema import Count as Count
    from trundle.scenarios.schema import Criterion as Criterion
    from trundle.scenarios.schema import DataFile as DataFile
    from trundle.scenarios.schema import Duration as Duration
    from trundle.scenarios.schema import Mass as Mass
    from trundle.scenarios.schema import NonNegative as NonNegative
    from trundle.scenarios.schema import ParameterTable as ParameterTable
    from trundle.scenarios.schema import Place as Place
    from trundle.scenarios.schema import Place3 as Place3
    from trundle.scenarios.schema import Real as Real
    from trundle.scenarios.schema import ScenarioTable as ScenarioTable
    from trundle.scenarios.schema import Seconds as Seconds
    from trundle.scenarios.schema import Size as Size
    from trundle.scenarios.schema import Sizes2 as Sizes2
    from trundle.scenarios.schema import Sizes3 as Sizes3
    from trundle.scenarios.schema import Table as Table
    from trundle.scenarios.schema import Text as Text
    from trundle.scenarios.schema import Tolerance as Tolerance
    from trundle.scenarios.schema import Vector2 as Vector2
    from trundle.scenarios.schema import Vector3 as Vector3
    from trundle.scenarios.schema import Vector4 as Vector4
    from trundle.scenarios.schema import Vector6 as Vector6
    from trundle.scenarios.schema import check_multiples as check_multiples
    from trundle.scenarios.schema import fault as fault
    from trundle.scenarios.schema import table_of as table_of
    from trundle.scenarios.schema_shapes import GroundCurve as GroundCurve
    from trundle.scenarios.schema_shapes import HandShape as HandShape
    from trundle.scenarios.schema_shapes import ObjectShape as ObjectShape
    from trundle.scenarios.schema_shapes import OutlineCurve as OutlineCurve
    from trundle.scenarios.shapes import shape_of as shape_of
    from trundle.scenarios.system import System as System
    from trundle.scenarios.system import TaskSpec as TaskSpec

_HOMES = {
    "trundle.models": "Start",
    "trundle.records": "PAIR ROBOT Variable View make_dataset tree_view",
    "trundle.scenarios.engine.building": (
        "Experiment Part PartProgress Regulated Simulation build data error_context name_data_file "
    ),
    "trundle.scenarios.engine.run": "Result run",
    "trundle.scenarios.engine.trials": "Done run_trials stream_trials trial_parts",
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
__all__ = [*_HOME_OF]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("trundle.arguments").guard_name(getattr(import_module(_HOME_OF[name]), name))
