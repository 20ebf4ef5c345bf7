"""Pairs and references that the tests of controllers share; weights are those of the benchmark."""

from __future__ import annotations

from itertools import pairwise

import casadi as ca
import numpy as np

import trundle as tr
from bench.control import Q as Q
from bench.control import R as R
from bench.control import flow as flow
from trundle.control.regulators.linearization import dynamics_of
from trundle.control.regulators.local_error import LocalError
from trundle.control.regulators.rolling_state import in_rolling_coordinates
from trundle.records.reference import Reference


def ball_on_plate(law: str = "rolling", **options) -> tr.RollingPair:
    """The ball of Woodruff & Lynch's plate, on a hand that may move."""
    ball = tr.RigidBody(tr.Sphere(radius=0.035), mass=0.216)
    return tr.RollingPair(ball, tr.Hand(tr.Plane()), law=law, friction=0.5, **options)


def rate_function(error: LocalError) -> ca.Function:
    """x' = f(x, u) in rolling coordinates."""
    return ca.Function("rate", [error.model.x, error.model.u], [dynamics_of(error).xdot])


def plate_reference(pair: tr.RollingPair, duration: float = 1.4, samples: int = 140) -> Reference:
    """The ball rolls out by some 4 cm and back, with a smaller loop aside, while the plate yaws by a radian.

    A displacement X sin(pi t / T)^4 asks for a tilt of 7 / (5 g) times its second derivative.
    """
    start = in_rolling_coordinates(pair, pair.place())
    error = LocalError(pair, start.atlas)
    rate, times = rate_function(error), np.linspace(0, duration, samples + 1)

    def inputs(t: float) -> np.ndarray:
        w = np.pi / duration
        s = w * t
        fourth = 8 * w**4 * (4 * np.cos(4 * s) - np.cos(2 * s))
        twice = 8 * (2 * w) ** 4 * (4 * np.cos(8 * s) - np.cos(4 * s))
        yaw = 3.0 * np.sin(2 * s) / duration**2
        return np.array([-0.005 * twice / 7, 0.04 * fourth / 7, yaw, 0.3 * np.sin(2 * s), -0.2 * np.sin(2 * s), 0.0])

    nodes = np.array([inputs(t) for t in times])
    x, states, pieces = start.x, [start.x], 10
    for before, after in pairwise(nodes):
        for j in range(pieces):
            x = flow(rate, x, before + (after - before) * (j + 0.5) / pieces, duration / samples / pieces, 1)
        states.append(x)
    return Reference(times, np.array(states), nodes, start.atlas)


class Watched:
    """A policy that notes what it saw and what it said."""

    def __init__(self, policy) -> None:
        self.policy, self.period = policy, policy.period
        self.times, self.states, self.inputs = [], [], []

    def reset(self) -> None:
        """Forget the last run."""
        self.policy.reset()
        self.times, self.states, self.inputs = [], [], []

    def __call__(self, time: float, state: np.ndarray) -> np.ndarray:
        """Note, and pass on."""
        u = self.policy(time, state)
        self.times.append(time)
        self.states.append(state)
        self.inputs.append(u)
        return u


def ellipse_on_plate(a: float = 0.0377, b: float = 0.0252, heavier: float = 1.0, center=None) -> tr.RollingPair:
    """The paper's ellipse on a plate, under 40 % of gravity."""
    inertia = heavier * 0.0553 * (a * a + b * b) / 4
    body = tr.RigidBody(tr.Ellipse((a, b)), mass=0.0553, inertia=inertia, center_of_mass=center)
    return tr.RollingPair(body, tr.Hand(tr.Line()), friction=0.8, gravity=0.4 * 9.81)


Q_ELLIPSE = {"hand_rotation": 1.0, "hand_position": 1.0, "object_rotation": 10.0, "hand_angular_velocity": 0.1,
             "hand_velocity": 0.1, "relative_velocity": 1.0}  # fmt: skip
