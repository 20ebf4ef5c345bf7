"""ContactFinder: contact coordinates from a pose, for controllers that measure poses and not where bodies touch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import final

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.models.tree.approach import approach_at
from trundle.models.tree.multibody import ContactConstraint
from trundle.models.tree.system import Atlas, ContactSystem
from trundle.models.tree.touching import contact_points
from trundle.numerics.compiled.buffered import BufferedCall
from trundle.numerics.compiled.compile import compile_function
from trundle.numerics.space import dot, inverse

_STEPS, _CALLS = 3, 4
_FOUND = 1e-9
"""Residual (1, m) under which an iteration has converged."""
_SAME = 1e-3
"""Distance, in parts of `_NEAR` of a size of the body, under which two places are one."""
_NEAR = 0.25
"""Gap, in sizes of the body, above which the nearest place is looked for again."""


@final
class ContactFinder:
    """Finds the contact coordinates of bodies in the plane as their nearest points to what they touch.

    Newton's iteration on  T'(n_A + n_B) = 0, T'(P_A - P_B) = 0  from where the contact was at the call before; where
    that fails, and where a contact has just closed, every local minimum of the distance is looked at. The shapes are
    those of `system`, what the controller believes; the pose may have noise, the gap need not be zero.

    Parameters
    ----------
    system : ContactSystem
        In the plane.
    atlas : tuple
        The charts of the coordinates.
    """

    def __init__(self, system: ContactSystem, atlas: Atlas) -> None:
        if system.d != 2:
            raise InputError("system", system.d, "a system in the plane (d = 2)")
        self._system, self._atlas = system, atlas
        layout = system.model(atlas).layout
        self.places = [layout[f"{contact_pair.contact}.coordinates"] for contact_pair in system.contact_pairs]
        self._reach = _NEAR * min(
            (contact_pair.shape_A.reference_length for contact_pair in system.contact_pairs), default=0.0
        )
        self.expressions, function = system.keep(("finder", atlas), lambda: _steps(system, atlas))
        """(x, s) -> s some steps later, residual (1, m) and gap (m) of every contact there."""
        self._x, self._s = np.zeros(function.size1_in(0)), np.zeros(function.size1_in(1))
        self._after, self._residual, self._gap = (
            np.zeros(size) for size in (self._s.size, len(self.places), len(self.places))
        )
        self._evaluate = BufferedCall(function, [self._x, self._s], [self._after, self._residual, self._gap])
        ends = np.cumsum([0, *(place.stop - place.start for place in self.places)])
        self._parts = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        self.reset()

    def reset(self) -> None:
        """Forget where contacts were."""
        self._known = np.zeros(len(self.places), dtype=bool)
        self._asked: Sequence[float] | FloatArray | None = None

    def __call__(self, state: FloatArray, touching: Sequence[float] | FloatArray) -> FloatArray:
        """Return the state (n_x,) with the coordinates of the contacts that touch found anew.

        ``touching`` (contacts,) says which do; the coordinates of the others stay.
        """
        x = np.array(state, dtype=np.float64)
        if touching is not self._asked:
            self._ask(touching)
        if not self._on.size or not math.isfinite(x.sum()):
            return x
        self._x[:] = x
        on = self._on
        new = on[~self._known[on]]
        if new.size and new.size < on.size:
            self._evaluate()  # where the other contacts are by now: of two of one body each has its own place
            self._s[:] = np.where(np.isfinite(self._after), self._after, self._s)
        for i in new:
            self._search(x, int(i))
        for _ in range(_CALLS):
            self._evaluate()
            self._s[:] = self._after
            if self._residual[on].max() < _FOUND:
                break
        if not (self._residual[on].max() < _FOUND and np.abs(self._gap[on]).max() < self._reach):
            for i in on[~((self._residual[on] < _FOUND) & (np.abs(self._gap[on]) < self._reach))]:
                self._search(x, int(i))
        x[self._to] = self._s[self._from]
        return x

    def locate_symbolically(self, x: ca.MX, seed: ca.MX, touching: ca.MX | None) -> tuple[ca.MX, ca.MX, ca.MX]:
        """Return a call as expressions, without the search: the state, the next call's seed, and whether it converged.

        ``seed`` (coordinates,) are those of the call before, those of `x` (n_x,) where it did not converge. Without
        `touching` (contacts,) every contact touches.
        """
        known, s, good = ca.vertsplit(x), seed, ca.MX(1)
        count = len(self.places)
        ons = [ca.MX(1)] * count if touching is None else ca.vertsplit(touching)
        residual, gap = ca.MX(count, 1), ca.MX(count, 1)
        for _ in range(_CALLS):
            s, residual, gap = self.expressions(x, s)
        after: list[ca.MX] = []
        found = zip(self.places, self._parts, ons, ca.vertsplit(residual), ca.vertsplit(gap), strict=True)
        for place, part, on, error, apart in found:
            if part.start == part.stop:
                continue
            there = (error < _FOUND) * ca.if_else(on, ca.fabs(apart) < self._reach, 1)
            good *= ca.if_else(on, there, 1)
            after.append(ca.if_else(there, s[part], x[place]))
            known[place] = ca.vertsplit(ca.if_else(on, s[part], x[place]))
        return ca.vertcat(*known), ca.vertcat(ca.MX(0, 1), *after), good

    def _ask(self, touching: Sequence[float] | FloatArray) -> None:
        """Prepare for a set of contacts; it lasts for many calls."""
        on = np.asarray(touching, dtype=bool)
        self._asked, self._known = touching, self._known & on
        sizes = np.array([part.stop - part.start for part in self._parts], dtype=int)
        self._on = np.flatnonzero(on & (sizes > 0))
        self._to = np.concatenate([np.zeros(0, dtype=int), *(np.r_[self.places[i]] for i in self._on)])
        self._from = np.concatenate([np.zeros(0, dtype=int), *(np.r_[self._parts[i]] for i in self._on)])

    def _search(self, x: FloatArray, contact: int) -> None:
        """Seed a contact at the nearest place that no other contact of the same bodies has; else as it was."""
        system, part = self._system, self._parts[contact]
        others = [i for i in system.pair_of(contact) if i != contact and self._known[i]]
        taken = [self._place(x, i, self._s[self._parts[i]]) for i in others]
        R, p = system.relative_pose(x, contact, self._atlas)
        self._known[contact] = True
        for near in system.proximity(contact).local_minima(R, p):
            found = approach_at(system, self._atlas, x, contact, near)
            if found is None or found.charts != self._atlas[contact]:
                continue
            place = self._place(x, contact, found.coordinates)
            if not any(float(np.linalg.norm(place - other)) < _SAME * self._reach for other in taken):
                self._s[part] = found.coordinates
                return
        if not np.isfinite(self._s[part]).all():
            self._s[part] = x[self.places[contact]]

    def _place(self, x: FloatArray, contact: int, coordinates: FloatArray) -> FloatArray:
        """Return the point (d,), m, of the body at contact coordinates: those of an outline repeat after a turn."""
        there = np.array(x)
        there[self.places[contact]] = coordinates
        return contact_points(self._system, self._atlas, there, contact)[0]


def nearest(constraint: ContactConstraint, s: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return what is zero where the coordinates `s` are those of nearest points, T'(n_A + n_B) and T'(P_A - P_B); gap.

    Parameters
    ----------
    constraint : ContactConstraint
        In the plane.
    s : (size,) SX
    """
    tA, tB = constraint.contact.touch(constraint.A, constraint.B, s)
    apart = (constraint.A.p - constraint.B.p) + (tA.r - tB.r)
    return ca.vertcat(tB.T.T @ (tA.n + tB.n), tB.T.T @ apart)[: s.shape[0]], dot(tB.n, apart)


def _steps(system: ContactSystem, atlas: Atlas) -> tuple[ca.Function, ca.Function]:
    """(x, s) -> (s after some steps of Newton's iteration, residual and gap of every contact there); compiled, too."""
    model = system.model(atlas)
    rows: list[tuple[ca.SX, ...]] = []
    for constraint in model.constraints:
        s = ca.SX.sym("s", constraint.contact.size)
        residual, gap = nearest(constraint, s)
        error = ca.norm_inf(residual) if s.shape[0] else ca.SX(1, 1)
        rest = ca.Function("rest", [model.x, s], [error, gap])
        found = seed = ca.SX.sym("seed", s.shape[0])
        if s.shape[0]:
            newton = ca.Function("newton", [model.x, s], [s - inverse(ca.jacobian(residual, s)) @ residual])
            for _ in range(_STEPS):
                found = newton(model.x, found)
        rows.append((seed, found, *rest(model.x, found)))
    columns: list[tuple[ca.SX, ...]] = list(zip(*rows, strict=True)) or [()] * 4
    outputs = [ca.densify(ca.vertcat(*part)) for part in columns[1:]]
    function = ca.Function("find_contacts", [model.x, ca.vertcat(*columns[0])], ca.cse(outputs))
    return function, compile_function(function)
