"""Impacts at several contacts by projection onto their cones: a start for the sets that agree, where none is found."""

from __future__ import annotations

import numpy as np

from trundle.checks import FloatArray
from trundle.simulate.events.impact_sets import Candidate

_SWEEPS = 20000
_SETTLED = 1e-14
_NOTHING = 1e-9


def cone_laws(M: FloatArray, contacts: dict[int, Candidate]) -> tuple[dict[int, str], dict[int, FloatArray]] | None:
    """Return what each contact does in an impact, "rolling", "sliding" or "apart", and the directions of the slips.

    With D = J M^-1 J' and the velocities v = v_0 + D L after the impulses L, Coulomb's law for a plastic impact reads

        L in K,  v + mu |v_t| n in the dual cone of K,  L'(v + mu |v_t| n) = 0

    (De Saxce & Feng 1998), which L_i <- proj_K(L_i - r_i (v_i + mu |v_t| n)) solves contact by contact. None where
    that does not settle.

    Parameters
    ----------
    M : (nv, nv)
    contacts : dict of contact number -> Candidate
        With finite friction.
    """
    numbers = list(contacts)
    cs = [contacts[i] for i in numbers]
    if any(np.isinf(c.mu) for c in cs):
        return None
    d = len(cs[0].n)
    J = np.vstack([c.J for c in cs])
    D = J @ np.linalg.solve(M, J.T)
    before = np.concatenate([c.velocity for c in cs])
    rows = [slice(d * k, d * (k + 1)) for k in range(len(cs))]
    steps = [1.0 / float(np.linalg.eigvalsh(D[at, at])[-1]) for at in rows]
    L = np.zeros(len(before))
    for _ in range(_SWEEPS):
        largest = 0.0
        for c, at, step in zip(cs, rows, steps, strict=True):
            v = before[at] + D[at] @ L
            slip = v - c.n * float(c.n @ v)
            new = _onto_cone(c, L[at] - step * (v + c.mu * float(np.linalg.norm(slip)) * c.n))
            largest = max(largest, float(np.max(np.abs(new - L[at]))))
            L[at] = new
        if largest <= _SETTLED * max(float(np.max(np.abs(L))), 1e-300):
            return _read(cs, numbers, rows, L, before + D @ L)
    return None


def _onto_cone(c: Candidate, push: FloatArray) -> FloatArray:
    """Return the point of the friction cone next to `push` (d,)."""
    normal = float(c.n @ push)
    tangential = push - normal * c.n
    size = float(np.linalg.norm(tangential))
    if size <= c.mu * normal:
        return push
    if c.mu * size <= -normal:
        return np.zeros_like(push)
    edge = (c.mu * size + normal) / (1.0 + c.mu**2)
    return edge * (c.n + c.mu * tangential / size)


def _read(
    cs: list[Candidate], numbers: list[int], rows: list[slice], L: FloatArray, after: FloatArray
) -> tuple[dict[int, str], dict[int, FloatArray]]:
    """Return laws and directions from the impulses and the velocities after them."""
    laws: dict[int, str] = {}
    directions: dict[int, FloatArray] = {}
    push = float(np.max(np.abs(L)))
    scale = max(float(np.linalg.norm(c.velocity)) for c in cs)
    for c, i, at in zip(cs, numbers, rows, strict=True):
        slip = after[at] - c.n * float(c.n @ after[at])
        size = float(np.linalg.norm(slip))
        if float(c.n @ L[at]) <= _NOTHING * push:
            laws[i] = "apart"
        elif size > _NOTHING * scale:
            laws[i], directions[i] = "sliding", slip / size
        else:
            laws[i] = "rolling"
    return laws, directions
