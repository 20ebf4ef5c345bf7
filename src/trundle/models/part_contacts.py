"""Shapes of a tree: how they sit on their bodies, and what they touch: terrain, in one place or more, or each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, choice, non_negative, number
from trundle.contact.choice import contact_form, in_place, pieces_of
from trundle.contact.proximity import one_contact_only
from trundle.contact.restitution import Restitution
from trundle.errors import InputError
from trundle.geometry.queries.cloud import bounding_ball
from trundle.geometry.shape import Shape
from trundle.models.rigid_body import RigidBody
from trundle.models.tree.joints import BodySpec, FixedJoint
from trundle.models.tree.system import ContactPair
from trundle.models.tree.tree import Link, Tree
from trundle.numerics.rotations import rotation_plane, rotation_rpy

SECOND = "-second"
"""What the name of a part's second contact ends in."""


@dataclass(frozen=True)
class ContactPart:
    """A shape fixed to a body: the contact's name, the body's, where its origin is in the tree's frame of the body.

    Friction, law and restitution are the robot's own where None. ``ahead``: see `ContactPair`. ``patch``: the
    foot of which it is a corner. ``whole``: touches in one point, not with its pieces. ``other``: the body, and the
    shape in its frame, that it touches in place of the terrain. ``swapped``: see `ContactPair`. ``names``: of the two
    shapes, where it is a contact of two.
    """

    name: str
    body: str
    shape: Shape
    center: tuple[float, ...]
    friction: float | None
    law: str | None = None
    ahead: float | None = None
    patch: str | None = None
    restitution: float | None = None
    whole: bool = False
    other: tuple[str, Shape] | None = None
    swapped: bool = False
    names: tuple[str, str] | None = None


def coefficients(
    friction: float | None, restitution: float | None, ahead: float | None
) -> tuple[float | None, float | None, float | None]:
    """Return friction, restitution and `ContactPair.ahead` as a user gave them, checked."""
    mu = None if friction is None else non_negative("friction", friction)
    e = None if restitution is None else number("restitution", restitution, minimum=0.0, maximum=1.0)
    return mu, e, None if ahead is None else number("ahead", ahead, unit="m")


def new_part(
    tree: Tree,
    parts: Sequence[ContactPart],
    label: str,
    link: Link,
    shape: Shape,
    place: tuple[float, ...],
    rpy: Sequence[float] | float | None,
    numbers: tuple[float | None, float | None, float | None],
) -> ContactPart:
    """Return a shape fixed to a body of the tree, which gets a frame for it where it is turned."""
    if any(part.name == label for part in parts):
        raise InputError("name", label, "a name no other shape of the robot has")
    if label.endswith(SECOND):
        raise InputError("name", label, f"a name that does not end in {SECOND!r}: so second contacts are called")
    body, (friction, restitution, ahead) = link.name, numbers
    if (turn := turn_of(tree.d, rpy)) is not None:
        body = f"{label}-shape"
        orientation = tuple(tuple(float(r) for r in row) for row in turn)
        tree.add(BodySpec(FixedJoint(tree.d), body, parent=link.index, at=place, orientation=orientation))
        place = (0.0,) * tree.d
    return ContactPart(label, body, shape, place, friction, ahead=ahead, restitution=restitution)


def between(
    tree: Tree,
    parts: Sequence[ContactPart],
    others: Sequence[ContactPart],
    shape: str,
    other: str,
    numbers: tuple[float | None, float | None, float | None],
    name: str | None,
) -> ContactPart:
    """Return the contact of two shapes of different bodies, by their names; `others` are those made before.

    Which of them is side A follows from the shapes, not from the order of the names. The body of the other one gets a
    frame where its shape is off its origin: a contact knows shapes B at theirs.
    """
    known = {part.name: part for part in parts}
    if not any(moves(tree, known[choice(key, one, known)].body) for key, one in (("shape", shape), ("other", other))):
        raise InputError("other", other, f"a shape that moves, unless {shape!r} does: neither would give way")
    A, B = known[choice("shape", shape, known)], known[choice("other", other, known)]
    index = {spec.name: i for i, spec in enumerate(tree.specs)}

    if not moves(tree, A.body):
        A, B = B, A
    if _carrier(tree, A) == _carrier(tree, B):
        raise InputError("other", other, f"a shape of another body than {shape!r}")
    label = name or f"{shape}-{other}"
    if any(part.name == label for part in chain(parts, others)):
        raise InputError("name", label, "a name no other shape of the robot has")
    placed = in_place(A.shape, B.shape)
    swapped = index[A.body] > index[B.body] if placed is None else not placed
    if swapped:
        A, B = B, A
    body = B.body
    if any(B.center):
        body = f"{B.name}-place"
        if body not in index:
            tree.add(BodySpec(FixedJoint(tree.d), body, parent=index[B.body], at=B.center))
    friction, restitution, _ = numbers
    made = replace(A, name=label, other=(body, B.shape), swapped=swapped, names=(shape, other))
    return replace(made, friction=friction, restitution=restitution, ahead=None)


def on_terrain(parts: Sequence[ContactPart], between: Sequence[ContactPart]) -> tuple[ContactPart, ...]:
    """Return the parts that may touch a terrain: not shapes without end, which are there for others to touch.

    ``between``: the contacts of two shapes.

    Raises
    ------
    InputError
        If nothing is said to touch a shape without end.
    """
    found = []
    for part in parts:
        if bounding_ball(part.shape) is not None:
            found.append(part)
        elif not any(part.name in (one.names or ()) for one in between):
            allowed = (
                f"a shape with an end, or one that robot.contact(..., {part.name!r}) says which shapes are to touch"
            )
            raise InputError("shape", f"{type(part.shape).__name__} of {part.name!r}, above the terrain", allowed)
    return tuple(found)


def _carrier(tree: Tree, part: ContactPart) -> str:
    """Return the name of the body that a part is fixed in."""
    spec = next(spec for spec in tree.specs if spec.name == part.body)
    while spec.welded:
        spec = tree.specs[spec.parent]
    return spec.name


def moves(tree: Tree, body: str) -> bool:
    """Return whether forces move a body: neither the world nor what is told how to move carries it alone."""
    spec = next(spec for spec in tree.specs if spec.name == body)
    while not spec.joint.size and spec.parent >= 0:
        spec = tree.specs[spec.parent]
    return spec.joint.size > 0


def part_contacts(
    parts: Sequence[ContactPart], terrain: Shape | None, base: str, restitution: Restitution
) -> tuple[tuple[int, ContactPair], ...]:
    """Return the contacts, each with the number of its part.

    One for each part, called like it, then further ones of shapes that can touch twice or in pieces.

    Parameters
    ----------
    base : str
        The body that has the terrain's shape; without terrain, only parts that touch another one have contacts.
    restitution : Restitution
        Of parts that have none of their own.

    Raises
    ------
    InputError
        If a shape cannot touch the terrain, or two contacts would have one name.
    """
    first, further = [], []
    for i, part in enumerate(parts):
        if (side := part.other or (None if terrain is None else (base, terrain))) is None:
            continue
        body_B, shape_B = side
        form = contact_form(part.shape, shape_B)
        if part.ahead is not None and form != "support":
            raise InputError("ahead", part.ahead, "left out unless a convex shape touches a flat at height zero")
        pieces = (None,) if part.whole or part.ahead is not None else pieces_of(part.shape, form, shape_B)
        names = {f"{part.name}-{k}" if k > 1 else part.name: piece for k, piece in enumerate(pieces, 1)}
        names |= {} if pieces[0] is not None or one_contact_only(part.shape, shape_B) else {part.name + SECOND: None}
        bounce = restitution if part.restitution is None else replace(restitution, restitution=part.restitution)
        bodies, shapes = (part.body, body_B), (part.shape, shape_B)
        made = [
            (
                i,
                ContactPair(
                    name, *bodies, *shapes, part.center, form, None, part.ahead, bounce, piece, None, part.swapped
                ),
            )
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
