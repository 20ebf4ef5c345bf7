"""ModelKey: what a state is a state of, by which a start of another robot is told from one's own."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_NUMBER = re.compile(r"\d+\.\d+(?:e[-+]?\d+)?|\d+e[-+]?\d+")
_DIGITS = 9
"""Digits of a size that count: the same robot may be built from numbers that differ by round-off."""


@dataclass(frozen=True)
class ModelKey:
    """The order and the geometry that give the numbers of a state their meaning.

    Masses, friction, rules, motions and forces are no part of it: a state means the same whatever they are. It is made
    of names and digests, so that a start that carries it can be copied and sent to another process.

    Attributes
    ----------
    states : tuple of str
        What the state consists of, in its order.
    bodies : tuple of (name, digest)
        Of each body: on what it moves, how, and where.
    contacts : tuple of (name, digest)
        Of each contact: its bodies, its shapes, and where they are.
    """

    states: tuple[str, ...]
    bodies: tuple[tuple[str, int], ...]
    contacts: tuple[tuple[str, int], ...]

    def difference(self, other: ModelKey) -> str | None:
        """Return in words the first thing that the other model has not as this one has it, or None."""
        for kind, mine, others in (("body", self.bodies, other.bodies), ("contact", self.contacts, other.contacts)):
            names, known = [name for name, _ in mine], [name for name, _ in others]
            if sorted(names) != sorted(known):
                lost = [name for name in names if name not in known] + [name for name in known if name not in names]
                return f"{kind} {lost[0]} is in one of the two alone"
            if names != known:
                return f"the order is another: {', '.join(names)}"
            for (name, digest), (_, otherwise) in zip(mine, others, strict=True):
                if digest != otherwise:
                    return f"{kind} {name} has other shapes, sizes or places"
        return None if self.states == other.states else f"the state is another: {', '.join(self.states)}"


def digest(parts: Sequence[object]) -> int:
    """Return a number for what objects are, by their `repr`: the same in every process, round-off left out."""
    text = _ADDRESS.sub("", repr(parts))
    return zlib.crc32(_NUMBER.sub(lambda found: f"{float(found[0]):.{_DIGITS}g}", text).encode())
