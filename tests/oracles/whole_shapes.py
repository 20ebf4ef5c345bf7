"""Distance of two whole shapes by brute force: own formulas of distances, own points all over both surfaces.

Shares no code with the package: a shape is read by its class name and sizes alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

Array = np.ndarray


@dataclass(frozen=True)
class Solid:
    """Signed distance of points (m, d), m, and points (n, d) all over the surface, m, so far apart at most."""

    d: int
    distance: Callable[[Array], Array]
    points: Array | None
    spacing: float
    size: float


def solid(shape: object) -> Solid:
    """Return a shape of the package as formulas of this module."""
    kind = type(shape).__name__
    return _SOLIDS[kind](shape)


def _sphere_points(n: int) -> Array:
    i = np.arange(n) + 0.5
    z = 1 - 2 * i / n
    s, turn = np.sqrt(1 - z * z), np.pi * (1 + 5**0.5) * i
    return np.stack([s * np.cos(turn), s * np.sin(turn), z], axis=1)


def _ball(shape: object) -> Solid:
    r = float(shape.radius)  # type: ignore[attr-defined]
    return Solid(3, lambda x: np.linalg.norm(x, axis=1) - r, r * _sphere_points(3000), 0.08 * r, r)


def _circle(shape: object) -> Solid:
    r = float(shape.radius)  # type: ignore[attr-defined]
    u = np.linspace(0, 2 * np.pi, 1500, endpoint=False)
    return Solid(2, lambda x: np.linalg.norm(x, axis=1) - r, r * np.stack([np.cos(u), np.sin(u)], 1), 0.005 * r, r)


def _plane(shape: object) -> Solid:
    return Solid(3, lambda x: x[:, 2], None, 0.0, np.inf)


def _line(shape: object) -> Solid:
    slope, offset = float(shape.slope), float(shape.offset)  # type: ignore[attr-defined]
    return Solid(2, lambda x: (x[:, 1] - offset - slope * x[:, 0]) / np.hypot(1, slope), None, 0.0, np.inf)


def _box_distance(x: Array, half: Array) -> Array:
    q = np.abs(x) - half
    return np.linalg.norm(np.maximum(q, 0), axis=1) + np.minimum(q.max(axis=1), 0)


def _box_points(half: Array, n: int) -> Array:
    d, found = len(half), []
    for axis in range(d):
        others = [np.linspace(-half[k], half[k], n) for k in range(d) if k != axis]
        grid = np.stack([g.ravel() for g in np.meshgrid(*others, indexing="ij")], axis=1)
        for sign in (-1, 1):
            found.append(np.insert(grid, axis, sign * half[axis], axis=1))
    return np.concatenate(found)


def _box(shape: object) -> Solid:
    half = np.array(shape.half_extents, dtype=float)  # type: ignore[attr-defined]
    n = 35 if len(half) == 3 else 500
    step = 2 * half.max() / (n - 1)
    return Solid(len(half), lambda x: _box_distance(x, half), _box_points(half, n), step, half.max())


def _capsule(shape: object) -> Solid:
    r, half = float(shape.radius), float(shape.length) / 2  # type: ignore[attr-defined]

    def distance(x: Array) -> Array:
        beyond = x[:, 2] - np.clip(x[:, 2], -half, half)
        return np.sqrt(x[:, 0] ** 2 + x[:, 1] ** 2 + beyond**2) - r

    ends = r * _sphere_points(2000)
    ends = ends + np.where(ends[:, 2:] > 0, half, -half) * np.array([0, 0, 1.0])
    u, z = (g.ravel() for g in np.meshgrid(np.linspace(0, 2 * np.pi, 60), np.linspace(-half, half, 50)))
    side = np.stack([r * np.cos(u), r * np.sin(u), z], axis=1)
    return Solid(3, distance, np.concatenate([ends, side]), max(0.11 * r, half / 24), r + half)


def _cylinder(shape: object) -> Solid:
    r, half = float(shape.radius), float(shape.length) / 2  # type: ignore[attr-defined]

    def distance(x: Array) -> Array:
        q = np.stack([np.hypot(x[:, 0], x[:, 1]) - r, np.abs(x[:, 2]) - half], axis=1)
        return np.linalg.norm(np.maximum(q, 0), axis=1) + np.minimum(q.max(axis=1), 0)

    u, z = (g.ravel() for g in np.meshgrid(np.linspace(0, 2 * np.pi, 80), np.linspace(-half, half, 40)))
    side = np.stack([r * np.cos(u), r * np.sin(u), z], axis=1)
    u, q = (g.ravel() for g in np.meshgrid(np.linspace(0, 2 * np.pi, 80), np.linspace(0, r, 25)))
    faces = [np.stack([q * np.cos(u), q * np.sin(u), np.full_like(u, s * half)], axis=1) for s in (-1, 1)]
    return Solid(3, distance, np.concatenate([side, *faces]), max(0.08 * r, half / 20), max(r, half))


def _disc(shape: object) -> Solid:
    r, rho = float(shape.radius), float(shape.rounding)  # type: ignore[attr-defined]

    def distance(x: Array) -> Array:
        out = np.maximum(np.hypot(x[:, 0], x[:, 1]) - r, 0)
        return np.hypot(out, x[:, 2]) - rho

    u, q = (g.ravel() for g in np.meshgrid(np.linspace(0, 2 * np.pi, 100), np.linspace(0, r, 40)))
    faces = [np.stack([q * np.cos(u), q * np.sin(u), np.full_like(u, s * rho)], axis=1) for s in (-1, 1)]
    u, v = (g.ravel() for g in np.meshgrid(np.linspace(0, 2 * np.pi, 100), np.linspace(-np.pi / 2, np.pi / 2, 20)))
    out = r + rho * np.cos(v)
    rim = np.stack([out * np.cos(u), out * np.sin(u), rho * np.sin(v)], axis=1)
    return Solid(3, distance, np.concatenate([*faces, rim]), 0.065 * (r + rho), r + rho)


def _ellipsoid(shape: object) -> Solid:
    a = np.array(shape.semi_axes, dtype=float)  # type: ignore[attr-defined]

    def distance(x: Array) -> Array:
        # The root of sum (a x / (a^2 + t))^2 = 1 with t > -min a^2 gives the foot a^2 x/(a^2 + t).
        low = np.full(len(x), -(a.min() ** 2) * (1 - 1e-12))
        high = a.max() * np.linalg.norm(x, axis=1)
        for _ in range(70):
            t = (low + high) / 2
            inside = np.sum((a * x / (a**2 + t[:, None])) ** 2, axis=1) > 1
            low, high = np.where(inside, t, low), np.where(inside, high, t)
        foot = a**2 * x / (a**2 + high[:, None])
        return np.copysign(np.linalg.norm(x - foot, axis=1), np.sum((x / a) ** 2, axis=1) - 1)

    if len(a) == 2:
        u = np.linspace(0, 2 * np.pi, 1500, endpoint=False)
        return Solid(2, distance, a * np.stack([np.cos(u), np.sin(u)], 1), 0.005 * a.max(), a.max())
    return Solid(3, distance, a * _sphere_points(4000), 0.07 * a.max(), a.max())


def _rounded(shape: object) -> Solid:
    inner, r = solid(shape.shape), float(shape.radius)  # type: ignore[attr-defined]
    points = inner.points
    if points is not None:
        blown_up = np.concatenate([points, points * (1 + r / inner.size)])
        points = _onto(lambda x: inner.distance(x) - r, blown_up)
    return Solid(inner.d, lambda x: inner.distance(x) - r, points, 2 * inner.spacing + r, inner.size + r)


def _onto(distance: Callable[[Array], Array], x: Array) -> Array:
    """Return points moved onto distance = 0 along differences of it."""
    x = np.array(x)
    for _ in range(20):
        s = distance(x)
        h = 1e-7 * (1 + np.abs(x).max())
        steps = (distance(x + h * e) - distance(x - h * e) for e in np.eye(x.shape[1]))
        g = np.stack(list(steps), axis=1) / (2 * h)
        x = x - s[:, None] * g / np.maximum(np.sum(g * g, axis=1), 0.25)[:, None]
    return x[np.abs(distance(x)) < 1e-6]


def _torus(shape: object) -> Solid:
    R, r = float(shape.major), float(shape.minor)  # type: ignore[attr-defined]
    u, v = (g.ravel() for g in np.meshgrid(np.linspace(0, 2 * np.pi, 120), np.linspace(0, 2 * np.pi, 50)))
    out = R + r * np.cos(v)
    points = np.stack([out * np.cos(u), out * np.sin(u), r * np.sin(v)], axis=1)
    return Solid(3, lambda x: np.hypot(np.hypot(x[:, 0], x[:, 1]) - R, x[:, 2]) - r, points, 0.1 * (R + r), R + r)


def _waves(amplitude: float, wavelength: float, phase: float) -> Callable[[Array], Array]:
    """Return the distance of points (x, z) to z = a sin(2 pi x/l + phase), by the nearest of many points, refined."""
    k = 2 * np.pi / wavelength

    def distance(p: Array) -> Array:
        x, z = p[:, 0], p[:, 1]
        height = amplitude * np.sin(k * x + phase)
        reach = np.abs(z - height) + 1e-12
        u = x[:, None] + reach[:, None] * np.linspace(-1, 1, 401)
        far = (u - x[:, None]) ** 2 + (amplitude * np.sin(k * u + phase) - z[:, None]) ** 2
        best = u[np.arange(len(x)), np.argmin(far, axis=1)]
        for _ in range(30):
            f, slope = amplitude * np.sin(k * best + phase), amplitude * k * np.cos(k * best + phase)
            step = ((best - x) + (f - z) * slope) / np.maximum(1 + slope**2 - (f - z) * k * k * f, 0.1)
            best = best - np.clip(step, -reach / 100, reach / 100)
        far = np.hypot(best - x, amplitude * np.sin(k * best + phase) - z)
        return np.copysign(far, z - height)

    return distance


def _sinusoid(shape: object) -> Solid:
    f = _waves(float(shape.amplitude), float(shape.wavelength), float(shape.phase))  # type: ignore[attr-defined]
    return Solid(2, f, None, 0.0, np.inf)


def _extrusion(shape: object) -> Solid:
    section = solid(shape.profile)  # type: ignore[attr-defined]
    return Solid(3, lambda x: section.distance(x[:, [0, 2]]), None, 0.0, np.inf)


def _dish(shape: object) -> Solid:
    inside = _ellipsoid(shape)
    return Solid(3, lambda x: -inside.distance(x), None, 0.0, np.inf)


def _tube(shape: object) -> Solid:
    r = float(shape.radius)  # type: ignore[attr-defined]
    return Solid(3, lambda x: r - np.hypot(x[:, 0], x[:, 1]), None, 0.0, np.inf)


_SOLIDS: dict[str, Callable[[object], Solid]] = {
    "Sphere": _ball, "Circle": _circle, "Plane": _plane, "Line": _line, "Box": _box, "Capsule": _capsule,
    "Cylinder": _cylinder, "Disc": _disc, "Ellipsoid": _ellipsoid, "Ellipse": _ellipsoid, "Rounded": _rounded,
    "Torus": _torus, "Sinusoid": _sinusoid, "Extrusion": _extrusion, "Dish": _dish, "Tube": _tube,
}  # fmt: skip


def gap(A: Solid, B: Solid, R: Array, p: Array, exact: bool = True) -> float:
    """Return the signed distance of two solids, A's at the pose R (d, d), p (d,) m in the frame of B.

    The least of B's distances over A's surface and of A's over B's; ``exact`` refines around the best points.
    """
    found = []
    if A.points is not None:
        found.append(_least(B.distance, A.distance, A.points, lambda x: x @ R.T + p, A.spacing, exact))
    if B.points is not None:
        found.append(_least(A.distance, B.distance, B.points, lambda x: (x - p) @ R, B.spacing, exact))
    return min(found)


def _least(
    distance: Callable[[Array], Array],
    own: Callable[[Array], Array],
    points: Array,
    placed: Callable[[Array], Array],
    spacing: float,
    exact: bool,
) -> float:
    values = distance(placed(points))
    best = points[int(np.argmin(values))]
    least = float(values.min())
    if not exact:
        return least
    # What is nearest to the other solid among the points of this one: a penalty keeps the point in it.
    for k in np.argsort(values)[:3]:
        if values[k] > least + 2 * spacing:
            break

        def cost(x: Array) -> float:
            return float(distance(placed(x[None]))[0]) + 4.0 * max(float(own(x[None])[0]), 0.0)

        found = minimize(
            cost,
            points[k],
            method="Nelder-Mead",
            options={
                "initial_simplex": np.vstack([points[k], points[k] + spacing * np.eye(len(best))]),
                "xatol": 1e-10 * (1 + spacing),
                "fatol": 1e-12,
                "maxiter": 900,
            },
        )
        least = min(least, float(found.fun))
    return least
