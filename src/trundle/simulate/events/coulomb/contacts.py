"""Contacts that meet, and how far impulses are from Coulomb's law at them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]

_EXACT = 1e-10
"""Largest residual of an answer, of the largest speed there is."""
_OF_TERMS = 1e-5
"""Of the terms of D L that counts as a speed: with `_EXACT` some units in the last place of the sum, which is all that
is known of a velocity where heavy bodies push through light ones."""
_SMALLEST = 1e-300  # speed that is divided by: none is zero


@dataclass(frozen=True)
class ContactImpulses:
    """What the contacts push and do.

    Attributes
    ----------
    impulses : (m, d) N s
        In each contact's axes, the normal first.
    velocities : (m, d) m/s
        After them.
    residual : float
        By how much velocities, and impulses times the contact's own 1/mass, would have to change for Coulomb's law to
        hold exactly, of the largest speed there is.
    """

    impulses: FloatArray
    velocities: FloatArray
    residual: float

    @property
    def exact(self) -> bool:
        """Whether the law holds."""
        return self.residual <= _EXACT


@dataclass(frozen=True)
class Contacts:
    """The problem of `contact_impulses`.

    Attributes
    ----------
    D : (m d, m d) 1/kg
    before : (m, d) m/s
    friction : (m,)
    least : (m,) N s
    slips : (m, d - 1)
        Unit directions of slips that go on; zeros where the contact may stick.
    """

    D: FloatArray
    before: FloatArray
    friction: FloatArray
    least: FloatArray
    slips: FloatArray

    @property
    def m(self) -> int:
        """Return the number of contacts."""
        return self.before.shape[0]

    @property
    def d(self) -> int:
        """Return 2 in the plane, 3 in space."""
        return self.before.shape[1]

    @cached_property
    def mobility(self) -> FloatArray:
        """Return each contact's own 1/mass (m,), 1/kg: its largest eigenvalue; one where nothing moves."""
        blocks = np.einsum("iaib->iab", self.D.reshape(self.m, self.d, self.m, self.d))
        largest = np.linalg.eigvalsh(blocks)[:, -1]
        return np.where(largest > 0.0, largest, 1.0)

    @cached_property
    def unlimited(self) -> BoolArray:
        """Return which contacts have no limit of friction (m,)."""
        return np.isinf(self.friction)

    @cached_property
    def slides(self) -> BoolArray:
        """Return which contacts have a slip that goes on (m,)."""
        return np.asarray(self.slips.any(axis=1), dtype=np.bool_)

    @cached_property
    def special(self) -> bool:
        """Whether a contact has no limit of friction or a slip that goes on."""
        return bool(self.unlimited.any() or self.slides.any())

    def scale(self) -> tuple[Contacts, FloatArray]:
        """Return the same problem with every contact's mobility and the largest speed one, and its units (m, 1), N s.

        Each contact has a unit of its own, L_i = unit_i L'_i, so that its cone stays what it is.
        """
        root = np.sqrt(self.mobility)
        rows = np.repeat(root, self.d)
        before = self.before / root[:, None]
        speed = float(np.abs(before).max(initial=0.0))
        speed = speed if speed > 0.0 else 1.0
        unit = speed / root
        D = self.D / np.multiply.outer(rows, rows)
        return Contacts(D, before / speed, self.friction, self.least / unit, self.slips), unit[:, None]

    def islands(self) -> Iterator[IntArray]:
        """Yield the numbers of contacts that moving bodies couple."""
        m, d = self.m, self.d
        if m == 1:
            yield np.arange(1)
            return
        coupled = np.asarray(self.D.reshape(m, d, m, d).any(axis=(1, 3)), dtype=np.bool_)
        if coupled.all():
            yield np.arange(m)
            return
        coupled[np.diag_indices(m)] = True
        names = np.arange(m)
        while True:
            spread = np.where(coupled, names, m).min(axis=1)
            if np.array_equal(spread, names):
                break
            names = spread
        for name in np.unique(names):
            yield np.flatnonzero(names == name)

    def island(self, numbers: IntArray) -> Contacts:
        """Return the problem of some contacts alone."""
        rows = (self.d * numbers[:, None] + np.arange(self.d)).ravel()
        return Contacts(
            self.D[np.ix_(rows, rows)],
            self.before[numbers],
            self.friction[numbers],
            self.least[numbers],
            self.slips[numbers],
        )

    def judge(self, impulses: FloatArray, speed: float = 0.0) -> ContactImpulses:
        """Return impulses (m, d) with their velocities and residual; `speed` (m/s) is there, too, elsewhere.

        A pair (L_n, v_n) or (L_t, v_t) is as far from the law as it is from the pair that L - v/D_i gives by projection
        (on what is at least given, or on the disc of friction), which obeys it.
        """
        after = self.before + (self.D @ impulses.ravel()).reshape(self.m, self.d)
        speed = max(speed, float(np.abs(self.before).max()), float(np.abs(after).max()), _SMALLEST)
        missing = self._missing(impulses, after)
        residual = float(missing.max()) / speed
        if residual > _EXACT:
            terms = (np.abs(self.D) @ np.abs(impulses).ravel()).reshape(self.m, self.d).max(axis=1)
            residual = float((missing / np.maximum(speed, _OF_TERMS * terms)).max())
        return ContactImpulses(impulses, after, residual)

    def _missing(self, L: FloatArray, v: FloatArray) -> FloatArray:
        """Return what is missing at each contact (m,), m/s."""
        mobility = self.mobility
        normal = np.minimum(v[:, 0], mobility * (L[:, 0] - self.least))
        push = np.maximum(L[:, 0], 0.0)
        if not self.special:
            return np.hypot(normal, self._rubs(L, v, self.friction * push))
        limited = np.where(self.unlimited, 0.0, self.friction)
        with np.errstate(invalid="ignore"):
            room = np.where(push > 0.0, self.friction, 0.0) * push
        across = self._rubs(L, v, room)
        across = np.where(self.slides, mobility * lengths(L[:, 1:] + (limited * push)[:, None] * self.slips), across)
        missing = np.hypot(normal, across)
        # Without a limit friction may jam: it pushes against a slip that is left although the normal does not push.
        pressed = np.hypot(mobility * (L[:, 0] - self.least), v[:, 0])
        jammed = np.hypot(pressed, self._rubs(L, v, lengths(L[:, 1:])))
        return np.where(self.unlimited & (self.least == 0.0), np.minimum(missing, jammed), missing)

    def _rubs(self, L: FloatArray, v: FloatArray, room: FloatArray) -> FloatArray:
        """Return what the tangential parts miss (m,), m/s, with friction up to `room` (m,), N s."""
        trial = L[:, 1:] - v[:, 1:] / self.mobility[:, None]
        size = lengths(trial)
        beyond = size > room
        part = np.ones(self.m)
        np.divide(room, size, out=part, where=beyond)
        return self.mobility * lengths(L[:, 1:] - part[:, None] * trial)


def lengths(t: FloatArray) -> FloatArray:
    """Return the lengths of the rows (m,)."""
    return np.sqrt(np.einsum("ij,ij->i", t, t))
