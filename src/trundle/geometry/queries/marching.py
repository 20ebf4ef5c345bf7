"""Mesh of a level set by marching tetrahedra."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.geometry.boundary import Boundary
from trundle.geometry.queries.sampling import numeric_level

# The six tetrahedra of a cube whose corners are numbered x + 2 y + 4 z, all around the diagonal 0-7.
TETRAHEDRA = np.array([[0, 1, 3, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 6, 4, 7], [0, 4, 5, 7], [0, 5, 1, 7]])


def level_mesh(
    shape: Boundary, resolution: int, around: FloatArray | None, radius: float | None
) -> tuple[FloatArray, NDArray[np.intp]]:
    """Return vertices (n, 3), m, and faces (k, 3) of f = 0 in a box, moved onto the level set."""
    center = np.zeros(3) if around is None else around
    half = 1.5 * shape.reference_length if radius is None else radius
    n = max(resolution // 2, 8)
    # Off any symmetric place, so that no grid point lies on the surface exactly.
    line = np.linspace(-1, 1, n + 1) * half * 1.000317 + 1.37e-4 * half
    grid = np.stack(np.meshgrid(line, line, line, indexing="ij"), axis=-1).reshape(-1, 3) + center
    level = numeric_level(shape)
    f = level.at(grid)[0]
    i = np.arange(n)
    base = ((i[:, None, None] * (n + 1) + i[None, :, None]) * (n + 1) + i[None, None, :]).ravel()
    steps = [x * (n + 1) ** 2 + y * (n + 1) + z for z in (0, 1) for y in (0, 1) for x in (0, 1)]
    corners = base[:, None] + np.array(steps)[None]
    cells = corners[:, TETRAHEDRA].reshape(-1, 4)
    inside = f[cells] < 0
    edges = np.concatenate([_one(cells, inside), _one(cells, ~inside), _two(cells, inside)])
    pairs, inverse = np.unique(np.sort(edges.reshape(-1, 2), axis=1), axis=0, return_inverse=True)
    faces = inverse.reshape(-1, 3)
    a, b = pairs.T
    t = f[a] / (f[a] - f[b])
    x = level.onto(grid[a] + t[:, None] * (grid[b] - grid[a]), steps=5)
    p, q, r = (x[faces[:, k]] for k in range(3))
    out = np.einsum("ij,ij->i", np.cross(q - p, r - p), level.at((p + q + r) / 3)[1])
    faces[out < 0] = faces[out < 0][:, ::-1]
    return x, faces


def _one(cells: NDArray[np.intp], inside: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return triangles (k, 3, 2) as grid edges, of the cells with one corner on one side."""
    chosen = cells[inside.sum(axis=1) == 1]
    marks = inside[inside.sum(axis=1) == 1]
    alone = np.argmax(marks, axis=1)
    rows = np.arange(len(chosen))
    others = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]])[alone]
    tip = np.repeat(chosen[rows, alone][:, None], 3, axis=1)
    return np.stack([tip, chosen[rows[:, None], others]], axis=-1)


def _two(cells: NDArray[np.intp], inside: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the two triangles of each cell with two corners on each side."""
    split = inside.sum(axis=1) == 2
    order = np.argsort(~inside[split], axis=1, kind="stable")
    a, b, c, e = np.take_along_axis(cells[split], order, axis=1).T
    quad = [np.stack(pair, axis=-1) for pair in ((a, c), (a, e), (b, e), (b, c))]
    first = np.stack([quad[0], quad[1], quad[2]], axis=1)
    return np.concatenate([first, np.stack([quad[0], quad[2], quad[3]], axis=1)])
