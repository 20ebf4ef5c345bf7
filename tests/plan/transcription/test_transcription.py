"""Transcription: closed-form optima, order of each method, free durations, path limits, linked phases."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from trundle.errors import InputError
from trundle.numerics.nlp.nlp import solve
from trundle.optimal import Condition, OptimalControlProblem, Phase, PhaseLinkage
from trundle.optimal.transcription.transcription import METHODS, NodeTrajectory, Transcription
from trundle.status import Status

ORDER = {"trapezoid": 2, "hermite-simpson": 4, "shooting": 4}


def integrator(duration, **more) -> Phase:
    """Double integrator from rest at 0 to rest at 1."""
    x, u = ca.SX.sym("x", 2), ca.SX.sym("u")
    return Phase(
        "move", x, u, ca.vertcat(x[1], u), duration,
        start=[Condition("start", x, [0, 0], [0, 0])], end=[Condition("goal", x, [1, 0], [1, 0])],
        **{key: value(x, u) if callable(value) else value for key, value in more.items()},
    )  # fmt: skip


def solved(problem: OptimalControlProblem, method: str, nodes: int, guess: list[NodeTrajectory], **options):
    made = Transcription(problem, [np.linspace(0, 1, nodes + 1)] * len(problem.phases), method)
    solution = solve(made.program, made.pack(guess), **options)
    return solution, made


def straight(length: float = 1.0) -> NodeTrajectory:
    return NodeTrajectory(np.array([0.0, length]), np.array([[0.0, 0.0], [1.0, 0.0]]), np.zeros((2, 1)))


def test_least_effort_of_the_double_integrator_is_twelve() -> None:
    problem = OptimalControlProblem([integrator(1.0, running=lambda x, u: u**2)])
    solution, made = solved(problem, "hermite-simpson", 8, [straight()])
    assert solution.status is Status.SUCCESS
    assert solution.objective == pytest.approx(12.0, rel=1e-12)
    (arc,) = made.unpack(solution.z)
    assert arc.x[:, 0] == pytest.approx(3 * arc.times**2 - 2 * arc.times**3, abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_bang_bang_takes_two_seconds(method: str) -> None:
    problem = OptimalControlProblem([integrator((0.5, 5.0), running=lambda x, u: ca.SX(1), u_bounds=(-1, 1))])
    solution, made = solved(problem, method, 40, [straight(3.0)])
    assert solution.status is Status.SUCCESS
    assert solution.objective == pytest.approx(2.0, abs=2e-3)
    assert made.unpack(solution.z)[0].times[-1] == pytest.approx(solution.objective, rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_order(method: str) -> None:
    """x' = (x_2, -sin x_1 + u): no freedom is left by u = 0, so the end error is that of the integration."""
    x, u = ca.SX.sym("x", 2), ca.SX.sym("u")
    phase = Phase(
        "swing", x, u, ca.vertcat(x[1], -ca.sin(x[0]) + u), 3.0,
        start=[Condition("start", x, [1.2, 0.3], [1.2, 0.3])], u_bounds=(0.0, 0.0),
    )  # fmt: skip
    ends = []
    for nodes in (20, 40, 320):
        guess = NodeTrajectory(np.array([0.0, 3.0]), np.array([[1.2, 0.3], [0.0, 0.0]]), np.zeros((2, 1)))
        solution, made = solved(OptimalControlProblem([phase]), method, nodes, [guess], tolerance=1e-11)
        ends.append(made.unpack(solution.z)[0].x[-1])
    errors = [np.linalg.norm(end - ends[-1]) for end in ends[:2]]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(ORDER[method], abs=0.15)


@pytest.mark.parametrize("method", METHODS)
def test_derivatives_are_those_of_differences(method: str) -> None:
    problem = OptimalControlProblem(
        [integrator((0.5, 2.0), running=lambda x, u: u**2 + ca.sin(x[0]), terminal=lambda x, u: x[0] ** 4,
                    path=lambda x, u: [Condition("speed", x[1] * u, -3, 3)])]
    )  # fmt: skip
    made = Transcription(problem, [np.linspace(0, 1, 4)], method)
    rng = np.random.default_rng(0)
    z, lam = rng.uniform(0.5, 1.0, made.size), rng.normal(size=made.program.rows)
    step = 1e-6 * np.eye(made.size)
    differences = np.array([(made.program.evaluate(z + h)[1] - made.program.evaluate(z - h)[1]) / 2e-6 for h in step]).T
    assert made.program.jacobian(z).toarray() == pytest.approx(differences, abs=1e-8)

    def slope(at: np.ndarray) -> np.ndarray:
        return made.program.gradient(at) + made.program.jacobian(at).T @ lam

    bends = np.array([(slope(z + h) - slope(z - h)) / 2e-6 for h in step])
    hessian = made.program.hessian(z, 1.0, lam).toarray()
    full = np.triu(hessian) + np.triu(hessian, 1).T
    assert full == pytest.approx(bends, abs=1e-7)


def test_a_speed_limit_is_kept_at_nodes_and_middles() -> None:
    problem = OptimalControlProblem(
        [integrator(1.0, running=lambda x, u: u**2, path=lambda x, u: [Condition("speed", x[1], -np.inf, 1.2)])]
    )
    solution, made = solved(problem, "hermite-simpson", 20, [straight()])
    assert solution.status is Status.SUCCESS
    assert solution.objective > 12.0
    assert np.max(made.unpack(solution.z)[0].x[:, 1]) <= 1.2 + 1e-7


def test_two_phases_are_one_motion() -> None:
    x, u = ca.SX.sym("x", 2), ca.SX.sym("u")
    rate, cost = ca.vertcat(x[1], u), u**2
    first = Phase("first", x, u, rate, 0.5, running=cost, start=[Condition("start", x, [0, 0], [0, 0])])
    second = Phase("second", x, u, rate, 0.5, running=cost, end=[Condition("goal", x, [1, 0], [1, 0])])
    solution, made = solved(
        OptimalControlProblem([first, second]), "hermite-simpson", 6, [straight(0.5), straight(0.5)]
    )
    assert solution.objective == pytest.approx(12.0, rel=1e-9)
    a, b = made.unpack(solution.z)
    assert a.x[-1] == pytest.approx(b.x[0], abs=1e-12)


def test_an_unreachable_goal_is_no_success() -> None:
    problem = OptimalControlProblem([integrator(1.0, running=lambda x, u: u**2, u_bounds=(-1, 1))])
    solution, _ = solved(problem, "hermite-simpson", 10, [straight()])
    assert solution.status is not Status.SUCCESS
    assert solution.constraint_violation > 0.01


@pytest.mark.parametrize("method", METHODS)
def test_conditions_at_the_end_may_hold_the_input_and_the_path_may_stop_before(method: str) -> None:
    """Least effort to rest at 1 with u(1) = 0 although u >= 1/2 on the way there."""
    x, u = ca.SX.sym("x", 2), ca.SX.sym("u")
    phase = Phase(
        "push", x, u, ca.vertcat(x[1], u), 1.0, path=[Condition("force", u, 0.5, np.inf)], running=u**2,
        start=[Condition("start", x, [0, 0], [0, 0])], end=[Condition("let go", u), Condition("place", x[0], 1, 1)],
        open_end=True,
    )  # fmt: skip
    solution, made = solved(OptimalControlProblem([phase]), method, 8, [straight()])
    assert solution.status is Status.SUCCESS
    arc = made.unpack(solution.z)[0]
    assert arc.u[-1, 0] == pytest.approx(0.0, abs=1e-8)
    assert np.min(arc.u[:-1, 0]) >= 0.5 - 1e-7


def test_meshes_are_checked() -> None:
    problem = OptimalControlProblem([integrator(1.0, running=lambda x, u: u**2)])
    for mesh in ([0.0, 0.5], [0.0, 1.0, 0.5, 1.0], [1.0], [0.1, 1.0]):
        with pytest.raises(InputError, match="mesh"):
            Transcription(problem, [np.array(mesh)], "trapezoid")
    with pytest.raises(InputError, match="meshes"):
        Transcription(problem, [], "trapezoid")
    with pytest.raises(InputError, match="method"):
        Transcription(problem, [np.linspace(0, 1, 3)], "euler")


def test_a_link_may_have_unknowns_of_its_own() -> None:
    """A ball falls 1 m and is thrown back to that height: the impulse at the ground is 2 sqrt(2 g)."""
    x, u, p = ca.SX.sym("x", 2), ca.SX.sym("u"), ca.SX.sym("p")
    before, after = ca.SX.sym("before", 2), ca.SX.sym("after", 2)
    phase = Phase("fly", x, u, ca.vertcat(x[1], -9.81), (0.1, 2.0), u_bounds=(0.0, 0.0))
    up, down = Condition("up", x, [1.0, 0.0], [1.0, 0.0]), Condition("down", x[0])
    phases = [replace(phase, start=[up], end=[down]), replace(phase, end=[up])]
    jump = Condition("jump", after - before - ca.vertcat(0, p))
    link = PhaseLinkage(0, 1, before, after, jump, p, (0.0, 100.0), p**2)
    arc = NodeTrajectory(np.array([0.0, 1.0]), np.array([[1.0, 0.0], [0.0, -1.0]]), np.zeros((1, 1)))
    solution, made = solved(OptimalControlProblem(phases, [link]), "midpoint", 3, [arc, arc])
    assert solution.status is Status.SUCCESS
    assert made.jumps(solution.z)[0] == pytest.approx([2 * np.sqrt(2 * 9.81)], rel=1e-9)
    assert solution.objective == pytest.approx(8 * 9.81, rel=1e-9)
    assert [arc.times[-1] for arc in made.unpack(solution.z)] == pytest.approx([np.sqrt(2 / 9.81)] * 2, rel=1e-9)
    with pytest.raises(InputError, match=r"jump\.p_bounds"):
        Transcription(
            OptimalControlProblem(phases, [replace(link, p_bounds=(1.0, 0.0))]), [np.linspace(0, 1, 3)] * 2, "midpoint"
        )
