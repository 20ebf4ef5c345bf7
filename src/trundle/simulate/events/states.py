"""What a state says of one contact: points, normals, Jacobians, impacts, jumps of the velocities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from trundle.checks import FloatArray
from trundle.contact.laws import SLIDING
from trundle.models.tree.approach import with_charts
from trundle.models.tree.system import Atlas, ContactSystem
from trundle.models.tree.touching import free_directions, touch_function
from trundle.simulate.events.bouncing import bouncing_impact
from trundle.simulate.events.impact import Candidate, Impact, held_impact, plastic_impact


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
) -> Impact:
    """Return the impact, plastic or with a bounce, at the contact `new` of the state `x`, with the contacts `closed`.

    ``sticky``: friction has no limit. ``held``: all contacts stay closed.
    """
    model = system.model(atlas)
    candidates: dict[int, Candidate] = {}
    M, Z = np.eye(model.nv), free_directions(system, atlas, x)
    for i in sorted({new, *closed}):
        J, v, n, spin, rate, mass, *_ = (np.asarray(value) for value in touch_function(system, atlas, i)(x))
        M = mass
        if Z is not None:  # pins hold: what is left free moves like a body of its own
            M, J, spin = Z.T @ mass @ Z, J @ Z, spin @ Z
        mu = np.inf if sticky else model.constraints[i].friction.mu
        held_spin = spin.ravel() if spins_not(system, i) else None
        candidates[i] = Candidate(J, v.ravel(), n.ravel(), mu, held_spin, float(rate[0, 0]))
    restitution = {i: system.contact_pairs[i].restitution for i in candidates}
    bounce = None if held else bouncing_impact(M, candidates, restitution)
    impact = bounce or (held_impact(M, candidates) if held else plastic_impact(M, candidates, new))
    return impact if Z is None else replace(impact, jump=Z @ impact.jump)


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
    """Return the unit vectors (contacts, d) against the tangential impulses of the contacts that slide on."""
    onsets = np.zeros((len(system.contact_pairs), system.d))
    for i, law in impact.laws.items():
        if law == SLIDING.name:
            push, normal = impact.impulses[i], slip_and_spin(system, atlas, x, i)[0]
            tangential = push - normal * float(normal @ push)
            onsets[i] = -tangential / max(float(np.linalg.norm(tangential)), 1e-300)
    return onsets


def followed(
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
