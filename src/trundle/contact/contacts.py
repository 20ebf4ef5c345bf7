"""The contacts: charts on charts, a support on a flat or a level set, pairs of supports, pairs of level sets."""

from __future__ import annotations

import math
from dataclasses import dataclass

import casadi as ca

from trundle.contact.contact import Contact, Touch, require_field, side
from trundle.contact.motion import Motion
from trundle.errors import InputError
from trundle.geometry.chart import Chart
from trundle.geometry.level import Level
from trundle.geometry.patch import Patch
from trundle.geometry.support import SupportLike
from trundle.numerics.space import dot, inverse, tangents


def _nothing(S: ca.SX) -> ca.SX:
    """Rates of a side that has no coordinates of its own."""
    return ca.SX(0, 1)


def _same_dimension(a: int, b: int) -> None:
    if a != b:
        raise InputError("contact", (a, b), "two shapes of one dimension: both planar or both spatial")


@dataclass(frozen=True)
class ChartContact(Contact):
    """Two charts: planar curves on curves and surfaces on surfaces, convex or not. s = (u_A, u_B).

    ``center_A`` (d,) m: origin of A's shape in its body's frame; that of B's is the frame's own.
    """

    chart_A: Chart
    chart_B: Chart
    center_A: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        _same_dimension(self.chart_A.d, self.chart_B.d)

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return self.chart_A.d

    @property
    def size(self) -> int:
        """2 (d - 1) coordinates."""
        return 2 * (self.d - 1)

    @property
    def bends_in_meters(self) -> bool:
        """True."""
        return True

    def patches(self, s: ca.SX) -> tuple[Patch, Patch]:
        """Return the patches of A and B, each in its shape's frame, at `s` (size,)."""
        m = self.d - 1
        return self.chart_A.patch(s[:m]), self.chart_B.patch(s[m:])

    def touch(self, A: Motion, B: Motion, s: ca.SX) -> tuple[Touch, Touch]:
        """Return both sides at `s` = (u_A, u_B)."""
        patch_A, patch_B = self.patches(s)
        return _chart_side(A, patch_A, self.center_A), _chart_side(B, patch_B, ())

    def restore(self, s: ca.SX) -> ca.SX:
        """Return `s`: chart coordinates are free."""
        return s

    def limits(self, A: Motion, B: Motion, s: ca.SX) -> dict[str, ca.SX]:
        """Return reach^2 - |u|^2 of charts with a reach, and the distance to the ends of measured data."""
        m = self.d - 1
        return _chart_limits("A", self.chart_A, s[:m]) | _chart_limits("B", self.chart_B, s[m:])


def _chart_limits(name: str, chart: Chart, u: ca.SX) -> dict[str, ca.SX]:
    limits: dict[str, ca.SX] = {}
    if chart.reach < math.inf:
        limits[f"chart_{name}"] = chart.reach**2 - ca.sumsqr(u)
    for i, r in enumerate(chart.ranges):
        if not r.periodic and r.low > -math.inf:
            limits[f"data_{name}{i}_low"] = u[i] - r.low
        if not r.periodic and r.high < math.inf:
            limits[f"data_{name}{i}_high"] = r.high - u[i]
    return limits


def _chart_side(motion: Motion, patch: Patch, center: tuple[float, ...]) -> Touch:
    A_inverse = inverse(require_field(patch.A, "A"))
    T = motion.R @ patch.T
    return side(motion, patch, center, lambda S: A_inverse @ (T.T @ S))


@dataclass(frozen=True)
class SupportContact(Contact):
    """A convex body A on the plane z = 0 (line in the plane) of B: closed form at any gap, no coordinates."""

    support: SupportLike
    center: tuple[float, ...] = ()
    roundness: ca.Function | None = None

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return self.support.d

    @property
    def size(self) -> int:
        """No coordinates."""
        return 0

    def touch(self, A: Motion, B: Motion, s: ca.SX) -> tuple[Touch, Touch]:
        """Return A's extreme point towards B and its foot on B's flat."""
        n = B.R[:, -1]
        tA = _support_side(A, self.support, n, self.center)
        height = dot(n, A.p + tA.r - B.p)
        foot = A.p + tA.r - B.p - n * height
        return tA, Touch(r=foot, n=n, T=B.R[:, :-1], K=None, radii=None, rates=_nothing, flat=True)

    def restore(self, s: ca.SX) -> ca.SX:
        """Return `s`, which is empty."""
        return s

    def limits(self, A: Motion, B: Motion, s: ca.SX) -> dict[str, ca.SX]:
        """Return the roundness of A at its contact point, where A has lines or faces."""
        return _roundness(self.roundness, -(A.R.T @ B.R[:, -1]))


@dataclass(frozen=True)
class LevelContact(Contact):
    """A convex body A on a level set of B, without charts. s = the contact point in the frame of B's shape, m."""

    support: SupportLike
    level: Level
    center_A: tuple[float, ...] = ()
    roundness: ca.Function | None = None

    def __post_init__(self) -> None:
        _same_dimension(self.support.d, self.level.d)

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return self.support.d

    @property
    def size(self) -> int:
        """The d coordinates of a point."""
        return self.d

    def touch(self, A: Motion, B: Motion, s: ca.SX) -> tuple[Touch, Touch]:
        """Return both sides at the point `s` (d,) of B's surface."""
        tB = side(B, self.level.patch(s), (), lambda S: B.R.T @ S)
        return _support_side(A, self.support, tB.n, self.center_A), tB

    def restore(self, s: ca.SX) -> ca.SX:
        """Return `s` moved onto the surface by one Newton step along the gradient."""
        return _onto(self.level, s)

    def limits(self, A: Motion, B: Motion, s: ca.SX) -> dict[str, ca.SX]:
        """Return the roundness of A at its contact point, where A has lines or faces."""
        return _roundness(self.roundness, -(A.R.T @ (B.R @ self.level.patch(s).n)))


@dataclass(frozen=True)
class PairContact(Contact):
    """Two convex bodies. s = outward normal of B at the contact, in B's axes (normalised inside).

    B must be curved both ways where it is touched: on a line or a face of B one normal has many points.
    """

    support_A: SupportLike
    support_B: SupportLike
    center_A: tuple[float, ...] = ()
    roundness: ca.Function | None = None
    roundness_B: ca.Function | None = None

    def __post_init__(self) -> None:
        _same_dimension(self.support_A.d, self.support_B.d)

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return self.support_A.d

    @property
    def size(self) -> int:
        """The d entries of a direction."""
        return self.d

    def touch(self, A: Motion, B: Motion, s: ca.SX) -> tuple[Touch, Touch]:
        """Return both sides at the normal `s` (d,) of B."""
        n_body = s / ca.sqrt(dot(s, s))
        patch = self.support_B.patch(n_body, tangents(n_body))
        T = B.R @ patch.T

        def rates(S: ca.SX) -> ca.SX:
            radii = patch.T.T @ require_field(patch.radii, "radii") @ patch.T
            return patch.T @ (inverse(radii) @ (T.T @ S))

        tB = side(B, patch, (), rates)
        return _support_side(A, self.support_A, tB.n, self.center_A), tB

    def restore(self, s: ca.SX) -> ca.SX:
        """Return `s` normalised."""
        return s / ca.sqrt(dot(s, s))

    def limits(self, A: Motion, B: Motion, s: ca.SX) -> dict[str, ca.SX]:
        """Return the product of the bodies' roundnesses: it changes sign where a line or a face is reached."""
        n = self.restore(s)
        of_A = _roundness(self.roundness, -(A.R.T @ (B.R @ n)))
        of_B = _roundness(self.roundness_B, n)
        both = [*of_A.values(), *of_B.values()]
        return {"roundness": both[0] * both[-1] if len(both) > 1 else both[0]} if both else {}


@dataclass(frozen=True)
class SupportChartContact(Contact):
    """A convex body A, without charts of its own, on a chart of B. s = u_B."""

    support: SupportLike
    chart: Chart
    center_A: tuple[float, ...] = ()
    roundness: ca.Function | None = None

    def __post_init__(self) -> None:
        _same_dimension(self.support.d, self.chart.d)

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return self.support.d

    @property
    def size(self) -> int:
        """The d - 1 parameters of B's chart."""
        return self.d - 1

    def touch(self, A: Motion, B: Motion, s: ca.SX) -> tuple[Touch, Touch]:
        """Return both sides at the parameters `s` (d-1,) of B's chart."""
        tB = _chart_side(B, self.chart.patch(s), ())
        return _support_side(A, self.support, tB.n, self.center_A), tB

    def restore(self, s: ca.SX) -> ca.SX:
        """Return `s`: chart coordinates are free."""
        return s

    def limits(self, A: Motion, B: Motion, s: ca.SX) -> dict[str, ca.SX]:
        """Return the limits of B's chart and the roundness of A at its contact point."""
        n_body = -(A.R.T @ (B.R @ self.chart.patch(s).n))
        return _chart_limits("B", self.chart, s) | _roundness(self.roundness, n_body)


def _support_side(A: Motion, support: SupportLike, n: ca.SX, center: tuple[float, ...]) -> Touch:
    """Side A of a convex body touched from the direction of B's normal `n` (d,), resolved."""
    n_body = -(A.R.T @ n)
    x, radii = support.point_and_radii(n_body)
    patch = Patch(x=x, n=n_body, T=tangents(n_body), radii=radii)
    return side(A, patch, center, _nothing, follows=True)


def _roundness(roundness: ca.Function | None, n_body: ca.SX) -> dict[str, ca.SX]:
    return {} if roundness is None else {"roundness": roundness(n_body)}


@dataclass(frozen=True)
class LevelPairContact(Contact):
    """Two level sets, without charts, convex or not. s = (point of A, point of B), each in its shape's frame, m."""

    level_A: Level
    level_B: Level
    center_A: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        _same_dimension(self.level_A.d, self.level_B.d)

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return self.level_A.d

    @property
    def size(self) -> int:
        """The coordinates of two points."""
        return 2 * self.d

    @property
    def bends_in_meters(self) -> bool:
        """True."""
        return True

    def touch(self, A: Motion, B: Motion, s: ca.SX) -> tuple[Touch, Touch]:
        """Return both sides at the points `s` = (x_A, x_B)."""
        d = self.d
        tA = side(A, self.level_A.patch(s[:d]), self.center_A, lambda S: A.R.T @ S)
        tB = side(B, self.level_B.patch(s[d:]), (), lambda S: B.R.T @ S)
        return tA, tB

    def restore(self, s: ca.SX) -> ca.SX:
        """Return both points moved onto their surfaces by one Newton step along the gradients."""
        d = self.d
        return ca.vertcat(_onto(self.level_A, s[:d]), _onto(self.level_B, s[d:]))

    def limits(self, A: Motion, B: Motion, s: ca.SX) -> dict[str, ca.SX]:
        """Return nothing: level sets have no edges."""
        return {}


def _onto(level: Level, x: ca.SX) -> ca.SX:
    f, gradient = level.value_and_gradient(x)
    return x - gradient * f / dot(gradient, gradient)
