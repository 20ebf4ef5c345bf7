"""Boundary: what the queries ask of a shape, that is its representations and tables built once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import casadi as ca

from trundle.geometry.chart import Chart
from trundle.geometry.features import Feature
from trundle.geometry.level import Level
from trundle.geometry.support import SupportLike
from trundle.threads import cached_property, made_once

Built = TypeVar("Built")


@dataclass(frozen=True)
class BoundaryPiece:
    """A simpler convex body, a part of another one.

    Attributes
    ----------
    shape : Boundary
        With the same axes.
    at : (d,) m
        Its origin in the shape of which it is a part.
    face : tuple of int
        Of a disc: numbers of the pieces with which its face touches, in place of its rim, once its roundness is zero.
    """

    shape: Boundary
    at: tuple[float, ...]
    face: tuple[int, ...] = ()


@dataclass(frozen=True)
class Representations:
    """The representations a shape has; a contact picks the ones that suit it.

    Attributes
    ----------
    charts : tuple of Chart
        An atlas: charts that together cover the boundary (each good for |u| < chart.reach).
    belts : tuple of Chart
        Charts around axes, for plans that roll far: an object rolls along a belt without end.
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
    pieces : tuple of BoundaryPiece
        Bodies that touch in points and whose convex hull this one is: on a flat they touch in its place, so that it
        rests on lines and faces.
    features : tuple of Feature
        Of a body with corners: its corners, edges, rims and faces, which touch in its place on smooth ground that is
        not flat.
    """

    charts: tuple[Chart, ...] = ()
    belts: tuple[Chart, ...] = ()
    support: SupportLike | None = None
    level: Level | None = None
    flat: bool = False
    hull: bool = False
    distance: ca.Function | None = None
    height: ca.Function | None = None
    roundness: ca.Function | None = None
    pieces: tuple[BoundaryPiece, ...] = ()
    features: tuple[Feature, ...] = ()

    @property
    def numbered(self) -> tuple[Chart, ...]:
        """Charts and belts, as the numbers of an atlas count them."""
        return self.charts + self.belts


def without_caches(owner: object) -> dict[str, object]:
    """Return the attributes of an object but the values of its cached properties: what a pickle or a copy takes."""
    kind = type(owner)
    return {k: v for k, v in vars(owner).items() if not isinstance(getattr(kind, k, None), cached_property)}


class Boundary(ABC):
    """Boundary of a body by its representations, in the shape's frame; `Shape` adds the queries as methods."""

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
    def _built(self) -> dict[Callable[..., Any], Any]:
        return {}

    def numeric(self, build: Callable[[Self], Built]) -> Built:
        """Return ``build(shape)``, kept with the shape: tables that are made once."""
        return made_once(self._built, build, lambda: build(self))
