"""Trajectories as NetCDF4 files.

The root group holds the variables, so that ``xarray.open_dataset("record.nc")`` shows exactly those; ``mode`` is
a string variable. The group ``trundle`` holds the metadata as JSON and the bodies' surfaces.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trundle.errors import InputError
from trundle.records.scenebodies import SceneBody
from trundle.records.variables import check_dataset
from trundle.records.views import view_of
from trundle.records.whole import reading, whole
from trundle.status import Status

if TYPE_CHECKING:
    import xarray

_GROUP = "trundle"
_ENGINE = "h5netcdf"
_SUMMARY = ("Conventions", "kind", "scenario", "status", "advice", "feasible", "seed", "version")


class Record(NamedTuple):
    """The content of a record."""

    dataset: xarray.Dataset
    status: Status
    feasible: bool
    metadata: Mapping[str, Any]
    scene: tuple[SceneBody, ...]


def write_record(record: Record, path: str | Path) -> Path:
    """Write a record to `path` (NetCDF4); a reader never sees half a file.

    Raises
    ------
    InputError
        If the folder is missing or not writable, or the metadata is not JSON.
    """
    target = Path(path)
    extra = _group(record)
    dataset = record.dataset.assign_attrs(_summary(record))
    encoding = {name: {"_FillValue": None} for name in dataset.variables}
    with whole(target) as part:
        dataset.to_netcdf(part, mode="w", engine=_ENGINE, encoding=encoding)
        extra.to_netcdf(part, mode="a", engine=_ENGINE, group=_GROUP)
    return target


def read_record(path: str | Path) -> Record:
    """Read a file that `write_record` wrote.

    Raises
    ------
    InputError
        If the file is missing, no NetCDF4 file, or no complete record.
    """
    import xarray as xr

    source = Path(path)
    if not source.is_file():
        raise InputError("path", str(source), "an existing file")
    with reading(source, "a trajectory written by trundle"):
        dataset = xr.load_dataset(source, engine=_ENGINE, decode_times=False)
        extra = xr.load_dataset(source, engine=_ENGINE, group=_GROUP)
        content = json.loads(str(extra["content"].values[()]))
        status, feasible = Status.from_label(content["status"]), content["feasible"]
        metadata, scene = content["metadata"], _scene(content["scene"], extra)
        dataset = _plain(dataset)
        check_dataset(dataset, content.get("variables"), view_of(dataset))
        return Record(dataset, status, feasible, metadata, scene)


def _summary(record: Record) -> dict[str, str | int | None]:
    known: dict[str, str | int | None] = {
        "Conventions": "CF-1.10",
        "kind": record.metadata.get("kind"),
        "status": record.status.label,
        "advice": record.status.advice,
        "feasible": int(record.feasible),
    }
    known |= {key: record.metadata.get(key) for key in ("scenario", "seed", "version")}
    return {key: known[key] for key in _SUMMARY if known[key] not in (None, "")}


def _group(record: Record) -> xarray.Dataset:
    import xarray as xr

    arrays: dict[str, xarray.Variable] = {}
    scene = []
    for i, body in enumerate(record.scene):
        attributes = {"units": "m", "long_name": body.name}
        arrays[f"vertices_{i}"] = xr.Variable((f"vertex_{i}", f"axis_{i}"), body.vertices, attributes)
        if body.faces is not None:
            arrays[f"faces_{i}"] = xr.Variable((f"face_{i}", "corner"), body.faces.astype(np.int32))
        entry = {"name": body.name, "role": body.role, "closed": body.closed, "shape": dict(body.shape)}
        scene.append(entry | {"center_of_mass": np.asarray(body.center_of_mass).tolist()})
    content = {
        "status": record.status.label,
        "feasible": record.feasible,
        "metadata": dict(record.metadata),
        "scene": scene,
        "variables": {str(name): [str(d) for d in v.dims] for name, v in record.dataset.data_vars.items()},
    }
    try:
        text = json.dumps(content, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError("metadata", dict(record.metadata), f"JSON values, all finite ({error})") from None
    arrays["content"] = xr.Variable((), text)
    group = xr.Dataset(arrays)
    for variable in group.variables.values():
        variable.encoding["_FillValue"] = None
    return group


def _scene(entries: list[dict[str, Any]], extra: xarray.Dataset) -> tuple[SceneBody, ...]:
    bodies = []
    for i, entry in enumerate(entries):
        faces = extra[f"faces_{i}"].values if f"faces_{i}" in extra else None
        bodies.append(SceneBody(vertices=extra[f"vertices_{i}"].values, faces=faces, **entry))
    return tuple(bodies)


def _plain(dataset: xarray.Dataset) -> xarray.Dataset:
    """Undo what a file adds: object strings, encodings, the summary attributes."""
    for name, variable in dataset.variables.items():
        values = variable.values
        if values.dtype.kind in "OT":
            attributes = dict(variable.attrs)
            dataset = dataset.assign({name: (variable.dims, values.astype(np.str_), attributes)})
    for name in dataset.variables:
        dataset[name].encoding.clear()
        if name not in dataset.indexes:
            dataset[name].values.setflags(write=False)
    dataset.encoding.clear()
    dataset.attrs = {key: value for key, value in dataset.attrs.items() if key not in _SUMMARY}
    return dataset
