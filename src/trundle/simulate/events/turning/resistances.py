"""Resistances: what time steps know of the moments with which contacts resist their turning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.contact.law import Friction
from trundle.contact.laws import rolling_law, sliding_law, still_rate
from trundle.models.tree.system import ContactSystem
from trundle.numerics.space import angular_size


class _TurningRows(Protocol):
    @property
    def spin(self) -> FloatArray: ...
    @property
    def spin_b(self) -> FloatArray: ...
    @property
    def spin_rate(self) -> FloatArray: ...
    @property
    def rolling(self) -> FloatArray: ...
    @property
    def rolling_b(self) -> FloatArray: ...
    @property
    def rolling_rate(self) -> FloatArray: ...


class Resistances:
    """Bounds and viscous coefficients of m contacts, for their rows of rolling and, in space, of spin.

    Attributes
    ----------
    any : bool
        Whether a contact resists at all.
    rows : int
        Of each contact: 3, in the plane 1.
    viscous : (m, rows) N m s
    """

    def __init__(self, system: ContactSystem, frictions: Sequence[Friction]) -> None:
        self.frictions, self.d, self.rows = tuple(frictions), system.d, angular_size(system.d)
        self.any = any(one.dissipates for one in frictions)
        viscous = [[one.rolling_viscous] * (self.d - 1) + [one.drilling_viscous] * (self.d - 2) for one in frictions]
        self.viscous = np.array(viscous, dtype=np.float64).reshape(len(self.frictions), self.rows)

    def bounds(self, holds_spin: NDArray[np.bool_], some: NDArray[np.bool_]) -> FloatArray:
        """Return the bounds (m, 2), in the plane (m, 1), m, of rolling and spin of `some` contacts.

        A spin that is held has a bound of its own.
        """
        frictions = [self.frictions[i] for i in np.flatnonzero(some)]
        rolling = [one.rolling for one in frictions]
        if self.d == 2:
            return np.array(rolling)[:, None]
        held = zip(frictions, holds_spin, strict=True)
        return np.column_stack([rolling, [one.spin_bound if holds else one.drilling for one, holds in held]])

    def turning(self, terms: _TurningRows) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return J (m, rows, nv), rates (m, rows) and their bias (m, rows): of rolling, then of the spin."""
        m, across = len(self.frictions), self.d - 1
        J = terms.rolling.reshape(m, across, -1)
        rate, b = (part.reshape(m, across) for part in (terms.rolling_rate, terms.rolling_b))
        if self.d == 2:
            return J, rate, b
        J = np.concatenate([J, terms.spin.reshape(m, 1, -1)], axis=1)
        rate = np.hstack([rate, terms.spin_rate.reshape(m, 1)])
        return J, rate, np.hstack([b, terms.spin_b.reshape(m, 1)])

    def law(
        self, contact: int, rates: FloatArray, slides: bool, holds_any_spin: bool, length: float
    ) -> tuple[str, float]:
        """Return the name of the law of a contact with these rates (rows,), and the slowest that is resisted, rad/s.

        ``length`` (m): of its body.
        """
        friction, across = self.frictions[contact], self.d - 1
        rolling = float(np.linalg.norm(rates[:across]))
        spin = float(np.abs(rates[across:]).max(initial=0.0))
        still = still_rate(length)
        rests = friction.rolling > 0.0 and rolling <= still
        stands = self.d == 3 and friction.drilling > 0.0 and spin <= still
        family = sliding_law if slides else rolling_law
        slow = [rolling] * (friction.rolling > 0.0 and not rests)
        slow += [spin] * (self.d == 3 and friction.drilling > 0.0 and not stands)
        return family(bool(stands or holds_any_spin), bool(rests)).name, min(slow, default=np.inf)
