"""Columns of a recorded run of one object on a moving hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trundle.checks import FloatArray
from trundle.numerics.rotations import quaternions_plane
from trundle.simulate.record.contacts import continuous
from trundle.simulate.record.log import Columns

if TYPE_CHECKING:
    import xarray

_TWISTS = ("hand_acceleration",)
_ANGULAR = ("object_angular_velocity", "hand_angular_velocity")


def pair_arrays(columns: Columns, controlled: bool) -> Columns:
    """Return the variables of ``trajectory.nc`` from the columns of a run; ``controlled``: a policy gave the input.

    A run in the plane is embedded in space: (x, z) becomes (x, 0, z), and what turns counter-clockwise in that plane
    turns about -y.
    """
    first = {
        name: columns[name][:, 0] for name in ("point", "normal", "force", "moment", "gap", "slip", "on_A", "on_B")
    }
    arrays = {
        "object_position": columns["A.position"],
        "object_quaternion": continuous(_quaternions(columns["A.orientation"])),
        "object_velocity": columns["A.velocity"],
        "object_angular_velocity": columns["A.angular_velocity"],
        "hand_position": columns["B.position"],
        "hand_quaternion": continuous(_quaternions(columns["B.orientation"])),
        "hand_velocity": columns["B.velocity"],
        "hand_angular_velocity": columns["B.angular_velocity"],
        "contact_position": first["point"],
        "contact_normal": first["normal"],
        "contact_force": np.sum(columns["force"], axis=1),
        "contact_moment": first["moment"][:, 0],
        "contact_on_hand": first["on_B"],
        "contact_on_object": first["on_A"],
        "gap": first["gap"][:, 0],
        "slip": first["slip"],
        "energy": columns["energy"],
        "mode": _join_modes(columns["mode"]),
    }
    if controlled:
        arrays["hand_acceleration"] = columns["input"]
    if columns["A.position"].shape[1] == 2:
        return {name: _embed_variable(name, values) for name, values in arrays.items()}
    return arrays


def _embed_variable(name: str, values: np.ndarray) -> np.ndarray:
    """Return a variable (n, ...) of a run in the plane as its kind has it, in space."""
    if name in _ANGULAR:
        return about_y(values)
    if name in _TWISTS:
        return np.concatenate([about_y(values[:, :1]), embed_vectors(values[:, 1:])], axis=1)
    return embed_vectors(values) if values.ndim == 2 and values.shape[1] == 2 else values


def embed_vectors(values: FloatArray) -> FloatArray:
    """Return vectors (..., 2) of the plane, x and z, as vectors (..., 3) with y = 0."""
    x, z = np.moveaxis(np.asarray(values), -1, 0)
    return np.stack([x, np.zeros_like(x), z], axis=-1)


def about_y(w: FloatArray) -> FloatArray:
    """Return counter-clockwise rates (n, 1) as vectors (n, 3): (0, -w, 0), x to the right and z up."""
    return np.concatenate([np.zeros_like(w), -w, np.zeros_like(w)], axis=1)


def _quaternions(orientation: FloatArray) -> FloatArray:
    """Return unit quaternions (n, 4) of quaternions, or of angles (n, 1) about -y."""
    q = orientation if orientation.shape[1] == 4 else quaternions_plane(orientation[:, 0])
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def say_which_contact(dataset: xarray.Dataset) -> None:
    """Say in the attributes what the contact variables mean where two contacts touch."""
    dataset["contact_force"].attrs["contacts"] = "sum over the contacts that touch"
    position = ("contact_position", "contact_normal", "contact_on_hand", "contact_on_object")
    for name in (*position, "contact_moment", "gap", "slip"):
        dataset[name].attrs["contacts"] = "the first of the contacts that touch"


def _join_modes(modes: np.ndarray) -> np.ndarray:
    return np.array(["rest" if "rest" in row else " + ".join(row) for row in modes], dtype=np.str_)
