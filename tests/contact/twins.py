"""Shapes of the package beside their twins of `tests.oracles`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import casadi as ca
import numpy as np
from scipy.interpolate import RectBivariateSpline

import trundle.geometry as tg
from tests.oracles import implicit, supports

Array = np.ndarray


@dataclass(frozen=True)
class Solid:
    """A shape, its twin, and what samples the twin's boundary: `twin` for most, `hull` on a plane."""

    shape: tg.Shape
    twin: implicit.Level | supports.Support
    size: float
    hull: supports.Support | None = None
    tilt: float = 0.0  # least |n_z| or |n_xy| of a normal, where the shape has edges or faces

    @cached_property
    def level(self) -> bool:
        return isinstance(self.twin, implicit.Level)


def blunt(semi_axes: list[float], exponent: float, rho: float) -> supports.Support:
    """h = (sum (a_i^2 u_i^2 + rho^2 |u|^2)^(q/2))^(1/q), derivatives by hand."""
    q, a = exponent / (exponent - 1), np.square(semi_axes)

    def parts(u: Array) -> tuple[float, Array, Array]:
        y = a * u * u + rho**2 * (u @ u)
        slope = 2 * np.diag(a * u) + 2 * rho**2 * u[None, :]
        bend = (
            q
            / 2
            * sum(
                y[i] ** (q / 2 - 1) * (2 * a[i] * np.outer(e, e) + 2 * rho**2 * np.eye(3))
                + (q / 2 - 1) * y[i] ** (q / 2 - 2) * np.outer(slope[i], slope[i])
                for i, e in enumerate(np.eye(3))
            )
        )
        return float(np.sum(y ** (q / 2))), q / 2 * (y ** (q / 2 - 1)) @ slope, bend

    def point(u: Array) -> Array:
        total, slope, _ = parts(u)
        return total ** (1 / q - 1) / q * slope

    def radii(u: Array) -> Array:
        total, slope, bend = parts(u)
        return total ** (1 / q - 1) / q * bend + (1 / q - 1) / q * total ** (1 / q - 2) * np.outer(slope, slope)

    return supports.Support(point, radii)


def box(half: list[float]) -> supports.Support:
    return supports.Support(lambda d: np.sign(d) * half, lambda d: np.zeros((3, 3)))


def wrapped(shape: tg.Shape) -> implicit.Generic:
    """Same level set, derived by CasADi: of measured shapes there is no second formula."""
    x = ca.SX.sym("x", 3)
    f = shape.representations.level.level(x)
    H, g = ca.hessian(f, x)
    value, slope, bend = (ca.Function("f", [x], [e]) for e in (f, g, H))
    return implicit.Generic(
        lambda y: float(value(y)), lambda y: np.array(slope(y)).ravel(), lambda y: np.array(bend(y))
    )


def quartic() -> implicit.Generic:
    return implicit.Generic(
        lambda x: float(np.sum(x**4) - 1 + 0.2 * x[0] * x[1]),
        lambda x: 4 * x**3 + 0.2 * np.array([x[1], x[0], 0.0]),
        lambda x: np.diag(12 * x**2) + 0.2 * np.array([[0, 1.0, 0], [1.0, 0, 0], [0, 0, 0]]),
    )


def _grid() -> tuple[Array, Array, Array]:
    x, y = np.linspace(-1, 1, 24), np.linspace(-1, 1.2, 20)
    return x, y, 0.1 * np.sin(3 * x)[:, None] * np.cos(2 * y)[None]


def spline() -> implicit.Graph:
    s = RectBivariateSpline(*_grid(), kx=5, ky=5, s=0)
    return implicit.Graph(
        lambda x, y: float(s(x, y)[0, 0]),
        lambda x, y: np.array([s(x, y, 1, 0)[0, 0], s(x, y, 0, 1)[0, 0]]),
        lambda x, y: np.array([[s(x, y, 2, 0), s(x, y, 1, 1)], [s(x, y, 1, 1), s(x, y, 0, 2)]]).reshape(2, 2),
    )


def saddle() -> implicit.Graph:
    return implicit.Graph(
        lambda x, y: 0.1 * x * x + 0.3 * x * y,
        lambda x, y: np.array([0.2 * x + 0.3 * y, 0.3 * x]),
        lambda x, y: np.array([[0.2, 0.3], [0.3, 0.0]]),
    )


def _egg() -> tg.SampledSurface:
    e = np.random.default_rng(5).normal(size=(300, 3))
    e /= np.linalg.norm(e, axis=1)[:, None]
    return tg.SampledSurface(e / np.sqrt(((e / [0.3, 0.2, 0.25]) ** 2).sum(axis=1))[:, None], degree=6, tolerance=0.1)


def _of(shape: tg.Shape, twin: implicit.Level | supports.Support, **more: object) -> Solid:
    return Solid(shape, twin, shape.reference_length, **more)


OBJECTS: dict[str, Callable[[], Solid]] = {
    "sphere": lambda: _of(tg.Sphere(0.2), implicit.sphere(0.2)),
    "ellipsoid": lambda: _of(tg.Ellipsoid([0.3, 0.2, 0.15]), implicit.ellipsoid([0.3, 0.2, 0.15])),
    "superellipsoid": lambda: _of(
        tg.Superellipsoid([0.1, 0.08, 0.06], 1.6), supports.superellipsoid([0.1, 0.08, 0.06], 1.6), tilt=0.1
    ),
    "blunt": lambda: _of(tg.Superellipsoid([0.1, 0.08, 0.06], 3.0, rounding=0.01), blunt([0.1, 0.08, 0.06], 3.0, 0.01)),
    "rounded": lambda: _of(
        tg.Superellipsoid([0.1, 0.08, 0.06], 1.6, rounding=0.02),
        supports.rounded(supports.superellipsoid([0.1, 0.08, 0.06], 1.6), 0.02),
        tilt=0.1,
    ),
    "disc": lambda: _of(tg.Disc(0.1), supports.disc(0.1), tilt=0.1),
    "coin": lambda: _of(tg.Disc(0.1, 0.01), supports.rounded(supports.disc(0.1), 0.01), tilt=0.1),
    "torus": lambda: _of(tg.Torus(0.3, 0.1), implicit.Torus(0.3, 0.1), hull=supports.torus(0.3, 0.1), tilt=0.1),
    "capsule": lambda: _of(tg.Capsule(0.05, 0.1), implicit.Capsule(0.05, 0.1), tilt=0.1),
    "egg": lambda: _of(egg := _egg(), wrapped(egg)),
    "ellipsoid+": lambda: _of(
        tg.Rounded(tg.Ellipsoid([0.1, 0.2, 0.3]), 0.02), supports.rounded(supports.ellipsoid([0.1, 0.2, 0.3]), 0.02)
    ),
    "die": lambda: _of(
        tg.Rounded(tg.Box([0.1, 0.2, 0.3]), 0.02), supports.rounded(box([0.1, 0.2, 0.3]), 0.02), tilt=0.1
    ),
    "quartic": lambda: _of(
        tg.ExpressionLevelSurface(lambda x, y, z: x**4 + y**4 + z**4 - 1 + 0.2 * x * y, 1.0), quartic()
    ),
    "convex": lambda: _of(
        tg.ExpressionBody(
            lambda x, y, z: ca.sqrt(x * x + 2 * y * y + 3 * z * z) + 0.1 * ca.sqrt(x * x + y * y + z * z)
        ),
        supports.rounded(supports.ellipsoid([1.0, 2**0.5, 3**0.5]), 0.1),
    ),
}
HANDS: dict[str, Callable[[], Solid]] = {
    "plane": lambda: _of(tg.Plane(), implicit.Plane()),
    "sphere": lambda: _of(tg.Sphere(0.5), implicit.sphere(0.5)),
    "ellipsoid": lambda: _of(tg.Ellipsoid([0.4, 0.5, 0.6]), implicit.ellipsoid([0.4, 0.5, 0.6])),
    "dish": lambda: _of(tg.Dish([2.0, 1.5, 1.2]), implicit.dish([2.0, 1.5, 1.2])),
    "cylinder": lambda: _of(tg.Cylinder(0.5), implicit.cylinder(0.5)),
    "tube": lambda: _of(tg.Tube(1.5), implicit.tube(1.5)),
    "torus": lambda: _of(tg.Torus(1.0, 0.6), implicit.Torus(1.0, 0.6)),
    "capsule": lambda: _of(tg.Capsule(0.4, 0.6), implicit.Capsule(0.4, 0.6)),
    "height map": lambda: _of(tg.HeightMap(*_grid()), spline()),
    "saddle": lambda: _of(
        tg.ExpressionSurface(lambda u, v: (u, v, 0.1 * u * u + 0.3 * u * v), ((-1, 1), (-1, 1))), saddle()
    ),
    "revolution": lambda: _of(tg.Revolution(tg.Arc(0.3, [0.5, 0], "outside")), implicit.Torus(0.5, 0.3)),
    "quartic": lambda: _of(
        tg.ExpressionLevelSurface(lambda x, y, z: x**4 + y**4 + z**4 - 1 + 0.2 * x * y, 1.0), quartic()
    ),
    "egg": lambda: _of(egg := _egg(), wrapped(egg)),
}


@cache
def object_named(name: str) -> Solid:
    return OBJECTS[name]()


@cache
def hand_named(name: str) -> Solid:
    return HANDS[name]()
