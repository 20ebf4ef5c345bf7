"""Pinocchio's models as trundle reads robots: bodies, joints and frames of one, as a `UrdfTree`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.models.tree.joints import FixedJoint, Prismatic, Revolute
from trundle.models.urdf.description import LinkInertia
from trundle.models.urdf.tree import FramePlace, JointLimits, MergedBody, UrdfTree

if TYPE_CHECKING:
    import pinocchio as pin

_FREE = "JointModelFreeFlyer"
_UNLIMITED = JointLimits(-np.inf, np.inf, np.inf, np.inf)


def floats(model: pin.Model) -> bool:
    """Return whether the first joint of a model is a free flyer."""
    return model.njoints > 1 and model.joints[1].shortname() == _FREE


def frame_numbers(model: pin.Model) -> dict[str, int]:
    """Return the numbers of the frames by name; of several of one name the body's, a URDF's link, else the first."""
    import pinocchio as pin

    bodies_last = sorted(range(len(model.frames)), key=lambda i: (model.frames[i].type == pin.FrameType.BODY, -i))
    return {model.frames[i].name: i for i in bodies_last}


def tree_of(model: pin.Model) -> UrdfTree:
    """Return the moving bodies of a Pinocchio model; the base of one without a free flyer is the world.

    Bodies are called as the joints that move them, and links are the model's frames.

    Raises
    ------
    InputError
        If a joint is neither revolute, continuous, prismatic, nor a free flyer at the root.
    """
    import pinocchio as pin

    data, first = model.createData(), int(floats(model))
    pin.crba(model, data, pin.neutral(model))  # fills in the joints' subspaces
    base = MergedBody(model.names[first], -1, "", FixedJoint(3), _place(None), _inertia(model, first), _UNLIMITED)
    bodies = [base, *(_body(model, data, i, first) for i in range(first + 1, model.njoints))]
    frames = {name: model.frames[i] for name, i in frame_numbers(model).items()}
    links = {
        name: (frame.parentJoint - first, _place(frame.placement))
        for name, frame in frames.items()
        if frame.parentJoint >= first
    }
    return UrdfTree(model.name, tuple(bodies), links)


def _body(model: pin.Model, data: pin.Data, i: int, first: int) -> MergedBody:
    """Return what joint `i` moves; the base is joint `first`."""
    name, joint, place = model.names[i], model.joints[i], _place(model.jointPlacements[i])
    S = np.asarray(data.joints[i].S).ravel()
    if joint.nv != 1 or (S[:3].any() and S[3:].any()):
        raise InputError(f"joint[{name}]", joint.shortname(), "revolute, continuous or prismatic")
    x, y, z = (float(a) for a in place.R @ (S[:3] + S[3:]))
    motion = Prismatic((x, y, z)) if S[:3].any() else Revolute((x, y, z))
    return MergedBody(name, model.parents[i] - first, name, motion, place, _inertia(model, i), _UNLIMITED)


def _inertia(model: pin.Model, i: int) -> LinkInertia | None:
    inertia = model.inertias[i]
    if inertia.mass == 0.0:
        return None
    return LinkInertia(inertia.mass, np.array(inertia.lever), np.array(inertia.inertia))


def _place(place: pin.SE3 | None) -> FramePlace:
    return (
        FramePlace(np.eye(3), np.zeros(3))
        if place is None
        else FramePlace(_copy(place.rotation), _copy(place.translation))
    )


def _copy(values: FloatArray) -> FloatArray:
    return np.array(values)
