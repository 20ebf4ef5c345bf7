"""Impacts at several contacts: which of them roll, slide or come apart, such that impulses and velocities agree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np

from tests.simulate.internal_forces import cone_sides, internal_forces, largest_margin
from trundle.checks import FloatArray
from trundle.simulate.events.impact import Candidate, Impact

_MOST = 800
"""Sets of laws beyond which there are too many to try."""
_TURNS = 200
_AGREES = 1e-9


def inside(c: Candidate, push: FloatArray, round_off: float) -> bool:
    """Whether an impulse (d,), N s, lies inside the friction cone of a contact, but for a `round_off`."""
    normal = float(c.n @ push)
    if normal < -round_off:
        return False
    return np.isinf(c.mu) or float(np.linalg.norm(push - normal * c.n)) <= c.mu * normal + round_off


def some_of(
    M: FloatArray, contacts: dict[int, Candidate], new: int, patches: Sequence[Sequence[int]] = ()
) -> Impact | None:
    """Return the impact of the first set of contacts whose impulses and velocities agree, or None.

    Each of the closed contacts rolls, slides or comes apart; the contact `new` does not come apart, or, of the corners
    of a patch, not all do. Sets that keep more contacts closed and rolling come first.

    Parameters
    ----------
    M : (nv, nv)
    contacts : dict of contact number -> Candidate
    new : int
    patches : sequence of sequence of int
        Contacts that are the corners of one rectangle, see `closed_sets`.
    """
    groups = grouped(list(contacts), patches)
    choices = []
    for group in groups:
        sets = [closed for closed in closed_sets(group) if closed or new not in group]
        laws = [dict.fromkeys(closed, law) for closed in sets for law in (("rolling", "sliding") if closed else ("",))]
        choices.append([dict.fromkeys(group, "apart") | one for one in laws])
    if math.prod(len(some) for some in choices) > _MOST:
        return None
    rank = {"rolling": 0, "sliding": 1, "apart": len(contacts) + 1}
    together = ({i: law for one in chosen for i, law in one.items()} for chosen in product(*choices))
    for chosen in sorted(together, key=lambda laws: sum(rank[law] for law in laws.values())):
        laws = {i: chosen[i] for i in contacts}
        if any(law == "sliding" and np.isinf(contacts[i].mu) for i, law in laws.items()):
            continue
        found = _agreed(M, contacts, laws)
        if found is not None:
            return found
    return None


def grouped(numbers: Sequence[int], patches: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Return the contacts in groups: the corners of one patch, in order about it, or one alone."""
    groups = [tuple(i for i in patch if i in numbers) for patch in patches]
    alone = [(i,) for i in numbers if not any(i in group for group in groups)]
    return [*alone, *(group for group in groups if group)]


def closed_sets(group: Sequence[int]) -> list[tuple[int, ...]]:
    """Return which contacts of a group may be closed: of a rigid rectangle all, those of an edge, one, or none."""
    count = len(group)
    edges = [(group[k], group[(k + 1) % count]) for k in range(count)] if count > 2 else []
    alone = [(i,) for i in group] if count > 1 else []
    return [tuple(group), *edges, *alone, ()]


def _agreed(M: FloatArray, contacts: dict[int, Candidate], laws: dict[int, str]) -> Impact | None:
    """Return the impact in which the contacts do as the `laws` say, or None if it contradicts them."""
    sliding = [i for i, law in laws.items() if law == "sliding"]
    if sliding and len(contacts[sliding[0]].n) == 2:
        directions = product(*(_both_ways(contacts[i].n) for i in sliding))
        for chosen in directions:
            found = checked(M, contacts, laws, dict(zip(sliding, chosen, strict=True)))
            if found is not None:
                return found
        return None
    return _turned(M, contacts, laws, sliding)


def _both_ways(n: FloatArray) -> tuple[FloatArray, FloatArray]:
    tangent = np.array([n[1], -n[0]])
    return tangent, -tangent


def _turned(M: FloatArray, contacts: dict[int, Candidate], laws: dict[int, str], sliding: list[int]) -> Impact | None:
    """Turn the directions of the slips, in space, until they are those after the impact."""
    directions = {i: _slip_direction(contacts[i], contacts[i].velocity) for i in sliding}
    if any(direction is None for direction in directions.values()):
        return None
    e = {i: direction for i, direction in directions.items() if direction is not None}
    for _ in range(_TURNS):
        jump, _ = _solved(M, contacts, laws, e)
        after = {i: _slip_direction(contacts[i], contacts[i].velocity + contacts[i].J @ jump) for i in sliding}
        turned = {i: direction for i, direction in after.items() if direction is not None}
        if len(turned) < len(sliding):
            return None
        if all(float(np.linalg.norm(turned[i] - e[i])) < 1e-13 for i in sliding):
            break
        e = {i: (e[i] + turned[i]) / max(float(np.linalg.norm(e[i] + turned[i])), 1e-300) for i in sliding}
    return checked(M, contacts, laws, e)


def _slip_direction(c: Candidate, velocity: FloatArray) -> FloatArray | None:
    slip = velocity - c.n * float(c.n @ velocity)
    size = float(np.linalg.norm(slip))
    return None if size < 1e-12 else slip / size


def _solved(
    M: FloatArray, contacts: dict[int, Candidate], laws: dict[int, str], e: dict[int, FloatArray]
) -> tuple[FloatArray, dict[int, FloatArray]]:
    """Return the jump (nv,) and the impulses of contacts that do as told, slips along the unit vectors `e`."""
    rows, pushes, before, directions = [], [], [], []
    for i, law in laws.items():
        c = contacts[i]
        if law == "apart":
            continue
        held = np.eye(len(c.n)) if law == "rolling" else c.n[None]
        pushed = held if law == "rolling" else (c.n - c.mu * e[i])[None]
        rows.append(held @ c.J)
        pushes.append(pushed @ c.J)
        before.append(held @ c.velocity)
        directions.append((i, pushed))
    G = np.vstack(pushes)
    spread = np.linalg.solve(M, G.T)
    least = np.linalg.lstsq(np.vstack(rows) @ spread, -np.concatenate(before), rcond=1e-10)[0]
    size = _shared(np.asarray(least, dtype=np.float64), G, [(contacts[i], pushed) for i, pushed in directions])
    impulses, at = {}, 0
    for i, pushed in directions:
        impulses[i] = pushed.T @ size[at : at + len(pushed)]
        at += len(pushed)
    return np.asarray(spread @ size, dtype=np.float64), impulses


def _shared(size: FloatArray, G: FloatArray, directions: list[tuple[Candidate, FloatArray]]) -> FloatArray:
    """Return impulses with the same effect inside the cones (in space: pyramids inside them), where there are such."""
    sides, at = np.zeros((0, len(size))), 0
    for c, pushed in directions:
        side = cone_sides(c.n, c.mu) if len(pushed) == len(c.n) else np.eye(1)
        wide = np.zeros((len(side), len(size)))
        wide[:, at : at + len(pushed)] = side
        sides, at = np.vstack((sides, wide)), at + len(pushed)
    other = internal_forces(G)
    return size + other @ largest_margin(sides @ size, sides @ other)


def checked(
    M: FloatArray, contacts: dict[int, Candidate], laws: dict[int, str], e: dict[int, FloatArray]
) -> Impact | None:
    """Return the impact in which contacts do as the `laws` say, slips along `e`, or None where that contradicts it."""
    if all(law == "apart" for law in laws.values()):
        return None
    jump, impulses = _solved(M, contacts, laws, e)
    scale = max((float(np.linalg.norm(c.velocity)) for c in contacts.values()), default=0.0)
    push = max((float(np.linalg.norm(value)) for value in impulses.values()), default=0.0)
    gain = 0.0
    for i, law in laws.items():
        c = contacts[i]
        after = c.velocity + c.J @ jump
        normal = float(c.n @ after)
        if law == "apart":
            if normal < -_AGREES * scale:
                return None
            continue
        gain += float(impulses[i] @ (c.velocity + after)) / 2
        if abs(normal) > _AGREES * scale or float(c.n @ impulses[i]) < -_AGREES * push:
            return None
        if law == "rolling" and (not inside(c, impulses[i], _AGREES * push) or np.any(np.abs(after) > _AGREES * scale)):
            return None
        if law == "sliding" and float(e[i] @ after) <= _AGREES * scale:
            return None
    if gain > _AGREES * scale * push:
        return None
    return Impact(jump, {i: law for i, law in laws.items() if law != "apart"}, impulses)
