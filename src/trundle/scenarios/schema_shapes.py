"""Tables of shapes: surfaces in space, outlines and ground in the plane, and which of them a key may be."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from trundle.scenarios.problems import Allowed
from trundle.scenarios.schema import (
    Array,
    DataFile,
    Real,
    Reals,
    Size,
    Sizes2,
    Sizes3,
    Table,
    fault,
)

FILE = Allowed("the path of a CSV file inside the scenario's folder")
FileName = Annotated[str, Field(min_length=1, max_length=1000), FILE]
Exponent = Annotated[float, Field(ge=1.01, le=100)]
Exponents = Annotated[tuple[Exponent, Exponent], Array]


def _no_speck(value: float) -> float:
    if 0.0 < value < 1e-7:
        raise ValueError(value)
    return value


SizeOrZero = Annotated[
    float, Field(ge=0, le=1e7), AfterValidator(_no_speck), Allowed("0 or a length > 0, from 1e-7 to 1e7 (m)")
]
Coordinate = Annotated[float, Field(ge=-1e7, le=1e7), Allowed("a number from -1e7 to 1e7")]
Coordinates2 = Annotated[tuple[Coordinate, Coordinate], Array, Allowed("2 numbers, each from -1e7 to 1e7 (m)")]


class PlaneTable(Table):
    """The plane z = 0, material below."""

    type: Literal["plane"]


class SphereTable(Table):
    """A sphere about the origin."""

    type: Literal["sphere"]
    radius: Size = Field(description="m")


class EllipsoidTable(Table):
    """An ellipsoid about the origin, axes along x, y, z."""

    type: Literal["ellipsoid"]
    semi_axes: Sizes3 = Field(description="m, along x, y, z")


class DishTable(Table):
    """The inside of an ellipsoid."""

    type: Literal["dish"]
    semi_axes: Sizes3 = Field(description="m, along x, y, z")


class SuperellipsoidTable(Table):
    """(|x/a|^p + |y/b|^p)^(q/p) + |z/c|^q = 1, rounded by a sphere; p, q the exponents."""

    type: Literal["superellipsoid"]
    semi_axes: Sizes3 = Field(description="m, along x, y, z")
    exponents: Annotated[Exponent | Exponents, Allowed("one number or two, p and q, each from 1.01 to 100")] = Field(
        default=2.0, description="p across z and q along it; 2 is the ellipsoid"
    )
    rounding: SizeOrZero = Field(default=0.0, description="m, needed where an exponent is above 2")


class TorusTable(Table):
    """A torus about z."""

    type: Literal["torus"]
    major: Size = Field(description="m, radius of the ring's centre line")
    minor: Size = Field(description="m, radius of the ring's section")

    @model_validator(mode="after")
    def _open(self) -> TorusTable:
        if self.minor >= self.major:
            raise fault("minor", f"must be a length < major = {self.major:g} (m)")
        return self


class DiscTable(Table):
    """A coin about z: all points within `rounding` of a flat disc."""

    type: Literal["disc"]
    radius: Size = Field(description="m")
    rounding: SizeOrZero = Field(default=0.0, description="m")


class CapsuleTable(Table):
    """A cylinder along z with half spheres at its ends."""

    type: Literal["capsule"]
    radius: Size = Field(description="m")
    length: SizeOrZero = Field(description="m, between the centres of the half spheres")


class CylinderTable(Table):
    """The outside of a cylinder about z."""

    type: Literal["cylinder"]
    radius: Size = Field(description="m")


class TubeTable(Table):
    """The inside of a cylinder about z."""

    type: Literal["tube"]
    radius: Size = Field(description="m")


class HeightMapTable(Table):
    """A measured surface z(x, y): a CSV file with columns x, y, z (m), one row a point of a full rectangular grid."""

    type: Literal["heightmap"]
    file: Annotated[FileName, FILE, DataFile("x, y, z")] = Field(description="CSV: x, y, z (m)")


class SurfaceSamplesTable(Table):
    """A measured body, seen whole from its origin: a CSV file with columns x, y, z (m), points all over its surface."""

    type: Literal["samples"]
    degree: Annotated[int, Field(ge=1, le=16), Allowed("an integer from 1 to 16")] = Field(
        default=8, description="highest spherical harmonic of the fit"
    )
    tolerance: Annotated[float, Field(gt=0, le=1), Allowed("a number > 0, up to 1")] = Field(
        default=0.02, description="largest misfit, relative to the mean radius"
    )
    file: Annotated[FileName, FILE, DataFile("x, y, z")] = Field(description="CSV: x, y, z (m)")


class CircleTable(Table):
    """A circle about the origin."""

    type: Literal["circle"]
    radius: Size = Field(description="m")


class EllipseTable(Table):
    """An ellipse about the origin, axes along x and z."""

    type: Literal["ellipse"]
    semi_axes: Sizes2 = Field(description="m, along x and z")


class FourierTable(Table):
    """r(phi) = radius (1 + sum_k cos[k] cos k phi + sin[k] sin k phi), k = 1, 2, ..."""

    type: Literal["fourier"]
    radius: Size = Field(description="m")
    cos: Reals = Field(default=(), description="coefficients of cos phi, cos 2 phi, ...")
    sin: Reals = Field(default=(), description="coefficients of sin phi, sin 2 phi, ...")


class OutlineSplineTable(Table):
    """A closed curve through measured points: a CSV file with columns x, z (m), counter-clockwise."""

    type: Literal["spline"]
    file: Annotated[FileName, FILE, DataFile("x, z")] = Field(description="CSV: x, z (m)")


class LineTable(Table):
    """z = slope x + offset."""

    type: Literal["line"]
    slope: Coordinate = Field(default=0.0, description="dz/dx")
    offset: Coordinate = Field(default=0.0, description="m")


class ParabolaTable(Table):
    """z = curvature x^2."""

    type: Literal["parabola"]
    curvature: Coordinate = Field(description="1/m")


class SinusoidTable(Table):
    """z = amplitude sin(2 pi x / wavelength + phase)."""

    type: Literal["sinusoid"]
    amplitude: Coordinate = Field(description="m")
    wavelength: Size = Field(description="m")
    phase: Real = Field(default=0.0, description="rad")


class ArcTable(Table):
    """The lower half of a circle seen from inside (a bowl), or the upper half seen from outside (a hill)."""

    type: Literal["arc"]
    radius: Size = Field(description="m")
    center: Coordinates2 = Field(default=(0.0, 0.0), description="m, x and z")
    side: Literal["inside", "outside"] = Field(default="inside", description="bowl or hill")


class GroundSplineTable(Table):
    """A curve through measured points: a CSV file with columns x, z (m), x increasing."""

    type: Literal["spline"]
    file: Annotated[FileName, FILE, DataFile("x, z")] = Field(description="CSV: x, z (m)")


Term = Annotated[LineTable | ParabolaTable | SinusoidTable, Field(discriminator="type")]


class SumTable(Table):
    """The sum of the heights of its terms."""

    type: Literal["sum"]
    terms: Annotated[tuple[Term, ...], Array, Field(min_length=1, max_length=32), Allowed("1 to 32 tables")] = Field(
        description="line, parabola and sinusoid tables"
    )


OutlineCurve = Annotated[CircleTable | EllipseTable | FourierTable | OutlineSplineTable, Field(discriminator="type")]
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
    | SurfaceSamplesTable
    | CircleTable
    | EllipseTable
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
_PLANAR = frozenset({"circle", "ellipse", "fourier", "spline", "line", "parabola", "sinusoid", "arc", "sum"})


def is_planar(shape: Table) -> bool:
    """Return whether the table of a shape is that of a curve in the plane."""
    return getattr(shape, "type", "") in _PLANAR
