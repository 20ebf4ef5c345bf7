"""What a user says of the two bodies of a rolling pair: a rigid body, a hand that moves, a fixed ground."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from scipy.spatial.transform import Rotation

from trundle.checks import FloatArray, array, choice, positive
from trundle.errors import InputError
from trundle.geometry.shape import Shape
from trundle.models.inertia import check_inertia


@dataclass(frozen=True)
class RigidBody:
    """A rigid body with a shape.

    Parameters
    ----------
    shape : Shape
        Bounded, d = 2 or 3.
    mass : float, kg
    inertia : "solid", "shell", float (plane), (3,) or (3, 3), kg m2
        About the centre of mass, in body axes (those of the shape). The words take the moments of a
        homogeneous solid or of a shell of even thickness about its centroid.
    center_of_mass : (d,) m
        In the shape's frame.

    Raises
    ------
    InputError
        If a value has the wrong sign or shape, or the inertia belongs to no real body.
    """

    shape: Shape
    mass: float
    inertia: Any = "solid"
    center_of_mass: Sequence[float] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.shape, Shape):
            raise InputError("shape", self.shape, "a Shape such as trundle.Sphere(radius=0.2)")
        if not _bounded(self.shape):
            raise InputError("shape", self.shape, "bounded: a body is no terrain, hollow or endless bar")
        d = self.shape.d
        object.__setattr__(self, "mass", positive("mass", self.mass, "kg"))
        center = np.zeros(d) if self.center_of_mass is None else self.center_of_mass
        center = tuple(float(c) for c in array("center_of_mass", center, (d,), unit="m"))
        object.__setattr__(self, "center_of_mass", center)
        if isinstance(self.inertia, str):
            kind = choice("inertia", self.inertia, ("solid", "shell"))
            _, per_mass = self.shape.mass_properties(kind)
            moments = self.mass * np.asarray(per_mass, dtype=np.float64)
            moments = float(moments) if moments.ndim == 0 else _tidy(moments)
        else:
            moments = self.inertia
        object.__setattr__(self, "moments", check_inertia(d, moments))

    moments: FloatArray | float = field(init=False, repr=False)

    @property
    def shape_origin(self) -> tuple[float, ...]:
        """Origin of the shape in the body's frame, whose origin is the centre of mass: (d,) m."""
        return tuple(-c + 0.0 for c in self.center_of_mass or ())


def _bounded(shape: Shape) -> bool:
    """Whether the material ends on every side, as far as the representations tell."""
    r = shape.representations
    if r.flat or r.height is not None:
        return False
    if any(np.isinf(chart.reach) and not all(u.bounded for u in chart.ranges) for chart in r.charts):
        return False
    if r.level is None:
        return True
    x = ca.SX.sym("x", shape.d)
    level = ca.Function("level", [x], [r.level.level(x)])
    far = 1e3 * shape.reference_length * np.vstack([np.eye(shape.d), -np.eye(shape.d)])
    return all(float(level(point)) > 0 for point in far)  # pyright: ignore[reportArgumentType]


def _tidy(inertia: FloatArray) -> FloatArray:
    """Set entries that are round-off to zero and equal moments equal, so that symmetry stays exact."""
    scale = float(np.max(np.abs(inertia)))
    clean = np.where(np.abs(inertia) < 1e-13 * scale, 0.0, inertia)
    diagonal = np.diag(clean)
    if np.count_nonzero(clean - np.diag(diagonal)) == 0 and np.ptp(diagonal) < 1e-13 * scale:
        return diagonal[0] * np.eye(3)
    return clean


class HandMotion(ABC):
    """Derivative of a hand's body twist over time.

    Contract for a subclass:

    1. ``rate(t, p)`` is the expression (6,) of the twist's derivative by components, angular first,
       hand axes, rad/s2 and m/s2, at the time t with the parameters p (``size``,).
    2. ``parameters(t)`` returns the numbers p that are valid from t on, and the time until which they are.
    """

    size: int = 0

    @abstractmethod
    def rate(self, t: ca.SX, p: ca.SX) -> ca.SX:
        """Return the twist's derivative (6,)."""

    @abstractmethod
    def parameters(self, t: float) -> tuple[FloatArray, float]:
        """Return p (``size``,) and the end of its validity, s."""


@dataclass(frozen=True)
class Coast(HandMotion):
    """The hand keeps its body twist."""

    def rate(self, t: ca.SX, p: ca.SX) -> ca.SX:
        """Return zero."""
        return ca.SX(6, 1)

    def parameters(self, t: float) -> tuple[FloatArray, float]:
        """Return nothing, valid for ever."""
        return np.zeros(0), np.inf


@dataclass(frozen=True)
class SinusoidMotion(HandMotion):
    """Each component of the twist's derivative is amplitude sin(2 pi frequency t + phase).

    Parameters
    ----------
    amplitude : (6,) rad/s2, m/s2
    frequency : (6,) Hz
    phase : (6,) rad
    """

    amplitude: Sequence[float]
    frequency: Sequence[float]
    phase: Sequence[float] = (0.0,) * 6

    def __post_init__(self) -> None:
        for name in ("amplitude", "frequency", "phase"):
            value = array(name, getattr(self, name), (6,))
            object.__setattr__(self, name, tuple(float(v) for v in value))

    def rate(self, t: ca.SX, p: ca.SX) -> ca.SX:
        """Return amplitude sin(2 pi frequency t + phase)."""
        waves = zip(self.amplitude, self.frequency, self.phase, strict=True)
        return ca.vertcat(*(a * ca.sin(2 * np.pi * f * t + phi) if a else 0.0 for a, f, phi in waves))

    def parameters(self, t: float) -> tuple[FloatArray, float]:
        """Return nothing, valid for ever."""
        return np.zeros(0), np.inf


@dataclass(frozen=True)
class SampledMotion(HandMotion):
    """The twist's derivative is linear between samples and constant before the first and after the last.

    Parameters
    ----------
    times : (n,) s
        Ascending, n >= 2.
    values : (n, 6) rad/s2, m/s2
        Hand axes, angular first.
    """

    times: FloatArray
    values: FloatArray
    size: int = field(default=13, init=False)

    def __post_init__(self) -> None:
        times = array("times", self.times, (None,), unit="s")
        if times.size < 2 or np.any(np.diff(times) <= 0):
            raise InputError("times", self.times, "at least two ascending times (s)")
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "values", array("values", self.values, (times.size, 6)))

    def rate(self, t: ca.SX, p: ca.SX) -> ca.SX:
        """Return p[1:7] + (t - p[0]) p[7:13]."""
        return p[1:7] + (t - p[0]) * p[7:13]

    def parameters(self, t: float) -> tuple[FloatArray, float]:
        """Return (t_i, value_i, slope_i) of the sample interval that holds `t`, and its end."""
        times, values = self.times, self.values
        if t < times[0]:
            return np.concatenate([[t], values[0], np.zeros(6)]), float(times[0])
        if t >= times[-1]:
            return np.concatenate([[t], values[-1], np.zeros(6)]), np.inf
        i = int(np.searchsorted(times, t, side="right")) - 1
        slope = (values[i + 1] - values[i]) / (times[i + 1] - times[i])
        return np.concatenate([[times[i]], values[i], slope]), float(times[i + 1])


@dataclass(frozen=True)
class Hand:
    """A body that moves as it is told and carries another.

    Parameters
    ----------
    shape : Shape
        d = 3.
    position : (3,) m
        Origin of the hand's frame (that of its shape) in the world at the start.
    rpy : (3,) rad
        R_world_hand = Rz(yaw) Ry(pitch) Rx(roll) at the start.
    twist : (6,) rad/s, m/s
        Body twist (angular, linear) in hand axes at the start.
    motion : HandMotion
        Derivative of the body twist by components (not used under a policy).
    extent : (2,) m, optional
        Width of the hand along its x and y axes, centred: a contact outside ends the run.
    """

    shape: Shape
    position: Sequence[float] = (0.0, 0.0, 0.0)
    rpy: Sequence[float] = (0.0, 0.0, 0.0)
    twist: Sequence[float] = (0.0,) * 6
    motion: HandMotion = field(default_factory=Coast)
    extent: Sequence[float] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.shape, Shape) or self.shape.d != 3:
            raise InputError("shape", self.shape, "a Shape in space such as trundle.Plane()")
        for name, size in (("position", 3), ("rpy", 3), ("twist", 6)):
            value = array(name, getattr(self, name), (size,))
            object.__setattr__(self, name, tuple(float(v) for v in value))
        if not isinstance(self.motion, HandMotion):
            raise InputError("motion", self.motion, "a HandMotion: Coast, SinusoidMotion or SampledMotion")
        if self.extent is not None:
            extent = array("extent", self.extent, (2,), above=0.0, unit="m")
            object.__setattr__(self, "extent", tuple(float(v) for v in extent))

    @property
    def R_world_hand(self) -> FloatArray:  # noqa: N802
        """Rotation (3, 3) at the start."""
        roll, pitch, yaw = self.rpy
        return Rotation.from_euler("ZYX", [yaw, pitch, roll]).as_matrix()


@dataclass(frozen=True)
class Ground:
    """The fixed world with a shape: terrain in the plane, a fixed surface in space."""

    shape: Shape

    def __post_init__(self) -> None:
        if not isinstance(self.shape, Shape):
            raise InputError("shape", self.shape, "a Shape such as trundle.Sinusoid(0.06, 0.8)")
