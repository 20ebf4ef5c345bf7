"""Trapezoidal acceleration profiles: hand motions with few parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline

from trundle.checks import FloatArray, array, number, positive
from trundle.errors import InputError
from trundle.models.rigid_body import SampledMotion
from trundle.threads import cached_property

_LONGEST = 1000.0  # s: a roll-out of a million samples


@dataclass(frozen=True)
class Pulse:
    """One trapezoid of acceleration: a ramp up, a plateau, a ramp down.

    Its gain of velocity is height (duration - ramp).

    Parameters
    ----------
    start : float, s
    duration : float, s
        Ramps included.
    height : float, rad/s2 or m/s2
        Of the plateau.
    ramp : float, s
        Length of each ramp, at most half the duration.

    Raises
    ------
    InputError
        If a time is out of range.
    """

    start: float
    duration: float
    height: float
    ramp: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", number("start", self.start, minimum=0.0, maximum=_LONGEST, unit="s"))
        duration = number("duration", self.duration, above=0.0, maximum=_LONGEST, unit="s")
        object.__setattr__(self, "duration", duration)
        object.__setattr__(self, "height", number("height", self.height))
        ramp = positive("ramp", self.ramp, "s")
        if ramp > self.duration / 2 * (1 + 1e-12):
            raise InputError("ramp", self.ramp, f"at most half the pulse's duration, {self.duration / 2:g} s")
        object.__setattr__(self, "ramp", ramp)

    @property
    def end(self) -> float:
        """When it is over, s."""
        return self.start + self.duration

    @property
    def gain(self) -> float:
        """Velocity it adds, rad/s or m/s."""
        return self.height * (self.duration - self.ramp)

    def at(self, times: FloatArray) -> FloatArray:
        """Return the acceleration (n,) at `times` (n,) s."""
        return np.interp(times, self.knots, [0.0, self.height, self.height, 0.0])

    @property
    def knots(self) -> FloatArray:
        """The times (4,) of its corners, s."""
        return np.array([self.start, self.start + self.ramp, self.end - self.ramp, self.end])


def two_pulses(start: float, duration: float, ramp: float, gain: float, travel: float) -> tuple[Pulse, Pulse]:
    """Return two pulses, each half of `duration`, that add the velocity `gain` and, on top of coasting, `travel`.

    With w = duration / 2 - ramp: (h1 + h2) w = gain and (3 h1 + h2) w duration / 4 = travel.

    Parameters
    ----------
    start, duration, ramp : float, s
        ``ramp`` of each of the four ramps, less than half a pulse.
    gain : float, rad/s or m/s
        To bring a velocity v to rest: -v.
    travel : float, rad or m
        To end at d from here: d - v duration.
    """
    half = positive("duration", duration, "s") / 2
    area = half - positive("ramp", ramp, "s")
    if not area > 0:
        raise InputError("ramp", ramp, f"less than half of the duration {duration:g} s")
    first = (number("travel", travel) / half - number("gain", gain) / 2) / area
    return Pulse(start, half, first, ramp), Pulse(start + half, half, gain / area - first, ramp)


@dataclass(frozen=True)
class Profile:
    """Pulses for each component of a hand's twist; where pulses overlap they add.

    Parameters
    ----------
    pulses : sequence of sequences of Pulse
        3 (plane: angular, x, z) or 6 (space: angular, then linear) entries, in hand axes; an entry may be empty.

    Raises
    ------
    InputError
        If there are not 3 or 6 entries, or an entry holds something else than pulses.
    """

    pulses: Sequence[Sequence[Pulse]]

    def __post_init__(self) -> None:
        entries = tuple(tuple(entry) for entry in self.pulses)
        if len(entries) not in (3, 6) or not all(isinstance(p, Pulse) for entry in entries for p in entry):
            raise InputError("pulses", self.pulses, "3 (plane) or 6 (space) lists of Pulse, angular first")
        object.__setattr__(self, "pulses", entries)

    @cached_property
    def knots(self) -> tuple[FloatArray, FloatArray]:
        """Times (n,) of all corners and the accelerations (n, components) there; linear in between."""
        corners = [p.knots for entry in self.pulses for p in entry]
        times = np.unique(np.concatenate([[0.0], *corners]))
        times = times[np.concatenate([[True], np.diff(times) > 1e-12])]
        if times.size < 2:
            times = np.array([0.0, 1.0])
        return times, np.stack([sum((p.at(times) for p in entry), np.zeros(times.size)) for entry in self.pulses], 1)

    @property
    def duration(self) -> float:
        """Time at which the last pulse is over, s."""
        return max((p.end for entry in self.pulses for p in entry), default=0.0)

    @property
    def largest(self) -> FloatArray:
        """Largest absolute acceleration of each component (components,)."""
        return np.max(np.abs(self.knots[1]), axis=0)

    def motion(self) -> SampledMotion:
        """Return the profile as the motion of a `Hand`."""
        return SampledMotion(*self.knots)

    def acceleration(self, times: float | FloatArray) -> FloatArray:
        """Return the derivative of the twist (n, components) at `times` (n,) s."""
        t = np.atleast_1d(array("times", np.atleast_1d(times), (None,), unit="s"))
        knots, values = self.knots
        return np.stack([np.interp(t, knots, column, left=0.0, right=0.0) for column in values.T], axis=1)

    def twist(self, times: float | FloatArray) -> FloatArray:
        """Return the exact gain of the twist (n, components) since t = 0, rad/s and m/s, hand axes."""
        return self._integrate_pulses(times)[0]

    def travel(self, times: float | FloatArray) -> FloatArray:
        """Return the exact integral (n, components) of `twist` since t = 0.

        In the plane its first column is the angle the hand has turned from rest; the others are lengths only where
        the hand does not turn.
        """
        return self._integrate_pulses(times)[1]

    def _integrate_pulses(self, times: float | FloatArray) -> tuple[FloatArray, FloatArray]:
        t = np.atleast_1d(array("times", np.atleast_1d(times), (None,), above=-1e-300, unit="s"))
        knots, a = self.knots
        knots, a = np.append(knots, np.inf), np.vstack([a, np.zeros((1, a.shape[1]))])
        h = np.diff(knots[:-1])[:, None]
        v = np.vstack([np.zeros(a.shape[1]), np.cumsum((a[:-2] + a[1:-1]) / 2 * h, axis=0)])
        p = np.vstack([np.zeros(a.shape[1]), np.cumsum(v[:-1] * h + (2 * a[:-2] + a[1:-1]) / 6 * h**2, axis=0)])
        i = np.searchsorted(knots, t, side="right") - 1
        s = (t - knots[i])[:, None]
        slope = (a[i + 1] - a[i]) / (knots[i + 1] - knots[i])[:, None]
        return v[i] + a[i] * s + slope / 2 * s**2, p[i] + v[i] * s + a[i] / 2 * s**2 + slope / 6 * s**3


@dataclass(frozen=True, eq=False)
class SampledProfile:
    """Accelerations of a hand that are linear between samples and zero after the last.

    Parameters
    ----------
    times : (n,) s
        Ascending, from 0.
    values : (n, components) rad/s2, m/s2
        Hand axes, angular first.
    start : (components,) rad/s, m/s
        The twist at the time 0.
    """

    times: FloatArray
    values: FloatArray
    start: FloatArray

    @property
    def duration(self) -> float:
        """Time of the last sample, s."""
        return float(self.times[-1])

    @cached_property
    def _twists(self) -> BSpline:
        return make_interp_spline(self.times, self.values, k=1).antiderivative()

    def twist(self, times: FloatArray) -> FloatArray:
        """Return the twist (n, components) at `times` (n,) s."""
        return self.start + self._twists(np.clip(times, 0.0, self.duration))
