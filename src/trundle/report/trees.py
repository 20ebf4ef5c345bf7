"""Pictures of trees: bodies by their outlines, links as bars between their joints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trundle.numerics.rotations import rotation_plane
from trundle.records import SceneBody, Trajectory
from trundle.report import style
from trundle.report.staging import equally_far

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

_SNAPSHOTS = 6  # robots along a path: they do not overlap on a column's width
_BAR = 0.12  # of the robot's size: width of a link without a shape
_ROUND = 9  # points of a half circle at the end of a bar


def is_tree(run: Trajectory) -> bool:
    """Return whether a run is that of a tree of bodies."""
    return "parents" in run.metadata


def body_index(run: Trajectory, body: SceneBody) -> int:
    """Return the place of a body of the scene on the axis ``body``."""
    return [str(name) for name in run["body"]].index(body.name)


def moving_terrain(run: Trajectory) -> int | None:
    """Return the place of the terrain on the axis ``body``, where it moves."""
    terrain = run.body("terrain")
    names = [str(name) for name in run["body"]] if "body" in run else []
    return names.index(terrain.name) if terrain is not None and terrain.name in names else None


def moving_bodies(run: Trajectory) -> list[SceneBody]:
    """Return the bodies and links of the scene."""
    return [body for body in run.scene if body.role in ("body", "link")]


def of_contact(run: Trajectory, slot: int) -> SceneBody | None:
    """Return the body of the scene that touches in the contact `slot`."""
    name = run.metadata["contacts"].get(str(run["contact"][slot]))
    return next((body for body in run.scene if body.role == "body" and body.name == name), None)


def place_body(run: Trajectory, body: SceneBody, i: int) -> Array:
    """Return the points (m, 2) of a planar body at sample `i`, world, m."""
    k = body_index(run, body)
    R = rotation_plane(run["body_angle"][i, k])
    return run["body_position"][i, k] + (body.vertices - np.asarray(body.center_of_mass)) @ R.T


def size_of(run: Trajectory) -> float:
    """Return the radius (m) of the largest outline."""
    shapes = [body for body in run.scene if body.role == "body"] or moving_bodies(run)
    return max(float(np.max(np.linalg.norm(b.vertices - np.mean(b.vertices, axis=0), axis=1))) for b in shapes)


def with_phases(run: Trajectory, instants: set[int], n: int) -> list[int]:
    """Return samples and, of n, the middle one of each phase of at least 5 % of their time that has none."""
    mode, time = run["mode"][:n].reshape(n, -1), run.time[:n]
    starts = np.flatnonzero(np.append(True, np.any(mode[1:] != mode[:-1], axis=1)))
    phases = [range(a, b) for a, b in zip(starts, [*starts[1:], n], strict=True)]
    long = [one for one in phases if time[one[-1]] - time[one[0]] >= 0.05 * (time[-1] - time[0])]
    return sorted(instants | {one[len(one) // 2] for one in long if instants.isdisjoint(one)})


def tree_motion(run: Trajectory, ax: Axes) -> None:
    """Draw terrain and all bodies of a planar tree at a few instants, with the contacts' paths and forces."""
    from matplotlib import colormaps

    way = np.linalg.norm(np.diff(run["body_position"], axis=0), axis=2).max(axis=1)
    instants = with_phases(run, {0, *equally_far(way, _SNAPSHOTS)}, len(run))
    force, contact = run["contact_force"], run["contact_position"]
    heaviest = float(np.max(np.linalg.norm(force[instants], axis=2), initial=0.0)) or 1.0
    scale = 2.0 * size_of(run) / heaviest
    seen = [contact.reshape(-1, 2), run["body_position"].reshape(-1, 2)]
    for rank, i in enumerate(instants):
        colour = colormaps["viridis"](0.05 + 0.8 * rank / max(len(instants) - 1, 1))
        for body in moving_bodies(run):
            points = place_body(run, body, i)
            seen.append(points)
            if body.role == "link":
                ax.plot(*points.T, color=colour, linewidth=2.2, solid_capstyle="round", zorder=3)
                continue
            ax.fill(*points.T, facecolor=colour, alpha=0.13, edgecolor="none", zorder=2)
            ax.plot(*np.vstack([points, points[:1]]).T, color=colour, linewidth=1.2, zorder=3)
            spoke = np.vstack([run["body_position"][i, body_index(run, body)], points[0]])
            ax.plot(*spoke.T, color=colour, linewidth=0.8, zorder=3)
        for at, push in zip(contact[i], force[i], strict=True):
            if np.linalg.norm(push) > 0:
                seen.append((at + scale * push)[None])
                style.arrow(ax, at, at + scale * push)
    touching = np.where(np.linalg.norm(force, axis=2, keepdims=True) > 0, contact, np.nan)
    for slot in range(contact.shape[1]):
        path = style.with_breaks(touching[:, slot])
        ax.plot(*path.T, color=style.ORANGE, linewidth=1.6, label=None if slot else "contact paths", zorder=4)
    ax.plot([], [], color=style.RED, label=f"contact forces, longest {heaviest:.3g} N")
    style.frame(ax, np.vstack(seen), 0.06)
    for terrain in (body for body in run.scene if body.role == "terrain"):
        style.ground(ax, terrain.vertices, terrain.closed)
    ax.set_aspect("equal", adjustable="box")
    span = f"{run.time[instants[0]]:.3g} to {run.time[instants[-1]]:.3g} s"
    style.dress(ax, f"The motion at {len(instants)} instants, {span}", "x (m)", "z (m)", run)


def bars(link: SceneBody, radius: float) -> list[SceneBody]:
    """Return the pieces of a planar link as closed outlines, rounded at both ends."""
    pieces = []
    for a, b in zip(link.vertices, link.vertices[1:], strict=False):
        along = (b - a) / max(float(np.linalg.norm(b - a)), 1e-12)
        turn = np.arctan2(along[1], along[0])
        half = np.linspace(-np.pi / 2, np.pi / 2, _ROUND)
        ends = [
            center + radius * np.stack([np.cos(turn + flip + half), np.sin(turn + flip + half)], axis=1)
            for center, flip in ((b, 0.0), (a, np.pi))
        ]
        pieces.append(SceneBody(link.name, "link", np.vstack(ends), center_of_mass=link.center_of_mass))
    return pieces


def bar_radius(size: float) -> float:
    """Return half the width (m) of a link beside outlines of the radius `size`."""
    return _BAR * size
