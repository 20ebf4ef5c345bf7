"""Names of what a hand can do: the components of its twist's derivative, for plans and for controllers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trundle.checks import integer
from trundle.errors import InputError

COMPONENTS = {2: ("w", "vx", "vz"), 3: ("wx", "wy", "wz", "vx", "vy", "vz")}
"""Names of the entries of a hand's twist derivative, hand axes: plane and space."""

_WORDS = {
    2: {"rotations": (0,), "translations": (1, 2), "planar": (0, 1, 2), "all": (0, 1, 2)},
    3: {"rotations": (0, 1, 2), "translations": (3, 4, 5), "planar": (1, 3, 5), "all": (0, 1, 2, 3, 4, 5)},
}


def hand_freedoms(d: int, freedoms: str | Sequence[str | int] = "all", key: str = "freedoms") -> tuple[int, ...]:
    """Return the numbers of the components of a hand's twist derivative that may be used, ascending.

    Parameters
    ----------
    d : 2 or 3
    freedoms : "all", "rotations", "translations", "planar", or a sequence of names or numbers
        ``"planar"`` in space: about y, along x and z. Names in hand axes (`COMPONENTS`): ``wx wy wz vx vy vz`` in
        space, ``w vx vz`` in the plane.
    key : str
        What an error calls it.

    Raises
    ------
    InputError
        If a name is not known, comes twice, or there is none.
    """
    names, words = COMPONENTS[integer("d", d, minimum=2, maximum=3)], _WORDS[d]
    if isinstance(freedoms, str) and freedoms in words:
        return words[freedoms]
    allowed = f"{', '.join(map(repr, words))}, or some of {', '.join(map(repr, names))}, each once"
    if isinstance(freedoms, str) or not isinstance(freedoms, Sequence):
        raise InputError(key, freedoms, allowed)
    numbers = []
    for entry in freedoms:
        if isinstance(entry, str) and entry in names:
            numbers.append(names.index(entry))
        elif isinstance(entry, int | np.integer) and not isinstance(entry, bool) and 0 <= entry < len(names):
            numbers.append(int(entry))
        else:
            raise InputError(key, entry, allowed)
    if not numbers or len(set(numbers)) != len(numbers):
        raise InputError(key, freedoms, allowed)
    return tuple(sorted(numbers))
