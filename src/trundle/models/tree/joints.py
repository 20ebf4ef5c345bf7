"""The joints there are, and BodySpec: a body of a tree with the joint it hangs on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, array
from trundle.contact.contact import Kinematics
from trundle.contact.motion import Motion, carry_given_motion, free, prescribe_motion
from trundle.errors import InputError
from trundle.models.tree.joint import Connection, Site, Symbols, VectorJoint
from trundle.numerics.space import (
    angular_size,
    orientation_rate,
    orientation_rate_body,
    orientation_size,
    rotation,
    rotation_about,
)

_UNIT = 1e-15  # of a length: an axis that is a unit vector up to round-off is kept as given
_SHOWN, _LOOKS, _EVENLY = 10.0, 2000, 0.618033988749895
"""s, over which a motion that is told is looked at, so often, at parts of it that no period shares (golden section)."""
Told = ca.SX | ca.DM | float | Sequence[ca.SX | float]
"""Coordinates of a joint that is told how to move: a number, an expression, or a list of them."""


@final
@dataclass(frozen=True)
class FixedJoint(VectorJoint):
    """No motion relative to the parent, or to the world: the ground."""

    d: int
    size = 0

    def transform(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the identity."""
        return ca.SX.eye(self.d), ca.SX(self.d, 1)

    def subspace(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return matrices without columns."""
        return ca.SX(angular_size(self.d), 0), ca.SX(self.d, 0)


@final
@dataclass(frozen=True)
class Revolute(VectorJoint):
    """A hinge: q is the angle, rad, about the unit vector `axis` (3,) of the parent; (1,) in the plane."""

    axis: tuple[float, ...] = (1.0,)
    size = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", _direction(self.axis, 3 if len(self.axis) > 1 else 1))
        object.__setattr__(self, "d", 2 if len(self.axis) == 1 else 3)

    def transform(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the rotation by q about the axis."""
        R = rotation(self.axis[0] * q) if self.d == 2 else ca.SX(rotation_about(ca.DM(self.axis), q))
        return R, ca.SX(self.d, 1)

    def subspace(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return (axis, 0)."""
        return ca.SX(ca.DM(self.axis)), ca.SX(self.d, 1)


@final
@dataclass(frozen=True)
class Prismatic(VectorJoint):
    """A slide: q is the travel, m, along the unit vector `axis` (d,) of the parent."""

    axis: tuple[float, ...]
    size = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", _direction(self.axis, 3 if len(self.axis) == 3 else 2))
        object.__setattr__(self, "d", len(self.axis))

    def transform(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the translation by q along the axis."""
        return ca.SX.eye(self.d), ca.DM(self.axis) * q

    def subspace(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return (0, axis)."""
        return ca.SX(angular_size(self.d), 1), ca.SX(ca.DM(self.axis))


@final
@dataclass(frozen=True)
class FreeJoint(Connection):
    """No joint: pose (position, then angle or quaternion) and twist (w, v), world, are states."""

    d: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", angular_size(self.d) + self.d)

    def configuration(self) -> dict[str, int]:
        """Return position and orientation."""
        return {"position": self.d, "orientation": orientation_size(self.d)}

    def velocity(self) -> dict[str, int]:
        """Return angular velocity and velocity."""
        return {"angular_velocity": angular_size(self.d), "velocity": self.d}

    def motion(self, site: Site, y: Symbols) -> Motion:
        """Return the motion of a free body."""
        R = rotation(y["orientation"])
        return free(R, y["position"], y["angular_velocity"], y["velocity"], site.nv, site.column)

    def rates(self, site: Site, y: Symbols, nudot: ca.SX, contact: Kinematics | None) -> dict[str, ca.SX]:
        """Return the rates of pose and twist."""
        turn = orientation_rate(y["orientation"], y["angular_velocity"])
        return {"position": y["velocity"], "orientation": turn} | self.with_velocity(nudot)

    def displace(self, y: Symbols, step: ca.SX) -> dict[str, ca.SX]:
        """Return the displaced pose."""
        k = angular_size(self.d)
        turned = y["orientation"] + orientation_rate(y["orientation"], step[:k])
        orientation = turned if self.d == 2 else turned / ca.norm_2(turned)
        return {"position": y["position"] + step[k:], "orientation": orientation}

    def with_velocity(self, nu: ca.SX) -> dict[str, ca.SX]:
        """Return the twist."""
        k = angular_size(self.d)
        return {"angular_velocity": nu[:k], "velocity": nu[k:]}


@final
@dataclass(frozen=True)
class Prescribed(Connection):
    """A given motion: pose and body twist are states, the rate of the twist an input."""

    d: int
    size = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", {"twist_rate": angular_size(self.d) + self.d})

    def configuration(self) -> dict[str, int]:
        """Return position and orientation."""
        return {"position": self.d, "orientation": orientation_size(self.d)}

    def velocity(self) -> dict[str, int]:
        """Return the twist."""
        return {"twist": angular_size(self.d) + self.d}

    def motion(self, site: Site, y: Symbols) -> Motion:
        """Return the given motion."""
        return prescribe_motion(rotation(y["orientation"]), y["position"], y["twist"], y["twist_rate"], site.nv)

    def rates(self, site: Site, y: Symbols, nudot: ca.SX, contact: Kinematics | None) -> dict[str, ca.SX]:
        """Return the rates of pose and twist."""
        k, twist = angular_size(self.d), y["twist"]
        return {
            "position": rotation(y["orientation"]) @ twist[k:],
            "orientation": orientation_rate_body(y["orientation"], twist[:k]),
            "twist": y["twist_rate"],
        }

    def displace(self, y: Symbols, step: ca.SX) -> dict[str, ca.SX]:
        """Return nothing: the pose is given."""
        return {}

    def with_velocity(self, nu: ca.SX) -> dict[str, ca.SX]:
        """Return nothing: the twist is given."""
        return {}


@final
@dataclass(frozen=True)
class Following(Connection):
    """A joint that is told how to move: its coordinates are q = motion(t), twice differentiable in the time t (s).

    Forces do not move it: it has no part in nu. With v = q' and v' = q'' the relative twist is S v, and what the
    accelerations are without nudot has S v' in it.
    """

    joint: VectorJoint
    path: Callable[[ca.SX], Told]
    size = 0
    by_time = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "d", self.joint.d)

    def coordinates(self, t: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Return q, q' and q'' (size,) at the time t."""
        found = self.path(t)
        q = ca.SX(found) if isinstance(found, ca.SX | ca.DM | float | int) else ca.SX(ca.vertcat(*found))
        v = ca.jacobian(q, t)
        return q, v, ca.jacobian(v, t)

    def quickness(self) -> float:
        """Return the largest q'' over the largest q', rad/s: of a sinusoid its angular frequency."""
        t = ca.SX.sym("t")
        _, v, a = self.coordinates(t)
        at = _SHOWN * np.mod(_EVENLY * np.arange(1, _LOOKS), 1.0)
        rates, bends = (np.abs(np.array(f)) for f in ca.Function("rates", [t], [v, a])(at[None]))
        largest = np.nanmax(rates, axis=1, initial=0.0), np.nanmax(bends, axis=1, initial=0.0)
        found = np.divide(largest[1], largest[0], out=np.zeros(len(rates)), where=largest[0] > 0.0)
        return float(found.max(initial=0.0))

    def check(self) -> None:
        """Raise `InputError` unless the motion gives finite coordinates, as many as the joint has, at t = 0."""
        t, allowed = ca.SX.sym("t"), f"a function of the time t, a CasADi symbol, to {self.joint.size} coordinates"
        try:
            found = self.coordinates(t)
            values = np.array(ca.Function("motion", [t], [ca.horzcat(*found)])(0.0))
        except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
            raise InputError("motion", str(error).splitlines()[-1][:120], allowed) from error
        if values.shape != (self.joint.size, 3) or not np.all(np.isfinite(values)):
            raise InputError("motion", values.tolist(), f"{allowed}, finite with two derivatives")

    def configuration(self) -> dict[str, int]:
        """Return nothing: the time says the pose."""
        return {}

    def velocity(self) -> dict[str, int]:
        """Return nothing: the time says the velocity."""
        return {}

    def motion(self, site: Site, y: Symbols) -> Motion:
        """Return the parent's motion at the body's origin, and the relative one at the time ``y["time"]``."""
        q, v, _ = self.coordinates(y["time"])
        R, p = self.joint.transform(q)
        Sw, Sv = self.joint.subspace(q)
        w, v_p = Sw @ v, Sv @ v
        rates = ca.jacobian(w, y["time"]), ca.jacobian(v_p, y["time"])
        R = R if site.orientation is None else R @ site.orientation
        return carry_given_motion(site.parent, R, site.at + p, (w, v_p), rates)

    def rates(self, site: Site, y: Symbols, nudot: ca.SX, contact: Kinematics | None) -> dict[str, ca.SX]:
        """Return nothing."""
        return {}

    def displace(self, y: Symbols, step: ca.SX) -> dict[str, ca.SX]:
        """Return nothing: the pose is given."""
        return {}

    def with_velocity(self, nu: ca.SX) -> dict[str, ca.SX]:
        """Return nothing: the velocity is given."""
        return {}


@dataclass(frozen=True)
class BodySpec:
    """A body as the builder knows it: its data and its joint, at the point ``at`` (d,), m, of the parent's frame.

    ``parent``: number of the parent, -1 of the world. ``orientation`` (3, 3): axes of the body, at the neutral joint
    position, in its parent's; None where they are parallel. ``joint_name``: the joint's own name, the body's unless
    given. ``damping`` (N m s/rad, N s/m), ``dry_friction`` (N m, N), ``smooth_friction`` (N m, N: dry friction that
    turns round over 0.02 rad/s or m/s) and a spring, ``stiffness`` (N m/rad, N/m) at rest
    at ``rest`` (rad, m), are of its joint, so are the stops ``low`` and ``high`` (rad, m), of one coordinate.
    """

    joint: Connection
    name: str
    mass: float = 0.0
    inertia: FloatArray | float = 0.0
    com: tuple[float, ...] = ()
    parent: int = -1
    at: tuple[float, ...] = ()
    actuated: bool = False
    orientation: tuple[tuple[float, ...], ...] | None = None
    joint_name: str = ""
    damping: float = 0.0
    dry_friction: float = 0.0
    smooth_friction: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    low: float = -math.inf
    high: float = math.inf

    @property
    def jointed(self) -> bool:
        """Whether the body moves on a parent."""
        return self.parent >= 0 and self.joint.size > 0

    @property
    def resists(self) -> bool:
        """Whether its joint takes energy away, or keeps it."""
        return bool(self.damping or self.dry_friction or self.smooth_friction or self.stiffness)

    @property
    def floating(self) -> bool:
        """Whether the body moves on no parent: a free one."""
        return self.parent < 0 and self.joint.size > 0

    @property
    def welded(self) -> bool:
        """Whether the body is a frame fixed in its parent."""
        return self.parent >= 0 and self.joint.size == 0 and not self.joint.by_time

    def site(self, parent: Motion, nv: int, column: int) -> Site:
        """Return where the joint acts."""
        orientation = None if self.orientation is None else ca.SX(ca.sparsify(ca.DM(self.orientation)))
        return Site(parent, ca.SX(ca.vertcat(*self.at)) if self.at else ca.SX(self.joint.d, 1), orientation, nv, column)


def _direction(axis: tuple[float, ...], size: int) -> tuple[float, ...]:
    direction = array("axis", axis, (size,))
    length = float(np.linalg.norm(direction))
    if length == 0.0:
        raise InputError("axis", axis, "a direction: not zero")
    unit = direction if abs(length - 1.0) < _UNIT else direction / length
    return tuple(float(c) for c in unit)
