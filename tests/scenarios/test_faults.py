"""Tables [faults] and [watchdog]: the same in every kind with a controller, refused by name in every other task."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trundle as tr
from tests.fuzz.cases import BASES
from trundle.control import in_rolling_coordinates
from trundle.records.reference import Reference
from trundle.scenarios import build, load_scenario, schema
from trundle.scenarios.engine.building import Experiment
from trundle.scenarios.faults import ControlledTable, FaultsTable, WatchdogTable, guard_policy
from trundle.scenarios.scenario import scenario_from
from trundle.systems.juggling.scenario.control import TransferExperiment

CONTROLLED = {
    ("juggling", "transfer"), ("juggling", "balance"), ("juggling", "throw"), ("planar", "track"), ("walking", "walk"),
    ("multicontact", "stand"), ("multicontact", "walk"), ("multicontact", "carry"),
    ("wallbounce", "recover"), ("wallbounce", "navigate"),
}  # fmt: skip
TASKS = [(kind, task) for kind in schema.kinds() for task in schema.tasks(kind)]
BLIND = {"faults.begin": 0.3, "faults.nan": 1.0}
FROZEN = {"faults.begin": 0.3, "faults.frozen": True}
ECHO = tr.FunctionPolicy(0.1, lambda time, state: state)


def built(name: str, changes: Mapping[str, Any]) -> Experiment:
    """Return the experiment of a named scenario, or of a small one of the fuzzing, with other values."""
    texts = [f"{key}={json.dumps(value)}" for key, value in changes.items()]
    if name in BASES:
        return build(scenario_from(dict(BASES[name]), folder=Path(), file=name, overrides_=texts))
    return build(load_scenario(name, texts))


def main(name: str, changes: Mapping[str, Any]) -> tr.Trajectory:
    """Return the main run."""
    for part in built(name, changes).parts():
        run = part.run(None)
        if not part.name:
            return run
    raise AssertionError(name)


@pytest.mark.parametrize(("kind", "task"), TASKS)
def test_tasks_with_a_controller_have_the_tables_and_others_refuse_them_by_name(kind: str, task: str) -> None:
    table = schema.schema_for(kind, task)
    if (kind, task) in CONTROLLED:
        assert issubclass(table, ControlledTable)
        return
    for key in ("faults", "watchdog"):
        with pytest.raises(tr.InputError, match=rf"{key} = .*must be left out: this task has no controller"):
            scenario_from({"kind": kind, "task": task, key: {}}, folder=Path(), file="mine.toml")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("begin", -1.0), ("end", 0.2), ("dropped", 1.1), ("nan", -0.1), ("lost", 2.0), ("late", -1.0), ("bias", []),
        ("entries", [-1]), ("entries", [512]), ("frozen", 1), ("seed", 3), ("bias", [1e13]),
    ],
)  # fmt: skip
def test_wrong_faults_are_refused_by_key(key: str, value: object) -> None:
    with pytest.raises(tr.InputError, match=rf"faults\.{key}"):
        built("cart", {"faults.begin": 0.3, f"faults.{key}": value})


@pytest.mark.parametrize(("key", "value"), [("patience", -1.0), ("stop", "run"), ("stale", -0.1), ("enabled", 1)])
def test_wrong_watchdogs_are_refused_by_key(key: str, value: object) -> None:
    with pytest.raises(tr.InputError, match=rf"watchdog\.{key}"):
        built("cart", {f"watchdog.{key}": value})


class Both(ControlledTable):
    pass


def test_without_the_tables_the_policy_is_itself() -> None:
    assert guard_policy(ECHO, 1, Both(), 0) is ECHO
    assert guard_policy(ECHO, 1, Both(watchdog=WatchdogTable(enabled=False)), 0) is ECHO


def test_faults_come_before_the_watchdog_and_are_drawn_with_the_seed_given() -> None:
    table = FaultsTable.model_validate({"begin": 0.1, "dropped": 0.2, "bias": [1.0, 2.0], "entries": [1]})
    policy = guard_policy(ECHO, 2, Both(faults=table), 7)
    assert isinstance(policy, tr.control.Faulty)
    assert policy.faults == tr.control.Faults(0.1, dropped=0.2, bias=[1.0, 2.0], entries=[1], seed=7)
    dog = policy.policy
    assert isinstance(dog, tr.control.Watchdog)
    assert (dog.policy, dog.size, dog.patience, dog.settle, dog.stale, dog.stop) == (ECHO, 2, 0.05, 0, 0.05, "let-go")
    bare = guard_policy(ECHO, 2, Both(faults=table, watchdog=WatchdogTable(enabled=False)), 7)
    assert isinstance(bare, tr.control.Faulty)
    assert bare.policy is ECHO
    patient = {"patience": 0.2, "settle": 1.0, "stale": 2.0, "stop": "hold"}
    alone = guard_policy(ECHO, 2, Both(watchdog=WatchdogTable.model_validate(patient)), 7)
    assert isinstance(alone, tr.control.Watchdog)
    assert (alone.patience, alone.settle, alone.stale, alone.stop) == (0.2, 1.0, 2.0, "hold")


def test_a_bias_or_an_entry_beyond_the_measurement_is_refused_by_name() -> None:
    for key, faults in (
        ("bias", tr.control.Faults(bias=[1.0, 2.0])),
        ("entries", tr.control.Faults(nan=1.0, entries=[3])),
    ):
        with pytest.raises(tr.InputError, match=rf"faults\.{key}"):
            tr.control.Faulty(ECHO, faults)(0.0, np.zeros(3))


@pytest.mark.parametrize(("changes", "stop"), [(BLIND, 0.36), (FROZEN, 0.41)])
def test_a_robot_in_the_plane_that_measures_nothing_stops_safely(changes: dict[str, Any], stop: float) -> None:
    run = main("leg-balance", {**changes, "simulation.duration": 1.0})
    assert run.status is tr.Status.SAFE_STOP
    assert run.time[-1] == pytest.approx(stop, abs=0.011)
    assert "measurement" in run.transitions[-1]["reason"]


def test_faults_that_a_controller_survives_leave_it_at_its_goal() -> None:
    mild = {"faults.nan": 0.1, "faults.dropped": 0.3, "faults.lost": 0.3}
    plain, failing = (main("leg-balance", {**some, "simulation.duration": 1.0}) for some in ({}, mild))
    assert failing.status is plain.status
    assert np.abs(failing["body_angle"] - plain["body_angle"]).max() > 1e-6
    np.testing.assert_allclose(failing["body_angle"][-1], plain["body_angle"][-1], atol=0.05)


def test_a_regulator_that_measures_nothing_stops_safely() -> None:
    run = main("balance", BLIND | {"simulation.duration": 1.0, "simulation.relative_tolerance": 1e-6})
    assert run.status is tr.Status.SAFE_STOP
    assert run.time[-1] == pytest.approx(0.35, abs=0.011)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("humanoid-stand", {"pushes.fore_aft": [8.0], "pushes.axes": ["fore-aft"], "mass_factors": [1.0]}),
        ("wallbounce-recover", {"trials.count": 1}),
    ],
)
def test_a_robot_in_mujoco_that_never_measures_anything_stops_safely(name: str, changes: dict[str, Any]) -> None:
    run = main(name, {**changes, "faults.nan": 1.0})
    assert run.status is tr.Status.SAFE_STOP
    assert run.time[-1] == pytest.approx(0.05, abs=0.011)
    assert "the measurement is not finite" in run.metadata["message"]


@pytest.mark.slow
def test_replays_of_a_walk_that_measure_nothing_stop_safely_in_both_simulators() -> None:
    file = Path(__file__).parents[2] / "examples" / "strider_walks.toml"
    plan, replay = (part.run(None) for part in build(load_scenario(file, ["faults.nan=1.0"])).parts())
    assert plan.status is tr.Status.SUCCESS
    assert "not finite" in plan.metadata["steps"]["mujoco"]["reason"]
    assert replay.status is tr.Status.SAFE_STOP
    assert replay.metadata["replay"]["steps"] == 0


@pytest.mark.slow
def test_a_controller_along_a_plan_that_measures_nothing_stops_safely() -> None:
    """The plan, to stay where it is, stands for one that is computed."""
    work = built("transfer", BLIND | {"controller.hold": 0.0})
    assert isinstance(work, TransferExperiment)
    rest = in_rolling_coordinates(work.pair, work.pair.place())
    plan = Reference(np.linspace(0.0, 1.0, 11), np.tile(rest.x, (11, 1)), np.zeros((11, 6)), rest.atlas)
    run = work._run_closed_loop(plan, work.pair.place(), None)
    assert run.status is tr.Status.SAFE_STOP
    assert run.time[-1] == pytest.approx(0.35, abs=0.011)
