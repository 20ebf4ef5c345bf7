"""What else pushes the robot: a momentum observer, and the forecast that plans reckon with."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.numerics.compiled.buffered import BufferedFunction
from trundle.parameters import Checked, NonNegative, Positive, parameter
from trundle.systems.wallbounce.control.costs import PUSH
from trundle.systems.wallbounce.robot import BallBalancer


@dataclass(frozen=True)
class ObserverRules(Checked):
    """How fast a push is learnt, and for how long plans expect it to last."""

    filter: Positive = parameter(0.02, "s, time constant of the estimate")
    memory: NonNegative = parameter(0.08, "s, time constant in which plans expect it to fade; 0: plans expect none")
    threshold: NonNegative = parameter(40.0, "N, horizontal; what errors of the model seem to push")


class MomentumObserver:
    """Estimates the push on a ball balancer from its momenta, drive and hands' forces (final).

        p' = rate(x, f_d, t_z, f_hands) + w,   w_hat' = (p' - rate - w_hat) / T

    for the momenta p = (l, h): no acceleration is measured.

    Parameters
    ----------
    robot : BallBalancer
    rules : ObserverRules
    period : float, s
        Of the calls.

    Notes
    -----
    Source: De Luca and Mattone, Sensorless robot collision detection and hybrid force/motion control, ICRA 2005.
    """

    def __init__(self, robot: BallBalancer, rules: ObserverRules, period: float) -> None:
        self.rules, self.period = rules, period
        x, u, f = ca.SX.sym("x", 16), ca.SX.sym("u", 3), ca.SX.sym("f", 6)
        rate = robot.rate(x, u[:2], u[2], ca.vertsplit(f, 3), ca.SX(6, 1))[11:]
        self._rate = BufferedFunction(ca.Function("rate", [x, u, f], [rate]))
        self.reset()

    def reset(self) -> None:
        """Forget the push."""
        self.push = np.zeros(PUSH)
        self._told: FloatArray | None = None

    def update(self, state: FloatArray, command: FloatArray, forces: FloatArray) -> None:
        """Take the state x (16,), what the drive does from now on (f_d (2), t_z), and the hands' forces (6,)."""
        if self._told is not None:
            share = self.period / (self.rules.filter + self.period)
            self.push = self.push + share * ((state[11:] - self._told) / self.period - self.push)
        self._told = state[11:] + self.period * self._rate(state, command[:3], forces)[0]

    def forecast(self, times: FloatArray) -> FloatArray:
        """Return the push (n, 5) expected at `times` (s) from now: what exceeds the threshold, fading."""
        size = float(np.linalg.norm(self.push[:2]))
        if self.rules.memory == 0.0 or size <= self.rules.threshold:
            return np.zeros((len(times), PUSH))
        return np.exp(-times / self.rules.memory)[:, None] * (1.0 - self.rules.threshold / size) * self.push
