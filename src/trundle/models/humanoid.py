"""Humanoids: a robot's description with the limbs it touches the world with, and the posture it likes."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from trundle.checks import FloatArray, array, number, positive, quaternion, rotation
from trundle.contact.patch import FlatPatch, PlacedPatch
from trundle.errors import InputError, MissingExtraError
from trundle.models.example_robots import load_example_robot
from trundle.models.urdf_checks import CheckedUrdf, load_urdf

_LIMB_KEYS = {"link", "position", "rotation", "length", "width", "radius"}


@dataclass(frozen=True)
class Limb:
    """Where a robot can touch: a rectangle (sole, palm) or a sphere, which touches in a point.

    Parameters
    ----------
    name, link : str
    position : (3,) m
        Centre of the rectangle, or of the sphere, in the link's frame.
    R_link_patch : (3, 3)
        Third column: the normal INTO the robot. Of a sphere it does not matter.
    size : (length, width) m
        None for a sphere.
    radius : m
        Of the sphere.
    """

    name: str
    link: str
    position: Any
    R_link_patch: Any = field(default_factory=lambda: np.eye(3))
    size: tuple[float, float] | None = None
    radius: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "position", array("position", self.position, (3,), unit="m"))
        object.__setattr__(self, "R_link_patch", rotation("R_link_patch", self.R_link_patch))
        if self.size is None:
            positive("radius", self.radius, "m")
        else:
            object.__setattr__(self, "size", tuple(positive("size", s, "m") for s in self.size))

    @property
    def is_point(self) -> bool:
        """Whether it touches in a point."""
        return self.size is None

    def patch(self, friction: float, part: float = 1.0) -> FlatPatch:
        """Return its patch, sides drawn in to `part`."""
        if self.size is None:
            return FlatPatch.point(friction)
        return FlatPatch.rectangle(part * self.size[0], part * self.size[1], friction)


class Humanoid:
    """A robot with a free base, limbs and a posture (final); kinematics and weight by Pinocchio.

    States q are (position of the base (3), quaternion (w, x, y, z), joint positions), as in
    `trundle.models.articulated.Articulated`; Jacobians here are of Pinocchio's velocity (base twist linear first, in
    the base's axes), for inverse kinematics and statics only.

    Parameters
    ----------
    urdf : CheckedUrdf
    limbs : sequence of Limb
    posture : mapping of joint name to rad
    name : str

    Raises
    ------
    InputError
        For limbs on links that are not there, joints that are not there or can turn without end.
    MissingExtraError
        If Pinocchio is not installed.
    """

    def __init__(
        self, urdf: CheckedUrdf, limbs: Iterable[Limb], posture: Mapping[str, float] | None = None, name: str = ""
    ) -> None:
        self._pin = _pinocchio()
        self.urdf, self.name = urdf, name or urdf.name
        self.model = self._pin.buildModelFromXML(urdf.text, self._pin.JointModelFreeFlyer())
        self.joints = tuple(str(joint) for joint in self.model.names)[2:]
        if self.model.nq != 7 + len(self.joints):
            raise InputError("urdf", urdf.name, "a robot whose joints are revolute or prismatic with limits")
        self.limbs = {limb.name: limb for limb in limbs}
        for limb in self.limbs.values():
            self._attach(limb)
        self.data = self.model.createData()
        self.posture = np.zeros(len(self.joints))
        for joint, angle in (posture or {}).items():
            if joint not in self.joints:
                raise InputError("posture", joint, "a joint of the robot: " + ", ".join(self.joints))
            self.posture[self.joints.index(joint)] = number(f"posture.{joint}", angle, unit="rad")
        self.mass = float(self._pin.computeTotalMass(self.model))
        self.torque_limits = np.array(self.model.effortLimit[6:])

    @property
    def standing(self) -> FloatArray:
        """State q (nq,) in the posture, upright, the lowest limb at height 0."""
        q = np.concatenate((np.zeros(3), [1.0, 0.0, 0.0, 0.0], self.posture))
        self._update(q)
        low = [self._placement(limb)[0][2] - limb.radius for limb in self.limbs.values()]
        q[2] = -min(low, default=0.0)
        return q

    def to_pinocchio(self, q: Any) -> FloatArray:
        """Return Pinocchio's configuration (quaternion last entry w) of a state q."""
        ours = array("q", q, (7 + len(self.joints),))
        w, x, y, z = quaternion("q[3:7]", ours[3:7])
        return np.concatenate((ours[:3], [x, y, z, w], ours[7:]))

    def from_pinocchio(self, q_pin: FloatArray) -> FloatArray:
        """Return the state q of Pinocchio's configuration."""
        x, y, z, w = q_pin[3:7]
        return np.concatenate((q_pin[:3], [w, x, y, z], q_pin[7:]))

    def center_of_mass(self, q: Any) -> FloatArray:
        """Return the centre of mass (3,) m, world."""
        return np.array(self._pin.centerOfMass(self.model, self.data, self.to_pinocchio(q)))

    def placed(self, q: Any, name: str, friction: float = 0.8, part: float = 1.0) -> PlacedPatch:
        """Return where a limb is at q as a patch; of a sphere: the point below its centre, the normal upwards."""
        limb = self.limb(name)
        self._update(q)
        position, R = self._placement(limb)
        if limb.is_point:
            position, R = position - limb.radius * np.array([0.0, 0.0, 1.0]), np.eye(3)
        return PlacedPatch(name, limb.patch(friction, part), position, R)

    def limb(self, name: str) -> Limb:
        """Return the limb of this name; raises `InputError` with the names there are."""
        if name not in self.limbs:
            raise InputError("limb", name, "one of the robot's limbs: " + ", ".join(map(repr, self.limbs)))
        return self.limbs[name]

    def statics(self, q: Any, contacts: Iterable[PlacedPatch]) -> tuple[FloatArray, list[FloatArray]]:
        """Return the weight's generalised force g (nv,) and each contact's Jacobian J (6, nv).

        J maps Pinocchio's velocity to the limb's twist (angular, linear) at the contact, in its frame; at rest
        g = (0, torque) + sum J' (moment, force).
        """
        pin, model, data = self._pin, self.model, self.data
        q_pin = self.to_pinocchio(q)
        weight = np.array(pin.computeGeneralizedGravity(model, data, q_pin))
        pin.computeJointJacobians(model, data, q_pin)
        pin.updateFramePlacements(model, data)
        found = []
        for contact in contacts:
            frame = model.getFrameId(self.frame(contact.name))
            J = np.array(pin.getFrameJacobian(model, data, frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED))
            arm = contact.position - np.array(data.oMf[frame].translation)
            linear = J[:3] + np.cross(J[3:].T, arm).T
            R = contact.R_world_patch.T
            found.append(np.vstack((R @ J[3:], R @ linear)))
        return weight, found

    def frame(self, name: str) -> str:
        """Return the name of a limb's frame in Pinocchio's model."""
        return f"limb: {self.limb(name).name}"

    def _attach(self, limb: Limb) -> None:
        pin, model = self._pin, self.model
        if limb.link not in self.urdf.links:
            links = ", ".join(self.urdf.links)
            raise InputError(f"limbs.{limb.name}.link", limb.link, "one of the links " + links)
        at = model.getFrameId(limb.link, pin.FrameType.BODY)
        frame, here = model.frames[at], pin.SE3(np.array(limb.R_link_patch), np.array(limb.position))
        added = pin.Frame(f"limb: {limb.name}", frame.parentJoint, at, frame.placement * here, pin.FrameType.OP_FRAME)
        model.addFrame(added)

    def _update(self, q: Any) -> None:
        self._pin.framesForwardKinematics(self.model, self.data, self.to_pinocchio(q))

    def _placement(self, limb: Limb) -> tuple[FloatArray, FloatArray]:
        place = self.data.oMf[self.model.getFrameId(f"limb: {limb.name}")]
        return np.array(place.translation), np.array(place.rotation)


def load_humanoid(file: str | Path = "g1") -> Humanoid:
    """Return the humanoid of a TOML file, or a built-in one by its name (``"g1"``).

    The file: ``name``; ``urdf``, a robot of example-robot-data or the path of a URDF beside the file; a table
    ``[limbs."left foot"]`` with ``link``, ``position`` (m), optionally ``rotation`` (3 x 3), and ``length`` and
    ``width``, or ``radius``, for each limb; ``[posture]``, joint = rad.

    Raises
    ------
    InputError
        For a name or file that is not there, or a key that is wrong.
    MissingExtraError
        If Pinocchio or example-robot-data is not installed.
    """
    path = Path(file)
    if path.suffix != ".toml":
        path = Path(__file__).with_name(f"humanoid_{file}.toml")
    if not path.exists():
        known = sorted(p.stem.removeprefix("humanoid_") for p in Path(__file__).parent.glob("humanoid_*.toml"))
        raise InputError("humanoid", str(file), "a TOML file, or one of " + ", ".join(map(repr, known)))
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InputError("humanoid", str(file), f"valid TOML ({error})") from None
    unknown = set(content) - {"name", "urdf", "limbs", "posture"}
    if unknown or not isinstance(content.get("urdf"), str):
        raise InputError("humanoid", sorted(unknown) or None, "name, urdf, limbs, posture", str(path))
    beside = path.parent / content["urdf"]
    described = content["urdf"].endswith(".urdf") or beside.is_file()
    urdf = load_urdf(beside, meshes=False, repair=True) if described else load_example_robot(content["urdf"])
    limbs = [_limb(name, table, str(path)) for name, table in content.get("limbs", {}).items()]
    return Humanoid(urdf, limbs, content.get("posture"), str(content.get("name", path.stem)))


def _limb(name: str, table: dict[str, Any], file: str) -> Limb:
    wrong = set(table) - _LIMB_KEYS
    sizes, flat = set(table) & {"length", "width", "radius"}, "radius" not in table
    whole = sizes == ({"length", "width"} if flat else {"radius"})
    if wrong or "link" not in table or "position" not in table or not whole:
        what = "link, position and either length and width, or radius"
        raise InputError(f"limbs.{name}", sorted(wrong) or sorted(table), what, file)
    size = (table["length"], table["width"]) if flat else None
    R = table.get("rotation", np.eye(3))
    try:
        return Limb(name, table["link"], table["position"], R, size, table.get("radius", 0.0))
    except InputError as error:
        raise error.within(f"limbs.{name}", file) from None


def _pinocchio() -> Any:
    try:
        return import_module("pinocchio")
    except ImportError:
        raise MissingExtraError("pin", "robots") from None
