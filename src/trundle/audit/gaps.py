"""Gaps: no two shapes that may touch overlap, at the samples and between them; nothing pushes across a gap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trundle.audit import tolerances
from trundle.audit.anatomy import Anatomy
from trundle.audit.between import PathPose, Paths, Side
from trundle.audit.columns import any_last_axis, sum_last_axis
from trundle.audit.evidence import Evidence, Flags, Numbers, Samples
from trundle.audit.mechanics import cross, dot, length, turned_back
from trundle.audit.report import Check, Values, judge_values
from trundle.audit.shapes import Poses, Solid, gaps, solid_of
from trundle.checks import FloatArray
from trundle.models.tree.system import ContactSystem
from trundle.threads import cached_property

_ROUND_OFF = 1e-9
"""Part of a gap that its search may miss."""
_AT_ONCE = 4000
"""Instants between samples that are looked at together."""
_MOST = 200
"""Poses looked at between two samples."""
_SETTLED = 0.01
"""Part of the overlap that is allowed up to which a bound on it is as good as a look: round-off of what rolls."""
_SURE = 0.25
"""Part of the overlap that is allowed which an estimate of it may be, and may be off, to be as good as a look."""
_BENT = 0.02
"""Part of what a path between two samples is bent by that its interpolation may be off."""
_JUMPED = 16.0 / 27.0
"""The same where its velocity may jump in between: the cubic of a velocity v at one end alone, with the chord at rest,
is v h max s (1 - s)^2 = 4/27 v h off the chord, of a bend of v h / 4."""


@dataclass(frozen=True, eq=False)
class ShapePair:
    """Two shapes that may touch.

    Attributes
    ----------
    names : tuple of str
        Of the bodies, for messages.
    contacts : tuple of int
    A, B : Solid
    body_A, body_B : int
        Frames in which they are.
    center : (3,) m
        Origin of A's shape in its frame.
    size : float, m
        Of the smaller one.
    ahead : float or None
        How far ahead of others the contact has to be to touch: such a one may be passed through.
    """

    names: tuple[str, str]
    contacts: tuple[int, ...]
    A: Solid
    B: Solid
    body_A: int
    body_B: int
    center: FloatArray
    size: float
    ahead: bool

    @cached_property
    def exact(self) -> bool:
        """Whether its gap is known in closed form, not only a bound of it."""
        A, B = self.A, self.B
        balls = A.ball is not None and (B.ball is not None or B.bundle.distance is not None)
        return bool(B.flat and A.bounded) or balls

    @cached_property
    def reach(self) -> float:
        """By how much (m) turning A by 1 rad may bring its shape closer: a ball about A's origin does not move."""
        return self.A.uneven + float(np.linalg.norm(self.center))


def pairs_of(system: ContactSystem, anatomy: Anatomy) -> tuple[ShapePair, ...]:
    """Return the pairs of shapes of a system, made once."""
    return system.keep(("audit pairs",), lambda: tuple(_pairs(system, anatomy)))


def pair_numbers(system: ContactSystem, anatomy: Anatomy) -> Numbers:
    """Return the number of the pair of shapes (contacts,) of each contact; -1 of the ends of ranges of joints."""

    def build() -> Numbers:
        found = np.full(len(anatomy.contacts), -1, dtype=np.intp)
        for k, pair in enumerate(pairs_of(system, anatomy)):
            found[list(pair.contacts)] = k
        return found

    return system.keep(("audit pair numbers",), build)


def _pairs(system: ContactSystem, anatomy: Anatomy) -> list[ShapePair]:
    number = {name: i for i, name in enumerate(anatomy.names)}
    found = []
    for numbers in system.pairs:
        one = system.contact_pairs[numbers[0]]
        A, B = solid_of(one.shape_A), solid_of(one.shape_B)
        center = np.zeros(3)
        center[[0, 2] if system.d == 2 else [0, 1, 2]] = one.center_A
        size = one.shape_A.reference_length
        if B.bounded:
            size = min(size, one.shape_B.reference_length)
        bodies = number[one.body_A], number[one.body_B]
        names = tuple(anatomy.names[anatomy.carrier[body]] for body in bodies)
        ahead = any(system.contact_pairs[i].ahead is not None for i in numbers)
        found.append(ShapePair(names, numbers, A, B, *bodies, center, size, ahead))  # pyright: ignore[reportArgumentType]
    return found


def poses_of(pair: ShapePair, paths: Paths, A: PathPose, B: PathPose, rows: Numbers | slice = slice(None)) -> Poses:
    """Return the poses of A's shape in B's frame, with the normals that the record has at samples `rows`."""

    def hints() -> FloatArray:
        normals = paths.samples.normal[rows][:, list(pair.contacts)]
        return turned_back(paths.pose(pair.body_B, rows).R[:, None], normals)

    return Poses(pair.A.d, A.R, None if paths.level(pair.body_B) else B.R, _apart(pair, A, B), hints)


def poses_between(pair: ShapePair, A: PathPose, B: PathPose, normals: FloatArray) -> Poses:
    """Return the poses of A's shape in B's frame at any poses (n,), with normals (n, k, 3), world, to try."""
    return Poses(pair.A.d, A.R, B.R, _apart(pair, A, B), lambda: turned_back(B.R[:, None], normals))


def _apart(pair: ShapePair, A: PathPose, B: PathPose) -> FloatArray:
    """Return the places (n, 3), m, of A's shape from the origin of B, world axes."""
    apart = A.p - B.p
    return apart + A.R @ pair.center if np.any(pair.center) else apart


def gap_checks(system: ContactSystem, anatomy: Anatomy, evidence: Evidence) -> list[Check]:
    """Return the checks of gaps."""
    pairs, samples = pairs_of(system, anatomy), evidence.samples
    if not pairs or not len(samples):
        return []
    found, sound = np.zeros((len(samples), len(pairs))), np.zeros((len(samples), len(pairs)), dtype=bool)
    paths = Paths(samples)
    shape = len(paths), len(pairs)
    inside, bent = np.zeros(shape), np.zeros(shape)
    seen = np.repeat(anatomy.resolves_swings(paths.h)[:, None], len(pairs), axis=1)
    for k, pair in enumerate(pairs):
        poses = poses_of(pair, paths, paths.pose(pair.body_A), paths.pose(pair.body_B))
        here = gaps(pair.A, pair.B, poses, tolerances.OPEN * pair.size)
        found[:, k], sound[:, k] = here.gap, here.sound
        _look_between(pair, paths, here.gap, (inside[:, k], bent[:, k], seen[:, k]))
    names = tuple(pair.names for pair in pairs)
    sizes = np.array([pair.size for pair in pairs])
    # A compliant contact is meant to be pressed in; one that lands only ahead of others may be passed through.
    compliant = np.stack([any_last_axis(samples.claims.compliant[:, list(pair.contacts)]) for pair in pairs], axis=1)
    known = ~compliant & ~np.array([pair.ahead for pair in pairs])
    known &= np.isfinite(found) | np.isnan(found)
    part = 1.0 if evidence.stabilized else tolerances.DRIFT / tolerances.GAP
    part = max(part, tolerances.DECLARED * evidence.accuracy / tolerances.GAP)
    allowed = np.broadcast_to(tolerances.GAP * part * sizes, found.shape)
    text = "{bodies} overlap by {amount} {unit} at {time} s"
    checks = [
        judge_values(
            "gap", "m", names, text, Values.of_table(np.minimum(found, 0.0), allowed, samples.time, samples.run, known)
        )
    ]
    text = "{bodies} overlap by {amount} {unit} between samples, at about {time} s"
    bent = bent + tolerances.GAP * part * sizes
    rigid = np.all(known, axis=0)
    times, runs = samples.time[paths.right], samples.run[paths.right]
    values = Values.of_table(inside, bent, times, runs, seen & rigid)
    checks.append(judge_values("gap between samples", "m", names, text, values))
    checks.append(_across(anatomy, pairs, samples, found, sound))
    checks.append(_check_recorded_gaps(anatomy, pairs, samples, found, sound))
    return checks


def _across(anatomy: Anatomy, pairs: tuple[ShapePair, ...], samples: Samples, found: FloatArray, sound: Flags) -> Check:
    """Nothing pushes where two shapes are apart."""
    off, allowed = np.zeros(found.shape), np.ones(found.shape)
    weight = float(anatomy.mass.sum() * np.linalg.norm(anatomy.gravity))
    known = np.zeros(found.shape, dtype=bool)
    for k, pair in enumerate(pairs):
        force = sum_last_axis(length(samples.force[:, list(pair.contacts)]))
        apart = found[:, k] > tolerances.OPEN * pair.size
        off[:, k] = np.where(apart, force, 0.0)
        allowed[:, k] = tolerances.PULL * (weight or float(force.max(initial=0.0)))
        known[:, k] = sound[:, k] & ~any_last_axis(samples.claims.own[:, list(pair.contacts)])
    names = tuple(pair.names for pair in pairs)
    text = "{bodies} push each other with {amount} {unit} across a gap at {time} s"
    return judge_values(
        "force across a gap", "N", names, text, Values.of_table(off, allowed, samples.time, samples.run, known)
    )


def _check_recorded_gaps(
    anatomy: Anatomy, pairs: tuple[ShapePair, ...], samples: Samples, found: FloatArray, sound: Flags
) -> Check:
    """The gap of two points, and that which is recorded of shapes apart, is never less than that of the shapes.

    It is the same where the gap of the shapes is known, not only a bound of it, and they have no other contact.
    """
    contacts = [(k, i) for k, pair in enumerate(pairs) for i in pair.contacts]
    columns, numbers = (np.array(part, dtype=np.intp) for part in zip(*contacts, strict=True))
    touches = samples.claims.touches[:, numbers]
    told, known = samples.gap[:, numbers], touches & ~samples.claims.own[:, numbers]
    alone = np.array([len(pair.contacts) == 1 for pair in pairs])[columns]
    if samples.recorded_gap is not None:  # of several pieces in flight it is not said whose gap that is
        recorded = samples.recorded_gap[:, numbers]
        there = alone & ~np.isnan(recorded)
        told, known = np.where(there, recorded, told), known | there
    exact = np.array([pair.exact for pair in pairs])[columns] & alone
    off = found[:, columns] - told
    off = np.where(exact, off, np.maximum(off, 0.0))
    sizes = np.array([pair.size for pair in pairs])[columns]
    names = tuple((anatomy.contacts[i].name,) for i in numbers)
    text = "{bodies}: the gap that is recorded is {amount} {unit} off from that of the shapes at {time} s"
    allowed = tolerances.GAP * sizes + _ROUND_OFF * np.abs(told)
    known &= sound[:, columns]
    return judge_values(
        "recorded gap", "m", names, text, Values.of_table(off, allowed, samples.time, samples.run, known)
    )


def _look_between(pair: ShapePair, paths: Paths, found: FloatArray, told: tuple[FloatArray, FloatArray, Flags]) -> None:
    """Write overlaps between samples, what is allowed of them, and whether they are known.

    There are none where a bound on the relative speed excludes them; the poses in between are looked at elsewhere.
    """
    off, allowed, known = told
    i, h = paths.left, paths.h
    speed = paths.larger(_speed(pair, paths))
    least = (found[i] + found[i + 1] - speed * h) / 2
    off[:] = np.minimum(least, 0.0)
    near = np.flatnonzero(~(least >= -_SETTLED * tolerances.GAP * pair.size))
    if not len(near):
        return
    if pair.B.flat and pair.A.bounded and paths.still(pair.body_B):
        near = _look_over_flat(pair, paths, near, off)
        if not len(near):
            return
    off[near] = 0.0
    # What does not turn, and a ball, needs no rotations in between.
    A = Side(pair.body_A, pair.reach, pair.A.ball is None or bool(np.any(pair.center)))
    B = Side(pair.body_B, pair.B.reach if pair.B.bounded and pair.B.ball is None else 0.0, True)
    bend = paths.bend(A, near) + paths.bend(B, near)
    good = bend < 0.5 * pair.size
    known[near] &= good
    near, bend = near[good], bend[good]
    if not len(near):
        return
    first, last = _close(pair, paths, near, bend)
    steps = np.clip(np.ceil(4.0 * speed[near] * h[near] * (last - first) / pair.size), 1, _MOST)
    steps[last < first] = 0
    steps = steps.astype(np.intp)
    off[near] = np.minimum(_least_between(pair, paths, (A, B), near, (first, last), steps), 0.0)
    allowed[near] = np.where(paths.together[near], _BENT, _JUMPED) * bend
    # What the samples around one miss of it is asked for only where it decides.
    if np.any(-off[near] > allowed[near] + tolerances.GAP * pair.size):
        allowed[near] += paths.bound_missed_path((A, B))[near]


def _least_between(
    pair: ShapePair,
    paths: Paths,
    sides: tuple[Side, Side],
    rows: Numbers,
    when: tuple[FloatArray, FloatArray],
    steps: Numbers,
) -> FloatArray:
    """Return the least gaps (k,), m, between samples at so many instants each, evenly spread; infinity at none."""
    first, last = when
    found = np.full(len(rows), np.inf)
    which = np.repeat(np.arange(len(rows)), steps)
    number = np.arange(len(which)) - np.repeat(np.cumsum(steps) - steps, steps)
    shares = first[which] + (last - first)[which] * (number + 0.5) / steps[which]
    for block in np.array_split(np.arange(len(which)), max(1, len(which) // _AT_ONCE)):
        some, share = rows[which[block]], shares[block]
        of_A, of_B = (paths.between(side, some, share) for side in sides)
        poses = poses_of(pair, paths, of_A, of_B, paths.left[some])
        here = gaps(pair.A, pair.B, poses, tolerances.OPEN * pair.size).gap
        np.minimum.at(found, which[block], here)
    return found


def _look_over_flat(pair: ShapePair, paths: Paths, rows: Numbers, off: FloatArray) -> Numbers:
    """Write overlaps over a flat that stands still half-way between samples; return the rows that need a closer look.

    The gap is (x_A - x_B).n + u.c - h(-u), u = R_A' n; u and x_A.n are interpolated by their values and rates. A cubic
    misses h4/384 of the fourth derivative of u, which is about (w2 + 3 w')2.
    """
    n, h = paths.pose(pair.body_B).R[0, :, 2], paths.h[rows]
    body, ends = pair.body_A, (paths.left[rows], paths.right[rows])
    frames = paths.samples.frames
    places, normals, turns = [], [], []
    for samples in ends:
        p, R = paths.pose(body, samples)
        w = frames.angular_velocity[samples, body]
        places.append((p - paths.pose(pair.body_B).p[0]) @ n)
        normals.append((n @ R, turned_back(R, cross(n, w))))  # u, u'
        turns.append(w)
    paces = [frames.velocity[samples, body] @ n for samples in ends]
    height = (places[0] + places[1]) / 2 + h / 8 * (paces[0] - paces[1])
    u = (normals[0][0] + normals[1][0]) / 2 + (h / 8)[:, None] * (normals[0][1] - normals[1][1])
    u = u / length(u)[:, None]
    missed = (h**2 * dot(turns[0], turns[0]) + 3.0 * h * length(turns[1] - turns[0])) ** 2 / 384 * pair.reach
    moved = 4.0 * h * paths.larger(_speed(pair, paths))[rows]
    chosen = slice(None) if pair.A.d == 3 else slice(None, None, 2)
    gap = height + u @ pair.center - (pair.A.ball or pair.A.h(-u[:, chosen]))
    least = -_SURE * tolerances.GAP * pair.size
    sure = (gap >= least) & (missed <= -least) & (moved <= pair.size)
    off[rows] = np.minimum(gap, 0.0)
    return rows[~sure]


def _close(pair: ShapePair, paths: Paths, rows: Numbers, bend: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return from when to when, in shares of the time between two samples, the balls around two shapes meet.

    An end before the beginning: they do not. Of a ground without end all the time.
    """
    reach = pair.A.reach + pair.B.reach + bend
    first, last = np.zeros(len(rows)), np.ones(len(rows))
    if not np.isfinite(pair.B.reach):
        return first, last
    ends = []
    for samples in (paths.left[rows], paths.right[rows]):
        A, B = paths.pose(pair.body_A, samples), paths.pose(pair.body_B, samples)
        ends.append(A.p - B.p + A.R @ pair.center)
    travel = ends[1] - ends[0]
    a, b, c = dot(travel, travel), dot(ends[0], travel), dot(ends[0], ends[0]) - reach**2
    root = b * b - a * c
    moves = a > 0.0
    half = np.sqrt(np.maximum(root, 0.0)) / np.where(moves, a, 1.0)
    middle = -b / np.where(moves, a, 1.0)
    first = np.where(moves, np.maximum(middle - half, 0.0), 0.0)
    last = np.where(moves, np.minimum(middle + half, 1.0), 1.0)
    missed = np.where(moves, root < 0.0, c > 0.0)
    return np.where(missed, 1.0, first), np.where(missed, 0.0, last)


def _speed(pair: ShapePair, paths: Paths) -> FloatArray:
    """Return bounds (n,), m/s, of the speed at which two shapes may come closer."""
    v, turn = paths.relative(pair.body_A, pair.body_B, pair.center)
    if pair.B.flat:  # only what is across the flat brings them closer
        pace = np.abs(dot(paths.pose(pair.body_B).R[..., 2], v))
    else:
        pace = length(v)
    return pace + turn * pair.A.uneven if pair.A.uneven else pace


def extent_checks(anatomy: Anatomy, evidence: Evidence) -> list[Check]:
    """Return the check that nothing pushes beyond the edge of a hand that ends."""
    samples = evidence.samples
    ended = [(i, one) for i, one in enumerate(anatomy.contacts) if one.pair.extent is not None]
    if not ended or not len(samples):
        return []
    number = {name: i for i, name in enumerate(anatomy.names)}
    shape = len(samples), len(ended)
    off, allowed, known = np.zeros(shape), np.ones(shape), np.zeros(shape, dtype=bool)
    for k, (i, one) in enumerate(ended):
        body = number[one.pair.body_B]
        frames = samples.frames
        on_B = turned_back(frames.rotation[:, body], samples.point[:, i] - frames.position[:, body])
        for axis, width in enumerate(one.pair.extent or ()):
            off[:, k] = np.maximum(off[:, k], np.abs(on_B[:, axis]) - width / 2)
        allowed[:, k] = tolerances.OPEN * one.pair.shape_A.reference_length
        known[:, k] = samples.claims.touches[:, i] & any_last_axis(samples.force[:, i] != 0.0)
    names = tuple((one.name,) for _, one in ended)
    text = "{bodies} pushes {amount} {unit} beyond the edge of the hand at {time} s"
    return [judge_values("extent", "m", names, text, Values.of_table(off, allowed, samples.time, samples.run, known))]
