"""Contact mode selection: which of several contacts roll, slide or come apart, from forces and accelerations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product

import casadi as ca
import numpy as np

from tests.simulate.enumerated_impacts import closed_sets, grouped
from tests.simulate.internal_forces import cone_sides, internal_forces, largest_margin
from trundle.checks import FloatArray
from trundle.contact.laws import LAWS
from trundle.models.tree.system import Atlas, ContactSystem
from trundle.simulate.events.states import slip_and_spin

_MOST = 6
"""Contacts, or patches, beyond which the combinations are too many."""
_SETS = 2000
_SLIPS = 1e-8
"""Slip (m/s) above which its direction is that of the velocity."""
_AGREES = 1e-9
_RANK = {"rolling": 0, "sliding": 1}


@dataclass(frozen=True)
class ModeChoice:
    """What one contact may do.

    Attributes
    ----------
    law : str
        "rolling", "sliding" or "separated".
    rows, bias : (k, nv), (k,)
        Its constraint, rows nudot + bias = 0.
    pushes : (k, nv)
        Generalised forces of its multipliers.
    sides : (c, k)
        Rows that are not negative on multipliers inside its cone.
    kept, kept_bias : (nv,), number
        An acceleration that has to be positive (a slip that begins) or not negative (a gap that opens).
    onset : (d,)
        Direction of a slip that begins; zero otherwise.
    """

    law: str
    rows: FloatArray
    bias: FloatArray
    pushes: FloatArray
    sides: FloatArray
    kept: FloatArray | None = None
    kept_bias: float = 0.0
    onset: FloatArray | None = None


@dataclass(frozen=True)
class ModeSelection:
    """The laws by contact number, and the directions of slips that begin."""

    laws: dict[int, str]
    onsets: dict[int, FloatArray]


def select_modes(
    system: ContactSystem, atlas: Atlas, x: FloatArray, u: FloatArray, contacts: Sequence[int], sticky: bool
) -> ModeSelection | None:
    """Return a set of laws whose forces and accelerations agree with it, or None.

    Of the `contacts`, which have closed gaps that neither open nor close, each either rolls (force inside the cone),
    slides (force on its edge, the slip or its beginning against it) or comes apart (no force, gap not closing):

        M nudot + h = S u + sum G_i'lam_i,   rows_i nudot + bias_i = 0.

    Of all sets that agree the one with most contacts closed and rolling is taken. In the plane; in space where there
    are flat patches, whose corners are closed as `closed_sets` says, and no slip begins there.

    Parameters
    ----------
    x, u : (n_x,), (n_u,)
    contacts : sequence of int
    sticky : bool
        Friction has no limit.
    """
    groups = grouped(contacts, system.patches)
    if (system.d != 2 and not system.patches) or not 0 < len(groups) <= _MOST:
        return None
    slips = {i: slip_and_spin(system, atlas, x, i)[1] for i in contacts}
    laws = ["separated"] * len(system.contact_pairs)
    for i in contacts:
        laws[i] = "sliding" if float(np.linalg.norm(slips[i])) > _SLIPS and not sticky else "rolling"
    M, force, *parts = (np.asarray(v, dtype=np.float64) for v in _terms(system, atlas, tuple(laws))(x, u))
    free = np.asarray(np.linalg.solve(M, force.ravel()), dtype=np.float64)
    model = system.model(atlas)
    choices: dict[int, list[ModeChoice]] = {}
    for place, i in enumerate(contacts):
        J, b, G, n = parts[4 * place : 4 * place + 4]
        mu = np.inf if sticky else float(model.constraints[i].friction.mu)
        of_one = _slipping(J, b.ravel(), G) if laws[i] == "sliding" else _still(J, b.ravel(), n.ravel(), mu)
        choices[i] = list(of_one)
    together = [_of_group(group, choices) for group in groups]
    numbers = [i for group in groups for i in group]
    if math.prod(len(some) for some in together) > _SETS:
        return None
    for chosen in sorted((tuple(chain(*some)) for some in product(*together)), key=_closed):
        if _agrees(M, free, chosen):
            numbered = list(zip(numbers, chosen, strict=True))
            onsets = {i: one.onset for i, one in numbered if one.onset is not None}
            return ModeSelection({i: one.law for i, one in numbered}, onsets)
    return None


def _of_group(group: Sequence[int], choices: Mapping[int, Sequence[ModeChoice]]) -> list[tuple[ModeChoice, ...]]:
    """Return what the contacts of a group, see `grouped`, may do together."""
    if len(group) == 1:
        return [(choice,) for choice in choices[group[0]]]
    return [
        tuple(choices[i][0] if i in closed else choices[i][-1] for i in group) for closed in closed_sets(tuple(group))
    ]


def _terms(system: ContactSystem, atlas: Atlas, laws: tuple[str, ...]) -> ca.Function:
    """(x, u) -> (M, S u - h, and of each contact that touches J, b, G, n), world axes."""

    def build() -> ca.Function:
        """Build the function of these laws."""
        model = system.model(atlas)
        terms = model.terms([LAWS[law] for law in laws])
        outputs = [terms.M, terms.S @ model.u - terms.h]
        W = model.to_world
        G = terms.J if terms.G is None else terms.G
        for k, rows in zip(terms.kin, terms.split, strict=True):
            size = rows.stop - rows.start
            if size:
                turn = W if size == model.d else ca.SX.eye(size)
                outputs += [turn @ terms.J[rows, :], turn @ terms.b[rows], turn @ G[rows, :], W @ k.n]
        return ca.Function("deciding", [model.x, model.u], outputs)

    return system.keep(("deciding", atlas, laws), build)


def _still(J: FloatArray, b: FloatArray, n: FloatArray, mu: float) -> Iterator[ModeChoice]:
    """Yield what a contact without slip may do: J (d, nv), b (d,), n (d,); in space no slip begins."""
    yield ModeChoice("rolling", J, b, J, cone_sides(n, mu))
    normal, bias = n @ J, float(n @ b)
    if np.isfinite(mu) and len(n) == 2:
        for e in (np.array([n[1], -n[0]]), np.array([-n[1], n[0]])):
            push = ((n - mu * e) @ J)[None]
            yield ModeChoice("sliding", normal[None], np.array([bias]), push, np.eye(1), e @ J, float(e @ b), e)
    yield _apart(normal, bias)


def _slipping(J: FloatArray, b: FloatArray, G: FloatArray) -> Iterator[ModeChoice]:
    """Yield what a contact that slips may do: J (1, nv), b (1,), G (1, nv)."""
    yield ModeChoice("sliding", J, b, G, np.eye(1))
    yield _apart(J[0], float(b[0]))


def _apart(normal: FloatArray, bias: float) -> ModeChoice:
    none = np.zeros((0, len(normal)))
    return ModeChoice("separated", none, np.zeros(0), none, np.zeros((0, 0)), normal, bias)


def _closed(chosen: Sequence[ModeChoice]) -> int:
    """Return how far from all contacts closed and rolling a set is."""
    return sum(_RANK.get(one.law, len(chosen) + 1) for one in chosen)


def _agrees(M: FloatArray, free: FloatArray, chosen: Sequence[ModeChoice]) -> bool:
    """Whether forces and accelerations are those of the laws; `free` (nv,) is nudot without contacts."""
    if not np.all(np.isfinite(free)):
        return False
    nudot = free
    rows, bias = np.vstack([c.rows for c in chosen]), np.concatenate([c.bias for c in chosen])
    asked = rows @ free + bias
    scale = max(float(np.abs(asked).max(initial=0.0)), float(np.abs(free).max(initial=0.0)), 1e-12)
    if rows.size:
        G = np.vstack([c.pushes for c in chosen])
        spread = np.linalg.solve(M, G.T)
        lam = np.asarray(np.linalg.lstsq(rows @ spread, -asked, rcond=1e-10)[0], dtype=np.float64)
        sides = np.zeros((sum(len(c.sides) for c in chosen), len(lam)))
        at = [0, 0]
        for c in chosen:
            sides[at[0] : at[0] + len(c.sides), at[1] : at[1] + len(c.bias)] = c.sides
            at = [at[0] + len(c.sides), at[1] + len(c.bias)]
        other = internal_forces(G)
        lam = lam + other @ largest_margin(sides @ lam, sides @ other)
        nudot = free + spread @ lam
        if np.any(sides @ lam < -_AGREES * np.abs(lam).max(initial=0.0)):
            return False
        if np.any(np.abs(rows @ nudot + bias) > 1e3 * _AGREES * scale):
            return False
    for c in chosen:
        if c.kept is None:
            continue
        value = float(c.kept @ nudot) + c.kept_bias
        if value < (_AGREES if c.law == "sliding" else -_AGREES) * scale:
            return False
    return True
