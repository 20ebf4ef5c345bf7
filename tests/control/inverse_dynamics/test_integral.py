"""Integral action: its law as documented, its anti-windup, and what it does for a robot that is not its model."""

from __future__ import annotations

import numpy as np
import pytest

import trundle as tr
from trundle.scenarios import build, load_scenario
from trundle.systems.planar.scenario import metrics as metrics_planar
from trundle.systems.planar.scenario.control import TrackExperiment

KI = "controller.tasks.shin.ki=15.0"


def leg(*sets: str) -> TrackExperiment:
    work = build(load_scenario("leg-balance", sets))
    assert isinstance(work, TrackExperiment)
    return work


def run_of(*sets: str) -> tr.Trajectory:
    (part,) = leg(*sets).parts()
    return part.run(None)


def test_it_adds_ki_times_the_integral_and_stands_still_while_a_limit_holds() -> None:
    for limit, free in ((60.0, True), (1.0, False)):
        work = leg(KI, f"controller.torque_limit={limit}")
        integral, x, touching = work.program.integral, work.start.x, [1.0, 0.0]
        assert integral is not None
        assert work.controller is not None
        reference = np.array([value for one in work.signals for value in one.at(0.0)])
        command = work.controller(x, reference, (), touching)
        assert command.held_back is not free
        integral.reset()
        for _ in range(3):
            integral.take(x, reference, touching, command)
        error = reference[0] - (work.start.x[work.program.model.layout["foot.orientation"]][0] + 0.1)
        expected = 15.0 * 3 * 0.01 * error if free else 0.0
        np.testing.assert_allclose(integral.added, [expected], rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(
            integral.correct_reference(reference) - reference, [0, 0, expected, 0, 0, 0], atol=1e-15
        )
        integral.added[:] = 2.0  # against the error: it may shrink whatever the limits say
        integral.take(x, reference, touching, command)
        np.testing.assert_allclose(integral.added, [2.0 + 15.0 * 0.01 * error])
        for _ in range(1000):
            integral.take(x, reference, touching, command)
        if free:
            np.testing.assert_array_equal(integral.added, [-10.0])  # its bound
        integral.take(np.full_like(x, np.nan), reference, touching, command)
        assert np.all(np.isfinite(integral.added))


@pytest.mark.slow
@pytest.mark.parametrize("offset", [(0.01, 0.0), (0.02, 0.0), (-0.01, 0.0), (-0.02, 0.0), (0.0, 0.02), (0.01, -0.02)])
def test_a_leg_that_is_heavier_and_lopsided_stands_where_it_should(offset: tuple[float, float]) -> None:
    errors = ["plant.mass=1.1", f"plant.center_of_mass={{shin=[{offset[0]}, {offset[1]}]}}"]
    without, run = run_of(*errors), run_of(*errors, KI)
    assert run.status is tr.Status.SUCCESS
    end, end_without = (
        np.abs(metrics_planar.recompute_tasks(one)["shin"].error[one.time > 19.0]).max() for one in (run, without)
    )
    assert end < 0.01
    assert end_without > 3 * end
    assert np.abs(metrics_planar.recompute_tasks(run)["ankle"].error[-1]) < 0.01


@pytest.mark.slow
def test_a_speed_is_kept_by_drives_that_give_less_than_they_should() -> None:
    """Of a rate the integral is of its error, 1/s2: a weak and biased drive costs no speed."""
    late = []
    for ki in (0.0, 20.0):
        sets = [
            "plant.mass=1.1",
            "plant.actuator_gain=0.8",
            "simulation.duration=6.0",
            f"controller.tasks.speed.ki={ki}",
        ]
        (part,) = build(load_scenario("rover-sinusoid", sets)).parts()
        run = part.run(None)
        speed = metrics_planar.recompute_tasks(run)["speed"]
        late.append(abs(np.mean(speed.error[run.time > 4.4])))  # one wave takes 1.6 s
    assert late[1] < 0.2 * late[0]
    assert late[1] < 1e-3
