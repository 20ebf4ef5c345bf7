"""What the avatar looks like: ellipsoids and tapered limbs of its segments' lengths, in the frames of its links."""

from __future__ import annotations

import numpy as np

from trundle.checks import FloatArray
from trundle.models.urdf.visuals import Mesh, join_meshes
from trundle.records.scenebodies import SceneBody
from trundle.systems.walking.robots.avatar import Avatar, AvatarFoot

_AROUND, _ALONG = 20, 14
_LIMBS = {"thigh": (0.088, 0.055), "shank": (0.056, 0.038), "arm": (0.046, 0.036), "forearm": (0.036, 0.026)}
"""Radii at both ends, m, of a body 1.765 m tall; drawn, not measured."""


def avatar_scene(avatar: Avatar, flat: bool = False) -> tuple[SceneBody, ...]:
    """Return one closed mesh for each link that has mass; feet with the rolling or the flat sole they stand on."""
    scale = avatar.height / 1.765
    ends = _ends(avatar)
    bodies = []
    for link in avatar.robot.links:
        if link.inertia is None:
            continue
        part = link.name.removeprefix("left_").removeprefix("right_")
        if part.endswith("foot"):
            meshes = [_slab(avatar.foot.flat) if flat else _sole(avatar.feet[link.name.removesuffix("_foot")])]
        elif part in _LIMBS:
            meshes = [_limb(ends[link.name], *(scale * r for r in _LIMBS[part]))]
            if part == "forearm":
                hand = ends[link.name] - np.array([0.0, 0.0, 0.07 * scale])
                meshes.append(_ellipsoid(hand, scale * np.array([0.035, 0.02, 0.085])))
        elif part == "pelvis":
            low = ends["pelvis"][2]
            meshes = [_ellipsoid(np.array([0.0, 0.0, 0.6 * low]), scale * np.array([0.105, 0.16, 0.11]))]
        else:
            meshes = _trunk(ends["trunk"][2], scale)
        vertices, faces = join_meshes(meshes)
        com = np.asarray(link.inertia.com)
        shape = {"type": "segment", "parts": [len(mesh[0]) for mesh in meshes]}
        bodies.append(SceneBody(link.name, "body", vertices, faces, shape=shape, center_of_mass=com))
    return tuple(bodies)


def _ends(avatar: Avatar) -> dict[str, FloatArray]:
    """Return where each segment ends, in its own frame: at its children's joints."""
    joints = avatar.robot.joints
    ends = {joint.parent: np.array(joint.at) for joint in joints if any(joint.at)}
    arm = ends["left_arm"][2]
    # The forearm of the table has the hand's joint at its end; its length is close to the arm's.
    return ends | {f"{side}_forearm": np.array([0.0, 0.0, 0.93 * arm]) for side in ("left", "right")}


def _trunk(shoulder: float, scale: float) -> list[Mesh]:
    """Return belly, chest, neck and head of a trunk whose shoulders are at a height, m."""
    return [
        _ellipsoid(np.array([0.0, 0.0, 0.3 * shoulder]), np.array([0.105 * scale, 0.145 * scale, 0.42 * shoulder])),
        _ellipsoid(np.array([0.0, 0.0, 0.72 * shoulder]), np.array([0.12 * scale, 0.175 * scale, 0.42 * shoulder])),
        _ellipsoid(np.array([0.0, 0.0, shoulder + 0.09 * scale]), scale * np.array([0.05, 0.05, 0.09])),
        _ellipsoid(np.array([0.015 * scale, 0.0, shoulder + 0.22 * scale]), scale * np.array([0.095, 0.075, 0.12])),
    ]


def _sole(foot: AvatarFoot) -> Mesh:
    vertices, faces = foot.sole.mesh(_AROUND)
    return foot.center + vertices, faces


def _ellipsoid(center: FloatArray, axes: FloatArray) -> Mesh:
    latitude = np.linspace(-np.pi / 2, np.pi / 2, _ALONG)
    vertices, faces = _revolve_profile(np.sin(latitude), np.cos(latitude))
    return center + vertices * axes, faces


def _limb(end: FloatArray, first: float, last: float) -> Mesh:
    """Return a limb with round ends from the origin to `end`, which is below it."""
    half = np.linspace(0, np.pi / 2, _ALONG // 2)
    length = float(np.linalg.norm(end))
    z = np.concatenate([-length - last * np.cos(half), first * np.sin(half)])
    r = np.concatenate([last * np.sin(half), first * np.cos(half)])
    vertices, faces = _revolve_profile(z, r)
    # From -z to the direction of the end.
    axis = -end / length
    side = np.cross([0.0, 1.0, 0.0], axis)
    side /= np.linalg.norm(side)
    return vertices @ np.stack([side, np.cross(axis, side), axis]), faces


def _slab(corners: FloatArray) -> Mesh:
    """Return a shoe: the sole's rectangle below, a ridge at the ankle above."""
    upper = corners * [0.9, 0.85, 0.0] + [0.0, 0.0, 0.0]
    upper[:, 2] = np.where(corners[:, 0] > 0, 0.45 * corners[0, 2], 0.1 * corners[0, 2])
    low = corners[[0, 1, 3, 2]]
    high = upper[[0, 1, 3, 2]]
    faces = [[0, 2, 1], [0, 3, 2], [4, 5, 6], [4, 6, 7]]
    for i in range(4):
        j = (i + 1) % 4
        faces += [[i, j, j + 4], [i, j + 4, i + 4]]
    return np.vstack([low, high]), np.array(faces)


def _revolve_profile(z: FloatArray, r: FloatArray) -> Mesh:
    """Return the surface of revolution about z through the profile, from below."""
    angle = np.linspace(0, 2 * np.pi, _AROUND, endpoint=False)
    rings = np.stack(
        [np.outer(r, np.cos(angle)), np.outer(r, np.sin(angle)), np.repeat(z[:, None], _AROUND, axis=1)], axis=2
    )
    faces = []
    for i in range(len(z) - 1):
        for j in range(_AROUND):
            a, b = i * _AROUND + j, i * _AROUND + (j + 1) % _AROUND
            faces += [[a, b, b + _AROUND], [a, b + _AROUND, a + _AROUND]]
    return rings.reshape(-1, 3), np.array(faces)
