"""Restitution: how much of its approach a contact gives back in an impact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trundle.parameters import Checked, Fraction, NonNegative, parameter

Hypothesis = Literal["newton", "poisson"]


@dataclass(frozen=True)
class Restitution(Checked):
    """What an impact gives back along the normal (theory, "Bouncing").

    Newton: the contact opens at least with e times the speed of its approach. Poisson: it pushes at least e times the
    impulse of the compression once more. Where friction would let one of them create energy, all coefficients of the
    impact are reduced to where it does not.
    """

    restitution: Fraction = parameter(0.0, "speed or impulse that an impact gives back, along the normal")
    hypothesis: Hypothesis = parameter("newton", "whether speeds or impulses are given back")
    bounce_speed: NonNegative = parameter(1e-3, "m/s, slower approaches do not bounce: so bouncing ends in finite time")

    def after(self, approach: float) -> float:
        """Return the coefficient e of an approach (m/s, positive): 0 for a slow one."""
        return self.restitution if approach >= self.bounce_speed else 0.0


PLASTIC = Restitution()
