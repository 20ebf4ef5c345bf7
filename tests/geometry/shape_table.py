"""One instance or more of every concrete shape, for the family tests."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np

import trundle.geometry as tg

T = np.linspace(0, 2 * np.pi, 40, endpoint=False)
X = np.linspace(-1, 1, 24)
Y = np.linspace(-1, 1.2, 20)


def directions(n: int) -> np.ndarray:
    e = np.random.default_rng(5).normal(size=(n, 3))
    return e / np.linalg.norm(e, axis=1)[:, None]


def egg() -> tg.SampledSurface:
    e = directions(300)
    return tg.SampledSurface(e / np.sqrt(((e / [0.3, 0.2, 0.25]) ** 2).sum(axis=1))[:, None], degree=8)


def outline() -> tg.SampledCurve:
    return tg.SampledCurve(np.stack([0.3 * np.cos(T), 0.2 * np.sin(T) + 0.03 * np.cos(2 * T)], axis=1), closed=True)


SHAPES: dict[str, Callable[[], tg.Shape]] = {
    "line": lambda: tg.Line(),
    "slope": lambda: tg.Line(slope=0.2, offset=1),
    "parabola": lambda: tg.Parabola(0.3),
    "hill": lambda: tg.Parabola(-0.1),
    "sinusoid": lambda: tg.Sinusoid(0.06, 0.8, 0.2),
    "circle": lambda: tg.Circle(2),
    "ellipse": lambda: tg.Ellipse([0.3, 0.1]),
    "bowl": lambda: tg.Arc(1, [0.2, 1], "inside"),
    "dome": lambda: tg.Arc(1, [0.2, -1], "outside"),
    "rock": lambda: tg.FourierRadius(0.3, [0, 0.1, 0.02], [0, 0.02, -0.015]),
    "sum": lambda: tg.CurveSum([tg.Parabola(0.1), tg.Sinusoid(0.06, 2.7, 0.7), tg.Line(0.1)]),
    "profile": lambda: tg.SampledCurve(np.stack([X, 0.1 * np.sin(4 * X)], axis=1)),
    "overhang": lambda: tg.SampledCurve(
        np.stack([0.3 * np.sin(T[:-8] / 1.2 - 2.5), -0.3 * np.cos(T[:-8] / 1.2 - 2.5)], 1)
    ),
    "outline": outline,
    "curve": lambda: tg.ExpressionCurve(
        lambda u: ((1 + 0.1 * ca.cos(2 * u)) * ca.cos(u), ca.sin(u)), (0, 2 * np.pi, "periodic"), -1
    ),
    "rectangle": lambda: tg.Box([0.1, 0.2]),
    "pebble": lambda: tg.Rounded(tg.Box([0.1, 0.2]), 0.02),
    "triangle": lambda: tg.Rounded(tg.Polytope([[0, 0], [1, 0], [0, 1]]), 0.1),
    "oval": lambda: tg.Rounded(tg.Ellipse([0.3, 0.1]), 0.05),
    "plane": lambda: tg.Plane(),
    "sphere": lambda: tg.Sphere(0.2),
    "ellipsoid": lambda: tg.Ellipsoid([0.3, 0.2, 0.1]),
    "dish": lambda: tg.Dish([1, 1.2, 0.8]),
    "round dish": lambda: tg.Dish([1, 1, 1]),
    "cylinder": lambda: tg.Cylinder(0.2),
    "tube": lambda: tg.Tube(0.3),
    "torus": lambda: tg.Torus(0.3, 0.1),
    "superellipsoid": lambda: tg.Superellipsoid([0.1, 0.08, 0.06], 1.6),
    "blunt": lambda: tg.Superellipsoid([0.1, 0.08, 0.06], [2.5, 4], rounding=0.01),
    "disc": lambda: tg.Disc(0.1),
    "coin": lambda: tg.Disc(0.1, 0.01),
    "capsule": lambda: tg.Capsule(0.05, 0.1),
    "box": lambda: tg.Box([0.1, 0.2, 0.3]),
    "die": lambda: tg.Rounded(tg.Box([0.1, 0.2, 0.3]), 0.02),
    "rounded ellipsoid": lambda: tg.Rounded(tg.Ellipsoid([0.1, 0.2, 0.3]), 0.02),
    "tetrahedron": lambda: tg.Polytope([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]),
    "height map": lambda: tg.HeightMap(X, Y, 0.1 * np.sin(3 * X)[:, None] * np.cos(2 * Y)[None]),
    "egg": egg,
    "saddle": lambda: tg.ExpressionSurface(lambda u, v: (u, v, 0.1 * u * u + 0.3 * u * v), ((-1, 1), (-1, 1))),
    "cube-like": lambda: tg.ExpressionLevelSurface(lambda x, y, z: x**4 + y**4 + z**4 - 1 + 0.2 * x * y, 1.0),
    "convex": lambda: tg.ExpressionBody(
        lambda x, y, z: ca.sqrt(x * x + 2 * y * y + 3 * z * z) + 0.1 * ca.sqrt(x * x + y * y + z * z)
    ),
    "ring": lambda: tg.Revolution(tg.SampledCurve(np.stack([0.5 + 0.1 * np.cos(T), 0.2 * np.sin(T)], 1), closed=True)),
    "spheroid": lambda: tg.Revolution(tg.Ellipse([0.2, 0.3])),
    "waves": lambda: tg.Extrusion(tg.Sinusoid(0.05, 1.0)),
    "bell": lambda: tg.Revolution(tg.Arc(0.3, [0.5, 0], "outside")),
}
_made: dict[str, tg.Shape] = {}


def make(name: str) -> tg.Shape:
    """Return the shape `name`; shapes are immutable, so each is made once."""
    if name not in _made:
        _made[name] = SHAPES[name]()
    return _made[name]


def names(condition: Callable[[tg.Shape], object]) -> list[str]:
    return [n for n in SHAPES if condition(make(n))]


# Kinks: no second derivatives at some normals, or none at all.
POLYGONAL = ("rectangle", "box", "tetrahedron", "pebble", "die", "triangle")
