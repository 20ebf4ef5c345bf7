"""Figures of walks: snapshots, torques over the cycle, ground forces, phases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from trundle.numerics.rotations import rotation_matrices
from trundle.records import SceneBody, Trajectory
from trundle.report import Figure, RunSet, figures_of_runs, size_figure, style
from trundle.report import figures as figures_of_kit
from trundle.report.runs import DrawRun, DrawRuns, Runs
from trundle.systems.walking.scenario import figures_ball
from trundle.systems.walking.scenario.legged import figures as figures_legged
from trundle.systems.walking.scenario.measured import figures_estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

_SNAPSHOTS = 7  # bodies along a step: they do not overlap on a column's width
_LEG = (("hip_pitch", "hip", style.BLUE), ("knee", "knee", style.ORANGE), ("ankle_pitch", "ankle", style.RED))


def figures(runs: RunSet) -> dict[str, Figure]:
    """Return the figures of a run of kind `walking`."""
    return figures_of_runs(runs, _of_run, _comparisons)


def _comparisons(runs: Runs) -> dict[str, DrawRuns]:
    walks = [run.metadata["walk"] for run in runs.values() if "walk" in run.metadata]
    if len({(walk["sole"]["type"], "toe_sole" in walk) for walk in walks}) > 1:
        return {"costs": costs}
    return {**figures_ball.comparisons(runs), **figures_estimate.comparisons(runs)}


def _of_run(run: Trajectory) -> dict[str, DrawRun]:
    if "steps" in run.metadata:
        return dict(figures_legged.FIGURES)
    if "walk" not in run.metadata:
        return figures_of_kit(run) | figures_ball.figures(run)
    return {
        "snapshots": snapshots,
        "torques": torques,
        "ground_forces": ground_forces,
        "forces": forces,
        "phases": phases,
        "angles": angles,
        **figures_estimate.figures(run),
    }


def tilt(run: Trajectory) -> float:
    """Return the slope, rad, > 0 uphill."""
    g = run.metadata["physics"]["gravity"]
    return float(np.arctan2(-g[0], -g[2]))


def uphill(run: Trajectory, points: Array) -> Array:
    """Return points (..., 3) of the ground's frame in a frame whose z axis is vertical."""
    c, s = np.cos(tilt(run)), np.sin(tilt(run))
    return points @ np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def outlines(run: Trajectory, body: SceneBody, i: int) -> list[Array]:
    """Return the outlines (m, 2) of the convex parts of a body at sample i, seen from the right, z vertical."""
    k = [str(name) for name in run["body"]].index(body.name)
    R = rotation_matrices(run["body_quaternion"][i : i + 1, k])[0]
    placed = run["body_position"][i, k] + (body.vertices - np.asarray(body.center_of_mass)) @ R.T
    flat = uphill(run, placed)[:, [0, 2]]
    parts = np.split(flat, np.cumsum(body.shape["parts"])[:-1])
    return [part[ConvexHull(part).vertices] for part in parts]


def costs(runs: Runs, ax: Axes) -> None:
    """Draw the costs of a study's walks side by side: a group for each slope, a colour for each foot."""
    walks = [run for run in runs.values() if "walk" in run.metadata]
    found = {
        (foot_of(run), round(np.degrees(tilt(run)), 1)): run.metadata["walk"]["statistics"]["cost"] for run in walks
    }
    feet, slopes = (sorted(set(values)) for values in zip(*found, strict=True))
    width = 0.8 / len(feet)
    for i, foot in enumerate(feet):
        group = [k for k, slope in enumerate(slopes) if (foot, slope) in found]
        at, heights = [k + (i - (len(feet) - 1) / 2) * width for k in group], [found[foot, slopes[k]] for k in group]
        bars = ax.bar(at, heights, width, color=style.PALETTE[i % len(style.PALETTE)], label=foot)
        ax.bar_label(bars, fmt="%.2f", fontsize=8)
    ax.set_xticks(range(len(slopes)), [f"{slope:g}" for slope in slopes])
    style.dress(ax, "Cost of walking", "slope (deg)", "mean cost (1)", runs[""])


def foot_of(run: Trajectory) -> str:
    """Return which foot a walk is on, and what a flat one stands on in double support."""
    walk = run.metadata["walk"]
    if walk["sole"]["type"] != "flat":
        return "rolling, with toes" if "toe_sole" in walk else "rolling"
    return f"flat: {walk['gait']['trailing'] or 'flat'}, {walk['gait']['leading'] or 'flat'}"


@size_figure(11.0, 4.6)
def snapshots(run: Trajectory, ax: Axes) -> None:
    """Draw the walker at a few instants of one cycle, seen from its right; far limbs are pale. Forces are arrows."""
    last = min(len(run) - 1, int(np.searchsorted(run.time, run.time[0] + _cycle(run))))
    instants = np.linspace(0, last, _SNAPSHOTS).round().astype(int)
    apart = max(0.0, 0.75 - float(run["base_position"][last, 0] - run["base_position"][0, 0]) / (_SNAPSHOTS - 1))
    weight = float(run.metadata["physics"]["mass"]) * 9.81
    seen = []
    for rank, i in enumerate(instants):
        shift = uphill(run, np.array([apart * rank, 0.0, 0.0]))[[0, 2]]
        before = len(seen)
        for body in sorted(run.scene, key=_depth):
            colour = {"left": style.ORANGE, "right": style.BLUE}.get(body.name.split("_")[0], style.INK)
            pale = 0.35 if body.name.startswith("left") else 0.75
            for part in outlines(run, body, int(i)):
                seen.append(part + shift)
                look = {"alpha": 0.6 * pale, "linewidth": 0.7, "zorder": 2 + _depth(body)}
                ax.fill(*seen[-1].T, facecolor=colour, edgecolor=colour, **look)
        for at, push in zip(run["contact_position"][i], run["contact_force"][i], strict=True):
            if push[2] > 1.0:
                foot = uphill(run, at)[[0, 2]] + shift
                tip = foot + 0.8 * uphill(run, push)[[0, 2]] / weight
                arrow = {"arrowstyle": "-|>", "color": style.RED, "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0}
                ax.annotate("", tuple(tip), tuple(foot), arrowprops=arrow, zorder=9)
        share = 100 * float(run.time[i] - run.time[0]) / _cycle(run)
        head = max(seen[before:], key=lambda part: float(part[:, 1].max()))
        ax.text(float(np.mean(head[:, 0])), float(head[:, 1].max()) + 0.04, f"{share:.0f} %", ha="center", fontsize=8)
    every = np.vstack(seen)
    ends = np.array([every[:, 0].min() - 0.3, every[:, 0].max() + 0.3])
    ax.plot(ends, ends * np.tan(tilt(run)), color=style.INK, linewidth=1.4, zorder=1)
    ax.set_aspect("equal", adjustable="box")
    style.dress(ax, "One cycle of the walk" + (", snapshots moved apart" if apart else ""), "x (m)", "z (m)", run)
    if apart:  # a position along x is that of no axis then: a bar says how long a metre is
        ax.set_xlabel(f"bar: 1 m; snapshots drawn {apart:.2g} m further apart")
        ax.set_xticks([])
        left, low = float(every[:, 0].min()), float(every[:, 1].min()) - 0.12
        ax.plot([left, left + 1.0], [low, low], color=style.GREY, linewidth=2.5, solid_capstyle="butt")


def torques(run: Trajectory, ax: Axes) -> None:
    """Draw the right hip's, knee's and ankle's torque over the cycle that begins with the right foot's lift-off."""
    names = [str(name) for name in run["joint"]]
    share, order = _percent(run)
    for key, label, colour in _LEG:
        values = run["joint_torque"][order, names.index(f"right_{key}")]
        ax.step(share, values, where="post", color=colour, linewidth=1.6, label=label)
    strike = _strike(run)
    ax.axvline(strike, color=style.GREY, linestyle="--", linewidth=1.0, label=f"heel strike {strike:.0f} %")
    style.dress(ax, "Torques of the right leg", "cycle from lift-off (%)", "torque (N m)", run)


def angles(run: Trajectory, ax: Axes) -> None:
    """Draw the angles of the right leg and the right shoulder over the cycle from the right foot's lift-off."""
    names = [str(name) for name in run["joint"]]
    share, order = _percent(run)
    for key, label, colour in (*_LEG, ("shoulder_pitch", "shoulder", style.GREEN)):
        values = np.degrees(run["joint_position"][order, names.index(f"right_{key}")])
        ax.plot(share, values, color=colour, linewidth=1.6, label=label)
    ax.axvline(_strike(run), color=style.GREY, linestyle="--", linewidth=1.0, label="heel strike")
    style.dress(ax, "Angles of the right side", "cycle from lift-off (%)", "angle (deg)", run)


def ground_forces(run: Trajectory, ax: Axes) -> None:
    """Draw the ground's force as arrows from where it acts, seen from the side, and the path of that point."""
    weight = float(run.metadata["physics"]["mass"]) * 9.81
    scale = 0.45 / weight
    for i, contact in enumerate(str(name) for name in run["contact"]):
        colour = style.ORANGE if contact.startswith("left") else style.BLUE
        stands = run["contact_force"][:, i, 2] > 1.0
        at, force = run["contact_position"][stands, i], run["contact_force"][stands, i]
        for point, push in zip(at, force, strict=True):
            arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0, "alpha": 0.8}
            ax.annotate("", tuple(point[[0, 2]] + scale * push[[0, 2]]), tuple(point[[0, 2]]), arrowprops=arrow)
        name = f"{style.spoken(contact)}{'' if '_' in contact else ' foot'}; arrows: 0.45 m for the body weight"
        ax.plot(at[:, 0], at[:, 2], ".", color=colour, markersize=4, label=name)
    x = run["contact_position"][..., 0][run["contact_force"][..., 2] > 1.0]
    ax.set_xlim(float(x.min()) - 0.2, float(x.max()) + 0.3)
    ax.set_ylim(-0.06, scale * float(np.max(run["contact_force"][..., 2])) * 1.15)
    ax.axhline(0.0, color=style.INK, linewidth=1.0)
    ax.set_aspect("equal", adjustable="box")
    style.dress(ax, "Ground forces and centres of pressure", "along the ground (m)", "height (m)", run)


def forces(run: Trajectory, ax: Axes) -> None:
    """Draw normal and tangential forces of both feet over time, over the weight."""
    weight = float(run.metadata["physics"]["mass"]) * 9.81
    push = _of_feet(run)
    for i, (side, colour) in enumerate((("left", style.ORANGE), ("right", style.BLUE))):
        for k, label, dashes in ((2, "normal", "-"), (0, "forward", "--"), (1, "sideways", ":")):
            values = push[:, i, k] / weight
            ax.step(run.time, values, dashes, where="post", color=colour, linewidth=1.3, label=f"{side}, {label}")
    style.dress(ax, "Ground forces", "time (s)", "force over weight (1)", run)


@size_figure(7.0, 2.4)
def phases(run: Trajectory, ax: Axes) -> None:
    """Draw when each foot is on the ground, over one cycle; the label says when the heel strikes."""
    cycle, start = _cycle(run), run.time[0]
    contacts = [str(name) for name in run["contact"]]
    for i, contact in enumerate(contacts):
        colour = style.ORANGE if contact.startswith("left") else style.BLUE
        for k in range(len(run) - 1):
            share = 100 * (run.time[k] - start) / cycle
            if share < 100 - 1e-9 and run["contact_force"][k, i, 2] > 0:
                width = 100 * (run.time[k + 1] - run.time[k]) / cycle
                ax.barh(i, width, left=share, height=0.55, color=colour, align="center")
    ax.set_yticks(range(len(contacts)), [style.spoken(contact) for contact in contacts])
    style.dress(ax, "Feet on the ground", f"cycle (%); heel strike {_strike(run):.1f} % after lift-off", "", run)


def _of_feet(run: Trajectory) -> Array:
    """Return the force (n, 2, 3) on the left and on the right foot, N, toes and all."""
    return run["contact_force"].reshape(len(run), 2, -1, 3).sum(axis=2)


def _cycle(run: Trajectory) -> float:
    walk = run.metadata["walk"]
    return float(walk["duration"]) * (2.0 if walk["mirror"] is not None else 1.0)


def _percent(run: Trajectory) -> tuple[Array, NDArray[np.intp]]:
    """Return the shares (%) and samples of one cycle from the right foot's lift-off."""
    inside = np.flatnonzero(run.time - run.time[0] < _cycle(run) * (1 - 1e-9))
    swings = _of_feet(run)[inside, 1, 2] <= 0
    first = int(np.flatnonzero(swings & ~np.roll(swings, 1))[0])
    order = np.roll(inside, -first)
    share = 100 * np.mod(run.time[order] - run.time[inside[first]], _cycle(run)) / _cycle(run)
    return np.append(share, 100.0), np.append(order, order[0])


def _strike(run: Trajectory) -> float:
    """Return the % of the cycle, from lift-off, at which the right foot lands."""
    share, order = _percent(run)
    lands = np.flatnonzero(_of_feet(run)[order, 1, 2] > 0)
    return float(share[lands[0]])


def _depth(body: SceneBody) -> int:
    side = body.name.split("_")[0]
    return {"left": 0, "right": 4}.get(side, 2)
