"""Gaps: no two shapes that may touch overlap, at the samples and between them; nothing pushes across a gap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trundle.audit import tolerances
from trundle.audit.anatomy import Anatomy
from trundle.audit.evidence import Evidence, Flags, Frames, Numbers, Samples
from trundle.audit.mechanics import cross, dot, length, rotations_by
from trundle.audit.report import Check, Values, judged
from trundle.audit.separation import gaps
from trundle.audit.solids import Solid, solid_of
from trundle.checks import FloatArray
from trundle.models.tree.system import ContactSystem

_MOST = 200
"""Poses looked at between two samples."""
_BENT = 0.02
"""Part of what a path between two samples is bent by that its interpolation may be off."""
_JUMPED = 16.0 / 27.0
"""The same where its velocity may jump in between: the cubic of a velocity v at one end alone, with the chord at rest,
is v h max s (1 - s)^2 = 4/27 v h off the chord, of a bend of v h / 4."""


@dataclass(frozen=True, eq=False)
class Pair:
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


def pairs_of(system: ContactSystem, anatomy: Anatomy) -> tuple[Pair, ...]:
    """Return the pairs of shapes of a system, made once."""
    return system.kept(("audit pairs",), lambda: tuple(_pairs(system, anatomy)))


def _pairs(system: ContactSystem, anatomy: Anatomy) -> list[Pair]:
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
        found.append(Pair(names, numbers, A, B, *bodies, center, size, ahead))  # pyright: ignore[reportArgumentType]
    return found


def relative(pair: Pair, frames: Frames) -> tuple[FloatArray, FloatArray]:
    """Return the poses R (n, d, d), p (n, d) m of A's shape in B's frame."""
    R_A, R_B = frames.rotation[:, pair.body_A], frames.rotation[:, pair.body_B]
    apart = frames.position[:, pair.body_A] - frames.position[:, pair.body_B]
    if np.any(pair.center):
        apart = apart + R_A @ pair.center
    R = np.einsum("nji,njk->nik", R_B, R_A)
    p = np.einsum("nji,nj->ni", R_B, apart)
    return (R, p) if pair.A.d == 3 else (R[:, ::2, ::2], p[:, ::2])


def hints_of(pair: Pair, samples: Samples) -> FloatArray:
    """Return the normals (n, contacts, d) that the record has, in B's frame."""
    normal = samples.normal[:, list(pair.contacts)]
    found = np.einsum("nji,nkj->nki", samples.frames.rotation[:, pair.body_B], normal)
    return found if pair.A.d == 3 else found[..., ::2]


def gap_checks(system: ContactSystem, anatomy: Anatomy, evidence: Evidence) -> list[Check]:
    """Return the checks of gaps."""
    pairs, samples = pairs_of(system, anatomy), evidence.samples
    if not pairs or not len(samples):
        return []
    found, sound = np.zeros((len(samples), len(pairs))), np.zeros((len(samples), len(pairs)), dtype=bool)
    between: list[Values] = []
    for k, pair in enumerate(pairs):
        R, p = relative(pair, samples.frames)
        here = gaps(pair.A, pair.B, R, p, hints_of(pair, samples), tolerances.OPEN * pair.size)
        found[:, k], sound[:, k] = here.gap, here.sound
        between.append(_between(pair, k, samples, found[:, k]))
    names = tuple(pair.names for pair in pairs)
    sizes = np.array([pair.size for pair in pairs])
    # A compliant contact is meant to be pressed in; one that lands only ahead of others may be passed through.
    compliant = np.stack([np.any(samples.claims.compliant[:, list(pair.contacts)], axis=1) for pair in pairs], axis=1)
    known = ~compliant & ~np.array([pair.ahead for pair in pairs])
    known &= np.isfinite(found) | np.isnan(found)
    part = 1.0 if evidence.stabilized else tolerances.DRIFT / tolerances.GAP
    part = max(part, tolerances.DECLARED * evidence.accuracy / tolerances.GAP)
    allowed = np.broadcast_to(tolerances.GAP * part * sizes, found.shape)
    text = "{bodies} overlap by {amount} {unit} at {time} s"
    checks = [
        judged(
            "gap", "m", names, text, Values.of_table(np.minimum(found, 0.0), allowed, samples.time, samples.run, known)
        )
    ]
    inside = _joined(between, known, part, sizes)
    text = "{bodies} overlap by {amount} {unit} between samples, at about {time} s"
    checks.append(judged("gap between samples", "m", names, text, inside))
    checks.append(_across(anatomy, pairs, samples, found, sound))
    return checks


def _joined(parts: list[Values], known: Flags, part: float, sizes: FloatArray) -> Values:
    columns = np.concatenate([one.column for one in parts]) if parts else np.zeros(0, dtype=np.intp)
    told = np.concatenate([one.known for one in parts if one.known is not None])
    rigid = np.all(known, axis=0)
    allowed = np.concatenate([one.allowed for one in parts]) + tolerances.GAP * part * sizes[columns]
    return Values(
        np.concatenate([one.off for one in parts]),
        allowed,
        columns,
        np.concatenate([one.time for one in parts]),
        np.concatenate([one.run for one in parts]),
        told & rigid[columns],
    )


def _across(anatomy: Anatomy, pairs: tuple[Pair, ...], samples: Samples, found: FloatArray, sound: Flags) -> Check:
    """Nothing pushes where two shapes are apart."""
    off, allowed = np.zeros(found.shape), np.ones(found.shape)
    weight = float(anatomy.mass.sum() * np.linalg.norm(anatomy.gravity))
    known = np.zeros(found.shape, dtype=bool)
    for k, pair in enumerate(pairs):
        force = length(samples.force[:, list(pair.contacts)]).sum(axis=1)
        apart = found[:, k] > tolerances.OPEN * pair.size
        off[:, k] = np.where(apart, force, 0.0)
        allowed[:, k] = tolerances.PULL * (weight or float(force.max(initial=0.0)))
        known[:, k] = sound[:, k] & ~np.any(samples.claims.own[:, list(pair.contacts)], axis=1)
    names = tuple(pair.names for pair in pairs)
    text = "{bodies} push each other with {amount} {unit} across a gap at {time} s"
    return judged(
        "force across a gap", "N", names, text, Values.of_table(off, allowed, samples.time, samples.run, known)
    )


def _between(pair: Pair, column: int, samples: Samples, found: FloatArray) -> Values:
    """Return the overlaps between samples: none where a bound on the relative speed excludes them."""
    i = np.flatnonzero((np.diff(samples.time) > 0.0) & (samples.run[1:] == samples.run[:-1]))
    h = samples.time[i + 1] - samples.time[i]
    speed = _speed(pair, samples.frames)
    least = (found[i] + found[i + 1] - np.maximum(speed[i], speed[i + 1]) * h) / 2
    allowed, off = np.zeros(len(i)), np.zeros(len(i))
    known = np.ones(len(i), dtype=bool)
    told = Values(off, allowed, np.full(len(i), column), samples.time[i + 1], samples.run[i], known)
    near = np.flatnonzero(least < 0.0)
    if not len(near):
        return told
    bend = _bend(pair, samples.frames, i[near], h[near])
    good = bend < 0.5 * pair.size
    known[near] = good
    near, bend = near[good], bend[good]
    if not len(near):
        return told
    first, last = _close(pair, samples.frames, i[near], h[near], bend)
    pace = np.maximum(speed[i[near]], speed[i[near] + 1])
    steps = np.clip(np.ceil(4.0 * pace * h[near] * (last - first) / pair.size), 1, _MOST)
    steps[last < first] = 0
    # What does not turn, and a ball, needs no rotations in between.
    turning = [pair.body_A] if pair.A.ball is None or np.any(pair.center) else []
    turning += [pair.body_B] if np.any(samples.frames.angular_velocity[:, pair.body_B]) else []
    together = (samples.stretch[i[near]] == samples.stretch[i[near] + 1]) & (samples.stretch[i[near]] >= 0)
    for count in np.unique(steps[steps > 0]).astype(int):
        some = np.flatnonzero(steps == count)
        rows, least_there = near[some], np.full(len(some), np.inf)
        hints = hints_of(pair, samples)[i[rows]]
        for k in range(count):
            share = first[some] + (last[some] - first[some]) * (k + 0.5) / count
            frames = _interpolated(samples.frames, i[rows], h[rows], share, turning)
            R, p = relative(pair, frames)
            here = gaps(pair.A, pair.B, R, p, hints, tolerances.OPEN * pair.size).gap
            least_there = np.minimum(least_there, here)
        off[rows] = np.minimum(least_there, 0.0)
    allowed[near] = np.where(together, _BENT, _JUMPED) * bend + _missed(pair, samples, turning)[i[near]]
    return told


def _close(pair: Pair, frames: Frames, i: Numbers, h: FloatArray, bend: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return from when to when, in shares of the time between two samples, the balls around two shapes meet.

    An end before the beginning: they do not. Of a ground without end all the time.
    """
    reach = pair.A.reach + pair.B.reach + bend
    first, last = np.zeros(len(i)), np.ones(len(i))
    if not np.isfinite(pair.B.reach):
        return first, last
    ends = []
    for row in (i, i + 1):
        apart = frames.position[row, pair.body_A] - frames.position[row, pair.body_B]
        ends.append(apart + frames.rotation[row, pair.body_A] @ pair.center)
    travel = ends[1] - ends[0]
    a, b, c = dot(travel, travel), dot(ends[0], travel), dot(ends[0], ends[0]) - reach**2
    root = b * b - a * c
    moves = a > 0.0
    half = np.sqrt(np.maximum(root, 0.0)) / np.where(moves, a, 1.0)
    middle = -b / np.where(moves, a, 1.0)
    first, last = (
        np.where(moves, np.maximum(middle - half, 0.0), 0.0),
        np.where(moves, np.minimum(middle + half, 1.0), 1.0),
    )
    missed = np.where(moves, root < 0.0, c > 0.0)
    return np.where(missed, 1.0, first), np.where(missed, 0.0, last)


def _speed(pair: Pair, frames: Frames) -> FloatArray:
    """Return bounds (n,), m/s, of the speed at which two shapes may come closer."""
    A, B = pair.body_A, pair.body_B
    arm = frames.rotation[:, A] @ pair.center
    v = frames.velocity[:, A] + cross(frames.angular_velocity[:, A], arm)
    v_B = frames.velocity[:, B] + cross(
        frames.angular_velocity[:, B], frames.position[:, A] + arm - frames.position[:, B]
    )
    turn = length(frames.angular_velocity[:, A] - frames.angular_velocity[:, B])
    v = v - v_B
    if pair.B.flat:  # only what is across the flat brings them closer
        v = np.einsum("nji,nj->ni", frames.rotation[:, B], v)[:, 2:]
    return np.sqrt(np.sum(v * v, axis=1)) + turn * pair.A.uneven


def _bend(pair: Pair, frames: Frames, i: Numbers, h: FloatArray) -> FloatArray:
    """Return how far (m) paths between two samples are from straight lines, as far as the samples show it."""
    found = np.zeros(len(i))
    # A shape beside its frame's origin goes round with it, a ball as well.
    for body, reach in ((pair.body_A, pair.A.uneven + float(np.linalg.norm(pair.center))), (pair.body_B, 0.0)):
        x, v, w = frames.position[:, body], frames.velocity[:, body], frames.angular_velocity[:, body]
        chord = (x[i + 1] - x[i]) / h[:, None]
        found += h / 4 * (length(v[i] - chord) + length(v[i + 1] - chord))
        found += reach * h / 4 * length(w[i + 1] - w[i]) + reach * (h * length(w[i])) ** 4 / 100
    return found


def _missed(pair: Pair, samples: Samples, turning: list[int]) -> FloatArray:
    """Return how far (n - 1,), m, paths between two samples may be off: what the samples around one miss of it.

    Half the spacing misses a sixteenth of that where a motion is smooth, and as much where the samples do not show it.
    """
    frames, n = samples.frames, len(samples)
    found, whole = np.zeros(max(n - 1, 0)), samples.time[2:] - samples.time[:-2]
    same = (samples.stretch[2:] == samples.stretch[:-2]) & (samples.stretch[2:] >= 0) & (whole > 0.0)
    left = np.flatnonzero(same & (samples.run[2:] == samples.run[:-2]))
    if not len(left):
        return found
    middle, share = left + 1, (samples.time[left + 1] - samples.time[left]) / whole[left]
    guess = _interpolated(frames, left, whole[left], share, turning, 2)
    off = np.zeros(len(left))
    for body, reach in ((pair.body_A, pair.A.uneven), (pair.body_B, 0.0)):
        off += length(guess.position[:, body] - frames.position[middle, body])
        if body in turning and reach:
            off += reach * np.abs(guess.rotation[:, body] - frames.rotation[middle, body]).max(axis=(1, 2))
    np.maximum.at(found, left, off)
    np.maximum.at(found, middle, off)
    return found


def _interpolated(
    frames: Frames, i: Numbers, h: FloatArray, share: FloatArray, bodies: list[int], ahead: int = 1
) -> Frames:
    """Return frames between samples `i` and those `ahead`: cubic paths, and turns at the mean rate of both halves."""
    s, j = share[:, None], i + ahead
    x0, x1, v0, v1 = frames.position[i], frames.position[j], frames.velocity[i], frames.velocity[j]
    t, step = share[:, None, None], h[:, None, None]
    a, b = (1 + 2 * t) * (1 - t) ** 2, t * t * (3 - 2 * t)
    position = a * x0 + b * x1 + step * (t * (1 - t) ** 2 * v0 - t * t * (1 - t) * v1)
    rotation = np.array(frames.rotation[i])
    for body in bodies:
        w0, w1 = frames.angular_velocity[i, body], frames.angular_velocity[j, body]
        # The turn to s by the rates, corrected so that it ends where the next sample is.
        whole = _turned(frames.rotation[i, body], h[:, None] * (w0 + w1) / 2)
        here = _turned(frames.rotation[i, body], h[:, None] * (s * w0 + s * s * (w1 - w0) / 2))
        miss = np.einsum("nij,nkj->nik", frames.rotation[j, body], whole)
        rotation[:, body] = _part(miss, s * s * (3 - 2 * s)) @ here
    return Frames(position, rotation, v0, frames.angular_velocity[i])


def _turned(R: FloatArray, turn: FloatArray) -> FloatArray:
    return rotations_by(turn) @ R


def _part(R: FloatArray, share: FloatArray) -> FloatArray:
    """Return a part of small rotations (n, 3, 3)."""
    axis = np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1) / 2
    return rotations_by(share * axis)


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
        on_B = np.einsum("nji,nj->ni", frames.rotation[:, body], samples.point[:, i] - frames.position[:, body])
        for axis, width in enumerate(one.pair.extent or ()):
            off[:, k] = np.maximum(off[:, k], np.abs(on_B[:, axis]) - width / 2)
        allowed[:, k] = tolerances.OPEN * one.pair.shape_A.reference_length
        known[:, k] = samples.claims.touches[:, i] & np.any(samples.force[:, i] != 0.0, axis=1)
    names = tuple((one.name,) for _, one in ended)
    text = "{bodies} pushes {amount} {unit} beyond the edge of the hand at {time} s"
    return [judged("extent", "m", names, text, Values.of_table(off, allowed, samples.time, samples.run, known))]
