"""Contacts that resist slip, rolling and spin, each by itself, at one normal push."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trundle.checks import FloatArray
from trundle.simulate.events.coulomb.contacts import ContactImpulses, lengths

_CONTENT = 2e-11
"""Residual with which the search ends."""
_STEPS, _HALVINGS, _CONES = 40, 12, 30
_ROUND_OFF, _DESCENT = 1e-14, 1e-4
_RANK = 1e-11
"""Of the largest singular value of the slope: what redundant contacts leave open, and round-off."""
_SMALLEST = 1e-300
_UNLIMITED = 1e4
"""Bound that stands for none in a cone program."""
_PATIENCE, _CLOSER = 8, 0.99
"""Cone programs in a row that do not leave less than this part of the least residual: after so many no answer comes."""
_SETTLED = 1e-12
"""Change of the slips, of the speeds, with which cone programs end that follow each other."""


@dataclass(frozen=True)
class ResistedContacts:
    """Contacts with a normal push L_n >= 0 and groups of pushes across it, each within its own bound times L_n.

        0 <= L_n,  0 <= v_n,  L_n v_n = 0,   |L_g| <= b_g L_n,   v_g = 0 or L_g = -b_g L_n v_g / |v_g|

    of each group g: the maximum dissipation of every group for itself. Where the direction of a group is known, a ray
    e, L_g = -b_g L_n e.

    Attributes
    ----------
    D : (m K, m K) 1/kg, ...
        J M^-1 J' of K rows a contact: the normal, then those of the groups; in any units.
    before : (m, K)
    groups : sequence of slice
        Columns of the G groups: slip, rolling, spin.
    bounds : (m, G)
        From 0 to infinity.
    rays : (m, K)
        Unit vectors in the columns of groups; zeros where the direction is open.
    """

    D: FloatArray
    before: FloatArray
    groups: Sequence[slice]
    bounds: FloatArray
    rays: FloatArray

    @cached_property
    def roots(self) -> FloatArray:
        """Return the root of the largest mobility of each normal and group, in all its columns (m, K); one of none."""
        m, K = self.before.shape
        blocks = np.einsum("iaib->iab", self.D.reshape(m, K, m, K))
        root = np.ones((m, K))
        for columns in (slice(0, 1), *self.groups):
            largest = np.linalg.eigvalsh(blocks[:, columns, columns])[:, -1]
            root[:, columns] = np.sqrt(np.where(largest > 0.0, largest, 1.0))[:, None]
        return root

    def scaled(self) -> tuple[ResistedContacts, FloatArray]:
        """Return the same problem with every group's own mobility and the largest speed one, and the units (m, K)."""
        root = self.roots
        speed = float(np.abs(self.before / root).max(initial=0.0)) or 1.0
        D = self.D / np.multiply.outer(root.ravel(), root.ravel())
        factors = root[:, [columns.start for columns in self.groups]] / root[:, :1]
        bounds = np.where(self.bounds > 0.0, self.bounds * factors, 0.0)
        return ResistedContacts(D, self.before / root / speed, self.groups, bounds, self.rays), speed / root

    def of_resisted(self) -> tuple[ResistedContacts, list[int]]:
        """Return the same problem without the groups that no contact resists, which have no push, and its columns."""
        m, K = self.before.shape
        kept = [g for g in range(len(self.groups)) if self.bounds[:, g].any()]
        columns, groups = [0], []
        for g in kept:
            own = range(self.groups[g].start, self.groups[g].stop)
            groups.append(slice(len(columns), len(columns) + len(own)))
            columns += own
        D = self.D.reshape(m, K, m, K)[:, columns][..., columns].reshape(m * len(columns), -1)
        return ResistedContacts(
            D, self.before[:, columns], groups, self.bounds[:, kept], self.rays[:, columns]
        ), columns

    def velocities(self, L: FloatArray) -> FloatArray:
        """Return before + D L (m, K)."""
        return self.before + (self.D @ L.ravel()).reshape(self.before.shape)

    def residual(self, L: FloatArray) -> float:
        """Return by how much pushes (m, K) and velocities of a scaled problem miss the law, of the largest speed."""
        v = self.velocities(L)
        missing = L - self.inside(L - v)[0]
        # A push that is not there has no direction: what is left is that v_n >= 0 and L_n = 0.
        return float(np.abs(missing).max(initial=0.0)) / max(1.0, float(np.abs(v).max(initial=0.0)))

    def inside(self, trial: FloatArray) -> tuple[FloatArray, list[tuple[FloatArray, FloatArray, FloatArray]]]:
        """Return P (m, K) of trial pushes, and of each group |trial_g|, the part of it that is P_g, and its bound."""
        pushes = np.zeros_like(trial)
        pushes[:, 0] = np.maximum(trial[:, 0], 0.0)
        found = []
        for g, columns in enumerate(self.groups):
            bound, ray = self.bounds[:, g], self.rays[:, columns]
            size = lengths(trial[:, columns])
            with np.errstate(invalid="ignore"):
                room = np.where((pushes[:, 0] > 0.0) & (bound > 0.0), bound * pushes[:, 0], 0.0)
            part = np.ones(len(trial))
            np.divide(room, size, out=part, where=size > room)
            along, finite = np.any(ray != 0.0, axis=1), np.where(np.isinf(bound), 0.0, bound)
            given = -(finite * pushes[:, 0])[:, None] * ray
            pushes[:, columns] = np.where(along[:, None], given, part[:, None] * trial[:, columns])
            found.append((size, part, finite))
        return pushes, found


def resisted_impulses(contacts: ResistedContacts, guess: FloatArray | None = None) -> ContactImpulses:
    """Return pushes L (m, K) and velocities v = before + D L (m, K) by the law of `ResistedContacts`.

    Zeros of the natural map L - P(L - v) by Newton's method, from `guess` (m, K), from contacts that hold everything,
    from no push, and then from the convex problems that know how fast each group moves (Acary & Cadoux 2013), one after
    the other. Steps of redundant contacts are the least ones. Nothing is raised: `residual` says what holds.
    """
    resisted, columns = contacts.of_resisted()
    if len(columns) < contacts.before.shape[1]:
        found = resisted_impulses(resisted, None if guess is None else guess[:, columns])
        L = np.zeros_like(contacts.before)
        L[:, columns] = found.impulses
        return ContactImpulses(L, contacts.velocities(L), found.residual)
    before = contacts.before
    scaled, unit = contacts.scaled()
    starts = [np.linalg.lstsq(scaled.D, -scaled.before.ravel(), rcond=_RANK)[0], np.zeros(scaled.before.size)]
    if guess is not None:
        starts.insert(0, (guess / unit).ravel())
    best, least = starts[-1].reshape(before.shape), np.inf
    for L in _answers(scaled, starts):
        residual = scaled.residual(L)
        if residual < least:
            best, least = L, residual
        if residual <= _CONTENT:
            break
    return ContactImpulses(unit * best, contacts.velocities(unit * best), least)


def _answers(scaled: ResistedContacts, starts: Sequence[FloatArray]) -> Iterator[FloatArray]:
    """Yield pushes (m, K), what costs little first."""
    for start in starts:
        yield _newton(scaled, start)
    best, waited = np.inf, 0
    for L in _convex(scaled):
        yield L
        near = _newton(scaled, L.ravel())
        yield near
        residual = min(scaled.residual(L), scaled.residual(near))
        waited = 0 if residual < _CLOSER * best else waited + 1
        best = min(best, residual)
        if waited >= _PATIENCE:
            return


def _newton(scaled: ResistedContacts, L: FloatArray) -> FloatArray:
    """Return where Newton's method on the natural map ends from a guess (m K,), projected."""
    shape, identity = scaled.before.shape, np.eye(L.size)

    def values(L: FloatArray) -> tuple[FloatArray, FloatArray, list[tuple[FloatArray, FloatArray, FloatArray]]]:
        trial = L.reshape(shape) - scaled.velocities(L)
        pushes, at = scaled.inside(trial)
        return L - pushes.ravel(), trial, at

    F, trial, at = values(L)
    merit = float(F @ F)
    for _ in range(_STEPS):
        if merit <= _ROUND_OFF**2 * (0.01 + float(L @ L)):
            break
        slope = identity - _slope(scaled, identity - scaled.D, trial, at)
        step = np.linalg.lstsq(slope, -F, rcond=_RANK)[0]
        part = 1.0
        for _ in range(_HALVINGS):
            ahead = L + part * step
            F_ahead, trial_ahead, at_ahead = values(ahead)
            merit_ahead = float(F_ahead @ F_ahead)
            if merit_ahead < (1.0 - _DESCENT * part) * merit:
                break
            part /= 2.0
        else:
            break
        L, F, trial, at, merit = ahead, F_ahead, trial_ahead, at_ahead, merit_ahead
    return (L - F).reshape(shape)


def _slope(
    scaled: ResistedContacts,
    rest: FloatArray,
    trial: FloatArray,
    at: list[tuple[FloatArray, FloatArray, FloatArray]],
) -> FloatArray:
    """Return the generalised Jacobian (m K, m K) of P(L - v); `rest` is that of L - v."""
    m, K = trial.shape
    rest = rest.reshape(m, K, m * K)
    dP = np.zeros_like(rest)
    pushing = trial[:, 0] > 0.0
    dP[pushing, 0] = rest[pushing, 0]
    for columns, (size, part, bound) in zip(scaled.groups, at, strict=True):
        ray, turned = scaled.rays[:, columns], rest[:, columns]
        along = np.any(ray != 0.0, axis=1)
        slips = (part < 1.0) & ~along
        e = trial[:, columns] / np.maximum(size, _SMALLEST)[:, None]
        e = np.where(along[:, None], -ray, np.where(slips[:, None], e, 0.0))
        across = turned - e[:, :, None] * np.einsum("ia,iak->ik", e, turned)[:, None, :]
        own = np.where(along[:, None, None], 0.0, part[:, None, None] * across)
        dP[:, columns] = own + (bound[:, None] * e)[:, :, None] * dP[:, :1]
    dP[~pushing] = 0.0
    return dP.reshape(m * K, m * K)


def _convex(scaled: ResistedContacts) -> Iterator[FloatArray]:
    """Yield the pushes (m, K) of cone programs, each with the slips |v_g| of the one before.

    min L'D L/2 + L'(before + n sum_g b_g |v_g|) over the cones |L_g| <= b_g L_n, and L_g = -b_g L_n e along rays.
    """
    from clarabel import DefaultSettings, DefaultSolver, NonnegativeConeT, SecondOrderConeT
    from scipy import sparse

    m, K = scaled.before.shape
    bounds = np.minimum(scaled.bounds, _UNLIMITED)
    # L = B y: a known direction goes with the normal push, what is not resisted has no push.
    B, blocks, cones, size = np.zeros((m * K, m * K)), [], [], 0
    for i in range(m):
        normal = size
        B[i * K, normal], size = 1.0, size + 1
        blocks.append({(0, normal): -1.0})
        cones.append(NonnegativeConeT(1))
        for g, columns in enumerate(scaled.groups):
            rows, ray, bound = range(columns.start, columns.stop), scaled.rays[i, columns], float(bounds[i, g])
            if np.any(ray):
                B[[i * K + row for row in rows], normal] = -bound * ray
            elif bound > 0.0:
                block = {(0, normal): -bound}
                for k, row in enumerate(rows):
                    B[i * K + row, size] = 1.0
                    block[k + 1, size], size = -1.0, size + 1
                blocks.append(block)
                cones.append(SecondOrderConeT(1 + len(rows)))
    B = B[:, :size]
    heights = [1 + max(row for row, _ in block) for block in blocks]
    A, top = np.zeros((sum(heights), size)), 0
    for block, height in zip(blocks, heights, strict=True):
        for (row, column), value in block.items():
            A[top + row, column] = value
        top += height
    Q, sides = sparse.triu(sparse.csc_matrix(B.T @ scaled.D @ B), format="csc"), np.zeros(len(A))
    settings = DefaultSettings()
    settings.verbose = False
    slips = np.zeros(m)
    for _ in range(_CONES):
        shifted = scaled.before.copy()
        shifted[:, 0] += slips
        found = DefaultSolver(Q, B.T @ shifted.ravel(), sparse.csc_matrix(A), sides, cones, settings).solve()
        y = np.asarray(found.x)
        if not np.all(np.isfinite(y)):
            return
        L = (B @ y).reshape(m, K)
        yield L
        v, before = scaled.velocities(L), slips
        slips = np.zeros(m)
        for g, columns in enumerate(scaled.groups):
            ray = scaled.rays[:, columns]
            along = np.sum(ray * v[:, columns], axis=1)
            slips += bounds[:, g] * np.where(np.any(ray != 0.0, axis=1), along, lengths(v[:, columns]))
        if float(np.abs(slips - before).max(initial=0.0)) <= _SETTLED:
            return
