"""A phase as stages: the same optimum as its transcription."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from trundle.errors import InputError
from trundle.numerics.ilqr import Cost, Guess, Limits, Optimiser
from trundle.optimal import Condition, Phase, control_problem
from trundle.status import Status

X, U = ca.SX.sym("x", 2), ca.SX.sym("u")


def move(**more):
    end = [Condition("goal", X, [1, 0], [1, 0])]
    return Phase("move", X, U, ca.vertcat(X[1], U), 1.0, end=end, **more)


def solved(problem, **more):
    solution = Optimiser(problem).solve([0, 0], [], Guess(np.zeros((problem.stages, 1))), Limits(200), **more)
    assert solution.status is Status.SUCCESS
    return solution


def test_least_effort_of_the_double_integrator_is_twelve():
    solution = solved(control_problem(move(running=U**2), 100, equation_weight=1e6))
    assert solution.cost == pytest.approx(12.0, rel=1e-3)
    assert solution.states[-1] == pytest.approx([1, 0], abs=1e-4)


def test_bounds_and_conditions_are_kept():
    speed = [Condition("speed", X[1], -np.inf, 1.3)]
    problem = control_problem(move(running=U**2, path=speed, u_bounds=(-9, 7)), 50, mu=1e-3, delta=1e-3)
    solution = solved(problem)
    assert np.max(solution.states[:, 1]) <= 1.3
    assert np.max(solution.states[:, 1]) >= 1.2
    assert np.all(solution.inputs <= 7.0)
    assert np.all(solution.inputs >= -9.0)


def test_a_reference_is_a_parameter():
    p = ca.SX.sym("p")
    phase = Phase("follow", X, U, ca.vertcat(X[1], U), 2.0)
    cost = Cost(ca.vertcat(X[0] - p, X[1], U), [10.0, 0.1, 1e-3])
    problem = control_problem(phase, 40, p=p, stage=cost, end=Cost(X[0] - p, 10.0))
    optimiser = Optimiser(problem)
    for wanted in (0.5, -2.0):
        solution = optimiser.solve([0, 0], [wanted], Guess(np.zeros((40, 1))))
        assert solution.states[-1, 0] == pytest.approx(wanted, rel=0.02)


def test_a_free_duration_is_refused():
    with pytest.raises(InputError, match="duration"):
        control_problem(Phase("go", X, U, ca.vertcat(X[1], U), (1.0, 2.0)), 10)
