"""Small faults planted in what a run says of itself: one pose, force or impulse of it is changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from trundle.audit import Anatomy, BodyFrames, Evidence

MOVE, TURN, SCALE = 1e-6, np.radians(1.0), 1.01
"""m, rad, -: of a pose, of a force, of an impulse."""
NOTHING = 1e-9
"""N s, of an impulse that did nothing."""

Mutation = Callable[[Evidence, Anatomy, np.random.Generator], Evidence | None]


def _direction(rng: np.random.Generator, planar: bool) -> np.ndarray:
    v = rng.normal(size=3)
    if planar:
        v[1] = 0.0
    return v / np.linalg.norm(v)


def _planar(evidence: Evidence) -> bool:
    return not np.any(evidence.samples.frames.position[..., 1])


def _moving(evidence: Evidence, anatomy: Anatomy) -> np.ndarray:
    return np.flatnonzero(anatomy.moves & (anatomy.mass > 0.0))


def _with_frames(evidence: Evidence, **parts: np.ndarray) -> Evidence:
    samples = evidence.samples
    frames = BodyFrames(**{name: parts.get(name, getattr(samples.frames, name)) for name in _FRAME})
    return replace(evidence, samples=replace(samples, frames=frames))


_FRAME = ("position", "rotation", "velocity", "angular_velocity")


def moved(evidence: Evidence, anatomy: Anatomy, rng: np.random.Generator) -> Evidence:
    """Move one body at one sample by 1e-6 m."""
    position = evidence.samples.frames.position.copy()
    row, body = rng.integers(len(position)), rng.choice(_moving(evidence, anatomy))
    position[row, body] += MOVE * _direction(rng, _planar(evidence))
    return _with_frames(evidence, position=position)


def turned(evidence: Evidence, anatomy: Anatomy, rng: np.random.Generator) -> Evidence | None:
    """Turn one force at one sample by a degree."""
    force = evidence.samples.force.copy()
    there = np.argwhere((np.linalg.norm(force, axis=2) > 0.0) & evidence.samples.acted[:, None])
    if not len(there):
        return None
    row, contact = there[rng.integers(len(there))]
    axis = np.array([0.0, 1.0, 0.0])
    if not _planar(evidence):
        axis = np.cross(force[row, contact], rng.normal(size=3))
    turn = Rotation.from_rotvec(TURN * rng.choice([-1.0, 1.0]) * axis / np.linalg.norm(axis))
    force[row, contact] = turn.apply(force[row, contact])
    return replace(evidence, samples=replace(evidence.samples, force=force))


def scaled(evidence: Evidence, anatomy: Anatomy, rng: np.random.Generator) -> Evidence | None:
    """Make one impulse larger by a hundredth."""
    impulse = evidence.jumps.impulse.copy()
    size = np.linalg.norm(impulse, axis=1)
    there = np.flatnonzero(size > NOTHING)  # what a projection moves is round-off, and so is a hundredth of it
    if not len(there):
        return None
    impulse[rng.choice(there)] *= SCALE
    return replace(evidence, jumps=replace(evidence.jumps, impulse=impulse))


def swapped(evidence: Evidence, anatomy: Anatomy, rng: np.random.Generator) -> Evidence | None:
    """Exchange two bodies, poses and velocities, at one sample."""
    bodies = _moving(evidence, anatomy)
    if len(bodies) < 2:
        return None
    one, other = rng.choice(bodies, size=2, replace=False)
    row = rng.integers(len(evidence.samples))
    parts = {}
    for name in _FRAME:
        values = getattr(evidence.samples.frames, name).copy()
        values[row, [one, other]] = values[row, [other, one]]
        parts[name] = values
    return _with_frames(evidence, **parts)


MUTATIONS: dict[str, Mutation] = {"moved": moved, "turned": turned, "scaled": scaled, "swapped": swapped}
