"""The implicit midpoint rule: order, equations for inputs, mean costs, shares of durations, links."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from trundle.errors import InputError
from trundle.numerics.nlp.nlp import solve
from trundle.optimal import Condition, OptimalControlProblem, Phase
from trundle.optimal.transcription.transcription import MIDPOINT, NodeTrajectory, Transcription
from trundle.status import Status


def _pendulum(**further) -> Phase:
    """A pendulum by inverse dynamics: torque = angle'' + sin(angle)."""
    x, u = ca.SX.sym("x", 2), ca.SX.sym("u", 2)
    settings = {"duration": 1.0, "running": u[1] ** 2} | further
    return Phase(
        name="swing",
        x=x,
        u=u,
        rate=ca.vertcat(x[1], u[0]),
        residual=u[0] + ca.sin(x[0]) - u[1],
        start=[Condition("start", x, [0.1, 0.0], [0.1, 0.0])],
        end=[Condition("end", x, [1.0, 0.0], [1.0, 0.0])],
        **settings,
    )


def _solved(problem: OptimalControlProblem, N: int, method: str = MIDPOINT):
    made = Transcription(problem, [np.linspace(0, 1, N + 1)] * len(problem.phases), method)
    guess = [
        NodeTrajectory(np.array([0.0, sum(p.duration) / 2]), np.zeros((2, p.nx)), np.zeros((2, p.nu)))
        for p in problem.phases
    ]
    return made, solve(made.program, made.pack(guess), tolerance=1e-9)


def test_an_optimal_swing_converges_with_order_two():
    """Costs on grids of N, 2N and 4N intervals differ in the ratio 4."""
    costs = []
    for N in (20, 40, 80):
        _, solution = _solved(OptimalControlProblem([_pendulum()]), N)
        assert solution.status is Status.SUCCESS
        costs.append(solution.objective)
    assert (costs[0] - costs[1]) / (costs[1] - costs[2]) == pytest.approx(4.0, abs=0.3)


def test_the_equations_hold_at_the_middles():
    made, solution = _solved(OptimalControlProblem([_pendulum()]), 20)
    arc = made.unpack(solution.z)[0]
    middle, h = (arc.x[1:] + arc.x[:-1]) / 2, 1 / 20
    assert np.allclose(arc.x[1:] - arc.x[:-1], h * np.stack([middle[:, 1], arc.u[:, 0]], axis=1), atol=1e-9)
    assert np.allclose(arc.u[:, 1], arc.u[:, 0] + np.sin(middle[:, 0]), atol=1e-9)


def test_a_mean_cost_is_the_integral_over_the_time():
    """With a free duration an integral of 1 + u^2 takes its time; the mean of u^2 takes all there is."""
    mean = OptimalControlProblem([_pendulum(duration=(0.5, 3.0))], mean=True)
    made, solution = _solved(mean, 20)
    arc = made.unpack(solution.z)[0]
    h = arc.times[-1] / 20
    assert solution.objective == pytest.approx(float(np.sum(arc.u[:, 1] ** 2)) * h / arc.times[-1], rel=1e-8)


def test_a_fixed_duration_is_averaged_too():
    made, solution = _solved(OptimalControlProblem([_pendulum(duration=2.0)], mean=True), 20)
    arc = made.unpack(solution.z)[0]
    assert solution.objective == pytest.approx(float(np.mean(arc.u[:, 1] ** 2)), rel=1e-8)


def test_a_share_bounds_a_duration():
    x, u = ca.SX.sym("x", 1), ca.SX.sym("u", 1)
    going = {"x": x, "u": u, "rate": u, "running": u**2}
    phases = [
        Phase(name="first", duration=(0.1, 5.0), start=[Condition("start", x)], share=(0.3, 0.4), **going),
        Phase(name="second", duration=(0.1, 5.0), end=[Condition("end", x, 1.0, 1.0)], **going),
    ]
    made, solution = _solved(OptimalControlProblem(phases, mean=True), 4)
    first, second = (arc.times[-1] for arc in made.unpack(solution.z))
    assert 0.3 - 1e-6 <= first / (first + second) <= 0.4 + 1e-6


def test_conditions_at_ends_of_intervals_can_leave_out_the_last():
    x, u = ca.SX.sym("x", 1), ca.SX.sym("u", 1)
    clock = ca.SX.sym("clock")
    arch = Condition("arch", x - 4 * clock * (1 - clock) - 0.1, 0.0, np.inf, inner=True)
    phase = Phase(
        name="over", x=x, u=u, rate=u, duration=1.0, running=u**2, nodes=[arch], clock=clock,
        start=[Condition("start", x)], end=[Condition("end", x)],
    )  # fmt: skip
    made, solution = _solved(OptimalControlProblem([phase]), 10)
    assert solution.status is Status.SUCCESS
    tau, arc = np.linspace(0, 1, 11), made.unpack(solution.z)[0]
    assert np.all(arc.x[1:-1, 0] >= 4 * (tau * (1 - tau))[1:-1] + 0.1 - 1e-6)
    assert abs(arc.x[-1, 0]) < 1e-7


def test_phases_that_differ_in_bounds_share_their_functions():
    from dataclasses import replace

    phase = _pendulum()
    other = replace(phase, name="other", start=[], u_bounds=(-5.0, 5.0))
    made = Transcription(OptimalControlProblem([replace(phase, end=[]), other]), [np.linspace(0, 1, 5)] * 2, MIDPOINT)
    functions = [group.function for group in made.program.groups if group.function.name() == "interval"]
    assert functions[0] is functions[1]


@pytest.mark.parametrize("method", ["trapezoid", "hermite-simpson", "shooting"])
def test_other_methods_refuse_equations_for_inputs(method):
    with pytest.raises(InputError, match="midpoint"):
        Transcription(OptimalControlProblem([_pendulum()]), [np.linspace(0, 1, 5)], method)
