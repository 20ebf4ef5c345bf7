"""The variables of a run of kind `wallbounce`."""

from __future__ import annotations

from trundle.records import Variable, View

_V = ("time", "xyz")
_T = ("time",)
_J = ("time", "joint")
_H = ("time", "contact")
_P = ("time", "posture")
_POSTURE = ("x", "y", "yaw", "pitch", "roll", *(f"{side}_{i}" for side in ("left", "right") for i in (1, 2, 3)))

_VARIABLES: dict[str, Variable] = {
    "base_position": Variable(_V, "m", "world", "centre of the ball"),
    "base_velocity": Variable(_V, "m/s", "world", "velocity of the ball's centre"),
    "base_rpy": Variable(
        ("time", "rpy"), "rad", "world", "roll, pitch and yaw of the body: R = Rz(yaw) Ry(pitch) Rx(roll)"
    ),
    "joint_position": Variable(_J, "rad", "none", "angle of the arm's joint"),
    "hand_position": Variable((*_H, "xyz"), "m", "world", "centre of the hand"),
    "torso_distance": Variable(
        _T, "m", "world", "distance of the torso from walls and boxes, negative inside, at most 5"
    ),
    "hand_force_planned": Variable((*_H, "xyz"), "N", "world", "force on the hand that the low level feeds forward"),
    "hand_force_measured": Variable((*_H, "xyz"), "N", "world", "contact force on the hand"),
    "wall_distance": Variable(_H, "m", "world", "distance of the hand's surface from the nearest wall, at most 5"),
    "active_contact": Variable(_H, "1", "none", "1 where the plan in force has the hand in contact, else 0"),
    "solve_time_implicit": Variable(_T, "s", "none", "time the last contact-implicit plan took on this machine"),
    "solve_time_hybrid": Variable(_T, "s", "none", "time the last hybrid plan took on this machine"),
    "drive_force": Variable(_V, "N", "world", "force of the drive on the floor that is asked for", False),
    "push_force": Variable(_V, "N", "world", "force of the push on the body", False),
    "hand_speed_implicit": Variable(_H, "m/s", "world", "speed of the hand in the contact-implicit plan", False),
    "hand_speed_hybrid": Variable(_H, "m/s", "world", "speed of the hand in the hybrid plan", False),
    "hand_distance_implicit": Variable(_H, "m", "world", "distance to a wall in the contact-implicit plan", False),
    "hand_distance_hybrid": Variable(_H, "m", "world", "distance to a wall in the hybrid plan", False),
    "hand_press_implicit": Variable(_H, "N", "world", "normal force of the hand in the contact-implicit plan", False),
    "hand_press_hybrid": Variable(_H, "N", "world", "normal force of the hand in the hybrid plan", False),
    "ahead_implicit": Variable(_P, "m or rad", "world", "posture planned 0.4 s ahead, contact-implicit", False),
    "ahead_hybrid": Variable(_P, "m or rad", "world", "posture planned 0.4 s ahead, hybrid", False),
}

VIEW = View("wallbounce", _VARIABLES, {"posture": _POSTURE})
