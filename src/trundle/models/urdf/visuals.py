"""The meshes by which a robot's description shows its links."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trundle.checks import FloatArray
from trundle.models.urdf.checks import CheckedUrdf
from trundle.numerics.rotations import rotation_rpy


@dataclass(frozen=True, eq=False)
class VisualMesh:
    """A mesh of a link: ``scale`` (3,) times the file's vertices, then `R_link_mesh` (3, 3) and `position` (3,), m."""

    link: str
    file: Path
    scale: FloatArray
    R_link_mesh: FloatArray
    position: FloatArray


def visual_meshes(urdf: CheckedUrdf) -> list[VisualMesh]:
    """Return the meshes of all links, in the description's order, that are on this machine."""
    found = []
    for link in ET.fromstring(urdf.text).iter("link"):
        for visual in link.findall("visual"):
            mesh = visual.find("geometry/mesh")
            file = None if mesh is None else mesh_file(str(mesh.get("filename")), urdf.file)
            if mesh is None or file is None:
                continue
            origin = visual.find("origin")
            xyz, rpy = (_numbers(None if origin is None else origin.get(key), 0.0) for key in ("xyz", "rpy"))
            scale = _numbers(mesh.get("scale"), 1.0)
            found.append(VisualMesh(str(link.get("name")), file, scale, rotation_rpy(rpy), xyz))
    return found


def mesh_file(address: str, urdf: Path | None) -> Path | None:
    """Return the file of a mesh's address, ``package://`` looked for in the folders above the description; or None."""
    if urdf is None:
        return None
    if not address.startswith("package://"):
        place = urdf.parent / address.removeprefix("file://")
        return place if place.is_file() else None
    inside = address.removeprefix("package://")
    return next((folder / inside for folder in urdf.parents if (folder / inside).is_file()), None)


def _numbers(text: str | None, default: float) -> FloatArray:
    return np.full(3, default) if not text else np.array([float(word) for word in text.split()])
