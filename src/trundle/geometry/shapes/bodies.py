"""Convex bodies given by their support functions: superellipsoid, disc, capsule, cylinder, box."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product as product_of
from typing import Annotated

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import array
from trundle.errors import ShapeError
from trundle.geometry.boundary import BoundaryPiece, Representations
from trundle.geometry.chart import TURN, Chart, ChartRange
from trundle.geometry.features import features, round_features, stretch_features
from trundle.geometry.shape import Shape
from trundle.geometry.shapes import build
from trundle.geometry.shapes.corners import FACE_POINTS, FACE_TILT, corners, rim_points
from trundle.geometry.shapes.sizes import Size, SizeOrZero, Sizes2, Sizes3
from trundle.geometry.shapes.surfaces import Sphere, round_about_z
from trundle.geometry.support import EllipsoidSupport
from trundle.numerics.symbol import value_of
from trundle.parameters import Checked, check_parameter, check_parameters, parameter
from trundle.parameters import Range as Numbers

Exponents = Annotated[
    float | Sequence[float], Numbers("one number or two, p and q, each from 1.01 to 100", 1.01, 100.0, length=2)
]
Tilt = Annotated[float, Numbers("an angle from 1e-9 to 0.1 (rad)", 1e-9, 0.1, unit="rad")]


def tilt(n: ca.SX, flat: float = FACE_TILT) -> ca.SX:
    """Return sin(angle between `n` and the z axis) - `flat`: the roundness of a flat body of revolution."""
    return ca.sqrt(n[0] ** 2 + n[1] ** 2) - flat


@dataclass(frozen=True)
class Superellipsoid(Shape):
    """Superellipsoid ((x/a)^p + (y/b)^p)^(q/p) + (z/c)^q = 1 with absolute values, p, q = exponents.

    Its support function is the dual norm: ((a ux)^p' + (b uy)^p')^(q'/p') + (c uz)^q', to the power
    1/q', with p' = p/(p-1) (theory, "Surfaces"). Where an exponent is above 2 it has flat spots with
    infinite radii: there `rounding` is needed and blunts the flats, |a_i u_i| being replaced by
    sqrt(a_i^2 u_i^2 + rounding^2 |u|^2), which keeps the body convex and makes it larger by less than
    2 rounding. Exponents up to 2 have at most edges (zero radii), and `rounding` is a Minkowski sum
    with a ball.

    Parameters
    ----------
    semi_axes : (3,), m
    exponents : float, or (2,) for (p, q)
        Above 1; 2 is the ellipsoid.
    rounding : float, m
        Not negative; positive where an exponent is above 2.

    Raises
    ------
    InputError, ShapeError
        ShapeError for flat spots without rounding.

    Examples
    --------
    >>> import trundle as tr
    >>> tr.Superellipsoid([0.1, 0.2, 0.3], 1.5).reference_length
    0.3
    """

    semi_axes: Sizes3 = field(metadata={"text": "m, along x, y, z"})
    exponents: Exponents = parameter(2.0, "p across z and q along it; 2 is the ellipsoid")
    rounding: SizeOrZero = parameter(0.0, "m, needed where an exponent is above 2")
    d = 3

    def __post_init__(self) -> None:
        check_parameters(self)
        given = self.exponents
        object.__setattr__(self, "exponents", _exponents(given))
        if max(self._pq) > 2.0 and self.rounding == 0.0:
            allowed = "at most 2 without rounding: above 2 the body has flat spots; give rounding > 0 (m)"
            raise ShapeError("exponents", given, allowed)

    @property
    def _pq(self) -> tuple[float, float]:
        p, q = np.ravel(self.exponents)
        return float(p), float(q)

    def bundle(self) -> Representations:
        """Return the support function, and charts and belts by the normal where no radius of curvature vanishes."""
        p, q = self._pq
        a, b, c = self.semi_axes
        if p == q == 2.0:
            ellipsoid = EllipsoidSupport((a, b, c), self.rounding)
            charts, belts = build.by_normal(ellipsoid)
            return Representations(charts=charts, belts=belts, support=ellipsoid)
        blunt = max(p, q) > 2.0
        # A length far below any real one keeps the powers' derivatives finite at the edges.
        small = self.rounding if blunt else 1e-7 * min(self.semi_axes)
        p, q = p / (p - 1), q / (q - 1)

        def support(u: ca.SX) -> ca.SX:
            s = small**2 * ca.sumsqr(u)
            across = ((a * u[0]) ** 2 + s) ** (p / 2) + ((b * u[1]) ** 2 + s) ** (p / 2)
            h = (across ** (q / p) + ((c * u[2]) ** 2 + s) ** (q / 2)) ** (1 / q)
            return h if blunt or not self.rounding else h + self.rounding * ca.norm_2(u)

        body = build.support(3, support)
        charts, belts = build.by_normal(body) if self.rounding else ((), ())
        return Representations(charts=charts, belts=belts, support=body)

    @property
    def reference_length(self) -> float:
        """The longest semi-axis, m."""
        return max(self.semi_axes)


def _exponents(value: ArrayLike) -> tuple[float, float]:
    try:
        size = np.ndim(value)
    except ValueError:
        size = 1
    if size == 0:
        p = array("exponents", [value], (1,), above=1.0)[0]
        return float(p), float(p)
    p, q = array("exponents", value, (2,), above=1.0)
    return float(p), float(q)


@dataclass(frozen=True)
class Disc(Checked, Shape):
    """Coin in the plane z = 0 about its centre: all points within `rounding` of a flat disc.

    Rolls on its rim; with ``rounding = 0`` the rim is a sharp edge. On a flat it lands on its face at the tilt `flat`:
    an impact after which eight points of its edge touch, with the friction of a ring. On a ball or an ellipsoid rim and
    face take turns in one point. Elsewhere ``roundness`` ends a simulation there.

    Parameters
    ----------
    radius : float, m
        Of the flat disc.
    rounding : float, m
        Radius of the rim's section, not negative.
    flat : float, rad
        Tilt under which it lies on its face.

    Examples
    --------
    >>> import trundle as tr
    >>> tr.Disc(0.1, rounding=0.01).reference_length
    0.11
    """

    radius: Size = field(metadata={"text": "m"})
    rounding: SizeOrZero = parameter(0.0, "m")
    flat: Tilt = parameter(FACE_TILT, "rad, tilt under which it lies on its face")
    d = 3

    def bundle(self) -> Representations:
        """Return support, signed distance and roundness; with rounding also charts of the rim and the faces."""
        r, rho = self.radius, self.rounding

        def rim(u: ca.SX) -> ca.SX:
            out = r + rho * ca.cos(u[1])
            return ca.vertcat(out * ca.cos(u[0]), out * ca.sin(u[0]), rho * ca.sin(u[1]))

        def face(sign: int) -> build.Expression:
            return lambda u: ca.vertcat(r * u[0], sign * r * u[1], sign * rho)

        charts: tuple[Chart, ...] = ()
        if rho:
            half = ChartRange(-math.pi / 2, math.pi / 2)
            faces = [build.chart(3, face(sign), 1, reach=1.0) for sign in (-1, 1)]
            charts = (build.chart(3, rim, 1, (TURN, half)), *faces)

        def distance(x: ca.SX) -> ca.SX:
            out = ca.fmax(ca.sqrt(x[0] ** 2 + x[1] ** 2 + 1e-300) - r, 0)  # off zero, where its derivative is 0/0
            return ca.sqrt(out**2 + x[2] ** 2) - rho

        return Representations(
            charts=charts,
            support=EllipsoidSupport((r, r, 0.0), rho),
            distance=build.function("distance", 3, distance),
            roundness=build.function("roundness", 3, lambda n: tilt(n, self.flat)),
            pieces=(BoundaryPiece(self, (0.0, 0.0, 0.0), tuple(range(1, FACE_POINTS + 1))), *rim_points(r, 0.0, rho)),
            features=() if rho else round_features(r, 0.0),
        )

    @property
    def reference_length(self) -> float:
        """The outer radius, m."""
        return self.radius + self.rounding


@dataclass(frozen=True)
class Capsule(Checked, Shape):
    """Cylinder about the z axis with hemispherical ends, origin in its middle.

    On a flat it touches with the balls at its ends, so it lies and rolls on its side. On a convex hand (sphere,
    ellipsoid) the side touches in a point and rolls.

    Parameters
    ----------
    radius : float, m
    length : float, m
        Of the cylindrical part, not negative.

    Examples
    --------
    >>> import trundle as tr
    >>> tr.Capsule(0.1, 0.4).reference_length
    0.30000000000000004
    """

    radius: Size = field(metadata={"text": "m"})
    length: SizeOrZero = field(metadata={"text": "m, between the centres of the half spheres"})
    d = 3

    def bundle(self) -> Representations:
        """Return support, charts (two caps, side), level set = signed distance, and roundness."""
        r, half = self.radius, self.length / 2

        def support(u: ca.SX) -> ca.SX:
            return r * ca.norm_2(u) + half * ca.fabs(u[2])

        def distance(x: ca.SX) -> ca.SX:
            beyond = x[2] - ca.fmin(ca.fmax(x[2], -half), half)
            return ca.sqrt(x[0] ** 2 + x[1] ** 2 + beyond**2) - r

        def cap(sign: int) -> build.Expression:
            def point(u: ca.SX) -> ca.SX:
                q = u[0] ** 2 + u[1] ** 2
                x = r * ca.vertcat(2 * u[0], 2 * sign * u[1], sign * (1 - q)) / (1 + q)
                return x + ca.vertcat(0, 0, sign * half)

            return point

        def side(u: ca.SX) -> ca.SX:
            return ca.vertcat(r * ca.cos(u[0]), r * ca.sin(u[0]), u[1])

        caps = (build.chart(3, cap(-1), 1, reach=1.0), build.chart(3, cap(1), 1, reach=1.0))
        middle = (build.chart(3, side, 1, (TURN, ChartRange(-half, half))),) if half else ()
        return Representations(
            charts=caps + middle,
            support=build.support(3, support),
            level=build.level(3, distance),
            distance=build.function("distance", 3, distance),
            roundness=build.function("roundness", 3, lambda n: n[2]) if half else None,
            pieces=tuple(BoundaryPiece(Sphere(r), (0.0, 0.0, z)) for z in (-half, half)) if half else (),
        )

    @property
    def reference_length(self) -> float:
        """Half of the whole length, m."""
        return self.radius + self.length / 2


@dataclass(frozen=True)
class Cylinder(Checked, Shape):
    """Cylinder about the z axis, material inside: endless, or a body about its middle.

    On a flat a body of finite length touches with the rims of its ends, and with eight points of its faces: it stands,
    topples, and rolls on its side. On a ball its side, rims and faces take turns in one point.

    Parameters
    ----------
    radius : float, m
    length : float, m, optional
        Endless without it.
    flat : float, rad
        Tilt under which it lies on its face.

    Examples
    --------
    >>> tr.Cylinder(radius=0.5).distance([[2.0, 0.0, 7.0]])[0].round(12).tolist()
    [1.5]
    >>> tr.Cylinder(radius=0.5, length=2.0).distance([[0.0, 0.0, 7.0]])[0].tolist()
    [6.0]
    """

    radius: Size = field(metadata={"text": "m"})
    length: Size | None = parameter(None, "m; endless if left out")
    flat: Tilt = parameter(FACE_TILT, "rad, tilt under which it lies on its face")
    d = 3

    def bundle(self) -> Representations:
        """Return chart (angle, z), level set and signed distance; of a body support, distance, roundness and pieces."""
        if self.length is None:
            return round_about_z(self.radius, 1)
        r, half = self.radius, self.length / 2

        def distance(x: ca.SX) -> ca.SX:
            out, up = ca.sqrt(x[0] ** 2 + x[1] ** 2 + 1e-300) - r, ca.fabs(x[2]) - half
            # The square root is kept off zero, where its derivative would be 0/0; inside it counts nothing.
            beyond = ca.sqrt(ca.fmax(out, 0) ** 2 + ca.fmax(up, 0) ** 2 + 1e-300)
            return ca.if_else(ca.fmax(out, up) > 0, beyond, ca.fmax(out, up))

        rim, count, pieces = Disc(r, flat=self.flat), FACE_POINTS + 1, ()
        for k, z in enumerate((-half, half)):
            face = tuple(range(k * count + 1, (k + 1) * count))
            pieces += (BoundaryPiece(rim, (0.0, 0.0, z), face), *rim_points(r, z))
        return Representations(
            support=build.support(3, lambda u: r * ca.norm_2(u[:2]) + half * ca.fabs(u[2])),
            distance=build.function("distance", 3, distance),
            roundness=build.function("roundness", 3, lambda n: tilt(n, self.flat) * n[2]),
            pieces=pieces,
            features=round_features(r, half),
        )

    @property
    def reference_length(self) -> float:
        """The radius, of a body at least half its length, m."""
        return max(self.radius, (self.length or 0.0) / 2)


@dataclass(frozen=True)
class Box(Shape):
    """Rectangle (d = 2) or box (d = 3) about its centre.

    It touches with its corners, edges and faces: it lands, rests, tips, slides and rolls on them, on flat and curved
    ground. `Rounded` blunts them.

    Parameters
    ----------
    half_extents : (2,) or (3,), m

    Examples
    --------
    >>> import trundle as tr
    >>> tr.Box([0.1, 0.2, 0.3]).reference_length
    0.3
    """

    half_extents: Sizes2 | Sizes3 = field(metadata={"text": "m, along the axes"})

    def __post_init__(self) -> None:
        size = Sizes2 if np.shape(np.asarray(self.half_extents, dtype=object)) == (2,) else Sizes3
        object.__setattr__(self, "half_extents", check_parameter("half_extents", self.half_extents, size))

    @property
    def d(self) -> int:  # type: ignore[override]
        """Dimension: the number of half extents."""
        return len(self.half_extents)

    def bundle(self) -> Representations:
        """Return support sum_i a_i |u_i|, signed distance and roundness prod_i n_i (zero on edges and faces)."""
        size, d = ca.SX(ca.vertcat(*self.half_extents)), self.d
        vertices = np.array(list(product_of(*((-value_of(a), value_of(a)) for a in self.half_extents))))
        factors = [a / value_of(a) for a in self.half_extents]

        def distance(x: ca.SX) -> ca.SX:
            beyond = ca.fabs(x) - size
            outside = ca.fmax(beyond, 0)
            # The square root is kept off zero, where its derivative would be 0/0; inside it counts nothing.
            length = ca.sqrt(ca.sumsqr(outside) + 1e-300)
            inside = ca.fmin(ca.mmax(beyond), 0)
            return ca.if_else(ca.mmax(beyond) > 0, length, inside)

        def product(n: ca.SX) -> ca.SX:
            return n[0] * n[1] if d == 2 else n[0] * n[1] * n[2]

        return Representations(
            support=build.support(d, lambda u: ca.dot(size, ca.fabs(u))),
            distance=build.function("distance", d, distance),
            roundness=build.function("roundness", d, product),
            pieces=corners(vertices, factors),
            features=stretch_features(features(vertices), factors),
        )

    @property
    def reference_length(self) -> float:
        """The longest half extent, m."""
        return max(self.half_extents)
