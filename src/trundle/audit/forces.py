"""Forces between events: in their cones, never pulling, against the slip where a contact slides."""

from __future__ import annotations

import numpy as np

from trundle.audit import tolerances
from trundle.audit.anatomy import Anatomy
from trundle.audit.columns import columns_of, view_of
from trundle.audit.evidence import Evidence, Samples
from trundle.audit.mechanics import cross, dot, length
from trundle.audit.report import Check, Values, judge_values
from trundle.audit.scales import Local, Scales
from trundle.checks import FloatArray

_SAME = 1e-12
"""s: times of one instant."""


def force_checks(anatomy: Anatomy, evidence: Evidence, scales: Scales) -> list[Check]:
    """Return the checks of forces at the samples."""
    samples = evidence.samples
    real = [i for i, contact in enumerate(anatomy.contacts) if contact.pair.joint is None]
    if not real or not len(samples):
        return []
    laws = [anatomy.contacts[i].friction for i in real]
    names = tuple((anatomy.contacts[i].name,) for i in real)
    force, normal = samples.force[:, view_of(np.array(real))], samples.normal[:, view_of(np.array(real))]
    load = dot(force, normal)
    along = force - load[..., None] * normal
    size = length(force)
    A, B = ([getattr(anatomy.contacts[i], side) for i in real] for side in "AB")
    local = scales.at(np.where(anatomy.moves[A], A, B))
    weight = np.where(local.weight > 0.0, local.weight, float(size.max(initial=0.0)))
    # Without gravity what a body that just goes on is held with is round-off.
    nothing = tolerances.NOTHING * local.mass * local.speed**2 / local.size
    least = tolerances.CONE * size + tolerances.PULL * weight + nothing
    tilted = least + size * _turn_in_steps(evidence, A, B)
    own = samples.claims.own[:, real] | ~samples.acted[:, None]
    times, runs = samples.time, samples.run
    adhesion = np.array([law.adhesion for law in laws])
    mu = np.array([law.mu for law in laws])
    bearing = np.maximum(load + adhesion, 0.0)

    pull = np.maximum(-load - adhesion, 0.0)
    text = "{bodies}: the contact pulls with {amount} {unit} at {time} s"
    pulls = not evidence.separations_ignored
    values = Values.of_table(pull, tilted, times, runs, ~own & pulls)
    found = [judge_values("pulling forces", "N", names, text, values)]

    v = point_velocities(samples, A, B, samples.on_A[:, real])
    if evidence.stabilized:
        found.append(_check_closed_contacts(evidence, local, real, names, dot(v, normal), v))
    v = v - dot(v, normal)[..., None] * normal
    speed = length(v)
    # The slower a slip, the less it has a direction.
    blur = np.maximum(tolerances.BLUR * local.speed, evidence.beginning) / np.maximum(speed, 1e-300)
    blur = np.minimum(blur, 1.0) * samples.claims.slides[:, real]
    beyond = np.maximum(length(along) - np.minimum(mu, 1e300) * bearing, 0.0)
    beyond[:, np.isinf(mu)] = 0.0
    text = "{bodies}: the force is {amount} {unit} outside its friction cone at {time} s"
    cones = not evidence.slips_ignored
    values = Values.of_table(beyond, tilted, times, runs, ~own & cones)
    found.append(judge_values("friction cone", "N", names, text, values))
    found.append(_moments(evidence, real, laws, names, bearing, least * local.size))
    found.append(_directions(evidence, local, real, names, v, along, mu * bearing, least, blur))
    return found


def _check_closed_contacts(
    evidence: Evidence,
    local: Local,
    real: list[int],
    names: tuple[tuple[str, ...], ...],
    opening: FloatArray,
    velocity: FloatArray,
) -> Check:
    """Points that touch go neither apart nor into each other: what made them would be a blow that nobody told of."""
    samples = evidence.samples
    claims = samples.claims
    rigid = claims.touches[:, real] & ~claims.compliant[:, real] & ~claims.own[:, real]
    # Within time steps points are those of the middle of a step.
    known = rigid & samples.acted[:, None] & (samples.stretch >= 0)[:, None]
    allowed = tolerances.APPROACH * np.maximum(local.speed, length(velocity)) + local.rest
    text = "{bodies} touch and go apart, or into each other, at {amount} {unit} at {time} s"
    values = Values.of_table(np.abs(opening), np.broadcast_to(allowed, opening.shape), samples.time, samples.run, known)
    return judge_values("closed contacts", "m/s", names, text, values)


def _turn_in_steps(evidence: Evidence, A: list[int], B: list[int]) -> FloatArray:
    """Return by what angles (n, contacts), rad, normals may turn within the time steps that samples are in.

    There a force is that of the step's middle, and so is its cone: impulses are judged where they act.
    """
    samples, jumps = evidence.samples, evidence.jumps
    found = np.zeros((len(samples), len(A)))
    steps, rows = np.flatnonzero(jumps.steps), np.flatnonzero(samples.stretch < 0)
    if len(steps) and len(rows):
        of_step = np.searchsorted(jumps.end[steps], samples.time[rows] - _SAME)
        h = (jumps.end - jumps.begin)[steps[np.minimum(of_step, len(steps) - 1)]]
        turn = length(samples.frames.angular_velocity[rows])
        found[rows] = h[:, None] * (turn[:, A] + turn[:, B])
    return found


def _moments(
    evidence: Evidence,
    real: list[int],
    laws: list,
    names: tuple[tuple[str, ...], ...],
    bearing: FloatArray,
    least: FloatArray,
) -> Check:
    """The moment about the normal is within its bound."""
    samples = evidence.samples
    bound = np.array([law.spin_bound for law in laws])
    viscous = np.array([law.drilling_viscous for law in laws])
    moment = np.abs(samples.moment[:, real])
    off = np.where(bound > 0.0, np.maximum(moment - bound * bearing, 0.0), 0.0)
    known = ~samples.claims.own[:, real] & (viscous == 0.0) & (not evidence.slips_ignored)
    text = "{bodies}: the moment about the normal is {amount} {unit} beyond its bound at {time} s"
    values = Values.of_table(off, least, samples.time, samples.run, known)
    return judge_values("torsional bound", "N m", names, text, values)


def point_velocities(samples: Samples, A: list[int], B: list[int], point: FloatArray) -> FloatArray:
    """Return the velocities (n, contacts, 3), m/s, of A's material points minus those of B's."""
    found = []
    for bodies in (A, B):
        x, v, w = (columns_of(part, np.array(bodies)) for part in samples.frames.motion)
        found.append(v + cross(w, point - x))
    return found[0] - found[1]


def _directions(
    evidence: Evidence,
    local: Local,
    real: list[int],
    names: tuple[tuple[str, ...], ...],
    v: FloatArray,
    along: FloatArray,
    most: FloatArray,
    least: FloatArray,
    blur: FloatArray,
) -> Check:
    """Friction is mu N against the slip where a contact slips; a compliant one reaches that only when it slips fast."""
    samples, speed = evidence.samples, length(v)
    limited = np.isfinite(most)
    most = np.where(limited, most, 0.0)
    slips = (speed > tolerances.SLIP * local.speed) & samples.claims.touches[:, real] & limited
    # Within time steps a force is the mean of a step: the impulses of steps are judged.
    slips &= (samples.stretch >= 0)[:, None]
    e = v / np.where(speed > 0.0, speed, 1.0)[..., None]
    against = dot(along, e)
    aside = length(along - against[..., None] * e)
    compliant = samples.claims.compliant[:, real]
    off = np.where(compliant, np.maximum(against, 0.0) + aside, length(along + most[..., None] * e))
    allowed = 10.0 * least + blur * most
    known = slips & ~samples.claims.own[:, real] & samples.acted[:, None] & (not evidence.slips_ignored)
    text = "{bodies}: friction is {amount} {unit} off from mu N against the slip at {time} s"
    values = Values.of_table(off, allowed, samples.time, samples.run, known)
    return judge_values("friction against slip", "N", names, text, values)
