"""Tables of shapes: surfaces in space, outlines and ground in the plane, and which of them a key may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from trundle import geometry
from trundle.geometry.shapes.sizes import Sizes2, Sizes3
from trundle.scenarios.problems import Allowed
from trundle.scenarios.schema import Array, DataFile, ParameterTable, Table, fault, table_of

FILE = Allowed("the path of a CSV file inside the scenario's folder")
FileName = Annotated[str, Field(min_length=1, max_length=1000), FILE]


class PlaneTable(table_of(geometry.Plane, tag="plane")):
    """The plane z = 0, material below."""


class SphereTable(table_of(geometry.Sphere, tag="sphere")):
    """A sphere about the origin."""


class EllipsoidTable(table_of(geometry.Ellipsoid, tag="ellipsoid")):
    """An ellipsoid about the origin, axes along x, y, z."""


class DishTable(table_of(geometry.Dish, tag="dish")):
    """The inside of an ellipsoid."""


class SuperellipsoidTable(table_of(geometry.Superellipsoid, tag="superellipsoid")):
    """(|x/a|^p + |y/b|^p)^(q/p) + |z/c|^q = 1, rounded by a sphere; p, q the exponents."""


class TorusTable(table_of(geometry.Torus, tag="torus")):
    """A torus about z."""

    def _check(self) -> None:
        if self.minor >= self.major:
            raise fault("minor", f"must be a length < major = {self.major:g} (m)")


class DiscTable(table_of(geometry.Disc, tag="disc")):
    """A coin about z: all points within `rounding` of a flat disc."""


class CapsuleTable(table_of(geometry.Capsule, tag="capsule")):
    """A cylinder along z with half spheres at its ends."""


class BoxTable(table_of(geometry.Box, tag="box", narrower={"half_extents": Sizes3})):
    """A box about its centre, axes along x, y and z."""


class RectangleTable(table_of(geometry.Box, tag="rectangle", narrower={"half_extents": Sizes2})):
    """A rectangle about its centre, axes along x and z."""


class CylinderTable(table_of(geometry.Cylinder, tag="cylinder")):
    """The outside of a cylinder about z."""


class TubeTable(table_of(geometry.Tube, tag="tube")):
    """The inside of a cylinder about z."""


class HeightMapTable(Table):
    """A measured surface z(x, y): a CSV file with columns x, y, z (m), one row a point of a full rectangular grid."""

    type: Literal["heightmap"]
    file: Annotated[FileName, FILE, DataFile("x, y, z")] = Field(description="CSV: x, y, z (m)")


class SurfaceSamplesTable(table_of(geometry.SampledSurface, tag="samples")):
    """A measured body, seen whole from its origin: a CSV file with columns x, y, z (m), points all over its surface."""

    file: Annotated[FileName, FILE, DataFile("x, y, z")] = Field(description="CSV: x, y, z (m)")


class RegisteredTable(Table):
    """A shape that an installed package registers by the entry point `trundle.shapes`."""

    type: Literal["registered"]
    name: Annotated[str, Field(min_length=1, max_length=100), Allowed("a name of at most 100 letters")] = Field(
        description="of the entry point: the shape's class, in lower case"
    )


class CircleTable(table_of(geometry.Circle, tag="circle")):
    """A circle about the origin."""


class EllipseTable(table_of(geometry.Ellipse, tag="ellipse")):
    """An ellipse about the origin, axes along x and z."""


class FourierTable(table_of(geometry.FourierRadius, tag="fourier")):
    """r(phi) = radius (1 + sum_k cos[k] cos k phi + sin[k] sin k phi), k = 1, 2, ..."""


class OutlineSplineTable(Table):
    """A closed curve through measured points: a CSV file with columns x, z (m), counter-clockwise."""

    type: Literal["spline"]
    file: Annotated[FileName, FILE, DataFile("x, z")] = Field(description="CSV: x, z (m)")


class LineTable(table_of(geometry.Line, tag="line")):
    """z = slope x + offset."""


class ParabolaTable(table_of(geometry.Parabola, tag="parabola")):
    """z = curvature x^2."""


class SinusoidTable(table_of(geometry.Sinusoid, tag="sinusoid")):
    """z = amplitude sin(2 pi x / wavelength + phase)."""


class ArcTable(table_of(geometry.Arc, tag="arc")):
    """The lower half of a circle seen from inside (a bowl), or the upper half seen from outside (a hill)."""


class GroundSplineTable(Table):
    """A curve through measured points: a CSV file with columns x, z (m), x increasing."""

    type: Literal["spline"]
    file: Annotated[FileName, FILE, DataFile("x, z")] = Field(description="CSV: x, z (m)")


Term = Annotated[LineTable | ParabolaTable | SinusoidTable, Field(discriminator="type")]


class SumTable(ParameterTable):
    """The sum of the heights of its terms."""

    parameters: ClassVar[tuple[type, Mapping[str, str]]] = (geometry.CurveSum, {"terms": "terms"})
    type: Literal["sum"]
    terms: Annotated[tuple[Term, ...], Array, Field(min_length=1, max_length=32), Allowed("1 to 32 tables")] = Field(
        description="line, parabola and sinusoid tables"
    )


OutlineCurve = Annotated[
    CircleTable | EllipseTable | FourierTable | RectangleTable | OutlineSplineTable, Field(discriminator="type")
]
GroundCurve = Annotated[
    LineTable | ParabolaTable | SinusoidTable | ArcTable | SumTable | GroundSplineTable, Field(discriminator="type")
]

ObjectShape = Annotated[
    SphereTable
    | EllipsoidTable
    | SuperellipsoidTable
    | TorusTable
    | DiscTable
    | CapsuleTable
    | CylinderTable
    | BoxTable
    | SurfaceSamplesTable
    | CircleTable
    | EllipseTable
    | RectangleTable
    | FourierTable
    | OutlineSplineTable,
    Field(discriminator="type"),
]
HandShape = Annotated[
    PlaneTable
    | SphereTable
    | EllipsoidTable
    | DishTable
    | CylinderTable
    | TubeTable
    | TorusTable
    | HeightMapTable
    | CircleTable
    | EllipseTable
    | FourierTable
    | LineTable
    | ParabolaTable
    | SinusoidTable
    | ArcTable
    | SumTable
    | GroundSplineTable,
    Field(discriminator="type"),
]
_PLANAR = frozenset(
    {"circle", "ellipse", "fourier", "rectangle", "spline", "line", "parabola", "sinusoid", "arc", "sum"}
)


def is_planar(shape: Table) -> bool:
    """Return whether the table of a shape is that of a curve in the plane."""
    return getattr(shape, "type", "") in _PLANAR
