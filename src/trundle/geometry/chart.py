"""Charts: boundaries given by a parametrisation; planar curves are charts with one parameter."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import casadi as ca

from trundle.geometry.patch import Patch
from trundle.numerics.space import dot, inverse, rot90
from trundle.threads import cached_property


@dataclass(frozen=True)
class ChartRange:
    """Where one parameter of a chart runs.

    Attributes
    ----------
    low, high : float
        Ends; infinite for a parameter that measures a coordinate of the point.
    periodic : bool
        ``high`` is the same place as ``low``: the parameter may run on beyond.
    coordinate : int
        Of an infinite parameter: the index of the point's coordinate it equals (x of a graph z(x)).
    """

    low: float = -math.inf
    high: float = math.inf
    periodic: bool = False
    coordinate: int = 0

    @property
    def bounded(self) -> bool:
        """Whether both ends are finite."""
        return math.isfinite(self.low) and math.isfinite(self.high)


TURN = ChartRange(0.0, 2.0 * math.pi, periodic=True)
"""Range of an angle."""


class Chart(ABC):
    """A regular parametrisation u -> point(u); it need not be orthogonal.

    Contract for a subclass:

    1. ``d`` is 2 (curve in the x-z plane, one parameter) or 3 (surface, two parameters).
    2. ``point(u)`` maps a CasADi column (d-1,) to the point (d,) in m; twice differentiable, and three
       times where a contact rolls over it.
    3. ``side`` is +1 or -1 and chooses the normal, which points OUT of the material:
       space: n = side F_u x F_v / |F_u x F_v|; plane: n = side rot90(T), so that terrain running to the
       right has side +1 and a body's outline running counter-clockwise has side -1.
    4. ``reach`` (default infinite): the chart is good for |u| < reach; beyond, another chart of the
       same shape takes over, and optimisers bound u by it. Such charts are scaled so that the discs
       |u| <= 1 of the shape's atlas tile the boundary.
    5. ``ranges`` has one `ChartRange` a parameter where ``reach`` is infinite: ends, period, or "this
       parameter is a coordinate of the point".

    The patch follows from first and second derivatives only (theory, "Surfaces" and "In the plane").
    """

    d: int
    side: int
    reach: float = math.inf
    ranges: tuple[ChartRange, ...] = ()

    @abstractmethod
    def point(self, u: ca.SX) -> ca.SX:
        """Return the point (d,) at the parameters `u` (d-1,)."""

    def patch(self, u: ca.SX) -> Patch:
        """Return the `Patch` at `u` (d-1,): x, n, T, K, A and, for surfaces, tau."""
        x, n, T, K, A, tau = self._patch_function.call([u])
        return Patch(x=x, n=n, T=T, K=K, A=A, tau=tau if self.d == 3 else None)

    @cached_property
    def _patch_function(self) -> ca.Function:
        u = ca.SX.sym("u", self.d - 1)
        x = self.point(u)
        parts = curve_patch(x, u, self.side) if self.d == 2 else surface_patch(x, u, self.side)
        return ca.Function("patch", [u], list(parts), {"allow_free": True})


def curve_patch(x: ca.SX, u: ca.SX, side: int) -> tuple[ca.SX, ...]:
    """Return (x, n, T, K, A, tau) of a curve; K = -side k with k the signed curvature cross(x', x'')/|x'|^3."""
    dx = ca.jacobian(x, u)
    ddx = ca.jacobian(dx, u)
    speed = ca.norm_2(dx)
    T = dx / speed
    k = (dx[0] * ddx[1] - dx[1] * ddx[0]) / speed**3
    return x, side * rot90(T), T, -side * k, speed, ca.SX(1, 0)


def surface_patch(x: ca.SX, u: ca.SX, side: int) -> tuple[ca.SX, ...]:
    """Return (x, n, T, K, A, tau) of a surface by Gram-Schmidt: e1 along F_u, e2 = n x e1."""
    dx = ca.jacobian(x, u)
    second = ca.jacobian(ca.vec(dx), u)
    Fu, Fv = dx[:, 0], dx[:, 1]
    Fuu, Fuv, Fvv = second[:3, 0], second[:3, 1], second[3:, 1]
    length = ca.sqrt(dot(Fu, Fu))
    e1 = Fu / length
    raw = ca.cross(Fu, Fv)
    n = side * raw / ca.sqrt(dot(raw, raw))
    e2 = ca.cross(n, e1)
    T = ca.horzcat(e1, e2)
    A = ca.vertcat(ca.horzcat(length, dot(e1, Fv)), ca.horzcat(0, dot(e2, Fv)))
    luv = dot(n, Fuv)
    L = ca.vertcat(ca.horzcat(dot(n, Fuu), luv), ca.horzcat(luv, dot(n, Fvv)))
    A_inverse = inverse(A)
    K = -A_inverse.T @ L @ A_inverse
    tau = ca.horzcat(dot(e2, Fuu), dot(e2, Fuv)) / length
    return x, n, T, K, A, tau


@dataclass(frozen=True)
class ExpressionChart(Chart):
    """A chart given by a CasADi function.

    Parameters
    ----------
    function : ca.Function
        Maps u (d-1,) to the point (d,), m, in SX.
    side : int
        +1 or -1, see `Chart`.
    ranges : tuple of ChartRange
        One a parameter; empty where `reach` is finite.
    reach : float
        See `Chart`.
    """

    function: ca.Function
    side: int = 1
    ranges: tuple[ChartRange, ...] = ()
    reach: float = math.inf

    @property
    def d(self) -> int:  # type: ignore[override]
        """Dimension: the length of the function's output."""
        return int(self.function.size1_out(0))

    def point(self, u: ca.SX) -> ca.SX:
        """Return ``function(u)``."""
        return self.function(u)
