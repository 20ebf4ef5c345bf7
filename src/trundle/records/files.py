"""Trajectories as NetCDF4 files.

The root group holds the variables, so that ``xarray.open_dataset("record.nc")`` shows exactly those; ``mode`` is
a string variable. The group ``trundle`` holds the metadata as JSON and the bodies' surfaces.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trundle.errors import InputError
from trundle.records.scenebodies import SceneBody
from trundle.records.sealed import read_sealed, read_typed, reading, write_sealed
from trundle.records.variables import check_dataset
from trundle.records.views import view_of
from trundle.status import Status

if TYPE_CHECKING:
    import xarray

_GROUP = "trundle"
_ENGINE = "h5netcdf"
_TYPES: dict[str, type[str | int | list[Any] | dict[str, Any]]] = {
    **dict.fromkeys(("kind", "scenario", "part", "version", "message", "notice"), str),
    **dict.fromkeys(("physics", "statistics", "wall_time", "audit"), dict),
    "seed": int,
    "transitions": list,
}
_NO_VARIABLE = b"not a netCDF variable"  # in the attribute NAME of a dimension, which has a size and no values
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
    import h5netcdf
    from xarray.backends import H5NetCDFStore

    extra = _group(record)
    dataset = record.dataset.assign_attrs(_summary(record))
    encoding = {name: {"_FillValue": None} for name in dataset.variables}
    # HDF5 writes to memory: on a disk that fills up it ends the process.
    memory = io.BytesIO()
    try:
        with h5netcdf.File(memory, "w") as file:
            dataset.dump_to_store(H5NetCDFStore(file), encoding=encoding)
            extra.dump_to_store(H5NetCDFStore(file, _GROUP, "a"))
    except (TypeError, ValueError) as error:
        raise InputError("record", record.dataset.attrs, f"what a NetCDF file can hold ({error})", str(path)) from None
    return write_sealed(path, memory.getvalue())


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
        content = read_sealed(source)
        _check_sizes(content)
        dataset = xr.load_dataset(io.BytesIO(content), engine=_ENGINE, decode_times=False)
        extra = xr.load_dataset(io.BytesIO(content), engine=_ENGINE, group=_GROUP)
        said = json.loads(str(extra["content"].values[()]))
        status, feasible = Status.from_label(said["status"]), read_typed(said, "feasible", bool)
        metadata, scene = _check_metadata(said["metadata"]), _scene(said["scene"], extra)
        dataset = _plain(dataset)
        check_dataset(dataset, said.get("variables"), view_of(dataset))
        return Record(dataset, status, feasible, metadata, scene)


def _check_sizes(content: bytes) -> None:
    """Refuse what leads to other files, and arrays that declare more than is there (trundle compresses nothing)."""
    import h5py

    sizes: list[int] = []
    here: list[bool] = []

    def add(_name: str, item: h5py.Group | h5py.Dataset) -> None:
        if isinstance(item, h5py.Dataset) and _NO_VARIABLE not in item.attrs.get("NAME", b""):
            sizes.append(item.nbytes)
            here.append(not (item.external or item.is_virtual))

    with h5py.File(io.BytesIO(content), "r") as file:
        file.visititems_links(lambda _, link: here.append(isinstance(link, h5py.HardLink)))
        file.visititems(add)
    if not all(here):
        raise ValueError("it takes content from another file or place")
    if sum(sizes) > len(content):
        raise ValueError("it declares more than it holds")


def _check_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata, whose keys that every record knows are of their types; texts and seed may be None."""
    json.dumps(metadata, allow_nan=False, ensure_ascii=False).encode()
    for key in _TYPES & metadata.keys():
        try:
            _ = (metadata[key] is None and _TYPES[key] in (str, int)) or read_typed(metadata, key, _TYPES[key])
        except InputError as error:
            raise error.within("metadata") from None
    for change in metadata.get("transitions", ()):
        texts = [change.get(key, "") for key in ("from", "to", "reason")] if isinstance(change, dict) else [None]
        if not all(isinstance(text, str) for text in texts) or not isinstance(change.get("time"), int | float):
            raise InputError("metadata.transitions", change, "a table with time, from, to and reason of a change")
    for key, seconds in metadata.get("wall_time", {}).items():
        if not isinstance(seconds, int | float):
            raise InputError(f"metadata.wall_time.{key}", seconds, "a number (s)")
    return metadata


def _summary(record: Record) -> dict[str, str | int]:
    status, said = record.status, record.metadata.get
    seed = said("seed") if abs(said("seed") or 0) < 2**63 else None
    values = ("CF-1.10", said("kind"), said("scenario"), status.label, status.advice, int(record.feasible))
    known = zip(_SUMMARY, (*values, seed, said("version")), strict=True)
    return {key: value for key, value in known if value not in (None, "")}


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
        _check_metadata(content["metadata"])
    except InputError:
        raise
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
        _ = read_typed(entry, "name", str), read_typed(entry, "closed", bool), read_typed(entry, "shape", dict)
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
