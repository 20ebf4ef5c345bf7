"""Flat patches: corners that reach the ground at one instant land together, and so do the points of a round face."""

from __future__ import annotations

import numpy as np

from trundle.checks import FloatArray
from trundle.contact.laws import SEPARATED
from trundle.models.tree.system import ContactSystem
from trundle.models.tree.touching import face_below, gap_of, lies_flat, may_touch, touch_function
from trundle.simulate.mode import Mode

_AT_ONCE, _APPROACHES = 1e-9, 1e-9
"""Gap (m) and speed (m/s) at which a corner lands together with another one."""


def landing_with(system: ContactSystem, mode: Mode, x: FloatArray, contact: int) -> list[int]:
    """Return the other corners of patches that reach the ground together with the `contact`, itself a corner."""
    if contact in system.rims and lies_flat(system, x, contact):
        face = face_below(system, x, system.rims[contact])
        return [i for i in face if i != contact and mode.laws[i] == SEPARATED.name]
    if not any(contact in corners for corners in system.patches):
        return []
    others = [i for corners in system.patches for i in corners if i != contact and mode.laws[i] == SEPARATED.name]
    found = [contact]
    for i in others:
        beside = any(k in system.beside.get(i, ()) for k in found)
        if i not in system.rims and not beside and may_touch(system, x, i) and _lands(system, mode, x, i):
            found.append(i)
    return found[1:]


def _lands(system: ContactSystem, mode: Mode, x: FloatArray, contact: int) -> bool:
    _, v, n, *_ = (np.asarray(value) for value in touch_function(system, mode.atlas, contact)(x))
    if float(n.ravel() @ v.ravel()) > -_APPROACHES:
        return False
    return gap_of(system, x, contact) < _AT_ONCE
