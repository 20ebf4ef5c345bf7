"""Walking: phases of single and double support of an avatar, tied into a cycle, by inverse dynamics."""

from __future__ import annotations

from dataclasses import asdict

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.motion import Motion
from trundle.errors import InputError
from trundle.models.urdf.robot import robot_from_urdf
from trundle.optimal.phase import Condition, Phase
from trundle.optimal.problem import PhaseLinkage
from trundle.systems.walking.gait.gait import Gait
from trundle.systems.walking.gait.landing import landing
from trundle.systems.walking.gait.soles import FlatSole, RollingSole
from trundle.systems.walking.gait.stepping import GaitStepping
from trundle.systems.walking.gait.supports import SIDES, GaitSupport, bare, other, side_of, supports, swap_sides
from trundle.systems.walking.gait.tracking import TrackedWalk, Tracking
from trundle.systems.walking.robots.avatar import Avatar
from trundle.threads import cached_property


class Walking(GaitStepping[Gait]):
    """The walking problem of an avatar (final).

    With `Gait.stretch` the factors s of the rolling sole's semi-axes are three more states, s' = 0.

    Attributes
    ----------
    avatar, gait, tracking : as given
    model : TreeModel
    supports : tuple of GaitSupport
    problem : OptimalControlProblem
    """

    def __init__(self, avatar: Avatar, gait: Gait, tracking: Tracking | None = None) -> None:
        self.avatar, self.gait, self.tracking = avatar, gait, tracking
        self.gravity = 9.81 * np.array([-np.sin(gait.slope), 0.0, -np.cos(gait.slope)])
        robot = robot_from_urdf(avatar.robot, gravity=self.gravity.tolist(), base="joints")
        self.model = (robot if avatar.toes is None else robot.with_springs(*avatar.springs, {})).model()
        self.weight = 9.81 * avatar.robot.mass
        self.joints = tuple(_joint_names(avatar))
        self.stretch = ca.SX.sym("stretch", 0 if gait.stretch is None else 3)
        free = None if gait.stretch is None else self.stretch
        self.soles = {
            side: RollingSole.of(foot, free) if gait.sole == "rolling" else FlatSole(foot.flat)
            for side, foot in avatar.feet.items()
        }
        self.supports = supports(gait, self.sole, avatar.toes is not None)
        self.problem = self.build()

    # what `GaitStepping` asks for ---------------------------------------------------------------------------

    def motion(self, contact: str) -> Motion:
        """Return the motion of an ankle's frame."""
        return self.model.motions[f"{contact}_foot"]

    def image(self, support: GaitSupport) -> GaitSupport:
        """Return the same phase of the other side."""
        return swap_sides(support)

    def foot_of(self, contact: str) -> str:
        """Return the side of a contact."""
        return side_of(contact)

    @cached_property
    def references(self) -> FloatArray:
        """Reference torque of each joint (n - 6,), N m."""
        return np.array([self.gait.torques[bare(name)] for name in self.joints])

    @cached_property
    def efforts(self) -> FloatArray:
        """Largest torque of each joint (n - 6,), N m."""
        joints = {joint.name: joint for joint in self.avatar.robot.joints}
        return np.array([joints[name].torque for name in self.joints])

    @property
    def settings(self) -> dict[str, object]:
        """The gait and the avatar, JSON-able."""
        gait = asdict(self.gait) | {"torques": dict(self.gait.torques)}
        avatar = {"sex": self.avatar.sex, "mass": self.avatar.mass, "height": self.avatar.height}
        springs = {} if self.avatar.toes is None else {"springs": self.springs.tolist()}
        return {"gait": gait} | avatar | springs

    @cached_property
    def springs(self) -> FloatArray:
        """Stiffness and damping (2, n - 6) of the joints, N m/rad and N m s/rad; part of the dynamics."""
        joints = {joint.name: joint.child for joint in self.avatar.robot.joints}
        return np.array([[given.get(joints[name], 0.0) for name in self.joints] for given in self.avatar.springs])

    @cached_property
    def tracked(self) -> TrackedWalk:
        """Residuals of `tracking`."""
        if self.tracking is None:
            raise InputError("tracking", None, "the measurements of a walk")
        feet = {
            side: (self.stances[side, self.sole.modes[0]].points[0], self._force(side, self.sole.modes[0]))
            for side in SIDES
        }
        return self.tracking.residuals(self.model.motions, feet)

    def _arms(self) -> ca.SX:
        """Return the sum of squares of what shoulders differ from their share of the hips, rad2."""
        share, total = self.gait.arm_swing[0], ca.SX(1, 1)
        for side in SIDES:
            shoulder, hip = (6 + self.joints.index(f"{side}_{name}_pitch") for name in ("shoulder", "hip"))
            total += (self.q[shoulder] + share * self.q[hip]) ** 2
        return total

    @cached_property
    def clock(self) -> ca.SX:
        """Share of the phase; below it what was measured."""
        share = ca.SX.sym("clock")
        return share if self.tracking is None else ca.vertcat(share, self.tracked.measured)

    @cached_property
    def running(self) -> ca.SX:
        """Cost of torques, accelerations, forces and arms, and of the distance from what was measured."""
        running = super().running + self.gait.arm_swing[1] * self._arms()
        if self.tracking is None:
            return running
        return self.tracking.regularization * running + ca.sumsqr(self.tracked.residuals)

    def signals(self, number: int) -> FloatArray | None:
        """Return what was measured in phase `number`."""
        return None if self.tracking is None else self.tracking.signals(number, self.gait)

    def begins(self, number: int) -> list[Condition]:
        """Return where feet touch down and bear, and the origin unless markers tell it."""
        support = self.supports[number]
        found = [row for contact in support.landing for row in self._impose_foot(contact, self.gait.landing)]
        if support.swing == (0.0, 1.0):
            found += self._impose_foot(next(iter(support.stances)), self.gait.rolling_on, lateral=False)
        return found + (super().begins(number) if self.tracking is None else [])

    def lands(self, number: int) -> bool:
        """Return whether phase `number` begins with an impact."""
        return self.gait.impacts and bool(self.supports[number].landing)

    def link(self, number: int, before: Phase, after: Phase) -> PhaseLinkage:
        """Return the impact, or that nothing jumps."""
        return self._landing(number) if self.lands(number + 1) else super().link(number, before, after)

    def _landing(self, number: int) -> PhaseLinkage:
        after = self.supports[number + 1]
        return landing(
            number,
            self.model,
            [self.stances[side, mode] for side, mode in after.stances.items()],
            self.stances[after.landing[0], after.stances[after.landing[0]]],
            scales=[*[self.weight] * 6, *self.references],
            weight=self.weight,
            friction=self.gait.friction,
            cost=self.gait.force,
        )

    def _impose_foot(self, side: str, at: float | None, lateral: bool = True) -> list[Condition]:
        sole = self.soles[side]
        if at is None or not isinstance(sole, RollingSole) or side != side_of(side):
            return []
        local = sole.local(self.motion(side))
        wanted = [at, 0.0] if lateral else [at]
        return [Condition(f"contact {side}", local[: len(wanted)], wanted, wanted)]

    @cached_property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Least and largest states: of the pelvis, of joints, and of rates."""
        joints = {joint.name: joint for joint in self.avatar.robot.joints}
        roll, pitch, yaw = self.gait.pelvis
        upper = [5.0, 1.0, 2.0 * self.avatar.base_height, yaw, pitch, roll]
        lower = [-5.0, -1.0, 0.3 * self.avatar.base_height, -yaw, -pitch, -roll]
        for name in self.joints:
            low, high = self.gait.ranges.get(bare(name), (-np.inf, np.inf))
            if name.startswith("right_") and joints[name].axis[1] == 0.0:
                low, high = -high, -low
            lower.append(max(low, joints[name].lower))
            upper.append(min(high, joints[name].upper))
        rates = [10.0] * 6 + [joints[name].rate for name in self.joints]
        least, most = ([bound] * self.stretch.numel() for bound in self.gait.stretch or (1.0, 1.0))
        return np.array([*lower, *(-rate for rate in rates), *least]), np.array([*upper, *rates, *most])

    @cached_property
    def mirror(self) -> FloatArray:
        """The mirror image in the plane y = 0, of q and of nu: (n, n)."""
        M = np.zeros((self.n, self.n))
        M[range(6), range(6)] = [1.0, -1.0, 1.0, -1.0, 1.0, -1.0]
        axes = {joint.name: joint.axis for joint in self.avatar.robot.joints}
        for i, name in enumerate(self.joints):
            M[6 + i, 6 + self.joints.index(other(name))] = 1.0 if axes[name][1] else -1.0
        return M


def _joint_names(avatar: Avatar) -> list[str]:
    from trundle.models.urdf.tree import urdf_tree

    return list(urdf_tree(avatar.robot).joints)
