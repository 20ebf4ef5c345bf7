"""Separated: pairs of shapes that are apart, and the first instant at which one of them touches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.contact.laws import LAWS
from trundle.geometry.queries.cloud import Cover
from trundle.models.tree.system import ContactSystem
from trundle.numerics.space import angular_size
from trundle.simulate.events.advancement import CHANGES, SUNK, TOUCHED, Look, Pair, Place, StateAt, first_in
from trundle.simulate.mode import Mode

BETWEEN_STEPS = 2.001e-3
"""s, within which margins of the integrator see every touch themselves, but for that of bodies that pass each other."""
_SOONEST = 2.0**-12
"""Part of the time between two looks after which a pair that comes apart is looked at first, if not sooner."""
_STILL = 1e-9
"""m/s. A pair that approaches more slowly stays as it is."""


def separated_pair(system: ContactSystem, numbers: Sequence[int]) -> Pair:
    """Return the two shapes that have the contacts `numbers`."""
    return system.kept(("separated", numbers[0]), lambda: Pair(system, numbers[0]))


def whole_gap(system: ContactSystem, mode: Mode, t: float, x: FloatArray, contact: int) -> float:
    """Return the distance (m) of the two shapes that have a contact, as wholes, at the state `x`."""
    pair = separated_pair(system, system.pair_of(contact))
    return SeparatedPairs.of(system, mode, [pair]).look(0, t, x).gap


class SeparatedPairs:
    """The pairs of a mode's shapes that touch nowhere.

    Parameters
    ----------
    system : ContactSystem
    mode : Mode
    unarmed : set of str
        Margins that start at zero: ``<contact>.gap`` of one that came apart at this instant.
    margined : set of int
        Contacts with coordinates of their own whose gap is a margin, too.
    """

    def __init__(
        self,
        system: ContactSystem,
        mode: Mode,
        unarmed: frozenset[str] = frozenset(),
        margined: frozenset[int] = frozenset(),
    ) -> None:
        self.system, self.mode, self._margined = system, mode, margined
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
        # A rim's margin waits while its face is down, whose points are not followed in flight.
        known = self.system.contact_pairs[number].form == "support" and number not in self.system.faces
        return known or number in self._margined

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

    def _doubtful(self, number: int, times: FloatArray, rows: FloatArray) -> NDArray[np.intp]:
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
        ways = (np.maximum(speeds[1:], speeds[:-1]) + CHANGES * change) * np.diff(times)
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

    def first_touches(
        self, times: FloatArray, states: FloatArray, state_at: StateAt, ended: frozenset[int] = frozenset()
    ) -> list[tuple[Look, Look]]:
        """Return looks just before and at, or after, the first touch of each pair that may be the first of all.

        Which one that is only their instants tell: looks at several pairs may be at the same times.

        Parameters
        ----------
        times, states : (N,), (N, n_x)
            Ascending; the first is the start of the interval looked at.
        state_at : callable
            Integrates from the start to a time inside.
        ended : set of int
            Pairs whose touch at the last time is known.
        """
        brief = self.margined and times[-1] - times[0] <= BETWEEN_STEPS
        if not self.pairs or len(times) < 2 or (brief and not self._balls.size):
            return []
        rows = np.asarray(self._places(states.T)).T
        looked_at = self._passing(times, rows) if brief else range(len(self.pairs))
        met = [self._first(j, times, rows, state_at, self.pairs[j].number in ended) for j in looked_at]
        found = [looks for looks in met if looks is not None]
        over = min((after.t for _, after in found), default=0.0)
        return [(before, after) for before, after in found if before.t <= over]

    @cached_property
    def _balls(self) -> NDArray[np.intp]:
        """Pairs, by their places, of two shapes that balls hold: those may pass through each other."""
        return np.flatnonzero([sum(pair.radii) < np.inf for pair in self.pairs])

    def _passing(self, times: FloatArray, rows: FloatArray) -> list[int]:
        """Return those of the pairs of balls that may have been through each other between looks, by their places."""
        d, k = self.system.d, angular_size(self.system.d)
        found = rows[:, : 2 * len(self.pairs) * (d * d + 3 * d + k)].reshape(len(rows), len(self.pairs), 2, -1)
        centers, velocities = found[:, self._balls, :, -d:], found[:, self._balls, :, -2 * d : -d]
        apart = np.linalg.norm(centers[:, :, 0] - centers[:, :, 1], axis=-1)
        speed = np.linalg.norm(velocities[:, :, 0] - velocities[:, :, 1], axis=-1)
        reach = np.array([sum(self.pairs[j].radii) for j in self._balls])
        ways = 2.0 * np.maximum(speed[1:], speed[:-1]) * np.diff(times)[:, None]
        doubt = np.any(apart[1:] + apart[:-1] - 2.0 * reach <= ways, axis=0)
        return self._balls[doubt].tolist()

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
            a = before if before is not None and before.t == times[k] else self._look(j, float(times[k]), rows[k])
            before = b = self._look(j, float(times[k + 1]), rows[k + 1])
            known = ended and k + 1 == last
            if not self._open[number]:
                # Of two balls the margin itself waits until it is open, and is looked after (`recontact`).
                known_apart = b if b.gap > TOUCHED else None
                opened = known_apart if number in self._margined else _opened(a, b, look)
                if opened is None:
                    if b.gap < -SUNK and b.speed < -_STILL and not self._has_margin(number):
                        return self._sunk(a, b, look)
                    continue
                a, self._open[number] = opened, True
                if a is b:
                    continue
            found = first_in(a, b, look, known)
            if found is not None and not _stays(*found):
                return found
        return None

    def _sunk(self, a: Look, b: Look, look: Callable[[float, Look], Look]) -> tuple[Look, Look]:
        """Return where a pair that has not been seen open touches: after the last instant at which it was open."""
        for t in np.linspace(b.t, a.t, 9)[1:-1]:
            middle = look(float(t), b)
            if middle.gap > TOUCHED:
                return first_in(middle, b, look, False) or (middle, b)
        return replace(a, opened=False), b


def _opened(a: Look, b: Look, look: Callable[[float, Look], Look]) -> Look | None:
    """Return an early look at which a pair that comes apart at `a` is open, as it may be back before `b`; or None."""
    h = min(2.0 * TOUCHED / max(a.speed, _STILL), _SOONEST * (b.t - a.t))
    while h < b.t - a.t:
        middle = look(a.t + h, a)
        if middle.gap > TOUCHED:
            return middle
        h *= 2.0
    return b if b.apart_at_least > TOUCHED or b.gap > TOUCHED else None


def _stays(before: Look, after: Look) -> bool:
    """Return whether a pair touches from the start, without a force, and does not approach: it goes on as it is."""
    return before.gap <= TOUCHED and after.gap > -SUNK and min(before.speed, after.speed) > -_STILL


def _place(row: FloatArray, d: int, k: int) -> Place:
    ends = np.cumsum([d * d, d, k, d, d])
    R, p, w, v, c = np.split(row[: ends[-1]], ends[:-1])
    return Place(R.reshape(d, d).T, p, w, v, c)


def _turns(w: FloatArray, r: FloatArray) -> FloatArray:
    """Return w x r (N, d) of rows."""
    return w * np.stack([-r[:, 1], r[:, 0]], axis=1) if r.shape[1] == 2 else np.cross(w, r)
