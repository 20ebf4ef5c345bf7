"""How large, fast and slow the things of a system are, by its shapes and its gravity: what thresholds are parts of."""

from __future__ import annotations

import numpy as np

from trundle.models.tree.joints import Prismatic
from trundle.models.tree.system import ContactSystem

_REST_FROUDE = 1.5e-5
"""Of sqrt(g L): speed of a hop that is too low to be followed, 1e-10 of the length L high. Rocking and bouncing have no
end in time, and gaps are certain to 1e-11 of the size (`recontact.DEPTH`)."""
_LARGE = 0.1
"""m, of what times and speeds are compared with, on the earth."""
_USUAL = _LARGE / 9.81
"""s2, L / g of what is 0.1 m large on the earth."""
_SLOW = 0.01
"""m, the way at least of what is driven or goes on, while 0.1 m fall on the earth: falls of minutes tell no speed."""
_LOWEST_FOLLOWED_HOP = 2e-8
"""In sizes, of a contact with coordinates: where it is apart its gap is looked for."""
_ROUNDED = 0.2
"""Powers of ten change between the paces of round sizes, not at them."""
_LEAST_UNIT = 1e-2
"""rad/s: slips end at 1e-9 of it, which integration resolves to 1e-12."""


def pace(system: ContactSystem) -> float:
    """Return how long the times of a system are beside those of what is 0.1 m large on the earth.

    What is small falls, rolls and turns in less time. With little gravity motors and first speeds move things.
    """
    return system.keep(("pace",), lambda: _pace(system))


def _pace(system: ContactSystem) -> float:
    gravity = float(np.linalg.norm(system.physics.get("gravity", 0.0)))
    sizes = [pair.shape_A.reference_length for pair in system.shape_pairs.values()]
    if not gravity or not sizes:
        return 1.0
    size = min(sizes)
    return min(float(np.sqrt(size / gravity / _USUAL)), max(1.0, size / _SLOW))


def usual_speed(system: ContactSystem) -> float:
    """Return how fast the things of a system are beside what is 0.1 m large on the earth; 1 without gravity."""
    sizes = [pair.shape_A.reference_length for pair in system.shape_pairs.values()]
    if not np.any(system.physics.get("gravity", 0.0)) or not sizes:
        return 1.0
    return min(sizes) / _LARGE / pace(system)


def slip_unit(system: ContactSystem, contact: int) -> float:
    """Return what 1 m/s is to the slip of a contact: of the friction of a hinge, which slips by rad/s, a rate.

    1/`pace` rad/s, as a power of ten: robots of like sizes share what is compiled.
    """
    if not system.contact_pairs[contact].turns:
        return 1.0
    return max(float(10.0 ** round(_ROUNDED - np.log10(pace(system)))), _LEAST_UNIT)


def rest_speed(system: ContactSystem, contact: int) -> float:
    """Return the speed (m/s; of a stop: of its joint) up to which a hop of a contact is too low to be followed.

    c sqrt(g L) with the length L of the smaller of its shapes: the hop is c^2 L / 2 high. Without gravity nothing
    brings it back. A joint at its stop knows no length of its own: L is that of the largest shape, a hinge turns at
    c sqrt(g / L).
    """
    pair = system.contact_pairs[contact]
    gravity = float(np.linalg.norm(system.physics.get("gravity", 0.0)))
    if pair.stop is not None:
        length = _largest(system)
        slides = any(s.name == pair.body_A and isinstance(s.joint, Prismatic) for s in system.model().specs)
        return _REST_FROUDE * float(np.sqrt(gravity * length if slides else gravity / length))
    length = pair.size
    follows = system.model().constraints[contact].contact.size > 0
    lowest = _LOWEST_FOLLOWED_HOP * length if follows else 0.0
    return max(_REST_FROUDE * float(np.sqrt(gravity * length)), float(np.sqrt(2.0 * gravity * lowest)))


def _largest(system: ContactSystem) -> float:
    """Return the length (m) of the largest shape that may touch another one; 1 where there is none."""
    pairs = system.shape_pairs.values()
    return max((pair.size for pair in pairs), default=1.0)
