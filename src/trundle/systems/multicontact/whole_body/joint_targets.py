"""Targets of position-controlled joints: wanted accelerations integrated, wanted torques through the stiffness."""

from __future__ import annotations

from typing import final

from trundle.checks import FloatArray
from trundle.models.robots.servo import Servo

_SETTLE = 0.05
"""Time, s, in which a reference that joints do not follow returns to where they are: long beside a tick, so that the
drives hold against what the model does not know, short beside a step, so that they yield to ground that is not where
it should be."""


@final
class JointTargets:
    """Turns whole-body control into targets of the joints' drives, as robots with position-controlled joints ask for.

    The wanted accelerations a are integrated to a reference, which leans towards the measured joints q, v:

        v_r' = a + (v - v_r) / T,    q_r' = v_r + (q - q_r) / T,

    and the wanted torques tau are fed forward, so that a joint on its reference gets them and nothing else:

        target = q_r + (tau + d v_r) / k.

    Joints off it get k (q_r - q) + d (v_r - v) besides, at the drives' own rate.

    Parameters
    ----------
    servo : Servo
    period : float, s
        Between two calls.
    """

    def __init__(self, servo: Servo, period: float) -> None:
        self._servo, self._period, self._share = servo, period, min(period / _SETTLE, 1.0)
        self.reset()

    def reset(self) -> None:
        """Begin again where the joints are."""
        self._q: FloatArray | None = None
        self._v: FloatArray | None = None

    def __call__(self, q: FloatArray, v: FloatArray, acceleration: FloatArray, torques: FloatArray) -> FloatArray:
        """Return the targets (n,), rad, for measured joints (n,) rad, rad/s, and what is wanted (n,) rad/s2, N m."""
        q_r, v_r = (q, v) if self._q is None or self._v is None else (self._q, self._v)
        before = v_r + self._share * (v - v_r)
        self._v = before + self._period * acceleration
        self._q = q_r + self._share * (q - q_r) + self._period * (before + self._v) / 2
        return self._servo.targets(torques, self._q, self._v)
