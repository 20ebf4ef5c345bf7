"""Shapes through measured points: profiles, outlines, height maps and bodies.

Splines are quintic (four continuous derivatives). In an SX expression they are call nodes to a B-spline
table, so the expression stays small however many points there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, instance
from trundle.errors import InputError, ShapeError
from trundle.geometry.boundary import Representations
from trundle.geometry.chart import ChartRange
from trundle.geometry.queries.regularity import check_regular, check_simple
from trundle.geometry.shape import Shape
from trundle.geometry.shapes import build, star
from trundle.geometry.shapes.curves import graph
from trundle.geometry.shapes.sizes import coordinates
from trundle.geometry.shapes.star import harmonics
from trundle.parameters import Range as Numbers
from trundle.parameters import check_parameters, parameter

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

DEGREE = 5  # of splines: four continuous derivatives, as accelerations of a contact need three
Degree = Annotated[int, Numbers("an integer from 1 to 16", 1, 16)]
Misfit = Annotated[float, Numbers("a number > 0, up to 1", above=0.0, maximum=1.0)]
Rows = tuple[tuple[float, ...], ...]


def spline_function(knots: Sequence[FloatArray], coefficients: FloatArray, outputs: int) -> ca.Function:
    """Return the tensor B-spline u (p,) -> (outputs,) as a function that is called, never written out.

    `coefficients` is flat, outputs fastest, then the first parameter, then the second.
    """
    u = ca.MX.sym("u", len(knots))
    tables = [[float(t) for t in axis] for axis in knots]
    value = ca.bspline(u, ca.DM(coefficients), tables, [DEGREE] * len(knots), outputs, {})
    return ca.Function("spline", [u], [value], {"never_inline": True})


def interpolate(key: str, u: FloatArray, values: FloatArray, periodic: bool = False) -> BSpline:
    """Return scipy's quintic spline through `values` (n, ...) at `u` (n,), along the first axis.

    Raises
    ------
    ShapeError
        If the distances between the points are too uneven for a spline.
    """
    from scipy.interpolate import make_interp_spline

    allowed = "points at distances even enough for a quintic spline"
    try:
        spline = make_interp_spline(u, values, k=DEGREE, bc_type="periodic" if periodic else None)
    except (ValueError, np.linalg.LinAlgError) as error:
        raise ShapeError(key, f"{len(u)} points", f"{allowed}: {error}") from None
    if not np.all(np.isfinite(spline.c)) or np.abs(spline.c).max() > 1e6 * (1 + np.abs(values).max()):
        raise ShapeError(key, f"{len(u)} points", allowed)
    return spline


def _increasing(key: str, x: FloatArray) -> None:
    steps = np.diff(x)
    if not np.all(steps > 0):
        i = int(np.argmin(steps))
        raise InputError(key, x[i + 1], f"larger than the value before it ({x[i]:g} at index {i})")


@dataclass(frozen=True)
class SampledCurve(Shape):
    """Quintic spline through measured points of a terrain or of a body's outline.

    An open curve is terrain, given to +x, material on its right (below): where x increases strictly it
    is the graph z(x) with u = x, else u is the length along the points' chords. A closed curve is the
    outline of a body; one given clockwise is turned round. The last point of a closed curve may repeat
    the first. Nothing is smoothed: a bad point is a bump.

    Parameters
    ----------
    points : (n, 2), m
        At least 6.
    closed : bool

    Raises
    ------
    InputError, ShapeError
        Too few points, points that repeat, a curve that crosses itself.

    Examples
    --------
    >>> import math
    >>> wheel = tr.geometry.SampledCurve([[math.cos(0.1 * k), math.sin(0.1 * k)] for k in range(63)], closed=True)
    >>> round(float(wheel.reference_length), 2) > 0
    True
    """

    points: Sequence[Sequence[float]]
    closed: bool = False
    d = 2

    def __post_init__(self) -> None:
        points = coordinates("points", self.points, (None, 2))
        instance("closed", self.closed, bool | np.bool_, "true or false")
        object.__setattr__(self, "closed", bool(self.closed))
        if self.closed and len(points) and np.array_equal(points[0], points[-1]):
            points = points[:-1]
        if len(points) < 6:
            raise InputError("points", self.points, f"at least 6 different points; there are {len(points)}")
        ring = np.concatenate([points, points[:1]]) if self.closed else points
        chords = np.linalg.norm(np.diff(ring, axis=0), axis=1)
        if chords.min() <= 1e-9 * chords.mean():
            i = int(np.argmin(chords))
            raise ShapeError("points", points[i].tolist(), f"different from the next point (index {i})")
        if self.closed:
            x, z = ring.T
            if np.sum(x[:-1] * z[1:] - x[1:] * z[:-1]) < 0:
                points = points[::-1]
        elif points[-1, 0] < points[0, 0]:
            raise ShapeError("points", [points[0].tolist(), points[-1].tolist()], "in the order of increasing x (m)")
        object.__setattr__(self, "points", tuple(tuple(float(c) for c in p) for p in points))
        check_regular(self, "points")
        count = min(4 * len(points), 3000)
        check_simple("points", self.mesh(count), self.closed)

    def bundle(self) -> Representations:
        """Return the chart; of a graph also level set and height."""
        points = np.array(self.points)
        if not self.closed and np.all(np.diff(points[:, 0]) > 0):
            spline = interpolate("points", points[:, 0], points[:, 1])
            height = spline_function([spline.t], spline.c, 1)
            return graph(height, ends=ChartRange(float(points[0, 0]), float(points[-1, 0])))
        if self.closed:
            points = np.concatenate([points, points[:1]])
        u = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
        spline = interpolate("points", u, points, self.closed)
        curve = spline_function([spline.t], np.ravel(spline.c), 2)
        span = float(u[-1])
        if not self.closed:
            return Representations(charts=(build.chart(2, curve, 1, (ChartRange(0.0, span),)),))
        around = build.chart(2, lambda s: curve(s - span * ca.floor(s / span)), -1, (ChartRange(0.0, span, True),))
        return Representations(charts=(around,))

    @property
    def reference_length(self) -> float:
        """Half of the longest extent along an axis, m."""
        return 0.5 * float(np.ptp(np.array(self.points), axis=0).max())


@dataclass(frozen=True)
class HeightMap(Shape):
    """Terrain z(x, y): tensor quintic spline through heights on a grid, material below. A bad height is a bump.

    Parameters
    ----------
    x : (nx,), m
    y : (ny,), m
        Strictly increasing, at least 6.
    z : (nx, ny), m
        Height at (x[i], y[j]).

    Examples
    --------
    >>> x = y = [0.1 * i for i in range(8)]
    >>> bumps = tr.HeightMap(x, y, [[0.01 * a * b for b in y] for a in x])
    >>> bumps.d
    3
    """

    x: Sequence[float]
    y: Sequence[float]
    z: Sequence[Sequence[float]]
    d = 3

    def __post_init__(self) -> None:
        for key in ("x", "y"):
            values = coordinates(key, getattr(self, key), (None,))
            if len(values) < 6:
                raise InputError(key, getattr(self, key), f"at least 6 grid lines; there are {len(values)}")
            _increasing(key, values)
            object.__setattr__(self, key, tuple(float(v) for v in values))
        heights = coordinates("z", self.z, (len(self.x), len(self.y)))
        object.__setattr__(self, "z", tuple(tuple(float(v) for v in row) for row in heights))
        check_regular(self, "z")

    def bundle(self) -> Representations:
        """Return chart u = (x, y), level set z - z(x, y) and height."""
        along_x = interpolate("x", np.array(self.x), np.array(self.z))
        along_y = interpolate("y", np.array(self.y), along_x.c.T)
        height = spline_function([along_x.t, along_y.t], np.ravel(along_y.c), 1)
        ranges = (ChartRange(self.x[0], self.x[-1], coordinate=0), ChartRange(self.y[0], self.y[-1], coordinate=1))
        return Representations(
            charts=(build.chart(3, lambda u: ca.vertcat(u[0], u[1], height(u)), 1, ranges),),
            level=build.level(3, lambda p: p[2] - height(p[:2])),
            height=build.function("height", 2, height),
        )

    @property
    def reference_length(self) -> float:
        """Half of the longer side, m."""
        return 0.5 * max(self.x[-1] - self.x[0], self.y[-1] - self.y[0])


@dataclass(frozen=True)
class SampledSurface(Shape):
    """Star-shaped closed body through measured surface points, smooth everywhere.

    r(e) = sum of real spherical harmonics up to `degree`, fitted to |x| over e = x/|x| by least squares: not robust,
    so a fit that misses any point by more than `tolerance` is refused, with the point and its misfit.

    Parameters
    ----------
    points : (n, 3), m
        From an origin inside; at least (degree + 1)^2 of them, all around.
    degree : int
        Highest harmonic, 1 to 16.
    tolerance : float
        Largest allowed misfit, relative to the mean radius.

    Raises
    ------
    InputError, ShapeError
        ShapeError if the fit misses a point by more than the tolerance, or is no body.

    Examples
    --------
    >>> import numpy as np
    >>> directions = np.random.default_rng(0).normal(size=(400, 3))
    >>> points = 0.1 * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    >>> tr.geometry.SampledSurface(points, degree=4).d
    3
    """

    points: Sequence[Sequence[float]]
    degree: Degree = parameter(8, "highest spherical harmonic of the fit")
    tolerance: Misfit = parameter(0.02, "largest misfit, relative to the mean radius")
    coefficients: tuple[float, ...] = field(init=False, repr=False)
    d = 3

    def __post_init__(self) -> None:
        points = coordinates("points", self.points, (None, 3))
        check_parameters(self)
        object.__setattr__(self, "points", tuple(tuple(float(c) for c in p) for p in points))
        needed = (self.degree + 1) ** 2
        if len(points) < needed:
            raise InputError("points", f"{len(points)} points", f"at least (degree + 1)^2 = {needed} points")
        r = np.linalg.norm(points, axis=1)
        if r.min() <= 1e-9 * r.max():
            raise ShapeError("points", points[int(np.argmin(r))].tolist(), "seen from an origin inside the body")
        basis = np.stack(harmonics([*(points.T / r)], self.degree), axis=1)
        scale = np.linalg.norm(basis, axis=0)
        scale[scale == 0.0] = 1.0  # a harmonic that no point sees
        fit, _, rank, singular = np.linalg.lstsq(basis / scale, r, rcond=None)
        if rank < needed or singular[-1] < 1e-6 * singular[0]:
            raise ShapeError("points", f"{len(points)} points", f"spread all around the body for degree {self.degree}")
        miss = np.abs(basis / scale @ fit - r)
        worst = int(np.argmax(miss))
        if miss[worst] > self.tolerance * r.mean():
            allowed = f"fitted within {self.tolerance:g} of the mean radius: misfit {miss[worst]:.3g} m; raise degree"
            raise ShapeError("points", points[worst].tolist(), allowed)
        object.__setattr__(self, "coefficients", tuple(float(c) for c in fit / scale))
        check_regular(self, "points")

    def radius_at(self, e: ca.SX) -> ca.SX:
        """Return r in m in the unit direction `e` (3,)."""
        terms = harmonics([e[0], e[1], e[2]], self.degree)
        return sum((c * t for c, t in zip(self.coefficients, terms, strict=True)), ca.SX(0))

    def bundle(self) -> Representations:
        """Return two charts by stereographic directions (south, north) and level set |x| - r(x/|x|)."""

        def level(x: ca.SX) -> ca.SX:
            r = ca.norm_2(x)
            return r - self.radius_at(x / r)

        return Representations(charts=star.charts(self.radius_at, 1), level=build.level(3, level))

    @property
    def reference_length(self) -> float:
        """The largest radius of the points, m."""
        return float(np.linalg.norm(np.array(self.points), axis=1).max())
