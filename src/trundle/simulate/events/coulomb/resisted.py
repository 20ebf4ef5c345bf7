"""Contacts that resist slip, rolling and spin, each by itself, at one normal push."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trundle.checks import FloatArray
from trundle.simulate.events.coulomb.contacts import ContactImpulses, lengths
from trundle.simulate.events.coulomb.native import needed_core

_CONTENT = 2e-11
"""Residual with which the search ends."""
_CONES = 30  # rounds of the search at most
_RANK = 1e-11
"""Of the largest singular value: what redundant contacts leave open, and round-off."""
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

    def scale(self) -> tuple[ResistedContacts, FloatArray]:
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
        missing = L - self.inside(L - v)
        # A push that is not there has no direction: what is left is that v_n >= 0 and L_n = 0.
        return float(np.abs(missing).max(initial=0.0)) / max(1.0, float(np.abs(v).max(initial=0.0)))

    def inside(self, trial: FloatArray) -> FloatArray:
        """Return P (m, K) of trial pushes."""
        pushes = np.zeros_like(trial)
        pushes[:, 0] = np.maximum(trial[:, 0], 0.0)
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
        return pushes


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
    scaled, unit = contacts.scale()
    stuck, _, rank, _ = np.linalg.lstsq(scaled.D, -scaled.before.ravel(), rcond=_RANK)
    starts = [stuck, np.zeros(scaled.before.size)]
    if guess is not None:  # of redundant contacts what they held before would say how they go on sharing
        starts.insert(0 if rank == len(scaled.D) else 1, (guess / unit).ravel())
    best, least = _newton(scaled, np.stack(starts))
    if least > _CONTENT:
        best, least = _by_cones(scaled, best, least)
    return ContactImpulses(unit * best, contacts.velocities(unit * best), least)


def _newton(scaled: ResistedContacts, starts: FloatArray) -> tuple[FloatArray, float]:
    """Return the best pushes (m, K) that Newton's method makes of starts (k, m K), and their residual."""
    begin = np.array([*(columns.start for columns in scaled.groups), scaled.before.shape[1]])
    return needed_core().solve_resisted(scaled.D, scaled.before, begin, scaled.bounds, scaled.rays, starts, _CONTENT)


def _by_cones(scaled: ResistedContacts, best: FloatArray, least: float) -> tuple[FloatArray, float]:
    """Return the best pushes (m, K) that cone programs lead to, if any is better than `best`, and their residual."""
    nearest, waited = np.inf, 0
    for L in _convex(scaled):
        near, residual = _newton(scaled, L.reshape(1, -1))
        if (own := scaled.residual(L)) < residual:
            near, residual = L, own
        if residual < least:
            best, least = near, residual
        waited = 0 if residual < _CLOSER * nearest else waited + 1
        nearest = min(nearest, residual)
        if least <= _CONTENT or waited >= _PATIENCE:
            break
    return best, least


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
