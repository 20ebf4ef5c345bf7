"""Bodies over curved ground that is known by its signed distance: the points of a body that may touch it."""

from __future__ import annotations

from functools import cache

import numpy as np

from .grounds import Ground
from .shapes import Array, Body, Facets, unit

STEPS = {2: 64, 3: 12}
"""Of the first grid over a flat piece, by its number of corners; finer ones follow around its low points."""

FINER = 8
"""Steps of a finer grid."""

NEAR = 0.1
"""In sizes: lower points than this are looked at closely."""

LOW = 0.04
"""In sizes: grid points that are higher have no touching one beside them, on ground curved by less than 1/size."""

ROUNDS, NARROWER = 11, 0.35
"""Finer grids, each this part of the one before: a little more than two of its steps; heights are then right to 1e-11.
"""

RIM, RIM_ROUNDS = 96, 10
"""Angles around a rim, and how often finer ones follow around the low points."""


def low_points(body: Body, turn: Array, at: Array, ground: Ground) -> tuple[Array, Array]:
    """Return the points (k, d) of a body where its height over the ground is least nearby, and the heights (k,) m.

    `turn` and `at` place the body in the ground's frame. The lowest of all is among them.
    """
    surface = at + body.surface @ turn.T
    heights = ground.distance(surface)
    k = int(np.argmin(heights))
    point, value = surface[k], float(heights[k])
    if abs(value) > NEAR * body.size:
        return point[None], np.array([value])
    found = [_lowest(body, turn, at, ground, point, value)]
    if body.radius == 0.0:
        corners = at + body.corners @ turn.T
        found += [(x, float(h)) for x, h in zip(corners, ground.distance(corners), strict=True)]
    for facets in body.facets:
        found += _of_facets(facets, turn, at, ground, LOW * body.size)
    for rim in body.rims:
        found += _of_rim(body, rim, turn, at, ground, LOW * body.size)
    return np.array([x for x, _ in found]), np.array([height for _, height in found])


def _of_facets(facets: Facets, turn: Array, at: Array, ground: Ground, near: float) -> list[tuple[Array, float]]:
    """Return low points of flat pieces over ground: where a grid is lower than around, by grids that close in."""
    axis = None if facets.axis is None else turn @ facets.axis
    pieces = at + facets.corners @ turn.T
    corners, d = pieces.shape[1:]

    def look(weights: Array, piece: Array) -> tuple[Array, Array]:
        """Points (k, n, d) of the grown pieces that face the ground, and their heights (k, n)."""
        core = (weights @ piece).reshape(-1, d)
        x = core
        for _ in range(3 if facets.radius else 0):
            n = ground.normal(x)
            if axis is not None:
                n = unit(n - (n @ axis)[:, None] * axis)
            x = core - facets.radius * n
        shape = weights.shape[:-1] if weights.ndim == 3 else (len(piece), len(weights))
        return x.reshape(*shape, d), ground.distance(x).reshape(shape)

    grid, beside = _grid(corners, STEPS[corners])
    _, heights = look(grid, pieces)
    around = np.where(beside >= 0, heights[:, beside], np.inf).min(axis=2)
    of, k = np.nonzero((heights <= around) & (heights < near))
    if not len(of):
        return []
    points, values = _closed_in(look, pieces[of], grid[k], 2.0 / STEPS[corners])
    return [(x, float(height)) for x, height in zip(points, values, strict=True)]


def _closed_in(look, pieces: Array, weights: Array, width: float) -> tuple[Array, Array]:  # type: ignore[no-untyped-def]
    """Return the low points (k, d) of pieces near points of theirs, whose weights (k, corners) are given."""
    corners = weights.shape[1]
    moves = np.vstack([np.zeros((1, corners)), _grid(corners, FINER)[0] - 1.0 / corners])
    rows = np.arange(len(weights))
    points, values = np.zeros(0), np.zeros(0)
    for _ in range(ROUNDS):
        trials = np.clip(weights[:, None] + width * moves, 0.0, None)
        trials /= trials.sum(axis=2, keepdims=True)
        x, heights = look(trials, pieces)
        best = np.argmin(heights, axis=1)
        weights, points, values = trials[rows, best], x[rows, best], heights[rows, best]
        width *= NARROWER
    return points, values


def _of_rim(
    body: Body, rim: tuple[float, float], turn: Array, at: Array, ground: Ground, near: float
) -> list[tuple[Array, float]]:
    """Return the low points of a rim over ground, by angles that close in on those lower than beside."""
    z, radius = rim

    def look(angles: Array) -> tuple[Array, Array]:
        """Points (k, n, d) of the rim at angles (k, n), rounded towards the ground, and their heights (k, n)."""
        circle = [radius * np.cos(angles), radius * np.sin(angles), np.full(angles.shape, z)]
        core = (at + np.stack(circle, axis=-1) @ turn.T).reshape(-1, len(at))
        x = core
        for _ in range(3 if body.radius else 0):
            x = core - body.radius * ground.normal(x)
        return x.reshape(*angles.shape, -1), ground.distance(x).reshape(angles.shape)

    around, width = np.linspace(-np.pi, np.pi, RIM, endpoint=False), 2 * np.pi / RIM
    heights = look(around[None])[1][0]
    low = (heights <= np.roll(heights, 1)) & (heights <= np.roll(heights, -1)) & (heights < near)
    low[np.argmin(heights)] = True
    angles = around[low]
    rows = np.arange(len(angles))
    points, values = np.zeros((0, len(at))), np.zeros(0)
    for _ in range(RIM_ROUNDS):
        trials = angles[:, None] + 1.2 * width * np.linspace(-1.0, 1.0, 13)
        x, heights = look(trials)
        best = np.argmin(heights, axis=1)
        angles, points, values = trials[rows, best], x[rows, best], heights[rows, best]
        width /= 4.0
    return [(x, float(height)) for x, height in zip(points, values, strict=True)]


@cache
def _grid(corners: int, steps: int) -> tuple[Array, Array]:
    """Return weights (n, corners) of a grid over a simplex, and the numbers (n, m) of the points beside, -1 none."""
    counts = np.array(list(np.ndindex(*(steps + 1,) * corners)))
    counts = counts[counts.sum(axis=1) == steps]
    number = {tuple(c): i for i, c in enumerate(counts.tolist())}
    moves = [c - d for c in np.eye(corners, dtype=int) for d in np.eye(corners, dtype=int) if np.any(c != d)]
    beside = np.array([[number.get(tuple((c + move).tolist()), -1) for move in moves] for c in counts])
    return counts / steps, beside


def _lowest(body: Body, turn: Array, at: Array, ground: Ground, point: Array, value: float) -> tuple[Array, float]:
    """Return a lower point of a body over ground: the support point against the ground's normal there, repeatedly."""
    for _ in range(30):
        n = ground.normal(point[None])
        u = -n @ turn
        there = at + (body.core(u)[0] + body.radius * u[0]) @ turn.T
        below = float(ground.distance(there[None])[0])
        share = 1.0
        while below > value and share > 1e-3 and body.radius == 0.0 and not len(body.corners):
            share /= 2
            mixed = unit(share * u + (1 - share) * unit((point - at)[None] @ turn))
            there = at + (body.core(mixed)[0] + body.radius * mixed[0]) @ turn.T
            below = float(ground.distance(there[None])[0])
        if below >= value - 1e-12 * body.size:
            return point, value
        point, value = there, below
    return point, value
