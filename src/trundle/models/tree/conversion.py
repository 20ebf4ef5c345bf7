"""Between poses and minimal rolling coordinates, both ways."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from trundle.checks import FloatArray
from trundle.contact.contacts import ChartContact
from trundle.errors import InputError
from trundle.models.tree.tree import TreeModel
from trundle.numerics.rotations import rotation_plane


def to_wxyz(R: FloatArray) -> FloatArray:
    """Return the quaternion (w, x, y, z), w >= 0, of a rotation matrix (3, 3)."""
    return np.asarray(Rotation.from_matrix(R).as_quat(canonical=True, scalar_first=True))


def to_matrix(orientation: FloatArray) -> FloatArray:
    """Return R (d, d) of an angle (1,) rad or a quaternion (w, x, y, z)."""
    orientation = np.ravel(orientation)
    if orientation.size == 1:
        return rotation_plane(orientation[0])
    return Rotation.from_quat(orientation, scalar_first=True).as_matrix()


def to_world(R: FloatArray, w_body: FloatArray) -> FloatArray:
    """Return an angular velocity (k,) in world axes; in the plane it is the same in all axes."""
    return w_body if w_body.size == 1 else R @ w_body


def rolling_values(
    model: TreeModel, values: Mapping[str, ArrayLike], orientation: FloatArray, angular_velocity: FloatArray
) -> dict[str, FloatArray]:
    """Return ``<body>.spin`` and ``<body>.relative_velocity`` of a rolling body from its pose.

    psi from R_B_A = F_B Rc(psi) F_A', and w_rel = F_B' R_world_B' (w_A - w_B) (theory, "Rolling coordinates").

    Parameters
    ----------
    model : TreeModel
        With one body on a rolling joint.
    values : mapping
        Contact coordinates and, on a hand, its turn and twist, by the names of ``model.layout``.
    orientation : (1,) or (4,)
        Orientation of the body, world.
    angular_velocity : (k,) rad/s
        World.
    """
    constraint = model.constraints[0]
    if not isinstance(constraint.contact, ChartContact):
        raise InputError("contact", type(constraint.contact).__name__, "a ChartContact")
    name = next(key.removesuffix(".relative_velocity") for key in model.layout if key.endswith(".relative_velocity"))
    base = next((key.removesuffix(".twist") for key in model.layout if key.endswith(".twist")), None)
    frame_A, frame_B = _frames(constraint.contact, np.asarray(values[f"{constraint.name}.coordinates"]))
    R_base = np.eye(model.d) if base is None else to_matrix(np.asarray(values[f"{base}.orientation"]))
    w_base = np.zeros(model.k) if base is None else to_world(R_base, np.asarray(values[f"{base}.twist"])[: model.k])
    relative = np.ravel(angular_velocity) - w_base
    if model.d == 2:
        return {f"{name}.relative_velocity": relative}
    orientation_c = frame_B.T @ R_base.T @ to_matrix(orientation) @ frame_A
    w_rel = frame_B.T @ R_base.T @ relative
    size = model.layout[f"{name}.relative_velocity"]
    return {
        f"{name}.spin": np.array([np.arctan2(-orientation_c[0, 1], orientation_c[0, 0])]),
        f"{name}.relative_velocity": w_rel[: size.stop - size.start],
    }


def pose_of(model: TreeModel, x: FloatArray, body: str) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return (R (d, d), p (d,), w (k,), v (d,)) of a body's frame in the world, in any coordinates."""
    motion = model.motions[body]
    W = model.to_world
    w = motion.w if model.d == 2 else W @ motion.w
    function = ca.Function("pose", [model.x], [W @ motion.R, W @ motion.p, w, W @ motion.v])
    R, p, w_world, v = (np.asarray(value) for value in function(x))
    return R, p.ravel(), w_world.ravel(), v.ravel()


def _frames(contact: ChartContact, s: FloatArray) -> tuple[FloatArray, FloatArray]:
    symbol = ca.SX.sym("s", contact.size)
    patch_A, patch_B = contact.patches(symbol)
    function = ca.Function("frames", [symbol], [ca.horzcat(patch_A.T, patch_A.n), ca.horzcat(patch_B.T, patch_B.n)])
    frame_A, frame_B = function(s)
    return np.asarray(frame_A), np.asarray(frame_B)
