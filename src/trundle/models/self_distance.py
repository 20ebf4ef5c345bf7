"""How far a robot's own bodies are from each other: convex hulls of their meshes, the meshes where hulls overlap."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError, MissingExtraError
from trundle.models.humanoid import Humanoid
from trundle.models.urdf_checks import CheckedUrdf
from trundle.numerics.turning import rotation_rpy


@dataclass(frozen=True, eq=False)
class _Shape:
    """A link's mesh and its hull, and its place in the link."""

    mesh: Any
    hull: Any
    R: FloatArray
    p: FloatArray


class SelfDistance:
    """Distances among the bodies of a humanoid (final).

    Pairs of links that one joint joins, or that no joint moves against each other, do not count, nor do pairs whose
    meshes already meet in the posture: they are built that way. The hull of a mesh is larger than the mesh: its
    distance is a bound from below, and only where two hulls meet are the meshes asked.

    Raises
    ------
    MissingExtraError
        If coal is not installed.
    InputError
        If fewer than two links have a mesh on this machine.
    """

    def __init__(self, humanoid: Humanoid) -> None:
        try:
            self._coal = import_module("coal")
        except ImportError:
            raise MissingExtraError("coal", "robots") from None
        self.humanoid = humanoid
        self._shapes = self._read(humanoid.urdf)
        self.links = tuple(self._shapes)
        if len(self.links) < 2:
            raise InputError("humanoid", humanoid.name, "a robot of whose links at least two have a mesh")
        self._zero = np.zeros(humanoid.robot.nv)
        self._request = self._coal.DistanceRequest()
        places = self._places(humanoid.standing())
        pairs = [pair for pair in combinations(self.links, 2) if not self._joined(*pair)]
        self.pairs = tuple(pair for pair in pairs if self._distance(pair, places) > 0.0)

    def __call__(self, q: FloatArray) -> tuple[float, tuple[str, str]]:
        """Return the smallest distance (m) at q (nq,), negative where bodies meet, and the pair of links."""
        places = self._places(q)
        return min(((self._distance(pair, places), pair) for pair in self.pairs), key=lambda one: one[0])

    def _distance(self, pair: tuple[str, str], places: dict[str, Any]) -> float:
        a, b = (self._shapes[name] for name in pair)
        at = [places[name] for name in pair]
        between = self._between(a.hull, at[0], b.hull, at[1])
        if between > 0.0:
            return between
        exact = self._between(a.mesh, at[0], b.mesh, at[1])
        return exact if exact > 0.0 else between

    def _between(self, a: Any, at_a: Any, b: Any, at_b: Any) -> float:
        result = self._coal.DistanceResult()
        return float(self._coal.distance(a, at_a, b, at_b, self._request, result))

    def _places(self, q: FloatArray) -> dict[str, Any]:
        motions = self.humanoid.robot.terms(q, self._zero, self.links).motions
        found = {}
        for name, motion in zip(self.links, motions, strict=True):
            shape = self._shapes[name]
            found[name] = self._coal.Transform3s(motion.R @ shape.R, motion.p + motion.R @ shape.p)
        return found

    def _joined(self, a: str, b: str) -> bool:
        """Whether one joint, or none, lies between two links."""
        robot = self.humanoid.robot
        i, j = (robot.place_on_body(link)[0] for link in (a, b))
        bodies = robot.bodies()
        return i == j or bodies[i].parent == j or bodies[j].parent == i

    def _read(self, urdf: CheckedUrdf) -> dict[str, _Shape]:
        found = {}
        for link in ET.fromstring(urdf.text).iter("link"):
            for visual in link.findall("visual"):
                mesh = visual.find("geometry/mesh")
                file = None if mesh is None else mesh_file(str(mesh.get("filename")), urdf.file)
                if mesh is None or file is None:
                    continue
                origin = visual.find("origin")
                xyz, rpy = (_numbers(None if origin is None else origin.get(key)) for key in ("xyz", "rpy"))
                scale = np.array(_numbers(mesh.get("scale") or "1 1 1"))
                made = self._coal.MeshLoader().load(str(file), scale)
                made.buildConvexHull(True, "Qt")
                found[str(link.get("name"))] = _Shape(made, made.convex, rotation_rpy(np.array(rpy)), np.array(xyz))
                break
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


def _numbers(text: str | None) -> list[float]:
    return [float(word) for word in (text or "0 0 0").split()]
