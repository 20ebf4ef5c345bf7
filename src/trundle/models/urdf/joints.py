"""Checks of the joints of a robot description, each alone and all together: one tree, no loops."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from trundle.errors import InputError
from trundle.models.tree.tree import MOST_BODIES
from trundle.models.urdf.xml import number_of, numbers_of

JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
MOST_JOINTS = MOST_BODIES - 7
"""That move: the others are the ground, the base and what a base on six joints adds."""
_WITH_AXIS = ("revolute", "continuous", "prismatic", "planar")


def check_joint(joint: ET.Element) -> None:
    """Check type, axis, limits, damping and mimicry of one joint.

    Raises
    ------
    InputError
        Naming the element inside the joint, as in ``axis.xyz``.
    """
    kind = joint.get("type")
    if kind not in JOINT_TYPES:
        raise InputError("type", kind, "one of " + ", ".join(JOINT_TYPES))
    axis = joint.find("axis")
    if axis is not None and kind in _WITH_AXIS:
        direction = numbers_of("axis.xyz", axis.get("xyz"), 3)
        if max(abs(value) for value in direction) < 1e-6:
            raise InputError("axis.xyz", axis.get("xyz"), "a direction: not zero")
    limit = joint.find("limit")
    if limit is None and kind in ("revolute", "prismatic"):
        raise InputError("limit", None, f"given: a {kind} joint has a <limit>")
    if limit is not None:
        _check_limit(limit, kind)
    for tag, keys in (("dynamics", ("damping", "friction")), ("safety_controller", ("k_velocity", "k_position"))):
        element = joint.find(tag)
        for key in keys:
            if element is not None and key in element.attrib and number_of(f"{tag}.{key}", element.get(key)) < 0:
                raise InputError(f"{tag}.{key}", element.get(key), ">= 0")
    mimic = joint.find("mimic")
    for key in ("multiplier", "offset"):
        if mimic is not None and key in mimic.attrib:
            number_of(f"mimic.{key}", mimic.get(key))


def _check_limit(limit: ET.Element, kind: str) -> None:
    for key in ("effort", "velocity"):
        if key not in limit.attrib and kind not in ("revolute", "prismatic"):
            continue
        if number_of(f"limit.{key}", limit.get(key)) < 0:
            raise InputError(f"limit.{key}", limit.get(key), ">= 0")
    ends = [limit.get(key) for key in ("lower", "upper")]
    if ends.count(None) == 1 and kind in ("revolute", "prismatic"):
        raise InputError("limit", f"lower {ends[0]}, upper {ends[1]}", "with both, lower and upper, or neither (0)")
    lower, upper = (
        number_of(f"limit.{key}", "0" if end is None else end)
        for key, end in zip(("lower", "upper"), ends, strict=True)
    )
    if lower > upper:
        raise InputError("limit", f"lower {lower:g}, upper {upper:g}", "lower <= upper")


def check_structure(links: Sequence[str], joints: Sequence[tuple[str, ET.Element]]) -> str:
    """Return the name of the base of the tree that links and named joints form.

    Raises
    ------
    InputError
        If they do not form one tree.
    """
    if not links:
        raise InputError("robot", "no <link>", "at least one link")
    _unique("link", links)
    _unique("joint", [name for name, _ in joints])
    known, parents = set(links), {}
    for name, joint in joints:
        ends = []
        for tag in ("parent", "child"):
            element = joint.find(tag)
            link = None if element is None else element.get("link")
            if link not in known:
                raise InputError(f"joint[{name}].{tag}.link", link, "the name of a link of this robot")
            ends.append(link)
        parent, child = ends
        if parent == child:
            raise InputError(f"joint[{name}]", f"{parent} to {child}", "between two different links")
        if child in parents:
            raise InputError(f"joint[{name}].child.link", child, "a link that no other joint has as its child")
        parents[child] = parent
    bases = [link for link in links if link not in parents]
    _check_loops(parents)
    if len(bases) != 1:
        raise InputError("robot", bases, "one tree: one link that is no joint's child")
    _check_mimics(joints)
    return bases[0]


def _unique(tag: str, names: Sequence[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise InputError(f"{tag}[{name}].name", name, f"a name no other {tag} has")


def _check_loops(parents: dict[str, str], key: str = "link") -> None:
    try:
        TopologicalSorter({name: [parent] for name, parent in parents.items()}).prepare()
    except CycleError as error:
        loop = error.args[1]
        raise InputError(f"{key}[{loop[0]}]", " < ".join(reversed(loop)), "no part of a loop") from None


def _check_mimics(joints: Sequence[tuple[str, ET.Element]]) -> None:
    names = {name for name, _ in joints}
    follows: dict[str, str] = {}
    for name, joint in joints:
        mimic = joint.find("mimic")
        if mimic is None:
            continue
        leader = mimic.get("joint")
        if leader is None or leader not in names or leader == name:
            raise InputError(f"joint[{name}].mimic.joint", leader, "the name of another joint of this robot")
        follows[name] = leader
    _check_loops(follows, "joint")


def check_moving(joints: Mapping[str, str]) -> None:
    """Refuse joints, with their types by name, of more than one freedom, and more of them than a model may have."""
    moving = sum(kind != "fixed" for kind in joints.values())
    if moving > MOST_JOINTS:
        raise InputError("joint", f"{moving} that move", f"at most {MOST_JOINTS} that move: lock_joints locks some")
    for name, kind in joints.items():
        if kind in ("planar", "floating"):
            raise InputError(f"joint[{name}].type", kind, "revolute, continuous, prismatic or fixed")
