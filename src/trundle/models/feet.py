"""Feet: shapes fixed to the frames of a robot: convex ones that roll, flat patches and points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from trundle.checks import array, non_negative
from trundle.contact.laws import ROLLING, law_named
from trundle.contact.patch import FlatPatch
from trundle.errors import InputError
from trundle.geometry.shape import Shape
from trundle.geometry.shapes.surfaces import Point
from trundle.models.urdf.tree import FramePlace
from trundle.parameters import NonNegative, Vector3, parameter


@dataclass(frozen=True)
class Foot:
    """A shape fixed to a frame of a robot, which rolls on the ground.

    Parameters
    ----------
    shape : Shape or FlatPatch
        Ellipsoid, superellipsoid, capsule, disc, rounded box, ...; `trundle.geometry.Point`; or a rectangle in the
        plane z = 0 of the foot's axes, along them. That touches with its corners: four points, named after the foot
        with ``-1`` to ``-4``, counter-clockwise from (+x, +y). On a flat the hull of their forces is any force in the
        patch; of the twelve components for six rows the smallest ones are taken.
    frame : str, optional
        The link it is fixed to; the foot's own name unless given.
    position : (3,) m
        Of the shape's origin in the frame.
    rpy : (3,) rad
        Of the shape's axes in the frame, R = Rz(yaw) Ry(pitch) Rx(roll).
    law : str
        ``"rolling"``, ``"pure-rolling"`` or ``"fixed"`` (a patch that neither slides nor turns).
    friction : float, optional
        Coulomb's coefficient with the ground; the patch's, else the ground's, unless given.

    Examples
    --------
    >>> import trundle as tr
    >>> foot = tr.Foot(tr.Sphere(0.05), frame="ankle", position=(0.0, 0.0, -0.03))
    >>> [name for name, _ in foot.contacts("left")]
    ['left']
    """

    shape: Shape | FlatPatch
    frame: str | None = parameter(None, "the link; the foot's own name if left out")
    position: Sequence[float] = parameter((0.0, 0.0, 0.0), "m, origin of the shape in the link's frame")
    rpy: Vector3 = parameter((0.0, 0.0, 0.0), "rad, its axes there: R = Rz(yaw) Ry(pitch) Rx(roll)")
    law: str = parameter("rolling", "pure: without spin")
    friction: NonNegative | None = parameter(None, "coefficient; that of [ground] if left out")

    def __post_init__(self) -> None:
        if not isinstance(self.shape, FlatPatch) and (not isinstance(self.shape, Shape) or self.shape.d != 3):
            raise InputError("shape", self.shape, "a Shape of dimension 3, or a FlatPatch")
        object.__setattr__(self, "position", tuple(array("position", self.position, (3,), unit="m").tolist()))
        object.__setattr__(self, "rpy", tuple(array("rpy", self.rpy, (3,), unit="rad").tolist()))
        law_named(self.law)
        if isinstance(self.shape, FlatPatch) and self.shape.half_sides is None:
            raise InputError("shape", self.shape, "a rectangle along the foot's axes, where it is a FlatPatch")
        if isinstance(self.shape, FlatPatch) and self.law != ROLLING.name:
            raise InputError("law", self.law, "'rolling' for a flat patch: each of its corners is held where it stands")
        if self.friction is not None:
            non_negative("friction", self.friction)
        elif isinstance(self.shape, FlatPatch):
            object.__setattr__(self, "friction", self.shape.friction)

    @property
    def place(self) -> FramePlace:
        """Of the shape in the frame."""
        R = Rotation.from_euler("xyz", self.rpy).as_matrix() if any(self.rpy) else np.eye(3)
        return FramePlace(R, np.array(self.position))

    def contacts(self, name: str) -> Iterator[tuple[str, Foot]]:
        """Yield the contacts of the foot called `name`: itself, or the corners of its patch as points."""
        if not isinstance(self.shape, FlatPatch):
            yield name, self
            return
        place, corners = self.place, self.shape.vertices
        first, size = int(np.argmax(corners.sum(axis=1))), float(np.abs(corners).min())
        for i, corner in enumerate(np.roll(corners, -first, axis=0)):
            at = place.p + place.R @ np.array([*corner, 0.0])
            # A point has no axes: without the foot's turn it needs no frame of its own.
            point = replace(self, shape=Point(0.2 * size), position=tuple(at.tolist()), rpy=(0.0, 0.0, 0.0))
            yield f"{name}-{i + 1}", replace(point, frame=name if self.frame is None else self.frame)
