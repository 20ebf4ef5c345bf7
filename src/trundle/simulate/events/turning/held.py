"""Turning: which relative rotations that contacts resist are zero, and held."""

from __future__ import annotations

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.law import relative_turning
from trundle.contact.laws import LAWS, SEPARATED, Sliding, Sticking, rolling_law, sliding_law, still_rate
from trundle.models.tree.system import Atlas, ContactSystem
from trundle.simulate.mode import Mode


def held_laws(system: ContactSystem, mode: Mode, x: FloatArray, onsets: FloatArray) -> tuple[str, ...]:
    """Return the laws of a mode with every turning held that is resisted and zero; one with an onset starts."""
    laws = list(mode.laws)
    for i, constraint in enumerate(system.model(mode.atlas).constraints):
        law, friction = LAWS[laws[i]], constraint.friction
        resisted = bool(friction.rolling or friction.drilling) and not np.any(onsets[i, system.d :])
        if not isinstance(law, Sticking | Sliding) or not resisted:
            continue
        still = 2.0 * still_rate(system.contact_pairs[i].shape_A.reference_length)
        rolling, spin = _rates(system, mode.atlas, x, i)
        stands = bool(friction.drilling) and system.d == 3 and spin <= still
        rests = bool(friction.rolling) and rolling <= still
        family = sliding_law if isinstance(law, Sliding) else rolling_law
        laws[i] = family(law.holds_spin or stands, law.holds_rolling or rests).name
    return tuple(laws)


def _rates(system: ContactSystem, atlas: Atlas, x: FloatArray, contact: int) -> tuple[float, float]:
    """Rates (rad/s) of rolling and of spin, without sign."""

    def build() -> ca.Function:
        model = system.model(atlas)
        k = model.terms([SEPARATED] * len(model.constraints)).kin[contact]
        turning, spin = relative_turning(k)
        return ca.Function("turning", [model.x], [ca.norm_2(turning), ca.fabs(spin)])

    rolling, spin = system.keep(("turning", atlas, contact), build)(x)
    return float(rolling), float(spin)


def without(onsets: FloatArray, contact: int) -> FloatArray:
    """Return the onsets (contacts, d) with none at one contact."""
    return np.where(np.arange(len(onsets))[:, None] == contact, 0.0, onsets)
