"""Capsules round the limbs of a robot and the pairs of them that must keep apart, as its file names them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trundle.checks import ArrayField, Converted, FloatArray, instance, non_negative, positive, size, vector
from trundle.errors import InputError
from trundle.models.robots.ends import from_table
from trundle.parameters import check_parameters


@dataclass(frozen=True)
class LimbCapsule:
    """All points within `radius` (m) of a segment that is fixed to a link (final).

    Parameters
    ----------
    link : str
    start, end : (3,) m
        Ends of the segment in the axes of the link; the same point gives a ball.
    radius : float, m
    """

    link: str
    start: ArrayField = vector("m")
    end: ArrayField = vector("m")
    radius: Converted[float, float] = size("m")

    def __post_init__(self) -> None:
        instance("link", self.link, str, "the name of a link")
        check_parameters(self)

    @property
    def middle(self) -> FloatArray:
        """(3,) m."""
        return (self.start + self.end) / 2

    @property
    def length(self) -> float:
        """Of the segment, m."""
        return float(np.linalg.norm(self.end - self.start))

    @property
    def turned(self) -> FloatArray:
        """R_link_capsule (3, 3), whose third column runs along the segment."""
        if self.length < 1e-9:
            return np.eye(3)
        z = (self.end - self.start) / self.length
        x = np.eye(3)[np.argmin(np.abs(z))]
        x = x - (x @ z) * z
        x /= float(np.linalg.norm(x))
        return np.asarray(np.column_stack((x, np.cross(z, x), z)), dtype=np.float64)


@dataclass(frozen=True)
class Clearance:
    """Which capsules keep apart, and how far (final).

    Parameters
    ----------
    capsules : mapping of str to LimbCapsule
    pairs : sequence of two names
    margin : float, m
        Distance that is kept.
    reach : float, m
        Farther apart than this a pair is left alone.
    """

    capsules: Mapping[str, LimbCapsule]
    pairs: Converted[Iterable[Sequence[str]], tuple[tuple[str, str], ...]] = Converted(())
    margin: float = 0.01
    reach: float = 0.15

    def __post_init__(self) -> None:
        non_negative("margin", self.margin, "m")
        positive("reach", self.reach, "m")
        if not self.reach > self.margin:
            raise InputError("reach", self.reach, f"more than the margin, {self.margin:g} m")
        known, pairs = "two of " + ", ".join(self.capsules), []
        for i, pair in enumerate(self.pairs):
            good = isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2
            if not good or pair[0] == pair[1] or any(name not in self.capsules for name in pair):
                raise InputError(f"pairs[{i}]", pair, known)
            pairs.append((pair[0], pair[1]))
        object.__setattr__(self, "pairs", tuple(pairs))


def read_clearance(given: Mapping[str, object]) -> Clearance:
    """Return what the table `given` of a robot's file says: margin, reach, pairs and a table of capsules.

    Raises
    ------
    InputError
        For unknown keys, incomplete capsules and pairs of unknown names.
    """
    fields = Clearance.__dataclass_fields__
    for key in given:
        if key not in fields:
            raise InputError(key, given[key], "one of the keys " + ", ".join(fields))
    table = instance("capsules", given.get("capsules", {}), Mapping, "a table")
    capsules = {name: from_table(LimbCapsule, f"capsules.{name}", one) for name, one in table.items()}
    return Clearance(**{**given, "capsules": capsules})
