"""Whole shapes as support functions, in plane and space: a core, and a ball's radius around it.

A shape's own frame is that of its builder: axes of capsule, cylinder, disc and torus are z.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.spatial import ConvexHull

Array = np.ndarray
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Facets:
    """Flat pieces of a core: simplices (m, k, d) of points, grown by `radius`, across `axis` (d,) only if there is one.

    Where ground meets the middle of an edge, a face or a bar's side, these have the point that no support point is.
    """

    corners: Array
    radius: float
    axis: Array | None = None


@dataclass(frozen=True, eq=False)
class Body:
    """A convex body: all points within `radius` (m) of a convex core.

    Parameters
    ----------
    core : callable
        Furthest points (n, d) of the core along directions (n, d), m.
    radius : float, m
    size : float, m
        No point is further from the origin.
    inner : float, m
        A ball of this radius about the origin lies inside; 0 for flat cores.
    corners : (k, d) m
        Of a core that is a polytope, else points of the core's sharp edges, else nothing.
    surface : (k, d) m
        Points all over the surface.
    hull_only : bool
        The body is not convex: this is its hull (a ring).
    facets : tuple of Facets
    rims : tuple of (height, radius), m
        Circles about the z axis that bound faces of the core.
    """

    core: Callable[[Array], Array]
    radius: float
    size: float
    inner: float
    corners: Array
    surface: Array
    hull_only: bool = False
    facets: tuple[Facets, ...] = ()
    rims: tuple[tuple[float, float], ...] = ()

    @property
    def d(self) -> int:
        """Dimension."""
        return self.surface.shape[1]


def directions(d: int, count: int) -> Array:
    """Return unit vectors (count, d), evenly spread: a Fibonacci lattice in space."""
    k = np.arange(count) + 0.5
    if d == 2:
        angle = 2 * np.pi * k / count
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    z, angle = 1 - 2 * k / count, np.pi * (1 + np.sqrt(5)) * k
    across = np.sqrt(1 - z * z)
    return np.stack([across * np.cos(angle), across * np.sin(angle), z], axis=1)


def unit(u: Array) -> Array:
    """Return unit vectors."""
    return u / (np.linalg.norm(u, axis=-1, keepdims=True) + TINY)


def smooth(core: Callable[[Array], Array], d: int, radius: float, size: float, inner: float, **more: object) -> Body:
    """Return a body whose surface is seen from all directions."""
    u = directions(d, 200 if d == 2 else 1500)
    corners = more.pop("corners", np.zeros((0, d)))
    return Body(core, radius, size, inner, corners, core(u) + radius * u, **more)  # type: ignore[arg-type]


def ball(radius: float, d: int = 3) -> Body:
    """Sphere, or circle in the plane."""
    return smooth(np.zeros_like, d, radius, radius, radius)


def ellipsoid(semi_axes: list[float], radius: float = 0.0) -> Body:
    """h(u) = |a u|: also an ellipse."""
    a = np.asarray(semi_axes, float)

    def core(u: Array) -> Array:
        return a * a * u / (np.linalg.norm(a * u, axis=1, keepdims=True) + TINY)

    return smooth(core, len(a), radius, float(a.max()) + radius, float(a.min()) + radius)


def superellipsoid(semi_axes: list[float], exponents: tuple[float, float], rounding: float = 0.0) -> Body:
    """h = ((A^p + B^p)^(q/p) + C^q)^(1/q) of A = |a u_x| ..., with the dual exponents.

    Where an exponent is over 2 the package blunts: A = sqrt(a^2 u_x^2 + rounding^2 |u|^2). Else `rounding` is a ball.
    """
    a = np.asarray(semi_axes, float)
    blunt = max(exponents) > 2.0
    p, q = (e / (e - 1.0) for e in exponents)
    small = rounding if blunt else 0.0

    def core(u: Array) -> Array:
        scale = np.linalg.norm(u, axis=1, keepdims=True) + TINY
        u = u / scale
        y = np.sqrt((a * u) ** 2 + small**2 + 1e-32 * a.max() ** 2)
        across = y[:, 0] ** p + y[:, 1] ** p
        whole = across ** (q / p) + y[:, 2] ** q
        h = whole ** (1 / q)
        by_across = whole ** (1 / q - 1) * across ** (q / p - 1)
        slope = np.stack(
            [by_across * y[:, 0] ** (p - 1), by_across * y[:, 1] ** (p - 1), whole ** (1 / q - 1) * y[:, 2] ** (q - 1)],
            axis=1,
        )
        x = slope * a * a * u / y
        if small:  # dy/du has a part along u: the gradient of |u|; h is homogeneous, so x.u = h fixes it
            x = x + u * (h - np.sum(x * u, axis=1))[:, None]
        return x

    radius = 0.0 if blunt else rounding
    grown = float(a.max()) + 2 * rounding
    # Its octahedron lies inside: the semi-axes are reached.
    inner = 1.0 / float(np.linalg.norm(1.0 / a))
    return smooth(core, 3, radius, grown * np.sqrt(3.0), inner)


def polytope(vertices: object, radius: float = 0.0) -> Body:
    """Convex hull of points (n, d), grown by a ball."""
    given = np.asarray(vertices, float)
    hull = ConvexHull(given)
    corners = given[hull.vertices]
    inner = float(np.min(-hull.equations[:, -1]))

    def core(u: Array) -> Array:
        return corners[np.argmax(u @ corners.T, axis=1)]

    faces = [_on_face(given[s], e[:-1], radius) for s, e in zip(hull.simplices, hull.equations, strict=True)]
    u = directions(given.shape[1], 200)
    surface = np.vstack([*faces, core(u) + radius * u, corners + radius * unit(corners)])
    size = float(np.max(np.linalg.norm(corners, axis=1))) + radius
    facets = (Facets(given[hull.simplices], radius),)
    return Body(core, radius, size, max(inner, 0.0) + radius, corners, surface, facets=facets)


def sole(half_length: float, half_width: float) -> Body:
    """Rectangle in the plane z = 0, of which the corners alone touch."""
    corners = np.array([[x, y, 0.0] for x in (-half_length, half_length) for y in (-half_width, half_width)])

    def core(u: Array) -> Array:
        return corners[np.argmax(u @ corners.T, axis=1)]

    size = float(np.hypot(half_length, half_width))
    return Body(core, 0.0, size, 0.0, corners, corners, facets=(Facets(corners[[[0, 1, 2], [1, 2, 3]]], 0.0),))


def _on_face(corners: Array, normal: Array, radius: float) -> Array:
    """Return points (k, d) over a simplex face of a polytope."""
    steps = 12
    if len(corners) == 2:
        weights = np.array([[i, steps - i] for i in range(steps + 1)])
    else:
        weights = np.array([[i, j, steps - i - j] for i in range(steps + 1) for j in range(steps + 1 - i)])
    return weights / steps @ corners + radius * normal


def box(half_extents: list[float], radius: float = 0.0) -> Body:
    """Box or rectangle."""
    signs = np.array(list(product((-1.0, 1.0), repeat=len(half_extents))))
    return polytope(signs * np.asarray(half_extents), radius)


def capsule(radius: float, length: float) -> Body:
    """Ball swept along the z axis."""
    half = length / 2
    ends = np.array([[0.0, 0.0, half], [0.0, 0.0, -half]])

    def core(u: Array) -> Array:
        return np.where(u[:, 2:] >= 0, ends[0], ends[1])

    angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    round_ = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    side = [radius * round_ + [0.0, 0.0, z] for z in np.linspace(-half, half, 9)]
    u = directions(3, 600)
    surface = np.vstack([core(u) + radius * u, *side])
    return Body(core, radius, half + radius, radius, ends, surface, facets=(Facets(ends[None], radius),))


def cylinder(radius: float, length: float, rounding: float = 0.0) -> Body:
    """Round bar about the z axis, of length 0 a disc."""
    half = length / 2
    angle = np.linspace(0, 2 * np.pi, 96, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)

    def core(u: Array) -> Array:
        across = np.hypot(u[:, 0], u[:, 1]) + TINY
        return np.stack([radius * u[:, 0] / across, radius * u[:, 1] / across, half * np.sign(u[:, 2])], axis=1)

    up = np.array([0.0, 0.0, 1.0])
    rims = np.vstack([radius * ring + half * up, radius * ring - half * up])
    side = [(radius + rounding) * ring + z * up for z in np.linspace(-half, half, 9)]
    faces = [share * radius * ring + s * (half + rounding) * up for share in (0, 0.25, 0.5, 0.75, 1) for s in (-1, 1)]
    u = directions(3, 800)
    surface = np.vstack([core(u) + rounding * u, *side, *faces])
    size = float(np.hypot(radius, half)) + rounding
    fans = []
    for z in (half, -half):
        middle, rim = z * up, radius * ring + z * up
        fans += [np.stack([middle, rim[i], rim[(i + 8) % 96]]) for i in range(0, 96, 8)]
    side_ = Facets(np.array([[half * up, -half * up]]), radius + rounding, up)
    facets = (Facets(np.array(fans), rounding), *((side_,) if half else ()))
    circles = ((half, radius), (-half, radius)) if half else ((0.0, radius),)
    inner = min(radius, half) + rounding
    return Body(core, rounding, size, inner, rims, surface, facets=facets, rims=circles)


def torus(major: float, minor: float) -> Body:
    """Ring about the z axis: its hull, with the points of the ring itself."""
    disc = cylinder(major, 0.0, minor)
    angle, around = np.meshgrid(np.linspace(0, 2 * np.pi, 72, False), np.linspace(0, 2 * np.pi, 24, False))
    out = major + minor * np.cos(around)
    ring = np.stack([out * np.cos(angle), out * np.sin(angle), minor * np.sin(around)], axis=-1).reshape(-1, 3)
    return Body(disc.core, minor, major + minor, 0.0, disc.corners, ring, hull_only=True)


def outline(radius: float, cos: list[float], sin: list[float]) -> Body:
    """Star-shaped outline of the plane, r(phi) = radius (1 + sum cos_k cos k phi + sin_k sin k phi): its hull."""

    def at(phi: Array) -> Array:
        r = 1.0 + sum(c * np.cos((k + 1) * phi) for k, c in enumerate(cos))
        r = r + sum(c * np.sin((k + 1) * phi) for k, c in enumerate(sin))
        return (radius * r)[..., None] * np.stack([np.cos(phi), np.sin(phi)], axis=-1)

    angles = np.linspace(0, 2 * np.pi, 721)[:-1]
    coarse = at(angles)

    def core(u: Array) -> Array:
        # The best of many angles, then golden-free: two parabolas through three neighbours.
        best = angles[np.argmax(u @ coarse.T, axis=1)]
        step = angles[1]
        for _ in range(6):
            low, mid, high = (np.sum(u * at(best + s), axis=1) for s in (-step, 0.0, step))
            bend = np.minimum(low - 2 * mid + high, -1e-300)
            best = best - np.clip((high - low) / (2 * bend), -1.0, 1.0) * step
            step = step / 10
        return at(best)

    hull = ConvexHull(coarse)
    inner = float(np.min(-hull.equations[:, -1]))
    hollow = len(hull.vertices) < len(coarse)
    return Body(core, 0.0, float(np.linalg.norm(coarse, axis=1).max()), inner, np.zeros((0, 2)), coarse, hollow)
