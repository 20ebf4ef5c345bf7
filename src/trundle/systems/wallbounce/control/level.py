"""A level of a ball balancer's predictive control: the problem both share, compiled once, and its shortest calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, integer
from trundle.contact.soft import SoftTouch
from trundle.contact.walls import FLAT, Surface
from trundle.numerics.ilqr import ControlProblem, Guess, Optimiser, midpoint
from trundle.parameters import Period, Range, check_parameters, parameter
from trundle.systems.wallbounce.control.costs import (
    BODY,
    Balance,
    BalancerWeights,
    Residual,
    Row,
    Unpacked,
    balance,
    end_cost,
    kept_out,
    kept_up,
    motion_limits,
    parameter_count,
    stacked_cost,
    stage_cost,
    unpack_parameters,
)
from trundle.systems.wallbounce.robot import BallBalancer
from trundle.threads import cached_property

_DAMPING = 0.1
"""Soft contacts bend the costs: measured over warm starts, this wastes fewest roll-outs."""


class ContactTerms(NamedTuple):
    """What a level says of its contacts: normal forces of the pairs, forces on the hands, costs, barriers."""

    presses: list[ca.SX]
    forces: list[ca.SX]
    residuals: list[Residual]
    barriers: list[Row]


@dataclass(frozen=True, eq=False)
class BalancerLevel(ABC):
    """A robot near walls over N stages, compiled once for all weights, walls, references and keep-outs.

    State as in `BallBalancer`; inputs u = (f_d (2), t_z, qdot (6), those of each pair): N, N m, rad/s. Pairs of a hand
    and a wall: the left hand with each wall, then the right one.

    A subclass gives the sizes `inputs_of_pair` and `head`, and `contacts`.

    Parameters
    ----------
    robot : BallBalancer
    walls : int
        Most walls at once; fewer may be given to a call.
    least_normal : float, N
        Of the floor.
    discs : int
        Most discs at once.
    surface : Surface
        Kind of the walls: `FLAT`, `ROUND` (planes, pillars, balls, hollows; times in `bench.ilqr`) or a `Formula`.
    """

    robot: BallBalancer = field(default_factory=BallBalancer)
    walls: int = 1
    stages: Annotated[int, Range("an integer from 2 to 200", minimum=1, in_files=(2, 200))] = parameter(25, "of a plan")
    step: Period = parameter(0.04, "s, of a stage")
    least_normal: float = 30.0
    surface: Surface = FLAT
    discs: int = 1

    def __post_init__(self) -> None:
        integer("walls", self.walls, minimum=1)
        integer("discs", self.discs, minimum=0)
        check_parameters(self)

    @property
    @abstractmethod
    def inputs_of_pair(self) -> int:
        """Number of inputs of a hand and a wall."""

    @property
    @abstractmethod
    def head(self) -> int:
        """Number of the level's own parameters of a stage."""

    @abstractmethod
    def contacts(self, touches: list[SoftTouch], inputs: list[ca.SX], given: Unpacked) -> ContactTerms:
        """Return what follows from the pairs' touches and inputs."""

    @property
    def pairs(self) -> int:
        """Number of pairs of a hand and a wall."""
        return 2 * self.walls

    @property
    def nu(self) -> int:
        """Number of inputs."""
        return 9 + self.inputs_of_pair * self.pairs

    @cached_property
    def problem(self) -> ControlProblem:
        """The stages as the optimiser reads them."""
        return self._built[0]

    @cached_property
    def optimiser(self) -> Optimiser:
        """The compiled problem."""
        return Optimiser(self.problem, _DAMPING)

    @property
    def observe(self) -> ca.Function:
        """(x, u, p) -> what happens at a stage.

        Distances (pairs,), m; normal forces (pairs,), N; forces on the hands (3, 2), N; the floor's on the ball
        (f (2), N) (3,), N; velocities of the hands at each wall (3, pairs), m/s; their speeds along it (pairs,), m/s,
        of whatever curvature. World axes.
        """
        return self._built[1]

    @cached_property
    def _built(self) -> tuple[ControlProblem, ca.Function]:
        robot = self.robot
        x, u = ca.SX.sym("x", 16), ca.SX.sym("u", self.nu)
        p = ca.SX.sym("p", parameter_count(self.head, self.discs, self.walls, self.surface))
        given = unpack_parameters(p, self.head, self.discs, self.walls, self.surface)
        w, (drive, yaw, joint_rates) = given.weights, (u[:2], u[2], u[3:9])
        touches = self.touches(x, joint_rates, given.walls)
        own = self.contacts(touches, ca.vertsplit(u[9:], self.inputs_of_pair), given)
        kept = [*kept_out(robot, x, given, self.surface), *kept_up(robot, x, given)]
        residuals = [(drive, w["drive"]), (yaw, w["yaw_torque"]), (joint_rates, w["joint_rates"]), *own.residuals]
        barriers = [*motion_limits(robot, x, u, own.forces, w["limits"], self.least_normal), *own.barriers]
        # Arms weigh as in the reference: else plans balance with them, and the model lacks what it takes to move them.
        rate = robot.rate(x, drive, yaw, own.forces, joint_rates, given.reference[5:11])
        rate += ca.vertcat(ca.SX(11, 1), given.push)
        step, jacobian = midpoint(rate, x, u, self.step)
        along = stacked_cost([*stage_cost(x, given.reference, w), *residuals], [*kept, *barriers])
        end = stacked_cost(*end_cost(x, given, kept))
        problem = ControlProblem(x, u, p, step, along, end, self.stages, jacobian)
        floor = ca.vertcat(*robot.floor(x, drive, yaw, own.forces, joint_rates))
        distances = ca.vertcat(*(touch.distance for touch in touches))
        velocities = ca.horzcat(*(touch.velocity for touch in touches))
        slips = ca.vertcat(*(ca.sqrt(ca.sumsqr(touch.slip)) for touch in touches))
        seen = [distances, ca.vertcat(*own.presses), ca.horzcat(*own.forces), floor, velocities, slips]
        return problem, ca.Function("observe", [x, u, p], seen)

    def balance(self, weights: BalancerWeights) -> Balance:
        """Return `costs.balance` of weights, worked out once."""
        if weights not in self._balances:
            self._balances[weights] = balance(self.robot, weights, self.step)
        return self._balances[weights]

    @cached_property
    def _balances(self) -> dict[BalancerWeights, Balance]:
        return {}

    def balancing(self, reference: FloatArray, weights: BalancerWeights) -> Guess:
        """Return the guess that balances on the drive alone, arms held: rolled out from any state it stays bounded."""
        gains = np.zeros((self.stages, self.nu, 16))
        gains[:, :3, BODY] = -self.balance(weights).gain
        return Guess(np.zeros((self.stages, self.nu)), np.broadcast_to(reference, (self.stages + 1, 16)), gains)

    def touches(self, x: ca.SX, joint_rates: ca.SX, walls: list[ca.SX]) -> list[SoftTouch]:
        """Return the touches of all pairs."""
        center = ca.vertcat(x[:2], self.robot.ball_radius)
        hands = zip(self.robot.hands(x), self.robot.hand_velocities(x, joint_rates), strict=True)
        radius, surface = self.robot.hand_radius, self.surface
        return [SoftTouch(center + r, v, radius, wall, surface) for (r, _), v in hands for wall in walls]
