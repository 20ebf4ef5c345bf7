"""The two pictures of where things go: the contact's path on a hand, and a planar body rolling over terrain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trundle.numerics.rotations import rotation_matrices
from trundle.records import SceneBody, Trajectory
from trundle.report import style
from trundle.report.plane import PlanarView, PlanePose, planar_view
from trundle.report.runs import size_figure
from trundle.report.staging import equally_far
from trundle.report.trees import is_tree, tree_motion, with_phases

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]
Colour = tuple[float, float, float, float]
Instant = tuple[float, Array, str | tuple[float, float, float]]
"""Time (s), place (2,) of its label (m), and the label's colour."""
_SNAPSHOTS = 7  # bodies along a path: they do not overlap on a column's width


@size_figure(6.0, 6.2)
def contact_path(run: Trajectory, ax: Axes) -> None:
    """Draw the contact's path on the hand, seen along its z axis, and what it looks like to somebody at rest.

    The inside of a tube is drawn unrolled: arc length against height.
    """
    hand = run.body("hand")
    path = run["contact_on_hand"]
    tube = hand is not None and hand.shape.get("type") in ("tube", "cylinder")
    if hand is not None and tube:
        radius = float(hand.shape["radius"])
        path = np.column_stack([radius * np.unwrap(np.arctan2(path[:, 1], path[:, 0])), path[:, 2]])
    shown = path[:, :2]
    _trace(ax, shown, style.BLUE, "path on the hand")
    points = shown
    if not tube:
        resting = _seen_at_rest(run)
        if np.max(np.abs(resting - shown)) > 1e-9:
            at_rest = style.with_breaks(resting)
            ax.plot(*at_rest.T, color=style.ORANGE, linewidth=1.6, label="the same path, seen at rest")
            points = np.vstack([shown, resting])
    ax.plot(*shown[0], "o", color=style.GREEN, markersize=7, label="start", zorder=5)
    ax.plot(*shown[-1], "s", color=style.RED, markersize=6, label="end", zorder=5)
    style.frame(ax, points)
    if hand is not None and not tube:
        ax.set_aspect("equal", adjustable="box")
        _hand_relief(ax, hand, path[0], points)
    ax.set_aspect("equal", adjustable="box")
    labels = ("along the wall (m)", "z (m), hand frame") if tube else ("x (m), hand frame", "y (m), hand frame")
    style.dress(ax, "Contact path on the hand", *labels, run, columns=2)


@size_figure(9.0, 5.0)
def planar_motion(run: Trajectory, ax: Axes) -> None:
    """Draw base and body at a few instants, with the contact's path and the contact force.

    Of a body that leaves its hand for good only what happens near the hand is shown. A hand that moves is drawn at
    every instant, the earlier the paler.
    """
    if is_tree(run):
        return tree_motion(run, ax)
    view = planar_view(run)
    body, base, contact, force = view.body, view.base, view.contact, view.force
    moving = bool(np.any(np.ptp(view.of_base.position, axis=0) > 0) or np.ptp(view.of_base.angle) > 0)
    size = 0.3 if body is None else float(np.max(np.linalg.norm(body.vertices, axis=1)))
    near = _near_base(view, size)
    instants = with_phases(run, _snapshots(view, moving, near, size), near)
    heaviest = float(np.max(np.linalg.norm(force[instants], axis=1))) or 1.0
    scale = 1.3 * size / heaviest
    touching = np.linalg.norm(force[: instants[-1] + 1], axis=1) > 0
    path = np.where(touching[:, None], contact[: len(touching)], np.nan)
    corners: list[Array] = [path[touching]]
    heads: list[Instant] = []
    from matplotlib import colormaps

    for rank, i in enumerate(instants):
        share = rank / max(len(instants) - 1, 1)
        colour = colormaps["viridis"](0.05 + 0.8 * share)
        if base is not None and moving:
            corners.append(_draw_base(ax, base, _place_points(view.of_base, base.vertices, i), colour, share))
        if body is not None:
            outline = _place_points(view.of_body, body.vertices - np.asarray(body.center_of_mass), i)
            corners.append(outline)
            _draw_body(ax, outline, view.of_body.position[i], colour, share if moving else 1.0)
        else:
            ax.plot(*view.of_body.position[i], "o", color=colour, markersize=3.5, zorder=4)
        highest = corners[-1][np.argmax(corners[-1][:, 1])] if body is not None else view.of_body.position[i]
        heads.append((run.time[i], highest, _darker(colour) if moving else style.INK))
        if np.linalg.norm(force[i]) > 0:
            tip = contact[i] + scale * force[i]
            style.arrow(ax, contact[i], tip)
            corners.append(tip[None, :])
    ax.plot(
        *style.with_breaks(path).T,
        color=style.ORANGE,
        linewidth=2.4,
        label="contact path",
        zorder=4,
        solid_capstyle="round",
    )
    ax.plot([], [], color=style.RED, label=f"contact force, longest {heaviest:.3g} N")
    drawn = np.vstack(corners)
    style.frame(ax, np.vstack([drawn, _times(ax, heads, drawn, size, clear=not moving)]), 0.06)
    if base is not None and not moving:
        style.ground(ax, _place_points(view.of_base, base.vertices, 0), base.closed)
    ax.set_aspect("equal", adjustable="box")
    style.dress(ax, "The motion at a few instants", "x (m)", "z (m)", run)


def _draw_base(ax: Axes, base: SceneBody, edge: Array, colour: Colour, share: float) -> Array:
    """Draw a moving base at one instant, `share` (0 to 1) of the run; return its outline (n, 2)."""
    if base.closed:
        edge = np.vstack([edge, edge[:1]])
        middle = edge[:-1].mean(axis=0)
        ax.plot(*np.stack([middle, edge[0]]).T, color=colour, linewidth=0.8, alpha=0.25 + 0.6 * share, zorder=2.4)
    ax.plot(*edge.T, color=colour, linewidth=1.0 + 0.8 * share, alpha=0.25 + 0.65 * share, zorder=2.5)
    return edge


def _draw_body(ax: Axes, outline: Array, centre: Array, colour: Colour, share: float) -> None:
    """Draw a body at one instant: outline, centre of mass, and a spoke that turns with it."""
    ax.fill(*outline.T, facecolor=colour, alpha=0.08 + 0.1 * share, edgecolor="none", zorder=2.8)
    alpha = 0.5 + 0.5 * share
    ax.plot(*np.vstack([outline, outline[:1]]).T, color=colour, linewidth=1.4, alpha=alpha, zorder=3)
    ax.plot(*np.vstack([centre, outline[0]]).T, color=colour, linewidth=1.3, alpha=alpha, zorder=3.2)
    ax.plot(*centre, "o", color=colour, markersize=3.5, zorder=4)


def _darker(colour: Colour) -> tuple[float, float, float]:
    """Return a colour that can be read as text on white."""
    return 0.7 * colour[0], 0.7 * colour[1], 0.7 * colour[2]


def _times(ax: Axes, heads: list[Instant], drawn: Array, size: float, clear: bool) -> Array:
    """Write the instants above the bodies' highest points and return the places (n, 2).

    ``clear``: above all that is drawn there; otherwise close to the body and in its colour, which tells it from the
    others. Where two would overlap, the first and the last instant come before those between.
    """
    wide = max(0.25 * size, 0.035 * float(np.ptp(drawn[:, 0])), 0.05 * float(np.ptp(drawn[:, 1])))
    high = max(0.12 * size, 0.03 * float(np.ptp(drawn[:, 1])))
    digits = 2 if heads[-1][0] - heads[0][0] > 0.05 * len(heads) else 3
    looks = {"ha": "center", "va": "center", "fontsize": 7.5, "zorder": 7}
    box = {"facecolor": "white", "alpha": 0.0 if clear else 0.7, "edgecolor": "none", "pad": 0.6}
    places: list[Array] = []
    for number in dict.fromkeys([0, len(heads) - 1, *range(1, len(heads) - 1)]):
        time, head, colour = heads[number]
        below = drawn[clear & (np.abs(drawn[:, 0] - head[0]) < wide)]
        place = np.array([head[0], float(np.max(below[:, 1], initial=head[1])) + high])
        if all(abs(place[0] - x) > 2 * wide or abs(place[1] - z) > 2 * high for x, z in places):
            places.append(place)
            ax.text(float(place[0]), float(place[1]), f"{time:.{digits}f} s", color=colour, bbox=box, **looks)
    found = np.array(places)
    return np.vstack([found, found + np.array([0.0, high])])


def _trace(ax: Axes, points: Array, colour: str, label: str) -> None:
    width = 1.5 if len(points) < 4000 else 0.7
    ax.plot(*style.with_breaks(points).T, color=colour, linewidth=width, alpha=0.9, label=label)


def _seen_at_rest(run: Trajectory) -> Array:
    """Return the contact's path (n, 2) in the hand frame of the start, which stays where it was."""
    R = rotation_matrices(run["hand_quaternion"][:1])[0]
    return ((run["contact_position"] - run["hand_position"][0]) @ R)[:, :2]


def _hand_relief(ax: Axes, hand: SceneBody, start: Array, path: Array) -> None:
    """Draw the hand's rim and, if it is a graph over x and y with some relief, contour lines, labelled off the path."""
    if hand.faces is None:
        return
    limits = ax.get_xlim(), ax.get_ylim()
    from matplotlib.collections import LineCollection

    rim = hand.vertices[_rim(hand)][:, :, :2]
    ax.add_collection(LineCollection(list(rim), colors=style.INK, linewidths=1.2, alpha=0.6, zorder=1.5))
    x, y, heights = hand.vertices.T
    faces = _upper_sheet(hand, start)
    if len(faces) and np.ptp(heights[faces]) > 1e-6:
        inside = (x >= limits[0][0]) & (x <= limits[0][1]) & (y >= limits[1][0]) & (y <= limits[1][1])
        shown = np.intersect1d(np.flatnonzero(inside), faces)
        seen = heights[shown if shown.size > 1 else np.unique(faces)]
        levels = np.linspace(float(seen.min()), float(seen.max()) + 1e-9, 9)
        lines = ax.tricontour(
            x, y, faces, heights, levels=levels, colors="#b9c2c9", linewidths=0.7, zorder=1, linestyles="solid"
        )  # pyright: ignore[reportCallIssue]
        ax.set_xlim(*limits[0])
        ax.set_ylim(*limits[1])
        places = _label_places(lines.allsegs, np.transpose(limits), path)
        if places:
            ax.clabel(lines, fontsize=6.5, fmt="%.3g m", manual=places)
    ax.set_xlim(*limits[0])
    ax.set_ylim(*limits[1])


def _label_places(lines: list[list[Array]], limits: Array, path: Array) -> list[tuple[float, float]]:
    """Return a place on each contour line for its label: off the frame, off the path and off each other."""
    size = limits[1] - limits[0]
    taken = path[:: max(1, len(path) // 400)]
    places: list[tuple[float, float]] = []
    for segments in lines:
        points = np.concatenate([np.asarray(s) for s in segments if len(s)] or [np.empty((0, 2))])
        points = points[np.all(np.abs(points - limits.mean(axis=0)) < 0.41 * size, axis=1)]
        if len(points):
            room = np.min(np.linalg.norm((points[:, None] - taken) / np.max(size), axis=2), axis=1)
            best = points[int(np.argmax(room))]
            apart = [float(np.linalg.norm((best - place) / np.max(size))) for place in places]
            if room.max() > 0.03 and min(apart, default=1.0) > 0.12:
                places.append((float(best[0]), float(best[1])))
                taken = np.vstack([taken, best])
    return places


def _upper_sheet(body: SceneBody, start: Array) -> NDArray[np.int64]:
    """Return the triangles that face along z as the one nearest to `start` (3,) does, on its side of the middle.

    Of a closed dish this is the lower half: a graph over x and y, which has contour lines.
    """
    faces = np.asarray(body.faces)
    a, b, c = (body.vertices[faces[:, i]] for i in range(3))
    area = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
    nearest = int(np.argmin(np.sum(((a + b + c) / 3 - start) ** 2, axis=1)))
    return faces[area * np.sign(area[nearest]) > 1e-12 * np.max(np.abs(area))]


def _rim(body: SceneBody) -> NDArray[np.int64]:
    """Return the edges (m, 2) that belong to one triangle only; vertices at one place count as one."""
    size = float(np.max(np.abs(body.vertices))) or 1.0
    places = np.round(body.vertices / (1e-9 * size)).astype(np.int64)
    _, first, same = np.unique(places, axis=0, return_index=True, return_inverse=True)
    faces = first[same.reshape(-1)][np.asarray(body.faces)]
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    unique, count = np.unique(edges, axis=0, return_counts=True)
    return unique[(count == 1) & (unique[:, 0] != unique[:, 1])]


def _place_points(pose: PlanePose, points: Array, i: int) -> Array:
    """Return points (m, 2) of a frame at sample i, world."""
    return pose.position[i] + points @ pose.R[i].T


def _near_base(view: PlanarView, size: float) -> int:
    """Return the number of samples until the body has left its base for good and is away from it by its `size` (m)."""
    n = len(view.contact)
    touching = np.flatnonzero(np.linalg.norm(view.force, axis=1) > 0)
    if view.base is None or not touching.size or touching[-1] == n - 1:
        return n
    start = int(touching[-1])
    base = view.base.vertices
    for i in range(start + 1, n):
        apart = np.linalg.norm(_place_points(view.of_base, base, i) - view.of_body.position[i], axis=1)
        if float(np.min(apart)) > 3 * size:
            return i
    return n


def _snapshots(view: PlanarView, moving: bool, n: int, size: float) -> set[int]:
    """Return a few of n samples: spread over the way of the body, its size in m; on a base at rest its contact's."""
    if moving or n < len(view.contact):
        pose = view.of_body
        way = np.linalg.norm(np.diff(pose.position, axis=0), axis=1) + size * np.abs(np.diff(pose.angle))
        return {0, *equally_far(way[: n - 1], _SNAPSHOTS)}
    x = view.contact[:, 0]
    targets = np.linspace(np.min(x), np.max(x), _SNAPSHOTS)
    tolerance = 0.25 * max(float(np.ptp(x)), 1e-12) / _SNAPSHOTS
    chosen = []
    for target in targets:
        distance = np.abs(x - target)
        near = np.flatnonzero(distance <= tolerance)
        chosen.append(int(near[0]) if near.size else int(np.argmin(distance)))
    return {*chosen, 0}
