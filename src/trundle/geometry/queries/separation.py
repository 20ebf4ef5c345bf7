"""Separation: the signed distance of two whole shapes, however they touch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.geometry.queries.cloud import Cloud, Cover, bounding_ball
from trundle.geometry.shape import Shape
from trundle.geometry.support import EllipsoidSupport
from trundle.numerics.compiled.buffered import BufferedFunction

_EXACT = 1e-10
"""Error of a distance, in sizes of the bodies, at which the search for nearest points of convex ones ends."""
_ITERATIONS = 60
_OVERLAP = 1e-12
"""Distance, in sizes, under which convex bodies overlap."""
_SHARPEST = 1e-15
"""The same where the normal counts: a distance is right to the square of what its normal is."""
_THIN = 1e-6
"""Gap, in sizes, whose direction has more round-off than that of a wider one."""
_NOTHING = 1e-15
_DRAWN, _DRAWS = 1e-3, 20
"""How far, in sizes; how often, where a search began so deep that its normal says little."""
_ASIDE = 1e-3
"""How far beside each other, in sizes, the points of one normal may be for the nearest ones: normals have errors."""


@dataclass(frozen=True)
class Apart:
    """How far two shapes are apart.

    Attributes
    ----------
    gap : float, m
        Signed distance, negative where they overlap: there its size is a depth, not always the least.
    normal : (d,)
        Out of B, in the axes of B's shape.
    x_A, x_B : (d,) m
        Nearest points, each in its shape's frame.
    """

    gap: float
    normal: FloatArray
    x_A: FloatArray
    x_B: FloatArray


class Separation(ABC):
    """Signed distance of two shapes, of which at least one is bounded, at any pose of A's in the frame of B's.

    ``convex``: both are; then `along` bounds the distance from below by that along a fixed normal.
    """

    convex: bool = False

    @abstractmethod
    def apart(self, R: FloatArray, p: FloatArray, guess: FloatArray | None = None) -> Apart:
        """Return the distance at the pose R (d, d), p (d,) m of A's shape; ``guess``: a normal nearby."""

    @abstractmethod
    def followed(self, R: FloatArray, p: FloatArray, before: Apart) -> Apart:
        """Return the distance at a pose close to one at which it was `before`: nearest points are followed."""

    @abstractmethod
    def along(self, R: FloatArray, p: FloatArray, normal: FloatArray) -> float:
        """Return the distance (m) between the planes across `normal` (d,), in B's axes, that touch A and B."""


def separation(A: Shape, B: Shape) -> Separation:
    """Return what measures the distance of the shapes A and B."""
    a, b = is_convex(A), is_convex(B)
    if a and B.representations.flat:
        return _OverFlat(A)
    if b and A.representations.flat:
        return _Swapped(_OverFlat(B))
    if ball_radius(A) is not None:
        return _Ball(A, B)
    if ball_radius(B) is not None:
        return _Swapped(_Ball(B, A))
    if a and b:
        return _Convex(A, B)
    size_A, size_B = (np.inf if bounding_ball(shape) is None else shape.reference_length for shape in (A, B))
    return _Sampled(A, B) if size_A <= size_B else _Swapped(_Sampled(B, A))


def is_convex(shape: Shape) -> bool:
    """Return whether a shape is a convex body that its support function tells all about."""
    return shape.representations.support is not None and not shape.representations.hull


def ball_radius(shape: Shape) -> float | None:
    """Return the radius (m) of a ball, a circle or a point; None of any other shape."""
    support = shape.representations.support
    if not isinstance(support, EllipsoidSupport) or shape.representations.hull or len(set(support.semi_axes)) > 1:
        return None
    return float(support.semi_axes[0] + support.rounding)


class SupportPoints:
    """Numbers of a support function, one direction at a time (final)."""

    def __init__(self, shape: Shape) -> None:
        support, n = shape.representations.support, ca.SX.sym("n", shape.d)
        if support is None:
            raise TypeError(f"{type(shape).__name__} has no support function")
        self._d = shape.d
        point = ca.densify(support.point_and_radii(n)[0])
        self._call = BufferedFunction(ca.Function("support_point", [n], [point], {"cse": True}))

    def __call__(self, n: FloatArray) -> FloatArray:
        """Return the point (d,) that is farthest along the unit vector `n` (d,)."""
        x = self._call(n)[0]
        if not np.isfinite(x).all():  # on a kink: a direction beside it has a point of the same height
            x = self._call(n + 1e-12 * np.roll(np.eye(self._d)[0] - n, 1))[0]
        return x


def support_points(shape: Shape) -> SupportPoints:
    """Return the numbers of a shape's support function, made once a shape."""
    return shape.numeric(SupportPoints)


class _Swapped(Separation):
    """The same of A and B in each other's place (final)."""

    def __init__(self, other: Separation) -> None:
        self._other, self.convex = other, other.convex

    def apart(self, R: FloatArray, p: FloatArray, guess: FloatArray | None = None) -> Apart:
        found = self._other.apart(R.T, -R.T @ p, None if guess is None else -R.T @ guess)
        return Apart(found.gap, -R @ found.normal, found.x_B, found.x_A)

    def followed(self, R: FloatArray, p: FloatArray, before: Apart) -> Apart:
        turned = Apart(before.gap, -R.T @ before.normal, before.x_B, before.x_A)
        found = self._other.followed(R.T, -R.T @ p, turned)
        return Apart(found.gap, -R @ found.normal, found.x_B, found.x_A)

    def along(self, R: FloatArray, p: FloatArray, normal: FloatArray) -> float:
        return self._other.along(R.T, -R.T @ p, -R.T @ normal)


class _OverFlat(Separation):
    """A convex body over a flat: its lowest point (final)."""

    convex = True

    def __init__(self, A: Shape) -> None:
        self._support, self._up = support_points(A), np.eye(A.d)[-1]

    def apart(self, R: FloatArray, p: FloatArray, guess: FloatArray | None = None) -> Apart:
        x_A = self._support(-R.T @ self._up)
        x_B = R @ x_A + p
        gap = float(x_B[-1])
        return Apart(gap, self._up, x_A, x_B - gap * self._up)

    def followed(self, R: FloatArray, p: FloatArray, before: Apart) -> Apart:
        return self.apart(R, p, before.normal)

    def along(self, R: FloatArray, p: FloatArray, normal: FloatArray) -> float:
        return self.apart(R, p).gap if float(normal @ self._up) > 1.0 - 1e-9 else -np.inf


class _Ball(Separation):
    """A ball beside any shape: the distance of its centre (final)."""

    def __init__(self, A: Shape, B: Shape) -> None:
        radius = ball_radius(A)
        if radius is None:
            raise TypeError(f"{type(A).__name__} is no ball")
        self._radius, self._B, self._other = radius, Cover(B), ball_radius(B)
        self.convex = is_convex(B)
        self._support = support_points(B) if self.convex and self._other is None else None

    def apart(self, R: FloatArray, p: FloatArray, guess: FloatArray | None = None) -> Apart:
        """Return the distance: of the ball's centre from the other shape, less its radius."""
        if self._other is not None:
            length = float(np.linalg.norm(p))
            normal = p / length if length > 0 else np.eye(len(p))[-1]
            return Apart(
                length - self._radius - self._other, normal, -self._radius * (R.T @ normal), self._other * normal
            )
        s, gradient = self._B.exactly(p[None])
        normal = gradient[0]
        return Apart(float(s[0]) - self._radius, normal, -self._radius * (R.T @ normal), p - float(s[0]) * normal)

    def followed(self, R: FloatArray, p: FloatArray, before: Apart) -> Apart:
        return self.apart(R, p, before.normal)

    def along(self, R: FloatArray, p: FloatArray, normal: FloatArray) -> float:
        if self._other is not None:
            return float(normal @ p) - self._radius - self._other
        if self._support is None:
            return -np.inf
        return float(normal @ (p - self._support(normal))) - self._radius


class HullPoints:
    """The hull of a few points: which of them is farthest (final)."""

    def __init__(self, points: FloatArray) -> None:
        self._points = points

    def __call__(self, n: FloatArray) -> FloatArray:
        """Return the point (d,) that is farthest along `n` (d,)."""
        return self._points[int(np.argmax(self._points @ n))]


def core_of(shape: Shape) -> tuple[SupportPoints | HullPoints, float]:
    """Return the core of a convex body and the radius (m) of the ball that it is swept with: of a capsule its axis.

    Cores with corners are searched in a few steps, round bodies in many.
    """
    pieces = shape.representations.pieces
    radii = [ball_radius(piece.shape) for piece in pieces]  # pyright: ignore[reportArgumentType]
    balls = [radius for radius in radii if radius is not None]
    if balls and len(balls) == len(radii) and len(set(balls)) == 1:
        return HullPoints(np.array([piece.at for piece in pieces], dtype=np.float64)), balls[0]
    return support_points(shape), 0.0


class _Convex(Separation):
    """Two convex bodies: the point of their difference that is nearest to zero (Gilbert; Wolfe 1976) (final)."""

    convex = True

    def __init__(self, A: Shape, B: Shape) -> None:
        (self._A, self._r_A), (self._B, self._r_B) = core_of(A), core_of(B)
        self._size = A.reference_length + B.reference_length

    def apart(self, R: FloatArray, p: FloatArray, guess: FloatArray | None = None) -> Apart:
        """Return the distance, by a search that begins along `guess` (d,), a normal out of B."""
        core = self._of_cores(R, p, guess)
        n = core.normal
        gap = core.gap - self._r_A - self._r_B
        return Apart(gap, n, core.x_A - self._r_A * (R.T @ n), core.x_B + self._r_B * n)

    def _of_cores(self, R: FloatArray, p: FloatArray, guess: FloatArray | None) -> Apart:
        found = self._searched(R, p, guess)
        if found.gap > _THIN * self._size:
            return found
        # The normal of shapes that overlap a little, or hardly miss each other, is that of shapes drawn apart: what is
        # left of a gap has round-off.
        for _ in range(_DRAWS):
            drawn = self._searched(R, p + (_DRAWN * self._size - found.gap) * found.normal, found.normal, _SHARPEST)
            gap, before = self._between(R, p, drawn.normal), found.gap
            if gap > before - _EXACT * self._size:
                found = replace(drawn, gap=gap)
            if gap <= before + _THIN * self._size:
                break
        return found

    def _searched(self, R: FloatArray, p: FloatArray, guess: FloatArray | None, exact: float = _EXACT) -> Apart:
        d = len(p)
        n = np.array(guess) if guess is not None else p / (np.linalg.norm(p) or 1.0)
        if not np.any(n):
            n = np.eye(d)[-1]
        ends = [self._ends(R, p, n)]
        weights = np.ones(1)
        v = ends[0][0] - ends[0][1]
        best = (float(n @ v), n)
        for _ in range(_ITERATIONS):
            length = float(np.linalg.norm(v))
            if length <= _OVERLAP * self._size:
                break
            n = v / length
            a, b = self._ends(R, p, n)
            low = float(n @ (a - b))
            if low > best[0]:
                best = (low, n)
            if length - best[0] <= exact * self._size or any(np.array_equal(a - b, one - other) for one, other in ends):
                break
            ends.append((a, b))
            corners = np.array([one - other for one, other in ends])
            weights = nearest_to_zero(corners, np.append(weights, 0.0))
            kept = np.flatnonzero(weights > 0)
            ends, weights = [ends[i] for i in kept], weights[kept]
            closer = weights @ corners[kept]
            if float(np.linalg.norm(closer)) >= length * (1 - 1e-15):
                break
            v = closer
        low, n = best
        if guess is not None and (along := self._between(R, p, guess)) > low:
            low, n = along, guess
        x_A, x_B = self._ends(R, p, n)
        aside = x_A - x_B - low * n
        if low > 0 and float(np.linalg.norm(aside)) > _ASIDE * self._size:
            # On lines and faces the points of one normal are many.
            total = weights / weights.sum()
            x_A, x_B = (total @ np.array([end[i] for end in ends]) for i in (0, 1))
        return Apart(low, n, R.T @ (x_A - p), x_B)

    def followed(self, R: FloatArray, p: FloatArray, before: Apart) -> Apart:
        return self.apart(R, p, before.normal)

    def along(self, R: FloatArray, p: FloatArray, normal: FloatArray) -> float:
        return self._between(R, p, normal) - self._r_A - self._r_B

    def _between(self, R: FloatArray, p: FloatArray, n: FloatArray) -> float:
        """Return the distance (m) between the planes across `n` that touch the cores."""
        a, b = self._ends(R, p, n)
        return float(n @ (a - b))

    def _ends(self, R: FloatArray, p: FloatArray, n: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the lowest point of A's core and the highest one of B's along `n`, in B's frame."""
        return R @ self._A(-R.T @ n) + p, self._B(n)


def nearest_to_zero(corners: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weights (k,) of the point of the hull of the `corners` (k, d) that is nearest to zero.

    Wolfe's minor cycle from the `weights` of a point of the hull: the nearest point of the flat through the corners in
    use, or as far towards it as the hull goes, where a corner drops out.
    """
    w = np.array(weights)
    active = np.flatnonzero(w > 0)
    if len(corners) - 1 not in active:
        active = np.append(active, len(corners) - 1)
    for _ in range(2 * len(corners) + 2):
        X = corners[active]
        k = len(active)
        system = np.zeros((k + 1, k + 1))
        system[:k, :k] = X @ X.T
        system[:k, k] = system[k, :k] = 1.0
        scale = float(np.max(np.diag(system)[:k])) or 1.0
        system[:k, :k] /= scale
        right = np.zeros(k + 1)
        right[k] = 1.0
        try:
            ideal = np.linalg.solve(system, right)[:k]
        except np.linalg.LinAlgError:
            ideal = np.linalg.lstsq(system, right, rcond=1e-15)[0][:k]
        if np.all(ideal > _NOTHING):
            w[:] = 0.0
            w[active] = ideal
            return w
        now = w[active]
        falling = ideal <= _NOTHING
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(falling & (now > ideal), now / (now - ideal), np.inf)
        step = min(1.0, float(np.min(ratios)))
        now = now + step * (ideal - now)
        now[falling & (ratios <= step)] = 0.0
        now[now < 0] = 0.0
        w[:] = 0.0
        w[active] = now
        left = active[now > 0]
        if len(left) == len(active) or not len(left):
            return w / w.sum() if w.sum() > 0 else weights
        active = left
    return w


class _Sampled(Separation):
    """A bounded shape A beside any shape B: the least of B's distances over A's boundary (final)."""

    def __init__(self, A: Shape, B: Shape) -> None:
        self._cloud, self._cover = Cloud(A), Cover(B)

    def apart(self, R: FloatArray, p: FloatArray, guess: FloatArray | None = None) -> Apart:
        x_A, gap, normal = self._cloud.least(self._cover, R, p)
        return Apart(gap, normal, x_A, R @ x_A + p - gap * normal)

    def followed(self, R: FloatArray, p: FloatArray, before: Apart) -> Apart:
        found = self._cloud.least_near(self._cover, R, p, before.x_A, before.x_B)
        if found is None:
            return self.apart(R, p)
        x_A, gap, normal = found
        return Apart(gap, normal, x_A, R @ x_A + p - gap * normal)

    def along(self, R: FloatArray, p: FloatArray, normal: FloatArray) -> float:
        return -np.inf
