"""Shape: a bundle of the representations of one boundary, with what follows from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from trundle.checks import FloatArray, array, choice, integer, number, positive
from trundle.errors import InputError
from trundle.geometry.boundary import Boundary
from trundle.geometry.queries import distance, locate, mass, mesh, sampling

_FAR = 1e100  # m: squares of longer lengths overflow


class Shape(Boundary):
    """Boundary of a body, in the shape's frame (origin and axes are the shape's own).

    Contract for a subclass (a frozen dataclass whose fields are the sizes):

    1. ``d`` is 2 or 3.
    2. ``bundle()`` returns the `Representations`; ``shape.representations`` caches it.
    3. ``reference_length`` (m): a typical size, > 0, for tolerances and pictures.

    Examples
    --------
    >>> ball = tr.Sphere(radius=0.2)
    >>> distances, gradients = ball.distance([[1.0, 0.0, 0.0]])
    >>> distances.tolist(), gradients.tolist()
    ([0.8], [[1.0, 0.0, 0.0]])
    """

    def distance(self, points: object) -> tuple[FloatArray, FloatArray]:
        """Return signed distances and their gradients.

        Positive outside the material. Closed form where it is known; convex bodies by
        s(x) = max over unit n of n.x - h(n); others by projection onto the boundary.

        Parameters
        ----------
        points : (m, d) m
            In the shape's frame.

        Returns
        -------
        distances : (m,) m
        gradients : (m, d)
            Unit vectors; ``points - distances[:, None] * gradients`` is on the boundary. Where several
            boundary points are equally close one of them is taken.
        """
        return distance.distance(self, self._points("points", points))

    def closest(self, points: object) -> FloatArray:
        """Return the boundary points (m, d), m, closest to `points` (m, d), m."""
        x = self._points("points", points)
        s, gradient = self.distance(x)
        return x - s[:, None] * gradient

    def points_with_normal(
        self, normal: object, around: object | None = None, radius: float | None = None
    ) -> FloatArray:
        """Return all boundary points with the outward normal `normal`.

        A convex body has one (of a face or an edge: its middle); others are found by Newton's method on
        F_u'normal = 0 from many samples, and of a continuum some are given.

        Parameters
        ----------
        normal : (d,)
            Any positive length.
        around : (d,) m, radius : float, m
            Where to look on a shape without end; a flat shape gives the point below `around`.

        Returns
        -------
        (k, d) m; k = 0 if there is none.
        """
        n = array("normal", normal, (self.d,))
        length = float(np.linalg.norm(n))
        if not length > 0:
            raise InputError("normal", normal, "a vector that is not zero")
        center, size = self._place(around, radius)
        return locate.points_with_normal(self, n / length, center, size)

    def locate(self, x: object, tolerance: float | None = None) -> tuple[int, FloatArray]:
        """Return the chart that suits a boundary point best, and the point's coordinates in it.

        Parameters
        ----------
        x : (d,) m
        tolerance : float, m
            How far from the boundary `x` may be (1e-6 of the reference length): it is projected.

        Returns
        -------
        index : int
            Into ``representations.charts``.
        u : (d-1,)

        Raises
        ------
        InputError
            If the point is not on the boundary, or the shape has no charts.
        """
        limit = 1e-6 * self.reference_length if tolerance is None else positive("tolerance", tolerance, "m")
        return locate.locate(self, array("x", x, (self.d,), unit="m"), limit)

    def sample(
        self, n: int, around: object | None = None, radius: float | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return about `n` boundary points (m, d), m, roughly even, and outward normals (m, d).

        Shapes without end need `around` (d,), m, and `radius`, m; on others these cut.
        """
        return sampling.sample(self, integer("n", n, minimum=1), *self._place(around, radius))

    def mesh(self, resolution: int = 48, around: object | None = None, radius: float | None = None) -> Any:
        """Return the boundary for pictures and volumes.

        Parameters
        ----------
        resolution : int
            Points along a turn (or along the window).
        around : (d,) m, radius : float, m
            Window; needed by shapes without end.

        Returns
        -------
        d = 3: (vertices (n, 3) m, faces (k, 3) int), faces counter-clockwise seen from outside the
        material. d = 2: polyline (n, 2) m along the curve, closed outlines repeat the first point.
        """
        return mesh.mesh(self, integer("resolution", resolution, minimum=4), *self._place(around, radius))

    def mass_properties(self, kind: str = "solid") -> tuple[FloatArray, FloatArray | float]:
        """Return the centroid and the inertia per unit mass about it.

        "solid": uniform density inside; "shell": uniform thickness on the boundary (a ball of radius r:
        2/3 r^2), so not a homoeoid.

        Returns
        -------
        centroid : (d,) m
        inertia : (3, 3) m^2 for d = 3, a float m^2 (polar, about y) for d = 2

        Raises
        ------
        InputError
            If the shape encloses no finite volume.
        """
        return mass.mass_properties(self, choice("kind", kind, ("solid", "shell")))

    def _points(self, key: str, points: object) -> FloatArray:
        x = array(key, points, (None, self.d), unit="m")
        number(key, float(np.abs(x).max(initial=0.0)), maximum=_FAR, unit="m")
        return x

    def _place(self, around: object | None, radius: float | None) -> tuple[FloatArray | None, float | None]:
        center = None if around is None else array("around", around, (self.d,), unit="m")
        return center, None if radius is None else positive("radius", radius, "m")
