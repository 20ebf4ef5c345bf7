"""Slip is sensed: rows of sliding contacts, estimates of friction, robots on ground with a third of theirs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trundle as tr
from trundle.contact.laws import ROLLING, SLIDING
from trundle.control import InverseDynamics
from trundle.control.inverse_dynamics import tasks as tk
from trundle.scenarios import build, load_scenario
from trundle.systems.planar.scenario import metrics as metrics_planar
from trundle.systems.planar.scenario.control import TrackExperiment
from trundle.systems.planar.scenario.program import quantity_of

CART = str(Path(__file__).resolve().parents[3] / "examples" / "slippery_cart.toml")
BLIND = "controller.slip.enabled=false"
SLIDES = ['contact.on_slip="slide"', 'contact.on_separation="fly"', "controller.friction_price=1.0"]
SENSED = [*SLIDES, "controller.slip.speed=0.02"]
THIRD = "plant.friction=0.33333"
GENTLE = ["terrain.curve.amplitude=0.06", "terrain.curve.wavelength=2.4", "simulation.duration=4.0"]


def work_of(name: str, *sets: str) -> TrackExperiment:
    work = build(load_scenario(name, sets))
    assert isinstance(work, TrackExperiment)
    return work


def run_of(name: str, *sets: str) -> tr.Trajectory:
    (part,) = work_of(name, *sets).parts()
    return part.run(None)


def errors(run: tr.Trajectory) -> dict[str, float]:
    """Largest error of each task after 2 s."""
    tasks = metrics_planar.recompute_tasks(run)
    return {name: float(np.abs(task.error[run.time >= 2.0]).max(initial=0.0)) for name, task in tasks.items()}


@pytest.mark.parametrize(("form", "solver"), [("torque", "daqp"), ("force", "daqp"), ("full", "proxqp")])
def test_a_contact_that_slides_has_the_rows_of_the_law_of_sliding(form: str, solver: str) -> None:
    sets = ['terrain.curve={type="line"}', "controller.slip.weight=0.0", f'controller.form="{form}"']
    work = work_of(CART, *sets, f'controller.solver="{solver}"', "controller.damping=1e-6")
    program, x = work.program, work.start.x.copy()
    model = program.model
    x[model.layout["rear.rate"]] = -3.0  # turns although the cart stands: its lowest point moves back
    x[model.layout["front.rate"]] = 0.0
    dynamics = model.dynamics([SLIDING, ROLLING])
    terms, task = dynamics.terms, work.tables.controller.tasks[0]
    wish = quantity_of(work.tree, model, task).tracking("speed", rate=1.0, kd=task.kd)
    plain = InverseDynamics(
        dynamics,
        [wish],
        [tk.torque_limit(150.0), *tk.contact_limits(model.constraints, terms.kin, terms.split, minimum=5.0, price=1.0)],
        form=form,
        solver=solver,
        damping=1e-6,
    )(x)
    mu = model.constraints[0].friction.mu
    (reference,) = (signal.at(0.0) for signal in work.signals)
    assert program.controller is not None
    slid = program.controller(x, np.array(reference, dtype=float), (), [1.0, 1.0], [-1.0, 0.0, mu, mu / 0.95])
    assert plain.status is slid.status is tr.Status.SUCCESS
    # No task decides how the wheel turns that slides: each form has its own least squares for that.
    decided = [0, 1, 2, model.columns["front"]]
    np.testing.assert_allclose(slid.nudot[decided], plain.nudot[decided], atol=1e-4)
    np.testing.assert_allclose(slid.u[1], plain.u[1], atol=5e-3)
    assert slid.lam[0] == pytest.approx(mu * slid.lam[1])  # forwards, on a wheel that slides backwards


def test_a_controller_that_senses_slip_is_told_of_it() -> None:
    work = work_of(CART)
    assert work.controller is not None
    with pytest.raises(tr.InputError, match="slipping"):
        work.controller(work.start.x, [0.0, 1.0, 0.0], (), [1.0, 1.0])


def test_a_cart_with_a_third_of_its_friction_stays_controlled() -> None:
    run = run_of(CART, "controller.slip.recovery=0.0")
    assert run.status is tr.Status.SUCCESS
    assert run.metadata["control"]["statuses"] == {"success": 500}
    assert errors(run)["speed"] < 2e-3
    assert np.abs(run["body_angular_velocity"]).max() < 25.0
    # The ground decides the pitch of a cart on two wheels; where it is, it is that of a cart with all of its friction.
    other = run_of(CART, "plant.friction=1.0", BLIND)
    late, base = run.time > 1.0, [str(name) for name in run["body"]].index("base")
    where = np.interp(
        run["body_position"][late, base, 0], other["body_position"][:, base, 0], other["body_angle"][:, base]
    )
    np.testing.assert_allclose(run["body_angle"][late, base], where, atol=1e-3)
    estimates = run.metadata["control"]["slip"]["friction"]
    for wheel in ("rear", "front"):
        assert estimates[wheel] == pytest.approx(0.8 * 0.3333, rel=0.02)
    loop = metrics_planar.loop(run)
    assert 0 < loop["ticks_slipping"] < 60
    assert loop["friction_estimate"] == min(estimates.values())


def test_blind_to_slip_the_cart_is_lost() -> None:
    run = run_of(CART, BLIND, "simulation.duration=0.8")
    assert "slip" not in run.metadata["control"]
    assert np.abs(run["slip"]).max() > 20.0  # its wheels race
    assert np.abs(run["body_angular_velocity"]).max() > 200.0


@pytest.mark.parametrize(
    ("name", "sets"), [(CART, ["plant.friction=1.0"]), ("rover-sinusoid", SLIDES), ("leg-balance", SLIDES)]
)
def test_sensing_slip_changes_nothing_where_nothing_slips(name: str, sets: list[str]) -> None:
    short = "simulation.duration=1.0"
    with_, without = run_of(name, *sets, short, "controller.slip.enabled=true"), run_of(name, *sets, short, BLIND)
    assert with_.metadata["control"]["slip"]["ticks"] == 0
    np.testing.assert_allclose(with_["body_position"], without["body_position"], atol=1e-9)
    np.testing.assert_allclose(with_["torque"], without["torque"], atol=1e-4)


@pytest.mark.slow
def test_a_vehicle_with_a_third_of_its_friction_keeps_height_and_pitch() -> None:
    run, blind = (run_of("rover-sinusoid", *sets, THIRD, *GENTLE) for sets in (SENSED, SLIDES))
    found = errors(run)
    assert run.status is tr.Status.SUCCESS
    assert found["speed"] < 2e-3
    assert found["height"] < 1e-3
    assert found["pitch"] < 2e-3
    assert errors(blind)["pitch"] > 0.5


@pytest.mark.slow
def test_on_ground_too_steep_for_its_friction_the_vehicle_stays_upright() -> None:
    """Slopes of .47 with a coefficient of .27: no controller keeps the speed, but base and legs stay as they should."""
    run = run_of("rover-sinusoid", *SENSED, THIRD, "simulation.duration=5.0")
    found = errors(run)
    assert found["height"] < 0.02
    assert found["pitch"] < 0.01
    assert max(found["rear-offset"], found["front-offset"]) < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("friction", [0.2, 0.25, 0.4])
def test_a_noisy_cart_that_turns_back_and_forth(friction: float) -> None:
    noise = ["noise.angle=1e-3", "noise.position=1e-3", "noise.velocity=0.01", "noise.angular_velocity=0.02"]
    back = 'reference.speed={type="sinusoid", amplitude=0.3, frequency=0.2}'
    sets = [f"plant.friction={friction / 0.8}", "controller.slip.speed=0.1", "controller.tasks.speed.tolerance=0.3"]
    run = run_of(CART, *sets, *noise, back, "noise.delay=0.005", "plant.mass=1.1", "simulation.duration=8.0")
    assert run.status is tr.Status.SUCCESS
    assert np.abs(run["body_angular_velocity"]).max() < 40.0
    assert np.abs(run["slip"][run.time > 3.0]).max() < 1.0
