"""Signals: what a task is to follow over time, with its first two derivatives in closed form."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np
from scipy.interpolate import CubicSpline

from trundle.checks import FloatArray, array, choice
from trundle.errors import InputError
from trundle.parameters import Checked, NonNegative, Real, parameter

Time = float | FloatArray
MOST_SAMPLES = 100_000  # of a reference that is given by its values
Triple = tuple[FloatArray, FloatArray, FloatArray]
"""Value, rate and acceleration: numbers or arrays, like the time they belong to."""


class Signal(Checked, ABC):
    """A function of time (s); its unit is that of the task that follows it."""

    has_goal: ClassVar[bool] = False
    """Whether it stays, or comes to rest, at a value."""

    @abstractmethod
    def at(self, t: Time) -> Triple:
        """Return value, rate and acceleration at the time `t`, a number or an array."""

    def table(self) -> dict[str, str | float | Sequence[float]]:
        """Return the signal as a scenario file writes it; see `signal`."""
        kind = next(name for name, known in SIGNALS.items() if known is type(self))
        return {"type": kind} | dataclasses.asdict(self)  # type: ignore[call-overload]


@final
@dataclass(frozen=True)
class Constant(Signal):
    """y = value."""

    has_goal: ClassVar[bool] = True

    value: Real = parameter(0.0, "in the task's unit")

    def at(self, t: Time) -> Triple:
        """Return value, rate and acceleration."""
        zero = np.multiply(0.0, t)
        return self.value + zero, zero, zero


@final
@dataclass(frozen=True)
class Ramp(Signal):
    """y = start + rate t: a constant velocity."""

    rate: Real = field(metadata={"text": "in the task's unit, a second"})
    start: Real = parameter(0.0, "in the task's unit, at t = 0")

    def at(self, t: Time) -> Triple:
        """Return value, rate and acceleration."""
        zero = np.multiply(0.0, t)
        return self.start + np.multiply(self.rate, t), self.rate + zero, zero


@final
@dataclass(frozen=True)
class Sine(Signal):
    """y = mean + amplitude sin(2 pi frequency t + phase), frequency in Hz, phase in rad."""

    amplitude: Real = field(metadata={"text": "in the task's unit"})
    frequency: Real = field(metadata={"text": "Hz"})
    phase: Real = parameter(0.0, "rad")
    mean: Real = parameter(0.0, "in the task's unit")

    def at(self, t: Time) -> Triple:
        """Return value, rate and acceleration."""
        turn = 2 * np.pi * self.frequency
        sine, cosine = np.sin(turn * t + self.phase), np.cos(turn * t + self.phase)
        a = self.amplitude
        return self.mean + a * sine, a * turn * cosine, -a * turn**2 * sine


@final
@dataclass(frozen=True)
class SecondOrder(Signal):
    """The response of y'' = kp (goal - y) - kd y' from y = start, y' = start_rate at t = 0 (paper 4, (17)).

    With a = kd/2 and w = sqrt(a^2 - kp), real or imaginary, and e = y - goal:
    e = exp(-a t) (e0 cosh w t + (e0' + a e0) sinh(w t)/w).
    """

    has_goal: ClassVar[bool] = True

    start: Real = field(metadata={"text": "in the task's unit, at t = 0"})
    goal: Real = parameter(0.0, "in the task's unit")
    kp: NonNegative = parameter(1.0, "1/s^2")
    kd: NonNegative = parameter(2.0, "1/s")
    start_rate: Real = parameter(0.0, "in the task's unit, a second")

    def at(self, t: Time) -> Triple:
        """Return value, rate and acceleration."""
        a = self.kd / 2
        w = np.sqrt(complex(a**2 - self.kp))
        up, down = np.exp((w - a) * t), np.exp((-w - a) * t)
        hyperbolic_cosine = (up + down) / 2
        hyperbolic_sine = (up - down) / (2 * w) if abs(w) > 1e-8 * max(a, 1e-300) else t * np.exp(-a * t)
        e0 = self.start - self.goal
        b = self.start_rate + a * e0
        e = np.real(e0 * hyperbolic_cosine + b * hyperbolic_sine)
        rate = np.real(b * hyperbolic_cosine + w**2 * e0 * hyperbolic_sine) - a * e
        return self.goal + e, rate, -self.kp * e - self.kd * rate


@final
@dataclass(frozen=True)
class Sampled(Signal):
    """The natural cubic spline through samples (two: a line); before and after them their first and last value.

    Parameters
    ----------
    times : (n,) s
        Increasing, at least two.
    values : (n,)
        In the task's unit.
    """

    has_goal: ClassVar[bool] = True

    times: Sequence[float]
    values: Sequence[float]

    def __post_init__(self) -> None:
        t = array("times", self.times, (None,), unit="s")
        if not 2 <= len(t) <= MOST_SAMPLES or np.any(np.diff(t) <= 0):
            raise InputError("times", t, f"two or more, at most {MOST_SAMPLES}, increasing (s)")
        y = array("values", self.values, (len(t),))
        object.__setattr__(self, "times", tuple(t.tolist()))
        object.__setattr__(self, "values", tuple(y.tolist()))
        object.__setattr__(self, "_spline", CubicSpline(t, y, bc_type="natural"))

    def at(self, t: Time) -> Triple:
        """Return value, rate and acceleration."""
        spline: CubicSpline = self._spline  # type: ignore[attr-defined]
        inside = (np.asarray(t) >= self.times[0]) & (np.asarray(t) <= self.times[-1])
        near = np.clip(t, self.times[0], self.times[-1])
        return spline(near), np.where(inside, spline(near, 1), 0.0), np.where(inside, spline(near, 2), 0.0)


SIGNALS: dict[str, type[Signal]] = {
    "constant": Constant,
    "ramp": Ramp,
    "sinusoid": Sine,
    "second-order": SecondOrder,
    "samples": Sampled,
}
"""Type in a file -> signal; a new one is a class and one line here."""


def signal(table: Mapping[str, str | float | Sequence[float]]) -> Signal:
    """Return the signal of a table with its `type` and numbers.

    Raises
    ------
    InputError
        If the type is not known or a number is not finite.
    """
    kind = choice("type", table.get("type"), tuple(SIGNALS))
    return SIGNALS[kind](**{key: value for key, value in table.items() if key != "type"})
