from __future__ import annotations

import numpy as np
import pytest

from tests.measuring import compute
from tests.scenarios.files import written
from trundle.errors import InputError
from trundle.records import load_trajectory
from trundle.scenarios import load_scenario, run
from trundle.scenarios.engine.building import build_all
from trundle.systems.walking.scenario import metrics_ball
from trundle.systems.walking.scenario.figures_ball import comparisons, figures

QUICK = ["plan.nodes=60", "plan.starts=1", "plan.parts=30", "simulation.output_step=0.01"]


@pytest.fixture(scope="module")
def runs():
    scenario = load_scenario("ball-transfer", [*QUICK])
    return {part: next(iter(work.parts())).run(None) for part, work in build_all(scenario).items()}


def test_study_and_its_metrics(runs):
    values = compute("ball-transfer", runs[""], {name: r for name, r in runs.items() if name})
    assert set(runs) == {"", "spin-forbidden", "kinematic", "straight"}
    assert values["goal_error"] < 1e-5
    assert values["straight_cost_error"] < 1e-3
    assert values["elastica_residual"] < 5e-3  # 60 intervals; the scenario has 200
    assert values["cost_straight"] < values["cost"] < values["cost_spin_forbidden"]
    assert values["slip"] < 1e-12
    assert values["friction_use"] < 1


def test_record_is_that_of_a_robot(runs, tmp_path):
    again = load_trajectory(runs[""].save(tmp_path / "trajectory.nc"))
    assert (again.layout, again.dimension) == ("tree", 3)
    for name in ("com_position", "com_velocity", "joint_torque", "base_quaternion", "contact_force", "slip", "phase"):
        assert name in again
    np.testing.assert_array_equal(again["com_position"], again["body_position"][:, 0])
    assert set(again["phase"]) == {"roll"}
    assert again["joint_position"].shape == (len(again), 0)


def test_figures_are_drawn(runs):
    from matplotlib.figure import Figure

    assert set(comparisons(runs)) == {"paths", "torques"}
    assert set(figures(runs["kinematic"])) == {"path", "torque", "elastica"}
    for draw in figures(runs["kinematic"]).values():
        draw(runs["kinematic"], ax := Figure().add_subplot())
        assert ax.lines
    for draw in comparisons(runs).values():
        draw(runs, ax := Figure().add_subplot())
        assert ax.lines


def test_goal_error_counts_turns_both_ways(runs):
    run_ = runs["straight"]
    place, turn = metrics_ball.goal_error(run_)
    assert place < 1e-6
    assert turn < 1e-4


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("goal.quaternion=[1.0, 1.0, 0.0, 0.0]", "goal.quaternion"),
        ("plan.model='kinematic'", "contact.law"),
        ("plan.nodes=2", "plan.nodes"),
        ("object.shape.radius=-1.0", "object.shape"),
        ("object.mass=0.0", "object.mass"),
        ("simulation.output_step=2.0", "simulation.output_step"),
        ("contact.law='sliding'", "contact.law"),
    ],
)
def test_bad_values_are_named(override, key):
    with pytest.raises(InputError, match=key):
        load_scenario("ball-transfer", [override])


def test_a_slip_ends_the_replay(tmp_path):
    text = """
kind = "walking"
task = "transfer"
[object]
shape = { type = "sphere", radius = 0.1 }
mass = 1.0
[contact]
friction = 0.1
[goal]
position = [0.4, 0.2]
[plan]
nodes = 20
starts = 1
"""
    result = run(load_scenario(written(tmp_path, text)), tmp_path / "out", plots=False)
    assert result.exit_code == 1
    assert result.summary["status"] == "slipped"
