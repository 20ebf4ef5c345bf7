"""RobotSteps: the stepping problem of a robot from a URDF."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, replace
from itertools import cycle, islice

import casadi as ca
import numpy as np
from scipy.linalg import qr

from trundle.checks import FloatArray
from trundle.contact.motion import Motion
from trundle.contact.patch import FlatPatch
from trundle.errors import InputError
from trundle.geometry.shape import Shape
from trundle.geometry.shapes.surfaces import Point
from trundle.models.urdf.robot import robot_from_urdf
from trundle.optimal.phase import Condition
from trundle.optimal.problem import PhaseLinkage
from trundle.systems.walking.gait.ground import SmoothGround
from trundle.systems.walking.gait.robot_gait import RobotGait
from trundle.systems.walking.gait.soles import FlatSole, GroundSole, RollingSole, Sole
from trundle.systems.walking.gait.stepping import GaitStepping
from trundle.systems.walking.gait.supports import GaitSupport
from trundle.systems.walking.robots.legged import LeggedRobot
from trundle.threads import cached_property

LIMITS = ("effort", "rate")
BENT = 0.93
"""Height of the hips of a robot that stands over the length of its legs."""
_RATE, _BASE_RATE, _FAR = 30.0, 10.0, 10.0
"""rad/s of joints without a limit; rad/s, m/s and m of the base."""


class RobotSteps(GaitStepping[RobotGait]):
    """The steps of a robot on legs of a length (final).

    Parameters
    ----------
    robot : LeggedRobot
    gait : RobotGait
    length : float, m
        From the hips down to the ground, legs nearly straight: speed, durations and torques that cost 1 scale with it.
    without : collection of str
        Limits that joints shall not have: ``effort``, ``rate``, ``position``.
    ground : SmoothGround, optional
        The plane z = 0 and a cycle of steps unless given; on other ground ``gait.steps`` steps, from standing still at
        x = 0, on all feet, to standing still where the mean speed has led to.
    """

    def __init__(
        self,
        robot: LeggedRobot,
        gait: RobotGait,
        length: float,
        without: Collection[str] = (),
        ground: SmoothGround | None = None,
    ) -> None:
        self.robot, self.gait, self.length, self.ground = robot, gait.on_legs(length), length, ground
        if ground is not None:
            self.gait = replace(self.gait, periodicity="full")
        own = [robot.tree.limits[name] for name in robot.tree.joints]
        none = {name: np.inf for name in LIMITS if name in without}
        ends = {"lower": -np.inf, "upper": np.inf} if "position" in without else {}
        self.limits = [replace(limit, **ends, **none) for limit in own]
        self.gravity = 9.81 * np.array([-np.sin(gait.slope), 0.0, -np.cos(gait.slope)])
        self.model = robot_from_urdf(robot.tree, gravity=self.gravity.tolist(), base="joints").model()
        self.weight = 9.81 * robot.mass
        self.joints = robot.tree.joints
        self.stretch = ca.SX(0, 1)
        self.soles = {name: self._sole(name, foot.shape) for name, foot in robot.feet.items()}
        self.supports = self._supports()
        self.problem = self.build()

    def motion(self, contact: str) -> Motion:
        """Return the motion of a foot's own axes."""
        return self.robot.motion(self.model, contact)

    def image(self, support: GaitSupport) -> GaitSupport:
        """Return the same phase of the feet's mirror images."""
        swap = self.robot.partners
        stances = {swap[foot]: mode for foot, mode in support.stances.items()}
        name = " ".join(swap.get(word, word) for word in support.name.split())
        return GaitSupport(name, stances, tuple(swap[foot] for foot in support.landing), support.swing)

    def _supports(self) -> tuple[GaitSupport, ...]:
        """Return a swing of each group of feet and, after it, all feet on the ground."""
        found, groups = [], self.gait.groups(self.robot.partners, self.robot.left)
        if self.ground is not None:
            every = {foot: sole.modes[0] for foot, sole in self.soles.items()}
            found.append(GaitSupport("before", every, tuple(every)))
            groups = islice(cycle(groups), self.gait.steps)
        for group in groups:
            stances = {foot: sole.modes[0] for foot, sole in self.soles.items() if foot not in group}
            landed = {foot: self.soles[foot].modes[0] for foot in group}
            found.append(GaitSupport("swing " + " ".join(group), stances, swing=(0.0, 1.0)))
            found.append(GaitSupport("after " + " ".join(group), stances | landed, group))
        return tuple(found)

    def _sole(self, name: str, shape: Shape | FlatPatch) -> Sole:
        """Return the sole of a foot in its own axes, on the ground there is."""
        if self.ground is None:
            return sole_of(name, shape)
        motion = self.ground.motion(self.model.nv)
        if not isinstance(shape, FlatPatch):
            return GroundSole((self.ground.contact(name, shape),), motion, ("rolling",))
        corners = (tuple(corner) for corner in flat_sole(shape).corners.tolist())
        return GroundSole(tuple(self.ground.contact(name, Point(), at) for at in corners), motion, ("flat",))

    # over ground, from standing to standing ---------------------------------------------------------------

    @property
    def speed(self) -> float:
        """Mean speed of the frame of x, m/s: over ground x is a place on it."""
        return self.mean if self.ground is None else 0.0

    @property
    def mean(self) -> float:
        """Mean speed, m/s."""
        return self.gait.speed or 0.0

    @property
    def total(self) -> tuple[float, float]:
        """Least and largest duration of all phases, s: over ground the same, the middles of those of phases."""
        if self.ground is None:
            return super().total
        single, double = (sum(bounds) / 2 for bounds in self.durations)
        whole = self.gait.steps * (single + double) + double
        return whole, whole

    @cached_property
    def _resting(self) -> list[int]:
        """Numbers of rates (as few as do) that are zero only of a robot that stands still, its feet on the ground."""
        rows = ca.vertcat(*(self.stances[foot, sole.modes[0]].rows for foot, sole in self.soles.items()))
        J = ca.Function("rows", [self.q], [ca.jacobian(rows, self.nu)])
        bent = np.concatenate([np.zeros(6), self.robot.angles + 0.1 * np.random.default_rng(0).normal(size=self.n - 6)])
        _, sizes, turned = np.linalg.svd(np.asarray(J(bent)))
        free = turned[int(np.sum(sizes > 1e-6 * sizes[0])) :]
        return sorted(int(i) for i in qr(free, pivoting=True, mode="r")[1][: len(free)])

    def begins(self, number: int) -> list[Condition]:
        """Return that x begins at 0; over ground the robot stands there."""
        if number > 0 or self.ground is None:
            return super().begins(number)
        return [Condition("origin", self.q[:2]), Condition("standing", self._standing(self.q, self.nu))]

    def cycle(self, last: int) -> PhaseLinkage:
        """Return what ties the end to the start: over ground the way ahead, and that the robot stands."""
        if self.ground is None:
            return super().cycle(last)
        end, start = (ca.SX.sym(name, self.x.numel()) for name in ("x_end", "x_start"))
        way = end[:2] - start[:2] - ca.vertcat(self.mean * self.total[0], 0.0)
        stands = self._standing(end[: self.n], end[self.n : 2 * self.n])
        return PhaseLinkage(last, 0, end, start, Condition("way and standing", ca.vertcat(way, stands)))

    def _standing(self, q: ca.SX, nu: ca.SX) -> ca.SX:
        """Return what is zero of a robot that stands still: its turn, and its height and place over its feet's middle.

        Its centre of mass is over that, and its base as high as legs are bent.
        """
        feet, bodies = [sole.probe(self.motion(name)).p for name, sole in self.soles.items()], self.model.bodies
        middle = sum(feet, ca.SX(3, 1)) / len(feet)
        com = sum((b.mass * b.motion.at(ca.SX(ca.DM(b.com))).p for b in bodies), ca.SX(3, 1)) / self.robot.mass
        hips = np.mean([hip[2] for hip in self.robot.hips.values()])
        height = self.q[2] - middle[2] - (BENT * self.length - hips)
        posed = ca.vertcat(self.q[3:6], (com - middle)[:2], height)
        return ca.vertcat(ca.Function("posed", [self.q], [posed])(q), nu[self._resting])

    @cached_property
    def references(self) -> FloatArray:
        """Torque that costs 1 (n - 6,), N m: the largest, or the gait's part of weight times length if that is less."""
        efforts = [self.robot.tree.limits[name].effort or np.inf for name in self.joints]
        return np.minimum(efforts, self.gait.torque * self.weight * self.length)

    @cached_property
    def efforts(self) -> FloatArray:
        """Largest torque of each joint (n - 6,), N m; infinite where there is no limit."""
        return np.array([limit.effort or np.inf for limit in self.limits])

    @cached_property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Least and largest states."""
        limits = self.limits
        roll, pitch, yaw = self.gait.attitude
        base = [_FAR] * 3 + [yaw, pitch, roll]
        rates = [_BASE_RATE] * 6 + [min(limit.rate or np.inf, _RATE) for limit in limits]
        lower = [-size for size in base] + [limit.lower for limit in limits] + [-rate for rate in rates]
        return np.array(lower), np.array(base + [limit.upper for limit in limits] + rates)

    @cached_property
    def springs(self) -> FloatArray:
        """No stiffness and no damping (2, n - 6)."""
        return np.zeros((2, len(self.joints)))

    @cached_property
    def mirror(self) -> FloatArray:
        """The mirror image of q and of nu (n, n)."""
        return self.robot.mirror

    @property
    def settings(self) -> dict[str, object]:
        """The gait, and which foot is whose image, JSON-able."""
        feet = {"contacts": list(self.soles), "feet": [[i] for i in range(len(self.soles))]}
        return {"gait": asdict(self.gait), **feet, "image": self.robot.partners, "once": self.ground is not None}

    def nodal(self, number: int) -> list[Condition]:
        """Return the distance across that feet keep from their mirror images."""
        at, found = self.robot.footing, []
        for foot, other in self.robot.partners.items():
            width = float(at[foot].p[1] - at[other].p[1])
            if width > 0.0 and self.gait.spread > 0.0:
                across = (self.motion(foot).p - self.motion(other).p)[1]
                found.append(Condition(f"spread {foot} {other}", across, self.gait.spread * width, np.inf))
        return found


def flat_sole(patch: FlatPatch) -> FlatSole:
    """Return the sole of a flat foot in its own axes."""
    (back, right), (ahead, left) = patch.vertices.min(axis=0), patch.vertices.max(axis=0)
    return FlatSole(np.array([[x, y, 0.0] for x in (back, ahead) for y in (left, right)]))


def sole_of(name: str, shape: Shape | FlatPatch) -> Sole:
    """Return the sole of a foot in its own axes."""
    if isinstance(shape, FlatPatch):
        return flat_sole(shape)
    support = shape.representations.support
    if support is None:
        raise InputError(f"feet.{name}.shape", type(shape).__name__, "a convex body, a point or a flat patch")
    return RollingSole(support, ca.SX(3, 1))
