"""Bodies of the surroundings that do not move and that a robot should not touch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trundle.checks import ArrayField, Converted, FloatArray, array, choice, rotation, vector
from trundle.parameters import check_parameters

KINDS = {"box": 3, "capsule": 2, "sphere": 1, "half-space": 0}
"""How many numbers the size of each kind has, see `Obstacle`."""


@dataclass(frozen=True)
class Obstacle:
    """A body of the surroundings that some capsules of a robot must keep away from (final).

    Parameters
    ----------
    name : str
    size : (3,), (2,), (1,) or () m
        Whole sides of a box; radius and length of a capsule, between the centres of its ends, along its z axis; radius
        of a sphere; nothing for a half-space, which is all of z <= 0 in its axes.
    position : (3,) m, world
        Of its centre; of a half-space any point of its plane.
    against : tuple of str
        Capsules.
    R_world_obstacle : (3, 3)
    kind : "box", "capsule", "sphere" or "half-space"

    Raises
    ------
    InputError
        For an unknown kind, a size that is not positive, or a pose that is none.
    """

    name: str
    size: ArrayField = ArrayField()
    position: ArrayField = vector("m")
    against: tuple[str, ...] = ()
    R_world_obstacle: ArrayField = Converted(((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), keep=rotation)
    kind: str = "box"

    def __post_init__(self) -> None:
        choice("kind", self.kind, tuple(KINDS))
        object.__setattr__(self, "size", array("size", self.size, (KINDS[self.kind],), above=0.0, unit="m"))
        check_parameters(self)
        object.__setattr__(self, "against", tuple(self.against))

    @property
    def bound(self) -> float:
        """Radius (m) of a ball about the position that holds it; infinite for a half-space."""
        if self.kind == "box":
            return float(np.linalg.norm(self.size)) / 2
        if self.kind == "capsule":
            return float(self.size[0] + self.size[1] / 2)
        return float(self.size[0]) if self.kind == "sphere" else float("inf")

    @property
    def table(self) -> dict[str, str | list[float] | list[list[float]]]:
        """What a record keeps."""
        place = {"size": self.size.tolist(), "position": self.position.tolist()}
        return {"name": self.name, "kind": self.kind, **place, "axes": self.R_world_obstacle.tolist()}

    @property
    def normal(self) -> FloatArray:
        """Its z axis (3,), world: of a half-space out of it."""
        return self.R_world_obstacle[:, 2]
