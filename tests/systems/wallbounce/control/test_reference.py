"""Reference paths: quintics, goals and obstacles that appear, planned again from where the robot is."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from trundle.contact.soft import Wall
from trundle.errors import InputError
from trundle.systems.wallbounce.control.contact_implicit import KeepOutDisc
from trundle.systems.wallbounce.control.reference import PassedObstacle, PathPlanner, PathRules, TimedGoal, quintic
from trundle.systems.wallbounce.robot import BallBalancer

ROBOT = BallBalancer()
TIMES = np.linspace(0, 1, 26)


def rolling(x, y, vx=0.0, vy=0.0):
    state = ROBOT.rest([x, y])
    state[11:13] = ROBOT.effective_mass * vx, ROBOT.effective_mass * vy
    lever = ROBOT.mass * ROBOT.com[2]
    state[13:15] = -lever * vy, lever * vx
    return state


def test_quintic_starts_and_ends_as_asked():
    t = np.linspace(-0.5, 2.0, 501)
    place, speed = quintic((0.2, -0.7), 1.5, 1.2, t)
    assert np.interp(0.0, t, place) == pytest.approx(0.2, abs=1e-6)
    assert place[-1] == pytest.approx(1.5)
    assert speed[-1] == 0.0
    assert speed[0] == -0.7
    inside = (t > -0.4) & (t < 1.9)
    assert np.gradient(place, t)[inside] == pytest.approx(speed[inside], abs=2e-3)
    assert np.max(np.abs(np.diff(np.gradient(speed, t)))) < 0.4  # accelerations do not jump


def test_it_rolls_to_the_goal_and_stops_there():
    planner = PathPlanner(ROBOT, [TimedGoal((2.0, 0.0))], rules=PathRules(speed=0.8, acceleration=1.0))
    x = planner.reference(0.0, ROBOT.rest(), np.linspace(0, 6, 300))
    assert x[0, :2] == pytest.approx([0, 0])
    assert x[-1, :2] == pytest.approx([2.0, 0.0], abs=5e-3)
    v = x[:, 11] / ROBOT.effective_mass
    assert np.max(v) == pytest.approx(0.8, abs=1e-6)
    assert np.gradient(x[:, 0], 6 / 299)[5:-5] == pytest.approx(v[5:-5], abs=0.03)
    assert x[:, 14] == pytest.approx(ROBOT.mass * ROBOT.com[2] * v, abs=1e-9)


@pytest.mark.parametrize("form", ["exact", "simplified"])
def test_the_path_is_upright_and_at_the_speed_of_its_places_in_both_forms(form):
    robot = BallBalancer(form=form)
    planner = PathPlanner(robot, [TimedGoal((2.0, 0.5))], rules=PathRules(speed=0.8))
    x = planner.reference(0.0, robot.rest(), np.linspace(0, 2, 201))
    s = ca.SX.sym("x", 16)
    state = ca.Function("s", [s], [robot.state(s).v, robot.state(s).omega])
    v, omega = (np.array(value).T for value in state.map(len(x))(x.T))
    assert v[5:-5] == pytest.approx(np.gradient(x[:, :2], 0.01, axis=0)[5:-5], abs=0.03)
    assert omega == pytest.approx(np.zeros((len(x), 3)), abs=1e-12)


def test_something_new_changes_path_and_version_at_once():
    disc = KeepOutDisc((1.5, 0.0), 0.4)
    planner = PathPlanner(
        ROBOT,
        [TimedGoal((3.0, 0.0))],
        [Wall([0, 0.5, 0], [0, -1, 0])],
        [PassedObstacle(disc, (0.0, -1.0), 0.5)],
        PathRules(replan=1.0),
    )
    before = planner.reference(0.49, rolling(0.3, 0.0, 1.0), 0.49 + TIMES)
    assert np.max(np.abs(before[:, 1])) < 1e-9
    assert planner.surroundings(0.49).discs == []
    after = planner.reference(0.5, rolling(0.3, 0.0, 1.0), 0.5 + TIMES)
    assert -0.41 < after[-1, 1] < -0.3
    assert planner.surroundings(0.5).discs == [disc]
    assert planner.surroundings(0.5).version == planner.surroundings(0.49).version + 1
    planner.reset()
    passed = planner.reference(2.0, rolling(2.2, -0.4, 1.0), 2.0 + np.linspace(0, 3, 76))
    assert passed[-1, :2] == pytest.approx([3.0, 0.0], abs=5e-3)  # behind it: straight to the goal


def test_the_path_starts_where_the_robot_is_every_so_often():
    planner = PathPlanner(ROBOT, [TimedGoal((3.0, 0.0))], rules=PathRules(replan=0.2))
    planner.reference(0.0, ROBOT.rest(), TIMES)
    kept = planner.reference(0.1, rolling(0.0, 0.3), 0.1 + TIMES)
    assert kept[0, 1] == pytest.approx(0.0)
    new = planner.reference(0.2, rolling(0.1, 0.3, 0.5, -0.1), 0.2 + TIMES)
    assert new[0, :2] == pytest.approx([0.1, 0.3])
    assert new[0, 11:13] == pytest.approx(ROBOT.effective_mass * np.array([0.5, -0.1]))


def test_it_passes_an_obstacle_slowly_and_then_goes_on():
    obstacle = PassedObstacle(KeepOutDisc((1.5, 0.0), 0.4), (0.0, -1.0))
    rules = PathRules(speed=2.0, acceleration=3.0, passing=0.5)
    planner = PathPlanner(ROBOT, [TimedGoal((4.0, 0.0))], (), [obstacle], rules)
    x = planner.reference(0.0, rolling(0.0, 0.0, 2.0), np.linspace(0, 3, 151))
    v, place = np.linalg.norm(x[:, 11:13], axis=1) / ROBOT.effective_mass, x[:, 0]
    assert v[(place > 0.8) & (place < 1.5)] == pytest.approx(0.5, abs=1e-6)
    assert np.max(v[place > 1.8]) > 1.0
    with pytest.raises(InputError, match="passing"):
        PathRules(passing=-1.0)


def test_close_to_the_goal_the_path_is_followed_to_its_end():
    planner = PathPlanner(ROBOT, [TimedGoal((1.0, 0.0))], rules=PathRules(replan=0.2, settle=0.6))
    path = planner.reference(0.0, rolling(0.5, 0.1, 0.2), np.linspace(0, 3, 151))
    later = planner.reference(1.0, rolling(0.45, 0.12), 1.0 + TIMES)
    assert later[:, 0] == pytest.approx(np.interp(1.0 + TIMES, np.linspace(0, 3, 151), path[:, 0]), abs=2e-3)
    away = planner.reference(1.2, rolling(0.2, 0.12), 1.2 + TIMES)
    assert away[0, :2] == pytest.approx([0.2, 0.12])  # pushed far off: planned again
    with pytest.raises(InputError, match="settle"):
        PathRules(settle=-0.1)


def test_goals_come_in_their_time():
    goals = [TimedGoal((3.0, 0.0)), TimedGoal((1.0, -1.0), 1.0)]
    planner = PathPlanner(ROBOT, goals, rules=PathRules(replan=0.2, lateral_time=0.5))
    assert planner.reference(0.9, ROBOT.rest(), 0.9 + TIMES)[-1, 1] == 0.0
    assert planner.reference(1.0, rolling(0.8, 0.0, 1.0), 1.0 + TIMES)[-1, 1] == pytest.approx(-1.0)


def test_wrong_arguments_are_named():
    with pytest.raises(InputError, match="goals"):
        PathPlanner(ROBOT, [])
    with pytest.raises(InputError, match="speed"):
        PathRules(speed=0.0)
    for period in (0.0, 1e9):
        with pytest.raises(InputError, match=r"replan = .* >= 1e-05 and <= 1 \(s\)"):
            PathRules(replan=period)
    with pytest.raises(InputError, match="side"):
        PassedObstacle(KeepOutDisc((0, 0), 1.0), (2.0, 0.0))
