from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from tests.measuring import compute
from trundle.errors import InputError
from trundle.scenarios import build, load_scenario, run
from trundle.systems.planar.passive_walker import PassiveWalker
from trundle.systems.planar.scenario import metrics_walker
from trundle.systems.planar.scenario.figures_walker import comparisons, figures


@pytest.fixture(scope="module")
def runs():
    scenario = load_scenario("passive-walker", ["trials.count=2"])
    return {job.name: job.run(None) for job in build(scenario).parts()}


def test_runs_and_their_metrics(runs):
    assert list(runs) == ["cycle", "", "twin"]
    values = compute("passive-walker", runs[""], {name: r for name, r in runs.items() if name})
    assert values["stride_duration"] == pytest.approx(2.25671, abs=1e-5)
    assert values["multiplier"] == pytest.approx(0.448, abs=2e-3)
    assert values["error_after_10_strides"] < 0.01
    assert values["trials_returned_1_percent"] == values["trials_returned_5_percent"] == 2
    assert values["twin_multiplier"] > 2
    assert values["friction_use"] == pytest.approx(0.18, abs=0.01)
    assert values["gap"] < 1e-12
    assert all(np.isfinite(list(values.values())))


def test_figures_are_drawn(runs):
    from matplotlib.figure import Figure

    assert {"phase_portrait", "legs"} <= set(figures(runs[""]))
    found = comparisons(runs)
    assert set(found) == {"stride_map", "stride_errors"}
    for draw in found.values():
        draw(runs, ax := Figure().add_subplot())
        assert ax.get_title(loc="left")
    for draw in figures(runs[""]).values():
        draw(runs[""], ax := Figure().add_subplot())
        assert ax.lines


def test_the_recomputed_impact_is_the_models():
    walker = PassiveWalker(leg=0.9, foot_radius=0.2, hip_mass=3.0, leg_mass=2.0, leg_center=0.4, leg_inertia=0.05)
    y = np.array([-0.3, 0.3, -1.1, -0.7])
    after = np.asarray(ca.Function("after", [walker.y], [walker.touch_down[0]])(y)).ravel()
    numbers = {name: getattr(walker, name) for name in ("leg", "foot_radius", "hip_mass", "leg_mass", "leg_inertia")}
    ours = metrics_walker.after_impact(numbers | {"leg_center": 0.4}, y[:2], y[2:])
    np.testing.assert_allclose(ours, after[[0, 2, 3]], atol=1e-10)


def test_too_few_strides_leave_no_metrics(runs):
    short = {name: r for name, r in runs.items() if name}
    with pytest.raises(InputError, match="parts"):
        metrics_walker.passive_walker(runs[""], {})
    scenario = load_scenario("passive-walker", ["trials.count=0", "simulation.strides=3"])
    few = {job.name: job.run(None) for job in build(scenario).parts()}
    with pytest.raises(InputError, match="strides"):
        metrics_walker.passive_walker(few[""], short)


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("walker.foot_radius=1.5", "walker.foot_radius"),
        ("walker.slope=0.6", "walker.slope"),
        ("walker.leg_center=0.0", "walker.leg_center"),
        ("contact.friction=0.0", "contact.friction"),
        ("cycle.durations=[3.0, 2.0]", "cycle.durations"),
        ("initial.error=0.9", "initial.error"),
        ("trials.errors=[2.0]", "trials.errors"),
        ("simulation.strides=0", "simulation.strides"),
    ],
)
def test_bad_values_are_named(override, key):
    with pytest.raises(InputError, match=key):
        load_scenario("passive-walker", [override])


def test_a_walker_without_a_cycle_is_a_failed_run(tmp_path):
    result = run(load_scenario("passive-walker", ["cycle.durations=[5.0, 6.0]"]), tmp_path / "out", plots=False)
    assert result.exit_code == 1
    assert "no periodic stride" in result.summary["advice"]


def test_a_walker_whose_touch_down_has_no_outcome_is_refused():
    """A record that was edited: legs without inertia, their mass at the hip."""
    numbers = {"leg": 0.9, "foot_radius": 0.2, "hip_mass": 3.0, "leg_mass": 2.0, "leg_center": 0.0, "leg_inertia": 0.0}
    with pytest.raises(InputError, match="walker = 'singular matrix'"):
        metrics_walker.after_impact(numbers, np.array([-0.3, 0.3]), np.array([-1.1, -0.7]))
