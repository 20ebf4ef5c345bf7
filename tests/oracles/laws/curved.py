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

ROUNDS, NARROWER = 16, 0.35
"""Finer grids, each this part of the one before: a little more than two of its steps."""


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
        found += _of_facets(facets, turn, at, ground, NEAR * body.size)
    for rim in body.rims:
        found.append(_of_rim(body, rim, turn, at, ground))
    return np.array([x for x, _ in found]), np.array([height for _, height in found])


def _of_facets(facets: Facets, turn: Array, at: Array, ground: Ground, near: float) -> list[tuple[Array, float]]:
    """Return low points of flat pieces over ground: where a grid is lower than around, by grids that close in."""
    axis = None if facets.axis is None else turn @ facets.axis

    def look(weights: Array, piece: Array) -> tuple[Array, Array]:
        """Points (n, d) of the grown piece that face the ground, and their heights (n,)."""
        core = weights @ piece
        x = core
        for _ in range(3 if facets.radius else 0):
            n = ground.normal(x)
            if axis is not None:
                n = unit(n - (n @ axis)[:, None] * axis)
            x = core - facets.radius * n
        return x, ground.distance(x)

    found = []
    for piece in at + facets.corners @ turn.T:
        count = len(piece)
        grid, beside = _grid(count, STEPS[count])
        _, heights = look(grid, piece)
        around = np.where(beside >= 0, heights[beside], np.inf).min(axis=1)
        for k in np.flatnonzero((heights <= around) & (heights < near)):
            found.append(_closed_in(look, piece, grid[k], 2.0 / STEPS[count]))
    return found


def _closed_in(look, piece: Array, weights: Array, width: float) -> tuple[Array, float]:  # type: ignore[no-untyped-def]
    """Return the low point of a piece near one of its points, whose weights (corners,) are given."""
    finer, _ = _grid(len(piece), FINER)
    for _ in range(ROUNDS):
        trials = np.clip(np.vstack([weights, weights + width * (finer - 1.0 / len(piece))]), 0.0, None)
        trials /= trials.sum(axis=1, keepdims=True)
        x, heights = look(trials, piece)
        k = int(np.argmin(heights))
        weights, point, value = trials[k], x[k], float(heights[k])
        width *= NARROWER
    return point, value


def _of_rim(body: Body, rim: tuple[float, float], turn: Array, at: Array, ground: Ground) -> tuple[Array, float]:
    """Return the low point of a rim over ground, by angles that close in on the lowest."""
    z, radius = rim
    angles, width = np.linspace(-np.pi, np.pi, 96, endpoint=False), 2 * np.pi / 96
    point, value = at, np.inf
    for _ in range(14):
        circle = np.stack([radius * np.cos(angles), radius * np.sin(angles), np.full(len(angles), z)], axis=1)
        core = at + circle @ turn.T
        x = core
        for _ in range(3 if body.radius else 0):
            x = core - body.radius * ground.normal(x)
        height = ground.distance(x)
        best = int(np.argmin(height))
        if height[best] < value:
            point, value = x[best], float(height[best])
        angles = angles[best] + 1.2 * width * np.linspace(-1.0, 1.0, 13)
        width /= 4.0
    return point, value


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
