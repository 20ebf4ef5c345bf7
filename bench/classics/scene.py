"""What a classic is for any engine: bodies, shapes, joints and how they start; SI units, world axes, z up.

A body's frame has its origin in the centre of mass. Jointed bodies start with axes parallel to the world's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

GRAVITY = 9.81  # m/s^2
EDGE = 1e-3
"""A disc is an ellipsoid so much thinner than wide where an engine has none; its own cylinder would stand upright."""
LIGHT = 1e-6  # kg and kg m^2 of links that only carry a joint

Joints = Mapping[str, tuple[float, float]]
"""Angle (rad) and rate (rad/s) of actuated hinges by their bodies' names."""

Kind = Literal["plane", "sphere", "ellipsoid", "disc", "box"]


@dataclass(frozen=True)
class Geom:
    """A shape: sphere (radius,), ellipsoid (3 semi-axes), disc (radius,; axis z), box (3 half edges)."""

    kind: Kind
    size: tuple[float, ...] = ()
    at: tuple[float, float, float] = (0.0, 0.0, 0.0)  # m, in the body's frame
    quaternion: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)  # (w, x, y, z), body from shape


@dataclass(frozen=True)
class Joint:
    """A hinge or a slide to the parent (None: the world)."""

    parent: str | None
    kind: Literal["hinge", "slide"]
    axis: tuple[float, float, float]
    at: tuple[float, float, float] = (0.0, 0.0, 0.0)  # m, world, at the start
    rate: float = 0.0  # rad/s or m/s at the start
    actuated: bool = False


@dataclass(frozen=True)
class Body:
    """A rigid body, free or on a joint."""

    name: str
    mass: float
    inertia: ArrayLike  # (3,) or (3, 3) kg m^2 about the centre of mass, body axes
    position: tuple[float, ...]  # m, of the centre of mass
    geoms: tuple[Geom, ...] = ()
    joint: Joint | None = None
    quaternion: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)
    spin: tuple[float, ...] = (0.0, 0.0, 0.0)  # rad/s, world
    velocity: tuple[float, ...] = (0.0, 0.0, 0.0)  # m/s, world

    @property
    def moments(self) -> np.ndarray:
        """Inertia as a matrix (3, 3)."""
        value = np.asarray(self.inertia, dtype=float)
        return np.diag(value) if value.ndim == 1 else value


def light(name: str, joint: Joint, position: tuple[float, ...] = (0.0, 0.0, 0.0)) -> Body:
    """Return a link of next to no mass that carries a joint."""
    return Body(name, LIGHT, (LIGHT, LIGHT, LIGHT), position, joint=joint)


@dataclass(frozen=True)
class Scene:
    """Bodies on fixed shapes; `torques(t, joints)` of actuated hinges is asked at every sample and held."""

    bodies: tuple[Body, ...]
    times: np.ndarray  # (n,) s, even, of the samples
    ground: tuple[Geom, ...] = (Geom("plane"),)
    friction: float = 1.0
    restitution: float = 0.0
    gravity: tuple[float, float, float] = (0.0, 0.0, -GRAVITY)
    bodies_touch: bool = False
    torques: Callable[[float, Joints], Mapping[str, float]] | None = field(default=None, compare=False)

    @property
    def spacing(self) -> float:
        """Time between samples, s; torques are held as long."""
        return float(self.times[1] - self.times[0])


def rotation(q: ArrayLike) -> np.ndarray:
    """Return R (..., 3, 3) of quaternions (..., 4), (w, x, y, z)."""
    w, x, y, z = np.moveaxis(np.asarray(q, dtype=float), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def principal(moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the principal moments (3,) and R (3, 3), body from principal axes; axes keep their order if they can."""
    if np.count_nonzero(moments - np.diag(np.diag(moments))) == 0:
        return np.diag(moments), np.eye(3)
    values, R = np.linalg.eigh(moments)
    return values, R if np.linalg.det(R) > 0 else R * [1, 1, -1]


SAMPLE = ("position", "quaternion", "spin", "velocity")
"""Columns of a body's sample (13,): 3, 4, 3 and 3 numbers; samples of a scene are (n, bodies, 13)."""


def part(samples: np.ndarray, what: str, body: int = 0) -> np.ndarray:
    """Return one of `SAMPLE` of a body over time (n, 3 or 4)."""
    at = {"position": slice(0, 3), "quaternion": slice(3, 7), "spin": slice(7, 10), "velocity": slice(10, 13)}
    return samples[:, body, at[what]]
