"""What a user says of the two bodies of a rolling pair: a rigid body, a hand that moves, a fixed ground."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from trundle.checks import Converted, FloatArray, array, choice, instance, number, positive
from trundle.errors import InputError
from trundle.geometry.shape import Shape
from trundle.models.inertia import check_inertia
from trundle.numerics.rotations import rotation_plane
from trundle.numerics.space import angular_size
from trundle.parameters import Vector3, parameter


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

    Examples
    --------
    >>> import trundle as tr
    >>> ball = tr.RigidBody(tr.Sphere(0.1), mass=0.5)
    >>> round(float(ball.moments), 6)  # 2/5 m r^2
    0.002
    """

    shape: Shape
    mass: float
    inertia: str | ArrayLike = parameter(
        "solid",
        "'solid', 'shell' or [Ixx, Iyy, Izz] about the centre of mass (kg m^2); in the plane one number, about the "
        "plane's normal, or the words for a lamina or a wire",
    )
    center_of_mass: Converted[Sequence[float] | None, tuple[float, ...]] = Converted(None)

    def __post_init__(self) -> None:
        instance("shape", self.shape, Shape, "a Shape such as trundle.Sphere(radius=0.2)")
        if not _is_bounded(self.shape):
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
        return tuple(-c + 0.0 for c in self.center_of_mass)


def _is_bounded(shape: Shape) -> bool:
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

    1. ``components`` is 6 (space: angular x, y, z, then linear x, y, z), 3 (plane: angular, counter-clockwise, then
       linear x, z), or None where the motion suits both.
    2. ``rate(t, p)`` is the expression (``components``,) of the twist's derivative by components, hand axes, rad/s2
       and m/s2, at the time t with the parameters p (``size``,); one number stands for all components.
    3. ``parameters(t)`` returns the numbers p that are valid from t on, and the time until which they are.
    """

    size: int = 0
    components: int | None = None

    @abstractmethod
    def rate(self, t: ca.SX, p: ca.SX) -> ca.SX:
        """Return the twist's derivative (``components``,)."""

    @abstractmethod
    def parameters(self, t: float) -> tuple[FloatArray, float]:
        """Return p (``size``,) and the end of its validity, s."""

    @property
    def quickest(self) -> float:
        """The largest frequency, Hz, in it; 0 where it has none that is known."""
        return 0.0

    def is_still(self, t: float) -> bool:
        """Return whether the twist's derivative is zero from the time `t` on; whoever is not sure says no."""
        return False


@dataclass(frozen=True)
class Coast(HandMotion):
    """The hand keeps its body twist.

    Examples
    --------
    >>> import trundle as tr
    >>> tr.Coast().is_still(0.0)
    True
    """

    def rate(self, t: ca.SX, p: ca.SX) -> ca.SX:
        """Return zero, for all components."""
        return ca.SX(1, 1)

    def is_still(self, t: float) -> bool:
        """Return that nothing changes the twist."""
        return True

    def parameters(self, t: float) -> tuple[FloatArray, float]:
        """Return nothing, valid for ever."""
        return np.zeros(0), np.inf


@dataclass(frozen=True)
class SinusoidMotion(HandMotion):
    """Each component of the twist's derivative is amplitude sin(2 pi frequency t + phase).

    Parameters
    ----------
    amplitude : (6,) or, in the plane, (3,) rad/s2, m/s2
    frequency : the same size, Hz
    phase : the same size, rad
        Default zero.

    Examples
    --------
    >>> import trundle as tr
    >>> shaking = tr.SinusoidMotion(amplitude=(0.0, 0.5, 0.0), frequency=(1.0, 2.0, 1.0))
    >>> shaking.components, shaking.phase
    (3, (0.0, 0.0, 0.0))
    """

    amplitude: Sequence[float]
    frequency: Sequence[float]
    phase: Sequence[float] | None = None
    components: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        entries = _components("amplitude", self.amplitude)
        object.__setattr__(self, "components", entries)
        if self.phase is None:
            object.__setattr__(self, "phase", (0.0,) * entries)
        for name in ("amplitude", "frequency", "phase"):
            value = array(name, getattr(self, name), (entries,))
            object.__setattr__(self, name, tuple(float(v) for v in value))

    def rate(self, t: ca.SX, p: ca.SX) -> ca.SX:
        """Return amplitude sin(2 pi frequency t + phase)."""
        waves = zip(self.amplitude, self.frequency, self.phase or (), strict=True)
        return ca.vertcat(*(a * ca.sin(2 * np.pi * f * t + phi) if a else 0.0 for a, f, phi in waves))

    @property
    def quickest(self) -> float:
        """The largest frequency, Hz, of those with an amplitude."""
        return max((abs(f) for a, f in zip(self.amplitude, self.frequency, strict=True) if a), default=0.0)

    def is_still(self, t: float) -> bool:
        """Return whether every amplitude is zero."""
        return not any(self.amplitude)

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
    values : (n, 6) or, in the plane, (n, 3) rad/s2, m/s2
        Hand axes, angular first.

    Examples
    --------
    >>> import trundle as tr
    >>> motion = tr.SampledMotion(times=[0.0, 1.0], values=[[0.0, 0.0, 0.0], [0.0, 0.2, 0.0]])
    >>> motion.parameters(0.5)[1]  # valid until the next sample, s
    1.0
    """

    times: FloatArray
    values: FloatArray
    size: int = field(default=13, init=False)
    components: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        times = array("times", self.times, (None,), unit="s")
        if times.size < 2 or np.any(np.diff(times) <= 0):
            raise InputError("times", self.times, "at least two ascending times (s)")
        first = self.values[0] if np.ndim(self.times) == 1 and _rows(self.values) else self.values
        entries = _components("values", first, self.values)
        object.__setattr__(self, "components", entries)
        object.__setattr__(self, "size", 1 + 2 * entries)
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "values", array("values", self.values, (times.size, entries)))

    def rate(self, t: ca.SX, p: ca.SX) -> ca.SX:
        """Return value + (t - t_i) slope, p = (t_i, value, slope)."""
        n = self.values.shape[1]
        return p[1 : n + 1] + (t - p[0]) * p[n + 1 :]

    def is_still(self, t: float) -> bool:
        """Return whether all samples from the last one before `t` on are zero."""
        first = max(int(np.searchsorted(self.times, t, side="right")) - 1, 0)
        return not np.any(self.values[first:])

    def parameters(self, t: float) -> tuple[FloatArray, float]:
        """Return (t_i, value_i, slope_i) of the sample interval that holds `t`, and its end."""
        times, values = self.times, self.values
        level = np.zeros(values.shape[1])
        if t < times[0]:
            return np.concatenate([[t], values[0], level]), float(times[0])
        if t >= times[-1]:
            return np.concatenate([[t], values[-1], level]), np.inf
        i = int(np.searchsorted(times, t, side="right")) - 1
        slope = (values[i + 1] - values[i]) / (times[i + 1] - times[i])
        return np.concatenate([[times[i]], values[i], slope]), float(times[i + 1])


def _rows(values: ArrayLike) -> bool:
    """Whether `values` is a sequence with a first row."""
    return isinstance(values, np.ndarray | list | tuple) and len(values) > 0


def _components(key: str, row: ArrayLike, value: ArrayLike | None = None) -> int:
    """Return 3 or 6, the number of entries of `row`; ``value`` is what the user gave."""
    size = len(row) if isinstance(row, np.ndarray | list | tuple) and np.ndim(row) == 1 else 0
    if size not in (3, 6):
        allowed = "6 numbers (space: angular, then linear) or 3 (plane: angular, then along x and z)"
        raise InputError(key, row if value is None else value, allowed)
    return size


@dataclass(frozen=True)
class Hand:
    """A body that moves as it is told and carries another, in space or in the plane (x right, z up).

    Parameters
    ----------
    shape : Shape
        d = 3, or d = 2 in the plane.
    position : (d,) m
        Origin of the hand's frame (that of its shape) in the world at the start: x, y, z or, in the plane, x, z.
    rpy : (3,) rad
        Space: R_world_hand = Rz(yaw) Ry(pitch) Rx(roll) at the start.
    twist : (6,) or, in the plane, (3,) rad/s, m/s
        Body twist (angular, linear) in hand axes at the start; in the plane (omega counter-clockwise, v_x, v_z).
    motion : HandMotion
        Derivative of the body twist by components (not used under a policy).
    extent : (2,) m or, in the plane, a number or (1,), optional
        Width of the hand along its x and y axes (x in the plane), centred: a contact outside ends the run.
    angle : float, rad
        Plane: counter-clockwise, at the start.

    Raises
    ------
    InputError
        If a value has the wrong size, or belongs to the other dimension (rpy in the plane, angle in space).

    Examples
    --------
    >>> import trundle as tr
    >>> tr.Hand(tr.Plane(), rpy=(0.0, 0.0, 0.0)).orientation.tolist()
    [1.0, 0.0, 0.0, 0.0]
    """

    shape: Shape
    position: Converted[Sequence[float] | None, tuple[float, ...]] = Converted(None)
    rpy: Vector3 = parameter((0.0, 0.0, 0.0), "rad, R = Rz(yaw) Ry(pitch) Rx(roll); only in space")
    twist: Converted[Sequence[float] | None, tuple[float, ...]] = Converted(None)
    motion: HandMotion = field(default_factory=Coast)
    extent: Sequence[float] | float | None = parameter(
        None, "m, x and y, in the plane the width along x; leaving it ends the run"
    )
    angle: float = 0.0

    def __post_init__(self) -> None:
        instance("shape", self.shape, Shape, "a Shape such as trundle.Plane() or, in the plane, trundle.Line()")
        d, size = self.shape.d, angular_size(self.shape.d) + self.shape.d
        for name, entries in (("position", d), ("twist", size)):
            value = getattr(self, name)
            checked = array(name, np.zeros(entries) if value is None else value, (entries,))
            object.__setattr__(self, name, tuple(float(v) for v in checked))
        rpy = array("rpy", self.rpy, (3,), unit="rad")
        object.__setattr__(self, "rpy", tuple(float(v) for v in rpy))
        object.__setattr__(self, "angle", number("angle", self.angle, unit="rad"))
        if d == 2 and np.any(rpy):
            raise InputError("rpy", list(rpy), "left out in the plane, where a hand has an angle")
        if d == 3 and self.angle:
            raise InputError("angle", self.angle, "left out in space, where a hand has rpy")
        instance("motion", self.motion, HandMotion, "a HandMotion: Coast, SinusoidMotion or SampledMotion")
        if self.motion.components not in (None, size):
            raise InputError("motion", self.motion, f"of {size} components, the size of this hand's twist")
        if self.extent is not None:
            widths = [self.extent] if d == 2 and np.ndim(self.extent) == 0 else self.extent
            extent = array("extent", widths, (d - 1,), above=0.0, unit="m")
            object.__setattr__(self, "extent", tuple(float(v) for v in extent))

    @property
    def orientation(self) -> FloatArray:
        """Orientation at the start: the angle (1,) in the plane, the quaternion (w, x, y, z) in space."""
        if self.shape.d == 2:
            return np.array([self.angle])
        return Rotation.from_matrix(self.R_world_hand).as_quat(canonical=True, scalar_first=True)

    @property
    def R_world_hand(self) -> FloatArray:  # noqa: N802
        """Rotation (d, d) at the start."""
        if self.shape.d == 2:
            return rotation_plane(self.angle)
        roll, pitch, yaw = self.rpy
        return Rotation.from_euler("ZYX", [yaw, pitch, roll]).as_matrix()


@dataclass(frozen=True)
class Ground:
    """The fixed world with a shape: terrain in the plane, a fixed surface in space.

    Examples
    --------
    >>> import trundle as tr
    >>> tr.Ground(tr.Sinusoid(0.06, 0.8)).shape.d
    2
    """

    shape: Shape

    def __post_init__(self) -> None:
        instance("shape", self.shape, Shape, "a Shape such as trundle.Sinusoid(0.06, 0.8)")
