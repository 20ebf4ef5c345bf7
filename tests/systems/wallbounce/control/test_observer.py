"""The observer of pushes: what it learns from momenta alone, what it forecasts, and what it takes for no push."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from trundle.systems.wallbounce.control.observer import MomentumObserver, ObserverRules
from trundle.systems.wallbounce.robot import BallBalancer

ROBOT, RULES, PERIOD = BallBalancer(), ObserverRules(filter=0.02, memory=0.1, threshold=40.0), 0.001


def plant():
    """(x, f_d and t_z, hands' forces, push, height) -> dx/dt: a force on the body's axis at a height above the ball."""
    x, u, f, push, height = (ca.SX.sym(n, k) for n, k in (("x", 16), ("u", 3), ("f", 6), ("p", 3), ("z", 1)))
    rate = ROBOT.rate(x, u[:2], u[2], ca.vertsplit(f, 3), ca.SX(6, 1))
    moment = ca.cross(height * ROBOT.state(x).R_world_body[:, 2], push)
    return ca.Function("plant", [x, u, f, push, height], [rate + ca.vertcat(ca.SX(11, 1), push[:2], moment)])


def watched(duration, push=(0.0, 0.0, 0.0), height=0.0, drive=(0.0, 0.0, 0.0), forces=(0.0,) * 6, told=True):
    """Return the observer after a motion by Runge-Kutta's method, and the state it ends in."""
    observer, rate, x = MomentumObserver(ROBOT, RULES, PERIOD), plant(), ROBOT.rest()
    for _ in range(round(duration / PERIOD) + 1):
        observer.update(x, np.array(drive), np.array(forces) if told else np.zeros(6))
        f = lambda z: np.array(rate(z, drive, forces, push, height)).ravel()  # noqa: E731
        a = f(x)
        b = f(x + PERIOD / 2 * a)
        c = f(x + PERIOD / 2 * b)
        x = x + PERIOD / 6 * (a + 2 * b + 2 * c + f(x + PERIOD * c))
    return observer, x


@pytest.mark.parametrize("height", [0.0, 0.5])
def test_a_constant_push_is_known_after_five_filter_times(height):
    push = np.array([80.0, -50.0, 0.0])
    observer, x = watched(5 * RULES.filter, push, height)
    size = np.linalg.norm(push)
    assert np.linalg.norm(observer.push[:2] - push[:2]) <= 0.01 * size
    moment = np.cross(height * np.array([*_tilt(x)]), push)
    assert np.linalg.norm(observer.push[2:] - moment) <= 0.01 * size * max(height, 0.1)
    half, _ = watched(np.log(2.0) * RULES.filter, push, height)
    assert np.linalg.norm(half.push[:2]) == pytest.approx(size / 2, rel=0.05)


def _tilt(x):
    s = ca.SX.sym("x", 16)
    return np.array(ca.Function("t", [s], [ROBOT.state(s).R_world_body[:, 2]])(x)).ravel()


def test_drive_and_hands_are_no_push():
    """Known, they leave nothing; forces that are not told are one."""
    forces = np.array([-60.0, 5.0, 10.0, -40.0, 0.0, -5.0])
    known, _ = watched(0.1, drive=(20.0, -10.0, 2.0), forces=forces)
    assert np.linalg.norm(known.push[:2]) <= 0.5  # of 100 N
    untold, _ = watched(0.1, forces=forces, told=False)
    assert untold.push[:2] == pytest.approx([-100.0, 5.0], abs=1.5)


def test_the_forecast_is_what_exceeds_the_threshold_and_fades():
    times = np.array([0.0, 0.1, 0.3])
    weak, _ = watched(0.1, (30.0, 0.0, 0.0), 0.5)
    assert np.all(weak.forecast(times) == 0.0)
    strong, _ = watched(0.1, (0.0, -100.0, 0.0), 0.5)
    found = strong.forecast(times)
    assert found.shape == (3, 5)
    assert found[0, :2] == pytest.approx([0.0, -60.0], abs=1.0)
    assert found[1:] == pytest.approx(np.exp(-times[1:, None] / RULES.memory) * found[0])
    off = MomentumObserver(ROBOT, ObserverRules(memory=0.0), PERIOD)
    off.push = strong.push
    assert np.all(off.forecast(times) == 0.0)


def test_reset_forgets():
    observer, x = watched(0.1, (100.0, 0.0, 0.0))
    observer.reset()
    assert np.all(observer.push == 0.0)
    observer.update(np.where(np.arange(16) > 10, 50.0, x), np.zeros(3), np.zeros(6))  # nothing to compare with
    assert np.all(observer.push == 0.0)
