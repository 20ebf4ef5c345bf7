"""Contacts with pillars, hollows and any signed distance, several at once; against IPOPT's optimum."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from tests.control.pushes import pushed
from trundle.contact.soft import Wall
from trundle.contact.walls import ROUND, Formula
from trundle.numerics.compiled.compile import find_compiler
from trundle.numerics.ilqr import Limits
from trundle.systems.wallbounce.control.contact_implicit import ContactImplicit
from trundle.systems.wallbounce.robot import BallBalancer

ROBOT = BallBalancer()
PILLAR = Wall([0.5, 0, 0.8], [-1, 0, 0], 1 / 0.3, axis=[0, 0, 1])
HOLLOW = Wall([0.0, 0.5, 0.8], [0, -1, 0], -1 / 1.5)

pytestmark = [
    pytest.mark.skipif(find_compiler() is None, reason="minutes without a C compiler"),
    pytest.mark.slow,
]


def pressed(control, solution, p):
    """Largest normal force of a hand at each wall, (walls,)."""
    rows = [control.observe(solution.states[k], solution.inputs[k], p[k]) for k in range(control.stages)]
    distance, force = (np.array([np.array(row[i]).ravel() for row in rows]) for i in (0, 1))
    at = np.where(distance <= 0.005, force, 0.0)
    return np.max(at.reshape(control.stages, 2, control.walls), axis=(0, 1))


def ipopt(problem, x0, p, guess):
    """Cost of the optimum of the same stages by multiple shooting, from the guess."""
    N, nx, nu = problem.stages, problem.nx, problem.nu
    stage = ca.Function("stage", [problem.x, problem.u, problem.p], [problem.step, problem.stage.value()])
    end = ca.Function("end", [problem.x, problem.p], [problem.end.value()])
    X, U = ca.MX.sym("X", nx, N + 1), ca.MX.sym("U", nu, N)
    following, costs = stage.map(N)(X[:, :-1], U, ca.DM(p[:-1].T))
    total = ca.sum2(costs) + end(X[:, -1], ca.DM(p[-1]))
    z, gaps = ca.veccat(X, U), ca.vertcat(X[:, 0] - ca.DM(x0), ca.vec(following - X[:, 1:]))
    quiet = {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-7, "max_iter": 300}}
    solver = ca.nlpsol("reference", "ipopt", {"x": z, "f": total, "g": gaps}, quiet)
    start = np.concatenate([guess.states.ravel(), guess.inputs.ravel()])
    found = solver(x0=start, lbg=0, ubg=0)
    assert solver.stats()["success"]
    return float(found["f"])


@pytest.fixture(scope="module")
def control():
    return ContactImplicit(ROBOT, walls=2, surface=ROUND)


@pytest.mark.parametrize("walls", [[PILLAR], [PILLAR, HOLLOW]])
def test_the_optimum_is_that_of_ipopt(control, walls):
    p = control.parameters(ROBOT.rest(), walls)
    start = pushed(ROBOT, 22.0, 0.2, 0.6 if len(walls) == 2 else 0.15, 0.5)
    found = control.discover(start, p, control.still(start), Limits(60, tolerance=1e-9))
    assert found.gap <= 1e-9
    assert np.all(pressed(control, found, p)[: len(walls)] > 3.0)
    assert found.cost == pytest.approx(ipopt(control.problem, start, p, found.guess()), rel=1e-4)


def test_a_flat_wall_is_the_same_in_both_kinds(control):
    flat = ContactImplicit(ROBOT)
    wall = Wall([0.5, 0, 0.4], [-1, 0.1, 0.1])
    start = pushed(ROBOT, 20.0, 0.2, 0.2, 0.5)
    states = []
    for one in (flat, control):
        p = one.parameters(ROBOT.rest(), [wall])
        states.append(one.discover(start, p, one.still(start), Limits(60)).states)
    # not alike to the last digit: the second wall's place is taken by one far below, which is kept away from a little
    assert states[1][:, :5] == pytest.approx(states[0][:, :5], abs=5e-3)


def test_any_signed_distance():
    """A wavy wall: as a formula, its normal by differentiation."""
    wavy = Formula(lambda q: 0.5 + 0.04 * ca.sin(6 * q[1]) - q[0])
    control = ContactImplicit(ROBOT, surface=wavy)
    p = control.parameters(ROBOT.rest(), [Wall([0.5, 0, 0.8], [-1, 0.24, 0])])
    start = pushed(ROBOT, 20.0, 0.2, 0.2, 0.5)
    found = control.discover(start, p, control.still(start))
    assert np.all(pressed(control, found, p) > 10.0)
