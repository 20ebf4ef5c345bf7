"""Plastic impacts with friction: velocities jump, positions do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import brentq

from trundle.checks import FloatArray
from trundle.simulate.events.impact_cone import cone_laws
from trundle.simulate.events.impact_sets import Candidate, Impact, checked, inside, some_of
from trundle.simulate.force_distribution import distributed_impulses

REST_SPEED = 1e-3
"""Separation speed (m/s) below which an impact leaves both contacts closed: rocking impacts are Zeno."""
_NO_BLOW = 1e-12
"""Speed (m/s) that is round-off: such a touch closes the contact and changes nothing."""


def plastic_impact(
    M: FloatArray, contacts: dict[int, Candidate], new: int, patches: Sequence[Sequence[int]] = ()
) -> Impact:
    """Return the outcome of an impact at the contact `new` while the others were closed.

    nu+ = nu + M^-1 J'L with the relative velocity of the material points zero after, L = -(J M^-1 J')^-1 v
    (theory, "Collisions and sliding"). First only the new contact takes part: it is accepted if the others come apart.
    Otherwise all stay closed, if their impulses fit the cones. Otherwise some come apart or slide: of all sets of
    rolling, sliding and leaving contacts the first is taken whose impulses and velocities agree with it. An impulse
    outside the cone of the new contact alone is replaced by one on its edge, with the direction of the slip AFTER the
    impact and zero normal velocity.

    Parameters
    ----------
    M : (nv, nv)
    contacts : dict of contact number -> Candidate
        The new contact and those that were closed.
    patches : sequence of sequence of int
        Contacts that are the corners of one rectangle.
    """
    if all(float(np.linalg.norm(c.velocity)) < _NO_BLOW for c in contacts.values()):
        return held_impact(M, contacts)
    alone = _single(M, contacts[new], new)
    others = [i for i in contacts if i != new]
    leaving = [float(contacts[i].n @ (contacts[i].velocity + contacts[i].J @ alone.jump)) for i in others]
    if not others or (alone.decided and all(speed > REST_SPEED for speed in leaving)):
        return alone
    together = _together(M, contacts)
    # Slower than the threshold, rocking from one contact to the other has no end in time: it rests on both.
    if alone.decided and all(speed > -REST_SPEED for speed in leaving):
        return replace(together, decided=True, rests=True)
    return together if together.decided else some_of(M, contacts, new, patches) or _by_cones(M, contacts) or together


def _by_cones(M: FloatArray, contacts: dict[int, Candidate]) -> Impact | None:
    """Return the impact that the projections onto the cones lead to, if its impulses and velocities agree."""
    found = cone_laws(M, contacts)
    return None if found is None else checked(M, contacts, *found)


def held_impact(M: FloatArray, contacts: dict[int, Candidate]) -> Impact:
    """Return the impact after which all contacts stay closed, where some would hop for an instant.

    The impulses it takes to hold them are those of their next landings, which follow at once.
    """
    return replace(_together(M, contacts), decided=True, rests=True)


def _single(M: FloatArray, c: Candidate, number: int) -> Impact:
    rows, before = c.J, c.velocity
    if c.spin is not None:
        rows, before = np.vstack([c.J, c.spin]), np.append(c.velocity, c.spin_rate)
    jump, impulse = _close(M, rows, before)
    push = impulse[: len(c.n)]
    if inside(c, push, 1e-15):
        return Impact(jump, {number: "rolling"}, {number: push})
    if c.spin is not None:
        # To stop the spin as well would take a push outside the cone: the spin goes on, friction permitting.
        without = _single(M, replace(c, spin=None), number)
        return replace(without, laws={number: "spinning"}) if "rolling" in without.laws.values() else without
    spread = c.J @ np.linalg.solve(M, c.J.T)
    if float(np.linalg.norm(c.velocity)) < _NO_BLOW:
        return Impact(jump, {number: "rolling"}, {number: push})
    for e in _slips_after(c, spread):
        edge = c.n - c.mu * e
        impulse = edge * (-float(c.n @ c.velocity) / float(c.n @ spread @ edge))
        # The work of the impulse is its product with the mean velocity. Large friction can make it pull, or reverse
        # the slip and feed energy in: no such impact exists.
        gain = float(impulse @ (c.velocity + spread @ impulse / 2))
        if float(c.n @ impulse) >= 0 and gain <= 0:
            sliding = np.asarray(np.linalg.solve(M, c.J.T @ impulse), dtype=np.float64)
            return Impact(sliding, {number: "sliding"}, {number: impulse})
    return Impact(jump, {number: "rolling"}, {number: push}, decided=False)


def _together(M: FloatArray, contacts: dict[int, Candidate]) -> Impact:
    numbers = list(contacts)
    rows = np.vstack([contacts[i].J for i in numbers])
    before = np.concatenate([contacts[i].velocity for i in numbers])
    jump, impulse = _close(M, rows, before)
    normals, frictions = [contacts[i].n for i in numbers], [contacts[i].mu for i in numbers]
    shares = distributed_impulses(rows, normals, impulse, frictions)
    pushes = dict(zip(numbers, shares, strict=True))
    round_off = 1e-9 * max(float(np.linalg.norm(impulse)), 1e-12)
    decided = all(inside(contacts[i], push, round_off) for i, push in pushes.items())
    return Impact(jump, dict.fromkeys(numbers, "rolling"), pushes, decided)


def _close(M: FloatArray, rows: FloatArray, before: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the jump that makes rows @ nu + ... zero, and its impulses (smallest ones where redundant)."""
    spread = rows @ np.linalg.solve(M, rows.T)
    impulse = -np.linalg.pinv(spread, rcond=1e-10, hermitian=True) @ before
    return np.asarray(np.linalg.solve(M, rows.T @ impulse), dtype=np.float64), impulse


def _slips_after(c: Candidate, spread: FloatArray) -> Iterator[FloatArray]:
    """Yield the directions e such that the slip after an impulse L (n - mu e) is along e."""

    def after(e: FloatArray) -> FloatArray:
        edge = c.n - c.mu * e
        closing = float(c.n @ spread @ edge)
        if closing == 0.0:
            return np.zeros_like(e)  # no impulse along this edge stops the approach
        left = c.velocity - spread @ edge * (float(c.n @ c.velocity) / closing)
        return left - c.n * float(c.n @ left)

    if len(c.n) == 2:
        tangent = np.array([c.n[1], -c.n[0]])
        yield from (e for e in (tangent, -tangent) if float(e @ after(e)) > 0)
        return
    before = c.velocity - c.n * float(c.n @ c.velocity)
    length = float(np.linalg.norm(before))
    t1 = before / length if length > 0 else np.cross(c.n, np.eye(3)[int(np.argmin(np.abs(c.n)))])
    t1 = t1 / np.linalg.norm(t1)
    t2 = np.cross(c.n, t1)

    def direction(angle: float) -> FloatArray:
        return np.cos(angle) * t1 + np.sin(angle) * t2

    def turned(angle: float) -> float:
        e = direction(angle)
        return float(c.n @ np.cross(e, after(e)))

    angles = np.linspace(-np.pi, np.pi, 181)
    values = [turned(a) for a in angles]
    for low, high, left, right in zip(angles, angles[1:], values, values[1:], strict=False):
        if left * right <= 0.0:
            root = float(brentq(turned, low, high, xtol=1e-15))
            if float(direction(root) @ after(direction(root))) > 0:
                yield direction(root)
