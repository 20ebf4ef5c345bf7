"""What a state says of one contact: points, normals, Jacobians, impacts, jumps of the velocities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from trundle.checks import FloatArray
from trundle.contact.laws import SLIDING
from trundle.contact.restitution import PLASTIC
from trundle.models.scales import rest_speed, slip_unit
from trundle.models.tree.approach import with_charts
from trundle.models.tree.system import Atlas, ContactSystem
from trundle.models.tree.touching import Strike, free_directions, strike_function, touch_function
from trundle.simulate.events.impact import Candidate, Impact, islands_of, resolve_impact

_SLIPS = 1e-8
"""Slip (m/s) that has a direction: slips end at 1e-9 m/s."""
_STRIKES = 1e-9
"""Speed (m/s) from which a closed contact approaches: less is round-off."""


def spins_not(system: ContactSystem, contact: int) -> bool:
    """Return whether a contact that touches and does not slip holds the spin about its normal, too."""
    return system.d == 3 and system.touching_law(contact).holds_spin


def slip_and_spin(
    system: ContactSystem, atlas: Atlas, x: FloatArray, contact: int
) -> tuple[FloatArray, FloatArray, float]:
    """Return (n, slip, spin rate) of a contact, world axes: normal out of B, slip (d,) m/s, spin rad/s."""
    _, velocity, n, _, spin, *_ = (np.asarray(v) for v in touch_function(system, atlas, contact)(x))
    v, n = velocity.ravel(), n.ravel()
    return n, v - n * float(n @ v), float(spin[0, 0])


def impact_at(
    system: ContactSystem,
    atlas: Atlas,
    x: FloatArray,
    new: int,
    closed: Sequence[int],
    sticky: bool = False,
    held: bool = False,
    plastic: bool = False,
    strikes: Mapping[int, Strike] = MappingProxyType({}),
) -> Impact:
    """Return the impact, plastic or with a bounce, at the contact `new` of the state `x`, with the contacts `closed`.

    Islands are decided one by one: the contacts of one that nothing strikes are not in the outcome, and go on.

    ``sticky``: friction has no limit. ``held``: all contacts stay closed. ``plastic``: none bounces. ``strikes``: where
    contacts are that their coordinates do not tell.
    """
    model = system.model(atlas)
    candidates: dict[int, Candidate] = {}
    M, Z = np.eye(model.nv), free_directions(system, atlas, x)
    for i in sorted({new, *closed} - system.rubbing):
        if i in strikes:
            touch = strike_function(system, atlas, i)(x, strikes[i])
        else:
            touch = touch_function(system, atlas, i)(x)
        J, v, n, spin, rate, mass, *_ = (np.asarray(value) for value in touch)
        M = mass
        if Z is not None:  # pins hold: what is left free moves like a body of its own
            M, J, spin = Z.T @ mass @ Z, J @ Z, spin @ Z
        mu = np.inf if sticky else model.constraints[i].friction.mu
        held_spin = spin.ravel() if spins_not(system, i) else None
        restitution = PLASTIC if plastic else system.contact_pairs[i].restitution
        candidates[i] = Candidate(
            J, v.ravel(), n.ravel(), mu, held_spin, float(rate[0, 0]), restitution, rest_speed(system, i)
        )
    # Dry friction of joints is a force: in no time it does nothing.
    struck, untouched = [], set(closed) & system.rubbing
    for island in islands_of(M, candidates):
        if new in island or any(c.opening < -_STRIKES for c in island.values()):
            struck.append(resolve_impact(M, island, held))
        else:
            untouched |= set(island)
    jump = np.sum([impact.jump for impact in struck], axis=0)
    return Impact(
        jump if Z is None else Z @ jump,
        {i: law for impact in struck for i, law in impact.laws.items()},
        {i: push for impact in struck for i, push in impact.impulses.items()},
        decided=all(impact.decided for impact in struck),
        rests=any(impact.rests for impact in struck),
        untouched=frozenset(untouched),
    )


def cone_margin(impulses: Mapping[int, FloatArray], system: ContactSystem, atlas: Atlas, x: FloatArray) -> float:
    """Return the smallest mu L_n - |L_t| (N s) of the impulses of an impact."""
    model = system.model(atlas)
    margins = [np.inf]
    for i, push in impulses.items():
        n = slip_and_spin(system, atlas, x, i)[0]
        normal = float(n @ push)
        margins.append(model.constraints[i].friction.mu * normal - float(np.linalg.norm(push - normal * n)))
    return min(margins)


def slip_directions(impact: Impact, system: ContactSystem, atlas: Atlas, x: FloatArray) -> FloatArray:
    """Return the unit vectors (contacts, d) along the slips of the contacts that slide on from a state `x`.

    Where a slip is none yet, against the tangential impulse.
    """
    onsets = np.zeros((len(system.contact_pairs), system.d))
    for i, law in impact.laws.items():
        if law == SLIDING.name:
            push, (normal, slip, _) = impact.impulses[i], slip_and_spin(system, atlas, x, i)
            if (speed := float(np.linalg.norm(slip))) > _SLIPS * slip_unit(system, i):
                onsets[i] = slip / speed
                continue
            tangential = push - normal * float(normal @ push)
            onsets[i] = -tangential / max(float(np.linalg.norm(tangential)), 1e-300)
    return onsets


def follow_contact(
    system: ContactSystem,
    atlas: Atlas,
    x: FloatArray,
    contact: int,
    coordinates: FloatArray | None,
    charts: tuple[int, int] | None,
) -> tuple[Atlas, FloatArray]:
    """Return the charts and the state from which on a contact is followed where it touched; None: it is already."""
    x = np.array(x)
    if coordinates is not None and charts is not None:
        atlas = with_charts(atlas, contact, charts)
        x[system.model(atlas).layout[f"{system.contact_pairs[contact].contact}.coordinates"]] = coordinates
    return atlas, x
