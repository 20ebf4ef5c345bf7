"""Contact of a corner, an edge, a face or a rim with a smooth surface: closed form, no coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import casadi as ca
import numpy as np

from trundle.contact.contact import Contact, OfKind, Touch, require_field, side
from trundle.contact.motion import Motion
from trundle.geometry.features import Feature
from trundle.geometry.level import Level
from trundle.geometry.patch import Patch
from trundle.numerics.space import cross, dot, inverse, smallest_eigenvalue, tangents
from trundle.numerics.symbol import Symbol, value_of
from trundle.threads import cached_property

_BENT = 1e-6
"""Curvature of the ground along a feature, in 1/sizes of the body, from which the nearest point is one."""
_FOOT_STEPS, _LOST = 8, 1e-3
"""Newton's steps to a foot, and the size of the last one, in sizes of the body, from which none was found."""
_NEWTON, _SEEDS = 6, (0.3, 0.6, 0.9)
_ALONG, _INNER = 14, 0.01
"""Steps to the hollow of a distance along an edge where that may be bent in short arcs alone; how far inside the
bracket tangents meet, in parts of it."""
_FAR, _STEEP = 1e6, 1e100
"""Place, in sizes, and slope of an end of a bracket that is not known."""
_SETTLED = 1e-6
"""The longest step, in sizes, that is round-off of a hollow found."""
_PARTS, _FOOTING = 8, 2
"""Parts of an edge, in which its distance is a cubic, and steps to the rough foot of a point."""
_TURNS, _TURN = 8, 0.5
"""Points of a rim that are tried first, and the largest step (rad) from the best of them."""
_TINY = 1e-300  # keeps square roots differentiable at zero
_FLATTEST = 1e-150
"""Curvature under which a line is straight: its inverse, squared in derivatives, is still a number."""
_FREE = {"allow_free": True}
"""Sizes may be symbols, see `trundle.numerics.symbol`."""


@dataclass(frozen=True)
class FeatureContact(Contact):
    """A corner, edge, face or rim of A on a level set f of B: it touches where f is least on the feature.

    With the feature's points c + R'E'y in B's frame (E the axes), y solves E R f_x = 0: one step of Newton's where f is
    quadratic, some from the best of a few points elsewhere. The gap f/|f_x| is right to first order, and exact at zero.
    A rounded one touches where it is nearest by the signed `distance` of B, which has its least value where f is
    quadratic and has its own. Elsewhere the foot p of the nearest point and a multiplier m solve

        (I - R'E'E R)(p - c) + m f_x(p) = 0,  f(p) = 0,

    which Newton's steps do.
    An edge has a zero radius across and an endless one along: its point moves over it by

        (E K_B E') sigma = E (wrel x n - K_B vrel),

    and that of a rim of the radius r and the direction u likewise along its tangent t: t'K_B t - n'u/r is in the place
    of E K_B E'. It stays finite where the face lies on the ground.
    """

    feature: Feature
    level: Level
    center: tuple[float, ...] = ()
    distance: ca.Function | None = None

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return self.level.d

    @property
    def size(self) -> int:
        """No coordinates."""
        return 0

    @property
    def bends_in_meters(self) -> bool:
        """Whether the feature is rounded: a sharp one has directions as long as the body."""
        return bool(self.feature.rounding)

    def touch(self, A: Motion, B: Motion, s: ca.SX) -> tuple[Touch, Touch]:
        """Return the feature's point where f is least, and its foot on B."""
        y, foot, n, T, K, _ = self._at(A, B)
        E, feature = self._axes.T, self.feature
        x, r = _vector(feature.at) + y, feature.rounding
        turned = A.R.T @ B.R
        n_A, T_A = -(turned @ n), turned @ T
        patch = Patch(x=x, n=n_A, T=T_A, radii=ca.SX(self.d, self.d))
        if r:
            F = T_A.T @ E
            patch = Patch(x=x + r * n_A, n=n_A, T=T_A, K=(ca.SX.eye(self.d - 1) - F @ F.T) / r)
        elif feature.rim:
            outward, E = y / feature.radius, cross(cross(E[:, 0], E[:, 1]), y) / feature.radius
            F = T_A.T @ E
            patch = Patch(x=x, n=n_A, T=T_A, K=F @ F.T * (dot(n_A, outward) / feature.radius))
        tA = side(A, patch, self.center, _nothing, follows=True)
        if E.shape[1] and not r:
            tA = replace(tA, straight=A.R @ E * ca.sqrt(feature.size))
        return tA, side(B, Patch(x=foot, n=n, T=T, K=K), (), _nothing)

    def restore(self, s: ca.SX) -> ca.SX:
        """Return `s`, which is empty."""
        return s

    def limits(self, A: Motion, B: Motion, s: ca.SX) -> dict[str, ca.SX]:
        """Return how far the point is inside the feature (sizes), and how far the normal inside its cone."""
        return {"feature": self._at(A, B)[-1]}

    @property
    def of_kind(self) -> OfKind:
        """The contact with the feature's numbers and its place on the body as symbols."""
        feature, numbers = self.feature, list[Symbol]()

        def symbol(value: float) -> Symbol:
            numbers.append(Symbol(f"number_{len(numbers)}", value_of(value)))
            return numbers[-1]

        def symbols(vector: Sequence[float]) -> tuple[float, ...]:
            return tuple(symbol(value) for value in vector)  # pyright: ignore[reportReturnType]

        same = replace(
            feature,
            at=symbols(feature.at),
            axes=tuple(symbols(axis) for axis in feature.axes),
            inside=tuple((symbols(g), *symbols([h])) for g, h in feature.inside),
            cone=tuple(symbols(g) for g in feature.cone),
            **{name: symbol(value) for name in ("size", "rounding", "radius") if (value := getattr(feature, name))},
        )
        contact = replace(self, feature=same, center=symbols(self.center))
        counts = (len(feature.axes), len(feature.inside), len(feature.cone), len(self.center))
        key = (*counts, bool(feature.rounding), bool(feature.radius), feature.rim)
        return OfKind(contact, ca.vertcat(*numbers), np.array([one.value for one in numbers]), key)

    @property
    def _axes(self) -> ca.SX:
        return ca.vertcat(*(_vector(axis).T for axis in self.feature.axes)) if self.feature.axes else ca.SX(0, self.d)

    def _at(self, A: Motion, B: Motion) -> tuple[ca.SX, ...]:
        at = _vector(self.feature.at) + (_vector(self.center) if self.center else 0.0)
        x = B.R.T @ (A.p + A.R @ at - B.p)
        return tuple(self._nearest.call([B.R.T @ A.R, x]))

    @cached_property
    def _nearest(self) -> ca.Function:
        """(R, c) of the feature in B's frame -> y in A's axes, foot, n, T and K of B there, margin of validity."""
        if self.feature.rounding and (self.distance is None or self.level.bends is None):
            return self._nearest_by_foot
        d, feature, E = self.d, self.feature, self._axes
        R, c, x = ca.SX.sym("R", d, d), ca.SX.sym("c", d), ca.SX.sym("x", d)
        level, along = self.level.level(x), R @ E.T
        hessian, gradient = ca.hessian(level, x)
        bends = [along.T @ gradient, along.T @ hessian @ along]
        slope = ca.Function("slope", [x, R], bends, _FREE)
        quadratic = self.level.bends is not None
        if feature.rim:
            q = self._around(slope, level, x, R, c, along)
        elif E.shape[0] and quadratic:
            g, H = slope.call([c, R])
            q = -_inverse(H) @ g
        elif E.shape[0] == 1:
            values = ca.Function("values", [x, R], [*bends, level], _FREE)
            q = self._hollow_near(values, self._best(level, x, c, along), R, c, along)
        elif E.shape[0]:
            q = self._best(level, x, c, along)
            for _ in range(_NEWTON):
                g, H = slope.call([c + along @ q, R])
                q = q - _limit_step(_downhill(H) @ g, self._reach)
        else:
            q = ca.SX(0, 1)
        at = c + along @ q
        f, fx = ca.Function("value", [x], [level, gradient], _FREE).call([at])
        norm = ca.sqrt(dot(fx, fx) + _TINY)
        foot = at - fx * (f / norm**2)
        if feature.rounding and self.distance is not None:
            foot = at - fx * (self.distance(at) / norm)
        patch = self.level.patch(foot if feature.rounding else at)
        y = E.T @ q
        margins = [(dot(_vector(g), y) + h) / feature.size for g, h in feature.inside]
        margins += [dot(fx, R @ _vector(g)) / norm for g in feature.cone]
        if feature.radius and not feature.rim:
            margins.append((feature.radius - ca.sqrt(dot(q, q) + _TINY)) / feature.size)
        if E.shape[0]:
            g, bend = slope.call([at, R])
            if feature.rim:
                outward, t = q / feature.radius, ca.vertcat(-q[1], q[0]) / feature.radius
                margins.append(-dot(g, outward) / norm)
                bend = t.T @ bend @ t - dot(g, outward) / feature.radius
            margins.append(smallest_eigenvalue(bend * (feature.size / norm)) - _BENT)
        least = -ca.mmax(-ca.vertcat(*margins))
        return ca.Function("nearest", [R, c], [y, foot, patch.n, patch.T, require_field(patch.K, "K"), least], _FREE)

    @cached_property
    def _nearest_by_foot(self) -> ca.Function:
        """The same of a rounded corner, edge or face whose distance to B has no closed form: see the class."""
        d, feature, E = self.d, self.feature, self._axes
        R, c, x = ca.SX.sym("R", d, d), ca.SX.sym("c", d), ca.SX.sym("x", d)
        level, along = self.level.level(x), R @ E.T
        hessian, gradient = ca.hessian(level, x)
        values = ca.Function("values", [x], [level, gradient, hessian], _FREE)
        across = ca.SX.eye(d) - along @ along.T
        foot = self._foot(level, x, c + along @ self._best(level, x, c, along))
        f, fx, _ = values.call([foot])
        m = -dot(across @ (foot - c), fx) / (dot(fx, fx) + _TINY)
        step = ca.SX(d, 1)
        for _ in range(_FOOT_STEPS):
            f, fx, H = values.call([foot])
            norm = ca.sqrt(dot(fx, fx) + _TINY)
            n = fx / norm
            T, M = tangents(n), across + m * H
            residual = across @ (foot - c) + m * fx
            down = -n * (f / norm)
            step = down - T @ _limit_step(_downhill(T.T @ M @ T) @ (T.T @ (residual + M @ down)), self._reach)
            m = m - dot(n, residual + M @ step) / norm
            foot = foot + step
        patch = self.level.patch(foot)
        K, F = require_field(patch.K, "K"), patch.T.T @ along
        y = E.T @ (along.T @ (foot - c))
        margins = [(dot(_vector(g), y) + h) / feature.size for g, h in feature.inside]
        margins += [dot(patch.n, R @ _vector(g)) for g in feature.cone]
        margins.append(_LOST - ca.norm_2(step) / feature.size)
        if E.shape[0]:
            margins.append(smallest_eigenvalue(F.T @ K @ F * feature.size) - _BENT)
        least = -ca.mmax(-ca.vertcat(*margins))
        return ca.Function("nearest", [R, c], [y, foot, patch.n, patch.T, K, least], _FREE)

    def _hollow_near(self, values: ca.Function, q: ca.SX, R: ca.SX, c: ca.SX, along: ca.SX) -> ca.SX:
        """Return the y (1,) of the hollow of f on an edge that is next to q, by Newton's steps inside a bracket.

        Beside the arc of a rounded corner f is straight, and a step from there goes over the arc: then the tangents of
        both sides meet over it. The point of the least slope is taken.
        """
        # Place, f and slope; numbers without end would spoil derivatives.
        low, high = ((ca.SX(side * _FAR * self.feature.size), ca.SX(0.0), ca.SX(side * _STEEP)) for side in (-1, 1))
        for _ in range(_NEWTON if self.distance is None else _ALONG):
            g, H, f = values.call([c + along @ q, R])
            falls = g < 0
            low = tuple(ca.if_else(falls, new, old) for new, old in zip((q, f, g), low, strict=True))
            high = tuple(ca.if_else(falls, old, new) for new, old in zip((q, f, g), high, strict=True))
            newton = q - _limit_step(_downhill(H) @ g, self._reach)
            known = ca.logic_and(low[2] > -_STEEP, high[2] < _STEEP)
            width = high[0] - low[0]
            part = (low[1] - high[1] + high[2] * width) / (_not_zero(high[2] - low[2]) * width)
            meet = low[0] + width * ca.fmax(_INNER, ca.fmin(part, 1.0 - _INNER))
            over = ca.logic_and(known, ca.fabs(newton - q) >= width)
            q = ca.if_else(over, meet, newton)
        least = ca.fabs(values.call([c + along @ q, R])[0])
        for place, _, g in (low, high):
            better = ca.fabs(g) < least
            q, least = ca.if_else(better, place, q), ca.if_else(better, ca.fabs(g), least)
        # One step more, of round-off, has the derivatives of the hollow, whichever place this is.
        g, H, _ = values.call([c + along @ q, R])
        step = _downhill(H) @ g
        return q - ca.if_else(ca.fabs(step) < _SETTLED * self.feature.size, step, 0.0)

    def _around(self, slope: ca.Function, level: ca.SX, x: ca.SX, R: ca.SX, c: ca.SX, along: ca.SX) -> ca.SX:
        """Return the y (2,), in the axes, of the least f on the circle: where f has one bend, straight down from c."""
        r, height = self.feature.radius, ca.Function("height", [x], [level], _FREE)
        g, _ = slope.call([c, R])
        # Over the ground's highest point every direction is as good: a small one decides.
        u = -(g + ca.DM([_TINY**0.5, 0.0]))
        u = u / ca.sqrt(dot(u, u))
        if self.level.bends is not None and np.ptp(self.level.bends) == 0.0:
            return r * u
        lowest = height(c + along @ (r * u))
        for angle in 2 * np.pi * np.arange(_TURNS) / _TURNS:
            v = ca.SX(ca.DM([np.cos(angle), np.sin(angle)]))
            f = height(c + along @ (r * v))
            u, lowest = ca.if_else(f < lowest, v, u), ca.fmin(f, lowest)
        for _ in range(_NEWTON):
            g, H = slope.call([c + along @ (r * u), R])
            t = ca.vertcat(-u[1], u[0])
            step = -dot(t, g) / (ca.fabs(r * (t.T @ H @ t) - dot(u, g)) + _TINY)
            step = ca.fmax(-_TURN, ca.fmin(step, _TURN))
            u = ca.cos(step) * u + ca.sin(step) * t
        return r * u

    def _foot(self, level: ca.SX, x: ca.SX, point: ca.SX) -> ca.SX:
        """Return the foot (d,) on B of a point near it, nearly: the way there is along the normal at its end."""
        values, foot = ca.Function("values", [x], [level, ca.gradient(level, x)], _FREE), point
        for _ in range(_FOOTING):
            f, fx = values.call([foot])
            square = dot(fx, fx) + _TINY
            foot = point - fx * ((dot(fx, point - foot) + f) / square)
        return foot

    @property
    def _reach(self) -> ca.SX:
        """How far, m, a step of Newton's may go: not past the next of the points that are tried first."""
        widest = reduce(ca.fmax, (2.0 * h / _PARTS for _, h in self.feature.inside), ca.SX(0.0))
        return widest if self.feature.inside else ca.SX(self.feature.size)

    def _best(self, level: ca.SX, x: ca.SX, c: ca.SX, along: ca.SX) -> ca.SX:
        """Return the y (m,), in the axes, of about the least distance on the feature."""
        if along.shape[1] == 1:
            return self._lowest_between(level, x, c, along)
        height, E = ca.Function("height", [x], [level], _FREE), self._axes
        best = ca.SX(E.shape[0], 1)
        lowest = height(c)
        for g, h in self.feature.inside:
            for part in _SEEDS:
                q = -part * h * (E @ _vector(g))
                f = height(c + along @ q)
                best, lowest = ca.if_else(f < lowest, q, best), ca.fmin(f, lowest)
        return best

    def _lowest_between(self, level: ca.SX, x: ca.SX, c: ca.SX, along: ca.SX) -> ca.SX:
        """Return the y (1,) of the lowest hollow of the distance along an edge, or of its lower end where it has none.

        The end of an edge, which a corner touches with, may be lower than what the edge itself touches with. Between
        two points the distance is a cubic, which may fall and rise again where it rises at both.
        """
        E, feature = self._axes, self.feature
        ends = [-h * (E @ _vector(g)) for g, h in feature.inside]
        ends = [ca.fmin(*ends), ca.fmax(*ends)]
        part = (ends[1] - ends[0]) / _PARTS
        points = [ends[0] + k * part for k in range(_PARTS)] + [ends[1]]
        values = ca.Function("values", [x], [level, ca.gradient(level, x)], _FREE)
        heights, slopes = [], []
        for q in points:
            at = c + along * q
            foot = self._foot(level, x, at) if feature.rounding else at
            f, fx = values.call([foot])
            norm = ca.sqrt(dot(fx, fx) + _TINY)
            heights.append((dot(fx, at - foot) + f) / norm)
            slopes.append(dot(along, fx) / norm)
        first_lower = heights[0] < heights[-1]
        best, lowest = ca.if_else(first_lower, ends[0], ends[1]), ca.SX(np.inf)
        for q, h0, h1, g0, g1 in zip(points[:-1], heights[:-1], heights[1:], slopes[:-1], slopes[1:], strict=True):
            s, h = _hollow(h0, h1, g0 * part, g1 * part)
            lower = h < lowest
            best, lowest = ca.if_else(lower, q + part * s, best), ca.if_else(lower, h, lowest)
        return best


def _hollow(h0: ca.SX, h1: ca.SX, g0: ca.SX, g1: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return where, 0 <= s <= 1, and how low the cubic with these ends and slopes has a hollow; without one inf."""
    cubed, squared = g0 + g1 - 2 * (h1 - h0), 3 * (h1 - h0) - 2 * g0 - g1
    square = squared**2 - 3 * cubed * g0
    root = ca.sqrt(ca.fmax(square, 0.0))
    s = ca.if_else(squared > 0, -g0 / (squared + root + _TINY), (root - squared) / _not_zero(3 * cubed))
    there = ca.logic_and(square > 0, ca.logic_and(s >= 0, s <= 1))
    s = ca.fmin(ca.fmax(s, 0.0), 1.0)
    return s, ca.if_else(there, h0 + s * (g0 + s * (squared + s * cubed)), np.inf)


def _vector(numbers: Sequence[float]) -> ca.SX:
    return ca.SX(ca.vertcat(*numbers))


def _nothing(S: ca.SX) -> ca.SX:
    """Rates of a side that has no coordinates of its own."""
    return ca.SX(0, 1)


def _limit_step(step: ca.SX, longest: ca.SX) -> ca.SX:
    """Return a step, no longer than `longest` in the sum of its parts, which has derivatives of zero, too."""
    return step * (longest / ca.fmax(ca.norm_1(step), longest))


def _downhill(H: ca.SX) -> ca.SX:
    """Return the inverse of a symmetric (1, 1) or (2, 2) matrix with its eigenvalues positive: of (H^2)^1/2."""
    if H.shape == (1, 1):
        return 1.0 / ca.fmax(ca.fabs(H), _FLATTEST)
    square, size = H @ H, ca.fabs(ca.det(H))
    positive = (square + size * ca.SX.eye(2)) / ca.sqrt(ca.trace(square) + 2 * size + _TINY)
    return _inverse(positive)


def _not_zero(value: ca.SX) -> ca.SX:
    return ca.if_else(ca.fabs(value) > _TINY, value, _TINY)


def _inverse(H: ca.SX) -> ca.SX:
    """Return 1/H; zero where H is singular."""
    return ca.if_else(ca.fabs(ca.det(H)) > _TINY, inverse(H), ca.SX(*H.shape))
