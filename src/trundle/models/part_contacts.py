"""Shapes of a tree: how they sit on their bodies, and their contacts with the terrain, one, two, or one a piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, number
from trundle.contact.choice import contact_form, pieces_of
from trundle.contact.proximity import one_contact_only
from trundle.contact.restitution import Restitution
from trundle.errors import InputError
from trundle.geometry.shape import Shape
from trundle.models.rigid_body import RigidBody
from trundle.models.tree.system import ContactPair
from trundle.numerics.rotations import rotation_plane, rotation_rpy

if TYPE_CHECKING:
    from trundle.models.rolling_tree import Part

SECOND = "-second"
"""What the name of a part's second contact ends in."""


def part_contacts(
    parts: Sequence[Part], terrain: Shape, base: str, restitution: Restitution
) -> tuple[tuple[int, ContactPair], ...]:
    """Return the contacts, each with the number of its part.

    One for each part, called like it, then further ones of shapes that can touch twice or in pieces.

    Parameters
    ----------
    base : str
        The body that has the terrain's shape.
    restitution : Restitution
        Of parts that have none of their own.

    Raises
    ------
    InputError
        If a shape cannot touch the terrain, or two contacts would have one name.
    """
    first, further = [], []
    for i, part in enumerate(parts):
        form = contact_form(part.shape, terrain)
        if part.ahead is not None and form != "support":
            raise InputError("ahead", part.ahead, "left out unless a convex shape touches a flat at height zero")
        pieces = (None,) if part.whole or part.ahead is not None else pieces_of(part.shape, form, terrain)
        names = {f"{part.name}-{k}" if k > 1 else part.name: piece for k, piece in enumerate(pieces, 1)}
        names |= {} if pieces[0] is not None or one_contact_only(part.shape, terrain) else {part.name + SECOND: None}
        bounce = restitution if part.restitution is None else replace(restitution, restitution=part.restitution)
        bodies, shapes = (part.body, base), (part.shape, terrain)
        made = [
            (i, ContactPair(name, *bodies, *shapes, part.center, form, None, part.ahead, bounce, piece))
            for name, piece in names.items()
        ]
        first.append(made[0])
        further += made[1:]
    found = (*first, *further)
    names = [pair.contact for _, pair in found]
    for i, pair in found:
        if names.count(pair.contact) > 1:
            raise InputError("name", pair.contact, f"another one: so a contact of {parts[i].name!r} is called")
    return found


def turn_of(d: int, rpy: Sequence[float] | float | None) -> FloatArray | None:
    """Return how a shape is turned in its body, (d, d), or None where it is not."""
    if rpy is None:
        return None
    if d == 2:
        angle = number("rpy", rpy, unit="rad")
        return rotation_plane(angle) if angle else None
    angles = array("rpy", rpy, (3,), unit="rad")
    return rotation_rpy(angles) if np.any(angles) else None


def moments_of(
    mass: float,
    inertia: ArrayLike,
    shape: Shape | None,
    com: Sequence[float],
    at: Sequence[float],
    rpy: Sequence[float] | float | None,
) -> ArrayLike:
    """Return the moments of inertia of a body, those of its shape where `inertia` is a word."""
    if not isinstance(inertia, str):
        return inertia
    if shape is None:
        raise InputError("inertia", inertia, "numbers (kg m2) for a body without a shape")
    turn, arm = turn_of(shape.d, rpy), np.subtract(com, at)
    if turn is None:
        return RigidBody(shape, mass, inertia, tuple(arm)).moments
    moments = RigidBody(shape, mass, inertia, tuple(turn.T @ arm)).moments
    return moments if np.ndim(moments) == 0 else turn @ np.asarray(moments) @ turn.T
