"""Joints hold: hinges keep their point and axis, slides their line and orientation; coordinates are the poses'."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .scene import Finding, Joint
from .shapes import Array
from .state import State

HOLDS = 1e-6
"""In sizes and rad."""


def joints(state: State) -> Iterator[Finding]:
    """Yield joints that come apart, and coordinates that do not belong to the poses."""
    for j, joint in enumerate(state.scene.joints):
        if joint.own is None or joint.at is None:
            continue
        for what, off, allowed in _offs(state, joint, j):
            k = int(np.argmax(off))
            if off[k] > allowed:
                text = f"the joint of {joint.link}: {what} {off[k]:.3g}"
                yield Finding("joint", float(state.motion.time[k]), float(off[k]), allowed, joint.link, text)


def _offs(state: State, joint: Joint, j: int) -> Iterator[tuple[str, Array, float]]:
    mo, d = state.motion, state.scene.d
    child = state.scene.number_of[joint.link]
    n = len(mo.time)
    R, p = np.tile(np.eye(d), (n, 1, 1)), np.zeros((n, d))
    if joint.parent is not None:
        parent = state.scene.number_of[joint.parent]
        R, p = mo.R[:, parent], mo.position[:, parent]
    between = mo.position[:, child] + mo.R[:, child] @ joint.own - (p + R @ joint.at)
    between = np.einsum("nji,nj->ni", R, between)
    turned = np.swapaxes(R, 1, 2) @ mo.R[:, child]
    q = None if mo.q is None else mo.q[:, j]
    small = HOLDS * state.length
    if joint.slides and joint.axis is not None:
        axis = joint.axis / np.linalg.norm(joint.axis)
        along = between @ axis
        yield "leaves its line by (m)", np.linalg.norm(between - along[:, None] * axis, axis=1), small
        yield "turns (rad)", np.linalg.norm(turned - np.eye(d), axis=(1, 2)), HOLDS
        if q is not None:
            yield "has another coordinate by (m)", np.abs(along - q), small
        return
    yield "comes apart by (m)", np.linalg.norm(between, axis=1), small
    if d == 2:
        angle = np.arctan2(turned[:, 1, 0], turned[:, 0, 0])
    else:
        axis = np.zeros(3) if joint.axis is None else joint.axis / np.linalg.norm(joint.axis)
        yield "turns its axis (rad)", np.linalg.norm(turned @ axis - axis, axis=1), HOLDS
        skew = np.stack([turned[:, 2, 1] - turned[:, 1, 2], turned[:, 0, 2] - turned[:, 2, 0],
                         turned[:, 1, 0] - turned[:, 0, 1]], axis=1)  # fmt: skip
        angle = np.arctan2(skew @ axis, np.trace(turned, axis1=1, axis2=2) - 1.0)
    if q is not None:
        yield "has another coordinate by (rad)", np.abs((angle - q + np.pi) % (2 * np.pi) - np.pi), HOLDS
