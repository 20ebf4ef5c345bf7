"""Records as MCAP, for Foxglove and its kin: messages in JSON, each with its schema; no ROS.

``/transforms`` has the bodies' frames, ``/scene`` their surfaces in these frames, and ``/run`` the table of
`trundle.records.tables`, a message a sample, its names nested where they have a dot: ``/run.contact_force.front.x``.
"""

from __future__ import annotations

import io
import itertools
import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError, optional
from trundle.records.scenebodies import SceneBody
from trundle.records.whole import write_bytes

if TYPE_CHECKING:
    import pandas as pd
    from scipy.spatial.transform import Rotation

    from trundle.records.trajectory import Trajectory

Json = float | bool | str | Sequence["Json"] | Mapping[str, "Json"]

_WORLD = "world"
_COLORS = {"object": (0.88, 0.51, 0.08), "body": (0.88, 0.51, 0.08), "link": (0.38, 0.42, 0.46)}
_GROUND = (0.84, 0.80, 0.74)
_LINE_STRIP, _LINE_LOOP, _WIDTH = 0, 1, 3.0  # px
_NANOSECONDS = 10**9  # a second, MCAP's unit of time
_LAST = 2.0**64 / _NANOSECONDS
"""s: times of MCAP are 64-bit unsigned integers of nanoseconds."""
_NUMBERS = "iuf"


def _object(**properties: Json) -> dict[str, Json]:
    return {"type": "object", "properties": properties}


def _list(items: Json) -> dict[str, Json]:
    return {"type": "array", "items": items}


_NUMBER, _INTEGER, _TEXT, _FLAG = ({"type": kind} for kind in ("number", "integer", "string", "boolean"))
_TIME = _object(sec=_INTEGER, nsec=_INTEGER)
_VECTOR = _object(x=_NUMBER, y=_NUMBER, z=_NUMBER)
_QUATERNION = _object(x=_NUMBER, y=_NUMBER, z=_NUMBER, w=_NUMBER)
_COLOR = _object(r=_NUMBER, g=_NUMBER, b=_NUMBER, a=_NUMBER)
_DRAWN = {"pose": _object(position=_VECTOR, orientation=_QUATERNION), "points": _list(_VECTOR), "color": _COLOR}
_DRAWN |= {"colors": _list(_COLOR), "indices": _list(_INTEGER)}
_TRANSFORM = _object(
    timestamp=_TIME, parent_frame_id=_TEXT, child_frame_id=_TEXT, translation=_VECTOR, rotation=_QUATERNION
)
_ENTITY = _object(
    timestamp=_TIME,
    frame_id=_TEXT,
    id=_TEXT,
    lifetime=_TIME,
    frame_locked=_FLAG,
    lines=_list(_object(type=_INTEGER, thickness=_NUMBER, scale_invariant=_FLAG, **_DRAWN)),
    triangles=_list(_object(**_DRAWN)),
)


def write_mcap(run: Trajectory, frame: pd.DataFrame, path: str | Path) -> Path:
    """Write a run and its table to a file."""
    outside = run.time[~((run.time >= 0.0) & (run.time < _LAST))]
    if outside.size:
        raise InputError("time", float(outside[0]), f"at least 0 s in an MCAP file, and below {_LAST:.4g} s")
    times = [round(float(time) * _NANOSECONDS) for time in run.time]
    writer = optional("mcap.writer", "mcap", "data").Writer(memory := io.BytesIO())
    writer.start()
    known = {key: str(run.metadata[key]) for key in ("kind", "scenario", "seed", "version") if key in run.metadata}
    writer.add_metadata("trundle", known | {"status": run.status.label, "feasible": str(run.feasible)})
    writer.add_metadata("units", frame.attrs["units"])

    def send(topic: str, name: str, schema: Json, messages: Iterator[Json]) -> None:
        number = writer.register_schema(name, "jsonschema", json.dumps(schema).encode())
        channel = writer.register_channel(topic, "json", number)
        for time, message in zip(times, messages, strict=False):
            writer.add_message(channel, time, json.dumps(message, allow_nan=False).encode(), time)

    poses = _poses(run)
    entities = [entity for body in run.scene if (entity := _entity(body, poses, times[0]))]
    kinds = {name: _NUMBER if frame[name].dtype.kind in _NUMBERS else _TEXT for name in frame}
    send("/run", "trundle.Run", _nest_columns(kinds, _object), _rows(frame))
    if poses:
        transforms = _object(transforms=_list(_TRANSFORM))
        send("/transforms", "foxglove.FrameTransforms", transforms, _transforms(times, poses))
    if entities:
        send("/scene", "foxglove.SceneUpdate", _object(entities=_list(_ENTITY)), iter([{"entities": entities}]))
    writer.finish()
    return write_bytes(path, memory.getvalue())


def _nest_columns(columns: Mapping[str, Json], table: Callable[..., dict[str, Json]] = dict) -> dict[str, Json]:
    """Return the columns with a table for each part of their names before a dot."""
    parts: dict[str, dict[str, Json]] = {}
    for name, value in columns.items():
        first, _, rest = name.partition(".")
        parts.setdefault(first, {})[rest] = value
    return table(**{name: one[""] if set(one) == {""} else _nest_columns(one, table) for name, one in parts.items()})


def _rows(frame: pd.DataFrame) -> Iterator[Json]:
    """Yield the rows; JSON has no number for NaN and infinities, which are left out."""
    texts = [frame[name].dtype.kind not in _NUMBERS for name in frame]
    for row in frame.itertuples(index=False, name=None):
        cells = zip(frame, row, texts, strict=True)
        yield _nest_columns({name: value for name, value, text in cells if text or math.isfinite(value)})


def _poses(run: Trajectory) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return positions (n, 3) and quaternions (n, 4), scalar last, of all frames in the world, by name.

    The frame of a body of a tree is at its centre of mass; where a robot's base is such a body, that one is meant.
    """
    from scipy.spatial.transform import Rotation

    kinds: dict[str, Callable[[FloatArray], Rotation]] = {
        "quaternion": lambda q: Rotation.from_quat(q, scalar_first=True),
        "angle": lambda angle: Rotation.from_rotvec(np.multiply.outer(angle, [0.0, -1.0, 0.0])),
        "rpy": lambda rpy: Rotation.from_euler("xyz", rpy),
    }
    found: dict[str, tuple[FloatArray, FloatArray]] = {}
    names = [name.removesuffix("_position") for name in run.keys() if name.endswith("_position")]
    for name, kind in itertools.product(sorted(names, key="body".__eq__), kinds):
        if f"{name}_position" not in run or f"{name}_{kind}" not in run:
            continue
        places, turns = run[f"{name}_position"], run[f"{name}_{kind}"]
        places = places if places.shape[-1] == 3 else np.insert(places, 1, 0.0, axis=-1)
        if name == "body":
            bodies = enumerate(str(label) for label in run["body"])
            found |= {body: (places[:, i], kinds[kind](turns[:, i]).as_quat()) for i, body in bodies}
        else:
            found[name] = (places, kinds[kind](turns).as_quat())
    return found


def _transforms(times: Sequence[int], poses: Mapping[str, tuple[FloatArray, FloatArray]]) -> Iterator[Json]:
    for i, time in enumerate(times):
        yield {
            "transforms": [
                {
                    "timestamp": _stamp(time),
                    "parent_frame_id": _WORLD,
                    "child_frame_id": name,
                    "translation": _name_values(places[i]),
                    "rotation": _name_values(turns[i]),
                }
                for name, (places, turns) in poses.items()
                if np.isfinite([*places[i], *turns[i]]).all()
            ]
        }


def _entity(body: SceneBody, frames: Collection[str], time: int) -> Json | None:
    """Return a body's surface or outline in its frame; None if there is no record of where it is."""
    frame = body.role if body.role in ("object", "hand") else body.name
    if frame not in frames and body.role != "terrain":
        return None
    origin = np.zeros(3)
    points = body.vertices if body.role in ("hand", "terrain") else body.vertices - np.asarray(body.center_of_mass)
    points = points if points.shape[1] == 3 else np.insert(points, 1, 0.0, axis=1)
    drawn: dict[str, Json] = {
        "pose": {"position": _name_values(origin), "orientation": _name_values(np.append(origin, 1.0))},
        "points": [_name_values(point) for point in points],
        "color": dict(zip("rgba", (*_COLORS.get(body.role, _GROUND), 1.0), strict=True)),
        "colors": [],
        "indices": [] if body.faces is None else body.faces.ravel().tolist(),
    }
    line: dict[str, Json] = {"type": _LINE_LOOP if body.closed else _LINE_STRIP, "thickness": _WIDTH}
    return {
        "timestamp": _stamp(time),
        "frame_id": frame if frame in frames else _WORLD,
        "id": f"{body.role} {body.name}",
        "lifetime": _stamp(0),
        "frame_locked": True,
        "lines": [line | {"scale_invariant": True} | drawn] if body.faces is None else [],
        "triangles": [] if body.faces is None else [drawn],
    }


def _name_values(values: FloatArray) -> dict[str, Json]:
    return dict(zip("xyzw", values.tolist(), strict=False))


def _stamp(time: int) -> dict[str, Json]:
    return {"sec": time // _NANOSECONDS, "nsec": time % _NANOSECONDS}
