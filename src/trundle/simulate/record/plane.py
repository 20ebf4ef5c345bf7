"""Columns of a recorded run of kind `planar`: bodies on terrain, in the plane."""

from __future__ import annotations

from trundle.simulate.record.contacts import along_ground
from trundle.simulate.record.log import Columns


def body_arrays(columns: Columns) -> Columns:
    """Return the variables of ``trajectory.nc`` from the columns of a run."""
    return {
        "body_position": columns["A.position"][:, None],
        "body_angle": columns["A.orientation"],
        "body_velocity": columns["A.velocity"][:, None],
        "body_angular_velocity": columns["A.angular_velocity"],
        "contact_position": columns["point"],
        "contact_normal": columns["normal"],
        "contact_force": columns["force"],
        "gap": columns["gap"][..., 0],
        "slip": along_ground(columns),
        "energy": columns["energy"],
        "mode": columns["mode"],
    }
