"""Random shapes for the survey of models: text that makes them with trundle, and their geometry written anew.

The gap between whole shapes, which nothing of trundle computes here: a convex body is the points x(u) of its
support function, a ground the zeros of a function; the gap is the least of the function, in metres, over the body.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Random = np.random.Generator
Array = NDArray[np.float64]
SAMPLES = 4000
_TINY = 1e-30
"""Step of derivatives by complex numbers: they have no round-off."""


@dataclass(frozen=True)
class BodyShape:
    """A convex body: an expression of trundle, its size (m), its support h(u), and whether it is a ball."""

    text: str
    size: float
    support: Callable[[NDArray[np.complex128]], NDArray[np.complex128]]
    ball: bool = False

    def points(self, u: Array) -> Array:
        """Return the boundary points (n, 3) with the normals `u` (n, 3): the gradient of the support function."""
        moved = u[:, None, :] + 1j * _TINY * np.eye(3)
        return np.imag(self.support(moved)) / _TINY


@dataclass(frozen=True)
class GroundShape:
    """A ground: an expression of trundle, its size (m), its level (> 0 outside), and points to put a body on.

    ``place`` maps a random generator to such a point (3,); `lowest` (3,) is where a ball comes to rest, or balances,
    where gravity is along `down`.
    """

    text: str
    size: float
    level: Callable[[NDArray[np.complex128]], NDArray[np.complex128]]
    place: Callable[[Random], Array]
    lowest: Array
    down: tuple[float, float, float] = (0.0, 0.0, -1.0)

    def distance(self, x: Array) -> Array:
        """Return f/|grad f| (n,) at points (n, 3): the distance to first order, of the right sign."""
        moved = np.asarray(x)[:, None, :] + 1j * _TINY * np.eye(3)
        values = self.level(moved)
        gradient = np.imag(values) / _TINY
        return np.real(values[:, 0]) / np.linalg.norm(gradient, axis=1)


def gap(body: BodyShape, ground: GroundShape, R: Array, p: Array, seed: int = 0) -> tuple[float, Array]:
    """Return the least distance (m) of a body with its shape's frame at R, p to the ground, and the point there.

    Of a line that touches another `seed` finds another point.
    """
    u = np.random.default_rng(seed).normal(size=(SAMPLES, 3))
    u /= np.linalg.norm(u, axis=1, keepdims=True)

    def at(directions: Array) -> Array:
        return ground.distance(body.points(directions) @ R.T + p)

    values = at(u)
    best, where = np.inf, u[0]
    for start in u[np.argsort(values)[:6]]:
        across = np.linalg.svd(start[None])[2][1:]

        def around(t: Array, start: Array = start, across: Array = across) -> float:
            direction = start + t @ across
            return float(at((direction / np.linalg.norm(direction))[None])[0]) / body.size

        options = {"xatol": 1e-12, "fatol": 1e-16, "maxiter": 400}
        found = minimize(around, np.zeros(2), method="Nelder-Mead", options=options)
        if found.fun * body.size < best:
            direction = start + found.x @ across
            best, where = float(found.fun * body.size), direction / np.linalg.norm(direction)
    return best, body.points(where[None])[0] @ R.T + p


def _norm(u: NDArray[np.complex128]) -> NDArray[np.complex128]:
    return np.sqrt(np.sum(u * u, axis=-1))


def _magnitude(x: NDArray[np.complex128]) -> NDArray[np.complex128]:
    return np.where(np.real(x) < 0, -x, x)


def sphere(r: float) -> BodyShape:
    """Return a ball."""
    return BodyShape(f"tr.Sphere({r!r})", r, lambda u: r * _norm(u), ball=True)


def ellipsoid(axes: Array) -> BodyShape:
    """Return an ellipsoid."""
    return BodyShape(f"tr.Ellipsoid({axes.tolist()})", float(axes.max()), lambda u: _norm(axes * u))


def superellipsoid(axes: Array, exponent: float, rounding: float) -> BodyShape:
    """Return a superellipsoid, rounded as its documentation says."""
    dual = exponent / (exponent - 1)

    def support(u: NDArray[np.complex128]) -> NDArray[np.complex128]:
        s = rounding**2 * np.sum(u * u, axis=-1, keepdims=True) if exponent > 2 else 0.0
        h = np.sum(((axes * u) ** 2 + s) ** (dual / 2), axis=-1) ** (1 / dual)
        return h if exponent > 2 else h + rounding * _norm(u)

    text = f"tr.Superellipsoid({axes.tolist()}, {exponent!r}, {rounding!r})"
    return BodyShape(text, float(axes.max()), support)


def capsule(r: float, length: float) -> BodyShape:
    """Return a capsule along z."""
    support = lambda u: r * _norm(u) + length / 2 * _magnitude(u[..., 2])  # noqa: E731
    return BodyShape(f"tr.Capsule({r!r}, {length!r})", r + length / 2, support)


def disc(r: float, rounding: float) -> BodyShape:
    """Return a coin with a round rim."""
    support = lambda u: r * _norm(u[..., :2]) + rounding * _norm(u)  # noqa: E731
    return BodyShape(f"tr.Disc({r!r}, {rounding!r})", r + rounding, support)


def random_body(random: Random, r: float) -> BodyShape:
    """Return a body of the size `r` (m)."""
    axes = r * random.uniform(0.6, 1.0, 3)
    exponent = float(random.choice([1.7, 2.5, 3.0]))
    makers: list[Callable[[], BodyShape]] = [
        lambda: sphere(r),
        lambda: ellipsoid(axes),
        lambda: ellipsoid(np.array([axes[0], axes[0], axes[2]])),
        lambda: superellipsoid(axes, exponent, 0.3 * float(axes.min())),
        lambda: capsule(0.5 * r, 0.8 * r),
        lambda: disc(0.8 * r, 0.2 * r),
    ]
    return makers[random.integers(len(makers))]()


def random_ground(random: Random, r: float) -> GroundShape:
    """Return a ground on which a body of the size `r` (m) touches in one point."""
    R, bend = r * random.uniform(6.0, 15.0, 3), random.uniform(0.02, 0.1, 2) / r
    makers = [
        lambda: plane(r),
        lambda: hill(R),
        lambda: hill(np.full(3, R[0]), "tr.Sphere({0!r})"),
        lambda: hill(
            np.full(3, R[0]), "tr.geometry.ExpressionLevelSurface(lambda x, y, z: x**2 + y**2 + z**2 - {0!r}**2, {0!r})"
        ),
        lambda: hollow(R),
        lambda: hollow(np.full(3, R[0])),
        lambda: hollow(
            np.full(3, R[0]), "tr.geometry.ExpressionLevelSurface(lambda x, y, z: {0!r}**2 - x**2 - y**2 - z**2, {0!r})"
        ),
        lambda: tube(float(R[0])),
        lambda: graph(bend, 0.0, r, "level"),
        lambda: graph(bend, 0.0, r, "chart"),
        lambda: graph(bend, 0.2, r, "level"),
        lambda: graph(bend, 0.2, r, "map"),
        lambda: graph(bend * [1.0, -1.0], 0.0, r, "level"),
        lambda: graph(-bend, 0.0, r, "map"),
        lambda: waves(r, float(random.uniform(12.0, 20.0))),
    ]
    return makers[random.integers(len(makers))]()


def plane(r: float) -> GroundShape:
    """Return the plane z = 0."""
    return GroundShape(
        "tr.Plane()",
        r,
        lambda x: x[..., 2],
        lambda random: np.array([*r * random.uniform(-3, 3, 2), 0.0]),
        np.zeros(3),
    )


def hill(axes: Array, text: str = "tr.Ellipsoid([{0!r}, {1!r}, {2!r}])") -> GroundShape:
    """Return an ellipsoid to balance on."""

    def place(random: Random) -> Array:
        n = random.normal(size=3)
        n[2] = abs(n[2]) + 1.0
        return axes * n / np.linalg.norm(n)

    written = text.format(*axes.tolist())
    return GroundShape(written, float(axes.min()), lambda x: _norm(x / axes) - 1.0, place, np.array([0, 0, axes[2]]))


def hollow(axes: Array, text: str = "tr.Dish([{0!r}, {1!r}, {2!r}])") -> GroundShape:
    """Return the inside of an ellipsoid."""

    def place(random: Random) -> Array:
        n = random.normal(size=3)
        n[2] = -abs(n[2]) - 0.5
        return axes * n / np.linalg.norm(n)

    written = text.format(*axes.tolist())
    return GroundShape(written, float(axes.min()), lambda x: 1.0 - _norm(x / axes), place, np.array([0, 0, -axes[2]]))


def tube(R: float) -> GroundShape:
    """Return the inside of a cylinder about z."""

    def place(random: Random) -> Array:
        angle = random.uniform(0, 2 * np.pi)
        return np.array([R * np.cos(angle), R * np.sin(angle), R * random.uniform(-1, 1)])

    return GroundShape(
        f"tr.Tube({R!r})", R, lambda x: R - _norm(x[..., :2]), place, np.array([0.0, -R, 0.0]), (0.0, -1.0, 0.0)
    )


def graph(bend: Array, quartic: float, r: float, kind: str) -> GroundShape:
    """Return z = a x^2 + b y^2 + c x^4 as a level set, a chart or a height map, whose splines are exact for it."""
    (a, b), c, wide = bend.tolist(), quartic * 1e-3 / r**3, 8 * r
    texts = {
        "level": "tr.geometry.ExpressionLevelSurface("
        f"lambda x, y, z: z - {a!r}*x**2 - {b!r}*y**2 - {c!r}*x**4, {wide!r})",
        "chart": f"tr.geometry.ExpressionSurface(lambda u, v: (u, v, {a!r}*u**2 + {b!r}*v**2 + {c!r}*u**4), "
        f"[({-wide!r}, {wide!r}), ({-wide!r}, {wide!r})])",
        "map": f"tr.HeightMap(np.linspace({-wide!r}, {wide!r}, 9), np.linspace({-wide!r}, {wide!r}, 9), "
        f"[[{a!r}*x**2 + {b!r}*y**2 + {c!r}*x**4 for y in np.linspace({-wide!r}, {wide!r}, 9)] "
        f"for x in np.linspace({-wide!r}, {wide!r}, 9)])",
    }

    def height(x: NDArray[np.complex128], y: NDArray[np.complex128]) -> NDArray[np.complex128]:
        return a * x**2 + b * y**2 + c * x**4

    def place(random: Random) -> Array:
        x, y = r * random.uniform(-3, 3, 2)
        return np.array([x, y, float(np.real(height(x, y)))])

    level = lambda x: x[..., 2] - height(x[..., 0], x[..., 1])  # noqa: E731
    return GroundShape(texts[kind], wide, level, place, np.zeros(3))


def waves(r: float, length: float) -> GroundShape:
    """Return z = -h cos(k x) cos(k y), long waves over the body's size."""
    k = 2 * np.pi / (length * r)
    h = 0.08 / (k**2 * r)
    text = f"tr.geometry.ExpressionLevelSurface(lambda x, y, z: z + {h!r}*ca.cos({k!r}*x)*ca.cos({k!r}*y), {8 * r!r})"

    def place(random: Random) -> Array:
        x, y = r * random.uniform(-3, 3, 2)
        return np.array([x, y, -h * np.cos(k * x) * np.cos(k * y)])

    level = lambda x: x[..., 2] + h * np.cos(k * x[..., 0]) * np.cos(k * x[..., 1])  # noqa: E731
    return GroundShape(text, 8 * r, level, place, np.array([0, 0, -h]))
