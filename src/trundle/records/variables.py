"""Every variable of ``trajectory.nc``: dimensions, unit, frame and meaning, one table a kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trundle.errors import InputError

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True)
class Variable:
    """One variable of a trajectory.

    Parameters
    ----------
    dims : tuple of str
        Dimensions, ``time`` first.
    units, frame, long_name : str
        Attributes of the NetCDF variable. A variable that no frame applies to has the frame ``none``.
    required : bool
        Whether each trajectory of the kind has it.
    """

    dims: tuple[str, ...]
    units: str
    frame: str
    long_name: str
    required: bool = True


#: Labels of the dimensions whose length never changes.
LABELS: dict[str, tuple[str, ...]] = {
    "xyz": ("x", "y", "z"),
    "xz": ("x", "z"),
    "wxyz": ("w", "x", "y", "z"),
    "rpy": ("roll", "pitch", "yaw"),
    "posture": ("x", "y", "yaw", "pitch", "roll", *(f"{side}_{i}" for side in ("left", "right") for i in (1, 2, 3))),
    "twist": ("angular_x", "angular_y", "angular_z", "linear_x", "linear_y", "linear_z"),
    "use": ("friction", "pressure", "yaw"),
}

_COORDINATES: dict[str, Variable] = {
    "time": Variable(("time",), "s", "none", "time since the start of the run"),
    "xyz": Variable(("xyz",), "1", "none", "component of a vector in space"),
    "xz": Variable(("xz",), "1", "none", "component of a vector in the plane, x right and z up"),
    "wxyz": Variable(("wxyz",), "1", "none", "component of a unit quaternion, scalar first"),
    "twist": Variable(("twist",), "1", "none", "component of a twist, angular first"),
    "rpy": Variable(("rpy",), "1", "none", "angle of an orientation"),
    "posture": Variable(("posture",), "1", "none", "coordinate of a ball balancer"),
    "use": Variable(("use",), "1", "none", "what of a contact's cone is used"),
    "body": Variable(("body",), "1", "none", "name of the body"),
    "contact": Variable(("contact",), "1", "none", "name of the contact"),
    "joint": Variable(("joint",), "1", "none", "name of the joint or actuator"),
}

_V = ("time", "xyz")
_Q = ("time", "wxyz")
_T = ("time",)
_JUGGLING: dict[str, Variable] = {
    "object_position": Variable(_V, "m", "world", "centre of mass of the object"),
    "object_quaternion": Variable(_Q, "1", "world", "orientation of the object, world from object frame"),
    "object_velocity": Variable(_V, "m/s", "world", "velocity of the object's centre of mass"),
    "object_angular_velocity": Variable(_V, "rad/s", "world", "angular velocity of the object"),
    "hand_position": Variable(_V, "m", "world", "origin of the hand frame"),
    "hand_quaternion": Variable(_Q, "1", "world", "orientation of the hand, world from hand frame"),
    "hand_velocity": Variable(_V, "m/s", "world", "velocity of the hand frame's origin"),
    "hand_angular_velocity": Variable(_V, "rad/s", "world", "angular velocity of the hand"),
    "contact_position": Variable(_V, "m", "world", "contact point; in flight the hand's point nearest to the object"),
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
}

_NAMES = ("mode", "phase")
_B = ("time", "body")
_C = ("time", "contact")
_J = ("time", "joint")
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

_MULTICONTACT: dict[str, Variable] = {
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

_WALKING: dict[str, Variable] = {
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
}  # fmt: skip
"""Required is what any walking record has; what a simulated one has besides serves pictures and metrics."""

_H = ("time", "contact")
_P = ("time", "posture")
_WALLBOUNCE: dict[str, Variable] = {
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

_TABLES: dict[str, dict[str, Variable]] = {
    "juggling": _JUGGLING,
    "planar": _PLANAR,
    "spatial": _SPATIAL,
    "multicontact": _MULTICONTACT,
    "walking": _WALKING,
    "wallbounce": _WALLBOUNCE,
}


def table(kind: str) -> Mapping[str, Variable]:
    """Return the variables of a `kind` by name.

    Raises
    ------
    InputError
        If no such kind of trajectory is known.
    """
    if kind not in _TABLES:
        raise InputError("kind", kind, "one of " + ", ".join(repr(name) for name in _TABLES))
    return _TABLES[kind]


def make_dataset(
    kind: str,
    time: ArrayLike,
    arrays: Mapping[str, Any],
    *,
    mode_names: Sequence[str] = (),
    bodies: Sequence[str] = ("body",),
    contacts: Sequence[str] = ("contact",),
    joints: Sequence[str] | None = None,
) -> xarray.Dataset:
    """Return the dataset of a trajectory with the coordinates and attributes of its kind.

    Every value has to be finite: in flight forces and moments are zero and the contact's points are those of the
    nearest approach. Two equal times are allowed, for the samples before and after an impact.

    Parameters
    ----------
    kind : str
        ``juggling``, ``planar``, ``spatial`` (a tree of bodies in space) or ``walking``.
    time : array_like (n,)
        Times in s, not decreasing.
    arrays : mapping of str to array_like
        One array for each variable of the kind, time first. ``mode`` and ``phase`` hold names, or indices into
        `mode_names`. A missing axis of length one (body, contact, joint) is put in; a missing ``torque`` is zero.
    mode_names : sequence of str
        Names that integers in ``mode`` and ``phase`` stand for.
    bodies, contacts, joints : sequence of str
        Labels of the axes; joints are the bodies unless given.

    Raises
    ------
    InputError
        If a variable is missing, unknown, of the wrong shape or not finite.
    """
    import xarray as xr

    variables = table(kind)
    times = _times(time)
    axes = {"body": bodies, "contact": contacts, "joint": bodies if joints is None else joints}
    labels = LABELS | {name: tuple(values) for name, values in axes.items()}
    sizes = {"time": times.size} | {name: len(values) for name, values in labels.items()}
    given = dict(arrays)
    if "torque" in variables:
        given.setdefault("torque", np.zeros((times.size, sizes["joint"])))
    _check_names(kind, given)
    data: dict[str, tuple[Any, ...]] = {}
    for name, variable in ((name, v) for name, v in variables.items() if name in given):
        raw = _mode(given[name], mode_names) if name in _NAMES else given[name]
        values = _checked(name, raw, tuple(sizes[d] for d in variable.dims))
        data[name] = (variable.dims, values, _attributes(variable))
    used = {dim for dims, *_ in data.values() for dim in dims}
    coordinates = {
        dim: (dim, times if dim == "time" else np.array(labels[dim], dtype=np.str_), _attributes(_COORDINATES[dim]))
        for dim in _COORDINATES
        if dim in used
    }
    return xr.Dataset(data, coords=coordinates)


def check_dataset(kind: str, dataset: xarray.Dataset) -> None:
    """Check that `dataset` has the variables, dimensions and finite values of its kind, as after reading a file.

    Raises
    ------
    InputError
        If a variable is missing, has other dimensions or is not finite.
    """
    for name, variable in table(kind).items():
        if name not in dataset:
            if variable.required:
                raise InputError(name, "missing", f"in a trajectory of kind {kind}")
            continue
        found = tuple(str(dim) for dim in dataset[name].dims)
        if found != variable.dims:
            raise InputError(name, found, f"of dimensions {variable.dims}")
        values = dataset[name].values
        if values.dtype.kind == "f" and not np.all(np.isfinite(values)):
            raise InputError(name, "not finite", "finite at all times")


def _check_names(kind: str, given: Mapping[str, Any]) -> None:
    variables = table(kind)
    unknown = sorted(set(given) - set(variables))
    if unknown:
        raise InputError("arrays", unknown, f"variables of kind {kind}: " + ", ".join(variables))
    missing = [name for name, variable in variables.items() if variable.required and name not in given]
    if missing:
        raise InputError("arrays", sorted(given), "complete; missing: " + ", ".join(missing))


def _attributes(variable: Variable) -> dict[str, str]:
    return {"units": variable.units, "frame": variable.frame, "long_name": variable.long_name}


def _times(time: ArrayLike) -> NDArray[np.float64]:
    times = np.array(time, dtype=np.float64)
    if times.ndim != 1 or times.size == 0 or not np.all(np.isfinite(times)) or np.any(np.diff(times) < 0):
        raise InputError("time", time, "at least one finite time, not decreasing (s)")
    times.setflags(write=False)
    return times


def _mode(value: Any, names: Sequence[str]) -> NDArray[np.str_]:
    raw = np.asarray(value)
    if raw.dtype.kind in "iu":
        if raw.size and (raw.min() < 0 or raw.max() >= len(names)):
            raise InputError("mode", int(raw.max()), f"an index into mode_names, which has {len(names)} entries")
        return np.array(names, dtype=np.str_)[raw]
    return raw.astype(np.str_)


def _checked(name: str, value: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    array = np.asarray(value)
    if array.dtype.kind not in ("U" if name in _NAMES else "iuf"):
        raise InputError(name, value, "an array of numbers")
    array = np.array(array, dtype=array.dtype if array.dtype.kind == "U" else np.float64)
    if array.shape != shape and [n for n in array.shape if n != 1] == [n for n in shape if n != 1]:
        array = array.reshape(shape)
    if array.shape != shape:
        raise InputError(name, f"array of shape {array.shape}", f"an array of shape {shape}")
    if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
        bad = np.argwhere(~np.isfinite(array))[0]
        raise InputError(name, f"{array[tuple(bad)]} at sample {bad[0]}", "finite at all times")
    array.setflags(write=False)
    return array
