"""Walls for soft contacts: kinds of surfaces whose numbers are parameters, and surfaces of any signed distance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import ArrayField, Converted, FloatArray, array, number
from trundle.errors import InputError

__all__ = ["FLAT", "ROUND", "Flat", "Formula", "Round", "Surface", "Wall", "frozen_tangents"]


def frozen_tangents(normal: ArrayLike) -> FloatArray:
    """Return [t_1 t_2] (3, 2) of a unit normal: t_1 along the world axis least aligned with n, t_2 = n x t_1.

    The axis is chosen once for a surface: no continuous choice exists for all normals.
    """
    n = array("normal", normal, (3,))
    axis = np.eye(3)[2 - int(np.argmin(np.abs(n[::-1])))]
    t = axis - n * (n @ axis)
    t = t / np.linalg.norm(t)
    return np.asarray(np.column_stack([t, np.cross(n, t)]), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Wall:
    """A surface that may be touched: a plane of any orientation, a sphere or a cylinder.

    Parameters
    ----------
    point : (3,) m
        On the wall.
    normal : (3,)
        There, out of the wall; normalised.
    curvature : float, 1/m
        k: 0 of a plane, 1 / radius of a pillar or ball, negative inside a pipe or hollow ball. For `ROUND` alone.
    axis : (3,), optional
        Of a cylinder; without it the surface is a sphere.

    Examples
    --------
    >>> wall = tr.Wall(point=[1.0, 0.0, 0.0], normal=[-2.0, 0.0, 0.0])
    >>> wall.normal.tolist()  # out of the wall, normalised
    [-1.0, 0.0, 0.0]
    """

    point: ArrayField = ArrayField()
    normal: ArrayField = ArrayField()
    curvature: float = 0.0
    axis: Converted[ArrayLike | None, FloatArray | None] = Converted(None)

    def __post_init__(self) -> None:
        n = array("normal", self.normal, (3,))
        if not np.linalg.norm(n) > 1e-9:
            raise InputError("normal", self.normal, "a direction, not zero")
        object.__setattr__(self, "normal", array("normal", n / np.linalg.norm(n), (3,)))
        object.__setattr__(self, "point", array("point", self.point, (3,), unit="m"))
        object.__setattr__(self, "curvature", number("curvature", self.curvature, unit="1/m"))
        if self.axis is not None:
            axis = array("axis", self.axis, (3,))
            length = float(np.linalg.norm(axis))
            if not (length > 1e-9 and abs(axis @ self.normal) <= 1e-6 * length):
                raise InputError("axis", self.axis, "a direction across the normal")
            object.__setattr__(self, "axis", array("axis", axis / length, (3,)))

    @property
    def offset(self) -> float:
        """B in d(p) = n . p - b, m."""
        return float(self.normal @ self.point)

    @property
    def numbers(self) -> FloatArray:
        """(n, b, t_1, t_2) (10,) at `point`: with n . p = b on the tangent plane."""
        return np.concatenate([self.normal, [self.offset], *frozen_tangents(self.normal).T])


class Surface(ABC):
    """A kind of surface: its distance as an expression of a point and of a wall's numbers.

    The numbers begin with the frame (n, b, t_1, t_2) (10,) of a point of the wall; a subclass may add some.
    """

    size: int = 10
    """Number of numbers: of the frame alone, unless a subclass says more."""

    @abstractmethod
    def distance(self, point: ca.SX, wall: ca.SX) -> ca.SX:
        """Return the signed distance of a point (3,), m, positive outside."""

    @abstractmethod
    def numbers(self, wall: Wall) -> FloatArray:
        """Return the numbers of a wall (size,)."""

    def frame(self, point: ca.SX, wall: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Return d, m, the unit normal n (3,) and tangents [t_1 t_2] (3, 2) at a point.

        n = grad d / |grad d|; the tangents are those at the wall's own point, carried along by the least turn that
        takes its normal n_0 to n: t - (n_0 + n) (n . t) / (1 + n_0 . n). No world axis is singled out; only where the
        wall has turned by 180 degrees there is no least turn.
        """
        q = ca.SX.sym("q", 3)
        d = self.distance(q, wall)
        n, T = ca.gradient(d, q), ca.horzcat(wall[4:7], wall[7:10])
        if ca.depends_on(n, q):
            n, first = n / ca.sqrt(ca.sumsqr(n)), wall[:3]
            T = T - (first + n) @ (n.T @ T) / (1 + ca.dot(first, n))
        at = ca.SX(point)
        found = [ca.substitute(e, q, at) for e in (ca.SX(d), ca.SX(n), ca.SX(T))]
        return found[0], found[1], found[2]


class Flat(Surface):
    """Planes: d = n . p - b (final)."""

    def distance(self, point: ca.SX, wall: ca.SX) -> ca.SX:
        """Return n . p - b."""
        return ca.dot(wall[:3], point) - wall[3]

    def numbers(self, wall: Wall) -> FloatArray:
        """Return the frame."""
        if wall.curvature != 0.0:
            raise InputError("walls", wall.curvature, "flat, or surface=ROUND given to the controller")
        return wall.numbers


class Round(Surface):
    """Planes, spheres and cylinders, convex or hollow, in one expression (final).

    d = (k |y|^2 + 2 n . y) / (|k y + n| + 1), y = p - a without its part along a cylinder's axis: |k y + n| / k - 1 / k
    without its singularity at k = 0.
    """

    size = 17
    """The frame, a, k and the axis, zero of a sphere."""

    def distance(self, point: ca.SX, wall: ca.SX) -> ca.SX:
        """Return d, m."""
        n, k, axis = wall[:3], wall[13], wall[14:17]
        y = point - wall[10:13]
        y = y - axis * ca.dot(axis, y)
        return (k * ca.sumsqr(y) + 2 * ca.dot(n, y)) / (ca.sqrt(ca.sumsqr(k * y + n)) + 1)

    def numbers(self, wall: Wall) -> FloatArray:
        """Return the frame, a, k and the axis."""
        axis = np.zeros(3) if wall.axis is None else wall.axis
        return np.concatenate([wall.numbers, wall.point, [wall.curvature], axis])


@dataclass(frozen=True)
class Formula(Surface):
    """One surface of any signed distance (final).

    Parameters
    ----------
    formula : callable
        Maps a point (3,), CasADi, to the signed distance; smooth where hands get. It is there whether or not a
        wall is given with it; a wall tells from where its tangents are carried.
    """

    formula: Callable[[ca.SX], ca.SX]

    def distance(self, point: ca.SX, wall: ca.SX) -> ca.SX:
        """Return the formula's value."""
        return self.formula(point)

    def numbers(self, wall: Wall) -> FloatArray:
        """Return the frame."""
        return wall.numbers


FLAT, ROUND = Flat(), Round()
