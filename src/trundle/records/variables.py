"""Variables of a record: dimensions, unit, frame and meaning; a `View` is a table of them, made into a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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
        Dimensions, ``time`` first, or ``trial``.
    units, frame, long_name : str
        Attributes of the NetCDF variable. A variable that no frame applies to has the frame ``none``.
    required : bool
        Whether each trajectory of the view has it.
    """

    dims: tuple[str, ...]
    units: str
    frame: str
    long_name: str
    required: bool = True

    @property
    def attributes(self) -> dict[str, str]:
        """Attributes of the NetCDF variable."""
        return {"units": self.units, "frame": self.frame, "long_name": self.long_name}


@dataclass(frozen=True)
class View:
    """The variables that the record of a model or of a system may hold.

    Parameters
    ----------
    name : str
        For messages.
    variables : mapping of str to Variable
        By name. Dimensions are ``time``, those of `LABELS`, ``body``, ``contact``, ``joint``, and those of `labels`.
    labels : mapping of str to tuple of str
        Labels of dimensions of its own.
    """

    name: str
    variables: Mapping[str, Variable]
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


#: Labels of the dimensions whose length never changes.
LABELS: dict[str, tuple[str, ...]] = {
    "xyz": ("x", "y", "z"),
    "xz": ("x", "z"),
    "wxyz": ("w", "x", "y", "z"),
    "rpy": ("roll", "pitch", "yaw"),
    "twist": ("angular_x", "angular_y", "angular_z", "linear_x", "linear_y", "linear_z"),
}

_COORDINATES: dict[str, Variable] = {
    "time": Variable(("time",), "s", "none", "time since the start of the run"),
    "xyz": Variable(("xyz",), "1", "none", "component of a vector in space"),
    "xz": Variable(("xz",), "1", "none", "component of a vector in the plane, x right and z up"),
    "wxyz": Variable(("wxyz",), "1", "none", "component of a unit quaternion, scalar first"),
    "twist": Variable(("twist",), "1", "none", "component of a twist, angular first"),
    "rpy": Variable(("rpy",), "1", "none", "angle of an orientation"),
    "body": Variable(("body",), "1", "none", "name of the body"),
    "contact": Variable(("contact",), "1", "none", "name of the contact"),
    "joint": Variable(("joint",), "1", "none", "name of the joint or actuator"),
}

_NAMES = ("mode", "phase")

EVENT = "event"
"""Dimension of what impulses did; see `trundle.records.events`."""

TRIAL = "trial"
"""Dimension of what came of each trial; see `trundle.records.trials`."""


def make_dataset(
    view: View,
    time: ArrayLike,
    arrays: Mapping[str, ArrayLike],
    *,
    mode_names: Sequence[str] = (),
    bodies: Sequence[str] = ("body",),
    contacts: Sequence[str] = ("contact",),
    joints: Sequence[str] | None = None,
) -> xarray.Dataset:
    """Return the dataset of a trajectory with the coordinates and attributes of its view.

    Every value has to be finite: in flight forces and moments are zero and the contact's points are those of the
    nearest approach. Two equal times are allowed, for the samples before and after an impact.

    Parameters
    ----------
    view : View
        `trundle.records.PAIR`, `trundle.records.tree_view(d)`, `trundle.records.ROBOT`, or a system's own.
    time : array_like (n,)
        Times in s, not decreasing.
    arrays : mapping of str to array_like
        One array for each variable of the view, time first. ``mode`` and ``phase`` hold names, or indices into
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

    variables = view.variables
    times = _times(time)
    axes = {"body": bodies, "contact": contacts, "joint": bodies if joints is None else joints}
    labels = LABELS | dict(view.labels) | {name: tuple(values) for name, values in axes.items()}
    sizes = {"time": times.size} | {name: len(values) for name, values in labels.items()}
    given = dict(arrays)
    if "torque" in variables:
        given.setdefault("torque", np.zeros((times.size, sizes["joint"])))
    _check_names(view, given)
    data: dict[str, tuple[tuple[str, ...], NDArray[np.generic], dict[str, str]]] = {}
    for name, variable in ((name, v) for name, v in variables.items() if name in given):
        raw = _mode(given[name], mode_names) if name in _NAMES else given[name]
        values = _check_values(name, raw, tuple(sizes[d] for d in variable.dims))
        data[name] = (variable.dims, values, variable.attributes)
    used = {dim for dims, *_ in data.values() for dim in dims}
    meanings = _COORDINATES | {name: Variable((name,), "1", "none", f"label of {name}") for name in view.labels}
    coordinates = {
        dim: (dim, times if dim == "time" else np.array(labels[dim], dtype=np.str_), meanings[dim].attributes)
        for dim in meanings
        if dim in used
    }
    return xr.Dataset(data, coords=coordinates)


def check_dataset(
    dataset: xarray.Dataset, written: Mapping[str, Sequence[str]] | None = None, view: View | None = None
) -> None:
    """Check a dataset read from a file: `written` variables with their dimensions, time first and all finite.

    What a `view` requires has to be there, too. Columns of trials may hold NaN: what a trial does not have.

    Raises
    ------
    InputError
        If a variable is missing, has other dimensions or is not finite.
    """
    if "time" not in dataset.variables:
        raise InputError("time", "missing", "in a trajectory")
    _times(dataset["time"].values)
    for name, labels in LABELS.items():
        if name in dataset.dims and tuple(dataset[name].values.tolist()) != labels:
            raise InputError(name, dataset[name].values, f"the labels {', '.join(labels)}")
    known = {} if view is None else view.variables
    required = {name: v.dims for name, v in known.items() if v.required}
    for name, dims in {**required, **(written or {})}.items():
        if name not in dataset:
            raise InputError(name, "missing", "in this trajectory")
        found = tuple(str(dim) for dim in dataset[name].dims)
        if found != tuple(dims):
            raise InputError(name, found, f"of dimensions {tuple(dims)}")
    for name, variable in dataset.data_vars.items():
        found = tuple(str(dim) for dim in variable.dims)
        if found[:1] in ((TRIAL,), (EVENT,)):
            continue
        if found[:1] != ("time",):
            raise InputError(str(name), found, "of dimensions ('time', ...)")
        kind = variable.values.dtype.kind
        if kind not in ("U" if name in _NAMES else "f" if name in known else "biufU"):
            raise InputError(str(name), f"of type {variable.dtype}", "texts" if name in _NAMES else "numbers")
        if kind == "f" and not np.all(np.isfinite(variable.values)):
            raise InputError(str(name), "not finite", "finite at all times")
        if name in known and variable.attrs.get("units") != known[str(name)].units:
            raise InputError(f"{name}.units", variable.attrs.get("units"), known[str(name)].units)


def _check_names(view: View, given: Mapping[str, ArrayLike]) -> None:
    unknown = sorted(set(given) - set(view.variables))
    if unknown:
        raise InputError("arrays", unknown, f"variables of the view {view.name}: " + ", ".join(view.variables))
    missing = [name for name, variable in view.variables.items() if variable.required and name not in given]
    if missing:
        raise InputError("arrays", sorted(given), "complete; missing: " + ", ".join(missing))


def _times(time: ArrayLike) -> NDArray[np.float64]:
    times = np.array(time, dtype=np.float64)
    if times.ndim != 1 or times.size == 0 or not np.all(np.isfinite(times)) or np.any(np.diff(times) < 0):
        raise InputError("time", time, "at least one finite time, not decreasing (s)")
    times.setflags(write=False)
    return times


def _mode(value: ArrayLike, names: Sequence[str]) -> NDArray[np.str_]:
    raw = np.asarray(value)
    if raw.dtype.kind in "iu":
        if raw.size and (raw.min() < 0 or raw.max() >= len(names)):
            raise InputError("mode", int(raw.max()), f"an index into mode_names, which has {len(names)} entries")
        return np.array(names, dtype=np.str_)[raw]
    return raw.astype(np.str_)


def _check_values(name: str, value: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.generic]:
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
