"""Soft contact for planning: a bounded smooth force of the signed distance, whose tail leads to the contact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar

import casadi as ca
import numpy as np

from trundle.checks import non_negative
from trundle.contact.walls import FLAT, ROUND, Surface, Wall, frozen_tangents
from trundle.errors import InputError
from trundle.numerics.expressions import HoldsExpressions
from trundle.parameters import LARGEST, Checked, Length, Range, parameter
from trundle.threads import cached_property

Expression = TypeVar("Expression", ca.SX, ca.MX, ca.DM)

__all__ = ["SoftLaw", "SoftTouch", "Wall", "frozen_tangents", "normal_force", "switch"]


def switch(z: Expression) -> Expression:
    """Return the logistic function 1 / (1 + e^-z), without overflow in value or derivative."""
    return 0.5 * (1.0 + ca.tanh(0.5 * z))


def normal_force(
    distance: Expression, largest: Expression | float, width: Expression | float, offset: Expression | float
) -> Expression:
    """Return the normal force f_n = f_max / (1 + exp((d + d_0) / s)), N.

    Infinitely differentiable, between 0 and f_max, f_max / 2 at d = -d_0, f_max / (1 + e^(d_0 / s)) at the surface:
    its tail is the gradient by which a plan without contact finds one.

    Parameters
    ----------
    distance, width, offset : scalar, m
        d, s and d_0.
    largest : scalar, N
        f_max.

    Notes
    -----
    Source: Wall-bouncing paper, (10) and (11), with a logistic function.

    Examples
    --------
    >>> import casadi as ca
    >>> far, near = (float(tr.normal_force(ca.DM(d), 60.0, 0.02, 0.02)) for d in (0.2, 0.0))
    >>> far < near < 60.0
    True
    """
    return largest * switch(-(distance + offset) / width)


@dataclass(frozen=True)
class SoftLaw(Checked):
    """Soft force of plans: largest / (1 + exp((distance + offset) / width)); see `normal_force`.

    Examples
    --------
    >>> law = tr.SoftLaw(largest=60.0, width=0.02, offset=0.02)
    >>> law.largest
    60.0
    """

    largest: Annotated[float, Range("a number > 0, at most 1e12", above=0.0, unit="N")] = parameter(60.0, "N")
    width: Length = parameter(0.02, "m")
    offset: Annotated[float, Range("a number from 0 to 1e12", unit="m", in_files=(0.0, LARGEST))] = parameter(0.02, "m")

    @property
    def leak(self) -> float:
        """Force at the surface, N."""
        return self.largest / (1.0 + float(np.exp(self.offset / self.width)))


@dataclass(frozen=True, eq=False)
class SoftTouch(HoldsExpressions):
    """A sphere near a surface: distance, frame and soft force, CasADi expressions.

    Parameters
    ----------
    point, velocity : (3,) m, m/s
        Of the sphere's centre, world axes.
    radius : scalar, m
    wall : (n,)
        Numbers of a wall, as `surface` reads them.
    surface : Surface
        What kind of surface it is.

    Examples
    --------
    A hand of radius 3 cm half a metre from the wall x = 0, moving towards it at 0.2 m/s.

    >>> wall = tr.Wall([0, 0, 0], [1, 0, 0])  # point, normal
    >>> touch = tr.SoftTouch.at([0.5, 0, 1.0], [-0.2, 0, 0], 0.03, wall)
    >>> float(touch.distance), float(touch.approach)  # m, m/s
    (0.47, -0.2)
    >>> touch.force(10.0, [0.5, 0])  # N: 10 along the normal, 5 along the first tangent
    SX([10, 0, 5])
    """

    point: ca.SX
    velocity: ca.SX
    radius: ca.SX | float
    wall: ca.SX
    surface: Surface = FLAT

    @classmethod
    def at(
        cls,
        point: ca.SX | ca.DM | Sequence[float],
        velocity: ca.SX | ca.DM | Sequence[float],
        radius: float,
        wall: Wall,
    ) -> SoftTouch:
        """Return the touch of a wall whose numbers do not change: flat, a sphere or a cylinder.

        Parameters
        ----------
        point, velocity : (3,) m, m/s
            Of the sphere's centre, world axes.
        radius : float, m
        wall : Wall

        Raises
        ------
        InputError
            If the radius is negative, or `point` or `velocity` has no three entries.
        """
        for name, value in (("point", point), ("velocity", velocity)):
            if ca.SX(value).numel() != 3:
                raise InputError(name, ca.SX(value).shape, "3 entries, world axes")
        surface = FLAT if wall.curvature == 0.0 else ROUND
        numbers = ca.SX(ca.DM(surface.numbers(wall)))
        return cls(ca.SX(point), ca.SX(velocity), non_negative("radius", radius, "m"), numbers, surface)

    @property
    def normal(self) -> ca.SX:
        """Unit normal n (3,) at the point of the surface below, out of the wall."""
        return self._frame[1]

    @property
    def distance(self) -> ca.SX:
        """Signed distance d, m."""
        return self._frame[0] - self.radius

    @property
    def tangents(self) -> ca.SX:
        """[t_1 t_2] (3, 2)."""
        return self._frame[2]

    @cached_property
    def _frame(self) -> tuple[ca.SX, ca.SX, ca.SX]:
        return self.surface.frame(self.point, self.wall)

    @property
    def approach(self) -> ca.SX:
        """Normal speed v_n, m/s; negative towards the wall."""
        return ca.dot(self.normal, self.velocity)

    @property
    def slip(self) -> ca.SX:
        """Tangential velocity (2,), m/s, by the tangents."""
        return self.tangents.T @ self.velocity

    def force(self, f_n: ca.SX, direction: ca.SX) -> ca.SX:
        """Return the force on the sphere f_n (n + u_1 t_1 + u_2 t_2), N; |u| <= mu is Coulomb's cone.

        Source: Wall-bouncing paper, (19)-(21).
        """
        return f_n * (self.normal + self.tangents @ direction)

    def no_slip(self, f_n: ca.SX, largest: ca.SX | float) -> ca.SX:
        """Return f_n / f_max v_t (2,), whose square is the cost of sliding under load."""
        return f_n / largest * self.slip

    def landing(self, near: float = 0.03, width: float = 0.02) -> ca.SX:
        """Return min(v_n, 0) / (1 + exp((d - near) / width)), m/s: only landing costs, never leaving."""
        return ca.fmin(self.approach, 0) * switch((near - self.distance) / width)
