"""What a record says of forces and impulses is what the momentum did: gravity, forces and impulses make it up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .impulses import contact_points
from .scene import Contact, Event, Finding, Pushes, moment
from .shapes import Array
from .state import MOMENTUM, Meeting, State

BEND = 3.0
"""Times the second differences of the forces: what the trapezoidal rule may err by, twelve times what it does."""

NEARBY = 3
"""Intervals on both sides of one in which jumps of held inputs are as large."""

AT_STOP = 1e-6
"""Of the largest body's size, or rad: a joint that near to an end of its range is at it."""


@dataclass(frozen=True, eq=False)
class Balance:
    """A component's momentum, or its angular momentum: what of its changes (n - 1,) the record does not explain.

    ``room``: what the quadrature of forces may err by; ``told``: intervals that the record speaks of; ``scale``: what
    momenta are compared with, kg m/s or kg m2/s.
    """

    what: str
    names: str
    left: Array
    room: Array
    told: Array
    scale: float

    @property
    def worst(self) -> tuple[int, float]:
        """The interval with the largest unexplained change beyond the room, and that change."""
        beyond = np.where(self.told, self.left - self.room, -np.inf)
        k = int(np.argmax(beyond))
        return k, float(beyond[k])


def balances(state: State) -> Iterator[Finding]:
    """Yield, per free component, where recorded forces and impulses do not make up the change of momentum."""
    for one in (*of_forces(state), *of_pushes(state)):
        k, beyond = one.worst
        if beyond > MOMENTUM * one.scale:
            text = f"recorded forces do not make up the change of {one.what} of {one.names}"
            allowed = MOMENTUM * one.scale + float(one.room[k])
            yield Finding("force balance", float(state.motion.time[k]), float(one.left[k]), allowed, one.names, text)


def of_pushes(state: State) -> Iterator[Balance]:
    """Yield the balances of each body by the impulses of an engine's steps."""
    scene, mo = state.scene, state.motion
    if mo.pushes is None:
        return
    dt = np.diff(mo.time)[:, None]
    every, none = np.ones(len(dt), dtype=bool), np.zeros(len(dt))
    for i, link in enumerate(scene.links):
        if any(link.name in (joint.link, joint.parent) for joint in scene.joints):
            continue
        impulse, turning = _given(mo.pushes, i, len(dt), state.spin.shape[-1])
        mass = float(state.masses[i])
        left = np.diff(mo.velocity[:, i], axis=0) * mass - mass * dt * scene.gravity - impulse
        scale = mass * state.speed
        yield Balance("momentum", link.name, np.linalg.norm(left, axis=1), none, every, scale)
        left = np.diff(state.spin[:, i], axis=0) - turning
        yield Balance("angular momentum", link.name, np.linalg.norm(left, axis=1), none, every, scale * state.length)


def _given(pushes: Pushes, link: int, intervals: int, turns: int) -> tuple[Array, Array]:
    """Return impulse (intervals, d) and angular impulse (intervals, t) on a link about its centre of mass."""
    impulse = np.zeros((intervals, pushes.impulse.shape[1]))
    turning = np.zeros((intervals, turns))
    for side, arm, sign in ((pushes.A, pushes.arm_A, 1.0), (pushes.B, pushes.arm_B, -1.0)):
        rows = side == link
        np.add.at(impulse, pushes.interval[rows], sign * pushes.impulse[rows])
        turned = moment(arm[rows], pushes.impulse[rows]) + pushes.couple[rows]
        np.add.at(turning, pushes.interval[rows], sign * turned)
    return impulse, turning


def of_forces(state: State) -> Iterator[Balance]:
    """Yield the balances of each free component by recorded forces, where nothing happens beside."""
    scene, mo = state.scene, state.motion
    if not mo.contacts or not mo.complete:
        return
    dt = np.diff(mo.time)
    smooth = _smooth(state)
    for label in np.unique(scene.component):
        if label < 0:
            continue
        bodies = np.flatnonzero(scene.component == label)
        names = ", ".join(scene.links[i].name for i in bodies)
        mass = float(state.masses[bodies].sum())
        p = np.einsum("b,nbi->ni", state.masses[bodies], mo.velocity[:, bodies])
        force, torque, certain = _pushes(state, bodies)
        L = state.spin[:, bodies].sum(axis=1)
        center = np.einsum("b,nbi->ni", state.masses[bodies], mo.position[:, bodies]) / mass
        if len(bodies) > 1:
            arms = mo.position[:, bodies] - center[:, None]
            L = L + moment(arms, state.masses[bodies][None, :, None] * mo.velocity[:, bodies]).sum(axis=1)
        given = [("momentum", p, force + mass * scene.gravity, mass * state.speed)]
        if certain:
            given.append(("angular momentum", L, torque, mass * state.speed * state.length))
        for what, value, rate, scale in given:
            mean = dt[:, None] / 2 * (rate[1:] + rate[:-1])
            left = np.linalg.norm(np.diff(value, axis=0) - mean, axis=1)
            bend = BEND * _second(rate)
            if scene.driven:
                # Inputs that are held jump between two samples, where no rule knows the mean. What they jump by may
                # have come back until the second one; intervals nearby, in which they jump elsewhere, show it.
                bend = bend + _around(np.linalg.norm(np.diff(rate, axis=0), axis=1)) / 2
            yield Balance(what, names, left, dt * bend, smooth, scale)


def _around(change: Array) -> Array:
    """Return the largest of a change (n,) and of the `NEARBY` on both sides of it."""
    padded = np.concatenate([np.zeros(NEARBY), change, np.zeros(NEARBY)])
    return np.lib.stride_tricks.sliding_window_view(padded, 2 * NEARBY + 1).max(axis=1)


def _smooth(state: State) -> Array:
    """Return which intervals (n - 1,) have no event in them nor beside them."""
    time, breaks = state.motion.time, state.motion.breaks
    near = np.zeros(len(time) - 1, dtype=bool)
    for t in breaks:
        k = int(np.searchsorted(time, t, side="right")) - 1
        near[max(k - 2, 0) : k + 3] = True
    return ~near & ~state.whirls


def _second(rate: Array) -> Array:
    """Return the larger second difference (n - 1,) beside each interval; of the first and the last one the next two.

    Where a force turns over within an interval the difference of its one side may be nothing.
    """
    if len(rate) < 4:
        return np.full(len(rate) - 1, np.inf)
    inner = np.linalg.norm(rate[2:] - 2 * rate[1:-1] + rate[:-2], axis=1)
    whole = np.concatenate([inner[:2].max(keepdims=True), inner, inner[-2:].max(keepdims=True)])
    return np.maximum(whole[1:], whole[:-1])


def _pushes(state: State, bodies: Array) -> tuple[Array, Array, bool]:
    """Return force (n, d) and torque (n, t) of contacts about bodies' centre of mass, and whether the torque counts."""
    scene, mo = state.scene, state.motion
    mass = state.masses[bodies]
    center = np.einsum("b,nbi->ni", mass, mo.position[:, bodies]) / mass.sum()
    force = np.zeros_like(center)
    torque = np.zeros((len(center), 3 if scene.d == 3 else 1))
    certain = all(shape.lever == 0.0 for shape in scene.shapes)
    for contact in mo.contacts:
        for name, sign in ((contact.A, 1.0), (contact.B, -1.0)):
            if name is None or scene.number_of[scene.shape_of[name].link] not in bodies:
                continue
            force = force + sign * contact.force
            torque = torque + moment(contact.position - center, sign * contact.force)
            if contact.moment is not None:
                torque = torque + sign * contact.moment[:, None] * contact.normal
            certain = certain and not contact.shared
    return force, torque, certain


def events(state: State) -> Iterator[Finding]:
    """Yield impulses outside their cones, contacts that approach after an impact, and energy that impulses make."""
    by_name = {contact.name: contact for contact in state.motion.contacts}
    meetings = {(m.A.name, m.B.name if m.B else None): m for m in state.meetings}
    work: dict[float, float] = {}
    taken: dict[float, float] = {}
    scale = float(state.masses.sum()) * state.speed
    for event in state.motion.events:
        contact = by_name.get(event.contact)
        work[event.time] = work.get(event.time, 0.0) + float(event.impulse @ (event.before + event.after)) / 2
        meeting = None if contact is None else meetings.get((contact.A, contact.B))
        lever = 0.0 if meeting is None else meeting.lever + meeting.drilling
        if lever:  # what moments against rolling and spin take is not told: at most their bounds
            turning = 2.0 * _fastest_turning(state, event.time)
            taken[event.time] = taken.get(event.time, 0.0) + lever * float(np.linalg.norm(event.impulse)) * turning
        if contact is not None and meeting is not None:
            yield from _of_event(state, event, contact, meeting, scale)
    for time, gained in work.items():
        if _stops(state, time):  # what its impulse takes is not told: the energy of all samples is judged
            continue
        gained -= taken.get(time, 0.0)
        if gained > MOMENTUM * scale * state.speed and state.scene.coasts and state.motion.ground_v is None:
            text = f"the impulses at {time:.6g} s make {gained:.3g} J"
            yield Finding("impact energy", time, gained, MOMENTUM * scale * state.speed, "all bodies", text)


def _fastest_turning(state: State, time: float) -> float:
    """Return the largest angular speed, rad/s, of a body about an instant."""
    row = int(np.searchsorted(state.motion.time, time))
    omega = state.motion.omega[max(row - 1, 0) : row + 2]
    return float(np.linalg.norm(omega, axis=2).max(initial=0.0))


def _stops(state: State, time: float) -> bool:
    """Return whether a joint is at an end of its range at an instant, where it may take part in a blow."""
    q = state.motion.q
    if q is None:
        return False
    row = int(np.argmin(np.abs(state.motion.time - time)))
    return any(
        min(abs(q[row, j] - joint.low), abs(q[row, j] - joint.high)) < AT_STOP * (state.length if joint.slides else 1.0)
        for j, joint in enumerate(state.scene.joints)
    )


def _of_event(state: State, event: Event, contact: Contact, meeting: Meeting, scale: float) -> Iterator[Finding]:
    """Yield what is wrong with one impulse; of a body that touches in several places each may have been the one."""
    row = int(np.argmin(np.abs(state.motion.time - event.time)))
    places = [contact.normal[row], *_between(state, event, contact)]
    places += [n for _, n in contact_points(state, meeting, row)]
    found = [list(_with_normal(state, event, n, meeting, scale)) for n in places]
    yield from min(found, key=len)


def _between(state: State, event: Event, contact: Contact) -> list[Array]:
    """Return normals (d,) at an event between two samples, as one of time steps: of those from one to the next.

    A point of contact may run over an edge within some steps, of which the impulses are told as one.
    """
    time = state.motion.time
    k = int(np.clip(np.searchsorted(time, event.time), 1, len(time) - 1))
    first, last = contact.normal[k - 1], contact.normal[k]
    if float(first @ last) < 0.99:
        return [last]
    mixed = [(1.0 - part) * first + part * last for part in np.linspace(0.0, 1.0, 17)]
    return [n / np.linalg.norm(n) for n in mixed]


def _held(state: State, event: Event, meeting: Meeting) -> float:
    """Return what adhesion can have held, N s, where the impulse is that of time steps since the one told before it.

    Steps do not end at samples: what is told at one of them may have begun a little before the last one.
    """
    time = state.motion.time
    for begin, end in state.motion.steps:
        if begin < event.time <= end + 1e-12:
            earlier = [one.time for one in state.motion.events if one.contact == event.contact]
            told = max((t for t in earlier if begin <= t < event.time), default=begin)
            before_last = float(time[max(int(np.searchsorted(time, event.time)) - 2, 0)])
            return meeting.adhesion * (event.time - max(told, before_last))
    return 0.0


def _with_normal(state: State, event: Event, n: Array, meeting: Meeting, scale: float) -> Iterator[Finding]:
    mu, normal = meeting.mu, float(event.impulse @ n)
    load = normal + _held(state, event, meeting)
    across = float(np.linalg.norm(event.impulse - normal * n))
    hop = float(state.masses.sum()) * state.unseen
    allowed = MOMENTUM * scale + 1e-4 * abs(normal) * state.curved + hop
    if -load > allowed:
        yield Finding("event pull", event.time, -load, allowed, event.contact, f"{event.contact}'s impulse pulls")
    allowed = allowed - hop + mu * hop
    if across - mu * max(load, 0.0) > allowed:
        text = f"{event.contact}'s impulse {across:.3g} across, {normal:.3g} along the normal, mu {mu:.3g}"
        yield Finding("event cone", event.time, across - mu * max(load, 0.0), allowed, event.contact, text)
    closing = -float(event.after @ n)
    within_step = any(begin < event.time <= end + 1e-12 for begin, end in state.motion.steps)
    if within_step:  # the point that pushed in its middle has turned away: what counts is that nothing overlaps
        return
    if closing > 1e-4 * state.speed:
        text = f"{event.contact} still approaches after its impulse"
        yield Finding("event approach", event.time, closing, 1e-4 * state.speed, event.contact, text)
