"""Coulomb's law at several contacts at once: the cone complementarity problem of impulses and velocities after them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from trundle.checks import FloatArray

_NEWTON, _HALVINGS = 60, 12
_CONE, _CONES = 1e-12, 12
"""Accuracy and number of the cone programs."""
_ROUND_OFF = 1e-14
"""Of the impulses: where the iteration ends."""
_EXACT = 1e-10
"""Largest residual of an answer, of the velocities and impulses there are."""


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
        How far they are from Coulomb's law, of the largest velocity and impulse.
    """

    impulses: FloatArray
    velocities: FloatArray
    residual: float

    @property
    def exact(self) -> bool:
        """Whether the law holds."""
        return self.residual <= _EXACT


def contact_impulses(
    D: FloatArray,
    before: FloatArray,
    friction: FloatArray,
    least: FloatArray | None = None,
    guess: FloatArray | None = None,
) -> ContactImpulses:
    """Return impulses L (m, d) and velocities v = before + D L (m, d) of m contacts that obey Coulomb's law.

        0 <= L_n,  0 <= v_n,  L_n v_n = 0,   |L_t| <= mu L_n,   v_t = 0 or L_t = -mu L_n v_t / |v_t|.

    Zeros of the natural map F = L - P(L - r v) (Alart & Curnier 1991), P onto L_n >= 0 and the disc of radius
    mu max(0, L_n - r v_n), by a damped generalised Newton iteration. Started from contacts that all stick, from no
    impulses, and, where that fails, as with soles whose impulses balance each other, from cone programs
    (Acary & Cadoux 2013). Nothing is raised: `residual` says what holds.

    Parameters
    ----------
    D : (m d, m d)
        Symmetric, positive semidefinite: J M^-1 J'.
    before : (m, d) m/s
        In each contact's axes, the normal first.
    friction : (m,)
        inf: contacts that touch do not slip.
    least : (m,) N s, optional
        Normal impulses that are given at least: L_n - least in place of L_n in the first three conditions.
    guess : (m, d) N s, optional
        Where the iteration starts first.
    """
    m, d = before.shape
    least = np.zeros(m) if least is None else least
    problem = _Problem(
        np.asarray(D, dtype=np.float64), before.ravel(), np.asarray(friction, dtype=np.float64), d, least
    )
    best = problem.judged(np.zeros(m * d))
    for start in chain([] if guess is None else [guess.ravel()], problem.starts(), problem.cone_programs()):
        best = min(best, problem.judged(problem.newton(start)), key=lambda one: one.residual)
        if best.exact:
            break
    return best


class _Problem:
    def __init__(self, D: FloatArray, v0: FloatArray, mu: FloatArray, d: int, least: FloatArray) -> None:
        self.D, self.v0, self.mu, self.d, self.m, self.least = D, v0, mu, d, len(mu), least
        blocks = np.einsum("iaib->iab", D.reshape(self.m, d, self.m, d))
        largest = np.linalg.eigvalsh(blocks)[:, -1]
        self.r = np.repeat(1.0 / np.where(largest > 0.0, largest, 1.0), d)

    def starts(self) -> Iterator[FloatArray]:
        """Yield first guesses, those that cost little first."""
        yield np.asarray(np.linalg.lstsq(self.D, -self.v0, rcond=1e-10)[0], dtype=np.float64)
        yield np.zeros(self.m * self.d)

    def cone_programs(self) -> Iterator[FloatArray]:
        """Yield min L'D L/2 + L'(v_0 + mu s n) over the friction cones, with s = |v_t| of the one before, from s = 0.

        With the slips' own s its conditions are Coulomb's law (De Saxce & Feng 1998).
        """
        from clarabel import DefaultSettings, DefaultSolver, NonnegativeConeT, SecondOrderConeT
        from scipy import sparse

        m, d, normal = self.m, self.d, np.arange(self.m * self.d) % self.d == 0
        size, speed = float(np.abs(self.D).max(initial=0.0)), float(np.abs(self.v0).max(initial=0.0))
        if not size * speed > 0.0:
            return
        settings = DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _CONE
        limited = np.isfinite(self.mu)
        mu = np.where(limited, self.mu, 0.0)
        rows = np.diag(np.where(normal, np.repeat(mu, d), 1.0))[np.repeat(limited, d)]
        least = np.concatenate([np.zeros(len(rows)), self.least * size / speed])
        rows = np.vstack([rows, np.eye(m * d)[normal]])
        cones = [SecondOrderConeT(d)] * int(np.sum(limited)) + [NonnegativeConeT(m)]
        terms = sparse.csc_matrix(np.triu(self.D / size)), sparse.csc_matrix(-rows), -least, cones, settings
        ahead = self.v0.reshape(m, d) / speed
        for _ in range(_CONES):
            found = DefaultSolver(terms[0], ahead.ravel(), *terms[1:]).solve()
            L = np.array(found.x) * speed / size
            if not np.all(np.isfinite(L)):
                return
            yield L
            v = (self.v0 + self.D @ L).reshape(m, d) / speed
            ahead[:, 0] = self.v0[::d] / speed + mu * np.linalg.norm(v[:, 1:], axis=1)

    def residual(self, L: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return F and the trial pushes L - r v (m, d)."""
        trial = (L - self.r * (self.v0 + self.D @ L)).reshape(self.m, self.d)
        return L - self.inside(trial).ravel(), trial

    def inside(self, trial: FloatArray) -> FloatArray:
        """Return P of all contacts (m, d)."""
        normal, _, part = self._cones(trial)
        return np.column_stack([normal, part[:, None] * trial[:, 1:]])

    def slope(self, trial: FloatArray) -> FloatArray:
        """Return the generalised Jacobian of F."""
        n = self.m * self.d
        slope = (np.eye(n) - self.r[:, None] * self.D).reshape(self.m, self.d, n)
        normal, size, part = self._cones(trial)
        dP = np.array(slope)
        dP[trial[:, 0] <= self.least, 0] = 0.0
        slides = (part < 1.0) & (normal > 0.0)
        e, turned = (trial[slides, 1:] / size[slides, None])[:, :, None], slope[slides, 1:]
        across = turned - e * np.sum(e * turned, axis=1, keepdims=True)
        dP[slides, 1:] = self.mu[slides, None, None] * e * dP[slides, :1] + part[slides, None, None] * across
        dP[normal == 0.0] = 0.0
        return np.eye(n) - dP.reshape(n, n)

    def _cones(self, trial: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return P_n, |trial_t| and the part of trial_t that is P_t, each (m,)."""
        normal, size = np.maximum(trial[:, 0], self.least), np.linalg.norm(trial[:, 1:], axis=1)
        room = np.where(normal > 0.0, self.mu, 0.0) * normal
        return normal, size, np.where(size > room, room / np.where(size > room, size, 1.0), 1.0)

    def newton(self, L: FloatArray) -> FloatArray:
        """Return where the iteration from a guess ends."""
        F, trial = self.residual(L)
        for _ in range(_NEWTON):
            merit = float(F @ F)
            if merit <= (_ROUND_OFF * (1e-300 + float(np.max(np.abs(L), initial=0.0)))) ** 2:
                break
            step = np.linalg.lstsq(self.slope(trial), -F, rcond=1e-13)[0]
            for part in 0.5 ** np.arange(_HALVINGS):
                F_after, trial_after = self.residual(L + part * step)
                if float(F_after @ F_after) < merit:
                    L, F, trial = L + part * step, F_after, trial_after
                    break
            else:
                break
        return L - F  # P: what parts has no push left, not even round-off

    def judged(self, L: FloatArray) -> ContactImpulses:
        """Return an answer with its residual: each condition for itself, not the map that was solved."""
        d = self.d
        pushes = self.inside(L.reshape(self.m, d))
        v = (self.v0 + self.D @ pushes.ravel()).reshape(self.m, d)
        speed = max(float(np.abs(self.v0).max(initial=0.0)), float(np.abs(v).max(initial=0.0)), 1e-300)
        push = max(float(np.abs(pushes).max(initial=0.0)), 1e-300)
        worst = 0.0
        for v_i, L_i, mu, least in zip(v, pushes, self.mu, self.least, strict=True):
            slip, room = float(np.linalg.norm(v_i[1:])), mu * L_i[0] if L_i[0] > 0.0 else 0.0
            worst = max(worst, -v_i[0] / speed, min((L_i[0] - least) / push, v_i[0] / speed))
            if np.isinf(room):
                worst = max(worst, slip / speed)
            elif room > 0.0:
                # Of the push on the edge against the slip: |L_t + room v_t / |v_t||, or no slip.
                edge = float(np.linalg.norm(L_i[1:] + (room / slip) * v_i[1:])) / push if slip > 0.0 else 0.0
                worst = max(worst, min(edge, slip / speed))
        return ContactImpulses(pushes, v, worst)
