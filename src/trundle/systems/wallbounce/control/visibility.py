"""The shortest path of a robot's place round what it keeps out of: Dijkstra's algorithm on a visibility graph."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from trundle.checks import FloatArray
from trundle.contact.walls import Wall
from trundle.systems.wallbounce.control.costs import KeepOutDisc

_CORNERS = 16
"""Of the polygon round a disc: its sides touch the disc, which its corners exceed by 2 %."""
_FAR = 1e3  # m, of the ray behind a disc whose side is given
_SLACK = 1e-6  # m, a path may be nearer to a disc, by rounding


def shortest_path(
    start: ArrayLike,
    goal: ArrayLike,
    discs: Sequence[KeepOutDisc],
    sides: Sequence[FloatArray | None] = (),
    walls: Sequence[Wall] = (),
    clear: Sequence[tuple[float, float]] = ((0.0, 0.0),),
    turning: ArrayLike = (0.0, 0.0),
) -> FloatArray | None:
    """Return the corners (n, 2), m, of the shortest path from start to goal, both included; None: there is no way.

    Nodes of the graph are start, goal and the corners of polygons round the discs; two are joined where the segment
    between them stays out of all discs: of the ways left and right of each, the shortest is kept. The first segment, of
    direction e, costs |w| - w . e more than its length.

    Parameters
    ----------
    start, goal : (2,) m
        Where one of them lies in a disc, the path leads out of it without going deeper.
    discs : sequence of KeepOutDisc
    sides : sequence of (2,) or None
        Unit vector from each disc to the side on which it is passed, a ray on the other side being closed; None:
        either.
    walls : sequence of Wall
    clear : sequence of (float, float), m
        Heights, and the least distance of corners from walls there.
    turning : (2,) m
        w, the velocity at the start times the time that it takes to turn it.
    """
    ends = np.array([start, goal], dtype=np.float64)
    if np.linalg.norm(ends[1] - ends[0]) < _SLACK:
        return ends
    corners = np.concatenate([_polygon(disc) for disc in discs]) if discs else np.zeros((0, 2))
    for wall, (height, least) in product(walls, clear):
        corners = corners[corners @ wall.normal[:2] + height * wall.normal[2] - wall.offset >= least]
    nodes = np.concatenate([ends, corners])
    i, j = _find_visible_pairs(nodes, discs, [*sides, *[None] * (len(discs) - len(sides))])
    legs, w = nodes[j] - nodes[i], np.asarray(turning, dtype=np.float64)
    lengths = np.linalg.norm(legs, axis=1)
    lengths[i == 0] += np.linalg.norm(w) - (legs[i == 0] @ w) / np.maximum(lengths[i == 0], _SLACK)
    graph = csr_array((lengths, (i, j)), shape=(len(nodes), len(nodes)))
    costs, before = dijkstra(graph, directed=False, indices=0, return_predecessors=True)
    if not np.isfinite(costs[1]):
        return None
    path = [1]
    while path[-1] != 0:
        path.append(int(before[path[-1]]))
    return nodes[path[::-1]]


def side_of(path: FloatArray, disc: KeepOutDisc, sideways: FloatArray) -> FloatArray | None:
    """Return on which side of a disc a path (n, 2), m, passes it: `sideways` (2,) or its opposite; None: neither."""
    rays = ((side, disc.center + _FAR * side) for side in (sideways, -sideways))
    return next((side for side, end in rays if _crossing(path[:-1], path[1:], disc.center, end).any()), None)


def distance(disc: KeepOutDisc, places: ArrayLike) -> FloatArray:
    """Return the distances of places (n, 2) from a disc, m, negative inside."""
    return _to_segment(np.atleast_2d(np.asarray(places, dtype=np.float64)), *disc.core) - disc.radius


def _find_visible_pairs(
    nodes: FloatArray, discs: Sequence[KeepOutDisc], sides: Sequence[FloatArray | None]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return which nodes (n, 2), the first two of which are the ends, see each other: the lower and the higher."""
    i, j = np.triu_indices(len(nodes), 1)
    p, q = nodes[i], nodes[j]
    free = np.ones(len(i), dtype=bool)
    for disc, side in zip(discs, sides, strict=True):
        a, b = disc.core
        least = np.full(len(nodes), float(disc.radius))
        least[:2] = np.minimum(least[:2], _to_segment(nodes[:2], a, b))
        free &= _apart(p, q, a, b) >= np.minimum(least[i], least[j]) - _SLACK
        if side is not None:
            free &= ~_crossing(p, q, disc.center, disc.center - _FAR * side)
    return i[free], j[free]


def _polygon(disc: KeepOutDisc) -> FloatArray:
    angles = (np.arange(_CORNERS) + 0.5) * 2.0 * np.pi / _CORNERS
    outward = np.column_stack([np.cos(angles), np.sin(angles)])
    # 1e-9 more: else rounding decides whether a side touches the disc.
    out = (disc.radius + 1e-9) / np.cos(np.pi / _CORNERS)
    return np.asarray(disc.center) + np.sign(outward) * disc.half + out * outward


def _apart(p: FloatArray, q: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    """Distances (m,) of segments p-q (m, 2) from the segment a-b (2,), m."""
    ends = np.minimum(_to_segment(p, a, b), _to_segment(q, a, b))
    near = np.minimum(_to_segment(a, p, q), _to_segment(b, p, q))
    return np.where(_crossing(p, q, a, b), 0.0, np.minimum(ends, near))


def _to_segment(x: FloatArray, u: FloatArray, v: FloatArray) -> FloatArray:
    """Distances of points x from segments u-v, the one or the other (m, 2) and the rest (2,), m."""
    along = v - u
    share = np.sum((x - u) * along, axis=-1) / np.maximum(np.sum(along**2, axis=-1), 1e-30)
    return np.linalg.norm(x - u - np.clip(share, 0.0, 1.0)[..., None] * along, axis=-1)


def _crossing(p: FloatArray, q: FloatArray, a: FloatArray, b: FloatArray) -> NDArray[np.bool_]:
    """Whether segments p-q (m, 2) cross the segment a-b (2,)."""

    def turn(u: FloatArray, v: FloatArray, x: FloatArray) -> FloatArray:
        return (v - u)[..., 0] * (x - u)[..., 1] - (v - u)[..., 1] * (x - u)[..., 0]

    return (turn(a, b, p) * turn(a, b, q) < 0.0) & (turn(p, q, a) * turn(p, q, b) < 0.0)
