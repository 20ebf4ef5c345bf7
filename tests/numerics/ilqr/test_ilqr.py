"""The real-time optimiser: against IPOPT, against a direct solution, against itself without a compiler."""

from __future__ import annotations

import dataclasses
import itertools
import math
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

from tests.cores import WAYS, choose
from tests.numerics.ilqr.recomputed import recompute
from trundle.errors import InputError
from trundle.numerics.ilqr import (
    ControlProblem,
    Cost,
    Guess,
    Limits,
    Optimiser,
    midpoint,
    relaxed_barrier,
)
from trundle.status import Status

H = 0.05


@pytest.fixture(params=WAYS)
def backend(request, cores, monkeypatch):
    return choose(request.param, cores, monkeypatch)


def pendulum(stages=40):
    """Swing-up with limited torque; p: angle wanted, its weight, weight of the torque."""
    x, u, p = ca.SX.sym("x", 2), ca.SX.sym("u"), ca.SX.sym("p", 3)
    step, jacobian = midpoint(ca.vertcat(x[1], -9.81 * ca.sin(x[0]) + u), x, u, H)
    stage = Cost(
        ca.vertcat(x[0] - p[0], x[1], u), ca.vertcat(p[1], 0.1, p[2]), ca.vertcat(6 - u, u + 6), mu=0.1, delta=0.1
    )
    end = Cost(ca.vertcat(x[0] - p[0], x[1]), [100.0, 10.0])
    return ControlProblem(x, u, p, step, stage, end, stages, jacobian)


PENDULUM = np.array([np.pi, 1.0, 0.01])


def linear(stages=12, seed=0):
    """Linear-quadratic problem with an unstable matrix and a linear term."""
    rng = np.random.default_rng(seed)
    x, u = ca.SX.sym("x", 5), ca.SX.sym("u", 2)
    A, B = np.eye(5) + 0.4 * rng.normal(size=(5, 5)), rng.normal(size=(5, 2))
    stage = Cost(ca.vertcat(x - 1, u + 0.3 * x[:2]), np.arange(1.0, 8.0), smooth=0.2 * x[3] * 1.0)
    return ControlProblem(x, u, ca.SX(0, 1), ca.DM(A) @ x + ca.DM(B) @ u, stage, Cost(x, 10.0), stages)


def ball(stages=25):
    """A ball on a tilting plate pushed round a disc by two accelerations of the plate's slope; nonlinear in both."""
    x, u, p = ca.SX.sym("x", 6), ca.SX.sym("u", 2), ca.SX.sym("p", 2)
    speed, slope = x[2:4], x[4:6]
    pull = 5 / 7 * (9.81 * ca.sin(slope) + x[:2] * u**2)
    step, jacobian = midpoint(ca.vertcat(speed, pull - 0.1 * speed * ca.norm_2(ca.vertcat(speed, 0.1)), u), x, u, 0.06)
    keep = ca.vertcat(ca.sumsqr(x[:2] - ca.DM([0.5, 0.45])) - 0.09, 0.3 - slope, slope + 0.3, 3 - u, u + 3)
    stage = Cost(ca.vertcat(x[:2] - p, speed, u), [4.0, 4.0, 0.3, 0.3, 0.05, 0.05], keep, mu=0.02, delta=0.02)
    end = Cost(ca.vertcat(x[:2] - p, speed, slope), [40.0, 40.0, 4.0, 4.0, 4.0, 4.0])
    return ControlProblem(x, u, p, step, stage, end, stages, jacobian)


def ipopt(problem, x0, parameters, inputs):
    """The optimum of the same problem by multiple shooting, with exact Hessians, from the given inputs."""
    N, nx, nu = problem.stages, problem.nx, problem.nu
    step = ca.Function("step", [problem.x, problem.u, problem.p], [problem.step, problem.stage.value()])
    end = ca.Function("end", [problem.x, problem.p], [problem.end.value()])
    X, U = ca.SX.sym("X", nx, N + 1), ca.SX.sym("U", nu, N)
    total, rows = ca.SX(0), [X[:, 0] - ca.DM(x0)]
    states = [np.asarray(x0, dtype=float)]
    for k in range(N):
        following, cost = step(X[:, k], U[:, k], parameters)
        total, rows = total + cost, [*rows, following - X[:, k + 1]]
        states.append(np.array(step(states[-1], inputs[k], parameters)[0]).ravel())
    total += end(X[:, N], parameters)
    nlp = {"x": ca.veccat(X, U), "f": total, "g": ca.vertcat(*rows)}
    quiet = {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-11}}
    solver = ca.nlpsol("ipopt_reference", "ipopt", nlp, quiet)
    answer = solver(x0=np.concatenate([np.ravel(states), np.ravel(inputs)]), lbg=0, ubg=0)
    assert solver.stats()["success"]
    return float(answer["f"]), np.array(answer["x"]).ravel()[nx * (N + 1) :].reshape(N, nu)


@pytest.mark.parametrize("h", [-0.3, 0.05, 0.1, 0.2, 3.0])
def test_relaxed_barrier_as_written(h):
    mu, delta = 0.7, 0.1
    formula = -mu * math.log(h) if h > delta else mu / 2 * (((h - 2 * delta) / delta) ** 2 - 1) - mu * math.log(delta)
    assert float(relaxed_barrier(ca.DM(h), mu, delta)) == pytest.approx(formula, rel=1e-14)


def test_relaxed_barrier_is_twice_continuously_differentiable():
    z = ca.SX.sym("z")
    cost = Cost(inequality=z, mu=0.7, delta=0.1)
    values = ca.Function("b", [z], [cost.value(), *cost.derivatives(z)])
    below, above = (np.array(values(0.1 + s)).ravel() for s in (-1e-9, 1e-9))
    assert below == pytest.approx(above, rel=1e-6)
    gradient, hessian = cost.derivatives(z)
    exact = ca.Function("e", [z], [ca.gradient(cost.value(), z) - gradient, ca.hessian(cost.value(), z)[0] - hessian])
    for h in (-0.4, 0.03, 0.3, 2.0):
        assert [float(v) for v in exact(h)] == pytest.approx([0.0, 0.0], abs=1e-9)


@pytest.mark.parametrize("h", [-0.3, 0.05, 0.1, 0.2, 0.399, 0.4, 3.0])
def test_barrier_with_a_range_as_written(h):
    mu, delta, r = 0.7, 0.1, 0.4
    rest = mu * (math.log(r) + 2 * h / r - h**2 / (2 * r**2) - 1.5)
    expected = float(relaxed_barrier(ca.DM(h), mu, delta)) + rest if h < r else 0.0
    assert float(relaxed_barrier(ca.DM(h), mu, delta, 1 / r)) == pytest.approx(expected, abs=1e-14)
    assert float(relaxed_barrier(ca.DM(h), mu, delta, 0.0)) == float(relaxed_barrier(ca.DM(h), mu, delta))


def test_barrier_with_a_range_is_felt_within_it_only_and_smoothly():
    z, r = ca.SX.sym("z"), 0.4
    cost = Cost(inequality=z, mu=0.7, delta=0.1, fade=1 / r)
    value, slopes = ca.Function("b", [z], [cost.value()]), ca.Function("s", [z], list(cost.derivatives(z)))
    eps = 1e-5
    for h in (-0.4, 0.03, 0.12, 0.3, 0.39, 0.5):
        below, here, above = (float(value(h + d)) for d in (-eps, 0.0, eps))
        gradient, hessian = (float(v) for v in slopes(h))
        assert gradient == pytest.approx((above - below) / (2 * eps), rel=1e-7, abs=1e-8)
        assert hessian == pytest.approx((above - 2 * here + below) / eps**2, abs=1e-4, rel=1e-5)
        if 0.1 < h < r:
            assert gradient == pytest.approx(-0.7 / h * (1 - h / r) ** 2, rel=1e-12)
    for edge in (0.1, r):
        left, right = (np.array([float(v) for v in slopes(edge + d)]) for d in (-1e-9, 1e-9))
        assert left == pytest.approx(right, abs=1e-5)
    assert [float(v) for v in (value(r), *slopes(r), value(2.0), *slopes(2.0))] == [0.0] * 6


@pytest.mark.parametrize("made", [pendulum, ball, linear])
def test_derivatives_of_the_stages_are_those_of_differences(made):
    problem, rng = made(), np.random.default_rng(1)
    step, slope = problem.functions["step"], problem.functions["slope"]
    nx = problem.nx
    z, p = 0.1 * rng.normal(size=nx + problem.nu), rng.uniform(0.5, 1.0, problem.n_p)

    def at(z):
        return np.concatenate([np.array(v).ravel() for v in step(z[:nx], z[nx:], p)])

    eps = 1e-6
    moved = np.array([(at(z + eps * e) - at(z - eps * e)) / (2 * eps) for e in np.eye(z.size)])
    jacobian, gradient, hessian = (np.array(v) for v in slope(z[:nx], z[nx:], p))
    assert jacobian == pytest.approx(moved[:, :nx], abs=1e-7)
    assert gradient.ravel() == pytest.approx(moved[:, nx], abs=1e-6)
    assert np.min(np.linalg.eigvalsh(hessian)) > -1e-10


def test_hessian_of_linear_residuals_is_exact():
    x, u = ca.SX.sym("x", 2), ca.SX.sym("u", 1)
    z = ca.vertcat(x, u)
    cost = Cost(ca.vertcat(x[0] - 2 * u, x[1]), [2.0, 3.0], ca.vertcat(x[0] + u), mu=0.2, delta=0.05, smooth=ca.cos(u))
    _, hessian = cost.derivatives(z)
    error = ca.Function("e", [z], [ca.hessian(cost.value(), z)[0] - hessian])
    for point in ([0.3, 0.2, 0.4], [0.01, 1.0, 0.01]):
        assert np.array(error(point)) == pytest.approx(np.zeros((3, 3)), abs=1e-10)


def test_a_linear_quadratic_problem_takes_one_step(backend):
    problem = linear()
    optimiser = Optimiser(problem)
    assert optimiser.backend == ("numpy" if backend == "neither" else "c")
    x0 = np.array([1.0, -1.0, 0.5, 0.0, 2.0])
    solution = optimiser.solve(x0, [], Guess(np.zeros((12, 2))))
    assert solution.status is Status.SUCCESS
    assert solution.iterations == 1
    cost, inputs = ipopt(problem, x0, [], np.zeros((12, 2)))
    assert solution.cost == pytest.approx(cost, rel=1e-9)
    assert solution.inputs == pytest.approx(inputs, abs=1e-6)
    # what the step promises is all there is to gain
    begun = optimiser.solve(x0, [], Guess(np.zeros((12, 2))), Limits(iterations=0))
    assert begun.decrease == pytest.approx(begun.cost - cost, rel=1e-8)
    # the gains hold for another start, without an iteration
    other = optimiser.solve(x0 + 0.1, [], solution.guess(), Limits(iterations=0))
    assert other.decrease == pytest.approx(0.0, abs=1e-9 * other.cost)


@pytest.mark.parametrize(
    ("made", "x0", "p"),
    [
        (pendulum, [0.0, 0.0], PENDULUM),
        (pendulum, [2.5, -1.0], np.array([np.pi, 3.0, 0.1])),
        (ball, [0.0] * 6, np.array([1.0, 0.8])),
        (ball, [0.3, 0.0, 0.0, 0.6, 0.0, 0.1], np.array([-0.5, 0.2])),
    ],
)
def test_the_optimum_is_that_of_ipopt(backend, made, x0, p):
    problem = made()
    optimiser = Optimiser(problem)
    solution = optimiser.solve(x0, p, Guess(np.zeros((problem.stages, problem.nu))), Limits(300, tolerance=1e-12))
    assert solution.status is Status.SUCCESS
    cost, inputs = ipopt(problem, x0, p, solution.inputs + 1e-3)
    assert solution.cost == pytest.approx(cost, rel=1e-6)
    assert solution.inputs == pytest.approx(inputs, abs=1e-3)
    again = recompute(problem, solution, x0, p)
    assert again.cost == pytest.approx(solution.cost, rel=1e-12)
    assert again.gap <= 1e-12
    assert again.gradient == pytest.approx(solution.gradient, rel=1e-3, abs=1e-9)


def curved(stages=25):
    """The ball with a part of its cost that is no sum of squares, and without its step's chain rule."""
    problem = ball(stages)
    stage = dataclasses.replace(problem.stage, smooth=0.1 * ca.cosh(problem.x[0] - problem.u[1]))
    return dataclasses.replace(problem, stage=stage, step_jacobian=None)


def multiplied_out(stages=25):
    """The ball with the Jacobian of its step as one matrix."""
    problem = ball(stages)
    return dataclasses.replace(problem, step_jacobian=problem.step_jacobian.whole())


@pytest.mark.parametrize("made", [ball, curved, multiplied_out])
def test_backends_take_the_same_path(monkeypatch, cores, made):
    x0, p, guess = np.zeros(6), np.array([1.0, 0.8]), Guess(np.zeros((25, 2)), np.zeros((26, 6)))
    optimisers = {choose(way, cores, monkeypatch): Optimiser(made()) for way in WAYS}
    assert [one.backend for one in optimisers.values()] == ["c", "c", "numpy"]
    for count in (1, 3, 8):
        found = [one.solve(x0, p, guess, Limits(count)) for one in optimisers.values()]
        assert {one.status for one in found} == {Status.ITERATION_LIMIT}
        for name in ("states", "inputs", "gains", "cost", "decrease", "gradient"):
            first, *others = (getattr(one, name) for one in found)
            assert all(first == pytest.approx(other, rel=1e-8, abs=1e-9) for other in others)


def test_gaps_of_a_guess_are_closed(backend):
    """An inverted pendulum whose open roll-out runs away: the states of the guess hold it."""
    x, u = ca.SX.sym("x", 2), ca.SX.sym("u")
    step, jacobian = midpoint(ca.vertcat(x[1], 400 * ca.sinh(x[0]) + u), x, u, 0.05)
    problem = ControlProblem(x, u, ca.SX(0, 1), step, Cost(ca.vertcat(x, u), [1, 1, 1e-4]), Cost(x, 10.0), 40, jacobian)
    optimiser = Optimiser(problem)
    x0, inputs = [0.02, 0.0], np.zeros((40, 1))
    assert optimiser.solve(x0, [], Guess(inputs)).status is Status.NOT_FINITE
    solution = optimiser.solve(x0, [], Guess(inputs, np.zeros((41, 2))))
    assert solution.status is Status.SUCCESS
    assert solution.gap <= 1e-10
    # gains that do not hold, with states: the states are used
    bad = Guess(inputs, np.zeros((41, 2)), np.full((40, 1, 2), 1e3))
    assert optimiser.solve(x0, [], bad).cost == pytest.approx(solution.cost, rel=1e-8)


def test_a_cost_that_is_not_convex(backend):
    x, u = ca.SX.sym("x"), ca.SX.sym("u")
    stage = Cost(smooth=0.1 * (ca.cos(3 * u) + 0.1 * u**4 + 0.5 * ca.sin(2 * x) * u))
    problem = ControlProblem(x, u, ca.SX(0, 1), x + 0.1 * u, stage, Cost(x - 1, 5.0), 15)
    solution = Optimiser(problem).solve([0.0], [], Guess(np.full((15, 1), 0.1)))
    assert solution.status is Status.SUCCESS
    assert recompute(problem, solution, [0.0], []).gradient <= 1e-4


def test_parameters_change_without_another_compilation(backend):
    optimiser = Optimiser(pendulum())
    guess = Guess(np.zeros((40, 1)))
    wanted = [optimiser.solve([0, 0], [angle, 30.0, 0.01], guess).states[-1, 0] for angle in (-0.4, 0.0, 0.4)]
    assert wanted == pytest.approx([-0.4, 0.0, 0.4], abs=0.06)
    each = np.tile([0.4, 30.0, 0.01], (41, 1))
    each[20:, 0] = -0.4
    states = optimiser.solve([0, 0], each, guess).states
    assert states[15, 0] > 0.05
    assert states[-1, 0] < -0.3


def test_a_warm_start_is_a_shorter_way(backend):
    optimiser = Optimiser(pendulum())
    first = optimiser.solve([0, 0], PENDULUM, Guess(np.zeros((40, 1))))
    measured = first.states[1] + [0.01, -0.02]
    warm = optimiser.solve(measured, PENDULUM, first.guess(1))
    assert warm.status is Status.SUCCESS
    assert warm.iterations < first.iterations
    assert np.max(np.abs(warm.states[0] - measured)) == 0.0


def test_shifting_a_guess_is_linear_and_holds_the_end():
    guess = Guess(np.arange(4.0)[:, None], np.arange(5.0)[:, None], np.arange(4.0)[:, None, None])
    moved = guess.shifted(1.25)
    assert moved.inputs.ravel() == pytest.approx([1.25, 2.25, 3.0, 3.0])
    assert moved.states.ravel() == pytest.approx([1.25, 2.25, 3.25, 4.0, 4.0])
    assert moved.gains.ravel() == pytest.approx([1.25, 2.25, 3.0, 3.0])


def test_limits_are_kept_and_named(backend):
    optimiser, guess = Optimiser(pendulum()), Guess(np.zeros((40, 1)))
    short = optimiser.solve([0, 0], PENDULUM, guess, Limits(iterations=3))
    assert (short.status, short.iterations) == (Status.ITERATION_LIMIT, 3)
    late = optimiser.solve([0, 0], PENDULUM, guess, Limits(seconds=1e-9))
    assert (late.status, late.iterations) == (Status.TIME_LIMIT, 0)
    assert late.cost > short.cost
    assert math.isnan(late.decrease)


def test_no_iteration_begins_that_would_end_late(monkeypatch):
    """The clock ticks at each look: an iteration takes a second, and another passes before the next one."""
    clock = itertools.count(1000.0)
    monkeypatch.setattr("trundle.numerics.ilqr.ilqr.time", SimpleNamespace(perf_counter=lambda: next(clock)))
    late = Optimiser(pendulum()).solve([0, 0], PENDULUM, Guess(np.zeros((40, 1))), Limits(seconds=4.0))
    assert (late.status, late.iterations) == (Status.TIME_LIMIT, 2)
    assert late.seconds == 6.0


def jump():
    """One input, of which the cost (u - 1)^2 / 2 is p_0^2 / 2 higher beyond p_1, and a state that stays."""
    x, u, p = ca.SX.sym("x"), ca.SX.sym("u"), ca.SX.sym("p", 2)
    return ControlProblem(x, u, p, x, Cost(ca.vertcat(u - 1, p[0] * ca.ceil(u - p[1]))), Cost(x, 0.0), 1)


def test_where_no_step_lowers_the_cost_the_guess_is_left_and_it_is_said(backend):
    solution = Optimiser(jump()).solve([0.0], [1.2, 0.0], Guess(np.zeros((1, 1))))
    assert solution.status is Status.NOT_CONVERGED
    assert solution.inputs.tolist() == [[0.0]]


def test_a_short_step_is_taken_for_a_fall_in_proportion(backend):
    """Of the halves of 1 the first below 1/200 is 1/256."""
    solution = Optimiser(jump()).solve([0.0], [10.0, 1 / 200], Guess(np.zeros((1, 1))), Limits(iterations=1))
    assert solution.inputs.tolist() == [[1 / 256]]


def test_a_gap_is_closed_where_there_is_nothing_to_gain(backend):
    solution = Optimiser(jump()).solve([0.0], [0.0, 0.0], Guess(np.ones((1, 1)), np.array([[0.0], [1.0]])))
    assert (solution.status, solution.gap) == (Status.SUCCESS, 0.0)
    assert solution.states.tolist() == [[0.0], [0.0]]


@pytest.mark.parametrize(("x0", "p"), [([np.nan, 0], PENDULUM), ([0, 0], [np.nan, 1, 1]), ([0, np.inf], PENDULUM)])
def test_nan_comes_back_as_a_status(backend, x0, p):
    guess = Guess(np.ones((40, 1)), np.ones((41, 2)), np.ones((40, 1, 2)))
    solution = Optimiser(pendulum()).solve(x0, p, guess)
    assert solution.status is Status.NOT_FINITE
    assert np.all(solution.states == 1.0)
    assert np.all(solution.inputs == 1.0)
    assert math.isnan(solution.cost)


def test_a_rate_that_breaks_down_is_named(backend):
    x, u = ca.SX.sym("x"), ca.SX.sym("u")
    stage = Cost(ca.vertcat(ca.sqrt(x), u))
    problem = ControlProblem(x, u, ca.SX(0, 1), x - 0.2 + u, stage, Cost(x), 10)
    assert Optimiser(problem).solve([1.0], [], Guess(np.zeros((10, 1)))).status is Status.NOT_FINITE


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"x0": [0.0]}, "x0"),
        ({"parameters": np.zeros((3, 3))}, "parameters"),
        ({"guess": Guess(np.zeros((39, 1)))}, "guess.inputs"),
        ({"guess": Guess(np.zeros((40, 1)), np.zeros((40, 2)))}, "guess.states"),
        ({"guess": Guess(np.zeros((40, 1)), None, np.zeros((40, 2, 1)))}, "guess.gains"),
    ],
)
def test_wrong_shapes_are_named(change, key):
    given = {"x0": [0.0, 0.0], "parameters": PENDULUM, "guess": Guess(np.zeros((40, 1)))} | change
    with pytest.raises(InputError, match=key):
        Optimiser(pendulum()).solve(**given)


def test_a_problem_is_checked():
    problem, stray = pendulum(), ca.SX.sym("stray")
    for change, key in (
        ({"stages": 0}, "stages"),
        ({"step": problem.x[0]}, "step"),
        ({"step": problem.x + stray}, "step"),
        ({"end": Cost(problem.u)}, "end"),
        ({"step_jacobian": ca.SX(2, 2)}, "step_jacobian"),
    ):
        with pytest.raises(InputError, match=key):
            dataclasses.replace(problem, **change)
    with pytest.raises(InputError, match="weights"):
        Cost(problem.x, [1.0, 2.0, 3.0])
    for change in ({"iterations": -1}, {"seconds": 0.0}, {"tolerance": -1.0}, {"seconds": math.nan}):
        with pytest.raises(InputError):
            Limits(**change)


def test_stages_about_any_motion(backend):
    """Gaps, cost and derivatives about states that no dynamics ties together, against the stages' own functions."""
    problem, rng = ball(4), np.random.default_rng(5)
    x, u, p = 0.1 * rng.normal(size=(5, 6)), 0.1 * rng.normal(size=(4, 2)), rng.uniform(0.5, 1.0, (5, 2))
    optimiser = Optimiser(problem)
    found = optimiser.linearise(x, u, p)
    total = float(problem.functions["end"](x[4], p[4]))
    for k in range(4):
        following, cost = problem.functions["step"](x[k], u[k], p[k])
        jacobian, gradient, hessian = (np.array(v) for v in problem.functions["slope"](x[k], u[k], p[k]))
        total += float(cost)
        assert found.gap[k] == pytest.approx(np.array(following).ravel() - x[k + 1], abs=1e-14)
        assert found.M[k] == pytest.approx(jacobian.T, abs=1e-13)
        assert found.g[k] == pytest.approx(gradient.ravel(), abs=1e-12)
        assert found.H[k] == pytest.approx(hessian, abs=1e-11)
    assert found.cost == pytest.approx(total, rel=1e-13)
    lost = optimiser.linearise(np.full((5, 6), np.nan), u, p)
    assert np.isnan(lost.cost)
    assert np.isnan(lost.gap).all()
    with pytest.raises(InputError, match="inputs"):
        optimiser.linearise(x, u[:3], p)


@pytest.mark.parametrize("power", [-12, -9, -6, 6, 12])
def test_the_unit_of_the_cost_does_not_matter(backend, power):
    """At 1e-9 the guess itself passed for the optimum."""

    def problem(unit):
        x, u = ca.SX.sym("x", 2), ca.SX.sym("u")
        stage = Cost(ca.vertcat(x, u), unit * np.array([1.0, 0.1, 0.01]))
        step = ca.vertcat(x[0] + 0.1 * x[1], x[1] + 0.1 * (u - ca.sin(x[0])))
        return ControlProblem(x, u, ca.SX(0, 1), step, stage, Cost(x, 10.0 * unit), 20)

    guess = Guess(np.full((20, 1), 0.5))
    found, wanted = (Optimiser(problem(unit)).solve([1.0, 0.0], [], guess) for unit in (10.0**power, 1.0))
    assert found.status is wanted.status is Status.SUCCESS
    np.testing.assert_allclose(found.inputs, wanted.inputs, atol=1e-3)
