"""RobotDescription: bodies, joints and limits of a tree-like robot as frozen data, and its text as a URDF."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from functools import partial

import numpy as np

from trundle.checks import ArrayField, Converted, FloatArray, array, non_negative, number, size, vector
from trundle.errors import InputError
from trundle.models.brief import brief
from trundle.models.inertia import check_inertia
from trundle.models.urdf.xml import TENSOR
from trundle.parameters import Checked

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class LinkInertia(Checked):
    """Inertia of a link in its own axes.

    Parameters
    ----------
    mass : float, kg
    com : (3,) m
        Centre of mass in the link's frame.
    tensor : (3, 3) kg m2
        About the centre of mass, along the link's axes.

    Whether a mass distribution can have this tensor is a question to the whole link, see `LinkDescription`:
    of a part, measured with rounding, the answer may be no.

    Raises
    ------
    InputError
        If the mass is not positive, or a shape or number is wrong.
    """

    mass: Converted[float, float] = size("kg")
    com: ArrayField = vector("m")
    tensor: ArrayField = Converted(keep=partial(array, shape=(3, 3), unit="kg m2"))

    def shift(self, offset: FloatArray) -> LinkInertia:
        """Return the same inertia in a parallel frame in which the present origin is at `offset` (3,), m."""
        return LinkInertia(self.mass, self.com + offset, self.tensor)

    def place(self, R: FloatArray, p: FloatArray) -> LinkInertia:
        """Return the same inertia in a frame in which the present one has the axes R (3, 3) and the origin p (3,)."""
        return LinkInertia(self.mass, p + R @ self.com, R @ self.tensor @ R.T)

    def plus(self, other: LinkInertia) -> LinkInertia:
        """Return the inertia of both rigidly joined, each given in the same frame (parallel-axis theorem)."""
        mass = self.mass + other.mass
        com = (self.mass * self.com + other.mass * other.com) / mass
        return LinkInertia(mass, com, self.about(com) + other.about(com))

    def about(self, point: FloatArray) -> FloatArray:
        """Return the tensor (3, 3) about `point` (3,): I + m (|r|^2 1 - r r'), r from the centre of mass."""
        r = self.com - point
        return self.tensor + self.mass * ((r @ r) * np.eye(3) - np.outer(r, r))

    def mirror(self) -> LinkInertia:
        """Return the mirror image in the plane y = 0."""
        S = np.diag([1.0, -1.0, 1.0])
        return LinkInertia(self.mass, S @ self.com, S @ self.tensor @ S)


@dataclass(frozen=True)
class LinkDescription:
    """A link: its name and its inertia; None for a frame between two joints of one place.

    Raises
    ------
    InputError
        If no mass distribution has this inertia (`trundle.models.inertia.check_inertia`).
    """

    name: str
    inertia: LinkInertia | None = None

    def __post_init__(self) -> None:
        if self.inertia is not None:
            try:
                check_inertia(3, self.inertia.tensor)
            except InputError as error:
                raise error.within(f"link[{self.name}]") from None


@dataclass(frozen=True)
class JointDescription:
    """A revolute joint.

    Parameters
    ----------
    name, parent, child : str
        ``parent`` and ``child`` are links.
    at : (3,) m
        The joint, and the child's origin, in the parent's frame; all frames are parallel at zero angles.
    axis : (3,)
        Unit vector; positive angles turn right-handed about it.
    lower, upper : float, rad
    torque : float, N m
        Largest torque, >= 0.
    rate : float, rad/s
        Largest rate, >= 0.
    """

    name: str
    parent: str
    child: str
    at: Vector
    axis: Vector
    lower: float
    upper: float
    torque: float
    rate: float

    def __post_init__(self) -> None:
        try:
            array("at", self.at, (3,), unit="m")
            if abs(np.linalg.norm(array("axis", self.axis, (3,))) - 1) > 1e-12:
                raise InputError("axis", self.axis, "a unit vector")
            number("upper", self.upper, minimum=number("lower", self.lower), unit="rad")
            non_negative("torque", self.torque, "N m")
            non_negative("rate", self.rate, "rad/s")
        except InputError as error:
            raise error.within(f"joint[{self.name}]") from None


@dataclass(frozen=True, repr=False)
class RobotDescription:
    """A tree of links and revolute joints; the first link is the base, which is free.

    Joints are listed from the base outwards: the parent of each is the base or the child of an earlier one.
    """

    name: str
    links: tuple[LinkDescription, ...]
    joints: tuple[JointDescription, ...]

    def __post_init__(self) -> None:
        names = [link.name for link in self.links]
        if len(set(names)) != len(names) or len({joint.name for joint in self.joints}) != len(self.joints):
            raise InputError("name", names, "different names of links and of joints")
        if [joint.child for joint in self.joints] != names[1:]:
            raise InputError("joints", [joint.child for joint in self.joints], "one joint a link, in the links' order")
        for i, joint in enumerate(self.joints):
            if joint.parent not in names[: i + 1]:
                raise InputError(f"joint[{joint.name}].parent", joint.parent, "an earlier link")

    def __repr__(self) -> str:
        """Return links and joints in one line."""
        return brief(self, self.name, links=self.links, joints=self.joints)

    @property
    def base(self) -> str:
        """Name of the free link."""
        return self.links[0].name

    @property
    def dof(self) -> int:
        """Degrees of freedom: six of the base and one a joint."""
        return 6 + len(self.joints)

    @property
    def mass(self) -> float:
        """Mass of all links, kg."""
        return sum(link.inertia.mass for link in self.links if link.inertia)

    def places(self) -> dict[str, FloatArray]:
        """Return the origin (3,), m, of every link in the base's frame at zero angles."""
        places = {self.base: np.zeros(3)}
        for joint in self.joints:
            places[joint.child] = places[joint.parent] + np.array(joint.at)
        return places

    def urdf(self) -> str:
        """Return the description as the text of a URDF file; numbers read back to the last bit."""
        robot = ET.Element("robot", name=self.name)
        for link in self.links:
            element = ET.SubElement(robot, "link", name=link.name)
            if link.inertia is not None:
                _add_inertia(element, link.inertia)
        for joint in self.joints:
            element = ET.SubElement(robot, "joint", name=joint.name, type="revolute")
            ET.SubElement(element, "origin", xyz=_text(joint.at), rpy="0 0 0")
            ET.SubElement(element, "parent", link=joint.parent)
            ET.SubElement(element, "child", link=joint.child)
            ET.SubElement(element, "axis", xyz=_text(joint.axis))
            limits = {"lower": joint.lower, "upper": joint.upper, "effort": joint.torque, "velocity": joint.rate}
            ET.SubElement(element, "limit", {key: _text([value]) for key, value in limits.items()})
        ET.indent(robot)
        return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(robot, encoding="unicode") + "\n"


def _add_inertia(link: ET.Element, inertia: LinkInertia) -> None:
    element = ET.SubElement(link, "inertial")
    ET.SubElement(element, "origin", xyz=_text(inertia.com), rpy="0 0 0")
    ET.SubElement(element, "mass", value=_text([inertia.mass]))
    ET.SubElement(element, "inertia", {key: _text([inertia.tensor[i, j]]) for key, i, j in TENSOR})


def _text(values: object) -> str:
    return " ".join(repr(float(value)) for value in np.ravel(np.asarray(values)))
