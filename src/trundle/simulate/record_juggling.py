"""Columns of a recorded run of kind `juggling`: one object on a moving hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from trundle.checks import FloatArray


def juggling_arrays(columns: dict[str, Any], controlled: bool) -> dict[str, Any]:
    """Return the variables of ``trajectory.nc`` from the columns of a run; ``controlled``: a policy gave the input."""
    first = {
        name: columns[name][:, 0] for name in ("point", "normal", "force", "moment", "gap", "slip", "on_A", "on_B")
    }
    arrays = {
        "object_position": columns["A.position"],
        "object_quaternion": _continuous(columns["A.turn"]),
        "object_velocity": columns["A.velocity"],
        "object_angular_velocity": columns["A.angular_velocity"],
        "hand_position": columns["B.position"],
        "hand_quaternion": _continuous(columns["B.turn"]),
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
        "mode": _joined(columns["mode"]),
    }
    if controlled:
        arrays["hand_acceleration"] = columns["input"]
    return arrays


def say_which_contact(dataset: Any) -> None:
    """Say in the attributes what the contact variables mean where two contacts touch."""
    dataset["contact_force"].attrs["contacts"] = "sum over the contacts that touch"
    position = ("contact_position", "contact_normal", "contact_on_hand", "contact_on_object")
    for name in (*position, "contact_moment", "gap", "slip"):
        dataset[name].attrs["contacts"] = "the first of the contacts that touch"


def _continuous(q: FloatArray) -> FloatArray:
    """Return unit quaternions (n, 4) whose sign does not jump."""
    unit = q / np.linalg.norm(q, axis=1, keepdims=True)
    signs = np.sign(np.einsum("ij,ij->i", unit[1:], unit[:-1]))
    flips = np.cumprod(np.concatenate([[1.0], np.where(signs < 0, -1.0, 1.0)]))
    return unit * flips[:, None]


def _joined(modes: Any) -> Any:
    return np.array([" + ".join(row) for row in modes], dtype=np.str_)
