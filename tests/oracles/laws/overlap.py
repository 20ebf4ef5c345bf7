"""No two whole shapes overlap, at samples and between them; nothing jumps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from .scene import Finding, Motion, Scene, moment, world_inertia
from .shapes import Array
from .state import GAP, Meeting, State

RISES = 2.0
"""Of a mean acceleration between two samples: what it may reach in between, if it rises from nothing."""

COARSE = 0.1
"""In sizes: what moves further than this between two samples is looked at between them, too."""


def overlaps(state: State) -> Iterator[Finding]:
    """Yield the deepest overlap of every two shapes."""
    for meeting in state.meetings:
        gap = meeting.gaps.gap
        allowed = GAP * meeting.size + state.deepest
        if np.min(gap) < -allowed:
            first, worst = int(np.argmax(gap < -allowed)), int(np.argmin(gap))
            since = f"{meeting.name} overlap by {-gap[worst]:.3g} m, from {state.motion.time[first]:.6g} s on"
            yield Finding("overlap", float(state.motion.time[worst]), -float(gap[worst]), allowed, meeting.name, since)


def overlaps_between(state: State) -> Iterator[Finding]:
    """Yield overlaps between samples: poses in between are interpolated where something could have passed."""
    for meeting in state.meetings:
        gap, time = meeting.gaps.gap, state.motion.time
        speed = _closing(state, meeting)
        step = speed * np.diff(time)
        open_ = (gap[:-1] + gap[1:] < step) & (step > COARSE * meeting.size)
        rows = np.flatnonzero(open_)
        if not rows.size:
            continue
        finer = refined(state.motion, rows, int(np.ceil(np.max(step[rows]) / (COARSE * meeting.size))))
        scene = replace(state.scene, shapes=[s for s in (meeting.A, meeting.B) if s is not None], pairs=[
            p for p in state.scene.pairs if meeting.B is not None and {p.A, p.B} == {meeting.A.name, meeting.B.name}
        ], ground=state.scene.ground if meeting.B is None else None)  # fmt: skip
        (again,) = State(scene, finer).meetings
        allowed = 2e-2 * meeting.size + state.deepest  # the interpolation's own error
        worst = int(np.argmin(again.gaps.gap))
        depth = -float(again.gaps.gap[worst])
        if depth > allowed:
            text = f"{meeting.name} pass through each other between samples, {depth:.3g} m deep"
            yield Finding("overlap", float(finer.time[worst]), depth, allowed, meeting.name, text)


def _closing(state: State, meeting: Meeting) -> Array:
    """Return a bound (n - 1,) of the speed at which the two can close."""
    mo, scene, fast = state.motion, state.scene, np.zeros(len(state.motion.time))
    for shape in (meeting.A, meeting.B):
        if shape is not None:
            i = scene.number_of[shape.link]
            reach = shape.body.size + float(np.linalg.norm(shape.at))
            fast = fast + np.linalg.norm(mo.velocity[:, i], axis=1) + reach * np.linalg.norm(mo.omega[:, i], axis=1)
    if meeting.B is None and mo.ground_v is not None and mo.ground_omega is not None:
        far = np.linalg.norm(mo.position[:, 0] - mo.ground_frame(scene.d)[1], axis=1)
        fast = fast + np.linalg.norm(mo.ground_v, axis=1) + far * np.linalg.norm(mo.ground_omega, axis=1)
    return np.maximum(fast[1:], fast[:-1])


def refined(motion: Motion, rows: Array, parts: int) -> Motion:
    """Return poses between the samples `rows` and the next ones: straight lines, turns about fixed axes."""
    share = np.linspace(0, 1, min(parts, 50) + 1)[1:-1] if parts > 1 else np.array([0.5])

    def mixed(values: Array) -> Array:
        a, b = values[rows], values[rows + 1]
        s = share.reshape(-1, *(1,) * (values.ndim - 1))
        return np.concatenate([a[k][None] * (1 - s) + b[k][None] * s for k in range(len(rows))])

    def turned(R: Array) -> Array:
        M = mixed(R)  # the nearest rotation of a mean of near ones
        U, _, V = np.linalg.svd(M)
        return U @ V

    keep = {"contacts": (), "events": (), "q": None, "complete": False}
    moved = {
        name: None if getattr(motion, name) is None else mixed(getattr(motion, name))
        for name in ("time", "position", "velocity", "omega", "ground_p", "ground_v", "ground_omega")
    }
    ground_R = None if motion.ground_R is None else turned(motion.ground_R)
    return replace(motion, R=turned(motion.R), ground_R=ground_R, **moved, **keep)


def jumps(state: State) -> Iterator[Finding]:
    """Yield jumps of positions and orientations: further than the velocities of both samples allow.

    Where a blow falls in between, from the instant of the first sample on, neither velocity tells the one after it:
    what was gained may be lost again until the second. There it is known up to what accelerations elsewhere do.
    """
    mo, scene = state.motion, state.scene
    dt = np.diff(mo.time)
    g = float(np.linalg.norm(scene.gravity))
    struck = _struck(mo)
    for i, link in enumerate(scene.links):
        allowed = 1e-6 * state.length + _rule_of_faces(scene, link.name)
        v0, v1 = mo.velocity[:-1, i], mo.velocity[1:, i]
        # x' stays between both velocities and what a push turns round in between.
        off = mo.position[1:, i] - mo.position[:-1, i] - 0.5 * (v0 + v1) * dt[:, None]
        room = (0.75 * np.linalg.norm(v1 - v0, axis=1) + g * dt) * dt + allowed
        room += _hidden(v1 - v0, dt, struck) + _tossed(state, i, dt, float(state.masses[i]))
        k = int(np.argmax(np.linalg.norm(off, axis=1) - room))
        far = float(np.linalg.norm(off[k]))
        if far > room[k]:
            text = f"{link.name} jumps {far:.3g} m beside its velocity"
            yield Finding("jump", float(mo.time[k]), far, float(room[k]), link.name, text)
        relative = np.swapaxes(mo.R[:-1, i], 1, 2) @ mo.R[1:, i]
        half = np.clip(np.linalg.norm(relative - np.eye(scene.d), axis=(1, 2)) / np.sqrt(8.0), 0.0, 1.0)
        turned = 2 * np.arcsin(half)
        w0, w1 = (np.linalg.norm(w, axis=1) for w in (mo.omega[:-1, i], mo.omega[1:, i]))
        change = _around(np.linalg.norm(mo.omega[1:, i] - mo.omega[:-1, i], axis=1))
        room = (np.maximum(w0, w1) + change) * dt * 1.01 + (allowed / state.length)
        room += _hidden(mo.omega[1:, i] - mo.omega[:-1, i], dt, struck) + _risen(state, i, dt)
        least = float(np.linalg.eigvalsh(np.atleast_2d(link.inertia)).min())
        room += _tossed(state, i, dt, least)
        k = int(np.argmax(np.minimum(turned, np.pi) - room))
        if turned[k] > room[k]:
            text = f"{link.name} turns by {turned[k]:.3g} rad beside its angular velocity"
            yield Finding("jump", float(mo.time[k]), float(turned[k]), float(room[k]), link.name, text)


def _around(change: Array) -> Array:
    """Return the largest of a change (n,) and those beside it: a linkage is stretched out for an instant."""
    return np.max([change, np.append(change[1:], 0.0), np.append(0.0, change[:-1])], axis=0)


def _risen(state: State, link: int, dt: Array) -> Array:
    """Return how much further (n - 1,), rad, a body turns whose rate rises between two samples and comes back.

    With |omega'| <= A the rate is at most A dt / 2 over the larger one at the ends, and its mean at most A dt / 4. A is
    the larger one at both samples, of what the recorded forces make of the body alone: an edge that rolls over nearly
    flat ground has them at both ends, against each other, within a millisecond.
    """
    mo, scene = state.motion, state.scene
    inertia = world_inertia(mo.R[:, link], scene.links[link].inertia)
    torque = np.zeros((len(mo.time), inertia.shape[-1]))
    for contact in mo.contacts:
        for name, sign in ((contact.A, 1.0), (contact.B, -1.0)):
            if name is not None and scene.number_of[scene.shape_of[name].link] == link:
                torque += moment(contact.position - mo.position[:, link], sign * contact.force)
    fastest = np.linalg.norm(np.linalg.solve(inertia, torque[..., None])[..., 0], axis=1)
    return np.maximum(fastest[1:], fastest[:-1]) * dt * dt / 4


def _tossed(state: State, link: int, dt: Array, inertia: float) -> Array:
    """Return how much further (n - 1,), m or rad, a body goes or turns that soft contacts toss between two samples.

    Touches of two of its shapes may come and go within an interval; what moves has no more than all the energy there
    is. Intervals in which the body falls freely are none of these. ``inertia``: its mass, or its least inertia.
    """
    mo, scene = state.motion, state.scene
    if scene.soft is None:
        return np.zeros(len(dt))
    pushed = np.linalg.norm(np.diff(mo.velocity[:, link], axis=0) - dt[:, None] * scene.gravity, axis=1)
    return np.where(pushed > 1e-6 * state.speed, np.sqrt(2.0 * state.moving / inertia) * dt, 0.0)


def _struck(motion: Motion) -> Array:
    """Return in which intervals (n - 1,) a blow may have fallen: from the instant of the first sample on."""
    found = np.zeros(len(motion.time) - 1, dtype=bool)
    for t in motion.breaks:
        k = int(np.searchsorted(motion.time, t + 1e-12, side="right")) - 1
        found[max(k, 0) : k + 1] = True
    return found


def _hidden(change: Array, dt: Array, struck: Array) -> Array:
    """Return how far (n - 1,) a velocity that is not seen may bring a body: one that was blown off and came back.

    With |a| <= A between blows and one blow J at s: |v1 - v0 - J| <= A dt, so that x1 - x0 is within |v1 - v0| dt / 2 +
    A dt^2 of the mean of both velocities. A is what the intervals without blows have, each with the rise of `RISES`.
    """
    smooth = ~struck & (dt > 0.0)
    A = float(np.max(np.linalg.norm(change[smooth], axis=1) / dt[smooth], initial=0.0))
    return np.where(struck, RISES * A * dt * dt, 0.0)


def _rule_of_faces(scene: Scene, link: str) -> float:
    """Return how far a round face may drop when it lies down at once, m: the rule of `Scene.flat_tilt`."""
    faces = [s for s in scene.shapes if s.link == link and len(s.body.corners) == 192]
    return max((2.0 * scene.flat_tilt * s.body.size for s in faces), default=0.0)
