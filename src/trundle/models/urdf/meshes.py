"""The meshes by which a robot's description shows its links: found in its folders alone, read and checked."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray, inside
from trundle.errors import InputError, optional
from trundle.models.urdf.checks import CheckedUrdf, mesh_places
from trundle.models.urdf.xml import numbers_of
from trundle.numerics.rotations import rotation_rpy
from trundle.records.whole import read_bytes

MESH_BYTES = 100_000_000  # of a file that is read whole
_PLY_COUNT = re.compile(rb"^element (vertex|face) (\d{1,12})\s*$", re.MULTILINE)
_NAN = re.compile(rb"(?<=[\s>])[-+]?nan(?=[\s<])", re.IGNORECASE)
_KINDS = ("stl", "obj", "dae", "ply")


Colour = tuple[int, int, int]
Painted = Callable[[ET.Element], Colour | None]


@dataclass(frozen=True, eq=False)
class VisualMesh:
    """A mesh of a link: `vertices` (n, 3) in the link's axes, m, `faces` (m, 3), rows of vertices, and its colour."""

    link: str
    file: Path
    vertices: FloatArray
    faces: NDArray[np.int64]
    colour: Colour | None = None


def colours(robot: ET.Element) -> Painted:
    """Return the colour (red, green, blue of 255) of a <visual>: of its <material>, or of the robot's of that name.

    Raises
    ------
    InputError
        If a colour is no four finite numbers.
    """
    known = {one.get("name"): one for one in robot.findall("material")}

    def colour(visual: ET.Element) -> Colour | None:
        """Return the colour of a visual's own material, or of the robot's of that name."""
        own = visual.find("material")
        if own is None:
            return None
        given = own.find("color")
        given = known.get(own.get("name"), own).find("color") if given is None else given
        if given is None:
            return None
        red, green, blue = np.rint(255 * np.clip(numbers_of("rgba", given.get("rgba"), 4)[:3], 0.0, 1.0)).astype(int)
        return int(red), int(green), int(blue)

    return colour


def mesh_files(urdf: CheckedUrdf, tag: str = "visual") -> Iterator[tuple[str, ET.Element, Path]]:
    """Yield link, <visual> (or the other `tag`) and file of each mesh on this machine, in the description's order.

    Raises
    ------
    InputError
        If an address is absolute, or leads out of the description's folder and the packages.
    """
    if urdf.file is None:
        return
    for link in ET.fromstring(urdf.text).iter("link"):
        for visual in link.findall(tag):
            mesh = visual.find("geometry/mesh")
            if mesh is None:
                continue
            try:
                file = _own_file(str(mesh.get("filename")), urdf.folders)
            except InputError as error:
                raise error.within(f"link[{link.get('name')}].{tag}", str(urdf.file)) from None
            if file is not None:
                yield str(link.get("name")), visual, file


def _own_file(address: str, folders: Sequence[Path]) -> Path | None:
    where = "a file in the description's folder by a relative name, or in a package by a package:// address"
    if Path(address.removeprefix("file://")).is_absolute():
        raise InputError("mesh.filename", address, where)
    for place in mesh_places(address, folders):
        if inside("mesh.filename", str(place.absolute()), folders, where).is_file():
            return place
    return None


def visual_meshes(urdf: CheckedUrdf, tag: str = "visual") -> list[VisualMesh]:
    """Return the meshes of all links that are on this machine: scale, then rotation and place of <origin>.

    Raises
    ------
    InputError
        If a mesh lies outside the description's folders, or is no mesh of finite vertices.
    MissingExtraError
        If trimesh is not installed.
    """
    found, painted = [], colours(ET.fromstring(urdf.text))
    for link, visual, file in mesh_files(urdf, tag):
        mesh = visual.find("geometry/mesh")
        scale = _numbers(None if mesh is None else mesh.get("scale"), 1.0)
        try:
            vertices, faces = _read(file)
        except InputError as error:
            raise error.within(f"link[{link}].{tag}", str(urdf.file)) from None
        found.append(VisualMesh(link, file, place_vertices(vertices * scale, visual), faces, painted(visual)))
    return found


def place_vertices(vertices: FloatArray, shape: ET.Element) -> FloatArray:
    """Return vertices (n, 3) of a <visual> or <collision> in the link's axes, by its <origin>."""
    origin = shape.find("origin")
    xyz, rpy = (_numbers(None if origin is None else origin.get(key), 0.0) for key in ("xyz", "rpy"))
    return vertices @ rotation_rpy(rpy).T + xyz


def _read(file: Path) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return vertices (n, 3), in the file's unit, and faces (m, 3) of a file of at least one triangle."""
    trimesh = optional("trimesh", "trimesh", "robots")
    kind = file.suffix[1:].lower()
    if kind not in _KINDS:
        raise InputError("mesh.filename", str(file), "a mesh of kind " + ", ".join(_KINDS))
    data = read_bytes(file, MESH_BYTES, "mesh.filename", str(file))
    try:  # from bytes: a file that names others, materials or textures, opens none of them
        mesh = trimesh.load_mesh(BytesIO(data), file_type=kind, process=False)
        vertices, faces = np.array(mesh.vertices, dtype=np.float64), np.array(mesh.faces, dtype=np.int64)
    except Exception as error:  # what the readers of four kinds raise is no fixed list
        raise InputError("mesh.filename", str(file), f"a mesh that can be read ({error})") from None
    right = vertices.ndim == faces.ndim == 2 and vertices.shape[1] == faces.shape[1] == 3 and faces.size > 0
    if not right or not np.isfinite(vertices).all() or faces.min() < 0 or faces.max() >= len(vertices):
        raise InputError("mesh.filename", str(file), "a mesh of triangles between finite vertices")
    said = {key: int(count) for key, count in _PLY_COUNT.findall(data[:10_000])} if kind == "ply" else {}
    if len(vertices) < said.get(b"vertex", 0) or len(faces) < said.get(b"face", 0):
        raise InputError("mesh.filename", str(file), "a whole file: as many vertices and faces as its header says")
    if kind == "dae" and _NAN.search(data):  # which its reader takes for 0
        raise InputError("mesh.filename", str(file), "a mesh of numbers: no nan")
    return vertices, faces


def _numbers(text: str | None, default: float) -> FloatArray:
    return np.full(3, default) if not text else np.array([float(word) for word in text.split()])
