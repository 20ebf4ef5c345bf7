"""Clouds: points all over a boundary, faces and edges included, and the quick distance of many points to a shape."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.geometry.chart import ChartRange
from trundle.geometry.queries.sampling import RowFunction, numeric_level, numeric_support
from trundle.geometry.shape import Shape
from trundle.numerics.compiled.buffered import BufferedFunction
from trundle.threads import cached_property

_RESOLUTION = {2: 512, 3: 40}
_PARTS = {2: 256, 3: 28}
"""Into how many parts the extent of a shape is divided for the spacing of its cloud."""
_FEW, _PROBES, _ZOOMS = 4, 24, 7
_BESIDE = 1.5
"""How far from a point of a cloud, in its spacings, those are that count as around it."""
_SLOPE, _MANY = 2.0, 2000
"""How much higher than the lowest one, in spacings, a point may be that is lower than all around it, and how many are
compared: rough distances rise with the slope of the ground."""
_CLOSER = 0.35  # part of a zoom's reach that the next one has
_MOVED = 0.75
"""Part of their reach from which the best of probes is on the way to the least."""
_CLOSE = 0.05
"""Distance, in sizes, under which rough distances tell where the exact one is least."""
_NEWTON = 20  # steps of Newton's method at most
_TURNS, _SETTLED = 8, 1e-7
"""From foot to foot: so often, or until the distance changes by less, in sizes."""
_LEVEL = 1e-9
"""How much lower than the nearest point, in sizes, others may be along its gradient."""
_STRIDES = 0.25 ** np.arange(8)
"""Parts of the way to the lowest point."""
_PATTERN = 2.399963229728653
"""rad, the golden angle: probes around a point."""


Nearest = tuple[FloatArray, float, FloatArray]
"""A point (d,) of a boundary, in its shape's frame, its distance to another shape, m, and the gradient of that (d,)."""


def bounding_ball(shape: Shape) -> tuple[FloatArray, float] | None:
    """Return centre (d,) and radius, m, of a ball around a shape; None: it has no end."""
    return shape.numeric(_ball)


def _ball(shape: Shape) -> tuple[FloatArray, float] | None:
    support = shape.representations.support
    if support is not None:
        axes = np.concatenate([np.eye(shape.d), -np.eye(shape.d)])
        h = numeric_support(shape).at(axes + 1e-9)[0]
        center = (h[: shape.d] - h[shape.d :]) / 2
        points = _points(shape)
        return center, float(np.linalg.norm(points - center, axis=1).max()) * (1 + 2e-3)
    try:
        points = _points(shape)
    except InputError:
        return None
    if not shape.representations.charts and _ends_at_a_box(shape):
        return None
    center = (points.min(axis=0) + points.max(axis=0)) / 2
    return center, float(np.linalg.norm(points - center, axis=1).max()) * (1 + 2e-2)


def _ends_at_a_box(shape: Shape) -> bool:
    """Return whether the mesh of a level set, which is made in a box, has an edge with a face on one side alone."""
    faces = shape.mesh(_RESOLUTION[shape.d])[1]
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    return bool(np.any(np.unique(edges, axis=0, return_counts=True)[1] == 1))


def _points(shape: Shape) -> FloatArray:
    """Return the vertices of a mesh."""
    made = shape.mesh(_RESOLUTION[shape.d])
    points = made if shape.d == 2 else made[0]
    points = points[np.isfinite(points).all(axis=1)]
    corners = [f.at for f in shape.representations.features if not f.axes]
    return np.concatenate([points, np.reshape(corners, (-1, shape.d))])


def data_ranges(shape: Shape) -> tuple[ChartRange, ...]:
    """Return the ranges of x (and y), m, over which a measured graph has data; nothing for any other shape."""
    graph = shape.representations
    if graph.height is None or not graph.charts:
        return ()
    chart = graph.charts[0]
    ranges = chart.ranges
    if not ranges or not all(r.bounded and not r.periodic for r in ranges):
        return ()
    middle = [0.4 * r.low + 0.6 * r.high for r in ranges]
    point = np.asarray(ca.evalf(ca.densify(chart.point(ca.SX(ca.DM(middle)))))).ravel()
    return ranges if np.allclose(point[: shape.d - 1], middle, rtol=1e-12) else ()


class Cloud:
    """Points of the boundary of a bounded shape, at most ``spacing`` (m) from any other point of it (final).

    Flat faces have as many as round ones: the faces of a mesh are filled.
    """

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self.points, self.spacing = shape.numeric(_fill_shape)
        self._convex = shape.representations.support is not None and not shape.representations.hull

    def least(self, cover: Cover, R: FloatArray, p: FloatArray) -> Nearest:
        """Return the point (d,) of the boundary with the least distance to the `cover`, that distance, its gradient.

        R (d, d), p (d,) m: the pose of the shape in the cover's frame.
        """
        rough = cover.roughly(self.points @ R.T + p)
        places = self.points[self._low_points(rough)]
        s, gradient = cover.exactly(places @ R.T + p)
        size, lowest = self._shape.reference_length, float(np.min(s))
        found = []
        # The least around a point may be lower by the way to it.
        for k in np.flatnonzero(s <= lowest + self.spacing):
            best = places[k], float(s[k]), gradient[k]
            if not cover.quick and best[1] > _CLOSE * size:
                found.append(self._alternating(cover, R, p, best))
            elif best[1] > 4.0 * (self.spacing + size):
                found.append(best)
            else:
                found.append(self._strode(cover, R, p, self._zoom_in(cover, R, p, best)))
        return min(found, key=lambda nearest: nearest[1])

    def _low_points(self, rough: FloatArray) -> NDArray[np.intp]:
        """Return the points, by number, that are lower by `rough` distances (n,) than all around them, lowest first.

        In a hollow a body is near on two sides, and which one is nearer the points alone do not tell.
        """
        few = np.flatnonzero(rough <= float(np.min(rough)) + _SLOPE * self.spacing)
        few = few[np.argsort(rough[few], kind="stable")][:_MANY]
        # What is lower than one of these is one of them: earlier ones are lower.
        pairs = cKDTree(self.points[few]).query_pairs(_BESIDE * self.spacing, output_type="ndarray")
        lowest = np.ones(len(few), dtype=bool)
        lowest[pairs.max(axis=1, initial=0)] = False
        lowest[0] = True
        return few[lowest][:_FEW]

    def around(self, cover: Cover, R: FloatArray, p: FloatArray, x: FloatArray) -> Nearest:
        """Return the least within a spacing or two of a point `x` (d,) of the boundary."""
        s, gradient = cover.exactly((R @ x + p)[None])
        return self._strode(cover, R, p, self._zoom_in(cover, R, p, (x, float(s[0]), gradient[0])))

    def _zoom_in(self, cover: Cover, R: FloatArray, p: FloatArray, best: Nearest) -> Nearest:
        """Return the least around a point of the boundary, from probes on it that come closer and closer."""
        x, gap, normal = best
        reach, least = self.spacing, gap if cover.quick else float(cover.roughly((R @ x + p)[None])[0])
        moves = zooms = 0
        while zooms < _ZOOMS:
            places = self._shape.closest(x + reach * _pattern(self._shape.d))
            there = places @ R.T + p
            s = cover.exactly(there)[0] if cover.quick else cover.roughly(there)
            k, way = int(np.argmin(s)), 0.0
            if float(s[k]) < least:
                way = float(np.linalg.norm(places[k] - x))
                x, least = places[k], float(s[k])
            if way > _MOVED * reach and moves < _ZOOMS:
                moves += 1
            else:
                reach, zooms = _CLOSER * reach, zooms + 1
        there = R @ x + p
        s, gradient = cover.close_by(there, R @ best[0] + p - gap * normal)
        return (x, s, gradient) if s < gap else (best[0], gap, normal)

    def least_near(self, cover: Cover, R: FloatArray, p: FloatArray, x: FloatArray, foot: FloatArray) -> Nearest | None:
        """Return the least around a point `x` (d,) of the boundary, with a `foot` (d,) close to its own; or None."""
        found = cover.near(R @ x + p, foot)
        if found is None or found[0] <= _CLOSE * self._shape.reference_length:
            return None
        return self._alternating(cover, R, p, (x, *found))

    def _alternating(self, cover: Cover, R: FloatArray, p: FloatArray, best: Nearest) -> Nearest:
        """Return the least around a point of the boundary: the point nearest to its foot, and so on."""
        settled = _SETTLED * self._shape.reference_length
        for _ in range(_TURNS):
            x, gap, normal = best
            foot = R @ x + p - gap * normal
            closer = self._shape.closest((R.T @ (foot - p))[None])[0]
            there = R @ closer + p
            quick = cover.near(there, foot)
            if quick is None or not quick[0] < gap:
                quick = cover.exactly_at(there)
            if not quick[0] < gap:
                break
            best = closer, quick[0], quick[1]
            if gap - best[1] < settled:
                break
        return self._strode(cover, R, p, best)

    def _strode(self, cover: Cover, R: FloatArray, p: FloatArray, best: Nearest) -> Nearest:
        """Return the least on the ways to the points of a convex boundary that are lowest along the gradient.

        Along an edge or a face that is nearly parallel to the other shape points fall so little that probes, and
        points nearest to feet, stay where they are. On the other side of the plane across the gradient there is no
        point that is lower by more than the lowest one (Frank and Wolfe 1956).
        """
        if not self._convex:
            return best
        lowest, size = numeric_support(self._shape), self._shape.reference_length
        for _ in range(_TURNS):
            x, gap, normal = best
            way = lowest.at(-(R.T @ normal)[None])[1][0] - x
            if not -float(normal @ (R @ way)) > _LEVEL * size:
                break
            places = self._shape.closest(x + _STRIDES[:, None] * way)
            rough = cover.roughly(np.vstack([x, places]) @ R.T + p)
            k = int(np.argmin(rough[1:]))
            if not rough[1 + k] < rough[0]:
                break
            s, gradient = cover.close_by(R @ places[k] + p, R @ x + p - gap * normal)
            if not s < gap:
                break
            best = places[k], s, gradient
        return best


def _pattern(d: int) -> FloatArray:
    """Return points (m, d) within the unit ball."""
    if d == 2:
        angle = 2 * np.pi * np.arange(_PROBES) / _PROBES
        return np.concatenate([r * np.stack([np.cos(angle[::2]), np.sin(angle[::2])], axis=1) for r in (1.0, 0.5)])
    i = np.arange(2 * _PROBES) + 0.5
    z = 1 - i / _PROBES
    flat = np.sqrt(1 - z * z)
    sphere = np.stack([flat * np.cos(_PATTERN * i), flat * np.sin(_PATTERN * i), z], axis=1)
    return sphere * np.where(np.arange(len(i)) % 2, 1.0, 0.5)[:, None]


def _fill_shape(shape: Shape) -> tuple[FloatArray, float]:
    made = shape.mesh(_RESOLUTION[shape.d])
    vertices, faces = (made, None) if shape.d == 2 else made
    extent = float(np.ptp(vertices[np.isfinite(vertices).all(axis=1)], axis=0).max()) or shape.reference_length
    spacing = extent / _PARTS[shape.d]
    parts = [_points(shape)]
    if faces is None:
        ends = np.stack([vertices[:-1], vertices[1:]], axis=1)
        for a, b in ends[np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) > spacing]:
            count = int(np.ceil(np.linalg.norm(b - a) / spacing))
            parts.append(a + (np.arange(1, count) / count)[:, None] * (b - a))
    else:
        corners = vertices[faces]
        longest = np.max([np.linalg.norm(corners[:, i] - corners[:, i - 1], axis=1) for i in range(3)], axis=0)
        for face, length in zip(corners[longest > spacing], longest[longest > spacing], strict=True):
            parts.append(_grid(int(np.ceil(length / spacing))) @ face)
    points = np.concatenate(parts)
    points = np.unique(np.round(points / (0.2 * spacing)).astype(np.int64), axis=0, return_index=True)[1]
    chosen = np.concatenate(parts)[np.sort(points)]
    return shape.closest(chosen), spacing


def _grid(count: int) -> FloatArray:
    """Return barycentric coordinates (m, 3) of a triangle in `count` parts a side."""
    i, j = (g.ravel() for g in np.meshgrid(np.arange(count + 1), np.arange(count + 1), indexing="ij"))
    inside = i + j <= count
    i, j = i[inside], j[inside]
    return np.stack([i, j, count - i - j], axis=1) / count


class Cover:
    """The distance of points to a shape: exactly, which takes long, or roughly and of many (final).

    A rough one is right to first order near the boundary and has the sign of the exact one. ``quick``: exact ones take
    hardly longer.
    """

    def __init__(self, shape: Shape) -> None:
        self._shape, self._data = shape, data_ranges(shape)
        known = shape.representations
        self.quick = known.distance is not None or (known.support is not None and not known.hull)

    def exactly(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return distances (m,), m, and their gradients (m, d); beyond its data a measured graph has no inside."""
        s, gradient = self._shape.distance(points)
        beyond = self._beyond(points) & (s < 0)
        return np.where(beyond, -s, s), np.where(beyond[:, None], -gradient, gradient)

    def exactly_at(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the distance of a point (d,), m, and its gradient (d,)."""
        s, gradient = self.exactly(x[None])
        return float(s[0]), gradient[0]

    def close_by(self, x: FloatArray, foot: FloatArray) -> tuple[float, FloatArray]:
        """Return the same of a point close to one whose `foot` (d,) is known."""
        return (None if self.quick else self.near(x, foot)) or self.exactly_at(x)

    def near(self, x: FloatArray, foot: FloatArray) -> tuple[float, FloatArray] | None:
        """Return the distance of a point (d,), m, and its gradient (d,), from a `foot` (d,) close to its own; or None.

        Newton on y - x + m grad f(y) = 0 and f(y) = 0 of a level set; None where it leaves.
        """
        level = self._level
        if level is None:
            return None
        d, y = len(x), np.array(foot)
        f, gradient = 0.0, np.zeros(d)
        m = None
        for _ in range(_NEWTON):
            values = level(y)[0]
            f, gradient, hessian = float(values[0]), values[1 : 1 + d], values[1 + d :].reshape(d, d)
            square = float(gradient @ gradient)
            if not np.isfinite(values).all() or not square > 0:
                return None
            m = float((x - y) @ gradient) / square if m is None else m
            matrix = np.zeros((d + 1, d + 1))
            matrix[:d, :d] = np.eye(d) + m * hessian
            matrix[:d, d] = matrix[d, :d] = gradient
            right = -np.append(y - x + m * gradient, f)
            try:
                step = np.linalg.solve(matrix, right)
            except np.linalg.LinAlgError:
                return None
            y, m = y + step[:d], m + float(step[d])
            if float(np.abs(step[:d]).max()) <= 1e-13 * (1.0 + float(np.abs(y).max())):
                break
        else:
            return None
        s = float(np.copysign(np.linalg.norm(x - y), (x - y) @ gradient))
        normal = gradient / np.linalg.norm(gradient)
        if self._data and bool(self._beyond(x[None])[0]):
            return None
        return s, normal

    @cached_property
    def _level(self) -> BufferedFunction | None:
        level = self._shape.representations.level
        if level is None:
            return None
        x = ca.SX.sym("x", self._shape.d)
        f = level.level(x)
        hessian, gradient = ca.hessian(f, x)
        values = ca.densify(ca.vertcat(f, gradient, ca.vec(hessian)))
        return BufferedFunction(ca.Function("level", [x], [values], {"cse": True}))

    def _beyond(self, points: FloatArray) -> NDArray[np.bool_]:
        """Return which points (m,) are beside the data of a measured graph."""
        outside = np.zeros(len(points), dtype=bool)
        for r, x in zip(self._data, points.T, strict=False):
            outside |= (x < r.low) | (x > r.high)
        return outside

    def roughly(self, points: FloatArray) -> FloatArray:
        """Return distances (m,), m."""
        shape, known = self._shape, self._shape.representations
        if known.distance is not None:
            return shape.distance(points)[0]
        if known.height is not None:
            height = shape.numeric(_heights)(points[:, :-1])[:, 0]
            up = points[:, -1] - np.where(np.isfinite(height), height, -np.inf)
            return np.where(self._beyond(points), np.abs(up), up)
        if known.level is not None:
            f, gradient, _ = numeric_level(shape).at(points)
            return f / np.maximum(np.linalg.norm(gradient, axis=1), 1e-12)
        if known.support is not None and not known.hull:
            return shape.distance(points)[0]
        tree, samples, normals = shape.numeric(_tree)
        nearest = tree.query(points)[1]
        return np.einsum("ij,ij->i", normals[nearest], points - samples[nearest])


def _heights(shape: Shape) -> RowFunction:
    height = shape.representations.height
    if height is None:
        raise TypeError(f"{type(shape).__name__} is no graph")
    return RowFunction(height)


def _tree(shape: Shape) -> tuple[cKDTree, FloatArray, FloatArray]:
    samples, normals = shape.sample(20_000)
    return cKDTree(samples), samples, normals
