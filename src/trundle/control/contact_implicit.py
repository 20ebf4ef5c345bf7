"""Contact-implicit predictive control of a ball balancer: the plan finds its contacts through a soft force."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, array, integer, positive
from trundle.contact.soft import SoftLaw, SoftTouch, Wall, normal_force
from trundle.errors import InputError
from trundle.models.ball_balancer import BallBalancer
from trundle.numerics.ilqr import ControlProblem, ControlSolution, Cost, Guess, Limits, Optimiser, midpoint

__all__ = ["HOMOTOPY", "ContactImplicit", "Disc", "Weights"]

HOMOTOPY = ((0.15, 0.1), (0.08, 0.06), (0.04, 0.03))
"""(s, d_0), m: wide to narrow laws solved one after another at an event, before the wanted one."""

_NO_WALL = np.concatenate([[0.0, 0.0, 1.0, -1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # a plane out of reach, below
_NEAR = 0.02  # m a hand may enter a wall before the barrier's curve counts


@dataclass(frozen=True)
class Weights:
    """Weights of the costs; w multiplies 1/2 e^2 of SI residuals, or a relaxed barrier.

    Attributes
    ----------
    position, yaw, lean, joints, linear, angular : float
        Of x - x_ref: of O, yaw, pitch and roll, joint angles, l and h.
    drive, yaw_torque, joint_rates, direction, force : float
        Of f_d, t_z, qdot, u_t and the normal forces.
    slip, landing : float
        Of f_n / f_max v_t and of the landing speed.
    limits, outside, torso, disc, disc_top : float
        Of the barriers: limits of inputs, joints and floor; hands outside walls; torso's distance from walls; ball and
        torso's top outside the disc.
    end : float
        The end's weights are this many times those of a stage.
    """

    position: float = 40.0
    yaw: float = 20.0
    lean: float = 20.0
    joints: float = 0.15
    linear: float = 0.02
    angular: float = 0.3
    drive: float = 0.004
    yaw_torque: float = 0.05
    joint_rates: float = 0.05
    direction: float = 1.0
    force: float = 0.02
    slip: float = 20.0
    landing: float = 6.0
    limits: float = 0.3
    outside: float = 0.1
    torso: float = 2.0
    disc: float = 4.0
    disc_top: float = 8.0
    end: float = 0.9

    @property
    def numbers(self) -> FloatArray:
        """All weights in the order of the fields."""
        return array("weights", [getattr(self, name) for name in self.__dataclass_fields__], (None,), minimum=0.0)


@dataclass(frozen=True)
class Disc:
    """A vertical cylinder to stay out of, with the robot's own width added: centre (2,) and radius, m."""

    center: Any
    radius: float

    @property
    def numbers(self) -> FloatArray:
        """(x, y, radius)."""
        return np.array([*array("center", self.center, (2,), unit="m"), positive("radius", self.radius, "m")])


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
        if len(walls) > self.walls:
            raise InputError("walls", len(walls), f"at most {self.walls}, the number compiled for")
        planes = [wall.numbers for wall in walls] + [_NO_WALL] * (self.walls - len(walls))
        if disc is None:
            disc, weights = Disc((10.0, 0.0), 1.0), replace(weights, disc=0.0, disc_top=0.0)
        same = np.concatenate([[law.largest, law.width, law.offset], weights.numbers, disc.numbers, *planes])
        wanted = np.asarray(reference, dtype=np.float64)
        if wanted.shape not in ((16,), (self.stages + 1, 16)):
            raise InputError("reference", wanted.shape, f"a state of 16 or {self.stages + 1} of them")
        rows = np.empty((self.stages + 1, 16 + same.size))
        rows[:, :16], rows[:, 16:] = wanted, same
        return rows

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
        robot, weights = self.robot, list(Weights.__dataclass_fields__)
        x, u = ca.SX.sym("x", 16), ca.SX.sym("u", self.nu)
        n_p = 16 + 3 + len(weights) + 3 + 10 * self.walls
        p = ca.SX.sym("p", n_p)
        w = {name: p[19 + i] for i, name in enumerate(weights)}
        after = 19 + len(weights)
        disc, first = p[after : after + 3], after + 3
        planes = [p[first + 10 * i : first + 10 * (i + 1)] for i in range(self.walls)]
        drive, yaw, joint_rates = u[:2], u[2], u[3:9]
        touches, presses, forces = self._touches(x, u, joint_rates, planes, p[16:19])
        rate = robot.rate(x, drive, yaw, forces, joint_rates)
        stage = _state_cost(x, p[:16], w, self._keep_out(x, planes, disc, w))
        residuals = [(drive, w["drive"]), (yaw, w["yaw_torque"]), (joint_rates, w["joint_rates"])]
        residuals += [(u[9:], w["direction"]), (ca.vertcat(*presses), w["force"])]
        barriers = self._limits(x, u, forces, w)
        for touch, press in zip(touches, presses, strict=True):
            residuals += [(touch.no_slip(press, p[16]), w["slip"]), (touch.landing(), w["landing"])]
            barriers.append((touch.distance + _NEAR, w["outside"], 0.01))
        step, jacobian = midpoint(rate, x, u, self.step)
        end = _state_cost(x, p[:16], w, self._keep_out(x, planes, disc, w), w["end"])
        problem = ControlProblem(
            x, u, p, step, _cost([*stage[0], *residuals], [*stage[1], *barriers]), _cost(*end), self.stages, jacobian
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

    def _limits(self, x: ca.SX, u: ca.SX, forces: list[ca.SX], w: dict[str, ca.SX]) -> list[tuple[Any, Any, float]]:
        robot, m = self.robot, w["limits"]
        rows: list[tuple[Any, Any, float]] = []
        for value, low, high, share in (
            (u[:2], -robot.drive_limit, robot.drive_limit, 1.0),
            (u[2], -robot.yaw_limit, robot.yaw_limit, 1.0),
            (u[3:9], -robot.joint_rate_limit, robot.joint_rate_limit, 1.0),
            (x[5:11], np.tile(robot.joint_lower, 2), np.tile(robot.joint_upper, 2), 0.2),  # not to shift the rest
        ):
            half = 0.5 * (np.asarray(high) - np.asarray(low))
            rows += [((value - low) / half, share * m, 0.02), ((high - value) / half, share * m, 0.02)]
        for at in range(9, self.nu, 2):
            rows.append((1.0 - ca.sumsqr(u[at : at + 2]) / robot.hand_friction**2, m, 0.02))
        # The body's own vertical acceleration is of second order in its lean: it is left out of the floor's load.
        lift = sum((f[2] for f in forces), ca.SX(0))
        weight = (robot.mass + robot.ball_mass) * robot.gravity
        normal = weight - lift
        cone = robot.floor_friction * normal - ca.sqrt(ca.sumsqr(u[:2]) + 1.0)
        return [*rows, ((normal - self.least_normal) / weight, m, 0.02), (cone / weight, m, 0.02)]

    def _keep_out(
        self, x: ca.SX, planes: list[ca.SX], disc: ca.SX, w: dict[str, ca.SX]
    ) -> list[tuple[Any, Any, float]]:
        robot, rows = self.robot, []
        lean = robot.state(x).R_world_body[:, 2]
        center = ca.vertcat(x[:2], robot.ball_radius)
        for plane in planes:
            for height, margin in zip((0.0, 1.05), self.torso_margins, strict=True):
                rows.append((ca.dot(plane[:3], center + height * lean) - plane[3] - margin, w["torso"], 0.03))
        for height, weight in ((0.0, w["disc"]), (0.95, w["disc_top"])):
            away = x[:2] + height * lean[:2] - disc[:2]
            rows.append((ca.sqrt(ca.sumsqr(away) + 1e-6) - disc[2], weight, 0.03))
        return rows


def _state_cost(
    x: ca.SX, reference: ca.SX, w: dict[str, ca.SX], keep_out: list[tuple[Any, Any, float]], share: Any = 1.0
) -> tuple[list[tuple[Any, Any]], list[tuple[Any, Any, float]]]:
    e = x - reference
    parts = (
        ("position", 0, 2),
        ("yaw", 2, 3),
        ("lean", 3, 5),
        ("joints", 5, 11),
        ("linear", 11, 13),
        ("angular", 13, 16),
    )
    residuals = [(e[a:b], share * w[name]) for name, a, b in parts]
    return residuals, [(h, share * m, delta) for h, m, delta in keep_out]


def _cost(residuals: list[tuple[Any, Any]], barriers: list[tuple[Any, Any, float]]) -> Cost:
    e = ca.vertcat(*(ca.vertcat(r) for r, _ in residuals))
    weights = ca.vertcat(*(ca.repmat(ca.SX(weight), ca.vertcat(r).numel(), 1) for r, weight in residuals))
    h = ca.vertcat(*(ca.vertcat(r) for r, *_ in barriers))
    mu = ca.vertcat(*(ca.repmat(ca.SX(m), ca.vertcat(r).numel(), 1) for r, m, _ in barriers))
    delta = ca.vertcat(*(ca.repmat(ca.SX(d), ca.vertcat(r).numel(), 1) for r, _, d in barriers))
    return Cost(e, weights, h, mu, delta)
