"""Feet suggested from a description: what its collision geometry has lowest where a foot is."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from trundle.checks import FloatArray, choice
from trundle.contact.patch import FlatPatch
from trundle.errors import MissingExtraError
from trundle.geometry.shapes.surfaces import Sphere
from trundle.models.feet import Foot
from trundle.models.urdf.checks import CheckedUrdf
from trundle.models.urdf.lock import joint_ranges
from trundle.models.urdf.meshes import visual_meshes
from trundle.models.urdf.tree import FramePlace, UrdfTree, urdf_tree
from trundle.models.urdf.xml import number_of, numbers_of
from trundle.numerics.rotations import rotation_rpy

_LEVEL = 0.15
"""Part of the geometry's height that counts as its underside."""
_FLAT = 0.35
"""Least width of a flat underside over its length; narrower ones touch like balls."""
_SHRUNK = 0.9  # of a box's half lengths: the sole within its rounded edges
_SMALL = 0.01  # m: radius of a foot without a shape
_CORNERS = 4  # balls that make a sole
_LARGEST = 0.03  # m: half width beyond which a foot is no point


def suggest_feet(urdf: CheckedUrdf, links: Sequence[str]) -> dict[str, Foot]:
    """Return a foot for each of these links: a ball or a flat patch, from the collision geometry.

    A collision sphere is the foot as it is; four or more are the corners of a sole. Of boxes, cylinders and meshes of
    the link, or of what fixed joints hold to it, the underside counts, joints at zero and the root link upright: if it
    is longer than 6 cm, and no narrower than a third of that, it is a flat foot, less a tenth; else a ball that fits
    into its width. Without geometry it is a ball of 1 cm at the link's origin.

    Raises
    ------
    InputError
        If there is no such link, or a mesh is broken.
    """
    tree = urdf_tree(urdf)
    places = _zero(tree)
    hulls, balls = _geometry(urdf)
    found = {}
    for link in links:
        number, held = tree.links[choice("feet", link, tree.links)]
        frame = places[number].then(held)
        same = [name for name, (body, _) in tree.links.items() if body == number]
        own = [name for name in same if name in hulls or name in balls]
        own = [link] if link in own else own
        found[link] = _foot(link, frame, _balls(own, balls, tree, held), _points(own, hulls, tree, held))
    return found


def _zero(tree: UrdfTree) -> list[FramePlace]:
    """Return the places of all bodies in the root's frame, all joints at zero."""
    found = [FramePlace(np.eye(3), np.zeros(3))]
    for body in tree.bodies[1:]:
        found.append(found[body.parent].then(body.place))
    return found


def _foot(link: str, frame: FramePlace, balls: list[tuple[FloatArray, float]], points: FloatArray) -> Foot:
    """Return the foot of a link from balls (centre, radius) and points (n, 3), m, in its frame."""
    up = frame.R.T @ np.array([0.0, 0.0, 1.0])
    if 0 < len(balls) < _CORNERS:
        at, radius = min(balls, key=lambda ball: float(up @ ball[0]) - ball[1])
        return Foot(Sphere(radius), link, at.tolist())
    if balls:  # at the corners of a sole
        points = np.array([at - radius * up for at, radius in balls])
    if not len(points):
        return Foot(Sphere(_SMALL), link)
    world = points @ frame.R.T
    height = np.ptp(world[:, 2])
    under = world[world[:, 2] < world[:, 2].min() + min(_LEVEL * height, _SMALL) + 1e-9]
    low, high = under.min(axis=0), under.max(axis=0)
    half, middle = (high - low)[:2] / 2, (high + low) / 2
    middle[2] = world[:, 2].min()
    if half.max() > _LARGEST and half.min() > _FLAT * half.max():
        rpy = Rotation.from_matrix(frame.R.T).as_euler("xyz")
        patch = FlatPatch.rectangle(*(2 * _SHRUNK * half).tolist())
        return Foot(patch, link, (frame.R.T @ middle).tolist(), rpy.tolist())
    width = np.ptp(world, axis=0) / 2
    radius = float(max(min(width.min(), _LARGEST), 1e-3))
    if half.max() > 2 * radius:
        lowest = under[:, 2] <= middle[2] + 1e-9  # the first of them: which is lowest by round-off is no matter
        middle[:2] = under[np.argmax(lowest)][:2]
    return Foot(Sphere(radius), link, (frame.R.T @ (middle + np.array([0.0, 0.0, radius]))).tolist())


def _move_points(points: FloatArray, name: str, tree: UrdfTree, held: FramePlace) -> FloatArray:
    """Return points (n, 3) of a link in the frame `held` of another link of the same body."""
    place = tree.links[name][1]
    return (points @ place.R.T + place.p - held.p) @ held.R


def _balls(
    own: Iterable[str], balls: dict[str, list[tuple[FloatArray, float]]], tree: UrdfTree, held: FramePlace
) -> list[tuple[FloatArray, float]]:
    return [(_move_points(at[None], name, tree, held)[0], r) for name in own for at, r in balls.get(name, [])]


def _points(own: Iterable[str], hulls: dict[str, list[FloatArray]], tree: UrdfTree, held: FramePlace) -> FloatArray:
    parts = [_move_points(points, name, tree, held) for name in own for points in hulls.get(name, [])]
    return np.vstack(parts) if parts else np.zeros((0, 3))


def _geometry(urdf: CheckedUrdf) -> tuple[dict[str, list[FloatArray]], dict[str, list[tuple[FloatArray, float]]]]:
    """Return points of boxes, cylinders and meshes, and the spheres, by link, in its frame."""
    hulls: dict[str, list[FloatArray]] = {}
    balls: dict[str, list[tuple[FloatArray, float]]] = {}
    for link in ET.fromstring(urdf.text).findall("link"):
        for collision in link.findall("collision"):
            origin, geometry = collision.find("origin"), collision.find("geometry")
            shape = None if geometry is None else next(iter(geometry), None)
            if shape is None:
                continue
            at, rpy = (
                np.array(numbers_of(key, "0 0 0" if origin is None else origin.get(key, "0 0 0"), 3))
                for key in ("xyz", "rpy")
            )
            name = link.get("name", "")
            if shape.tag == "sphere":
                balls.setdefault(name, []).append((at, number_of("radius", shape.get("radius"))))
            elif (corners := _corners(shape)) is not None:
                hulls.setdefault(name, []).append(corners @ rotation_rpy(rpy).T + at)
    try:
        for mesh in visual_meshes(urdf, "collision"):
            hulls.setdefault(mesh.link, []).append(mesh.vertices)
    except MissingExtraError:  # without a reader of meshes the links' origins remain
        pass
    return hulls, balls


def _corners(shape: ET.Element) -> FloatArray | None:
    """Return points (n, 3) of the hull of a box or a cylinder; None of anything else."""
    signs = np.array(np.meshgrid((-1, 1), (-1, 1), (-1, 1))).reshape(3, -1).T / 2
    if shape.tag == "box":
        return signs * numbers_of("size", shape.get("size"), 3)
    if shape.tag in ("cylinder", "capsule"):
        radius, length = (number_of(key, shape.get(key)) for key in ("radius", "length"))
        angles = np.linspace(0.0, 2 * np.pi, 24, endpoint=False)
        rim = radius * np.column_stack([np.cos(angles), np.sin(angles)])
        return np.vstack([np.column_stack([rim, np.full(24, end * length / 2)]) for end in (-1, 1)])
    return None


def missing_limits(urdf: CheckedUrdf, names: Iterable[str]) -> list[str]:
    """Return one line for each of these joints that has no range, torque limit or rate limit."""
    limits, ranges, lines = urdf_tree(urdf).limits, joint_ranges(urdf), []
    for name in names:
        limit = limits[name]
        lacks = [] if np.isfinite(ranges[name]).all() else ["range"]
        lacks += [what for what, size in (("torque limit", limit.effort), ("rate limit", limit.rate)) if _none(size)]
        lines += [f"joint {name}: no {', no '.join(lacks)}"] if lacks else []
    return lines


def _none(size: float) -> bool:
    return size == 0.0 or not np.isfinite(size)
