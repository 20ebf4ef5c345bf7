"""Contact of two convex polytopes, sharp or rounded: a corner, an edge or a face of each, in closed form."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from trundle.contact.motion import Motion
from trundle.contact.touch import Contact, Course, OfKind, Touch
from trundle.geometry.features import Feature
from trundle.numerics.space import cross, dot, tangents
from trundle.numerics.symbol import Symbol, value_of
from trundle.threads import cached_property, made_once

_CROSSING = 1e-3
"""Sine of the angle at which edges have to cross: at smaller ones they touch along a line."""
_FLUSH = 1e-6
"""rad. By so much an edge or a face may lie over what its corner touches: flush to round-off, it is at gaps of zero."""
_BELOW = 0.05
"""Sizes. A corner that is further below a face stands on another one, beside whose rim it is."""
_PARALLEL = 1e-9
"""Sine of the angle under which edges cross nowhere: what is told of their points counts for nothing."""
_TINY = 1e-300  # keeps square roots differentiable at zero
_LENGTHS = ("size", "rounding")
_KINDS: dict[Hashable, tuple[FacetContact, ca.SX]] = {}
"""Contacts with symbols for their numbers, one of each kind."""


@dataclass(frozen=True)
class FacetContact(Contact):
    """A corner, edge or face of A on one of B: no coordinates.

    With core points x_A and x_B of the features that are nearest to each other along the normal n out of B, the points
    of contact are x_A - r_A n and x_B + r_B n, r the roundings. What n is:

        a face of B: its normal,       a face of A: against its normal,
        two edges: across both,        else (rounded ones): x_A - x_B normalised.

    Points inside of both, `inner_A` and `inner_B`, are on their own sides of where they touch: a corner that is beyond
    the far face of a body does not touch it. The points run over both surfaces, and n turns, as the poses say:
    derivatives of this closed form along the velocities.
    """

    of_A: Feature
    of_B: Feature
    inner_A: tuple[float, ...]
    inner_B: tuple[float, ...]
    center: tuple[float, ...] = ()

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return len(self.of_A.at)

    @property
    def size(self) -> int:
        """No coordinates."""
        return 0

    def touch(self, A: Motion, B: Motion, s: ca.SX) -> tuple[Touch, Touch]:
        """Return the points of both features that are nearest to each other."""
        x_A, x_B, n, *_ = self._nearest.call(self._relative_pose(A, B))
        n = B.R @ n
        T = tangents(n)
        return Touch(A.R @ x_A, -n, T, None, None, _no_rates), Touch(B.R @ x_B, n, T, None, None, _no_rates)

    def course(self, A: Motion, B: Motion) -> Course:
        """Return how fast the points of contact run over both bodies, and how fast the normal turns."""
        R, c = self._relative_pose(A, B)
        w, v = A.w - B.w, A.v - B.v - cross(B.w, A.p - B.p)
        n = B.R @ self._nearest.call([R, c])[2]
        over_A, over_B, turned = self._rates.call([R, c, w if self.d == 2 else B.R.T @ w, B.R.T @ v])
        return Course(A.R @ over_A, B.R @ over_B, cross(B.w, n) + B.R @ turned)

    def restore(self, s: ca.SX) -> ca.SX:
        """Return `s`, which is empty."""
        return s

    def limits(self, A: Motion, B: Motion, s: ca.SX) -> dict[str, ca.SX]:
        """Return how far the points are inside their features (sizes), and also the normal inside the cones of both.

        What touches may leave features by their ends alone: where a normal reaches the side of a cone an edge or a face
        of one lies on the other, and the corner at its far end lands. Corners and edges that are round meet in their
        place, and point and normal pass on.
        """
        *_, inside, whole = self._nearest.call(self._relative_pose(A, B))
        return {"within": inside, "feature": whole}

    @property
    def of_kind(self) -> OfKind:
        """The contact with the numbers of both features, and the place of A's, as symbols."""
        key = ("facets", *(_kind(one) for one in (self.of_A, self.of_B)), len(self.center))
        contact, symbols = made_once(_KINDS, key, self._with_symbols)
        places = (*self.inner_A, *self.inner_B, *self.center)
        numbers = [*_numbers(self.of_A), *_numbers(self.of_B), *places]
        return OfKind(contact, symbols, np.array([value_of(number) for number in numbers]), key)

    def _with_symbols(self) -> tuple[FacetContact, ca.SX]:
        """Return the contact with symbols for its numbers, and these, in the order of `_numbers`."""
        made = list[Symbol]()

        def symbols(numbers: Sequence[float]) -> tuple[float, ...]:
            made.extend(Symbol(f"number_{len(made) + i}", value_of(number)) for i, number in enumerate(numbers))
            return tuple(made[len(made) - len(numbers) :])  # pyright: ignore[reportReturnType]

        def same(feature: Feature) -> Feature:
            """Return a feature with its numbers as symbols."""
            return replace(
                feature,
                at=symbols(feature.at),
                axes=tuple(symbols(axis) for axis in feature.axes),
                inside=tuple((symbols(g), *symbols([h])) for g, h in feature.inside),
                cone=tuple(symbols(g) for g in feature.cone),
                outward=symbols(feature.outward),
                **{name: symbols([value])[0] for name in _LENGTHS if (value := getattr(feature, name))},
            )

        places = (symbols(point) for point in (self.inner_A, self.inner_B, self.center))
        contact = FacetContact(same(self.of_A), same(self.of_B), *places)
        return contact, ca.vertcat(*made)

    def _relative_pose(self, A: Motion, B: Motion) -> list[ca.SX]:
        """Return R (d, d) and the place (d,), m, of A's frame in B's."""
        return [B.R.T @ A.R, B.R.T @ (A.p - B.p)]

    @cached_property
    def _nearest(self) -> ca.Function:
        """(R, c) of A in B's frame -> the points of contact in A's and in B's frame, n in B's, and both margins."""
        d, of_A, of_B = self.d, self.of_A, self.of_B
        R, c = ca.SX.sym("R", d, d), ca.SX.sym("c", d)
        center = _vector(self.center) if self.center else ca.SX(d, 1)
        at_A, at_B = _vector(of_A.at) + center, _vector(of_B.at)
        x_A, x_B, n, crossing = self._cores(R, c + R @ at_A, at_B)
        aside_A, aside_B = R.T @ (x_A - c) - at_A, x_B - at_B
        margins = [(dot(_vector(g), aside_A) + h) / of_A.size for g, h in of_A.inside]
        margins += [(dot(_vector(g), aside_B) + h) / of_A.size for g, h in of_B.inside]
        margins += crossing
        passes = of_A.dimension + of_B.dimension < d - 1
        flush = 0.0 if passes else _FLUSH
        cones = [dot(n, R @ _vector(g)) + flush for g in of_A.cone]
        cones += [-dot(n, _vector(g)) + flush for g in of_B.cone]
        cones += [dot(n, c + R @ (_vector(self.inner_A) + center) - x_B) / of_A.size]
        cones += [dot(n, x_A - _vector(self.inner_B)) / of_A.size]
        cones += [(dot(n, x_A - x_B) - of_A.rounding - of_B.rounding) / of_A.size + _BELOW]
        whole = -ca.mmax(-ca.vertcat(*margins, *cones))
        inside = whole if passes else -ca.mmax(-ca.vertcat(*margins))
        point_A = R.T @ (x_A - c - of_A.rounding * n)
        told = [point_A, x_B + of_B.rounding * n, n, inside, whole]
        return ca.Function("nearest", [R, c], told, {"allow_free": True})

    def _cores(self, R: ca.SX, p_A: ca.SX, p_B: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX, list[ca.SX]]:
        """Return the nearest core points of both features, n, and how well edges cross; all in B's frame.

        ``p_A``, ``p_B``: the middles of the features.
        """
        of_A, of_B = self.of_A, self.of_B
        apart = p_A - p_B
        if of_B.outward:
            n = _vector(of_B.outward)
            return p_A, p_A - n * dot(n, apart), n, []
        if of_A.outward:
            n = -(R @ _vector(of_A.outward))
            return p_B + n * dot(n, apart), p_B, n, []
        if of_A.axes and of_B.axes:
            along_A, along_B = R @ _vector(of_A.axes[0]), _vector(of_B.axes[0])
            across = cross(along_A, along_B)
            sine = ca.sqrt(dot(across, across) + _TINY)
            into_B = sum((_vector(g) for g in of_B.cone), ca.SX(3, 1))
            n = across / ca.if_else(dot(across, into_B) > 0, -sine, sine)
            moved_A = -dot(apart, cross(along_B, n)) / _unless_parallel(dot(along_A, cross(along_B, n)))
            moved_B = dot(apart, cross(along_A, n)) / _unless_parallel(dot(along_B, cross(along_A, n)))
            return p_A + along_A * moved_A, p_B + along_B * moved_B, n, [sine - _CROSSING]
        if of_A.axes:
            along_A = R @ _vector(of_A.axes[0])
            p_A = p_A - along_A * dot(along_A, apart)
        elif of_B.axes:
            along_B = _vector(of_B.axes[0])
            p_B = p_B + along_B * dot(along_B, apart)
        apart = p_A - p_B
        return p_A, p_B, apart / ca.sqrt(dot(apart, apart) + _TINY), []

    @cached_property
    def _rates(self) -> ca.Function:
        """(R, c, w, v) -> rates of the points of contact in A's and in B's frame, and of n there; w and v in B's."""
        d = self.d
        R, c = ca.SX.sym("R", d, d), ca.SX.sym("c", d)
        w, v = ca.SX.sym("w", 1 if d == 2 else 3), ca.SX.sym("v", d)
        told = self._nearest.call([R, c])[:3]
        turned = ca.horzcat(*(cross(w, R[:, i]) for i in range(d)))
        rate = ca.jtimes(ca.vertcat(*told), ca.vertcat(ca.vec(R), c), ca.vertcat(ca.vec(turned), v))
        return ca.Function("rates", [R, c, w, v], ca.vertsplit(rate, d), {"allow_free": True})


def _numbers(feature: Feature) -> list[float]:
    """Return the numbers of a feature: points, directions and what bounds it, then its size and rounding, if any."""
    found = [*feature.at, *(number for axis in feature.axes for number in axis)]
    found += [number for g, h in feature.inside for number in (*g, h)]
    found += [number for g in feature.cone for number in g]
    return [*found, *feature.outward, *(value for name in _LENGTHS if (value := getattr(feature, name)))]


def _kind(feature: Feature) -> tuple[int, int, int, bool]:
    """Return what two features share whose contacts differ in numbers alone."""
    return len(feature.axes), len(feature.inside), len(feature.cone), bool(feature.rounding)


def _unless_parallel(sine: ca.SX) -> ca.SX:
    """Return the sine of the angle of two edges, one in its place where they are parallel."""
    return ca.if_else(ca.fabs(sine) > _PARALLEL, sine, 1.0)


def _vector(numbers: Sequence[float]) -> ca.SX:
    return ca.SX(ca.vertcat(*numbers))


def _no_rates(S: ca.SX) -> ca.SX:
    """Rates of a side that has no coordinates of its own."""
    return ca.SX(0, 1)
