"""Surfaces that are the same all along the y axis."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from trundle.errors import InputError
from trundle.geometry.boundary import Representations
from trundle.geometry.chart import ChartRange
from trundle.geometry.shape import Shape
from trundle.geometry.shapes import build


@dataclass(frozen=True)
class Extrusion(Shape):
    """Ground whose section is a planar curve (x, z), the same at every y: a road over waves, a ramp, a ditch.

    Parameters
    ----------
    profile : Shape
        d = 2, with one chart; material on its side.

    Raises
    ------
    InputError
        If the profile is no planar curve with one chart.

    Examples
    --------
    >>> waves = tr.Extrusion(tr.Sinusoid(0.05, 1.0))
    >>> float(waves.distance([[0.25, 3.0, 0.15]])[0][0].round(9))  # above a crest
    0.1
    """

    profile: Shape
    d = 3

    def __post_init__(self) -> None:
        good = isinstance(self.profile, Shape) and self.profile.d == 2
        if not good or len(self.profile.representations.charts) != 1:
            raise InputError("profile", self.profile, "a planar curve with one chart: trundle.Sinusoid(0.05, 1)")

    def bundle(self) -> Representations:
        """Return chart (profile's parameter, y), and what else the profile has: level set, distance, height."""
        section = self.profile.representations
        curve, level, distance, height = section.charts[0], section.level, section.distance, section.height

        def point(u: ca.SX) -> ca.SX:
            p = curve.point(u[0])
            return ca.vertcat(p[0], u[1], p[1])

        def cut(x: ca.SX) -> ca.SX:
            return ca.vertcat(x[0], x[2])

        return Representations(
            charts=(build.chart(3, point, curve.side, (curve.ranges[0], ChartRange(coordinate=1))),),
            level=None if level is None else build.level(3, lambda x: level.level(cut(x))),
            flat=section.flat,
            distance=None if distance is None else build.function("distance", 3, lambda x: distance(cut(x))),
            height=None if height is None else build.function("height", 2, lambda x: height(x[0])),
        )

    @property
    def reference_length(self) -> float:
        """That of the profile, m."""
        return self.profile.reference_length
