"""Surfaces in closed form: plane, sphere, point, ellipsoid, dish, cylinder, tube, torus."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import casadi as ca

from trundle.errors import InputError
from trundle.geometry.boundary import Representations
from trundle.geometry.chart import TURN, Chart, ChartRange
from trundle.geometry.shape import Shape
from trundle.geometry.shapes import build
from trundle.geometry.shapes.sizes import Size, Sizes3
from trundle.geometry.support import EllipsoidSupport
from trundle.parameters import Checked, check_parameter, check_parameters


def polar_chart(semi_axes: tuple[float, float, float], side: int = 1) -> Chart:
    """Return the polar chart (a sin u cos v, b sin u sin v, c cos u) of an ellipsoid.

    The chart of the papers, for comparison: singular at u = 0 and u = pi, skewed unless a = b.
    """
    a, b, c = semi_axes

    def point(u: ca.SX) -> ca.SX:
        s = ca.sin(u[0])
        return ca.vertcat(a * s * ca.cos(u[1]), b * s * ca.sin(u[1]), c * ca.cos(u[0]))

    return build.chart(3, point, side, (ChartRange(0.0, math.pi), TURN))


def ellipsoid_level(semi_axes: tuple[float, float, float], sign: int) -> build.Expression:
    """Return x -> sign (x'Ax - 1) scaled to m, A = diag(1 / a_i^2)."""
    scale = sign * min(semi_axes) / 2
    A = ca.SX(ca.vertcat(*(1 / a**2 for a in semi_axes)))
    return lambda x: scale * (ca.dot(A * x, x) - 1)


@dataclass(frozen=True)
class Plane(Shape):
    """The plane z = 0, material below.

    Examples
    --------
    >>> import trundle as tr
    >>> float(tr.Plane().distance([[1, 2, 0.5]])[0][0])
    0.5
    """

    d = 3

    def bundle(self) -> Representations:
        """Return chart (u, v, 0), level set and signed distance z; flat."""
        ranges = (ChartRange(coordinate=0), ChartRange(coordinate=1))
        return Representations(
            charts=(build.chart(3, lambda u: ca.vertcat(u[0], u[1], 0), 1, ranges),),
            level=build.level(3, lambda x: x[2]),
            flat=True,
            distance=build.function("distance", 3, lambda x: x[2]),
            height=build.function("height", 2, lambda x: 0 * x[0]),
        )

    @property
    def reference_length(self) -> float:
        """1 m: a plane has no size."""
        return 1.0


@dataclass(frozen=True)
class Sphere(Checked, Shape):
    """Ball, origin at its centre.

    Parameters
    ----------
    radius : float, m

    Examples
    --------
    >>> import trundle as tr
    >>> float(tr.Sphere(0.1).distance([[0.3, 0, 0]])[0][0].round(9))
    0.2
    """

    radius: Size = field(metadata={"text": "m"})
    d = 3

    def bundle(self) -> Representations:
        """Return support, two stereographic charts (south, north), level set and signed distance."""
        r = self.radius
        return Representations(
            charts=build.stereographic((r, r, r), 1),
            belts=build.belts(lambda n: r * n, 1),
            support=EllipsoidSupport((r, r, r)),
            level=build.level(3, lambda x: (ca.sumsqr(x) - r * r) / (2 * r)),
            distance=build.function("distance", 3, lambda x: ca.norm_2(x) - r),
        )

    @property
    def reference_length(self) -> float:
        """The radius, m."""
        return self.radius

    def polar_chart(self) -> Chart:
        """Return the papers' polar chart, singular at the poles."""
        return polar_chart((self.radius, self.radius, self.radius))


@dataclass(frozen=True)
class Point(Shape):
    """A single point, the origin: it touches but does not roll, its radii are zero.

    Parameters
    ----------
    size : float, m
        Of its picture, a small ball, and of tolerances: a point has none.
    d : int
        Dimension, 2 or 3.
    """

    size: float = 0.01
    d: int = 3

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", check_parameter("size", self.size, Size))

    def bundle(self) -> Representations:
        """Return the support h = 0."""
        return Representations(support=EllipsoidSupport((0.0,) * self.d))

    @property
    def reference_length(self) -> float:
        """The size of its picture, m."""
        return self.size

    def mesh(self, resolution: int = 48, around: object | None = None, radius: float | None = None) -> Any:
        """Return the ball that stands for it in pictures."""
        return Sphere(self.size).mesh(max(resolution // 4, 8))


@dataclass(frozen=True)
class Ellipsoid(Checked, Shape):
    """Ellipsoid, origin at its centre, axes along x, y and z.

    Parameters
    ----------
    semi_axes : (3,), m

    Examples
    --------
    >>> import trundle as tr
    >>> float(tr.Ellipsoid([0.1, 0.2, 0.3]).distance([[0, 0, 0.5]])[0][0].round(9))
    0.2
    """

    semi_axes: Sizes3 = field(metadata={"text": "m, along x, y, z"})
    d = 3

    def bundle(self) -> Representations:
        """Return support, two stereographic charts (south, north) and level set."""
        a, b, c = self.semi_axes
        return Representations(
            charts=build.stereographic((a, b, c), 1),
            belts=build.belts(lambda n: ca.vertcat(a, b, c) * n, 1),
            support=EllipsoidSupport((a, b, c)),
            level=build.level(3, ellipsoid_level((a, b, c), 1)),
        )

    @property
    def reference_length(self) -> float:
        """The longest semi-axis, m."""
        return max(self.semi_axes)

    def polar_chart(self) -> Chart:
        """Return the papers' polar chart, singular at the poles and skewed."""
        a, b, c = self.semi_axes
        return polar_chart((a, b, c))


@dataclass(frozen=True)
class Dish(Checked, Shape):
    """Inside of an ellipsoid: material around the hollow, normals to the inside.

    Parameters
    ----------
    semi_axes : (3,), m
        The origin is the hollow's centre, the lowest point (0, 0, -semi_axes[2]).

    Examples
    --------
    >>> dish = tr.Dish(semi_axes=[0.3, 0.3, 0.2])
    >>> dish.distance([[0.0, 0.0, -0.15]])[0].round(9).tolist()  # free side: inside
    [0.05]
    """

    semi_axes: Sizes3 = field(metadata={"text": "m, along x, y, z"})
    d = 3

    def bundle(self) -> Representations:
        """Return two stereographic charts (south, north) and level set, positive in the hollow."""
        a, b, c = self.semi_axes
        distance = None
        if a == b == c:
            distance = build.function("distance", 3, lambda x: a - ca.norm_2(x))
        return Representations(
            charts=build.stereographic((a, b, c), -1),
            belts=build.belts(lambda n: ca.vertcat(a, b, c) * n, -1),
            level=build.level(3, ellipsoid_level((a, b, c), -1)),
            distance=distance,
        )

    @property
    def reference_length(self) -> float:
        """The longest semi-axis, m."""
        return max(self.semi_axes)

    def polar_chart(self) -> Chart:
        """Return the papers' polar chart, singular at the poles and skewed."""
        a, b, c = self.semi_axes
        return polar_chart((a, b, c), -1)


def round_about_z(radius: float, out: int) -> Representations:
    """Return chart (angle, z), level set and signed distance of an endless cylinder, `out` = -1: of a tube."""

    def point(u: ca.SX) -> ca.SX:
        return ca.vertcat(radius * ca.cos(u[0]), radius * ca.sin(u[0]), u[1])

    def across(x: ca.SX) -> ca.SX:
        return ca.sumsqr(x[:2])

    return Representations(
        charts=(build.chart(3, point, out, (TURN, ChartRange(coordinate=2))),),
        level=build.level(3, lambda x: out * (across(x) - radius**2) / (2 * radius)),
        distance=build.function("distance", 3, lambda x: out * (ca.sqrt(across(x)) - radius)),
    )


@dataclass(frozen=True)
class Tube(Checked, Shape):
    """Inside of an endless cylinder about the z axis: material around, normals to the axis.

    Parameters
    ----------
    radius : float, m

    Examples
    --------
    >>> tr.Tube(radius=0.5).distance([[0.2, 0.0, 7.0]])[0].round(12).tolist()
    [0.3]
    """

    radius: Size = field(metadata={"text": "m"})
    d = 3

    def bundle(self) -> Representations:
        """Return chart (angle, z), level set and signed distance."""
        return round_about_z(self.radius, -1)

    @property
    def reference_length(self) -> float:
        """The radius, m."""
        return self.radius


@dataclass(frozen=True)
class Torus(Shape):
    """Ring about the z axis, origin at its centre.

    Parameters
    ----------
    major : float, m
        Radius of the circle of the tube's centres.
    minor : float, m
        Radius of the tube, smaller than `major`.

    Examples
    --------
    >>> ring = tr.Torus(major=0.3, minor=0.1)
    >>> ring.distance([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0]])[0].round(9).tolist()
    [0.2, 0.1]
    """

    major: Size = field(metadata={"text": "m, radius of the ring's centre line"})
    minor: Size = field(metadata={"text": "m, radius of the ring's section"})
    d = 3

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.minor >= self.major:
            raise InputError("minor", self.minor, f"smaller than major = {self.major:g} (m)")

    def bundle(self) -> Representations:
        """Return chart (azimuth, angle of the tube), hull support, level set = signed distance."""
        R, r = self.major, self.minor

        def point(u: ca.SX) -> ca.SX:
            out = R + r * ca.cos(u[1])
            return ca.vertcat(out * ca.cos(u[0]), out * ca.sin(u[0]), r * ca.sin(u[1]))

        def distance(x: ca.SX) -> ca.SX:
            return ca.sqrt((ca.norm_2(x[:2]) - R) ** 2 + x[2] ** 2) - r

        return Representations(
            charts=(build.chart(3, point, 1, (TURN, TURN)),),
            support=EllipsoidSupport((R, R, 0.0), r),
            level=build.level(3, distance),
            hull=True,
            distance=build.function("distance", 3, distance),
            roundness=build.function("roundness", 3, lambda n: ca.norm_2(n[:2]) - 1e-3),
        )

    @property
    def reference_length(self) -> float:
        """The outer radius, m."""
        return self.major + self.minor
