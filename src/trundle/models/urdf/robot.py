"""A robot from a checked URDF with feet, as a tree: the CasADi twin of `trundle.models.urdf.Articulated`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from trundle.checks import FloatArray, array, choice, non_negative
from trundle.contact.laws import ROLLING
from trundle.contact.patch import FlatPatch
from trundle.errors import InputError
from trundle.geometry.shape import Shape
from trundle.geometry.shapes.surfaces import Plane, Point, Sphere
from trundle.models.feet import Foot
from trundle.models.part_contacts import ContactPart
from trundle.models.rigid_body import Ground, Hand
from trundle.models.robot import TERRAIN
from trundle.models.rolling_tree import RollingTree
from trundle.models.tree.joints import BodySpec, FixedJoint, FreeJoint, Prismatic, Revolute
from trundle.models.tree.system import OnSeparation, OnSlip, Rules
from trundle.models.tree.tree import Tree
from trundle.models.urdf.checks import CheckedUrdf
from trundle.models.urdf.description import LinkInertia, RobotDescription
from trundle.models.urdf.tree import MergedBody, UrdfTree, urdf_tree

WORLD = "fixed-world"
"""Name of what a tilted ground hangs on."""

_BASE_JOINTS = (
    ("x", Prismatic((1.0, 0.0, 0.0))),
    ("y", Prismatic((0.0, 1.0, 0.0))),
    ("z", Prismatic((0.0, 0.0, 1.0))),
    ("yaw", Revolute((0.0, 0.0, 1.0))),
    ("pitch", Revolute((0.0, 1.0, 0.0))),
    ("roll", Revolute((1.0, 0.0, 0.0))),
)


def robot_from_urdf(
    urdf: str | Path | CheckedUrdf | RobotDescription | UrdfTree,
    feet: Mapping[str, Foot] | None = None,
    ground: Shape | Ground | Hand | None = None,
    *,
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
    friction: float = 1.0,
    base: str = "pose",
    on_slip: OnSlip = "stop",
    on_separation: OnSeparation = "stop",
) -> RollingTree:
    """Return a robot with feet on the ground as `simulate`, `plan` and controllers take it.

    A body is a joint's child with what fixed joints hold to it; the base has the frame of the root link. With
    ``base="pose"`` the coordinates are those of `Articulated`, entry by entry:

    - x = (base position, quaternion (w, x, y, z), joints, [contact coordinates], nu), u = torques of all joints,
    - nu = (angular velocity of the base, velocity of its origin (world), joint rates in the order of Pinocchio),
    - M nudot + h = S u + J'f as there; ``model.inverse_dynamics`` is the same without M.

    Parameters
    ----------
    urdf : str or Path, CheckedUrdf, RobotDescription or UrdfTree
        The path of a file, or what `load_urdf`, `check_urdf`, `build_avatar` or `trundle.interop.pinocchio.tree_of`
        return.
    feet : mapping of contact name -> Foot
    ground : Shape, Ground or Hand, optional
        What the feet touch; the plane z = 0 unless given. A `Hand` that moves has its pose at the beginning of x, its
        body twist before nu, and that twist's derivative at the beginning of u.
    gravity : (3,) m/s2
    base : "pose", "joints" or "fixed"
        ``"joints"``: on three sliders and three hinges that are not driven (``base_x, base_y, base_z, base_yaw,
        base_pitch, base_roll``): x = (joints, nu), nu = rates of the joints; singular at a pitch of 90 degrees.
        ``"fixed"``: to the world; x = (joints, nu), too.
    friction, on_slip, on_separation : as of `Robot`

    Raises
    ------
    InputError
        If there is no such file, it is broken, a foot's frame is no link, a shape cannot touch the ground, or a joint
        is planar or floating.

    Examples
    --------
    >>> avatar = tr.walking.build_avatar()
    >>> feet = {"left": tr.Foot(avatar.foot.sole, "left_foot", avatar.foot.center)}
    >>> robot = tr.robot_from_urdf(avatar.robot, feet)
    >>> robot.model().u.shape  # a torque for each of the 23 joints
    (23, 1)
    """
    choice("base", base, ("pose", "joints", "fixed"))
    rules, surface = Rules(on_slip, on_separation), Plane() if ground is None else ground
    tree = Tree(3, array("gravity", gravity, (3,), unit="m/s2").tolist())
    moving = _add_ground(tree, surface)
    parts = _grow_tree(tree, urdf_tree(urdf), feet or {}, base)
    terrain = surface.shape if isinstance(surface, Ground | Hand) else surface
    origins = {spec.name: (0.0,) * 3 for spec in tree.specs if spec.joint.size}
    mu = non_negative("friction", friction)
    return RollingTree(tree, parts, terrain, mu, ROLLING.name, rules, origins=origins, base=TERRAIN, moving=moving)


def _add_ground(tree: Tree, surface: Shape | Ground | Hand) -> Hand | None:
    """Add what the feet touch to an empty tree; return it if it moves."""
    if not isinstance(surface, Hand):
        tree.ground(TERRAIN)
        return None
    if surface.shape.d != 3 or surface.extent is not None:
        raise InputError("ground", surface, "a Hand in space without extent")
    world = tree.ground(WORLD).index
    if any(surface.twist) or not surface.motion.is_still(0.0):
        tree.prescribed(TERRAIN)
        return surface
    tree.add(
        BodySpec(
            FixedJoint(3),
            TERRAIN,
            parent=world,
            at=surface.position,
            orientation=simplify_rotation(surface.R_world_hand),
        )
    )
    return None


def _grow_tree(tree: Tree, description: UrdfTree, feet: Mapping[str, Foot], base: str) -> tuple[ContactPart, ...]:
    """Add the bodies of a description to a tree that has its ground; return the feet on them."""
    names = _names(description)
    offset = _add_base(tree, description.bodies[0], names[0], base)
    for body, name in zip(description.bodies[1:], names[1:], strict=True):
        tree.add(make_body_spec(body, name, body.parent + offset))
    parts = []
    for name, foot in feet.items():
        patch = name if isinstance(foot.shape, FlatPatch) else None
        touching = (_part(tree, description, contact, one, offset) for contact, one in foot.contacts(name))
        parts += [replace(part, patch=patch) for part in touching]
    return tuple(parts)


def _names(description: UrdfTree) -> list[str]:
    """Names of bodies without dots, which separate names in a model's layout."""
    names = [body.name.replace(".", "_") for body in description.bodies]
    if len({*names, TERRAIN, WORLD}) != len(names) + 2:
        raise InputError(
            "link", names, f"names that differ, also with '_' for '.', none that is {TERRAIN!r} or {WORLD!r}"
        )
    return names


def with_mass(spec: BodySpec, inertia: LinkInertia | None) -> BodySpec:
    """Return a body with its mass, centre of mass and inertia, none where there is no mass."""
    if inertia is None:
        return replace(spec, com=(0.0, 0.0, 0.0))
    tensor = np.asarray(inertia.tensor)
    round_body = np.array_equal(tensor, tensor[0, 0] * np.eye(3))
    moments = float(tensor[0, 0]) if round_body else tensor
    return replace(spec, mass=inertia.mass, inertia=moments, com=tuple(float(c) for c in inertia.com))


def _add_base(tree: Tree, body: MergedBody, name: str, base: str) -> int:
    """Add the base; return the number in the tree of the description's first body."""
    if base == "pose":
        return tree.add(with_mass(BodySpec(FreeJoint(3), name), body.inertia)).index
    if base == "fixed":
        return tree.add(BodySpec(FixedJoint(3), name, parent=0, at=(0.0, 0.0, 0.0))).index
    at = 0
    for i, (label, joint) in enumerate(_BASE_JOINTS):
        last = i == len(_BASE_JOINTS) - 1
        label_of = name if last else f"{name}-{label}"
        spec = BodySpec(joint, label_of, parent=at, at=(0.0, 0.0, 0.0), joint_name=f"base_{label}")
        at = tree.add(with_mass(spec, body.inertia if last else None)).index
    return at


def make_body_spec(body: MergedBody, name: str, parent: int) -> BodySpec:
    """Return the body of a tree, driven by its joint, on the body `parent`."""
    spec = BodySpec(
        body.motion,
        name,
        parent=parent,
        at=triple(body.place.p),
        actuated=True,
        orientation=simplify_rotation(body.place.R),
        joint_name=body.joint,
    )
    return with_mass(spec, body.inertia)


def _part(tree: Tree, description: UrdfTree, name: str, foot: Foot, offset: int) -> ContactPart:
    """The foot's shape on its body, or on a frame fixed there if its axes are turned."""
    frame = name if foot.frame is None else foot.frame
    number, held = description.links[choice(f"feet.{name}.frame", frame, description.links)]
    place, body = held.then(foot.place), tree.specs[number + offset]
    orientation = None if isinstance(foot.shape, Sphere | Point) else simplify_rotation(place.R)
    if isinstance(foot.shape, FlatPatch):
        raise InputError(f"feet.{name}.shape", foot.shape, "a Shape: a patch touches with its corners")
    if orientation is None:
        return ContactPart(
            name, body.name, foot.shape, triple(place.p), friction=foot.friction, law=foot.law, whole=True
        )
    spec = BodySpec(FixedJoint(3), f"{name}-frame", parent=number + offset, at=triple(place.p), orientation=orientation)
    return ContactPart(
        name, tree.add(spec).name, foot.shape, (0.0, 0.0, 0.0), friction=foot.friction, law=foot.law, whole=True
    )


def triple(values: FloatArray) -> tuple[float, float, float]:
    """Return three numbers as a body of a tree keeps them."""
    x, y, z = (float(v) for v in values)
    return x, y, z


def simplify_rotation(R: FloatArray) -> tuple[tuple[float, ...], ...] | None:
    """Return a rotation (3, 3) as a body of a tree keeps it: None for none."""
    return None if np.array_equal(R, np.eye(3)) else tuple(triple(row) for row in R)
