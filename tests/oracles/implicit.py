"""Surfaces as numbers: level sets f(x) = 0 and support functions h(d), with derivatives written by hand.

Sheet 2 section 8, sheet 1 section 7. The outward normal points out of the material: n = sign grad f / |grad f|, and
N = dn/dx = sign (I - n n') Hess f / |grad f|. `sign` = -1 turns a solid into its container (dish, tube). Levels are
scaled to
metres, so |grad f| is of order one at the surface. Axis of cylinder, tube, torus, capsule, disc and of revolution: z.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

Array = np.ndarray


class Level(ABC):
    """A level set f(x) = 0 in R^3 (m); material where sign f < 0. Give `value`, `gradient`, `hessian` and `seed`."""

    sign: float = 1.0

    @abstractmethod
    def value(self, x: Array) -> float:
        """The level f(x)."""

    @abstractmethod
    def gradient(self, x: Array) -> Array:
        """The gradient of f, (3,)."""

    @abstractmethod
    def hessian(self, x: Array) -> Array:
        """The Hessian of f, (3, 3)."""

    def seed(self, d: Array) -> Array:
        """A point (m) near the one whose outward normal is `d`: where Newton may start."""
        return self.sign * np.asarray(d, float)

    def normal(self, x: Array) -> Array:
        """The outward unit normal, (3,)."""
        g = self.gradient(x)
        return self.sign * g / norm(g)

    def normal_derivative(self, x: Array) -> Array:
        """The tensor dn/dx, (3, 3), 1/m; convex positive (sphere: (I - n n')/r)."""
        g, H = self.gradient(x), self.hessian(x)
        size = norm(g)
        n = g / size
        return self.sign * (H - n[:, None] * (n @ H)) / size


@dataclass(frozen=True)
class Plane(Level):
    """The half space z <= 0."""

    def value(self, x: Array) -> float:
        return float(x[2])

    def gradient(self, x: Array) -> Array:
        return np.array([0.0, 0.0, 1.0])

    def hessian(self, x: Array) -> Array:
        return np.zeros((3, 3))

    def seed(self, d: Array) -> Array:
        return np.zeros(3)


@dataclass(frozen=True)
class Quadric(Level):
    """The quadric x' diag(w) x = 1: `w` = 1 / semi-axis^2, zero along the axis of a cylinder."""

    weights: tuple[float, float, float]
    sign: float = 1.0

    @property
    def _scale(self) -> float:
        return 1.0 / np.sqrt(max(self.weights))

    def value(self, x: Array) -> float:
        return 0.5 * self._scale * (float(np.dot(self.weights, np.square(x))) - 1.0)

    def gradient(self, x: Array) -> Array:
        return self._scale * np.asarray(self.weights) * x

    def hessian(self, x: Array) -> Array:
        return self._scale * np.diag(self.weights)

    def seed(self, d: Array) -> Array:
        w = np.asarray(self.weights)
        inverse = np.where(w > 0.0, 1.0 / np.where(w > 0.0, w, 1.0), 0.0)
        return self.sign * inverse * d / np.sqrt(np.dot(inverse, np.square(d)))


def sphere(radius: float) -> Quadric:
    """A solid sphere."""
    return ellipsoid([radius] * 3)


def ellipsoid(semi_axes: list[float]) -> Quadric:
    """A solid ellipsoid."""
    a, b, c = semi_axes
    return Quadric((1 / a**2, 1 / b**2, 1 / c**2))


def dish(semi_axes: list[float]) -> Quadric:
    """The inside of an ellipsoid."""
    return Quadric(ellipsoid(semi_axes).weights, -1.0)


def cylinder(radius: float) -> Quadric:
    """A solid cylinder without ends, axis z."""
    return Quadric((1 / radius**2, 1 / radius**2, 0.0))


def tube(radius: float) -> Quadric:
    """The inside of a cylinder, axis z."""
    return Quadric(cylinder(radius).weights, -1.0)


@dataclass(frozen=True)
class Torus(Level):
    """The solid torus (rho - major)^2 + z^2 = minor^2, axis z."""

    major: float
    minor: float
    sign: float = 1.0

    def value(self, x: Array) -> float:
        return float((np.hypot(x[0], x[1]) - self.major) ** 2 + x[2] ** 2 - self.minor**2) / (2 * self.minor)

    def gradient(self, x: Array) -> Array:
        rho = np.hypot(x[0], x[1])
        e = np.array([x[0], x[1], 0.0]) / rho
        return ((rho - self.major) * e + np.array([0.0, 0.0, x[2]])) / self.minor

    def hessian(self, x: Array) -> Array:
        rho = np.hypot(x[0], x[1])
        e = np.array([x[0], x[1], 0.0]) / rho
        t = np.array([-e[1], e[0], 0.0])
        return (np.outer(e, e) + (1 - self.major / rho) * np.outer(t, t) + np.diag([0.0, 0.0, 1.0])) / self.minor

    def seed(self, d: Array) -> Array:
        e = np.array([d[0], d[1], 0.0])
        size = np.linalg.norm(e)
        e = e / size if size > 1e-12 else np.array([1.0, 0.0, 0.0])
        return self.major * e + self.sign * self.minor * np.asarray(d)


@dataclass(frozen=True)
class Capsule(Level):
    """All points within `radius` of a segment of `length` along z, centred: distance level, curvature jumps at the
    seams."""

    radius: float
    length: float
    sign: float = 1.0

    def _offset(self, x: Array) -> tuple[Array, bool]:
        half = 0.5 * self.length
        z = float(np.clip(x[2], -half, half))
        return x - np.array([0.0, 0.0, z]), abs(x[2]) > half

    def value(self, x: Array) -> float:
        return float(np.linalg.norm(self._offset(x)[0])) - self.radius

    def gradient(self, x: Array) -> Array:
        y, _ = self._offset(x)
        return y / np.linalg.norm(y)

    def hessian(self, x: Array) -> Array:
        y, cap = self._offset(x)
        n = y / np.linalg.norm(y)
        return (np.diag([1.0, 1.0, 1.0 if cap else 0.0]) - np.outer(n, n)) / np.linalg.norm(y)

    def seed(self, d: Array) -> Array:
        return self.radius * np.asarray(d) + np.array([0.0, 0.0, 0.5 * self.length * np.sign(d[2])])


@dataclass(frozen=True)
class Graph(Level):
    """The ground below z = g(x, y): callables g, its gradient (2,) and Hessian (2, 2)."""

    height: Callable[[float, float], float]
    slope: Callable[[float, float], Array]
    bend: Callable[[float, float], Array]

    def value(self, x: Array) -> float:
        return float(x[2] - self.height(x[0], x[1]))

    def gradient(self, x: Array) -> Array:
        s = self.slope(x[0], x[1])
        return np.array([-s[0], -s[1], 1.0])

    def hessian(self, x: Array) -> Array:
        out = np.zeros((3, 3))
        out[:2, :2] = -np.asarray(self.bend(x[0], x[1]))
        return out

    def seed(self, d: Array) -> Array:
        return np.array([0.0, 0.0, self.height(0.0, 0.0)])


@dataclass(frozen=True)
class Revolution(Level):
    """The solid rho <= r(z) about z: `profile(z)` -> (r, r', r'')."""

    profile: Callable[[float], tuple[float, float, float]]
    sign: float = 1.0

    def value(self, x: Array) -> float:
        return float(np.hypot(x[0], x[1]) - self.profile(x[2])[0])

    def gradient(self, x: Array) -> Array:
        rho = np.hypot(x[0], x[1])
        return np.array([x[0] / rho, x[1] / rho, -self.profile(x[2])[1]])

    def hessian(self, x: Array) -> Array:
        rho = np.hypot(x[0], x[1])
        t = np.array([-x[1], x[0], 0.0]) / rho
        return np.outer(t, t) / rho + np.diag([0.0, 0.0, -self.profile(x[2])[2]])

    def seed(self, d: Array) -> Array:
        e = np.array([d[0], d[1], 0.0]) / max(np.hypot(d[0], d[1]), 1e-12)
        return self.sign * self.profile(0.0)[0] * e


@dataclass(frozen=True)
class Generic(Level):
    """Any level from callables: f, grad f, Hess f, and a seed from a normal."""

    f: Callable[[Array], float]
    df: Callable[[Array], Array]
    ddf: Callable[[Array], Array]
    start: Callable[[Array], Array] = field(default=lambda d: np.asarray(d, float))
    sign: float = 1.0

    def value(self, x: Array) -> float:
        return float(self.f(x))

    def gradient(self, x: Array) -> Array:
        return np.asarray(self.df(x), float)

    def hessian(self, x: Array) -> Array:
        return np.asarray(self.ddf(x), float)

    def seed(self, d: Array) -> Array:
        return np.asarray(self.start(d), float)


def point_with_normal(shape: Level, d: Array, seed: Array | None = None) -> Array:
    """Point of the level whose outward normal is the unit vector `d`: Gauss-Newton on f = 0, n x d = 0."""
    x = shape.seed(d) if seed is None else np.array(seed, float)
    for _ in range(60):
        g, n, big_n = shape.gradient(x), shape.normal(x), shape.normal_derivative(x)
        residual = np.r_[shape.value(x), cross(n, d)]
        jacobian = np.vstack([g, -skew(d) @ big_n])
        step = np.linalg.lstsq(jacobian, -residual, rcond=1e-12)[0]
        x = x + step
        if np.linalg.norm(step) < 1e-14 * (1 + np.linalg.norm(x)):
            break
    if abs(shape.value(x)) > 1e-11 or np.linalg.norm(shape.normal(x) - d) > 1e-8:
        raise RuntimeError("no point with this normal from this seed")
    return x


def skew(a: Array) -> Array:
    """Matrix of the cross product: skew(a) @ b = a x b."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def norm(a: Array) -> float:
    """The length of a vector: numpy's own takes several times as long on so few numbers."""
    return float(a @ a) ** 0.5


def cross(a: Array, b: Array) -> Array:
    """The cross product a x b of two vectors (3,): numpy's own takes ten times as long on so few numbers."""
    a0, a1, a2 = a
    b0, b1, b2 = b
    return np.array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])
