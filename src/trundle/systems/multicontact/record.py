"""The variables of a run of kind `multicontact`."""

from __future__ import annotations

from trundle.records import Variable, View

_V = ("time", "xyz")
_Q = ("time", "wxyz")
_T = ("time",)
_C = ("time", "contact")
_J = ("time", "joint")

_VARIABLES: dict[str, Variable] = {
    "com_position": Variable(_V, "m", "world", "centre of mass"),
    "com_velocity": Variable(_V, "m/s", "world", "velocity of the centre of mass"),
    "com_position_planned": Variable(_V, "m", "world", "centre of mass that the last preview has now"),
    "com_position_nominal": Variable(_V, "m", "world", "centre of mass of the nominal motion"),
    "angular_momentum": Variable(_V, "kg m2/s", "world", "angular momentum about the centre of mass"),
    "angular_momentum_estimated": Variable(
        _V, "kg m2/s", "world", "the same as the controller estimates it, with what is carried", False
    ),
    "angular_momentum_planned": Variable(
        _V, "kg m2/s", "world", "what the last preview has now, from the estimated one where it was made"
    ),
    "joint_position": Variable(_J, "rad or m", "none", "angle of a revolute or travel of a prismatic joint"),
    "joint_velocity": Variable(_J, "rad/s or m/s", "none", "rate of the joint"),
    "joint_torque": Variable(_J, "N m", "none", "torque of the joint"),
    "base_position": Variable(_V, "m", "world", "origin of the base"),
    "base_quaternion": Variable(_Q, "1", "world", "orientation of the base, world from base"),
    "base_velocity": Variable(_V, "m/s", "world", "velocity of the base's origin"),
    "base_angular_velocity": Variable(_V, "rad/s", "world", "angular velocity of the base"),
    "base_position_estimated": Variable(_V, "m", "world", "what the odometry says of the base's origin"),
    "contact_position": Variable((*_C, "xyz"), "m", "world", "middle of the sole or hand"),
    "contact_force": Variable((*_C, "xyz"), "N", "world", "force of the world on the sole or hand"),
    "contact_force_planned": Variable((*_C, "xyz"), "N", "world", "the same in the last preview"),
    "contact_normal_planned": Variable(
        (*_C, "xyz"), "1", "world", "normal into the robot of what it stands on in the last preview; else zero", False
    ),
    "contact_use_planned": Variable(
        (*_C, "use"), "1", "contact", "share of a planned wrench's cone that is used, 1 at its limit; else zero", False
    ),
    "gap": Variable(_C, "m", "contact", "distance of the lowest point of the sole or hand from the ground"),
    "slip": Variable((*_C, "xyz"), "m/s", "world", "velocity of the middle of a sole or hand that carries, else zero"),
    "hand_load": Variable(_T, "N", "world", "sum of the magnitudes of the forces on the hands"),
    "hand_load_planned": Variable(_T, "N", "world", "the same in the last preview"),
    "box_position": Variable(_V, "m", "world", "centre of the box that is carried", False),
    "box_quaternion": Variable(_Q, "1", "world", "orientation of the box, world from box", False),
    "phase": Variable(_T, "1", "none", "number of travels begun so far in the plan"),
    "solve_time_preview": Variable(_T, "s", "none", "processor time of the last preview"),
    "solve_time_wholebody": Variable(_T, "s", "none", "processor time of the last tick without the preview"),
}

VIEW = View("multicontact", _VARIABLES, {"use": ("friction", "pressure", "yaw")})
