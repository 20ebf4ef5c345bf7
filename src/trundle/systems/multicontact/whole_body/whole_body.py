"""Whole-body control of a robot with feet: tasks, contact cones and limits, one quadratic program a tick."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

import numpy as np

from trundle.checks import FloatArray, positive
from trundle.contact.packed import FrameMotion
from trundle.contact.patch import FlatPatch
from trundle.control.inverse_dynamics import (
    DAMPING,
    Command,
    Limit,
    Numbers,
    Solvers,
    Task,
    assemble,
    program_layout,
    solve_program,
)
from trundle.errors import InputError
from trundle.models.robots.ends import Pad
from trundle.models.robots.humanoid import Humanoid
from trundle.models.urdf.articulated import ArticulatedTerms
from trundle.numerics.qp.qp import TOLERANCE
from trundle.numerics.rotations import turn_between
from trundle.parameters import Checked, NonNegative, Positive, PositiveFraction, parameter
from trundle.systems.multicontact.whole_body.carried_object import Load
from trundle.systems.multicontact.whole_body.collision import CollisionRows
from trundle.systems.multicontact.whole_body.frame_target import BalanceTarget
from trundle.systems.multicontact.whole_body.program import LimitRows, TickProgram
from trundle.threads import PerThread

_ZERO = np.zeros(3)
_ZERO.setflags(write=False)
_UPRIGHT = np.eye(3)
_UPRIGHT.setflags(write=False)
_LINEAR = (attrgetter("Jv", "a", "v"),)
_TWIST = (attrgetter("Jw", "al", "w"), *_LINEAR)
"""Jacobian, bias acceleration and velocity of a frame's motion: of its point, and before that of its rotation."""
_HARDEST = 1e3
"""Most a limit of a joint may brake, rad/s2: beyond the limit itself it is not kept at any price."""


@dataclass(frozen=True)
class WholeBodyGains(Checked):
    """Weights of squared errors (accelerations) and gains: k_p in 1/s2, k_d in 1/s.

    Of the centre of mass, the angular momentum about it, the base's attitude, the posture, ends that move freely, an
    object in the hands, and forces; `damping` (1/s) brakes what slips at contacts, `height` (1/s3) integrates the error
    of the height, up to `height_most` (m/s2); torques stay within the part `torque_part` of their limits.
    """

    com: NonNegative = parameter(1000.0, "weight of the centre of mass")
    com_kp: NonNegative = parameter(60.0, "1/s^2")
    com_kd: NonNegative = parameter(15.0, "1/s")
    momentum: NonNegative = parameter(1.0, "weight of the angular momentum")
    momentum_kd: NonNegative = parameter(4.0, "1/s")
    base: NonNegative = parameter(20.0, "weight of the base's attitude")
    base_kp: NonNegative = parameter(60.0, "1/s^2")
    base_kd: NonNegative = parameter(15.0, "1/s")
    posture: NonNegative = parameter(2.0, "weight of the posture")
    posture_kp: NonNegative = parameter(30.0, "1/s^2")
    posture_kd: NonNegative = parameter(11.0, "1/s")
    swing: NonNegative = parameter(200.0, "weight of a travelling sole's place")
    swing_turn: NonNegative = parameter(200.0, "weight of its attitude")
    swing_kp: NonNegative = parameter(300.0, "1/s^2")
    swing_kd: NonNegative = parameter(35.0, "1/s")
    hand: NonNegative = parameter(100.0, "weight of a travelling hand's place")
    hand_kp: NonNegative = parameter(200.0, "1/s^2")
    hand_kd: NonNegative = parameter(28.0, "1/s")
    object: NonNegative = parameter(200.0, "weight of an object's place in the hands; 0: its use is not penalised")
    object_turn: NonNegative = parameter(200.0, "weight of its attitude; 0: its use is not penalised")
    object_kp: NonNegative = parameter(100.0, "1/s^2")
    object_kd: NonNegative = parameter(20.0, "1/s")
    force: NonNegative = parameter(1e-6, "weight of the contact wrenches")
    damping: NonNegative = parameter(20.0, "1/s, of what slips at contacts")
    height: NonNegative = parameter(100.0, "1/s^3, integral of the height's error")
    height_most: NonNegative = parameter(1.5, "m/s^2, most of it")
    torque_part: PositiveFraction = parameter(0.95, "of the torque limits that may be used")
    sole_part: PositiveFraction = parameter(0.9, "of the soles' sides that may carry")
    friction: Positive = parameter(0.6, "coefficient of friction that may be used")


@dataclass(frozen=True, eq=False)
class WholeBodyTarget:
    """Targets of one control step, world axes.

    Attributes
    ----------
    com, com_rate, com_acceleration : (3,) m, m/s, m/s2
    R_base : (3, 3)
    contacts : tuple of str
        Feet, and hands, that stand where they are: names of `Humanoid.feet` and `Humanoid.hands`.
    ends : mapping of str to BalanceTarget
        Of the others; those left out follow the posture.
    angular_momentum : (3,) kg m2/s
    posture : (n,) rad, optional
        That of the robot unless given.
    posture_rate : (n,) rad/s, optional
        At rest unless given.
    surfaces : mapping of str to (3, 3)
        Axes of what hands that stand roll on, z the normal into the robot; those of the world unless given.
    load : Load, optional
        What the hands hold: then `com`, its rates and `angular_momentum` are of robot and load together.
    turning : float, rad/s
        Of the base about the vertical.
    forces : sequence of ((3,) m, (3,) N)
        Known forces from outside, world, and the points of the base, in its axes, at which they act.
    """

    com: FloatArray
    R_base: FloatArray
    contacts: tuple[str, ...]
    ends: Mapping[str, BalanceTarget] = field(default_factory=dict)
    com_rate: FloatArray = field(default_factory=lambda: _ZERO)
    com_acceleration: FloatArray = field(default_factory=lambda: _ZERO)
    angular_momentum: FloatArray = field(default_factory=lambda: _ZERO)
    posture: FloatArray | None = None
    posture_rate: FloatArray | None = None
    surfaces: Mapping[str, FloatArray] = field(default_factory=dict)
    load: Load | None = None
    turning: float = 0.0
    forces: Sequence[tuple[FloatArray, FloatArray]] = ()


class WholeBodyController:
    """Whole-body control (final): from a state and a target to torques.

    Unknowns (nudot, lam), lam the wrench (moment, force) of each sole in its own axes, and the force of each hand in
    those of the surface on which its ball rolls;
    M nudot + h = (0, tau) + J'lam + sum J_e'f_e, f_e known from outside; J nudot + b = -damping (J nu) at what stands;
    cones with centre of pressure and yaw (`trundle.contact.patch`), |tau| within limits, joints kept from their ends:
    after `horizon` seconds of a constant acceleration they are still inside. A load in the hands has six accelerations
    of its own, see `Load`.

    Parameters
    ----------
    humanoid : Humanoid
    gains : WholeBodyGains
    horizon : float, s
    solver : str
        See `trundle.numerics.qp.qp.QpSolver`.
    collisions : CollisionRows, optional
        Limbs that keep apart, and away from what is around.
    """

    def __init__(
        self,
        humanoid: Humanoid,
        gains: WholeBodyGains | None = None,
        *,
        horizon: float = 0.05,
        solver: str = "daqp",
        collisions: CollisionRows | None = None,
    ) -> None:
        self.humanoid, self.gains = humanoid, gains or WholeBodyGains()
        self.horizon = positive("horizon", horizon, "s")
        self._solver, self.collisions = solver, collisions
        self._programs: PerThread[dict[tuple[tuple[str, ...], ...], TickProgram]] = PerThread(dict)
        robot, g = humanoid.robot, self.gains
        self.patches = {f"{name}_foot": sole.patch(g.friction, g.sole_part) for name, sole in humanoid.feet.items()}
        for name, hand in humanoid.hands.items():
            flat = isinstance(hand, Pad)
            self.patches[f"{name}_hand"] = hand.patch(g.friction, g.sole_part) if flat else FlatPatch.point(g.friction)
        self._torque = g.torque_part * robot.torque_limit
        self._kp = g.posture_kp * humanoid.joint_stiffness
        self._kd = g.posture_kd * np.sqrt(humanoid.joint_stiffness)
        own, limbs = (*humanoid.links, humanoid.base), collisions.links if collisions else ()
        self._frames = (*own, *(link for link in limbs if link not in own))
        self._limbs = {link: self._frames.index(link) for link in limbs}

    def terms(self, q: FloatArray, nu: FloatArray) -> tuple[ArticulatedTerms, dict[str, FrameMotion]]:
        """Return inertia, momentum and motions: of all ends, of the "base", and of links whose distances are kept."""
        terms = self.humanoid.robot.terms(q, nu, self._frames, momentum=True)
        count, motions = len(self.humanoid.links), terms.motions
        limbs = {link: motions[i] for link, i in self._limbs.items()}
        return terms, limbs | self.humanoid.end_motions(motions[:count]) | {"base": motions[count]}

    def __call__(
        self,
        q: FloatArray,
        nu: FloatArray,
        aim: WholeBodyTarget,
        known: tuple[ArticulatedTerms, Mapping[str, FrameMotion]] | None = None,
    ) -> Command:
        """Return the command at the state q (nq,), nu (nv,); `known` is what `terms` returned for it.

        ``command.u`` (n,) are torques, ``command.lam`` the wrenches, see `wrenches`; with a load ``command.nudot`` ends
        with its twist's rate (6,). Nothing is raised where there is no solution: see `Command.status`.

        Raises
        ------
        InputError
            If the aim names an end that the robot does not have, or a foot without a wanted attitude.
        """
        terms, ends = self.terms(q, nu) if known is None else known
        held = aim.load.hands if aim.load else ()
        contacts = tuple(name for name in aim.contacts if name not in held)
        moving = tuple(name for name in aim.ends if name not in contacts and name not in held)
        program = self.program(contacts, moving, held)
        J, b = self._contact_rows(program, ends, aim)
        self._write(program, terms, ends, q, nu, aim)
        M, h, nv = program.M, program.h, self.humanoid.robot.nv
        M[:nv, :nv], h[:nv] = terms.M, terms.h
        for point, force in aim.forces:
            h[:nv] -= ends["base"].at(point).Jv.T @ force
        if aim.load:
            M[nv:, nv:], h[nv:] = aim.load.dynamics(self.humanoid.robot.gravity)
        data = assemble(program.layout, (M, h, program.S, J, b, J, program.D), DAMPING, Numbers)
        return solve_program(program.layout, data, program.solvers)

    def wrenches(self, command: Command, contacts: tuple[str, ...]) -> dict[str, FloatArray]:
        """Return (moment, force) on the robot of each end that stands, then of those that hold.

        Of a sole or pad in its axes about its middle, of a ball that stands in those of its surface where it touches.
        """
        found, at = {}, 0
        for name in contacts:
            width = self._width(name)
            found[name] = np.concatenate((np.zeros(6 - width), command.lam[at : at + width]))
            at += width
        return found

    # the program ----------------------------------------------------------------------------------------

    def _width(self, name: str) -> int:
        return 3 if self.patches[name].is_point else 6

    @property
    def programs(self) -> Collection[TickProgram]:
        """Those that this thread's ticks have made."""
        return self._programs().values()

    def program(
        self, standing: tuple[str, ...], moving: tuple[str, ...] = (), held: tuple[str, ...] = ()
    ) -> TickProgram:
        """Return what ticks write into while these ends stand, move and hold; made once a thread, see `programs`."""
        return self._programs().get((standing, moving, held)) or self._program(standing, moving, held)

    def _program(self, standing: tuple[str, ...], moving: tuple[str, ...], held: tuple[str, ...]) -> TickProgram:
        for name in (*standing, *moving, *held):
            if name not in self.patches:
                raise InputError("aim", name, "one of " + ", ".join(self.patches))
        robot = self.humanoid.robot
        n, nv = len(robot.joints), robot.nv + (6 if held else 0)
        m = sum(widths := [self._width(name) for name in (*standing, *held)])
        S = np.zeros((nv, n))
        S[6 : robot.nv] = np.eye(n)
        tasks = self._tasks(S, m, moving, bool(held))
        limits = {
            "torque": Limit("torque", "torque", -self._torque, self._torque, unit="N m"),
            "joints": Limit("joints", "acceleration", np.full(nv, -np.inf), np.full(nv, np.inf), None, 1.0, "rad/s2"),
        }
        if self.collisions:
            none = np.full(len(self.collisions.pairs), np.inf)
            A = np.zeros((len(none), nv))
            limits["collision"] = Limit("collision", "acceleration", -none, none, A, 1.0, "m/s2")
        starts = np.concatenate(([0], np.cumsum(widths))).astype(int)
        for name, start, width in zip((*standing, *held), starts[:-1], widths, strict=True):
            rows = self.patches[name].rows[:, 6 - width :]
            A = np.zeros((len(rows), m))
            A[:, start : start + width] = rows
            limits[f"cone.{name}"] = Limit(f"cone.{name}", "force", np.zeros(len(rows)), np.inf, A)
        layout = program_layout(nv, m, n, tuple(limits.values()), tuple(tasks.values()), "force")
        solvers = Solvers(layout, self._solver, TOLERANCE, DAMPING)
        bounds = {limit.name: LimitRows.of(limit) for limit in layout.limits}
        blank = np.zeros((m, nv)), np.zeros(m), np.zeros((m, m)), S, np.zeros((nv, nv)), np.zeros(nv)
        made = TickProgram(layout, solvers, tasks, bounds, standing, moving, held, *blank)
        self._programs()[standing, moving, held] = made
        return made

    def _tasks(self, S: FloatArray, m: int, moving: tuple[str, ...], loaded: bool) -> dict[str, Task]:
        g, (nv, n) = self.gains, S.shape
        tasks = {
            "com": Task("com", np.zeros((3, nv)), np.zeros(3), np.full(3, g.com)),
            "momentum": Task("momentum", np.zeros((3, nv)), np.zeros(3), np.full(3, g.momentum), unit="N m"),
            "base": Task("base", np.zeros((3, nv)), np.zeros(3), np.full(3, g.base), unit="rad/s2"),
            "posture": Task("posture", S.T, np.zeros(n), np.full(n, g.posture), unit="rad/s2"),
        }
        for name in moving:
            if name.endswith("_foot"):
                weight = np.repeat([g.swing_turn, g.swing], 3)
            else:
                weight = np.full(self._width(name), g.hand)
            tasks[name] = Task(name, np.zeros((len(weight), nv)), np.zeros(len(weight)), weight)
        if loaded:
            own, weight = np.eye(nv)[nv - 6 :], np.repeat([g.object_turn, g.object], 3)
            tasks["object"] = Task("object", own, np.zeros(6), weight)
        if m:
            tasks["force"] = Task("force", np.eye(m), np.zeros(m), np.full(m, g.force), on="force", unit="N")
        return tasks

    def _contact_rows(
        self, program: TickProgram, ends: Mapping[str, FrameMotion], aim: WholeBodyTarget
    ) -> tuple[FloatArray, FloatArray]:
        J, b, at, damping, nv = program.J, program.b, 0, self.gains.damping, self.humanoid.robot.nv
        for name in (*program.standing, *program.held):
            end, R = ends[name], ends[name].R.T
            under = aim.load.motion_at(end.p) if aim.load and name in program.held else None
            if name in self.humanoid.radii and not under:
                surface = aim.surfaces.get(name, _UPRIGHT)
                end, R = rolling(end, surface[:, 2], self.humanoid.radii[name]), surface.T
            for part in _LINEAR if self.patches[name].is_point else _TWIST:
                rows = slice(at, at := at + 3)
                jacobian, acceleration, velocity = part(end)
                np.matmul(R, jacobian, out=J[rows, :nv])
                b[rows] = R @ (acceleration + damping * velocity)
                if under:
                    jacobian, acceleration, velocity = part(under)
                    J[rows, nv:] = -(R @ jacobian)
                    b[rows] -= R @ (acceleration + damping * velocity)
        return J, b

    def _write(
        self,
        program: TickProgram,
        terms: ArticulatedTerms,
        ends: Mapping[str, FrameMotion],
        q: FloatArray,
        nu: FloatArray,
        aim: WholeBodyTarget,
    ) -> None:
        g, tasks, momentum = self.gains, program.tasks, terms.momentum
        if momentum is None:
            raise InputError("known", "no momentum", "what `terms` returned")
        if aim.load:
            momentum = aim.load.combined_momentum(momentum, self.humanoid.robot.mass)
            self._carry(program, aim.load)
        wanted = aim.com_acceleration + g.com_kp * (aim.com - momentum.com)
        wanted = wanted + g.com_kd * (aim.com_rate - momentum.com_rate)
        _set(tasks["com"], momentum.J_com, wanted - momentum.com_bias)
        change = g.momentum_kd * (aim.angular_momentum - momentum.angular)
        _set(tasks["momentum"], momentum.J_angular, change - momentum.angular_bias)
        base = ends["base"]
        spin = np.array([0.0, 0.0, aim.turning])
        turn = g.base_kp * turn_between(base.R, aim.R_base) + g.base_kd * (spin - base.w)
        _set(tasks["base"], base.Jw, turn - base.al)
        rest = self.humanoid.joint_posture if aim.posture is None else aim.posture
        slower = -nu[6:] if aim.posture_rate is None else aim.posture_rate - nu[6:]
        tasks["posture"].target[:] = self._kp * (rest - q[7:]) + self._kd * slower
        for name in program.moving:
            self._swing(tasks[name], ends[name], aim.ends[name])
        self._joint_bounds(program.limits["joints"], q, nu)
        if self.collisions:
            rows = program.limits["collision"]
            self.collisions.write(rows.A, rows.lower, ends, nu)

    def _carry(self, program: TickProgram, load: Load) -> None:
        g, task, aim = self.gains, program.tasks["object"], load.target
        R = load.R if aim.R is None else aim.R
        task.target[:3] = g.object_kp * turn_between(load.R, R) + g.object_kd * (aim.omega - load.omega)
        wanted = aim.acceleration + g.object_kp * (aim.position - load.p)
        task.target[3:] = wanted + g.object_kd * (aim.velocity - load.v)
        for name in program.held:
            program.limits[f"cone.{name}"].lower[0] = load.squeeze  # the first row is the normal force

    def _swing(self, task: Task, end: FrameMotion, aim: BalanceTarget) -> None:
        g, point, nv = self.gains, self.patches[task.name].is_point, self.humanoid.robot.nv
        kp, kd = (g.swing_kp, g.swing_kd) if task.name.endswith("_foot") else (g.hand_kp, g.hand_kd)
        wanted = aim.acceleration + kp * (aim.position - end.p) + kd * (aim.velocity - end.v) - end.a
        if point:
            _set(task, end.Jv, wanted)
            return
        if aim.R is None:
            raise InputError("aim", task.name, "an aim with the attitude R of the sole or pad")
        turn = kp * turn_between(end.R, aim.R) + kd * (aim.omega - end.w) - end.al
        task.A[:3, :nv], task.A[3:, :nv] = end.Jw, end.Jv
        task.target[:3], task.target[3:] = turn, wanted

    def _joint_bounds(self, limit: LimitRows, q: FloatArray, nu: FloatArray) -> None:
        robot, T = self.humanoid.robot, self.horizon
        ahead = q[7:] + T * nu[6:]
        low = np.maximum(2 * (robot.lower - ahead) / T**2, (-robot.rate_limit - nu[6:]) / T)
        high = np.minimum(2 * (robot.upper - ahead) / T**2, (robot.rate_limit - nu[6:]) / T)
        lower, upper = limit.lower[6 : robot.nv], limit.upper[6 : robot.nv]
        np.clip(low, -np.inf, _HARDEST, out=lower)
        np.clip(high, -_HARDEST, np.inf, out=upper)
        np.minimum(lower, upper, out=lower)


def rolling(ball: FrameMotion, normal: FloatArray, radius: float) -> FrameMotion:
    """Return the motion of the point where a ball of `radius` (m) touches a surface with this `normal` (3,) into it.

    v = v_c + r n x w is the velocity of the material point there; its constraint v = 0 holds on as the ball rolls, so
    the acceleration that belongs to it is v' = a_c + r n x w', without the centripetal part of a point of the body.
    """
    x, y, z = radius * normal
    lever = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])  # lever @ w = r n x w
    Jv, v, a = ball.Jv + lever @ ball.Jw, ball.v + lever @ ball.w, ball.a + lever @ ball.al
    return FrameMotion(ball.R, ball.p - radius * normal, ball.w, v, ball.Jw, Jv, ball.al, a)


def _set(task: Task, A: FloatArray, target: FloatArray) -> None:
    task.A[:, : A.shape[1]], task.target[:] = A, target
