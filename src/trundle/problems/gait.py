"""Gait: the settings of an optimal walking problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from trundle.checks import choice, integer, non_negative, number, positive
from trundle.errors import InputError

if TYPE_CHECKING:
    from trundle.models.robots.avatar import Avatar

TORQUES: Mapping[str, float] = {
    "trunk_yaw": 10.0,
    "trunk_roll": 25.0,
    "trunk_pitch": 25.0,
    "hip_roll": 60.0,
    "hip_yaw": 12.0,
    "hip_pitch": 60.0,
    "knee": 40.0,
    "ankle_pitch": 110.0,
    "ankle_roll": 15.0,
    "shoulder_pitch": 6.0,
    "shoulder_roll": 5.0,
    "shoulder_yaw": 3.0,
    "elbow": 4.0,
}
"""N m, of the order of each joint's largest torque in human walking; a cost of 1 each at these."""

Range = tuple[float, float]
RANGES: Mapping[str, Range] = {
    "trunk_yaw": (-0.1, 0.1),
    "hip_yaw": (-0.2, 0.2),
    "shoulder_pitch": (-0.7, 0.7),
    "shoulder_roll": (0.05, 0.3),
    "shoulder_yaw": (-0.2, 0.2),
    "elbow": (-0.9, -0.15),
}
"""rad: joints whose torque is so cheap that cost alone would hold them as nobody does."""


@dataclass(frozen=True)
class Gait:
    """What is asked of the walk; everything else follows from it (final).

    Parameters
    ----------
    speed : float, m/s
        Mean speed along the ground.
    slope : float, rad
        > 0 uphill. Gravity turns, the ground stays at z = 0.
    sole : "rolling" or "flat"
    trailing, leading : str, optional
        How the feet stand in double support; of the flat sole ``flat``, ``toe``, ``heel`` or ``toe-point``.
    periodicity : "mirrored" or "full"
        One step, the next its mirror image; or two steps of which the second ends where the first began.
    single, double : (low, high) s
        Duration of a single and of a double support.
    double_share : (low, high), optional
        Double support over the time of the step.
    impacts : bool
        Whether feet land by a plastic impact, M (nu+ - nu-) = J'L and J nu+ = 0; otherwise at rest.
    landing : float, m
        Where on the sole, ahead of its centre, the foot touches down; None: free. Of a rolling sole.
    rolling_on : float, m
        Likewise where the standing foot bears when single support begins; None: free.
    clearance : float, m
        Height h of the swing foot: gap >= h (4 s (1 - s))^p, s from 0 to 1 over the single support.
    clearance_power : 1 or 2
        p. The foot's velocity is zero at both ends. With p = 1 the bound's is not: if it holds to the ends, the swing
        leg is braked in the last interval alone, by a torque that grows on finer grids. With p = 2 the foot lands
        nearly along the ground, which a replay with errors does not follow.
    clearance_ends : float
        Share of the single support at either of its ends in which the bound is left out: there the gap is >= 0.
    friction : float
    load : float
        Largest normal force of a foot over the weight: a straight leg bears peaks that torques do not tell.
    torques : mapping of str to float, N m
        Reference of each joint's torque (without its side) in the cost.
    acceleration, force : float
        Weights of the squares of accelerations (rad/s2, m/s2) and of ground forces (over the weight).
    arm_swing : (share, weight)
        Weight of the squares of the shoulders' distances (rad) from this share of the hips' angles, the other way:
        torques say little about arms, whose swing costs people next to nothing.
    pelvis : (3,) rad
        Largest roll, pitch and yaw of the pelvis: hips' cheap torques do not tell how people carry theirs.
    ranges : mapping of str to (low, high) rad
        Narrower ranges of joints (without their side; signs of the left one) than the avatar's: ground that bears no
        moment about its normal lets a foot spin as no shoe does.
    intervals : (single, double)
    """

    speed: float = 1.2
    slope: float = 0.0
    sole: str = "rolling"
    trailing: str | None = None
    leading: str | None = None
    periodicity: str = "mirrored"
    single: Range = (0.2, 0.8)
    double: Range = (0.075, 0.3)
    double_share: Range | None = None
    impacts: bool = False
    landing: float | None = -0.09
    rolling_on: float | None = None
    clearance: float = 0.02
    clearance_power: int = 1
    clearance_ends: float = 0.125
    friction: float = 0.8
    load: float = 1.4
    torques: Mapping[str, float] = field(default_factory=lambda: dict(TORQUES))
    acceleration: float = 2e-4
    force: float = 0.1
    arm_swing: tuple[float, float] = (0.6, 5.0)
    pelvis: tuple[float, float, float] = (0.09, 0.2, 0.09)
    ranges: Mapping[str, Range] = field(default_factory=lambda: dict(RANGES))
    intervals: tuple[int, int] = (16, 6)

    def __post_init__(self) -> None:
        positive("speed", self.speed, "m/s")
        number("load", self.load, minimum=1.05)
        if abs(number("slope", self.slope, unit="rad")) > 0.7:
            raise InputError("slope", self.slope, "from -0.7 to 0.7 rad")
        choice("sole", self.sole, ("rolling", "flat"))
        choice("periodicity", self.periodicity, ("mirrored", "full"))
        for name in ("single", "double", "double_share"):
            bounds = getattr(self, name)
            if bounds is not None:
                low = positive(f"{name}[0]", bounds[0])
                number(f"{name}[1]", bounds[1], minimum=low)
        if self.double_share is not None and self.double_share[1] >= 1:
            raise InputError("double_share", self.double_share, "two numbers between 0 and 1")
        for name in ("clearance", "friction", "acceleration", "force"):
            non_negative(name, getattr(self, name))
        for name in ("landing", "rolling_on"):
            if getattr(self, name) is not None:
                number(name, getattr(self, name), unit="m")
        if set(self.torques) != set(TORQUES):
            raise InputError("torques", sorted(self.torques), "one number for each of " + ", ".join(TORQUES))
        for name, torque in self.torques.items():
            positive(f"torques.{name}", torque, "N m")
        for name, bounds in self.ranges.items():
            if name not in TORQUES:
                raise InputError("ranges", name, "one of " + ", ".join(TORQUES))
            number(f"ranges.{name}[1]", bounds[1], minimum=number(f"ranges.{name}[0]", bounds[0]), unit="rad")
        integer("clearance_power", self.clearance_power, minimum=1, maximum=2)
        number("clearance_ends", self.clearance_ends, minimum=0.0, maximum=0.5)
        for count in self.intervals:
            integer("intervals", count, minimum=2)
        for part in self.arm_swing:
            non_negative("arm_swing", part)
        if np.any(np.array(self.pelvis) <= 0) or len(self.pelvis) != 3:
            raise InputError("pelvis", self.pelvis, "three angles > 0 (rad)")

    def check(self, avatar: Avatar) -> None:
        """Raise `InputError` where the gait asks for what no pose of this avatar has: places off its sole, angles."""
        length = float(avatar.foot.semi_axes[0])
        for name in ("landing", "rolling_on"):
            at = getattr(self, name)
            if self.sole == "rolling" and at is not None and not abs(at) < length:
                raise InputError(name, at, f"on the sole: above {-length:g} and below {length:g} (m)")
        for joint in avatar.robot.joints:
            name = joint.name.removeprefix("left_")
            low, high = self.ranges.get(name, (joint.lower, joint.upper))
            if low > joint.upper or high < joint.lower:
                allowed = f"a range that meets the avatar's own, from {joint.lower:.4g} to {joint.upper:.4g} (rad)"
                raise InputError(f"ranges.{name}", [low, high], allowed)
