"""Balance between events: momentum, angular momentum and energy change by what acts; poses change by velocities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trundle.audit import tolerances
from trundle.audit.anatomy import Anatomy
from trundle.audit.between.quadrature import SHORT, Intervals
from trundle.audit.columns import any_last_axis, by_columns, greatest, side_by_side, split, sum_last_axis, view_of
from trundle.audit.evidence import Evidence, Flags, Numbers, Samples
from trundle.audit.joints import joint_torques
from trundle.audit.mechanics import (
    MotionState,
    Wrenches,
    cross,
    dot,
    kinetic_energy,
    ledger,
    length,
    moving,
    powers,
    rotate_vectors,
    turned_back,
    turning_terms,
)
from trundle.audit.report import Check, Values, judge_values
from trundle.audit.scales import Scales
from trundle.audit.shapes.solids import solid_of
from trundle.checks import FloatArray
from trundle.models.tree.model import DRY

_ROUND_OFF = 1e-14  # of a distance from the origin
_SLOW = 0.1
"""Part of the fastest speed by which a body that is slow may be accelerated."""
_SHOWN = 0.1
"""Part of an impulse between two samples up to which the error of its quadrature tells how large it is."""
_FAST = 1.0
"""Angle, rad, that a body may turn between two samples: of six of them, a stencil, it makes less than one turn."""
_TURNS = 0.88
"""Cosine of the angle, 0.5 rad, from which friction that turned between two samples may have done so at once: where a
slip passes near zero."""
_ROUND = 0.1
"""Part of a joint's smoothed friction that may change between two samples that resolve it."""
_STEADY = 0.02
"""Part by which the force of a compliant contact may change between samples that resolve it."""
_STILL = 1e-6
"""The same where the bodies swing on the contact by more than `_FOLLOWED` between two samples."""
_FOLLOWED = 0.3
"""Phase, rad, of a swing on a compliant contact between two samples that follow it: of faster ones two may agree."""


def balance_checks(anatomy: Anatomy, evidence: Evidence, scales: Scales) -> list[Check]:
    """Return the checks of balances between events."""
    samples = evidence.samples
    intervals = Intervals(samples.time, samples.stretch, tolerances.CUSP if anatomy.cusped else 1.0)
    if not len(intervals):
        return []
    between = Between(anatomy, samples, intervals, scales, tolerances.DECLARED * evidence.accuracy)
    return [*_motion(between), *_momentum(between)]


class Between:
    """What all balances between samples ask for.

    Attributes
    ----------
    declared : float
        Relative accuracy that is asked of a run by what it declares: no tolerance is less.
    resolved : (k,)
        In which intervals the samples show what compliant contacts do.
    slides : (n,)
        At which samples a contact slips.
    turning_slips : (k,)
        In which intervals friction turns by more than the samples can follow.
    turning : (n,) rad2/s2
        The square of the fastest turn of a body.
    """

    def __init__(
        self, anatomy: Anatomy, samples: Samples, intervals: Intervals, scales: Scales, declared: float
    ) -> None:
        self.anatomy, self.samples, self.intervals, self.scales = anatomy, samples, intervals, scales
        self.declared = declared
        self.resolved = find_resolved_intervals(anatomy, samples, intervals)
        self.slides = any_last_axis(samples.claims.slides)
        self.turning_slips = _turning_slips(self)
        w = samples.frames.angular_velocity
        self.turning = greatest(dot(w, w))

    def pace(self, force: FloatArray | float = 0.0) -> FloatArray:
        """Return how fast (n, 1), 1/s2, velocities or forces may change: as bodies turn, fall over their size, swing.

        ``force`` (n,), N: the largest one on a body besides its weight.
        """
        scales = self.scales
        return (self.turning + (scales.weight + force) / scales.mass / scales.least)[:, None] + self.anatomy.quickest**2

    def tolerance(self, least: float) -> float:
        """Return a relative tolerance: `least`, or what the run declares."""
        return max(least, self.declared)

    def larger(self, values: FloatArray) -> FloatArray:
        """Return the larger one (k, ...) of values (n, ...) at both ends of each interval."""
        return np.maximum(values[self.intervals.before], values[self.intervals.after])

    def at_most(self, rates: FloatArray) -> FloatArray:
        """Return what rates (n, m) >= 0 give at most in each interval (k, m): they may be larger than at both ends."""
        total, error = self.intervals.integrals(rates)
        return np.maximum(self.intervals.h[:, None] * self.larger(rates), total + error)

    def change(self, values: FloatArray) -> FloatArray:
        """Return by how much (k, ...) values (n, ...) change in each interval."""
        return values[self.intervals.after] - values[self.intervals.before]

    def check(
        self,
        law: str,
        unit: str,
        names: Sequence[tuple[str, ...]],
        text: str,
        table: tuple[FloatArray, ...],
        known: Flags,
    ) -> Check:
        """Return the check of what is off and what is allowed (k, m)."""
        k = self.intervals.after
        values = Values.of_table(table[0], table[1], self.samples.time[k], self.samples.run[k], known)
        return judge_values(law, unit, names, text, values)


def _motion(between: Between) -> list[Check]:
    """Poses change by the velocities."""
    anatomy, samples, intervals, scales = between.anatomy, between.samples, between.intervals, between.scales
    told = anatomy.told
    names = tuple((anatomy.names[i],) for i in told)
    frames, h, m = samples.frames.of(view_of(told)), intervals.h[:, None], len(told)
    sizes, relative, fast = scales.sizes[told], between.tolerance(tolerances.MOTION), between.pace()
    speed, w = length(frames.velocity), frames.angular_velocity
    turn, R = length(w), frames.rotation
    # Velocities, then the rates w x R of two of the rotations' columns: the third is their product.
    columns = by_columns(np.swapaxes(R[..., :2], 2, 3))
    rates = side_by_side(frames.velocity, cross(w[:, :, None], columns))

    def bend() -> FloatArray:
        paces = (speed + _SLOW * scales.speed) * fast, (turn + _SLOW * scales.speed / sizes) * fast
        return side_by_side(*(np.repeat(pace[:, :, None], k, axis=2) for pace, k in zip(paces, (3, 6), strict=True)))

    def slopes() -> FloatArray:
        a, alpha = _accelerations(anatomy, samples)
        return side_by_side(a[:, told], cross(alpha[:, told, None], columns))

    total, error = intervals.integrals(rates, None, bend, slopes=slopes)
    (travel, turned), (missed, missed_turn) = (split(one, (m, 3), (m, 2, 3)) for one in (total, error))
    pace = between.larger(speed) * h
    far = greatest(np.abs(frames.position))[intervals.right]
    # The first step of a stretch puts the bodies onto its constraints.
    put = intervals.first[:, None] * tolerances.GAP
    missed = length(missed)
    allowed = (relative + put) * sizes + relative * pace + _ROUND_OFF * far + missed
    off = length(between.change(frames.position) - travel)
    known = (missed <= tolerances.JUDGED * (pace + sizes)) & between.resolved[:, None]
    text = "{bodies} is {amount} {unit} from where its velocity brings it, at {time} s"
    found = [between.check("motion", "m", names, text, (off, allowed), known)]
    off = _size(between.change(columns) - turned)
    missed = _size(missed_turn)
    allowed = relative * (1.0 + between.larger(turn) * h) + missed + put
    text = "{bodies} is turned by {amount} {unit} from where its angular velocity brings it, at {time} s"
    known = (missed <= tolerances.JUDGED) & between.resolved[:, None]
    return [*found, between.check("turning", "rad", names, text, (off, allowed), known)]


def _accelerations(anatomy: Anatomy, samples: Samples) -> tuple[FloatArray, FloatArray]:
    """Return what contacts alone make of accelerations and angular accelerations (n, bodies, 3), of free bodies."""
    frames, R = samples.frames, samples.frames.rotation
    wrenches = contact_wrenches(anatomy, samples, moving(anatomy, frames))
    heavy = anatomy.mass > 0.0
    inverse = np.zeros(anatomy.inertia.shape)
    inverse[heavy] = np.linalg.pinv(anatomy.inertia[heavy])
    alpha = rotate_vectors(R, rotate_vectors(inverse, turned_back(R, wrenches.moment)))
    a = wrenches.force / np.where(heavy, anatomy.mass, np.inf)[:, None]
    return a - cross(alpha, rotate_vectors(R, anatomy.com)), alpha


def _size(rows: FloatArray) -> FloatArray:
    """Return the sizes (...) of two vectors (..., 2, 3) together."""
    return np.sqrt(dot(rows[..., 0, :], rows[..., 0, :]) + dot(rows[..., 1, :], rows[..., 1, :]))


def find_resolved_intervals(anatomy: Anatomy, samples: Samples, intervals: Intervals) -> Flags:
    """Return in which intervals (k,) the samples show what happens.

    What turns by more than `_FAST` from one to the next they do not, nor what swings more often than every other
    sample, in few samples by more than `_FOLLOWED`, nor what compliant contacts do: a touch may be over too soon; nor
    where resistance turns round.
    """
    i, k = intervals.left, intervals.right
    w = samples.frames.angular_velocity[:, _uneven(anatomy)]
    spin = np.sqrt(dot(w, w).max(axis=1, initial=0.0))
    found = (np.maximum(spin[i], spin[k]) * intervals.h <= _FAST) & anatomy.resolves_swings(intervals.h)
    found &= (intervals.count > SHORT) | (anatomy.quickest * intervals.h <= _FOLLOWED)
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
        swings = _swing(anatomy, c, np.maximum(-samples.gap[i, c], -samples.gap[k, c])) * intervals.h > _FOLLOWED
        steady = change <= np.where(swings, _STILL, _STEADY) * np.minimum(force[i], force[k])
        good = apart | (steady & (force[i] > 0.0))
        found &= good
    found &= ~_turns_round(anatomy, samples, intervals)
    for shift in (1, 2):  # neighbours' samples are parts of the same quadrature
        same = (
            intervals.left[shift:] - intervals.left[:-shift] == shift if len(found) > shift else np.zeros(0, dtype=bool)
        )
        before = found.copy()
        found[shift:] &= before[:-shift] | ~same
        found[:-shift] &= before[shift:] | ~same
    return found


def _swing(anatomy: Anatomy, contact: int, depth: FloatArray) -> FloatArray:
    """Return how fast (k,), rad/s, the lighter body of a compliant contact swings on it at a depth (k,), m."""
    one = anatomy.contacts[contact]
    masses = [float(anatomy.mass[body]) for body in (one.A, one.B) if anatomy.mass[body] > 0.0]
    mass = min(masses, default=np.inf)
    return np.sqrt(1.5 * one.friction.stiffness * np.sqrt(np.maximum(depth, 0.0)) / mass)


def _turns_round(anatomy: Anatomy, samples: Samples, intervals: Intervals) -> Flags:
    """Return in which intervals (k,) smoothed friction of a joint, or a moment against rolling or spin, turns round."""
    i, k = intervals.left, intervals.right
    found = np.zeros(len(intervals), dtype=bool)
    for hinge in anatomy.hinges:
        if hinge.spec.smooth_friction:
            part = np.tanh(samples.rates[:, hinge.number] / DRY)
            found |= np.abs(part[k] - part[i]) > _ROUND
    for c, contact in enumerate(anatomy.contacts):
        law = contact.friction
        if not (law.rolling or law.drilling):
            continue
        normal, w = samples.normal[:, c], samples.frames.angular_velocity
        turning = w[:, contact.A] - w[:, contact.B]
        spin = dot(turning, normal)
        rolling = turning - spin[:, None] * normal
        touches, held = samples.claims.touches[:, c], samples.claims.holds_rolling[:, c]
        across = dot(rolling[i], rolling[k]) < _TURNS * length(rolling[i]) * length(rolling[k])
        across &= bool(law.rolling) & ~(held[i] & held[k])
        about = bool(law.drilling) & (spin[i] * spin[k] < 0.0)
        found |= touches[i] & touches[k] & (across | about)
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
        if pair.joint is None:
            round_[contact.A] &= solid_of(pair.shape_A).ball is not None and not any(pair.center_A)
            round_[contact.B] &= solid_of(pair.shape_B).ball is not None
    return np.flatnonzero((anatomy.moves | anatomy.given) & ~round_)


def _turning_slips(between: Between) -> Flags:
    """Return in which intervals (k,) the friction of a slip turns by more than the samples can follow."""
    samples, intervals = between.samples, between.intervals
    slides = np.flatnonzero(np.any(samples.claims.slides, axis=0))
    if not len(slides):
        return np.zeros(len(intervals), dtype=bool)
    force, normal = samples.force[:, slides], samples.normal[:, slides]
    along = force - dot(force, normal)[..., None] * normal
    size, i, k = length(along), intervals.left, intervals.right
    turned = dot(along[i], along[k]) < _TURNS * size[i] * size[k]
    return np.any(turned & samples.claims.slides[:, slides][i] & samples.claims.slides[:, slides][k], axis=1)


def _samples_show_impulse(error: FloatArray, whole: FloatArray) -> Flags:
    """Return in which intervals (k,) the samples show the impulses (k, m): no error tells of a peak between them."""
    return ~any_last_axis(error > _SHOWN * np.where(whole > 0.0, whole, np.inf))


def contact_wrenches(anatomy: Anatomy, samples: Samples, bodies: MotionState) -> Wrenches:
    """Return what the contacts of shapes do to the bodies that they touch."""
    found = Wrenches.none(len(samples), len(anatomy.names))
    pushing = any_last_axis(np.any(samples.force, axis=0)) & ~anatomy.of_joints
    for side, sign, points in zip(anatomy.sides, (1.0, -1.0), (samples.on_A, samples.on_B), strict=True):
        some = np.flatnonzero(pushing & anatomy.moves[side])
        if len(some):
            arm = points[:, some] - bodies.center[:, side[some]]
            moment = samples.moment[:, some, None] * samples.normal[:, some]
            found.push(side[some].tolist(), arm, sign * samples.force[:, some], sign * moment)
    return found


def _momentum(between: Between) -> list[Check]:
    """Momenta of trees and joints change by gravity, contacts, motors and springs; so does the energy of all."""
    anatomy, samples, intervals, scales = between.anatomy, between.samples, between.intervals, between.scales
    bodies = moving(anatomy, samples.frames)
    h, trees = intervals.h[:, None], anatomy.trees
    wrenches = contact_wrenches(anatomy, samples, bodies)
    none = np.zeros((len(samples), 1, 3))
    for body, columns in anatomy.torqued:
        wrenches.push([body], none, none, _torque(samples.inputs[:, columns])[:, None])
    weight = anatomy.mass[:, None] * anatomy.gravity
    whole = Wrenches(
        wrenches.force + weight, wrenches.moment, wrenches.force_size + length(weight), wrenches.moment_size
    )
    kept = ledger(anatomy, samples.frames, bodies)
    rates, sizes = powers(anatomy, kept, whole)
    torques, torque_sizes = joint_torques(anatomy, samples)
    if anatomy.hinges:
        rates[:, 6 * trees :] += turning_terms(anatomy, samples.frames, kept) + torques
        sizes[:, 6 * trees :] += torque_sizes
    # Near its end a slip turns like a power of the time that is left.
    fast = between.pace(greatest(whole.force_size))

    def bend() -> FloatArray:
        found = sizes * fast
        found[:, 6 * trees :] += _dry_bend(between)
        return found

    total, error = intervals.integrals(rates, between.slides, bend, sizes, between.turning_slips)
    off = between.change(kept.values) - total
    largest = between.larger(sizes)
    size = between.larger(kept.sizes) + h * largest
    local = scales.at(anatomy.column_bodies)
    floor = np.where(intervals.first, tolerances.PROJECTED, tolerances.NOTHING)[:, None] * local.momentum
    floor = floor * np.where(kept.angular, local.size, 1.0)
    allowed = between.tolerance(tolerances.MOMENTUM) * size + error + floor
    if (slack := _slack(anatomy, samples)) is not None:
        allowed = allowed + between.at_most(slack)
    shown = between.resolved & _samples_show_impulse(error, h * largest)
    known = (error <= tolerances.JUDGED * size) & shown[:, None]
    if (untold := _untold(anatomy, samples)) is not None:
        known &= ~untold[intervals.right]
    text = "{bodies}: the momentum changes by {amount} {unit} that no force explains, at {time} s"
    found = between.check("momentum", "N s", kept.names, text, (off, allowed), known)
    return [found, _energy(between, bodies, wrenches, torques, shown)]


def _dry_bend(between: Between) -> FloatArray:
    """Return second derivatives (n, hinges), N m/s2 or N/s2, of what smoothed friction does along the joints, at most.

    In the interval before a sample: of f = -c tanh(rate/DRY) it is at most 2 c (1 - tanh^2) (rate'/DRY)^2.
    """
    anatomy, samples, intervals = between.anatomy, between.samples, between.intervals
    left, right = intervals.left, intervals.right
    found = np.zeros((len(samples), len(anatomy.hinges)))
    for k, hinge in enumerate(anatomy.hinges):
        if not hinge.spec.smooth_friction:
            continue
        before, after = (samples.rates[at, hinge.number] / DRY for at in (left, right))
        least = np.where(before * after > 0.0, np.minimum(np.abs(before), np.abs(after)), 0.0)
        pace = (after - before) / intervals.h
        found[right, k] = 2.0 * hinge.spec.smooth_friction * (1.0 - np.tanh(least) ** 2) * pace**2
    return found


def _torque(values: FloatArray) -> FloatArray:
    if values.shape[1] == 3:
        return values
    return np.stack([np.zeros(len(values)), -values[:, 0], np.zeros(len(values))], axis=1)


def _slack(anatomy: Anatomy, samples: Samples) -> FloatArray | None:
    """Return how large moments (n, m) are that a record does not hold: of rolling resistance, across open gaps."""
    found = None
    for i, contact in enumerate(anatomy.contacts):
        law = contact.friction
        if contact.pair.joint is not None or not (law.rolling or law.rolling_viscous):
            continue
        if found is None:
            found = np.zeros((len(samples), 6 * anatomy.trees + len(anatomy.hinges)))
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


def _untold(anatomy: Anatomy, samples: Samples) -> Flags | None:
    """Return which columns of the ledger (n, m) something changes that the evidence does not hold; None: no one."""
    trees, hinges, claims = anatomy.trees, anatomy.hinges, samples.claims
    joined = anatomy.pinned | anatomy.coupled
    if not (anatomy.pushed or joined.any() or claims.own.any() or claims.holds_rolling.any()):
        return None
    found = np.zeros((len(samples), 6 * trees + len(hinges)), dtype=bool)
    if anatomy.pushed:
        found[:] = True
    for k, hinge in enumerate(hinges, 6 * trees):
        found[:, k] |= bool(joined[hinge.body])
    for tree in range(trees):  # a pin joins a tree to itself, or to what is not its own
        found[:, 6 * tree : 6 * tree + 6] |= bool(np.any(anatomy.pinned & (anatomy.tree == tree)))
    for i, contact in enumerate(anatomy.contacts):
        own = claims.own[:, i] | (claims.holds_rolling[:, i] & (contact.friction.rolling == 0.0))
        own &= claims.touches[:, i]
        if not own.any():
            continue
        for body in (contact.A, contact.B):
            if (tree := anatomy.tree[body]) >= 0:
                found[own, 6 * tree : 6 * tree + 6] = True
            for k, hinge in enumerate(hinges, 6 * trees):
                if hinge.outboard[body]:
                    found[own, k] = True
    return found


def _energy(between: Between, bodies: MotionState, contacts: Wrenches, torques: FloatArray, shown: Flags) -> Check:
    """The energy of all bodies changes by the power of contacts, motors, springs and dampers.

    ``shown`` (k,): intervals in which the samples show the forces, whose power it is.
    """
    anatomy, samples, intervals, scales = between.anatomy, between.samples, between.intervals, between.scales
    frames, h = samples.frames, intervals.h
    own, moves = anatomy.solid, anatomy.movable
    kinetic = sum_last_axis(kinetic_energy(anatomy, frames, bodies)[:, own])
    height = (-dot(bodies.center, anatomy.gravity) * anatomy.mass)[:, own]
    energy = kinetic + sum_last_axis(height)
    velocity, turning = bodies.velocity, frames.angular_velocity
    pushed = dot(contacts.force, velocity) + dot(contacts.moment, turning)
    whole = length(contacts.force) * length(velocity) + length(contacts.moment) * length(turning)
    power, sizes = sum_last_axis(pushed[:, moves]), sum_last_axis(whole[:, moves])
    if anatomy.hinges:
        motors = torques * samples.rates[:, [hinge.number for hinge in anatomy.hinges]]
        power, sizes = power + sum_last_axis(motors), sizes + sum_last_axis(np.abs(motors))
    sizes = sizes[:, None]
    fast = between.pace(greatest(contacts.force_size))

    def bend() -> FloatArray:
        hinged = np.abs(samples.rates[:, [hinge.number for hinge in anatomy.hinges]])
        return sizes * fast + sum_last_axis(_dry_bend(between) * hinged)[:, None]

    total, error = intervals.integrals(power[:, None], between.slides, bend, sizes, between.turning_slips)
    size = between.larger(kinetic) + sum_last_axis(np.abs(between.change(height))) + np.abs(total[:, 0])
    gained = between.change(energy) - total[:, 0]
    allowed = between.tolerance(tolerances.ENERGY) * size + error[:, 0] + tolerances.NOTHING * scales.energy
    allowed = allowed + _ROUND_OFF * sum_last_axis(np.abs(height))[intervals.right]
    put = tolerances.GAP * scales.weight * scales.size + tolerances.PROJECTED * scales.energy
    allowed = allowed + np.where(intervals.first, put, 0.0)
    if any(contact.friction.rolling or contact.friction.rolling_viscous for contact in anatomy.contacts):
        allowed = allowed + between.at_most(_lost_to_rolling(anatomy, samples)[:, None])[:, 0]
    known = (error[:, 0] <= tolerances.JUDGED * size) & ~_has_unknown_power(anatomy, samples)[intervals.right]
    known &= shown & _samples_show_impulse(error, h[:, None] * between.larger(sizes))
    text = "the energy of {bodies} changes by {amount} {unit} that nothing explains, at {time} s"
    table = gained[:, None], allowed[:, None]
    return between.check("energy", "J", (("all bodies",),), text, table, known[:, None])


def _lost_to_rolling(anatomy: Anatomy, samples: Samples) -> FloatArray:
    """Return the power (n,), W, that moments of rolling resistance may give or take, which a record does not hold.

    On a base that moves as it is told only the turning of the body itself counts: the work on the base is nobody's.
    """
    found, w = np.zeros(len(samples)), samples.frames.angular_velocity
    for i, contact in enumerate(anatomy.contacts):
        law = contact.friction
        if law.rolling or law.rolling_viscous:
            load = np.abs(dot(samples.force[:, i], samples.normal[:, i])) + law.adhesion
            past = length(w[:, contact.A] - w[:, contact.B])
            own = [float(anatomy.moves[body]) for body in (contact.A, contact.B)]
            rate = length(own[0] * w[:, contact.A] - own[1] * w[:, contact.B])
            found += 1.001 * (law.rolling * load + law.rolling_viscous * past) * rate
    return found


def _has_unknown_power(anatomy: Anatomy, samples: Samples) -> Flags:
    """Return at which samples (n,) something has a power that is not known."""
    own = any_last_axis(samples.claims.own & samples.claims.touches)
    other = anatomy.pushed or anatomy.driven or bool(np.any(anatomy.other_joints))
    return own | other
