"""A ball that rolls on the ground from pose to pose: by torques of least square, or angular velocities of least one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, final

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, integer, positive, quaternion
from trundle.contact.laws import PURE_ROLLING, RollingLaw
from trundle.errors import SimulationError
from trundle.geometry import Plane, Sphere
from trundle.models import Robot, RollingTree, Start
from trundle.models.tree.multibody import Dynamics
from trundle.numerics.nlp.nlp import ProgramSolution, solve
from trundle.numerics.space import cross
from trundle.optimal.phase import Condition, Phase
from trundle.optimal.problem import OptimalControlProblem
from trundle.optimal.transcription.transcription import MOST_NODES, NodeTrajectory, Transcription
from trundle.parameters import Duration, Gravity, NonNegative, check_parameters, parameter
from trundle.status import Status
from trundle.threads import cached_property

_UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class BallTransfer:
    """A ball on the plane z = 0 goes from rest to rest in a given time, or at constant speed (sheet of paper 1, 10).

    ``"dynamic"``: an external torque tau (3,), world, is the input and int |tau|^2 dt the cost. With
    D = diag(I + m r^2, I + m r^2, I): D w' = tau, (x, y)' = r (w_y, -w_x), R' = [w] R. Pure rolling forbids w_z.
    ``"kinematic"``: the angular velocity (w_x, w_y), without spin, is the input and int |w|^2 dt the cost: the plate
    and ball problem, whose paths are elasticas.

    Parameters
    ----------
    radius, mass : m, kg
    inertia : float kg m2, or "solid" or "shell"
    start, goal : (2,) m
        Of the contact point.
    rotation : (4,) or None
        Quaternion (w, x, y, z) of the goal; it starts with (1, 0, 0, 0). None: as after rolling straight.
    duration : s
    law : "rolling" (spin is free) or "pure-rolling"
    model : "dynamic" or "kinematic"
    gravity : m/s2
    friction : float

    Raises
    ------
    InputError
        If a number is out of range.
    """

    radius: float
    mass: float
    goal: FloatArray
    start: FloatArray = field(default_factory=lambda: np.zeros(2))
    rotation: Any = None
    duration: Duration = parameter(1.0, "s")
    inertia: float | str = parameter("solid", "'solid', 'shell' or a moment about the centre (kg m^2)")
    law: RollingLaw = parameter("rolling", "'rolling': spin about the normal is free; 'pure-rolling': there is none")
    model: Literal["dynamic", "kinematic"] = parameter(
        "dynamic",
        "'dynamic': least int |torque|^2 dt; 'kinematic': least int |angular velocity|^2 dt, without spin",
    )
    gravity: Gravity = parameter(9.81, "m/s^2, downward")
    friction: NonNegative = parameter(1.0, "Coulomb's coefficient; a slip ends the replay")

    def __post_init__(self) -> None:
        for name, unit in (("radius", "m"), ("mass", "kg")):
            object.__setattr__(self, name, positive(name, getattr(self, name), unit))
        check_parameters(self)
        for name in ("start", "goal"):
            object.__setattr__(self, name, array(name, getattr(self, name), (2,), unit="m"))
        turned = self.straight_roll if self.rotation is None else quaternion("rotation", self.rotation)
        object.__setattr__(self, "rotation", turned)

    @property
    def straight_roll(self) -> FloatArray:
        """Quaternion (4,) after rolling straight from start to goal without spin."""
        displacement = self.goal - self.start
        length = float(np.linalg.norm(displacement))
        if length == 0.0:
            return np.array([1.0, 0.0, 0.0, 0.0])
        half = length / self.radius / 2
        return np.array([np.cos(half), *(np.sin(half) * np.array([-displacement[1], displacement[0], 0.0]) / length)])

    @property
    def straight_cost(self) -> float:
        """Least int |tau|^2 dt, N2 m2 s, of the straight roll: 12 (I + m r^2)^2 (d/r)^2 / T^3, exact."""
        turn = float(np.linalg.norm(self.goal - self.start)) / self.radius
        return 12 * (self.moment + self.mass * self.radius**2) ** 2 * turn**2 / self.duration**3

    @cached_property
    def robot(self) -> RollingTree:
        """The ball as `simulate` takes it."""
        robot = Robot((0.0, 0.0, -self.gravity), law=self.law)
        robot.free(self.mass, self.inertia, shape=Sphere(self.radius), actuated=True, name="ball")
        robot.terrain(Plane(), self.friction)
        return robot.finish()

    @property
    def moment(self) -> float:
        """Moment of inertia about the centre, kg m2."""
        return float(np.mean(self.robot.tree.specs[1].inertia))

    @cached_property
    def dynamics(self) -> Dynamics:
        """Equations of motion under the torque."""
        return self.robot.system.model().dynamics(self.law)

    def place(self, angular_velocity: ArrayLike = (0.0, 0.0, 0.0)) -> Start:
        """Return the start of a simulation, rolling with an angular velocity (3,), rad/s, world."""
        at = (*self.start, self.radius)
        return self.robot.place(ball=at, rates={"ball": array("angular_velocity", angular_velocity, (3,))})

    @cached_property
    def problem(self) -> OptimalControlProblem:
        """The problem as transcriptions take it; the state is the simulated one, or its pose alone (kinematic)."""
        return OptimalControlProblem([self._dynamic() if self.model == "dynamic" else self._kinematic()])

    def _where(self, quantity: str) -> slice:
        return self.robot.system.model().layout[f"ball.{quantity}"]

    def _goal_conditions(self, x: ca.SX) -> list[Condition]:
        """Conditions of the goal's place and orientation: twice the vector part of q_goal* q is zero."""
        q, goal = x[self._where("orientation")], self.rotation
        away = goal[0] * q[1:] - q[0] * goal[1:] - ca.cross(ca.SX(ca.DM(goal[1:])), q[1:])
        place = x[self._where("position")][:2] / self.radius
        return [
            Condition("goal position", place, self.goal / self.radius, self.goal / self.radius),
            Condition("goal rotation", 2 * away),
        ]

    def _dynamic(self) -> Phase:
        d, x0 = self.dynamics, np.asarray(self.place().x)
        # A ball that may not spin has no velocity about the normal: saying so at the end would say it twice.
        spins = 2 if self.law == PURE_ROLLING.name else 3
        rest = d.x[self._where("angular_velocity")][:spins]
        unit = self.mass * self.radius**2
        return Phase(
            name="roll",
            x=d.x,
            u=d.u,
            rate=ca.substitute(d.xdot, d.u, unit * d.u),
            duration=self.duration,
            running=ca.sumsqr(d.u),
            start=[Condition("start", d.x, x0, x0)],
            end=[*self._goal_conditions(d.x), Condition("rest", rest)],
        )

    def _kinematic(self) -> Phase:
        model, d = self.robot.system.model(), self.dynamics
        size = self._where("orientation").stop
        pose, u = d.x[:size], ca.SX.sym("w", 2)
        w = ca.vertcat(u, 0)
        v = cross(w, ca.SX(ca.DM(self.radius * _UP)))
        moving = ca.SX(d.x)
        moving[self._where("angular_velocity")], moving[self._where("velocity")] = w, v
        rate = ca.substitute(d.xdot[:size], model.x, moving)
        x0 = np.asarray(self.place().x)[:size]
        return Phase(
            name="roll",
            x=pose,
            u=u,
            rate=rate,
            duration=self.duration,
            running=ca.sumsqr(u),
            start=[Condition("start", pose, x0, x0)],
            end=self._goal_conditions(pose),
        )


@final
@dataclass(frozen=True, eq=False)
class BallPlan:
    """The best local optimum found.

    Attributes
    ----------
    task : BallTransfer
    times, states, inputs : (N + 1,) s, (N + 1, n_x), (N + 1, n_u)
        Inputs, linear between the nodes, are torques (N m) or angular velocities (rad/s).
    cost : float
        int |tau|^2 dt, N2 m2 s, or int |w|^2 dt, rad2/s.
    optima : tuple of float
        Different costs that the starts led to, ascending.
    iterations : int
    kkt_residual : float
    """

    task: BallTransfer
    times: FloatArray
    states: FloatArray
    inputs: FloatArray
    cost: float
    optima: tuple[float, ...]
    iterations: int
    kkt_residual: float

    @property
    def angular_velocity(self) -> FloatArray:
        """Angular velocity (N + 1, 3), rad/s, world, at the nodes."""
        if self.task.model == "dynamic":
            return self.states[:, self.task.robot.system.model().layout["ball.angular_velocity"]]
        return np.column_stack([self.inputs, np.zeros(len(self.times))])

    def torques(self, parts: int) -> FloatArray:
        """Return torques (N parts, 3), N m, held over `parts` of each interval, that turn the ball as planned.

        Their means are those of the plan: with D w' = tau, the angular velocity is the planned one at the ends.
        """
        task, count = self.task, integer("parts", parts, minimum=1, maximum=MOST_NODES)
        fine = np.linspace(0.0, self.times[-1], (len(self.times) - 1) * count + 1)
        if task.model == "dynamic":
            at = np.column_stack([np.interp(fine, self.times, u) for u in self.inputs.T])
            return (at[1:] + at[:-1]) / 2
        rolls = task.moment + task.mass * task.radius**2
        w = np.column_stack([np.interp(fine, self.times, u) for u in self.angular_velocity.T])
        return np.diff(w, axis=0) / np.diff(fine)[:, None] * [rolls, rolls, task.moment]


def plan_ball(task: BallTransfer, *, nodes: int = 100, starts: int = 4, seed: int = 0) -> BallPlan:
    """Plan with Hermite-Simpson from a straight guess and from random ones; return the cheapest plan.

    Parameters
    ----------
    task : BallTransfer
    nodes : int
        Intervals.
    starts : int
        Guesses: the straight roll, then random detours.
    seed : int

    Raises
    ------
    SimulationError
        If none leads to a plan.
    """
    mesh = _mesh(task, integer("nodes", nodes, minimum=4, maximum=MOST_NODES))
    random = np.random.default_rng(integer("seed", seed, minimum=0))
    # Detours are found on a coarse mesh: the fine one starts at the best of them.
    coarse = Transcription(task.problem, [np.linspace(0.0, 1.0, min(nodes, 40) + 1)])
    found: list[tuple[float, tuple[NodeTrajectory, ...]]] = []
    failed: ProgramSolution | None = None
    for number_of in range(integer("starts", starts, minimum=1)):
        solution = solve(coarse.program, coarse.pack([_guess(task, mesh, random, number_of > 0)]))
        if solution.status is Status.SUCCESS:
            found.append((solution.objective, coarse.unpack(solution.z)))
        else:
            failed = solution
    if not found:
        last = failed.worst if failed is not None else ""
        raise SimulationError(f"no plan from {starts} guesses: {last}", failed.status)  # type: ignore[union-attr]
    found.sort(key=lambda one: one[0])
    fine = Transcription(task.problem, [mesh])
    solution = solve(fine.program, fine.pack(found[0][1]))
    if solution.status is not Status.SUCCESS:
        raise SimulationError(f"no plan on {nodes} intervals: {solution.worst}", solution.status)
    (arc,) = fine.unpack(solution.z)
    unit = task.mass * task.radius**2 if task.model == "dynamic" else 1.0
    return BallPlan(
        task=task,
        times=arc.times,
        states=arc.x,
        inputs=unit * arc.u,
        cost=unit**2 * solution.objective,
        optima=_different([unit**2 * cost for cost, _ in found]),
        iterations=solution.iterations,
        kkt_residual=solution.kkt_residual,
    )


def _mesh(task: BallTransfer, nodes: int) -> FloatArray:
    """Return the nodes: even for torques; for angular velocities finer towards both ends.

    The best input that is linear between nodes leaves the optimum by O(h^2), smoothly but for a few intervals at the
    ends: there a fine mesh keeps the path's curvature clean.
    """
    even = np.linspace(0.0, 1.0, nodes + 1)
    return even if task.model == "dynamic" else (1 - np.cos(np.pi * even)) / 2


def _different(costs: list[float]) -> tuple[float, ...]:
    """Return costs that differ by more than a thousandth of the least."""
    kept: list[float] = []
    for cost in costs:
        if not kept or cost > kept[-1] + 1e-3 * abs(costs[0]):
            kept.append(cost)
    return tuple(kept)


def _guess(task: BallTransfer, mesh: FloatArray, random: np.random.Generator, detour: bool) -> NodeTrajectory:
    """Return a roll from start to goal, straight or with a random detour, with the orientation that follows."""
    phase = task.problem.phases[0]
    t = mesh * task.duration
    bend = random.normal(size=2) * 0.5 * float(np.linalg.norm(task.goal - task.start)) if detour else np.zeros(2)
    path = task.start + np.outer(mesh, task.goal - task.start) + np.outer(np.sin(np.pi * mesh), bend)
    rate = np.gradient(path, t, axis=0)
    w = np.column_stack([-rate[:, 1], rate[:, 0]]) / task.radius
    x = np.tile(np.asarray(ca.DM(task.place().x[: phase.nx])).ravel(), (len(mesh), 1))
    layout = task.robot.system.model().layout
    x[:, layout["ball.position"]][:, :2] = path
    q = np.array([1.0, 0.0, 0.0, 0.0])
    for k, step in enumerate(np.diff(t), 1):
        spin = np.array([0.0, *(w[k - 1] + w[k]) / 2 * step / 2, 0.0])
        q = q + _times(spin, q) + _times(spin, _times(spin, q)) / 2
        q = q / np.linalg.norm(q)
        x[k, layout["ball.orientation"]] = q
    u = np.zeros((len(mesh), phase.nu))
    if task.model == "kinematic":
        u[:] = w
    else:
        x[:, layout["ball.angular_velocity"]][:, :2] = w
        x[:, layout["ball.velocity"]][:, :2] = rate
    return NodeTrajectory(t, x, u)


def _times(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the product (4,) of two quaternions (4,)."""
    return np.array([a[0] * b[0] - a[1:] @ b[1:], *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])
