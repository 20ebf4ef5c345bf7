"""Joints: what acts along them, and whether they hold what they join."""

from __future__ import annotations

import numpy as np

from trundle.audit import tolerances
from trundle.audit.anatomy import Anatomy
from trundle.audit.columns import greatest, view_of
from trundle.audit.evidence import BodyFrames, Evidence, Samples
from trundle.audit.mechanics import cross, dot, length, rotate_vectors
from trundle.audit.report import Check, Values, judge_values
from trundle.audit.scales import Scales
from trundle.checks import FloatArray
from trundle.models.tree.model import DRY

_ROUND_OFF = 1e-14  # of a distance from the origin


def joint_torques(anatomy: Anatomy, samples: Samples) -> tuple[FloatArray, FloatArray]:
    """Return what acts along the joints (n, hinges), N m or N, and its size.

    Of motors, springs, dampers, stops and dry friction.
    """
    found, size = joint_torques_of(anatomy, samples.inputs, samples.joints, samples.rates)
    for k, hinge in enumerate(anatomy.hinges):
        for i, contact in enumerate(anatomy.contacts):
            if contact.pair.joint is not None and anatomy.names[hinge.body] == contact.pair.body_A:
                push = contact.along_joint(samples.force[:, i])
                found[:, k] += push
                size[:, k] += np.abs(push)
    return found, size


def joint_torques_of(
    anatomy: Anatomy, inputs: FloatArray, joints: FloatArray, rates: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return what motors, springs and dampers do along the joints (n, hinges), N m or N, and its size."""
    numbers = [hinge.number for hinge in anatomy.hinges]
    driven = np.array([hinge.column for hinge in anatomy.hinges], dtype=np.intp)
    found = np.zeros((len(inputs), len(numbers)))
    found[:, driven >= 0] = inputs[:, driven[driven >= 0]]
    size = np.abs(found)
    stiffness, rest, damping, dry = anatomy.resistance
    if np.any(stiffness) or np.any(damping) or np.any(dry):
        q, rate = joints[:, numbers], rates[:, numbers]
        for part in (-stiffness * (q - rest), -damping * rate, -dry * np.tanh(rate / DRY)):
            found += part
            size += np.abs(part)
    return found, size


def joint_checks(anatomy: Anatomy, evidence: Evidence, scales: Scales) -> list[Check]:
    """Return the checks that joints hold what they join, and that orientations are rotations."""
    samples = evidence.samples
    if not len(samples):
        return []
    bodies = anatomy.told
    R = samples.frames.rotation[:, view_of(bodies)]
    x, y, z = R[..., 0], R[..., 1], R[..., 2]
    # Two unit vectors across each other, and the third is their product: no reflection.
    skew = np.maximum(np.abs(dot(x, y)), greatest(np.abs(z - cross(x, y))))
    off = np.maximum(skew, np.maximum(np.abs(dot(x, x) - 1.0), np.abs(dot(y, y) - 1.0)))
    names = tuple((anatomy.names[body],) for body in bodies)
    text = "the orientation of {bodies} is {amount} off from a rotation at {time} s"
    allowed = np.full(off.shape, tolerances.UNIT)
    found = [judge_values("rotation", "-", names, text, Values.of_table(off, allowed, samples.time, samples.run))]
    if not anatomy.hinges:
        return found
    found += _coupling_checks(anatomy, samples)
    found += _friction_checks(anatomy, samples)
    shape = len(samples), len(anatomy.hinges)
    apart, moving = _off(anatomy, samples, scales.sizes[anatomy.jointed])
    names = tuple((hinge.name,) for hinge in anatomy.hinges)
    text = "the bodies of the joint {bodies} are {amount} {unit} apart at {time} s"
    allowed = np.full(shape, tolerances.MOTION * scales.size) + _far(samples.frames)
    found.append(judge_values("joint", "m", names, text, Values.of_table(apart, allowed, samples.time, samples.run)))
    text = "the bodies of the joint {bodies} come apart at {amount} {unit} at {time} s"
    allowed = np.full(shape, tolerances.MOTION * scales.speed)
    return [
        *found,
        judge_values("joint rates", "m/s", names, text, Values.of_table(moving, allowed, samples.time, samples.run)),
    ]


def _coupling_checks(anatomy: Anatomy, samples: Samples) -> list[Check]:
    """Return the check that joints follow those that they are coupled to: as far, and as fast."""
    if not anatomy.couplings:
        return []
    follower, leader, ratio, offset = map(
        np.array, zip(*((one.follower, one.leader, one.ratio, one.offset) for one in anatomy.couplings), strict=True)
    )
    found, names = [], tuple(one.bodies for one in anatomy.couplings)
    for law, values, shift, unit in (
        ("coupling", samples.joints, offset, "rad or m"),
        ("coupled rates", samples.rates, 0.0, "rad/s or m/s"),
    ):
        followed = ratio * values[:, leader] + shift
        off = np.abs(values[:, follower] - followed)
        most = np.max(np.abs(followed) + np.abs(shift), axis=0, initial=0.0)
        allowed = np.broadcast_to(tolerances.MOTION * (1.0 + most), off.shape)
        text = "the coupled joints of {bodies} are {amount} {unit} apart at {time} s"
        found.append(judge_values(law, unit, names, text, Values.of_table(off, allowed, samples.time, samples.run)))
    return found


def _friction_checks(anatomy: Anatomy, samples: Samples) -> list[Check]:
    """Return the check that dry friction of joints is within its bound, and all of it against a joint that turns."""
    hinge_of = {anatomy.names[hinge.body]: k for k, hinge in enumerate(anatomy.hinges)}
    rubs = [(i, contact.pair.body_A) for i, contact in enumerate(anatomy.contacts) if contact.pair.rubs]
    rubbing = [(i, hinge_of[body]) for i, body in rubs if body in hinge_of]
    if not rubbing:
        return []
    contacts = [i for i, _ in rubbing]
    torque = np.column_stack([anatomy.contacts[i].along_joint(samples.force[:, i]) for i in contacts])
    rate = samples.rates[:, [anatomy.hinges[k].number for _, k in rubbing]]
    bound = np.array([anatomy.contacts[i].friction.adhesion for i in contacts])
    turns = np.abs(rate) > tolerances.SLIP * np.max(np.abs(rate), axis=0, initial=0.0)
    # A time step pushes with the mean of what acts while it turns round.
    turns &= samples.claims.slides[:, contacts] & (samples.stretch >= 0)[:, None]
    beyond = np.maximum(np.abs(torque) - bound, 0.0)
    off = np.where(turns, np.abs(torque + bound * np.sign(rate)), beyond)
    allowed = np.broadcast_to(tolerances.CONE * bound, off.shape)
    names = tuple((anatomy.contacts[i].name,) for i in contacts)
    text = "{bodies}: dry friction is {amount} {unit} off from what its bound and the rate say at {time} s"
    values = Values.of_table(off, allowed, samples.time, samples.run, samples.acted[:, None])
    return [judge_values("friction of joints", "N m or N", names, text, values)]


def _far(frames: BodyFrames) -> FloatArray:
    """Return the round-off (n, 1), m, of places far from the origin."""
    return _ROUND_OFF * greatest(greatest(np.abs(frames.position)))[:, None]


def _off(anatomy: Anatomy, samples: Samples, sizes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return by how much poses (n, hinges), m, and velocities, m/s, of jointed bodies miss those that joints give."""
    frames, numbers = samples.frames, [hinge.number for hinge in anatomy.hinges]
    above, below = frames.of(anatomy.parents), frames.of(anatomy.jointed)
    slides, q, rate = anatomy.sliding[:, None], samples.joints[:, numbers, None], samples.rates[:, numbers, None]
    at, across, aside, axis_in_body, across_in_body = anatomy.frames_of_joints
    R, w = above.rotation, above.angular_velocity
    axes, arm = rotate_vectors(R, anatomy.axes), rotate_vectors(R, at)
    angle = np.where(slides, 0.0, q)
    if slides.any():
        arm = arm + np.where(slides, q, 0.0) * axes
    held = rotate_vectors(R, np.cos(angle) * across + np.sin(angle) * aside)
    turn = np.maximum(
        length(rotate_vectors(below.rotation, axis_in_body) - axes),
        length(rotate_vectors(below.rotation, across_in_body) - held),
    )
    along = axes * rate
    velocity = below.velocity - above.velocity - cross(w, arm) - np.where(slides, along, 0.0)
    spin = below.angular_velocity - w - np.where(slides, 0.0, along)
    place = length(below.position - above.position - arm)
    return np.maximum(place, sizes * turn), np.maximum(length(velocity), sizes * length(spin))
