"""Locked joints: a robot description with some of its joints held where they are."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping

import numpy as np
from scipy.spatial.transform import Rotation

from trundle.checks import number
from trundle.errors import InputError
from trundle.models.urdf.checks import CheckedUrdf, check_urdf
from trundle.models.urdf.xml import number_of, numbers_of

_MOVABLE = ("revolute", "continuous", "prismatic")
_MOVING_TAGS = ("axis", "limit", "mimic", "dynamics", "safety_controller", "calibration")


def lock_joints(urdf: CheckedUrdf, positions: Mapping[str, float]) -> CheckedUrdf:
    """Return the description with these joints held at their positions (rad or m): they become fixed.

    With the joint's origin (R, p) and its unit axis e the fixed joint has R exp([e] q), p or, of a sliding joint,
    R, p + R e q. Fingers, grippers and heads that only cost time, and joints that move no mass, are locked so.

    Raises
    ------
    InputError
        If there is no such joint, or it does not move.
    """
    if not positions:
        return urdf
    root = ET.fromstring(urdf.text)
    joints = {joint.get("name", ""): joint for joint in root.findall("joint")}
    for name, value in positions.items():
        if urdf.joints.get(name) not in _MOVABLE:
            movable = [joint for joint, kind in urdf.joints.items() if kind in _MOVABLE]
            raise InputError(f"joint[{name}]", name, "one of the joints that move: " + ", ".join(movable))
        _fix(joints[name], number(name, value))
    text = ET.tostring(root, encoding="unicode")
    checked = check_urdf(text)
    return CheckedUrdf(text, urdf.name, urdf.root, urdf.links, checked.joints, urdf.file, urdf.folders, urdf.repaired)


def joint_ranges(urdf: CheckedUrdf) -> dict[str, tuple[float, float]]:
    """Return the ranges (rad or m) of the joints that move, by name: without end where none is given."""
    ranges: dict[str, tuple[float, float]] = {}
    for joint in ET.fromstring(urdf.text).findall("joint"):
        name, limit = joint.get("name", ""), joint.find("limit")
        if urdf.joints[name] not in _MOVABLE:
            continue
        ranges[name] = (-np.inf, np.inf)
        if limit is not None and urdf.joints[name] != "continuous":
            lower, upper = (number_of(f"limit.{key}", limit.get(key, "0")) for key in ("lower", "upper"))
            ranges[name] = (lower, upper)
    return ranges


def _fix(joint: ET.Element, value: float) -> None:
    """Replace a moving joint by a fixed one at its position `value` (rad or m)."""
    axis, origin = joint.find("axis"), joint.find("origin")
    e = np.array([1.0, 0.0, 0.0] if axis is None else numbers_of("axis.xyz", axis.get("xyz"), 3))
    e = e / np.linalg.norm(e)
    origin = ET.SubElement(joint, "origin") if origin is None else origin
    p, rpy = (np.array(numbers_of(key, origin.get(key, "0 0 0"), 3)) for key in ("xyz", "rpy"))
    R = Rotation.from_euler("xyz", rpy)
    if joint.get("type") == "prismatic":
        p = p + R.apply(e) * value
    elif value != 0.0:
        R = R * Rotation.from_rotvec(value * e)
        rpy = R.as_euler("xyz")
    for key, numbers in (("xyz", p), ("rpy", rpy)):
        origin.set(key, " ".join(repr(float(number)) for number in numbers))
    joint.set("type", "fixed")
    for tag in _MOVING_TAGS:
        for element in joint.findall(tag):
            joint.remove(element)
