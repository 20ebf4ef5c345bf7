"""Exclusion: where the shapes alone say that no second contact is possible."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.geometry import Dish, Tube
from trundle.geometry.chart import Chart
from trundle.geometry.shape import Shape
from trundle.numerics.compiled.batch import batch_function

_SAFETY = 0.95  # of a radius of curvature, for what a grid misses
_GRID = {2: 2001, 3: 61}
_WINDOW = 201  # points of terrain along a body's width


@dataclass(frozen=True)
class Exclusion:
    """Blaschke's rolling theorem: a convex body that is everywhere at least as curved as the base rolls freely.

    A body whose normal curvatures are all >= k lies, at every contact, inside the ball of radius 1/k that
    touches there. A graph (terrain) or a convex container whose curvature towards the body is <= k nowhere
    enters that ball: a graph has no two points whose normals face each other, so its reach is 1/k.

    Attributes
    ----------
    least : float, 1/m
        Smallest curvature of the body; 0 where the theorem says nothing.
    always : bool
        Whether the base is nowhere curved more than that.
    size : float, m
        Diameter of the body.
    bend : callable, or None
        Terrain in the plane: curvature (201,), 1/m, at abscissae (201,), m.
    """

    least: float
    always: bool
    size: float
    bend: Callable[[FloatArray], FloatArray] | None = None

    def excludes(self, low: float, high: float) -> bool:
        """Whether no second contact can happen while the contact stays between the abscissae low and high (m)."""
        if self.always or self.bend is None:
            return self.always
        x = np.linspace(low - self.size, high + self.size, _WINDOW)
        curvature = self.bend(x)
        inside = curvature[np.isfinite(curvature)]
        return bool(inside.size and np.max(inside) <= _SAFETY * self.least)


def exclusion(A: Shape, B: Shape) -> Exclusion:
    """Return what the shapes of a body A and a base B exclude."""
    corners, _ = A.sample(512)
    size = 2.0 * float(np.max(np.linalg.norm(corners - np.mean(corners, axis=0), axis=1)))
    least = min((float(np.min(_curvatures(c))) for c in A.representations.charts), default=0.0)
    if not least > 0 or (A.representations.hull and A.d == 3):
        return Exclusion(0.0, False, size)
    if B.d == 2:
        return Exclusion(least, False, size, _bend(B))
    graph_or_container = B.representations.height is not None or isinstance(B, Dish | Tube)
    if not graph_or_container or not all(_grid_suffices(chart) for chart in B.representations.charts):
        return Exclusion(least, False, size)
    most = max((float(np.max(-_curvatures(c))) for c in B.representations.charts), default=np.inf)
    return Exclusion(least, most <= _SAFETY * least, size)


def _grid_suffices(chart: Chart) -> bool:
    """Whether a grid of the chart tells everything: it is bounded, or the same along an endless parameter."""
    if np.isfinite(chart.reach):
        return True
    if not chart.ranges:
        return False
    here, there = (np.sort(_curvatures(chart, offset).ravel()) for offset in (0.0, 1.7))
    return bool(all(r.bounded for r in chart.ranges) or np.allclose(here, there, rtol=1e-9, atol=1e-9))


def _axes(chart: Chart, offset: float) -> Iterator[FloatArray]:
    count = _GRID[chart.d]
    for i in range(chart.d - 1):
        if np.isfinite(chart.reach):
            yield np.linspace(-chart.reach, chart.reach, count)
        elif chart.ranges and chart.ranges[i].bounded:
            inset = 1e-6 * (chart.ranges[i].high - chart.ranges[i].low)
            yield np.linspace(chart.ranges[i].low + inset, chart.ranges[i].high - inset, count)
        else:
            yield np.array([offset])


def _curvatures(chart: Chart, offset: float = 0.0) -> FloatArray:
    """Return principal curvatures (n, d-1), 1/m, on a grid; where they are not numbers, they count as flat."""
    u = ca.SX.sym("u", chart.d - 1)
    K = chart.patch(u).K
    if K is None:
        return np.zeros((1, chart.d - 1))
    grid = np.stack([g.ravel() for g in np.meshgrid(*_axes(chart, offset), indexing="ij")])
    values = np.asarray(ca.Function("bend", [u], [ca.vec(K)])(grid)).T.reshape(-1, chart.d - 1, chart.d - 1)
    return np.linalg.eigvalsh(np.where(np.isfinite(values), values, 0.0))


def _bend(B: Shape) -> Callable[[FloatArray], FloatArray] | None:
    """Return x (_WINDOW,) -> curvature (_WINDOW,) of the terrain z(x) towards its free side, z''/(1 + z'^2)^(3/2)."""
    height = B.representations.height
    if height is None:
        return None
    x = ca.SX.sym("x")
    z = height(x)
    slope = ca.jacobian(z, x)
    bend = ca.densify(ca.jacobian(slope, x) / (1 + slope**2) ** 1.5)
    function = batch_function(ca.Function("bend", [x], [bend]), _WINDOW)
    return lambda points: np.asarray(function(points)).ravel()
