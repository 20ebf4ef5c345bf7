"""Builder of kind `multicontact`: experiments whose robot and footholds are checked."""

from __future__ import annotations

from trundle.errors import InputError, MissingExtraError
from trundle.scenarios.engine.building import error_context
from trundle.scenarios.scenario import Scenario
from trundle.systems.multicontact.scenario.carry import CarryExperiment
from trundle.systems.multicontact.scenario.experiment import MulticontactExperiment
from trundle.systems.multicontact.scenario.obstacles import check_start
from trundle.systems.multicontact.scenario.stances import check_stances
from trundle.systems.multicontact.scenario.trials import HumanoidTrial
from trundle.systems.multicontact.scenario.walk import HumanoidWalkExperiment, StandExperiment

_LONGEST = 3600.0
"""Most time of a trial, s."""


_TASKS = {"stand": StandExperiment, "walk": HumanoidWalkExperiment, "carry": CarryExperiment}


def build(scenario: Scenario) -> MulticontactExperiment:
    """Return the experiment of a `multicontact` scenario, robot and footholds checked."""
    experiment = _TASKS[scenario.task](scenario)
    moved = {"robot": "robot.name", "servo": "plant.actuation", "pads": "robot.name"}
    moved |= {key: key for key in ("controller.avoid", "box.size")}
    with error_context("robot", scenario, moved):
        try:
            _ = experiment.controller, experiment.plant(HumanoidTrial(scenario.seed, 1.0)).specification()
        except MissingExtraError as error:
            raise InputError("robot", experiment.tables.robot.name, f"one whose packages are here; {error}") from None
    experiment.check()
    check_stances(experiment)
    if experiment.duration > _LONGEST:
        allowed = f"a way that takes at most {_LONGEST:g} s with what is after it"
        raise InputError(experiment.path_table, f"{experiment.duration:.4g} s", allowed, scenario.file)
    check_start(scenario, experiment.tables, experiment.plant(HumanoidTrial(scenario.seed, 1.0)), experiment.start)
    return experiment
