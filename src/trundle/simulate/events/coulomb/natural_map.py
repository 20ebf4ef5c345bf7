"""Newton's method on the natural map of Coulomb's law: exact from a guess near an answer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trundle.checks import FloatArray
from trundle.simulate.events.coulomb.contacts import BoolArray, Contacts, IntArray

_HALVINGS = 12  # of a Newton step at most: to a part in 4096
_ROUND_OFF = 1e-14
"""Of the impulses: where the iteration ends."""
_RIDGE = 1e-9
"""Added to equations of redundant contacts: far below what couples contacts, far above round-off."""
_RANK = 1e-10
"""Of the largest singular value of the slope: what redundant contacts leave open, and round-off."""
_REFINING = (1e-10, 1e-10, 1e-12, 1e-10, 1e-11, 1e-13)
"""The same where impulses are refined: under heavy bodies little is between what is open and what is not."""
_NEAR = 1e-5
"""Of F: where a ridge may be what keeps it from round-off."""
_DESCENT = 1e-4  # part of the promised decrease that a step must keep, as usual
_STALL = 6
"""Steps in which the merit has to fall to a hundredth where one is not patient."""


_Cones = tuple[FloatArray, FloatArray, FloatArray, BoolArray]


class NaturalMap:
    """F(L) = L - P(L - v), with P onto L_n >= least and the disc of radius mu P_n (Alart & Curnier 1991).

    Of contacts that are scaled (`Contacts.scale`), with v = before + D L. P_t = -mu P_n e for a slip e that goes on.
    Of contacts that are `jammed` (m,), without a limit of friction, F has the rows L_n, v_n and what of L_t is not
    along v_t.
    """

    def __init__(self, contacts: Contacts, regular: bool, jammed: BoolArray | None = None) -> None:
        self.contacts, self.regular, self.jammed = contacts, regular, jammed
        self.v0 = contacts.before.ravel()
        self.identity = np.eye(len(self.v0))
        self.rest = self.identity - contacts.D
        self.finite = np.where(contacts.unlimited, 0.0, contacts.friction)

    def newton(self, L: FloatArray, steps: int, patient: bool = True) -> FloatArray:
        """Return where the iteration from a guess (m d,) ends, projected: what parts has not even round-off left."""
        F, trial, cones = self.values(L)
        merit = float(F @ F)
        past = [merit]
        for _ in range(steps):
            if merit <= _ROUND_OFF**2 * (0.01 + float(L @ L)):
                break
            if not patient and len(past) > _STALL and merit > 1e-2 * past[-1 - _STALL]:
                break
            for step in self._steps(trial, cones, L, F):
                ahead = self._ahead(L, step, merit)
                if ahead is not None:
                    break
            else:
                break
            L, F, trial, cones, merit = ahead
            past.append(merit)
        return self._project_free(L, F)

    def _project_free(self, L: FloatArray, F: FloatArray) -> FloatArray:
        """Return P of what is not jammed."""
        if self.jammed is None:
            return L - F
        return L - np.where(np.repeat(self.jammed, self.contacts.d), 0.0, F)

    def refine(self, L: FloatArray) -> Iterator[FloatArray]:
        """Yield what whole steps make of impulses that are nearly an answer, none larger than round-off asks for."""
        for rank in _REFINING:
            F, trial, cones = self.values(L)
            L = L + np.linalg.lstsq(self.slope(trial, cones, L), -F, rcond=rank)[0]
            yield self._project_free(L, self.values(L)[0])

    def _ahead(
        self, L: FloatArray, step: FloatArray, merit: float
    ) -> tuple[FloatArray, FloatArray, FloatArray, _Cones, float] | None:
        """Return L, F, the trial pushes, their cones and the merit where a part of a step makes it smaller, or None."""
        part = 1.0
        for _ in range(_HALVINGS if merit > _NEAR**2 else 2):
            ahead = L + part * step
            F, trial, cones = self.values(ahead)
            merit_ahead = float(F @ F)
            if merit_ahead < (1.0 - _DESCENT * part) * merit:
                return ahead, F, trial, cones, merit_ahead
            part /= 2.0
        return None

    def _steps(self, trial: FloatArray, cones: _Cones, L: FloatArray, F: FloatArray) -> Iterator[FloatArray]:
        """Yield Newton's step; of redundant contacts with a ridge, and where that is not exact enough, the least."""
        slope = self.slope(trial, cones, L)
        try:
            step = np.linalg.solve(slope if self.regular else slope + _RIDGE * self.identity, -F)
            yield np.asarray(step, dtype=np.float64)
        except np.linalg.LinAlgError:
            pass
        if not self.regular and float(np.abs(F).max()) > _NEAR:
            return
        yield np.asarray(np.linalg.lstsq(slope, -F, rcond=_RANK)[0], dtype=np.float64)

    def values(self, L: FloatArray) -> tuple[FloatArray, FloatArray, _Cones]:
        """Return F (m d,), the trial pushes L - v (m, d) and where they are to their cones."""
        m, d = self.contacts.m, self.contacts.d
        trial = (L - self.v0 - self.contacts.D @ L).reshape(m, d)
        cones = self._cones(trial)
        F = L - self._inside(trial, cones).ravel()
        if self.jammed is not None and self.jammed.any():
            F = F.reshape(m, d)
            at = np.flatnonzero(self.jammed)
            push = L.reshape(m, d)[at]
            v, e, _ = self._slipping(trial, L, at)
            along = np.sum(e * push[:, 1:], axis=1)
            F[at, 0] = push[:, 0]
            F[at, 1:] = push[:, 1:] + (v[:, 0] - along)[:, None] * e
            F = F.ravel()
        return F, trial, cones

    def slope(self, trial: FloatArray, cones: _Cones, L: FloatArray) -> FloatArray:
        """Return the generalised Jacobian of F (m d, m d)."""
        c, n = self.contacts, len(self.v0)
        rest = self.rest.reshape(c.m, c.d, n)
        normal, size, part, slips = cones
        dP = rest.copy()
        dP[trial[:, 0] <= c.least, 0] = 0.0
        at = np.flatnonzero(slips)
        if len(at):
            e = trial[at, 1:] / size[at, None]
            dP[at, 1:] = (self.finite[at, None] * e)[:, :, None] * dP[at, :1]
            if c.d == 3:
                turned = rest[at, 1:]
                across = turned - e[:, :, None] * (e[:, None, :] @ turned)
                dP[at, 1:] += part[at, None, None] * across
        if c.special:
            at = np.flatnonzero(c.slides)
            dP[at, 1:] = -(self.finite[at, None] * c.slips[at])[:, :, None] * dP[at, :1]
        dP[normal == 0.0] = 0.0
        slope = self.identity - dP.reshape(n, n)
        if self.jammed is not None and self.jammed.any():
            self._jam(slope.reshape(c.m, c.d, n), trial, L)
        return slope

    def _jam(self, rows: FloatArray, trial: FloatArray, L: FloatArray) -> None:
        """Set the rows (m, d, m d) of the slope of contacts that are jammed."""
        c, n = self.contacts, len(self.v0)
        at = np.flatnonzero(self.jammed)  # pyright: ignore[reportArgumentType]
        v, e, speed = self._slipping(trial, L, at)
        push = L.reshape(c.m, c.d)[at, 1:]
        own, D = self.identity.reshape(c.m, c.d, n)[at], c.D.reshape(c.m, c.d, n)[at]
        flat = np.eye(c.d - 1) - e[:, :, None] * e[:, None, :]
        turned = flat @ D[:, 1:] / speed[:, None, None]  # how e turns
        along = np.sum(e * push, axis=1)
        rows[at, 0] = own[:, 0]
        rows[at, 1:] = (
            flat @ own[:, 1:]
            + e[:, :, None] * (D[:, :1] - push[:, None, :] @ turned)
            + (v[:, 0] - along)[:, None, None] * turned
        )

    def _slipping(self, trial: FloatArray, L: FloatArray, at: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return velocities, directions of slip and speeds of some contacts."""
        v = L.reshape(trial.shape)[at] - trial[at]
        speed = np.maximum(np.sqrt(np.sum(v[:, 1:] ** 2, axis=1)), 1e-300)
        return v, v[:, 1:] / speed[:, None], speed

    def _inside(self, trial: FloatArray, cones: _Cones) -> FloatArray:
        """Return P of all contacts (m, d)."""
        c = self.contacts
        normal, _, part, _ = cones
        inside = part[:, None] * trial
        inside[:, 0] = normal
        if c.special:
            at = np.flatnonzero(c.slides)
            inside[at, 1:] = -(self.finite[at] * normal[at])[:, None] * c.slips[at]
        return inside

    def _cones(self, trial: FloatArray) -> _Cones:
        """Return P_n, |trial_t|, the part of trial_t that is P_t, and where that is not all of it, each (m,)."""
        c = self.contacts
        normal = np.maximum(trial[:, 0], c.least)
        t = trial[:, 1:]
        size = np.sqrt(np.einsum("ij,ij->i", t, t))
        room = np.where(normal > 0.0, c.friction, 0.0) * normal if c.special else c.friction * normal
        slips = size > room
        part = np.ones(c.m)
        np.divide(room, size, out=part, where=slips)
        return normal, size, part, slips
