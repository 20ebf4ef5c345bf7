"""Separated: pairs of shapes that are apart, and the first instant at which one of them touches.

No touch is missed: over every interval the distance has a lower bound above zero, or the interval is halved. The bound
is that of conservative advancement (Mirtich 1996; Zhang et al. 2006), with what the states say of the motion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.laws import LAWS
from trundle.geometry.queries.cloud import Cover, bounding_ball
from trundle.geometry.queries.separation import Apart, ball_radius
from trundle.models.tree.system import ContactSystem
from trundle.numerics.space import angular_size
from trundle.simulate.mode import Mode

TOUCHED = 1e-10
"""m. A gap of so much is none: contacts that came apart are open from there on."""
SUNK = 1e-7
"""m. How deep a pair that never was open has to be for a touch."""
BETWEEN_STEPS = 2e-3
"""s, within which margins of the integrator see every touch themselves."""
_STILL = 1e-9
"""m/s. A pair that approaches more slowly stays as it is."""
_GRAZED = 1e-10
"""Depth, in sizes, of a touch that may be missed."""
_NEAR = 0.02
"""Way, in sizes, over which a surface of any shape is as curved as one of a tenth of its size."""
_BENT = 10.0
_CHANGES = 2.0
"""How much more than between two looks velocities may change between them."""

StateAt = Callable[[float], FloatArray]


@dataclass(frozen=True)
class Place:
    """Pose and twist of a shape, world: R (d, d), p (d,) m of its origin, w (k,), v (d,) m/s of its centre c (d,) m."""

    R: FloatArray
    p: FloatArray
    w: FloatArray
    v: FloatArray
    c: FloatArray


class Pair:
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
        # A ball is the same however it turns.
        round_ones = [ball_radius(shape) is not None for shape in (self.A, self.B)]
        self.arms = [0.0 if round_one else r for round_one, r in zip(round_ones, self.radii, strict=True)]


@dataclass(frozen=True)
class Look:
    """A pair at one instant."""

    pair: Pair
    t: float
    A: Place
    B: Place
    guess: FloatArray | None = None

    @cached_property
    def relative(self) -> tuple[FloatArray, FloatArray]:
        """Pose (R, p) of A's shape in the frame of B's."""
        return self.B.R.T @ self.A.R, self.B.R.T @ (self.A.p - self.B.p)

    @cached_property
    def apart(self) -> Apart:
        """The distance of the shapes."""
        return self.pair.measure.apart(*self.relative, None if self.guess is None else self.B.R.T @ self.guess)

    def followed(self, before: Look) -> Look:
        """Return the same look with nearest points that follow from those of a look a little `before`."""
        seen = replace(self, guess=before.normal)
        vars(seen)["apart"] = self.pair.measure.followed(*self.relative, before.apart)
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
        """A quick lower bound of the gap, m: that of balls around the shapes."""
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


def _turns(w: FloatArray, r: FloatArray) -> FloatArray:
    """Return w x r (N, d) of rows."""
    return w * np.stack([-r[:, 1], r[:, 0]], axis=1) if r.shape[1] == 2 else np.cross(w, r)


def surely_apart(a: Look, b: Look) -> bool:
    """Return whether the shapes cannot have touched between two looks at which they did not."""
    h = b.t - a.t
    change = _CHANGES * length((b.A.v - b.B.v) - (a.A.v - a.B.v))
    change += _CHANGES * sum(
        r * length(end.w - begin.w)
        for r, begin, end in zip(a.pair.arms, (a.A, a.B), (b.A, b.B), strict=True)
        if r < np.inf
    )
    way = (max(a.speeds, b.speeds) + change) * h
    if a.apart_at_least + b.apart_at_least > way:
        return True
    if min(a.gap, b.gap) > 0 and a.gap + b.gap > way:
        return True
    bend = _bend(a, b, h, change)
    if a.pair.measure.convex:
        return any(_above(a.along(n), b.along(n), bend * h * h) for n in _normals(a, b))
    if way < _NEAR * a.pair.size:
        return _above(a.gap, b.gap, (bend + _BENT * (way / h) ** 2 / a.pair.size) * h * h)
    return False


def _bend(a: Look, b: Look, h: float, change: float) -> float:
    """Return a bound (m/s2) on how fast the velocity along a fixed direction of two points changes."""
    turning = [
        0.0 if not r else r * max(length(begin.w), length(end.w)) ** 2
        for r, begin, end in zip(a.pair.arms, (a.A, a.B), (b.A, b.B), strict=True)
    ]
    return change / h + _CHANGES * sum(value for value in turning if np.isfinite(value))


def _normals(a: Look, b: Look) -> list[FloatArray]:
    return [look.normal for look in (a, b) if look.gap > -TOUCHED]


def _above(start: float, end: float, bend: float) -> bool:
    """Return whether (1 - s) start + s end - bend s (1 - s)/2 > 0 for all 0 < s < 1; ends of zero count as above."""
    start, end = (max(value, 0.0) if value > -TOUCHED else value for value in (start, end))
    if start < 0 or end < 0 or (start == 0 and end == 0):
        return False
    if bend <= 0:
        return True
    s = 0.5 - (end - start) / bend
    if not 0 < s < 1:
        return start + end > 0 and (start - end if s >= 1 else end - start) >= bend / 2 * (1 - 1e-9)
    return (1 - s) * start + s * end - bend * s * (1 - s) / 2 > 0


def separated_pair(system: ContactSystem, numbers: Sequence[int]) -> Pair:
    """Return the two shapes that have the contacts `numbers`."""
    return system.kept(("separated", numbers[0]), lambda: Pair(system, numbers[0]))


class SeparatedPairs:
    """The pairs of a mode's shapes that touch nowhere.

    Parameters
    ----------
    system : ContactSystem
    mode : Mode
    unarmed : set of str
        Margins that start at zero: ``<contact>.gap`` of one that came apart at this instant.
    """

    def __init__(self, system: ContactSystem, mode: Mode, unarmed: frozenset[str] = frozenset()) -> None:
        self.system, self.mode = system, mode
        flying = [] if mode.rest else [numbers for numbers in system.pairs if self._flies(numbers)]
        self.pairs = [separated_pair(system, numbers) for numbers in flying]
        self._open = {
            pair.number: not any(
                f"{system.contact_pairs[i].contact}.gap" in unarmed for i in system.pair_of(pair.number)
            )
            for pair in self.pairs
        }

    @classmethod
    def of(cls, system: ContactSystem, mode: Mode, pairs: list[Pair]) -> SeparatedPairs:
        """Return some pairs alone."""
        made = cls(system, replace(mode, rest=True))
        made.mode, made.pairs = mode, pairs
        return made

    def _flies(self, numbers: Sequence[int]) -> bool:
        ahead = any(self.system.contact_pairs[i].ahead is not None for i in numbers)
        return not ahead and not any(LAWS[self.mode.laws[i]].touching for i in numbers)

    @property
    def margined(self) -> bool:
        """Whether margins of the integrator know the gaps of all of them, but for dips between its steps."""
        return all(self._has_margin(pair.number) for pair in self.pairs)

    def _has_margin(self, number: int) -> bool:
        return self.system.contact_pairs[number].form in ("support", "features")

    def look(self, number: int, t: float, x: FloatArray) -> Look:
        """Return the look at a pair, by its place among the pairs, at the state `x` (n_x,)."""
        return self._look(number, t, np.asarray(self._places(x)).ravel())

    def _look(self, number: int, t: float, row: FloatArray) -> Look:
        d, k = self.system.d, angular_size(self.system.d)
        ends = self._ends(number, d, k)
        A, B = (_place(row[begin:], d, k) for begin in ends)
        return Look(self.pairs[number], float(t), A, B)

    @staticmethod
    def _ends(number: int, d: int, k: int) -> tuple[int, int]:
        size = d * d + 3 * d + k
        return 2 * number * size, (2 * number + 1) * size

    def _doubtful(self, number: int, times: FloatArray, rows: FloatArray) -> FloatArray:
        """Return which intervals between looks, by number, balls around the shapes do not show to be without a touch.

        ``rows`` (N, m): the places at the times.
        """
        d, k, pair = self.system.d, angular_size(self.system.d), self.pairs[number]
        begins, (r_A, r_B) = self._ends(number, d, k), pair.radii
        c_A, c_B = (rows[:, b + d * d + 2 * d + k :][:, :d] for b in begins)
        if r_A + r_B < np.inf:
            gaps = np.linalg.norm(c_A - c_B, axis=1) - r_A - r_B
        else:
            b, inner, shape = (begins[1], c_A, pair.B) if r_A < np.inf else (begins[0], c_B, pair.A)
            R = rows[:, b : b + d * d].reshape(-1, d, d)  # transposed: by columns
            local = np.einsum("nij,nj->ni", R, inner - rows[:, b + d * d :][:, :d])
            gaps = Cover(shape).exactly(local)[0] - min(r_A, r_B)
        ways = np.zeros(len(times) - 1)
        v, w = ([rows[:, b + d * d + d + at :][:, :size] for b in begins] for at, size in ((k, d), (0, k)))
        relative = v[0] - v[1]
        if r_A + r_B < np.inf:
            speeds, turns = np.linalg.norm(relative, axis=1), [(pair.arms[i], w[i]) for i in (0, 1)]
        else:
            spin, arm = (w[1], c_A - c_B) if r_A < np.inf else (w[0], c_A - c_B)
            # Seen by the endless one, which carries the other's centre with it.
            center = rows[:, (begins[1] if r_A < np.inf else begins[0]) + d * d :][:, :d]
            arm = (c_A if r_A < np.inf else c_B) - center
            carried = _turns(spin, arm)
            own, base = (
                (v[0], v[1] + _turns(w[1], center - c_B)) if r_A < np.inf else (v[1], v[0] + _turns(w[0], center - c_A))
            )
            relative = own - base - carried
            speeds, turns = np.linalg.norm(relative, axis=1), [(min(pair.arms), w[0] - w[1])]
        change = np.linalg.norm(np.diff(relative, axis=0), axis=1)
        for arm, spin in turns:
            speeds = speeds + arm * np.linalg.norm(spin, axis=1)
            change = change + arm * np.linalg.norm(np.diff(spin, axis=0), axis=1)
        ways = (np.maximum(speeds[1:], speeds[:-1]) + _CHANGES * change) * np.diff(times)
        return np.flatnonzero(~(gaps[1:] + gaps[:-1] > ways) | ~(np.minimum(gaps[1:], gaps[:-1]) > 0))

    @cached_property
    def _places(self) -> ca.Function:
        """X -> places of A and B of each pair."""
        key = ("places of pairs", tuple(pair.number for pair in self.pairs), self.mode.atlas)
        return self.system.kept(key, self._expressions)

    def _expressions(self) -> ca.Function:
        model, found = self.system.model(self.mode.atlas), []
        W = model.to_world
        for pair in self.pairs:
            contact = self.system.contact_pairs[pair.number]
            origins = (contact.center_A, (0.0,) * self.system.d)
            for name, origin, center in zip((contact.body_A, contact.body_B), origins, pair.centers, strict=True):
                motion = model.motions[name]
                shape, middle = (
                    motion.at(ca.SX(ca.DM(list(origin)))),
                    motion.at(ca.SX(ca.DM(center + np.array(origin)))),
                )
                spin = motion.w if self.system.d == 2 else W @ motion.w
                found += [ca.vec(W @ shape.R), W @ shape.p, spin, W @ middle.v, W @ middle.p]
        return ca.Function("places", [model.x], [ca.densify(ca.vertcat(*found))])

    def first_touch(
        self, times: FloatArray, states: FloatArray, state_at: StateAt, ended: frozenset[int] = frozenset()
    ) -> tuple[Look, Look] | None:
        """Return looks just before and at, or after, the first touch of any pair, or None.

        Parameters
        ----------
        times, states : (N,), (N, n_x)
            Ascending; the first is the start of the interval looked at.
        state_at : callable
            Integrates from the start to a time inside.
        ended : set of int
            Pairs whose touch at the last time is known.
        """
        if not self.pairs or len(times) < 2 or (self.margined and times[-1] - times[0] < BETWEEN_STEPS):
            return None
        best: tuple[Look, Look] | None = None
        rows = np.asarray(self._places(states.T)).T
        for j, pair in enumerate(self.pairs):
            found = self._first(j, times, rows, state_at, pair.number in ended)
            if found is not None and (best is None or found[1].t < best[1].t):
                best = found
        return best

    def _first(
        self, j: int, times: FloatArray, rows: FloatArray, state_at: StateAt, ended: bool
    ) -> tuple[Look, Look] | None:
        number, last = self.pairs[j].number, len(times) - 1

        def look(t: float, near: Look) -> Look:
            return replace(self.look(j, t, state_at(t)), guess=near.normal)

        doubtful = self._doubtful(j, times, rows)
        if not self._open[number] and not np.isin(0, doubtful):
            self._open[number] = True
        before: Look | None = None
        for k in doubtful:
            a = before if before is not None and before.t == times[k] else self._look(j, times[k], rows[k])
            before = b = self._look(j, times[k + 1], rows[k + 1])
            known = ended and k + 1 == last
            if not self._open[number]:
                if b.apart_at_least > TOUCHED or b.gap > TOUCHED:
                    self._open[number] = True
                elif b.gap < -SUNK and b.speed < -_STILL and not self._has_margin(number):
                    return self._sunk(a, b, look)
                continue
            found = first_in(a, b, look, known)
            if found is not None:
                return found
        return None

    def _sunk(self, a: Look, b: Look, look: Callable[[float, Look], Look]) -> tuple[Look, Look]:
        """Return where a pair that has not been seen open touches: after the last instant at which it was open."""
        for t in np.linspace(b.t, a.t, 9)[1:-1]:
            middle = look(float(t), b)
            if middle.gap > TOUCHED:
                return first_in(middle, b, look, False) or (middle, b)
        return a, b


def first_in(a: Look, b: Look, look: Callable[[float, Look], Look], known: bool) -> tuple[Look, Look] | None:
    """Return looks before and after the first touch between `a`, at which the pair is apart, and `b`, or None.

    ``known``: that b touches is no news.
    """
    waiting = [(a, b)]
    while waiting:
        a, b = waiting.pop()
        sunk = b.apart_at_least <= 0 and b.gap <= 0 and not (known and not waiting and abs(b.gap) < SUNK)
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


def _place(row: FloatArray, d: int, k: int) -> Place:
    ends = np.cumsum([d * d, d, k, d, d])
    R, p, w, v, c = np.split(row[: ends[-1]], ends[:-1])
    return Place(R.reshape(d, d).T, p, w, v, c)
