"""Shapes: charts, support functions, level sets and signed distances of curves, surfaces and bodies."""

from trundle.geometry.bodies import Box, Capsule, Disc, Superellipsoid
from trundle.geometry.chart import Chart, ExpressionChart, Range
from trundle.geometry.curves import Arc, Circle, CurveSum, Ellipse, FourierRadius, Line, Parabola, Sinusoid
from trundle.geometry.expressions import (
    ExpressionBody,
    ExpressionCurve,
    ExpressionLevelSurface,
    ExpressionSurface,
)
from trundle.geometry.level import ExpressionLevel, Level
from trundle.geometry.patch import Patch
from trundle.geometry.regularity import check_convex, check_regular
from trundle.geometry.revolution import Revolution
from trundle.geometry.rounding import Polytope, Rounded
from trundle.geometry.sampled import HeightMap, SampledCurve, SampledSurface
from trundle.geometry.shape import Representations, Shape, SupportLike
from trundle.geometry.support import EllipsoidSupport, ExpressionSupport, Support
from trundle.geometry.surfaces import Cylinder, Dish, Ellipsoid, Plane, Point, Sphere, Torus, Tube

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
    "ExpressionBody",
    "ExpressionChart",
    "ExpressionCurve",
    "ExpressionLevel",
    "ExpressionLevelSurface",
    "ExpressionSupport",
    "ExpressionSurface",
    "FourierRadius",
    "HeightMap",
    "Level",
    "Line",
    "Parabola",
    "Patch",
    "Plane",
    "Point",
    "Polytope",
    "Range",
    "Representations",
    "Revolution",
    "Rounded",
    "SampledCurve",
    "SampledSurface",
    "Shape",
    "Sinusoid",
    "Sphere",
    "Superellipsoid",
    "Support",
    "SupportLike",
    "Torus",
    "Tube",
    "check_convex",
    "check_regular",
]
