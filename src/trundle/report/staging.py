"""The nouns of a moving picture, and what every kind of run samples for it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trundle.numerics.rotations import rotation_matrices
from trundle.records import Trajectory
from trundle.report.meshes import MeshPart, cone_lines, wedge_lines

Array = NDArray[np.float64]
Line = tuple[Array, tuple[int, int, int], str]
"""Points (n, 3), m, colour and row of the legend."""

FRAMES_PER_SECOND = 30.0  # of pages and videos
MOST_FRAMES = 1800  # a minute of motion; longer runs are shown faster
FIELD_OF_VIEW = 0.72
"""rad, from the lower to the upper edge of the picture."""


@dataclass(frozen=True)
class Actor:
    """A body that moves: coloured meshes in its own frame and its pose at each of k frames, world.

    `label` is its row in the legend, one for all actors of that label; a `ghost` shows what is only planned and never
    hides what is; of k frames `shown` (k,) says in which it is there.
    """

    name: str
    parts: tuple[MeshPart, ...]
    positions: Array
    quaternions: Array
    lines: tuple[Line, ...] = ()
    label: str = "bodies"
    ghost: bool = False
    shown: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Stage:
    """Everything the viewer draws.

    Parameters
    ----------
    seconds : float
        Playing time between two frames; the motion's own time between them is `lapse` times that.
    actors : tuple of Actor
        Object and hand, or body and terrain.
    contact : (k, 3)
        Contact point, world, m.
    normals, forces : (k, 3)
        Unit normal and contact force; `force_scale` (m/N) makes the force an arrow.
    cone : (m, 2, 3) or None
        Friction cone as line segments, tip at the origin, axis z.
    paths : tuple
        Lines that rest in the world, each with its colour and its row of the legend.
    size : float
        Size of the object, m.
    look_at, camera : (3,)
        Where the camera looks and stands.
    others : tuple
        Of each further contact its points (k, 3) and forces (k, 3).
    arrows : tuple
        Further forces: foot (k, 3), m, force (k, 3), N, drawn to the same scale, colour and row of the legend.
    contacts : tuple of str, optional
        Names of the contact and of the others.
    mass_centre : (k, 3), optional
        Centre of mass of all that moves, world, m.
    title, status : str
        Name of the scenario, and how the run ended.
    """

    seconds: float
    lapse: float
    actors: tuple[Actor, ...]
    contact: Array
    normals: Array
    forces: Array
    force_scale: float
    cone: Array | None
    size: float
    look_at: Array
    camera: Array
    paths: tuple[Line, ...] = field(default=())
    others: tuple[tuple[Array, Array], ...] = field(default=())
    arrows: tuple[tuple[Array, Array, tuple[int, int, int], str], ...] = field(default=())
    contacts: tuple[str, ...] = ()
    mass_centre: Array | None = None
    title: str = ""
    status: str = ""


def frame_times(run: Trajectory) -> tuple[Array, float, float]:
    """Return the frames' times and how long each is shown; long runs are shown faster than they are."""
    start, duration = run.time[0], float(run.time[-1] - run.time[0])
    wanted = max(math.ceil(duration * FRAMES_PER_SECOND), 1)
    count = min(wanted, MOST_FRAMES)
    step = duration / count if duration > 0 else 1 / FRAMES_PER_SECOND
    # Down to half the frame rate a run is shown in its own time, beyond that faster.
    shown = min(step, 2 / FRAMES_PER_SECOND)
    return start + step * np.arange(count + 1), shown, step / shown


def sample_columns(run: Trajectory, values: Array, times: Array) -> Array:
    """Return columns (n, k) of the run at the frames' times."""
    return np.stack([np.interp(times, run.time, column) for column in values.T], axis=1)


def force_scale(force: Array, size: float, plane: bool) -> float:
    """Return the m/N of the force's arrow.

    In the plane it is drawn before the body, at most 1.5 times its size, bar a few peaks. In space it starts below the
    body: at the usual force it is long enough to come out on the other side.
    """
    values = np.linalg.norm(force, axis=1)
    if not np.any(values > 0):
        return 1.0
    largest = float(np.quantile(values[values > 0], 0.98))
    usual = float(np.median(values[values > 0]))
    return 1.5 * size / largest if plane else min(2.8 * size / usual, 6.0 * size / largest)


def friction_cone(run: Trajectory, size: float, plane: bool) -> Array | None:
    """Return the friction cone as line segments, tip at the origin and axis z, or None."""
    friction = run.metadata.get("physics", {}).get("friction")
    if not friction:
        return None
    height = size / math.hypot(1.0, float(friction))
    make = wedge_lines if plane else cone_lines
    return make(height * float(friction), height)


def make_fixed_actor(name: str, part: MeshPart, count: int, label: str) -> Actor:
    """Return an actor that is at rest at the origin for as many frames."""
    return Actor(name, (part,), np.zeros((count, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)), label=label)


def turned_from_z(directions: Array) -> Array:
    """Return unit quaternions (n, 4) that turn the z axis towards directions (n, 3); of none the identity."""
    size = np.linalg.norm(directions, axis=1, keepdims=True)
    d = np.where(size > 0, directions / np.where(size > 0, size, 1.0), [0.0, 0.0, 1.0])
    q = np.stack([1 + d[:, 2], -d[:, 1], d[:, 0], np.zeros(len(d))], axis=1)
    q[q[:, 0] < 1e-12] = [0.0, 1.0, 0.0, 0.0]
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def thin_points(points: Array, most: int = 4000) -> Array:
    """Return every so-manieth of the points, at most `most` and at least two, for a line."""
    kept = points[:: max(1, -(-len(points) // most))]
    return kept if len(kept) > 1 else np.repeat(points[:1], 2, axis=0)


def unit(x: Array) -> Array:
    """Return vectors of unit length."""
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)


def frame_points(points: Array, direction: Array, aspect: float = 1.4, room: float = 0.84) -> tuple[Array, Array]:
    """Return where a camera looks and stands (3,), as near as it sees all of some points.

    With z along the view, y up in the picture and k the tangent of half its angle, |y_i - y| <= k (z_i - z) for each
    point i, likewise sideways; the nearest z has a closed form.

    Parameters
    ----------
    points : (n, 3) m
    direction : (3,)
        From what is looked at to the camera; not upright.
    aspect : float
        Width of the picture over its height, of narrow windows.
    room : float
        Share of the picture that may be filled: the page has its controls at the lower edge.
    """
    ahead = -direction / np.linalg.norm(direction)
    right = np.cross(ahead, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    axes = np.stack([right, np.cross(right, ahead), ahead])
    along = points @ axes.T
    z, k = along[:, 2], room * math.tan(FIELD_OF_VIEW / 2)
    places, nearest = [], []
    for values, slope in ((along[:, 0], aspect * k), (along[:, 1], k)):
        above, below = float(np.max(values - slope * z)), float(np.max(-values - slope * z))
        places.append((above - below) / 2)
        nearest.append(-(above + below) / (2 * slope))
    camera = np.array([*places, min(nearest)]) @ axes
    return camera + (float(np.mean(z)) - min(nearest)) * ahead, camera


def continuous(q: Array) -> Array:
    """Return quaternions (k, 4) without jumps to the same rotation's other quaternion."""
    return q * np.cumprod(np.concatenate([[1.0], np.where(np.sum(q[1:] * q[:-1], axis=1) < 0, -1.0, 1.0)]))[:, None]


def sample_rotations(run: Trajectory, q: Array, times: Array) -> Array:
    """Return unit quaternions (k, 4) at the frames' times from those of the run (n, 4)."""
    return unit(sample_columns(run, continuous(q), times))


def corners(actor: Actor, most: int = MOST_FRAMES + 1) -> Array:
    """Return the corners (8 m, 3) of an actor's bounding box in its frames, or in about `most` of them, world, m."""
    vertices = np.concatenate([part.vertices for part in actor.parts])
    ends = np.stack([vertices.min(axis=0), vertices.max(axis=0)])
    box = ends[np.indices((2, 2, 2)).reshape(3, -1).T, np.arange(3)]
    some = slice(None, None, max(1, len(actor.positions) // most))
    around = np.einsum("kij,mj->kmi", rotation_matrices(actor.quaternions[some]), box)
    return (actor.positions[some, None] + around).reshape(-1, 3)


def equally_far(way: Array, count: int) -> list[int]:
    """Return at most `count` of n + 1 samples, between which the ways are `way` (n,), spread evenly over all of it."""
    total = np.concatenate([[0.0], np.cumsum(way)])
    parts = np.linspace(0.0, total[-1], count) if total[-1] > 0.0 else []
    return sorted({*(int(np.argmin(np.abs(total - part))) for part in parts), len(way)})
