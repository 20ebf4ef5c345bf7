"""Arms that wait: hands just off the walls in reach, and a body that balances with them out."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from tests.oracles import ball_balancer as oracle
from trundle.contact.soft import Wall
from trundle.errors import InputError
from trundle.systems.wallbounce.control.ready import ready
from trundle.systems.wallbounce.robot import BallBalancer

ROBOT, GAP = BallBalancer(), 0.07
NAMES = ("shoulder", "upper_arm", "forearm", "ball_radius", "mass", "com", "arm_masses", "joint_rest")
NUMBERS = {name: getattr(ROBOT, name) for name in NAMES}
REST = np.asarray(ROBOT.joint_rest)


def wall(heading: float, away: float, place: tuple[float, float] = (0.0, 0.0)) -> Wall:
    """Upright, `away` (m) from a place, seen from there at `heading` (rad)."""
    out = np.array([np.cos(heading), np.sin(heading), 0.0])
    return Wall(away * out + [*place, 0.0], -out)


def distances(x: np.ndarray, walls: list[Wall]) -> np.ndarray:
    """Of both hands' surfaces from the nearest wall, m."""
    found = []
    for side, part in ((1, x[5:8]), (-1, x[8:11])):
        at = oracle.hand(NUMBERS, x[:5], part, side) + np.array([x[0], x[1], ROBOT.ball_radius])
        found.append(min(float(one.normal @ (at - one.point)) for one in walls) - ROBOT.hand_radius)
    return np.array(found)


@pytest.mark.parametrize(("heading", "near"), [(0.0, [0, 1]), (np.pi / 2, [0]), (-np.pi / 2, [1])])
def test_hands_wait_at_the_gap_of_a_wall_in_reach(heading, near):
    """Ahead both, at a side the one of that side; the other arm is at rest."""
    walls = [wall(heading, 0.5)]
    x = ready(ROBOT, GAP, walls)
    assert distances(x, walls)[near] == pytest.approx(GAP, abs=2e-3)
    for other in {0, 1} - set(near):
        assert x[5 + 3 * other : 8 + 3 * other] == pytest.approx(REST)


def test_behind_hands_come_as_near_as_the_limits_allow():
    """No posture within the limits that the search keeps, tried on a grid, is nearer."""
    walls, low, high = [wall(np.pi, 0.45)], np.asarray(ROBOT.joint_lower), np.asarray(ROBOT.joint_upper)
    x = ready(ROBOT, GAP, walls)
    assert np.all(x[5:11] >= np.tile(low, 2))
    assert np.all(x[5:11] <= np.tile(high, 2))
    grid = np.stack(np.meshgrid(*np.linspace(low + (high - low) / 16, high - (high - low) / 16, 9).T), -1)
    tried = [distances(ROBOT.rest(joints=np.tile(q, 2)), walls)[0] for q in grid.reshape(-1, 3)]
    assert np.all(distances(x, walls) <= max(GAP, min(tried)) + 2e-3)
    assert min(tried) > GAP  # else this says nothing


def test_without_a_wall_in_reach_arms_rest():
    for walls in ([], [wall(0.0, 2.0)]):
        assert ready(ROBOT, GAP, walls, (0.3, -0.2), 0.5) == pytest.approx(ROBOT.rest((0.3, -0.2), 0.5), abs=1e-9)


@pytest.mark.parametrize("heading", [0.0, 0.6, np.pi / 2, np.pi, -1.0])
def test_the_body_leans_as_the_arms_ask(heading):
    """Gravity has no moment about the ball's centre, by link masses half-way along the links; nothing moves."""
    x = ready(ROBOT, GAP, [wall(heading, 0.45)])
    heavy = oracle.orientation(x[:5]) @ (ROBOT.mass * np.asarray(ROBOT.com) + oracle.arms(NUMBERS, x[5:11]))
    assert heavy[:2] == pytest.approx([0.0, 0.0], abs=1e-9)
    assert np.all(x[11:] == 0.0)
    symbol = ca.SX.sym("x", 16)
    rate = ROBOT.rate(symbol, ca.SX(2, 1), ca.SX(0), [ca.SX(3, 1)] * 2, ca.SX(6, 1))
    assert np.array(ca.Function("rate", [symbol], [rate])(x)) == pytest.approx(np.zeros((16, 1)), abs=1e-9)


@pytest.mark.parametrize(("place", "yaw"), [((0.0, 0.0), 1.0), ((2.0, -1.0), 0.0), ((-0.4, 0.7), -2.5)])
def test_place_and_heading_do_not_matter(place, yaw):
    here = ready(ROBOT, GAP, [wall(0.3, 0.48), wall(np.pi / 2, 0.5)])
    there = ready(ROBOT, GAP, [wall(0.3 + yaw, 0.48, place), wall(np.pi / 2 + yaw, 0.5, place)], place, yaw)
    assert there[:3] == pytest.approx([*place, yaw])
    assert there[3:] == pytest.approx(here[3:], abs=1e-4)


@pytest.mark.parametrize("gap", [0.0, -0.1, np.nan])
def test_a_wrong_gap_is_named(gap):
    with pytest.raises(InputError, match="gap"):
        ready(ROBOT, gap, [wall(0.0, 0.5)])
