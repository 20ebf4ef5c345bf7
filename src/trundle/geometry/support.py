"""Support functions: smooth convex bodies without charts; one class serves plane and space."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import casadi as ca

from trundle.geometry.patch import Patch
from trundle.threads import cached_property

_NOTHING = 1e-300  # keeps the square root of a flat ellipsoid differentiable along its axis


class SupportLike(ABC):
    """What a contact asks of a convex body: `Support` and `EllipsoidSupport` give it."""

    d: int
    """Dimension, 2 or 3."""

    @abstractmethod
    def support(self, u: ca.SX) -> ca.SX:
        """Return h(u), a scalar in m, for a direction `u` (d,) of any positive length."""

    @abstractmethod
    def point_and_radii(self, n: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the point (d,) and the tensor of radii (d, d), m, at the outward unit normal `n` (d,)."""

    def patch(self, n: ca.SX, T: ca.SX) -> Patch:
        """Return the `Patch` whose outward unit normal is `n` (d,), with the tangents `T` (d, d-1)."""
        x, radii = self.point_and_radii(n)
        return Patch(x=x, n=n, T=T, radii=radii)


class Support(SupportLike):
    """A convex body by its support function h(n) = max over the body of n.x (theory, "Surfaces").

    Contract for a subclass:

    1. ``d`` is 2 or 3.
    2. ``support(u)`` maps a direction (d,) of any positive length to h(u) in m, homogeneous of degree 1
       and twice differentiable wherever a contact may lie.

    Derived: the point with outward normal n is grad h(n); the tensor of radii dx/dn is hess h(n),
    zero along n; on the tangent plane it is the inverse of the shape operator.
    """

    def point_and_radii(self, n: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return grad h (d,) and hess h (d, d), m, at the unit normal `n` (d,)."""
        x, radii = self._derivatives.call([n])
        return x, radii

    @cached_property
    def _derivatives(self) -> ca.Function:
        u = ca.SX.sym("u", self.d)
        hessian, gradient = ca.hessian(self.support(u), u)
        return ca.Function("support_derivatives", [u], [gradient, hessian], {"allow_free": True})


@dataclass(frozen=True)
class ExpressionSupport(Support):
    """A support function given by a CasADi function u (d,) -> h, homogeneous of degree 1."""

    function: ca.Function

    @property
    def d(self) -> int:  # type: ignore[override]
        """Dimension: the length of the function's input."""
        return int(self.function.size1_in(0))

    def support(self, u: ca.SX) -> ca.SX:
        """Return ``function(u)``."""
        return self.function(u)


@dataclass(frozen=True)
class EllipsoidSupport(SupportLike):
    """Ellipse (d = 2) or ellipsoid (d = 3) in closed form, with an optional rounding.

    h(u) = sqrt(u'Bu) + rho |u|, B = diag(a_i^2): point B n / s + rho n, radii
    B/s - (B n)(B n)'/s^3 + rho (I - n n'), s = sqrt(n'Bn) (theory, "Surfaces"; paper 1). A zero
    semi-axis makes a disc; `rounding` is the Minkowski sum with a ball. Same methods as `Support`.

    Parameters
    ----------
    semi_axes : (d,) m
        Not negative, at most one of them zero, or all: a point.
    rounding : float, m
    """

    semi_axes: tuple[float, ...]
    rounding: float = 0.0

    @property
    def d(self) -> int:  # type: ignore[override]
        """Dimension."""
        return len(self.semi_axes)

    def support(self, u: ca.SX) -> ca.SX:
        """Return h(u) in m."""
        B = self._squares()
        return ca.sqrt(ca.dot(B * u, u)) + (self.rounding * ca.norm_2(u) if self.rounding else 0)

    def point_and_radii(self, n: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the point (d,) and the tensor of radii (d, d), m, at the unit normal `n`."""
        d = self.d
        if len(set(self.semi_axes)) == 1:
            r = self.semi_axes[0] + self.rounding
            return r * n, r * (ca.SX.eye(d) - n @ n.T)
        B = self._squares()
        Bn = B * n
        # Of a disc s is zero on its face: there the point is the middle.
        s = ca.sqrt(ca.dot(Bn, n) + (_NOTHING if 0.0 in self.semi_axes else 0.0))
        x = Bn / s
        radii = (ca.diag(B) - x @ x.T) / s
        if self.rounding:
            x = x + self.rounding * n
            radii = radii + self.rounding * (ca.SX.eye(d) - n @ n.T)
        return x, radii

    def _squares(self) -> ca.SX:
        return ca.SX(ca.vertcat(*(a * a for a in self.semi_axes)))
