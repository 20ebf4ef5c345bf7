"""Feet of the avatar: their soles, and toes that a foot bends at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from trundle.checks import FloatArray, array
from trundle.errors import InputError
from trundle.geometry import Shape
from trundle.models.urdf.description import JointDescription, LinkDescription, LinkInertia
from trundle.parameters import Range, check_parameters, parameter

RATE_LIMIT = 20.0
"""rad/s, assumed for every joint."""
TOE = "toe"
"""A toe's joint and contact are named <side>_toe, its link <side>_toe_foot."""

_BENT = (-1.3, 0.5)
Mass = Annotated[float, Range("a mass > 0 (kg), less than the foot's", above=0.0, unit="kg", in_files=(0.0, 10.0))]
Spring = Annotated[float, Range("a number from 0 to 1e6", minimum=0.0, in_files=(0.0, 1e6))]
Torque = Annotated[float, Range("a torque from 0 to 1e4 (N m)", minimum=0.0, unit="N m", in_files=(0.0, 1e4))]


@dataclass(frozen=True)
class AvatarFoot:
    """Soles of one foot, in the frame of the link ``<side>_foot`` (origin at the ankle; both sides alike).

    Attributes
    ----------
    sole : Shape
        The rolling sole, smooth and convex; its lowest point is the ankle's height below the ankle.
    center : (3,) m
        Its origin.
    flat : (4, 3) m
        Corners of the flat sole of the same height.
    """

    sole: Shape
    center: FloatArray
    flat: FloatArray

    @property
    def depth(self) -> float:
        """Of the lowest point below the ankle, m."""
        return -float(self.sole.points_with_normal([0.0, 0.0, -1.0])[0][2] + self.center[2])


@dataclass(frozen=True)
class Toes:
    """The front of a foot of two segments: a link on a hinge across the foot, on a rolling sole of its own.

    The hinge bears -stiffness angle - damping rate, positive angles bending the toes down, and the torque of a motor.

    Parameters
    ----------
    sole : Shape
        Smooth and convex.
    center, joint : (3,) m
        Its origin, and the hinge (metatarsophalangeal), in the frame of the ankle.
    mass : float, kg
        Taken from the foot's, spread evenly over the ellipsoid of the sole's extents.
    stiffness, damping : float, N m/rad, N m s/rad
    torque : float, N m
        Largest of the motor; 0: a passive joint.

    Examples
    --------
    >>> from trundle.systems.walking.robots.avatar_feet import Toes
    >>> toes = Toes(tr.Ellipsoid([0.045, 0.045, 0.02]), (0.145, 0.0, -0.065), (0.12, 0.0, -0.06))
    >>> [joint.name for joint in tr.walking.build_avatar().with_toes(toes).robot.joints][-2:]
    ['left_toe', 'right_toe']
    """

    sole: Shape
    center: tuple[float, float, float] = field(metadata={"text": "m, of the toes' sole, from the ankle"})
    joint: tuple[float, float, float] = field(metadata={"text": "m, of the hinge across the foot, from the ankle"})
    mass: Mass = parameter(0.15, "kg, of the toes, a part of the foot's")
    stiffness: Spring = parameter(20.0, "N m/rad, of the hinge's spring, at rest in line with the foot")
    damping: Spring = parameter(0.05, "N m s/rad")
    torque: Torque = parameter(0.0, "N m, largest of a motor at the hinge; 0: passive")

    def __post_init__(self) -> None:
        check_parameters(self)
        for name in ("center", "joint"):
            array(name, getattr(self, name), (3,), unit="m")
        smooth("sole", self.sole)

    @property
    def foot(self) -> AvatarFoot:
        """The sole in the frame of the toes' link, whose origin is the hinge."""
        return AvatarFoot(self.sole, np.subtract(self.center, self.joint), np.zeros((0, 3)))

    def split(self, whole: LinkInertia) -> tuple[LinkInertia, LinkInertia]:
        """Return the inertias of what is left of a foot, and of the toes in their frame; `whole` is both in one."""
        if not self.mass < whole.mass:
            raise InputError("mass", self.mass, f"less than the foot's {whole.mass:g} (kg)")
        axes = np.array([self.sole.points_with_normal(n)[0][i] for i, n in enumerate(np.eye(3))])
        tensor = self.mass / 5 * (np.sum(axes**2) * np.eye(3) - np.diag(axes**2))
        toes = LinkInertia(self.mass, np.asarray(self.center, dtype=float), tensor)
        mass = whole.mass - self.mass
        com = (whole.mass * whole.com - self.mass * toes.com) / mass
        return LinkInertia(mass, com, whole.about(com) - toes.about(com)), toes.shift(-np.asarray(self.joint))

    def split_foot(self, side: str, foot: LinkDescription) -> tuple[LinkDescription, LinkDescription, JointDescription]:
        """Return the foot of a side without its toes, the toes and their joint."""
        if foot.inertia is None:
            raise InputError("foot", foot.name, "a link with mass")
        rest, toes = self.split(foot.inertia)
        name, at = f"{side}_{TOE}", (self.joint[0], self.joint[1], self.joint[2])
        hinge = JointDescription(
            name, foot.name, f"{name}_foot", at, (0.0, 1.0, 0.0), *_BENT, torque=self.torque, rate=RATE_LIMIT
        )
        return LinkDescription(foot.name, rest), LinkDescription(hinge.child, toes), hinge


def smooth(name: str, sole: Shape) -> None:
    """Raise `InputError` unless `sole` is a smooth convex body in space."""
    forms = sole.representations
    if sole.d != 3 or forms.support is None or forms.hull or forms.pieces or forms.features:
        raise InputError(name, type(sole).__name__, "a smooth convex body, such as an Ellipsoid")
