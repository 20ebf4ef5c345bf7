"""What is noted along a plan, at flat and at curved walls, against positions and velocities alone."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from trundle.contact.soft import Wall
from trundle.contact.walls import FLAT, ROUND
from trundle.control.balancer_plans import TrackingPlanner
from trundle.control.hybrid_mpc import HybridControl
from trundle.control.two_level import Timing
from trundle.errors import InputError
from trundle.models.ball_balancer import BallBalancer
from trundle.numerics.ilqr import ControlSolution
from trundle.simulate.balancer_plant import BalancerPlant
from trundle.status import Status

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


@pytest.mark.parametrize(("surface", "wall"), [(FLAT, FLAT_WALL), (ROUND, FLAT_WALL), (ROUND, PILLAR), (ROUND, BALL)])
def test_hands_slip_along_the_wall_where_they_are(monkeypatch, surface, wall):
    monkeypatch.setenv("TRUNDLE_NO_COMPILER", "1")
    control = HybridControl(ROBOT, stages=4, surface=surface)
    planner, rng = TrackingPlanner(control), np.random.default_rng(0)
    states = ROBOT.rest() + 0.2 * rng.normal(size=(5, 16)) * ([1.0] * 11 + [20.0] * 5)
    inputs = rng.normal(size=(4, control.nu))
    p = control.parameters(ROBOT.rest(), np.ones((4, 2)), [wall])
    solution = ControlSolution(Status.SUCCESS, states, inputs, np.zeros((4, control.nu, 16)), 0.0)
    seen = planner._seen(solution, p)
    x, rates = ca.SX.sym("x", 16), ca.SX.sym("q", 6)
    places = [r for r, _ in ROBOT.hands(x)]
    hands = ca.Function("hands", [x, rates], [ca.horzcat(*places), ca.horzcat(*ROBOT.hand_velocities(x, rates))])
    for k in range(4):
        r, v = (np.array(value) for value in hands(states[k], inputs[k, 3:9]))
        for i in range(2):
            n = normal(wall, r[:, i] + [*states[k, :2], ROBOT.ball_radius])
            assert seen.slips[k, i] == pytest.approx(float(np.linalg.norm(v[:, i] - n * (n @ v[:, i]))), rel=1e-9)
            assert seen.speeds[k, i] == pytest.approx(float(np.linalg.norm(v[:, i])), rel=1e-9)
            closed = inputs[k, 9 + 3 * i : 12 + 3 * i]
            assert n @ seen.on_hands[k, 3 * i : 3 * i + 3] == pytest.approx(closed[0], abs=1e-9)


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
