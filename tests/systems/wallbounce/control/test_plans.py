"""What is noted along a plan, at flat and at curved walls, against positions and velocities alone."""

from __future__ import annotations

from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

from trundle.contact.soft import SoftLaw, Wall
from trundle.contact.walls import FLAT, ROUND
from trundle.errors import InputError
from trundle.numerics.ilqr import ControlSolution, Guess, Limits
from trundle.status import Status
from trundle.systems.wallbounce.control.contact_implicit import ContactImplicit
from trundle.systems.wallbounce.control.costs import (
    BalancerWeights,
    KeepOut,
    KeepOutDisc,
    kept_out,
    kept_up,
    unpack_parameters,
)
from trundle.systems.wallbounce.control.hybrid import HybridControl
from trundle.systems.wallbounce.control.plans import (
    ImplicitPlanner,
    StageContacts,
    TrackingPlanner,
    falls,
    has_settled,
    upright,
)
from trundle.systems.wallbounce.control.schedule import ScheduleRules
from trundle.systems.wallbounce.control.two_level import Timing
from trundle.systems.wallbounce.plant import BalancerPlant
from trundle.systems.wallbounce.robot import BallBalancer

ROBOT = BallBalancer()
FLAT_WALL, PILLAR = Wall([0.5, 0, 0.8], [-1, 0, 0]), Wall([0.5, 0, 0.8], [-1, 0, 0], 1 / 0.3, axis=[0, 0, 1])
BALL = Wall([0.5, 0, 0.8], [-1, 0, 0], 1 / 0.4)


def normal(wall: Wall, point: np.ndarray) -> np.ndarray:
    """Out of the wall, at the point of it nearest to `point`, from centre and radius."""
    if wall.curvature == 0.0:
        return np.asarray(wall.normal)
    away = point - (wall.point - wall.normal / wall.curvature)
    if wall.axis is not None:
        away = away - wall.axis * (wall.axis @ away)
    return away / np.linalg.norm(away)


def distance(wall: Wall, point: np.ndarray) -> float:
    """Of a point from the wall, m, from centre and radius."""
    if wall.curvature == 0.0:
        return float(wall.normal @ (point - wall.point))
    away = point - (wall.point - wall.normal / wall.curvature)
    if wall.axis is not None:
        away = away - wall.axis * (wall.axis @ away)
    return float(np.linalg.norm(away)) - 1.0 / wall.curvature


@pytest.mark.parametrize(("surface", "wall"), [(FLAT, FLAT_WALL), (ROUND, FLAT_WALL), (ROUND, PILLAR), (ROUND, BALL)])
def test_hands_slip_along_the_wall_where_they_are(monkeypatch, surface, wall):
    monkeypatch.setenv("TRUNDLE_NO_COMPILER", "1")
    control = HybridControl(ROBOT, stages=4, surface=surface)
    planner, rng = TrackingPlanner(control), np.random.default_rng(0)
    states = ROBOT.rest() + 0.2 * rng.normal(size=(5, 16)) * ([1.0] * 11 + [20.0] * 5)
    inputs = rng.normal(size=(4, control.nu))
    p = control.parameters(ROBOT.rest(), np.ones((4, 2)), [wall])
    solution = ControlSolution(Status.SUCCESS, states, inputs, np.zeros((4, control.nu, 16)), 0.0)
    seen = planner._measure_contacts(solution, p)
    x, rates = ca.SX.sym("x", 16), ca.SX.sym("q", 6)
    places = [r for r, _ in ROBOT.hands(x)]
    hands = ca.Function("hands", [x, rates], [ca.horzcat(*places), ca.horzcat(*ROBOT.hand_velocities(x, rates))])
    for k in range(4):
        r, v = (np.array(value) for value in hands(states[k], inputs[k, 3:9]))
        for i in range(2):
            n = normal(wall, r[:, i] + [*states[k, :2], ROBOT.ball_radius])
            assert seen.slips[k, i] == pytest.approx(float(np.linalg.norm(v[:, i] - n * (n @ v[:, i]))), rel=1e-9)
            assert seen.speeds[k, i] == pytest.approx(float(np.linalg.norm(v[:, i])), rel=1e-9)
            away = max(distance(wall, r[:, i] + [*states[k, :2], ROBOT.ball_radius]) - ROBOT.hand_radius, 0.0)
            there = 1.0 / (1.0 + (away / 0.03) ** 2)  # of a planned force, only a hand that is there has all
            assert n @ seen.on_hands[k, 3 * i : 3 * i + 3] == pytest.approx(there * inputs[k, 9 + 3 * i], abs=1e-9)


def pressing(planner, begin, hand, distance=0.0, last=None, stages=8, felt=None):
    """The plan's schedule where the left hand presses for `hand` stages, and the plan that the next one starts from."""
    forces, distances = np.zeros((25, 2)), np.full((25, 2), distance)
    forces[:hand, 0] = 40.0
    seen = StageContacts(distances, forces, np.zeros((25, 6)), forces, forces)
    since = np.array([np.nan if felt is None else felt, np.nan])
    flags, ends = planner._schedule(begin, seen, since, last)
    return flags, SimpleNamespace(ends=ends)


def test_the_end_of_a_contact_stays_once_it_has_begun():
    planner = ImplicitPlanner(ContactImplicit(ROBOT), rules=ScheduleRules(keep_end=True))
    flags, last = pressing(planner, 1.0, 8, last=SimpleNamespace(ends=np.full(2, np.inf)))
    assert np.isinf(last.ends).all()  # not yet felt
    _, last = pressing(planner, 1.05, 8, last=last, felt=1.04)
    assert last.ends[0] == pytest.approx(1.05 + 8 * 0.04)
    for k in range(1, 14):  # each plan would press for 8 more stages
        begin = 1.05 + 0.025 * k
        flags, last = pressing(planner, begin, 8, last=last, felt=1.04 if k != 5 else None)  # once it is not felt
        assert last.ends[0] == pytest.approx(1.37)
        assert not np.isfinite(last.ends[1])
        assert begin + 0.04 * np.sum(flags[:, 0]) == pytest.approx(1.37, abs=0.0201) or begin > 1.35
    assert not flags.any()
    _, last = pressing(planner, 1.40, 8, 0.05, last=last)
    assert np.isinf(last.ends).all()  # off the wall: the next contact has its own end


def test_without_the_rule_a_contact_ends_when_the_newest_plan_says():
    planner = ImplicitPlanner(ContactImplicit(ROBOT))
    last = None
    for begin in (1.0, 1.1, 1.2):
        flags, last = pressing(planner, begin, 8, last=last, felt=1.0)
        assert np.sum(flags[:, 0]) == 8
        assert np.isinf(last.ends).all()


@pytest.mark.parametrize("tilt", [0.0, 0.2])
def test_what_keeps_out_of_walls_and_obstacles(tilt):
    control, disc, keep_out = HybridControl(ROBOT, stages=2), KeepOutDisc((0.9, 0.1), 0.4, 0.25), KeepOut(range=0.3)
    p = control.parameters(ROBOT.rest(), np.zeros((2, 2)), [FLAT_WALL], discs=[disc], keep_out=keep_out)[0]
    state = ROBOT.rest([0.1, 0.0]) + np.eye(16)[3] * tilt
    x, symbols = ca.SX.sym("x", 16), ca.SX.sym("p", p.size)
    rows = kept_out(ROBOT, x, unpack_parameters(symbols, control.head, 1, 1))
    margins, weights, deltas, fades = np.array(
        ca.Function("rows", [x, symbols], [ca.vertcat(*(ca.horzcat(*row) for row in rows))])(state, p)
    ).T
    lean, w = np.array([np.sin(tilt), 0.0]), BalancerWeights()
    hands = [np.array(r).ravel()[:2] for r in ca.Function("hands", [x], [r for r, _ in ROBOT.hands(x)])(state)]
    places = [state[:2], state[:2] + 0.95 * lean, *(state[:2] + hand for hand in hands)]
    walls = [0.5 - 0.1 - 0.20, 0.5 - 0.1 - 1.05 * lean[0] - 0.18]
    around = np.linalg.norm(np.array(places) - disc.center, axis=1) - [0.4, 0.4, 0.25, 0.25]
    assert margins == pytest.approx([*walls, *around], abs=1e-5)
    assert weights == pytest.approx([w.torso, w.torso, w.disc, w.disc_top, w.disc_hands, w.disc_hands])
    assert deltas == pytest.approx(np.full(6, 0.03))
    assert fades == pytest.approx(np.full(6, 1 / 0.3))


def test_a_body_is_kept_where_its_drive_can_hold_it():
    """A lean at rest is held by m g c / (r_b + m c / M_e) of it, on either axis."""
    control = HybridControl(ROBOT, stages=2)
    p = control.parameters(ROBOT.rest(), np.zeros((2, 2)))[0]
    x, symbols = ca.SX.sym("x", 16), ca.SX.sym("p", p.size)
    rows = kept_up(ROBOT, x, unpack_parameters(symbols, control.head, control.discs, 1))
    margins = ca.Function("rows", [x, symbols], [ca.vertcat(*(row[0] for row in rows))])
    m, c = ROBOT.mass, ROBOT.com[2]
    share = m * ROBOT.gravity * c / (ROBOT.ball_radius + m * c / ROBOT.effective_mass) * 0.1 / ROBOT.drive_limit
    for axis, lean in ((0, np.eye(16)[3]), (1, -np.eye(16)[4])):  # pitch along x, roll against y
        found = np.array(margins(ROBOT.rest() + 0.1 * lean, p)).ravel()
        held = np.eye(2)[axis] * share
        assert np.sort(found) == pytest.approx(np.sort([*(1 - held), *(1 + held)]), rel=1e-6)


def test_hands_are_free_of_a_disc_without_a_radius_of_theirs():
    control = HybridControl(ROBOT, stages=2)
    p = control.parameters(ROBOT.rest(), np.zeros((2, 2)), discs=[KeepOutDisc((0.9, 0.1), 0.4)])
    given = unpack_parameters(ca.SX(p[0]), control.head, 1, 1)
    weights = [float(ca.evalf(weight)) for _, weight, *_ in kept_out(ROBOT, ca.SX(ca.DM(ROBOT.rest())), given)]
    w = BalancerWeights()
    assert weights == [w.torso, w.torso, w.disc, w.disc_top, 0.0, 0.0]
    assert float(given.keep_out[5]) == 0.0  # no range: without end
    with pytest.raises(InputError, match="range"):
        KeepOut(range=0.02)
    with pytest.raises(InputError, match="hands"):
        control.parameters(ROBOT.rest(), np.zeros((2, 2)), discs=[KeepOutDisc((0.9, 0.1), 0.4, -0.1)])


def test_planners_share_the_grid_of_their_level():
    control = HybridControl(ROBOT, stages=4, step=0.05)
    assert TrackingPlanner(control).times == pytest.approx([0.0, 0.05, 0.10, 0.15, 0.20])
    assert TrackingPlanner(control).level is control


@pytest.mark.parametrize("given", [{"implicit": 0.0255}, {"hybrid": 0.0104}, {"hybrid": 0.0004}])
def test_periods_are_multiples_of_the_low_level_s(given):
    with pytest.raises(InputError, match=next(iter(given))):
        Timing(**given)
    assert Timing(implicit=0.03, low=0.002).ticks(0.03) == 15


def test_the_plant_has_flat_walls_only():
    with pytest.raises(InputError, match=r"walls\[1\].curvature"):
        BalancerPlant(ROBOT, [FLAT_WALL, PILLAR])


class Poisoned:
    """A last plan whose drive pushes the wrong way: its roll-out falls over, from any lean."""

    ends = np.full(2, np.inf)

    def __init__(self, control):
        self.guess = control.still(ROBOT.rest())
        gains = np.zeros((control.stages, control.nu, 16))
        gains[:, 0, 3] = -1000.0
        self.guess = Guess(self.guess.inputs, self.guess.states, gains)

    def later(self, time):
        return self.guess


def test_a_warm_start_that_falls_over_is_replaced(monkeypatch):
    monkeypatch.setenv("TRUNDLE_NO_COMPILER", "1")
    control = ContactImplicit(ROBOT, stages=12)
    start, reference = ROBOT.rest(), ROBOT.rest()
    start[3] = 0.05
    p, last = control.parameters(reference, [FLAT_WALL], SoftLaw()), Poisoned(control)
    assert falls(control.solve(start, p, last.later(0.0), Limits(1)))
    planner = ImplicitPlanner(control, update=Limits(1), event=Limits(5))
    since = np.full(2, np.nan)
    plan = planner.plan(0.0, start, reference, [FLAT_WALL], (), last, False, since)  # type: ignore[arg-type]
    assert plan.searched
    assert not falls(plan.solution)
    calm = planner.plan(0.0, start, reference, [FLAT_WALL], (), plan, False, since)
    assert not calm.searched
    assert not falls(calm.solution)


def test_of_plans_that_all_fall_the_cheapest_is_taken():
    states = np.zeros((5, 16))
    zeros = np.zeros((4, 9)), np.zeros((4, 9, 16))
    made = {
        lean: ControlSolution(Status.SUCCESS, states + np.eye(16)[3] * lean, *zeros, cost)
        for lean, cost in ((0.5, 9.0), (0.9, 7.0), (1.2, 3.0), (2.0, 1.0))
    }
    assert upright(list(made.values())) is made[0.9]
    assert upright([made[1.2], made[2.0]]) is made[2.0]
    assert falls(ControlSolution(Status.SUCCESS, states * np.nan, *zeros, 1.0))


def test_a_plan_has_settled_where_its_last_step_promised_little_of_its_cost():
    states, zeros = np.zeros((5, 16)), (np.zeros((4, 9)), np.zeros((4, 9, 16)))

    def ended(cost, decrease, lean=0.0):
        return ControlSolution(Status.ITERATION_LIMIT, states + np.eye(16)[3] * lean, *zeros, cost, decrease)

    assert has_settled(ended(2000.0, 1.9))
    assert not has_settled(ended(2000.0, 2.1))
    assert not has_settled(ended(2000.0, -2000.0))  # gaps are open, the cost is still to rise
    assert not has_settled(ended(2000.0, 0.0, lean=1.2))
    assert not has_settled(ended(2000.0, np.nan))
    assert has_settled(ended(1e-9, 1e-9))  # where the robot stands, nothing is left to find
