"""Parameters from measured motions: synthetic data with noise, outliers and bounds."""

import numpy as np
import pytest

import trundle as tr
from trundle.errors import SimulationError
from trundle.models import Start
from trundle.simulate.sensitivity.identify import _covariance

TRUE = {"contact.friction": 0.15, "body.inertia": 0.002}
NOISE = {"body.position": 1e-3, "body.orientation": 5e-3}


def disc() -> tuple[tr.RollingPair, Start]:
    body = tr.RigidBody(tr.Circle(0.1), mass=0.5, inertia=0.0025)
    ground = tr.Ground(tr.Line(slope=-0.05))
    pair = tr.RollingPair(body, ground, on_slip="slide", on_separation="fly", friction=0.2)
    return pair, pair.place(position=(0.0, 0.15), velocity=(0.5, 0.0), angular_velocity=10.0)


def measured(outliers: bool = False) -> tr.Measured:
    """Return the motion of a disc that lands, slides and rolls, with noise."""
    pair, start = disc()
    run = tr.simulate(tr.with_parameters(pair, TRUE), start, 0.8, output_step=0.02)
    assert [one["to"] for one in run.metadata["transitions"]] == ["sliding", "rolling"]
    times, rng = 0.02 * np.arange(41), np.random.default_rng(3)
    at = np.searchsorted(run.time, times - 1e-12)
    position = run["body_position"][at, 0] + rng.normal(0.0, 1e-3, (41, 2))
    angle = run["body_angle"][at, 0] + rng.normal(0.0, 5e-3, 41)
    if outliers:
        position[5::8] += 0.05
    angle[7] = np.nan
    return tr.Measured(times, {"body.position": position, "body.orientation": angle}, start, NOISE)


def within(found: tr.Identification, deviations: float) -> bool:
    """Whether the parameters are so many standard deviations from the true ones at most."""
    return all(abs(found.parameters[name] - TRUE[name]) < deviations * found.deviations[name] for name in TRUE)


def test_friction_and_inertia_of_a_disc_that_slides_and_rolls() -> None:
    pair, _ = disc()
    found = tr.identify(pair, measured(), parameters=list(TRUE))
    assert found.status is tr.Status.SUCCESS
    assert 0.8 < found.residual < 1.2
    assert within(found, 3.0)
    assert all(found.deviations[name] < 0.01 * TRUE[name] for name in TRUE)
    assert tr.parameters_of(found.model)["body.inertia"] == found.parameters["body.inertia"]


@pytest.mark.slow
def test_outliers_count_less_with_a_robust_loss() -> None:
    pair, _ = disc()
    data = measured(outliers=True)
    plain, robust = (tr.identify(pair, data, parameters=list(TRUE), loss=loss) for loss in ("linear", "cauchy"))
    assert within(robust, 3.0)
    assert all(robust.deviations[name] < 0.2 * plain.deviations[name] for name in TRUE)


@pytest.mark.slow
def test_the_deviations_are_those_of_repeated_experiments() -> None:
    pair, start = disc()
    run = tr.simulate(tr.with_parameters(pair, TRUE), start, 0.8, output_step=0.02)
    times, rng, found = 0.02 * np.arange(41), np.random.default_rng(5), []
    at = np.searchsorted(run.time, times - 1e-12)
    for _ in range(12):
        position = run["body_position"][at, 0] + rng.normal(0.0, 1e-3, (41, 2))
        data = tr.Measured(times, {"body.position": position}, start, {"body.position": 1e-3})
        found.append(tr.identify(pair, data, parameters=list(TRUE), relative_tolerance=1e-8))
    for name in TRUE:
        spread = np.std([one.parameters[name] for one in found], ddof=1)
        told = np.mean([one.deviations[name] for one in found])
        assert 0.5 < spread / told < 1.8  # 12 experiments tell it to a fifth


def test_a_start_that_is_not_known_is_found_too() -> None:
    pair, _ = disc()
    data = measured()
    x = np.array(data.start.x)
    x[pair.system.model().layout["body.velocity"].start] += 0.1
    wrong = tr.Measured(data.times, data.values, Start(x, data.start.atlas, data.start.laws), NOISE)
    found = tr.identify(pair, wrong, parameters=list(TRUE), initial=["body.velocity.x"])
    assert within(found, 3.0)
    assert abs(found.starts[0].x[pair.system.model().layout["body.velocity"].start] - 0.5) < 0.01


def test_arguments_of_an_identification_are_checked() -> None:
    pair, start = disc()
    data = measured()
    with pytest.raises(tr.InputError, match="bounds"):
        tr.identify(pair, data, parameters=["body.mass"], bounds={"body.mass": (1.0, 2.0)})
    with pytest.raises(tr.InputError, match="loss"):
        tr.identify(pair, data, parameters=["body.mass"], loss="best")  # pyright: ignore[reportArgumentType]
    with pytest.raises(tr.InputError, match="values"):
        tr.identify(pair, tr.Measured([0, 1], {"speed": [0, 1]}, start), parameters=["body.mass"])
    with pytest.raises(tr.InputError, match="times"):
        tr.Measured([0, 0], {"body.position": [0, 1]}, start)
    stops = tr.RollingPair(pair.body, pair.base, friction=0.2)
    with pytest.raises(SimulationError, match="ends before"):
        tr.identify(stops, data, parameters=["body.mass"])


@pytest.mark.slow
def test_long_data_in_windows_forgive_a_first_guess_that_is_far_off() -> None:
    robot = tr.Robot()
    upper = robot.revolute(None, (0, 0), 1.0, 0.02, center_of_mass=(0.2, 0.0), name="upper")
    lower = robot.revolute(upper, (0.4, 0), 0.6, 0.01, center_of_mass=(0.15, 0.0), name="lower")
    robot.resist(lower, damping=0.01)
    tree = robot.finish()
    start = tree.place(upper=1.2, lower=0.5)  # it swings over: motions that begin alike part soon
    true = {"lower.mass": 0.8, "lower.inertia": 0.015}
    run = tr.simulate(tr.with_parameters(tree, true), start, 5.0, output_step=0.05)
    noise = np.random.default_rng(2).normal(0.0, 0.01, (len(run.time), 2))
    angles = run["joint_position"] + noise
    deviations = {"upper.joint": 0.01, "lower.joint": 0.01}
    values = {"upper.joint": angles[:, 0], "lower.joint": angles[:, 1]}
    data = tr.Measured(run.time, values, start, deviations)
    whole = tr.identify(tree, data, parameters=list(true))
    assert whole.residual > 10.0  # stuck
    found = tr.identify(tree, data, parameters=list(true), window=0.5)
    assert 0.85 < found.residual < 1.15
    assert all(abs(found.parameters[name] - true[name]) < 3.5 * found.deviations[name] for name in true)
    assert all(found.deviations[name] < 0.02 * true[name] for name in true)
    assert len(found.starts) == 1


def test_the_size_of_a_box_that_bounces_from_corner_to_corner() -> None:
    body = tr.RigidBody(tr.Box([0.1, 0.06]), mass=0.6, inertia=0.003)
    rules = {"on_slip": "slide", "on_separation": "fly"}
    pair = tr.RollingPair(body, tr.Ground(tr.Line()), friction=0.35, restitution=0.5, **rules)  # pyright: ignore
    start = pair.place(position=(0.0, 0.3), velocity=(0.8, 0.0), angle=0.9, angular_velocity=-6.0)
    true = {"body.half_extents[0]": 0.102, "body.half_extents[1]": 0.0595}
    run = tr.simulate(tr.with_parameters(pair, true), start, 0.3, output_step=0.02)
    times, once = np.unique(run.time.round(9), return_index=True)
    values = {"body.position": run["body_position"][once, 0], "body.orientation": run["body_angle"][once, 0]}
    found = tr.identify(pair, tr.Measured(times, values, start, NOISE), parameters=list(true))
    for name, size in true.items():
        assert found.parameters[name] == pytest.approx(size, rel=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_what_the_data_do_not_tell_apart_is_said_whatever_the_round_off(seed: int) -> None:
    """Two columns of the slopes are one, in other units, but for round-off; a third is told well."""
    rng = np.random.default_rng(seed)
    J = rng.standard_normal((50, 3)) @ np.diag([1e-3, 1.0, 1e4])
    J[:, 2] = 1e7 * J[:, 0] * (1.0 + 1e-16 * rng.standard_normal(50))
    r = rng.standard_normal(50)
    covariance = _covariance(r, J, np.ones(50, dtype=bool), "linear", 1.0)
    deviations = np.sqrt(np.diag(covariance))
    known = np.sqrt(r @ r / 47 / (J[:, 1] @ J[:, 1]))
    assert deviations[1] == pytest.approx(known, rel=0.2)
    assert np.all(deviations[[0, 2]] * np.linalg.norm(J[:, [0, 2]], axis=0) > 1e6)
    assert covariance[0, 2] / deviations[0] / deviations[2] == pytest.approx(-1.0)
