"""Gait: the settings of an optimal walking problem."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal

from trundle.checks import integer, number, positive
from trundle.errors import InputError
from trundle.parameters import NonNegative, check_parameters, parameter
from trundle.parameters import Range as Numbers

if TYPE_CHECKING:
    from trundle.systems.walking.robots.avatar import Avatar

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
    "toe": 15.0,
    "shoulder_pitch": 6.0,
    "shoulder_roll": 5.0,
    "shoulder_yaw": 3.0,
    "elbow": 4.0,
}
"""N m, of the order of each joint's largest torque in human walking; a cost of 1 each at these."""

Range = tuple[float, float]
Sole = Literal["rolling", "flat"]
Periodicity = Literal["mirrored", "full"]
Speed = Annotated[float, Numbers("a speed > 0, at most 5 (m/s)", above=0.0, unit="m/s", in_files=(0.0, 5.0))]
Times = Annotated[
    Range,
    Numbers("two ascending times > 0, at most 10 (s)", above=0.0, unit="s", order=operator.le, in_files=(0.0, 10.0)),
]
Shares = Annotated[Range, Numbers("two ascending shares between 0 and 1", above=0.0, below=1.0, order=operator.le)]
Factors = Annotated[Range, Numbers("two ascending factors from 0.2 to 5", 0.2, 5.0, order=operator.le)]
Place = Annotated[float, Numbers("a length from -1 to 1 (m)", unit="m", in_files=(-1.0, 1.0))]
Height = Annotated[float, Numbers("a length from 0 to 0.5 (m)", minimum=0.0, unit="m", in_files=(0.0, 0.5))]
End = Annotated[float, Numbers("a share from 0 to 0.5", minimum=0.0, maximum=0.5)]
Load = Annotated[float, Numbers("a number from 1.05 to 100", minimum=1.05, in_files=(1.05, 100.0))]
Weights = Annotated[Range, Numbers("2 numbers from 0 to 1e6", minimum=0.0, in_files=(0.0, 1e6))]
Angles = Annotated[
    tuple[float, float, float],
    Numbers("3 angles > 0, each at most 1.5 (rad)", above=0.0, unit="rad", in_files=(0.0, 1.5)),
]
Intervals = Annotated[tuple[int, int], Numbers("2 integers from 2 to 500", minimum=2, in_files=(2, 500))]
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
    stretch : (low, high), optional
        Bounds of the factors of the rolling sole's semi-axes, which the plan chooses: the depth of its lowest point
        below the ankle stays. An ellipsoid, or a superellipsoid without rounding.
    trailing, leading : str, optional
        How the feet stand in double support; of the flat sole ``flat``, ``toe``, ``heel`` or ``toe-point``.
    periodicity : "mirrored" or "full"
        One step, the next its mirror image; or two steps of which the second ends where the first began.
    single, double : (low, high) s
        Duration of a single and of a double support. Feet with toes go through single support in two phases, which
        last each as long as a double support at least and a single one at most.
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

    speed: Speed = parameter(1.2, "m/s, mean along the ground")
    slope: float = 0.0
    sole: Sole = parameter("rolling", "an ellipsoid that rolls, or a flat sole")
    stretch: Factors | None = parameter(
        None, "bounds of factors of the rolling sole's semi-axes, which the plan chooses; left out: 1"
    )
    trailing: str | None = parameter(None, "how the foot behind stands in double support")
    leading: str | None = parameter(None, "how the foot in front stands in double support")
    periodicity: Periodicity = parameter("mirrored", "of one step and its mirror image, or of two steps")
    single: Times = parameter((0.2, 0.8), "s, least and largest duration of single support")
    double: Times = parameter((0.01, 0.3), "s, of double support")
    double_share: Shares | None = parameter(None, "double support over the step, least and largest")
    impacts: bool = parameter(False, "whether feet land with a plastic impact, otherwise at rest")
    landing: Place | None = parameter(
        -0.09, "m, ahead of the sole's centre, where a foot touches down; of a rolling sole"
    )
    rolling_on: Place | None = parameter(
        None, "m, likewise where it bears when single support begins; free if left out"
    )
    clearance: Height = parameter(0.02, "m, of the foot at mid-swing, at least")
    clearance_power: int = 1
    clearance_ends: End = parameter(
        0.125, "share of the swing at either end in which the foot need only be above the ground"
    )
    friction: NonNegative = parameter(0.8, "coefficient")
    load: Load = parameter(1.4, "largest normal force of a foot over the weight")
    torques: Mapping[str, float] = field(default_factory=lambda: dict(TORQUES))
    acceleration: NonNegative = parameter(1e-5, "weight of rad/s^2, m/s^2")
    force: NonNegative = parameter(0.1, "weight of ground forces over the weight")
    arm_swing: Weights = parameter(
        (0.6, 5.0), "arms swing against legs by this share of the hips' angles: share, weight"
    )
    pelvis: Angles = parameter((0.09, 0.2, 0.09), "rad, largest roll, pitch, yaw of the pelvis")
    ranges: Mapping[str, Range] = parameter(
        RANGES, "rad, ranges of joints (left side) that are narrower than the avatar's"
    )
    intervals: Intervals = parameter((16, 6), "of single and of double support")

    def __post_init__(self) -> None:
        check_parameters(self)
        if abs(number("slope", self.slope, unit="rad")) > 0.7:
            raise InputError("slope", self.slope, "from -0.7 to 0.7 rad")
        if self.stretch is not None and (self.impacts or self.sole == "flat"):
            raise InputError("stretch", self.stretch, "left out for flat soles and for walks with impacts")
        if set(self.torques) != set(TORQUES):
            raise InputError("torques", sorted(self.torques), "one number for each of " + ", ".join(TORQUES))
        for name, torque in self.torques.items():
            positive(f"torques.{name}", torque, "N m")
        for name, bounds in self.ranges.items():
            if name not in TORQUES:
                raise InputError("ranges", name, "one of " + ", ".join(TORQUES))
            number(f"ranges.{name}[1]", bounds[1], minimum=number(f"ranges.{name}[0]", bounds[0]), unit="rad")
        integer("clearance_power", self.clearance_power, minimum=1, maximum=2)

    def check(self, avatar: Avatar) -> None:
        """Raise `InputError` where the gait asks for what no pose of this avatar has: places off its sole, angles."""
        if avatar.right is not None and (self.periodicity == "mirrored" or self.sole == "flat" or self.stretch):
            allowed = "'full', sole 'rolling' and no stretch, where the right foot is not the left one's image"
            raise InputError("periodicity", self.periodicity, allowed)
        if avatar.toes is not None and (
            self.impacts or self.sole == "flat" or self.stretch or self.rolling_on is not None
        ):
            raise InputError("toes", "given", "left out with flat soles, impacts, stretch or rolling_on")
        if self.stretch is not None:
            avatar.stretch_sole([1.0] * 3)
        length = float(avatar.foot.sole.points_with_normal([1.0, 0.0, 0.0])[0][0])
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
