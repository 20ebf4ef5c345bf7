"""The views of a record that belong to a model: which variables a pair, a tree and a robot have, with their meaning.

A system adds views of its own (`trundle.scenarios.system`): anything that is a `View` can be recorded.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from trundle.checks import integer
from trundle.records.variables import Variable, View

if TYPE_CHECKING:
    import xarray

_V = ("time", "xyz")
_Q = ("time", "wxyz")
_T = ("time",)
_B = ("time", "body")
_C = ("time", "contact")
_J = ("time", "joint")

PAIR = View(
    "pair",
    {
        "object_position": Variable(_V, "m", "world", "centre of mass of the object"),
        "object_quaternion": Variable(_Q, "1", "world", "orientation of the object, world from object frame"),
        "object_velocity": Variable(_V, "m/s", "world", "velocity of the object's centre of mass"),
        "object_angular_velocity": Variable(_V, "rad/s", "world", "angular velocity of the object"),
        "hand_position": Variable(_V, "m", "world", "origin of the hand frame"),
        "hand_quaternion": Variable(_Q, "1", "world", "orientation of the hand, world from hand frame"),
        "hand_velocity": Variable(_V, "m/s", "world", "velocity of the hand frame's origin"),
        "hand_angular_velocity": Variable(_V, "rad/s", "world", "angular velocity of the hand"),
        "contact_position": Variable(_V, "m", "world", "contact point; in flight the hand's nearest point"),
        "contact_normal": Variable(_V, "1", "world", "unit normal at the contact, out of the hand"),
        "contact_force": Variable(_V, "N", "world", "contact force on the object; zero in flight"),
        "contact_moment": Variable(_T, "N m", "contact", "torsional moment on the object about contact_normal"),
        "contact_on_hand": Variable(_V, "m", "hand", "contact point on the hand; in flight the nearest point"),
        "contact_on_object": Variable(_V, "m", "object", "contact point on the object, from the shape's origin"),
        "gap": Variable(_T, "m", "contact", "distance between the surfaces, positive apart"),
        "slip": Variable(_V, "m/s", "world", "velocity of the object's material point minus that of the hand"),
        "energy": Variable(_T, "J", "world", "kinetic and gravitational energy of the object"),
        "mode": Variable(_T, "1", "none", "law of the contact in force"),
        "hand_acceleration": Variable(
            ("time", "twist"), "rad/s2, m/s2", "hand", "time derivative of the hand's body twist, angular first", False
        ),
    },
)
"""An object on a hand."""

_PLANAR: dict[str, Variable] = {
    "body_position": Variable((*_B, "xz"), "m", "world", "centre of mass of the body"),
    "body_angle": Variable(_B, "rad", "world", "angle of the body, counter-clockwise with x right and z up"),
    "body_velocity": Variable((*_B, "xz"), "m/s", "world", "velocity of the body's centre of mass"),
    "body_angular_velocity": Variable(_B, "rad/s", "world", "angular velocity of the body, counter-clockwise"),
    "contact_position": Variable((*_C, "xz"), "m", "world", "contact point; in flight the terrain's nearest point"),
    "contact_normal": Variable((*_C, "xz"), "1", "world", "unit normal at the contact, out of the terrain", False),
    "contact_force": Variable((*_C, "xz"), "N", "world", "contact force on the body; zero in flight"),
    "gap": Variable(_C, "m", "contact", "distance between body and terrain, positive apart"),
    "slip": Variable(
        _C, "m/s", "contact", "velocity of the body's material point minus the terrain's, along the terrain's tangent"
    ),
    "energy": Variable(_T, "J", "world", "kinetic and gravitational energy"),
    "mode": Variable(_C, "1", "none", "law of the contact in force"),
    "torque": Variable(("time", "joint"), "N m", "none", "torque of the joint or actuator"),
    "joint_position": Variable(_J, "rad or m", "none", "angle of a revolute or travel of a prismatic joint", False),
    "joint_velocity": Variable(_J, "rad/s or m/s", "none", "rate of the joint", False),
}

_SPATIAL: dict[str, Variable] = {
    "body_position": Variable((*_B, "xyz"), "m", "world", "centre of mass of the body"),
    "body_quaternion": Variable((*_B, "wxyz"), "1", "world", "orientation of the body, world from body frame"),
    "body_velocity": Variable((*_B, "xyz"), "m/s", "world", "velocity of the body's centre of mass"),
    "body_angular_velocity": Variable((*_B, "xyz"), "rad/s", "world", "angular velocity of the body"),
    "contact_position": Variable((*_C, "xyz"), "m", "world", "contact point; in flight the terrain's nearest point"),
    "contact_normal": Variable((*_C, "xyz"), "1", "world", "unit normal at the contact, out of the terrain"),
    "contact_force": Variable((*_C, "xyz"), "N", "world", "contact force on the body; zero in flight"),
    "contact_moment": Variable(_C, "N m", "contact", "torsional moment on the body about contact_normal"),
    "gap": Variable(_C, "m", "contact", "distance between body and terrain, positive apart"),
    "slip": Variable((*_C, "xyz"), "m/s", "world", "velocity of the body's material point minus that of the terrain"),
    "energy": Variable(_T, "J", "world", "kinetic and gravitational energy"),
    "mode": Variable(_C, "1", "none", "law of the contact in force"),
    "torque": Variable(_J, "N m", "none", "torque of the joint or actuator"),
    "joint_position": Variable(_J, "rad or m", "none", "angle of a revolute or travel of a prismatic joint"),
    "joint_velocity": Variable(_J, "rad/s or m/s", "none", "rate of the joint"),
    "body_torque": Variable((*_B, "xyz"), "N m", "world", "external torque on the body, an input", False),
}

_TREES = {2: View("tree", _PLANAR), 3: View("tree", _SPATIAL)}


ROBOT = View(
    "robot",
    {
        "com_position": Variable(_V, "m", "world", "centre of mass of the robot"),
        "com_velocity": Variable(_V, "m/s", "world", "velocity of the robot's centre of mass"),
        "joint_position": _SPATIAL["joint_position"],
        "joint_velocity": _SPATIAL["joint_velocity"],
        "joint_torque": Variable(_J, "N m", "none", "torque of the joint"),
        "base_position": Variable(_V, "m", "world", "origin of the base's frame"),
        "base_quaternion": Variable(_Q, "1", "world", "orientation of the base, world from base frame"),
        "base_velocity": Variable(_V, "m/s", "world", "velocity of the origin of the base's frame"),
        "base_angular_velocity": Variable(_V, "rad/s", "world", "angular velocity of the base"),
        "contact_position": _SPATIAL["contact_position"],
        "contact_force": _SPATIAL["contact_force"],
        "gap": _SPATIAL["gap"],
        "slip": _SPATIAL["slip"],
        "phase": Variable(_T, "1", "none", "name of the phase of the motion"),
        **{
            name: replace(_SPATIAL[name], required=False)
            for name in (
                "body_position", "body_quaternion", "body_velocity", "body_angular_velocity", "contact_normal",
                "contact_moment", "energy", "mode", "body_torque",
            )
        },
    },
)  # fmt: skip
"""A robot with feet. Required is what any walking record has; the rest, of simulations, serves pictures and metrics."""


def tree_view(dimension: int) -> View:
    """Return the view of a tree of bodies in the plane (2) or in space (3)."""
    return _TREES[integer("dimension", dimension, minimum=2, maximum=3)]


def view_of(dataset: xarray.Dataset) -> View | None:
    """Return the view that a dataset has the variables of, by what only that view has; None of a system's own."""
    if "object_position" in dataset:
        return PAIR
    if "com_position" in dataset:
        return ROBOT
    return tree_view(2 if "xz" in dataset.dims else 3) if "body_position" in dataset else None
