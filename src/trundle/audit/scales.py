"""Scales: sizes, masses and speeds of a run, by which its tolerances are measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trundle.audit import tolerances
from trundle.audit.anatomy import Anatomy
from trundle.audit.evidence import Evidence, Frames
from trundle.audit.mechanics import length
from trundle.checks import FloatArray

_FALL = 1e-3
"""Part of the speed of a fall over its own size by which a body at rest is measured."""


@dataclass(frozen=True, eq=False)
class Scales:
    """What a run is measured by.

    Attributes
    ----------
    sizes : (bodies,) m
    size, least : m
        Of the largest body, and of the smallest.
    mass, weight : kg, N
        Of all bodies.
    speed, fall : m/s
        Of the fastest point in the run, and of a fall over the largest body's size.
    """

    sizes: FloatArray
    size: float
    least: float
    mass: float
    weight: float
    speed: float
    fall: float

    @property
    def momentum(self) -> float:
        """Of all bodies at that speed, N s."""
        return self.mass * self.speed

    @property
    def rest(self) -> float:
        """The speed that an event may take from all bodies, m/s: that of a hop too low to be followed."""
        return tolerances.REST * self.fall + float(np.sqrt(2.0 * self.weight / self.mass * tolerances.HOP))

    @property
    def energy(self) -> float:
        """Of all bodies at that speed, J."""
        return self.mass * self.speed**2


def scales_of(anatomy: Anatomy, evidence: Evidence) -> Scales:
    """Return the scales of a run."""
    sizes = body_sizes(anatomy)
    solid = anatomy.mass > 0.0
    size = float(sizes[solid].max(initial=0.0)) or 1.0
    gravity = float(np.linalg.norm(anatomy.gravity))
    mass = float(anatomy.mass.sum()) or 1.0
    fall = float(np.sqrt(gravity * size))
    speeds = [_FALL * fall]
    speeds += [_fastest(frames, sizes, solid) for frames in (evidence.samples.frames, evidence.jumps.before)]
    return Scales(sizes, size, float(sizes[solid].min(initial=size)), mass, mass * gravity, max(speeds), fall)


def _fastest(frames: Frames, sizes: FloatArray, solid: np.ndarray) -> float:
    speed = length(frames.velocity[:, solid]) + sizes[solid] * length(frames.angular_velocity[:, solid])
    return float(np.nanmax(speed, initial=0.0))


def body_sizes(anatomy: Anatomy) -> FloatArray:
    """Return the sizes (bodies,), m, of bodies: of their shapes, else radii of gyration."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gyration = np.sqrt(np.max(anatomy.inertia, axis=(1, 2)) / anatomy.mass)
    found = np.where(anatomy.mass > 0.0, gyration, 0.0)
    for contact in anatomy.contacts:
        if contact.pair.stop is None:
            found[contact.A] = max(found[contact.A], contact.pair.shape_A.reference_length)
    return np.where(found > 0.0, found, 1.0)
