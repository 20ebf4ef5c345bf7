from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.cores import WAYS, choose
from trundle.numerics.ode.events import dip, first_zero
from trundle.numerics.ode.ode import Integrator, OdeSystem
from trundle.status import Status

METHODS = ("rk4", "dopri5", "dop853")
T, X, P = ca.SX.sym("t"), ca.SX.sym("x", 2), ca.SX.sym("p", 0)
FALL = ca.vertcat(X[1], -9.81)
SWING = ca.vertcat(X[1], -9.81 * ca.sin(X[0]))


def integrator(rate, margins, method="dop853", **options):
    functions = [ca.Function(name, [T, X, P], [e]) for name, e in (("rate", rate), ("margins", margins))]
    return Integrator(OdeSystem(*functions), method, **options)


def step_of(method):
    return 0.013 if method == "rk4" else None


@pytest.fixture(params=WAYS)
def backend(request, cores, monkeypatch):
    return choose(request.param, cores, monkeypatch)


@pytest.mark.parametrize("method", METHODS)
def test_falling_ball_lands_in_time(method, backend):
    run = integrator(FALL, X[0], method).integrate(0.0, [1.0, 0.3], 5.0, step=step_of(method), sample_times=[0.1, 4.0])
    landing = (0.3 + np.sqrt(0.09 + 2.0 * 9.81)) / 9.81
    assert run.event == 0
    assert run.status is Status.SUCCESS
    assert run.t_end == pytest.approx(landing, rel=1e-13)
    assert -1e-13 < run.x_end[0] <= 0.0
    assert run.x_end[1] == pytest.approx(0.3 - 9.81 * landing, rel=1e-13)
    assert run.times.tolist() == [0.1]
    assert run.margin_minimum[0] == run.x_end[0]


def test_bouncing_ball(backend):
    ball, t, x, times = integrator(FALL, X[0]), 0.0, np.array([1.0, 0.0]), []
    for _ in range(20):
        # After an impact the gap is zero to rounding: it arms itself once the ball is up.
        run = ball.integrate(t, x, 10.0, armed=[t == 0.0])
        assert run.event == 0
        t, x = run.t_end, np.array([0.0, -0.8 * run.x_end[1]])
        times.append(t)
    fall = np.sqrt(2.0 / 9.81)
    exact = fall * (1.0 + 2.0 * np.cumsum([0.0, *0.8 ** np.arange(1, 20)]))
    np.testing.assert_allclose(times, exact, rtol=1e-13)


@pytest.mark.parametrize("method", METHODS)
def test_pendulum_event_against_the_elliptic_integral(method):
    from scipy.special import ellipk

    amplitude = 1.2
    quarter = ellipk(np.sin(amplitude / 2.0) ** 2) / np.sqrt(9.81)
    run = integrator(SWING, X[0], method).integrate(
        0.0, [amplitude, 0.0], 5.0, step=2e-4 if method == "rk4" else None, relative_tolerance=1e-12
    )
    assert run.t_end == pytest.approx(quarter, rel=1e-11 if method != "dop853" else 1e-12)


@pytest.mark.parametrize(
    ("method", "order", "counts"),
    [("rk4", 4, (200, 400, 800)), ("dopri5", 5, (100, 200, 400)), ("dop853", 8, (20, 30, 40, 60))],
)
def test_event_time_has_the_order_of_the_method(method, order, counts):
    machine = integrator(ca.vertcat(X[0] * ca.cos(T), 0.0), X[0] - 0.6, method)
    exact = np.pi - np.arcsin(np.log(0.6))
    errors = [abs(machine.integrate(0.0, [1.0, 0.0], 6.0, step=6.0 / count).t_end - exact) for count in counts]
    assert -np.polyfit(np.log(counts), np.log(errors), 1)[0] > order - 0.15


@pytest.mark.parametrize("method", METHODS)
def test_the_earliest_of_several_events_wins(method, backend):
    margins = ca.vertcat(1.0 - T, 0.7001 - T, 0.7 - T, 5.0 - T, 0.70005 - T)
    run = integrator(SWING, margins, method).integrate(0.0, [1.0, 0.0], 5.0, step=2.0 if method == "rk4" else None)
    assert run.event == 2
    assert run.t_end == pytest.approx(0.7, rel=1e-13)
    np.testing.assert_allclose(run.margin_minimum, [0.3, 1e-4, 0.0, 4.3, 5e-5], atol=1e-12)


def test_a_dip_inside_a_long_step_is_found(backend):
    # Linear in time: the step becomes as long as the interval; the dip is 0.4 s of 10 s and between dense points.
    dipping = (T - 5.6) ** 2 - 0.04
    run = integrator(ca.vertcat(0.1, 0.2), dipping).integrate(0.0, [0.0, 0.0], 10.0, first_step=10.0)
    assert run.event == 0
    assert run.t_end == pytest.approx(5.4, rel=1e-12)
    touching = integrator(ca.vertcat(0.1, 0.2), dipping + 0.05).integrate(0.0, [0.0, 0.0], 10.0, first_step=10.0)
    assert touching.event is None
    assert touching.t_end == 10.0


@pytest.mark.parametrize("method", METHODS)
def test_a_dip_that_is_none_hides_no_event_of_its_step(method, backend):
    margins = ca.vertcat((T - 0.4) ** 2 + 0.001, 0.9 - T)
    options = {"step": 1.0} if method == "rk4" else {"first_step": 1.0}
    run = integrator(ca.vertcat(0.1, 0.2), margins, method).integrate(0.0, [0.0, 0.0], 1.0, **options)
    assert run.event == 1
    assert run.t_end == pytest.approx(0.9, rel=1e-12)


def test_a_dip_of_what_is_projected_is_where_the_projection_is_at_its_time(backend):
    clock = {"rate": ca.vertcat(0.1, 0.2), "margins": (X[0] - 5.6) ** 2 - 0.04, "projection": ca.vertcat(T, X[1])}
    run = Integrator(OdeSystem(**{n: ca.Function(n, [T, X, P], [e]) for n, e in clock.items()})).integrate(
        0.0, [0.0, 0.0], 10.0, first_step=10.0
    )
    assert run.event == 0
    assert run.t_end == pytest.approx(5.4, rel=1e-12)


def test_margin_at_or_below_zero_at_the_start(backend):
    machine = integrator(FALL, X[0])
    for height in (0.0, -0.1):
        run = machine.integrate(2.0, [height, 1.0], 5.0, sample_times=[2.0, 3.0])
        assert (run.event, run.t_end, run.steps) == (0, 2.0, 0)
        assert run.times.tolist() == [2.0]


def test_unarmed_margin_arms_itself(backend):
    machine = integrator(FALL, X[0])
    thrown = machine.integrate(0.0, [0.0, 1.0], 5.0, armed=[False])
    assert thrown.t_end == pytest.approx(2.0 / 9.81, rel=1e-13)
    dropped = machine.integrate(0.0, [0.0, -1.0], 1.0, armed=[False])
    assert dropped.event is None
    below = machine.integrate(0.0, [0.0, 1e-3], 1.0, armed=[False], arming_tolerance=1.0)
    assert below.event is None


def test_unwatched_margin_only_counts(backend):
    run = integrator(FALL, ca.vertcat(X[0], X[0] + 1.0)).integrate(0.0, [1.0, 0.0], 5.0, watched=[False, True])
    assert run.event == 1
    np.testing.assert_allclose(run.margin_minimum, [-1.0, 0.0], atol=1e-12)


def test_margin_that_is_no_number(backend):
    bad = ca.vertcat(X[0] + 100.0, ca.sqrt(X[0]))
    watched = integrator(FALL, bad).integrate(0.0, [1.0, 0.0], 1.0, watched=[True, True])
    assert watched.status is Status.NOT_FINITE
    assert np.all(np.isfinite(watched.x_end))
    unwatched = integrator(FALL, bad).integrate(0.0, [1.0, 0.0], 1.0, watched=[True, False])
    assert unwatched.status is Status.SUCCESS
    assert np.isnan(unwatched.margin_minimum[1])


def test_infinite_and_jumping_margins_are_bisected(backend):
    margins = ca.if_else(T < 0.37, ca.inf, -ca.inf)
    run = integrator(FALL, margins).integrate(0.0, [1.0, 0.0], 1.0)
    assert run.event == 0
    assert run.t_end == pytest.approx(0.37, rel=1e-13)


def test_rate_that_fails_behind_the_event(backend):
    # The rate is not a number where the margin is negative: the steps shrink towards the event, which is found.
    rate = ca.vertcat(-1.0, ca.sqrt(X[0] + 1e-3))
    run = integrator(rate, X[0]).integrate(0.0, [1.0, 0.0], 3.0)
    assert run.event == 0
    assert run.t_end == pytest.approx(1.0, rel=1e-12)


def test_first_zero_of_steep_and_flat_functions():
    for power in (1, 3, 9):
        root = first_zero(lambda s, power=power: (0.3 - s) ** power, 0.0, 1.0, 1e-15)
        assert 0.3 <= root == pytest.approx(0.3, abs=1e-13 if power == 1 else 1e-9)
    assert first_zero(lambda s: 1.0 + s, 0.0, 1.0, 1e-15) == -1.0


def test_dip_narrows_its_bracket():
    times = [0.0, 0.5, 1.0]

    def margin(s):
        return (1.0 + s) * (s - 0.4) ** 2 - 1e-4

    tip = dip(margin, times, [margin(s) for s in times], 1.0)
    assert margin(tip) <= 0.0 < margin(times[0])
    assert times[0] < tip
    shallow = [0.0, 0.5, 1.0]
    assert dip(lambda s: margin(s) + 0.1, shallow, [margin(s) + 0.1 for s in shallow], 1.0) == -1.0


@pytest.mark.parametrize("lowest", [0.45, 0.55])
def test_the_bracket_of_a_dip_begins_before_it(lowest):
    times = [0.0, 0.5, 1.0]

    def margin(s):
        return (s - lowest) ** 2 - 1e-4

    tip = dip(margin, times, [margin(s) for s in times], 1.0)
    assert margin(tip) <= 0.0 < margin(times[0])
    assert times[0] < tip


@pytest.mark.parametrize("size", [0.1, 1.0, 10.0])
def test_the_bottom_of_a_parabola_is_found_at_once_between_uneven_times(size):
    times, lowest, asked = [size * s for s in (1.69, 2.0, 2.17)], 2.05 * size, []

    def margin(s):
        asked.append(s)
        return 3.0 * (s - lowest) ** 2 - 1e-9

    assert dip(margin, times, [3.0 * (s - lowest) ** 2 - 1e-9 for s in times], size) == asked[0]
    assert asked == [pytest.approx(lowest, rel=1e-12)]


@pytest.fixture(scope="module")
def two_waves():
    """Margins of known zeros: the state is time itself, so that the step control wants steps as long as allowed."""
    p = ca.SX.sym("p", 6)
    t = X[0]
    waves = [p[3 * k] + ca.sin(p[3 * k + 1] * t + p[3 * k + 2]) for k in range(2)]
    functions = (
        ca.Function("rate", [T, X, p], [ca.vertcat(1.0, 0.0)]),
        ca.Function("m", [T, X, p], [ca.vertcat(*waves)]),
    )
    return {method: Integrator(OdeSystem(*functions), method) for method in METHODS}


@given(
    st.lists(st.tuples(st.floats(0.0, 1.2), st.floats(0.3, 3.0), st.floats(0.1, 3.0)), min_size=2, max_size=2),
    st.sampled_from(METHODS),
    st.floats(0.05, 0.5),
)
def test_first_zero_of_two_waves(two_waves, waves, method, longest):
    zeros = []
    for offset, frequency, phase in waves:
        # offset + sin(a) falls through zero first at a = pi + arcsin(offset); it only touches for offset = 1
        assume(abs(offset - 1.0) > 0.02 and np.sin(phase) + offset > 1e-3)
        zeros.append((np.pi + np.arcsin(offset) - phase) / frequency if offset < 1.0 else np.inf)
    assume(abs(zeros[0] - zeros[1]) > 1e-9 or np.isinf(zeros[0]))
    step = {"step": longest} if method == "rk4" else {"max_step": 4 * longest}
    run = two_waves[method].integrate(0.0, [0.0, 0.0], 12.0, np.ravel(waves), **step)
    if min(zeros) > 12.0:
        assert run.event is None
    else:
        assert run.event == int(np.argmin(zeros))
        assert run.t_end == pytest.approx(min(zeros), rel=1e-12, abs=1e-12)
