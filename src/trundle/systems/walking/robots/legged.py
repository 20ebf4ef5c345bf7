"""A robot on its feet, from a URDF: which joints carry it, where it looks, and its mirror image."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from trundle.checks import FloatArray, array, choice, instance, number
from trundle.contact.motion import Motion
from trundle.contact.patch import FlatPatch
from trundle.errors import InputError
from trundle.geometry.shapes.surfaces import Plane
from trundle.models.brief import brief
from trundle.models.feet import Foot
from trundle.models.rigid_body import Hand
from trundle.models.rolling_tree import RollingTree
from trundle.models.tree.joints import Prismatic, Revolute
from trundle.models.tree.tree import TreeModel
from trundle.models.urdf.checks import CheckedUrdf
from trundle.models.urdf.lock import joint_ranges, lock_joints
from trundle.models.urdf.robot import robot_from_urdf
from trundle.models.urdf.tree import FramePlace, MergedBody, UrdfTree, urdf_tree
from trundle.numerics.rotations import rotation_z
from trundle.threads import cached_property

_MIRROR = np.diag([1.0, -1.0, 1.0])
_ALIKE = 0.02
"""Part of the robot's size by which what is mirrored may be off, and of a unit axis."""


@dataclass(frozen=True, repr=False, eq=False)
class LeggedRobot:
    """A robot that walks on its feet; joints that no foot hangs on are locked (final).

    Parameters
    ----------
    urdf : CheckedUrdf
    feet : mapping of str to Foot
        At least two. Flat ones lie in the plane z = 0 of their axes, z up and x ahead.
    posture : mapping of str to float, optional
        rad or m, of joints by name or pattern; 0, or the end of the range nearest to it, unless given.
    free : sequence of str, optional
        Joints, by name or pattern, that move although no foot hangs on them.
    heading : float, optional
        rad, the direction in which it walks, about z of the root link; by default where flat feet point, else 0.

    Attributes
    ----------
    tree : UrdfTree
        What moves; its root link turned so that x is ahead.
    locked : tuple of str

    Raises
    ------
    InputError
        If there is no such link or joint, or a foot does not move.

    Examples
    --------
    >>> import trundle as tr
    >>> avatar = tr.walking.build_avatar()
    >>> feet = {s: tr.Foot(avatar.foot.sole, f"{s}_foot", avatar.foot.center) for s in ("left", "right")}
    >>> from trundle.models.urdf.checks import check_urdf
    >>> robot = LeggedRobot(check_urdf(avatar.robot.urdf()), feet)
    >>> len(robot.tree.joints), len(robot.locked)  # arms and trunk carry no foot
    (12, 11)
    >>> robot.partners
    {'left': 'right', 'right': 'left'}
    """

    urdf: CheckedUrdf
    feet: Mapping[str, Foot]
    posture: Mapping[str, float] = field(default_factory=dict)
    free: Sequence[str] = ()
    heading: float | None = None
    tree: UrdfTree = field(init=False, repr=False)
    locked: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        instance("urdf", self.urdf, CheckedUrdf, "a CheckedUrdf, as load_urdf and check_urdf return it")
        if len(self.feet) < 2:
            raise InputError("feet", list(self.feet), "at least two")
        angles = self._angles()
        names = set(self._fitting("free", self.free, angles)) | self._carrying()
        locked = {name: angle for name, angle in angles.items() if name not in names}
        tree = urdf_tree(lock_joints(self.urdf, locked))
        object.__setattr__(self, "locked", tuple(locked))
        object.__setattr__(self, "tree", tree)
        object.__setattr__(self, "tree", _turn_root(tree, self._ahead() if self.heading is None else self.heading))

    def __repr__(self) -> str:
        """Return joints and feet in one line."""
        return brief(self, self.tree.name, joints=self.tree.joints, feet=self.feet)

    def _angles(self) -> dict[str, float]:
        """Return a position of every joint."""
        ranges = joint_ranges(self.urdf)
        for pattern, angle in self.posture.items():
            self._fitting("posture", [pattern], ranges)
            number(f"posture.{pattern}", angle)
        wanted = dict.fromkeys(ranges, 0.0)
        for pattern, angle in reversed([*self.posture.items()]):  # the first that fits counts
            wanted |= {name: angle for name in ranges if fnmatchcase(name, pattern)}
        return {name: float(np.clip(wanted[name], *limits)) for name, limits in ranges.items()}

    def _fitting(self, key: str, patterns: Sequence[str], names: Mapping[str, object]) -> list[str]:
        found: list[str] = []
        for pattern in patterns:
            fitting = [name for name in names if fnmatchcase(name, pattern)]
            if not fitting:
                raise InputError(f"{key}.{pattern}", pattern, "a joint, or a pattern of some: " + ", ".join(names))
            found += fitting
        return found

    def _carrying(self) -> set[str]:
        """Return the joints between the base and the feet."""
        above, found = {}, set[str]()
        for joint in ET.fromstring(self.urdf.text).findall("joint"):
            ends = [end.get("link", "") if (end := joint.find(tag)) is not None else "" for tag in ("child", "parent")]
            above[ends[0]] = joint.get("name", ""), ends[1]
        for name, foot in self.feet.items():
            link, path = choice(f"feet.{name}.frame", foot.frame or name, self.urdf.links), []
            while link in above:
                joint_name, link = above[link]
                path += [joint_name] if self.urdf.joints[joint_name] != "fixed" else []
            if not path:
                raise InputError(f"feet.{name}.frame", foot.frame or name, "a link beyond a joint that moves")
            found.update(path)
        return found

    def _ahead(self) -> float:
        """Return where flat feet point, rad."""
        flat = [place.R[:, 0] for name, place in self.footing.items() if isinstance(self.feet[name].shape, FlatPatch)]
        x, y, z = np.mean(flat, axis=0) if flat else (1.0, 0.0, 0.0)
        return float(np.arctan2(y, x)) if np.hypot(x, y) > 0.5 > abs(z) else 0.0

    # the posture --------------------------------------------------------------------------------------

    @cached_property
    def angles(self) -> FloatArray:
        """Positions of the joints that move (n,), rad or m: the posture."""
        return np.array([self._angles()[name] for name in self.tree.joints])

    def places(self, angles: FloatArray) -> list[FramePlace]:
        """Return the places of all bodies, from the base on, in the base's frame, at these positions (n,)."""
        found = [FramePlace(np.eye(3), np.zeros(3))]
        for body, angle in zip(self.tree.bodies[1:], angles, strict=True):
            outer, axis = found[body.parent], axis_of(body)
            if isinstance(body.motion, Prismatic):
                found.append(outer.then(FramePlace(body.place.R, body.place.p + angle * axis)))
            else:
                R = Rotation.from_rotvec(angle * axis).as_matrix()
                found.append(outer.then(FramePlace(R @ body.place.R, body.place.p)))
        return found

    def place(self, name: str) -> tuple[int, FramePlace]:
        """Return the number of the body that a foot is part of, and its place there."""
        body, held = self.tree.links[self.feet[name].frame or name]
        return body, held.then(self.feet[name].place)

    def motion(self, model: TreeModel, name: str) -> Motion:
        """Return the motion of a foot's own axes in a model of `tree`."""
        body, place = self.place(name)
        at = model.motions[self.tree.bodies[body].name.replace(".", "_")].at(ca.SX(ca.DM(place.p)))
        return replace(at, R=at.R @ ca.SX(ca.sparsify(ca.DM(place.R))))

    @property
    def given(self) -> NDArray[np.bool_]:
        """Which coordinates (6 + n,) of the base and of joints the posture says."""
        said = [any(fnmatchcase(name, pattern) for pattern in self.posture) for name in self.tree.joints]
        return np.array([False] * 6 + said)

    @property
    def footing(self) -> dict[str, FramePlace]:
        """Places of the feet in the base's frame, all joints at zero."""
        places = self.places(np.zeros(len(self.tree.joints)))
        found = {name: self.place(name) for name in self.feet}
        return {name: places[body].then(held) for name, (body, held) in found.items()}

    @cached_property
    def hips(self) -> dict[str, FloatArray]:
        """Origins (3,) m, in the base's frame, of the first joint of each leg that turns across the way ahead."""
        places, found = self.places(np.zeros(len(self.tree.joints))), {}
        for name in self.feet:
            number, path = self.place(name)[0], []
            while number > 0:
                path.append(number)
                number = self.tree.bodies[number].parent
            across = [i for i in path if abs(self._axis(places, i)[1]) > 0.7]
            found[name] = places[(across or path)[-1]].p
        return found

    def on_ground(
        self, gravity: ArrayLike = (0.0, 0.0, -9.81), friction: float = 1.0, ground: Hand | None = None
    ) -> RollingTree:
        """Return the robot on the plane z = 0 or other ground; feet may slip, leave and land, as `simulate` takes it.

        Its base hangs on six joints: x = (q, nu) with q = (x, y, z, yaw, pitch, roll, joints), and between them, where
        the ground is curved, the coordinates of contacts.
        """
        return robot_from_urdf(
            self.tree,
            self.feet,
            Plane() if ground is None else ground,
            gravity=array("gravity", gravity, (3,), unit="m/s2").tolist(),
            friction=friction,
            base="joints",
            on_slip="slide",
            on_separation="fly",
        )

    @property
    def mass(self) -> float:
        """Kg."""
        return sum(body.inertia.mass for body in self.tree.bodies if body.inertia is not None)

    # the mirror image ---------------------------------------------------------------------------------

    def _axis(self, places: list[FramePlace], i: int) -> FloatArray:
        body = self.tree.bodies[i]
        return places[body.parent].R @ axis_of(body)

    @cached_property
    def partners(self) -> dict[str, str]:
        """The foot that is each foot's mirror image.

        Raises
        ------
        InputError
            If a foot has none.
        """
        at = {name: place.p for name, place in self.footing.items()}
        return {name: self._nearest("feet", name, _MIRROR @ p, at) for name, p in at.items()}

    @cached_property
    def left(self) -> tuple[str, ...]:
        """The feet on the left, from the last to the first."""
        at, swap = self.footing, self.partners
        return tuple(sorted((f for f in at if at[f].p[1] > at[swap[f]].p[1]), key=lambda foot: float(at[foot].p[0])))

    @cached_property
    def mirror(self) -> FloatArray:
        """The mirror image of q and nu, (n, n): x, y, z, yaw, pitch, roll of the base, then the joints.

        Two joints are images if, all joints at zero, their axes are: the reflection of place and of axis, which of a
        hinge turns the other way.

        Raises
        ------
        InputError
            If a joint has no image.
        """
        places, joints = self.places(np.zeros(len(self.tree.joints))), self.tree.joints
        M = np.zeros((6 + len(joints),) * 2)
        M[range(6), range(6)] = [1.0, -1.0, 1.0, -1.0, 1.0, -1.0]
        axes = [self._axis(places, i) for i in range(1, len(places))]
        for i, name in enumerate(joints):
            hinge = isinstance(self.tree.bodies[i + 1].motion, Revolute)
            image = (-1.0 if hinge else 1.0) * _MIRROR @ axes[i]
            fits = {
                other: places[j + 1].p
                for j, other in enumerate(joints)
                if abs(abs(image @ axes[j]) - 1.0) < _ALIKE
                and isinstance(self.tree.bodies[j + 1].motion, Revolute) == hinge
            }
            j = joints.index(self._nearest("joints", name, _MIRROR @ places[i + 1].p, fits, image))
            M[6 + i, 6 + j] = np.sign(image @ axes[j])
        return M

    def _nearest(
        self, key: str, name: str, at: FloatArray, places: Mapping[str, FloatArray], axis: FloatArray | None = None
    ) -> str:
        """Return whose place, or whose line along `axis`, is nearest to a point."""
        size = max(float(np.linalg.norm(place.p)) for place in self.footing.values())
        across = np.eye(3) if axis is None else np.eye(3) - np.outer(axis, axis)
        far = {other: np.linalg.norm(across @ (p - at)) + 1e-3 * np.linalg.norm(p - at) for other, p in places.items()}
        best = min(far, key=lambda other: float(far[other]), default="")
        if not best or far[best] > _ALIKE * size:
            raise InputError(f"{key}.{name}", name, f"one of the {key} that mirror each other, all joints at zero")
        return best


def axis_of(body: MergedBody) -> FloatArray:
    """Return the axis (3,) of the joint that a body hangs on, in its parent's axes; zero of a base."""
    return np.array(body.motion.axis) if isinstance(body.motion, Revolute | Prismatic) else np.zeros(3)


def _turn_root(tree: UrdfTree, yaw: float) -> UrdfTree:
    """Return the robot with a root frame whose x axis is at an angle (rad) about the root link's z axis."""
    if yaw == 0.0:
        return tree
    frame = FramePlace(rotation_z(-yaw), np.zeros(3))
    bodies = []
    for i, body in enumerate(tree.bodies):
        if i == 0:
            inertia = None if body.inertia is None else body.inertia.place(frame.R, frame.p)
            bodies.append(replace(body, inertia=inertia))
        elif body.parent == 0:
            x, y, z = (float(a) for a in frame.R @ axis_of(body))
            kind = Prismatic if isinstance(body.motion, Prismatic) else Revolute
            bodies.append(replace(body, motion=kind((x, y, z)), place=frame.then(body.place)))
        else:
            bodies.append(body)
    links = {name: (i, frame.then(place) if i == 0 else place) for name, (i, place) in tree.links.items()}
    return UrdfTree(tree.name, tuple(bodies), links)
