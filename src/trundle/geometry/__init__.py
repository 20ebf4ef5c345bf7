"""Shapes: charts, support functions, level sets and signed distances of curves, surfaces and bodies."""

from trundle.geometry.bodies import Box, Capsule, Disc, Superellipsoid
from trundle.geometry.chart import Chart, ExpressionChart, Range
from trundle.geometry.curves import Arc, Circle, CurveSum, Ellipse, FourierRadius, Line, Parabola, Sinusoid
from trundle.geometry.level import ExpressionLevel, Level
from trundle.geometry.patch import Patch
from trundle.geometry.rounding import Polytope, Rounded
from trundle.geometry.shape import Representations, Shape, SupportLike
from trundle.geometry.support import EllipsoidSupport, ExpressionSupport, Support
from trundle.geometry.surfaces import Cylinder, Dish, Ellipsoid, Plane, Sphere, Torus, Tube

__all__ = [
    "Arc",
    "Box",
    "Capsule",
    "Chart",
    "Circle",
    "CurveSum",
    "Cylinder",
    "Disc",
    "Dish",
    "Ellipse",
    "Ellipsoid",
    "EllipsoidSupport",
    "ExpressionChart",
    "ExpressionLevel",
    "ExpressionSupport",
    "FourierRadius",
    "Level",
    "Line",
    "Parabola",
    "Patch",
    "Plane",
    "Polytope",
    "Range",
    "Representations",
    "Rounded",
    "Shape",
    "Sinusoid",
    "Sphere",
    "Superellipsoid",
    "Support",
    "SupportLike",
    "Torus",
    "Tube",
]
