"""Impulses of a jump of the velocities that was not made by impulses: a projection onto the constraints."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np

from trundle.contact.laws import LAWS
from trundle.models.tree.system import ContactSystem
from trundle.models.tree.touching import free_directions, inertia_at, touch_function
from trundle.simulate.events.transitions import HybridState

_RANK = 1e-6
"""Of the largest singular value: what pushes hardly turn or move, as those at points in line, explains nothing."""
_NOTHING = 1e-15  # m/s, rad/s: smaller jumps are round-off of a projection


def with_impulses(system: ContactSystem, before: HybridState, after: HybridState) -> HybridState:
    """Return `after` with the impulses L of its contacts that explain its velocities: the least with M dnu = J'L.

    Contacts that share an impulse, as those of a rigid foot, share it evenly. A change of charts pushes nothing: there
    the velocities stay, but rolling coordinates give them in other axes.
    """
    atlas, laws = after.mode.atlas, after.mode.laws
    model = system.model(atlas)
    closed = [i for i, law in enumerate(laws) if LAWS[law].touching and not LAWS[law].distant]
    same = before.x.shape != after.x.shape or np.array_equal(before.x, after.x)
    if not closed or same or after.impulses or before.mode.atlas != atlas:
        return after
    velocities = system.keep(("velocities", atlas), lambda: ca.Function("velocities", [model.x], [model.nu]))
    jump = np.asarray(velocities(after.x)).ravel() - np.asarray(velocities(before.x)).ravel()
    if not np.abs(jump).max(initial=0.0) > _NOTHING:
        return after
    touched = [touch_function(system, atlas, i)(after.x) for i in closed]
    spins = [values[3] for i, values in zip(closed, touched, strict=True) if LAWS[laws[i]].holds_spin]
    J = np.vstack([np.asarray(values[0]) for values in touched] + [np.asarray(row) for row in spins])
    push, Z = inertia_at(system, atlas, after.x) @ jump, free_directions(system, atlas, after.x)
    if Z is not None:  # pins push as well: only what they leave free is known
        push, J = Z.T @ push, J @ Z
    size = len(closed) * system.d
    found = np.linalg.lstsq(J.T, push, rcond=_RANK)[0][:size].reshape(len(closed), -1)
    return replace(after, impulses=dict(zip(closed, found, strict=True)))
