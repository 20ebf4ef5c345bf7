from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from tests.oracles import walker as oracle
from tests.slowly import slow_but
from trundle.errors import InputError, SimulationError
from trundle.status import Status
from trundle.systems.planar.limit_cycles import STEADY, TWIN, StrideMap, limit_cycle, stride_problem
from trundle.systems.planar.passive_walker import PassiveWalker

# Slope -> (a, w1, w2), duration, largest multiplier; lengths in legs, times in sqrt(leg/gravity).
TABLE = {
    0.01: ((0.214419, -0.296053, -0.235372), 2.24532, 0.689),
    0.02: ((0.273338, -0.360938, -0.239824), 2.25671, 0.448),
    0.03: ((0.315821, -0.400904, -0.220051), 2.27577, 0.489),
}


@pytest.mark.parametrize("slope", slow_but(TABLE, 0.02))
def test_stable_cycles_are_those_of_shooting_with_another_program(slope):
    start, duration, multiplier = TABLE[slope]
    z, t, values = oracle.cycle(np.array(start), slope)
    cycle = limit_cycle(PassiveWalker(slope=slope, gravity=1.0))
    assert cycle.status is Status.SUCCESS
    np.testing.assert_allclose(cycle.start, z, atol=1e-8)
    np.testing.assert_allclose(cycle.start, start, atol=1e-6)
    assert cycle.duration == pytest.approx(t, abs=1e-8) == pytest.approx(duration, abs=1e-5)
    np.testing.assert_allclose(np.abs(cycle.multipliers[:3]), np.abs(values), atol=1e-4)
    assert cycle.largest == pytest.approx(multiplier, abs=1e-3)
    assert cycle.difference < 1e-6
    assert cycle.iterations <= 10


def test_unstable_twin_lies_beside_it():
    twin = limit_cycle(PassiveWalker(), TWIN)
    unit = PassiveWalker().time_unit
    assert twin.start[0] == pytest.approx(0.243, abs=5e-4)
    assert twin.duration / unit == pytest.approx(1.97, abs=0.01)
    assert twin.largest > 2


def test_units_scale_the_cycle():
    walker = PassiveWalker(leg=0.8, foot_radius=0.24, hip_mass=5.0, leg_mass=2.5, gravity=9.81)
    cycle, one = limit_cycle(walker), limit_cycle(PassiveWalker(gravity=1.0))
    assert cycle.duration / walker.time_unit == pytest.approx(one.duration, abs=1e-9)
    np.testing.assert_allclose(cycle.start * [1, *[walker.time_unit] * 2], one.start, atol=1e-9)


def test_simulation_walks_the_stride_map_and_an_error_dies_out():
    walker = PassiveWalker()
    cycle, strides = limit_cycle(walker), StrideMap(walker)
    y = walker.section(cycle.start * [1.01, 1.0, 1.0])
    run = tr.simulate(walker.robot, walker.start(y), 10.5 * cycle.duration, relative_tolerance=1e-11)
    assert run.status is Status.SUCCESS
    times, sizes = [0.0], [0.01]
    for _ in range(10):
        y, t = strides.step(y)
        times.append(times[-1] + t)
        sizes.append(float(np.max(np.abs(y[[0, 2, 3]] / cycle.start - 1))))
    np.testing.assert_allclose([change["time"] for change in run.transitions], times[1:], atol=1e-8)
    assert sizes[10] < 0.01 * sizes[0]


def test_derivative_of_the_stride_map_is_a_difference():
    walker = PassiveWalker()
    strides = StrideMap(walker)
    y = walker.section([0.27, -1.1, -0.8])
    _, duration, derivative = strides.derivative(y)
    assert duration == pytest.approx(strides.step(y)[1], abs=1e-11)
    differences = [(strides.step(y + d)[0] - strides.step(y - d)[0]) / 2e-6 for d in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(derivative, np.stack(differences, axis=1), atol=1e-6)


def test_rate_gap_and_impact_of_the_simulated_model_are_the_oracles():
    walker = PassiveWalker(gravity=1.0)
    after, impulse = walker.touch_down
    f = ca.Function("f", [walker.y], [walker.rate, walker.gap, walker.ahead, after, impulse])
    y = np.array([-0.25, 0.25, -0.4, -0.3])
    values = [np.asarray(v).ravel() for v in f(y)]
    np.testing.assert_allclose(values[0], oracle.rate(y, walker.slope), atol=1e-10)
    np.testing.assert_allclose(values[3], oracle.impact(y), atol=1e-10)
    assert values[1] == pytest.approx(0.0, abs=1e-15)
    assert values[2] == pytest.approx(0.7 * 2 * np.sin(0.25) - 0.3 * 0.0)
    assert values[4][1] > 0
    y[1] = 0.1
    assert f(y)[1] == pytest.approx(0.7 * (np.cos(y[0]) - np.cos(y[1])))


def test_feet_pass_each_other_through_the_ground():
    walker = PassiveWalker()
    cycle = limit_cycle(walker)
    run = tr.simulate(walker.robot, walker.start(cycle.start), 0.9 * cycle.duration, output_step=1e-3)
    assert not run.transitions
    scuff = float(np.min(run["gap"]))
    assert -4e-4 < scuff < -1e-4


def test_a_walker_that_falls_says_so():
    walker = PassiveWalker()
    with pytest.raises(SimulationError, match="fell"):
        StrideMap(walker).step(walker.section([0.27, 1.0, 0.5]))
    with pytest.raises(SimulationError, match="no periodic stride"):
        limit_cycle(walker, (5.0, 6.0))


def test_the_problem_prints_and_its_arguments_are_checked():
    walker = PassiveWalker()
    assert "link: repeats (4)" in str(stride_problem(walker, (0.6, 0.8)))
    for arguments in ({"durations": (3.0, 2.0)}, {"durations": (0.0, 2.0)}, {"nodes": 3}, {"angle": -0.1}):
        with pytest.raises(InputError):
            limit_cycle(walker, **arguments)
    assert STEADY[0] == TWIN[1]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("leg", 0.0), ("foot_radius", 1.0), ("foot_radius", 0.0), ("hip_mass", -1.0), ("leg_mass", 0.0),
        ("leg_center", 0.0), ("leg_center", 1.1), ("leg_inertia", -1.0), ("slope", -0.1), ("slope", 0.5),
        ("gravity", 0.0), ("friction", 0.0), ("leg", float("nan")), ("slope", "steep"),
    ],
)  # fmt: skip
def test_numbers_of_a_walker_are_checked(key, value):
    with pytest.raises(InputError, match=key):
        PassiveWalker(**{key: value})
    with pytest.raises(InputError, match="state"):
        PassiveWalker.section([-0.1, 0.0, 0.0])
