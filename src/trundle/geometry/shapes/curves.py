"""Planar curves in closed form: terrain (material below, runs to +x) and outlines (counter-clockwise)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

import casadi as ca
import numpy as np

from trundle.errors import InputError
from trundle.geometry.boundary import Representations
from trundle.geometry.chart import TURN, ChartRange
from trundle.geometry.shape import Shape
from trundle.geometry.shapes import build
from trundle.geometry.shapes.sizes import Coordinate, Point2, Size, Sizes2
from trundle.geometry.support import EllipsoidSupport
from trundle.parameters import Checked, Real, check_parameters, parameter
from trundle.parameters import Range as Numbers

Coefficients = Annotated[Sequence[float], Numbers("at most 64 numbers, each from -1e12 to 1e12")]


def graph(height: build.Expression, flat: bool = False, ends: ChartRange | None = None) -> Representations:
    """Return the representations of the terrain z = height(x): chart u = x, level z - height(x)."""
    return Representations(
        charts=(build.chart(2, lambda u: ca.vertcat(u, height(u)), 1, (ends or ChartRange(),)),),
        level=build.level(2, lambda x: x[1] - height(x[0])),
        flat=flat,
        height=build.function("height", 1, height),
    )


@dataclass(frozen=True)
class Line(Checked, Shape):
    """Straight terrain z = slope x + offset, material below.

    Parameters
    ----------
    slope : float
        dz/dx.
    offset : float, m
        Height at x = 0.

    Examples
    --------
    >>> import trundle as tr
    >>> float(tr.Line(0.0, 0.5).distance([[0, 2.0]])[0][0])
    1.5
    """

    slope: Coordinate = parameter(0.0, "dz/dx")
    offset: Coordinate = parameter(0.0, "m")
    d = 2

    def bundle(self) -> Representations:
        """Return chart u = x, level set, signed distance and height."""
        steep = ca.hypot(1.0, self.slope)
        flat = self.slope == 0.0 and self.offset == 0.0

        def distance(x: ca.SX) -> ca.SX:
            return (x[1] - self.slope * x[0] - self.offset) / steep

        base = graph(lambda x: self.slope * x + self.offset, flat)
        return Representations(
            charts=base.charts,
            level=build.level(2, distance),
            flat=flat,
            distance=build.function("distance", 2, distance),
            height=base.height,
        )

    @property
    def reference_length(self) -> float:
        """1 m: a line has no size."""
        return 1.0


@dataclass(frozen=True)
class Parabola(Checked, Shape):
    """Terrain z = curvature x^2, material below.

    Parameters
    ----------
    curvature : float, 1/m
        Half the second derivative at the vertex: positive is a valley, negative a hill.

    Examples
    --------
    >>> valley = tr.Parabola(curvature=0.5)  # z = 0.5 x^2
    >>> valley.distance([[0.0, 0.3]])[0].round(12).tolist()
    [0.3]
    """

    curvature: Coordinate = field(metadata={"text": "1/m"})
    d = 2

    def bundle(self) -> Representations:
        """Return chart u = x, level set and height."""
        return graph(lambda x: self.curvature * x**2)

    @property
    def reference_length(self) -> float:
        """Radius of curvature at the vertex, m, at most 1 m."""
        return min(1.0, 0.5 / abs(self.curvature)) if self.curvature else 1.0


@dataclass(frozen=True)
class Sinusoid(Checked, Shape):
    """Terrain z = amplitude sin(2 pi x / wavelength + phase), material below.

    Parameters
    ----------
    amplitude : float, m
    wavelength : float, m
        Positive.
    phase : float, rad

    Examples
    --------
    >>> ground = tr.Sinusoid(amplitude=0.06, wavelength=0.8)
    >>> ground.closest([[0.2, 0.06]])[0].round(9).tolist()  # a crest
    [0.2, 0.06]
    """

    amplitude: Coordinate = field(metadata={"text": "m"})
    wavelength: Size = field(metadata={"text": "m"})
    phase: Real = parameter(0.0, "rad")
    d = 2

    def bundle(self) -> Representations:
        """Return chart u = x, level set and height."""
        k = 2 * math.pi / self.wavelength
        return graph(lambda x: self.amplitude * ca.sin(k * x + self.phase))

    @property
    def reference_length(self) -> float:
        """The wavelength, m."""
        return self.wavelength


@dataclass(frozen=True)
class Circle(Checked, Shape):
    """Disc-shaped body in the plane, origin at its centre.

    Parameters
    ----------
    radius : float, m

    Examples
    --------
    >>> import trundle as tr
    >>> tr.Circle(0.1).reference_length
    0.1
    """

    radius: Size = field(metadata={"text": "m"})
    d = 2

    def bundle(self) -> Representations:
        """Return support, chart by the angle, level set and signed distance."""
        r = self.radius
        return Representations(
            charts=(build.chart(2, lambda u: r * ca.vertcat(ca.cos(u), ca.sin(u)), -1, (TURN,)),),
            support=EllipsoidSupport((r, r)),
            level=build.level(2, lambda x: (ca.sumsqr(x) - r * r) / (2 * r)),
            distance=build.function("distance", 2, lambda x: ca.norm_2(x) - r),
        )

    @property
    def reference_length(self) -> float:
        """The radius, m."""
        return self.radius


@dataclass(frozen=True)
class Ellipse(Checked, Shape):
    """Elliptic body in the plane, origin at its centre, axes along x and z.

    Parameters
    ----------
    semi_axes : (2,), m
        Along x and z.

    Examples
    --------
    >>> tr.Ellipse(semi_axes=[0.25, 0.12]).distance([[0.35, 0.0], [0.0, 0.0]])[0].round(9).tolist()
    [0.1, -0.12]
    """

    semi_axes: Sizes2 = field(metadata={"text": "m, along x and z"})
    d = 2

    def bundle(self) -> Representations:
        """Return support, chart (a cos u, b sin u) and level set."""
        a, b = self.semi_axes
        return Representations(
            charts=(build.chart(2, lambda u: ca.vertcat(a * ca.cos(u), b * ca.sin(u)), -1, (TURN,)),),
            support=EllipsoidSupport((a, b)),
            level=build.level(2, lambda x: min(a, b) / 2 * ((x[0] / a) ** 2 + (x[1] / b) ** 2 - 1)),
        )

    @property
    def reference_length(self) -> float:
        """The longer semi-axis, m."""
        return max(self.semi_axes)


@dataclass(frozen=True)
class Arc(Checked, Shape):
    """Half-circle terrain: the lower half of a bowl or the upper half of a hill.

    Parameters
    ----------
    radius : float, m
    center : (2,), m
        x and z of the circle's centre.
    side : "inside" or "outside"
        Where the free side is: inside is a bowl (lower half), outside a hill (upper half).

    Examples
    --------
    >>> bowl = tr.Arc(radius=2.0, center=[0, 2], side="inside")
    >>> bowl.distance([[0.0, 0.5]])[0].round(12).tolist()  # free side: inside the bowl
    [0.5]
    """

    radius: Size = field(metadata={"text": "m"})
    center: Point2 = parameter((0.0, 0.0), "m, x and z")
    side: Literal["inside", "outside"] = parameter("inside", "bowl or hill")
    d = 2

    def bundle(self) -> Representations:
        """Return chart by the angle from the vertical (to +x), level set, signed distance and height."""
        r, c = self.radius, ca.SX(ca.vertcat(*self.center))
        out = 1 if self.side == "outside" else -1
        half = ChartRange(-math.pi / 2, math.pi / 2)
        return Representations(
            charts=(build.chart(2, lambda u: c + r * ca.vertcat(ca.sin(u), out * ca.cos(u)), 1, (half,)),),
            level=build.level(2, lambda x: out * (ca.sumsqr(x - c) - r * r) / (2 * r)),
            distance=build.function("distance", 2, lambda x: out * (ca.norm_2(x - c) - r)),
            height=build.function("height", 1, lambda x: c[1] + out * ca.sqrt(r * r - (x - c[0]) ** 2)),
        )

    @property
    def reference_length(self) -> float:
        """The radius, m."""
        return self.radius


@dataclass(frozen=True)
class FourierRadius(Shape):
    """Star-shaped outline r(phi) = radius (1 + sum_k cos[k-1] cos k phi + sin[k-1] sin k phi).

    Parameters
    ----------
    radius : float, m
    cos, sin : sequences of float
        Coefficients of the harmonics 1, 2, ...; the shorter is filled with zeros.

    Raises
    ------
    InputError
        If the radius is not positive everywhere.

    Examples
    --------
    >>> egg = tr.FourierRadius(radius=0.2, cos=[0.0, 0.05])  # r(phi) = 0.2 (1 + 0.05 cos 2 phi)
    >>> egg.reference_length > 0
    True
    """

    radius: Size = field(metadata={"text": "m"})
    cos: Coefficients = parameter((), "coefficients of cos phi, cos 2 phi, ...")
    sin: Coefficients = parameter((), "coefficients of sin phi, sin 2 phi, ...")
    d = 2

    def __post_init__(self) -> None:
        check_parameters(self)
        phi = np.linspace(0, 2 * np.pi, 64 * (1 + max(len(self.cos), len(self.sin))))
        factor = 1 + sum((c * np.cos((k + 1) * phi) for k, c in enumerate(self.cos)), np.zeros_like(phi))
        factor = factor + sum((c * np.sin((k + 1) * phi) for k, c in enumerate(self.sin)), np.zeros_like(phi))
        worst = int(np.argmin(factor))
        if factor[worst] <= 1e-6:
            allowed = f"such that r(phi) > 0: r = {self.radius * factor[worst]:.3g} m at phi = {phi[worst]:.3g} rad"
            name = max("cos", "sin", key=lambda one: float(np.max(np.abs(getattr(self, one)), initial=0.0)))
            raise InputError(name, getattr(self, name), allowed)

    def radius_at(self, phi: ca.SX) -> ca.SX:
        """Return r(phi) in m."""
        r = ca.SX(1)
        for k, c in enumerate(self.cos, start=1):
            r += c * ca.cos(k * phi)
        for k, c in enumerate(self.sin, start=1):
            r += c * ca.sin(k * phi)
        return self.radius * r

    def bundle(self) -> Representations:
        """Return chart by the angle phi and level set |x| - r(phi(x))."""
        outline = build.chart(2, lambda u: self.radius_at(u) * ca.vertcat(ca.cos(u), ca.sin(u)), -1, (TURN,))
        level = build.level(2, lambda x: ca.norm_2(x) - self.radius_at(ca.atan2(x[1], x[0])))
        return Representations(charts=(outline,), level=level)

    @property
    def reference_length(self) -> float:
        """The mean radius, m."""
        return self.radius


@dataclass(frozen=True)
class CurveSum(Shape):
    """Terrain z(x) = sum of the heights of terrain curves that are graphs.

    Parameters
    ----------
    terms : sequence of shapes with d = 2 and a height z(x)
        Line, parabola, sinusoid, spline profile, sums of them.

    Examples
    --------
    >>> hill = tr.geometry.CurveSum([tr.Line(slope=0.1), tr.Sinusoid(amplitude=0.06, wavelength=0.8)])
    >>> hill.d
    2
    """

    terms: Sequence[Shape]
    d = 2

    def __post_init__(self) -> None:
        allowed = "a non-empty list of curves z(x): line, parabola, sinusoid, open spline or sum"
        if not isinstance(self.terms, Iterable):
            raise InputError("terms", self.terms, allowed)
        terms = tuple(self.terms)
        good = all(isinstance(t, Shape) and t.d == 2 and t.representations.height is not None for t in terms)
        if not terms or not good:
            raise InputError("terms", self.terms, allowed)
        object.__setattr__(self, "terms", terms)

    def bundle(self) -> Representations:
        """Return chart u = x, level set and height; the ends are the narrowest of the terms'."""
        heights = [t.representations.height for t in self.terms]
        ends = [t.representations.charts[0].ranges[0] for t in self.terms]
        span = ChartRange(max(e.low for e in ends), min(e.high for e in ends))
        return graph(lambda x: sum((h(x) for h in heights if h is not None), ca.SX(0)), ends=span)

    @property
    def reference_length(self) -> float:
        """The smallest of the terms', m."""
        return min(t.reference_length for t in self.terms)
