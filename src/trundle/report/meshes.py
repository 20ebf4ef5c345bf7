"""Triangles for the moving picture: checkered bodies, patches of surfaces, extruded outlines, cones."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trundle.records import SceneBody

Array = NDArray[np.float64]
Faces = NDArray[np.int64]
Colour = tuple[int, int, int]

_BODY: tuple[Colour, Colour] = ((36, 110, 185), (240, 243, 246))
_SURFACE: tuple[Colour, Colour] = ((214, 208, 196), (190, 183, 169))
FORCE: Colour = (197, 27, 58)
# Round hands are checkered by longitude and latitude, along which their meshes run in steps of pi/32: fields of
# pi/16 have straight edges. All others are checkered by squares of x and y.
_ROUND = ("dish", "sphere", "ellipsoid", "tube", "cylinder", "torus")


@dataclass(frozen=True)
class MeshPart:
    """One colour's triangles: vertices (n, 3) in m, faces (m, 3); whether both sides are seen and edges are sharp."""

    vertices: Array
    faces: Faces
    colour: Colour
    opacity: float | None = None
    double: bool = False
    sharp: bool = False


def checkered_object(body: SceneBody) -> tuple[MeshPart, ...]:
    """Return the mesh in two colours by octant and latitude, so that its turning is seen."""
    vertices, faces = _refine_triangles(body.vertices, _oriented_outwards(body.vertices, np.asarray(body.faces)), 3000)
    return _two(vertices, faces, _globe(vertices, faces, math.pi / 4), _BODY, opacity=0.45)


def paint_body(body: SceneBody, colour: Colour) -> tuple[MeshPart, ...]:
    """Return the triangles of what a description shows, in its materials' colours where it gives them."""
    faces, first, parts = np.asarray(body.faces), 0, []
    for count, own in body.shape.get("colours", [[len(faces), None]]):
        used, where = np.unique(faces[first : first + count], return_inverse=True)
        red, green, blue = own or colour
        parts.append(MeshPart(body.vertices[used], where.reshape(-1, 3), (red, green, blue), None, True, True))
        first += count
    return tuple(parts)


def checkered_surface(hand: SceneBody, path: Array, normals: Array, size: float) -> tuple[MeshPart, ...]:
    """Return the hand's surface near the contact's path, in squares; containers are seen only from inside.

    Parameters
    ----------
    hand : SceneBody
        The hand; of a plane a patch around the path is made.
    path, normals : (n, 3)
        Contact points and outward normals in the hand frame.
    size : float
        Size of the object, m.
    """
    reach = 0.5 * float(np.max(np.ptp(path, axis=0)))
    square = 0.25 * max(reach, 2.0 * size)
    if hand.shape.get("type") == "plane":
        # Its triangles end where its squares do.
        middle = square * np.round(0.5 * (path.min(axis=0) + path.max(axis=0)) / square)
        count = math.ceil(max(1.2 * reach, 2.0 * size) / square)
        vertices, faces = _patch(middle[:2], count * square, 8 * count)
    else:
        vertices, faces = hand.vertices, np.asarray(hand.faces)
        low, high = path.min(axis=0) - reach - 3 * size, path.max(axis=0) + reach + 3 * size
        if hand.shape.get("type") == "dish":
            high[2] = path[:, 2].max() + 0.7 * size
            low[:] = -np.inf
            high[:2] = np.inf
        centre = vertices[faces].mean(axis=1)
        if hand.shape.get("type") == "dish":
            centre[:, 2] = vertices[faces][:, :, 2].max(axis=1)  # whole rings: the rim is no saw
        kept = faces[np.all((centre >= low) & (centre <= high), axis=1)]
        faces = kept if len(kept) else faces
    faces = _facing(vertices, faces, path[0], normals[0])
    vertices, faces = _refine_triangles(vertices, faces, 4000)
    long = hand.shape.get("type") in ("tube", "cylinder")
    if hand.shape.get("type") in _ROUND:
        return _two(vertices, faces, _globe(hand.vertices, faces, math.pi / 16, vertices, long), _SURFACE)
    even = np.sum(np.floor(vertices[faces].mean(axis=1)[:, :2] / square + 1e-9), axis=1) % 2 == 0
    return _two(vertices, faces, even, _SURFACE)


def extruded_body(body: SceneBody, thickness: float, colours: tuple[Colour, Colour] = _BODY) -> tuple[MeshPart, ...]:
    """Return a planar outline as a slab in the x-z plane, its sectors in two colours."""
    outline = body.vertices
    if np.allclose(outline[0], outline[-1]):
        outline = outline[:-1]
    if _area(outline) < 0:
        outline = outline[::-1]
    n = len(outline)
    middle = outline.mean(axis=0)
    front, back = (_at_depth(outline, y) for y in (-0.5 * thickness, 0.5 * thickness))
    centres = np.array([[middle[0], -0.5 * thickness, middle[1]], [middle[0], 0.5 * thickness, middle[1]]])
    vertices = np.vstack([front, back, centres])
    i, j = np.arange(n), (np.arange(n) + 1) % n
    walls = np.concatenate([np.stack([i, i + n, j + n], axis=1), np.stack([i, j + n, j], axis=1)])
    first, last = np.stack([i, j, np.full(n, 2 * n)], axis=1), np.stack([j + n, i + n, np.full(n, 2 * n + 1)], axis=1)
    caps = np.concatenate([first, last])
    sector = np.floor(np.arctan2(outline[:, 1] - middle[1], outline[:, 0] - middle[0]) / (math.pi / 4))
    even = np.tile(sector % 2 == 0, 4)
    return _two(vertices, np.concatenate([walls, caps]), even, colours, sharp=True)


def extruded_hand(hand: SceneBody, thickness: float, depth: float) -> tuple[MeshPart, ...]:
    """Return a planar hand as a slab in the x-z plane; an open curve becomes a plate as thick as `depth` (m)."""
    if hand.closed:
        return extruded_body(hand, thickness, _SURFACE)
    curve = hand.vertices
    n = len(curve)
    under = curve - np.array([0.0, depth])
    rails = [(curve, -0.5), (curve, 0.5), (under, 0.5), (under, -0.5)]
    vertices = np.vstack([_at_depth(points, side * thickness) for points, side in rails])
    i = np.arange(n - 1)
    faces = []
    for a in range(4):
        low, high = a * n + i, ((a + 1) % 4) * n + i
        faces += [np.stack([low, low + 1, high + 1], axis=1), np.stack([low, high + 1, high], axis=1)]
    ends = [[e, n + e, 2 * n + e] for e in (0, n - 1)] + [[e, 2 * n + e, 3 * n + e] for e in (0, n - 1)]
    field = np.floor(16 * (i + 0.5) / n) % 2 == 0
    even = np.concatenate([np.tile(field, 8), np.ones(4, dtype=bool)])
    parts = _two(vertices, np.concatenate([*faces, np.array(ends)]), even, _SURFACE, sharp=True)
    return tuple(replace(part, double=True) for part in parts)


def extruded_terrain(terrain: SceneBody, path: Array, front_y: float, margin: float) -> tuple[MeshPart, ...]:
    """Return a planar terrain near the contact's path as a strip of ground with a front face at y = `front_y`."""
    x = terrain.vertices[:, 0]
    near = np.flatnonzero((x >= path[:, 0].min() - margin) & (x <= path[:, 0].max() + margin))
    curve = terrain.vertices[near.min() : near.max() + 1] if near.size > 1 else terrain.vertices
    n = len(curve)
    bottom = float(curve[:, 1].min()) - 0.35 * margin
    front, back = (_at_depth(curve, y) for y in (front_y, -2.5 * front_y))
    foot = front.copy()
    foot[:, 2] = bottom
    vertices = np.vstack([front, back, foot])
    i = np.arange(n - 1)
    top = np.concatenate([np.stack([i, i + 1, i + 1 + n], axis=1), np.stack([i, i + 1 + n, i + n], axis=1)])
    low = i + 2 * n
    face = np.concatenate([np.stack([low, low + 1, i + 1], axis=1), np.stack([low, i + 1, i], axis=1)])
    return (
        MeshPart(vertices, top, _SURFACE[0], double=True, sharp=True),
        MeshPart(vertices, face, _SURFACE[1], double=True, sharp=True),
    )


def revolve_profile(profile: ArrayLike, colour: Colour, opacity: float | None = None, *, sides: int = 28) -> MeshPart:
    """Return the surface that a profile (n, 2) of radii and heights (m), from below, leaves when it turns about z."""
    (r, z), n = np.asarray(profile, dtype=np.float64).T, len(np.asarray(profile))
    angle = 2 * math.pi * np.arange(sides) / sides
    rings = np.stack([np.outer(r, np.cos(angle)), np.outer(r, np.sin(angle)), np.tile(z[:, None], sides)], axis=2)
    low = np.arange(sides) + sides * np.arange(n - 1)[:, None]
    beside, up = (np.arange(sides) + 1) % sides + sides * np.arange(n - 1)[:, None], sides
    wide = (
        np.stack([low, beside, beside + up], axis=2)[r[:-1] > 0],
        np.stack([low, beside + up, low + up], axis=2)[r[1:] > 0],
    )
    return MeshPart(rings.reshape(-1, 3), np.concatenate([one.reshape(-1, 3) for one in wide]), colour, opacity)


def cylinder(radius: float, low: float, high: float, colour: Colour, opacity: float | None) -> MeshPart:
    """Return a closed cylinder along z."""
    return revolve_profile([(0.0, low), (radius, low), (radius, high), (0.0, high)], colour, opacity)


def sphere(radius: float, colour: Colour, opacity: float | None = None, along: float = 0.0, n: int = 14) -> MeshPart:
    """Return a sphere, its centre at z = `along`."""
    polar = np.linspace(math.pi, 0.0, n)
    profile = np.column_stack([radius * np.sin(polar), along + radius * np.cos(polar)])
    profile[[0, -1], 0] = 0.0
    return revolve_profile(profile, colour, opacity)


def box(size: ArrayLike, colour: Colour, opacity: float | None = None, corners: ArrayLike | None = None) -> MeshPart:
    """Return a box by its whole sides (3,) m about the origin, or by its corners (8, 3), z fastest and x slowest."""
    signs = np.stack(np.meshgrid(*[[-0.5, 0.5]] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    vertices = signs * np.asarray(size) if corners is None else np.asarray(corners, dtype=np.float64)
    quads = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
    return MeshPart(vertices, quads[:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3), colour, opacity, True, True)


def polygon(corners: ArrayLike, colour: Colour, opacity: float | None = None, sharp: bool = False) -> MeshPart:
    """Return a convex polygon (n, 3), seen from both sides."""
    vertices = np.asarray(corners, dtype=np.float64)
    fan = np.array([[0, i, i + 1] for i in range(1, len(vertices) - 1)])
    return MeshPart(vertices, fan, colour, opacity, True, sharp)


def square(half: float, middle: ArrayLike, colour: Colour, opacity: float | None = None) -> MeshPart:
    """Return a level square of sides 2 `half` (m) about its middle (3,)."""
    return polygon(
        np.asarray(middle) + half * np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]), colour, opacity
    )


def arrow_mesh(shaft: float, head: float, head_length: float) -> MeshPart:
    """Return an arrow of length 1 from the origin along z, with the given radii."""
    neck = 1.0 - head_length
    profile = [(0.0, 0.0), (shaft, 0.0), (shaft, neck), (head, neck), (0.0, 1.0)]
    return replace(revolve_profile(profile, FORCE, sides=20), sharp=True)


def cone_lines(radius: float, height: float, n: int = 48) -> Array:
    """Return a cone as line segments (m, 2, 3): rays from its tip at the origin and the rim; its axis is z."""
    angle = np.linspace(0, 2 * math.pi, n + 1)
    rim = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), np.full(n + 1, height)])
    rays = np.stack([np.zeros((n // 4, 3)), rim[:-1:4]], axis=1)
    return np.concatenate([np.stack([rim[:-1], rim[1:]], axis=1), rays])


def wedge_lines(radius: float, height: float) -> Array:
    """Return the planar friction cone as line segments (2, 2, 3) in the x-z plane."""
    return np.array([[[0.0, 0.0, 0.0], [radius, 0.0, height]], [[0.0, 0.0, 0.0], [-radius, 0.0, height]]])


def _globe(
    box: Array, faces: Faces, step: float, vertices: Array | None = None, long: bool = False
) -> NDArray[np.bool_]:
    """Return which triangles lie in even fields of longitude and latitude (rad `step`), scaled to the box of points.

    On a `long` body height, in steps as wide as those of longitude, takes the place of latitude.
    """
    vertices = box if vertices is None else vertices
    half = np.maximum(0.5 * np.ptp(box, axis=0), 1e-12)
    at = (vertices[faces].mean(axis=1) - 0.5 * (box.min(axis=0) + box.max(axis=0))) / half
    around = np.floor(np.arctan2(at[:, 1], at[:, 0]) / step)
    if long:
        ring = np.floor(at[:, 2] * half[2] / (max(half[0], half[1]) * step))
        return (around + ring) % 2 == 0
    up = np.floor(np.arccos(np.clip(at[:, 2] / np.maximum(np.linalg.norm(at, axis=1), 1e-12), -1, 1)) / step)
    return (around + up) % 2 == 0


def _two(
    vertices: Array,
    faces: Faces,
    even: NDArray[np.bool_],
    colours: tuple[Colour, Colour],
    opacity: float | None = None,
    sharp: bool = False,
) -> tuple[MeshPart, ...]:
    parts = []
    for chosen, colour in ((even, colours[0]), (~even, colours[1])):
        if chosen.any():
            used, where = np.unique(faces[chosen], return_inverse=True)
            parts.append(MeshPart(vertices[used], where.reshape(-1, 3), colour, opacity, sharp=sharp))
    return tuple(parts)


def _at_depth(points: Array, y: float) -> Array:
    """Return planar points (n, 2) as points (n, 3) of the plane at depth `y`."""
    return np.column_stack([points[:, 0], np.full(len(points), y), points[:, 1]])


def _patch(middle: Array, half: float, n: int) -> tuple[Array, Faces]:
    axis = np.linspace(-half, half, n + 1)
    x, y = np.meshgrid(middle[0] + axis, middle[1] + axis, indexing="ij")
    vertices = np.stack([x, y, np.zeros_like(x)], axis=-1).reshape(-1, 3)
    i, j = (index.ravel() for index in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    a = i * (n + 1) + j
    b, c, d = a + n + 1, a + n + 2, a + 1
    return vertices, np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])


def _refine_triangles(vertices: Array, faces: Faces, least: int) -> tuple[Array, Faces]:
    """Split every triangle into four until there are at least `least`: colours are given by triangle."""
    while len(faces) < least:
        edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
        unique, where = np.unique(edges, axis=0, return_inverse=True)
        middle = len(vertices) + where.reshape(3, -1)
        vertices = np.vstack([vertices, 0.5 * (vertices[unique[:, 0]] + vertices[unique[:, 1]])])
        (a, b, c), (p, q, r) = faces.T, middle
        faces = np.concatenate([np.stack(t, axis=1) for t in ((a, p, r), (p, b, q), (r, q, c), (p, q, r))])
    return vertices, faces


def _oriented_outwards(vertices: Array, faces: Faces) -> Faces:
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    volume = np.sum(a * np.cross(b, c))
    return faces[:, ::-1] if volume < 0 else faces


def _facing(vertices: Array, faces: Faces, point: Array, normal: Array) -> Faces:
    """Turn all triangles so that the one nearest to `point` has `normal` in front."""
    nearest = faces[int(np.argmin(np.sum((vertices[faces].mean(axis=1) - point) ** 2, axis=1)))]
    a, b, c = vertices[nearest]
    return faces[:, ::-1] if np.cross(b - a, c - a) @ normal < 0 else faces


def _area(outline: Array) -> float:
    x, z = outline.T
    return 0.5 * float(np.sum(x * np.roll(z, -1) - z * np.roll(x, -1)))
