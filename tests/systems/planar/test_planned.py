"""Planned references: a known optimum, a cart and a rock over hills they cannot climb, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trundle as tr
from trundle.scenarios import build, load_scenario
from trundle.systems.planar.scenario import metrics as metrics_planar
from trundle.systems.planar.scenario.control import TrackExperiment

CART = str(Path(__file__).resolve().parents[3] / "examples" / "cart_over_hill.toml")
DISK = """
kind = "planar"
task = "track"
title = "disk on the level"
[[bodies]]
name = "disk"
mass = 2.0
inertia = "solid"
curve = { type = "circle", radius = 0.5 }
actuated = true
[terrain]
curve = { type = "line" }
[initial]
positions = { disk = [0.0, 0.5, 0.0] }
tolerance = 0.1
[controller]
torque_limit = 3.0
[[controller.tasks]]
name = "x"
type = "position"
body = "disk"
axis = "x"
kp = 10.0
kd = 6.0
[reference]
x = { type = "planned", goals = [6.0] }
[plan]
share = 1.0
duration = [1.0, 9.0]
"""


def work_of(name: str, *sets: str) -> TrackExperiment:
    work = build(load_scenario(name, sets))
    assert isinstance(work, TrackExperiment)
    return work


def run_of(name: str, *sets: str) -> tr.Trajectory:
    return next(iter(work_of(name, *sets).parts())).run(None)


def test_a_disk_on_the_level_has_the_known_optimum(tmp_path: Path) -> None:
    """x'' = a u, |u| <= 1: of the least integral of 1 + u^2 is u = 1 - 2 t/T with T^2 = 6 D/a, a = 2 limit/(3 m r)."""
    file = tmp_path / "disk.toml"
    file.write_text(DISK)
    plan = work_of(str(file)).planned
    assert plan is not None
    a, D = 2 * 3.0 / (3 * 2.0 * 0.5), 6.0
    T = np.sqrt(6 * D / a)
    assert plan.reached == pytest.approx([T], rel=2e-4)
    t = np.linspace(0.0, T, 101)
    value, rate, acceleration = plan.signals[0].at(t)
    np.testing.assert_allclose(value, a * (t**2 / 2 - t**3 / (3 * T)), atol=1e-3)
    np.testing.assert_allclose(rate, a * (t - t**2 / T), atol=1e-2)  # the samples' natural spline begins straight
    np.testing.assert_allclose(rate[5:-5], a * (t - t**2 / T)[5:-5], atol=2e-3)
    np.testing.assert_allclose(acceleration[5:-5], a * (1 - 2 * t / T)[5:-5], atol=1e-2)


@pytest.mark.slow
def test_a_cart_goes_over_a_hill_that_its_torques_cannot_climb_and_back() -> None:
    run = run_of(CART)
    assert run.status is tr.Status.SUCCESS
    assert run.feasible
    x = metrics_planar.recompute_tasks(run)["x"]
    for goal, time in zip((3.0, -1.0), run.metadata["control"]["plan"]["reached"], strict=True):
        assert np.interp(time, run.time, x.value) == pytest.approx(goal, abs=0.005)
        assert np.interp(time, run.time, x.rate) == pytest.approx(0.0, abs=0.02)
    assert np.abs(x.error).max() < 0.005
    assert x.value.min() < -1.5  # swings back first
    assert np.abs(run["torque"]).max() <= 3.5 + 1e-9
    plain = run_of(CART, 'reference.x={type="constant", value=3.0}')
    assert plain.status is tr.Status.GOAL_NOT_REACHED
    assert metrics_planar.recompute_tasks(plain)["x"].value.max() < 0.5


@pytest.mark.slow
def test_a_rock_swings_up_its_hill() -> None:
    sets = ["controller.torque_limit=1.2", "simulation.duration=8.0"]
    run = run_of("rock-hill", *sets, 'reference.x={type="planned",goals=[0.0]}', "plan.nodes=60")
    assert run.status is tr.Status.SUCCESS
    assert run.feasible
    assert np.abs(metrics_planar.recompute_tasks(run)["x"].error).max() < 0.01
    assert run_of("rock-hill", *sets).status is tr.Status.GOAL_NOT_REACHED


def test_without_a_plan_there_is_no_run(tmp_path: Path) -> None:
    file = tmp_path / "disk.toml"
    file.write_text(DISK)
    work = work_of(str(file), "plan.duration=[0.1, 0.2]", "plan.nodes=4")
    with pytest.raises(tr.errors.SimulationError, match="no plan"):
        next(iter(work.parts())).run(None)


def test_a_plan_is_of_as_many_tasks_as_are_free(tmp_path: Path) -> None:
    file = tmp_path / "disk.toml"
    more = '[[controller.tasks]]\nname = "z"\ntype = "position"\nbody = "disk"\naxis = "z"\n[reference]\n'
    file.write_text(DISK.replace("[reference]\n", more + 'z = { type = "planned", goals = [0.5] }\n'))
    work = work_of(str(file))
    with pytest.raises(tr.InputError, match=r"controller\.tasks.*as many tasks as are free"):
        next(iter(work.parts())).run(None)
    file.write_text(DISK.replace("[reference]\n", more))
    with pytest.raises(tr.InputError, match=r"reference\.z"):
        work_of(str(file))
    file.write_text(DISK.replace("[reference]\n", more + 'z = { type = "planned", goals = [0.5, 0.5] }\n'))
    with pytest.raises(tr.InputError, match=r"reference\.x\.goals"):
        work_of(str(file))


@pytest.mark.parametrize(
    ("sets", "key"),
    [
        (["plan.duration=[2.0, 1.0]"], "plan.duration"),
        (["plan.share=1.1"], "plan.share"),
        (["plan.nodes=1"], "plan.nodes"),
        (['reference.x={type="planned", goals=[]}'], "reference.x"),
        (['reference.x={type="planned", goals=[nan]}'], "reference.x"),
    ],
)
def test_tables_that_make_no_sense_are_refused(sets: list[str], key: str) -> None:
    with pytest.raises(tr.InputError, match=key.replace(".", r"\.")):
        build(load_scenario(CART, sets))
