"""Arm: a robot on a fixed base whose link carries the hand; its motion as expressions of its joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, number
from trundle.errors import InputError
from trundle.models.inertia import check_inertia
from trundle.models.tree.conversion import to_wxyz
from trundle.models.tree.joints import BodySpec, FixedJoint, Revolute
from trundle.models.tree.tree import Tree
from trundle.models.urdf.checks import CheckedUrdf
from trundle.models.urdf.lock import joint_ranges, lock_joints
from trundle.models.urdf.robot import make_body_spec, simplify_rotation, triple
from trundle.models.urdf.tree import FramePlace, JointLimits, UrdfTree, urdf_tree
from trundle.numerics.expressions import HoldsExpressions
from trundle.numerics.rotations import rotation_rpy
from trundle.numerics.space import orientation_rate_body
from trundle.parameters import NonNegative, PositiveFraction, Vector3, check_parameters, parameter
from trundle.threads import cached_property

_HAND, _BASE = "carried-hand", "arm-base"


@dataclass(frozen=True, eq=False)
class Arm:
    """A robot arm on a fixed base that carries the hand on one of its links.

    Joints on the way from the base to the link move; the others are held at their angles in `posture`.

    Parameters
    ----------
    urdf : CheckedUrdf
        From `load_urdf`, `check_urdf` or `load_example_robot`.
    link : str
        The link that carries the hand.
    posture : mapping of joint -> rad or m
        Near which the start is looked for; a joint left out is in the middle of its range, or at 0 if that is infinite.
    position, rpy : (3,) m, (3,) rad
        Of the base in the world, R = Rz(yaw) Ry(pitch) Rx(roll).
    hand_position, hand_rpy : (3,) m, (3,) rad
        Of the hand's frame in the link's.
    mass, center_of_mass, inertia : kg, (3,) m, (3,) kg m2
        Of the hand, in its frame; the inertia about the centre of mass.
    margin : float
        Part of the ranges (about their middles), rates and torques that a plan may use.

    Raises
    ------
    InputError
        If a link or joint is unknown, or a number is out of range.

    Examples
    --------
    >>> urdf = tr.load_example_robot("ur5_robot")
    >>> arm = tr.juggling.Arm(urdf, "tool0", posture={"elbow_joint": 1.5}, hand_position=(0.0, 0.0, 0.02), mass=0.3)
    >>> len(arm.joints), arm.limits["elbow_joint"].rate
    (6, 3.15)
    """

    urdf: CheckedUrdf
    link: str
    posture: Mapping[str, float] = field(default_factory=dict)
    position: Vector3 = parameter((0.0, 0.0, 0.0), "m, of the arm's base, world")
    rpy: Vector3 = parameter((0.0, 0.0, 0.0), "rad, of the arm's base, R = Rz(yaw) Ry(pitch) Rx(roll)")
    hand_position: Vector3 = parameter((0.0, 0.0, 0.0), "m, of the hand's frame in the link's")
    hand_rpy: Vector3 = parameter((0.0, 0.0, 0.0), "rad, of the hand's frame in the link's")
    mass: NonNegative = parameter(0.0, "kg, of the hand")
    center_of_mass: Vector3 = parameter((0.0, 0.0, 0.0), "m, of the hand, in its frame")
    inertia: Vector3 = parameter((0.0, 0.0, 0.0), "kg m^2, of the hand about its centre of mass, its axes")
    margin: PositiveFraction = parameter(0.95, "part of ranges, rates and torques that a plan may use")

    def __post_init__(self) -> None:
        if not isinstance(self.urdf, CheckedUrdf):
            raise InputError("urdf", self.urdf, "a CheckedUrdf, as load_urdf and check_urdf return it")
        object.__setattr__(self, "posture", dict(self.posture))
        check_parameters(self)
        if self.link not in self.urdf.links:
            raise InputError("link", self.link, "one of the links " + ", ".join(self.urdf.links))
        ranges = joint_ranges(self.urdf)
        for name, value in self.posture.items():
            if name not in ranges:
                raise InputError(f"posture.{name}", value, "left out: the joints are " + ", ".join(ranges))
            low, high = ranges[name]
            if not low <= number(f"posture.{name}", value) <= high:
                raise InputError(f"posture.{name}", value, f"from {low:g} to {high:g}, the joint's range")
        if any(self.inertia):
            check_inertia(3, self.inertia)
        if not self.joints:
            raise InputError("link", self.link, "a link that a joint moves")

    def __reduce__(self) -> tuple[type[Arm], tuple[object, ...]]:
        return type(self), tuple(getattr(self, one.name) for one in fields(self))

    @cached_property
    def chain(self) -> CheckedUrdf:
        """The description with the joints held that do not move the link."""
        whole = urdf_tree(self.urdf)
        number_of, moving = whole.links[self.link][0], set()
        while number_of > 0:
            moving.add(whole.bodies[number_of].joint)
            number_of = whole.bodies[number_of].parent
        return lock_joints(self.urdf, {j: a for j, a in self._angles(self.urdf).items() if j not in moving})

    @cached_property
    def tree(self) -> UrdfTree:
        """The moving bodies of `chain`."""
        return urdf_tree(self.chain)

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints that move the hand, from the base on."""
        return self.tree.joints

    @property
    def limits(self) -> Mapping[str, JointLimits]:
        """Range, rate and torque of each joint, as the description has them."""
        return self.tree.limits

    @cached_property
    def bounds(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Lower and upper end of the ranges, rates and torques, (n,) each; infinite where there is none."""
        found = [body.limits for body in self.tree.bodies[1:]]
        rows = np.array([[one.lower, one.upper, one.rate or np.inf, one.effort or np.inf] for one in found])
        return rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3]

    @property
    def ranges(self) -> tuple[FloatArray, FloatArray]:
        """Middles and half widths (n,) of the ranges; 0 and infinite where there is none."""
        lower, upper, _, _ = self.bounds
        bounded = np.isfinite(lower) & np.isfinite(upper)
        ends = np.where(bounded, lower, 0.0), np.where(bounded, upper, 0.0)
        return (ends[0] + ends[1]) / 2, np.where(bounded, (ends[1] - ends[0]) / 2, np.inf)

    @property
    def usable(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends (n,) of what a plan may use of the ranges."""
        middle, half = self.ranges
        return middle - self.margin * half, middle + self.margin * half

    @property
    def start(self) -> FloatArray:
        """Joint positions (n,) of `posture`."""
        angles = self._angles(self.chain)
        return np.array([angles[name] for name in self.joints])

    @property
    def base(self) -> FramePlace:
        """The base in the world."""
        return FramePlace(rotation_rpy(np.asarray(self.rpy)), np.asarray(self.position))

    @property
    def mount(self) -> FramePlace:
        """The hand in the link."""
        return FramePlace(rotation_rpy(np.asarray(self.hand_rpy)), np.asarray(self.hand_position))

    def _angles(self, urdf: CheckedUrdf) -> dict[str, float]:
        ranges = joint_ranges(urdf)
        middle = {name: (low + high) / 2 if np.isfinite(high - low) else 0.0 for name, (low, high) in ranges.items()}
        return middle | {name: float(value) for name, value in self.posture.items() if name in ranges}


class ArmModel(HoldsExpressions):
    """The hand's motion and the joints' torques as expressions of the joints (final).

    Parameters
    ----------
    arm : Arm
    gravity : (3,) m/s2

    Attributes
    ----------
    q, rate, acceleration : (n,) symbols
        Of the joints.
    position, orientation : (3,) m, (4,)
        Of the hand in the world; the quaternion (w, x, y, z) is smooth in q.
    twist, twist_rate : (6,)
        Of the hand, hand axes, angular first.
    """

    def __init__(self, arm: Arm, gravity: FloatArray) -> None:
        self.arm = arm
        tree = Tree(3, gravity.tolist())
        at, held = tree.ground("world").index, arm.base
        names = [f"joint-{i}" for i in range(len(arm.tree.bodies))]
        at = tree.add(
            BodySpec(FixedJoint(3), _BASE, parent=at, at=triple(held.p), orientation=simplify_rotation(held.R))
        ).index
        for body, name in zip(arm.tree.bodies[1:], names[1:], strict=True):
            tree.add(make_body_spec(body, name, at + body.parent))
        carrier, place = arm.tree.links[arm.link]
        place = place.then(arm.mount)
        mass = {"mass": arm.mass, "inertia": np.diag(arm.inertia), "com": arm.center_of_mass} if arm.mass else {}
        tree.add(
            BodySpec(
                FixedJoint(3),
                _HAND,
                parent=at + carrier,
                at=triple(place.p),
                orientation=simplify_rotation(place.R),
                **mass,
            )
        )
        self._model = model = tree.finish()
        n = len(arm.joints)
        self.q, self.rate = model.x[:n], model.x[n:]
        self.acceleration = ca.SX.sym("acceleration", n)
        hand = model.motions[_HAND]
        self.R, self.position = hand.R, hand.p
        self.orientation = self._quaternion(carrier, place)
        self._spatial = ca.vertcat(hand.w, hand.v)
        self.twist = ca.vertcat(hand.R.T @ hand.w, hand.R.T @ hand.v)
        self.twist_rate = ca.jtimes(self.twist, model.x, ca.vertcat(self.rate, self.acceleration))

    def torque(self, wrench: ca.SX) -> ca.SX:
        """Return the joints' torques (n,) under a wrench (6,) on the hand's origin, world, moment first."""
        inertial = self._model.inverse_dynamics([], self.acceleration, ca.SX(0, 1))
        return inertial - ca.jtimes(self._spatial, self._model.nu, wrench, True)

    def _quaternion(self, carrier: int, place: FramePlace) -> ca.SX:
        bodies, path = self.arm.tree.bodies, []
        while carrier > 0:
            path.append(carrier)
            carrier = bodies[carrier].parent
        found = ca.SX(ca.DM(to_wxyz(self.arm.base.R)))
        for i in reversed(path):
            joint = bodies[i].motion
            if isinstance(joint, Revolute):
                half = self.q[i - 1] / 2
                found = _times(found, ca.cos(half), ca.sin(half) * ca.DM(joint.axis))
            found = _turn_orientation(found, bodies[i].place.R)
        return _turn_orientation(found, place.R)


def _times(orientation: ca.SX, w: ca.SX, vector: ca.SX) -> ca.SX:
    """Return the product of a quaternion and (w, vector)."""
    return w * orientation + 2 * orientation_rate_body(orientation, vector)


def _turn_orientation(orientation: ca.SX, R: FloatArray) -> ca.SX:
    w, *vector = (float(v) for v in to_wxyz(R))
    return orientation if w == 1.0 else _times(orientation, ca.SX(w), ca.SX(ca.DM(vector)))
