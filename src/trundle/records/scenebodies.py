"""What a picture needs to know of a body: its surface or outline, and which shape that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trundle import checks
from trundle.errors import InputError

ROLES = ("object", "hand", "body", "terrain", "link")


@dataclass(frozen=True)
class SceneBody:
    """A body as pictures and metrics see it, stored inside ``trajectory.nc``.

    Parameters
    ----------
    name : str
        Name of the body; for moving planar bodies the label on the axis ``body``.
    role : str
        ``object`` and ``hand``, ``body`` and ``terrain``; ``link``: of a body of a tree, lines between its joints, or
        triangles of what its description shows.
    vertices : array_like (n, 3) or (n, 2)
        Points of the surface or outline in m, in the shape's frame (its origin is the shape's origin; in the plane
        x and z).
    faces : array_like (m, 3) of int, optional
        Triangles; only in space.
    closed : bool
        Whether a planar outline is closed.
    shape : mapping
        The shape as in a scenario file, ``{"type": "sphere", "radius": 0.2}``: metrics recompute the contact from it.
    center_of_mass : array_like (d,)
        In the shape's frame, m.
    """

    name: str
    role: str
    vertices: NDArray[np.float64]
    faces: NDArray[np.int64] | None = None
    closed: bool = True
    shape: Mapping[str, Any] = field(default_factory=dict)
    center_of_mass: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        """Check shapes and types, and make the arrays read-only."""
        checks.choice("role", self.role, ROLES)
        vertices = np.asarray(self.vertices)
        d = int(vertices.shape[1]) if vertices.ndim == 2 and vertices.shape[1] in (2, 3) else 3
        object.__setattr__(self, "vertices", checks.array("vertices", self.vertices, (None, d), unit="m"))
        com = np.zeros(d) if self.center_of_mass is None else self.center_of_mass
        object.__setattr__(self, "center_of_mass", checks.array("center_of_mass", com, (d,), unit="m"))
        object.__setattr__(self, "shape", dict(self.shape))
        if (self.faces is None) == (d == 3) and not (self.faces is None and self.role == "link"):
            raise InputError("faces", self.faces, "given for a body in space and left out in the plane")
        if self.faces is not None:
            given = np.asarray(self.faces)
            right = given.dtype.kind in "iuf" and np.isin(given, np.arange(len(self.vertices))).all()
            if given.ndim != 2 or given.shape[1] != 3 or not right:
                raise InputError("faces", f"array of shape {given.shape}", "(m, 3) indices of vertices")
            faces = given.astype(np.int64)
            faces.setflags(write=False)
            object.__setattr__(self, "faces", faces)

    @property
    def dimension(self) -> int:
        """2 in the plane, 3 in space."""
        return int(self.vertices.shape[1])
