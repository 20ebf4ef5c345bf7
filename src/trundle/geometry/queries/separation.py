"""Separation: the signed distance of two whole shapes, however they touch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from trundle.checks import FloatArray
from trundle.geometry.queries.cloud import Cloud, Cover, bounding_ball
from trundle.geometry.queries.convex import ConvexPair, ball_radius, ring_radii, support_points
from trundle.geometry.shape import Shape

_AROUND = 48
"""Points of a ring's centre line: minima nearer to each other than that are the same."""
_PARTS, _ROUNDS = 8, 14
"""Into how many parts the way around a minimum is divided, how often: to round-off of an angle."""


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
    def follow(self, R: FloatArray, p: FloatArray, before: Apart) -> Apart:
        """Return the distance at a pose close to one at which it was `before`: nearest points are followed."""

    @abstractmethod
    def along(self, R: FloatArray, p: FloatArray, normal: FloatArray) -> float:
        """Return the distance (m) between the planes across `normal` (d,), in B's axes, that touch A and B."""


def separation(A: Shape, B: Shape) -> Separation:
    """Return what measures the distance of the shapes A and B."""
    a, b = is_convex(A), is_convex(B)
    if A.representations.support is not None and B.representations.flat:
        return _OverFlat(A)
    if B.representations.support is not None and A.representations.flat:
        return _Swapped(_OverFlat(B))
    if ball_radius(A) is not None:
        return _Ball(A, B)
    if ball_radius(B) is not None:
        return _Swapped(_Ball(B, A))
    if a and b:
        return _Convex(A, B)
    if ring_radii(A) is not None and Cover(B).quick:
        return _Ring(A, B)
    if ring_radii(B) is not None and Cover(A).quick:
        return _Swapped(_Ring(B, A))
    size_A, size_B = (np.inf if bounding_ball(shape) is None else shape.reference_length for shape in (A, B))
    return _SampledShape(A, B) if size_A <= size_B else _Swapped(_SampledShape(B, A))


def is_convex(shape: Shape) -> bool:
    """Return whether a shape is a convex body that its support function tells all about."""
    return shape.representations.support is not None and not shape.representations.hull


class _Swapped(Separation):
    """The same of A and B in each other's place (final)."""

    def __init__(self, other: Separation) -> None:
        self._other, self.convex = other, other.convex

    def apart(self, R: FloatArray, p: FloatArray, guess: FloatArray | None = None) -> Apart:
        found = self._other.apart(R.T, -R.T @ p, None if guess is None else -R.T @ guess)
        return Apart(found.gap, -R @ found.normal, found.x_B, found.x_A)

    def follow(self, R: FloatArray, p: FloatArray, before: Apart) -> Apart:
        turned = Apart(before.gap, -R.T @ before.normal, before.x_B, before.x_A)
        found = self._other.follow(R.T, -R.T @ p, turned)
        return Apart(found.gap, -R @ found.normal, found.x_B, found.x_A)

    def along(self, R: FloatArray, p: FloatArray, normal: FloatArray) -> float:
        return self._other.along(R.T, -R.T @ p, -R.T @ normal)


class _OverFlat(Separation):
    """A body over a flat: the lowest point of its hull (final)."""

    convex = True

    def __init__(self, A: Shape) -> None:
        self._support, self._up = support_points(A), np.eye(A.d)[-1]

    def apart(self, R: FloatArray, p: FloatArray, guess: FloatArray | None = None) -> Apart:
        x_A = self._support(-R.T @ self._up)
        x_B = R @ x_A + p
        gap = float(x_B[-1])
        return Apart(gap, self._up, x_A, x_B - gap * self._up)

    def follow(self, R: FloatArray, p: FloatArray, before: Apart) -> Apart:
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

    def follow(self, R: FloatArray, p: FloatArray, before: Apart) -> Apart:
        return self.apart(R, p, before.normal)

    def along(self, R: FloatArray, p: FloatArray, normal: FloatArray) -> float:
        if self._other is not None:
            return float(normal @ p) - self._radius - self._other
        if self._support is None:
            return -np.inf
        return float(normal @ (p - self._support(normal))) - self._radius


class _Ring(Separation):
    """A ring beside a shape whose distance is quick: the least of those of its centre line, less its radius (final).

    Where the slope along the line changes its sign from below there is a minimum, also on a kink.
    """

    def __init__(self, A: Shape, B: Shape) -> None:
        radii = ring_radii(A)
        if radii is None:
            raise TypeError(f"{type(A).__name__} is no ring")
        (self._major, self._minor), self._cover = radii, Cover(B)

    def apart(self, R: FloatArray, p: FloatArray, guess: FloatArray | None = None) -> Apart:
        """Return the distance, least of all minima along the centre line; none is guessed."""
        # Brackets of the minima: where the slope along the line turns upwards.
        step = 2.0 * np.pi / _AROUND
        angles: FloatArray = np.linspace(0.0, 2.0 * np.pi, _AROUND, endpoint=False)
        s, slope, _ = self._along_line(R, p, angles)
        falls = (slope <= 0.0) & (np.roll(slope, -1) > 0.0)
        falls |= s == np.min(s)  # of a line all of whose points are as far
        low = angles[falls]
        # Each bracket shrinks to its last part that still begins downwards.
        for _ in range(_ROUNDS):
            parts: FloatArray = low[:, None] + step * np.linspace(0.0, 1.0, _PARTS + 1)
            slopes = self._along_line(R, p, parts.ravel())[1].reshape(parts.shape)
            last = _PARTS - 1 - np.argmax(slopes[:, -2::-1] <= 0.0, axis=1)
            low, step = np.take_along_axis(parts, last[:, None], axis=1)[:, 0], step / _PARTS
        angles = np.append(low, low + step)
        s, _, gradient = self._along_line(R, p, angles)
        k = int(np.argmin(s))
        normal, out = gradient[k], np.array([np.cos(angles[k]), np.sin(angles[k]), 0.0])
        x_A = self._major * out - self._minor * (R.T @ normal)
        gap = float(s[k]) - self._minor
        return Apart(gap, normal, x_A, R @ x_A + p - gap * normal)

    def _along_line(
        self, R: FloatArray, p: FloatArray, angles: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return distances (n,), m, of points of the centre line, their slopes by the angle, and gradients (n, 3)."""
        none = np.zeros_like(angles)
        out = np.stack([np.cos(angles), np.sin(angles), none], axis=1) @ R.T
        along = np.stack([-np.sin(angles), np.cos(angles), none], axis=1) @ R.T
        s, gradient = self._cover.exactly(self._major * out + p)
        return s, np.sum(gradient * along, axis=1), gradient

    def follow(self, R: FloatArray, p: FloatArray, before: Apart) -> Apart:
        return self.apart(R, p)

    def along(self, R: FloatArray, p: FloatArray, normal: FloatArray) -> float:
        return -np.inf


class _Convex(Separation):
    """Two convex bodies (final)."""

    convex = True

    def __init__(self, A: Shape, B: Shape) -> None:
        self._pair = ConvexPair(A, B)

    def apart(self, R: FloatArray, p: FloatArray, guess: FloatArray | None = None) -> Apart:
        """Return the distance, by a search that begins along `guess` (d,), a normal out of B."""
        begin = p if guess is None or not np.any(guess) else guess
        begin = begin if np.any(begin) else np.eye(len(p))[-1]
        return Apart(*self._pair.apart(R, p, begin / np.linalg.norm(begin)))

    def follow(self, R: FloatArray, p: FloatArray, before: Apart) -> Apart:
        return self.apart(R, p, before.normal)

    def along(self, R: FloatArray, p: FloatArray, normal: FloatArray) -> float:
        return self._pair.along(R, p, normal)


class _SampledShape(Separation):
    """A bounded shape A beside any shape B: the least of B's distances over A's boundary (final)."""

    def __init__(self, A: Shape, B: Shape) -> None:
        self._cloud, self._cover = Cloud(A), Cover(B)

    def apart(self, R: FloatArray, p: FloatArray, guess: FloatArray | None = None) -> Apart:
        x_A, gap, normal = self._cloud.least(self._cover, R, p)
        return Apart(gap, normal, x_A, R @ x_A + p - gap * normal)

    def follow(self, R: FloatArray, p: FloatArray, before: Apart) -> Apart:
        found = self._cloud.least_near(self._cover, R, p, before.x_A, before.x_B)
        if found is None:
            return self.apart(R, p)
        x_A, gap, normal = found
        return Apart(gap, normal, x_A, R @ x_A + p - gap * normal)

    def along(self, R: FloatArray, p: FloatArray, normal: FloatArray) -> float:
        return -np.inf
