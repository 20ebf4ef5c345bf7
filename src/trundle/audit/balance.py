"""Balance between events: momentum, angular momentum and energy change by what acts; poses change by velocities."""

from __future__ import annotations

import numpy as np

from trundle.audit import tolerances
from trundle.audit.anatomy import Anatomy
from trundle.audit.evidence import Evidence, Flags, Numbers, Samples
from trundle.audit.joints import joint_torques
from trundle.audit.mechanics import (
    Moving,
    Wrenches,
    cross,
    dot,
    kinetic_energy,
    ledger,
    length,
    moving,
    powers,
    turning_terms,
)
from trundle.audit.quadrature import Intervals
from trundle.audit.report import Check, Values, judged
from trundle.audit.scales import Scales
from trundle.audit.solids import solid_of
from trundle.checks import FloatArray

_ROUND_OFF = 1e-14
_SLOW = 0.1
"""Part of the fastest speed by which a body that is slow may be accelerated."""
_SHOWN = 0.1
"""Part of an impulse between two samples up to which the error of its quadrature tells how large it is."""
_FAST = 1.0
"""Angle, rad, that a body may turn between two samples: of six of them, a stencil, it makes less than one turn."""
_TURNS = 0.88
"""Cosine of the angle, 0.5 rad, from which friction that turned between two samples may have done so at once: where a
slip passes near zero."""
_STEADY = 0.02
"""Part by which the force of a compliant contact may change between samples that resolve it."""


def balance_checks(anatomy: Anatomy, evidence: Evidence, scales: Scales) -> list[Check]:
    """Return the checks of balances between events."""
    samples = evidence.samples
    intervals = Intervals(samples.time, samples.stretch)
    if not len(intervals):
        return []
    part = max(1.0, tolerances.DECLARED * evidence.accuracy / tolerances.MOTION)
    bodies = moving(anatomy, samples.frames)
    return [
        *_motion(anatomy, samples, intervals, scales, part),
        *_momentum(anatomy, samples, intervals, bodies, scales, part),
    ]


def _motion(anatomy: Anatomy, samples: Samples, intervals: Intervals, scales: Scales, part: float) -> list[Check]:
    """Poses change by the velocities."""
    told = np.flatnonzero((anatomy.moves & (anatomy.carrier == np.arange(len(anatomy.names)))) | anatomy.given)
    names = tuple((anatomy.names[i],) for i in told)
    frames, i, k = samples.frames.of(told), intervals.left, intervals.right
    sizes = scales.sizes[told]
    n, m, h = len(samples), len(told), intervals.h[:, None]
    fast = _turning_pace(samples, scales)
    bend = np.repeat((length(frames.velocity) + _SLOW * scales.speed) * fast, 3, axis=1)
    travel, error = intervals.integrals(frames.velocity.reshape(n, -1), None, bend)
    moved = (frames.position[k] - frames.position[i]).reshape(len(i), -1) - travel
    pace = np.maximum(length(frames.velocity[i]), length(frames.velocity[k])) * h
    far = np.abs(frames.position[k]).max(axis=2)
    # The first step of a stretch puts the bodies onto its constraints.
    put = intervals.first[:, None] * tolerances.GAP
    allowed = (tolerances.MOTION * part + put) * sizes + tolerances.MOTION * part * pace + _ROUND_OFF * far
    off = length(moved.reshape(len(i), m, 3))
    allowed = allowed + length(error.reshape(len(i), m, 3))
    known = length(error.reshape(len(i), m, 3)) <= tolerances.JUDGED * (pace + sizes)
    known &= resolved(anatomy, samples, intervals)[:, None]
    text = "{bodies} is {amount} {unit} from where its velocity brings it, at {time} s"
    times, runs = samples.time[k], samples.run[k]
    found = [judged("motion", "m", names, text, Values.of_table(off, allowed, times, runs, known))]
    w, R = frames.angular_velocity, frames.rotation
    bend = np.repeat((length(w) + _SLOW * scales.speed / sizes) * fast, 9, axis=1)
    turn, error = intervals.integrals(cross(w[..., None, :], np.swapaxes(R, 2, 3)).reshape(n, -1), None, bend)
    change = np.swapaxes(R[k] - R[i], 2, 3).reshape(len(i), -1) - turn
    off = np.sqrt(np.sum(change.reshape(len(i), m, 9) ** 2, axis=2))
    error = np.sqrt(np.sum(error.reshape(len(i), m, 9) ** 2, axis=2))
    pace = np.maximum(length(w[i]), length(w[k])) * h
    allowed = tolerances.MOTION * part * (1.0 + pace) + error + put
    text = "{bodies} is turned by {amount} {unit} from where its angular velocity brings it, at {time} s"
    known = (error <= tolerances.JUDGED) & resolved(anatomy, samples, intervals)[:, None]
    found.append(judged("turning", "rad", names, text, Values.of_table(off, allowed, times, runs, known)))
    return found


def resolved(anatomy: Anatomy, samples: Samples, intervals: Intervals) -> Flags:
    """Return in which intervals (k,) the samples show what happens.

    What turns by more than `_FAST` from one to the next they do not, nor what compliant contacts do: a touch may be
    over too soon.
    """
    i, k = intervals.left, intervals.right
    spin = length(samples.frames.angular_velocity[:, _uneven(anatomy)]).max(axis=1, initial=0.0)
    found = np.maximum(spin[i], spin[k]) * intervals.h <= _FAST
    for c, contact in enumerate(anatomy.contacts):
        if not np.any(samples.claims.compliant[:, c]):
            continue
        force = length(samples.force[:, c])
        change = length(samples.force[k, c] - samples.force[i, c])
        A, B = contact.A, contact.B
        pace = length(samples.frames.velocity[:, A] - samples.frames.velocity[:, B])
        turn = length(samples.frames.angular_velocity[:, A]) * contact.pair.shape_A.reference_length
        closing = np.maximum((pace + turn)[i], (pace + turn)[k]) * intervals.h
        apart = (force[i] == 0.0) & (force[k] == 0.0) & (samples.gap[i, c] + samples.gap[k, c] > closing)
        steady = change <= _STEADY * np.minimum(force[i], force[k])
        good = apart | (steady & (force[i] > 0.0))
        found &= good
    for shift in (1, 2):  # neighbours' samples are parts of the same quadrature
        same = (
            intervals.left[shift:] - intervals.left[:-shift] == shift if len(found) > shift else np.zeros(0, dtype=bool)
        )
        before = found.copy()
        found[shift:] &= before[:-shift] | ~same
        found[:-shift] &= before[shift:] | ~same
    return found


def _uneven(anatomy: Anatomy) -> Numbers:
    """Return the bodies whose orientation counts: all but balls, round in mass and shape, that no joint holds."""
    round_ = anatomy.mass > 0.0
    for body in np.flatnonzero(round_):
        inertia = anatomy.inertia[body]
        even = bool(np.allclose(inertia, inertia[0, 0] * np.eye(3), rtol=1e-9, atol=0.0))
        round_[body] = even and not np.any(anatomy.com[body])
    for hinge in anatomy.hinges:
        round_[[hinge.body, hinge.parent]] = False
    for contact in anatomy.contacts:
        pair = contact.pair
        if pair.stop is None:
            round_[contact.A] &= solid_of(pair.shape_A).ball is not None and not any(pair.center_A)
            round_[contact.B] &= solid_of(pair.shape_B).ball is not None
    return np.flatnonzero((anatomy.moves | anatomy.given) & ~round_)


def _shown(error: FloatArray, sizes: FloatArray, intervals: Intervals) -> Flags:
    """Return in which intervals (k,) the samples show the forces: no error tells of a peak between two of them."""
    whole = intervals.h[:, None] * np.maximum(sizes[intervals.left], sizes[intervals.right])
    return np.max(error / np.where(whole > 0.0, whole, np.inf), axis=1, initial=0.0) <= _SHOWN


def contact_wrenches(anatomy: Anatomy, samples: Samples, bodies: Moving) -> Wrenches:
    """Return what the contacts of shapes do to the bodies that they touch."""
    found = Wrenches.none(len(samples), len(anatomy.names))
    rows, on_A = np.arange(len(samples)), samples.on_A
    for i, contact in enumerate(anatomy.contacts):
        force = samples.force[:, i]
        if contact.pair.stop is not None or not np.any(force):
            continue
        moment = samples.moment[:, i, None] * samples.normal[:, i] if np.any(samples.moment[:, i]) else None
        for body, sign, point in ((contact.A, 1.0, on_A[:, i]), (contact.B, -1.0, samples.point[:, i])):
            if anatomy.moves[body]:
                arm = point - bodies.center[:, body]
                found.add(rows, body, arm, sign * force, None if moment is None else sign * moment)
    return found


def _momentum(
    anatomy: Anatomy, samples: Samples, intervals: Intervals, bodies: Moving, scales: Scales, part: float
) -> list[Check]:
    """Momenta of trees and joints change by gravity, contacts, motors and springs; so does the energy of all."""
    n, i, k, h = len(samples), intervals.left, intervals.right, intervals.h[:, None]
    wrenches = contact_wrenches(anatomy, samples, bodies)
    weight = anatomy.mass[:, None] * anatomy.gravity
    for body, columns in anatomy.torqued:
        torque = _torque(samples.inputs[:, columns])
        wrenches.add(np.arange(n), body, np.zeros((n, 3)), np.zeros((n, 3)), torque)
    contacts_alone = Wrenches(*(np.array(a) for a in (wrenches.force, wrenches.moment, *(wrenches.force_size,) * 2)))
    wrenches.force[:] += weight
    wrenches.force_size[:] += length(weight)
    kept = ledger(anatomy, samples.frames, bodies)
    rates, sizes = powers(anatomy, samples.frames, bodies, wrenches)
    rates = rates + turning_terms(anatomy, samples.frames, bodies)
    torques, torque_sizes = joint_torques(anatomy, samples)
    rates[:, 6 * anatomy.trees :] += torques
    sizes[:, 6 * anatomy.trees :] += torque_sizes
    slack = _slack(anatomy, samples)
    slides = np.any(samples.claims.slides, axis=1)  # near its end a slip turns like a power of the time that is left
    bend = sizes * _pace(samples, scales, wrenches)
    total, error = intervals.integrals(rates, slides, bend, sizes, _turning_slips(samples, intervals))
    off = kept.values[k] - kept.values[i] - total
    size = np.maximum(kept.sizes[i], kept.sizes[k]) + h * np.maximum(sizes[i], sizes[k])
    floor = np.where(intervals.first, tolerances.PROJECTED, tolerances.NOTHING)[:, None] * scales.momentum
    floor = floor * np.where(kept.angular, scales.size, 1.0)
    allowed = tolerances.MOMENTUM * part * size + error + h * np.maximum(slack[i], slack[k]) + floor
    known = (
        (error <= tolerances.JUDGED * size)
        & ~_untold(anatomy, samples)[k]
        & (resolved(anatomy, samples, intervals) & _shown(error, sizes, intervals))[:, None]
    )
    text = "{bodies}: the momentum changes by {amount} {unit} that no force explains, at {time} s"
    times, runs = samples.time[k], samples.run[k]
    found = [judged("momentum", "N s", kept.names, text, Values.of_table(off, allowed, times, runs, known))]
    return [*found, _energy(anatomy, samples, intervals, bodies, contacts_alone, torques, scales, part)]


def _turning_slips(samples: Samples, intervals: Intervals) -> Flags:
    """Return in which intervals (k,) the friction of a slip turns by more than the samples can follow."""
    slides = np.flatnonzero(np.any(samples.claims.slides, axis=0))
    force, normal = samples.force[:, slides], samples.normal[:, slides]
    along = force - dot(force, normal)[..., None] * normal
    size, i, k = length(along), intervals.left, intervals.right
    turned = dot(along[i], along[k]) < _TURNS * size[i] * size[k]
    return np.any(turned & samples.claims.slides[:, slides][i] & samples.claims.slides[:, slides][k], axis=1)


def _turning_pace(samples: Samples, scales: Scales) -> FloatArray:
    """Return how fast (n, 1), 1/s2, velocities may change: as bodies turn, and as they fall over their own size."""
    turn = np.max(length(samples.frames.angular_velocity) ** 2, axis=1)
    return (turn + scales.weight / scales.mass / scales.least)[:, None]


def _pace(samples: Samples, scales: Scales, wrenches: Wrenches) -> FloatArray:
    """Return how fast (n, 1), 1/s2, forces may change: as bodies turn, and as they fall over their own size."""
    turn = np.max(length(samples.frames.angular_velocity) ** 2, axis=1)
    fall = (scales.weight + wrenches.force_size.max(axis=1)) / scales.mass
    return (turn + fall / scales.least)[:, None]


def _torque(values: FloatArray) -> FloatArray:
    if values.shape[1] == 3:
        return values
    return np.stack([np.zeros(len(values)), -values[:, 0], np.zeros(len(values))], axis=1)


def _slack(anatomy: Anatomy, samples: Samples) -> FloatArray:
    """Return how large moments (n, m) are that a record does not hold: of rolling resistance, across open gaps."""
    columns = 6 * anatomy.trees + len(anatomy.hinges)
    found = np.zeros((len(samples), columns))
    for i, contact in enumerate(anatomy.contacts):
        law = contact.friction
        if contact.pair.stop is not None or not (law.rolling or law.rolling_viscous):
            continue
        load = np.abs(dot(samples.force[:, i], samples.normal[:, i])) + law.adhesion
        turning = np.zeros((len(samples), 3))
        for body, sign in ((contact.A, 1.0), (contact.B, -1.0)):
            turning += sign * samples.frames.angular_velocity[:, body]
        bound = 1.001 * (law.rolling * load + law.rolling_viscous * length(turning))
        for body in (contact.A, contact.B):
            if (tree := anatomy.tree[body]) >= 0:
                found[:, 6 * tree + 3 : 6 * tree + 6] += bound[:, None]
            for k, hinge in enumerate(anatomy.hinges, 6 * anatomy.trees):
                if hinge.outboard[body] and not hinge.slides:
                    found[:, k] += bound
    return found


def _untold(anatomy: Anatomy, samples: Samples) -> Flags:
    """Return which columns of the ledger (n, m) something changes that the evidence does not hold."""
    trees, hinges = anatomy.trees, anatomy.hinges
    found = np.zeros((len(samples), 6 * trees + len(hinges)), dtype=bool)
    if anatomy.pushed:
        found[:] = True
    for k, hinge in enumerate(hinges, 6 * trees):
        found[:, k] |= bool(anatomy.pinned[hinge.body])
    for tree in range(trees):  # a pin joins a tree to itself, or to what is not its own
        found[:, 6 * tree : 6 * tree + 6] |= bool(np.any(anatomy.pinned & (anatomy.tree == tree)))
    for i, contact in enumerate(anatomy.contacts):
        own = samples.claims.own[:, i] | (samples.claims.holds_rolling[:, i] & (contact.friction.rolling == 0.0))
        own &= samples.claims.touches[:, i]
        if not own.any():
            continue
        for body in (contact.A, contact.B):
            if (tree := anatomy.tree[body]) >= 0:
                found[own, 6 * tree : 6 * tree + 6] = True
            for k, hinge in enumerate(hinges, 6 * trees):
                if hinge.outboard[body]:
                    found[own, k] = True
    return found


def _energy(
    anatomy: Anatomy,
    samples: Samples,
    intervals: Intervals,
    bodies: Moving,
    wrenches: Wrenches,
    torques: FloatArray,
    scales: Scales,
    part: float,
) -> Check:
    """The energy of all bodies changes by the power of contacts, motors, springs and dampers."""
    i, k, frames = intervals.left, intervals.right, samples.frames
    own = anatomy.moves & (anatomy.mass > 0.0)
    kinetic = kinetic_energy(anatomy, frames, bodies)[:, own]
    height = -dot(bodies.center[:, own], anatomy.gravity) * anatomy.mass[own]
    energy = (kinetic + height).sum(axis=1)[:, None]
    pushed = dot(wrenches.force, bodies.velocity) + dot(wrenches.moment, frames.angular_velocity)
    power = pushed[:, anatomy.moves].sum(axis=1)
    rates = samples.rates[:, [hinge.number for hinge in anatomy.hinges]]
    power = (power + np.sum(torques * rates, axis=1))[:, None]
    whole = length(wrenches.force) * length(bodies.velocity)
    whole = whole + length(wrenches.moment) * length(frames.angular_velocity)
    sizes = whole[:, anatomy.moves].sum(axis=1)[:, None] + np.sum(np.abs(torques * rates), axis=1)[:, None]
    bend = sizes * _pace(samples, scales, wrenches)
    slides, turning = np.any(samples.claims.slides, axis=1), _turning_slips(samples, intervals)
    total, error = intervals.integrals(power, slides, bend, sizes, turning)
    fall = np.abs(height[k] - height[i]).sum(axis=1)
    size = kinetic.sum(axis=1)
    size = np.maximum(size[i], size[k]) + fall + np.abs(total[:, 0])
    gained = energy[k] - energy[i] - total
    slack = _lost_to_rolling(anatomy, samples)
    allowed = (
        tolerances.ENERGY * part * size[:, None]
        + error
        + intervals.h[:, None] * np.maximum(slack[i], slack[k])[:, None]
    )
    allowed = allowed + _ROUND_OFF * np.abs(height[k]).sum(axis=1)[:, None] + tolerances.NOTHING * scales.energy
    put = tolerances.GAP * scales.weight * scales.size + tolerances.PROJECTED * scales.energy
    allowed = allowed + np.where(intervals.first, put, 0.0)[:, None]
    known = (error <= tolerances.JUDGED * size[:, None]) & ~_powered(anatomy, samples)[k][:, None]
    known &= (resolved(anatomy, samples, intervals) & _shown(error, sizes, intervals))[:, None]
    text = "the energy of {bodies} changes by {amount} {unit} that nothing explains, at {time} s"
    name = (("all bodies",),)
    return judged("energy", "J", name, text, Values.of_table(gained, allowed, samples.time[k], samples.run[k], known))


def _lost_to_rolling(anatomy: Anatomy, samples: Samples) -> FloatArray:
    """Return the power (n,), W, that rolling resistance may take and a record does not hold."""
    found = np.zeros(len(samples))
    for i, contact in enumerate(anatomy.contacts):
        law = contact.friction
        if law.rolling or law.rolling_viscous:
            load = np.abs(dot(samples.force[:, i], samples.normal[:, i])) + law.adhesion
            turning = samples.frames.angular_velocity[:, contact.A] - samples.frames.angular_velocity[:, contact.B]
            rate = length(turning)
            found += 1.001 * (law.rolling * load * rate + law.rolling_viscous * rate**2)
    return found


def _powered(anatomy: Anatomy, samples: Samples) -> Flags:
    """Return at which samples (n,) something has a power that is not known."""
    own = np.any(samples.claims.own & samples.claims.touches, axis=1)
    other = anatomy.pushed or anatomy.driven or bool(np.any(anatomy.other_joints))
    return own | other
