"""BalanceTarget: where a body that moves freely should be."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from trundle.checks import FloatArray

_ZERO = np.zeros(3)
_ZERO.setflags(write=False)


@dataclass(frozen=True, eq=False)
class BalanceTarget:
    """Where a foot, hand or body should be: position (3,) m, velocity, acceleration, and the attitude (3, 3) of it."""

    position: FloatArray
    velocity: FloatArray = field(default_factory=lambda: _ZERO)
    acceleration: FloatArray = field(default_factory=lambda: _ZERO)
    R: FloatArray | None = None
    omega: FloatArray = field(default_factory=lambda: _ZERO)
