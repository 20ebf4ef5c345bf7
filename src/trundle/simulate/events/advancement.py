"""Advancement: whether two shapes that are apart can have touched between two instants, and where they did first.

Over every interval the distance has a lower bound above zero, or the interval is halved. The bound is that of
conservative advancement (Mirtich 1996; Zhang et al. 2006), with what the states say of the motion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from trundle.checks import FloatArray
from trundle.geometry.queries.cloud import bounding_ball
from trundle.geometry.queries.convex import ball_radius
from trundle.geometry.queries.separation import Apart
from trundle.models.tree.system import ContactSystem

TOUCHED = 1e-9
"""In sizes. A gap of so much is none: contacts that came apart are open from there on."""
SUNK = 1e-6
"""In sizes. How deep a pair that never was open has to be for a touch."""
_GRAZED = 1e-10
"""Depth, in sizes, of a touch that may be missed."""
_DIPS = 1e-13
"""Depth, in sizes, that is round-off: faces that glide over each other stay so near."""
_NEAR = 0.02
"""Way, in sizes, over which a surface of any shape is as curved as one of a tenth of its size."""
_BENT = 10.0  # times (way / time)^2 / size: what a relative motion may bend beyond what its ends show
CHANGES = 2.0
"""How much more than between two looks velocities may change between them."""

StateAt = Callable[[float], FloatArray]


@dataclass(frozen=True)
class PairPlace:
    """Pose and twist of a shape, world: R (d, d), p (d,) m of its origin, w (k,), v (d,) m/s of its centre c (d,) m."""

    R: FloatArray
    p: FloatArray
    w: FloatArray
    v: FloatArray
    c: FloatArray


class WatchedPair:
    """Two shapes that may touch: what they are, not where (final)."""

    def __init__(self, system: ContactSystem, number: int) -> None:
        pair = system.contact_pairs[number]
        self.number, self.A, self.B = number, pair.shape_A, pair.shape_B
        self.measure = system.separation(number)
        balls = [bounding_ball(shape) for shape in (self.A, self.B)]
        self.centers = [np.zeros(system.d) if ball is None else ball[0] for ball in balls]
        self.radii = [np.inf if ball is None else ball[1] for ball in balls]
        sizes = [shape.reference_length for shape, r in zip((self.A, self.B), self.radii, strict=True) if r < np.inf]
        self.size = min(sizes, default=1.0)
        self.touched, self.sunk = TOUCHED * self.size, SUNK * self.size
        # A ball is the same however it turns.
        round_ones = [ball_radius(shape) is not None for shape in (self.A, self.B)]
        self.arms = [0.0 if round_one else r for round_one, r in zip(round_ones, self.radii, strict=True)]


@dataclass(frozen=True)
class Look:
    """A pair at one instant; ``opened``: it has been seen open before."""

    pair: WatchedPair
    t: float
    A: PairPlace
    B: PairPlace
    guess: FloatArray | None = None
    opened: bool = True

    @cached_property
    def relative(self) -> tuple[FloatArray, FloatArray]:
        """Pose (R, p) of A's shape in the frame of B's."""
        return self.B.R.T @ self.A.R, self.B.R.T @ (self.A.p - self.B.p)

    @cached_property
    def apart(self) -> Apart:
        """The distance of the shapes."""
        return self.pair.measure.apart(*self.relative, None if self.guess is None else self.B.R.T @ self.guess)

    def follow(self, before: Look) -> Look:
        """Return the same look with nearest points that follow from those of a look a little `before`."""
        seen = replace(self, guess=before.normal)
        vars(seen)["apart"] = self.pair.measure.follow(*self.relative, before.apart)
        return seen

    @property
    def gap(self) -> float:
        """The distance of the shapes, m."""
        return self.apart.gap

    @cached_property
    def normal(self) -> FloatArray:
        """The normal out of B, world."""
        return self.B.R @ self.apart.normal

    def along(self, normal: FloatArray) -> float:
        """Return the distance (m) along a fixed direction (d,), world: not more than the gap."""
        return self.pair.measure.along(*self.relative, self.B.R.T @ normal)

    @property
    def speed(self) -> float:
        """Speed (m/s) at which the nearest points move apart."""
        return float(self.normal @ self.velocity)

    @property
    def velocity(self) -> FloatArray:
        """Velocity (d,), m/s, of the nearest material point of A minus that of B's."""
        on_A, on_B = self.A.p + self.A.R @ self.apart.x_A, self.B.p + self.B.R @ self.apart.x_B
        return self.A.v + turn(self.A.w, on_A - self.A.c) - self.B.v - turn(self.B.w, on_B - self.B.c)

    @cached_property
    def apart_at_least(self) -> float:
        """A quick lower bound of the gap, m: that of balls around the shapes, or the gap itself where it is known."""
        if "apart" in vars(self):
            return self.gap
        r_A, r_B = self.pair.radii
        if r_A + r_B < np.inf:
            return float(np.linalg.norm(self.A.c - self.B.c)) - r_A - r_B
        ball, other, shape = (self.A, self.B, self.pair.B) if r_A < np.inf else (self.B, self.A, self.pair.A)
        return float(shape.distance((other.R.T @ (ball.c - other.p))[None])[0][0]) - min(r_A, r_B)

    @property
    def speeds(self) -> float:
        """No point of one shape moves faster (m/s) than this against the other one."""
        (r_A, r_B), A, B = self.pair.arms, self.A, self.B
        found = [np.inf]
        if r_A < np.inf and r_B < np.inf:
            found.append(length(A.v - B.v) + r_A * length(A.w) + r_B * length(B.w))
        if r_A < np.inf:  # as a body that B carries sees it
            found.append(length(A.v - B.v - turn(B.w, A.c - B.c)) + r_A * length(A.w - B.w))
        if r_B < np.inf:
            found.append(length(B.v - A.v - turn(A.w, B.c - A.c)) + r_B * length(A.w - B.w))
        return min(found)


def length(v: FloatArray) -> float:
    """Return |v|."""
    return float(np.sqrt(v @ v))


def turn(w: FloatArray, r: FloatArray) -> FloatArray:
    """Return w x r (d,)."""
    if len(r) == 2:
        return np.array([-w[0] * r[1], w[0] * r[0]])
    (a, b, c), (x, y, z) = w.tolist(), r.tolist()
    return np.array([b * z - c * y, c * x - a * z, a * y - b * x])


def _change(a: Look, b: Look) -> float:
    """Return a bound (m/s) on how much the velocity of two points of the shapes changes between two looks."""
    changes = [length((b.A.v - b.B.v) - (a.A.v - a.B.v))]
    changes += [
        r * length(end.w - begin.w)
        for r, begin, end in zip(a.pair.arms, (a.A, a.B), (b.A, b.B), strict=True)
        if r < np.inf
    ]
    return CHANGES * sum(changes)


def way_between(a: Look, b: Look) -> float:
    """Return how far, m, a point of one shape can have gone beside the other one between two looks."""
    return (max(a.speeds, b.speeds) + _change(a, b)) * (b.t - a.t)


def surely_apart(a: Look, b: Look) -> bool:
    """Return whether the shapes cannot have touched between two looks at which they did not."""
    h, change = b.t - a.t, _change(a, b)
    way = way_between(a, b)
    if a.apart_at_least + b.apart_at_least > way:
        return True
    if min(a.gap, b.gap) > 0 and a.gap + b.gap > way:
        return True
    if a.pair.measure.convex:
        if any(_above(a.along(n), b.along(n), _bend(a, b, change, n) * h * h, a.pair) for n in _normals(a, b)):
            return True
        return _apart_as_carried(a, b, True) or _apart_as_carried(a, b, False)
    if way < _NEAR * a.pair.size:
        bend = _bend(a, b, change) + _BENT * (way / h) ** 2 / a.pair.size
        return _above(a.gap, b.gap, bend * h * h, a.pair)
    return False


def _bend(a: Look, b: Look, change: float, n: FloatArray | None = None) -> float:
    """Return a bound (m/s2) on changes of the velocity along a fixed direction `n` (d,), or any, of two points."""
    turning = [
        0.0 if not r else _turning(r, begin.w, end.w, n)
        for r, begin, end in zip(a.pair.arms, (a.A, a.B), (b.A, b.B), strict=True)
    ]
    return change / (b.t - a.t) + CHANGES * sum(value for value in turning if np.isfinite(value))


def _turning(arm: float, first: FloatArray, last: FloatArray, n: FloatArray | None) -> float:
    """Return a bound (m/s2) on n.(w x (w x r)), of points r within an `arm` (m), for both rates w; None: of any n.

    Its size is that of (w x n).(w x r): what turns about the direction itself has none.
    """
    if n is None or len(first) == 1:
        return arm * max(length(first), length(last)) ** 2
    across = max(length(turn(w, n)) for w in (first, last))
    return arm * max(length(first), length(last)) * across


def _apart_as_carried(a: Look, b: Look, by_A: bool) -> bool:
    """Return whether the motion as one of the shapes sees it shows them apart between two looks.

    A face turns its normal with it: a direction that is fixed in space soon has its corners in front. Two edges turn
    theirs by both: along a direction n(t) that turns evenly from the first normal to the last the distance of any two
    points, n.y, bends by at most n.y'' + 2 n'.y' + n''.y.
    """
    arm, of_base = a.pair.arms[1 if by_A else 0], a.pair.arms[0 if by_A else 1]
    if not arm < np.inf:
        return False
    (base_a, other_a), (base_b, other_b) = ((look.A, look.B) if by_A else (look.B, look.A) for look in (a, b))
    (v_a, w_a), (v_b, w_b) = _seen_from(base_a, other_a), _seen_from(base_b, other_b)
    h = b.t - a.t
    change = CHANGES * (length(v_b - v_a) + arm * length(w_b - w_a))
    normals = [base.R.T @ look.normal for look, base in ((a, base_a), (b, base_b)) if look.gap > -look.pair.touched]
    for n in normals:
        bend = change / h + CHANGES * _turning(arm, w_a, w_b, n)
        if _above(a.along(base_a.R @ n), b.along(base_b.R @ n), bend * h * h, a.pair):
            return True
    if len(normals) < 2 or not of_base < np.inf:
        return False
    turning = 2.0 * np.arcsin(min(length(normals[1] - normals[0]) / 2.0, 1.0)) / h
    pace = max(length(v) + arm * length(w) for v, w in ((v_a, w_a), (v_b, w_b))) + change
    apart = max(length(other.c - base.c) for base, other in ((base_a, other_a), (base_b, other_b))) + arm + of_base
    bend = change / h + CHANGES * arm * max(length(w_a), length(w_b)) ** 2
    bend += 2.0 * turning * pace + turning**2 * apart
    return _above(a.along(a.normal), b.along(b.normal), bend * h * h, a.pair)


def _seen_from(base: PairPlace, other: PairPlace) -> tuple[FloatArray, FloatArray]:
    """Return the velocity of the centre and the spin of a shape as another one that moves sees them, in its frame."""
    v = other.v - base.v - turn(base.w, other.c - base.c)
    w = other.w - base.w
    return base.R.T @ v, w if len(w) == 1 else base.R.T @ w


def _normals(a: Look, b: Look) -> list[FloatArray]:
    return [look.normal for look in (a, b) if look.gap > -look.pair.touched]


def _above(start: float, end: float, bend: float, pair: WatchedPair) -> bool:
    """Return whether (1 - s) start + s end - bend s (1 - s)/2 > 0 for all 0 < s < 1, but for dips that are none.

    Ends of zero count as above, to ``touched`` of the pair.
    """
    start, end = (max(value, 0.0) if value > -pair.touched else value for value in (start, end))
    if start < 0 or end < 0 or (start == 0 and end == 0):
        return False
    if bend <= 8.0 * _DIPS * pair.size:
        return True
    s = 0.5 - (end - start) / bend
    if not 0 < s < 1:
        return start + end > 0 and (start - end if s >= 1 else end - start) >= bend / 2 * (1 - 1e-9)
    return (1 - s) * start + s * end - bend * s * (1 - s) / 2 > 0


def first_in(a: Look, b: Look, look: Callable[[float, Look], Look], known: bool) -> tuple[Look, Look] | None:
    """Return looks before and after the first touch between `a`, at which the pair is apart, and `b`, or None.

    ``known``: that b touches is no news.
    """
    waiting = [(a, b)]
    while waiting:
        a, b = waiting.pop()
        sunk = b.apart_at_least <= 0 and b.gap <= 0 and not (known and not waiting and abs(b.gap) < b.pair.sunk)
        if not sunk and surely_apart(a, b):
            continue
        h, way = b.t - a.t, max(a.speeds, b.speeds) * (b.t - a.t)
        least = way < _GRAZED * a.pair.size or h <= 4e-16 * (1.0 + abs(b.t))
        if sunk and (least or way < _NEAR * a.pair.size):
            return a, b
        if least:
            continue
        middle = look(a.t + h / 2, a)
        if middle.apart_at_least <= 0 and middle.gap <= 0:
            waiting.append((a, middle))
        else:
            waiting += [(middle, b), (a, middle)]
    return None
