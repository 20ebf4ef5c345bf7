"""Starts for wall-bouncing: the robot just after a push, caught by its drive alone."""

from __future__ import annotations

import casadi as ca
import numpy as np

from trundle.systems.wallbounce.robot import BallBalancer


def pushed(robot: BallBalancer, impulse: float, duration: float, heading: float, height: float) -> np.ndarray:
    """State after a push of `impulse` (N s) over `duration` (s) at `height` (m) above the ball, while balancing."""
    x, push = ca.SX.sym("x", 16), ca.SX.sym("f", 3)
    s = robot.state(x)
    tilt = s.R_world_body[:2, 2]
    drive = 1000.0 * tilt + 110.0 * ca.cross(s.omega, s.R_world_body[:, 2])[:2]
    drive = ca.fmax(ca.fmin(drive, robot.drive_limit), -robot.drive_limit)
    rate = robot.rate(x, drive, 0.0, [ca.SX.zeros(3)] * 2, ca.SX.zeros(6))
    rate[11:13] += push[:2]
    rate[13:] += ca.cross(height * s.R_world_body[:, 2], push)
    f = ca.Function("f", [x, push], [rate])
    state, h = robot.rest(), duration / 200
    force = impulse / duration * np.array([np.cos(heading), np.sin(heading), 0.0])
    for _ in range(200):
        state = state + h * np.array(f(state + 0.5 * h * np.array(f(state, force)).ravel(), force)).ravel()
    return state


def random_pushes(robot: BallBalancer, count: int, seed: int = 0) -> list[np.ndarray]:
    """Pushes of 18-32 N s over 0.15-0.35 s, within 35 degrees of +x, 0.3-0.7 m above the ball's centre."""
    rng = np.random.default_rng(seed)
    lows, highs = [18, 0.15, -np.deg2rad(35), 0.3], [32, 0.35, np.deg2rad(35), 0.7]
    return [pushed(robot, *rng.uniform(lows, highs)) for _ in range(count)]
