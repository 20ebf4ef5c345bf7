"""Scales: sizes, masses and speeds of a run, by which its tolerances are measured.

Bodies that have nothing to do with each other in a run are its parts, each with its own scales: what a heavy one does
far away makes no allowance for a light one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trundle.audit import tolerances
from trundle.audit.anatomy import Anatomy
from trundle.audit.evidence import BodyFrames, Evidence, Flags, Numbers
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
    parts : tuple of Scales, or None
        Those of each part of the run alone; None of a part.
    part : (bodies,), or None
        The number of the part that each body is of.
    """

    sizes: FloatArray
    size: float
    least: float
    mass: float
    weight: float
    speed: float
    fall: float
    parts: tuple[Scales, ...] = ()
    part: Numbers | None = None

    def at(self, bodies: Numbers) -> Local:
        """Return what bodies (k,) are measured by: the scales of the parts that they are of."""
        chosen = [self if self.part is None else self.parts[self.part[body]] for body in bodies.tolist()]
        names = ("size", "weight", "speed", "momentum", "rest", "mass")
        return Local(*(np.array([getattr(one, name) for one in chosen], dtype=np.float64) for name in names))

    @property
    def momentum(self) -> float:
        """Of all bodies at that speed, N s."""
        return self.mass * self.speed

    @property
    def rest(self) -> float:
        """The speed that an event may take from all bodies, m/s: that of a hop too low to be followed."""
        hop = tolerances.HOP * max(self.size, tolerances.SMALL)
        return tolerances.REST * self.fall + float(np.sqrt(2.0 * self.weight / self.mass * hop))

    @property
    def energy(self) -> float:
        """Of all bodies at that speed, J."""
        return self.mass * self.speed**2


@dataclass(frozen=True, eq=False)
class Local:
    """What some bodies (k,) are measured by, see `Scales`."""

    size: FloatArray
    weight: FloatArray
    speed: FloatArray
    momentum: FloatArray
    rest: FloatArray
    mass: FloatArray


def scales_of(anatomy: Anatomy, evidence: Evidence) -> Scales:
    """Return the scales of a run."""
    sizes, part = body_sizes(anatomy), parts_of(anatomy, evidence)
    parts = tuple(_scales(anatomy, evidence, sizes, part == k) for k in range(int(part.max(initial=-1)) + 1))
    return replace(_scales(anatomy, evidence, sizes, np.ones(len(sizes), dtype=bool)), parts=parts, part=part)


def _scales(anatomy: Anatomy, evidence: Evidence, sizes: FloatArray, chosen: Flags) -> Scales:
    """Return the scales of some bodies."""
    solid = chosen & (anatomy.mass > 0.0)
    size = float(sizes[solid].max(initial=0.0)) or 1.0
    gravity = float(np.linalg.norm(anatomy.gravity))
    mass = float(anatomy.mass[solid].sum()) or 1.0
    fall = float(np.sqrt(gravity * size))
    speeds = [_FALL * fall]
    speeds += [_fastest(frames, sizes, solid) for frames in (evidence.samples.frames, evidence.jumps.before)]
    return Scales(sizes, size, float(sizes[solid].min(initial=size)), mass, mass * gravity, max(speeds), fall)


def parts_of(anatomy: Anatomy, evidence: Evidence) -> Numbers:
    """Return the number of the part (bodies,) of each body: joints, pins or touches in the run join those of one."""
    part = np.array(anatomy.bases, dtype=np.intp)
    met = np.any(evidence.samples.claims.touches, axis=0)
    met[evidence.jumps.contact] = True
    joined = [(one.A, one.B) for one, some in zip(anatomy.contacts, met, strict=True) if some]
    pinned = np.flatnonzero(anatomy.pinned)
    joined += [(int(pinned[0]), int(body)) for body in pinned]
    joined += [(anatomy.names.index(A), anatomy.names.index(B)) for A, B in (one.bodies for one in anatomy.couplings)]
    for A, B in joined:
        if anatomy.moves[A] and anatomy.moves[B]:
            part[part == part[A]] = part[B]
    return np.unique(part, return_inverse=True)[1]


def _fastest(frames: BodyFrames, sizes: FloatArray, solid: np.ndarray) -> float:
    speed = length(frames.velocity[:, solid]) + sizes[solid] * length(frames.angular_velocity[:, solid])
    return float(np.nanmax(speed, initial=0.0))


def body_sizes(anatomy: Anatomy) -> FloatArray:
    """Return the sizes (bodies,), m, of bodies: of their shapes, else radii of gyration."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gyration = np.sqrt(np.max(anatomy.inertia, axis=(1, 2)) / anatomy.mass)
    found = np.where(anatomy.mass > 0.0, gyration, 0.0)
    for contact in anatomy.contacts:
        if contact.pair.joint is None:
            found[contact.A] = max(found[contact.A], contact.pair.shape_A.reference_length)
    return np.where(found > 0.0, found, 1.0)
