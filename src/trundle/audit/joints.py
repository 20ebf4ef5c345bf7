"""Joints: what acts along them, and whether they hold what they join."""

from __future__ import annotations

import numpy as np

from trundle.audit import tolerances
from trundle.audit.anatomy import Anatomy, Hinge
from trundle.audit.evidence import Evidence, Frames, Samples
from trundle.audit.mechanics import cross, length, rotations_by
from trundle.audit.report import Check, Values, judged
from trundle.audit.scales import Scales
from trundle.checks import FloatArray
from trundle.models.tree.model import DRY

_ROUND_OFF = 1e-14


def joint_torques(anatomy: Anatomy, samples: Samples) -> tuple[FloatArray, FloatArray]:
    """Return what acts along the joints (n, hinges), N m or N: motors, springs, damping and stops; and its size."""
    found, size = joint_torques_of(anatomy, samples.inputs, samples.joints, samples.rates)
    for k, hinge in enumerate(anatomy.hinges):
        for i, contact in enumerate(anatomy.contacts):
            if contact.pair.stop is not None and anatomy.names[hinge.body] == contact.pair.body_A:
                push = contact.pair.stop.side * samples.force[:, i, 2]
                found[:, k] += push
                size[:, k] += np.abs(push)
    return found, size


def joint_torques_of(
    anatomy: Anatomy, inputs: FloatArray, joints: FloatArray, rates: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return what motors, springs and dampers do along the joints (n, hinges), N m or N, and its size."""
    found = np.zeros((len(inputs), len(anatomy.hinges)))
    size = np.zeros_like(found)
    for k, hinge in enumerate(anatomy.hinges):
        spec, q, rate = hinge.spec, joints[:, hinge.number], rates[:, hinge.number]
        parts = [inputs[:, hinge.column]] if hinge.column >= 0 else []
        if spec.stiffness or spec.damping or spec.dry_friction:
            parts += [-spec.stiffness * (q - spec.rest), -spec.damping * rate, -spec.dry_friction * np.tanh(rate / DRY)]
        for part in parts:
            found[:, k] += part
            size[:, k] += np.abs(part)
    return found, size


def joint_checks(anatomy: Anatomy, evidence: Evidence, scales: Scales) -> list[Check]:
    """Return the checks that joints hold what they join, and that orientations are rotations."""
    samples = evidence.samples
    if not len(samples):
        return []
    bodies = np.flatnonzero((anatomy.moves & (anatomy.carrier == np.arange(len(anatomy.names)))) | anatomy.given)
    R = samples.frames.rotation[:, bodies]
    off = np.abs(np.einsum("nbji,nbjk->nbik", R, R) - np.eye(3)).max(axis=(2, 3))
    names = tuple((anatomy.names[body],) for body in bodies)
    text = "the orientation of {bodies} is {amount} off from a rotation at {time} s"
    allowed = np.full(off.shape, tolerances.UNIT)
    found = [judged("rotation", "-", names, text, Values.of_table(off, allowed, samples.time, samples.run))]
    if not anatomy.hinges:
        return found
    shape = len(samples), len(anatomy.hinges)
    apart, moving = np.zeros(shape), np.zeros(shape)
    for k, hinge in enumerate(anatomy.hinges):
        apart[:, k], moving[:, k] = _off(hinge, samples, scales.sizes[hinge.body])
    names = tuple((hinge.name,) for hinge in anatomy.hinges)
    text = "the bodies of the joint {bodies} are {amount} {unit} apart at {time} s"
    allowed = np.full(shape, tolerances.MOTION * scales.size) + _far(samples.frames)
    found.append(judged("joint", "m", names, text, Values.of_table(apart, allowed, samples.time, samples.run)))
    text = "the bodies of the joint {bodies} come apart at {amount} {unit} at {time} s"
    allowed = np.full(shape, tolerances.MOTION * scales.speed)
    return [
        *found,
        judged("joint rates", "m/s", names, text, Values.of_table(moving, allowed, samples.time, samples.run)),
    ]


def _far(frames: Frames) -> FloatArray:
    """Return the round-off (n, 1), m, of places far from the origin."""
    return _ROUND_OFF * np.abs(frames.position).max(axis=(1, 2))[:, None]


def _off(hinge: Hinge, samples: Samples, size: float) -> tuple[FloatArray, FloatArray]:
    """Return by how much pose (n,), m, and velocity (n,), m/s, of a jointed body miss those that its joint gives."""
    frames, q, rate = samples.frames, samples.joints[:, hinge.number], samples.rates[:, hinge.number]
    R, p = frames.rotation[:, hinge.parent], frames.position[:, hinge.parent]
    w, v = frames.angular_velocity[:, hinge.parent], frames.velocity[:, hinge.parent]
    axis, arm = R @ hinge.axis, R @ hinge.at
    turned, w_child = R, w
    if hinge.slides:
        arm = arm + axis * q[:, None]
    else:
        turned, w_child = R @ rotations_by(q[:, None] * hinge.axis), w + axis * rate[:, None]
    velocity = v + cross(w, arm) + (axis * rate[:, None] if hinge.slides else 0.0)
    place = length(frames.position[:, hinge.body] - p - arm)
    turn = np.abs(frames.rotation[:, hinge.body] - turned @ hinge.orientation).max(axis=(1, 2))
    pace = length(frames.velocity[:, hinge.body] - velocity)
    spin = length(frames.angular_velocity[:, hinge.body] - w_child)
    return np.maximum(place, size * turn), np.maximum(pace, size * spin)
