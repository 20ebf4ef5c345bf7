"""A stage as the viewer's camera sees it, drawn into axes: still pictures and the frames of a video.

Triangles are drawn from the farthest to the nearest; each is as far as its farthest corner, so that a floor of two
triangles lies behind what stands on it. Paths and forces lie before all triangles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trundle.numerics.rotations import rotation_matrices
from trundle.records import Trajectory
from trundle.report import style
from trundle.report.meshes import FORCE
from trundle.report.staging import Actor, Line, Stage, equally_far, unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]
Colour = tuple[int, int, int]

_LIGHT = np.array([0.35, -0.55, 0.76])
"""Direction to the light in the camera's frame: right, ahead, up."""
_PALEST = 0.65
"""Share of white in the colours of the first of several instants; the last has none."""
_INSTANTS = 5  # drawn into one still
_NEAR = 0.02
"""Of the distance to what the camera looks at: what is nearer is left out."""


class Triangles(NamedTuple):
    """Triangles in the picture: corners (m, 3, 2), distance (m,) of the farthest corner, and RGB (m, 3)."""

    corners: Array
    distance: Array
    colours: Array


class PictureCamera:
    """The perspective of a stage's camera: right, ahead and up are the axes of its frame."""

    def __init__(self, stage: Stage) -> None:
        ahead = stage.look_at - stage.camera
        self.nearest = _NEAR * float(np.linalg.norm(ahead))
        self.position = stage.camera
        ahead = ahead / np.linalg.norm(ahead)
        right = np.cross(ahead, [0.0, 0.0, 1.0])
        right /= np.linalg.norm(right)
        self.R_camera_world = np.stack([right, ahead, np.cross(right, ahead)])

    def project(self, points: Array) -> tuple[Array, Array]:
        """Return places in the picture (..., 2) of points (..., 3), world, m, and their distances (...) ahead, m."""
        seen = (points - self.position) @ self.R_camera_world.T
        distance = seen[..., 1]
        return seen[..., [0, 2]] / np.maximum(distance, self.nearest)[..., None], distance

    def actor(self, actor: Actor, k: int, white: float = 0.0) -> list[Triangles]:
        """Return the triangles of an actor at frame k that face the camera, lit, with a share of white."""
        found: list[Triangles] = []
        if actor.ghost or (actor.shown is not None and not actor.shown[k]):
            return found
        R = rotation_matrices(actor.quaternions[k : k + 1])[0]
        for part in actor.parts:
            corners, distance = self.project((actor.positions[k] + part.vertices @ R.T)[part.faces])
            a, b, c = np.moveaxis((part.vertices @ R.T)[part.faces], 1, 0)
            normals = unit(np.cross(b - a, c - a)) @ self.R_camera_world.T
            first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
            facing = first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]
            shown = (distance.min(axis=1) > self.nearest) & (part.double | (facing > 0))
            light = np.where(facing > 0, 1.0, -1.0) * (normals @ _LIGHT)
            shade = 0.62 + 0.38 * np.clip(light[shown], 0.0, 1.0)
            rgb = np.asarray(part.colour) / 255 * shade[:, None]
            rgb = white + (1.0 - white) * rgb
            found.append(Triangles(corners[shown], distance[shown].max(axis=1), rgb))
        return found


def draw_stage(stage: Stage, ax: Axes, frames: Sequence[int], aspect: float = 1.3) -> None:
    """Draw a stage at some of its frames into axes, the earlier the paler; the limits become those of what moves.

    Parameters
    ----------
    stage : Stage
    ax : Axes
        Left without ticks and frame.
    frames : sequence of int
        In the order of time.
    aspect : float
        Least width of the picture over its height.
    """
    from matplotlib.collections import LineCollection, PolyCollection

    camera = PictureCamera(stage)
    resting = [piece for actor in stage.actors if not moves(actor) for piece in camera.actor(actor, frames[-1])]
    moving: list[Triangles] = []
    for rank, k in enumerate(frames):
        white = _PALEST * (1.0 - (rank + 1) / len(frames))
        for actor in stage.actors:
            stays = np.linalg.norm(actor.positions[k] - actor.positions[frames[-1]]) < 1e-3 * stage.size
            if moves(actor) and (k == frames[-1] or not stays):
                moving += camera.actor(actor, k, white)
    pieces = [*resting, *moving]
    order = np.argsort(-np.concatenate([one.distance for one in pieces]), kind="stable")
    corners, colours = (np.concatenate([one[i] for one in pieces])[order] for i in (0, 2))
    ax.add_collection(PolyCollection(list(corners), facecolors=colours, edgecolors="face", linewidths=0.3))
    seen = [one.corners.reshape(-1, 2) for one in moving]
    for points, colour, label in _lines(stage, frames[-1]):
        places, distance = camera.project(points)
        pairs = np.stack([places[:-1], places[1:]], axis=1)[style.unbroken(points) & (distance[1:] > camera.nearest)]
        look = {"colors": [np.array(colour) / 255], "linewidths": 1.6, "zorder": 4}
        ax.add_collection(LineCollection(list(pairs), label=label, **look))
    for k in frames:
        seen += _forces(stage, camera, ax, k)
    _frame(ax, np.concatenate([points for points in seen if len(points)] or [np.zeros((1, 2))]), aspect)
    ax.set_aspect("equal")
    ax.set_xticks([])
    ax.set_yticks([])


def moves(actor: Actor) -> bool:
    """Return whether an actor is not where it was at some frame."""
    return bool(np.any(np.ptp(actor.positions, axis=0) > 0) or np.any(np.ptp(actor.quaternions, axis=0) > 0))


def by_motion(stage: Stage, count: int = _INSTANTS) -> list[int]:
    """Return at most `count` frames, the last among them, between which the actors go about equally far.

    Where all that moves would be drawn over itself the earlier frame is left out; of bodies that stay in place the
    frame is the one where they are farthest from their start.
    """
    places = np.stack([actor.positions for actor in stage.actors], axis=1)
    way = np.linalg.norm(np.diff(places, axis=0), axis=2).max(axis=1)
    chosen: list[int] = []
    for k in reversed(equally_far(way, count)):
        apart = [np.linalg.norm(places[k] - places[later], axis=1).max() for later in chosen]
        if min(apart, default=np.inf) > stage.size:
            chosen.append(k)
    return chosen[::-1] if len(chosen) > 1 else [int(np.argmax(np.linalg.norm(places - places[0], axis=2).max(axis=1)))]


def view(stage: Stage, run: Trajectory, ax: Axes) -> None:
    """Draw the bodies at a few instants between which they move equally far, seen by the viewer's camera."""
    frames = by_motion(stage)
    draw_stage(stage, ax, frames)
    step = stage.seconds * stage.lapse
    times = ", ".join(f"{run.time[0] + k * step:.3g}" for k in frames)
    style.dress(ax, f"The motion at {times} s", "", "", run)
    ax.spines[["left", "bottom"]].set_visible(False)


def _frame(ax: Axes, points: Array, aspect: float) -> None:
    """Show all points (n, 2) in a picture of at least a width over height."""
    low, high = points.min(axis=0), points.max(axis=0)
    half = 0.55 * np.maximum(high - low, 1e-6)
    half[0] = max(half[0], aspect * half[1])
    middle = 0.5 * (low + high)
    ax.set_xlim(middle[0] - half[0], middle[0] + half[0])
    ax.set_ylim(middle[1] - half[1], middle[1] + half[1])


def _lines(stage: Stage, k: int) -> list[Line]:
    """Return the lines of a stage at frame k, world."""
    found = list(stage.paths)
    for actor in stage.actors:
        R = rotation_matrices(actor.quaternions[k : k + 1])[0]
        found += [(actor.positions[k] + points @ R.T, colour, label) for points, colour, label in actor.lines]
    return found


def _forces(stage: Stage, camera: PictureCamera, ax: Axes, k: int) -> list[Array]:
    """Draw the forces at frame k; return the ends of their arrows."""
    named = [*((*one, FORCE, "contact force") for one in ((stage.contact, stage.forces), *stage.others)), *stage.arrows]
    drawn: list[Array] = []
    for foot, force, colour, label in named:
        if np.linalg.norm(force[k]) * stage.force_scale > 0.05 * stage.size:
            ends, distance = camera.project(np.stack([foot[k], foot[k] + stage.force_scale * force[k]]))
            if distance.min() > camera.nearest:
                style.arrow(ax, ends[0], ends[1], _hex(colour))
                ax.plot([], [], color=_hex(colour), label=label)
                drawn.append(ends)
    return drawn


def _hex(colour: Colour) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)
