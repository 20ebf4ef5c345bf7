"""Integrals between samples, however uneven these are."""

from __future__ import annotations

import numpy as np
import pytest

import trundle as tr
from trundle.audit.between.quadrature import Intervals
from trundle.audit.tolerances import CUSP

SPACING, SAMPLES = 0.01, 12
BESIDE = (1e-17, 1e-13, 1e-9, 1e-6, 1e-3)
"""s, between an instant and the next sample: events may be as close as floating-point numbers are."""


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("number", range(SAMPLES))
def test_an_instant_beside_a_sample_does_not_spoil_the_intervals_around_it(beside: float, number: int) -> None:
    even = SPACING * np.arange(SAMPLES)
    time = np.unique(np.append(even, even[number] + beside))
    intervals = Intervals(time, np.zeros(len(time), dtype=np.intp))
    assert len(intervals) == len(time) - 1
    rates = np.stack([np.ones_like(time), np.cos(3.0 * time)], axis=1)
    exact = np.stack([np.diff(time), np.diff(np.sin(3.0 * time)) / 3.0], axis=1)
    found, error = intervals.integrals(rates)
    off = np.abs(found - exact)
    assert np.all(off <= error + 1e-10 * SPACING)
    # What does not change is known to round-off.
    assert np.all(off[:, 0] <= 1e-10 * SPACING)
    assert np.all(error[:, 0] <= 1e-8 * SPACING)


def test_weights_integrate_what_samples_tell() -> None:
    time = np.sort(np.random.default_rng(3).uniform(0.0, 1.0, 6))
    for power in range(6):
        found, _ = Intervals(time, np.zeros(6, dtype=np.intp)).integrals(time[:, None] ** power)
        assert found[:, 0] == pytest.approx(np.diff(time ** (power + 1)) / (power + 1), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("power", [0.2, 1 / 3, 0.5, 0.75])
@pytest.mark.parametrize("turns", [False, True])
def test_cusps_wherever_they_fall_are_within_the_error_where_shapes_have_them(power: float, turns: bool) -> None:
    for beside in np.linspace(0.0, 1.0, 41):
        time = np.arange(20.0) - 10.0 + beside
        sign = np.sign(time)
        rate, integral = np.abs(time) ** power, np.abs(time) ** (power + 1) / (power + 1)
        rate, integral = (sign * rate, integral) if turns else (rate, sign * integral)
        intervals = Intervals(time, np.zeros(20, dtype=np.intp), CUSP)
        found, error = intervals.integrals(rate[:, None], sizes=np.full((20, 1), 10.0))
        assert np.all(np.abs(found[:, 0] - np.diff(integral)) <= error[:, 0] + 1e-12)


def test_a_motion_faster_than_its_samples_is_no_contradiction() -> None:
    """A box goes over its edge on a ground that is bent hardly at all: 12 kN for 3 ms, with a sample each 2 ms."""
    body = tr.RigidBody(tr.Box([0.0709, 0.15]), 14.9, 0.256, center_of_mass=[0.00401, -0.00962])
    motion = tr.SinusoidMotion([0.828, -1.81, 0.104], [2.27, 2.02, 2.19])
    hand = tr.Hand(tr.Parabola(-0.0283), twist=[0.0, -0.997, -0.176], motion=motion)
    rules = {"on_slip": "slide", "on_separation": "fly"}
    pair = tr.RollingPair(body, hand, gravity=[0.0, -9.81], friction=0.0, restitution=0.573, **rules)
    start = pair.place(
        object_position=[0.0269, 0.231655], object_angle=-2.47, object_velocity=[0.0, 0.0], object_angular_velocity=0.0
    )
    run = tr.simulate(pair, start, 0.6, output_step=2e-3)
    edges = [t["time"] for t in run.transitions if t["reason"] == "the contact left its corner, edge or face"]
    assert len(edges) == 2
    assert edges[1] - edges[0] < 4e-3
    assert run.status is tr.Status.SUCCESS, run.metadata["audit"]["findings"]


@pytest.mark.parametrize("step", [0.005, 0.0062, 0.007])
def test_rolling_resistance_takes_most_where_the_load_is_largest_between_samples(step: float) -> None:
    """A noncircular wheel: its load has its peak within an interval of samples."""
    robot = tr.Robot(gravity=[0.0, -9.81], on_slip="slide", on_separation="fly")
    shape = tr.FourierRadius(0.73, [0.0, 0.0646], [0.0, 0.0, 0.0499])
    robot.free(1270.0, 477.0, center_of_mass=[-0.0943, -0.0492], shape=shape, name="wheel")
    robot.terrain(tr.Line(), friction=tr.Friction(1.14, rolling=0.0702))
    tree = robot.finish()
    start = tree.place(wheel=[0.0, 1.43, -2.87], contacts=[], rates={"wheel": [0.873, 0.0, 0.0]})
    run = tr.simulate(tree, start, 2.0, output_step=step)
    assert run.status is tr.Status.SUCCESS, run.metadata["audit"]["findings"]
