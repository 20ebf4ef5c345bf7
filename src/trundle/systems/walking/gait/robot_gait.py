"""RobotGait: which feet of a robot swing in turn, and what its steps must keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from trundle.errors import InputError
from trundle.parameters import Checked, NonNegative, Positive, parameter
from trundle.parameters import Range as Numbers
from trundle.systems.walking.gait.gait import Angles, End, Height, Intervals, Load, Periodicity, Shares, Speed, Times

Pattern = Literal["walk", "trot", "pace"]
Lean = Annotated[float, Numbers("an angle from -0.7 to 0.7 (rad)", minimum=-0.7, maximum=0.7, unit="rad")]
Steps = Annotated[int, Numbers("an integer from 1 to 50", minimum=1, maximum=50)]
_GRAVITY = 9.81  # m/s2: for the unit of speed alone, sqrt(g l)
_FROUDE, _SINGLE, _DOUBLE = 0.15, (0.8, 1.3), (0.5, 1.0)
"""Of people who stroll: speed over sqrt(g l), durations over sqrt(l/g), l the length of the legs."""


@dataclass(frozen=True)
class RobotGait(Checked):
    """What is asked of a robot's steps; lengths of its legs make speed and durations where none are given (final).

    Parameters
    ----------
    speed : float, m/s
    slope : float, rad
        > 0 uphill. Gravity turns, the ground stays at z = 0.
    pattern : "walk", "trot" or "pace"
        Which feet swing together: one after the other, the hind foot of a side before the fore one; a fore and the hind
        foot of the other side; or those of one side. Two feet: one after the other, always.
    swings : sequence of sequence of str, optional
        The same by the feet's names, in place of `pattern`: half of the cycle, or with "full" all of it.
    periodicity : "mirrored" or "full"
        Whether the second half of the cycle is the mirror image of the first.
    single, double : (low, high) s
        Duration of a swing, and of the time on all feet after it.
    double_share : (low, high)
        Of the time on all feet after a swing, over the cycle that is planned.
    clearance, clearance_power, clearance_ends : as of `trundle.systems.walking.gait.gait.Gait`
    friction : float
    load : float
        Largest normal force of a foot over the weight.
    acceleration, force : float
        Weights of squares of accelerations (rad/s2, m/s2) and of ground forces (over the weight).
    attitude : (3,) rad
        Largest roll, pitch and yaw of the base.
    spread : float
        Least distance across of a foot and its mirror image, over that when it stands.
    torque : float
        Torque over weight times length of the legs that costs 1, where the motor's limit is not below it.
    intervals : (swing, on all feet)
    steps : int
        Where there is ground other than the plane z = 0: steps from standing to standing.

    Examples
    --------
    >>> tr.walking.RobotGait(pattern="trot").on_legs(0.3).speed.__round__(3)  # m/s
    0.257
    """

    speed: Speed | None = parameter(None, "m/s, mean along the ground; left out: that of a stroll on such legs")
    slope: Lean = 0.0
    pattern: Pattern = parameter("walk", "of four feet: which swing together")
    swings: Sequence[Sequence[str]] | None = None
    periodicity: Periodicity = parameter("mirrored", "of half a cycle and its mirror image, or of a whole one")
    single: Times | None = parameter(None, "s, least and largest duration of a swing; left out: as legs swing")
    double: Times | None = parameter(None, "s, of the time on all feet after a swing; left out: by the legs")
    double_share: Shares | None = parameter(None, "of that over the planned cycle, least and largest")
    clearance: Height = parameter(0.02, "m, of a foot at mid-swing, at least")
    clearance_power: int = 1
    clearance_ends: End = parameter(
        0.125, "share of the swing at either end in which the foot need only be above the ground"
    )
    friction: NonNegative = parameter(0.7, "coefficient")
    load: Load = parameter(2.0, "largest normal force of a foot over the weight")
    acceleration: NonNegative = parameter(1e-5, "weight of rad/s^2, m/s^2")
    force: NonNegative = parameter(0.1, "weight of ground forces over the weight")
    attitude: Angles = parameter((0.15, 0.2, 0.1), "rad, largest roll, pitch, yaw of the base")
    spread: NonNegative = parameter(0.8, "least distance across of two feet, over that when it stands")
    torque: Positive = parameter(0.1, "over weight and length of the legs: a torque that costs 1")
    intervals: Intervals = parameter((16, 6), "of a swing and of the time on all feet")

    steps: Steps = parameter(6, "from standing to standing, where there is [ground]")

    def on_legs(self, length: float) -> RobotGait:
        """Return the gait with the speed and durations of legs of a length (m) where none are given."""
        unit = (length / _GRAVITY) ** 0.5
        single, double = ((low * unit, high * unit) for low, high in (_SINGLE, _DOUBLE))
        return replace(
            self,
            speed=_FROUDE * _GRAVITY * unit if self.speed is None else self.speed,
            single=self.single or single,
            double=self.double or double,
        )

    def groups(self, partners: Mapping[str, str], ahead: Sequence[str]) -> list[tuple[str, ...]]:
        """Return which feet swing one after the other in the planned cycle.

        Parameters
        ----------
        partners : mapping of str to str
            Each foot's mirror image.
        ahead : sequence of str
            The feet on the left, from the last to the first.

        Raises
        ------
        InputError
            If a foot is unknown, does not swing, or all swing together.
        """
        feet, left = set(partners), tuple(ahead)
        if self.swings is not None:
            found = [tuple(group) for group in self.swings]
        elif len(left) == 1 or self.pattern == "walk":
            found = [(foot,) for foot in left]
        elif self.pattern == "pace":
            found = [left]
        else:
            found = [tuple(foot if i % 2 else partners[foot] for i, foot in enumerate(left))]
        for group in found:
            if not group or not set(group) < feet:
                raise InputError("swings", list(group), "some of the feet, not all: " + ", ".join(sorted(feet)))
        if self.swings is None and self.periodicity == "full":
            found += [tuple(partners[foot] for foot in group) for group in found]
        swung = [foot for group in found for foot in group]
        if self.periodicity == "mirrored":
            swung += [partners[foot] for foot in swung]
        if sorted(swung) != sorted(feet):
            raise InputError("swings", found, "every foot once in the cycle, with its second half")
        return found
