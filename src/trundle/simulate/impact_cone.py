"""Several contacts decided by projection onto their cones, where no set of laws is found or slips have yet to begin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trundle.checks import FloatArray
from trundle.simulate.impact_sets import Candidate, Impact, agreeing, checked

_SWEEPS = (500, 4500, 15000)
"""Projections before the first look, whose laws are mostly right, and before the next ones."""
_SETTLED = 1e-14
_NOTHING = 1e-9
_NEWTON = 30


@dataclass(frozen=True)
class Guess:
    """What each contact does, "rolling", "sliding" or "apart"; its impulses (d,), N s; directions (d,) of its slips."""

    laws: dict[int, str]
    impulses: dict[int, FloatArray]
    ways: dict[int, FloatArray]


def by_cones(M: FloatArray, contacts: dict[int, Candidate]) -> Impact | None:
    """Return the impact that the projections lead to, if its impulses and velocities agree, or None.

    The projections tell the laws. Impulses and directions of slips are then solved for, see `_solved_from`: of corners
    that turn about one another the velocities do not determine the loads, but friction depends on them; there the
    loads stay next to those of the projections.
    """
    for guess in cone_guesses(M, contacts):
        jump, impulses = _solved_from(M, contacts, guess)
        ways = _ways_after(contacts, guess, jump)
        if ways is None:
            continue
        found = agreeing(contacts, guess.laws, ways, jump, impulses) or checked(M, contacts, guess.laws, ways)
        if found is not None:
            return found
    return None


def cone_guesses(M: FloatArray, contacts: dict[int, Candidate]) -> Iterator[Guess]:
    """Yield what contacts do in an impact, from rough to fine; nothing without limits of friction.

    With D = J M^-1 J' and the velocities v = v_0 + D L after the impulses L, Coulomb's law for a plastic impact reads

        L in K,  v + mu |v_t| n in the dual cone of K,  L'(v + mu |v_t| n) = 0

    (De Saxce & Feng 1998), which L_i <- proj_K(L_i - r_i (v_i + mu |v_t| n)) solves contact by contact. A contact with
    a `way` slips before and after: L_i = N (n - mu way), N >= 0, n'v >= 0, N n'v = 0. Where corners share one load the
    projections settle slowly, but tell the laws long before.

    Parameters
    ----------
    M : (nv, nv)
    contacts : dict of contact number -> Candidate
        With finite friction.
    """
    numbers = list(contacts)
    cs = [contacts[i] for i in numbers]
    if any(np.isinf(c.mu) for c in cs):
        return
    d = len(cs[0].n)
    J = np.vstack([c.J for c in cs])
    D = J @ np.linalg.solve(M, J.T)
    before = np.concatenate([c.velocity for c in cs])
    rows = [slice(d * k, d * (k + 1)) for k in range(len(cs))]
    steps = [1.0 / float(np.linalg.eigvalsh(D[at, at])[-1]) for at in rows]
    L = np.zeros(len(before))
    for sweeps in _SWEEPS:
        settled = False
        for _ in range(sweeps):
            largest = 0.0
            for c, at, step in zip(cs, rows, steps, strict=True):
                new = _onto_cone(c, L[at], before[at] + D[at] @ L, step)
                largest = max(largest, float(np.max(np.abs(new - L[at]))))
                L[at] = new
            settled = largest <= _SETTLED * max(float(np.max(np.abs(L))), 1e-300)
            if settled:
                break
        after = before + D @ L
        yield _read(contacts, {i: (L[at].copy(), after[at]) for i, at in zip(numbers, rows, strict=True)})
        if settled:
            return


def _onto_cone(c: Candidate, push: FloatArray, velocity: FloatArray, step: float) -> FloatArray:
    """Return the point of the friction cone next to `push` (d,) - `step` * (`velocity` + mu |slip| n)."""
    if c.way is not None:
        load = max(float(c.n @ push) - step * float(c.n @ velocity), 0.0)
        return load * (c.n - c.mu * c.way)
    slip = velocity - c.n * float(c.n @ velocity)
    push = push - step * (velocity + c.mu * float(np.linalg.norm(slip)) * c.n)
    normal = float(c.n @ push)
    tangential = push - normal * c.n
    size = float(np.linalg.norm(tangential))
    if size <= c.mu * normal:
        return push
    if c.mu * size <= -normal:
        return np.zeros_like(push)
    edge = (c.mu * size + normal) / (1.0 + c.mu**2)
    return edge * (c.n + c.mu * tangential / size)


def _read(contacts: dict[int, Candidate], found: dict[int, tuple[FloatArray, FloatArray]]) -> Guess:
    """Return what contacts do from impulses and velocities after them.

    Of a load and the speed at which its gap opens one is zero; so is one of the distance to the edge of the cone and
    the slip. Before the projections have settled it is the one that is less, in parts of the largest.
    """
    most = max(float(np.linalg.norm(push)) for push, _ in found.values()) or 1.0
    fastest = max(float(np.linalg.norm(c.velocity)) for c in contacts.values()) or 1.0
    laws: dict[int, str] = {}
    ways: dict[int, FloatArray] = {}
    for i, (push, after) in found.items():
        c = contacts[i]
        load, opening = float(c.n @ push), float(c.n @ after)
        slip = after - c.n * opening
        size = float(np.linalg.norm(slip))
        room = c.mu * load - float(np.linalg.norm(push - load * c.n))
        if load <= max(_NOTHING, opening / fastest) * most:
            laws[i] = "apart"
        elif c.way is not None:
            laws[i], ways[i] = "sliding", c.way
        elif size > max(_NOTHING, room / most) * fastest:
            laws[i], ways[i] = "sliding", slip / size
        else:
            laws[i] = "rolling"
    return Guess(laws, {i: push for i, (push, _) in found.items()}, ways)


def _solved_from(
    M: FloatArray, contacts: dict[int, Candidate], guess: Guess
) -> tuple[FloatArray, dict[int, FloatArray]]:
    """Return the jump (nv,) and the impulses of the laws of a guess, next to its impulses, by Newton's method.

    What rolls has v = 0, what slides n'v = 0 and |v_t| L_t + mu L_n v_t = 0 with v = v_0 + D L. Steps are the smallest
    ones where these equations leave impulses open.
    """
    closed = [i for i, law in guess.laws.items() if law != "apart"]
    if not closed:
        return np.zeros(len(M)), {}
    d = len(contacts[closed[0]].n)
    J = np.vstack([contacts[i].J for i in closed])
    spread = np.linalg.solve(M, J.T)
    D, before = J @ spread, np.concatenate([contacts[i].velocity for i in closed])
    rows = [slice(d * k, d * (k + 1)) for k in range(len(closed))]
    L = np.concatenate([guess.impulses[i] for i in closed])
    most, fastest = float(np.max(np.abs(L))), float(np.max(np.abs(before))) or 1.0
    for _ in range(_NEWTON):
        left, slope = np.zeros(len(L)), np.zeros((len(L), len(L)))
        for i, at in zip(closed, rows, strict=True):
            part = np.zeros((d, len(L)))
            part[:, at] = np.eye(d)
            sides = guess.laws[i] == "sliding"
            left[at], slope[at] = _asked(contacts[i], sides, L[at], part, before[at] + D[at] @ L, D[at], most)
        if float(np.max(np.abs(left))) <= _SETTLED * fastest:
            break
        L = L - np.linalg.lstsq(slope, left, rcond=1e-10)[0]
    jump = np.asarray(spread @ L, dtype=np.float64)
    return jump, {i: np.array(L[at]) for i, at in zip(closed, rows, strict=True)}


def _asked(
    c: Candidate, slides: bool, push: FloatArray, dpush: FloatArray, v: FloatArray, dv: FloatArray, most: float
) -> tuple[FloatArray, FloatArray]:
    """Return what a law asks to be zero (d,), m/s, and its derivative (d, m); `dpush`, `dv` (d, m) those of push, v."""
    if not slides:
        return v, dv
    across = np.eye(len(c.n)) - np.outer(c.n, c.n)
    load, slip, friction = float(c.n @ push), across @ v, across @ push
    speed = float(np.linalg.norm(slip))
    e = slip / max(speed, 1e-300) if c.way is None else c.way
    turns = across - np.outer(e, e) if c.way is None else np.zeros_like(across)
    # (L_t + mu L_n e) |v_t| / most; of a known direction without its speed
    size = (speed if c.way is None else 1.0) / max(most, 1e-300)
    off = friction + c.mu * load * e
    doff = across @ dpush + c.mu * np.outer(e, c.n @ dpush)
    rate = doff * size + c.mu * load * (turns @ dv) / max(most, 1e-300)
    if c.way is None:
        rate = rate + np.outer(off, e @ dv) / max(most, 1e-300)
    return c.n * float(c.n @ v) + off * size, np.outer(c.n, c.n @ dv) + rate


def _ways_after(contacts: dict[int, Candidate], guess: Guess, jump: FloatArray) -> dict[int, FloatArray] | None:
    """Return the directions of the slips after a jump (nv,), or None where one of them is none."""
    ways = {}
    for i in guess.ways:
        c = contacts[i]
        after = c.velocity + c.J @ jump
        slip = after - c.n * float(c.n @ after)
        size = float(np.linalg.norm(slip))
        if c.way is None and not size > 0.0:
            return None
        ways[i] = slip / size if c.way is None else c.way
    return ways
