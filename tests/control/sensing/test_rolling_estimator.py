"""RollingEstimator: consistent errors, exact sensors, slips, landings, and a vehicle controlled on estimates."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from scipy.stats import chi2

import trundle as tr
from trundle.contact.laws import ROLLING
from trundle.scenarios import build, load_scenario
from trundle.systems.planar import Estimate, RollingEstimator, RollingSensors
from trundle.systems.planar.scenario import metrics as metrics_planar
from trundle.systems.planar.scenario.control import TrackExperiment

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
CART = str(EXAMPLES / "estimated_cart.toml")
EXACT = dict.fromkeys(("encoder", "gyro", "gyro_bias", "start", "rolling", "terrain"), 1e-7) | {
    "accelerometer": 1e-5,
    "model": 1e-3,
}


def given(**values: float) -> list[str]:
    return ["estimator.enabled=true", *(f"estimator.{key}={value}" for key, value in values.items())]


def run_of(name: str, *sets: str) -> tuple[tr.Trajectory, list[Estimate]]:
    work = build(load_scenario(name, sets))
    assert isinstance(work, TrackExperiment)
    run = next(iter(work.parts())).run(None)
    assert work.program.estimator is not None
    return run, work.program.estimator.log


def largest(log: list[Estimate], after: float = 0.0) -> np.ndarray:
    return np.abs([one.error for one in log if one.time >= after]).max(axis=0)


def test_with_exact_sensors_the_error_vanishes() -> None:
    """What is left is that of the filter's steps of integration."""
    _, log = run_of("rover-sinusoid", *given(**EXACT), "simulation.duration=1.0")
    assert largest(log)[:3].max() < 5e-6
    _, coarse = run_of("rover-sinusoid", *given(model=1e-3), "simulation.duration=1.0")
    assert largest(coarse)[:3].max() > 1e-5


@pytest.mark.slow
def test_errors_are_those_that_the_covariance_states() -> None:
    """Of 15 runs, the mean NEES is chi-squared with 15 x 6 degrees of freedom over 15, at any time."""
    runs = 15
    sets = [*given(model=1e-4, rolling=1e-6, terrain=1e-7), "simulation.duration=1.0"]
    nees = [[one.nees for one in run_of("rover-sinusoid", *sets, f"seed={i}")[1]] for i in range(runs)]
    low, high = chi2.ppf([0.01, 0.99], 6 * runs) / runs
    mean = np.mean(nees, axis=0)
    assert np.mean((low < mean) & (mean < high)) > 0.97
    # With defaults, which allow for a model that is not the plant, it never states too little.
    _, log = run_of("rover-sinusoid", *given(), "simulation.duration=4.0")
    assert np.mean([one.nees for one in log]) < 6.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_vehicle_keeps_its_limits_on_estimates(seed: int) -> None:
    scenario = load_scenario("rover-sinusoid", [*given(model=0.5), f"seed={seed}"])
    work = build(scenario)
    run = next(iter(work.parts())).run(None)
    assert run.status is tr.Status.SUCCESS
    found = metrics_planar.rover_4legs(run, {}) | metrics_planar.rover_sinusoid(run, {})
    assert found["velocity_error"] <= 3e-3
    assert found["height_error"] <= 1e-3
    assert found["pitch_error"] <= 2e-3
    assert found["settling_time"] <= 0.5


@pytest.mark.slow
def test_a_model_that_is_not_the_plant_is_allowed_for() -> None:
    run, log = run_of("rover-sinusoid", *given(), "plant.mass=1.1", "simulation.duration=5.0")
    assert run.status is tr.Status.SUCCESS
    assert largest(log)[:3].max() < 3e-3


def test_a_cart_that_slips_knows_where_it_is() -> None:
    run, log = run_of(CART, "simulation.duration=3.0")
    assert run.status is tr.Status.SUCCESS
    assert np.abs(run["slip"]).max() > 0.05
    assert largest(log)[:3].max() < 0.02
    assert largest(log, after=1.0)[:3].max() < 2e-3
    late = run.time >= 2.0
    assert np.abs(metrics_planar.recompute_tasks(run)["speed"].error[late]).max() < 5e-3
    _, lost = run_of(CART, *given(slipping=1e-4), "simulation.duration=0.8")
    assert largest(lost)[0] > 0.1


@pytest.mark.slow
def test_a_vehicle_that_lands_knows_where_it_is() -> None:
    run, log = run_of(str(EXAMPLES / "rover_step.toml"), *given())
    assert "separated" in run["mode"]
    assert largest(log)[:3].max() < 3e-3
    assert largest(log)[3:].max() < 0.02


def test_the_controller_acts_on_readings_alone() -> None:
    """The same readings give the same torques, wherever the robot is said to be: the estimate has no other source."""
    work = build(load_scenario(CART, ["simulation.duration=0.5"]))
    assert isinstance(work, TrackExperiment)
    estimator, x = work.program.estimator, work.start.x
    assert estimator is not None
    u, on = np.zeros(2), np.ones(4)
    place = work.tree.system.model().layout["base.position"]
    there = []
    for shift in (0.0, 1.0):  # m, of the true state after the first call: no sensor shows where the robot is
        estimator.reset()
        estimator(0.0, x, on, u)
        moved = x.copy()
        moved[place.start] += shift
        there.append(estimator(0.01, moved, on, u))
    np.testing.assert_allclose(*there, atol=1e-12)


def test_the_noise_is_the_same_after_a_reset() -> None:
    first, second = (run_of(CART, "simulation.duration=0.2")[1] for _ in range(2))
    assert [one.nees for one in first] == [one.nees for one in second]
    _, other = run_of(CART, "simulation.duration=0.2", "seed=1")
    assert other[-1].nees != first[-1].nees


def test_a_state_that_is_not_finite_is_no_estimate() -> None:
    work = build(load_scenario(CART))
    assert isinstance(work, TrackExperiment)
    estimator, x = work.program.estimator, work.start.x.copy()
    assert estimator is not None
    estimator.reset()
    estimator(0.0, x, np.ones(4), np.zeros(2))
    x[work.tree.system.model().layout["rear.joint"]] = np.nan
    with pytest.raises(tr.errors.SimulationError):
        estimator(0.01, x, np.ones(4), np.zeros(2))


@pytest.mark.parametrize("sigma", ["model=1e12", "start=1e12"])
def test_sigmas_too_far_apart_end_the_run(sigma: str) -> None:
    work = build(load_scenario(CART, [f"estimator.{sigma}", "simulation.duration=0.4"]))
    with pytest.raises(tr.errors.SimulationError) as error:
        next(iter(work.parts())).run(None)
    assert error.value.status is tr.Status.NOT_FINITE


def test_the_unit_sits_on_a_body_without_a_parent() -> None:
    work = build(load_scenario(CART))
    assert isinstance(work, TrackExperiment)
    system, atlas = work.tree.system, work.start.atlas
    model = system.model(atlas)
    terms = model.terms([ROLLING] * len(model.constraints))
    touching = ca.SX.sym("touching", 4)
    with pytest.raises(tr.InputError, match="parent"):
        RollingEstimator(system, atlas, terms, touching, [0.0] * 4, "rear", 0.01, RollingSensors())


@pytest.mark.parametrize(
    ("sets", "key"),
    [
        (["estimator.encoder=0.0"], "estimator.encoder"),
        (["estimator.gyro=nan"], "estimator.gyro"),
        (['estimator.body="rear"'], "estimator.body"),
        (["noise.angle=1e-3"], "noise.angle"),
        (["noise.delay=0.01"], "noise.delay"),
    ],
)
def test_tables_that_make_no_sense_are_refused(sets: list[str], key: str) -> None:
    with pytest.raises(tr.InputError, match=key.replace(".", r"\.")):
        build(load_scenario(CART, sets))
