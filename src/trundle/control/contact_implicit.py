"""Contact-implicit predictive control of a ball balancer: the plan finds its contacts through a soft force."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, integer, positive
from trundle.contact.soft import SoftLaw, SoftTouch, Wall, normal_force
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
from trundle.models.ball_balancer import BallBalancer
from trundle.numerics.ilqr import ControlProblem, ControlSolution, Guess, Limits, Optimiser, midpoint

__all__ = ["HOMOTOPY", "ContactImplicit", "Disc", "Weights"]

HOMOTOPY = ((0.15, 0.1), (0.08, 0.06), (0.04, 0.03))
"""(s, d_0), m: wide to narrow laws solved one after another at an event, before the wanted one."""

_NEAR = 0.02  # m a hand may enter a wall before the barrier's curve counts


_LAW, _WEIGHTS = SoftLaw(), Weights()
_UPDATE, _EVENT = Limits(5), Limits(15)


@dataclass(frozen=True, eq=False)
class ContactImplicit:
    """The contact-implicit problem of a robot near walls, compiled once for all weights, laws, walls and references.

    State as in `BallBalancer`; inputs u = (f_d (2), t_z, qdot (6), u_t (2) for each hand and wall): N, N m, rad/s, 1.
    The hands' forces follow from the distance: f = sum_w f_n (n + u_1 t_1 + u_2 t_2), |u_t| <= mu.

    Parameters
    ----------
    robot : BallBalancer
    walls : int
        Most walls at once; fewer may be given to a call.
    stages : int
        N.
    step : float, s
    torso_margins : (2,) m
        Least distance of the ball's centre and of the body at 1.05 m from a wall.
    least_normal : float, N
        Of the floor.

    Notes
    -----
    Source: Wall-bouncing paper, section IV; costs reconstructed.
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
    def nu(self) -> int:
        """Number of inputs."""
        return 9 + 4 * self.walls

    def parameters(
        self,
        reference: Any,
        walls: Sequence[Wall] = (),
        law: SoftLaw = _LAW,
        weights: Weights = _WEIGHTS,
        disc: Disc | None = None,
    ) -> FloatArray:
        """Return the parameters (N + 1, n_p) of a call.

        Parameters
        ----------
        reference : (16,) or (N + 1, 16)
            x_ref of each stage.
        walls : sequence of Wall
        law : SoftLaw
        weights : Weights
        disc : Disc, optional

        Raises
        ------
        InputError
            If there are more walls than compiled for, or a shape does not fit.
        """
        head = np.array([law.largest, law.width, law.offset])
        return packed(reference, self.stages, head, weights, disc, walls, self.walls)

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
        """(x, u, p) -> distances, normal forces (hands x walls), forces on the hands (3, 2), floor's (f, N)."""
        return self._build()[1]

    def still(self, x: Any) -> Guess:
        """Return the guess without any contact: the robot at rest where it is, upright, all inputs zero."""
        rest = np.array(x, dtype=np.float64)
        rest[3:5], rest[11:] = 0.0, 0.0
        return Guess(np.zeros((self.stages, self.nu)), np.tile(rest, (self.stages + 1, 1)))

    def solve(self, x: Any, parameters: FloatArray, guess: Guess, limits: Limits = _UPDATE) -> ControlSolution:
        """Return the plan from the measured state; see `Optimiser.solve`."""
        return self.optimiser.solve(x, parameters, guess, limits)

    def discover(
        self, x: Any, parameters: FloatArray, guess: Guess, limits: Limits = _EVENT, path: Any = HOMOTOPY
    ) -> ControlSolution:
        """Return the plan found by homotopy: with each wider law of `path`, then with the law of `parameters`.

        `limits` hold for each law. A law that is wider than the one before it is skipped, as is one narrower than
        the wanted one.
        """
        wanted, solution = float(parameters[0, 17]), None
        for width, offset in path:
            if width <= wanted:
                continue
            p = parameters.copy()
            p[:, 17], p[:, 18] = width, offset
            solution = self.solve(x, p, guess, limits)
            if np.all(np.isfinite(solution.states)) and np.isfinite(solution.cost):
                guess = solution.guess()
        return self.solve(x, parameters, guess, limits)

    def _build(self) -> tuple[ControlProblem, ca.Function]:
        robot = self.robot
        x, u = ca.SX.sym("x", 16), ca.SX.sym("u", self.nu)
        p = ca.SX.sym("p", parameter_count(3, self.walls))
        w, disc, planes = unpacked(p, 3, self.walls)
        drive, yaw, joint_rates = u[:2], u[2], u[3:9]
        touches, presses, forces = self._touches(x, u, joint_rates, planes, p[16:19])
        rate = robot.rate(x, drive, yaw, forces, joint_rates)
        kept = keep_out(robot, x, planes, disc, w, self.torso_margins)
        stage, end = state_cost(x, p[:16], w, kept), state_cost(x, p[:16], w, kept, w["end"])
        residuals = [(drive, w["drive"]), (yaw, w["yaw_torque"]), (joint_rates, w["joint_rates"])]
        residuals += [(u[9:], w["direction"]), (ca.vertcat(*presses), w["force"])]
        barriers = motion_limits(robot, x, u, forces, w["limits"], self.least_normal)
        for at in range(9, self.nu, 2):
            barriers.append((1.0 - ca.sumsqr(u[at : at + 2]) / robot.hand_friction**2, w["limits"], 0.02))
        for touch, press in zip(touches, presses, strict=True):
            residuals += [(touch.no_slip(press, p[16]), w["slip"]), (touch.landing(), w["landing"])]
            barriers.append((touch.distance + _NEAR, w["outside"], 0.01))
        step, jacobian = midpoint(rate, x, u, self.step)
        problem = ControlProblem(
            x,
            u,
            p,
            step,
            stacked_cost([*stage[0], *residuals], [*stage[1], *barriers]),
            stacked_cost(*end),
            self.stages,
            jacobian,
        )
        distances = ca.vertcat(*(touch.distance for touch in touches))
        floor = robot.floor(x, drive, yaw, forces, joint_rates)
        outputs = [distances, ca.vertcat(*presses), ca.horzcat(*forces), ca.vertcat(*floor)]
        return problem, ca.Function("observe", [x, u, p], outputs)

    def _touches(
        self, x: ca.SX, u: ca.SX, joint_rates: ca.SX, planes: list[ca.SX], law: ca.SX
    ) -> tuple[list[SoftTouch], list[ca.SX], list[ca.SX]]:
        robot, touches, presses, forces = self.robot, [], [], []
        center = ca.vertcat(x[:2], robot.ball_radius)
        for i, ((r, _), v) in enumerate(zip(robot.hands(x), robot.hand_velocities(x, joint_rates), strict=True)):
            force = ca.SX(3, 1)
            for j, plane in enumerate(planes):
                touch = SoftTouch(center + r, v, robot.hand_radius, plane)
                press = normal_force(touch.distance, law[0], law[1], law[2])
                at = 9 + 2 * (i * self.walls + j)
                force += touch.force(press, u[at : at + 2])
                touches.append(touch)
                presses.append(press)
            forces.append(force)
        return touches, presses, forces
