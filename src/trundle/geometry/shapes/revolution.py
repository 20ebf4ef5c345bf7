"""Surfaces of revolution about the z axis."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from trundle.errors import InputError, ShapeError
from trundle.geometry.boundary import Representations
from trundle.geometry.chart import TURN, Chart
from trundle.geometry.queries.sampling import NumericChart, numeric_charts
from trundle.geometry.shape import Shape
from trundle.geometry.shapes import build

POLE = 1e-6
"""Distance from a pole, relative to half the meridian, below which polar coordinates are smoothed."""


@dataclass(frozen=True)
class Revolution(Shape):
    """Surface of revolution about the z axis of a planar curve (x, z).

    Off the axis (x > 0 everywhere) F(s, phi) = (x(s) cos phi, x(s) sin phi, z(s)), material on the
    profile's side: a ring, a vase. A closed outline that is symmetric about the z axis is the silhouette
    of a body with two poles (egg, pear); its charts are polar coordinates about each pole, written
    F = (x p/q, x r/q, z) with q = sqrt(p^2 + r^2), hence smooth there.

    Parameters
    ----------
    profile : Shape
        d = 2, bounded, with one chart.

    Raises
    ------
    ShapeError
        If the profile touches the axis without being a symmetric outline.

    Examples
    --------
    >>> spheroid = tr.Revolution(tr.Ellipse(semi_axes=[0.03, 0.05]))  # about z
    >>> spheroid.d
    3
    """

    profile: Shape
    d = 3

    def __post_init__(self) -> None:
        good = isinstance(self.profile, Shape) and self.profile.d == 2
        charts = self.profile.representations.charts if good else ()
        if len(charts) != 1 or not charts[0].ranges[0].bounded:
            raise InputError("profile", self.profile, "a bounded planar curve: outline, spline, arc or expression")
        line = self.profile.mesh(400)
        worst = int(np.argmin(line[:, 0]))
        if line[worst, 0] > 1e-6 * self.profile.reference_length:
            return
        if not charts[0].ranges[0].periodic or charts[0].side > 0:
            allowed = "off the axis of revolution (x > 0, m), or a closed outline symmetric about it"
            raise ShapeError("profile", line[worst].tolist(), allowed)
        self.numeric(_poles)

    def bundle(self) -> Representations:
        """Return one chart (profile's parameter, azimuth) or two about the poles; the profile's level set."""
        profile = self.profile.representations
        curve = profile.charts[0]
        level = None
        if profile.level is not None:
            section = profile.level
            level = build.level(3, lambda x: section.level(ca.vertcat(ca.sqrt(x[0] ** 2 + x[1] ** 2 + 1e-300), x[2])))

        def ring(u: ca.SX) -> ca.SX:
            p = curve.point(u[0])
            return ca.vertcat(p[0] * ca.cos(u[1]), p[0] * ca.sin(u[1]), p[1])

        if self.profile.mesh(400)[:, 0].min() > 1e-6 * self.profile.reference_length:
            charts: tuple[Chart, ...] = (build.chart(3, ring, curve.side, (curve.ranges[0], TURN)),)
            return Representations(charts=charts, level=level)
        bottom, top = self.numeric(_poles)
        caps = (_cap(curve, bottom, top), _cap(curve, top, bottom))
        return Representations(charts=caps, level=level)

    @property
    def reference_length(self) -> float:
        """The largest distance from the origin, m."""
        return float(np.linalg.norm(self.profile.mesh(200), axis=1).max())


def _cap(curve: Chart, pole: float, other: float) -> Chart:
    """Return the chart about `pole`; |u| = 1 is half-way to the `other` pole, as the curve's parameter runs."""
    half = (other - pole) / 2
    mirror = 1 if half > 0 else -1

    def point(u: ca.SX) -> ca.SX:
        q = ca.sqrt(u[0] ** 2 + u[1] ** 2 + POLE**2)
        p = curve.point(pole + half * q)
        return ca.vertcat(p[0] * u[0] / q, mirror * p[0] * u[1] / q, p[1])

    return build.chart(3, point, curve.side, reach=1.5)


def _poles(shape: Revolution) -> tuple[float, float]:
    """Return the profile's parameters at the lower and the upper pole, the second larger (by less than a turn)."""
    profile = shape.profile
    chart = numeric_charts(profile)[0]
    r = chart.chart.ranges[0]
    u = np.linspace(r.low, r.high, 401)
    x = chart.points(u[:, None])[:, 0]
    starts = np.flatnonzero((x[:-1] <= 0) != (x[1:] <= 0))
    if len(starts) != 2:
        raise ShapeError("profile", f"{len(starts)} crossings", "an outline that crosses the z axis twice")
    roots = [_root(chart, u[i], u[i + 1]) for i in starts]
    rising = [x[i] <= 0 for i in starts]
    bottom, top = (roots[0], roots[1]) if rising[0] else (roots[1], roots[0] + r.high - r.low)
    _check_symmetry(profile, chart, bottom, top)
    return bottom, top


def _root(chart: NumericChart, low: float, high: float) -> float:
    from scipy.optimize import brentq

    def x(u: float) -> float:
        return float(chart.points(np.array([[u]]))[0, 0])

    root = float(brentq(x, low, high, xtol=1e-15, rtol=1e-15))  # type: ignore[arg-type]
    for _ in range(3):
        value = chart.at(np.array([[root]]))
        root -= float(value.x[0, 0] / value.first[0, 0, 0])
    return root


def _check_symmetry(profile: Shape, chart: NumericChart, bottom: float, top: float) -> None:
    right = chart.points(np.linspace(bottom, top, 101)[:, None])
    distance, _ = profile.distance(right * [-1.0, 1.0])
    worst = int(np.argmax(np.abs(distance)))
    if abs(distance[worst]) > 1e-6 * profile.reference_length:
        allowed = f"symmetric about the z axis: the mirrored point is {abs(distance[worst]):.3g} m off the outline"
        raise ShapeError("profile", right[worst].tolist(), allowed)
