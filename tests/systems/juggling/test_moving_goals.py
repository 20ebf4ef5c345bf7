"""Files with goals that are no rest: rolling on, flight, periods, and a throw in space that is caught."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.records import load_trajectory
from trundle.scenarios import load_scenario
from trundle.scenarios.engine.building import build
from trundle.scenarios.engine.run import run
from trundle.scenarios.scenario import scenario_from
from trundle.status import Status
from trundle.systems.juggling.throw.throw import ThrowCatch

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize("name", ["disk_rolls_on", "ellipse_thrown", "ellipse_rocks"])
def test_examples_reach_their_goals_in_motion(name: str, tmp_path: Path) -> None:
    done = run(EXAMPLES / f"{name}.toml", tmp_path / "run", plots=False)
    assert done.summary["status"] == "success", done.summary["advice"]
    assert done.exit_code == 0


@pytest.mark.slow
def test_a_ball_thrown_with_a_spin_is_caught_and_comes_to_rest(tmp_path: Path) -> None:
    done = run(EXAMPLES / "ball_thrown_caught.toml", tmp_path / "run", plots=False)
    assert done.exit_code == 0, done.summary["advice"]
    trajectory = load_trajectory(tmp_path / "run" / "trajectory.nc")
    flying = trajectory["mode"] == "separated"
    middle = np.flatnonzero(flying)
    fall = np.diff(trajectory["object_velocity"][middle, 2]) / np.diff(trajectory.time[middle])
    np.testing.assert_allclose(fall, -9.81, rtol=1e-6)
    np.testing.assert_allclose(
        trajectory["object_angular_velocity"][middle], [[6.0, 0.0, 0.0]] * len(middle), atol=5e-3
    )
    assert not flying[-1]
    assert np.linalg.norm(trajectory["object_velocity"][-1]) < 5e-3


def changed(name: str, **tables: dict[str, Any]) -> dict[str, Any]:
    data = load_scenario(EXAMPLES / f"{name}.toml").resolve()
    return data | {table: {**data.get(table, {}), **keys} for table, keys in tables.items()}


@pytest.mark.parametrize(
    ("name", "tables", "message"),
    [
        ("ellipse_thrown", {"goal": {"release": False}}, "goal.object_velocity"),
        ("ellipse_thrown", {"controller": {"hold": 1.0}}, "controller.hold"),
        ("ellipse_thrown", {"goal": {"object_angular_velocity": [0.0, 1.0, 0.0]}}, "one number"),
        ("ellipse_thrown", {"goal": {"object_velocity": [0.0, 1.0, 0.0]}}, "y = 0"),
        ("ellipse_thrown", {"goal": {"hand_position": "anywhere"}}, "'free'"),
        ("ellipse_thrown", {"catch": {"flight": 0.2}}, "catch"),
        ("ellipse_rocks", {"goal": {"release": True}}, "periodic"),
        ("ball_thrown_caught", {"controller": {"hold": 0.0}}, "catch"),
        ("ball_thrown_caught", {"contact": {"on_separation": "stop"}}, "on_separation"),
        ("ball_thrown_caught", {"catch": {"waits": 1.0}}, "between 0 and 1"),
        ("ball_thrown_caught", {"goal": {"object_angular_velocity": 1.0}}, "3 numbers"),
    ],
)
def test_keys_that_contradict_each_other_are_named(name: str, tables: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        build(scenario_from(changed(name, **tables), folder=EXAMPLES, file="a.toml"))


def test_a_throw_in_space_is_said_to_be_planar_at_once() -> None:
    data = load_scenario("ellipse-throw-catch").resolve()
    ball = {"shape": {"type": "sphere", "radius": 0.03}, "mass": 0.1}
    wrong = data | {"object": ball, "hand": {"shape": {"type": "plane"}}}
    with pytest.raises(InputError, match=r"this task plans throws there; in space, task 'transfer'") as caught:
        scenario_from(wrong, folder=EXAMPLES, file="a.toml")
    assert "object.shape" in str(caught.value)
    assert str(caught.value).count("\n") == 0


def test_a_throw_that_is_not_found_names_what_binds() -> None:
    scenario = load_scenario("ellipse-throw-catch", ["limits.linear_acceleration=1.0"])
    experiment: Any = build(scenario)
    assert isinstance(experiment.task, ThrowCatch)
    plan = experiment.task.plan(samples=60, starts=1, max_rollouts=120)
    assert plan.status is not Status.SUCCESS
    assert plan.standing is None
    assert "misses" in plan.message
    assert set(plan.binding) & {"hand_limits.linear", "retreat", "flight", "carry"}
    shown = experiment._attempt(plan).metadata
    assert "limits." in shown["advice"] or "throw." in shown["advice"]
    assert "nodes" not in shown["advice"]
