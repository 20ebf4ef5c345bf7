"""Proximal points of Coulomb's law: what comes near an answer from anywhere."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trundle.checks import FloatArray
from trundle.simulate.events.coulomb.cones import FrictionCones, Projection
from trundle.simulate.events.coulomb.contacts import Contacts

_RANK = 1e-14
"""Of the largest eigenvalue of D: what is below is round-off."""
_STEPS, _HALVINGS = 40, 10
_SOLVED = 1e-13  # of the largest speed: residual of a solution
_NEARLY = 1e-9
"""Of the merit's root: where steps end that no longer make it smaller, by round-off."""
_FIRST, _SOFTEST, _STIFFEST = 1e2, 1e-2, 1e9
_STIFFER, _SOFTER = 5.0, 10.0
"""The stiffness of a proximal point, and by how much the next is stiffer after one that was found, or softer."""
_DESCENT = 1e-4  # part of the promised decrease that a step must keep, as usual


class ProximalPoints:
    """Answers of contacts that give way a little, at most 1/stiffness, about the answer before.

    In De Saxce and Feng's form, with u in the range of D = A A' and v = before + A u,

        L = P_K(c - stiffness (v + mu |v_t| n)),   u = A' L,

    which has no null directions, by Newton's method with a search along each step. c = L before, and zero first, so
    that the first are near the least impulses. Where a step fails, the next point is softer: it is the nearer to c the
    softer it is, and from some softness on Newton's method finds it. What fails still is replaced by the convex problem
    with the slips |v_t| of the point before (Acary & Cadoux 2013), a minimum that damped steps of Newton always find.

    Parameters
    ----------
    contacts
        Scaled; all with a limit of friction.
    points : int
        At most.
    """

    def __init__(self, contacts: Contacts, points: int) -> None:
        self.contacts, self.points = contacts, points
        sizes, vectors = np.linalg.eigh(contacts.D)
        kept = sizes > _RANK * sizes[-1]
        self.A = vectors[:, kept] * np.sqrt(sizes[kept])
        self.rows = self.A.reshape(contacts.m, contacts.d, -1)
        self.mu = contacts.friction
        self.cones = FrictionCones(contacts)

    def __iter__(self) -> Iterator[FloatArray]:
        """Yield impulses (m d,), one after the other nearer to an answer in general."""
        m = self.contacts.m
        c, u = np.zeros((m, self.contacts.d)), np.zeros(self.A.shape[1])
        slip, stiffness = np.zeros(m), _FIRST
        for _ in range(self.points):
            found = self._point(u, c, stiffness)
            if found is not None:
                u, c, slip = found
                stiffness = min(_STIFFER * stiffness, _STIFFEST)
                yield c.ravel()
            elif stiffness > _SOFTEST:
                stiffness /= _SOFTER
            else:
                stiffness = _FIRST
                u, c = self._convex(u, c, stiffness, slip)
                slip = self._shift(self._velocities(u))
                yield c.ravel()

    def _velocities(self, u: FloatArray) -> FloatArray:
        return self.contacts.before + (self.A @ u).reshape(self.contacts.before.shape)

    def _shift(self, v: FloatArray) -> FloatArray:
        """Return |v_t|, or e.v_t of a slip that goes on (m,)."""
        size = np.sqrt(np.sum(v[:, 1:] ** 2, axis=1))
        return np.where(self.contacts.slides, np.sum(self.contacts.slips * v[:, 1:], axis=1), size)

    def _values(self, u: FloatArray, c: FloatArray, stiffness: float) -> tuple[FloatArray, Projection, FloatArray]:
        """Return u - A'L, the pushes and the velocities."""
        v = self._velocities(u)
        trial = c - stiffness * v
        trial[:, 0] -= stiffness * self.mu * self._shift(v)
        cones = self.cones.project(trial)
        return u - self.A.T @ cones.pushes.ravel(), cones, v

    def _point(
        self, u: FloatArray, c: FloatArray, stiffness: float
    ) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Return u, the pushes (m, d) and the slips (m,) of the proximal point, or None."""
        R, cones, v = self._values(u, c, stiffness)
        merit = float(R @ R)
        for _ in range(_STEPS):
            if merit <= (_SOLVED * (1.0 + float(np.abs(u).max()))) ** 2:
                return u, cones.pushes, self._shift(v)
            # The normal speed is v_n + mu |v_t|: its slope has the direction of the slip.
            e = v[:, 1:] / np.maximum(np.sqrt(np.sum(v[:, 1:] ** 2, axis=1)), 1e-300)[:, None]
            e = np.where(self.contacts.slides[:, None], self.contacts.slips, e)
            rows = self.rows.copy()
            rows[:, 0] += self.mu[:, None] * (e[:, None, :] @ self.rows[:, 1:])[:, 0]
            step = self._step(cones, rows, stiffness, R)
            part = 1.0
            for _ in range(_HALVINGS):
                R_ahead, cones_ahead, v_ahead = self._values(u + part * step, c, stiffness)
                merit_ahead = float(R_ahead @ R_ahead)
                if merit_ahead < (1.0 - _DESCENT * part) * merit:
                    break
                part /= 2.0
            else:
                break
            u, R, cones, v, merit = u + part * step, R_ahead, cones_ahead, v_ahead, merit_ahead
        return (u, cones.pushes, self._shift(v)) if merit < _NEARLY**2 else None

    def _convex(
        self, u: FloatArray, c: FloatArray, stiffness: float, slip: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return u and the pushes at the least |u|^2/2 + |P_K(c - stiffness (v + mu slip n))|^2/(2 stiffness)."""
        ahead = c - stiffness * self.contacts.before
        ahead[:, 0] -= stiffness * self.mu * slip

        def values(u: FloatArray) -> tuple[float, Projection]:
            cones = self.cones.project(ahead - stiffness * (self.A @ u).reshape(c.shape))
            return float(u @ u) / 2.0 + self._envelope(cones) / stiffness, cones

        value, cones = values(u)
        for _ in range(_STEPS):
            slope = u - self.A.T @ cones.pushes.ravel()
            step = self._step(cones, self.rows, stiffness, slope)
            fall = float(slope @ step)
            part = 1.0
            for _ in range(_HALVINGS):
                value_ahead, cones_ahead = values(u + part * step)
                if value_ahead <= value + _DESCENT * part * fall:
                    break
                part /= 2.0
            else:
                break
            u, value, cones = u + part * step, value_ahead, cones_ahead
            if -fall <= 1e-16 * abs(value):
                break
        return u, cones.pushes

    def _envelope(self, cones: Projection) -> float:
        """Return (|x|^2 - |x - P_K x|^2)/2, whose slope is P_K x."""
        apart = cones.trial - cones.pushes
        return float(np.sum(cones.trial**2) - np.sum(apart**2)) / 2.0

    def _step(self, cones: Projection, rows: FloatArray, stiffness: float, R: FloatArray) -> FloatArray:
        """Return Newton's step of u."""
        r = len(R)
        turned = (self.cones.slopes(cones) @ rows).reshape(-1, r)
        return np.asarray(-np.linalg.solve(np.eye(r) + stiffness * self.A.T @ turned, R), dtype=np.float64)
