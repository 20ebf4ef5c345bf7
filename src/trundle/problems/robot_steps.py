"""RobotSteps: the stepping problem of a robot from a URDF."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, replace

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.motion import Motion
from trundle.contact.patch import FlatPatch
from trundle.errors import InputError
from trundle.geometry.shape import Shape
from trundle.models.robots.legged import LeggedRobot
from trundle.models.urdf.robot import robot_from_urdf
from trundle.problems.phase import Condition
from trundle.problems.robot_gait import RobotGait
from trundle.problems.soles import FlatSole, RollingSole, Sole
from trundle.problems.stepping import Stepping
from trundle.problems.supports import Support
from trundle.threads import cached_property

LIMITS = ("effort", "rate")
_RATE, _BASE_RATE, _FAR = 30.0, 10.0, 10.0
"""rad/s of joints without a limit; rad/s, m/s and m of the base."""


class RobotSteps(Stepping[RobotGait]):
    """The steps of a robot on legs of a length (final).

    Parameters
    ----------
    robot : LeggedRobot
    gait : RobotGait
    length : float, m
        From the hips down to the ground, legs nearly straight: speed, durations and torques that cost 1 scale with it.
    without : collection of str
        Limits that joints shall not have: ``effort``, ``rate``, ``position``.
    """

    def __init__(self, robot: LeggedRobot, gait: RobotGait, length: float, without: Collection[str] = ()) -> None:
        self.robot, self.gait, self.length = robot, gait.on_legs(length), length
        own = [robot.tree.limits[name] for name in robot.tree.joints]
        none = {name: np.inf for name in LIMITS if name in without}
        ends = {"lower": -np.inf, "upper": np.inf} if "position" in without else {}
        self.limits = [replace(limit, **ends, **none) for limit in own]
        self.gravity = 9.81 * np.array([-np.sin(gait.slope), 0.0, -np.cos(gait.slope)])
        self.model = robot_from_urdf(robot.tree, gravity=self.gravity.tolist(), base="joints").model()
        self.weight = 9.81 * robot.mass
        self.joints = robot.tree.joints
        self.stretch = ca.SX(0, 1)
        self.soles = {name: sole_of(name, foot.shape) for name, foot in robot.feet.items()}
        self.supports = self._supports()
        self.problem = self.build()

    def motion(self, contact: str) -> Motion:
        """Return the motion of a foot's own axes."""
        return self.robot.motion(self.model, contact)

    def image(self, support: Support) -> Support:
        """Return the same phase of the feet's mirror images."""
        swap = self.robot.partners
        stances = {swap[foot]: mode for foot, mode in support.stances.items()}
        name = " ".join(swap.get(word, word) for word in support.name.split())
        return Support(name, stances, tuple(swap[foot] for foot in support.landing), support.swing)

    def _supports(self) -> tuple[Support, ...]:
        """Return a swing of each group of feet and, after it, all feet on the ground."""
        found = []
        for group in self.gait.groups(self.robot.partners, self.robot.left):
            stances = {foot: sole.modes[0] for foot, sole in self.soles.items() if foot not in group}
            landed = {foot: self.soles[foot].modes[0] for foot in group}
            found.append(Support("swing " + " ".join(group), stances, swing=(0.0, 1.0)))
            found.append(Support("after " + " ".join(group), stances | landed, group))
        return tuple(found)

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
        return {"gait": asdict(self.gait), **feet, "image": self.robot.partners}

    def nodal(self, number: int) -> list[Condition]:
        """Return the distance across that feet keep from their mirror images."""
        at, found = self.robot.footing, []
        for foot, other in self.robot.partners.items():
            width = float(at[foot].p[1] - at[other].p[1])
            if width > 0.0 and self.gait.spread > 0.0:
                across = (self.motion(foot).p - self.motion(other).p)[1]
                found.append(Condition(f"spread {foot} {other}", across, self.gait.spread * width, np.inf))
        return found


def sole_of(name: str, shape: Shape | FlatPatch) -> Sole:
    """Return the sole of a foot in its own axes."""
    if isinstance(shape, FlatPatch):
        (back, right), (ahead, left) = shape.vertices.min(axis=0), shape.vertices.max(axis=0)
        return FlatSole(np.array([[x, y, 0.0] for x in (back, ahead) for y in (left, right)]))
    support = shape.representations.support
    if support is None:
        raise InputError(f"feet.{name}.shape", type(shape).__name__, "a convex body, a point or a flat patch")
    return RollingSole(support, ca.SX(3, 1))
