"""Shape: a bundle of the representations of one boundary, with what follows from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from trundle.checks import array, choice, integer, positive
from trundle.errors import InputError
from trundle.geometry.chart import Chart
from trundle.geometry.level import Level
from trundle.geometry.patch import Patch

FloatArray = NDArray[np.float64]
Built = TypeVar("Built")


class SupportLike(Protocol):
    """What a contact asks of a convex body: `Support` and `EllipsoidSupport` give it."""

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        ...

    def support(self, u: ca.SX) -> ca.SX:
        """Return h(u), m."""
        ...

    def patch(self, n: ca.SX, T: ca.SX) -> Patch:
        """Return the patch with outward normal `n`."""
        ...

    def point_and_radii(self, n: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the point and the tensor of radii with outward normal `n`."""
        ...


@dataclass(frozen=True)
class Representations:
    """The representations a shape has; a contact picks the ones that suit it.

    Attributes
    ----------
    charts : tuple of Chart
        An atlas: charts that together cover the boundary (each good for |u| < chart.reach).
    support : SupportLike or None
        Of a convex body; of the convex hull where `hull` says so.
    level : Level or None
    flat : bool
        The boundary is the plane z = 0 (d = 3) or the line z = 0 (d = 2), material below.
    hull : bool
        The body is not convex and `support` is that of its convex hull: right for contact with a
        plane, wrong for anything that can reach a hollow.
    distance : ca.Function or None
        Signed distance x (d,) -> m, positive outside the material, in closed form.
    height : ca.Function or None
        Of a boundary that is a graph: x -> z (d = 2) or (x, y) -> z (d = 3), m; material below.
    roundness : ca.Function or None
        Outward normal n (d,) -> a dimensionless number that changes sign exactly where a contact with
        a plane stops being a point (face of a disc, side of a capsule); None: nowhere.
    """

    charts: tuple[Chart, ...] = ()
    support: SupportLike | None = None
    level: Level | None = None
    flat: bool = False
    hull: bool = False
    distance: ca.Function | None = None
    height: ca.Function | None = None
    roundness: ca.Function | None = None


def without_caches(owner: object) -> dict[str, object]:
    """Return the attributes of an object but the values of its cached properties: what a pickle or a copy takes."""
    kind = type(owner)
    return {k: v for k, v in vars(owner).items() if not isinstance(getattr(kind, k, None), cached_property)}


class Shape(ABC):
    """Boundary of a body, in the shape's frame (origin and axes are the shape's own).

    Contract for a subclass (a frozen dataclass whose fields are the sizes):

    1. ``d`` is 2 or 3.
    2. ``bundle()`` returns the `Representations`; ``shape.representations`` caches it.
    3. ``reference_length`` (m): a typical size, > 0, for tolerances and pictures.
    """

    d: int

    def __getstate__(self) -> dict[str, object]:
        return without_caches(self)

    @abstractmethod
    def bundle(self) -> Representations:
        """Build the representations."""

    @property
    @abstractmethod
    def reference_length(self) -> float:
        """A typical size of the shape in m."""

    @cached_property
    def representations(self) -> Representations:
        """The shape's representations, built once."""
        return self.bundle()

    @cached_property
    def _built(self) -> dict[Any, Any]:
        return {}

    def numeric(self, build: Callable[[Shape], Built]) -> Built:
        """Return ``build(shape)``, kept with the shape: tables that are made once."""
        if build not in self._built:
            self._built[build] = build(self)
        return self._built[build]

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
        from trundle.geometry.queries import distance

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
        from trundle.geometry.queries import locate

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
        from trundle.geometry.queries import locate

        limit = 1e-6 * self.reference_length if tolerance is None else positive("tolerance", tolerance, "m")
        return locate.locate(self, array("x", x, (self.d,), unit="m"), limit)

    def sample(
        self, n: int, around: object | None = None, radius: float | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return about `n` boundary points (m, d), m, roughly even, and outward normals (m, d).

        Shapes without end need `around` (d,), m, and `radius`, m; on others these cut.
        """
        from trundle.geometry.queries import sampling

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
        from trundle.geometry.queries import mesh

        return mesh.mesh(self, integer("resolution", resolution, minimum=4), *self._place(around, radius))

    def mass_properties(self, kind: str = "solid") -> tuple[FloatArray, Any]:
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
        from trundle.geometry.queries import mass

        return mass.mass_properties(self, choice("kind", kind, ("solid", "shell")))

    def _points(self, key: str, points: object) -> FloatArray:
        return array(key, points, (None, self.d), unit="m")

    def _place(self, around: object | None, radius: float | None) -> tuple[FloatArray | None, float | None]:
        center = None if around is None else array("around", around, (self.d,), unit="m")
        return center, None if radius is None else positive("radius", radius, "m")
