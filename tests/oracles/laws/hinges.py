"""Joints hold: hinges keep their point and axis, slides their line, pins their point; coordinates are the poses'."""

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


def pins(state: State) -> Iterator[Finding]:
    """Yield pins whose two points part."""
    scene, mo = state.scene, state.motion
    for pin in scene.pins:
        there = np.broadcast_to(pin.at_B, mo.position[:, 0].shape)
        places = [(pin.A, pin.at_A)] if pin.B is None else [(pin.A, pin.at_A), (pin.B, pin.at_B)]
        found = [mo.position[:, i] + mo.R[:, i] @ at for i, at in ((scene.number_of[name], at) for name, at in places)]
        off = np.linalg.norm(found[0] - (there if pin.B is None else found[1]), axis=1)
        k = int(np.argmax(off))
        if off[k] > HOLDS * state.length:
            who = f"{pin.A} and {pin.B or 'the world'}"
            text = f"the pin of {who} comes apart by {off[k]:.3g} m"
            yield Finding("pin", float(mo.time[k]), float(off[k]), HOLDS * state.length, who, text)


def gears(state: State) -> Iterator[Finding]:
    """Yield joints that do not follow those that lead them; coordinates are judged by the poses."""
    q = state.motion.q
    for gear in state.scene.gears if q is not None else ():
        joint = state.scene.joints[gear.follower]
        followed = gear.ratio * q[:, gear.leader]  # type: ignore[index]
        off = np.abs(q[:, gear.follower] - followed)  # type: ignore[index]
        allowed = HOLDS * ((state.length if joint.slides else 1.0) + float(np.max(np.abs(followed))))
        k = int(np.argmax(off))
        if off[k] > allowed:
            text = f"the joint of {joint.link} is {off[k]:.3g} off the one that leads it"
            yield Finding("gear", float(state.motion.time[k]), float(off[k]), allowed, joint.link, text)


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
