"""Impacts that give back: Newton's and Poisson's hypotheses with Coulomb friction, without energy from nothing."""

from __future__ import annotations

import numpy as np

from trundle.checks import FloatArray
from trundle.contact.restitution import Hypothesis
from trundle.simulate.events.coulomb import ContactImpulses, contact_impulses, has_answer

_AGREES = 1e-9  # residual: of impulses that obey the law, in scaled units
_HALVINGS = 40  # of an interval: to a part in 1e12
_ROUND_OFF = 1e-13  # of the energy of the blow


def bouncing_impulses(
    D: FloatArray, before: FloatArray, friction: FloatArray, restitution: FloatArray, hypothesis: Hypothesis = "newton"
) -> ContactImpulses:
    """Return impulses L (m, d) and velocities v = before + D L (m, d) of an impact with the coefficients e (m,).

    Coulomb's law as in `contact_impulses`, with along the normals, w = min(before_n, 0),

        Newton:   0 <= L_n,  0 <= v_n + e w,  L_n (v_n + e w) = 0;
        Poisson:  L = L_c + L_r,  L_c those of the impact with e = 0,  0 <= L_r,n - e L_c,n,  0 <= v_n,
                  (L_r,n - e L_c,n) v_n = 0  (Glocker & Pfeiffer 1995).

    Kinetic energy never grows, sum L . (before + v) / 2 <= 0. With e = 0 that follows from Coulomb's law; where
    friction would feed energy in, every e is multiplied by the largest factor in [0, 1] with which it does not.
    """
    plastic = contact_impulses(D, before, friction)

    def shift_speeds(e: FloatArray) -> FloatArray:
        """Return e w n (m, d), by which Newton's velocities differ from those of Coulomb's law."""
        shift = np.zeros_like(before)
        shift[:, 0] = e * np.minimum(before[:, 0], 0.0)
        return shift

    def may_bounce(part: float) -> bool:
        """Whether there are impulses for sure: redundant contacts cannot part at speeds that exclude each other."""
        return hypothesis == "poisson" or bool(has_answer(D, before + shift_speeds(part * restitution), friction))

    def bounce_part(part: float) -> ContactImpulses:
        """Return the impact with every coefficient times `part`."""
        e = part * np.asarray(restitution, dtype=np.float64)
        if hypothesis == "poisson":
            again = contact_impulses(D, plastic.velocities, friction, least=e * plastic.impulses[:, 0])
            residual = max(plastic.residual, again.residual)
            return ContactImpulses(plastic.impulses + again.impulses, again.velocities, residual)
        shift = shift_speeds(e)
        found = contact_impulses(D, before + shift, friction)
        return ContactImpulses(found.impulses, found.velocities - shift, found.residual)

    def good(found: ContactImpulses) -> bool:
        size = float(np.sum(np.abs(found.impulses) * (np.abs(before) + np.abs(found.velocities))))
        work = float(np.sum(found.impulses * (before + found.velocities))) / 2
        return found.residual <= _AGREES and work <= _ROUND_OFF * size

    best = bounce_part(1.0)
    if good(best):
        return best
    low, high, best = 0.0, 1.0, plastic
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        found = bounce_part(middle) if may_bounce(middle) else None
        if found is not None and good(found):
            low, best = middle, found
        else:
            high = middle
    return best
