"""Grounds: where terrain is in the world, and the further ones that shapes may touch beside the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trundle.checks import FloatArray
from trundle.geometry.shape import Shape
from trundle.models.part_contacts import ContactPart
from trundle.models.tree.tree import Link, Tree


@dataclass(frozen=True)
class FurtherGround:
    """A shape that is fixed in the world, beside the first terrain.

    Attributes
    ----------
    name : str
    body : str
        The frame whose origin and axes are the shape's.
    shape : Shape
    friction, restitution : float
        Of contacts of shapes that have none of their own.
    """

    name: str
    body: str
    shape: Shape
    friction: float
    restitution: float


def place_ground(tree: Tree, world: Link, name: str, at: Sequence[float], turn: FloatArray | None, first: bool) -> str:
    """Return the name of the body whose frame is that of a ground: the world's own, or a new one at (d,) m."""
    if first and turn is None and not np.any(at):
        return world.name
    label = f"{name}-place" if name == world.name else name
    return tree.fixed(world, at, turn, name=label).name


def on_ground(part: ContactPart, ground: FurtherGround) -> ContactPart:
    """Return the contact of a part with a further ground."""
    return replace(
        part,
        name=f"{part.name}-{ground.name}",
        other=(ground.body, ground.shape),
        friction=ground.friction if part.friction is None else part.friction,
        restitution=ground.restitution if part.restitution is None else part.restitution,
        ahead=None,
        patch=None,
    )
