"""Contact of a corner, an edge or a face with a smooth surface: closed form, no coordinates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from trundle.contact.contact import Contact, Touch, given, side
from trundle.contact.motion import Motion
from trundle.geometry.features import Feature
from trundle.geometry.level import Level
from trundle.geometry.patch import Patch
from trundle.numerics.space import dot, inverse, smallest_eigenvalue
from trundle.threads import cached_property

_BENT = 1e-6
"""Curvature of the ground along a feature, in 1/sizes of the body, from which the nearest point is one."""
_NEWTON, _SEEDS = 6, (0.3, 0.6, 0.9)
_TINY = 1e-300


@dataclass(frozen=True)
class FeatureContact(Contact):
    """A corner, edge or face of A on a level set f of B: it touches where f is least on the feature.

    With the feature's points c + R'E'y in B's frame (E the axes), y solves E R f_x = 0: one step of Newton's where f is
    quadratic, some from the best of a few points elsewhere. The gap f/|f_x| is right to first order, and exact at zero.
    A rounded one touches where it is nearest by the signed `distance` of B, which has its least value where f has.
    An edge has a zero radius across and an endless one along: its point moves over it by

        (E K_B E') sigma = E (wrel x n - K_B vrel).
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

    def touch(self, A: Motion, B: Motion, s: ca.SX) -> tuple[Touch, Touch]:
        """Return the feature's point where f is least, and its foot on B."""
        y, foot, n, T, K, _ = self._at(A, B)
        E = self._axes
        x, r = ca.SX(ca.DM(self.feature.at)) + y, self.feature.rounding
        turned = A.R.T @ B.R
        n_A, T_A = -(turned @ n), turned @ T
        patch = Patch(x=x, n=n_A, T=T_A, radii=ca.SX(self.d, self.d))
        if r:
            F = T_A.T @ ca.SX(E.T)
            patch = Patch(x=x + r * n_A, n=n_A, T=T_A, K=(ca.SX.eye(self.d - 1) - F @ F.T) / r)
        tA = side(A, patch, self.center, _nothing, follows=True)
        if E.shape[0] and not r:
            tA = replace(tA, straight=A.R @ ca.SX(E.T * np.sqrt(self.feature.size)))
        return tA, side(B, Patch(x=foot, n=n, T=T, K=K), (), _nothing)

    def restore(self, s: ca.SX) -> ca.SX:
        """Return `s`, which is empty."""
        return s

    def limits(self, A: Motion, B: Motion, s: ca.SX) -> dict[str, ca.SX]:
        """Return how far the point is inside the feature (sizes), and how far the normal inside its cone."""
        return {"feature": self._at(A, B)[-1]}

    @property
    def _axes(self) -> ca.DM:
        return ca.DM(np.reshape(self.feature.axes, (-1, self.d)))

    def _at(self, A: Motion, B: Motion) -> tuple[ca.SX, ...]:
        x = B.R.T @ (A.p + A.R @ ca.SX(ca.DM(np.add(self.feature.at, self.center or 0.0))) - B.p)
        return tuple(self._nearest.call([B.R.T @ A.R, x]))

    @cached_property
    def _nearest(self) -> ca.Function:
        """(R, c) of the feature in B's frame -> y in A's axes, foot, n, T and K of B there, margin of validity."""
        d, feature, E = self.d, self.feature, self._axes
        R, c, x = ca.SX.sym("R", d, d), ca.SX.sym("c", d), ca.SX.sym("x", d)
        level, along = self.level.level(x), R @ ca.SX(E.T)
        hessian, gradient = ca.hessian(level, x)
        slope = ca.Function("slope", [x, R], [along.T @ gradient, along.T @ hessian @ along])
        q = ca.SX(E.shape[0], 1)
        if E.shape[0]:
            quadratic = self.level.bends is not None
            if not quadratic:
                q = self._best(level, x, c, along)
            for _ in range(1 if quadratic else _NEWTON):
                g, H = slope.call([c + along @ q, R])
                q = q - _inverse(H) @ g
        at = c + along @ q
        f, fx = ca.Function("value", [x], [level, gradient]).call([at])
        norm = ca.sqrt(dot(fx, fx) + _TINY)
        foot = at - fx * (f / norm**2)
        if feature.rounding and self.distance is not None:
            foot = at - fx * (self.distance(at) / norm)
        patch = self.level.patch(foot if feature.rounding else at)
        y = ca.SX(E.T) @ q
        margins = [(dot(ca.SX(ca.DM(g)), y) + h) / feature.size for g, h in feature.inside]
        margins += [dot(fx, R @ ca.SX(ca.DM(g))) / norm for g in feature.cone]
        if E.shape[0]:
            bend = slope.call([at, R])[1] * (feature.size / norm)
            margins.append(smallest_eigenvalue(bend) - _BENT)
        least = -ca.mmax(-ca.vertcat(*margins))
        return ca.Function("nearest", [R, c], [y, foot, patch.n, patch.T, given(patch.K, "K"), least])

    def _best(self, level: ca.SX, x: ca.SX, c: ca.SX, along: ca.SX) -> ca.SX:
        """Return the y (m,), in the axes, of the least f on some points of the feature."""
        height, E = ca.Function("height", [x], [level]), np.array(self._axes)
        best = ca.SX(E.shape[0], 1)
        lowest = height(c)
        for g, h in self.feature.inside:
            for part in _SEEDS:
                q = ca.SX(ca.DM(-part * h * (E @ np.array(g))))
                f = height(c + along @ q)
                best, lowest = ca.if_else(f < lowest, q, best), ca.fmin(f, lowest)
        return best


def _nothing(S: ca.SX) -> ca.SX:
    """Rates of a side that has no coordinates of its own."""
    return ca.SX(0, 1)


def _inverse(H: ca.SX) -> ca.SX:
    """Return 1/H; zero where H is singular."""
    det = H if H.shape == (1, 1) else H[0, 0] * H[1, 1] - H[0, 1] * H[1, 0]
    return ca.if_else(ca.fabs(det) > _TINY, inverse(H), ca.SX(*H.shape))
