"""Multiple shooting whose equations fix accelerations and forces."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from trundle.errors import InputError
from trundle.numerics.nlp.nlp import solve
from trundle.optimal import Condition, OptimalControlProblem, Phase
from trundle.optimal.transcription.transcription import CONSTRAINED, NodeTrajectory, Transcription
from trundle.systems.walking.gait.gait import Gait
from trundle.systems.walking.gait.walking import Walking
from trundle.systems.walking.plan.shooting import eliminate_forces, shoot
from trundle.systems.walking.plan.walking import crude_guess, plan_walk
from trundle.systems.walking.robots.avatar import build_avatar


@pytest.mark.parametrize("N", [3, 10])
def test_a_body_pushed_from_rest_to_rest_costs_what_constant_pushes_must(N):
    """Least sum of h u^2 over 1 s and 1 m: 12 / (1 - 1/N^2), by Lagrange multipliers; the mass cancels."""
    x, u, a = ca.SX.sym("x", 2), ca.SX.sym("u"), ca.SX.sym("a")
    phase = Phase(
        name="push",
        x=x,
        u=u,
        implied=a,
        rate=ca.vertcat(x[1], a),
        residual=(2 + ca.cos(3 * x[0])) * (a - u),
        duration=1.0,
        running=a**2,
        start=[Condition("rest", x)],
        end=[Condition("there", x, [1.0, 0.0], [1.0, 0.0])],
    )
    made = Transcription(OptimalControlProblem([phase]), [np.linspace(0, 1, N + 1)], CONSTRAINED)
    found = solve(made.program, made.pack([NodeTrajectory(np.array([0.0, 1.0]), np.zeros((2, 2)), np.zeros((2, 1)))]))
    assert found.objective == pytest.approx(12 / (1 - 1 / N**2), rel=1e-9)
    assert found.iterations <= 2  # exact derivatives of a linear-quadratic problem


def test_a_step_of_a_walk_keeps_its_foot_and_obeys_the_equations_of_motion():
    """One short interval against the Karush-Kuhn-Tucker system of the constrained dynamics, solved by numpy."""
    walking = Walking(build_avatar(), Gait(intervals=(2, 2)))
    phase = eliminate_forces(walking).phases[1]
    rng, n = np.random.default_rng(3), walking.n
    x = crude_guess(walking)[1].x[0] + 0.05 * rng.normal(size=2 * n)
    tau = rng.normal(scale=0.3, size=n - 6)
    y = ca.rootfinder("y", "newton", {"x": phase.implied, "p": ca.vertcat(phase.x, phase.u), "g": phase.residual})
    found = np.array(y(x0=0.0, p=np.concatenate([x, tau]))["x"]).ravel()
    speeds = ca.vertcat(*(walking.stances[stance].velocities[0] for stance in walking.supports[1].stances.items()))
    J_of = ca.Function("J", [phase.x], [ca.jacobian(speeds, walking.nu), speeds])
    empty = ca.SX(0, 1)
    a = ca.SX.sym("a", n)
    dynamics = walking.model.inverse_dynamics([], a, empty)
    M_of = ca.Function("M", [phase.x], [ca.jacobian(dynamics, a), ca.substitute(dynamics, a, ca.SX.zeros(n))])
    M, bias = (np.array(v) for v in M_of(x))
    J = np.array(J_of(x)[0])
    h, coasting = 1e-6, np.concatenate([x[n:], np.zeros(n)])
    gamma = np.array(J_of(x + h * coasting)[1] - J_of(x - h * coasting)[1]) / (2 * h)
    push = np.concatenate([np.zeros(6), tau * walking.references])[:, None]
    K = np.block([[M, -J.T], [J, np.zeros((len(J), len(J)))]])
    expected = np.linalg.solve(K, np.vstack([push - bias, -gamma])).ravel()
    expected[n:] /= walking.weight
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_a_walk_by_shooting_costs_nearly_what_it_does_by_midpoints():
    """Both are of second order; only one keeps feet at rest at its nodes."""
    walking = Walking(build_avatar(), Gait(intervals=(24, 10)))
    plan = plan_walk(walking.gait, walking=walking)
    found, arcs = shoot(walking, plan)
    assert found.status.label == "success"
    assert found.objective == pytest.approx(plan.statistics["cost"], rel=0.005)
    assert sum(arc.times[-1] for arc in arcs) == pytest.approx(plan.duration, rel=0.005)


@pytest.mark.parametrize(("name", "settings"), [("sole", {"sole": "flat"}), ("impacts", {"impacts": True})])
def test_what_the_constrained_dynamics_do_not_cover_is_refused(name, settings):
    with pytest.raises(InputError, match=name):
        eliminate_forces(Walking(build_avatar(), Gait(**settings)))


def test_other_methods_refuse_implied_symbols():
    x, a = ca.SX.sym("x"), ca.SX.sym("a")
    phase = Phase(name="p", x=x, u=ca.SX(0, 1), implied=a, rate=a, residual=a - x, duration=1.0)
    with pytest.raises(InputError, match="method"):
        Transcription(OptimalControlProblem([phase]), [np.array([0.0, 1.0])], "midpoint")
