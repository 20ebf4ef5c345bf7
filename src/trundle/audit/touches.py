"""Touches: what pushes, or claims to touch, is where shapes touch, by the poses alone."""

from __future__ import annotations

import numpy as np

from trundle.audit import tolerances
from trundle.audit.between import PathPose
from trundle.audit.columns import by_columns, empty
from trundle.audit.evidence import Flags, Numbers
from trundle.audit.gaps import ShapePair, pair_numbers, pairs_of, poses_between
from trundle.audit.mechanics import length
from trundle.audit.pushes import Pushes
from trundle.audit.report import Check
from trundle.audit.scales import Scales
from trundle.audit.shapes import gaps
from trundle.checks import FloatArray
from trundle.models.tree.system import ContactSystem


def impulses_across(system: ContactSystem, pushes: Pushes, scales: Scales) -> Check:
    """Return the check that no impulse acts across a gap: one that is open before, in the middle and after.

    A time step decides in its middle what touches, where bodies are half a step further on with their velocities; what
    turns within it may come closer by (h w)2 of its size.
    """
    jumps, count = pushes.jumps, len(pushes.size)
    # Where shapes are apart it makes no difference how little pushes: only round-off of what others do is nothing.
    allowed = tolerances.CONE * pushes.largest(pushes.size) + tolerances.ROUND_OFF * scales.momentum
    pushing = (pushes.size > allowed) & ~pushes.of_joint
    off, known = np.zeros(count), ~pushing & ~pushes.of_joint
    turn = np.maximum(*(length(frames.angular_velocity).max(axis=1) for frames in (jumps.before, jumps.after)))
    of_pair = pair_numbers(system, pushes.anatomy)[jumps.contact]
    pairs = pairs_of(system, pushes.anatomy)
    for number in np.unique(of_pair[pushing]).tolist():
        pair, rows = pairs[number], np.flatnonzero(pushing & (of_pair == number))
        found, sound = _both_gaps(pair, pushes, rows)
        h = (jumps.end - jumps.begin)[jumps.jump[rows]]
        middle = found[0] + h / 2 * np.minimum(pushes.opening[0][rows], 0.0)
        bent = (h * turn[jumps.jump[rows]]) ** 2 * max(pair.size, pair.reach)
        nearest = np.minimum(np.minimum(found[0], found[1]), middle) - bent
        off[rows] = np.where(nearest > tolerances.OPEN * pair.size, pushes.size[rows], 0.0)
        known[rows] = sound
    text = "{bodies}: an impulse of {amount} {unit} acts across a gap at {time} s"
    return pushes.check("impulse across a gap", "N s", text, off, allowed, known)


def _both_gaps(pair: ShapePair, pushes: Pushes, rows: Numbers) -> tuple[FloatArray, Flags]:
    """Return the gaps (2, k), m, of two shapes before and after jumps, and which (k,) are bounds that hold."""
    jumps, at, k = pushes.jumps, pushes.jumps.jump[rows], len(rows)

    def pose(body: int) -> PathPose:
        p, R = empty(2 * k, 3), empty(2 * k, 3, 3)
        for part, frames in ((slice(k), jumps.before), (slice(k, None), jumps.after)):
            p[part], R[part] = frames.position[at, body], frames.rotation[at, body]
        return PathPose(p, R)

    normals = np.concatenate([pushes.jumps.normal[rows]] * 2)[:, None]
    poses = poses_between(pair, pose(pair.body_A), pose(pair.body_B), by_columns(normals))
    here = gaps(pair.A, pair.B, poses, tolerances.OPEN * pair.size)
    return here.gap.reshape(2, k), here.sound[:k] & here.sound[k:]
