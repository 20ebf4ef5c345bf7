"""Hybrid control: contacts of the schedule are held, others carry nothing; seeded from the implicit plan."""

from __future__ import annotations

import numpy as np
import pytest

from bench.bounce import Levels, Seen
from bench.hybrid_hard import HardHybrid
from tests.control.pushes import pushed, random_pushes
from trundle.contact.soft import Wall
from trundle.errors import InputError
from trundle.numerics.compiled.compile import find_compiler
from trundle.numerics.ilqr import Limits
from trundle.status import Status
from trundle.systems.wallbounce.control.contact_implicit import ContactImplicit
from trundle.systems.wallbounce.control.costs import BalancerWeights
from trundle.systems.wallbounce.control.hybrid import HybridControl
from trundle.systems.wallbounce.control.schedule import ScheduleRules, contact_schedule
from trundle.systems.wallbounce.robot import BallBalancer

ROBOT = BallBalancer()
WALL = Wall([0.5, 0, 0], [-1, 0, 0])
START = pushed(ROBOT, 20.0, 0.2, 0.2, 0.5)

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="minutes without a C compiler")


@pytest.fixture(scope="module")
def levels():
    """The hybrid problem, its parameters and seed, and the schedule of an implicit plan without early arrivals."""
    return planned(arrives=0.0)


def planned(**rules):
    implicit, hybrid = ContactImplicit(ROBOT), HybridControl(ROBOT)
    p = implicit.parameters(ROBOT.rest(), [WALL])
    plan = implicit.discover(START, p, implicit.balancing(ROBOT.rest(), BalancerWeights()), Limits(40))
    seen = [implicit.observe(plan.states[k], plan.inputs[k], p[k]) for k in range(25)]
    distances, forces = (np.array([np.array(row[i]).ravel() for row in seen]) for i in (0, 1))
    schedule = contact_schedule(forces, distances, 0.04, ScheduleRules(**rules))
    return hybrid, hybrid.parameters(ROBOT.rest(), schedule, [WALL]), hybrid.seed(plan, forces, schedule), schedule


def seen(hybrid, solution, p):
    rows = [hybrid.observe(solution.states[k], solution.inputs[k], p[k]) for k in range(hybrid.stages)]
    return [np.array([np.array(row[i]) for row in rows]) for i in (0, 4, 2, 3)]


@pytest.mark.parametrize(("arrives", "landing"), [(0.0, 1), (0.04, 2)])
def test_the_schedule_is_kept(arrives, landing):
    """After `landing` stages: two where the schedule has hands come a stage sooner than the implicit plan."""
    hybrid, p, seed, schedule = planned(arrives=arrives)
    assert np.any(schedule)
    solution = hybrid.solve(START, p, [seed], Limits(100))
    assert solution.status in (Status.SUCCESS, Status.ITERATION_LIMIT)
    distance, velocity, force, floor = seen(hybrid, solution, p)
    distance, speed = distance[:, :, 0], np.linalg.norm(velocity, axis=1)
    settled = np.logical_and.reduce([np.roll(schedule, k, axis=0) for k in range(landing + 1)])
    settled[:landing] = False
    assert np.max(np.abs(distance[settled])) <= 8e-3
    assert np.max(speed[settled]) <= 0.1
    press, sideways = -force[:, 0, :], np.linalg.norm(force[:, 1:, :], axis=1)
    assert np.all(force[:, 0, :][~schedule] == 0.0)
    assert np.max(press) > 5.0
    assert np.all(press >= -1.0)
    assert np.all(sideways <= ROBOT.hand_friction * press + 1.5)
    assert np.all(floor[:, 2] > hybrid.least_normal)


@pytest.mark.slow
def test_plans_of_a_loop_hold_their_contacts():
    """Three iterations from warm starts, noise in the measurement: 95 % of what is planned in contact."""
    seen, rng = Seen(), np.random.default_rng(0)
    levels = Levels(ContactImplicit(ROBOT), HybridControl(ROBOT))
    for start in random_pushes(ROBOT, 5):
        levels.run(start, seen, rng)
    assert len(seen.press) > 2000
    assert np.median(seen.press) > 5.0
    assert np.quantile(seen.depth, 0.95) <= 5.0  # mm
    assert np.quantile(seen.slip, 0.95) <= 20.0  # mm/s
    assert np.quantile(seen.away, 0.95) <= 3.0  # N, more than 5 mm off the wall


def test_the_cheaper_of_two_seeds_is_kept(levels):
    hybrid, p, seed, _ = levels
    one = hybrid.solve(START, p, [seed], Limits(3))
    more = hybrid.solve(START, p, [seed], Limits(20))
    both = hybrid.solve(START, p, [seed, more.guess()], Limits(3))
    assert both.cost <= min(one.cost, more.cost)


def test_hard_constraints_give_the_plan_of_the_penalties(levels):
    """By another solver and another formulation: the same motion and push, and the contacts exactly."""
    hybrid, p, seed, schedule = levels
    soft = hybrid.solve(START, p, [seed], Limits(60))
    hard = HardHybrid(hybrid).solve(START, p, seed, steps=26, damped=20)
    assert hard.status in (Status.SUCCESS, Status.ITERATION_LIMIT)
    assert hard.gap <= 1e-6
    distance, velocity, force, floor = seen(hybrid, hard, p)
    slip = np.linalg.norm(velocity[:, 1:], axis=1)
    assert np.max(slip[schedule]) <= 1e-4
    settled = schedule & np.roll(schedule, 1, axis=0) & np.roll(schedule, 2, axis=0)
    assert np.max(np.abs(distance[:, :, 0][settled])) <= 8e-3
    assert np.max(np.abs(hard.inputs[:, :2])) <= ROBOT.drive_limit + 1e-6
    assert np.max(np.abs(hard.inputs[:, 3:9])) <= ROBOT.joint_rate_limit + 1e-6
    assert np.all(np.linalg.norm(force[:, 1:], axis=1) <= -ROBOT.hand_friction * force[:, 0] + 1e-5)
    assert np.all(floor[:, 2] >= hybrid.least_normal)
    assert np.max(np.abs(hard.states[:, :2] - soft.states[:, :2])) <= 0.03
    pushes = [-0.04 * np.sum(seen(hybrid, plan, p)[2][:, 0]) for plan in (soft, hard)]
    assert pushes[1] == pytest.approx(pushes[0], rel=0.15)
    bad = np.where(np.arange(16) == 3, np.nan, START)
    for start, given in ((bad, p), (START, np.where(np.arange(p.shape[1]) == p.shape[1] - 1, np.nan, p))):
        lost = HardHybrid(hybrid).solve(start, given, seed)
        assert (lost.status, lost.iterations) == (Status.NOT_FINITE, 0)
        assert np.array_equal(lost.inputs, seed.inputs)


def test_nan_in_a_measurement_is_named(levels):
    hybrid, p, seed, _ = levels
    bad = START.copy()
    bad[3] = np.nan
    assert hybrid.solve(bad, p, [seed]).status is Status.NOT_FINITE


def test_wrong_arguments_are_named(levels):
    hybrid, p, _, schedule = levels
    with pytest.raises(InputError, match="schedule"):
        hybrid.parameters(ROBOT.rest(), schedule[:-1], [WALL])
    with pytest.raises(InputError, match="schedule"):
        hybrid.parameters(ROBOT.rest(), 0.5 * np.ones((25, 2)), [WALL])
    with pytest.raises(InputError, match="guesses"):
        hybrid.solve(START, p, [])
