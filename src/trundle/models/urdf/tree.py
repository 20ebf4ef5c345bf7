"""Moving bodies of a checked URDF: links that fixed joints hold together become one body; frames, limits, numbers."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import casadi as ca
import numpy as np
from scipy.linalg import qr
from scipy.spatial.transform import Rotation

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.models.brief import brief
from trundle.models.tree.joint import Joint
from trundle.models.tree.joints import FixedJoint, Prismatic, Revolute
from trundle.models.urdf.checks import CheckedUrdf, check_urdf, load_urdf
from trundle.models.urdf.description import LinkInertia, RobotDescription
from trundle.models.urdf.joints import check_moving
from trundle.models.urdf.xml import TENSOR, number_of, numbers_of
from trundle.numerics.rotations import skew

_EXACT = 1e-15  # of a rotation's entry: zeros and ones written with round-off
_MOVES = 1e-14  # of the largest: a motion below it is none


@dataclass(frozen=True)
class FramePlace:
    """A frame in another one: rotation R (3, 3) and origin p (3,), m."""

    R: FloatArray
    p: FloatArray

    def then(self, inner: FramePlace) -> FramePlace:
        """Return the place, in the outer frame, of what has the place `inner` in this one."""
        return FramePlace(self.R @ inner.R, self.p + self.R @ inner.p)


@dataclass(frozen=True)
class JointLimits:
    """Range (rad or m), largest torque or force (N m or N) and rate of a joint; infinite where none is given."""

    lower: float
    upper: float
    effort: float
    rate: float


@dataclass(frozen=True)
class MergedBody:
    """A body of the tree and the joint it hangs on.

    Attributes
    ----------
    name : str
        The link that gives the frame: the joint's child, or the robot's root.
    parent : int
        Number of the parent body, -1 of the base.
    joint : str
        The joint's name.
    motion : Joint
        `Revolute` or `Prismatic`, its axis in the parent's axes (a continuous joint is revolute without a range). Of
        the base `FixedJoint`: what it hangs on is for others to say.
    place : FramePlace
        Of the body's frame, at joint position 0, in the parent's.
    inertia : LinkInertia, or None
        In the body's frame; None without mass.
    limits : JointLimits
    """

    name: str
    parent: int
    joint: str
    motion: Joint
    place: FramePlace
    inertia: LinkInertia | None
    limits: JointLimits


@dataclass(frozen=True, repr=False)
class UrdfTree:
    """The moving bodies of a robot, the base first, each after its parent; and where every link is.

    Joints are in the order of Pinocchio (depth first, siblings by their names): q and nu of
    `trundle.models.urdf.articulated.Articulated` and of the tree correspond entry by entry.

    Attributes
    ----------
    name : str
    bodies : tuple of MergedBody
    links : mapping of link -> (number of its body, FramePlace in it)
    """

    name: str
    bodies: tuple[MergedBody, ...]
    links: Mapping[str, tuple[int, FramePlace]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "links", MappingProxyType(dict(self.links)))

    def __repr__(self) -> str:
        """Return bodies and joints in one line."""
        return brief(self, self.name, bodies=self.bodies, joints=self.joints)

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints."""
        return tuple(body.joint for body in self.bodies[1:])

    def inertia(self) -> FloatArray:
        """Return M (6 + n, 6 + n) at the zero posture; nu as in `trundle.models.urdf.articulated.Articulated`."""
        size = 5 + len(self.bodies)
        places = [FramePlace(np.eye(3), np.zeros(3))]
        columns = [np.vstack([np.eye(6), np.zeros((size - 6, 6))]).T]
        M = np.zeros((size, size))
        for i, body in enumerate(self.bodies):
            if i > 0:
                outer = places[body.parent]
                places.append(outer.then(body.place))
                own = columns[body.parent].copy()
                own[3:] += skew(outer.p - places[i].p) @ own[:3]
                own[:, 5 + i] = np.concatenate(
                    [outer.R @ np.asarray(ca.DM(S)).ravel() for S in body.motion.subspace(ca.SX(1, 1))]
                )
                columns.append(own)
            if body.inertia is not None:
                R, Jw = places[i].R, columns[i][:3]
                Jv = columns[i][3:] - skew(R @ body.inertia.com) @ Jw
                M += body.inertia.mass * Jv.T @ Jv + Jw.T @ R @ body.inertia.tensor @ R.T @ Jw
        return M

    @property
    def limits(self) -> dict[str, JointLimits]:
        """Limits by the joints' names."""
        return {body.joint: body.limits for body in self.bodies[1:]}


def urdf_tree(robot: str | Path | CheckedUrdf | RobotDescription | UrdfTree) -> UrdfTree:
    """Return the moving bodies of a robot, or of the file that describes it; of a `UrdfTree` itself.

    Joints that mimic others are free, as in `trundle.models.urdf.articulated.Articulated`.

    Raises
    ------
    InputError
        If the description is unchecked, a joint is planar or floating, or a joint, or the base, moves no mass.
    """
    if isinstance(robot, UrdfTree):
        return robot
    urdf = check_urdf(robot.urdf()) if isinstance(robot, RobotDescription) else robot
    if isinstance(urdf, str | Path) and os.path.isfile(urdf):
        urdf = load_urdf(urdf, meshes=False)
    if not isinstance(urdf, CheckedUrdf):
        allowed = "the path of a file, a CheckedUrdf (load_urdf, check_urdf) or a RobotDescription"
        raise InputError("urdf", str(urdf) if isinstance(urdf, Path) else robot, allowed)
    with urdf.naming():
        check_moving(urdf.joints)
        tree = _tree_of(urdf)
        refuse_idle(urdf.name, tree.inertia(), tree.joints)
    return tree


def _tree_of(urdf: CheckedUrdf) -> UrdfTree:
    root = ET.fromstring(urdf.text)
    elements = {link.get("name", ""): link for link in root.findall("link")}
    hanging: dict[str, list[ET.Element]] = {}
    for joint in sorted(root.findall("joint"), key=lambda joint: joint.get("name", "")):
        hanging.setdefault(_end(joint, "parent"), []).append(joint)
    bodies: list[MergedBody] = []
    links: dict[str, tuple[int, FramePlace]] = {}
    base = FramePlace(np.eye(3), np.zeros(3))
    todo: list[tuple[str, ET.Element | None, int]] = [(urdf.root, None, -1)]
    while todo:
        link, joint, parent = todo.pop()
        number = len(bodies)
        lump: LinkInertia | None = None
        outer: list[tuple[str, ET.Element | None, int]] = []
        for name, place, next_joint in _walk_fixed_joints(link, base, hanging):
            if next_joint is not None:
                outer.append((_end(next_joint, "child"), next_joint, number))
                continue
            links[name] = (number, place)
            part = _inertia(elements[name], place)
            lump = lump.plus(part) if lump and part else lump or part
        bodies.append(_root(link, lump) if joint is None else _moving(joint, parent, links, lump))
        todo += reversed(outer)
    return UrdfTree(urdf.name, tuple(bodies), links)


def refuse_idle(name: str, M: FloatArray, joints: Sequence[str]) -> None:
    """Refuse a robot with the inertia M (6 + n, 6 + n) if some of its n joints, or the base, move no mass.

    Raises
    ------
    InputError
        Naming them: the columns that a QR factorization with pivoting leaves to the end.
    """
    sizes = np.linalg.eigvalsh(M)
    idle = int(np.sum(sizes <= _MOVES * sizes[-1]))
    if idle:
        order = np.asarray(qr(M, mode="r", pivoting=True)[1])
        last = sorted(int(i) for i in order[-idle:])
        names = ", ".join(dict.fromkeys("the base" if i < 6 else str(joints[i - 6]) for i in last))
        rule = "a robot of which every joint, and the base, moves some mass"
        raise InputError("urdf", name, f"{rule}, unlike {names}: lock such joints")


def _walk_fixed_joints(
    link: str, place: FramePlace, hanging: Mapping[str, list[ET.Element]]
) -> Iterator[tuple[str, FramePlace, ET.Element | None]]:
    """Yield a link, what fixed joints hold to it, with places in the body's frame, and the joints met on the way."""
    yield link, place, None
    for joint in hanging.get(link, []):
        if joint.get("type") == "fixed":
            yield from _walk_fixed_joints(_end(joint, "child"), place.then(_origin(joint)), hanging)
        else:
            yield link, place, joint


def _root(link: str, lump: LinkInertia | None) -> MergedBody:
    limits = JointLimits(-np.inf, np.inf, np.inf, np.inf)
    return MergedBody(link, -1, "", FixedJoint(3), FramePlace(np.eye(3), np.zeros(3)), lump, limits)


def _moving(
    joint: ET.Element, parent: int, links: Mapping[str, tuple[int, FramePlace]], lump: LinkInertia | None
) -> MergedBody:
    name, kind = joint.get("name", ""), joint.get("type", "")
    place = links[_end(joint, "parent")][1].then(_origin(joint))
    element = joint.find("axis")
    axis = np.array([1.0, 0.0, 0.0] if element is None else numbers_of("axis.xyz", element.get("xyz"), 3))
    x, y, z = (float(a) for a in _snap_round_off(place.R @ (axis / np.linalg.norm(axis))))
    motion = Prismatic((x, y, z)) if kind == "prismatic" else Revolute((x, y, z))
    return MergedBody(_end(joint, "child"), parent, name, motion, place, lump, _limits(joint, kind))


def _limits(joint: ET.Element, kind: str) -> JointLimits:
    element = joint.find("limit")
    given = {} if element is None else {key: number_of(key, value) for key, value in element.attrib.items()}
    low, high = (-np.inf, np.inf) if kind == "continuous" else (given.get("lower", 0.0), given.get("upper", 0.0))
    return JointLimits(low, high, given.get("effort", np.inf), given.get("velocity", np.inf))


def _end(joint: ET.Element, tag: str) -> str:
    element = joint.find(tag)
    return "" if element is None else element.get("link", "")


def _origin(element: ET.Element) -> FramePlace:
    origin = element.find("origin")
    xyz, rpy = (
        np.zeros(3) if origin is None or key not in origin.attrib else np.array(numbers_of(key, origin.get(key), 3))
        for key in ("xyz", "rpy")
    )
    return FramePlace(_snap_round_off(Rotation.from_euler("xyz", rpy).as_matrix()), xyz)


def _inertia(link: ET.Element, place: FramePlace) -> LinkInertia | None:
    """The inertia of one link in the frame of the body."""
    inertial = link.find("inertial")
    mass = None if inertial is None else inertial.find("mass")
    if inertial is None or mass is None or number_of("mass", mass.get("value")) == 0.0:
        return None
    tensor = np.zeros((3, 3))
    inertia = inertial.find("inertia")
    for key, i, j in TENSOR if inertia is not None else ():
        tensor[i, j] = tensor[j, i] = number_of(key, inertia.get(key, "0"))  # type: ignore[union-attr]
    at = place.then(_origin(inertial))
    return LinkInertia(number_of("mass", mass.get("value")), np.zeros(3), tensor).place(at.R, at.p)


def _snap_round_off(R: FloatArray) -> FloatArray:
    """Round-off of zeros and ones removed: structural zeros make short expressions."""
    whole = np.round(R)
    return np.where(np.abs(R - whole) < _EXACT, whole, R) + 0.0
