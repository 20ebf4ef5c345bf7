"""Recorded forces: they push, stay in their cones, act against the slip, and only where shapes touch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .scene import Contact, Finding, Motion, Pushes, Scene, turn
from .shapes import Array
from .state import GAP, TOUCH, Meeting, State

CONE = 1e-6
"""In parts of the largest force."""

STILL = 1e-5
"""Slips slower than this part of the fastest speed say nothing about the force's direction."""


def forces(state: State) -> Iterator[Finding]:
    """Yield what is wrong with each contact's forces."""
    meetings = {(m.A.name, m.B.name if m.B else None): m for m in state.meetings}
    weight = float(state.masses.sum() * np.linalg.norm(state.scene.gravity))
    for contact in state.motion.contacts:
        meeting = meetings.get((contact.A, contact.B))
        if meeting is not None:
            yield from _of_contact(state, contact, meeting, weight)
    if state.motion.pushes is not None:
        yield from _of_pushes(state, state.motion.pushes, weight)


def beyond_cones(state: State) -> Iterator[Array]:
    """Yield, per contact or of all steps' pushes, how far outside its cone each force is, in parts of it.

    Of forces smaller than the weight of all bodies in parts of that.
    """
    weight = float(state.masses.sum() * np.linalg.norm(state.scene.gravity))
    found = {(m.A.name, m.B.name if m.B else None): (m.mu, m.adhesion) for m in state.meetings}
    for contact in state.motion.contacts:
        numbers = found.get((contact.A, contact.B))
        if numbers is not None:
            mu, adhesion = numbers
            normal, rubs = _parts(contact.force, contact.normal)
            size = np.maximum(np.linalg.norm(contact.force, axis=1), weight)
            normal = normal + adhesion
            yield np.maximum(-normal, rubs - mu * np.maximum(normal, 0.0)) / size
    pushes = state.motion.pushes
    if pushes is not None and len(pushes.A):
        normal, rubs = _parts(pushes.impulse, pushes.normal)
        size = np.maximum(np.linalg.norm(pushes.impulse, axis=1), weight * pushes.step)
        yield np.maximum(-normal, rubs - _frictions(state, pushes) * np.maximum(normal, 0.0)) / size


def _parts(force: Array, normal: Array) -> tuple[Array, Array]:
    """Return the part of forces along normals, and the size of the part across them."""
    along = np.sum(force * normal, axis=1)
    return along, np.linalg.norm(force - along[:, None] * normal, axis=1)


def _frictions(state: State, pushes: Pushes) -> Array:
    """Return the coefficient (r,) of each push: the largest one of the shapes of its two links."""
    number, found = state.scene.number_of, {}
    for meeting in state.meetings:
        sides = number[meeting.A.link], -1 if meeting.B is None else number[meeting.B.link]
        for key in (sides, sides[::-1]):
            found[key] = max(found.get(key, 0.0), meeting.mu)
    return np.array([found.get((int(a), int(b)), 0.0) for a, b in zip(pushes.A, pushes.B, strict=True)])


def _of_pushes(state: State, pushes: Pushes, weight: float) -> Iterator[Finding]:
    """Yield the pushes furthest outside their cones."""
    normal, rubs = _parts(pushes.impulse, pushes.normal)
    size = np.linalg.norm(pushes.impulse, axis=1)
    allowed = CONE * np.maximum(size, weight * pushes.step) * 10
    mu = _frictions(state, pushes)
    names = [link.name for link in state.scene.links] + ["the ground"]
    for law, value in (("pull", -normal), ("cone", rubs - mu * np.maximum(normal, 0.0))):
        k = int(np.argmax(value - allowed)) if len(value) else -1
        if k >= 0 and value[k] > allowed[k]:
            who = f"{names[pushes.A[k]]} on {names[pushes.B[k]]}"
            text, time = f"a step's impulse on {who} leaves its cone (N s)", state.motion.time[pushes.interval[k]]
            yield Finding(law, float(time), float(value[k]), float(allowed[k]), who, text)


def _of_contact(state: State, contact: Contact, meeting: Meeting, weight: float) -> Iterator[Finding]:
    time, f, n = state.motion.time, contact.force, contact.normal
    size = np.linalg.norm(f, axis=1)
    # Without gravity, too, what is left of a force where a contact opens is round-off.
    weight = max(weight, CONE * float(size.max(initial=0.0)))
    acts = size > CONE * max(weight, 1e-12)
    if not acts.any():
        return
    allowed = CONE * np.maximum(size, weight) * 10
    push = np.sum(f * n, axis=1)
    across = f - push[:, None] * n
    rubs = np.linalg.norm(across, axis=1)
    normal = push + meeting.adhesion

    def worst(value: Array, most: Array, law: str, text: str) -> Iterator[Finding]:
        value = np.where(acts, value, 0.0)
        k = int(np.argmax(value - most))
        if value[k] > most[k]:
            yield Finding(law, float(time[k]), float(value[k]), float(most[k]), contact.name, text)

    # The sum of two forces with two normals is in neither's cone: what they may give is judged by the momentum.
    if not (contact.shared and state.curved):
        over = rubs - meeting.mu * np.maximum(normal, 0)
        yield from worst(-normal, allowed, "pull", f"{contact.name} pulls (N)")
        yield from worst(over, allowed, "cone", f"{contact.name} leaves its cone (N)")
    gap = np.where(acts, meeting.gaps.gap, 0.0)
    far = np.full(len(gap), TOUCH * meeting.size)
    yield from worst(gap, far, "force at a distance", f"{meeting.name} push each other and do not touch (m)")
    if contact.shared:
        return
    if state.scene.soft is not None:
        yield from worst(*_softness(state, contact, meeting, push), "soft", f"{contact.name} does not push as deep (N)")
    # Friction of what slips is mu N against the slip; the direction of a slow slip is known less well.
    slip = slips(state.scene, state.motion, contact, meeting)
    slip = slip - np.sum(slip * n, axis=1)[:, None] * n
    fast = np.linalg.norm(slip, axis=1)
    # What gives way has its friction reach that only where it slips fast.
    rub = meeting.mu * np.maximum(normal, 0.0) if state.scene.soft is None else rubs
    off = across + (rub / np.maximum(fast, 1e-300))[:, None] * slip
    off = np.where((fast > STILL * state.speed)[:, None], off, 0.0)
    most = np.maximum(size, weight) * (1e-5 + 1e-7 * state.speed / np.maximum(fast, STILL * state.speed))
    # The mean force of a time step is against the slips within the step, which turn.
    most += np.where(state.motion.means, rubs * _turns(slip), 0.0)
    yield from worst(
        np.linalg.norm(off, axis=1), most, "slip", f"{contact.name} slips, its friction is not mu N against it (N)"
    )


def _softness(state: State, contact: Contact, meeting: Meeting, push: Array) -> tuple[Array, Array]:
    """Return by how much (n,), N, the push of a contact that gives way differs from its law, and what is allowed."""
    soft = state.scene.soft
    if soft is None:
        return np.zeros_like(push), np.ones_like(push)
    depth = np.maximum(-meeting.gaps.gap, 0.0)
    closing = -np.sum(slips(state.scene, state.motion, contact, meeting) * contact.normal, axis=1)
    law = soft.stiffness * depth**1.5 * np.maximum(1.0 + 1.5 * soft.dissipation * closing, 0.0)
    # The depth is known to the judge's own round-off, of which the force is 3/2 k p^1/2 times as much.
    room = 1.5 * soft.stiffness * np.sqrt(depth + GAP * meeting.size) * GAP * meeting.size
    return np.abs(push - law), room * (1.0 + 1.5 * soft.dissipation * np.abs(closing)) + 1e-4 * float(np.max(law))


def _turns(slip: Array) -> Array:
    """Return by how much (n,), rad, the direction of a slip differs from that of the samples beside it; up to 2."""
    e = slip / np.maximum(np.linalg.norm(slip, axis=1), 1e-300)[:, None]
    turned = np.linalg.norm(np.diff(e, axis=0), axis=1)
    return np.maximum(np.append(turned, 0.0), np.append(0.0, turned))


def slips(scene: Scene, motion: Motion, contact: Contact, meeting: Meeting) -> Array:
    """Return the velocity (n, d) of A's material point over B's, from the bodies' velocities.

    A record tells of B's point; what gives way pushes in the middle between it and A's, which is as deep in B as the
    gap is negative.
    """
    place = contact.position
    if scene.soft is not None:
        place = place + meeting.gaps.gap[:, None] / 2 * contact.normal

    def velocity(link: str) -> Array:
        i = scene.number_of[link]
        return motion.velocity[:, i] + turn(motion.omega[:, i], place - motion.position[:, i])

    of_A = velocity(meeting.A.link)
    of_B = motion.ground_velocity(place) if meeting.B is None else velocity(meeting.B.link)
    return of_A - of_B
