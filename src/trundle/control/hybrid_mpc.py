"""Hybrid predictive control of a ball balancer: contacts by a given schedule, their forces as inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, integer, positive
from trundle.contact.soft import SoftTouch, Wall
from trundle.control.balancer_costs import (
    Disc,
    Weights,
    keep_out,
    motion_limits,
    packed,
    parameter_count,
    stacked_cost,
    state_cost,
    unpacked,
)
from trundle.errors import InputError
from trundle.models.ball_balancer import BallBalancer
from trundle.numerics.ilqr import ControlProblem, ControlSolution, Guess, Limits, Optimiser, midpoint

__all__ = ["HybridControl"]

_VELOCITY, _DISTANCE = 2e3, 2e4
"""Penalties of a closed contact's velocity and distance."""
_WEIGHTS, _UPDATE = Weights(), Limits(3)


@dataclass(frozen=True, eq=False)
class HybridControl:
    """The problem with a fixed schedule, compiled once for all schedules: flags are parameters of the stages.

    Inputs u = (f_d (2), t_z, qdot (6), (f_n, f_1, f_2) for each hand and wall): N, N m, rad/s, N. Closed contact:
    v_n = v_t = 0 and d = 0 by strong penalties, |f_t| <= mu f_n, 0 <= f_n <= f_max; open: no force, d >= 0.

    Parameters
    ----------
    robot : BallBalancer
    walls : int
        Most walls at once.
    stages : int
        N.
    step : float, s
    torso_margins : (2,) m
    least_normal : float, N
        Of the floor.

    Notes
    -----
    Source: Wall-bouncing paper, section IV-D.
    """

    robot: BallBalancer = field(default_factory=BallBalancer)
    walls: int = 1
    stages: int = 25
    step: float = 0.04
    torso_margins: tuple[float, float] = (0.20, 0.18)
    least_normal: float = 30.0

    def __post_init__(self) -> None:
        integer("walls", self.walls, minimum=1)
        integer("stages", self.stages, minimum=1)
        positive("step", self.step, "s")

    @property
    def pairs(self) -> int:
        """Number of pairs of a hand and a wall: left hand with each wall, then the right one."""
        return 2 * self.walls

    @property
    def nu(self) -> int:
        """Number of inputs."""
        return 9 + 3 * self.pairs

    def parameters(
        self,
        reference: Any,
        schedule: Any,
        walls: Sequence[Wall] = (),
        largest: float = 60.0,
        weights: Weights = _WEIGHTS,
        disc: Disc | None = None,
    ) -> FloatArray:
        """Return the parameters (N + 1, n_p) of a call.

        Parameters
        ----------
        reference : (16,) or (N + 1, 16)
        schedule : (N, pairs) of bool
            See `trundle.control.schedule.contact_schedule`.
        walls : sequence of Wall
        largest : float, N
            f_max.
        weights : Weights
        disc : Disc, optional
        """
        flags = np.asarray(schedule, dtype=np.float64)
        if flags.shape != (self.stages, self.pairs) or not np.all(np.isin(flags, (0.0, 1.0))):
            raise InputError("schedule", flags.shape, f"flags of {self.stages} x {self.pairs}")
        head = np.zeros((self.stages + 1, 1 + self.pairs))
        head[:, 0], head[:-1, 1:], head[-1, 1:] = positive("largest", largest, "N"), flags, flags[-1]
        return packed(reference, self.stages, head, weights, disc, walls, self.walls)

    def seed(self, solution: ControlSolution, forces: Any, schedule: Any) -> Guess:
        """Return the guess that follows a contact-implicit plan on the same grid.

        Parameters
        ----------
        solution : ControlSolution
            Of `trundle.control.contact_implicit.ContactImplicit` with as many walls.
        forces : (N, pairs) N
            Its normal forces.
        schedule : (N, pairs) of bool
            Forces of open contacts are left out.
        """
        press = np.asarray(forces, dtype=np.float64) * np.asarray(schedule, dtype=bool)
        direction = solution.inputs[:, 9:].reshape(self.stages, self.pairs, 2)
        contact = np.concatenate([press[:, :, None], press[:, :, None] * direction], axis=2)
        inputs = np.concatenate([solution.inputs[:, :9], contact.reshape(self.stages, -1)], axis=1)
        return Guess(inputs, solution.states)

    def solve(
        self, x: Any, parameters: FloatArray, guesses: Sequence[Guess], limits: Limits = _UPDATE
    ) -> ControlSolution:
        """Return the cheapest plan of those from all guesses: the implicit plan's seed, the last own plan shifted."""
        if not guesses:
            raise InputError("guesses", 0, "at least one guess")
        found = [self.optimiser.solve(x, parameters, guess, limits) for guess in guesses]
        return min(found, key=lambda s: (s.gap > 1e-6, s.cost) if math.isfinite(s.cost) else (True, math.inf))

    @cached_property
    def problem(self) -> ControlProblem:
        """The stages as the optimiser reads them."""
        return self._build()[0]

    @cached_property
    def optimiser(self) -> Optimiser:
        """The compiled problem."""
        return Optimiser(self.problem)

    @cached_property
    def observe(self) -> ca.Function:
        """(x, u, p) -> distances (pairs,), m; velocities (3, pairs), m/s; hands' forces (3, 2), N; floor's (3,)."""
        return self._build()[1]

    def _build(self) -> tuple[ControlProblem, ca.Function]:
        robot, pairs = self.robot, self.pairs
        x, u = ca.SX.sym("x", 16), ca.SX.sym("u", self.nu)
        p = ca.SX.sym("p", parameter_count(1 + pairs, self.walls))
        w, disc, planes = unpacked(p, 1 + pairs, self.walls)
        drive, yaw, joint_rates = u[:2], u[2], u[3:9]
        residuals = [(drive, w["drive"]), (yaw, w["yaw_torque"]), (joint_rates, w["joint_rates"])]
        center = ca.vertcat(x[:2], robot.ball_radius)
        touches, forces, barriers = [], [], []
        for i, ((r, _), v) in enumerate(zip(robot.hands(x), robot.hand_velocities(x, joint_rates), strict=True)):
            total = ca.SX(3, 1)
            for j, plane in enumerate(planes):
                number = i * self.walls + j
                touch, closed = SoftTouch(center + r, v, robot.hand_radius, plane), p[17 + number]
                f = u[9 + 3 * number : 12 + 3 * number]
                total += closed * (touch.normal * f[0] + touch.tangents @ f[1:])
                touches.append(touch)
                residuals += [(f, w["force"]), (v, _VELOCITY * closed), (touch.distance, _DISTANCE * closed)]
                residuals.append((touch.landing(), w["landing"] * (1 - closed)))
                barriers += self._cone(f / p[16], closed * w["limits"])
                barriers.append((touch.distance / 0.1, w["limits"] * (1 - closed), 0.02))
            forces.append(total)
        kept = keep_out(robot, x, planes, disc, w, self.torso_margins)
        stage, end = state_cost(x, p[:16], w, kept), state_cost(x, p[:16], w, kept, w["end"])
        barriers += motion_limits(robot, x, u, forces, w["limits"], self.least_normal)
        step, jacobian = midpoint(robot.rate(x, drive, yaw, forces, joint_rates), x, u, self.step)
        along = stacked_cost([*stage[0], *residuals], [*stage[1], *barriers])
        problem = ControlProblem(x, u, p, step, along, stacked_cost(*end), self.stages, jacobian)
        floor = ca.vertcat(*robot.floor(x, drive, yaw, forces, joint_rates))
        seen = [ca.vertcat(*(t.distance for t in touches)), ca.horzcat(*(t.velocity for t in touches))]
        return problem, ca.Function("observe", [x, u, p], [*seen, ca.horzcat(*forces), floor])

    def _cone(self, share: ca.SX, weight: ca.SX) -> list[tuple[Any, Any, float]]:
        friction = self.robot.hand_friction * share[0] - ca.sqrt(ca.sumsqr(share[1:]) + 1e-6)
        return [(share[0] + 0.01, weight, 0.01), (1.0 - share[0], weight, 0.02), (friction + 0.01, weight, 0.01)]
