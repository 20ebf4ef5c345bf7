from __future__ import annotations

import _thread
import dataclasses
import pickle
import threading

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from tests.cores import WAYS, choose
from trundle.errors import InputError
from trundle.numerics.ode import native as ode_native
from trundle.numerics.ode import ode
from trundle.numerics.ode.ode import Integrator, OdeSystem
from trundle.status import Status

METHODS = ("rk4", "dopri5", "dop853")
T, X, P = ca.SX.sym("t"), ca.SX.sym("x", 2), ca.SX.sym("p", 1)
NO_P = ca.SX.sym("p", 0)


def system(rate, margins=None, projection=None, p=P):
    given = {"rate": rate, "margins": margins, "projection": projection}
    return OdeSystem(**{name: ca.Function(name, [T, X, p], [e]) for name, e in given.items() if e is not None})


PENDULUM = ca.vertcat(X[1], -P * ca.sin(X[0]))
KNOWN = ca.vertcat(X[0] * ca.cos(T), -0.4 * X[1] ** 2 * ca.sin(T))
START = [1.0, 1.0]


def known(t):
    return np.array([np.exp(np.sin(t)), 1.0 / (1.0 + 0.4 * (1.0 - np.cos(t)))]).T


@pytest.fixture(params=WAYS)
def backend(request, cores, monkeypatch):
    return choose(request.param, cores, monkeypatch)


def slope(counts, errors):
    return -np.polyfit(np.log(counts), np.log(errors), 1)[0]


@pytest.mark.parametrize(
    ("method", "order", "counts"),
    [("rk4", 4, (320, 400, 640, 800)), ("dopri5", 5, (160, 200, 300, 400)), ("dop853", 8, (20, 30, 40, 60))],
)
def test_convergence_order(method, order, counts):
    integrator = Integrator(system(KNOWN, p=NO_P), method)
    ends = np.linspace(0.0, 6.0, 6)
    errors = []
    for count in counts:
        run = integrator.integrate(0.0, START, 6.0, step=6.0 / count, sample_times=ends)
        assert run.steps == count
        errors.append(np.max(np.abs(run.states - known(ends))))
    assert slope(counts, errors) == pytest.approx(order, abs=0.1)


@pytest.mark.parametrize(
    ("method", "order", "counts"),
    [("rk4", 4, (100, 200, 400, 800)), ("dopri5", 5, (50, 100, 200, 400)), ("dop853", 8, (10, 20, 30, 40, 60))],
)
def test_dense_output_has_the_order_of_the_step(method, order, counts):
    integrator = Integrator(system(KNOWN, p=NO_P), method)
    times = np.linspace(0.0, 6.0, 1000)
    errors = []
    for count in counts:
        run = integrator.integrate(0.0, START, 6.0, step=6.0 / count, sample_times=times)
        errors.append(np.max(np.abs(run.states - known(times))))
    assert slope(counts, errors) == pytest.approx(order, abs=0.15)


@pytest.mark.parametrize(
    ("method", "step"), [("rk4", 0.01), ("dopri5", None), ("dopri5", 0.01), ("dop853", None), ("dop853", 0.05)]
)
def test_c_and_python_agree(method, step, cores, monkeypatch):
    choose("compiler", cores, monkeypatch)
    s = system(PENDULUM, ca.vertcat(X[0] + 0.9, 5 - T), X * (1 + 1e-12 * ca.sin(X[1])))
    c = Integrator(s, method)
    choose("neither", cores, monkeypatch)
    python = Integrator(s, method)
    assert c.compiled
    assert not python.compiled
    times = np.linspace(0.0, 3.0, 13)
    for watched, event in (([True, True], 0), ([False, True], 1)):
        arguments = {"step": step, "sample_times": times, "watched": watched}
        first = c.integrate(0.0, [1.0, 0.0], 6.0, [9.81], **arguments)
        second = python.integrate(0.0, [1.0, 0.0], 6.0, [9.81], **arguments)
        assert first.event == second.event == event
        for name in ("steps", "rejected", "status"):
            assert getattr(first, name) == getattr(second, name)
        assert first.evaluations == pytest.approx(second.evaluations, abs=30)  # rounding ends the root search
        assert first.t_end == pytest.approx(second.t_end, rel=1e-12)
        np.testing.assert_allclose(first.states, second.states, atol=3e-12)
        np.testing.assert_allclose(first.x_end, second.x_end, atol=3e-12)
        # The smallest margin at step ends: rounding in the error estimate moves the ends of adaptive steps.
        np.testing.assert_allclose(first.margin_minimum, second.margin_minimum, atol=3e-12 if step else 1e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("projected", [False, True])
def test_c_and_python_take_the_same_steps_where_these_are_rough(method, projected, cores, monkeypatch):
    """Where an event's step, taken alone, ends elsewhere than the dense output says; from tiny starts, in odd units."""
    choose("compiler", cores, monkeypatch)
    p = ca.SX.sym("p", 5)
    margins = ca.vertcat(p[1] + X[0], p[2] + X[0] * X[1] + 0.1 * ca.sin(7 * X[0]))
    moving = X * (1 + p[3] * ca.sin(p[4] * T)) / ca.norm_2(X)
    s = system(p[0] * ca.vertcat(X[1], -X[0]), margins, moving if projected else None, p)
    c = Integrator(s, method)
    choose("neither", cores, monkeypatch)
    python, random, events = Integrator(s, method), np.random.default_rng(0), 0
    for k in range(35):
        values = random.uniform([0.5, -0.2, 0.0, 0.0, 0.0], [3.0, 1.2, 0.9, 0.3, 5.0])
        rough = {"relative_tolerance": 10 ** random.uniform(-6, -1), "absolute_tolerance": 10 ** random.uniform(-6, 1)}
        how = {"step": random.uniform(0.3, 1.2)} if method == "rk4" else {**rough, "max_step": 0.6}
        angle = random.uniform(0, 6)
        x0 = [np.cos(angle), np.sin(angle)] if k % 7 else [1e-9, 0.0]
        one, other = (i.integrate(0.0, x0, 6.0, values, armed=[k % 3 > 0, False], **how) for i in (c, python))
        for name in ("event", "status", "steps", "rejected"):
            assert getattr(one, name) == getattr(other, name), (k, name)
        events += one.event is not None
        assert (one.t_end, one.last_step) == pytest.approx((other.t_end, other.last_step), rel=1e-6)
        np.testing.assert_allclose(one.x_end, other.x_end, atol=1e-9)
        np.testing.assert_allclose(one.margin_minimum, other.margin_minimum, atol=1e-7)
    assert events > 12


@pytest.mark.parametrize("calls", [False, True])
def test_a_run_that_is_compiled_on_its_way_has_the_same_numbers(calls, cores, monkeypatch, tmp_path):
    choose("compiler", cores, monkeypatch)
    sine = ca.Function("sine", [T], [ca.sin(T)], {"never_inline": True}) if calls else ca.sin
    s = system(PENDULUM, ca.vertcat(X[0] + 2.9, 50 - T), X * (1 + 1e-12 * sine(X[1])))
    monkeypatch.setenv("TRUNDLE_CACHE", str(tmp_path))  # where it is not compiled yet
    monkeypatch.setattr(ode, "AT_ONCE", 0)
    monkeypatch.setattr(ode, "OFTEN", 500)
    monkeypatch.setattr(ode_native, "SLICE_SECONDS", 1e-4)
    changing, interpreted = Integrator(s), Integrator(s)
    times = np.linspace(0.0, 40.0, 33)
    first = changing.integrate(0.0, [1.0, 0.0], 40.0, [9.81], sample_times=times)
    assert changing.compiled
    compiled = Integrator(s)
    assert compiled.compiled
    assert not interpreted.compiled
    monkeypatch.setattr(ode, "OFTEN", 10**9)
    for other in (compiled, interpreted):
        again = other.integrate(0.0, [1.0, 0.0], 40.0, [9.81], sample_times=times)
        assert (again.status, again.event) == (first.status, first.event) == (Status.SUCCESS, None)
        assert (again.evaluations, again.steps) == (first.evaluations, first.steps)
        np.testing.assert_array_equal(again.states, first.states)
        np.testing.assert_array_equal(again.margin_minimum, first.margin_minimum)
    assert not interpreted.compiled


@pytest.mark.parametrize("method", ["dopri5", "dop853"])
def test_adaptive_run_against_scipy(method):
    ours = Integrator(system(PENDULUM), method).integrate(0.0, [2.0, 0.0], 10.0, [9.81], relative_tolerance=1e-11)
    reference = solve_ivp(
        lambda t, x: [x[1], -9.81 * np.sin(x[0])], (0, 10), [2.0, 0.0], method="DOP853", rtol=1e-13, atol=1e-14
    )
    assert ours.status is Status.SUCCESS
    assert ours.t_end == 10.0
    assert ours.rejected < ours.steps
    np.testing.assert_allclose(ours.x_end, reference.y[:, -1], atol=2e-9)


def test_step_control_takes_as_many_steps_as_scipy():
    ours = Integrator(system(PENDULUM), "dop853").integrate(0.0, [2.0, 0.0], 10.0, [9.81], absolute_tolerance=1e-10)
    theirs = solve_ivp(
        lambda t, x: [x[1], -9.81 * np.sin(x[0])], (0, 10), [2.0, 0.0], method="DOP853", rtol=1e-10, atol=1e-10
    )
    assert ours.steps == pytest.approx(len(theirs.t) - 1, abs=2)


def test_a_rejected_step_costs_its_stages_alone(backend):
    """Of the twelve stages of dop853 the first is known; an accepted step has one more, at its end."""
    integrator, rejected = Integrator(system(PENDULUM)), 0
    for k in range(8):
        run = integrator.integrate(0.0, [3.0, 0.0], 10.0, [9.81 + k], relative_tolerance=1e-6, absolute_tolerance=1e-6)
        assert run.evaluations == 2 + 11 * (run.steps + run.rejected) + run.steps
        rejected += run.rejected
    assert rejected > 8


@pytest.mark.parametrize("method", METHODS)
def test_samples_are_those_asked_for(method, backend):
    times = [0.0, 0.0, 0.3, 0.30000001, 2.0, 2.5]
    step = 0.01 if method == "rk4" else None
    run = Integrator(system(KNOWN, p=NO_P), method).integrate(0.0, START, 2.0, step=step, sample_times=times)
    assert run.times.tolist() == times[:-1]
    np.testing.assert_allclose(run.states, known(np.array(times[:-1])), atol=1e-8)
    assert np.array_equal(run.states[-1], run.x_end)
    assert np.array_equal(run.states[0], START)


def test_results_are_frozen():
    run = Integrator(system(KNOWN, p=NO_P)).integrate(0.0, START, 1.0, sample_times=[0.5])
    with pytest.raises(dataclasses.FrozenInstanceError):
        run.t_end = 2.0
    with pytest.raises(ValueError, match="read-only"):
        run.x_end[0] = 0.0


def test_last_fixed_step_is_cut_to_the_end(backend):
    run = Integrator(system(KNOWN, p=NO_P), "rk4").integrate(0.0, START, 1.0, step=0.3)
    assert (run.steps, run.t_end, run.last_step) == (4, 1.0, 0.3)
    exact = Integrator(system(KNOWN, p=NO_P), "rk4").integrate(0.0, START, 1.0, step=0.1)
    assert exact.steps == 10


def test_empty_interval(backend):
    run = Integrator(system(KNOWN, p=NO_P)).integrate(1.0, START, 1.0, sample_times=[1.0])
    assert run.status is Status.SUCCESS
    assert run.steps == 0
    assert run.states.tolist() == [START]


@pytest.mark.parametrize("method", METHODS)
def test_projection_keeps_the_constraint(method, backend):
    circle = ca.vertcat(X[1], -X[0])
    step = 0.1 if method == "rk4" else None
    times = np.linspace(0.05, 5.0, 40)
    arguments = {"step": step, "sample_times": times, "relative_tolerance": 1e-4, "absolute_tolerance": 1e-4}
    free = Integrator(system(circle, p=NO_P), method).integrate(0.0, [1.0, 0.0], 5.0, **arguments)
    held = Integrator(system(circle, projection=X / ca.norm_2(X), p=NO_P), method)
    run = held.integrate(0.0, [1.0, 0.0], 5.0, **arguments)
    assert np.max(np.abs(np.linalg.norm(free.states, axis=1) - 1.0)) > 1e-8
    np.testing.assert_allclose(np.linalg.norm(run.states, axis=1), 1.0, atol=1e-15)
    assert np.linalg.norm(run.x_end) == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_allclose(run.states[:, 0], np.cos(times), atol=1e-2)


def test_projection_does_not_lower_the_order():
    circle = system(ca.vertcat(X[1], -X[0]), projection=X / ca.norm_2(X), p=NO_P)
    integrator = Integrator(circle, "dopri5")
    times, errors = np.linspace(0.0, 5.0, 300), []
    for count in (50, 100, 200):
        run = integrator.integrate(0.0, [1.0, 0.0], 5.0, step=5.0 / count, sample_times=times)
        errors.append(np.max(np.abs(run.states[:, 0] - np.cos(times))))
    assert slope((50, 100, 200), errors) > 4.85


@pytest.mark.parametrize("method", METHODS)
def test_not_finite_rate_is_told(method, backend):
    # x0' = -1 / x0 reaches zero at t = 1/2, where the rate is infinite.
    s = system(ca.vertcat(-1.0 / ca.sqrt(X[0]), ca.sqrt(X[0])), p=NO_P)
    run = Integrator(s, method).integrate(0.0, [1.0, 0.0], 2.0, step=1e-3 if method == "rk4" else None)
    assert run.status in (Status.NOT_FINITE, Status.STEP_TOO_SMALL)
    assert np.all(np.isfinite(run.x_end))
    assert run.t_end == pytest.approx(2.0 / 3.0, abs=2e-3)


def test_not_finite_start(backend):
    s = system(ca.vertcat(1.0 / X[0], 0.0), p=NO_P)
    run = Integrator(s).integrate(0.0, [0.0, 0.0], 1.0)
    assert run.status is Status.NOT_FINITE
    assert (run.t_end, run.steps) == (0.0, 0)


def test_overflow_is_not_a_result(backend):
    run = Integrator(system(ca.vertcat(X[0] ** 3, X[1]), p=NO_P), "rk4").integrate(0.0, [10.0, 1.0], 10.0, step=0.1)
    assert run.status is Status.NOT_FINITE
    assert np.all(np.isfinite(run.x_end))


def test_step_limits(backend):
    integrator = Integrator(system(PENDULUM))
    assert integrator.integrate(0.0, [1.0, 0.0], 10.0, [9.81], max_steps=5).status is Status.TOO_MANY_STEPS
    run = integrator.integrate(0.0, [1.0, 0.0], 10.0, [9.81], min_step=1.0, first_step=2.0)
    assert run.status is Status.STEP_TOO_SMALL
    jump = system(ca.vertcat(ca.if_else(T < 0.5, 1.0, -1e8 * ca.sign(X[0] - 0.5)), 0.0), p=NO_P)
    stuck = Integrator(jump).integrate(0.0, [0.0, 0.0], 1.0, max_steps=20_000)
    assert stuck.status in (Status.STEP_TOO_SMALL, Status.TOO_MANY_STEPS)


def test_going_on_with_the_last_step_costs_no_search():
    integrator = Integrator(system(PENDULUM))
    first = integrator.integrate(0.0, [1.0, 0.0], 5.0, [9.81])
    second = integrator.integrate(first.t_end, first.x_end, 10.0, [9.81], first_step=first.last_step)
    whole = integrator.integrate(0.0, [1.0, 0.0], 10.0, [9.81])
    assert first.steps + second.steps <= whole.steps + 2
    np.testing.assert_allclose(second.x_end, whole.x_end, atol=1e-8)


def test_slicing_does_not_change_the_numbers(monkeypatch):
    integrator = Integrator(system(PENDULUM, X[0] + 10), "dop853")
    arguments = {"sample_times": np.linspace(0, 20, 7)}
    whole = integrator.integrate(0.0, [1.0, 0.0], 20.0, [9.81], **arguments)
    monkeypatch.setattr(ode_native, "SLICE_SECONDS", 0.0)
    told = []
    sliced = integrator.integrate(0.0, [1.0, 0.0], 20.0, [9.81], progress=told.append, **arguments)
    assert np.array_equal(sliced.states, whole.states)
    assert np.array_equal(sliced.x_end, whole.x_end)
    assert len(told) > 3 or not integrator.compiled
    assert told == sorted(told)
    assert told[-1] == 20.0


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_progress_is_told_some_times_a_second_and_not_at_each_step(method, backend):
    told = []
    how = {"step": 0.02} if method == "rk4" else {"max_step": 0.02}
    run = Integrator(system(PENDULUM), method).integrate(0.0, [1.0, 0.0], 10.0, [9.81], progress=told.append, **how)
    assert run.steps >= 500
    assert 1 <= len(told) < 50
    assert told[-1] == 10.0


def test_interrupt_in_the_middle_keeps_what_was_done():
    integrator = Integrator(system(PENDULUM), "rk4")
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    run = integrator.integrate(0.0, [1.0, 0.0], 1e6, [9.81], step=1e-4, sample_times=[1e-2, 1e6], max_steps=10**12)
    timer.join()
    assert run.status is Status.INTERRUPTED
    assert 0.0 < run.t_end < 1e6
    assert run.steps == round(run.t_end / 1e-4)
    assert run.times.tolist() == [1e-2]
    assert np.all(np.isfinite(run.x_end))


def test_interrupt_from_progress(backend):
    def stop(t):
        raise KeyboardInterrupt

    run = Integrator(system(PENDULUM)).integrate(0.0, [1.0, 0.0], 1.0, [9.81], progress=stop)
    assert run.status is Status.INTERRUPTED


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("x0", {"x0": [1.0]}),
        ("x0", {"x0": [1.0, np.nan]}),
        ("t1", {"t1": -1.0}),
        ("t1", {"t1": np.inf}),
        ("p", {"p": []}),
        ("step", {"step": 0.0}),
        ("relative_tolerance", {"relative_tolerance": -1.0}),
        ("absolute_tolerance", {"absolute_tolerance": 0.0}),
        ("absolute_tolerance", {"absolute_tolerance": [1.0, 1.0, 1.0]}),
        ("sample_times", {"sample_times": [1.0, 0.5]}),
        ("sample_times", {"sample_times": [-1.0]}),
        ("armed", {"armed": [True]}),
        ("watched", {"watched": [1]}),
        ("max_steps", {"max_steps": 0}),
        ("first_step", {"first_step": 0.0}),
        ("max_step", {"max_step": np.nan}),
    ],
)
def test_bad_input_names_the_parameter(key, change):
    arguments = {"t0": 0.0, "x0": [1.0, 0.0], "t1": 1.0, "p": [9.81], **change}
    with pytest.raises(InputError) as caught:
        Integrator(system(PENDULUM)).integrate(**arguments)
    assert caught.value.key == key


def test_rk4_wants_a_step_and_methods_have_names():
    with pytest.raises(InputError, match="fixed step"):
        Integrator(system(PENDULUM), "rk4").integrate(0.0, [1.0, 0.0], 1.0, [9.81])
    with pytest.raises(InputError, match="'dop853', 'dopri5', 'rk4'"):
        Integrator(system(PENDULUM), "euler")


def test_functions_must_fit_together():
    three = ca.SX.sym("y", 3)
    with pytest.raises(InputError, match="margins"):
        OdeSystem(system(PENDULUM).rate, ca.Function("m", [T, three, P], [three[0]]))
    with pytest.raises(InputError, match="rate"):
        OdeSystem(ca.Function("r", [X, P], [X]))
    with pytest.raises(InputError, match="projection"):
        OdeSystem(system(PENDULUM).rate, None, ca.Function("m", [T, X, P], [X[0]]))


def test_vector_tolerance_and_sparse_rate(backend):
    sparse = ca.Function("rate", [T, X, P], [ca.SX(ca.Sparsity(2, 1))])
    run = Integrator(OdeSystem(sparse)).integrate(0.0, [3.0, 4.0], 1.0, [0.0], absolute_tolerance=[1e-9, 1e-3])
    assert run.x_end.tolist() == [3.0, 4.0]
    assert run.status is Status.SUCCESS


def test_mx_system_with_work_memory(backend):
    # Matrix operations make the generated code use the integer and real work arrays.
    t, x, p = ca.MX.sym("t"), ca.MX.sym("x", 3), ca.MX.sym("p", 3, 1)
    M = ca.diag(p) + ca.mtimes(x, x.T)
    rate = ca.Function("rate", [t, x, p], [-ca.mtimes(M, x)])
    run = Integrator(OdeSystem(rate), "dopri5").integrate(0.0, [1.0, 2.0, 3.0], 1.0, [1.0, 2.0, 3.0])

    def reference_rate(t, x):
        return -(np.diag([1.0, 2.0, 3.0]) + np.outer(x, x)) @ x

    reference = solve_ivp(reference_rate, (0, 1), [1.0, 2.0, 3.0], method="DOP853", rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(run.x_end, reference.y[:, -1], atol=1e-9)


def test_integrator_can_be_sent_to_another_process():
    integrator = Integrator(system(PENDULUM, X[0] + 0.5), "dopri5", event_points=2)
    copy = pickle.loads(pickle.dumps(integrator))
    assert (copy.method, copy.event_points) == ("dopri5", 2)
    first, second = (i.integrate(0.0, [1.0, 0.0], 2.0, [9.81]) for i in (integrator, copy))
    assert first.t_end == second.t_end


def test_max_step_bounds_the_steps(backend):
    steady = system(ca.vertcat(1.0, 2.0), ca.sin(T + 0.1) + 0.95, p=NO_P)
    run = Integrator(steady).integrate(0.0, [0.0, 0.0], 100.0, max_step=1.0, first_step=5.0)
    assert run.event == 0
    assert run.t_end == pytest.approx(np.pi + np.arcsin(0.95) - 0.1, rel=1e-12)
    assert run.steps == 5


def test_parameters_as_number_and_repeated_use(backend):
    integrator = Integrator(system(PENDULUM))
    results = [integrator.integrate(0.0, [1.0, 0.0], 1.0, p).x_end for p in (9.81, [1.62], np.array([9.81]))]
    assert np.array_equal(results[0], results[2])
    assert not np.allclose(results[0], results[1])


def stopping(rate):
    """Return what slips with a rate of two velocities until it stops: at a speed of zero that has no direction."""
    return system(rate, ca.norm_2(X) - 1e-12, p=NO_P)


@pytest.mark.parametrize(
    ("rate", "rejected"),
    [
        (-(1.0 + 0.3 * ca.sin(5.0 * T)) * X / ca.norm_2(X), 9),
        (-X / ca.norm_2(X) - 0.5 * X, 9),
        (-X / ca.norm_2(X) + ca.vertcat(0.0, 0.4), 20),
    ],
    ids=["straight", "with drag", "turning"],
)
def test_a_slip_is_followed_to_its_end_without_stepping_over_it(rate, rejected, backend):
    run = Integrator(stopping(rate)).integrate(0.0, [1.0, 0.2], 3.0, relative_tolerance=1e-11)
    assert run.event == 0
    assert np.linalg.norm(run.x_end) < 2e-12
    assert run.rejected <= rejected, "steps over what is no smooth function of time are tried, one after the other"


def test_a_slip_with_drag_ends_when_its_closed_form_says():
    run = Integrator(stopping(-X / ca.norm_2(X) - 0.5 * X)).integrate(0.0, [1.0, 0.2], 3.0, relative_tolerance=1e-11)
    assert run.t_end == pytest.approx(2.0 * np.log(1.0 + 0.5 * np.hypot(1.0, 0.2)), abs=1e-11)


def test_samples_within_a_step_are_as_good_as_its_tolerance(backend):
    """Steps from slips that are about to turn: the step may be right to its tolerance and its dense output not."""
    pull = ca.SX.sym("p", 2)
    integrator = Integrator(system(pull - X / ca.norm_2(X), p=pull))
    random, worst = np.random.default_rng(0), 0.0
    for _ in range(200):
        values, angle, speed = random.uniform(-0.9, 0.9, 2), random.uniform(0.0, 6.0), 10 ** random.uniform(-2.0, 0.0)
        first, end = 3.0 * speed * 10 ** random.uniform(-3.0, -0.5), 0.5 * speed
        given = 0.0, speed * np.array([np.cos(angle), np.sin(angle)]), end, values
        how = {"sample_times": np.linspace(0.0, end, 41), "first_step": first}
        run = integrator.integrate(*given, relative_tolerance=1e-9, absolute_tolerance=1e-11, **how)
        true = integrator.integrate(*given, relative_tolerance=1e-13, absolute_tolerance=1e-15, **how).states
        worst = max(worst, np.max(np.abs(run.states - true) / (1e-9 * np.abs(true) + 1e-11)))
    assert worst < 20.0
