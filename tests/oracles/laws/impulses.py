"""Momentum: every change between two samples is gravity and an impulse that the touching contacts can give.

An impulse lies in the cone of the contact's normal and friction, wherever and however often it acts in between, so no
quadrature of forces is needed: the change of linear and angular momentum is to be a sum of rays with factors >= 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from .curved import low_points
from .gaps import Placed
from .grounds import Ground
from .scene import Finding, Motion, cross, moment, turn
from .shapes import Array, Body, unit
from .state import MOMENTUM, TOUCH, Meeting, State

RAYS = 16
"""Of a friction cone; they lie outside it, so that none of its forces is left out."""

SWAYS = 0.02
"""Second difference of an arm (in lengths) and a normal between samples from which it is another point's."""


@dataclass(frozen=True, eq=False)
class Floor:
    """What a flat floor gave all bodies of a group between samples: impulses (n - 1,) along its normal and across.

    ``held``: what adhesion can have held of them, N s.
    """

    name: str
    mu: float
    mass: float
    normal: Array
    across: Array
    held: Array


def floors(state: State) -> Iterator[Finding]:
    """Yield where the impulse on all that stands on a flat floor at rest leaves the cone of its friction."""
    time = state.motion.time
    for one in _on_floor(state):
        normal, across, mu = one.normal, one.across, one.mu
        hops = one.mass * np.array([state.hop(i) for i in range(len(normal))]) + one.held
        allowed = MOMENTUM * one.mass * state.speed
        k = int(np.argmax(across - mu * np.maximum(normal, 0.0)))
        excess = float(across[k] - mu * (max(float(normal[k]), 0.0) + hops[k]))
        if excess > allowed:
            text = f"impulse {across[k]:.3g} N s along the floor beside {normal[k]:.3g} normal to it, mu {mu:.3g}"
            yield Finding("friction impulse", float(time[k]), excess, allowed, one.name, text)
        k = int(np.argmin(normal + hops))
        allowed += hops[k]
        if normal[k] < -allowed:
            text = f"the floor pulls with {-normal[k]:.3g} N s"
            yield Finding("pull", float(time[k]), -float(normal[k]), allowed, one.name, text)


def beyond_floor(state: State) -> float:
    """Return how far outside its cone the impulse of a flat floor is at most, in parts of it.

    Of impulses smaller than the weight's over the longest interval in parts of that.
    """
    dt, g = float(np.max(np.diff(state.motion.time))), float(np.linalg.norm(state.scene.gravity))
    found = [0.0]
    for one in _on_floor(state):
        size = np.maximum(np.hypot(one.normal, one.across), one.mass * g * dt)
        outside = np.maximum(-one.normal, one.across - one.mu * np.maximum(one.normal, 0.0))
        found.append(float(np.max(outside / size, initial=0.0)))
    return max(found)


def _on_floor(state: State) -> Iterator[Floor]:
    """Yield what a flat floor at rest gave all bodies, and those apart that touch no others."""
    scene, mo = state.scene, state.motion
    if scene.ground is None or scene.ground.flat is None or moves(mo) or np.any(scene.component < 0):
        return
    R, _ = mo.ground_frame(scene.d)
    n = R[0] @ scene.ground.flat[1]
    groups = {"all bodies": np.arange(len(scene.links))}
    paired = {scene.number_of[scene.shape_of[name].link] for pair in scene.pairs for name in (pair.A, pair.B)}
    for label in np.unique(scene.component):
        members = np.flatnonzero(scene.component == label)
        if not paired & set(members.tolist()) and len(np.unique(scene.component)) > 1:
            groups[" ".join(scene.links[i].name for i in members)] = members
    for name, members in groups.items():
        names = {scene.links[i].name for i in members}
        mu = max((s.mu for s in scene.shapes if s.link in names), default=0.0)
        m = state.masses[members]
        p = np.einsum("b,nbi->ni", m, mo.velocity[:, members])
        change = np.diff(p, axis=0) - m.sum() * np.diff(mo.time)[:, None] * scene.gravity
        normal = change @ n
        across = np.linalg.norm(change - normal[:, None] * n, axis=1)
        pulls = sum((s.adhesion * max(len(s.body.corners), 1) for s in scene.shapes if s.link in names), 0.0)
        yield Floor(name, mu, float(m.sum()), normal, across, pulls * np.diff(mo.time))


def moves(motion: Motion) -> bool:
    """Return whether the ground moves."""
    return any(v is not None and bool(np.any(v)) for v in (motion.ground_v, motion.ground_omega))


def untouched(state: State) -> Iterator[Finding]:
    """Yield bodies that change their motion though nothing touches them: free flight is a parabola without torque."""
    scene, mo = state.scene, state.motion
    dt = np.diff(mo.time)
    for i, link in enumerate(scene.links):
        if any(link.name in (j.link, j.parent) for j in scene.joints):
            continue
        free = np.ones(len(dt), dtype=bool)
        for meeting in state.meetings:
            if link.name in (meeting.A.link, meeting.B.link if meeting.B else None):
                gap = meeting.gaps.gap
                free &= np.minimum(gap[1:], gap[:-1]) > TOUCH * meeting.size
                free &= gap[1:] + gap[:-1] > 2 * state.speed * dt
        if not free.any():
            continue
        off = np.linalg.norm(np.diff(mo.velocity[:, i], axis=0) - dt[:, None] * scene.gravity, axis=1)
        spin = np.linalg.norm(np.diff(state.spin[:, i], axis=0), axis=1)
        allowed = MOMENTUM * state.speed
        size = float(np.max(link.inertia)) * state.speed / state.length
        for what, value, most in (("velocity", off, allowed), ("angular momentum", spin, MOMENTUM * size)):
            k = int(np.argmax(np.where(free, value, 0.0)))
            if free[k] and value[k] > most:
                text = f"{link.name} changes its {what} by {value[k]:.3g} though nothing touches it"
                yield Finding("untouched", float(mo.time[k]), float(value[k]), most, link.name, text)


def impulses(state: State) -> Iterator[Finding]:
    """Yield, per island of touching components, the change of momentum that touching contacts cannot give."""
    worst: dict[str, Finding] = {}
    for k in np.flatnonzero(~state.whirls):
        for finding in _interval(state, k):
            known = worst.get(finding.who)
            if known is None or finding.amount / finding.allowed > known.amount / known.allowed:
                worst[finding.who] = finding
    yield from worst.values()


def _interval(state: State, k: int) -> Iterator[Finding]:
    """Yield what is wrong with the momentum of each island of one interval."""
    component = state.scene.component
    close = [m for m in state.meetings if _touches(m, k) or _touches(m, k + 1) or _bounces(state, m, k)]
    labels = [int(c) for c in np.unique(component) if c >= 0]
    group = {label: label for label in labels}
    for meeting in close:  # components that touch each other are one island
        a, b = _sides(state, meeting)
        if a >= 0 and b >= 0 and group[a] != group[b]:
            old, new = group[b], group[a]
            group = {label: new if g == old else g for label, g in group.items()}
    for island in sorted(set(group.values())):
        members = [label for label in labels if group[label] == island]
        touching = [m for m in close if {c for c in _sides(state, m) if c >= 0} <= set(members)
                    and any(c in members for c in _sides(state, m))]  # fmt: skip
        finding = _balance(state, k, members, touching)
        if finding is not None:
            yield finding


def _touches(meeting: Meeting, k: int) -> bool:
    return bool(meeting.gaps.gap[k] < TOUCH * meeting.size)


def _bounces(state: State, meeting: Meeting, k: int) -> bool:
    """Return whether two shapes may touch between samples alone: within time steps, whose ends are no samples.

    Or where contacts give way, which is no event. By where their normal velocity brings them, with a fifth to spare for
    what turns, and by how far they fall.
    """
    time = state.motion.time
    stepped = any(begin < time[k + 1] and time[k] < end for begin, end in state.motion.steps)
    if not stepped and state.scene.soft is None:
        return False
    dt = float(time[k + 1] - time[k])
    fall = 0.5 * float(np.linalg.norm(state.scene.gravity)) * dt**2
    for row, onwards in ((k, 1.0), (k + 1, -1.0)):
        gap = float(meeting.gaps.gap[row])
        if gap < state.speed * dt + fall:
            opening = min((onwards * v for v in _openings(state, meeting, row)), default=0.0)
            if gap + 1.2 * opening * dt < fall:
                return True
    return False


def _openings(state: State, meeting: Meeting, row: int) -> Iterator[float]:
    """Yield the velocities, m/s, at which the near points of two shapes part at a sample."""
    scene, motion = state.scene, state.motion
    for point, normal in contact_points(state, meeting, row, between=True):
        at = np.broadcast_to(point, (len(motion.time), scene.d))

        def velocity(link: str, at: Array = at) -> Array:
            i = scene.number_of[link]
            return (motion.velocity[:, i] + turn(motion.omega[:, i], at - motion.position[:, i]))[row]

        of_B = motion.ground_velocity(at)[row] if meeting.B is None else velocity(meeting.B.link)
        yield float(normal @ (velocity(meeting.A.link) - of_B))


def _sides(state: State, meeting: Meeting) -> tuple[int, int]:
    """Return the components of both sides, -1 of the ground or of what the world holds."""
    component, number = state.scene.component, state.scene.number_of
    a = int(component[number[meeting.A.link]])
    return a, -1 if meeting.B is None else int(component[number[meeting.B.link]])


def _balance(state: State, k: int, members: list[int], touching: list[Meeting]) -> Finding | None:
    """Return what an island's change of momentum has that gravity and rays of what touches cannot give, if anything.

    Angular momentum is about each component's own moving centre of mass, where gravity has no moment.
    """
    scene, mo = state.scene, state.motion
    dt = float(mo.time[k + 1] - mo.time[k])
    changes, centers = [], {}
    for label in members:
        p, L, centers[label] = _momentum(state, k, np.flatnonzero(scene.component == label))
        mass = float(state.masses[scene.component == label].sum())
        changes += [p[1] - p[0] - mass * dt * scene.gravity, (L[1] - L[0]) / state.length]
    change = np.concatenate(changes)
    allowed = float(state.masses.sum()) * (MOMENTUM * state.speed + state.hop(k)) + dt * _pulls(
        state, k, touching, centers
    )
    if np.linalg.norm(change) <= allowed:
        return None
    none = np.zeros((len(change), 0))
    rays = [_rays(state, m, k + e, members, centers, e) for m in touching for e in (0, 1)]
    rays += [
        _rays(state, m, k + e, members, centers, e, points) for m in touching for e, points in _gone_on(m, state, k)
    ]
    matrix = np.hstack([none, *rays])
    left = float(np.linalg.norm(change))
    if matrix.size:
        factors, _ = nnls(matrix, change, maxiter=50 * matrix.shape[1])
        left = float(np.linalg.norm(matrix @ factors - change))
        # Arms and normals move between the samples, in first order from one ray to another. In second order a unit
        # impulse and its moment, both bent, are off by an eighth of n'' and of r x n'' + 2 r' x n' + r'' x n.
        allowed += 0.6 * float(factors.sum()) * _bend(state, k, touching, centers) ** 2
        allowed += float(factors.sum()) * _sway(state, k, touching)
        # What gives way pushes at a point that goes as deep as that between the samples.
        allowed += float(factors.sum()) * state.deepest / state.length
    if left <= allowed:
        return None
    who = ", ".join(scene.links[i].name for i in range(len(scene.links)) if scene.component[i] in members)
    by = ", ".join(m.name for m in touching) or "nothing"
    text = f"a change of momentum of {np.linalg.norm(change):.3g} N s of which {by} cannot give {left:.3g}"
    return Finding("impulse", float(mo.time[k]), left, allowed, who, text)


def _pulls(state: State, k: int, touching: list[Meeting], centers: dict[int, Array]) -> float:
    """Return the force, N, with friction and its moment over the length, that adhesion can give where shapes touch."""
    found = 0.0
    for meeting in (one for one in touching if one.adhesion):
        arms = []
        for end, row in enumerate((k, k + 1)):
            points = [point for point, _ in contact_points(state, meeting, row, between=True)]
            own = [centers[label][end] for label in _sides(state, meeting) if label in centers]
            arms.append([max(float(np.linalg.norm(point - one)) for one in own) for point in points if own])
        most = max(sum(1.0 + arm / state.length for arm in end) for end in arms)
        found += meeting.adhesion * (1.0 + meeting.mu) * most
    return found


def _momentum(state: State, k: int, bodies: Array) -> tuple[Array, Array, Array]:
    """Return p (2, d), L (2, t) about the common centre of mass, and that centre (2, d), at both ends."""
    mo, rows = state.motion, np.array([k, k + 1])
    m = state.masses[bodies]
    v, x = mo.velocity[rows][:, bodies], mo.position[rows][:, bodies]
    p = np.einsum("b,rbi->ri", m, v)
    center = np.einsum("b,rbi->ri", m, x) / m.sum()
    L = state.spin[rows][:, bodies].sum(axis=1)
    if len(bodies) > 1:
        L = L + moment(x - center[:, None], m[None, :, None] * v).sum(axis=1)
    return p, L, center


def _bend(state: State, k: int, touching: list[Meeting], centers: dict[int, Array]) -> float:
    """Return by how much arms (in lengths) and normals (rad) of what touches turn in an interval."""
    mo = state.motion
    dt = float(mo.time[k + 1] - mo.time[k])
    most = float(np.linalg.norm(mo.omega[k : k + 2], axis=2).max()) * dt
    for meeting in touching:
        most = max(most, float(np.linalg.norm(np.diff(meeting.gaps.normal[k : k + 2], axis=0))))
        for moved in _moves_of_points(state, meeting, k):
            for label in _sides(state, meeting):
                if label >= 0:
                    center = centers[label]
                    most = max(most, float(np.linalg.norm(moved - (center[1] - center[0]))) / state.length)
    return most


def _moves_of_points(state: State, meeting: Meeting, k: int) -> list[Array]:
    """Return by how much each point where two shapes touch runs in an interval, to the nearest one at its other end.

    A point that has none at the other end, a corner that lands or leaves, does not run.
    """
    before, after = (_places(state, meeting, row) for row in (k, k + 1))
    if len(before) <= len(after):
        return [min((there - x for there in after), key=np.linalg.norm) for x in before]
    return [min((x - there for there in before), key=np.linalg.norm) for x in after]


def _places(state: State, meeting: Meeting, row: int) -> list[Array]:
    """Return where two shapes touch at a sample, by the one with fewer points as far: of a face on a ball, the ball's.

    On curved ground where the other is as low as at its lowest point.
    """
    if meeting.placed_B is not None:
        n = meeting.gaps.normal[row]
        sides = ((meeting.placed_A, n), (meeting.placed_B, -n))
        return min((list(_near_plane(placed, outward, row, meeting.size)) for placed, outward in sides), key=len)
    ground = state.scene.ground
    if ground is not None and ground.level is not None:
        found = list(_points_on_ground(state, meeting, ground, row))
        lowest = min((height for _, _, height in found), default=0.0)
        return [x for x, _, height in found if height < lowest + TOUCH * meeting.size]
    return [x for x, _ in contact_points(state, meeting, row, between=True)]


def _sway(state: State, k: int, touching: list[Meeting]) -> float:
    """Return by how much an arm (in lengths) and a normal that turn back go beyond where an interval's ends show them.

    Of a parabola through three samples that is an eighth of its second difference; the smaller one of those that end
    and that begin with the interval, and none where a corner or a face takes the place of another.
    """
    most = 0.0
    for meeting in touching:
        found = []
        for rows in ((k - 1, k, k + 1), (k, k + 1, k + 2)):
            if rows[0] < 0 or rows[2] >= len(state.motion.time):
                continue
            points = [contact_points(state, meeting, row, between=True) for row in rows]
            if all(points):
                x, n = (np.array([one[0][i] for one in points]) for i in (0, 1))
                links = [side.link for side in (meeting.A, meeting.B) if side is not None]
                places = (state.motion.position[list(rows), state.scene.number_of[link]] for link in links)
                arms = [(x - place) / state.length for place in places]
                found.append(max(float(np.linalg.norm(np.diff(a, n=2, axis=0))) for a in (*arms, n)))
        if found and min(found) < SWAYS:
            most = max(most, min(found) / 8)
    return most


def _gone_on(meeting: Meeting, state: State, k: int) -> Iterator[tuple[int, list[tuple[Array, Array]]]]:
    """Yield points with normals, at one end of an interval, of a touch that only its other end has.

    Those that go on as the touch did before or does afterwards: what is nearest once bodies are apart is elsewhere.
    """
    for end, row, other in ((1, k, k - 1), (0, k + 1, k + 2)):
        if not 0 <= other < len(state.motion.time) or not _touches(meeting, row) or _touches(meeting, k + end):
            continue
        here, before = (contact_points(state, meeting, one, between=True) for one in (row, other))
        if len(here) == len(before):
            both = zip(here, before, strict=True)
            yield end, [(2 * x - x_0, unit((2 * n - n_0)[None])[0]) for (x, n), (x_0, n_0) in both]


def _rays(
    state: State,
    meeting: Meeting,
    row: int,
    members: list[int],
    centers: dict[int, Array],
    end: int,
    points: list[tuple[Array, Array]] | None = None,
) -> Array:
    """Return the columns (rows, rays) of unit normal impulses with friction: linear, angular/length of every member.

    At the `points` with normals, those where the shapes touch at a sample unless they are given.
    """
    a, b = _sides(state, meeting)
    columns = []
    for point, normal in contact_points(state, meeting, row, between=True) if points is None else points:
        force, couple = cone(normal, meeting.mu, meeting.lever)
        if meeting.drilling and state.scene.d == 3:
            spun = meeting.drilling * normal
            force, couple = np.vstack([force, force]), np.vstack([couple + spun, couple - spun])
        parts = []
        for label in members:
            sign = float(label == a) - float(label == b)
            turning = (moment(np.broadcast_to(point - centers[label][end], force.shape), force) + couple) / state.length
            parts.append(sign * np.hstack([force, turning]))
        columns.append(np.hstack(parts))
    turns = 3 if state.scene.d == 3 else 1
    return np.vstack([np.zeros((0, len(members) * (state.scene.d + turns))), *columns]).T


def cone(n: Array, mu: float, lever: float) -> tuple[Array, Array]:
    """Return forces (r, d) and couples (r, k) on A with a unit normal part; `n` points from B to A."""
    d = len(n)
    if d == 2:
        t = np.array([-n[1], n[0]])
        sides = np.array([-1.0, 1.0]) if mu else np.zeros(1)
        force = n + mu * sides[:, None] * t
        if not lever:
            return force, np.zeros((len(force), 1))
        return np.vstack([force, force]), lever * np.repeat([[-1.0], [1.0]], len(force), axis=0)
    first = unit(cross(n, np.array([1.0, 0.0, 0.0] if abs(n[0]) < 0.6 else [0.0, 1.0, 0.0]))[None])[0]
    second = cross(n, first)
    count = RAYS // 2 if lever else RAYS
    angle = 2 * np.pi * np.arange(count) / count
    around = (np.cos(angle)[:, None] * first + np.sin(angle)[:, None] * second) / np.cos(np.pi / count)
    force = n + mu * around if mu else n[None]
    if not lever:
        return force, np.zeros_like(force)
    # The same normal force bears both: every friction with every couple.
    return np.repeat(force, count, axis=0), lever * np.tile(around, (len(force), 1))


def contact_points(state: State, meeting: Meeting, row: int, between: bool = False) -> list[tuple[Array, Array]]:
    """Return the points where two shapes may push each other at a sample, with the normals from B to A.

    ``between``: they touch before the next sample, or since the last one; the points are those that are nearest now.
    """
    n = -meeting.gaps.normal[row]
    if not between and meeting.gaps.gap[row] > TOUCH * meeting.size:
        return []
    ground = state.scene.ground
    if meeting.B is None and ground is not None and ground.level is not None:
        return _on_ground(state, meeting, ground, row)
    found = [*_near_plane(meeting.placed_A, -n, row, meeting.size)]
    if meeting.placed_B is not None:
        found += _near_plane(meeting.placed_B, n, row, meeting.size)
    return [(x, n) for x in found]


def _near_plane(placed: Placed, outward: Array, row: int, size: float) -> Iterator[Array]:
    """Yield the points of a body that are furthest along `outward`: the support point, and corners and rims as far."""
    one = placed.some(np.array([row]))
    support = one.core(outward[None])[0] + one.body.radius * outward
    yield support
    if len(one.body.corners):
        known = np.vstack([one.body.corners, _furthest_of_rims(one.body, one.R[0].T @ outward)])
        corners = one.points(known)[0] + one.body.radius * outward
        level = (corners - support) @ outward
        yield from corners[level > -TOUCH * size]


def _furthest_of_rims(body: Body, along: Array) -> Array:
    """Return the point (k, d) of each rim that is furthest along a direction (d,), in the body's axes.

    A bar that lies on its side stands on one of each; the corners that are known of rims may all be higher.
    """
    across = float(np.hypot(along[0], along[1]))
    if across == 0.0:
        return np.zeros((0, len(along)))
    return np.array([[r * along[0] / across, r * along[1] / across, h] for h, r in body.rims]).reshape(-1, len(along))


def _on_ground(state: State, meeting: Meeting, ground: Ground, row: int) -> list[tuple[Array, Array]]:
    """Return the points of a body that touch curved ground, each with its own normal."""
    most = max(0.0, float(meeting.gaps.gap[row])) + 2 * TOUCH * meeting.size
    return [(x, n) for x, n, height in _points_on_ground(state, meeting, ground, row) if height < most]


def _points_on_ground(state: State, meeting: Meeting, ground: Ground, row: int) -> Iterator[tuple[Array, Array, float]]:
    """Yield the low points of a body over curved ground, with the normals there and the heights, m."""
    R, p = state.motion.ground_frame(state.scene.d)
    one = meeting.placed_A.some(np.array([row]))
    points, heights = low_points(one.body, R[row].T @ one.R[0], R[row].T @ (one.p[0] - p[row]), ground)
    for x, n, height in zip(points, ground.normal(points), heights, strict=True):
        yield p[row] + R[row] @ x, R[row] @ n, float(height)
