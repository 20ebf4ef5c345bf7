"""Poses: bodies stay where they are at an event, and go through time steps as their velocities say."""

from __future__ import annotations

import numpy as np

from trundle.audit import tolerances
from trundle.audit.anatomy import Anatomy
from trundle.audit.columns import greatest, view_of
from trundle.audit.evidence import BodyFrames, Columns, Evidence, Numbers
from trundle.audit.mechanics import length, rotations_by
from trundle.audit.report import Check, Values, judge_values
from trundle.audit.scales import Scales
from trundle.checks import FloatArray

_SAME = 1e-12
"""s: times of one instant."""
_ROUND_OFF = 1e-14  # of a distance from the origin


def pose_checks(anatomy: Anatomy, evidence: Evidence, scales: Scales) -> list[Check]:
    """Return the checks of poses at events and through time steps: parts of the laws `motion` and `turning`."""
    told = view_of(anatomy.told)
    names = tuple((anatomy.names[i],) for i in anatomy.told)
    sizes = scales.sizes[anatomy.told]
    return [*_at_instants(anatomy, evidence, told, names, sizes), *_through_steps(evidence, told, names, sizes)]


def _at_instants(
    anatomy: Anatomy, evidence: Evidence, told: Columns, names: tuple[tuple[str], ...], sizes: FloatArray
) -> list[Check]:
    """All that a run says of one instant, samples, and both sides of jumps, are the same poses; but for a kick's."""
    samples, jumps = evidence.samples, evidence.jumps
    time = np.concatenate([samples.time, jumps.begin, jumps.end])
    run = np.concatenate([samples.run, jumps.run, jumps.run])
    order = np.lexsort((time, run))
    one, other = order[:-1], order[1:]
    here = (np.abs(time[other] - time[one]) <= _SAME) & (run[other] == run[one])
    for kick in np.flatnonzero(jumps.kick):
        here &= ~((np.abs(time[one] - jumps.begin[kick]) <= _SAME) & (run[one] == jumps.run[kick]))
    one, other = one[here], other[here]
    x, R = _poses_at(evidence, told, np.concatenate([one, other]))
    (x_one, x_other), (R_one, R_other) = np.split(x, 2), np.split(R, 2)
    off, turn = length(x_other - x_one), _turn(R_other, R_one)
    # An event puts bodies onto its constraints, and lays them onto their faces: about a point of the rim, from which
    # the body's origin is at most twice its size away.
    tilt = anatomy.tilt[anatomy.told]
    put, moved = tolerances.GAP + tilt, (tolerances.GAP + 2.0 * tilt) * sizes
    far = _ROUND_OFF * greatest(np.abs(x_other))
    times, runs = time[other], run[other]
    text = "{bodies} jumps by {amount} {unit} at {time} s"
    found = [judge_values("motion", "m", names, text, Values.of_table(off, moved + far, times, runs))]
    text = "{bodies} is turned by {amount} {unit} in no time at {time} s"
    return [
        *found,
        judge_values(
            "turning", "rad", names, text, Values.of_table(turn, np.broadcast_to(put, off.shape), times, runs)
        ),
    ]


def _poses_at(evidence: Evidence, told: Columns, rows: Numbers) -> tuple[FloatArray, FloatArray]:
    """Return positions (k, bodies, 3), m, and rotations: at rows of the samples, then of what was before and after."""
    samples, jumps = evidence.samples, evidence.jumps
    ends = np.cumsum([0, len(samples), len(jumps), len(jumps)])
    position = np.empty((len(rows), len(samples.frames.position[0, told]), 3))
    rotation = np.empty((*position.shape, 3))
    for frames, begin, end in zip((samples.frames, jumps.before, jumps.after), ends[:-1], ends[1:], strict=True):
        there = np.flatnonzero((rows >= begin) & (rows < end))
        at = rows[there] - begin
        position[there], rotation[there] = frames.position[at][:, told], frames.rotation[at][:, told]
    return position, rotation


def _through_steps(evidence: Evidence, told: Columns, names: tuple[tuple[str], ...], sizes: FloatArray) -> list[Check]:
    """A time step moves a body by the mean of its velocities; what turns meanwhile makes (h w)2 of a difference."""
    jumps = evidence.jumps
    rows = np.flatnonzero(jumps.steps & ~jumps.kick)
    if not len(rows):
        return []
    before = BodyFrames(*(part[rows] for part in jumps.before.of(told).parts))
    after = BodyFrames(*(part[rows] for part in jumps.after.of(told).parts))
    h = (jumps.end - jumps.begin)[rows, None, None]
    w = (before.angular_velocity + after.angular_velocity) / 2
    off = length(after.position - before.position - h * (before.velocity + after.velocity) / 2)
    turn = _turn(after.rotation, rotations_by(h * w) @ before.rotation)
    bent = (h[..., 0] * np.maximum(length(before.angular_velocity), length(after.angular_velocity))) ** 2
    far = _ROUND_OFF * greatest(np.abs(after.position))
    times, runs = jumps.end[rows], jumps.run[rows]
    allowed = (tolerances.MOTION + bent) * sizes + far
    text = "{bodies} is moved by {amount} {unit} beside its velocity in the time step to {time} s"
    found = [judge_values("motion", "m", names, text, Values.of_table(off, allowed, times, runs))]
    text = "{bodies} is turned by {amount} {unit} beside its angular velocity in the time step to {time} s"
    return [
        *found,
        judge_values("turning", "rad", names, text, Values.of_table(turn, tolerances.MOTION + bent, times, runs)),
    ]


def _turn(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return about how far (n, bodies), rad, orientations are turned from others."""
    return greatest(greatest(np.abs(one - other)))
