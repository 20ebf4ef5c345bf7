"""Shapes: charts, support functions, level sets and signed distances of curves, surfaces and bodies."""

from trundle.arguments import guard
from trundle.geometry.boundary import Representations
from trundle.geometry.chart import Chart, ChartRange, ExpressionChart
from trundle.geometry.level import ExpressionLevel, Level
from trundle.geometry.patch import Patch
from trundle.geometry.queries.regularity import check_convex, check_regular
from trundle.geometry.sampled.sampled import HeightMap, SampledCurve, SampledSurface
from trundle.geometry.shape import Shape
from trundle.geometry.shapes.abstract import ChartShape, DistanceShape, LevelShape, SupportShape
from trundle.geometry.shapes.bodies import Box, Capsule, Cylinder, Disc, Superellipsoid
from trundle.geometry.shapes.curves import Arc, Circle, CurveSum, Ellipse, FourierRadius, Line, Parabola, Sinusoid
from trundle.geometry.shapes.expressions import (
    ExpressionBody,
    ExpressionCurve,
    ExpressionLevelSurface,
    ExpressionSurface,
)
from trundle.geometry.shapes.extrusion import Extrusion
from trundle.geometry.shapes.revolution import Revolution
from trundle.geometry.shapes.rounding import Polytope, Rounded
from trundle.geometry.shapes.surfaces import Dish, Ellipsoid, Plane, Point, Sphere, Torus, Tube
from trundle.geometry.support import EllipsoidSupport, ExpressionSupport, Support, SupportLike

__all__ = [
    "Arc",
    "Box",
    "Capsule",
    "Chart",
    "ChartRange",
    "ChartShape",
    "Circle",
    "CurveSum",
    "Cylinder",
    "Disc",
    "Dish",
    "DistanceShape",
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
    "Extrusion",
    "FourierRadius",
    "HeightMap",
    "Level",
    "LevelShape",
    "Line",
    "Parabola",
    "Patch",
    "Plane",
    "Point",
    "Polytope",
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
    "SupportShape",
    "Torus",
    "Tube",
    "check_convex",
    "check_regular",
]

guard(__name__)
