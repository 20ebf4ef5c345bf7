"""How far a robot's own bodies are from each other: convex hulls of their meshes, the meshes where hulls overlap."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError, optional
from trundle.models.robots.humanoid import Humanoid
from trundle.models.urdf.checks import CheckedUrdf
from trundle.models.urdf.meshes import visual_meshes

if TYPE_CHECKING:
    import coal

_FLAT = 1e-9
"""Of a mesh's extent: thinner ones have no hull."""


class _Shape(NamedTuple):
    """A link's mesh and its hull, in the link's axes."""

    mesh: coal.CollisionGeometry
    hull: coal.CollisionGeometry


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
        If fewer than two links have a mesh on this machine, or one is flat.
    """

    def __init__(self, humanoid: Humanoid) -> None:
        self._coal = optional("coal", "coal", "robots")
        self.humanoid = humanoid
        self._shapes = self._read(humanoid.urdf)
        self.links = tuple(self._shapes)
        if len(self.links) < 2:
            raise InputError("humanoid", humanoid.name, "a robot of whose links at least two have a mesh")
        self._zero = np.zeros(humanoid.robot.nv)
        self._request = self._coal.DistanceRequest()
        places = self._places(humanoid.standing())
        pairs = [pair for pair in combinations(self.links, 2) if not self._are_neighbours(*pair)]
        self.pairs = tuple(pair for pair in pairs if self._distance(pair, places) > 0.0)

    def __call__(self, q: FloatArray) -> tuple[float, tuple[str, str]]:
        """Return the smallest distance (m) at q (nq,), negative where bodies meet, and the pair of links."""
        places = self._places(q)
        return min(((self._distance(pair, places), pair) for pair in self.pairs), key=lambda one: one[0])

    def _distance(self, pair: tuple[str, str], places: dict[str, coal.Transform3s]) -> float:
        a, b = (self._shapes[name] for name in pair)
        at = [places[name] for name in pair]
        between = self._between(a.hull, at[0], b.hull, at[1])
        if between > 0.0:
            return between
        exact = self._between(a.mesh, at[0], b.mesh, at[1])
        return exact if exact > 0.0 else between

    def _between(
        self, a: coal.CollisionGeometry, at_a: coal.Transform3s, b: coal.CollisionGeometry, at_b: coal.Transform3s
    ) -> float:
        result = self._coal.DistanceResult()
        return float(self._coal.distance(a, at_a, b, at_b, self._request, result))

    def _places(self, q: FloatArray) -> dict[str, coal.Transform3s]:
        motions = self.humanoid.robot.terms(q, self._zero, self.links).motions
        found = {}
        for name, motion in zip(self.links, motions, strict=True):
            found[name] = self._coal.Transform3s(motion.R, motion.p)
        return found

    def _are_neighbours(self, a: str, b: str) -> bool:
        """Whether one joint, or none, lies between two links."""
        robot = self.humanoid.robot
        i, j = (robot.place_on_body(link)[0] for link in (a, b))
        bodies = robot.bodies()
        return i == j or bodies[i].parent == j or bodies[j].parent == i

    def _read(self, urdf: CheckedUrdf) -> dict[str, _Shape]:
        found: dict[str, _Shape] = {}
        for visual in visual_meshes(urdf):
            if visual.link in found:
                continue
            spread = np.linalg.svd(visual.vertices - visual.vertices.mean(axis=0), compute_uv=False)
            if spread[-1] <= _FLAT * spread[0]:
                raise InputError(f"link[{visual.link}].visual.mesh", str(visual.file), "a mesh that is not flat")
            mesh = self._coal.BVHModelOBBRSS()
            mesh.beginModel(len(visual.faces), len(visual.vertices))
            mesh.addVertices(visual.vertices)
            mesh.addTriangles(visual.faces)
            mesh.endModel()
            mesh.buildConvexHull(True, "Qt")
            found[visual.link] = _Shape(mesh, mesh.convex)
        return found
