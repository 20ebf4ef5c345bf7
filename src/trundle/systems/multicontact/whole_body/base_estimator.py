"""Where the base of a robot is: from encoders, an inertial sensor and the feet that carry it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from trundle.checks import FloatArray, number, positive
from trundle.contact.packed import FrameMotion
from trundle.models.urdf.articulated import ArticulatedTerms
from trundle.numerics.rotations import rotation_by, rotation_vector

_CORRECTION = 0.05  # s, time constant with which the attitude is drawn to the measured one
_LOAD = 30.0  # N, from which a foot counts as carrying; it stops at half of it


@dataclass(frozen=True, eq=False)
class Measurement:
    """What sensors tell: joints (n,), rates (n,), attitude R (3, 3), angular velocity (3,) and forces, world axes."""

    joints: FloatArray
    rates: FloatArray
    R: FloatArray
    omega: FloatArray
    forces: Mapping[str, FloatArray]


class AttitudeFilter:
    """Attitude from a noisy one and the angular velocity (final): R <- R exp(w dt), drawn to the one that is measured.

    Parameters
    ----------
    period : float, s
        Between two calls.
    """

    def __init__(self, period: float = 0.002) -> None:
        self.period = positive("period", period, "s")
        self._draw = 1.0 - float(np.exp(-period / _CORRECTION))
        self.R: FloatArray | None = None

    def __call__(self, R: FloatArray, omega: FloatArray) -> FloatArray:
        """Return the attitude (3, 3) from the measured one and the angular velocity (3,) in body axes."""
        if self.R is None:
            self.R = R
        ahead = self.R @ rotation_by(self.period * omega)
        self.R = rotation_by(self._draw * rotation_vector(ahead, R)) @ ahead
        return self.R


class LegOdometry:
    """Position and velocity of the base from the feet that carry weight (final).

    A foot that stands keeps the place where it was when it took load: base = that place - what the legs' kinematics
    say between base and foot, averaged over the feet by their load. The velocity is minus that of the foot against the
    base, smoothed by a low pass.

    Parameters
    ----------
    smoothing : float, s
        Time constant of the velocity; 0: none.
    period : float, s
        Between two calls.
    """

    def __init__(self, smoothing: float = 0.004, period: float = 0.002) -> None:
        self._keep = float(np.exp(-positive("period", period, "s") / smoothing)) if smoothing > 0 else 0.0
        self.reset(np.zeros(3))

    def reset(self, position: FloatArray) -> None:
        """Begin at rest with the base at `position` (3,), m."""
        self.position, self.velocity = np.array(position), np.zeros(3)
        self.places: dict[str, FloatArray] = {}

    def __call__(
        self,
        ends: Mapping[str, FrameMotion],
        forces: Mapping[str, FloatArray],
        standing: tuple[str, ...],
        period: float = 0.002,
    ) -> tuple[FloatArray, FloatArray]:
        """Return position (3,) m and velocity (3,) m/s of the base.

        Parameters
        ----------
        ends : mapping of str to FrameMotion
            Of the soles, computed with the base at the origin and without its linear velocity.
        forces : mapping of str to (3,) N
            Of the ground on them.
        standing : tuple of str
            Soles that may carry.
        period : float, s
            Since the call before.
        """
        guess = self.position + period * self.velocity
        weights: dict[str, float] = {}
        for name in standing:
            force = float(forces[name][2])
            if force > (0.5 * _LOAD if name in self.places else _LOAD):
                weights[name] = force
                if name not in self.places:
                    self.places[name] = guess + ends[name].p
        self.places = {name: place for name, place in self.places.items() if name in weights}
        if not weights:
            self.position = guess
            return self.position, self.velocity
        total = sum(weights.values())
        self.position = sum((w / total * (self.places[n] - ends[n].p) for n, w in weights.items()), np.zeros(3))
        velocity = sum((-w / total * ends[n].v for n, w in weights.items()), np.zeros(3))
        self.velocity = self._keep * self.velocity + (1 - self._keep) * velocity
        return self.position, self.velocity

    def settle(self, name: str, height: float, share: float = 1.0) -> None:
        """Move the remembered place of a sole towards the `height` (m) that the ground is known to have there."""
        if name in self.places:
            place = self.places[name].copy()
            place[2] += number("share", share, minimum=0.0, maximum=1.0) * (height - place[2])
            self.places[name] = place


def shift_base(
    terms: ArticulatedTerms, ends: Mapping[str, FrameMotion], position: FloatArray, velocity: FloatArray
) -> tuple[ArticulatedTerms, dict[str, FrameMotion]]:
    """Return terms and motions as they are with the base elsewhere and faster, without computing them again.

    Inertia, bias and all accelerations at nudot = 0 are the same for every place and velocity of the base's origin.
    """
    moved = {
        name: FrameMotion(end.R, end.p + position, end.w, end.v + velocity, end.Jw, end.Jv, end.al, end.a)
        for name, end in ends.items()
    }
    m = terms.momentum
    if m is None:
        return terms, moved
    return replace(terms, momentum=replace(m, com=m.com + position, com_rate=m.com_rate + velocity)), moved
