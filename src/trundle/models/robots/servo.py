"""Drives of joints that follow positions, a spring and a damper each, and what sensors are off by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trundle.checks import FloatArray, array
from trundle.parameters import Checked, NonNegative, parameter


@dataclass(frozen=True, eq=False)
class Servo:
    """Drives of position-controlled joints (final).

    tau = k (target - q) - d v, within the limits of the drives: proportional-derivative control that every sample of
    the drive repeats, while its target is held.

    Parameters
    ----------
    stiffness : (n,) N m/rad
        k, above 0.
    damping : (n,) N m s/rad
        d, at least 0.
    limit : (n,) N m
        Largest torque.

    Raises
    ------
    InputError
        For a number out of its range (key "servo.stiffness", "servo.damping").
    """

    stiffness: FloatArray
    damping: FloatArray
    limit: FloatArray

    def __post_init__(self) -> None:
        shape = np.shape(self.limit)
        stiffness = array("servo.stiffness", self.stiffness, shape, above=0.0, unit="N m/rad")
        object.__setattr__(self, "stiffness", stiffness)
        object.__setattr__(self, "damping", array("servo.damping", self.damping, shape, minimum=0.0))

    def torques(self, targets: FloatArray, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return the torques (n,), N m, at joints q (n,) rad with rates v (n,) rad/s."""
        return np.clip(self.stiffness * (targets - q) - self.damping * v, -self.limit, self.limit)

    def targets(self, torques: FloatArray, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return the targets (n,), rad, that give `torques` (n,) within the limits at q and v: `torques` inverted."""
        return q + (torques + self.damping * v) / self.stiffness


@dataclass(frozen=True)
class SensorNoise(Checked):
    """Standard deviations of a robot's sensors."""

    position: NonNegative = parameter(1e-4, "rad, of joints")
    rate: NonNegative = parameter(0.01, "rad/s, of joints")
    attitude: NonNegative = parameter(0.002, "rad, of the base")
    gyro: NonNegative = parameter(0.01, "rad/s, of the base")
    force: NonNegative = parameter(1.0, "N, each component at soles and hands")
