"""Contact-implicit control: contacts are found, of walls of any orientation; laws, limits and NaN."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import numpy as np
import pytest

from tests.control.pushes import pushed, random_pushes
from tests.numerics.ilqr.recomputed import recompute
from trundle.contact.soft import SoftLaw, Wall
from trundle.errors import InputError
from trundle.numerics.compiled.compile import find_compiler
from trundle.numerics.ilqr import Limits
from trundle.status import Status
from trundle.systems.wallbounce.control.contact_implicit import BalancerWeights, ContactImplicit, KeepOutDisc
from trundle.systems.wallbounce.control.plans import ImplicitPlanner, falls, has_settled
from trundle.systems.wallbounce.robot import BallBalancer

ROBOT = BallBalancer()
WALL = Wall([0.5, 0, 0], [-1, 0, 0])
STRONG = pushed(ROBOT, 25.0, 0.25, 0.2, 0.5)

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="minutes without a C compiler")


@pytest.fixture(scope="module")
def control():
    return ContactImplicit(ROBOT)


def seen(control, solution, p):
    """Distances, normal forces (stages x hands and walls), forces (stages, 3, 2) and the floor's (stages, 3)."""
    rows = [control.observe(solution.states[k], solution.inputs[k], p[k]) for k in range(control.stages)]
    return [np.array([np.array(row[i]).squeeze() for row in rows]) for i in range(4)]


def pressed(control, solution, p):
    """Largest planned normal force of a hand that is at the wall."""
    distance, force, *_ = seen(control, solution, p)
    return float(np.max(np.where(distance <= 0.005, force, 0.0)))


def test_contact_is_found_without_a_hint(control):
    """From a guess at rest, all inputs zero, in at least 19 of 20 pushes."""
    p = control.parameters(ROBOT.rest(), [WALL])
    found = 0
    for start in random_pushes(ROBOT, 20):
        solution = control.discover(start, p, control.still(start))
        found += pressed(control, solution, p) > 10.0
    assert found >= 19


@pytest.mark.parametrize("seed", [0, 1])
def test_homotopy_reaches_the_optimum_of_a_guess_with_contact(control, seed):
    """Within 1 %, with the iterations of an event."""
    planner, p = ImplicitPlanner(control, SoftLaw()), control.parameters(ROBOT.rest(), [WALL])
    reference, apart = np.tile(ROBOT.rest(), (control.stages + 1, 1)), [np.nan, np.nan]
    for start in random_pushes(ROBOT, 20, seed):
        found, truths = planner.plan(0.0, start, reference, [WALL], (), None, True, apart).solution, []
        for guess in (control.still(start), control.balancing(ROBOT.rest(), BalancerWeights())):
            hand = np.array(guess.states)
            hand[:, 5:11] = np.tile([0.2, 1.2, 0.4], 2)
            truths.append(control.solve(start, p, replace(guess, states=hand), Limits(200, tolerance=1e-5)))
        assert found.iterations <= 60
        assert not falls(found)
        assert found.gap <= 1e-9
        assert pressed(control, found, p) > 10.0
        assert found.cost <= 1.01 * min(truth.cost for truth in truths)


def test_round_off_does_not_decide_what_an_event_finds(control):
    """A push whose homotopy from balancing ends anywhere, from 1.04 to 700 times the least cost."""
    planner, start = ImplicitPlanner(control, SoftLaw()), random_pushes(ROBOT, 1, 1)[0]
    reference, apart = np.tile(ROBOT.rest(), (control.stages + 1, 1)), [np.nan, np.nan]
    rng = np.random.default_rng(0)
    costs = []
    for size in (0.0, *[1e-14] * 5):
        measured = start * (1.0 + size * rng.standard_normal(16))
        solution = planner.plan(0.0, measured, reference, [WALL], (), None, True, apart).solution
        assert has_settled(solution)
        costs.append(solution.cost)
    assert costs == pytest.approx([costs[0]] * 6, rel=1e-3)


def test_a_wall_out_of_reach_is_left_alone(control):
    p = control.parameters(ROBOT.rest(), [Wall([3.0, 0, 0], [-1, 0, 0])])
    start = pushed(ROBOT, 8.0, 0.2, 0.0, 0.45)
    solution = control.discover(start, p, control.still(start))
    assert np.max(seen(control, solution, p)[1]) < 0.1
    assert np.all(np.isfinite(solution.states))


def test_the_plan_keeps_its_limits(control):
    p = control.parameters(ROBOT.rest(), [WALL])
    solution = control.discover(STRONG, p, control.still(STRONG), Limits(60))
    u = solution.inputs
    assert np.max(np.abs(u[:, :2])) <= 1.03 * ROBOT.drive_limit
    assert np.max(np.abs(u[:, 3:9])) <= 1.03 * ROBOT.joint_rate_limit
    assert np.max(np.linalg.norm(u[:, 9:11], axis=1)) <= 1.03 * ROBOT.hand_friction
    floor = seen(control, solution, p)[3]
    assert np.all(floor[:, 2] > control.least_normal)
    assert np.all(np.linalg.norm(floor[:, :2], axis=1) <= ROBOT.floor_friction * floor[:, 2])
    assert np.min(0.5 - solution.states[:, 0]) > 0.106


def test_what_it_ends_with_holds_when_recomputed(control):
    p = control.parameters(ROBOT.rest(), [WALL])
    solution = control.solve(STRONG, p, control.still(STRONG), Limits(300, tolerance=1e-10))
    assert solution.status is Status.SUCCESS
    again = recompute(control.problem, solution, STRONG, p)
    assert again.cost == pytest.approx(solution.cost, rel=1e-10)
    assert again.gap <= 1e-9
    assert again.gradient == pytest.approx(solution.gradient, rel=0.05, abs=1e-3)


@pytest.mark.parametrize("tilt", [-20.0, 20.0])
def test_tilted_walls(control, tilt):
    a = np.deg2rad(tilt)
    wall = Wall([0.55, 0, 0.85], [-np.cos(a), 0, np.sin(a)])
    p = control.parameters(ROBOT.rest(), [wall])
    start = pushed(ROBOT, 20.0, 0.2, 0.2, 0.5)
    solution = control.discover(start, p, control.still(start), Limits(60))
    assert pressed(control, solution, p) > 10.0
    forces = seen(control, solution, p)[2]
    inside = np.linalg.norm(
        forces - np.einsum("kij,i->kj", forces, wall.normal)[:, None, :] * wall.normal[:, None], axis=1
    )
    assert np.all(inside <= 1.05 * 0.6 * np.einsum("kij,i->kj", forces, wall.normal) + 1e-6)


@pytest.mark.slow
def test_two_walls_at_once():
    control = ContactImplicit(ROBOT, walls=2)
    corner = [Wall([0.5, 0, 0], [-1, 0, 0]), Wall([0, 0.45, 0], [0, -1, 0])]
    p = control.parameters(ROBOT.rest(), corner)
    start = pushed(ROBOT, 28.0, 0.25, np.deg2rad(45), 0.5)
    solution = control.discover(start, p, control.still(start))
    distance, force, *_ = seen(control, solution, p)
    at = np.where(distance <= 0.005, force, 0.0).reshape(control.stages, 2, 2)
    assert np.all(np.max(at, axis=(0, 1)) > 3.0)  # both walls are pushed
    one = control.parameters(ROBOT.rest(), corner[:1])
    assert np.all(np.isfinite(control.discover(start, one, control.still(start)).states))


def test_a_disc_is_gone_round(control):
    """The reference goes straight through a disc: the plan bends or stops."""
    reference = np.tile(ROBOT.rest(), (control.stages + 1, 1))
    reference[:, 0] = np.minimum(np.linspace(0, 1.6, control.stages + 1), 0.9)
    start = ROBOT.rest()
    free = control.parameters(reference)
    kept = control.parameters(reference, discs=[KeepOutDisc((0.45, 0.05), 0.3)])
    for p, expected in ((free, False), (kept, True)):
        states = control.solve(start, p, control.still(start), Limits(60)).states
        gap = np.min(np.linalg.norm(states[:, :2] - [0.45, 0.05], axis=1))
        assert bool(gap > 0.27) is expected


def test_laws_and_weights_are_parameters(control):
    compiled = control.optimiser
    heavy = control.parameters(
        ROBOT.rest(), [WALL], SoftLaw(80.0, 0.01, 0.03), dataclasses.replace(BalancerWeights(), force=1.0)
    )
    light = control.parameters(ROBOT.rest(), [WALL], SoftLaw(80.0, 0.01, 0.03))
    a, b = (pressed(control, control.discover(STRONG, p, control.still(STRONG)), p) for p in (heavy, light))
    assert a < 0.8 * b
    assert control.optimiser is compiled


@pytest.mark.slow
def test_the_papers_form_finds_the_wall_too():
    robot = dataclasses.replace(ROBOT, form="simplified")
    control = ContactImplicit(robot)
    p = control.parameters(robot.rest(), [WALL])
    start = pushed(robot, 20.0, 0.2, 0.2, 0.5)
    solution = control.discover(start, p, control.still(start))
    assert pressed(control, solution, p) > 10.0
    assert solution.gap <= 1e-9


def test_nan_in_a_measurement_gives_the_guess_back(control):
    p = control.parameters(ROBOT.rest(), [WALL])
    bad = STRONG.copy()
    bad[12] = np.nan
    guess = control.still(STRONG)
    for solution in (control.solve(bad, p, guess), control.discover(bad, p, guess)):
        assert solution.status is Status.NOT_FINITE
        assert solution.inputs == pytest.approx(guess.inputs)


def test_wrong_arguments_are_named(control):
    with pytest.raises(InputError, match="walls"):
        control.parameters(ROBOT.rest(), [WALL, WALL])
    with pytest.raises(InputError, match="reference"):
        control.parameters(np.zeros(15))
    with pytest.raises(InputError, match=r"^slip = -1\.0: must be a finite number >= 0$"):
        BalancerWeights(slip=-1.0)
    with pytest.raises(InputError, match="stages"):
        ContactImplicit(ROBOT, stages=0)
