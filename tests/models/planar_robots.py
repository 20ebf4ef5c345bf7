"""Robots that several tests use."""

from __future__ import annotations

from typing import Any

import trundle as tr


def rover(
    terrain: Any = None,
    wheel: Any = None,
    friction: float = 0.8,
    sides: tuple[str, ...] = ("rear", "front"),
    **rules: Any,
) -> tr.RollingTree:
    """A base on legs with a hip, a knee and a wheel each."""
    robot = tr.Robot(**rules)
    base = robot.free(20.0, 1.2)
    hips = {"rear": -0.35, "front": 0.35, "middle": 0.0}
    for side in sides:
        thigh = robot.revolute(base, (hips[side], 0), 2.0, 0.02, center_of_mass=(0, -0.16), name=f"thigh_{side}")
        shin = robot.revolute(thigh, (0, -0.32), 1.5, 0.015, center_of_mass=(0, -0.16), name=f"shin_{side}")
        robot.revolute(shin, (0, -0.32), 1.5, shape=wheel or tr.Circle(0.12), name=f"wheel_{side}")
    robot.terrain(terrain or tr.Sinusoid(0.06, 0.8), friction)
    return robot.finish()


def leg(friction: float = 0.8, **rules: Any) -> tr.RollingTree:
    """A shin on an elliptic foot on a hill."""
    robot = tr.Robot(**rules)
    foot = robot.free(2.0, 0.03, shape=tr.Ellipse([0.25, 0.06]), name="foot")
    robot.revolute(foot, (0.0, 0.02), 3.0, 0.04, center_of_mass=(0.0, 0.2), name="shin")
    robot.terrain(tr.Parabola(-0.1), friction)
    return robot.finish()
